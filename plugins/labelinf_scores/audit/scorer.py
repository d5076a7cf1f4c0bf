"""How many labels a query a scoring function gives away: attacks, played against it.

Whoever attacks a scorer has its code. So the attacks run it on made labels of their own, or plan with a metric that
gave the same answers. They never see the labels; the auditor, who owns them, counts afterwards. Nothing is certified.
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
from labelinf_scores.game.curator import Curator, ScoreDefence
from labelinf_scores.game.likeness import Likeness
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, blaming
from labelinf_scores.game.scoring import Query

__all__ = ["Extraction", "audit_scorer"]


@attrs.frozen(kw_only=True)
class Extraction:
    """What one attack got out of a scorer.

    Attributes:
        attack: Its spec.
        refusal: Why it was not played; empty when it was.
        failure: What went wrong while it played; empty when nothing did.
        accuracy: Share of the scored labels guessed correctly, with its interval; None unless it was played to its end.
            There is one game, so the labels are taken for independent.
        baseline: Share that the majority guess has, or the best constant.
        measure: When a guess of a real number counts, in a clause; empty of classes.
        exact: Whether every label was guessed.
        queries: Queries spent.
        labels_per_query: Chance-corrected: the share of what a majority guess leaves open, times N, a query.
        seconds: Time it took, the scorer's included.
        evidence: What the attack said for itself, "planned" where it said "certified".
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
    seconds: float = 0.0
    evidence: Mapping[str, Any] = attrs.field(factory=dict)

    @classmethod
    def counted(
        cls,
        attack: str,
        right: NDArray[np.bool_],
        baseline: float,
        *,
        queries: int,
        began: float,
        evidence: Mapping[str, Any],
        measure: str = "",
    ) -> Extraction:
        """Return what an attack got that knew these labels; ``began`` is when its game did."""
        accuracy = clopper_pearson(int(right.sum()), right.size)
        gained = max(0.0, (accuracy.value - baseline) / (1 - baseline)) * right.size if baseline < 1 else 0.0
        return cls(
            attack=attack,
            accuracy=accuracy,
            baseline=baseline,
            measure=measure,
            exact=bool(right.all()),
            queries=queries,
            labels_per_query=gained / queries if queries else 0.0,
            seconds=time.perf_counter() - began,
            evidence=evidence,
        )

    @property
    def right(self) -> float:
        """Share of the labels that was guessed."""
        return self.accuracy.value if self.accuracy else 0.0

    @property
    def blind(self) -> str:
        """What has the baseline."""
        return "best constant" if self.measure else "majority guess"

    @property
    def unit(self) -> str:
        """What is counted."""
        return f"labels, {self.measure}," if self.measure else "labels"


def audit_scorer(
    found: Likeness,
    data: LabelSet,
    *,
    builder: Builder,
    attacks: Sequence[str],
    queries: int,
    rng: np.random.Generator,
    defences: Sequence[ScoreDefence] = (),
    timeout: float = 600.0,
    progress: Callable[[str], None] = lambda attack: None,
) -> Iterator[Extraction]:
    """Play every attack against a scorer and yield what it got.

    Args:
        found: The scorer that is audited, and how it is asked; what it agrees with is what attacks plan with.
        data: The private labels; each attack meets them in the same fresh random order.
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
    threat = found.threat(data, queries).through(defences)
    labels = rng.permutation(data.labels)
    curator = Curator.start(labels, threat, found.asked, rng)

    def rerun(made: NDArray[np.intp], query: Query, draws: np.random.Generator) -> Any:
        return Curator.start(made, threat, found.asked, draws).answer(query)

    for spec, attack_rng in zip(attacks, rng.spawn(len(attacks)), strict=True):
        progress(spec)
        oracle = ScoreOracle(threat, curator.answer, rerun=rerun)
        played = functools.partial(_play, spec, oracle=oracle, labels=labels, scored=found.scored, rng=attack_rng)
        yield played(built[spec]) if spec in built else _apart(spec, builder, played, timeout)


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
    spec: str,
    attack: ScoreAttack,
    *,
    oracle: ScoreOracle,
    labels: NDArray[np.intp],
    scored: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Extraction:
    began = time.perf_counter()
    try:
        if refusal := attack.unsupported_reason(oracle.threat):
            return Extraction(attack=spec, refusal=refusal)
        with blaming(oracle):
            guess = attack.run(oracle, rng)
        guessed = gate.guessed(guess, Guess, labels.size, oracle.threat.n_classes)
        evidence = gate.evidence(guess.evidence)
    except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
        spent = time.perf_counter() - began
        return Extraction(attack=spec, failure=unquoted(error), queries=oracle.spent, seconds=spent)
    return Extraction.counted(
        spec,
        (guessed == labels)[scored],
        float(np.bincount(labels[scored]).max() / scored.sum()),
        queries=oracle.spent,
        began=began,
        evidence={key: "planned" if value == "certified" else value for key, value in evidence.items()},
    )
