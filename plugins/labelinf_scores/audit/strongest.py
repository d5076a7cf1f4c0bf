"""The strongest attacks of the score channel: the list that ships, and what of it is worth playing where."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Callable
from importlib.resources import files

from labelinf_privacy.noise.laplace import Laplace
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["attacks", "shipped"]


@functools.cache
def shipped() -> dict[str, list[str]]:
    """Return the shipped lists, as specs: ``attacks``, linear ``programs``, those on ``metrics`` and so on."""
    loaded: dict[str, list[str]] = tomllib.loads((files(__package__) / "strongest.toml").read_text(encoding="utf-8"))
    return loaded


def attacks(threat: ScoreThreat | None = None) -> tuple[str, ...]:
    """Return the attacks that may be the strongest under ``threat``, or under any, the one to try first first.

    Left out is what was made for a defence that does not stand there, and then only does slower what others do.
    """
    if threat is not None and threat.members:
        return tuple(dict.fromkeys(spec for member in threat.members for spec in attacks(member)))
    if threat is not None and threat.metric is not None:
        return (*shipped()["metrics"], *shipped()["general"])
    listed = (*shipped()["attacks"], *shipped()["programs"], *shipped()["models"])
    if threat is None or not threat.known:
        return listed
    made_for = {spec: _MADE_FOR.get(spec.partition("(")[0]) for spec in listed}
    return tuple(spec for spec, fits in made_for.items() if fits is None or fits(threat))


def _labels_anew_or_unknown(threat: ScoreThreat) -> bool:
    """Against fresh noise on the score, least squares over many designs gains more than asking again does.

    Not where nobody knows how answers are moved: what cuts high scores off, as snapping does, leaves those about one
    label as they are.
    """
    moved = math.isinf(threat.facts.noise_bound) and not threat.noise
    return threat.facts.label_fresh or threat.scored_fresh or moved


def _bounded_or_refused(threat: ScoreThreat) -> bool:
    """The largest deviation is what bounded noise limits; of few answers least squares makes as much.

    Signs of all records pass for a batch where Hadamard's rows, or a construction, do not.
    """
    many = threat.query_budget is None or threat.query_budget >= 2 * threat.n_records
    return threat.refuses or (many and 0 < threat.noise_bound < math.inf)


def _runs_models(threat: ScoreThreat) -> bool:
    return threat.models is not None


_MADE_FOR: dict[str, Callable[[ScoreThreat], bool]] = {
    "averaging": _labels_anew_or_unknown,
    "joint-weights": lambda threat: threat.query_budget is not None,  # others take all labels where nothing ends
    "camouflage": lambda threat: threat.refuses,
    "rank-comparisons": lambda threat: threat.facts.ranked,
    "class-counts": lambda threat: not threat.ordered,
    # Where every bit of a score of all records shows, several labels are read from each.
    "hadamard": lambda threat: threat.step > 0 or not (threat.facts.silent and threat.facts.whole),
    "linear-program": _bounded_or_refused,
    "mutnet": _runs_models,
    "gentle-networks": _runs_models,
    # Of Laplace's sampler all bits are weighed, not the units of doubles alone.
    "ulp-grid": lambda threat: not any(isinstance(noise.model, Laplace) for noise in threat.noise),
}
