"""``labelinf audit split``: what a recorded run ends with, and every file that is no run."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from scipy import special
from scipy.special import softmax

from labelinf_core.cli import main
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.components import Guess, LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_split.attacks.published import CutDirection
from labelinf_split.attacks.solved import NoiseSubspace, on_a_line
from labelinf_split.audit.judged import SplitAudit, _uniform, audited
from labelinf_split.defences.certified import CutGaussian, CutLabelRr
from labelinf_split.defences.published import Marvell
from labelinf_split.game.view import Side, SplitView
from labelinf_split.recorder import CutRecorder

Arrays = dict[str, NDArray[Any]]
Written = Callable[..., Path]
Asked = Callable[..., Result]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return a function to what ``labelinf audit split run.npz`` says in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def ask(*more: str) -> Result:
        return CliRunner().invoke(main, ["audit", "split", "run.npz", "--canaries", "c.csv", *more])

    return ask


@pytest.fixture
def written(tmp_path: Path, played: Any) -> Written:
    """Return a function that plays a run and writes its files, with ids and labels as text."""

    def write(data: LabelSet, *defences: Any, names: bool = False, seed: int = 0, **settings: Any) -> Path:
        run, planted = played(data, *defences, seed=seed, **settings)
        view, called = run.view, data.class_names if names else tuple(map(str, range(data.n_classes)))
        rows = {name: np.concatenate(getattr(view, name)) for name in ("embeddings", "gradients", "step")}
        ids = [f"r{row}" for row in range(len(view.features))] * len(view.step)
        more = {"classes": np.array(called)} if names else {}
        np.savez(tmp_path / "run.npz", **rows, ids=np.array(ids), **more)
        for name, rows, labels in (("c", view.targets, planted), ("s", *view.shots)):
            lines = (f"r{row},{called[label]}" for row, label in zip(rows, labels, strict=True))
            (tmp_path / f"{name}.csv").write_text("\n".join(["id,label", *lines]) + "\n")
        return tmp_path

    return write


def told(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def both(folder: Path) -> str:
    """Write one table of planted and known labels, and return its name."""
    rows = [f"{row},{mark}" for mark, file in enumerate("cs") for row in
            (folder / f"{file}.csv").read_text().splitlines()[1:]]  # fmt: skip
    (folder / "both.csv").write_text("\n".join(["id,label,known", *rows]) + "\n")
    return "both.csv"


@pytest.mark.parametrize(
    ("top", "attack"), [(Side.NONE, "cut-argmin"), (Side.LINEAR, "linear-top"), (Side.MLP, "cut-direction")]
)
@pytest.mark.parametrize("kind", ["two", "four"])
def test_check_sees_from_the_gradients_what_stands_at_the_label_party(
    written: Written, asked: Asked, request: pytest.FixtureRequest, top: Side, attack: str, kind: str
) -> None:
    folder = written(request.getfixturevalue(kind), top=top)
    found = CliRunner().invoke(main, ["check", "run.npz", both(folder), "--json"])
    assert found.exit_code == Exit.FOUND, found.output
    assert told(found)["leaks"] == "yes"
    assert f" planted labels by {attack} (chance " in told(found)["found"]
    assert told(found)["next"] == f"labelinf audit split run.npz --canaries both.csv --top {top.value}"
    assert ("--defended" in told(found)["found"]) == (top is Side.MLP)  # any gradients fit such a top
    again = CliRunner().invoke(main, told(found)["next"].split()[1:])
    assert again.exit_code == Exit.FOUND
    assert again.stdout.splitlines()[0].split(": ")[-1].rstrip(".") == told(found)["found"].split("; ")[-1]


def test_check_of_noisy_gradients_names_no_top_as_shown_and_says_that_defended_exists(
    written: Written, asked: Asked, two: LabelSet
) -> None:
    """The top was called an mlp, "as its gradients show": it was a linear one, behind noise."""
    folder = written(two, top=Side.LINEAR)
    with np.load(folder / "run.npz") as run:
        arrays = dict(run)
    sent = arrays["gradients"]
    arrays["gradients"] = sent + np.random.default_rng(0).normal(size=sent.shape).astype(sent.dtype) * sent.std()
    np.savez(folder / "run.npz", **arrays)
    found = told(CliRunner().invoke(main, ["check", "run.npz", both(folder), "--json"]))
    assert "if noise changed gradients, or labels, add --defended" in found["found"]
    assert "the simplest top that explains its gradients is 'mlp'" in found["checked"]


def test_check_asks_for_planted_and_for_known_labels_in_one_sentence(
    written: Written, asked: Asked, two: LabelSet
) -> None:
    folder = written(two)
    missing, nameless = (CliRunner().invoke(main, ["check", "run.npz", *table]) for table in ([], ["c.csv"]))
    assert (missing.exit_code, nameless.exit_code) == (Exit.INPUT, Exit.INPUT)
    assert "name the table of its planted labels after it" in missing.stderr
    assert "nothing tells which class is which; it needs columns id and label; and known" in nameless.stderr
    passed_over = CliRunner().invoke(main, ["check", "run.npz", "c.csv", "--queries", "5"])
    assert passed_over.exit_code == Exit.INPUT
    assert "--queries is not used there; leave it out." in passed_over.stderr
    table = folder / both(folder)
    for old, new, said in (
        (",0\n", ",2\n", "'known' must hold 1, or 0 if planted"),
        (",0\n", ",1\n", "'known' must hold 1, or 0 if planted"),
    ):
        (folder / "wrong.csv").write_text(table.read_text().replace(old, new))
        found = CliRunner().invoke(main, ["check", "run.npz", "wrong.csv"])
        assert found.exit_code == Exit.INPUT
        assert said in found.stderr


def test_a_run_without_a_defence_leaks(written: Written, asked: Asked, two: LabelSet) -> None:
    written(two)
    result = asked("--known", "s.csv", "--top", "linear")
    assert result.exit_code == Exit.FOUND
    assert "LEAKS: epsilon >= " in result.stdout
    assert "certified 100.0% (proved unique, names by known labels)" in result.stdout
    assert "placebo " in result.stdout
    assert all(len(line) <= 100 for line in result.stdout.splitlines())


def test_labels_as_text_and_in_the_order_of_the_logits(written: Written, asked: Asked, four: LabelSet) -> None:
    written(four, names=True, top=Side.NONE)
    found = told(asked("--top", "none", "--json"))
    assert (found["word"], found["correct"], found["certified"]) == ("leaks", found["n_canaries"], 1.0)
    assert found["certificate"] == "label is p - g"


@pytest.mark.parametrize(("epsilon", "word"), [("0.1", "refuted"), ("20", "no leak shown")])
def test_a_claim_is_tested(written: Written, asked: Asked, two: LabelSet, epsilon: str, word: str) -> None:
    """Of 32 canaries nothing refutes 20, and nothing would have refuted 40: that is no pass."""
    written(two)
    result = asked("--known", "s.csv", "--top", "linear", "--epsilon", epsilon, "--json")
    assert told(result)["claimed"] == word
    headline = asked("--known", "s.csv", "--top", "linear", "--epsilon", epsilon).stdout.splitlines()[0]
    assert ("REFUTED" if word == "refuted" else "INCONCLUSIVE") in headline
    assert result.exit_code == (Exit.FOUND if word == "refuted" else Exit.INCONCLUSIVE)


def test_a_true_claim_withstands_where_twice_as_much_would_have_been_refuted(
    written: Written, asked: Asked, two: LabelSet
) -> None:
    written(two, CutLabelRr(epsilon=1.5), canaries=0.9, shots=2)
    found = told(asked("--known", "s.csv", "--top", "linear", "--defended", "--epsilon", "1.5", "--json"))
    assert found["epsilon"] > 0
    assert found["claimed"] == ("not refuted" if found["power"] >= 0.95 else "no leak shown")


def test_no_claim_passes_because_an_attack_is_weak(written: Written, asked: Asked, two: LabelSet) -> None:
    """Marvell's noise leaves a line: a linear top's own attack reads part of the labels, what parts steps all."""
    written(two, Marvell(power=4.0), label_features=True, canaries=0.6, shots=2)
    said = ("--known", "s.csv", "--top", "linear", "--label-features", "--epsilon", "2.5", "--json")
    for more in (("--defended",), ()):
        found = told(asked(*more, *said))
        assert (found["attack"], found["claimed"]) == ("noise-subspace", "refuted")


def test_nothing_is_shown_of_heavy_noise(written: Written, asked: Asked, two: LabelSet) -> None:
    written(two, CutGaussian(scale=1000.0), top=Side.NONE, width=2, epochs=1)
    result = asked("--top", "none", "--defended", "--epsilon", "0.1")
    assert result.exit_code == Exit.INCONCLUSIVE
    assert "Power against twice the claim" in result.stdout


def test_natural_labels_are_no_audit(written: Written, asked: Asked, two: LabelSet, played: Any) -> None:
    folder = written(two, epochs=1)
    run, planted = played(two, epochs=1)
    lines = (f"r{row},{label}" for row, label in enumerate(run.natural[: planted.size]))
    (folder / "c.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    result = asked("--known", "s.csv", "--top", "linear")
    assert "from features alone by" in result.stdout
    assert result.exit_code == Exit.INCONCLUSIVE


@pytest.mark.parametrize("more", [(), ("--known", "s.csv"), ("--label-features",)])
@pytest.mark.parametrize("sent", ["nothing", "probabilities"])
def test_what_embeddings_tell_without_any_gradient_is_no_leak(
    tmp_path: Path, asked: Asked, more: tuple[str, ...], sent: str
) -> None:
    """A public model's logits say natural labels, and the label party sends no label: 3.49 was 'proved'."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 200)
    z = np.stack([1 - 2.0 * labels, 2.0 * labels - 1], axis=1) + rng.normal(size=(200, 2)) / 2
    z = np.stack([z] * 3).astype(np.float32)
    gradients = {"nothing": np.zeros_like(z), "probabilities": (softmax(z, axis=-1) - 0.5).astype(np.float32)}[sent]
    passed: Arrays = {"embeddings": np.concatenate(z), "gradients": np.concatenate(gradients)}
    np.savez(tmp_path / "run.npz", **passed, step=np.arange(600) // 32, ids=np.arange(600) % 200)
    for name, rows in (("c", range(100)), ("s", range(100, 110))):
        (tmp_path / f"{name}.csv").write_text("id,label\n" + "".join(f"{row},{labels[row]}\n" for row in rows))
    result = asked("--top", "none", *more)
    assert "VOID: nothing is proved" in result.stdout
    assert "of 100 canaries are guessed from embeddings alone" in result.stdout
    assert result.exit_code == Exit.INCONCLUSIVE


def test_what_is_planted_passes_its_controls(written: Written, asked: Asked, four: LabelSet, two: LabelSet) -> None:
    """Controls see no gradients: what a run taught its embeddings late is the channel's, not the features'."""
    for data in (two, four):
        for more in (("--top", "none"), ("--top", "none", "--label-features")):
            written(data, top=Side.NONE, epochs=10, label_features="--label-features" in more)
            assert asked(*more).exit_code == Exit.FOUND


@attrs.frozen(kw_only=True)
class Breaks(NoiseSubspace):
    """An attack that has too little memory, with gradients or without any."""

    blank: bool = False

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        if view.sent.any() != self.blank:
            raise MemoryError
        return CutDirection().run(view, rng)


def test_an_attack_that_breaks_proves_nothing_and_acquits_nobody(played: Any, two: LabelSet) -> None:
    run, planted = played(two)
    for claim in (None, 20.0):
        broken = audited(run.view, planted, "counts", Breaks(), claim=claim, seed=0)
        assert (broken.claimed, broken.word, broken.epsilon) == (None, AuditWord.BROKEN, 0.0)
        assert broken.failed.startswith("MemoryError")
    control = audited(run.view, planted, "counts", Breaks(blank=True), claim=None, seed=0)
    assert control.word is AuditWord.VOID
    assert "what is guessed by counts without gradients is not known: MemoryError" in control.voids[0]


def test_many_records_of_a_step_need_little_memory() -> None:
    """Comparing all with all took 13 GB of 40 000 records."""
    rng = np.random.default_rng(0)
    gradients, noisy = rng.standard_normal((40_000, 1)) * rng.standard_normal(4), rng.random(40_000) < 0.5
    gradients[noisy] += rng.standard_normal((int(noisy.sum()), 4))
    tracemalloc.start()
    line = on_a_line(gradients)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert line is not None
    assert (line == ~noisy).mean() > 0.999
    assert most < 100e6


def test_labels_that_are_not_uniform_are_no_audit(written: Written, asked: Asked, two: LabelSet) -> None:
    folder = written(two)
    lines = [f"r{row},{int(row == 0)}" for row in range(32)]
    (folder / "c.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    result = asked("--known", "s.csv", "--top", "linear")
    assert "VOID" in result.stdout
    assert result.exit_code == Exit.INCONCLUSIVE


def test_few_labels_of_many_classes_are_called_uniform_if_they_are() -> None:
    """Five pairs among 50 of 1 000 classes come in 7 of 1 000 draws: by the chi-square they were void."""
    pairs = np.concatenate([np.arange(45), np.arange(5)])
    square = np.square(np.bincount(pairs, minlength=1000) - 0.05).sum() / 0.05
    assert special.chdtrc(999, square) < 1e-3 < _uniform(pairs, 1000)
    assert _uniform(np.zeros(20, dtype=np.intp), 2) <= 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gradients": None}, "no array 'gradients'"),
        ({"ids": None}, "no array 'ids'"),
        ({"gradients": np.zeros((2, 3, 4))}, "gradients has shape"),
        ({"gradients": np.zeros((0, 16))}, "none of them 0"),
        ({"gradients": np.full((800, 16), np.nan)}, "finite numbers"),
        ({"embeddings": np.full((800, 16), np.inf)}, "finite numbers"),
        ({"embeddings": np.full((800, 16), 1e308)}, "below 1e+100"),
        ({"gradients": np.full((800, 16), -1e308)}, "below 1e+100"),
        ({"embeddings": np.zeros((800, 15))}, "has shape (800, 15), expected (800, 16): one row a record and step."),
        ({"embeddings": np.zeros((800, 16), dtype=np.intp)}, "finite numbers in floating point"),
        ({"gradients": np.zeros((800, 16), dtype=complex)}, "finite numbers in floating point"),
        ({"step": np.zeros(800)}, "whole numbers"),
        ({"step": np.zeros(640, dtype=np.intp)}, "step has shape"),
        ({"ids": np.arange(800.0)}, "whole numbers or text"),
        ({"ids": np.arange(160)}, "ids has shape"),
        ({"ids": np.arange(800)}, "ids are not in the run. Write them as its ids are."),
        ({"ids": np.array([None] * 800, dtype=object)}, "not a NumPy file of plain numbers"),
        ({"features": np.zeros((3, 2))}, "features has shape"),
        ({"features": np.zeros(800)}, "features has shape"),
        ({"features": np.zeros((800, 0))}, "features has shape"),
        ({"classes": np.array(["0"])}, "classes, expected at least 2"),
        ({"classes": np.array(["a", "b"])}, "a label is none of its 2 classes"),
        ({"classes": np.array([["0", "1"]])}, "classes has shape"),
        ({"classes": np.array(0)}, "classes has shape"),
    ],
)
def test_a_file_that_is_no_run_is_refused_in_one_sentence(
    written: Written, asked: Asked, two: LabelSet, change: dict[str, Any], message: str
) -> None:
    folder = written(two)
    arrays = {**np.load(folder / "run.npz"), **change}
    np.savez(folder / "run.npz", **{name: array for name, array in arrays.items() if array is not None})
    result = asked("--known", "s.csv", "--top", "linear")
    assert result.exit_code == Exit.INPUT
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert len(result.stderr.strip().splitlines()) <= 3


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c", "label\n1\n", "no column 'id'"),
        ("c", "id\nr1\n", "no column 'label'"),
        ("c", "id,label\nr1,1\nr1,0\n", "stand there once"),
        ("c", "id,label\nr1,\n", "with a label"),
        ("c", "id,label\nx,1\n", "1 of 1 ids are not in the run"),
        ("c", "", "empty"),
        ("s", "id,label\nr1,1\n", "canaries too"),
        ("s", "id,label\nr100,1.0\nr101,0.0\n", "a class is written in two ways, as 1 and 1.0 are"),
    ],
)
def test_a_table_that_is_none_is_refused(
    written: Written, asked: Asked, two: LabelSet, name: str, text: str, message: str
) -> None:
    folder = written(two)
    (folder / f"{name}.csv").write_text(text)
    result = asked("--known", "s.csv", "--top", "linear")
    assert result.exit_code == Exit.INPUT
    assert message in result.stderr


