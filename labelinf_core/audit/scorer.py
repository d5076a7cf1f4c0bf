"""How many labels a query a scoring function gives away: the strongest attacks, played against it.

First :mod:`labelinf_core.audit.scorer_probe` learns what the function does; then every attack is told that much and
plays within the budget. The attacks never see the labels. The auditor, who owns them, counts afterwards.
"""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import attrs
import numpy as np

from labelinf_core.audit.scorer_probe import ScorerFindings, probe
from labelinf_core.channels.score import Curator, Query, ScoreAttack, ScoreOracle, ScoreThreat
from labelinf_core.channels.scoring import Scorer
from labelinf_core.components import LabelSet
from labelinf_core.descriptors import Kind
from labelinf_core.errors import InputError, QueryRefusedError
from labelinf_core.losses import AdditiveLoss
from labelinf_core.specs import Builder

__all__ = ["Leak", "audit_scorer", "findings_of", "strongest"]


@attrs.frozen(kw_only=True)
class Leak:
    """What one attack got out of a scorer.

    Attributes:
        attack: Its spec.
        refusal: Why it was not played, or what went wrong; empty when it was played.
        accuracy: Share of labels guessed correctly.
        exact: Whether every label was.
        queries: Queries spent.
        labels_per_query: Chance-corrected: the share of what a majority guess leaves open, times N, a query.
        certified: Whether the attack was certain beforehand.
        seconds: Time it took, the scorer's included.
        evidence: What the attack said for itself.
    """

    attack: str
    refusal: str = ""
    accuracy: float = 0.0
    exact: bool = False
    queries: int = 0
    labels_per_query: float = 0.0
    certified: bool = False
    seconds: float = 0.0
    evidence: Mapping[str, Any] = attrs.field(factory=dict)


def strongest() -> dict[str, list[str]]:
    """Return the shipped lists: ``attacks`` to play and ``losses`` to recognise."""
    return tomllib.loads((files("labelinf_core.audit") / "strongest.toml").read_text(encoding="utf-8"))


def findings_of(
    scorer: Scorer, data: LabelSet, losses: Mapping[str, AdditiveLoss], rng: np.random.Generator
) -> ScorerFindings:
    """Probe ``scorer``.

    Raises:
        InputError: It cannot score honest predictions.
    """

    def ask(predictions: Any) -> float:
        return float(scorer.score(data.labels, Query(predictions=predictions)))

    return probe(ask, n_records=data.n_records, n_classes=data.n_classes, losses=losses, rng=rng)


def audit_scorer(
    scorer: Scorer,
    data: LabelSet,
    *,
    builder: Builder,
    attacks: Sequence[str],
    findings: ScorerFindings,
    loss: AdditiveLoss,
    queries: int,
    rng: np.random.Generator,
    progress: Callable[[str], None] = lambda attack: None,
) -> Iterator[Leak]:
    """Play every attack against ``scorer`` and yield what it got.

    Args:
        scorer: What is audited.
        data: The private labels; each attack meets them in the same fresh random order.
        builder: Builds the attacks.
        attacks: Their specs.
        findings: What the probe learnt; this, and the class shares, is all that an attack is told.
        loss: The loss that explains the scorer.
        queries: The budget; 0 is unlimited.
        rng: For the order, and for each attack.
        progress: Called with each attack's spec before it plays.
    """
    threat = _told(scorer, data, findings, loss, queries)
    labels = data.labels[rng.permutation(data.n_records)]
    curator = Curator.start(labels, threat, scorer, rng)
    for spec, attack_rng in zip(attacks, rng.spawn(len(attacks)), strict=True):
        progress(spec)
        yield _play(
            spec, builder.build(Kind.ATTACK, spec, "audit"), ScoreOracle(threat, curator.answer), labels, attack_rng
        )


def _told(scorer: Scorer, data: LabelSet, findings: ScorerFindings, loss: AdditiveLoss, queries: int) -> ScoreThreat:
    half_step = 0.0 if findings.decimals is None else 0.5 * 10.0**-findings.decimals
    noisy = findings.noise_std > 0
    return ScoreThreat(
        n_records=data.n_records,
        n_classes=data.n_classes,
        prior=data.prior,
        loss=loss,
        arithmetic="float32" if findings.single_precision else scorer.facts.arithmetic,
        summation=scorer.facts.summation,
        # Rows just inside the clip cost what they say, however well the clip is known.
        clip=findings.clip * (1 + 2 * findings.clip_error),
        normalised=findings.normalised,
        decimals=findings.decimals,
        noise_bound=math.inf if noisy else half_step,
        noise_std=findings.noise_std,
        noise_fresh=noisy,
        query_budget=queries or None,
    )


def _play(spec: str, attack: ScoreAttack, oracle: ScoreOracle, labels: Any, rng: np.random.Generator) -> Leak:
    if refusal := attack.refusal(oracle.threat):
        return Leak(attack=spec, refusal=refusal)
    promise = attack.promise(oracle.threat)
    start = time.perf_counter()
    try:
        guess = attack.run(oracle, rng)
    except (QueryRefusedError, InputError) as error:
        return Leak(attack=spec, refusal=str(error), queries=oracle.spent)
    accuracy = float(np.mean(np.asarray(guess.labels) == labels))
    baseline = oracle.threat.baseline
    gained = max(0.0, (accuracy - baseline) / (1 - baseline)) * len(labels)
    return Leak(
        attack=spec,
        accuracy=accuracy,
        exact=accuracy == 1.0,
        queries=oracle.spent,
        labels_per_query=gained / oracle.spent if oracle.spent else 0.0,
        certified=promise is not None and promise.certified,
        seconds=time.perf_counter() - start,
        evidence=guess.evidence,
    )
