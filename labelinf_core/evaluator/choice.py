"""Which attacks meet a line of defences: the strongest that fit, chosen from all that are installed.

A suite that names no attack, or ``"strongest"``, lets every installed attack say what it knows of the game before
anything is played; then it is settled who plays. Nothing that was observed enters the choice, so that it neither
depends on luck nor spends any of an alarm's error.

* An attack that is *certain of every label* cannot be beaten: the first of these plays alone.
* Otherwise all play that :meth:`Channel.strongest` names for this threat model, and every attack that another
  distribution brings: of a stranger nothing is known, so it may be the strongest there is.
* Where none of these fits, all that fit play; a blind guess only where nothing else does, and that leaves the line of
  defences untested.

A suite that lists attacks restricts the choice, and a report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from labelinf_core.contracts import gate
from labelinf_core.evaluator.cells import Cell, Plan, Role
from labelinf_core.evaluator.records import Implied, Status
from labelinf_core.evaluator.survey import Fault, Point, points
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import watch
from labelinf_core.specs import Builder, Spec, parse

if TYPE_CHECKING:
    from labelinf_core.contracts.components import Channel
    from labelinf_core.contracts.threat import ThreatModel

__all__ = ["ALL", "STRONGEST", "AttackSelection", "choose", "in_turn", "installed", "place", "settled"]

STRONGEST = "strongest"  #: among the attacks of a suite: those that are chosen for every line of defences
ALL = "all"  #: among the attacks of a suite: every one that is installed


@attrs.frozen(kw_only=True)
class AttackSelection:
    """Of how many attacks a line of defences has met the strongest.

    Attributes:
        played: Attacks that were chosen or named, and fit.
        known: Attacks that are installed.
        fitting: How many of those fit; None where it was not asked.
        certain: Whether one of those that were chosen is certain of every label, so that none can do better.
    """

    played: int
    known: int
    fitting: int | None = None
    certain: bool = False

    @property
    def chosen(self) -> bool:
        """Whether they were chosen from all that are installed; otherwise the suite names them."""
        return self.certain or self.fitting is not None

    def __str__(self) -> str:
        if self.certain:
            return f"one of {self.known} attacks is certain of every label, and none can do better"
        if self.fitting is not None:
            return f"strongest of {self.played} of {self.fitting} that fit"
        return f"strongest of {self.played}, named by the suite, of {self.known} installed"


def installed(builder: Builder, channel: str) -> tuple[Point, ...]:
    """Return every attack that can be played on a channel without parameters, or with those the channel gives it.

    The order is that in which they are asked: what the channel names comes first.
    """
    listed = {spec.name: spec for spec in _listed(builder, channel, None)}
    names = [
        item.descriptor.name
        for item in builder.host.catalogue(Kind.ATTACK)
        if item.descriptor.channel in (None, channel)
    ]
    specs = [listed.get(name, Spec(name)) for name in sorted(names, key=lambda name: [*listed, name].index(name))]
    found = points(builder.on(channel), Kind.ATTACK, specs, ["attacks"] * len(specs))
    return tuple(point for answer in found if not isinstance(answer, Fault) for point in answer)  # else it needs more


def place(builder: Builder, channel: str, attack: str, threat: ThreatModel) -> int | None:
    """Return where an attack stands among those that may be the strongest under a threat model; None: it does not.

    Whoever comes with another distribution than the channel comes after those that the channel names.
    """
    listed = [spec.name for spec in _listed(builder, channel, threat)]
    name = parse(attack, "attack").name
    if name in listed:
        return listed.index(name)
    home = builder.host.find(Kind.CHANNEL, channel).plugin.distribution
    third_party = builder.host.find(Kind.ATTACK, name, channel).plugin.distribution != home
    return len(listed) if third_party or not listed else None


def _listed(builder: Builder, channel: str, threat: ThreatModel | None) -> list[Spec]:
    def question(kind: type[Channel]) -> list[Spec]:
        with watch.over(f"strongest attacks of channel {channel}"), gate.attribute_errors(kind):
            return [parse(text, "strongest") for text in gate.each(kind.strongest(threat), str, "list of attacks")]

    return builder.host.find(Kind.CHANNEL, channel).ask(question)


def choose(plan: Plan, implied: Mapping[str, Implied]) -> dict[str, AttackSelection]:
    """Return the cells of a plan that are played, by their ids, each with the field it was chosen from.

    Args:
        plan: What is run.
        implied: What is known of the cells before they are played; one that has not been asked yet may be chosen.
    """
    chosen: dict[str, AttackSelection] = {}
    for group in _lines(plan.cells):
        asked = {cell.id: implied.get(cell.id, Implied(status=Status.PENDING)) for cell in group}
        candidates = {cell.id: asked[cell.id] for cell in group if cell.role is Role.CANDIDATE}
        best = _strongest(candidates)
        fit = {name for name, known in asked.items() if known.status is not Status.REFUSED}
        played = [cell.id for cell in group if cell.role is Role.NAMED or cell.id in best]
        certain = any(asked[name].is_certain for name in best)
        field = AttackSelection(
            played=len(fit.intersection(played)),
            known=plan.installed.get(parse(group[0].channel, "channel").name, len(group)),
            fitting=len(fit) if candidates and not certain else None,
            certain=certain,
        )
        chosen |= dict.fromkeys(played, field)
    return chosen


def _lines(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells that meet the same line of defences, in the order of the plan."""
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.target, []).append(cell)
    return list(found.values())


def in_turn(cells: Iterable[Cell]) -> Iterator[tuple[Cell, list[Cell]]]:
    """Yield the cells line by line, in the order of asking, each with the candidates that come before it.

    Once a candidate is certain of every label, those that come after it need not be asked.
    """
    for line in _lines(cells):
        for turn, cell in enumerate(line):
            yield cell, [other for other in line[:turn] if other.role is Role.CANDIDATE]


def settled(cell: Cell, before: Iterable[Cell], is_certain: Callable[[Cell], bool]) -> bool:
    """Whether a candidate need not be asked: one that comes before it is certain of every label."""
    return cell.role is not Role.NAMED and any(map(is_certain, before))


def _strongest(candidates: Mapping[str, Implied]) -> list[str]:
    """Return who of ``candidates`` plays; one that was not asked, or failed when it was, may be the strongest.

    Where nobody can play, one is kept that says why: a line of defences does not vanish.
    """
    for name, known in candidates.items():
        if known.is_certain:
            return [name]
    fit = {name: known for name, known in candidates.items() if known.status is not Status.REFUSED}
    unsure = [name for name, known in fit.items() if not known.blind]
    best = [name for name in unsure if fit[name].place is not None or fit[name].status is not Status.OK]
    return best or unsure or list(fit) or list(candidates)[:1]
