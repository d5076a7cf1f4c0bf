"""Figures 1, 2, 6 and 7 of Wang et al., ICLR 2024, in kind: real digits and networks of ours, as tables and pictures.

One gradient explains a whole curve of labels, one for every scalar; Figure 2 follows that curve, and Figures 1 and 7
the loss that chooses on it. Figure 6 counts what noise leaves of a label. The paper's images and its ResNet18 are not
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.comparisons import Compared, Measured, Origin, PaperClaim
from labelinf_core.plugin.reproductions import Reproduced, Table
from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.problem import Problem
from labelinf_papers.published.iclr_table5 import ABSENT, LEVELS, Noised, NoiseLaw, Ratios, Study, searched
from labelinf_papers.published.iclr_victims import Victims, fully_connected
from labelinf_papers.search.feasible import feasible_interval

__all__ = ["figure_2", "figure_6"]

_EPOCHS = (0, 20)
_HALF = np.linspace(0.4, 8, 1501)
_REACH = np.concatenate([-_HALF[::-1], _HALF])  # of lambda; it is of either sign, as p - y is


def figure_2() -> Reproduced:
    """Follow the labels that explain one gradient, and the loss that chooses among them."""
    curves = {epochs: _Curve(epochs) for epochs in _EPOCHS}
    rows = tuple((epochs, *curve.row()) for epochs, curve in curves.items())
    return Reproduced(
        title="Figures 1, 2 and 7 of Wang et al., ICLR 2024, in kind: one smoothed digit, 64-256-128-64-10",
        tables=(
            Table(
                title="scalars lambda of the true class's row that give a label, and the variance loss over them",
                columns=("epochs", "true", "feasible from", "to", "local minima", "least loss at", "least entry there"),
                rows=rows,
            ),
        ),
        pictures=(
            Picture(
                title="Labels that explain one gradient (untrained network)",
                x="lambda",
                y="entry of the label",
                series=curves[0].entries(),
            ),
            Picture(
                title="Variance loss, as printed",
                x="lambda",
                y="log10 of the loss",
                series=tuple(line for epochs, curve in curves.items() for line in curve.losses(f"{epochs} epochs")),
            ),
        ),
        compared=tuple(_curves_compared(*curves.values())),
        absent=ABSENT,
    )


def _curves_compared(untrained: _Curve, trained: _Curve) -> Iterator[Compared]:
    low, high = untrained.ends
    yield Compared(
        quantity="Figure 2: scalars whose labels are valid",
        paper="at least -2.00 to -1.33",
        ours=untrained.figures({"from": low, "to": high, "truth": untrained.true}),
        why="another digit and network; the set is one interval, and at its ends an entry is zero (G8, G14)",
    )
    yield Compared(
        quantity="Figures 1 and 7, untrained: first local minimum of the loss, and the global one",
        paper="the first is the global one",
        ours=untrained.figures({"first": next(iter(untrained.minima), math.inf), "global": untrained.best}),
        claim=PaperClaim.ALIKE,
    )
    named = {f"minimum {number}": at for number, at in enumerate(trained.minima, 1)}
    yield Compared(
        quantity="Figures 1 and 7, trained: local minima of the loss",
        paper="near 2.2372, and the truth at 4.2745",
        ours=trained.figures(named | {"global": trained.best, "truth": trained.true}),
        why="another network: its landscape is not a ResNet18's",
    )


class _Curve:
    """The labels of one gradient along the scalar of the true class's row."""

    def __init__(self, epochs: int) -> None:
        network, victims = fully_connected(epochs), Victims.draw(1, "smoothing")
        x, y = victims.inputs, victims.labels
        self.row_of = int(y.argmax())
        error = (softmax(network.logits(x)) - y)[0]
        feature = network.features(x)[0]
        self.true = float(1 / error[self.row_of])
        size = float(np.linalg.norm(feature))
        # lambda g_r = t v with v the feature's direction: t = lambda (p_r - y_r) |x|
        self.per_scalar = float(error[self.row_of] * size)
        self.problem = Problem(
            column=(error * size)[None], slopes=(network.classifier.weights @ (feature / size))[None].astype(float)
        )
        ends = feasible_interval(self.problem.column, self.problem.slopes)
        self.ends = tuple(sorted(float(end[0]) / self.per_scalar for end in ends))
        labels = np.concatenate([self.problem.labels(np.array([at * self.per_scalar])) for at in _REACH])
        self.labels, self.loss = labels, _variance(labels)
        pit = np.diff(np.sign(np.diff(self.loss)), prepend=0, append=0) > 0
        pit[np.isin(np.abs(_REACH), (_HALF[0], _HALF[-1]))] = False  # ends of a side
        self.minima = [float(at) for at in _REACH[pit]]
        self.best = float(_REACH[self.loss.argmin()])
        self.played = Origin(
            game=f"variance loss on one smoothed digit, 64-256-128-64-10 after {epochs} epochs",
            n=1, queries=1, seen="gradients", seed=1,
        )  # fmt: skip

    def row(self) -> tuple[Any, ...]:
        """Return what a table says of it."""
        said = ", ".join(f"{at:.2f}" for at in self.minima)
        return (self.true, *self.ends, said or "none", self.best, float(self.labels[self.loss.argmin()].min()))

    def figures(self, scalars: dict[str, float]) -> tuple[Measured, ...]:
        """Return scalars of the curve as figures, by their names."""
        return tuple(Measured(value=value, of=of, played=self.played) for of, value in scalars.items())

    def entries(self) -> tuple[Series, ...]:
        """Return the entries of the label, the true class's by name, within what the paper draws."""
        near = (np.sign(self.true) == np.sign(_REACH)) & (np.abs(_REACH) < 4)
        others = np.delete(self.labels, self.row_of, axis=1)
        drawn = {
            "true class": self.labels[:, self.row_of],
            "largest other": others.max(axis=1),
            "least": others.min(axis=1),
        }
        lines = tuple(Series(name=name, points=_thin(_REACH[near], values[near])) for name, values in drawn.items())
        ends = tuple((end, 0.0) for end in self.ends if abs(end) <= _HALF[-1])
        return (*lines, Series(name="ends of what is a label", points=ends, line=False, bound=True))

    def losses(self, name: str) -> Iterator[Series]:
        """Yield the variance loss along the scalar, for either sign of it."""
        logs = np.log10(np.maximum(self.loss, 1e-12))
        for said, side in (("lambda < 0", _REACH < 0), ("lambda > 0", _REACH > 0)):
            yield Series(name=f"{name}, {said}", points=_thin(_REACH[side], logs[side]))


