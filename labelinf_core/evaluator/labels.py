"""Private labels as their source gives them: anyone's code, held to the contract before hours are spent on it."""

from __future__ import annotations

from contextlib import suppress

import attrs
import numpy as np

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError, LabelinfError, PluginError
from labelinf_core.contracts.gate import own_words, unquoted
from labelinf_core.evaluator.cells import Plan, digest_of
from labelinf_core.evaluator.survey import strange
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import apart, watch
from labelinf_core.specs import Builder, Spec, parse

__all__ = ["grouped_only_where_known", "label_sets", "load_labels"]


def load_labels(builder: Builder, written: object, where: str, *, reals: bool = False) -> LabelSet:
    """Return the labels of a source.

    Args:
        builder: Builds the source.
        written: Its spec.
        where: Its place, for messages.
        reals: Whether labels may be real numbers.

    Raises:
        InputError: The source says what the user must mend, or gives labels that nothing can be played on.
        PluginError: The source failed.
    """
    spec = parse(written, where)
    if not strange(builder.host, spec):
        data = _loaded(builder, spec, where)
    else:
        data = apart(f"labels {spec}", lambda: _loaded(builder, spec, where))
    if data.reals is not None and not reals:
        raise InputError(
            f"labels {data.title!r} have {data.n_classes} different values in {data.n_records} rows, too many for "
            f"classes. Is it the column with the labels? Real numbers are for labelinf audit scorer only."
        )
    return gate.seal(data)


def _loaded(builder: Builder, spec: Spec, where: str) -> LabelSet:
    source = builder.build(Kind.LABELS, spec, where)
    try:
        with watch.over(f"labels {spec}"):
            data: LabelSet = source.load()
    except Exception as error:
        if own_words(error):
            raise
        raise PluginError(f"{where}: label source {spec} raised {unquoted(error)}.") from error
    return _checked(data, spec)


def label_sets(plan: Plan, builder: Builder) -> dict[str, LabelSet]:
    """Return the label sets of a plan by their content, to be handed to workers.

    One that cannot be read again as it was planned is missing, which costs its own cells.
    """
    found: dict[str, LabelSet] = {}
    for written, content in {(cell.labels, cell.content) for cell in plan.cells}:
        if content not in found:
            with suppress(LabelinfError):
                data = load_labels(builder, written, "labels")
                found |= {content: data} if digest_of(data) == content else {}
    return found


def grouped_only_where_known(data: LabelSet, channel: str, host: Host) -> None:
    """Refuse labels in groups where nothing heeds them: what is said there is of independent records.

    Raises:
        InputError: The labels come in groups, and the channel knows none.
    """
    if data.groups is not None and not host.find(Kind.CHANNEL, channel).ask(lambda kind: bool(kind.knows_groups)):
        raise InputError(
            f"labels {data.title!r} come in groups, and what the {channel} channel says is of independent records; "
            f"leave the groups out there, and read its ceilings as such."
        )


def _checked(data: object, source: Spec) -> LabelSet:
    """Return the fields of a label set without what its class says of them; raise what is wrong, quoting none."""
    if not isinstance(data, LabelSet):
        raise PluginError(f"labels {source}: the source gave a {type(data).__name__}, expected a LabelSet.")
    labels, names = data.labels, data.class_names
    features = data.features is None or isinstance(data.features, np.ndarray)
    grouped = data.groups is None or (
        isinstance(data.groups, np.ndarray) and data.groups.dtype.kind in "iu" and data.groups.ndim == 1
    )
    reals = data.reals is None or (
        isinstance(data.reals, np.ndarray) and data.reals.dtype == np.float64 and data.reals.shape == np.shape(labels)
    )
    texts = isinstance(names, tuple) and all(isinstance(text, str) for text in (*names, data.title, data.provenance))
    if not (isinstance(labels, np.ndarray) and features and grouped and reals and texts):
        raise PluginError(f"labels {source}: the source gave a LabelSet whose fields are not of their types.")
    data = LabelSet(**{field.name: getattr(data, field.name) for field in attrs.fields(LabelSet)})
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or labels.size == 0:
        raise PluginError(f"labels {source} must be a list of at least one integer, got {labels.dtype}{labels.shape}.")
    if data.groups is not None and data.groups.shape != labels.shape:
        raise InputError(
            f"labels {source} are {labels.size}, and {data.groups.size} have a group; every one needs its own."
        )
    outside = (labels < 0) | (labels >= data.n_classes)
    if outside.any():
        row = int(outside.argmax())
        raise InputError(f"labels {source}: the label in row {row} must be in 0..{data.n_classes - 1}.")
    if (labels == labels[0]).all():
        raise InputError(f"labels {source} have one class only; at least two are needed.")
    return data
