"""Rules for bounds of any channel: what they say is well formed, and said of their own channel only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Bound, Rule
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.rules import NotApplicableError, belongs, require

__all__ = ["RULES", "never_contradicted", "speaks_of"]

_SLACK = 1e-9

_ELSEWHERE = ThreatModel(n_records=6, n_classes=2, prior=(0.5, 0.5))


def _leaves_other_channels_alone(component: Bound) -> None:
    """Bounds are asked about every channel: one that needs the facts of its own has nothing to say of others."""
    bound = belongs(component, Bound)
    lines = gate.each(bound.evaluate(_ELSEWHERE), BoundValue, "answer")
    ceilings = gate.each(bound.ceilings(_ELSEWHERE), Ceiling, "answer")
    told = f"without a privacy budget and without any defence it denies attacks more than {ceilings[:1]}"
    require(all(item.accuracy == 1 for item in ceilings), told)
    require(all(line.conditions and line.statement for line in lines), "a bound needs its conditions and its source")


def speaks_of(threats: Sequence[ThreatModel]) -> Rule:
    """Return the rule that a bound answers in all situations of a channel in which attacks are tried."""

    def speaks(component: Bound) -> None:
        for threat in threats:
            gate.each(belongs(component, Bound).evaluate(threat), BoundValue, "answer")
            gate.each(component.ceilings(threat), Ceiling, "answer")

    return "speaks-of-every-game", speaks


def never_contradicted(games: Callable[[], Iterable[tuple[ThreatModel, float]]]) -> Rule:
    """Return the rule that no guess beats a ceiling, in games where the best guess of all is known.

    Args:
        games: Threat models of independent records, each with the accuracy of the best guess there is.
    """

    def holds(component: Bound) -> None:
        tried = False
        for threat, best in games():
            for item in belongs(component, Bound).ceilings(threat):
                tried = True
                require(
                    not item.denies(best - _SLACK, best**threat.n_records - _SLACK),
                    f"the best guess has {best:.4f}; its ceiling is {item.reached:.4f} ({item.statement})",
                )
        if not tried:
            raise NotApplicableError("it denies nothing in the games that can be searched")

    return "is-never-contradicted", holds


RULES: tuple[Rule, ...] = (("leaves-other-channels-alone", _leaves_other_channels_alone),)
