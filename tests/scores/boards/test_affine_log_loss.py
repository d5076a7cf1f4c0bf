"""Log-loss negated, in bits, added up, shifted, weighed and as D2: read as scikit-learn computes it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals
from labelinf_scores.metrics.readings.affine import AffineLogLoss, D2LogLoss

BUILDER = Builder(Host.load())
WEIGHTS = tuple((1 + np.arange(60) % 5).tolist())
FORMS: dict[str, ScoredMetric] = {
    "negated": AffineLogLoss(factor=-1.0),
    "in bits": AffineLogLoss(factor=1 / math.log(2)),
    "added up": AffineLogLoss(total=True),
    "scaled and shifted": AffineLogLoss(factor=-100.0, offset=250.0),
    "weighed": AffineLogLoss(weights=WEIGHTS),
    "weighed and added up": AffineLogLoss(weights=WEIGHTS, total=True),
    "D2": D2LogLoss(),
}


@pytest.mark.parametrize("decimals", [None, 5, 2])
@pytest.mark.parametrize("form", list(FORMS))
def test_true_labels_fit_and_others_do_not(form: str, decimals: int | None) -> None:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(60) < 22).astype(np.intp)
    totals = Totals.binary(n_records=60, n_positive=22)
    for spread in (0.2, 3.0, 20.0):
        predictions = 1 / (1 + np.exp(spread * rng.standard_normal(60)))
        score = FORMS[form].score(labels, predictions)
        printed = Fraction(score) if decimals is None else Fraction(f"{score:.{decimals}f}")
        told = FORMS[form].reading(predictions, printed, totals, Released(decimals=decimals))
        assert told.holds(labels)
        assert decimals is not None or not told.holds(np.roll(labels, 1))


@pytest.mark.parametrize("clip", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "D2"])
def test_behind_a_clip_no_label_moves_the_score_further_than_it_says(form: str, clip: float) -> None:
    """The heaviest record at the clip does move it as far."""
    metric, labels = FORMS[form].within(clip), np.arange(60) % 2
    said, moves = metric.sensitivity(60), []
    for record, prediction in itertools.product((0, 4), (0.0, clip, 1 - clip, 1.0)):
        rows, other = np.full(60, 0.5), labels.copy()
        rows[record], other[record] = prediction, 1 - labels[record]
        moves.append(abs(metric.score(labels, rows) - metric.score(other, rows)))
    assert said * (1 - 1e-9) <= max(moves) <= said * (1 + 1e-9)


def test_a_clip_in_front_is_reckoned_with_by_attack_and_by_noise() -> None:
    labels = load_bunch("breast-cancer").target[:60].astype(np.intp)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "weighted-blocks", "test")
    channel = ScoreChannel(metric=FORMS["weighed"])
    setting = Setting(
        data=data, attack=attack, defences=BUILDER.pipeline(("clip(epsilon=0.05)", "round(decimals=4)"), "")
    )
    played = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    assert (played.n_correct, played.evidence.get("contradiction")) == (60, None)
    noisy = ("clip(epsilon=0.05)", "laplace-dp(epsilon=1, queries=4)")
    threat = channel.threat(Setting(data=data, defences=BUILDER.pipeline(noisy, "")))
    assert threat.label_epsilon <= 1


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("defences", [(), ("round(decimals=5)",)])
def test_every_form_gives_every_label_away(form: str, defences: tuple[str, ...]) -> None:
    labels = load_bunch("breast-cancer").target[:60].astype(np.intp)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "weighted-blocks", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    channel = ScoreChannel(metric=FORMS[form])
    assert attack.unsupported_reason(channel.threat(setting)) == ""
    outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    # Weights belong to places, and labels are put in a random order: all are read all the same.
    assert outcome.n_correct == 60
    assert outcome.queries <= 20
    assert "contradiction" not in outcome.evidence


def test_a_form_that_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="not zero"):
        AffineLogLoss(factor=0.0)
    with pytest.raises(ValueError, match="positive"):
        AffineLogLoss(weights=(1.0, -1.0))
    assert "2 weights, and 3 records" in AffineLogLoss(weights=(1.0, 2.0)).fault(np.full(3, 0.5), 3)


def test_noise_covers_what_an_offset_rounds() -> None:
    """One label moved a score of 1.0000000 by ten times as much as its noise was calibrated to."""
    metric, clip = AffineLogLoss(factor=1e-7, offset=1.0), 0.499999
    labels, rng = np.arange(20_000) % 2, np.random.default_rng(0)
    stages = BUILDER.pipeline((f"clip(epsilon={clip})", "laplace-dp(epsilon=1)"), "test")
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made")
    facts = ScoreChannel(metric=metric).threat(Setting(data=data, defences=stages)).facts
    ((model, steps),) = facts.private_noise()
    for _ in range(4):
        predictions = np.clip(rng.random(labels.size), clip, 1 - clip)
        predictions[0], other = clip, np.array([1, *labels[1:]])
        moved = abs(metric.score(labels, predictions) - metric.score(other, predictions))
        assert moved <= float(steps) * model.step
