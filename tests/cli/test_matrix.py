"""``labelinf matrix`` plays, keeps, goes on, and gates."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import Result

from labelinf_core.report.formats import FILES

Labelinf = Callable[..., Result]
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "results.schema.json"


def cells(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


def matrix(labelinf: Labelinf, suite: str, *options: str) -> Result:
    return labelinf("matrix", suite, "--workers", "0", *options)


@pytest.mark.long
def test_a_suite_is_played_and_kept(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    result = matrix(labelinf, suite)

    assert result.exit_code == 0
    assert "fake-reader" in result.stdout
    (kept,) = (tmp_path / "runs").iterdir()
    assert kept.name.endswith("-small")
    assert {path.name for path in kept.iterdir()} == {"run.sqlite", "run.lock", *FILES}
    assert f"kept in runs/{kept.name}" in result.stdout
    assert result.stderr == ""


@pytest.mark.long
def test_json_is_what_is_kept_and_follows_the_schema(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    result = matrix(labelinf, suite, "--json", "--out", "here")

    assert result.stdout == (tmp_path / "here" / "results.json").read_text()
    jsonschema.validate(json.loads(result.stdout), json.loads(SCHEMA.read_text()))


@pytest.mark.long
def test_csv_is_what_is_kept(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    matrix(labelinf, suite, "--out", "here")

    result = labelinf("report", "here", "--format", "csv")
    assert result.stdout == (tmp_path / "here" / "results.csv").read_text()
    assert len(cells(result)) == 4


@pytest.mark.long
def test_the_command_line_overrides_the_suite(labelinf: Labelinf, suite: str) -> None:
    result = matrix(labelinf, suite, "--trials", "1", "--seed", "5", "--queries", "3", "--json")

    document = json.loads(result.stdout)
    assert (document["trials"], document["seed"]) == (1, 5)
    assert all("queries=3" in cell["channel"] for cell in document["cells"])


@pytest.mark.long
def test_settings_have_the_names_of_a_suite(labelinf: Labelinf, suite: str) -> None:
    result = matrix(
        labelinf,
        suite,
        "--channel",
        "score(queries=5)",
        "--scorer",
        "float32",
        "--metric",
        "log-loss",
        "--json",
    )

    for cell in json.loads(result.stdout)["cells"]:
        assert "scorer='float32'" in cell["channel"]
        assert "queries=5" in cell["channel"]


def test_what_comes_next_is_of_the_game_that_was_named(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    """It was of the default scorer, and the file was written as nobody would type it."""
    (tmp_path / "y.csv").write_text('id,"outcome, final"\n' + "".join(f"{i},{i % 2}\n" for i in range(9)))

    game = ("--labels", "y.csv", "--column", "outcome, final", "--scorer", "float32", "--queries", "3")
    told = matrix(labelinf, suite, *game, "--trials", "1", "--out", "run").stdout

    given = "--channel score --labels y.csv --column 'outcome, final' --scorer float32 --queries 3 --gain 5%"
    assert told.splitlines()[-1] == f"next: labelinf report run -v · labelinf advise {given}"


def test_a_metric_that_is_not_there_is_said_before_anything_is_played(labelinf: Labelinf, tmp_path: Path) -> None:
    result = labelinf("matrix", "--metric", "logloss", "--workers", "0", "--out", str(tmp_path / "run"))

    assert result.exit_code == 2
    assert "no metric is called 'logloss'. Did you mean 'log-loss'" in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_channel_that_the_suite_does_not_play_is_one_sentence(labelinf: Labelinf, suite: str) -> None:
    result = matrix(labelinf, suite, "--channel", "gradient")

    assert result.exit_code == 2
    assert "--channel gradient: the suite plays nothing on it; write one that does" in result.stderr


@pytest.mark.long
def test_classes_of_a_users_labels_are_named_in_full_only(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    """The names are values of the labels: one that occurs once is somebody's."""
    (tmp_path / "y.csv").write_text("id,verdict\n" + "".join(f"{i},{'sí' if i % 3 else 'nöö'}\n" for i in range(9)))
    told = {}
    matrix(labelinf, suite, "--labels", "y.csv", "--column", "verdict", "--out", "run")
    for name in ("results.json", "results.csv", "report.html"):
        assert "nöö" not in (tmp_path / "run" / name).read_text(encoding="utf-8")
    for full in ((), ("--full",)):
        result = labelinf("report", "run", "--json", *full)
        (told[full],) = json.loads(result.stdout)["labels"]

    assert told[()]["class_names"] == ["class 1", "class 2"]
    assert told[()]["class_counts"] is None
    assert told["--full",]["class_names"] == ["nöö", "sí"]
    assert "y.csv" in told[()]["title"]


