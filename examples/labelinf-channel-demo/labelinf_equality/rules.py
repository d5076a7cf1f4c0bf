"""The contract of this channel's components: attacks play without the truth in reach, defences do what they say."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing.attacks import Arrays, AttackRules, Situation
from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_equality.game import Ask, EqualityAttack, EqualityChannel, EqualityDefence, EqualityOracle, EqualityThreat

__all__ = ["RULES"]

_RECORDS = 24
_ASKED = 4000


def _threat(budget: int | None, n_classes: int = 3) -> EqualityThreat:
    prior = (0.5, 0.3, 0.2) if n_classes == 3 else (0.5, 0.5)
    return EqualityThreat(n_records=_RECORDS, n_classes=n_classes, prior=prior, budget=budget)


def _set_up(threat: EqualityThreat, truth: NDArray[np.intp]) -> tuple[EqualityOracle, Arrays]:
    """Show answers about other labels than the truth: whoever follows the truth has read it elsewhere."""
    shown = np.random.default_rng(7).choice(threat.n_classes, _RECORDS, p=threat.prior)
    return EqualityOracle(threat, lambda one, other: bool(shown[one] == shown[other])), {"answers": shown}


_STAGES = [Situation(threat=each, set_up=functools.partial(_set_up, each)) for each in (_threat(None), _threat(10, 2))]
_ATTACKS = AttackRules(
    base=EqualityAttack,
    stages=_STAGES,
    strange=[_threat(0), ThreatModel(n_records=_RECORDS, n_classes=2, prior=(0.5, 0.5))],
)


def _answers(component: object, seed: int) -> list[bool]:
    """Return answers about pairs that are equal, each pair once."""
    defence = belongs(component, EqualityDefence)
    threat = _behind(defence)
    asked: Ask = defence.start(threat, np.random.default_rng(seed), lambda one, other: True)
    return [asked(2 * place, 2 * place + 1) for place in range(_ASKED)]


def _behind(defence: EqualityDefence) -> EqualityThreat:
    """Return the threat behind ``defence`` alone."""
    labels = np.arange(2 * _ASKED, dtype=np.intp) % 2
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made")
    return EqualityChannel().threat(Setting(data=data, defences=(defence,)))


def _errs_as_often_as_it_says(component: Any) -> None:
    error = _behind(belongs(component, EqualityDefence)).facts.error
    if math.isnan(error):
        raise NotApplicableError("it does not say what it does")
    wrong = _answers(component, 1).count(False)
    slack = 5.5 * math.sqrt(_ASKED * error * (1 - error)) + 1  # exceeded with probability below 1e-7
    require(abs(wrong - _ASKED * error) <= slack, f"{wrong} of {_ASKED} answers are wrong; it says {error:.1%}")


def _is_reproducible(component: Any) -> None:
    require(_answers(component, 1) == _answers(component, 1), "the same generator must give the same answers")


RULES = {
    Kind.ATTACK: _ATTACKS.named,
    Kind.DEFENCE: (
        ("errs-as-often-as-it-says", _errs_as_often_as_it_says),
        ("is-reproducible", _is_reproducible),
    ),
}  #: by kind of component
