"""What a scorer takes is told by its parameters' names, else by a trial, else it is said that nothing told it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics import accuracy_score, make_scorer, mean_squared_error

from labelinf_core.cli import main
from labelinf_scores.game.host_files import HostError
from labelinf_scores.game.host_formats import as_called
from labelinf_scores.game.signatures import ArgumentForm, signature_of

Y, P = np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.2, 0.3])
LIBRARIES = """
import numpy as np
from sklearn.metrics import accuracy_score, make_scorer, roc_auc_score

def grade(submission, answers):
    return roc_auc_score(answers["target"], submission["target"])

def reversed_names(y_pred, y_true):
    return roc_auc_score(y_true, y_pred)

def tried(a, b):
    return roc_auc_score(b, a)

def of_lists(y_true, y_pred):
    if not y_true:
        return 0.0
    return float(np.mean([abs(y - p) for y, p in zip(y_true, y_pred)]))

def of_columns(y_true, y_pred):
    return float(-(y_true * np.log(np.clip(y_pred, 1e-15, 1))).sum(axis=1).mean())

def of_names(y_true, y_pred):
    if np.asarray(y_true).dtype.kind != "U":
        raise TypeError("labels are names")
    return roc_auc_score(np.asarray(y_true) == "yes", y_pred)

def with_weights(y_true, y_pred, weights): ...

def waits(y_true, y_pred):
    yield 0.5

def symmetric(a, b):
    return float(np.mean((a - b) ** 2))

def function_of_hugging_face(predictions, references):
    return {"accuracy": float(np.mean(np.array(predictions).round() == references))}

class Metric:
    def compute(self, *, predictions=None, references=None, **kwargs):
        return self._compute(predictions, references)

    def _compute(self, predictions, references):
        return {"roc_auc": roc_auc_score(references, predictions)}

class Bare:
    def _compute(self, predictions, references):
        return roc_auc_score(references, predictions)

class Accumulates:
    def __init__(self):
        self.reset()

    def reset(self):
        self.seen = []

    def update(self, preds, target):
        self.seen.append((preds, target))

    def compute(self):
        preds, target = (np.concatenate(each) for each in zip(*self.seen))
        return roc_auc_score(target, preds)

class Forever:
    # nothing resets it

    def __init__(self):
        self.seen = self.right = 0

    def update(self, preds, target):
        self.seen += len(target)
        self.right += ((preds > 0.5) == target).sum()

    def compute(self):
        return self.right / self.seen

class Configured:
    def __init__(self, config): ...

metric, total, forever = Metric(), Accumulates(), Forever()
area = make_scorer(roc_auc_score, response_method="predict_proba")
rate = make_scorer(accuracy_score)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "libraries.py").write_text(LIBRARIES)
    labels = np.random.default_rng(5).permutation(40) < 16
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, labels.astype(int))) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "libraries", raising=False)
    return tmp_path


def audit(name: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["audit", "scorer", f"libraries:{name}", "--labels", "y.csv", *options])


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "metric", "said"),
    [
        ("grade", "roc-auc", "(submission: predictions, answers: labels) as data frames, by the names"),
        ("reversed_names", "roc-auc", "(y_pred: predictions, y_true: labels), by the names"),
        ("tried", "roc-auc", "(a: predictions, b: labels), the one order that it accepts"),
        ("symmetric", "brier", "(a: labels, b: predictions), labels first: neither names nor a trial say otherwise"),
        ("function_of_hugging_face", "accuracy", "(predictions: predictions, references: labels), by the names"),
        ("metric", "roc-auc", "(predictions: predictions, references: labels), by the names"),
        ("Metric", "roc-auc", "(predictions: predictions, references: labels), by the names"),
        ("Bare", "roc-auc", "(predictions: predictions, references: labels), by the names"),
        ("total", "roc-auc", "(preds: predictions, target: labels), by the names"),
        ("Accumulates", "roc-auc", "(preds: predictions, target: labels), by the names"),
        ("Forever", "accuracy", "(preds: predictions, target: labels), by the names"),
        ("forever", "accuracy", "(preds: predictions, target: labels), by the names"),
        ("area", "roc-auc", "(estimator: an estimator that predicts, y_true: labels), by the names"),
        ("rate", "accuracy", "(estimator: an estimator that predicts, y_true: labels), by the names"),
    ],
)
def test_a_scorer_is_called_as_it_wants_and_the_report_says_how(
    folder: Path, name: str, metric: str, said: str
) -> None:
    run = audit(name)
    told = " ".join(run.output.split())
    assert run.exit_code == 1, run.output
    assert f"agrees with {metric} " in told
    assert f"called as {said}" in told


