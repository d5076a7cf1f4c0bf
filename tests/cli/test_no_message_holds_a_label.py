"""No sentence, on whatever road, holds a label: a secret is planted wherever somebody's code is handed private labels.

The secret stands in exceptions, in their causes, in answers and in what a broken file holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]
SECRET = "quagga"

LEAKY = f'''
"""Somebody's own code, which says what it was handed."""
import numpy as np
from labelinf_core.contracts.errors import ComponentError, InputError

SECRET = "{SECRET}"

class Loud(Exception):
    def __repr__(self):
        return SECRET

class Answer:
    def __float__(self):
        raise RuntimeError(SECRET)
    __repr__ = __str__ = lambda self: SECRET

def raises(labels, predictions):
    raise ValueError(SECRET, list(labels))

def raises_ours(labels, predictions):
    raise InputError(SECRET)

def raises_a_chain(labels, predictions):
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise Loud(SECRET) from error

def says(labels, predictions):
    return SECRET

def answers(labels, predictions):
    return Answer()

class Model:
    def fit(self, features, targets):
        raise ValueError(SECRET, targets)

class ModelOfOurs(Model):
    def fit(self, features, targets):
        raise InputError(SECRET)

class Guesser(Model):
    def fit(self, features, targets):
        self.classes_ = np.unique(targets)
    def predict_proba(self, features):
        raise ComponentError(SECRET)
'''
SCORERS = ("raises", "raises_ours", "raises_a_chain", "says", "answers")


@pytest.fixture
def private(tmp_path: Path) -> str:
    (tmp_path / "leaky_code.py").write_text(LEAKY)
    rows = "".join(f"{i % 7},{i % 5},{'ab'[i * i % 3 % 2]}\n" for i in range(60))
    (tmp_path / "y.csv").write_text("u,v,label\n" + rows)
    return "y.csv"


def told(result: Result, run: Path | None = None) -> str:
    """Return everything that was said and written, except in the private record."""
    kept = sorted(run.rglob("*")) if run is not None and run.exists() else []
    files = [file.read_text() for file in kept if file.is_file() and not file.name.startswith("run.")]
    return "\n".join([result.output, *files])


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    "command",
    [
        ("attack", "prime-blocks", "--scorer"),
        ("audit", "scorer"),
        ("matrix", "own.toml", "--workers", "0", "--allow-code", "--out", "run"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_scorer(labelinf: Labelinf, private: str, tmp_path: Path, name: str, command: tuple[str, ...]) -> None:
    text = (
        f"trials = 1\n[[matrix]]\nlabels = \"csv(path='{private}')\"\n"
        f'scorer = "leaky_code:{name}"\n'
        f'attacks = ["prime-blocks"]\ndefences = ["none", "round(decimals=3)"]\n'
    )
    (tmp_path / "own.toml").write_text(text)
    target = () if command[0] == "matrix" else (f"leaky_code:{name}", "--labels", private)

    result = labelinf(*command, *target)

    assert result.exit_code in (2, 3, 4), result.output
    assert f"leaky_code:{name}" in result.output
    assert SECRET not in told(result, tmp_path / "run")


@pytest.mark.parametrize("victim", ["Model", "ModelOfOurs", "Guesser"])
def test_a_victim(labelinf: Labelinf, private: str, tmp_path: Path, victim: str) -> None:
    text = (
        "trials = 1\n[[matrix]]\nchannel = 'output'\nlabels = \"csv(path='y.csv', features='*')\"\n"
        f'victim = "leaky_code:{victim}"\nattacks = ["lia-threshold"]\ndefences = ["none"]\n'
    )
    (tmp_path / "own.toml").write_text(text)

    result = labelinf("matrix", "own.toml", "--workers", "0", "--allow-code", "--out", "run")

    assert result.exit_code in (2, 4), result.output
    assert f"leaky_code:{victim}" in result.output
    assert "raised" in told(result, tmp_path / "run")
    assert SECRET not in told(result, tmp_path / "run")


@pytest.mark.parametrize(
    "content",
    [
        f"label\n{SECRET}\n{SECRET}\n",
        f"1,{SECRET}\n2,b\n",
        "id,label\n" + "".join(f"{i},{SECRET}{i}\n" for i in range(20)),
        f"a,b\n1,{SECRET}\n2,b\n",
        f'label\n"{SECRET}\nb\n',
        f"id,label\n1,{SECRET}\n2,b,c\n",
    ],
    ids=["one class", "no header", "many", "unnamed", "quotes", "ragged"],
)
@pytest.mark.parametrize("options", [(), ("--features", "*"), ("--column", "id", "--features", "*")])
def test_a_file_that_cannot_be_used(labelinf: Labelinf, tmp_path: Path, content: str, options: tuple[str, ...]) -> None:
    (tmp_path / "y.csv").write_text(content)

    result = labelinf("bounds", "--labels", "y.csv", *options)

    assert SECRET not in result.output
    assert result.exit_code == 2, result.output


TELLER = f'''
"""A stranger's plugin: everybody in it says what it was handed, wherever it can."""
import logging, sys, threading, warnings
import attrs
import numpy as np
from labelinf_core import hookimpl
from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import ComponentError, InputError, QueryRefusedError
from labelinf_core.plugin.descriptors import Descriptor, Kind, Reference
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack

