"""T9e: an audit by a proxy's labels accuses a model that has seen no label, unless the proxy is nature itself."""

from __future__ import annotations

import numpy as np

from labelinf_core.statistics.both_tails import both_tails_epsilon


def proved(proxy: float, rng: np.random.Generator, told: float = 0.95, m: int = 1000, guesses: int = 100) -> float:
    """What one audit proves of a model trained on other records, from which it agrees with a label as ``told``.

    Each record shows its own label or one that the proxy drew, with which the model agrees as ``proxy``. The adversary
    says "drawn by the proxy" of the first records where the model contradicts the label that is shown.
    """
    real = rng.random(m) < 0.5
    agrees = rng.random(m) < np.where(real, told, proxy)
    said = np.flatnonzero(~agrees)[:guesses]
    return both_tails_epsilon(int((~real[said]).sum()), said.size, n_classes=2)


def test_a_model_that_has_seen_no_label_is_accused_in_every_audit() -> None:
    rng = np.random.default_rng(0)
    found = [proved(0.75, rng) for _ in range(200)]

    assert min(found) > 0
    assert 1.1 < np.mean(found) < 1.25


def test_a_proxy_that_is_nature_itself_accuses_it_in_one_audit_of_twenty() -> None:
    """More than 39 of 500 have a probability below .4 % where each is accused with 5 %."""
    rng = np.random.default_rng(1)

    assert sum(proved(0.95, rng) > 0 for _ in range(500)) <= 39
