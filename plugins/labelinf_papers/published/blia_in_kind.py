"""BLIA's Tables 2 to 8 in kind: models trained anew on bundled real data, and what the paper leaves open.

The paper's data and networks are not at hand; its game is, corrected (:mod:`labelinf_outputs.game.channel`). For every
budget of the paper and two data sets: train accuracy, both published attacks, and beside them what they lack. The
learned attack has reference models; Delta-Margin is given the loss of the label to be inferred, as it demands, and is
played on labels that nobody trained on, too (placebo); every rate stands beside what label-DP allows.

* **Memorisation of every record** (Feldman, STOC 2020): how much more models say of a label that they were trained on.
* **Correlated canaries.** Label-DP protects one label. g records that share one, near copies of each other, have g
  answers of the mechanism: what holds for them is ``g epsilon`` (group privacy), and a majority of models' answers goes
  beyond what epsilon allows for one.

Everything is trained from seed 0: some 140 small models, a minute or two on one core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.comparisons import Compared, Measured, Origin
from labelinf_core.plugin.reproductions import Remark, Reproduced, Table
from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.proportions import p_value
from labelinf_data.bundled import BreastCancer
from labelinf_outputs.attacks.delta_margin import DeltaMargin
from labelinf_outputs.attacks.learned import Learned
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.game.canaries import CanaryGame
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.memorisation import memorisation
from labelinf_outputs.game.output import OutputAttack, OutputThreat
from labelinf_outputs.game.training import TrainingTask, one_hot
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import LossOracle
from labelinf_outputs.labels.digits_parity import DigitsParity
from labelinf_papers.published.blia import entries
from labelinf_papers.published.blia_report import ABSENT

__all__ = ["BUDGETS", "Scale", "blia_in_kind", "group_share"]

BUDGETS = (math.inf, 4.0, 2.0, 1.0, 0.8, 0.5, 0.3)  #: the paper's
LEVEL = 0.01  #: of significance

_CANARIES = 0.2
_JITTER = 0.02  # between copies of a record, in standard deviations
_SOURCES = ((BreastCancer, 150), (DigitsParity, 60))  # and epochs until the training labels are remembered


@attrs.frozen(kw_only=True)
class Scale:
    """How much is trained.

    Attributes:
        splits: Splits of each data set; each gives one audit.
        references: Models beside the victim, at least 3.
        groups: Sizes of the groups of correlated canaries.
        budgets: Of label-DP.
    """

    splits: int = 2
    references: int = 3
    groups: tuple[int, ...] = (1, 3, 9)
    budgets: tuple[float, ...] = BUDGETS


@attrs.frozen(kw_only=True)
class _Row:
    """One data set with one budget."""

    data: str
    epsilon: float
    canaries: int
    train: float
    test: float
    trained: float
    right: dict[str, int]
    sham: int
    splits: int
    memory: NDArray[np.float64] = attrs.field(repr=False)

    @property
    def ceiling(self) -> float:
        return epsilon_bounds.label_dp_ceiling(self.epsilon, 2)

    def rate(self, right: int, of: str, attack: str) -> Measured:
        """Return the share of the canaries as a figure."""
        model = "mlp" if math.isinf(self.epsilon) else f"mlp behind label-rr(epsilon={self.epsilon:g})"
        n = self.canaries // self.splits
        played = Origin(
            game=f"{attack} on {of}, {model}", n=n, queries=1, per_query=n, games=self.splits, seed=0, seen="models"
        )
        return Measured(value=100 * right / self.canaries, unit="%", of=of, played=played)

    def above(self, attack: str) -> float:
        """Return the p-value of guessing more than label-DP allows."""
        return p_value(self.right[attack], self.canaries, self.ceiling)


def blia_in_kind(scale: Scale = Scale()) -> Reproduced:
    """Train, attack and count."""
    rows = [_row(make().load(), epochs, epsilon, scale) for make, epochs in _SOURCES for epsilon in scale.budgets]
    groups = [*_groups(BreastCancer().load(), scale)]
    return Reproduced(
        title="Tables 2 to 8 of Khan et al., BLIA, 2025, in kind: models trained anew on real data",
        tables=(_rates(rows), _memory(rows), _correlated(groups)),
        remarks=tuple(_remarks(rows, groups)),
        pictures=tuple(_drawn(rows)),
        compared=tuple(_compared(rows)),
        absent=ABSENT,
    )


def _drawn(rows: list[_Row]) -> Iterator[Picture]:
    """Yield one picture a data set; nothing is drawn of models without a budget."""
    for data in dict.fromkeys(row.data for row in rows):
        these = [row for row in rows if row.data == data and math.isfinite(row.epsilon)]
        drawn = [
            Series(name=name, points=tuple((row.epsilon, row.right[name] / row.canaries) for row in these))
            for name in ("threshold", "learned", "delta-margin")
        ]
        placebo = Series(name="its placebo", points=tuple((row.epsilon, row.sham / row.canaries) for row in these))
        ceiling = Series(name="ceiling", points=tuple((row.epsilon, row.ceiling) for row in these), bound=True)
        if these:
            title = f"{data}: labels given back, and what label-DP allows"
            yield Picture(title=title, x="epsilon", y="success rate", log=True, series=(*drawn, placebo, ceiling))


def _compared(rows: list[_Row]) -> Iterator[Compared]:
    """Yield the ranges of the paper's six benchmarks beside ours, by attack and budget."""
    for epsilon in dict.fromkeys(row.epsilon for row in rows):
        for attack in ("threshold", "delta-margin"):
            printed = [item.rate for item in entries() if (item.row.epsilon, item.attack) == (epsilon, attack)]
            found = [row for row in rows if row.epsilon == epsilon]
            given = attack == "delta-margin"
            yield Compared(
                quantity=f"{attack}, epsilon {'∞' if math.isinf(epsilon) else f'{epsilon:g}'}: labels given back",
                paper=f"{min(printed):.1%} to {max(printed):.1%}" if printed else "not there",
                ours=(
                    *(row.rate(row.right[attack], row.data, attack) for row in found),
                    *(row.rate(row.sham, f"{row.data}, never trained on", attack) for row in found if given),
                ),
                why="it is given the label's loss" if given else "other data and networks",
            )