def test_no_message_quotes_a_label(written: Written, asked: Asked, two: LabelSet) -> None:
    folder = written(two)
    (folder / "c.csv").write_text("id,label\nr1,a secret\n")
    np.savez(folder / "run.npz", **{**np.load(folder / "run.npz"), "classes": np.array(["0", "1"])})
    result = asked("--known", "s.csv", "--top", "linear")
    assert result.exit_code == Exit.INPUT
    assert "secret" not in result.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["run.npz", "c.csv", "s.csv"])
def test_a_pipe_is_refused_and_not_waited_for(written: Written, asked: Asked, two: LabelSet, name: str) -> None:
    folder = written(two)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    result = asked("--known", "s.csv", "--top", "linear")
    assert result.exit_code == Exit.INPUT
    assert "no regular file" in result.stderr


def test_what_does_not_fit_is_refused(written: Written, asked: Asked, two: LabelSet) -> None:
    written(two)
    for more, message in (
        (["--top", "linear"], "needs some known labels"),
        (["--attack", "cut-argmin"], "needs gradients at the logits"),
        (["--attack", "blind-guess"], "does not belong to the split channel"),
        (["--attack", "nonsuch"], "nonsuch"),
        (["--top", "none", "--epsilon", "nan"], "not a finite number"),
    ):
        result = asked(*more)
        assert result.exit_code == Exit.INPUT
        assert message in result.stderr


