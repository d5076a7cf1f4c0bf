"""How many labels a query a scoring function gives away: the strongest attacks, played against it.

First :mod:`labelinf_scores.audit.probe` learns what the function does; then every attack is told that much and
plays within the budget. The attacks never see the labels. The auditor, who owns them, counts afterwards.

What the probe learnt is a guess from a few answers, so nothing here is certified. Where theory implies all labels *if
the probe is right*, that is what is expected; an attack that then falls short shows that the probe was wrong.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Guess, LabelSet
from labelinf_core.contracts.errors import InputError, PluginError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.survey import strange
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import apart
from labelinf_core.specs import Builder
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_scores.audit.probe import Picture
from labelinf_scores.game.curator import Curator, ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Extraction", "audit_scorer"]


@attrs.frozen(kw_only=True)
class Extraction:
    """What one attack got out of a scorer.

    Attributes:
        attack: Its spec.
        refusal: Why it was not played; empty when it was.
        failure: What went wrong while it played; empty when nothing did.
        accuracy: Share of labels guessed correctly, with its interval; None unless it was played to its end. There is
            one game, so the labels are taken for independent.
        baseline: Share that the majority guess has, or the best constant.
        measure: When a guess of a real number counts, in a clause; empty of classes.
        exact: Whether every label was guessed.
        queries: Queries spent.
        labels_per_query: Chance-corrected: the share of what a majority guess leaves open, times N, a query.
        expected: Whether theory implies all labels, if the probe is right; never more than an expectation.
        seconds: Time it took, the scorer's included.
        evidence: What the attack said for itself, "expected" where it said "certified".
    """

    attack: str
    refusal: str = ""
    failure: str = ""
    accuracy: Interval | None = None
    baseline: float = 0.0
    measure: str = ""
    exact: bool = False
    queries: int = 0
    labels_per_query: float = 0.0
    expected: bool = False
    seconds: float = 0.0
    evidence: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def blind(self) -> str:
        """What has the baseline."""
        return "best constant" if self.measure else "majority guess"

    @property
    def counted(self) -> str:
        """What is counted."""
        return f"labels, {self.measure}," if self.measure else "labels"

    @property
    def contradicts(self) -> bool:
        """Whether the probe must have been wrong: an answer fits no labels, or fewer came out than theory expects."""
        short = self.expected or "contradiction" in self.evidence
        return short and self.accuracy is not None and not self.exact


def audit_scorer(
    scorer: Scorer,
    data: LabelSet,
    picture: Picture,
    *,
    builder: Builder,
    attacks: Sequence[str],
    queries: int,
    rng: np.random.Generator,
    defences: Sequence[ScoreDefence] = (),
    timeout: float = 600.0,
    progress: Callable[[str], None] = lambda attack: None,
) -> Iterator[Extraction]:
    """Play every attack against ``scorer`` and yield what it got.

    Args:
        scorer: What is audited.
        data: The private labels; each attack meets those that are scored in the same fresh random order.
        picture: What the probe learnt; this, and the class shares, is all that an attack is told.
        builder: Builds the attacks.
        attacks: Their specs; all that come with labelinf are built before any plays.
        queries: The budget; 0 is unlimited.
        rng: For the order, and for each attack.
        defences: What is tried in front of it, from the scorer outward.
        timeout: Seconds that the game of an attack may take that does not come with labelinf.
        progress: Called with each attack's spec before it plays.

    Raises:
        InputError: One of the attacks belongs to another channel. What an attack raises when it plays is its own
            failure, and ends nobody else's game.
    """
    built = {spec: _built(builder, spec) for spec in attacks if not strange(builder.host, spec)}
    threat = _planned(picture, data, queries, defences)
    labels = rng.permutation(data.labels[picture.scored])
    curator = Curator.start(labels, threat, picture.scorer(scorer), rng)

    def rerun(made: NDArray[np.intp], query: Query, draws: np.random.Generator) -> Any:
        return Curator.start(made, threat, picture.scorer(scorer), draws).answer(query)

    for spec, attack_rng in zip(attacks, rng.spawn(len(attacks)), strict=True):
        progress(spec)
        oracle = ScoreOracle(threat, curator.answer, rerun=rerun)
        if spec in built:
            yield _play(spec, built[spec], oracle, labels, attack_rng)
        else:
            played = functools.partial(_play, spec, labels=labels, oracle=oracle, rng=attack_rng)
            yield _apart(spec, builder, played, timeout)


def _planned(picture: Picture, data: LabelSet, queries: int, defences: Sequence[ScoreDefence]) -> ScoreThreat:
    """Return what attacks plan with: what was learnt is believed, and what it does to a score comes after the stages.

    A stage that picks rows, or replaces labels, stands before what the scorer makes of them.
    """
    threat = picture.threat(data.labels, queries, believed=True)
    if not defences:
        return threat
    staged = attrs.evolve(threat, own_effects=()).through(defences)
    return attrs.evolve(staged, effects=(*staged.effects, *threat.own_effects))


def _apart(spec: str, builder: Builder, played: Callable[[ScoreAttack], Extraction], timeout: float) -> Extraction:
    """Build and play a stranger's attack in a copy of this process, so that it has no hand in anybody's figures."""
    try:
        return apart(f"attack {spec}", lambda: played(_built(builder, spec)), patience=timeout, once=False)
    except PluginError as error:
        return Extraction(attack=spec, failure=unquoted(error))


def _built(builder: Builder, spec: str) -> ScoreAttack:
    attack = builder.build(Kind.ATTACK, spec, "audit")
    if not isinstance(attack, ScoreAttack):
        raise InputError(f"attack {spec!r} does not belong to the score channel.")
    return attack


def _play(
    spec: str, attack: ScoreAttack, oracle: ScoreOracle, labels: NDArray[np.intp], rng: np.random.Generator
) -> Extraction:
    start = time.perf_counter()
    try:
        if refusal := attack.refusal(oracle.threat):
            return Extraction(attack=spec, refusal=refusal)
        promise = attack.promise(oracle.threat)
        guess = attack.run(oracle, rng)
        accuracy, evidence = _accuracy(guess, labels, oracle.threat.n_classes), gate.evidence(guess.evidence)
    except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
        return Extraction(
            attack=spec, failure=unquoted(error), queries=oracle.spent, seconds=time.perf_counter() - start
        )
    baseline = oracle.threat.baseline
    gained = max(0.0, (accuracy.value - baseline) / (1 - baseline)) * len(labels) if baseline < 1 else 0.0
    return Extraction(
        attack=spec,
        accuracy=accuracy,
        baseline=baseline,
        exact=accuracy.value == 1.0,
        queries=oracle.spent,
        labels_per_query=gained / oracle.spent if oracle.spent else 0.0,
        expected=promise is not None and promise.certified,
        seconds=time.perf_counter() - start,
        # What an attack calls certain is so on the probe's word only.
        evidence={key: "expected" if value == "certified" else value for key, value in evidence.items()},
    )


def _accuracy(guess: Guess, labels: NDArray[np.intp], n_classes: int) -> Interval:
    guessed = gate.guessed(guess, Guess, labels.size, n_classes)
    return clopper_pearson(int((guessed == labels).sum()), labels.size)
