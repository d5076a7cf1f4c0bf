"""``import labelinf as li``: functions that cost nothing until they are called."""

from __future__ import annotations

import doctest
import functools
import importlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

import labelinf as li
from labelinf_core.cli import main
from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.report.formats import FILES
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle


def half_off(labels: np.ndarray, predictions: np.ndarray) -> float:
    """Mean log-loss, as a user would write it."""
    return float(np.mean(-np.log(np.where(labels == 1, predictions, 1 - predictions))))


def test_importing_it_imports_nothing() -> None:
    code = "import sys; old = set(sys.modules); import labelinf; print(*{*sys.modules} - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {name.partition(".")[0] for name in done.stdout.split()} - set(sys.stdlib_module_names) == {"labelinf"}


@pytest.mark.long
def test_a_users_own_function_is_attacked_on_their_own_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or type(sys)(__name__))
    monkeypatch.setattr(sys.modules[__name__], "half_off", half_off, raising=False)
    y = np.array(["spam", "ham", "ham", "spam", "ham", "spam", "spam"] * 5)

    found = li.matrix(y, scorer=half_off, attacks=["prime-blocks"], trials=1)

    assert [result.cell.shown.pipeline for result in found.cells] == ["none"]
    assert found.cells[0].accuracy is not None
    assert (found.cells[0].accuracy.value, found.cells[0].verdict) == (1.0, Verdict.BROKEN_OBSERVED)
    assert found.cells[0].labels.class_names == ("ham", "spam")


def test_a_nameless_scorer_is_one_sentence() -> None:
    with pytest.raises(InputError, match="scorer must be a function with a name"):
        li.matrix([0, 1, 1], scorer=lambda labels, predictions: 0.0)
    for nameless in (functools.partial(half_off), type("Scorer", (), {"__call__": half_off})()):
        with pytest.raises(InputError, match="scorer must be a function with a name"):
            li.matrix([0, 1, 1], scorer=nameless)


@pytest.mark.parametrize("y", ["labels.csv", {"id": 1}, iter([0, 1])])
def test_labels_that_are_no_vector_are_one_sentence_that_names_no_file(y: Any) -> None:
    with pytest.raises(InputError, match="y must hold one label a record") as told:
        li.matrix(y, attacks=["prime-blocks"], trials=1)

    assert "y.npy" not in str(told.value)


def test_one_name_is_as_good_as_a_list_of_it() -> None:
    found = li.matrix([0, 1, 1, 0] * 5, attacks="prime-blocks", defences="none", trials=1)
    advised = li.advise(gain="5%", records=200, only="randomised-response", questions=0)

    assert [result.cell.attack.partition("(")[0] for result in found.cells] == ["prime-blocks"]
    assert [item.knob.template.partition("(")[0] for item in advised.found] == ["randomised-response"]


def test_advice_by_certificate_alone_does_not_read_as_if_attacks_had_failed() -> None:
    found = li.advise(gain="5%", records=200, only=["randomised-response"], questions=0)

    assert "nothing was played" in str(found)


def test_a_gain_reads_alike_as_text_and_as_a_number() -> None:
    game: dict[str, Any] = {"records": 200, "only": ["randomised-response"], "questions": 0}
    assert str(li.advise(gain=0.05, **game)) == str(li.advise(gain="5%", **game))
    with pytest.raises(InputError, match=r"gain '5': write a fraction as 5% or \.05, from 0 to 1 \(5% if that"):
        li.advise(gain=5, records=200, questions=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("timeout", 0), ("timeout", float("nan")), ("timeout", "5"), ("workers", -1), ("seed", 1.5), ("trials", "3")],
)
def test_a_number_that_is_none_is_one_sentence(name: str, value: Any) -> None:
    """No time at all was no limit, NaN a traceback after minutes, and a seed of 1.5 was played."""
    with pytest.raises(InputError, match=f"{name}=.* must be a"):
        li.matrix([0, 1, 1], **{name: value})


@pytest.mark.parametrize("hole", [None, float("nan"), ""])
def test_a_label_that_is_missing_is_no_class(hole: object) -> None:
    """It was played as a class called None or nan: a game of other labels, and a blind guess that was too low."""
    for y in ([0, hole, 1, 0], ["b", hole, "a", "b"]):
        with pytest.raises(InputError, match="label"):
            li.matrix(np.array(y, dtype=object), attacks=["majority"], trials=1)


@pytest.mark.long
def test_a_kept_run_goes_on_although_the_labels_were_passed_anew(tmp_path: Path) -> None:
    """It was refused as another run: the file that stood for the labels is another one at every call."""
    y = [0, 1, 1, 0] * 3
    li.matrix(y, attacks=["majority"], trials=1, out=tmp_path)

    found = li.matrix(y, attacks=["majority"], defences=["none", "round"], trials=2, out=tmp_path)

    assert [result.tally.played for result in found.cells] == [2, 2]
    with pytest.raises(InputError, match="holds another run"):
        li.matrix(y[1:], attacks=["majority"], out=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"run.lock", "run.sqlite", *FILES}


