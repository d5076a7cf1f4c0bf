"""Our log-loss is scikit-learn's, bit for bit; a user's scorer is believed only when it returns a number."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import gmpy2
import numpy as np
import pytest
from sklearn.metrics import log_loss

from labelinf_core.contracts.errors import InputError
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.game.scorers import ImportedScorer, LossScorer, SklearnScorer, make_scorer
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean


def clipped_columns(predictions: np.ndarray) -> np.ndarray:
    """What scikit-learn does before it takes logarithms, in the type of the predictions."""
    columns = predictions if predictions.ndim == 2 else np.stack([1 - predictions, predictions], axis=1)
    eps = np.finfo(columns.dtype).eps
    return np.clip(columns, eps, 1 - eps)


def random_case(rng: np.random.Generator, dtype: str) -> tuple[np.ndarray, np.ndarray, int]:
    n_records = int(rng.choice([1, 2, 7, 8, 9, 127, 128, 129, 306, 1000, 4099]))
    n_classes = int(rng.choice([2, 2, 3, 6, 10]))
    labels = rng.integers(0, n_classes, n_records)
    if n_classes == 2 and rng.random() < 0.5:
        predictions = rng.beta(0.2, 0.2, n_records)
    else:
        predictions = rng.dirichlet(np.full(n_classes, 0.1), n_records)
    return labels, predictions.astype(dtype), n_classes


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_our_log_loss_is_scikit_learns_bit_for_bit(dtype: str) -> None:
    """300 random cases a type, sizes around NumPy's blocks of summation, probabilities down to zero."""
    rng = np.random.default_rng(0)
    # Up to version 1.8 scikit-learn turns single precision into double when it takes logarithms.
    numbers = make_arithmetic(SklearnScorer(n_classes=2, dtype=dtype).facts.arithmetic)

    for _ in range(300):
        labels, predictions, n_classes = random_case(rng, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = log_loss(labels, predictions, labels=np.arange(n_classes))
        ours = numbers.release(LogLoss().score(labels, clipped_columns(predictions), numbers))
        assert ours == theirs


def test_the_general_path_of_a_score_agrees_with_the_short_one() -> None:
    """One logarithm a row and one for every class give the same double."""
    rng = np.random.default_rng(1)
    numbers = make_arithmetic("float64")
    for _ in range(30):
        labels, predictions, _ = random_case(rng, "float64")
        costs = LogLoss().costs(clipped_columns(predictions), numbers)
        general = numbers.mean(costs[np.arange(len(labels)), labels])
        assert LogLoss().score(labels, clipped_columns(predictions), numbers) == general


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_sklearn_scorer_is_scikit_learn(dtype: str) -> None:
    scorer = SklearnScorer(n_classes=3, dtype=dtype)
    labels = np.array([0, 0, 1])  # class 2 is absent
    predictions = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])

    expected = log_loss(labels, predictions.astype(dtype), labels=[0, 1, 2])
    assert scorer.score(labels, Query(predictions=predictions)) == expected
    assert scorer.facts.clip == np.finfo(dtype).eps
    assert scorer.facts.input_format == dtype
    assert scorer.facts.summation == "numpy"


def test_the_sklearn_scorer_takes_rationals_and_does_not_repeat_warnings() -> None:
    scorer = SklearnScorer(n_classes=2)
    rationals = np.array([gmpy2.mpq(1, 3), gmpy2.mpq(2, 3)], dtype=object)
    unnormalised = np.array([[0.5, 0.9], [0.5, 0.9]])

    assert scorer.score(np.array([0, 1]), Query(predictions=rationals)) == pytest.approx(math.log(1.5))
    assert scorer.score(np.array([0, 1]), Query(predictions=unnormalised)) == pytest.approx(-math.log(0.45) / 2)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("exact", gmpy2.mpfr),
        ("float64", float),
        ("float32", float),
        ("bfloat16", float),
        ("fpa:33", float),
        ("fpa:101", gmpy2.mpfr),
    ],
)
def test_a_loss_scorer_releases_numbers_of_its_arithmetic(name: str, kind: type) -> None:
    scorer = make_scorer(name, LogLoss(), 2)
    answer = scorer.score(np.array([1, 1, 0]), Query(predictions=np.array([0.5, 0.25, 0.5])))

    assert isinstance(scorer, LossScorer)
    assert isinstance(answer, type(kind()))
    assert float(answer) == pytest.approx(math.log(16) / 3, rel=0.01)
    assert (scorer.facts.arithmetic, scorer.facts.input_format, scorer.facts.clip) == (name, name, 0.0)


