"""One law for every construction and every decoder, whoever adds one: nothing of their packages escapes it.

A *case* is a construction in use, so small that all labellings are tried, in numbers that are exact or nearly so
(``mpfr`` of 320 bits). It says how far answers may be off, and which decoders then find the labels. Held to it:

* two labellings have answers at least twice that far apart;
* every decoder finds every labelling, under errors as large as allowed: both of one answer, two patterns of several.

A module that stands in one of the packages and in no case fails by its name.
"""

from __future__ import annotations

import itertools
import math
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import gmpy2
import numpy as np
import pytest

from labelinf_papers import constructions as superseded
from labelinf_papers import decoders as only_of_papers
from labelinf_papers.constructions import log_primes, prime_powers
from labelinf_papers.constructions.binary_weights import binary_digits, binary_gaps
from labelinf_papers.decoders.divisibility import divisors, exponents
from labelinf_papers.decoders.nearest_divisor import nearest_divisor
from labelinf_papers.decoders.rounding import nearest_integer, spelled_integer
from labelinf_papers.decoders.squarefree import closest_squarefree
from labelinf_scores import constructions, decoders
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.certificates.row_costs import LOG_ERROR
from labelinf_scores.certificates.summation import FRACTION_BITS, to_fixed
from labelinf_scores.constructions import powers, primes
from labelinf_scores.constructions.bit_sets import BitSets, n_columns
from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.constructions.conway_guy import ConwayGuy
from labelinf_scores.constructions.detecting_matrix import detecting_matrix
from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.constructions.mixed_sets import SetColumns, layout
from labelinf_scores.constructions.rows import LossRows, RowMaker, rows_for
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.decoders import exhaustive, meet_in_the_middle
from labelinf_scores.decoders.between import halves, sums_between
from labelinf_scores.decoders.detecting import detect
from labelinf_scores.decoders.digits import digits
from labelinf_scores.decoders.labelling_sums import labellings_between
from labelinf_scores.decoders.least_squares import sign_estimates
from labelinf_scores.decoders.linear_programming import Norm, fit_signs
from labelinf_scores.decoders.message_passing import posterior_logits
from labelinf_scores.decoders.moebius import decode_bit_sets, decode_columns
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.decoders.subset_sums import subsets_between
from labelinf_scores.decoders.superincreasing import greedy_decode, margin
from labelinf_scores.game.effects import Perturbed
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

BITS = 320
ALMOST = Fraction(10**9 - 1, 10**9)  # of the error that is allowed

Labels = tuple[int, ...]
Answers = Sequence[Any]
Decode = Callable[[Answers], Any]


@attrs.frozen(kw_only=True, eq=False)
class Case:
    """A construction in use.

    Attributes:
        title: What is built.
        n_records: Labels, and
        n_classes: the values of each.
        answers: What is seen of a labelling, without error.
        margin: How far every answer may be off: excluded.
        decoders: By module: what finds the labels, and where it survives less, the error it survives.
    """

    title: str
    n_records: int
    n_classes: int = 2
    answers: Callable[[Labels], Answers]
    margin: Any
    decoders: Mapping[str, tuple[Decode, Any]]

    def labellings(self) -> list[Labels]:
        return list(itertools.product(range(self.n_classes), repeat=self.n_records))


def sums(gaps: Any) -> Callable[[Labels], Answers]:
    """Answer with one sum; of gaps, or of what every label of a row costs."""
    costs = exhaustive.as_costs(np.array(gaps, dtype=object))
    return lambda labels: [sum((row[k] for row, k in zip(costs, labels, strict=True)), 0 * costs[0, 0])]


def nearest(gaps: Any) -> dict[str, tuple[Decode, Any]]:
    """Return the decoders that serve any gaps whatever."""
    costs = exhaustive.as_costs(np.array(gaps, dtype=object))
    table = meet_in_the_middle.SumTable.of(costs)
    return {
        "exhaustive": (lambda answers: exhaustive.nearest_labelling(costs, answers[0]), None),
        "meet_in_the_middle": (lambda answers: meet_in_the_middle.nearest_labelling(costs, answers[0]), None),
        "meet_in_the_middle (table)": (lambda answers: table.decode(np.array(answers, dtype=object))[0], None),
    }