@pytest.mark.long
def test_a_kept_run_is_audited_whoever_played_it(tmp_path: Path) -> None:
    """No labels were found, nor files: the array was gone with the call that it was passed to."""
    y = np.array(["a", "b", "b"] * 5)
    li.matrix(y, attacks=["prime-blocks"], trials=1, out=tmp_path)

    told, full = li.audit_record(y, tmp_path), li.audit_record(y, tmp_path, full=True)

    assert [row["gives_away"] for row in told.rows()] == [False] * 5
    assert str(told).startswith("leaks       nothing above the majority guess")
    assert next(row["gives_away"] for row in full.rows() if row["file"] == "results.json")
    with pytest.raises(InputError, match=r"'y' of this run are not where .* or in Python labelinf.audit_record"):
        li.audit_record(None, tmp_path)
    with pytest.raises(InputError, match=r"'y' of this run are others"):
        li.audit_record(y[::-1], tmp_path)

    (tmp_path / "y.csv").write_text("label\n" + "".join(f"{label}\n" for label in y))
    asked = ["audit", "record", str(tmp_path), "--labels", str(tmp_path / "y.csv"), "--json"]
    done = CliRunner().invoke(main, asked)
    assert (done.exit_code, len(json.loads(done.stdout))) == (3, 5)


@pytest.mark.slow
def test_the_strongest_attacks_are_played_when_none_is_named_and_a_run_is_read_again(tmp_path: Path) -> None:
    found = li.matrix([0, 1, 1, 0, 1] * 4, scorer="float64", queries=30, trials=1)

    (certain,) = found.cells  # none can do better than one that is certain of every label
    assert (certain.accuracy.value, certain.field.known > 30) == (1.0, True)
    noisy = li.matrix(
        [0, 1, 1, 0, 1] * 4,
        scorer="float64",
        queries=30,
        trials=1,
        defences=[["clip(epsilon=0.1)", "laplace-dp(epsilon=1)"]],
    )
    assert len([result for result in noisy.cells if result.accuracy]) > 1
    with pytest.raises(InputError):
        li.load(tmp_path / "nowhere")


def test_theory_without_playing() -> None:
    assert li.bounds(records=10, shares=(0.7, 0.3)).baseline == 0.7
    with pytest.raises(InputError, match="either how many labels there are"):
        li.bounds()


@attrs.frozen(kw_only=True)
class SameForAll(ScoreAttack):
    """Guesses one class for every record."""

    label: int = 0
    name: str = "<b>"

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.full(oracle.threat.n_records, self.label, dtype=np.intp))


Y = np.array(["<i>", "b", "b", "<i>", "b"] * 4, dtype=object)


@pytest.fixture(scope="module")
def objects() -> li.Played:
    """Two objects of a class that no plugin provides, against a built-in class as an object and a pipeline."""
    from labelinf_scores.defences.rounding import RoundScore

    players = [SameForAll(label=1), SameForAll(label=0)]
    return li.matrix(Y, attacks=players, defences=["none", RoundScore(decimals=1), "round(decimals=2)"], trials=1)


@pytest.mark.long
def test_components_are_passed_as_objects(objects: li.Played) -> None:
    frame = objects.frame()

    named = [f"same-for-all(label={label}, name='<b>')" for label in (1, 0)]
    assert list(frame["attack"]) == named * 3
    assert list(frame["defences"]) == ["none"] * 2 + ["round(decimals=1)"] * 2 + ["round(decimals=2)"] * 2
    assert list(frame.query("defences == 'none'")["accuracy"]) == [0.6, 0.4]


def test_what_is_no_component_is_one_sentence() -> None:
    with pytest.raises(InputError, match="float is no attack: pass a name, or an object of an attrs class"):
        li.matrix(Y, attacks=[1.5])


@pytest.mark.long
def test_a_result_says_shows_and_draws_its_answer(objects: li.Played) -> None:
    figure = objects.plot("all")

    assert str(objects).startswith("score channel, y: a blind guess is right on 60.0 %\n")
    assert [axes.get_title() for axes in figure.axes][1] == "Leakage against strength: round"
    assert len(figure.axes) == len(list(objects.pictures()))
    page = objects._repr_html_()
    assert "Leakage against strength" in page
    names = re.findall(r' id="([^"]+)"', page)
    assert len(set(names)) == len(names) > 2  # a reader of the page is told each picture's own title


@pytest.mark.long
def test_a_panel_fits_a_column_and_holds_all_of_its_words(objects: li.Played) -> None:
    for panel, picture in enumerate(objects.pictures()):
        figure = objects.plot(panel, size=(3.4, 2.7))
        figure.draw_without_rendering()
        (axes,) = figure.subfigs[0].axes
        assert " ".join(axes.get_title().split()) == picture.title
        assert figure.get_size_inches().tolist() == [3.4, 2.7]
        drawn = figure.get_tightbbox().extents
        assert (drawn >= -0.02).all()
        assert (drawn <= [3.42, 2.72, 3.42, 2.72]).all()
    with pytest.raises(InputError, match=r"panel=9 must be one of 0 to \d, or 'all'"):
        objects.plot(9)
    for size in ((0, 0), (3,), "big", 3, (float("nan"), 2), (1e9, 1), (None, 2)):
        with pytest.raises(InputError, match=r"must be two numbers of inches from 0.5 to 100"):
            objects.plot(size=size)  # type: ignore[arg-type]