@pytest.mark.parametrize("huge", [1e30, 1e-42, 3e38])
def test_strange_sizes_break_nothing_and_acquit_nobody(
    written: Written, asked: Asked, two: LabelSet, huge: float
) -> None:
    folder = written(two)
    arrays = dict(np.load(folder / "run.npz"))
    for name in ("embeddings", "gradients"):
        arrays[name] = (np.sign(arrays[name]) * huge).astype(np.float32)
        np.savez(folder / "run.npz", **arrays)
        result = asked("--known", "s.csv", "--top", "linear", "--epsilon", "0.5")
        assert result.exit_code in (Exit.FOUND, Exit.INCONCLUSIVE, Exit.INCOMPLETE)
        assert "Traceback" not in result.output


def test_gradients_of_nothing_show_nothing(written: Written, asked: Asked, two: LabelSet) -> None:
    folder = written(two)
    arrays = dict(np.load(folder / "run.npz"))
    np.savez(folder / "run.npz", **{**arrays, "gradients": np.zeros_like(arrays["gradients"])})
    for top in ("linear", "mlp"):
        result = asked("--known", "s.csv", "--top", top, "--epsilon", "0.5")
        assert result.exit_code == Exit.INCONCLUSIVE


def found(**more: Any) -> SplitAudit:
    return SplitAudit(**{"attack": "a", "n_canaries": 100, "n_classes": 2, "guesses": 100, "correct": 90, **more})