def greedy(gaps: Any) -> dict[str, tuple[Decode, Any]]:
    costs = exhaustive.as_costs(np.array(gaps, dtype=object)).tolist()
    return {"superincreasing": (lambda answers: greedy_decode(costs, answers[0]), margin(costs))}


def rounded(answers: Answers) -> list[int]:
    return [round(answer) for answer in answers]


def of_binary_weights() -> Iterator[Case]:
    for n, widest in ((1, 1), (4, 1), (6, Fraction(1, 4))):
        gaps = [Fraction(int(gap.numerator), int(gap.denominator)) for gap in binary_gaps(n, widest=widest)]
        own: Decode = lambda answers, n=n, widest=widest: binary_digits(answers[0], n, widest=widest)  # noqa: E731
        yield Case(
            title=f"N={n}, widest {widest}",
            n_records=n,
            answers=sums(gaps),
            margin=Fraction(widest) / 2**n,
            decoders={"binary_digits": (own, None), **nearest(gaps), **greedy(gaps)},
        )


def of_bit_sets() -> Iterator[Case]:
    for q, values, largest in ((1, 2, 1), (4, 2, 1), (3, 3, 1), (2, 2, 3), (2, 3, 4), (1, 5, 7)):
        design = BitSets(n_queries=q, n_values=values, largest=largest)
        n, matrix = n_columns(q, values, largest), design.matrix()
        assert 0 <= matrix.min() <= matrix.max() <= largest
        own: Decode = lambda answers, d=design, n=n: decode_bit_sets(d, np.array(rounded(answers)), n)  # noqa: E731
        yield Case(
            title=str(design),
            n_records=n,
            n_classes=values,
            answers=lambda labels, m=matrix: [Fraction(int(x)) for x in m @ np.array(labels)],
            margin=Fraction(1, 2),
            decoders={"moebius": (own, None)},
        )


def of_mixed_sets() -> Iterator[Case]:
    """Halves of groups, of two values or three, and fresh records beside them."""
    for values, halves_of, n_fresh in ((2, 0, 5), (2, 3, 3), (3, 4, 0)):
        places = layout([values] * halves_of, n_fresh=n_fresh, together=1)
        columns = SetColumns(places)
        matrix = np.array([columns.row(x) for x in range(columns.n_sets)])
        ranges = [values] * len(places)
        own: Decode = lambda answers, c=columns, r=ranges: decode_columns(c, np.array(rounded(answers)), r)  # noqa: E731
        yield Case(
            title=f"{halves_of} halves of {values} values, {n_fresh} fresh records",
            n_records=len(places),
            n_classes=values,
            answers=lambda labels, m=matrix: [Fraction(int(x)) for x in m @ np.array(labels)],
            margin=Fraction(1, 2),
            decoders={"moebius": (own, None)},
        )


def only_subset(weights: Sequence[int], answer: Fraction) -> Any:
    (subset,) = subsets_between(weights, math.ceil(answer - Fraction(1, 2)), math.floor(answer + Fraction(1, 2)))
    return subset


def only_sum(weights: Sequence[int], answer: Any) -> Any:
    """Find the labelling by all whole sums nearer than one half."""
    nearby = math.ceil(answer - Fraction(1, 2)), math.floor(answer + Fraction(1, 2))
    (found,) = sums_between([halves(weights)], *nearby, n_labels=len(weights))
    return found


def only_labelling(costs: Sequence[Sequence[Fraction]], answer: Any) -> Any:
    """Find the labelling by all sums that are off by as much as is allowed."""
    found = labellings_between(costs, answer - ALMOST, answer + ALMOST)
    assert found is not None
    (labels,) = found
    return np.array(labels)