def _row(data: LabelSet, epochs: int, epsilon: float, scale: Scale) -> _Row:
    channel = OutputChannel(
        victim="mlp", epochs=epochs, canaries=_CANARIES, references=scale.references, loss=LossOracle.PLANTED
    )
    defences = () if math.isinf(epsilon) else (LabelRr(epsilon=epsilon),)
    threat = channel.threat(Setting(data=data, defences=defences))
    games = [CanaryGame(channel.plan, data, defences, seed) for seed in range(scale.splits)]
    members = [game.member(0) for game in games]
    attacks: dict[str, OutputAttack] = {"threshold": Threshold(), "delta-margin": DeltaMargin(), "learned": Learned()}
    return _Row(
        data=data.title,
        epsilon=epsilon,
        canaries=sum(game.n_canaries for game in games),
        train=float(np.mean([member.train_accuracy for member in members])),
        test=float(np.mean([member.test_accuracy for member in members])),
        trained=float(np.mean([_top(member.released) == member.trained for member in members])),
        right={name: sum(_right(attack, game, threat) for game in games) for name, attack in attacks.items()},
        sham=sum(_sham(game, threat) for game in games),
        splits=len(games),
        memory=np.concatenate([_memorised(game, scale.references) for game in games]),
    )


def _top(probabilities: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.asarray(probabilities.argmax(axis=1), dtype=np.intp)


def _right(attack: OutputAttack, game: CanaryGame, threat: OutputThreat) -> int:
    guess = attack.run(game.oracle(threat), np.random.default_rng(0))
    return int((guess.labels == game.member(0).planted).sum())


def _sham(game: CanaryGame, threat: OutputThreat) -> int:
    """Return how many labels that nobody trained on Delta-Margin "guesses" from their loss."""
    oracle, redrawn = game.placebo(threat)
    return int((DeltaMargin().run(oracle, np.random.default_rng(0)).labels == redrawn).sum())


def _memorised(game: CanaryGame, references: int) -> NDArray[np.float64]:
    members = [game.member(index) for index in range(references + 1)]
    return memorisation(
        np.array([member.released for member in members]), np.array([member.trained for member in members])
    )


def group_share(data: LabelSet, size: int, epsilon: float, seed: int) -> tuple[int, int]:
    """Return how many labels that ``size`` near copies share are guessed from all their outputs, and of how many.

    Args:
        data: Records with features.
        size: Of a group.
        epsilon: Of randomised response, for every copy of its own.
        seed: Of everything.
    """
    rng = np.random.default_rng(seed)
    features, labels = data.features, data.labels
    if features is None:
        raise ValueError("features=None must be an array: models are trained on features")
    chosen = rng.permutation(labels.size)
    groups, rest = chosen[:60], chosen[60:]
    planted = rng.integers(0, data.n_classes, groups.size)
    copies = np.repeat(features[groups], size, axis=0)
    copies = copies + _JITTER * features.std(axis=0) * rng.standard_normal(copies.shape)
    task = TrainingTask(
        features=np.concatenate([copies, features[rest]]),
        targets=one_hot(np.concatenate([np.repeat(planted, size), labels[rest]]), data.n_classes),
    )
    model = LabelRr(epsilon=epsilon).train(task, make_victim("mlp").train, rng).model
    logs = model.log_probabilities(copies).reshape(groups.size, size, data.n_classes)
    return int((_top(logs.sum(axis=1)) == planted).sum()), int(groups.size)


def _groups(data: LabelSet, scale: Scale) -> Iterator[tuple[int, float, int, int]]:
    for epsilon in (1.0, 0.5):
        for size in scale.groups:
            found = [group_share(data, size, epsilon, seed) for seed in range(2 * scale.splits)]
            yield size, epsilon, sum(right for right, _ in found), sum(n for _, n in found)


def _rates(rows: list[_Row]) -> Table:
    return Table(
        title="Success rates beside what label-DP allows",
        columns=(
            *("data", "epsilon", "canaries", "train", "test", "threshold", "learned", "ceiling", "p > ceiling"),
            *("trained label", "delta-margin", "its placebo"),
        ),
        rows=tuple(
            (
                *(row.data, row.epsilon, row.canaries, row.train, row.test),
                *(row.right["threshold"] / row.canaries, row.right["learned"] / row.canaries, row.ceiling),
                *(min(row.above("threshold"), row.above("learned")), row.trained),
                *(row.right["delta-margin"] / row.canaries, row.sham / row.canaries),
            )
            for row in rows
        ),
    )


def _memory(rows: list[_Row]) -> Table:
    return Table(
        title="Memorisation of every record (Feldman, 2020)",
        columns=("data", "epsilon", "mean", "first decile", "median", "last decile", "share above 1/2"),
        rows=tuple(
            (
                *(row.data, row.epsilon, float(np.nanmean(row.memory))),
                *(float(value) for value in np.nanquantile(row.memory, [0.1, 0.5, 0.9])),
                float(np.mean(row.memory[~np.isnan(row.memory)] > 0.5)),
            )
            for row in rows
        ),
    )


def _correlated(groups: list[tuple[int, float, int, int]]) -> Table:
    return Table(
        title="Labels that several near copies share, guessed from all of them",
        columns=("copies", "epsilon", "guessed", "of", "rate", "ceiling for one", "ceiling for the group"),
        rows=tuple(
            (
                *(size, epsilon, right, n, right / n),
                *(epsilon_bounds.label_dp_ceiling(level, 2) for level in (epsilon, size * epsilon)),
            )
            for size, epsilon, right, n in groups
        ),
    )


def _remarks(rows: list[_Row], groups: list[tuple[int, float, int, int]]) -> Iterator[Remark]:
    tested = [row for row in rows if math.isfinite(row.epsilon)]
    limit = epsilon_bounds.label_dp_ceiling
    for name in ("threshold", "learned", "delta-margin"):
        says = f"{name}: above the label-DP ceiling at 1 %, of {len(tested)}"
        yield Remark(says=says, value=sum(row.above(name) <= LEVEL / len(tested) for row in tested))
    shown = [row for row in rows if p_value(row.sham, row.canaries, 0.5) <= LEVEL / len(rows)]
    yield Remark(says=f"delta-margin: beats chance on labels nobody saw, of {len(rows)}", value=len(shown))
    for says, shared in (("what epsilon allows for one label", False), ("what g epsilon allows", True)):
        above = [
            p_value(right, n, limit(size * epsilon if shared else epsilon, 2)) <= LEVEL / len(groups)
            for size, epsilon, right, n in groups
        ]
        yield Remark(says=f"groups of copies: above {says}, of {len(groups)}", value=sum(above))