def test_whoever_interrupts_a_matrix_gets_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []
    whole = TrialRunner.play

    def tires(*args: Any, **more: Any) -> Any:
        played.append(1)
        if len(played) > 3:
            raise KeyboardInterrupt
        return whole(*args, **more)

    monkeypatch.setattr(TrialRunner, "play", tires)
    found = li.matrix(Y, attacks=["majority"], defences=["none"], trials=9)

    (row,) = found.rows()
    assert row["trials_played"] == 3
    assert str(found).startswith("incomplete: 6 of 9 games are still to be played\n")


def test_a_notebook_shows_nothing_of_a_users_as_markup() -> None:
    class Wicked(li.Theory):
        def lines(self):  # type: ignore[no-untyped-def]
            yield "<script>"

        def pictures(self):  # type: ignore[no-untyped-def]
            series = Series(name="<script>", points=((0.0, 1.0),), words=("<script>",))
            yield Picture(title="<script>", x="<script>", y="<script>", series=(series,), names=("<script>",))

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            seen.append(tag)

    seen: list[str] = []
    Tags().feed(Wicked(implied=li.bounds(records=4).implied)._repr_html_())

    assert "script" not in seen
    assert "svg" in seen


@pytest.mark.parametrize("library", ["pandas", "matplotlib"])
def test_an_extra_that_is_missing_is_one_sentence(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theory = li.bounds(records=4)  # asks sklearn, which takes pandas from the modules that are there
    for name in [name for name in sys.modules if name.partition(".")[0] == library or name == "labelinf.plots"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(InputError, match=rf"needs {library}: pip install 'labelinf\["):
        theory.frame() if library == "pandas" else theory.plot()


@pytest.mark.long
@pytest.mark.parametrize(
    "module",
    [
        "labelinf",
        "labelinf.games",
        "labelinf.theory",
        "labelinf.audits",
        "labelinf.gradients",
        "labelinf.offered",
        "labelinf.outputs",
        "labelinf.published",
    ],
)
def test_every_example_of_a_docstring_runs(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_every_function_has_an_example_and_says_what_it_raises() -> None:
    for name in (name for name in li.__all__ if name.islower() and name != "guard"):
        told = getattr(li, name).__doc__ or ""
        assert ">>> " in told, name
        assert "Raises:" in told, name


def test_names_of_components_are_completed() -> None:
    assert {"attack", "metric"} < {*dir(li.names)}
    assert li.names.defence.randomised_response == "randomised-response"
    assert "prime_blocks" in dir(li.names.attack)
    for asked, said in (("nothing", "there are attack, "), ("metric.rocc", "no metric is called 'rocc'")):
        with pytest.raises(AttributeError, match=said):
            functools.reduce(getattr, asked.split("."), li.names)


def test_a_game_has_the_same_names_in_python_on_the_command_line_and_in_a_suite() -> None:
    from labelinf.theory import Game
    from labelinf_core.cli.bounds import bounds
    from labelinf_core.evaluator.game import SETTINGS
    from labelinf_scores.game.channel import ScoreChannel

    options = {item.name: item for item in bounds.params}
    told = [option.name for option in options.values() if option.name not in ("as_json", "blocks", "quiet")]

    assert set(Game.__annotations__) == set(told)
    assert all(f"--{name}" in item.opts for name, item in options.items() if name in SETTINGS)
    assert set(SETTINGS) <= {field.name for field in attrs.fields(ScoreChannel)}
    with pytest.raises(TypeError, match="'recrods' is no setting of a game; there are records, classes"):
        li.bounds(recrods=100)  # type: ignore[call-arg]


@pytest.mark.long
def test_the_api_computes_without_the_command_line() -> None:
    code = """
import sys, numpy as np, labelinf as li
y = [0, 1] * 30
x = np.random.default_rng(0).normal(size=(60, 3))
li.bounds(records=20)
repr(li.matrix(y, attacks=["majority"], trials=1))
repr(li.attack(y, "majority"))
repr(li.advise(gain="5%", records=20, only=["randomised-response"], questions=0))
repr(li.audit_log(y, [y], ["1.0000"], metric="accuracy", timeout=1))
repr(li.audit_outputs(li.plant(y, share="50%", seed=0), np.full((60, 2), 0.5), attacks=["lia-threshold"]))
client, model = (lambda w, x, c: [np.zeros((2, 3))]), (lambda d, k: [np.ones((k, d))])
repr(li.audit_client(y, client, model, features=x, own=9, samples=9))
repr(li.metrics(y, metric="accuracy")), repr(li.theorems()), repr(li.reproduce())
print([name for name in sys.modules if name.startswith("labelinf_core.cli")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)

    assert (done.stdout, done.stderr) == ("[]\n", "")