def of_codes(codes: Sequence[tuple[Code, int]], n_rows: Sequence[int]) -> Iterator[Case]:
    for (code, n_classes), n, extra in itertools.product(codes, n_rows, (0, 3)):
        weights = code.weights(n, lambda place, least, extra=extra: least + extra)  # type: ignore[misc]
        costs = [[Fraction(k * weight) for k in range(n_classes)] for weight in weights]
        own: Decode = lambda answers, c=code, w=weights: c.decode(w, rounded(answers))[0]  # noqa: E731
        found = {type(code).__name__: (own, None), **nearest(costs)}
        if n_classes == 2:
            found["subset_sums"] = (lambda answers, w=weights: only_subset(w, answers[0]), None)
            found["between"] = (lambda answers, w=weights: only_sum(w, answers[0]), None)
        if isinstance(code, Superincreasing):
            by_digits: Decode = lambda answers, w=weights, k=n_classes: digits(w, rounded(answers), k)[0]  # noqa: E731
            found.update({"digits": (by_digits, None), **greedy(costs)})
        yield Case(
            title=f"{code} of {n} rows, {extra} wider",
            n_records=n,
            n_classes=n_classes,
            answers=sums(costs),
            margin=Fraction(1, 2),
            decoders=found,
        )


def of_conway_guy() -> Iterator[Case]:
    yield from of_codes([(ConwayGuy(table_rows=3), 2), (ConwayGuy(table_rows=5), 2), (ConwayGuy(), 2)], (1, 3, 6))


def of_weights() -> Iterator[Case]:
    yield from of_codes([(Superincreasing(n_classes=k), k) for k in (2, 3, 7)], (1, 2))
    yield from of_codes([(Superincreasing(), 2), (Superincreasing(n_classes=3), 3)], (4,))


def of_detecting_matrix() -> Iterator[Case]:
    for q in range(1, 5):
        matrix = detecting_matrix(q).astype(int)
        yield Case(
            title=f"{q} queries",
            n_records=matrix.shape[1],
            answers=lambda labels, m=matrix: [Fraction(int(x)) for x in m @ np.array(labels)],
            margin=Fraction(1, 2),
            decoders={"detecting": (lambda answers: detect(np.array(rounded(answers))), None)},
        )


def of_hadamard_matrix() -> Iterator[Case]:
    """Signs are labels. Least squares survives an error of one, a fit by the largest deviation half of that.

    Message passing guarantees nothing; a quarter of a sign misleads it nowhere.
    """
    for order in (1, 2, 4):
        matrix = Hadamard.of_order(order)
        dense = np.array([matrix.row(row) for row in range(order)], dtype=int)

        def squares(answers: Answers, matrix: Hadamard = matrix) -> Any:
            return sign_estimates(matrix, np.array(answers, dtype=float)) > 0

        def fit(answers: Answers, dense: Any = dense) -> Any:
            return fit_signs(dense, np.array(answers, dtype=float), Norm.LINF) > 0

        def passing(answers: Answers, matrix: Hadamard = matrix) -> Any:
            rows, seen = np.arange(matrix.order), np.array(answers, dtype=float)
            return posterior_logits(matrix, rows, seen, noise=1.0, bias=np.zeros(matrix.order)) > 0

        found: dict[str, tuple[Decode, Any]] = {
            "least_squares": (squares, None),
            "message_passing": (passing, Fraction(1, 4)),
            "linear_programming": (fit, Fraction(1, 2)),
        }
        yield Case(
            title=f"order {order}",
            n_records=order,
            answers=lambda labels, dense=dense: [Fraction(int(x)) for x in dense @ (2 * np.array(labels) - 1)],
            margin=Fraction(1),
            decoders=found,
        )


def in_full(value: Any) -> Any:
    with gmpy2.context(precision=BITS):
        return gmpy2.mpfr(value)


