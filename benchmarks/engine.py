"""What the engine costs a cell and a trial, in process and with one and two workers, beside a plain loop.

    python benchmarks/engine.py

The attack does nothing (the majority guess on 64 made labels), so that all that is measured is ours.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from labelinf_core.evaluator.executors import InProcess, Processes
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import Bench
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

CELLS, TRIALS = 10, 100


def main() -> None:
    builder = Builder(Host.load())
    matrix = Matrix(
        labels=["made(n_records=64)"],
        attacks=["majority"],
        defences=[f"round(decimals={list(range(1, CELLS + 1))})"],
        settings={"loss": "log-loss", "scorer": "float64"},
    )
    plan = make_plan(Suite(matrix=[matrix], trials=TRIALS, title="engine"), builder, "benchmark")
    bench = Bench(builder=builder)
    for cell in plan.cells:
        bench.imply(cell)
    start = time.process_time()
    for cell in plan.cells:
        for trial in range(TRIALS):
            bench.bout(cell, 0, trial)
    alone = time.process_time() - start
    print(f"plain loop  {1e3 * alone / (CELLS * TRIALS):7.3f} ms of processor time a trial")
    for workers in (0, 1, 2):
        with tempfile.TemporaryDirectory() as folder:
            store = Store.open(Path(folder), plan)
            wall, spent = time.perf_counter(), time.process_time()
            if workers:
                with Processes(workers=workers, labels=label_sets(plan, builder)) as pool:
                    run(plan, store, pool)
            else:
                run(plan, store, InProcess(bench))
            wall, spent = time.perf_counter() - wall, time.process_time() - spent
            store.close()
        told = f"{1e3 * spent / (CELLS * TRIALS):7.3f} ms of processor time a trial in this process"
        print(f"{workers} workers   {told}, {CELLS / wall:6.1f} cells a second")


if __name__ == "__main__":
    main()