def test_an_exact_scorer_answers_to_the_precision_of_the_query() -> None:
    scorer = make_scorer("exact", LogLoss(), 2)
    query = Query(predictions=np.array([gmpy2.mpq(1, 3)], dtype=object), precision=500)
    answer = scorer.score(np.array([1]), query)

    with gmpy2.context(precision=600):
        assert answer.precision == 500
        assert abs(answer - gmpy2.log(gmpy2.mpfr(3))) < gmpy2.exp2(-498)


def test_an_fpa_scorer_rounds_what_it_is_sent_and_what_it_answers() -> None:
    answer = make_scorer("fpa:9", LogLoss(), 2).score(np.array([1]), Query(predictions=np.array([0.3])))

    assert answer == round(-math.log(5 / 16) * 16) / 16


def test_scikit_learn_computes_no_other_loss() -> None:
    with pytest.raises(InputError, match="scorer 'sklearn' computes the log-loss, not ItakuraSaito; use float64"):
        make_scorer("sklearn", ItakuraSaito(), 2)


def test_an_unknown_scorer_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="there is no scorer 'scikit'; choose sklearn, sklearn:float32, an arithmetic"):
        make_scorer("scikit", LogLoss(), 2)


BOARD = """
class metrics:
    @staticmethod
    def share(labels, predictions):
        return (labels == (predictions > 0.5)).mean()

def broken(labels, predictions):
    raise RuntimeError("no board today")

def nothing(labels, predictions):
    return None

def nan(labels, predictions):
    return float("nan")

def spoils(labels, predictions):
    labels[:] = 0
    predictions[:] = 0
    return 0.5

number = 3
"""


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "board_of_a_test.py").write_text(BOARD)
    monkeypatch.syspath_prepend(tmp_path)
    return "board_of_a_test"


def ask(target: str) -> float:
    scorer = make_scorer(target, LogLoss(), 2)
    assert isinstance(scorer, ImportedScorer)
    return scorer.score(np.array([0, 1, 1]), Query(predictions=np.array([0.25, 0.75, 0.25])))


def test_a_users_function_is_asked(board: str) -> None:
    assert ask(f"{board}:metrics.share") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", r"scorer '\w+:absent': \w+ has no 'absent'\.$"),
        ("brokn", r"has no 'brokn'\. Did you mean 'broken'\?$"),
        ("number", r"scorer '\w+:number' is not a function\."),
        ("broken", r"scorer '\w+:broken' raised RuntimeError\. .*given 3 labels, .* and predictions of shape 3\.$"),
        ("nothing", r"scorer '\w+:nothing' returned NoneType, expected one number\."),
        ("nan", r"scorer '\w+:nan' returned a number that is not finite\."),
    ],
)
def test_a_users_function_that_fails_is_one_sentence(board: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(f"{board}:{name}")


def test_a_users_function_cannot_change_labels_or_predictions(board: str) -> None:
    labels, predictions = np.array([0, 1]), np.array([0.25, 0.75])
    make_scorer(f"{board}:spoils", LogLoss(), 2).score(labels, Query(predictions=predictions))

    assert labels.tolist() == [0, 1]
    assert predictions.tolist() == [0.25, 0.75]


def test_a_loss_of_two_classes_is_refused_where_there_are_more() -> None:
    """The Brier score of three ended in an IndexError under attacks, and in proofs about nothing under advise."""
    with pytest.raises(InputError, match="the loss Brier is for two classes, and there are 3"):
        make_scorer("float64", Brier(), 3)
    make_scorer("float64", SquaredEuclidean(), 3)
    make_scorer("exact", SoftmaxLogLoss(), 3)