def of_log_primes() -> Iterator[Case]:
    """Three scales of Construction 2, with the error they are made for: one unit of tau in the logarithm's unit."""
    numbers = make_arithmetic("exact").at_precision(BITS)
    for m in (1, 2, 3, 6):
        chosen = primes.first_primes(m)
        largest = primes.prime_product(chosen)
        gaps = log_primes.log_prime_gaps(chosen, 1, numbers)

        def spelled(answers: Answers, chosen: Any = chosen, largest: Any = largest) -> Any:
            return divisors(nearest_integer(answers[0], largest, bits=BITS), chosen)

        def squarefree(answers: Answers, chosen: Any = chosen) -> Any:
            with gmpy2.context(precision=BITS):
                return divisors(closest_squarefree(gmpy2.exp(answers[0]), chosen), chosen)

        divisor: Decode = lambda answers, chosen=chosen: nearest_divisor(answers[0], chosen)  # noqa: E731
        printed = 1 / in_full(log_primes.printed_scale(chosen))
        for scale in (log_primes.small_scale(chosen), 2 / log_primes.separation(chosen)):
            yield Case(
                title=f"{m} primes, scale {scale:g}",
                n_records=m,
                answers=sums(gaps),
                margin=1 / in_full(scale),
                decoders={
                    "nearest_divisor": (divisor, None),
                    "rounding": (spelled, printed),
                    "divisibility": (spelled, printed),
                    "squarefree": (squarefree, printed),
                    **nearest(gaps),
                },
            )


def of_prime_powers() -> Iterator[Case]:
    for n_classes, m, block in ((2, 3, None), (3, 3, None), (4, 2, None), (5, 2, (1, 2)), (4, 2, (2, 2))):
        chosen = primes.first_primes(m)
        if block is None:
            exponent, values = prime_powers.all_classes(n_classes), n_classes
        else:  # of the classes that are asked about, and of all others as one
            whole = prime_powers.class_block(n_classes, first=block[0], count=block[1])
            exponent, values = tuple(dict.fromkeys(sorted(whole))), block[1] + 1
        most = max(exponent)
        largest = primes.prime_product(chosen, most)
        rows = prime_powers.power_rows(chosen, exponent)
        assert all(sum(row) == 1 for row in rows)

        def answers(labels: Labels, rows: Any = rows, chosen: Any = chosen, e: Any = exponent) -> Answers:
            """The logarithm of the integer, from what the rows cost."""
            with gmpy2.context(precision=BITS):
                likely = gmpy2.mpq(1)
                for row, label in zip(rows, labels, strict=True):
                    likely *= row[label]
                total = math.prod(prime_powers.row_sums(chosen, e))
                return [gmpy2.log(gmpy2.mpfr(total * likely))]

        def found(answers: Answers, chosen: Any = chosen, largest: Any = largest, most: int = most) -> Any:
            return exponents(nearest_integer(answers[0], largest, bits=BITS), chosen, largest=most)

        yield Case(
            title=f"{m} primes, exponents {exponent}",
            n_records=m,
            n_classes=values,
            answers=answers,
            margin=in_full(primes.rounding_margin(largest)),
            decoders={
                "divisibility": (found, None),
                "nearest_divisor": (
                    lambda a, chosen=chosen, most=most: nearest_divisor(a[0], chosen, largest=most),
                    None,
                ),
            },
        )


def of_primes() -> Iterator[Case]:
    """The exact query at the precision it asks for: N times the loss, and its logarithm off by the rounding margin."""
    for m in (1, 2, 5, 7):
        chosen = primes.first_primes(m)
        predictions, bits = primes.prime_predictions(chosen), primes.needed_bits(chosen)
        total = math.prod(int(p) + 1 for p in chosen)

        def loss(labels: Labels, predictions: Any = predictions, bits: int = bits) -> Answers:
            with gmpy2.context(precision=bits):
                likely = gmpy2.mpq(1)
                for p, label in zip(predictions, labels, strict=True):
                    likely *= p if label else 1 - p
                return [-gmpy2.log(gmpy2.mpfr(likely)) / len(labels)]

        def found(answers: Answers, chosen: Any = chosen, total: int = total, bits: int = bits) -> Any:
            return divisors(spelled_integer(answers[0], len(chosen), total, bits=bits), chosen)

        slack = Fraction(15, 16)  # of the margin: the rest is what rounding to so many bits takes
        yield Case(
            title=f"{m} primes",
            n_records=m,
            answers=loss,
            margin=in_full(primes.rounding_margin(primes.prime_product(chosen))) * slack / m,
            decoders={"rounding": (found, None)},
        )