@pytest.mark.long
def test_a_numpy_file_holds_labels_too(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.arange(30) % 3)

    matrix(labelinf, suite, "--labels", "y.npy", "--only", "fake-constant/none", "--out", "run")

    result = labelinf("report", "run", "--json", "--full")
    assert json.loads(result.stdout)["labels"][0]["class_counts"] == [10, 10, 10]


@pytest.mark.long
def test_a_label_source_may_be_named_instead_of_a_file(labelinf: Labelinf, suite: str) -> None:
    result = matrix(labelinf, suite, "--labels", "fake-labels(n=20)", "--only", "fake-constant/none", "--json")

    assert json.loads(result.stdout)["labels"][0]["n_records"] == 20


@pytest.mark.long
def test_attacks_and_defences_can_be_added_and_picked(labelinf: Labelinf, suite: str) -> None:
    added = ("--attack", "fake-coin", "--defence", "fake-boast")
    matrix(labelinf, suite, *added, "--only", "fake-coin/fake-boast", "--out", "run")

    rows = cells(labelinf("report", "run", "--format", "csv"))
    assert [(row["attack"], row["defences"]) for row in rows] == [("fake-coin(fails=0)", "fake-boast")]


@pytest.mark.long
def test_the_same_out_goes_on_and_the_same_results_come(labelinf: Labelinf, suite: str) -> None:
    first = matrix(labelinf, suite, "--out", "here", "--json")
    again = matrix(labelinf, suite, "--out", "here", "--json")

    assert again.stdout == first.stdout


@pytest.mark.long
def test_resume_finds_the_newest_run_of_the_plan(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    matrix(labelinf, suite)
    matrix(labelinf, suite, "--seed", "1")

    result = matrix(labelinf, suite, "--resume")

    assert result.exit_code == 0
    assert len(list((tmp_path / "runs").iterdir())) == 2


@pytest.mark.long
def test_resume_without_a_run_says_so(labelinf: Labelinf, suite: str) -> None:
    result = matrix(labelinf, suite, "--resume")

    assert result.exit_code == 2
    assert result.stderr.startswith("labelinf: nothing to resume: no run under runs/ has this plan")
    there = matrix(labelinf, suite, "--resume", "--out", "nowhere")
    assert (there.exit_code, "nothing to resume: no run under nowhere has this plan;" in there.stderr) == (2, True)


@pytest.mark.long
def test_resume_plays_again_what_failed_and_the_same_out_does_not(labelinf: Labelinf, suite: str) -> None:
    cells = ("--attack", "fake-raises", "--only", "fake-raises/none", "--only", "fake-reader/none", "--out", "run")
    first, on, again = (matrix(labelinf, suite, *cells, *more) for more in ((), (), ("--resume",)))

    assert (first.exit_code, on.exit_code, again.exit_code) == (4, 4, 4)
    assert "played again" not in first.stderr + on.stderr
    assert "labelinf: what failed is played again: 1 cell\n" in again.stderr
    assert again.stdout == on.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("gate", "only", "status"),
    [
        (None, "*", 0),
        ("contradiction", "fake-reader/none", 0),
        ("contradiction", "*/fake-boast", 1),
        ("broken", "fake-reader/none", 1),
        ("broken", "fake-constant/none", 0),
        ("broken", "majority/none", 3),  # a blind guess tries nothing
        ("contradiction", "majority/none", 0),
    ],
)
def test_a_gate_decides_the_exit_status(
    labelinf: Labelinf, suite: str, gate: str | None, only: str, status: int
) -> None:
    options = ["--fail-on", gate] if gate else []

    added = ["--defence", "fake-boast", "--attack", "majority"]
    result = matrix(labelinf, suite, *added, "--only", only, "--trials", "8", *options)

    assert result.exit_code == status


