"""Exported scorers: one file without labelinf, that says what a board says, and leaks nothing of private rows."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.contracts.errors import InputError
from labelinf_guard.commands import guard
from labelinf_guard.export.stateless import Form, LabelsError, Settings, SubmissionError, answer, canonical, labels_of
from labelinf_guard.export.write import PLATFORMS, export
from labelinf_guard.metrics import METRICS, UnscorableError, metric_named
from labelinf_guard.parse import Expected, FileFault, ParseError, parse
from labelinf_guard.policy import BoardPart, Policy
from labelinf_guard.release import AnswerScale
from labelinf_guard.terms import metric_of
from labelinf_privacy.words import SeededWords

N = 120
BOARD = (
    '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "accuracy"\n'
    "{more}[target]\n{target}\n"
)


def board(folder: Path, more: str = "", target: str = "gain = 0.3") -> Path:
    labels = np.random.default_rng(5).integers(0, 2, N)
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at:03d},{y}\n" for at, y in enumerate(labels)))
    path = folder / "board.toml"
    path.write_text(BOARD.format(more=more, target=target))
    return path


def exported(folder: Path, platform: str, metric: str = "accuracy") -> Path:
    """Return the folder of an exported scorer, whose split is the same whenever the test runs."""
    words, path = SeededWords(np.random.default_rng(2)), board(folder)
    path.write_text(path.read_text().replace("accuracy", metric))
    return export(path, platform, folder / "out", words=words).scorer.parent


def csv(rows: Any) -> str:
    return "id,prediction\n" + "".join(f"r{at:03d},{row}\n" for at, row in enumerate(rows))


def flip(path: Path, usage: str) -> None:
    """Flip the labels of some rows of a solution file."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text(
        "".join(f"{i},{1 - int(y) if u == usage else y},{u}\n" if i != "id" else f"{i},{y},{u}\n" for i, y, u in rows)
    )