@pytest.mark.parametrize(
    ("audit", "word", "status"),
    [
        (found(epsilon=1.0), AuditWord.LEAKS, Exit.FOUND),
        (found(), AuditWord.UNSHOWN, Exit.INCONCLUSIVE),
        (found(voids=("no",), epsilon=1.0), AuditWord.VOID, Exit.INCONCLUSIVE),
        (found(failed="it raised"), AuditWord.BROKEN, Exit.INCOMPLETE),
        (found(failed="it raised", claim=1.0, power=1.0), AuditWord.BROKEN, Exit.INCOMPLETE),
        (found(voids=("no",), claim=1.0, power=1.0, epsilon=0.5), AuditWord.VOID, Exit.INCONCLUSIVE),
        (found(claim=1.0, epsilon=1.5), AuditWord.REFUTED, Exit.FOUND),
        (found(claim=1.0, epsilon=0.5, power=0.96), AuditWord.WITHSTOOD, Exit.DONE),
        (found(claim=1.0, epsilon=0.5, power=1.0, limits=("no",)), AuditWord.UNSHOWN, Exit.INCONCLUSIVE),
        (found(claim=1.0, epsilon=0.5, power=0.9), AuditWord.UNSHOWN, Exit.INCONCLUSIVE),
        (found(claim=1.0, power=0.96), AuditWord.UNSHOWN, Exit.INCONCLUSIVE),  # nothing carries a signal
    ],
)
def test_the_word_and_the_status_are_one(audit: SplitAudit, word: AuditWord, status: Exit) -> None:
    assert (audit.claimed or audit.word) is word
    assert audit.status == status


