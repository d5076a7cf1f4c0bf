"""Table 5 of Wang et al., ICLR 2024 (labels under noisy gradients), under every reading of its protocol.

The paper says *variance 1e-4 to 1e-1 on last-layer gradients*, swarms only. Three things are not settled by it: whether
the printed number is a variance or a standard deviation (no driver is published; its own ``L_s`` grows tenfold a
decade, as an error of first order in a standard deviation does), whether all entries are noised or only the row that
the scalar multiplies, and whether the ratios of the rows come from clean or noisy gradients. All readings run here on
the same samples, in our own network, so that no column is a claim about the paper's: what is compared is the shape.

Beside them the honest study: every entry noised, and what of the *label* is still exposed. Takes most of a minute.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.comparisons import Compared, Measured, Origin
from labelinf_core.plugin.reproductions import Absent, Remark, Reproduced, Table
from labelinf_data.bundled import load_bunch
from labelinf_gradients.game.networks import Perceptron, softmax
from labelinf_gradients.noisy.filters import filtered
from labelinf_gradients.noisy.likelihood import likeliest_scales
from labelinf_gradients.recovery.factor import principal
from labelinf_gradients.recovery.patterns import SMOOTHING
from labelinf_gradients.recovery.problem import Problem
from labelinf_papers.search.loss import LabelLoss
from labelinf_papers.search.swarm import swarm

__all__ = [
    "ABSENT",
    "LEVELS",
    "PRINTED_ACCURACY",
    "PRINTED_LOSS",
    "NoiseLaw",
    "Noised",
    "Ratios",
    "Study",
    "paper_cell",
    "searched",
    "table5",
]

ABSENT = (
    Absent(
        item="CIFAR-100, Flowers-17 and ImageNet on ResNets",
        loader="labels npy(path=...) with features, and gradient(network=MODULE:FUNCTION) for the network,",
    ),
)  #: the paper's victims
LEVELS = (1e-4, 1e-3, 1e-2, 1e-1)
PRINTED_ACCURACY = (1.0, 1.0, 1.0, 0.45)  #: Gaussian noise
PRINTED_LOSS = (1.02e-4, 1.13e-3, 1.14e-2, 5.82e-1)  #: L_s
_LAPLACE = (1.0, 1.0, 1.0, 0.36), (1.61e-4, 8.07e-4, 7.95e-3, 7.95e-1)
_COEFFICIENT, _NEAR, _FAR, _TOLERANCE = 4.0, 0.7, 10.0, 1.0  # of the published code's noise study
_POPULATION, _ITERATIONS = 200, 30
_PRINTED = ("(as printed)", "", "")

Reading = tuple[str, str, str, str, tuple[tuple[float, float], ...]]  # law, unit, noised, ratios; accuracy and L_s


class Noised(enum.Enum):
    """Which entries carry noise."""

    ROW = "one row"
    ALL = "all"


class Ratios(enum.Enum):
    """Where the rows' ratios come from."""

    CLEAN = "clean"
    MIXED = "clean over noised"
    NOISED = "noised"


_NOISED = ((Noised.ROW, Ratios.CLEAN), (Noised.ROW, Ratios.MIXED), (Noised.ALL, Ratios.NOISED))


