"""What the named attacks need of each metric that ships, beside the attack that knows none: queries, and who is sure.

python benchmarks/named.py [--records 60] [--metrics roc-auc f1]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.labels import LabelSet
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.report import audited
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.game.agreement import candidates

SIMULATE = "simulate(simulations=30000)"


def main() -> None:
    """Print a line for every metric: the named attack of fewest queries that has all labels, and ``simulate``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=60)
    parser.add_argument("--metrics", nargs="*", default=[])
    arguments = parser.parse_args()
    builder = Builder(Host.load())
    rng = np.random.default_rng(0)
    labels = (rng.random(arguments.records) < 0.4).astype(int)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made labels", provenance="made up", public=True)
    for name in arguments.metrics or candidates(2):
        rows = played(name, data, builder)
        print(f"{name:22s} " + "   ".join(map(told, rows)), flush=True)


def played(metric: str, data: LabelSet, builder: Builder) -> list[tuple[Extraction | None, float]]:
    """Return the named attack of fewest queries, and the one that knows no metric, with their seconds."""
    listed = shipped()
    found = []
    for attacks in ([*listed["metrics"], *listed["attacks"], *listed["general"]], [SIMULATE]):
        began, leaks = time.process_time(), []
        for attack in dict.fromkeys(attacks):
            try:
                leaks += audited("sklearn", data, builder, attacks=[attack], metric=metric, seed=1).leaks
            except LabelinfError:
                continue
        whole = [leak for leak in leaks if leak.exact]
        best = min(whole, key=lambda leak: leak.queries) if whole else None
        found.append((best, time.process_time() - began))
    return found


def told(found: tuple[Extraction | None, float]) -> str:
    """Write one of them."""
    leak, _ = found
    if leak is None:
        return f"{'-':>34s}"
    certain = "certain" if "planned" in leak.evidence.values() else ""
    return f"{leak.attack.partition('(')[0]:18s} {leak.queries:4d} q {certain:7s}"


if __name__ == "__main__":
    main()