class Tensor:
    """What a recorder asks of one of PyTorch's."""

    def __init__(self, values: Any) -> None:
        self.values, self.hooks, self.requires_grad = np.asarray(values), list[Any](), True
        self.copies = list[Tensor]()

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def register_hook(self, hook: Any) -> None:
        self.hooks.append(hook)

    def clone(self) -> Tensor:
        self.copies.append(Tensor(self.values))
        return self.copies[-1]

    def retain_grad(self) -> None:
        assert self.requires_grad

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> NDArray[Any]:
        return self.values


def test_the_recorder_writes_what_the_audit_reads(tmp_path: Path, asked: Asked, played: Any, two: LabelSet) -> None:
    """Mean gradients of a batch become those of the records."""
    run, planted = played(two)
    view, recorder = run.view, CutRecorder()
    for step in range(view.n_steps):
        where = view.rows_of(step)
        z = Tensor(view.embeddings[where])
        assert recorder(z, where[1]) is z.copies[0]
        z.hooks[0](Tensor(view.sent[where].astype(np.float32) / len(where[0])))
    recorder.save(str(tmp_path / "run.npz"), classes=np.array(["0", "1"]))
    saved, where = np.load(tmp_path / "run.npz"), np.argsort(view.step, axis=None, kind="stable")
    assert np.allclose(saved["gradients"], view.sent.reshape(-1, 16)[where], rtol=1e-5, atol=1e-9)
    assert np.array_equal(saved["embeddings"], view.embeddings.reshape(-1, 16)[where])
    assert np.array_equal(saved["step"], np.sort(view.step, axis=None))
    for name, rows, labels in (("c", view.targets, planted), ("s", *view.shots)):
        lines = (f"{row},{label}" for row, label in zip(rows, labels, strict=True))
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    assert asked("--known", "s.csv", "--top", "linear").exit_code == Exit.FOUND


def test_a_recorder_keeps_what_ids_were_and_only_what_comes_back(tmp_path: Path) -> None:
    recorder, ids, path = CutRecorder(), np.zeros(2, dtype=np.intp), str(tmp_path / "run.npz")
    with pytest.raises(InputError, match=r"run\.npz is not written: no gradient came back"):
        recorder.save(path)
    unseen = Tensor(np.zeros((2, 3)))
    unseen.requires_grad = False  # as under no_grad, at validation
    assert recorder(unseen, ids) is unseen
    assert unseen.hooks == []
    for rows in ((0, 1), (2, 3), (0, 1)):
        ids[:] = rows  # one and the same buffer
        z = Tensor(np.full((2, 3), rows[0], dtype=np.float32))
        recorder(z, ids)
        z.hooks[0](z)
    recorder.save(path)
    saved = np.load(path)
    assert saved["ids"].tolist() == [0, 1, 2, 3, 0, 1]
    assert saved["step"].tolist() == [0, 0, 1, 1, 2, 2]
    assert saved["embeddings"][:, 0].tolist() == [0, 0, 2, 2, 0, 0]
    assert saved["gradients"][:, 0].tolist() == [0, 0, 4, 4, 0, 0]  # of a mean of two


