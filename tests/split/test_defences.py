"""What defences do, which ceilings follow and which do not, and that attacks stay below them (V10 to V17)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import integrate, stats

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics.proportions import game_p_value, p_value
from labelinf_privacy.randomised_response import keep_probability
from labelinf_split.attacks.logits import CutArgmin, OddSign
from labelinf_split.attacks.published import CutDirection
from labelinf_split.attacks.solved import LinearTop, NoiseSubspace, on_a_line
from labelinf_split.bounds import CutCeilings
from labelinf_split.defences.certified import CutGaussian, CutLabelRr, LineOnlyNoise
from labelinf_split.defences.published import CutLevels, CutSmoothing, IsoNoise, Marvell, MaxNorm, least_sum_kl, sum_kl
from labelinf_split.game.channel import SplitChannel
from labelinf_split.game.effects import CutChanged, CutNoise, LabelsRandomised, SplitFacts, fold
from labelinf_split.game.view import CutBatch, Side, SplitDefence

BARE = {"top": Side.NONE}


def ceilings(data: LabelSet, *defences: SplitDefence, **settings: Any) -> list[float]:
    threat = SplitChannel(**settings).threat(Setting(data=data, defences=defences))
    return [item.accuracy for item in CutCeilings().ceilings(threat)]


@attrs.frozen(kw_only=True)
class Silent(SplitDefence):
    """Says nothing of what it does."""


@attrs.frozen(kw_only=True)
class Hidden(CutNoise):
    """An effect of somebody else's making: a subclass can compute anything."""

    def after(self, facts: SplitFacts) -> SplitFacts:
        return attrs.evolve(facts, shift=0.0)


@attrs.frozen(kw_only=True)
class Claims(SplitDefence):
    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        return (Hidden(scale=1e9, step=1e-9),)


def test_the_ceiling_of_two_classes_is_what_is_written(two: LabelSet) -> None:
    """K = 2, scale 4, T = 20: Phi(sqrt(10) / 4) = .7854."""
    (found,) = ceilings(two, CutGaussian(scale=4.0), epochs=20, **BARE)
    assert found == pytest.approx(0.7854, abs=1e-4)
    assert found >= stats.norm.cdf(math.sqrt(10) / 4)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("shift", [0.3, 1.0, 4.0])
def test_no_guess_of_released_simplex_corners_is_above_the_ceiling(n_classes: int, shift: float) -> None:
    """Bayes: the integral of phi(u - sqrt(T) / s) Phi(u)^(K - 1); exact for K = 2."""
    facts = SplitFacts(releases=1, width=n_classes, radius=math.sqrt(1 - 1 / n_classes), stateless=True)
    known = fold([CutNoise(scale=1 / shift, step=2.0**-24 / shift)], facts)
    bayes, _ = integrate.quad(lambda u: stats.norm.pdf(u - shift) * stats.norm.cdf(u) ** (n_classes - 1), -10, 20)
    most = stats.norm.cdf(stats.norm.ppf(1 / n_classes) + known.shift)

    assert bayes <= most
    if n_classes == 2:
        assert most == pytest.approx(bayes, abs=1e-4)


def test_randomised_response_has_its_ceiling_whatever_stands_behind(two: LabelSet, four: LabelSet) -> None:
    for behind in ((), (Marvell(),), (MaxNorm(),), (CutLevels(),)):
        (found,) = ceilings(two, CutLabelRr(epsilon=2.0), *behind)
        assert found == pytest.approx(0.8808, abs=1e-4)
    assert ceilings(four, CutLabelRr(epsilon=2.0)) == [pytest.approx(keep_probability(2.0, 4))]


@pytest.mark.parametrize(
    "settings",
    [
        {"top": Side.LINEAR},  # trained on clean labels (V15)
        {"top": Side.NONE, "label_features": True},  # another bottom is
        {"top": Side.MLP},
        {"top": Side.MLP, "frozen": True},  # nobody knows how far a label moves a gradient
    ],
)
def test_noise_certifies_nothing_where_a_condition_is_not_met(two: LabelSet, settings: dict[str, Any]) -> None:
    assert ceilings(two, CutGaussian(scale=100.0), **settings) == []


def test_a_clip_bounds_what_a_frozen_top_sends(two: LabelSet) -> None:
    (found,) = ceilings(two, CutGaussian(scale=4.0, norm=1.0), top=Side.MLP, frozen=True, epochs=1)
    assert found == pytest.approx(stats.norm.cdf(1 / 4), abs=1e-4)
    assert ceilings(two, CutGaussian(scale=4.0, norm=1.0), top=Side.MLP) == []


