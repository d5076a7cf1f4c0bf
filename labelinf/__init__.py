"""labelinf in Python: what the command line does, as functions. Importing it costs nothing.

>>> import labelinf as li
>>> theory = li.bounds(records=100, queries=10, defences=["randomised-response(epsilon=1)"])
>>> round(min(ceiling.accuracy for ceiling in theory.ceilings), 3)
0.731

Every name of a component reads as in a suite file: ``"round(decimals=4)"``; ``labelinf plugins`` lists them. A
component of your own can be passed as an object, without a plugin. What a function returns says its answer in words,
shows it in a notebook, gives it as a table (``.frame()``, with ``labelinf[frame]``) and draws it (``.plot()``, with
``labelinf[plot]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelinf import guard
    from labelinf.audits import (
        OutputsAudited,
        RecordAudited,
        ScorerAudited,
        audit_outputs,
        audit_record,
        audit_scorer,
    )
    from labelinf.games import load, matrix
    from labelinf.gradients import Recovered, recover, shield
    from labelinf.results import Advised, Played, Theory
    from labelinf.theory import advise, bounds

__all__ = [
    "Advised",
    "OutputsAudited",
    "Played",
    "RecordAudited",
    "Recovered",
    "ScorerAudited",
    "Theory",
    "advise",
    "audit_outputs",
    "audit_record",
    "audit_scorer",
    "bounds",
    "guard",
    "load",
    "matrix",
    "recover",
    "shield",
]

_HOMES = {
    "audits": ("OutputsAudited", "RecordAudited", "ScorerAudited", "audit_outputs", "audit_record", "audit_scorer"),
    "games": ("load", "matrix"),
    "gradients": ("Recovered", "recover", "shield"),
    "results": ("Advised", "Played", "Theory"),
    "theory": ("advise", "bounds"),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and nothing before."""
    import importlib

    if name == "guard":
        return importlib.import_module(f"{__name__}.guard")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