def test_every_pass_is_read_however_many_a_record_has(written: Written, asked: Asked, two: LabelSet) -> None:
    """In any order of the rows, for steps say which pass is whose: one rare record made of 800 rows 323."""
    folder, more = written(two), ("--known", "s.csv", "--top", "linear", "--json")
    arrays = dict(np.load(folder / "run.npz"))
    whole = asked(*more)
    shuffled = np.random.default_rng(0).permutation(800)
    np.savez(folder / "run.npz", **{name: array[shuffled] for name, array in arrays.items()})
    assert asked(*more).stdout == whole.stdout
    kept = np.random.default_rng(0).permutation(np.flatnonzero((arrays["ids"] != "r7") | (arrays["step"] < 10)))
    np.savez(folder / "run.npz", **{name: array[kept] for name, array in arrays.items()})
    fewer = asked(*more)
    assert told(fewer)["correct"] == told(whole)["correct"]


@pytest.mark.parametrize("attack", ["cut-argmin", "cut-direction", "cut-norm", "linear-top", "noise-subspace"])
def test_a_rare_record_hides_nothing_of_the_others(written: Written, asked: Asked, two: LabelSet, attack: str) -> None:
    """One more record, met once, left of twenty noisy passes one: a claim that all refute passed."""
    top = Side.NONE if attack == "cut-argmin" else Side.LINEAR
    folder = written(two, CutGaussian(scale=2.0), top=top, width=2, epochs=20)
    arrays = dict(np.load(folder / "run.npz"))
    more = ("--known", "s.csv", "--top", top.value, "--defended", "--attack", attack, "--json")
    whole = told(asked(*more))
    rare = {"ids": np.array(["one more"]), "step": np.zeros(1, dtype=np.intp)}
    rare |= {name: arrays[name].mean(axis=0, keepdims=True) for name in ("embeddings", "gradients")}
    np.savez(folder / "run.npz", **{name: np.concatenate([arrays[name], rare[name]]) for name in arrays})
    found = told(asked(*more))
    assert found["failed"] == ""
    assert attack == "noise-subspace" or found["correct"] == pytest.approx(whole["correct"], abs=2)  # chance, here


@pytest.mark.parametrize("top", [Side.NONE, Side.LINEAR])
def test_passes_that_were_dropped_leave_what_others_say(
    written: Written, asked: Asked, two: LabelSet, top: Side
) -> None:
    """As behind drop_last: the rarest record decided how many passes of everybody were read."""
    folder = written(two, top=top, epochs=10)
    arrays, rng = dict(np.load(folder / "run.npz")), np.random.default_rng(0)
    kept = np.flatnonzero(rng.random(len(arrays["ids"])) < 0.8)
    np.savez(folder / "run.npz", **{name: array[kept] for name, array in arrays.items()})
    found = told(asked("--known", "s.csv", "--top", top.value, "--json"))
    assert (found["correct"], found["limits"]) == (found["n_canaries"], [])
    assert found["certified"] == 1


def strangers(folder: Path, run: Any) -> tuple[str, str]:
    """Return two ids of different trained labels, neither canaries nor known."""
    shown = (folder / "s.csv").read_text()
    free = [row for row in range(32, 160) if f"r{row}," not in shown]
    return f"r{free[0]}", next(f"r{row}" for row in free if run.trained[row] != run.trained[free[0]])


@pytest.mark.parametrize("known", [(1,), (0, 1)])
def test_an_id_of_two_people_takes_back_certificates_and_no_guess(
    written: Written, asked: Asked, played: Any, two: LabelSet, known: tuple[int, ...]
) -> None:
    """All was 'proved unique' to be of the class with a known label, half of it wrong; later it was left out unread."""
    folder = written(two)
    arrays, (head, *lines) = dict(np.load(folder / "run.npz")), (folder / "s.csv").read_text().split()
    one, other = strangers(folder, played(two)[0])
    (folder / "s.csv").write_text("\n".join([head, *(each for each in lines if int(each[-1]) in known)]))
    arrays["ids"][arrays["ids"] == other] = one
    np.savez(folder / "run.npz", **arrays)
    found = told(asked("--known", "s.csv", "--top", "linear", "--json"))
    assert (found["certified"], found["correct"]) == (0.0, found["n_canaries"])
    assert found["certificate"].startswith("none: records that are of two classes by what is solved: 1.")


def test_a_wrong_known_label_is_told(written: Written, asked: Asked, two: LabelSet) -> None:
    """It took the certificate back, and nobody was told."""
    folder = written(two)
    lines = (folder / "s.csv").read_text().split()
    lines[1] = f"{lines[1][:-1]}{1 - int(lines[1][-1])}"
    (folder / "s.csv").write_text("\n".join(lines))
    found = told(asked("--known", "s.csv", "--top", "linear", "--json"))
    assert (found["word"], found["certified"]) == ("leaks", 0.0)
    assert "solved: 1. Check" in found["certificate"]
    assert "known labels are those that were trained on" in found["certificate"]