labelinf_contract = 2
ERRORS = dict(value=ValueError, input=InputError, component=ComponentError, refusal=QueryRefusedError, exits=SystemExit)

def secret(labels):
    return "{SECRET}" + "".join(map(str, labels))

@attrs.frozen(kw_only=True)
class Teller(ScoreDefence):
    """Says the labels in an exception."""
    how: str = "value"
    def answer(self, labels, query, ask):
        text = secret(labels)
        if self.how in ERRORS:
            raise ERRORS[self.how](text)
        print(text)
        print(text, file=sys.stderr)
        logging.getLogger("labelinf").error(text)
        warnings.warn(text, stacklevel=1)
        thread = threading.Thread(target=lambda: [][text])
        thread.start()
        thread.join()
        return ask(labels, query)

@attrs.frozen(kw_only=True)
class Repeater(ScoreAttack):
    """Says what it is told, in evidence or in an exception."""
    raises: bool = False
    def run(self, oracle, rng):
        try:
            score = str(oracle.query(np.full(oracle.threat.n_records, 0.5)))
        except QueryRefusedError as error:
            score = str(error)
        if self.raises:
            raise RuntimeError("{SECRET}" + score)
        return Guess(labels=np.zeros(oracle.threat.n_records, dtype=int), evidence={{"{SECRET}": "{SECRET}" + score}})

def described(kind, name, target):
    return Descriptor(kind=kind, name=name, summary="x", reference=Reference(work="tests", statement="teller"),
                      target="teller_plugin:" + target, channel="score")

@hookimpl
def labelinf_components():
    yield described(Kind.ATTACK, "repeater", "Repeater")
    yield described(Kind.DEFENCE, "teller", "Teller")
'''


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.timeout(180)
def test_a_strangers_defence_and_attack(
    labelinf: Labelinf,
    private: str,
    tmp_path: Path,
    install_fake: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Neither what is written, in any format, nor what is said, nor what their own prints and threads say."""
    site = install_fake("labelinf-teller", entry="teller", module="teller_plugin", source=TELLER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "own.toml").write_text(
        f"trials = 1\n[[matrix]]\nchannel = 'score'\nlabels = \"csv(path='{private}')\"\n"
        'scorer = "float64"\nattacks = ["repeater", "repeater(raises=true)", "majority"]\n'
        'defences = ["none", "teller(how=[value, input, component, refusal, exits, prints])"]\n'
    )

    played = labelinf("matrix", "own.toml", "--workers", "1", "--out", "run")
    forms = ("table", "json", "csv", "html", "junit", "sarif")
    printed = [labelinf("report", "run", "--format", form) for form in forms]
    game = ("attack", "repeater", "--labels", private, "--scorer", "float64")
    alone = [labelinf(*game, "--defence", f"teller(how={how})") for how in ("value", "input")]

    output = [result.output for result in (*printed, *alone)]
    said = "\n".join([told(played, tmp_path / "run"), *output, *capfd.readouterr()])
    assert played.exit_code == 4, played.output
    assert "teller" in said
    assert SECRET not in said
