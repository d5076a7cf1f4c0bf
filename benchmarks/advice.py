"""Advice for every metric: how each command ends, and whether a setting that is called proved enough is beaten.

    python benchmarks/advice.py                          # every metric that is installed: half an hour
    python benchmarks/advice.py --metrics mse r2 --patience 5
    python benchmarks/advice.py --games 8                # what is proved meets every attack that fits, in further games

``labelinf advise`` is asked about 48 made labels: of two classes, of three where the metric takes them, of values where
it scores values, those with ``confine`` besides. It must end with 0 or 3, or with 2 and a sentence; status 1 where it
does not, or where a setting that is proved enough was exceeded beyond chance.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from click.testing import CliRunner

from labelinf_core.cli import main as labelinf
from labelinf_core.contracts.components import Setting, TunableParameter
from labelinf_core.evaluator.choice import installed, place
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics import proportions
from labelinf_data.csv_file import CsvFile
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Rows, ScoredMetric

RECORDS, TARGET = 48, 0.75
CLASSES = {"two": ("0", "1"), "three": ("a", "b", "c"), "values": ("0", "1", "2", "3", "4")}
ALARM = 1e-6  #: chance that an attack which keeps to its ceiling is called above it


@attrs.frozen(kw_only=True)
class Case:
    """One command.

    Attributes:
        metric: What is scored.
        labels: Which.
        standing: A defence that stands already; empty: none.
    """

    metric: str
    labels: str
    standing: str = ""


def cases(builder: Builder, wanted: Sequence[str]) -> Iterator[Case]:
    """Yield the commands of every metric."""
    for item in builder.host.catalogue(Kind.METRIC):
        name = item.descriptor.name
        if wanted and name not in wanted:
            continue
        metric = builder.build(Kind.METRIC, name, "advice")
        if isinstance(metric, ScoredMetric) and metric.of_values:
            yield Case(metric=name, labels="values")
            if metric.rows in (Rows.REALS, Rows.LEVELS):
                yield Case(metric=name, labels="values", standing="confine")
            continue
        yield Case(metric=name, labels="two")
        if not isinstance(metric, ScoredMetric) or not metric.of_classes(3).two_classes:
            yield Case(metric=name, labels="three")


def asked(case: Case, file: Path, queries: int, patience: float) -> tuple[int, list[dict[str, Any]], str]:
    """Return the status, what was found of every knob, and what was wrong."""
    words = ["advise", "--metric", case.metric, "--labels", str(file), "--column", "label", "--json"]
    words += ["--target", f"{TARGET:.0%}", "--queries", str(queries), "--timeout", str(patience)]
    result = CliRunner().invoke(labelinf, [*words, *(["--defence", case.standing] if case.standing else [])])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return -1, [], f"{type(result.exception).__name__}: {result.exception}"
    return result.exit_code, json.loads(result.stdout) if result.stdout else [], result.stderr.strip()


def ends_well(status: int, found: Sequence[dict[str, Any]], said: str) -> bool:
    """Whether a command ended with an answer, or with one sentence."""
    return (status in (0, 3) and bool(found)) or (status == 2 and said.count("\n") == 0 and "Traceback" not in said)


def exceeded(
    builder: Builder, case: Case, file: Path, queries: int, defence: str, games: int
) -> Iterator[tuple[str, float, bool]]:
    """Yield every attack that fits a line of defences, its mean share of labels, and whether it is surely too much."""
    metric = builder.build(Kind.METRIC, case.metric, "advice")
    channel = ScoreChannel(metric=metric, queries=queries)
    data = CsvFile(path=str(file), column="label").load()
    stages = builder.pipeline([stage for stage in (case.standing, defence) if stage], "advice")
    threat = channel.threat(Setting(data=data, defences=stages))
    for item in installed(builder, "score"):
        spec = str(item.spec)
        attack = builder.build(Kind.ATTACK, spec, "advice")
        if place(builder, "score", spec, threat) is None or attack.unsupported_reason(threat):
            continue
        setting, shares = Setting(data=data, attack=attack, defences=stages), []
        for game in range(games):
            rngs = np.random.default_rng([1_000_000, game]).spawn(2)
            outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
            shares.append(outcome.n_correct / outcome.n_records)
        yield spec, float(np.mean(shares)), proportions.betting_p_value(shares, TARGET) <= ALARM


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", nargs="*", default=[])
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--patience", type=float, default=30.0, help="seconds of a knob")
    parser.add_argument("--games", type=int, default=0, help="further games of every attack against what is proved")
    asked_for = parser.parse_args()
    builder, bad = Builder(Host.load()), 0
    print(f"{'metric':18} {'labels':7} {'stands':8} status  proved  forced  of knobs  seconds")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(builder, asked_for.metrics):
            file = Path(folder) / f"{case.labels}.csv"
            labels = np.random.default_rng(1).choice(CLASSES[case.labels], RECORDS)
            file.write_text("label\n" + "".join(f"{label}\n" for label in labels), encoding="utf-8")
            begun = time.process_time()
            status, found, said = asked(case, file, asked_for.queries, asked_for.patience)
            spent, proved = time.process_time() - begun, [knob for knob in found if knob["certified"] is not None]
            forced = sum(knob["forced"] is not None for knob in found)
            print(f"{case.metric:18} {case.labels:7} {case.standing:8} {status:6}  {len(proved):6}  {forced:6}"
                  f"  {len(found):8}  {spent:7.1f}  {said}", flush=True)  # fmt: skip
            bad += not ends_well(status, found, said)
            for knob in proved if asked_for.games else ():
                defence = TunableParameter(**knob["knob"]).spec(knob["certified"])
                for spec, mean, surely in exceeded(builder, case, file, asked_for.queries, defence, asked_for.games):
                    bad += surely
                    if mean > TARGET:
                        print(f"    {defence}: {spec} has {mean:.1%}{', beyond chance' * surely}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
