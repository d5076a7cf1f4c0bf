"""A file from a stranger runs nothing that its reader has not allowed, however the code is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.third_parties import code_in, content_of
from labelinf_core.specs.own_code import own_function

CODE = [
    "strange:score",
    "strange:score@diagnosis",
    "strange:score@diagnosis#AUC",
    "strange:score#AUC",
    "cmd:python3 strange.py",
    "codabench:python3 strange.py",
    "files:python3 strange.py",
    "files:python3 strange.py {labels} {predictions}",
    "files:python3 strange.py@outcome,score#AUC",
]


@pytest.mark.parametrize("code", CODE)
def test_code_is_seen_however_it_is_named(code: str) -> None:
    """Programs of folders, and functions with a column or a number, were run for any suite that named them."""
    assert list(code_in({"channel": [f"score(scorer='{code}')", {"scorer": code}]})) == [code, code]


@pytest.mark.parametrize("code", CODE)
def test_an_edited_file_is_other_code(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found = set()
    for text in ("1", "2"):
        (tmp_path / "strange.py").write_text(text)
        found.add(content_of(code))
    assert len(found) == 2


@pytest.mark.parametrize(
    "code", ["strange:", "strange: score", "strange:a b", "strange:./score", "not-a-name:score", "a\u00b7b:score"]
)
def test_what_is_not_seen_as_code_is_not_imported(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite that named "strange:" as its scorer ran the module beside it, for nobody saw a function's name there."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{code.partition(':')[0]}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    assert not list(code_in(code))
    with pytest.raises(InputError, match="is not written as module:function"):
        own_function(code, "scorer")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["sklearn", "round(decimals=4)", "made(n_records=60)", "0.5"])
def test_what_is_no_code_is_left_alone(text: str) -> None:
    assert not list(code_in(text))
