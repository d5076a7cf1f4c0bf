"""E15: "LIA-Delta-Margin consistently outperformed the LIA-Threshold" (Khan et al., BLIA, 2025, section 6.2.1)."""

from __future__ import annotations

import math

from labelinf_papers.published.blia import rows


def test_it_did_not_in_six_of_42_settings() -> None:
    lost = {(row.benchmark, row.epsilon) for row in rows() if row.delta_margin < row.threshold}

    assert len(rows()) == 42
    assert lost == {
        ("Census", math.inf),
        ("Census", 2.0),
        ("CIFAR-10", 0.5),
        ("CIFAR-10", 0.3),
        ("Big-Vul", math.inf),
        ("Big-Vul", 0.5),
    }