def test_the_line_of_a_frozen_linear_top_has_a_ceiling(two: LabelSet, four: LabelSet) -> None:
    (found,) = ceilings(two, LineOnlyNoise(scale=2.0), frozen=True, label_features=True, epochs=4)
    assert found == pytest.approx(stats.norm.cdf(math.sqrt(4) / 2 / 2), abs=1e-4)
    assert ceilings(two, LineOnlyNoise(scale=2.0)) == []
    for data, settings in ((four, {}), (two, {"top": Side.MLP}), (two, BARE)):
        with pytest.raises(InputError, match="two classes and a linear top"):
            ceilings(data, LineOnlyNoise(), **settings)


def test_noise_along_the_line_is_sized_by_the_weight_and_not_by_the_longest_gradient() -> None:
    """p = 1/2, one release: Phi(1/2) = .691 by the weight; by the longest gradient, half of it, Phi(1) = .841."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000)
    top = np.array([[0.3, -1.0, 0.2], [1.0, 0.5, -0.4]])
    weight = top[1] - top[0]
    batch = CutBatch(gradients=(0.5 - labels)[:, None] * weight, labels=labels, top=top)
    sent = LineOnlyNoise(scale=1.0).released(batch, rng)
    share = float(np.mean((sent @ weight < 0) == labels))
    assert share == pytest.approx(stats.norm.cdf(0.5), abs=0.02)
    longest = float(np.linalg.norm(batch.gradients, axis=1).max())
    noised = batch.gradients + longest * rng.standard_normal((labels.size, 1)) * weight / np.linalg.norm(weight)
    assert np.mean((noised @ weight < 0) == labels) == pytest.approx(stats.norm.cdf(1.0), abs=0.02)


def test_noise_along_the_line_of_all_but_equal_rows_tells_nothing() -> None:
    """Rounding of a gradient could reach far along the line then: the coefficient is dropped, by public weights."""
    top = np.array([[1.0, 2.0], [1.0, 2.0 + 1e-6]])
    sent = [
        LineOnlyNoise(scale=1.0).released(
            CutBatch(gradients=(0.5 - labels)[:, None] * (top[1] - top[0]), labels=labels, top=top),
            np.random.default_rng(0),
        )
        for labels in (np.zeros(8, np.intp), np.ones(8, np.intp))
    ]
    assert np.array_equal(*sent)


@pytest.mark.parametrize(
    "stage", [IsoNoise(ratio=1e6), Marvell(power=1e6), MaxNorm(), CutLevels(), CutSmoothing(share=0.9)]
)
def test_what_is_published_certifies_nothing(two: LabelSet, stage: SplitDefence) -> None:
    for settings in (BARE, {"frozen": True}):
        assert ceilings(two, stage, **settings) == []


@pytest.mark.parametrize("nearer", [IsoNoise(), Marvell(), MaxNorm(), CutLevels(), Silent()])
def test_noise_behind_what_reads_the_batch_certifies_nothing(two: LabelSet, nearer: SplitDefence) -> None:
    assert ceilings(two, nearer, CutGaussian(scale=4.0), **BARE) == []


@pytest.mark.parametrize("outer", [IsoNoise(), Marvell(), MaxNorm(), Silent()])
def test_what_reads_labels_again_undoes_noise(two: LabelSet, outer: SplitDefence) -> None:
    assert ceilings(two, CutGaussian(scale=4.0), outer, **BARE) == []
    assert len(ceilings(two, CutGaussian(scale=4.0), CutLevels(), **BARE)) == 1


def test_nothing_is_certified_behind_silence_or_beside_a_strange_effect(two: LabelSet) -> None:
    assert ceilings(two, Silent(), CutLabelRr(epsilon=1.0)) == []
    assert ceilings(two, CutLabelRr(epsilon=1.0), Silent()) == []
    assert ceilings(two, Claims(), **BARE) == []
    assert fold([Unknown(stage="x"), LabelsRandomised(epsilon=1.0)], SplitFacts()).label_epsilon == math.inf
    assert fold([LabelsRandomised(epsilon=1.0), CutChanged(alone=False)], SplitFacts()).label_epsilon == 1.0


def held(share: Callable[..., float], attack: Any, data: LabelSet, *stages: Any, games: int, **settings: Any) -> float:
    """Return the p-value of so many right guesses below the ceiling."""
    threat = SplitChannel(**settings).threat(Setting(data=data, defences=stages))
    (ceiling,) = CutCeilings().ceilings(threat)
    found = share(attack, data, *stages, games=games, **settings)
    return p_value(round(found * games * threat.n_records), games * threat.n_records, ceiling.accuracy)


@pytest.mark.long
def test_attacks_stay_below_their_ceilings_and_close_to_them(
    share: Callable[..., float], two: LabelSet, four: LabelSet
) -> None:
    games = 12
    for data in (two, four):
        assert held(share, CutArgmin(), data, CutGaussian(scale=2.0), games=games, epochs=4, **BARE) > 1e-4
        assert share(CutArgmin(), data, CutGaussian(scale=2.0), games=games, epochs=4, **BARE) > 1.3 / data.n_classes
    assert held(share, LinearTop(), two, CutLabelRr(epsilon=1.0), games=games) > 1e-4
    assert share(LinearTop(), two, CutLabelRr(epsilon=1.0), games=games) > 0.65
    line = {"frozen": True, "label_features": True}
    assert held(share, CutDirection(), two, LineOnlyNoise(scale=2.0), games=games, **line) > 1e-4


class Undone(CutGaussian):
    """Says what it derives from says, and releases what it was given."""

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Any:
        return batch.gradients


def test_one_game_above_a_ceiling_of_noise_is_an_alarm(played: Any, two: LabelSet) -> None:
    """On average 62 % may be read; all labels of one game were no contradiction."""
    settings = {"epochs": 3, **BARE}
    threat = SplitChannel(**settings).threat(Setting(data=two, defences=(Undone(scale=4.0),)))
    (ceiling,) = CutCeilings().ceilings(threat)
    assert ceiling.game is not None
    assert ceiling.game.share == ceiling.accuracy == pytest.approx(0.6203, abs=1e-4)
    for stage, p_values in ((Undone(scale=4.0), (0, 1e-6)), (CutGaussian(scale=4.0), (1e-3, 1))):
        right = []
        for seed in range(8):
            run, planted = played(two, stage, seed=seed, **settings)
            right.append(int((CutArgmin().run(run.view, np.random.default_rng(0)).labels == planted).sum()))
        found = game_p_value(max(right), planted.size, share=ceiling.game.share, bits=ceiling.game.bits)
        assert p_values[0] <= found <= p_values[1]


def test_no_game_of_two_adaptive_records_is_above_two_coins(two: LabelSet) -> None:
    """The second record is asked by what the first one's release said; both are guessed right as rarely as by coins."""
    threat = SplitChannel(epochs=1, **BARE).threat(Setting(data=two, defences=(CutGaussian(scale=4.0),)))
    (ceiling,) = CutCeilings().ceilings(threat)
    assert ceiling.game is not None
    rng, n, scale = np.random.default_rng(0), 400_000, 0.5 / threat.facts.shift
    labels = rng.integers(0, 2, (n, 2))
    first = labels[:, 0] - 0.5 + scale * rng.standard_normal(n)
    asked = np.where(np.abs(first) > 1, 1.0, 0.1)  # all that may be sent, where the first is likely right
    second = asked * (labels[:, 1] - 0.5) + scale * rng.standard_normal(n)
    right = ((first > 0) == labels[:, 0]).astype(int) + ((second > 0) == labels[:, 1])
    for k in (1, 2):
        assert np.mean(right >= k) <= stats.binom.sf(k - 1, 2, ceiling.game.share) + 4 / math.sqrt(n)


