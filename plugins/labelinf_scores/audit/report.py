"""A whole audit of a scoring function: probe, attacks, changes that would help."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
import numpy as np

from labelinf_core.advise.search import Advice
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError, LabelinfError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_scores.audit.advice import smallest_changes
from labelinf_scores.audit.identify import Identified
from labelinf_scores.audit.probe import ScorerFindings
from labelinf_scores.audit.scorer import Extraction, audit_scorer, findings_of, understood_of
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss

__all__ = ["ScorerReport", "audited"]


@attrs.frozen(kw_only=True)
class ScorerReport:
    """What an audit of a scorer found.

    Attributes:
        scorer: Its name.
        data: The private labels.
        queries: The budget; 0 is unlimited.
        findings: What the probe learnt: a plain mean of a loss, or a metric that explains every answer.
        leaks: What every attack got.
        changes: The smallest changes that are proved to stop exact recovery, if the probe is right, and did so when
            they were played.
        played: What the strongest attack got on this very scorer behind each of them, by its setting.
    """

    scorer: str
    data: LabelSet
    queries: int
    findings: ScorerFindings | Identified
    leaks: tuple[Extraction, ...]
    changes: tuple[Advice, ...] = ()
    played: Mapping[str, Extraction] = attrs.field(factory=dict)

    @property
    def contradicting(self) -> tuple[str, ...]:
        """The attacks that fell short of what the probe made theory expect."""
        return tuple(leak.attack for leak in self.leaks if leak.contradicts)


def audited(
    scorer: str,
    data: LabelSet,
    builder: Builder,
    *,
    attacks: Sequence[str] = (),
    queries: int = 0,
    seed: int = 0,
    timeout: float = 600.0,
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> ScorerReport:
    """Probe, play and advise.

    Args:
        scorer: ``module:function``, ``cmd:PROGRAM`` or a scorer's name.
        data: The private labels.
        builder: Builds losses and attacks.
        attacks: Their specs; the shipped list when empty.
        queries: The adversary's budget; 0 is unlimited.
        seed: Of all that is drawn.
        timeout: Seconds that the game of an attack may take that does not come with labelinf.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: The scorer cannot be asked.
    """
    losses = {name: builder.build(Kind.LOSS, name, "strongest.toml") for name in shipped()["losses"]}
    made = make_scorer(scorer, next(iter(losses.values())), data.n_classes)
    rng = np.random.default_rng(seed)
    progress("probing", 1)
    findings, fault = _plain(made, data, losses, rng)
    understood = understood_of(made, data, _candidates(builder, data.n_classes), findings)
    if understood is None and findings is None:
        raise fault or InputError(f"scorer {scorer!r} cannot be asked.")
    if understood is None and findings is not None and not findings.loss:
        return ScorerReport(scorer=scorer, data=data, queries=queries, findings=findings, leaks=())
    on_metric = understood is not None and not isinstance(understood.found.metric, MeanLoss)
    attacks = attacks or shipped()["metrics" if on_metric else "attacks"]
    steps = len(attacks) + 2
    found = audit_scorer(
        made,
        data,
        builder=builder,
        attacks=attacks,
        findings=findings,
        loss=losses.get(findings.loss) if findings else None,
        queries=queries,
        rng=rng,
        understood=understood,
        timeout=timeout,
        progress=lambda attack: progress(attack, steps),
    )
    learnt = understood.found if understood is not None else findings
    if learnt is None:
        raise TypeError("nothing is known of the scorer")
    report = ScorerReport(scorer=scorer, data=data, queries=queries, findings=learnt, leaks=tuple(found))
    # What is proved to help would rest on the very probe that was contradicted.
    if not any(leak.exact for leak in report.leaks) or report.contradicting or not isinstance(learnt, ScorerFindings):
        return report
    progress("what stops it", steps)
    strongest = max((leak for leak in report.leaks if leak.exact), key=lambda leak: leak.labels_per_query)

    def behind(change: Advice) -> Extraction:
        """Play the strongest attack on this very scorer behind a change."""
        (found,) = audit_scorer(
            made,
            data,
            builder=builder,
            attacks=[strongest.attack],
            findings=findings,
            loss=losses[learnt.loss],
            queries=queries,
            rng=np.random.default_rng(seed),
            timeout=timeout,
            defences=builder.pipeline((change.setting,), "audit"),
        )
        return found

    withstood = _withstood(smallest_changes(builder, data, learnt, queries), behind)
    changes, played = tuple(change for change, _ in withstood), {change.setting: played for change, played in withstood}
    return attrs.evolve(report, changes=changes, played=played)


def _withstood(
    changes: Iterable[Advice], behind: Callable[[Advice], Extraction]
) -> tuple[tuple[Advice, Extraction], ...]:
    """Return the changes behind which not every label comes out, with what was played there."""
    found = []
    for change in changes:
        with contextlib.suppress(InputError):  # it does not fit in front of this scorer
            played = behind(change)
            if not played.exact and not played.failure:
                found.append((change, played))
    return tuple(found)


def _plain(
    scorer: Scorer, data: LabelSet, losses: Mapping[str, AdditiveLoss], rng: np.random.Generator
) -> tuple[ScorerFindings | None, InputError | None]:
    """Return what the probe for plain means of losses learnt, or why it could not ask."""
    try:
        return findings_of(scorer, data, losses, rng), None
    except InputError as error:  # it may want predictions of another shape
        for shape in ((data.n_records,), (data.n_records, 1)):
            try:
                answer = float(scorer.score(data.labels, Query(predictions=np.full(shape, 0.5))))
            except LabelinfError:
                continue
            return ScorerFindings.nothing() if math.isfinite(answer) else None, error
        return None, error


def _candidates(builder: Builder, n_classes: int) -> dict[str, ScoredMetric]:
    """Return the metrics that may explain a scorer, those without parameters first; no stranger's are tried."""
    names = [item.descriptor.name for item in builder.host.catalogue(Kind.METRIC)]
    built = {name: builder.build(Kind.METRIC, name, "audit") for name in names if name not in builder.host.strangers}
    own = {name: metric.of_classes(n_classes) for name, metric in built.items() if isinstance(metric, ScoredMetric)}
    order = sorted(own, key=lambda name: len(inspect.signature(type(own[name])).parameters))
    return {name: own[name] for name in order if n_classes == 2 or not own[name].two_classes}