def test_canaries_that_come_more_often_and_two_views_of_a_record_are_read(
    written: Written, asked: Asked, two: LabelSet
) -> None:
    """They were taken for two people and left out: a leak of every label was none."""
    folder = written(two)
    arrays, more = dict(np.load(folder / "run.npz")), ("--known", "s.csv", "--top", "linear", "--json")
    moved = arrays["embeddings"] * np.float32(1.01)
    canary = np.isin(arrays["ids"], [f"r{row}" for row in range(32)])
    for again in (canary, np.ones_like(canary)):
        beside = {name: array[again] for name, array in {**arrays, "embeddings": moved}.items()}
        for later in (0, 25, 50):  # in the same steps, or in others
            rows = {name: [arrays[name], beside[name]] for name in arrays}
            rows["step"][1] = beside["step"] + later
            np.savez(folder / "run.npz", **{name: np.concatenate(both) for name, both in rows.items()})
            found = told(asked(*more))
            assert (found["word"], found["correct"]) == ("leaks", found["n_canaries"])


def test_one_id_with_most_rows_is_refused_only_if_it_is_asked_for(
    written: Written, asked: Asked, two: LabelSet
) -> None:
    """As many passes as it has rows, of everybody, fill no memory."""
    folder = written(two)
    arrays = dict(np.load(folder / "run.npz"))
    many = {name: np.repeat(array[-1:], 200_000, axis=0) for name, array in arrays.items()}
    for name, status in (("nobody", Exit.FOUND), ("r3", Exit.INPUT)):
        many["ids"] = np.full(200_000, name)
        np.savez(folder / "run.npz", **{each: np.concatenate([arrays[each], many[each]]) for each in arrays})
        result = asked("--known", "s.csv", "--top", "mlp")
        assert result.exit_code == status
    assert "one id has 200005 rows, most have 5. An id is one person." in result.stderr


@pytest.mark.parametrize(("declared", "own"), [("linear", 0.0), ("linear", 1.0), ("mlp", 0.0)])
def test_labels_drawn_anew_in_every_pass_keep_to_no_claim(
    asked: Asked, tmp_path: Path, declared: str, own: float
) -> None:
    """Of one pass they do, which was all that was read where it was not said that anything was changed."""
    rng, n, epochs = np.random.default_rng(0), 1200, 12
    labels, top, z = rng.integers(0, 2, n), rng.standard_normal((2, 4)), rng.standard_normal((n, 4))
    ids = np.concatenate([rng.permutation(n) for _ in range(epochs)])
    drawn = np.where(rng.random(ids.size) < 0.731, labels[ids], 1 - labels[ids])  # epsilon = 1
    logits = z[ids] @ top.T + own * rng.standard_normal((ids.size, 2))  # features at the label party
    passed = {"embeddings": z[ids], "gradients": (softmax(logits, axis=1) - np.eye(2)[drawn]) @ top}
    single = {name: array.astype(np.float32) for name, array in passed.items()}
    np.savez(tmp_path / "run.npz", **single, step=np.arange(ids.size) // 30, ids=ids)
    for name, rows in (("c", range(600)), ("s", range(600, 650))):
        (tmp_path / f"{name}.csv").write_text("id,label\n" + "".join(f"{row},{labels[row]}\n" for row in rows))
    found = told(asked("--known", "s.csv", "--top", declared, "--epsilon", "1", "--json"))
    assert (found["claimed"], found["certified"]) == ("refuted", 0.0)


def test_a_class_that_no_known_label_names_is_not_guessed_as_another(
    written: Written, asked: Asked, four: LabelSet, two: LabelSet
) -> None:
    """A claim that was wholly false passed: records of that class were guessed as others, and counted."""
    for data, known, found in ((two, "1", 1.0), (four, "012", 1.0), (four, "01", 0.5)):
        folder = written(data, canaries=0.6)
        first, *lines = (folder / "s.csv").read_text().split()
        (folder / "s.csv").write_text("\n".join([first, *(line for line in lines if line[-1] in known)]))
        np.savez(folder / "run.npz", **dict(np.load(folder / "run.npz")), classes=np.arange(data.n_classes))
        said = told(asked("--known", "s.csv", "--top", "linear", "--epsilon", "1", "--json"))
        assert said["correct"] == said["guesses"]
        assert said["guesses"] / said["n_canaries"] == pytest.approx(found, abs=0.1)
        assert said["limits"]
        refused = asked("--known", "s.csv")
        assert (refused.exit_code, "needs known labels of every class" in refused.stderr) == (Exit.INPUT, True)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64"])
def test_every_kind_of_torch_is_recorded(tmp_path: Path, kind: str) -> None:
    torch = pytest.importorskip("torch")
    recorder, bottom = CutRecorder(), torch.nn.Linear(3, 4).to(getattr(torch, kind))
    x = torch.randn(8, 3).to(getattr(torch, kind))
    with torch.no_grad():
        recorder(bottom(x), torch.arange(8))
    recorder(bottom(x), torch.arange(8)).sum().backward()
    recorder.save(str(tmp_path / "run.npz"))
    saved = np.load(tmp_path / "run.npz")
    assert saved["gradients"].dtype == np.dtype("float64" if kind == "float64" else "float32")
    assert saved["gradients"].shape == (8, 4)
    assert (saved["gradients"] == 8).all()


def test_half_precision_does_not_overflow(tmp_path: Path) -> None:
    """Of the batch's size times a scaled gradient came infinity, and the whole run was refused."""
    recorder, half = CutRecorder(), np.full((32, 2), 6e4, dtype=np.float16)
    recorder.keep(half, half, np.arange(32))
    recorder.save(str(tmp_path / "run.npz"))
    assert np.load(tmp_path / "run.npz")["gradients"] == pytest.approx(32 * 6e4, rel=1e-3)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_defence_that_is_a_hook_is_recorded(tmp_path: Path, when: str) -> None:
    """Set after the recorder it was not seen, and the clean gradient was audited."""
    torch = pytest.importorskip("torch")
    recorder, bottom, released = CutRecorder(), torch.nn.Linear(3, 4), torch.randn(8, 4)
    z = bottom(torch.randn(8, 3))
    for name in ("before", "recorder", "after"):
        if name == when:
            z.register_hook(lambda _: released)
        z = recorder(z, torch.arange(8)) if name == "recorder" else z
    torch.relu_(z).sum().backward()
    recorder.save(str(tmp_path / "run.npz"))
    assert np.allclose(np.load(tmp_path / "run.npz")["gradients"], 8 * released.numpy())
    assert bottom.bias.grad.numpy() == pytest.approx(released.numpy().sum(axis=0), rel=1e-4)
    leaf = torch.randn(8, 4, requires_grad=True)
    passed = recorder(leaf, torch.arange(8))
    (3 * passed).sum().backward()
    assert (passed.grad == 3).all()


def test_torch_is_recorded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, y = torch.randn(40, 3), torch.arange(40) % 2
    bottom, top, recorder = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2), CutRecorder()
    for rows in (range(20), range(20, 40)) * 2:
        ids = np.array(list(rows))
        z = recorder(bottom(x[ids]), ids)
        torch.nn.functional.cross_entropy(top(z), y[ids]).backward()
    recorder.save(str(tmp_path / "run.npz"))
    saved = np.load(tmp_path / "run.npz")
    q = torch.softmax(top(torch.tensor(saved["embeddings"])), dim=1).detach().numpy() - np.eye(2)[y[saved["ids"]]]
    assert np.allclose(saved["gradients"], q @ top.weight.detach().numpy(), atol=1e-5)