class NoiseLaw(enum.Enum):
    """What noise is drawn from, each with the standard deviation that is told."""

    GAUSSIAN = "Gaussian"
    LAPLACE = "Laplace"

    def draw(self, rng: np.random.Generator, std: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return noise; the published code divides by 1.414 for Laplace's scale."""
        return rng.normal(0, std, shape) if self is NoiseLaw.GAUSSIAN else rng.laplace(0, std / 2**0.5, shape)


@attrs.frozen(kw_only=True, eq=False)
class Study:
    """Smoothed samples of an untrained network.

    Attributes:
        weights: Of the last layer, shape ``(C, I)``.
        gradients: Shape ``(n, C, I)``.
        labels: Shape ``(n, C)``.
        scalars: The true ``lambda``, in the paper's units, shape ``(n,)``.
    """

    weights: NDArray[np.float64]
    gradients: NDArray[np.float64]
    labels: NDArray[np.float64]
    scalars: NDArray[np.float64]

    @classmethod
    def digits(cls, samples: int = 100, *, hidden: int = 512, seed: int = 0) -> Study:
        """Draw digits, smoothing factors from U(0, .5) and a network without biases."""
        rng, data = np.random.default_rng(seed), load_bunch("digits")
        network = Perceptron.random((data.data.shape[1], hidden, 10), rng, bias=False)
        rows = rng.permutation(len(data.target))[:samples]
        x, factor = data.data[rows] / 16, rng.uniform(0, 0.5, (samples, 1))
        labels = (1 - factor) * np.eye(10)[data.target[rows]] + factor / 10
        errors = softmax(network.logits(x)) - labels
        chosen = np.abs(errors).argmax(axis=1)  # features are not negative: the row of largest absolute sum
        return cls(
            weights=network.classifier.weights,
            gradients=network.gradients(x, labels)["layers.1.weight"],
            labels=labels,
            scalars=_COEFFICIENT / errors[np.arange(samples), chosen],
        )


def paper_cell(
    study: Study,
    std: float,
    noised: Noised,
    ratios: Ratios,
    rng: np.random.Generator,
    law: NoiseLaw = NoiseLaw.GAUSSIAN,
) -> tuple[float, float]:
    """Return the paper's accuracy (scalars within 1 of the truth) and ``L_s``, the mean error of those.

    Args:
        study: The samples.
        std: Standard deviation of the noise on an entry.
        noised: Which entries carry noise.
        ratios: Where the rows' ratios come from.
        rng: Noise and swarms.
        law: Of the noise.
    """
    found = (searched(gradient, study.weights, std, noised, ratios, rng, law)[0] for gradient in study.gradients)
    errors = [abs(scalar - true) for scalar, true in zip(found, study.scalars, strict=True)]
    close = [error for error in errors if error < _TOLERANCE]
    return len(close) / len(errors), float(np.mean(close)) if close else float("nan")


def searched(
    gradient: NDArray[np.float64],
    weights: NDArray[np.float64],
    std: float,
    noised: Noised,
    ratios: Ratios,
    rng: np.random.Generator,
    law: NoiseLaw = NoiseLaw.GAUSSIAN,
) -> tuple[float, NDArray[np.float64]]:
    """Return the scalar of least variance that the swarms find, and its label, shape ``(C,)``."""
    chosen = int(np.abs(gradient.sum(axis=1)).argmax())
    seen = gradient.copy()
    touched: Any = slice(None) if noised is Noised.ALL else chosen
    seen[touched] += law.draw(rng, std, seen[touched].shape)
    above = seen if ratios is Ratios.NOISED else gradient
    below = gradient if ratios is Ratios.CLEAN else seen
    at = int(np.abs(below[chosen]).argmax())
    loss = LabelLoss(
        slopes=weights @ seen[chosen] / _COEFFICIENT,
        ratios=above[:, at] / below[chosen, at],
        coefficient=_COEFFICIENT,
        excluded=1,
    )
    sides = ((_NEAR, _FAR), (-_FAR, -_NEAR))
    found = [swarm(loss.value, *side, rng, population=_POPULATION, iterations=_ITERATIONS) for side in sides]
    scalar = min(found, key=lambda item: item[1])[0]
    return scalar, loss.labels(np.array([scalar]))[0]


def honest_row(study: Study, variance: float, rng: np.random.Generator) -> tuple[float, ...]:
    """Return what is exposed with every entry noised.

    Returns:
        Share of hard labels right by the paper's search, by the rank-one likelihood and by row sums; share of soft
        labels within an L1 distance of .1 by the likelihood.
    """
    noisy = study.gradients + rng.normal(0, variance**0.5, study.gradients.shape)
    truth = study.labels.argmax(axis=1)
    parts = principal(noisy, nonnegative=True)
    problem = Problem(column=parts.column, slopes=parts.direction @ study.weights.T)
    likely = problem.labels(likeliest_scales(problem, SMOOTHING, positive=True))
    swarms = [
        searched(gradient, study.weights, variance**0.5, Noised.ALL, Ratios.NOISED, rng)[1].argmax()
        for gradient in study.gradients
    ]
    return (
        float(np.mean(np.array(swarms) == truth)),
        float(np.mean(likely.argmax(axis=1) == truth)),
        float(np.mean(filtered(noisy, np.ones(noisy.shape[2])) == truth)),
        float(np.mean(np.abs(likely - study.labels).sum(axis=1) < 0.1)),
    )


def table5(samples: int = 100) -> Reproduced:
    """Compute all readings.

    Args:
        samples: How many; the paper has 100.
    """
    study = Study.digits(samples)
    variances = (1e-6, *LEVELS, 1.0)
    rng = np.random.default_rng(1)
    honest = tuple((variance, *honest_row(study, variance, rng)) for variance in variances)
    readings = tuple(_readings(study))
    return Reproduced(
        title=f"Wang et al., ICLR 2024, Table 5: {samples} digits, untrained network, hidden 512",
        tables=(
            Table(
                title="The paper's accuracy (scalars within 1 of the true one) and L_s (their mean distance from it)",
                columns=("noise", "printed number is a", "noised", "ratios", *(f"{level:g}" for level in LEVELS)),
                rows=tuple((*reading[:4], *(_cell(*cell) for cell in reading[4])) for reading in readings),
            ),
            Table(
                title="Every entry noised: share of labels exposed",
                columns=(
                    "variance",
                    "hard, paper's search",
                    "hard, likelihood",
                    "hard, row sums",
                    "soft to .1, likelihood",
                ),
                rows=honest,
            ),
        ),
        remarks=(
            Remark(says="growth of the printed L_s, 1e-4 to 1e-2, per decade", value=_per_decade(PRINTED_LOSS[:3])),
            Remark(says="growth of the printed L_s of Laplace's noise, per decade", value=_per_decade(_LAPLACE[1][:3])),
            Remark(says="expected of a standard deviation", value=10.0),
            Remark(says="expected of a variance", value=round(10**0.5, 2)),
            Remark(says="hard labels that row sums still find at variance 0.1", value=honest[-2][3]),
        ),
        pictures=(_exposed(honest),),
        compared=tuple(_compared(readings, honest, samples)),
        absent=ABSENT,
    )


def _exposed(honest: Sequence[tuple[float, ...]]) -> Picture:
    names = ("hard, the paper's search", "hard, likelihood", "hard, row sums", "soft to .1, likelihood")
    return Picture(
        title="Labels exposed with every entry noised",
        x="variance of the noise",
        y="share",
        log=True,
        series=tuple(
            Series(name=name, points=tuple((row[0], row[at]) for row in honest)) for at, name in enumerate(names, 1)
        ),
    )


def _compared(readings: Sequence[Reading], honest: Sequence[tuple[float, ...]], samples: int) -> Iterator[Compared]:
    why = "the nearest readings, both for both laws: a standard deviation, on the searched row only; another network"
    cells = {reading[:4]: reading[4] for reading in readings}
    for law, ratios in itertools.product(NoiseLaw, (Ratios.CLEAN, Ratios.MIXED)):
        own = cells[law.value, "standard deviation", Noised.ROW.value, ratios.value]
        for level, printed, (accuracy, loss) in zip(LEVELS, cells[law.value, *_PRINTED], own, strict=True):
            played = _played(f"swarms, {law.value} noise of {level:g} on one row, ratios {ratios.value}", samples, 2)
            ours = (
                Measured(value=100 * accuracy, unit="%", of="accuracy", played=played),
                *((Measured(value=loss, of="L_s", played=played),) if math.isfinite(loss) else ()),
            )
            quantity = f"{law.value}, {level:g}, ratios {ratios.value}: accuracy and L_s"
            yield Compared(quantity=quantity, paper=_cell(*printed), ours=ours, why=why)
    everywhere = cells["Gaussian", "standard deviation", Noised.ALL.value, Ratios.NOISED.value][-1][0]
    (same,) = (row for row in honest if math.isclose(row[0], LEVELS[-1] ** 2))
    noise = f"Gaussian noise of {LEVELS[-1]:g} on all entries"
    shares = {"scalars, swarms": (everywhere, 2), "classes, swarms": (same[1], 1), "classes, row sums": (same[3], 1)}
    shares["whole labels to .1, likelihood"] = (same[4], 1)
    yield Compared(
        quantity="standard deviation .1 on every entry",
        paper="45 % of labels",
        ours=tuple(
            Measured(value=100 * share, unit="%", of=of, played=_played(f"{of}; {noise}", samples, seed))
            for of, (share, seed) in shares.items()
        ),
        why="the ratios of rows are as noisy as the searched row, which the paper's study leaves clean; accuracy "
        "is of scalars, and a wrong one can leave the class right",
    )


def _played(game: str, samples: int, seed: int) -> Origin:
    network = "digits, untrained network, hidden 512"
    return Origin(game=f"{game}; {network}", n=samples, queries=samples, seen="gradients", seed=seed)


def _readings(study: Study) -> Iterator[Reading]:
    powers = {"standard deviation": 1.0, "variance": 0.5}
    for law, printed in ((NoiseLaw.GAUSSIAN, (PRINTED_ACCURACY, PRINTED_LOSS)), (NoiseLaw.LAPLACE, _LAPLACE)):
        yield (law.value, *_PRINTED, tuple(zip(*printed, strict=True)))
        for (unit, power), (noised, ratios) in itertools.product(powers.items(), _NOISED):
            rng = np.random.default_rng(2)
            cells = tuple(paper_cell(study, level**power, noised, ratios, rng, law) for level in LEVELS)
            yield (law.value, unit, noised.value, ratios.value, cells)


def _cell(accuracy: float, loss: float) -> str:
    return f"{accuracy:.0%} {loss:.1e}" if loss == loss else f"{accuracy:.0%}"


def _per_decade(losses: tuple[float, ...]) -> float:
    return round(float((losses[-1] / losses[0]) ** (1 / (len(losses) - 1))), 2)
