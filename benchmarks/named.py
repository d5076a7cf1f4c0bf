"""What the attacks that plan with a metric need of each metric that ships, beside the attack that knows none.

    python benchmarks/named.py [--records 60] [--metrics roc-auc f1] [--most 720] [--every]

Each attack that ``audit scorer`` would try is played once, against the metric that the scorer is found to agree with;
none is left out because another had all labels. *Certain*: its answers were planned so that one labelling alone fits.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.labels import LabelSet
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.certificate import AuditedBoard
from labelinf_scores.audit.report import tried
from labelinf_scores.audit.scorer import Extraction, audit_scorer
from labelinf_scores.game.agreement import candidates
from labelinf_scores.game.likeness import likeness


def main() -> None:
    """Print a line for every metric: the named attack of fewest queries that has all labels, and ``simulate``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=60)
    parser.add_argument("--metrics", nargs="*", default=[])
    parser.add_argument("--simulations", type=int, default=30_000, help="labellings that simulate may score")
    parser.add_argument("--most", type=int, default=12, help="queries a label, after which a host has enough")
    parser.add_argument("--every", action="store_true", help="a line for every attack that was played, too")
    arguments = parser.parse_args()
    builder = Builder(Host.load())
    rng = np.random.default_rng(0)
    labels = (rng.random(arguments.records) < 0.4).astype(int)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made labels", provenance="made up", public=True)
    print(f"{'metric':24} {'agrees with':24} {'named attack':24} {'queries':>7} {'simulate':>17} {'labellings':>10}")
    for name in arguments.metrics or candidates(2):
        began = time.process_time()
        try:
            agreed, found = played(name, data, builder, arguments)
        except LabelinfError as error:
            print(f"{name:24} {error}", flush=True)
            continue
        *named, own = found
        best = min((one for one in named if one.exact), key=lambda one: one.queries, default=None)
        print(f"{name:24} {agreed:24} {told(best)} {whole(own)}  {time.process_time() - began:6.1f} s", flush=True)
        for one in found if arguments.every else ():
            print(
                f"    {one.attack:40} {one.queries:5} {one.right:7.1%} {one.seconds:6.1f} s  {one.failure}", flush=True
            )


def played(
    metric: str, data: LabelSet, builder: Builder, arguments: argparse.Namespace
) -> tuple[str, list[Extraction]]:
    """Return what a scorer of the metric agrees with, and what every attack got that was played; simulate's is last."""
    board = AuditedBoard(scorer="sklearn", metric=builder.build(Kind.METRIC, metric, "--metrics"))
    found = likeness(board.computed(data), data, f"scorer of {metric}")
    attacks, queries = tried(found, arguments.simulations), arguments.most * data.n_records
    leaks = audit_scorer(found, data, builder=builder, attacks=attacks, queries=queries, rng=np.random.default_rng(1))
    *named, own = leaks
    return found.name or "-", [*(one for one in named if not one.refusal), own]


def told(best: Extraction | None) -> str:
    """Write what the best named attack needed; nothing where none has all labels."""
    if best is None:
        return f"{'-':24} {'':7}  {'':7}"
    certain = "certain" if "planned" in best.evidence.values() else ""
    return f"{best.attack:24} {best.queries:7}  {certain:7}"


def whole(own: Extraction) -> str:
    """Write what ``simulate`` needed, or how much it has where not all."""
    needed = str(own.queries) if own.exact else f"{own.right:.0%}"
    return f"{needed:>8} {own.evidence.get('simulations', 0):>10}"


if __name__ == "__main__":
    main()