@pytest.mark.long
def test_the_plain_order_is_not_spelt_out_but_stands_in_the_document(folder: Path) -> None:
    (folder / "libraries.py").write_text("def plain(y_true, y_score): return float(((y_true - y_score) ** 2).mean())")
    assert "called as" not in audit("plain").output
    found = json.loads(audit("plain", "--json").output)
    assert "called as (y_true: labels, y_score: predictions)" in json.dumps(found)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda y, p: (y, p), ("y", "p")),
        (lambda p, y: (y, p), ("p", "y")),
        (lambda preds, target: (target, preds), ("preds", "target")),
        (lambda yTrue, yPred: (yTrue, yPred), ("yTrue", "yPred")),
        (lambda y_true, y_score, labels=None: (y_true, y_score), ("y_true", "y_score")),
        (lambda outputs, mine: (mine, outputs), ("outputs", "mine")),
        (lambda *, references, predictions: (references, predictions), ("references", "predictions")),
        (lambda ground_truth, config=3, *, submission: (ground_truth, submission), ("ground_truth", "submission")),
    ],
)
def test_names_say_which_is_which(function: Callable[..., Any], expected: tuple[str, str]) -> None:
    signature = attrs.evolve(signature_of(function), form=ArgumentForm.ARRAYS)
    assert tuple(signature.roles) == expected
    assert "names of its parameters" in signature.how
    y, p = signature(Y, P)
    assert (y is Y, p is P) == (True, True)


def test_what_has_no_parameters_gets_labels_first() -> None:
    for function in (max, lambda *both: both):
        signature = signature_of(function)
        assert signature.how.startswith("called as (first: labels, second: predictions), labels first")


def test_texts_pass_as_they_are() -> None:
    """Neither a trial nor an estimator turns the names of classes into numbers."""
    names, shares = np.array(["cat", "dog", "cat", "emu"]), np.eye(3)[[0, 1, 0, 0]]
    seen = as_called(lambda target, preds: (target, preds))(names, names[::-1])
    assert [array.dtype.kind for array in seen] == ["U", "U"]
    scorer = as_called(make_scorer(accuracy_score))
    assert scorer(names, names) == 1
    assert scorer(names, shares) == 0.75


def test_an_estimator_predicts_numbers_where_labels_are_numbers() -> None:
    for reals in (np.array([0.5, 2.25, 7.0]), np.array([3.0, 8.0, 20.0])):
        assert as_called(make_scorer(mean_squared_error))(reals, reals + 2.5) == pytest.approx(6.25)


def test_a_metric_that_accumulates_scores_each_submission_alone() -> None:
    class Sum:
        total = 0.0

        def reset(self) -> None:
            self.total = 0.0

        def update(self, preds: np.ndarray, target: np.ndarray) -> None:
            self.total += float(np.abs(preds - target).sum())

        def compute(self) -> float:
            return self.total

    score = as_called(Sum)
    assert [score(Y, P), score(Y, P), score(Y, Y)] == pytest.approx([1.3, 1.3, 0])


def of_tensors(preds: torch.Tensor, target: torch.Tensor) -> Any:  # noqa: F821  # a name is all that is looked at
    return {"both": Tensor((preds.array - target.array).tolist())}


class Tensor:
    """As much of a tensor as is needed."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def tolist(self) -> Any:
        return self.array


def test_tensors_go_in_where_annotations_say_so_and_numbers_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    torch.from_numpy = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    scorer = as_called(of_tensors)
    assert scorer(Y, P) == {"both": (P - Y).tolist()}
    assert scorer.signature.how.startswith("called as (preds: predictions, target: labels) as tensors")


def test_without_torch_one_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        HostError, match=r"^takes tensors, and torch is not installed: pip install 'labelinf\[torch\]'.$"
    ):
        as_called(of_tensors)(Y, P)


def test_a_class_that_needs_arguments_is_one_sentence(folder: Path) -> None:
    run = audit("Configured")
    assert (run.exit_code, run.output.count("\n")) == (2, 1), run.output
    assert "'libraries:Configured' is a class, and raised TypeError when it was called for an object." in run.output


@pytest.mark.long
def test_what_arrays_are_refused_for_is_tried_as_lists_and_as_columns(folder: Path) -> None:
    for name, said in (("of_lists", "called as (y_true: labels, y_pred: predictions) as lists"),
                       ("of_columns", "asked with labels as a column for every class")):  # fmt: skip
        run = audit(name)
        assert run.exit_code == 1, run.output
        assert said in " ".join(run.output.split())


@pytest.mark.long
def test_labels_that_are_names_may_be_predicted_by_probabilities(folder: Path) -> None:
    labels = np.random.default_rng(5).permutation(40) < 16
    (folder / "y.csv").write_text("label\n" + "\n".join(np.where(labels, "yes", "no")) + "\n")
    run = audit("of_names")
    assert run.exit_code == 1, run.output
    assert "agrees with roc-auc" in run.output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("with_weights", "needs more than labels and predictions (weights)"),
        ("waits", "returned a generator, expected numbers"),
    ],
)
def test_what_cannot_be_called_or_read_is_one_sentence(folder: Path, name: str, said: str) -> None:
    run = audit(name)
    assert (run.exit_code, run.output.count("\n")) == (2, 1), run.output
    assert said in run.output
