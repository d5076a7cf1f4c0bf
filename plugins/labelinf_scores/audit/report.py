"""A whole audit of a scoring function: attacks played on it, what is proved of it as deployed, what would help."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from labelinf_core.contracts.components import Defence, LabelSet, of_channel
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_core.specs.own_code import FILES, parts_of
from labelinf_scores.audit.advice import Remedy, changes_for
from labelinf_scores.audit.certificate import AuditedBoard, certificate
from labelinf_scores.audit.decision import NOTHING, Goal, ScorerDecision
from labelinf_scores.audit.scorer import Extraction, audit_scorer
from labelinf_scores.audit.simulated import made_reals, simulated
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.bounds.groups import effective
from labelinf_scores.game.asked import Asked
from labelinf_scores.game.begun import Begun
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.likeness import Likeness, likeness
from labelinf_scores.game.scorers import ImportedScorer, is_own
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.simulator import Board

__all__ = ["Goal", "ScorerReport", "audited", "granted", "tried"]

_SIMULATIONS = 30_000  # of a function
_LINES = 20_000  # of a program that answers lines
_STARTS = 2_000  # of a program that is started for every answer


@attrs.frozen(kw_only=True)
class ScorerReport:
    """What an audit of a scorer found.

    Attributes:
        scorer: Its name.
        data: The private labels.
        queries: The budget; 0 is unlimited.
        stages: What stands in front of it, as it was written.
        simulations: Labellings that an attack may score, at most.
        found: What it agrees with on made labels, if anything; None: nothing was compared, its answers are no number,
            or its labels are real.
        decision: What it comes to.
        changed: Whether a question that was asked before all attacks was answered otherwise after them.
    """

    scorer: str
    data: LabelSet
    queries: int
    stages: tuple[str, ...] = ()
    simulations: int = _SIMULATIONS
    found: Likeness | None
    decision: ScorerDecision
    changed: bool = False

    @property
    def leaks(self) -> tuple[Extraction, ...]:
        """What every attack got."""
        return self.decision.leaks

    @property
    def changes(self) -> tuple[Remedy, ...]:
        """The smallest changes that are proved to reach the target, and were not refuted when they were played."""
        return self.decision.remedies

    @property
    def line(self) -> str:
        """What stands in front of it, in a clause."""
        return " behind ".join((self.scorer, *self.stages))

    @property
    def played(self) -> tuple[Extraction, ...]:
        """What the attacks got that asked anything; one that asks nothing has tried nothing."""
        return tuple(leak for leak in self.leaks if leak.accuracy and leak.queries)

    @property
    def scored(self) -> int:
        """How many labels are scored."""
        return self.data.n_records if self.found is None else int(self.found.scored.sum())

    def sentence(self) -> str:
        """Say what it is like in one line."""
        if self.found is not None:
            return self.found.sentence()
        if self.data.reals is not None:
            return "the labels are real numbers, and it was compared with no metric"
        return "it answers no one number, and was compared with no metric"


def granted(scorer: str) -> int:
    """Return how many labellings of a scorer an attack may score: of a program, which is slow, fewer."""
    return _STARTS if scorer.startswith(FILES) else _LINES if scorer.startswith("cmd:") else _SIMULATIONS


def tried(found: Likeness | None, simulations: int) -> list[str]:
    """Return what is tried where no attack is named: those that plan with what a scorer agrees with, then any's."""
    listed: list[str] = []
    if found is not None and found.name:
        mean, ours = isinstance(found.metric, MeanLoss), shipped()
        listed = ours["attacks"] if mean else ours["metrics"] + ours["general"]
    return [*listed, f"simulate(simulations={simulations})"]


