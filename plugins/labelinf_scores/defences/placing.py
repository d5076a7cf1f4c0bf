"""Where a defence can stand: what it must not have between itself and the scorer, and which losses it suits."""

from __future__ import annotations

from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows

__all__ = ["need_clippable", "need_costs", "need_nothing_random_nearer", "need_probabilities"]


def need_costs(threat: ScoreThreat, name: str) -> None:
    """Refuse a metric that is no mean over the records.

    Raises:
        UnfitError: A row has no cost of its own.
    """
    if threat.metric is not None:
        raise UnfitError(f"{name} weighs what every row costs, and {type(threat.metric).__name__} has no such costs.")


def need_clippable(threat: ScoreThreat, name: str) -> None:
    """Refuse what does not score probabilities one by one; records and classes may weigh differently.

    Raises:
        UnfitError: What is scored is no loss on probabilities.
    """
    if threat.metric is None or threat.metric.rows is not Rows.COSTS:
        need_probabilities(threat, name)


def need_probabilities(threat: ScoreThreat, name: str) -> None:
    """Refuse a loss on logits, and a metric that is no mean over the records.

    Raises:
        UnfitError: What is scored is no loss on probabilities.
    """
    if threat.metric is not None:
        raise UnfitError(f"{name} is worked out for plain means of a loss, and {type(threat.metric).__name__} is none.")
    if threat.loss.takes_logits:
        raise UnfitError(f"{name} acts on probabilities, but {type(threat.loss).__name__} takes logits.")


def need_nothing_random_nearer(threat: ScoreThreat, name: str) -> None:
    """Refuse stages nearer to the scorer that round, perturb or select: they would act on the wrong thing.

    A stage that asks the next one several times, or about other records, changes what a guarantee given nearer to the
    scorer is worth. What is unknown is refused nowhere: nothing is certified behind it anyway.

    Raises:
        InputError: There is such a stage.
    """
    if threat.known and not threat.facts.plain:
        raise InputError(
            f"{name} must stand nearer to the scorer than rounding, noise, randomised response and other subsets; "
            f"move it to the front of the pipeline."
        )
