"""Audits a model that exists already: its predictions on canaries, the labels that were planted, and nothing else.

Every attack of the model-output channel that the declared view allows is played, and again on the placebo: planted
labels redrawn, losses recomputed. Guesses of an attack that passes the placebo are counted against chance and, where an
epsilon is claimed, against its ceiling. The largest epsilon that any of them proves is the audit's answer; beside it
stands the most that so many canaries could have proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.evaluator.placebo import LEVEL
from labelinf_core.evaluator.play import said
from labelinf_core.evaluator.statistics import p_value
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_outputs.audit.findings import Audit, Bout, Finding, Word, judge
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.game.channel import ranked
from labelinf_outputs.game.output import OutputAttack, OutputGuess, OutputOracle, OutputThreat, References, Release
from labelinf_privacy import auditing

__all__ = ["audit_outputs", "output_attacks"]

Labels = NDArray[np.intp]


def output_attacks(builder: Builder) -> tuple[str, ...]:
    """Return the names of all loaded attacks of this channel."""
    catalogue = builder.host.catalogue(Kind.ATTACK)
    return tuple(item.descriptor.name for item in catalogue if item.descriptor.channel == "output")


def audit_outputs(
    planted: Planted,
    builder: Builder,
    *,
    attacks: Sequence[str] = (),
    claimed: float = math.inf,
    delta: float = 0.0,
    rng: np.random.Generator,
) -> Audit:
    """Play attacks against predictions and say what they prove.

    Args:
        planted: What is known.
        builder: Builds the attacks.
        attacks: Their specs; all of this channel when empty.
        claimed: The epsilon of label-DP that is to be tested, if any.
        delta: The delta that goes with it; two classes only.
        rng: For the redrawn labels, and for the attacks.

    Raises:
        InputError: There is no such attack, none of them can be played, or ``delta`` is claimed for more than two
            classes.
    """
    n_classes = len(planted.class_names)
    if delta > 0 and n_classes > 2:
        raise InputError(f"delta={delta:g} must be 0 for {n_classes} classes: the bound is proved for two.")
    threat = OutputThreat(
        n_records=planted.labels.size, n_classes=n_classes, prior=(1 / n_classes,) * n_classes, declared=planted.view
    )
    built = {spec: _built(builder, spec) for spec in attacks or output_attacks(builder)}
    # Streams of their own: the labels may have been planted with the very generator that is passed in.
    streams = rng.spawn(len(built))
    tried = [
        _try(spec, attack, stream, planted, threat)
        for (spec, attack), stream in zip(built.items(), streams, strict=True)
    ]
    bouts = [item for item in tried if isinstance(item, Bout)]
    if not bouts:
        reasons = "; ".join(f"{item.attack} {item.refusal}" for item in tried if isinstance(item, Finding))
        raise InputError(f"there is nothing to play: {reasons or 'no attack of the output channel is loaded'}.")
    judged = {item.attack: item for item in judge(bouts, threat, claimed, delta)}
    return Audit(
        n_canaries=threat.n_records,
        n_classes=n_classes,
        claimed=claimed,
        delta=delta,
        ceiling=auditing.label_dp_ceiling(claimed, n_classes, delta),
        provable=auditing.provable_epsilon(threat.n_records, n_classes, delta=delta),
        findings=tuple(judged[item.attack] if isinstance(item, Bout) else item for item in tried),
        notes=tuple(_doubts(planted)),
    )


def _built(builder: Builder, spec: str) -> OutputAttack:
    attack = builder.build(Kind.ATTACK, spec, "--attack")
    if not isinstance(attack, OutputAttack):
        raise InputError(f"attack {spec!r} does not belong to the output channel.")
    return attack


def _try(
    spec: str, attack: OutputAttack, rng: np.random.Generator, planted: Planted, threat: OutputThreat
) -> Bout | Finding:
    """Play one attack, or say why it was not played to its end."""
    try:
        if refusal := attack.refusal(threat):
            return Finding(attack=spec, word=Word.REFUSED, refusal=refusal)
        return _play(spec, attack, planted, threat, rng)
    except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
        return Finding(attack=spec, word=Word.FAILED, refusal=said(error))


def _play(spec: str, attack: OutputAttack, planted: Planted, threat: OutputThreat, rng: np.random.Generator) -> Bout:
    redrawn = rng.integers(0, threat.n_classes, threat.n_records, dtype=np.intp)
    sham = planted.release
    if sham.losses is not None:
        sham = attrs.evolve(sham, losses=-sham.log_probabilities[np.arange(redrawn.size), redrawn])
    guess = _guess(attack, planted.release, planted.references, threat, rng)
    return Bout(
        attack=spec,
        ranked=ranked(guess, planted.labels),
        trained=None if planted.trained is None else ranked(guess, planted.trained),
        placebo=ranked(_guess(attack, sham, planted.references, threat, rng), redrawn),
    )


def _guess(
    attack: OutputAttack,
    release: Release,
    references: References | None,
    threat: OutputThreat,
    rng: np.random.Generator,
) -> OutputGuess:
    def known() -> References:
        if references is None:
            raise QueryRefusedError("the declared view has no reference models.")
        return references

    return attack.run(OutputOracle(threat, release, known), rng)


def _doubts(planted: Planted) -> list[str]:
    """Say why the planted labels may not be what every number here takes them for."""
    counts = np.bincount(planted.labels, minlength=len(planted.class_names))
    expected = planted.labels.size / counts.size
    p_uniform = float(special.chdtrc(counts.size - 1, ((counts - expected) ** 2 / expected).sum()))
    notes = []
    if p_uniform <= LEVEL:
        notes.append(
            f"the planted labels are not uniform over the classes (p = {p_uniform:.1g}); they must be drawn so."
        )
    if planted.references is not None:
        said = planted.references.log_probabilities.mean(axis=0).argmax(axis=1)
        correct = int((said == planted.labels).sum())
        p_guessable = p_value(correct, said.size, 1 / counts.size)
        if p_guessable <= LEVEL:
            notes.append(
                f"the reference models alone, which never saw them, guess {correct} of {said.size} planted labels "
                f"(p = {p_guessable:.1g}): the labels follow from the features, or the references were not independent."
            )
    return notes