@pytest.mark.long
def test_a_top_that_learns_from_clean_labels_tells_them_through_others(loaded: Callable[[Path], ModuleType]) -> None:
    """V15: from its own release .54, from the others' more than .7; so no ceiling is about a record's own releases."""
    own, others = loaded(Path(__file__).parents[2] / "benchmarks" / "split.py").toy(trials=300)
    assert own < 0.65
    assert others > 0.7


def test_the_scale_of_iso_noise_tells_another_records_label() -> None:
    """V14 (a): in a fitted batch the longest gradient is the one wrong record's, and it scales everybody's noise."""
    right = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        label = int(rng.integers(2))
        p = np.full(32, 0.97)
        g = np.stack([p - 1, 1 - p], axis=1)
        g[0] = (p[0] - label, label - p[0])
        sent = IsoNoise(ratio=8.0).released(CutBatch(gradients=g, labels=np.zeros(32, np.intp), top=None), rng)
        spread = np.square(sent[1:]).mean()  # of the others
        right += (spread > 1.0) == (label == 0)
    assert right == 200


@pytest.mark.parametrize(("releases", "width"), [(1, 16), (1, 64), (4, 4)])
def test_most_of_iso_noise_lies_where_no_label_is(releases: int, width: int) -> None:
    """Two classes, d = 16: noise twice as long leaves Phi(2) = .977 of the longest gradients on their line."""
    rng, n = np.random.default_rng(0), 20_000
    labels, line = rng.integers(0, 2, n), rng.standard_normal(width)
    g = (0.5 - labels)[:, None] * line
    batch = CutBatch(gradients=g, labels=labels, top=None)
    sent = sum(IsoNoise(ratio=2.0).released(batch, rng) for _ in range(releases))
    assert np.linalg.norm(sent / releases - g, axis=1).mean() > 1.4 / releases**0.5 * np.linalg.norm(g[0])
    expected = stats.norm.cdf(math.sqrt(releases * width) / 2)
    assert np.mean((sent @ line < 0) == labels) == pytest.approx(expected, abs=4 * math.sqrt(0.25 / n))


