"""Audits a model that exists already: its predictions on canaries, the labels that were planted, and nothing else.

One attack is committed to before the model is looked at, and what it proves is the answer; beside it stands the most
that its guesses could have proved. All others that the declared view allows are played too, and counted against
chance, which decides nothing.
Every attack is played again on the placebo: planted labels redrawn, losses recomputed. What shows that the labels were
no planted ones, or that the files do not belong together, makes the audit void.

**Several models** of one mechanism, trained independently, each with planted labels of its own, are one run of one
mechanism on all their labels: every label enters one of the models only, so whatever holds of a run's m canaries holds
of all T m of them, guessed from all the models together. Nothing is paid for pooling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import InputError, PluginError, QueryRefusedError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_outputs.audit.asked import AttackHandle
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.committed import Commitment, commit
from labelinf_outputs.audit.decision import Decision
from labelinf_outputs.audit.findings import AttackRun, Finding, Observation, OutputsAudit, Ranking, findings_of
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.audit.power import Power
from labelinf_outputs.audit.validity import carries_signal, voids
from labelinf_outputs.game.output import OutputAttack, OutputOracle, OutputThreat, References, Release
from labelinf_outputs.game.view import LossOracle

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
    claim: PrivacyClaim = PrivacyClaim(),  # noqa: B008
    rng: np.random.Generator,
    timeout: float = 600.0,
    progress: Callable[[str, int], None] = lambda attack, of: None,
) -> OutputsAudit:
    """Play attacks against predictions and say what they prove.

    Args:
        planted: What is known.
        builder: Builds the attacks.
        attacks: Their specs; all of this channel when empty.
        claim: The label-DP that is to be tested.
        rng: For the redrawn labels, and for the attacks.
        timeout: Seconds that one game of an attack may take that does not come with labelinf.
        progress: Called before every attack with its spec and how many there are.

    Raises:
        InputError: There is no such attack, or none of them can be played.
    """
    n_classes = len(planted.class_names)
    threat = OutputThreat(
        n_records=planted.labels.size,
        n_classes=n_classes,
        prior=(1 / n_classes,) * n_classes,
        declared=planted.view,
    )
    built = {spec: AttackHandle.of(builder, spec, timeout) for spec in attacks or output_attacks(builder)}
    refused = {spec: _refused(spec, attack, threat) for spec, attack in built.items()}
    playable = {spec: attack for spec, attack in built.items() if refused[spec] is None}
    if not playable:
        raise _nothing_played([item for item in refused.values() if item])
    committed = commit(playable, planted, threat, claim)
    committed = attrs.evolve(committed, guesses=committed.guesses * len(planted.models))
    # Streams of their own: the labels may have been planted with the very generator that is passed in.
    streams = dict(zip(playable, rng.spawn(len(playable)), strict=True))
    tried = []
    for spec in built:
        progress(spec, len(built))
        tried.append(refused[spec] or _try(spec, built[spec], streams[spec], planted, threat))
    bouts = {item.attack: item for item in tried if isinstance(item, AttackRun)}
    if not bouts:
        raise _nothing_played([item for item in tried if isinstance(item, Finding)])
    found_by = findings_of([*bouts.values()], threat, committed)
    reasons = voids(planted)
    if reasons:
        found_by = {name: item.voided() for name, item in found_by.items()}
    n_canaries = threat.n_records * len(planted.models)
    counted = bouts.get(committed.attack)
    if counted is not None and not reasons and (word := found_by[committed.attack].word) is not Observation.COUNTED:
        reasons = (f"{committed.attack}: {word.value}",)
    known = {"n_classes": n_classes, "n_canaries": n_canaries}
    proof = None if counted is None else claim.proof(counted.ranked, committed.guesses, **known)
    counting, made = (proof.guesses, proof.correct + proof.wrong) if proof else (0, 0)
    power = Power(claim=claim, n_classes=n_classes).against_twice(counting, n_canaries, made)
    signal = _signal(committed, built[committed.attack], planted, threat, streams[committed.attack])
    return OutputsAudit(
        n_canaries=n_canaries,
        n_classes=n_classes,
        claim=claim,
        ceiling=claim.ceiling(n_classes),
        committed=committed,
        decision=Decision(
            claim=claim,
            found=proof,
            voids=reasons,
            signal=signal,
            power=power if claim.made else None,
        ),
        findings=tuple(found_by[item.attack] if isinstance(item, AttackRun) else item for item in tried),
        sealed=bool(planted.seal),
        n_models=len(planted.models),
        first=counted.first if counted is not None else None,
    )


def _signal(
    committed: Commitment, attack: AttackHandle, planted: Planted, threat: OutputThreat, rng: np.random.Generator
) -> bool | None:
    """Say whether labels that were trained on openly come out; None when there are none.

    An attack that gave labels of reference models back can see, so what the model predicts of them is enough. Any other
    has to read them itself: one that looks at nothing carries no signal, whatever the model tells.
    """
    if planted.control is None:
        return None
    shown, labels = planted.control
    if committed.rehearsed:
        return carries_signal(planted, np.asarray(shown.log_probabilities.argmax(axis=1)))
    view = attrs.evolve(threat.declared, loss=LossOracle.NONE, references=0, features=False)
    public = attrs.evolve(threat, n_records=labels.size, declared=view)

    def read(found: OutputAttack) -> bool:
        return not found.unsupported_reason(public) and carries_signal(
            planted, _guess(found, shown, None, public, rng).labels
        )

    try:
        return attack(read)
    except (Exception, SystemExit):  # it broke: nothing shows that it could have seen anything
        return False


def _nothing_played(findings: Sequence[Finding]) -> InputError:
    reasons = "; ".join(f"{item.attack} {item.refusal}" for item in findings)
    return InputError(f"there is nothing to play: {reasons or 'no attack of the output channel is loaded'}.")


def _refused(spec: str, attack: AttackHandle, threat: OutputThreat) -> Finding | None:
    """Say why an attack is not played, if it is not."""
    try:
        refusal = attack(lambda found: gate.clean(found.unsupported_reason(threat) or ""))
    except (Exception, SystemExit) as error:
        if attack.apart and isinstance(error, InputError):  # it could not even be built as it is written
            raise
        return Finding(attack=spec, word=Observation.FAILED, refusal=unquoted(error))
    return Finding(attack=spec, word=Observation.REFUSED, refusal=refusal) if refusal else None


def _try(
    spec: str, attack: AttackHandle, rng: np.random.Generator, planted: Planted, threat: OutputThreat
) -> AttackRun | Finding:
    """Play one attack, or say why it was not played to its end."""

    def tried(found: OutputAttack) -> AttackRun | Finding:
        try:
            return _play(spec, found, planted, threat, rng)
        except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
            return Finding(attack=spec, word=Observation.FAILED, refusal=unquoted(error))

    try:
        return attack(tried)
    except PluginError as error:  # it took its process along
        return Finding(attack=spec, word=Observation.FAILED, refusal=unquoted(error))


def _play(
    spec: str, attack: OutputAttack, planted: Planted, threat: OutputThreat, rng: np.random.Generator
) -> AttackRun:
    played = [_one(attack, model, threat, rng) for model in planted.models]
    guess, *_ = played[0]
    return AttackRun(
        attack=spec,
        ranked=_in_turns(
            [guess.ranked(model.labels) for (guess, *_), model in zip(played, planted.models, strict=True)]
        ),
        trained=None if planted.trained is None else guess.ranked(planted.trained),
        placebo=_in_turns([sham.ranked(redrawn) for _, sham, redrawn in played]),
        first=Ranking(canaries=guess.surest(), right=guess.ranked(planted.labels)),
    )


def _one(
    attack: OutputAttack, planted: Planted, threat: OutputThreat, rng: np.random.Generator
) -> tuple[Guess, Guess, Labels]:
    """Return what is guessed of one model, what on its placebo, and the labels redrawn for that."""
    redrawn = rng.integers(0, threat.n_classes, threat.n_records, dtype=np.intp)
    sham = planted.release
    if sham.losses is not None:
        sham = attrs.evolve(sham, losses=-sham.log_probabilities[np.arange(redrawn.size), redrawn])
    guess = _guess(attack, planted.release, planted.references, threat, rng)
    return guess, _guess(attack, sham, planted.references, threat, rng), redrawn


def _in_turns(rankings: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Merge rankings: the surest of each, the second of each, and so on."""
    places = np.concatenate([np.arange(item.size) for item in rankings])
    return np.asarray(np.concatenate(rankings)[np.argsort(places, kind="stable")])


def _guess(
    attack: OutputAttack,
    release: Release,
    references: References | None,
    threat: OutputThreat,
    rng: np.random.Generator,
) -> Guess:
    def known() -> References:
        if references is None:
            raise QueryRefusedError("the declared view has no reference models.")
        return references

    with gate.attribute_errors(attack):
        guess = attack.run(OutputOracle(threat, release, known), rng)
        labels = gate.guessed(guess, Guess, threat.n_records, threat.n_classes)
    return attrs.evolve(guess, labels=labels)
