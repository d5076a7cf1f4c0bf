"""The metrics that plugins provide, by the names users give them."""

from __future__ import annotations

from labelinf_core.contracts.components import of_channel
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, parse
from labelinf_scores.metrics.readings.base import ScoredMetric

__all__ = ["metric"]


def metric(written: str, where: str = "--metric") -> ScoredMetric:
    """Return the metric that ``written`` describes; an underscore reads as a hyphen.

    Raises:
        InputError: No plugin provides it, or its answers cannot be read.
    """
    host = Host.load()
    spec = parse(written, where)
    name = spec.name.replace("_", "-")
    known = [item.descriptor.name for item in host.catalogue(Kind.METRIC)]
    if name not in known:
        raise InputError(f"{where} {written}: no metric of that name can be read; choose {', '.join(sorted(known))}.")
    built = Builder(host).build(Kind.METRIC, type(spec)(name, spec.params), where)
    return of_channel(built, ScoredMetric, "metric", "score")