def _variance(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance of all entries but the largest (equation 5)."""
    return np.asarray(np.sort(labels, axis=1)[:, :-1].var(axis=1))


def _thin(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    step = max(1, len(x) // 50)
    return tuple(zip(x[::step].tolist(), y[::step].tolist(), strict=True))


def figure_6(samples: int = 100) -> Reproduced:
    """Count what noise leaves of a label: the sum of the errors of its entries, by the paper's own search.

    Args:
        samples: How many digits a point; the paper has 100.
    """
    study, rows = Study.digits(samples), []
    for law in NoiseLaw:
        for level in LEVELS:
            rng = np.random.default_rng(2)
            errors = [
                np.abs(searched(gradient, study.weights, level, Noised.ROW, Ratios.CLEAN, rng, law)[1] - label).sum()
                for gradient, label in zip(study.gradients, study.labels, strict=True)
            ]
            rows.append((law.value, level, float(np.mean(errors)), float(np.median(errors))))
    means = {law: [row[2] for row in rows if row[0] == law.value] for law in NoiseLaw}
    return Reproduced(
        title=f"Figure 6 of Wang et al., ICLR 2024, in kind: {samples} smoothed digits, untrained network, hidden 512",
        tables=(
            Table(
                title="L_r, the sum of the errors of a label's entries, under noise on the searched row",
                columns=("noise", "standard deviation", "mean", "median"),
                rows=tuple(rows),
            ),
        ),
        pictures=(
            Picture(
                title="What noise does to a recovered label",
                x="standard deviation of the noise",
                y="L_r",
                log=True,
                series=tuple(
                    Series(name=law.value, points=tuple(zip(LEVELS, values, strict=True)))
                    for law, values in means.items()
                ),
            ),
        ),
        compared=tuple(
            Compared(
                quantity=f"L_r against the standard deviation of {law.value} noise",
                paper="a picture without numbers; it grows with the noise",
                ours=tuple(_errors(law, *pair, samples) for pair in zip(LEVELS, values, strict=True)),
                claim=PaperClaim.RISES,
                why="the printed level is read as a standard deviation (iclr-table5 shows why)",
            )
            for law, values in means.items()
        ),
        absent=ABSENT,
    )


def _errors(law: NoiseLaw, level: float, mean: float, samples: int) -> Measured:
    played = Origin(
        game=f"swarms, {law.value} noise of {level:g} on one row, ratios clean; digits, untrained network, hidden 512",
        n=samples, queries=samples, seen="gradients", seed=2,
    )  # fmt: skip
    return Measured(value=mean, of=f"{level:g}", played=played)