@pytest.mark.parametrize("seed", range(6))
def test_marvells_noise_is_the_optimum(seed: int) -> None:
    """Against a grid over all splits of the power, class by class, along and across."""
    rng = np.random.default_rng(seed)
    u, v, gap, share = (*rng.uniform(0.02, 0.5, 2), rng.uniform(0.5, 2), rng.uniform(0.3, 0.7))
    width, power = int(rng.integers(2, 9)), float(rng.uniform(0.5, 4))
    best = least_sum_kl(u, v, gap, width, share, power)
    cost = np.array([(1 - share) * width, 1 - share, share * width, share])

    assert (best >= 0).all()
    assert cost @ best <= power * gap * (1 + 1e-6)
    parts = [np.array(x) / 12 for x in itertools.product(range(13), repeat=4) if sum(x) == 12]
    grid = min(sum_kl(part * power * gap / cost, u, v, gap, width) for part in parts)
    assert sum_kl(best, u, v, gap, width) <= grid * (1 + 1e-6)


def test_marvell_leaves_one_class_on_a_line(share: Callable[..., float], played: Any, two: LabelSet) -> None:
    """E-M1, with the optimum inside: every canary, with a linear top and with none."""
    for settings in ({}, BARE):
        run, _ = played(two, Marvell(power=4.0), label_features=True, **settings)
        lines = [on_a_line(run.view.sent[run.view.rows_of(step)]) for step in range(run.view.n_steps)]
        assert sum(line is not None for line in lines) > 0.8 * len(lines)
        assert share(NoiseSubspace(), two, Marvell(power=4.0), label_features=True, **settings) > 0.97


@pytest.mark.long
def test_records_vote_which_class_has_marvells_noise_before_a_wide_top(
    share: Callable[..., float], two: LabelSet
) -> None:
    """No gradient lies on a line there, and the noise changes sides from step to step: summed without votes, .72."""
    wide = {"top": Side.MLP, "label_features": True, "epochs": 20}
    assert share(NoiseSubspace(), two, Marvell(power=4.0), games=4, **wide) > 0.85


def test_max_norm_noise_stays_on_the_line_and_scales_to_the_longest(four: LabelSet) -> None:
    rng = np.random.default_rng(0)
    g = rng.standard_normal((2000, 4)) * rng.uniform(0.1, 1, (2000, 1))
    sent = MaxNorm().released(CutBatch(gradients=g, labels=np.zeros(2000, np.intp), top=None), rng)
    unit = g / np.linalg.norm(g, axis=1, keepdims=True)
    along = (sent * unit).sum(axis=1)

    assert np.abs(sent - along[:, None] * unit).max() < 1e-9
    assert np.square(sent).sum(axis=1).mean() == pytest.approx(np.square(g).sum(axis=1).max(), rel=0.1)
    assert OddSign().unsupported_reason(SplitChannel().threat(Setting(data=four))) != ""


def test_a_label_is_drawn_once_and_kept(played: Any, four: LabelSet) -> None:
    run, planted = played(four, CutLabelRr(epsilon=1.0), top=Side.NONE, epochs=6)
    kept = np.mean(run.trained[: planted.size] == planted)
    assert 0 < kept < 1
    guess = CutArgmin().run(run.view, np.random.default_rng(0))
    assert (guess.labels == run.trained[: planted.size]).all()  # what was trained on is read all the same


def test_noise_lies_on_its_grid(played: Any, two: LabelSet) -> None:
    from labelinf_split.defences.certified import grid_step

    run, _ = played(two, CutGaussian(scale=4.0), precision="double", **BARE)
    steps = run.view.sent / grid_step(4.0)
    assert (steps == np.rint(steps)).all()
    assert run.view.sent.std() == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("stages", [(CutLabelRr(epsilon=1.0),), ()], ids=["drawn", "own"])
def test_labels_that_are_drawn_are_nobodys_and_certified_for_nobody(
    played: Any, two: LabelSet, stages: tuple[Any, ...]
) -> None:
    run, planted = played(two, *stages, seed=0, **BARE)
    guess = CutArgmin().run(run.view, np.random.default_rng(0))

    assert (guess.evidence["certified"] > 0.9) == (not stages)
    assert (guess.labels == planted).all() == (not stages)