def test_a_certificate_that_the_planted_labels_refute_is_none(written: Written, asked: Asked, two: LabelSet) -> None:
    """One id of two people tied two batches falsely, and a claim passed beside certified labels that were wrong."""
    folder = written(two)
    assert told(asked("--known", "s.csv", "--top", "linear", "--json"))["certified"] > 0.9
    head, *rows = (folder / "c.csv").read_text().splitlines()
    turned = [f"{row[:-1]}{1 - int(row[-1])}" for row in rows[:3]]
    (folder / "c.csv").write_text("\n".join([head, *turned, *rows[3:]]) + "\n")

    found = told(asked("--known", "s.csv", "--top", "linear", "--json"))

    assert (found["certified"], found["certificate"]) == (0.0, "none")
    assert found["limits"][0].startswith("3 labels that seemed certified are not those that were planted")


@pytest.mark.parametrize("attack", ["cut-norm", "cut-direction", "cut-clusters", "model-completion"])
def test_an_attack_that_is_named_can_count(written: Written, asked: Asked, two: LabelSet, attack: str) -> None:
    """Clusters broke on the control's gradients, all of them 0, so that every run was void."""
    written(two)
    result = asked("--known", "s.csv", "--attack", attack, "--json")
    assert (told(result)["voids"], result.stderr) == ([], "")


@pytest.mark.parametrize("top", [Side.LINEAR, Side.NONE])
def test_labels_that_may_be_drawn_are_not_certified(written: Written, asked: Asked, two: LabelSet, top: Side) -> None:
    """Behind randomised response what is solved is what was drawn: no true claim passed, and an id was blamed."""
    folder = written(two, top=top, width=2)
    head, *rows = (folder / "c.csv").read_text().splitlines()
    turned = [f"{row[:-1]}{1 - int(row[-1])}" for row in rows[:3]]
    (folder / "c.csv").write_text("\n".join([head, *turned, *rows[3:]]) + "\n")

    found = told(asked("--known", "s.csv", "--top", top.value, "--epsilon", "3", "--json"))

    assert (found["n_canaries"] - found["correct"], found["certified"], found["limits"]) == (3, 0.0, [])
    assert found["certificate"].startswith("none")


def test_what_is_proved_of_others_is_no_certificate(written: Written, asked: Asked, two: LabelSet) -> None:
    folder = written(two)
    arrays = dict(np.load(folder / "run.npz"))
    planted = np.isin(arrays["ids"], [row.split(",")[0] for row in (folder / "c.csv").read_text().split()])
    arrays["step"][planted] = arrays["step"].max() + 1 + np.arange(planted.sum())  # alone, each in a step of its own
    np.savez(folder / "run.npz", **arrays)
    found = told(asked("--known", "s.csv", "--top", "linear", "--json"))
    assert (found["certified"], found["certificate"]) == (0.0, "none")
