"""Labels from gradients at the logits, where there is no top (labelinf theory, split, V1, V1b, V1c, V11).

The gradient is ``p - y``. Of a hard label at most one entry is negative, the label's; where all others are positive, an
entry of 0 is the label's too, which underflowed. These comparisons of floats are exact, **if** labels are hard.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from scipy.special import softmax

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_split.game.view import Floats, Labels, Side, SplitAttack, SplitThreat, SplitView

__all__ = ["CutArgmin", "OddSign", "SmoothedCut", "below_smoothing", "negative_entry", "odd_one_out", "single", "votes"]

_CLEAR = 100  # how many times rounding a gradient must be to tell something


def single(marked: Floats) -> Labels:
    """Return which entry alone is marked, ``ABSTAIN`` where none or several are, shape ``(...)`` of ``(..., K)``."""
    return np.where(marked.sum(axis=-1) == 1, marked.argmax(axis=-1), ABSTAIN)


def negative_entry(gradients: Floats) -> Labels:
    """Return the label that every gradient of a hard label shows, ``ABSTAIN`` where it shows none."""
    nothing_below = (gradients >= 0).all(axis=-1, keepdims=True)
    return single(np.where(nothing_below, gradients == 0, gradients < 0))


def odd_one_out(gradients: Floats) -> Labels:
    """Return the class whose sign stands alone, ``ABSTAIN`` where there is none."""
    below, above = single(gradients < 0), single(gradients > 0)
    return np.where(above == ABSTAIN, below, np.where(below == ABSTAIN, above, ABSTAIN))


def below_smoothing(gradients: Floats, share: float) -> Labels:
    """Return the label that is proved of labels with a public ``share`` spread over all classes; else ``ABSTAIN``.

    Every entry but the label's is at least ``-share / K``, in any rounding (V1b).
    """
    return single(gradients < -share / gradients.shape[-1] * (1 + 1e-5) - 1e-12)


def votes(labels: Labels, n_classes: int) -> Labels:
    """Return how many epochs say so, by record and class."""
    return np.asarray((labels[..., None] == np.arange(n_classes)).sum(axis=0))


@attrs.frozen(kw_only=True)
class CutArgmin(SplitAttack):
    """Guesses the smallest entry; of what ``p`` leaves, where the label party has no features and ``p`` is known.

    There ``y = p - g`` whatever it is (V1c); labels that come out hard, from gradients that are not 0, are certified.
    Behind noise the sum of it over all epochs is the best that there is (V14).
    """

    named: ClassVar[bool] = False

    def lacking(self, threat: SplitThreat) -> str:
        """It reads gradients at the logits."""
        return super().lacking(threat) or ("" if threat.run.top is Side.NONE else "needs gradients at the logits")

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess; what shows nothing is not guessed."""
        threat, sent = view.threat, view.sent
        left, certified = sent.sum(axis=0), np.zeros(sent.shape[1], dtype=bool)
        if not threat.run.label_features:
            soft = softmax(view.embeddings.astype(np.float64), axis=-1) - sent
            hard = np.eye(threat.n_classes)[soft[0].argmax(axis=1)]  # one and the same in all epochs
            soft, hard = (each * (view.step[:, :, None] >= 0) for each in (soft, hard))
            clear = (np.abs(sent).max(axis=(0, 2)) >= _CLEAR * threat.rounding) & (not threat.drawn)
            left, certified = -soft.sum(axis=0), clear & (np.abs(soft - hard).max(axis=(0, 2)) < threat.rounding)
        elif threat.facts.intact and not threat.facts.smoothing:
            left = left / np.maximum(np.abs(left).max(axis=1, keepdims=True), 1e-300) / 2
            left -= votes(negative_entry(sent), threat.n_classes)
        share = float(certified[view.targets].mean())
        said = "label is p - g" if share else "none: conditional on hard labels"
        return view.nearest(-left * np.where(certified, 1e6, 1)[:, None], certified=share, certificate=said)


@attrs.frozen(kw_only=True)
class SmoothedCut(SplitAttack):
    """Guesses what smoothing cannot hide in any epoch; else the smallest entry of the first.

    The smallest entry alone is no proof: it is the label's if and only if ``p_y - min p_j < 1 - share``.
    """

    named: ClassVar[bool] = False

    def lacking(self, threat: SplitThreat) -> str:
        """It reads gradients at the logits, of labels that are smoothed."""
        if threat.run.top is not Side.NONE or not threat.facts.smoothing or not threat.facts.intact:
            return "needs smoothed labels, and gradients at the logits as they are computed"
        return super().lacking(threat)

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        said = votes(below_smoothing(view.sent, view.threat.facts.smoothing), view.threat.n_classes)
        sound = (said > 0).sum(axis=1) == 1
        labels = np.where(sound, said.argmax(axis=1), view.sent[0].argmin(axis=1))
        share = float(sound[view.targets].mean()) * (not view.threat.drawn)
        return view.guess(labels, sound.astype(float), proved=share, certificate="none: conditional on the share")


@attrs.frozen(kw_only=True)
class OddSign(SplitAttack):
    """Guesses the class whose sign stands alone: all multiples of ``p - y`` show it, so that max-norm hides nothing."""

    named: ClassVar[bool] = False

    def lacking(self, threat: SplitThreat) -> str:
        """It needs three classes, and gradients at the logits."""
        fits = threat.n_classes > 2 and threat.run.top is Side.NONE
        return super().lacking(threat) or ("" if fits else "needs three classes, and gradients at the logits")

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        return view.nearest(votes(odd_one_out(view.sent), view.threat.n_classes))