@pytest.mark.long
def test_a_faulty_plugin_is_told_and_the_run_goes_on(
    labelinf: Labelinf, suite: str, install_fake: Callable[..., Path]
) -> None:
    install_fake("labelinf-bad", entry="bad", module="bad_plugin", source="raise OSError('no library')")

    result = matrix(labelinf, suite)
    strict = matrix(labelinf, suite, "--fail-on", "plugin")

    assert result.exit_code == 0
    assert "plugin 'bad' of labelinf-bad 1.0 was left out: OSError in bad_plugin, line 1" in result.stderr
    assert strict.exit_code == 2
    assert "plugin 'bad' of labelinf-bad 1.0 failed: OSError in bad_plugin, line 1" in strict.stderr
    both = matrix(labelinf, suite, "--fail-on", "broken", "--fail-on", "plugin", "-p", "no:bad")
    assert both.exit_code == 1  # a gate on what is broken stands beside it


def test_a_blocked_plugin_is_not_there(labelinf: Labelinf, suite: str) -> None:
    result = matrix(labelinf, suite, "-p", "no:fakes")

    assert result.exit_code == 2
    assert "small.toml: nobody provides label source 'fake-labels', attack 'fake-reader'," in result.stderr
    assert "plugin 'fakes' of labelinf-fakes 1.0 is blocked" in result.stderr


@pytest.mark.long
def test_worker_processes_give_the_same_results(labelinf: Labelinf, suite: str) -> None:
    here = matrix(labelinf, suite, "--json", "--trials", "1")

    there = labelinf("matrix", suite, "--workers", "2", "--json", "--trials", "1")

    assert there.stdout == here.stdout