def audited(
    scorer: str,
    data: LabelSet,
    builder: Builder,
    *,
    attacks: Sequence[str] = (),
    also: Sequence[str] = (),
    metric: str = "",
    stages: Sequence[str] = (),
    queries: int = 0,
    seed: int = 0,
    timeout: float = 600.0,
    goal: Goal = NOTHING,
    tolerance: float | None = None,
    simulations: int = 0,
    until: str = "",
    besides: Sequence[str] = (),
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> ScorerReport:
    """Ask once, play, certify and advise.

    Args:
        scorer: ``module:function``, ``cmd:PROGRAM`` or a scorer's name.
        data: The private labels.
        builder: Builds attacks and defences.
        attacks: Their specs; the shipped list when empty.
        also: Specs of others.
        metric: What a scorer that ships computes, as a spec; the log-loss when empty. A function says so itself.
        stages: Specs of the defences that stand in front of it, from the scorer outward.
        queries: The adversary's budget; 0 is unlimited.
        seed: Of all that is drawn.
        timeout: Seconds that the game of an attack may take that does not come with labelinf.
        goal: What is to be true of it.
        tolerance: How near a guess of a real label must be; see :func:`~labelinf_scores.audit.simulated.simulated`.
        simulations: Labellings that an attack may score; 0: :func:`granted`.
        until: When a board ends that is what stands in front of it, as a clause; empty where it does not.
        besides: What else was told of the labels, of which nothing is played and nothing proved.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: The scorer cannot be asked, a stage does not fit there, or the goal cannot be meant.
    """
    board = _board(scorer, metric, queries, builder)
    made = board.computed(data)
    standing = builder.pipeline(tuple(stages), "--defence")
    for stage in standing:
        of_channel(stage, ScoreDefence, "defence", "score")
    report = ScorerReport(
        scorer=scorer,
        data=data,
        queries=queries,
        stages=tuple(stages),
        simulations=simulations or granted(scorer),
        found=None,
        decision=ScorerDecision(
            goal=goal, target=goal.read(max(data.prior)), worth=float(data.n_records), prior=data.prior
        ),
    )
    rng = np.random.default_rng(seed)
    if data.reals is not None:
        if {*attacks, *also} - {"simulate"}:
            raise InputError("the labels are real numbers, which simulate alone attacks; name no other attack.")
        progress("simulate", 1)
        return _of_reals(report, made, rng, tolerance)
    proof = None if besides else certificate(builder, board.deployed(data, standing), report.decision.target, until)
    report = attrs.evolve(report, decision=attrs.evolve(report.decision, proof=proof, besides=tuple(besides)))
    progress("comparing", 1)
    try:
        found = likeness(made, data, f"scorer {scorer!r}")
    except InputError:
        whole = None if standing or attacks else _whole(report, made, rng)
        if whole is None or whole.refusal:
            raise
        return attrs.evolve(report, decision=attrs.evolve(report.decision, leaks=(whole,)))
    play = functools.partial(audit_scorer, found, data, builder=builder, queries=queries, timeout=timeout)
    unnamed = tuple(getattr(made, "unnamed", ()))
    games = _Games(play=play, report=attrs.evolve(report, found=found), standing=standing, progress=progress)
    leaks = () if found.dumb else games.played(attacks, also, rng)
    more = unnamed or found.dumb or found.changed  # than one number, or than answers that forget
    if more and not (standing or attacks or any(leak.exact and leak.baseline < 1 for leak in leaks)):
        leaks += (whole,) if (whole := _whole(report, made, rng)) else ()
    worth = effective(found.threat(data, queries)) if data.groups is not None else float(found.scored.sum())
    decided = attrs.evolve(report.decision, leaks=leaks, worth=worth, unnamed=unnamed)
    progress("what stops it", games.steps)
    if not (proof or besides):
        helpful = changes_for(
            None if found.dumb else play,
            data,
            attrs.evolve(board, found=found),
            leaks,
            builder=builder,
            standing=standing,
            target=decided.target,
            seed=seed,
        )
        decided = attrs.evolve(decided, remedies=tuple(sorted(helpful, key=lambda item: -item.ranking)))
    return attrs.evolve(report, found=found, decision=decided, changed=found.changed)


def _board(scorer: str, metric: str, queries: int, builder: Builder) -> AuditedBoard:
    """Return the board that is audited.

    Raises:
        InputError: There is no such metric, or a function is said to compute one.
    """
    if not metric:
        return AuditedBoard(scorer=scorer, queries=queries)
    if is_own(scorer):
        raise InputError(f"--metric {metric}: {scorer!r} is your own and says itself what it computes; leave it out.")
    return AuditedBoard(scorer=scorer, metric=builder.build(Kind.METRIC, metric, "--metric"), queries=queries)


@attrs.define(kw_only=True)
class _Games:
    """The attacks that are tried, the likeliest first, until one has all labels.

    Attributes:
        play: Plays attacks.
        report: What is audited.
        standing: The stages that stand.
        progress: Called before each.
        steps: How many there may be.
    """

    play: Callable[..., Iterator[Extraction]]
    report: ScorerReport
    standing: tuple[Defence, ...]
    progress: Callable[[str, int], None]
    steps: int = 2

    def played(self, attacks: Sequence[str], also: Sequence[str], rng: np.random.Generator) -> tuple[Extraction, ...]:
        """Return what every attack gets; those that are named are all played, and of the others until one has all."""
        chosen = [*attacks, *also] if attacks else [*also, *tried(self.report.found, self.report.simulations)]
        self.steps = len(chosen) + 2
        sure = len(attacks) + len(also) if self.report.decision.goal.most is None else len(chosen)
        leaks: list[Extraction] = []
        games = self.play(
            attacks=chosen, rng=rng, defences=self.standing, progress=lambda attack: self.progress(attack, self.steps)
        )
        for leak in games:
            leaks.append(leak)
            if len(leaks) >= sure and any(leak.exact and leak.baseline < 1 for leak in leaks):
                break
        return tuple(leaks)


def _whole(report: ScorerReport, made: Scorer, rng: np.random.Generator) -> Extraction | None:
    """Return what everything that a function returns gives away, where no one number of it was named."""
    if (shown := _shown(made)) is None:
        return None
    whole, begun = shown
    return simulated(
        whole,
        rng.permutation(report.data.labels),
        [form for form, _ in Asked(host=made, data=report.data).forms()],
        n_classes=report.data.n_classes,
        queries=report.queries,
        rng=rng,
        simulations=report.simulations,
        begun=begun,
    )


def _shown(made: Scorer) -> tuple[Board, Callable[[], Begun]] | None:
    """Return what shows everything that a function returns; None where one number of it is meant, or can be had."""
    if not isinstance(made, ImportedScorer) or parts_of(made.target)[2]:
        return None
    return made.whole, made.begun


def _of_reals(report: ScorerReport, made: Scorer, rng: np.random.Generator, tolerance: float | None) -> ScorerReport:
    """Return what an audit of real labels comes to: what is proved of classes says nothing of what is near."""
    decided, reals = report.decision, report.data.reals
    assert reals is not None  # it is of them
    tried = Extraction(attack="simulate", refusal="real labels are not attacked through stages yet")
    if not report.stages:
        prior = made_reals(reals)
        whole, begun = _shown(made) or (lambda labels, rows: made.score(labels, Query(predictions=rows)), None)
        tried = simulated(
            whole,
            rng.permutation(reals),
            [Numbers(low=float(prior[0]), high=float(prior[-1]))],
            queries=report.queries,
            rng=rng,
            simulations=report.simulations,
            tolerance=tolerance,
            begun=begun,
        )
    target = decided.goal.read(tried.baseline)
    if target.epsilon is not None:
        raise InputError("--target epsilon: what a privacy budget leaves of real labels is not known here; give 60%.")
    return attrs.evolve(report, decision=attrs.evolve(decided, target=target, leaks=(tried,)))
