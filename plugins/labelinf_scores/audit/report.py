"""A whole audit of a scoring function: probe, attacks, changes that would help."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.statistics import clopper_pearson
from labelinf_core.specs import Builder
from labelinf_scores.audit.advice import Change, changes_for, exceeds
from labelinf_scores.audit.probe import Declared, Picture, Unexplained, probe
from labelinf_scores.audit.scorer import Extraction, audit_scorer
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.bounds.groups import effective
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss

__all__ = ["Goal", "ScorerReport", "audited"]

_ALARM = 0.01  # chance that luck alone is called a leak, over all attacks


@attrs.frozen(kw_only=True)
class Goal:
    """What a host wants to be true, as she wrote it; nothing: no exact recovery.

    Attributes:
        target: A share of labels, ``no-exact-recovery`` or ``epsilon<=1``.
        gain: Points over the best blind guess, instead.
    """

    target: str = ""
    gain: str = ""

    def read(self, blind: float) -> Target:
        """Return the target, where a blind guess has ``blind`` of the labels.

        Raises:
            InputError: It cannot be meant.
        """
        if self.target and self.gain:
            raise InputError("--target and --gain both say what is to be reached; give one.")
        return (
            Target.gaining(self.gain, blind) if self.gain else Target.parse(self.target or "no-exact-recovery", blind)
        )


@attrs.frozen(kw_only=True)
class ScorerReport:
    """What an audit of a scorer found.

    Attributes:
        scorer: Its name.
        data: The private labels.
        queries: The budget; 0 is unlimited.
        findings: What the probe learnt: a metric that explains every answer, or why none does.
        leaks: What every attack got.
        target: What a change is to reach.
        changed: Whether a question that was asked before all attacks was answered otherwise after them.
        unnamed: How each of several numbers is asked for, where none was: the first was audited, others may leak.
        changes: The smallest changes that are proved to reach the target, if the probe is right, and did so when they
            were played.
    """

    scorer: str
    data: LabelSet
    queries: int
    findings: Picture | Unexplained
    leaks: tuple[Extraction, ...] = ()
    target: Target
    changed: bool = False
    unnamed: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def contradicting(self) -> tuple[str, ...]:
        """The attacks that fell short of what the probe made theory expect."""
        return tuple(leak.attack for leak in self.leaks if leak.contradicts)

    @property
    def wrong(self) -> bool:
        """Whether what was learnt, or declared, must have been wrong, or is but a part of what the scorer does."""
        return bool(self.contradicting) or self.changed or self.partial

    @property
    def partial(self) -> bool:
        """Whether some answers are known to be others than what was learnt says."""
        return isinstance(self.findings, Picture) and bool(self.findings.found.beyond)

    def leaking(self, most: float | None) -> bool:
        """Whether an attack got more than is tolerated.

        Args:
            most: Labels a query; None: nothing beyond what luck explains.
        """
        if most is not None:
            return any(leak.labels_per_query > most for leak in self.leaks)
        return any(leak.exact or self._surely(leak) for leak in self.played)

    @property
    def played(self) -> tuple[Extraction, ...]:
        """What the attacks got that asked anything; one that asks nothing has tried nothing."""
        return tuple(leak for leak in self.leaks if leak.accuracy and leak.queries)

    def _surely(self, leak: Extraction) -> bool:
        """Whether one of so many attacks does so much better than the majority guess by luck with chance 1 %."""
        n, share = self.scored, leak.accuracy.value if leak.accuracy else 0.0
        worth = n if self.threat is None else effective(self.threat)  # labels of one group are right or wrong together
        tried = sum(not each.refusal for each in self.leaks)
        return clopper_pearson(share * worth, worth, 1 - 2 * _ALARM / tried).low > leak.baseline

    @property
    def threat(self) -> ScoreThreat | None:
        """What an attack is told; None where nothing explains the scorer."""
        if isinstance(self.findings, Unexplained):
            return None
        return self.findings.threat(self.data.labels, self.queries, self.data.groups)

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
    queries: int = 0,
    seed: int = 0,
    timeout: float = 600.0,
    declare: str = "",
    goal: Goal = Goal(),
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> ScorerReport:
    """Probe, play and advise.

    Args:
        scorer: ``module:function``, ``cmd:PROGRAM`` or a scorer's name.
        data: The private labels.
        builder: Builds attacks and defences.
        attacks: Their specs; the shipped list when empty.
        also: Specs of others.
        queries: The adversary's budget; 0 is unlimited.
        seed: Of all that is drawn.
        timeout: Seconds that the game of an attack may take that does not come with labelinf.
        declare: A file that says what the scorer does; empty: none.
        goal: What a change is to reach.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: The scorer cannot be asked, does not do what is declared, or the goal cannot be meant.
    """
    made = make_scorer(scorer, LogLoss(), data.n_classes)
    progress("probing", 1)
    said_of_it = Declared.read(declare, data.n_records) if declare else None
    picture = probe(made, data, title=f"scorer {scorer!r}", declared=said_of_it)
    if isinstance(picture, Unexplained):
        target = goal.read(max(data.prior))
        return ScorerReport(scorer=scorer, data=data, queries=queries, findings=picture, target=target)
    threat = picture.threat(data.labels, queries)
    target = goal.read(threat.baseline)
    listed = [*(attacks or shipped()["attacks" if picture.mean else "metrics"]), *also]
    general = [] if attacks or picture.mean else shipped()["general"]
    steps = len(listed) + len(general) + 2
    rng = np.random.default_rng(seed)
    play = functools.partial(audit_scorer, made, data, picture, builder=builder, queries=queries, timeout=timeout)
    shown = functools.partial(play, rng=rng, progress=lambda attack: progress(attack, steps))
    leaks = tuple(shown(attacks=listed))
    if not any(leak.exact for leak in leaks):
        leaks += tuple(shown(attacks=general))
    report = ScorerReport(
        scorer=scorer,
        data=data,
        queries=queries,
        findings=picture,
        leaks=leaks,
        target=target,
        changed=picture.changed,
        unnamed=getattr(made, "unnamed", ()),
    )
    # What is proved to help would rest on the very probe that was contradicted.
    if report.wrong or not any(exceeds(leak, target) for leak in leaks):
        return report
    progress("what stops it", steps)
    found = changes_for(
        play, data, picture, leaks, scorer=scorer, builder=builder, target=target, queries=queries, seed=seed
    )
    changes = tuple(found)
    # A scorer that turned while changes were played shows nothing by them.
    return attrs.evolve(report, changed=True) if picture.changed else attrs.evolve(report, changes=changes)