def bare(*arguments: str, cwd: Path, path: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run an interpreter that has no labelinf, and nothing of the environment."""
    environment = {"OPENBLAS_NUM_THREADS": "1"}
    code = f"import sys; sys.path += {path.split(os.pathsep) if path else []!r}\n" + arguments[0]
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *arguments[1:]],
        cwd=cwd,
        capture_output=True,
        env=environment,
        check=False,
        timeout=60,
    )


def read(text: bytes, expected: Expected) -> Any:
    """What a board reads: its rows, or its sentence."""
    try:
        return parse(text, expected).rows
    except ParseError as error:
        return error.fault.value


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_an_exported_scorer_says_what_a_board_says(metric: str) -> None:
    """The same answers, and refusals in the same sentences, whatever a file is read from."""
    rng = np.random.default_rng(7)
    for game in range(60):
        n_classes = 2 if metric == "roc-auc" else 2 + game % 2
        classes = tuple("abc"[:n_classes])
        found = metric_named(metric, {}, classes)
        codes = rng.integers(0, n_classes, int(rng.integers(3, 40)))
        ids = [f"i{at:02d}" for at in range(codes.size)]
        if found.classes_predicted:
            header, rows = ["id", "prediction"], [[classes[c]] for c in rng.integers(0, n_classes, codes.size)]
        else:
            header, rows = ["id", *classes], np.round(rng.dirichlet([0.5] * n_classes, codes.size), 2).tolist()
        decimals = int(rng.integers(0, 7))
        settings = Settings(metric=metric, classes=classes, id="id", label="y", decimals=decimals)
        table = [[name, *map(str, row)] for name, row in zip(ids, rows, strict=True)]
        rng.shuffle(table)
        if game % 3 == 0:
            table[0][int(rng.integers(len(header)))] = str(rng.choice(["nan", "i01", "2", "-1", "0x1", "b"]))
        form = Form(id="id", classes=classes, classes_predicted=found.classes_predicted)
        expected = Expected(form=form, ids=tuple(ids))
        text = "\n".join(",".join(row) for row in [header, *table]).encode()
        wanted = read(text, expected)
        if isinstance(wanted, str):
            with pytest.raises(SubmissionError, match=f"^{re.escape(wanted)}$"):
                canonical(settings, ids, header, table)
            continue
        scale = AnswerScale(low=found.low, high=found.high, decimals=decimals)
        try:
            said = scale.text(scale.symbol(found.score(codes, wanted, n_classes)))
        except UnscorableError:
            said = scale.text(0)
        labels = labels_of(settings, ids, [classes[code] for code in codes])
        assert answer(settings, labels, canonical(settings, ids, header, table)) == said


@pytest.mark.long
@pytest.mark.parametrize("metric", ["mae", "mse", "rmse"])
def test_an_exported_scorer_of_values_says_what_a_board_says(metric: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        classes = [f"{k / 4:.2f}" for k in range(-3, int(rng.integers(0, 60)))]
        part = BoardPart(labels="l", id="id", label="y", classes=classes, metric=metric)
        found, values = metric_of(Policy(board=part), Path()), [float(name) for name in classes]
        codes = rng.integers(0, len(classes), int(rng.integers(1, 40)))
        ids = [f"i{at:02d}" for at in range(codes.size)]
        table = [[name, repr(row)] for name, row in zip(ids, rng.normal(0, 9, codes.size).tolist(), strict=True)]
        settings = Settings(metric=metric, classes=tuple(classes), id="id", label="y", decimals=int(rng.integers(0, 5)))
        form = Form(id="id", classes=tuple(classes), classes_predicted=False, between=(min(values), max(values)))
        expected = Expected(form=form, ids=tuple(ids))
        wanted = read("\n".join(",".join(row) for row in [["id", "prediction"], *table]).encode(), expected)
        scale = AnswerScale(low=found.low, high=found.high, decimals=settings.decimals)
        said = scale.text(scale.symbol(found.score(codes, wanted, len(classes))))
        labels = labels_of(settings, ids, [values[code] for code in codes])  # a reader of tables leaves zeros out
        assert answer(settings, labels, canonical(settings, ids, ["id", "prediction"], table)) == said
        with pytest.raises(SubmissionError, match="finite decimal number"):
            canonical(settings, ids, ["id", "prediction"], [[name, "inf"] for name in ids])
        with pytest.raises(LabelsError):
            labels_of(settings, ["a"], ["0.1"])


def test_labels_that_are_none_are_never_scored_nor_told() -> None:
    settings = Settings(metric="accuracy", classes=("0", "1"), id="id", label="y", decimals=3)
    for ids, labels in ((["a"], [float("nan")]), (["a", "a"], [0, 1]), ([], [])):
        with pytest.raises(LabelsError, match=r"^The labels of this board cannot be used\. Please tell the host\.$"):
            labels_of(settings, ids, labels)


@pytest.mark.parametrize("platform", sorted(PLATFORMS))
def test_an_exported_file_is_self_contained_and_says_what_it_proves(platform: str, tmp_path: Path) -> None:
    path = board(tmp_path)
    told = CliRunner().invoke(
        guard, ["export", str(path), "--to", platform, "--out", str(tmp_path / "out")], catch_exceptions=False
    )
    assert told.exit_code == 0
    text = (tmp_path / "out" / PLATFORMS[platform].file).read_text()
    tree = ast.parse(text)
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {str(name).split(".")[0] for name in imported} <= {*sys.stdlib_module_names, "pandas", "huggingface_hub"}
    for said in (text, told.output):
        assert "points more labels than a perfect model that knows the class counts would be" in said
        assert "No ledger" in said
        assert ("as it does at the deadline" in said) == (platform in {"kaggle", "huggingface"})
        assert ("this file never does" in said) == (platform in {"codabench", "grand-challenge"})
        assert "Ends. When " in said
        assert "Game." not in said
    solution = tmp_path / "out" / "solution.csv"
    assert solution.stat().st_mode & 0o077 == 0
    assert solution.read_text().count("Public") == 24
    again = ["export", str(path), "--to", platform, "--out", str(tmp_path / "again"), "--json"]
    machine = json.loads(CliRunner().invoke(guard, again, catch_exceptions=False).output)
    assert (Path(machine["solution"]).name, bool(machine["said"])) == ("solution.csv", True)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("[release]\nnoise = 0.1\n", "noise proves nothing without a ledger"),
        ("[public]\nshare = 1.0\n", "without a ledger this board proves 50.0 points"),
    ],
)
def test_what_needs_a_ledger_is_not_exported(more: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        export(board(tmp_path, more), "kaggle", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_labels_are_scored_by_a_ledger_or_by_an_export(tmp_path: Path) -> None:
    from labelinf_guard.board import Board

    path = board(tmp_path)
    export(path, "codabench", tmp_path / "out")
    with pytest.raises(InputError, match="A split is drawn once"):
        export(path, "codabench", tmp_path / "out")
    with pytest.raises(InputError, match="by a board or by an exported file, not by both"):
        Board.init(path)
    (tmp_path / "board.exported").unlink()
    Board.init(path).close()
    with pytest.raises(InputError, match="by a board or by an exported file, not by both"):
        export(path, "kaggle", tmp_path / "more")


def test_of_a_board_and_an_export_at_one_instant_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes between what was looked for and what is written."""
    from labelinf_guard import begin as beginnings
    from labelinf_guard.board import Board
    from labelinf_guard.export import write

    for module, name, first, second in (
        (
            write,
            "read_labels",
            lambda path: export(path, "kaggle", tmp_path / "a"),
            lambda path: Board.init(path).close(),
        ),
        (beginnings, "draw_split", Board.init, lambda path: export(path, "kaggle", tmp_path / "b")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        path, usual = board(folder), getattr(module, name)

        def between(*given: Any, usual: Any = usual, other: Any = second, path: Path = path) -> Any:
            monkeypatch.undo()
            other(path)
            return usual(*given)

        monkeypatch.setattr(module, name, between)
        with pytest.raises(InputError, match="by a board or by an exported file, not by both"):
            first(path)
        assert (folder / "board.state").exists() is not (folder / "board.exported").exists()


@pytest.mark.parametrize("flip", ["", "flip = 0.2\n"])
def test_a_second_export_has_the_split_and_the_replaced_labels_of_the_first(flip: str, tmp_path: Path) -> None:
    """Two splits show labels that either keeps, and labels replaced twice are less private than is said."""
    path = board(tmp_path, f"[public]\nshare = 0.2\n{flip}", "gain = 0.4\naccept_void = true")
    first, second = (export(path, name, tmp_path / name) for name in ("kaggle", "codabench"))
    assert first.solution.read_bytes() == second.solution.read_bytes()
    assert (tmp_path / "board.exported").stat().st_mode & 0o077 == 0
    assert not list(tmp_path.glob("board.exported.*"))
    text = path.read_text()
    path.write_text(text.replace("share = 0.2", "share = 0.3"))
    with pytest.raises(InputError, match="a second split would show labels that the first one keeps"):
        export(path, "kaggle", tmp_path / "third")
    assert not (tmp_path / "third").exists()
    path.write_text(text)
    (tmp_path / "board.exported").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read"):
        export(path, "kaggle", tmp_path / "third")


@pytest.mark.long
def test_kaggle_runs_in_an_empty_interpreter_with_pandas_only(tmp_path: Path) -> None:
    """Public scores are byte-identical under flipped private labels; every refusal is visible and constant."""
    pandas = pytest.importorskip("pandas")
    folder = exported(tmp_path, "kaggle")
    (folder / "run.txt").write_text(
        "import pandas as pd, traceback, metric, typing\n"
        "assert typing.get_type_hints(metric.score)['return'] is float\n"
        "try:\n    import labelinf_core\n    raise SystemExit(9)\nexcept ImportError: pass\n"
        "s = pd.read_csv('solution.csv'); p = s[s.Usage == 'Public'].drop(columns='Usage').reset_index(drop=True)\n"
        "good = p[['id']].assign(prediction=1)\n"
        "for f in (good, good[::-1], good.assign(prediction=float('nan')), good[1:], good.assign(prediction='1'),\n"
        "          good.rename(columns={'prediction': 'x'}), good.assign(id='q')):\n"
        "    try: print(metric.score(p, f, 'id'))\n"
        "    except metric.ParticipantVisibleError: traceback.print_exc()\n"
    )
    (tmp_path / "others").mkdir()
    for item in Path(pandas.__file__).parents[1].iterdir():  # all that is installed but labelinf, wherever it is
        if not item.name.lower().startswith(("labelinf", "_labelinf", "__editable__")):
            (tmp_path / "others" / item.name).symlink_to(item)
    where = os.pathsep.join([str(tmp_path / "others"), str(folder)])
    runs = []
    for usage in ("", "Private", "Public"):
        flip(folder / "solution.csv", usage)
        done = bare("exec(open('run.txt').read())", cwd=folder, path=where)
        runs.append((done.returncode, done.stdout, done.stderr))
    assert runs[0] == runs[1]
    assert runs[0][1] != runs[2][1]
    assert runs[0][0] == 0
    score = runs[0][1].decode().split()
    assert score[0] == score[1] == score[2]
    for fault in (FileFault.VALUE, FileFault.MISSING, FileFault.COLUMNS, FileFault.UNKNOWN):
        assert f"ParticipantVisibleError: {fault.value}" in runs[0][2].decode()


def test_hugging_face_runs_in_an_empty_interpreter(tmp_path: Path) -> None:
    folder = exported(tmp_path, "huggingface")
    (folder / "huggingface_hub.py").write_text(
        "def hf_hub_download(repo_id, filename, token, repo_type): return filename\n"
    )
    (folder / "submissions").mkdir()
    (folder / "submissions" / "t-1.csv").write_text(csv([1] * N))
    code = (
        "import types, metric\n"
        "print(metric.compute(types.SimpleNamespace(competition_id='c', token='', team_id='t', submission_id='1')))"
    )
    found = []
    for usage in ("", "Private"):
        flip(folder / "solution.csv", usage)
        done = bare(code, cwd=folder, path=str(folder))
        found.append(ast.literal_eval(done.stdout.decode()))
    assert found[0]["public_score"] == found[1]["public_score"]
    (folder / "submissions" / "t-1.csv").write_text(csv([1] * N).replace(",", ";"))  # as spreadsheets write it
    assert ast.literal_eval(bare(code, cwd=folder, path=str(folder)).stdout.decode()) == found[-1]
    assert found[0]["private_score"] != found[1]["private_score"]


def harness(platform: str, folder: Path, submission: str | None) -> tuple[int, bytes, bytes, dict[str, bytes]]:
    """Run a container's entry point as its platform does, in its layout."""
    given, results = folder / "in", folder / "results"
    shutil.rmtree(given, ignore_errors=True)
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    if platform == "codabench":
        (given / "ref").mkdir(parents=True)
        (given / "res").mkdir()
        shutil.copy(folder / "solution.csv", given / "ref")
        target, arguments = given / "res" / "mine.csv", [str(given), str(results)]
    else:
        given.mkdir()
        target, arguments = given / "predictions.csv", [str(given), str(results), str(folder / "solution.csv")]
    if submission is not None:
        target.write_text(submission)
    entry = str(folder / PLATFORMS[platform].file)
    done = subprocess.run(
        [sys.executable, "-I", "-S", entry, *arguments], capture_output=True, check=False, env={}, timeout=60
    )
    return done.returncode, done.stdout, done.stderr, {p.name: p.read_bytes() for p in results.iterdir()}


@pytest.mark.long
@pytest.mark.parametrize("platform", ["codabench", "grand-challenge"])
def test_containers_leak_nothing_of_private_rows(platform: str, tmp_path: Path) -> None:
    """Files, output and exit status are byte-identical under flipped private labels, scored or refused."""
    folder = exported(tmp_path, platform)
    sent = [csv([1] * N), csv([7] * N), "\0", None]
    runs = []
    for usage in ("", "Private", "Public"):
        flip(folder / "solution.csv", usage)
        runs.append([harness(platform, folder, text) for text in sent])
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]
    assert [code for code, *_ in runs[0]] == [0, 1, 1, 1]
    written = dict(runs[0][0][3])
    lines = written.pop("scores.txt", b"").decode()
    (scores,) = written.values()
    told = json.loads(scores)
    assert lines == (f"accuracy: {told['accuracy']}\n" if platform == "codabench" else "")
    value = told["accuracy"] if platform == "codabench" else told["aggregates"]["accuracy"]
    assert value in {round(right / 24, 3) for right in range(25)}
    assert runs[0][1][2].decode() == f"{FileFault.VALUE.value}\n"
    assert not runs[0][1][3]


@pytest.mark.long
@pytest.mark.parametrize("platform", sorted(PLATFORMS))
def test_scorers_of_values_leak_nothing_of_private_rows_either(platform: str, tmp_path: Path) -> None:
    import pandas

    folder = exported(tmp_path, platform, "rmse")
    (folder / "huggingface_hub.py").write_text("def hf_hub_download(filename, **others): return filename\n")
    (folder / "submissions").mkdir()
    (folder / "submissions" / "t-1.csv").write_text(csv([0.3] * N))
    codes = {
        "kaggle": "import pandas as pd, metric\ns = pd.read_csv('solution.csv')\n"
        "p = s[s.Usage == 'Public'].drop(columns='Usage')\n"
        "print(metric.score(p, p[['id']].assign(prediction=.3), 'id'))",
        "huggingface": "import types, metric\nprint(metric.compute(types.SimpleNamespace("
        "competition_id='c', token='', team_id='t', submission_id='1'))['public_score'])",
    }
    runs: list[Any] = []
    for usage in ("", "Private", "Public"):
        flip(folder / "solution.csv", usage)
        if platform in codes:
            where = os.pathsep.join([str(Path(pandas.__file__).parents[1]), str(folder)])
            done = bare(codes[platform], cwd=folder, path=where)
            runs.append((done.returncode, done.stdout, done.stderr))
        else:
            runs.append(harness(platform, folder, csv([0.3] * N)))
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][0] == 0


def _offline() -> list[str]:
    """Return the words that run a command without network or other mounts than its own; skip where nobody may."""
    words = ["unshare", "--map-root-user", "--net", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces here")
    return words


def test_the_layout_of_the_container_runs_offline_and_its_image_has_no_labels(tmp_path: Path) -> None:
    """As grand-challenge runs it: input and ground truth read-only, no network, and one file is written."""
    words, folder = _offline(), exported(tmp_path, "grand-challenge")
    given, results, truth = (tmp_path / name for name in ("input", "output", "truth"))
    for path in (given, results, truth):
        path.mkdir()
    shutil.move(folder / "solution.csv", truth / "solution.csv")
    (given / "predictions.csv").write_text(csv([1] * N))
    container = (folder / "Dockerfile").read_text()
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", container, re.MULTILINE)[0])
    assert entry == ["python", "-I", "/opt/app/evaluate.py"]
    assert re.findall(r"^COPY (\S+) (\S+)$", container, re.MULTILINE) == [("evaluate.py", entry[-1])]
    assert (folder / ".dockerignore").read_text() == "*\n!evaluate.py\n"
    locked = "".join(f"mount --bind {p} {p} && mount -o remount,ro,bind {p} && " for p in (given, truth))
    online = 'import socket; socket.create_connection(("1.1.1.1", 53), 1)'
    run = f"exec {sys.executable} -I -S {folder / 'evaluate.py'} {given} {results} {truth / 'solution.csv'}"
    refused = subprocess.run([*words, sys.executable, "-c", online], capture_output=True, check=False, timeout=60)
    assert refused.returncode != 0
    done = subprocess.run([*words, "sh", "-c", locked + run], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(json.loads((results / "metrics.json").read_text())["aggregates"]) == ["accuracy"]


def test_the_image_of_a_served_board_is_made_of_what_there_is() -> None:
    """It cannot be built here: its sources exist, nothing private is in its context, and its command is one of ours."""
    root = Path(__file__).parents[2]
    text = (root / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT"}
    assert {line.split()[0] for line in lines} == known
    assert lines.index("USER nobody") > lines.index("COPY . /source")
    kept = [line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((root / name).exists() for name in kept)
    name, *command = json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).partition(" ")[2])
    assert (name, command.pop(0)) == ("labelinf", "guard")
    subcommand = guard.commands[command[0]]
    context = subcommand.make_context("serve", command[1:], resilient_parsing=True)
    assert (str(context.params["board"]), context.params["address"]) == ("board.toml", "0.0.0.0")


def test_a_planted_leak_in_an_exported_file_is_caught(tmp_path: Path) -> None:
    """A score of all rows, and a line on standard error that counts labels, change what teams see."""
    folder = exported(tmp_path, "codabench")
    path = folder / "score.py"
    original = path.read_text()
    plants = [
        ("answer(settings, part, rows)) for part", "answer(settings, truth, rows)) for part"),
        (
            "    rows = canonical(settings, truth, columns, lines)",
            "    __import__('sys').stderr.write('.' * sum(truth.values()))\n"
            "    rows = canonical(settings, truth, columns, lines)",
        ),
    ]
    for old, new in plants:
        assert old in original
        path.write_text(original.replace(old, new))
        told = []
        for _ in range(2):
            flip(folder / "solution.csv", "Private")
            told.append(harness("codabench", folder, csv([1] * N)))
        assert told[0] != told[1]


def test_an_export_counts_on_no_quota_and_may_replace_all_labels(tmp_path: Path) -> None:
    """A quota of one submission proves nothing there; replaced labels, private ones too, prove what does not end."""
    dated = export(board(tmp_path, '[final]\nends = "2027-01-31"\n'), "kaggle", tmp_path / "dated").said
    assert any(line.startswith("Ends. On 2027-01-31. When Kaggle shows scores") for line in dated)
    plain = export(board(tmp_path), "kaggle", tmp_path / "plain").said[1]
    quota = board(tmp_path, "[budget]\nper_board = 1\nbits = 1\n")
    assert export(quota, "kaggle", tmp_path / "split").said[1] == plain
    (tmp_path / "board.exported").unlink()
    noisy = board(tmp_path, "[public]\nflip = 0.4\n", "counts_known = false\ngain = 0.3")
    found = export(noisy, "kaggle", tmp_path / "noisy", words=SeededWords(np.random.default_rng(2)))
    said = " ".join(found.said)
    assert "more than 10.1 points" in said
    assert "0.406-private for every public label" in said
    assert "at the deadline" not in said
    (tmp_path / "board.exported").unlink()
    true = dict(line.split(",") for line in (tmp_path / "labels.csv").read_text().splitlines()[1:])
    rows = [line.split(",") for line in found.solution.read_text().splitlines()[1:]]
    for usage in ("Public", "Private"):
        changed = [true[name] != label for name, label, where in rows if where == usage]
        assert 0.15 < np.mean(changed) < 0.65
    with pytest.raises(InputError, match="leave out show, low and high"):
        export(board(tmp_path, '[release]\nshow = "ranks"\n'), "kaggle", tmp_path / "no")