def of_powers() -> Iterator[Case]:
    tau, n = 0.125, 16  # powers of two: floats hold the gaps exactly
    for m, base in ((1, math.e), (4, math.e), (4, 3.0)):
        gaps = [Fraction(gap) for gap in powers.power_gaps(m, n_records=n, tau=tau, base=base).tolist()]
        claimed = Fraction(n * tau * math.log(base))
        yield Case(
            title=f"{m} labels, base {base:g}",
            n_records=m,
            answers=sums(gaps),
            margin=claimed,
            decoders={**nearest(gaps), **greedy(gaps)},
        )
    for m, n_classes in ((1, 3), (2, 3), (3, 4)):
        costs = [[-Fraction(x) for x in row] for row in powers.class_exponents(m, n_classes).tolist()]
        yield Case(
            title=f"{m} labels of {n_classes} classes",
            n_records=m,
            n_classes=n_classes,
            answers=sums(costs),
            margin=Fraction(1),
            decoders={
                **nearest(costs),
                **greedy(costs),
                "labelling_sums": (lambda answers, c=costs: only_labelling(c, answers[0]), None),
            },
        )


LOSSES: tuple[AdditiveLoss, ...] = (LogLoss(), SquaredEuclidean(), ItakuraSaito())


def threat_of(loss: AdditiveLoss, arithmetic: str, n_classes: int, clip: float = 1e-3) -> ScoreThreat:
    prior = (1 / n_classes,) * n_classes
    about: dict[str, Any] = {"arithmetic": arithmetic, "summation": "numpy", "scorer_clip": clip}
    return ScoreThreat(n_records=40, n_classes=n_classes, prior=prior, loss=loss, **about)


def charged(threat: ScoreThreat, prediction: Any) -> list[Any]:
    """Return what a row costs every label: in full precision where the format has a logarithm of its machine's."""
    name = "exact" if threat.arithmetic in LOG_ERROR else threat.arithmetic
    numbers = make_arithmetic(name).at_precision(BITS)
    with numbers.context():
        return [Fraction(gmpy2.mpq(cost)) for cost in threat.loss.costs(numbers.convert(prediction[None]), numbers)[0]]


def of_rows(rows: RowMaker) -> Case:
    """Three rows whose steps grow by K: they add up to what they are charged, as far apart as their spreads say."""
    k = rows.threat.n_classes
    unit = to_fixed(min(rows.widest, 8.0) * 0.9 / ((k - 1) * k**2))
    made = [rows.row(unit * k**place) for place in range(3)]
    costs = [charged(rows.threat, row.prediction) for row in made]
    places = SIGNIFICANT_BITS[rows.threat.arithmetic] if rows.threat.arithmetic in LOG_ERROR else FRACTION_BITS
    rounding = 2 ** (FRACTION_BITS + 5 - places)  # a cost below 16, to which the curator rounds, on either side
    lost = sum(row.spread(unit * k**place).width + rounding for place, row in enumerate(made))
    return Case(
        title=f"{rows.threat.loss} in {rows.threat.arithmetic}, {k} classes",
        n_records=3,
        n_classes=k,
        answers=sums(costs),
        margin=(unit - lost) / Fraction(2 ** (FRACTION_BITS + 1)),
        decoders=nearest(costs),
    )


def of_loss_rows() -> Iterator[Case]:
    for loss, arithmetic in itertools.product(LOSSES, ("exact", "fpa:61", "float64")):
        yield of_rows(LossRows(threat=threat_of(loss, arithmetic, 2)))
    yield of_rows(LossRows(threat=threat_of(LogLoss(), "exact", 4)))


def of_log_rows() -> Iterator[Case]:
    for arithmetic, k, proper in itertools.product(("float64", "float32"), (2, 3), (True, False)):
        yield of_rows(rows_for(threat_of(LogLoss(), arithmetic, k), proper=proper))


def of_class_rows() -> Iterator[Case]:
    """Two rows with costs that follow no order: apart up to what the curator's doubles round."""
    wanted = np.array([[0.0, 3.0, 1.0], [9.0, 0.0, 18.0]])
    for loss in (LogLoss(), SoftmaxLogLoss()):
        rows = class_rows(loss, wanted, make_arithmetic("float64"))
        costs = [charged(threat_of(loss, "float64", 3), row) for row in rows]
        yield Case(
            title=str(loss),
            n_records=2,
            n_classes=3,
            answers=sums(costs),
            margin=Fraction(1, 2) - Fraction(1, 2**40),
            decoders=nearest(costs),
        )


