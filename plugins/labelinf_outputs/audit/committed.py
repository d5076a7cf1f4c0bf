"""One attack and one number of guesses, fixed before the victim is looked at: then nothing needs correcting.

Trying every attack at four numbers of guesses and keeping the best costs a factor of twenty in error probability. The
references are models of the same pipeline, and the auditor knows *their* labels: each in turn plays the victim for the
others, and what proves most there is what is committed to. They were drawn independently of the victim's planted
labels, so the choice is too, and the bound of the one committed attack holds at the whole error probability.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.statistics import epsilon_bounds
from labelinf_outputs.audit.asked import AttackHandle
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.game.output import OutputAttack, OutputOracle, OutputThreat, References, Release
from labelinf_outputs.game.view import LossOracle

__all__ = ["Commitment", "commit"]

_DEFAULT = "lia-threshold"  # what needs no reference
_REHEARSALS = 4  # references that play the victim


@attrs.frozen(kw_only=True)
class Commitment:
    """What an audit counts.

    Attributes:
        attack: Its spec.
        guesses: How many of its most confident guesses count.
        why: How it was chosen, as a clause.
        rehearsed: Whether it gave labels of reference models back.
    """

    attack: str
    guesses: int
    why: str
    rehearsed: bool = False


def commit(
    attacks: Mapping[str, AttackHandle], planted: Planted, threat: OutputThreat, claim: PrivacyClaim
) -> Commitment:
    """Choose among ``attacks``, looking at the references and at nothing of the victim.

    Args:
        attacks: What can be played, by spec; at least one.
        planted: What is known. Only the references and the features are looked at.
        threat: What is public.
        claim: What is to be tested.
    """
    proved = {
        (spec, guesses): score
        for spec, attack in attacks.items()
        for guesses, score in _rehearsed(attack, planted, threat, claim).items()
    }
    if not proved or max(proved.values()) == 0:
        spec = _DEFAULT if _DEFAULT in attacks else next(iter(attacks))
        return Commitment(attack=spec, guesses=threat.n_records, why="fixed in advance")
    spec, guesses = max(proved, key=lambda item: proved[item])
    why = f"chosen on {_players(planted.references)} reference models"
    return Commitment(attack=spec, guesses=guesses, why=why, rehearsed=True)


def _players(references: References | None) -> int:
    return 0 if references is None else min(len(references.planted), _REHEARSALS)


def _rehearsed(
    attack: AttackHandle, planted: Planted, threat: OutputThreat, claim: PrivacyClaim
) -> Mapping[int, float]:
    """Return what an attack would prove by its average of right guesses of a reference, for every number of guesses."""
    references = planted.references
    if references is None or len(references.planted) < 2:
        return {}
    view = attrs.evolve(threat.declared, loss=LossOracle.NONE, references=len(references.planted) - 1)
    public = attrs.evolve(threat, declared=view)
    try:
        hits = attack(lambda found: _rehearsals(found, references, public, planted.release.features))
        if not hits:
            return {}
    except (Exception, SystemExit):  # whoever breaks here is not committed to, and still plays
        return {}
    proved = {}
    for guesses in epsilon_bounds.guess_counts(threat.n_records):
        right, made = (round(np.mean([count(item[:guesses]) for item in hits])) for count in (np.sum, np.size))
        known = {"n_classes": threat.n_classes, "n_canaries": threat.n_records}
        proved[guesses] = claim.proved(right, max(made - right, 0), guesses, **known)
    return proved


def _rehearsals(
    attack: OutputAttack, references: References, public: OutputThreat, features: NDArray[np.float64] | None
) -> list[NDArray[np.bool_]]:
    """Return whether each guess is correct, surest first, each reference in turn the victim; none if refused."""
    if attack.unsupported_reason(public):
        return []
    hits = []
    for player in range(_players(references)):
        logs = references.log_probabilities[player]
        release = Release(probabilities=np.exp(logs), log_probabilities=logs, features=features)
        oracle = OutputOracle(public, release, functools.partial(references.without, player))
        hits.append(attack.run(oracle, np.random.default_rng(player)).ranked(references.planted[player]))
    return hits
