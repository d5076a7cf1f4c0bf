"""The runs that were kept: where the newest is and the one of a plan, what came of one, and its secret."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.layout import RECORD, SCHEMA, described, read_only
from labelinf_core.evaluator.records import from_json
from labelinf_core.evaluator.results import Results, summarise
from labelinf_core.evaluator.store import Store, is_of_0_1

__all__ = ["find_run", "key_of", "newest_run", "results_of"]


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/{RECORD}"), key=lambda record: (record.stat().st_mtime_ns, record), reverse=True)


def newest_run(folder: Path) -> Path:
    """Return the directory under ``folder`` whose run was written to last.

    Raises:
        InputError: There is none.
    """
    found = next(iter(_newest_first(folder)), None)
    if found is None:
        raise InputError(f"there is no run under {folder}/ yet: labelinf matrix plays one.")
    return found.parent


def results_of(directory: Path) -> Results:
    """Return what came of the run in ``directory``, complete or not.

    Raises:
        InputError: There is no record, or it cannot be read.
    """
    with closing(Store.reopen(directory)) as store:
        return summarise(store)


def key_of(directory: Path) -> str:
    """Return the secret of the run in ``directory``; empty when all its labels are public.

    Raises:
        InputError: There is no record, or it cannot be read.
    """
    with closing(Store.reopen(directory)) as store:
        return store.plan.key


def find_run(folder: Path, plan: Plan) -> Path | None:
    """Return the directory under ``folder`` whose record is of ``plan`` and was written to last, or None.

    Where there is none, one that 0.1 began under the same title and seed: opening it says why it is not continued.
    """
    begun_before = None
    for record in _newest_first(folder):
        with closing(read_only(record)) as connection, suppress(sqlite3.Error, InputError):
            known = described(connection, record)
            if known.get("schema") != str(SCHEMA):
                continue
            kept = from_json(known["plan"], Plan)
            if known["digest"] == (plan.keyed(kept.key) if kept.key else plan).digest:
                return record.parent
            if is_of_0_1(known) and (kept.title, kept.seed) == (plan.title, plan.seed):
                begun_before = begun_before or record.parent
    return begun_before
