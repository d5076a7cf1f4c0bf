"""What the guesses of a trial prove about label-DP, whoever planted the labels: the core counted which are right.

Example:
    >>> import numpy as np
    >>> from labelinf_core.contracts.threat import ThreatModel
    >>> found = audited(np.ones(100, dtype=bool), 100, ThreatModel(n_records=100, n_classes=2, prior=(0.5, 0.5)))
    >>> round(found.at_least, 2), found.p_value
    (3.09, 1.0)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator import epsilon_bounds
from labelinf_core.evaluator.records import Audited

__all__ = ["audited"]


def audited(hits: NDArray[np.bool_], n_planted: int, threat: ThreatModel) -> Audited:
    """Set a certificate against guesses, the surest ones first, for the shares that are fixed beforehand.

    Args:
        hits: Whether each guess is right, surest first, abstentions left out.
        n_planted: Labels that were planted, uniformly.
        threat: What is certified; of (epsilon, delta) the bound has the same delta.
    """
    delta, n_classes = threat.label_delta, threat.n_classes
    sizes = epsilon_bounds.guess_counts(n_planted)
    each = [
        epsilon_bounds.claim_p_value(
            int(hits[:size].sum()),
            size if delta else min(size, hits.size),
            threat.label_epsilon,
            n_classes=n_classes,
            delta=delta,
            n_canaries=n_planted,
        )
        for size in sizes
        if hits.size
    ]
    proved = epsilon_bounds.one_run_epsilon(hits, n_canaries=n_planted, n_classes=n_classes, delta=delta)
    return Audited(
        at_least=proved.epsilon,
        delta=delta,
        certified=threat.label_epsilon,
        p_value=min(1.0, len(sizes) * min(each, default=1.0)),
    )