CONSTRUCTIONS: Mapping[str, Callable[[], Iterator[Case]]] = {
    "binary_weights": of_binary_weights,
    "bit_sets": of_bit_sets,
    "class_rows": of_class_rows,
    "conway_guy": of_conway_guy,
    "detecting_matrix": of_detecting_matrix,
    "hadamard_matrix": of_hadamard_matrix,
    "log_primes": of_log_primes,
    "log_rows": of_log_rows,
    "loss_rows": of_loss_rows,
    "mixed_sets": of_mixed_sets,
    "powers": of_powers,
    "prime_powers": of_prime_powers,
    "primes": of_primes,
    "weights": of_weights,
}
ELSEWHERE = {
    "approximate_messages": "believes, and claims nothing: tests/scores/boards/test_random_halves.py",
    "rows": "chooses between log_rows and loss_rows",
    "explanations": "keeps what several labellings share: tests/scores/blocks/test_joint_weights.py asks its pivots",
    "posterior": "weighs what was read: held against Bayes' rule below",
}


def test_no_construction_and_no_decoder_escapes() -> None:
    """A new module needs a case, or a reason."""
    made = {module.name for module in pkgutil.iter_modules([*constructions.__path__, *superseded.__path__])}
    read = {module.name for module in pkgutil.iter_modules([*decoders.__path__, *only_of_papers.__path__])}
    used = {name.split()[0] for cases in CONSTRUCTIONS.values() for case in cases() for name in case.decoders}

    assert made - set(ELSEWHERE) == set(CONSTRUCTIONS)
    assert read - set(ELSEWHERE) <= used
    assert set(ELSEWHERE) <= made | read


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_labellings_are_as_far_apart_as_claimed(name: str) -> None:
    for case in CONSTRUCTIONS[name]():
        assert case.margin > 0, case.title
        answers = np.array([list(case.answers(labels)) for labels in case.labellings()], dtype=object)
        if answers.shape[1] == 1:
            column = np.sort(answers[:, 0])
            apart = min(column[1:] - column[:-1])
        else:
            answers = answers.astype(np.int64)  # what is answered by several queries is whole
            apart = min(int(np.abs(answers[i + 1 :] - answers[i]).max(axis=1).min()) for i in range(len(answers) - 1))
        assert apart >= 2 * case.margin * ALMOST, f"{case.title}: {float(apart)} apart"


@pytest.mark.long
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_every_decoder_finds_every_labelling_under_errors_that_are_allowed(name: str) -> None:
    rng = np.random.default_rng(1)
    for case in CONSTRUCTIONS[name]():
        for labels in case.labellings():
            answers = case.answers(labels)
            patterns = [(-1,), (1,)] if len(answers) == 1 else rng.choice([-1, 1], (2, len(answers))).tolist()
            for (decoder, (decode, own)), pattern in itertools.product(case.decoders.items(), patterns):
                least = min(case.margin, case.margin if own is None else own) * ALMOST
                seen = [answer + side * least for answer, side in zip(answers, pattern, strict=True)]
                found = tuple(int(label) for label in decode(seen))
                assert found == labels, f"{case.title}: {decoder} reads {found} where it is {labels}, off by {pattern}"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_posterior_is_bayes_rule(epsilon: float) -> None:
    """Labels that were read with certainty, through randomised response: the likeliest true one, class by class."""
    prior = (0.7, 0.2, 0.1)
    threat = attrs.evolve(
        threat_of(LogLoss(), "float64", 3), prior=prior, effects=(Perturbed(epsilon=epsilon, fresh=False),)
    )
    keep = math.exp(epsilon) / (math.exp(epsilon) + 2)
    for scored in range(3):
        joint = [share * (keep if true == scored else (1 - keep) / 2) for true, share in enumerate(prior)]
        found = likeliest_labels(certainly(np.array([scored]), threat), threat)
        assert found.tolist() == [int(np.argmax(joint))]
