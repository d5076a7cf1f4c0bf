"""What a board that publishes a metric gives away with every answer, and through which noise."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError, PluginError
from labelinf_core.contracts.guarantees import towards
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import apart
from labelinf_scores.attacks.metric_attack import MetricAttack
from labelinf_scores.metrics.readings import ScoredMetric

__all__ = ["BoardRow", "rows"]


@attrs.frozen(kw_only=True)
class BoardRow:
    """One metric on one board.

    Attributes:
        metric: Its name.
        decimals: Decimals that are printed; None: in full.
        records: N.
        attack: The attack whose plan reads most.
        labels_per_query: Of its plan; 0 when no plan reads a label.
        survives: Noise below which one record a query is read; 0 where nobody knows any.
        enough: Noise that hides labels for ever; infinity where nobody knows any.
    """

    metric: str
    decimals: int | None
    records: int
    attack: str
    labels_per_query: float
    survives: float
    enough: float

    @property
    def stops(self) -> str:
        """Which noise a reading of every label survives, in words; fewer labels come out through more."""
        if math.isinf(self.survives):
            return "any noise, while predictions may be anything"
        if math.isinf(self.enough) and not self.survives:
            return "not known"
        below = f"below {towards(self.survives, 2, up=False):.2g}"
        if math.isinf(self.enough):
            return f"{below}; how much hides them is not known"
        return f"{below}; never from {towards(self.enough, 2, up=True):.2g}"


def rows(
    host: Host,
    records: Sequence[int],
    share: float,
    printed: Sequence[int | None],
    names: Sequence[str] = (),
    progress: Callable[[str, int], None] = lambda name, total: None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> Iterator[BoardRow]:
    """Yield a row for every metric of every plugin that is no mean of a loss.

    Raises:
        InputError: A metric is none of them.
    """
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.specs import Builder
    from labelinf_scores.attacks.metric_attack import MetricAttack
    from labelinf_scores.metrics.readings import Rows, ScoredMetric

    builder = Builder(host)
    catalogue = [item.descriptor.name for item in host.catalogue(Kind.METRIC)]
    if unknown := sorted(set(names) - set(catalogue)):
        raise InputError(f"--metric {unknown[0]}: there is no such metric; choose {', '.join(catalogue)}.")
    fitting = [name for name, fits in host.asked(Kind.ATTACK, lambda cls: issubclass(cls, MetricAttack)) if fits]

    def of_metric(name: str, attacks: list[str]) -> list[BoardRow]:
        metric = builder.build(Kind.METRIC, name, "--metric")
        built = [(title, builder.build(Kind.ATTACK, title, "attack")) for title in attacks]
        if not isinstance(metric, ScoredMetric) or metric.rows is Rows.COSTS:
            return []
        metric = metric.of_classes(2)
        games = itertools.product(records, printed)
        positives = {n: min(max(1, round(share * n)), n - 1) for n in records}
        return [_row(name, metric, built, n, positives[n], decimals) for n, decimals in games]

    for name in names or catalogue:
        progress(name, len(names or catalogue))
        yield from _asked(host, name, fitting, of_metric, warn)


def _asked(
    host: Host,
    name: str,
    attacks: list[str],
    of_metric: Callable[[str, list[str]], list[BoardRow]],
    warn: Callable[[str], None],
) -> list[BoardRow]:
    """Return the rows of a metric; a stranger that fails is named, and asked no more about it."""
    own = [attack for attack in attacks if attack not in host.third_parties]
    if name not in host.third_parties and own == attacks:
        return of_metric(name, attacks)
    for asked in [attacks] if own == attacks else [attacks, own]:
        try:
            return apart(f"metric {name}", functools.partial(of_metric, name, asked))
        except PluginError as error:
            warn(str(error))
    return []


def _row(
    name: str,
    metric: ScoredMetric,
    attacks: list[tuple[str, MetricAttack]],
    n_records: int,
    positives: int,
    decimals: int | None,
) -> BoardRow:
    import numpy as np

    from labelinf_core.contracts.components import LabelSet, Setting
    from labelinf_scores.defences.rounding import RoundScore
    from labelinf_scores.game.channel import ScoreChannel
    from labelinf_scores.metrics.readings.two_values import noise

    labels = (np.arange(n_records) < positives).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made")
    defences: tuple[Any, ...] = () if decimals is None else (RoundScore(decimals=decimals),)
    threat = ScoreChannel(metric=metric).threat(Setting(data=data, defences=defences))
    rates = [
        (attack.rate(threat.optimistic), title) for title, attack in attacks if not attack.unsupported_reason(threat)
    ]
    rate, best = max(((rate, title) for rate, title in rates if rate > 0), default=(0.0, ""))
    survives, enough = noise(metric, threat.totals) if threat.known else (0.0, math.inf)
    return BoardRow(
        metric=name,
        decimals=decimals,
        records=n_records,
        attack=best,
        labels_per_query=min(rate, n_records),
        survives=survives,
        enough=enough,
    )
