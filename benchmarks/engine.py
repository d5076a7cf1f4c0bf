"""What the engine costs a cell and a trial, in process and with one and two workers, beside a plain loop.

    python benchmarks/engine.py                     # 100 cells, 20 trials
    python benchmarks/engine.py --cells 10000 --trials 1 --workers 2
    python benchmarks/engine.py --cells 10 --trials 2000 --workers 0      # memory does not grow with trials
    python benchmarks/engine.py --attack prime-blocks --records 2000 --workers 1 2      # work that can be shared

The attack does nothing (the majority guess on 64 made labels) unless another is named, so that all that is measured is
ours. *plain* plays
the same games in a loop, with components that are built once. Processor time is that of all processes together; what a
trial takes is the difference between a run of one trial a cell and one of them all.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.forkserver import _forkserver  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import Executor, InProcess, Processes
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner, attack_rng, curator_rng
from labelinf_core.evaluator.results import summarise
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.report.formats import write_all
from labelinf_core.specs import Builder


def planned(builder: Builder, cells: int, trials: int, attack: str = "majority", records: int = 64) -> Plan:
    """Return a plan of ``cells`` lines of defences, ten roundings each."""
    lines: list[Any] = [
        [f"query-limit(queries={limit})", f"round(decimals={list(range(1, 11))})"]
        for limit in range(1, max(1, cells // 10) + 1)
    ]
    table = Matrix(
        labels=[f"made(n_records={records})"],
        attacks=[attack],
        defences=lines,
        settings={"loss": "log-loss", "scorer": "float64"},
    )
    return make_plan(Suite(matrix=[table], trials=trials, title="engine"), builder, "benchmark")


def plain(plan: Plan, bench: TrialRunner, most: int = 500) -> float:
    """Return the seconds of processor time that a game takes in a plain loop."""
    games = [(cell, *bench._set_up(cell)) for cell in plan.cells[:most]]
    for trial in range(2):  # the first lays what all others find
        start = time.process_time()
        for cell, channel, setting in games:
            streams = curator_rng(cell.digest, 0, trial), attack_rng(cell, plan.seed, trial)
            channel.play(setting, curator_rng=streams[0], attack_rng=streams[1])
    return (time.process_time() - start) / len(games)


@contextmanager
def opened(workers: int, plan: Plan, builder: Builder) -> Iterator[Executor]:
    """Yield where the plan is played."""
    if workers == 0:
        yield InProcess(TrialRunner(builder=builder))
    else:
        with Processes(workers=workers, host=builder.host, labels=label_sets(plan, builder)) as pool:
            yield pool


def spent() -> float:
    """Return the seconds of processor time of this process and of its children, which end with their common parent."""
    _forkserver._stop()  # type: ignore[attr-defined]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def measured(plan: Plan, builder: Builder, workers: int) -> tuple[float, float, float]:
    """Run a plan and write its results; return processor time, seconds, and seconds of the writing."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder), plan)
        cost, wall = spent(), time.perf_counter()
        with opened(workers, plan, builder) as executor:
            run(plan, store, executor)
        cost, wall = spent() - cost, time.perf_counter() - wall
        report = time.perf_counter()
        write_all(summarise(store), Path(folder))
        report = time.perf_counter() - report
        store.close()
    return cost, wall, report


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--attack", default="majority")
    parser.add_argument("--records", type=int, default=64)
    asked = parser.parse_args(arguments)
    builder = Builder(Host.load())
    start = time.process_time()
    plan = planned(builder, asked.cells, asked.trials, asked.attack, asked.records)
    spans: dict[int, tuple[float, float]] = {}
    print(f"plan        {time.process_time() - start:8.1f} s for {len(plan.cells)} cells")
    alone = plain(plan, TrialRunner(builder=builder))
    print(f"plain loop  {1e3 * alone:8.3f} ms of processor time a trial")
    measured(planned(builder, 10, 1), builder, 0)  # what is imported and trained once
    for workers in asked.workers:
        once, wall, report = measured(attrs.evolve(plan, trials=1), builder, workers)
        told = f"{1e3 * once / len(plan.cells):6.1f} ms a cell, {len(plan.cells) / wall:6.1f} cells a second"
        if plan.trials > 1:
            cost, wall, report = measured(plan, builder, workers)
            each = 1e3 * (cost - once) / (len(plan.cells) * (plan.trials - 1))
            told += f", {each:6.3f} ms a trial, {each - 1e3 * alone:+.3f} ms beside the plain loop"
            spans[workers] = cost, wall
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{workers} workers   {told}; report {report:.1f} s, {memory:.0f} MB so far")
    if {1, 2} <= spans.keys():
        (cost, wall), (costs, walls) = spans[1], spans[2]
        faster, dearer = wall / walls, costs / cost
        print(f"scaling     two workers are {faster:.2f} times as fast as one, at {dearer:.2f} times the cost")


if __name__ == "__main__":
    main()