def test_an_interruption_says_how_to_go_on(labelinf: Labelinf, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("labelinf_core.evaluator.run.run", interrupt)

    result = matrix(labelinf, suite, "--out", "here")

    assert result.exit_code == 130
    assert "what was played is kept; the same command with --out here goes on" in result.stderr


@pytest.mark.slow
def test_a_gate_on_leaks_does_not_open_for_attacks_that_failed(labelinf: Labelinf, suite: str) -> None:
    """What an attack would have recovered is unknown when it crashed."""
    constant = matrix(labelinf, suite, "--only", "fake-constant/none", "--fail-on", "broken")
    options = ["--attack", "fake-raises", "--only", "fake-constant/none", "--only", "fake-raises/none"]
    both = matrix(labelinf, suite, *options, "--fail-on", "broken")

    assert constant.exit_code == 0
    assert both.exit_code == 4
    assert "1 cell could not be played to the end" in both.stderr


@pytest.mark.long
def test_cells_can_be_left_out(labelinf: Labelinf, suite: str) -> None:
    result = labelinf("matrix", suite, "--only", "not fake-reader", "--json", "--workers", "0")

    attacks = {cell["attack"].partition("(")[0] for cell in json.loads(result.stdout)["cells"]}
    assert attacks
    assert "fake-reader" not in attacks


@pytest.mark.long
def test_a_dry_run_plays_nothing_and_estimates_by_what_was_recorded(
    labelinf: Labelinf, suite: str, tmp_path: Path
) -> None:
    unknown = labelinf("matrix", suite, "--dry-run", "--workers", "0")
    assert "so their time is not known" in unknown.stdout
    assert not (tmp_path / "runs").exists()

    labelinf("matrix", suite, "--quiet", "--workers", "0")
    known = labelinf("matrix", suite, "--dry-run", "--workers", "0")

    assert "of processor time by recorded trials" in known.stdout


@pytest.mark.long
def test_a_dry_run_knows_what_is_left_of_a_private_run_and_tells_machines(
    labelinf: Labelinf, suite: str, tmp_path: Path
) -> None:
    """All cells of a run on private labels seemed unplayed: their names are under the run's own key."""
    (tmp_path / "y.csv").write_text("label\n" + "a\nb\nb\n" * 4)
    private = ["matrix", suite, "--labels", "y.csv", "--workers", "0", "--only", "fake-reader"]
    begun = json.loads(labelinf(*private, "--dry-run", "--json").stdout)
    labelinf(*private, "-q", "--out", "run")

    left = json.loads(labelinf(*private, "--dry-run", "--json", "--out", "run").stdout)

    assert begun["trials"] > left["trials"] == 0
    assert begun["cells"] == left["cells"]


@pytest.mark.long
def test_quiet_prints_nothing_and_keeps_everything(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    result = labelinf("matrix", suite, "-q", "--out", "run", "--workers", "0")

    assert result.stdout == ""
    assert (tmp_path / "run" / "results.json").is_file()


@pytest.mark.long
def test_leaks_are_sarif_for_a_code_host(labelinf: Labelinf, suite: str) -> None:
    labelinf("matrix", suite, "--workers", "0")

    result = labelinf("report", "--format", "sarif")
    (run,) = json.loads(result.stdout)["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert run["results"]
    assert {found["ruleId"] for found in run["results"]} == rules
    assert {found["level"] for found in run["results"]} <= {"error", "warning", "note"}


@pytest.mark.long
def test_a_scorer_that_was_edited_is_played_again(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    """What its file was when its games were played is kept with them; other cells stay as they are."""
    (tmp_path / "edited_board.py").write_text("from sklearn.metrics import log_loss as score\n")
    text = (tmp_path / suite).read_text()
    (tmp_path / suite).write_text(text + text[text.index("[[") :].replace('"float64"', '"edited_board:score"'))
    asked = ["matrix", suite, "--workers", "0", "--only", "fake-reader/none", "--allow-code", "--out", "run"]
    first = labelinf(*asked)
    assert labelinf(*asked).exit_code == first.exit_code == 0

    (tmp_path / "edited_board.py").write_text(
        "from sklearn.metrics import log_loss\ndef score(y, p): return log_loss(y, p)\n"
    )
    importlib.invalidate_caches()
    again = labelinf(*asked)

    said = " ".join((again.stdout + again.stderr).split())
    assert "edited_board:score was edited: fake-reader/none played again" in said


def test_a_defence_that_does_not_suit_the_metric_is_a_line_that_says_so(labelinf: Labelinf, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(
        "trials = 1\n[[matrix]]\nlabels = ['made(n_records=20)']\ndefences = ['none', 'clip(epsilon=0.01)']\n"
    )

    result = labelinf("matrix", "suite.toml", "--metric", "accuracy", "--attack", "majority", "--workers", "0")

    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())
    assert "not tested" in shown.split("clip 0.01")[0]
    assert "clip 0.01: clip is worked out for plain means of a loss, and Accuracy is none." in shown


def test_no_gate_opens_for_a_line_that_nothing_could_be_played_against(labelinf: Labelinf, tmp_path: Path) -> None:
    def status(defences: str, *gate: str) -> int:
        (tmp_path / "suite.toml").write_text(
            f"trials = 1\n[[matrix]]\nlabels = ['made(n_records=20)']\ndefences = [{defences}]\n"
        )
        options = ("--metric", "accuracy", "--attack", "majority", "--workers", "0")
        return labelinf("matrix", "suite.toml", *options, *gate).exit_code

    assert status("'clip(epsilon=0.01)'") == 3
    assert status("'clip(epsilon=0.01)'", "--fail-on", "contradiction") == 3
    assert status("'randomised-response(epsilon=0.1)', 'clip(epsilon=0.01)'", "--fail-on", "broken") == 3
    assert status("'round(decimals=1)', 'clip(epsilon=0.01)'", "--fail-on", "contradiction") == 0
