"""Labels replaced once, records, ranks: what each proves, by brute force, and the strongest attack on each by play."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.statistics.proportions import game_p_value
from labelinf_guard.board import Board, TeamAnswer, TeamRefusal
from labelinf_guard.certificate.response import response_bits, response_epsilon, response_gain
from labelinf_guard.certificate.statement import Part, Terms, certify
from labelinf_guard.certificate.transcripts import transcript_bits
from labelinf_guard.clock import StepClock
from labelinf_guard.files import State, derived, read_key, replaced
from labelinf_guard.ledger.store import Ledger
from labelinf_guard.ledger.verify import verify
from labelinf_privacy.words import SeededWords

N = 60
LABELS = np.random.default_rng(7).integers(0, 2, N)
HEAD = '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "accuracy"\n'
TAIL = (
    "[budget]\nper_team = 900\nper_team_day = 900\n{budget}\n[target]\ngain = 0.5\naccept_void = true\nperfect = 0.5\n"
)


def csv(rows: np.ndarray) -> bytes:
    return ("id,prediction\n" + "".join(f"r{at:03d},{row}\n" for at, row in enumerate(rows))).encode()


@pytest.fixture
def begin(tmp_path: Path) -> Callable[..., Board]:
    def make(text: str, budget: str = "", labels: np.ndarray = LABELS, seed: int = 1) -> Board:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        rows = "".join(f"r{at:03d},{label}\n" for at, label in enumerate(labels))
        (folder / "labels.csv").write_text(f"id,label\n{rows}")
        (folder / "board.toml").write_text(HEAD + text + TAIL.format(budget=budget))
        words = SeededWords(np.random.default_rng(seed))
        return Board.init(folder / "board.toml", clock=StepClock(), words=words)

    return make


def told(board: Board, rows: np.ndarray, team: str = "a") -> str:
    answer = board.submit(team, csv(rows))
    assert isinstance(answer, TeamAnswer), answer
    return answer.score


def faults(board: Board) -> tuple[str, ...]:
    state = State.of(board._path)
    return verify(state.ledger, derived(read_key(state.key), "chain")).faults


def response(flip: float, classes: int) -> np.ndarray:
    return np.full((classes, classes), flip / (classes - 1)) + np.eye(classes) * (1 - flip * classes / (classes - 1))


@pytest.mark.parametrize("priors", [[(0.5, 0.5)] * 3, [(0.9, 0.1), (0.5, 0.5), (0.7, 0.3)], [(0.5, 0.3, 0.2)] * 2])
@pytest.mark.parametrize("flip", [0.1, 0.3, 0.45])
def test_nobody_reads_more_of_replaced_labels_than_is_said(priors: list[tuple[float, ...]], flip: float) -> None:
    """B8: the best list for every noisy vector; coins of two classes attain the gain, and no game is above its line."""
    classes, n = len(priors[0]), len(priors)
    table = response(flip, classes)
    perfect = float(np.mean([max(prior) for prior in priors]))
    best = float(np.mean([(np.array(prior)[:, None] * table).max(axis=0).sum() for prior in priors]))
    gain = response_gain(Fraction(repr(flip)), classes, 1 - perfect)
    assert best <= perfect + gain
    assert best > perfect + gain - 1e-6 or priors[0] != (0.5, 0.5) or len(set(priors)) > 1
    for k in range(math.ceil(n * (perfect + gain)) + 1, n + 1):
        reached = 0.0
        for noisy in itertools.product(range(classes), repeat=n):
            joint = [np.array(prior) * table[:, seen] for prior, seen in zip(priors, noisy, strict=True)]
            likely = [own.max() / own.sum() for own in joint]
            reached += math.prod(own.sum() for own in joint) * _at_least(likely, k)
        assert reached <= game_p_value(k, n, share=perfect + gain, bits=0.0) + 1e-12


def _at_least(chances: list[float], k: int) -> float:
    counts = np.array([1.0])
    for chance in chances:
        counts = np.convolve(counts, [1 - chance, chance])
    return float(counts[k:].sum())


def test_known_counts_make_more_of_replaced_labels() -> None:
    """One of four labels: .8135, above the .769 of one prior; two of four: all right with .2625, above .1285."""
    mean, _ = _counted(4, 1, 1 / (1 + math.exp(1.2)))
    assert mean == pytest.approx(0.8135, abs=1e-4)
    assert mean > 1 - 1 / (1 + math.exp(1.2)) == pytest.approx(0.7685, abs=1e-4)
    flip = Fraction(round(10**9 / (1 + math.exp(0.4))), 10**9)
    share, whole = _counted(4, 2, float(flip))
    assert whole == pytest.approx(0.2625, abs=1e-4)
    alone = 0.5 + response_gain(flip, 2, 0.5)
    assert whole > alone**4 == pytest.approx(0.1285, abs=1e-4)
    terms = Terms(classes=2, public=Part(labels=4, flip=flip), sealed=Part(labels=0), perfect=0.5)
    assert 0.5 + certify(terms).now >= share
    assert whole <= 2**terms.rare * alone**4


def _counted(n: int, positive: int, flip: float) -> tuple[float, float]:
    """The best expected share of right labels, and chance of having all right, of whoever knows the counts."""
    table, mean, whole = response(flip, 2), 0.0, 0.0
    inside = [row for row in itertools.product((0, 1), repeat=n) if sum(row) == positive]
    for noisy in itertools.product((0, 1), repeat=n):
        weights = np.array([math.prod(table[a, b] for a, b in zip(row, noisy, strict=True)) for row in inside])
        ones = weights @ np.array(inside) / len(inside)
        mean += np.maximum(ones, weights.mean() - ones).sum() / n
        whole += weights.max() / len(inside)
    return mean, whole


def test_marks_of_replaced_labels() -> None:
    """Two fifths replaced are ten points of 25 000 coins, 10.2 with counts known; in one game 61.2 % at 1e-6."""
    part = Part(labels=25_000, flip=Fraction(2, 5))
    found = certify(Terms(classes=2, public=part, sealed=Part(labels=0), counts_known=False, perfect=0.5))
    assert found.now == pytest.approx(0.1, abs=1e-6)
    assert certify(Terms(classes=2, public=part, sealed=Part(labels=0))).now == pytest.approx(0.1010, abs=5e-4)
    assert found.line == pytest.approx(0.6148, abs=5e-4)
    assert response_epsilon(Fraction(2, 5), 2) == pytest.approx(math.log(1.5))
    assert f"{math.ceil(1000 * math.log(1.5)) / 1000:.3f}-private for every public label" in " ".join(found.sentences())
    for classes in (2, 5):
        assert response_bits(10, Fraction(classes - 1, classes), classes, 1 - 1 / classes) == pytest.approx(0, abs=1e-9)


def test_labels_are_replaced_exactly_as_often_as_is_said() -> None:
    codes = np.repeat(np.arange(3), 20_000)
    noisy = replaced(codes, 3, 0.3, SeededWords(np.random.default_rng(0)))
    for label in range(3):
        counts = np.bincount(noisy[codes == label], minlength=3) / 20_000
        assert counts == pytest.approx([0.7 if k == label else 0.15 for k in range(3)], abs=0.015)


@pytest.mark.long
def test_exact_answers_about_replaced_labels_teach_those_and_no_more(
    begin: Callable[..., Board], relabel: Callable[[Path, np.ndarray], None]
) -> None:
    """Single flips read noisy labels; over games guesses stay below the certificate, and true labels are unread."""
    shares = []
    for seed in range(4):
        labels = np.random.default_rng([seed, 9]).integers(0, 2, N)
        board = begin("[public]\nshare = 1.0\nflip = 0.3\n[release]\ndecimals = 2\n", labels=labels, seed=seed)
        base = np.zeros(N, dtype=int)
        start = float(told(board, base))
        guess = [int(float(told(board, base + (np.arange(N) == at))) > start) for at in range(0, N, 4)]
        assert np.array_equal(guess, board._codes[::4])
        shares.append(np.mean(guess == labels[::4]))
        relabel(board._path.parent, 1 - labels)
        again = Board.open(board._path, clock=StepClock())
        assert told(again, 1 - base) == f"{1 - start:.2f}"
        assert faults(board) == ()
    limit = (
        0.5
        + certify(
            Terms(classes=2, public=Part(labels=N, flip=Fraction(3, 10)), sealed=Part(labels=0), counts_known=False)
        ).now
    )
    assert 0.5 < np.mean(shares) <= limit + 3 * 0.5 / math.sqrt(4 * N / 4)


def test_there_are_no_more_transcripts_of_records_than_are_counted() -> None:
    """All adaptive sequences of levels of small boards; 616 bits of 100 000 submissions and steps of .01 from .5 up."""
    for submissions, answers in ((1, 5), (3, 4), (4, 3), (6, 2)):
        paths = {
            tuple(itertools.accumulate(levels, max)) for levels in itertools.product(range(answers), repeat=submissions)
        }
        assert math.log2(len(paths)) <= transcript_bits("records", answers, submissions) <= math.log2(len(paths)) + 1e-5
    assert transcript_bits("records", 51, 100_000) == pytest.approx(616, abs=1)
    found = certify(
        Terms(
            classes=2,
            public=Part(labels=25_000, bits=transcript_bits("records", 51, 100_000)),
            sealed=Part(labels=0),
            counts_known=False,
        )
    )
    assert 0.5 + found.now == pytest.approx(0.592, abs=5e-4)


def test_climbing_a_record_board_is_charged_and_stays_below_its_certificate(begin: Callable[..., Board]) -> None:
    """Ladder descent, by teams that take turns: only a record is told, and it is told to all of them."""
    reached, limits = [], []
    for seed in range(4):
        labels = np.random.default_rng([seed, 3]).integers(0, 2, N)
        text = '[public]\nshare = 1.0\n[release]\nshow = "records"\ndecimals = 1\nlow = 0.5\n'
        board = begin(text, "bits = 20", labels)
        rng, guess, record = np.random.default_rng(seed), np.zeros(N, dtype=int), ""
        for at in range(80):
            tried = np.where(rng.random(N) < 0.3, 1 - guess, guess)
            answer = board.submit(f"t{at % 3}", csv(tried))
            if isinstance(answer, TeamRefusal):
                assert answer.reason == "This board has told all that it will."
                break
            assert answer.score >= record
            guess, record = (tried, answer.score) if answer.score > (record or "0.5") else (guess, answer.score)
        reached.append(np.mean(guess == labels))
        limits.append(0.5 + board.certificate().now)
        assert board.ledger.book.spent <= 20 * 1024
        assert board.standing() == [] or board.standing()[0][1] == record
        assert faults(board) == ()
    assert 0.5 < np.mean(reached) <= np.mean(limits) + 3 * 0.5 / math.sqrt(4 * N)


def test_a_record_board_says_nothing_of_what_has_no_score_and_closes_when_a_copy_is_restored(
    begin: Callable[..., Board], tmp_path: Path
) -> None:
    board = begin('[public]\nshare = 1.0\n[release]\nshow = "records"\ndecimals = 1\n', "bits = 200")
    first = told(board, LABELS)
    entry, _ = board.ledger.reserve("b", "a scorer that was killed")
    assert board.text(board.ledger.wait(entry).symbol or 0) == first == "1.0"
    assert [row["team"] for row in board._final()] == []  # nothing is sealed here, and what was killed left no file
    state = State.of(board._path)
    board.close()
    assert Ledger.adopt(state.ledger, state.anchor, derived(read_key(state.key), "chain"), StepClock(), lost=2) == 2
    again = Board.open(board._path, clock=StepClock())
    assert again.submit("c", csv(1 - LABELS)) == TeamRefusal(
        reason="This board is closed: the record that it told may be lost."
    )
    assert faults(again) == ()


def test_ranks_alone_give_every_label_away_and_the_certificate_says_so(begin: Callable[..., Board]) -> None:
    """Every label by one submission and a comparison, for .5 points a guess: no defence. A budget ends it."""
    text = '[public]\nshare = 1.0\n[release]\nshow = "ranks"\n'
    board = begin(text, "per_board = 900\nbits = 5000")
    base = np.zeros(N, dtype=int)
    assert told(board, base) == "1"
    ranks = [1]  # of those that were sent, best first: each stands where it was told
    order = ["base"]
    for at in range(N):
        rank = int(told(board, base + (np.arange(N) == at), f"t{at}"))
        order.insert(rank - 1, str(at))
        ranks.append(rank)
    found = np.array([order.index(str(at)) < order.index("base") for at in range(N)]).astype(int)
    assert np.array_equal(found, LABELS)
    assert board.certificate().void
    assert "Void" in " ".join(board.certificate().sentences())
    assert board.ledger.book.spent == pytest.approx(1024 * math.lgamma(N + 3) / math.log(2), rel=1e-3)
    assert [int(place) for _, place in board.standing()] == list(range(1, len(board.standing()) + 1))
    assert faults(board) == ()
    even = begin(text, "per_board = 900\nbits = 5000")
    assert [told(even, np.roll(LABELS, 60)), told(even, LABELS ^ (np.arange(N) == 1))] == ["1", "2"]
    assert told(even, LABELS ^ (np.arange(N) == 2)) == "2"  # as good as the second: nobody is told which came first
    closing = begin(text, "per_board = 900\nbits = 20")
    answers = [closing.submit("a", csv(base + (np.arange(N) == at))) for at in range(20)]
    answered = sum(isinstance(answer, TeamAnswer) for answer in answers)
    assert 3 <= answered < 12
    assert closing.ledger.book.spent <= 20 * 1024
    assert 0.5 + closing.certificate().now < 1


@pytest.mark.parametrize("show", ["records", "ranks"])
def test_a_cost_is_the_better_the_smaller(begin: Callable[..., Board], show: str) -> None:
    board = begin(f'[public]\nshare = 1.0\n[release]\nshow = "{show}"\ndecimals = 2\n', "bits = 200")
    worse, better = LABELS.copy(), LABELS.copy()
    worse[:30] ^= 1
    better[:10] ^= 1
    text = (board._path.read_text()).replace('metric = "accuracy"', 'metric = "brier"')
    folder = board._path.parent / "brier"
    folder.mkdir()
    (folder / "labels.csv").write_text((board._path.parent / "labels.csv").read_text())
    (folder / "board.toml").write_text(text)
    costs = Board.init(folder / "board.toml", clock=StepClock())
    seen = [(told(costs, rows), told(board, rows)) for rows in (worse, better, 1 - better)]
    assert seen == (
        [("0.50", "0.50"), ("0.17", "0.83"), ("0.17", "0.83")]
        if show == "records"
        else [("1", "1"), ("1", "1"), ("3", "3")]
    )
    assert faults(costs) == ()
