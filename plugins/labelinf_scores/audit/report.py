"""A whole audit of a scoring function: probe, attacks, what is proved of it as deployed, changes that would help."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from labelinf_core.contracts.components import Defence, LabelSet, of_channel
from labelinf_core.contracts.errors import InputError
from labelinf_core.specs import Builder
from labelinf_scores.audit.advice import Change, changes_for
from labelinf_scores.audit.certificate import Board, certificate
from labelinf_scores.audit.decision import NOTHING, Goal, ScorerDecision
from labelinf_scores.audit.probe import Picture, Unexplained, probe
from labelinf_scores.audit.scorer import Extraction, audit_scorer
from labelinf_scores.audit.simulated import simulated
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.bounds.groups import effective
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.metrics.log_loss import LogLoss

__all__ = ["Goal", "ScorerReport", "audited"]


@attrs.frozen(kw_only=True)
class ScorerReport:
    """What an audit of a scorer found.

    Attributes:
        scorer: Its name.
        data: The private labels.
        queries: The budget; 0 is unlimited.
        stages: What stands in front of it, as it was written.
        findings: What the probe learnt: a metric that explains every answer, or why none does.
        decision: What it comes to.
        changed: Whether a question that was asked before all attacks was answered otherwise after them.
    """

    scorer: str
    data: LabelSet
    queries: int
    stages: tuple[str, ...] = ()
    findings: Picture | Unexplained
    decision: ScorerDecision
    changed: bool = False

    @property
    def leaks(self) -> tuple[Extraction, ...]:
        """What every attack got."""
        return self.decision.leaks

    @property
    def changes(self) -> tuple[Change, ...]:
        """The smallest changes that are proved to reach the target, and were not refuted when they were played."""
        return self.decision.remedies

    @property
    def line(self) -> str:
        """What stands in front of it, in a clause."""
        return " behind ".join((self.scorer, *self.stages))

    @property
    def contradicting(self) -> tuple[str, ...]:
        """The attacks that fell short of what the probe made theory expect."""
        return tuple(leak.attack for leak in self.leaks if leak.contradicts)

    @property
    def wrong(self) -> bool:
        """Whether what was learnt must have been wrong, or is but a part of what the scorer does."""
        return bool(self.contradicting) or self.changed or self.partial

    @property
    def partial(self) -> bool:
        """Whether some answers are known to be others than what was learnt says."""
        return isinstance(self.findings, Picture) and bool(self.findings.found.beyond)

    @property
    def played(self) -> tuple[Extraction, ...]:
        """What the attacks got that asked anything; one that asks nothing has tried nothing."""
        return tuple(leak for leak in self.leaks if leak.accuracy and leak.queries)

    @property
    def scored(self) -> int:
        """How many labels are scored."""
        return int(self.findings.scored.sum()) if isinstance(self.findings, Picture) else self.data.n_records


def audited(
    scorer: str,
    data: LabelSet,
    builder: Builder,
    *,
    attacks: Sequence[str] = (),
    also: Sequence[str] = (),
    stages: Sequence[str] = (),
    queries: int = 0,
    seed: int = 0,
    timeout: float = 600.0,
    goal: Goal = NOTHING,
    tolerance: float | None = None,
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> ScorerReport:
    """Probe, play, certify and advise.

    Args:
        scorer: ``module:function``, ``cmd:PROGRAM`` or a scorer's name.
        data: The private labels.
        builder: Builds attacks and defences.
        attacks: Their specs; the shipped list when empty.
        also: Specs of others.
        stages: Specs of the defences that stand in front of it, from the scorer outward.
        queries: The adversary's budget; 0 is unlimited.
        seed: Of all that is drawn.
        timeout: Seconds that the game of an attack may take that does not come with labelinf, and that the probe may.
        goal: What is to be true of it.
        tolerance: How near a guess of a real label must be; see :func:`~labelinf_scores.audit.simulated.simulated`.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: The scorer cannot be asked, a stage does not fit there, or the goal cannot be meant.
        InconclusiveError: The time was up before the probe had asked all that it asks.
    """
    made = make_scorer(scorer, LogLoss(), data.n_classes)
    standing = builder.pipeline(tuple(stages), "--defence")
    for stage in standing:
        of_channel(stage, ScoreDefence, "defence", "score")
    if data.reals is not None:
        if {*attacks, *also} - {"simulate"}:
            raise InputError("the labels are real numbers, which simulate alone attacks; name no other attack.")
        progress("simulate", 1)
        rng = np.random.default_rng(seed)
        tried = simulated(made, data, queries=queries, rng=rng, tolerance=tolerance) if not standing else None
        return _of_reals(scorer, data, tried, goal, queries=queries, stages=tuple(stages))
    target = goal.read(max(data.prior))
    board = Board(scorer=scorer, queries=queries)
    threat = board.deployed(data, standing)
    progress("probing", 1)
    picture = probe(made, data, title=f"scorer {scorer!r}", patience=timeout)
    found = picture if isinstance(picture, Picture) else None
    board = attrs.evolve(board, picture=found)
    decided = ScorerDecision(
        goal=goal,
        target=target,
        worth=float(data.n_records),
        prior=data.prior,
        proof=certificate(builder, threat, target),
        unnamed=tuple(getattr(made, "unnamed", ())),
    )
    play = None
    if found is not None:
        play = functools.partial(audit_scorer, made, data, found, builder=builder, queries=queries, timeout=timeout)
        leaks, steps = _leaks(play, found, attacks, also, standing, np.random.default_rng(seed), progress)
        told = found.threat(data.labels, queries, data.groups)
        worth = effective(told)  # labels of one group are right or wrong together
        decided = attrs.evolve(decided, leaks=leaks, worth=worth, unnamed=tuple(getattr(made, "unnamed", ())))
        progress("what stops it", steps)
    elif not standing and not attacks:
        progress("simulate", 2)
        tried = simulated(made, data, queries=queries, rng=np.random.default_rng(seed))
        decided = attrs.evolve(decided, leaks=(tried,))
    changed = found is not None and found.changed
    if not changed and decided.proof is None:
        remedies = changes_for(
            play, data, board, decided.leaks, builder=builder, standing=standing, target=target, seed=seed
        )
        decided = attrs.evolve(decided, remedies=tuple(remedies))
        changed = found is not None and found.changed
    if changed:  # a scorer that turned while changes were played shows nothing by them
        decided = attrs.evolve(decided, remedies=())
    return ScorerReport(
        scorer=scorer,
        data=data,
        queries=queries,
        stages=tuple(stages),
        findings=picture,
        decision=decided,
        changed=changed,
    )


def _of_reals(
    scorer: str, data: LabelSet, tried: Extraction | None, goal: Goal, *, queries: int, stages: tuple[str, ...]
) -> ScorerReport:
    """Return what an audit of real labels comes to: what is proved of classes says nothing of what is near."""
    if tried is None:
        tried = Extraction(attack="simulate", refusal="real labels are not attacked through stages yet")
    target = goal.read(tried.baseline)
    if target.epsilon is not None:
        raise InputError("--target epsilon: what a privacy budget leaves of real labels is not known here; give 60%.")
    why = f"; {tried.refusal}" if tried.refusal else ""
    return ScorerReport(
        scorer=scorer,
        data=data,
        queries=queries,
        stages=stages,
        findings=Unexplained(reason=f"the labels are real numbers, and no metric of them was looked for{why}"),
        decision=ScorerDecision(
            goal=goal, target=target, worth=float(data.n_records), prior=data.prior, leaks=(tried,)
        ),
    )


def _leaks(
    play: Callable[..., Iterator[Extraction]],
    picture: Picture,
    attacks: Sequence[str],
    also: Sequence[str],
    standing: tuple[Defence, ...],
    rng: np.random.Generator,
    progress: Callable[[str, int], None],
) -> tuple[tuple[Extraction, ...], int]:
    """Return what every attack gets behind the stages that stand, and how many steps the audit has."""
    listed = [*(attacks or shipped()["attacks" if picture.mean else "metrics"]), *also]
    general = [] if attacks or picture.mean else shipped()["general"]
    unnamed = [] if attacks else shipped()["unnamed"]
    steps = len(listed) + len(general) + len(unnamed) + 2
    shown = functools.partial(play, rng=rng, defences=standing, progress=lambda attack: progress(attack, steps))
    leaks = tuple(shown(attacks=listed))
    for further in (general, unnamed):
        if not any(leak.exact for leak in leaks):
            leaks += tuple(shown(attacks=further))
    return leaks, steps
