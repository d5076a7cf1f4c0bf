"""One game, played once: planned like a matrix of one cell, with all that came of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from labelinf_core.contracts.errors import ComponentError, InconclusiveError, InputError
from labelinf_core.evaluator.game import channel_spec, labels_spec
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner, told
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import CellResult, result_of
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import apart
from labelinf_core.specs import Builder, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labelinf_core.contracts.components import Outcome
    from labelinf_core.evaluator.cells import Plan
    from labelinf_core.plugin.host import Host

__all__ = ["plan_once", "play_once"]


def plan_once(host: Host, attack: str, chosen: Mapping[str, Any], origin: str) -> Plan:
    """Return the plan of one game.

    Args:
        host: Where names are looked up.
        attack: Its spec.
        chosen: The options.
        origin: Who asks, for messages.

    Raises:
        InputError: The options do not fit together, say too little, or mean several games.
    """
    host.find(Kind.ATTACK, parse(attack, "ATTACK").name)
    channel = channel_spec(host, chosen, [attack])
    labels = chosen["labels"] or host.find(Kind.CHANNEL, channel.name).ask(lambda kind: kind.default_labels)
    if not labels:
        raise InputError(f"say on which labels the {channel.name} channel is played: --labels FILE.")
    table = Matrix(
        labels=[labels_spec(host, labels, **{key: chosen.get(key, "") for key in ("column", "features", "groups")})],
        attacks=[attack],
        defences=[list(chosen["defences"])],
        channel=channel.name,
        settings=dict(channel.params),
    )
    plan = make_plan(Suite(matrix=[table], trials=1, seed=chosen["seed"]), Builder(host), origin)
    if len(plan.cells) > 1:
        raise InputError(f"this is a grid of {len(plan.cells)} bouts; labelinf attack plays one, labelinf matrix all.")
    return plan


def play_once(host: Host, plan: Plan) -> tuple[CellResult, Outcome]:
    """Play the one game of a plan, in a worker.

    Raises:
        LabelinfError: It cannot be played, or failed.
    """
    runner = TrialRunner(builder=Builder(host))
    return apart(f"attack {plan.cells[0].shown.attack}", lambda: _play(runner, plan), once=False)


def _play(runner: TrialRunner, plan: Plan) -> tuple[CellResult, Outcome]:
    cell = plan.cells[0]
    implied = runner.imply(cell)
    if implied.status is not Status.OK:
        broke = {Status.ERROR: ComponentError, Status.UNCLEAR: InconclusiveError}.get(implied.status, InputError)
        raise broke(f"{cell.shown.attack} cannot be played: {implied.message}")
    start = time.perf_counter()
    try:
        outcome = runner.run_trial(cell, plan.seed, 0)
    except Exception as error:  # an attack is anyone's code
        raise ComponentError(f"{cell.shown.attack} failed: {told(error, cell)}") from error
    trial = runner.kept(cell, outcome, time.perf_counter() - start)
    measures = plan.measures.get(parse(cell.channel, "channel").name, ())
    result = result_of(cell, plan.labels[0], implied, (trial,), 1)
    return attrs.evolve(result, measures=measures), outcome
