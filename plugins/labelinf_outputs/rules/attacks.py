"""What attacks of the model-output channel are tried on: made-up views; nothing is trained.

A view shows what a memorising model would: an opinion of every record, shifted towards the label it was trained on.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.attacks import Arrays, AttackRules, Situation
from labelinf_outputs.game.output import OutputAttack, OutputOracle, OutputThreat, References, Release
from labelinf_outputs.game.view import LossOracle, View

__all__ = ["RULES"]

_N, _REFERENCES, _FEATURES = 24, 8, 3
_VIEWS = (
    View(),
    View(references=_REFERENCES),
    View(loss=LossOracle.PLANTED),
    View(references=_REFERENCES, loss=LossOracle.TRAINED, features=True),
)


def _threat(view: View, n_classes: int) -> OutputThreat:
    return OutputThreat(n_records=_N, n_classes=n_classes, prior=(1 / n_classes,) * n_classes, declared=view)


def _set_up(threat: OutputThreat, truth: NDArray[np.intp]) -> tuple[OutputOracle, Arrays]:
    rng = np.random.default_rng(0)
    n, k, view = threat.n_records, threat.n_classes, threat.view
    labels = rng.integers(0, k, (_REFERENCES + 1, n), dtype=np.intp)
    logits = rng.standard_normal((n, k)) + np.eye(k)[labels] + 0.3 * rng.standard_normal((_REFERENCES + 1, n, k))
    logs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    release = Release(
        probabilities=np.exp(logs[0]),
        log_probabilities=logs[0],
        losses=-logs[0][np.arange(n), labels[0]] if view.reveals_label else None,
        features=rng.standard_normal((n, _FEATURES)) if view.features else None,
    )
    references = References(log_probabilities=logs[1:], planted=labels[1:], trained=labels[1:])
    arrays: dict[str, Any] = {**attrs.asdict(release)}
    arrays |= {f"reference {name}": values for name, values in attrs.asdict(references).items()}
    return OutputOracle(threat, release, lambda: references), arrays


_THREATS = [_threat(view, n_classes) for view, n_classes in itertools.product(_VIEWS, (2, 4))]

RULES = AttackRules(
    base=OutputAttack,
    stages=[Situation(threat=threat, set_up=functools.partial(_set_up, threat)) for threat in _THREATS],
    strange=[ThreatModel(n_records=_N, n_classes=2, prior=(0.5, 0.5))],
    extras=["confidence"],
)  #: what every attack of this channel is held to, beside what holds for all components
