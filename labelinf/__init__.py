"""labelinf in Python: what the command line does, as functions. Importing it costs nothing.

A function about labels takes them first: a list, an array, a column of a frame.

>>> import labelinf as li
>>> theory = li.bounds(records=100, queries=10, defences=["randomised-response(epsilon=1)"])
>>> round(min(ceiling.reached for ceiling in theory.ceilings), 3)
0.756

Every name of a component reads as in a suite file: ``"round(decimals=4)"``; ``labelinf plugins`` lists them. A
component of your own can be passed as an object, without a plugin. What a function returns says its answer in words,
shows it in a notebook, gives it as a table (``.frame()``, with ``labelinf[frame]``) and draws it (``.plot()``, with
``labelinf[plot]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelinf import guard
    from labelinf.audits import audit_grader, audit_log, audit_scorer
    from labelinf.checking import check
    from labelinf.games import attack, audit_record, compare, load, matrix
    from labelinf.gradients import Recovered, audit_client, recover, shield
    from labelinf.offered import names
    from labelinf.outputs import PlantedTraining, audit_outputs, plant
    from labelinf.published import metrics, reproduce, theorems
    from labelinf.results import Advised, AuditResult, Listing, Played, Theory
    from labelinf.theory import advise, bounds

_HOMES = {
    "checking": ("check",),
    "audits": ("audit_grader", "audit_log", "audit_scorer"),
    "games": ("attack", "audit_record", "compare", "load", "matrix"),
    "gradients": ("Recovered", "audit_client", "recover", "shield"),
    "offered": ("names",),
    "outputs": ("PlantedTraining", "audit_outputs", "plant"),
    "published": ("metrics", "reproduce", "theorems"),
    "results": ("Advised", "AuditResult", "Listing", "Played", "Theory"),
    "theory": ("advise", "bounds"),
}

__all__ = [
    "Advised",
    "AuditResult",
    "Listing",
    "PlantedTraining",
    "Played",
    "Recovered",
    "Theory",
    "advise",
    "attack",
    "audit_client",
    "audit_grader",
    "audit_log",
    "audit_outputs",
    "audit_record",
    "audit_scorer",
    "bounds",
    "check",
    "compare",
    "guard",
    "load",
    "matrix",
    "metrics",
    "names",
    "plant",
    "recover",
    "reproduce",
    "shield",
    "theorems",
]


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
