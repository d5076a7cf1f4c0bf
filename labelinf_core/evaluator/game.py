"""What is said of a game: its channel, its labels, what stands between. Every command and function reads it here.

Nothing is known of any channel: a game that nobody names is the one its attacks and defences belong to, or else the
first channel that can be played on what was given.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from labelinf_core.contracts.components import Channel, LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.labels import grouped_only_where_known, load_labels
from labelinf_core.evaluator.suite import homes
from labelinf_core.evaluator.survey import strange
from labelinf_core.evaluator.third_parties import code_in
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import apart, watch
from labelinf_core.specs import Builder, Spec, parse, stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from labelinf_core.contracts.components import Defence
    from labelinf_core.plugin.host import Host

__all__ = ["SETTINGS", "AttackedGame", "asked", "channel_spec", "channels", "columns_of", "labels_spec", "settings"]

T = TypeVar("T")

OF_LABELS = ("column", "features", "groups", "posteriors")  #: options about a file of labels
SETTINGS = ("loss", "metric", "scorer", "queries")  #: that have an option of their own


@attrs.frozen(kw_only=True)
class AttackedGame:
    """A game without its attack.

    Attributes:
        builder: Builds components.
        spec: The channel, with the settings that were given.
        channel: The channel itself.
        data: The private labels.
        written: What stands between, as it was written, from the curator outward.
        defences: What stands between, from the curator outward.
    """

    builder: Builder
    spec: Spec
    channel: Channel
    data: LabelSet
    written: tuple[str, ...]
    defences: tuple[Defence, ...]

    @classmethod
    def read(cls, host: Host, chosen: Mapping[str, Any], attacks: Sequence[str] = ()) -> AttackedGame:
        """Build what the options say.

        Args:
            host: Where names are looked up.
            chosen: The options.
            attacks: Specs of the attacks that were named.

        Raises:
            InputError: They do not fit together, or say too little.
        """
        spec = channel_spec(host, chosen, attacks)
        builder = Builder(host, spec.name)
        kind: type[Channel] = host.find(Kind.CHANNEL, spec.name).load()
        game = cls(
            builder=builder,
            spec=spec,
            channel=builder.build(Kind.CHANNEL, spec, "--channel"),
            data=_labels(builder, chosen, spec.name, kind),
            written=tuple(map(str, stages(chosen["defences"], "--defence"))),
            defences=builder.pipeline(chosen["defences"], "--defence"),
        )
        if game.data.perfect is not None and game.channel.threat(game.setting).perfect is None:
            raise InputError(f"the {spec.name} channel knows gains over a blind guess: it has no use for --posteriors.")
        return game

    @property
    def labels(self) -> str:
        """What is known of the labels, in words: how many, of how many classes, and how far a blind guess gets."""
        data, blind = self.data, self.channel.threat(self.setting).baseline
        title = data.title if str(data.n_records) in data.title else f"{data.title}, {data.n_records} labels"
        return f"{title}, {data.n_classes} classes, best blind guess {100 * blind:.1f} %"

    @property
    def setting(self) -> Setting:
        """The game as its channel takes it."""
        return Setting(data=self.data, defences=self.defences)


def asked(what: str, host: Host, chosen: Mapping[str, Any], ask: Callable[[], T], games: float = 0.0) -> T:
    """Return what is asked of a game: here, or in a worker where a third party's or a user's own code is built.

    A user's own scorer is called in a worker of its own in any case.

    Args:
        what: What is asked for, as a message names it.
        host: Where names are looked up.
        chosen: The options.
        ask: The question.
        games: Seconds that its games may take, beside what any question may.

    Raises:
        ComponentError: The worker ended, or was late.
    """
    played = [str(item) for key in ("attacks", "also") for item in chosen.get(key, ())]
    written = [chosen.get(name) for name in ("labels", "channel", "loss", "metric", "defences")]
    if not strange(host, [*written, chosen["scorer"], played]) and not any(code_in(written)):
        return ask()
    name = f"{what} behind {', '.join(map(str, chosen['defences'])) or 'none'}"
    told = f"{name} against {', '.join(played)}" if played else name
    return apart(told, ask, patience=watch.patience + games, once=False)


def channel_spec(host: Host, chosen: Mapping[str, Any], attacks: Sequence[str] = ()) -> Spec:
    """Return the channel that is meant, with the settings that were given.

    Raises:
        InputError: It cannot be told.
    """
    spec = parse(chosen["channel"] or _meant(host, chosen, attacks), "--channel")
    return Spec(spec.name, {**spec.params, **settings(host, chosen)})


def settings(host: Host, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a channel that were given.

    Whoever names what is scored says ``--metric`` of a loss as well: where no metric has its name, and a loss does, it
    is the loss that a score averages.

    Raises:
        InputError: What is scored cannot be read.
    """
    given = {key: chosen[key] for key in SETTINGS if chosen.get(key) is not None}
    if "metric" in given:
        name = parse(given["metric"], "--metric").name
        of = [kind for kind in (Kind.METRIC, Kind.LOSS) if any(r.descriptor.name == name for r in host.catalogue(kind))]
        if of == [Kind.LOSS]:
            given["loss"] = given.pop("metric")
        else:
            host.find(Kind.METRIC, name)  # said before anything is played
    return given


def channels(host: Host, question: Callable[[type[Channel]], T]) -> Iterator[tuple[str, T]]:
    """Yield every channel by name with what ``question`` finds out about it, in the order in which they are offered."""
    found = host.asked(Kind.CHANNEL, lambda kind: (kind.rank, question(kind)))
    yield from ((name, answer) for name, (_, answer) in sorted(found, key=lambda item: (item[1][0], item[0])))


def _meant(host: Host, chosen: Mapping[str, Any], attacks: Sequence[str]) -> str:
    found = homes(host, attacks, chosen["defences"])
    if len(found) > 1:
        raise InputError(f"what is named belongs to several channels ({', '.join(found)}); one game is played on one.")
    if found:
        return found[0]
    numbers_only = chosen.get("records") is not None
    for name, needs_features in channels(host, lambda kind: bool(kind.needs_features)):
        if not (numbers_only and needs_features):
            return name
    wanted = "can be played on a number of records alone; name labels with --labels" if numbers_only else "is loaded"
    raise InputError(f"no channel {wanted}{host.left_out}.")


def labels_spec(host: Host, labels: str | Spec, **given: str) -> str | Spec:
    """Read ``--labels``: what looks like a file is one, and its ending says which label source reads it.

    A spec is that of labels that are here already.

    Raises:
        InputError: Something was given for what is no file (``--column``, ``--features``, ``--groups``,
            ``--posteriors``), or nothing reads such files.
    """
    if isinstance(labels, Spec):
        return labels
    path = Path(labels)
    is_file = path.is_file() or ("(" not in labels and (path.suffix != "" or len(path.parts) > 1))
    if is_file:
        return Spec(_reader(host, path.suffix), {"path": labels, **{key: text for key, text in given.items() if text}})
    for option, text in given.items():
        if text:
            raise InputError(f"--{option} belongs to a file, and --labels {labels} is none.")
    return labels


def columns_of(host: Host, path: str) -> tuple[str, ...]:
    """Return the names of a file's columns or arrays; empty where it has none, or there is no such file.

    Raises:
        InputError: It cannot be read.
        PluginError: What reads it failed.
    """
    if not Path(path).is_file():
        return ()
    return host.find(Kind.LABELS, _reader(host, Path(path).suffix)).ask(lambda kind: tuple(kind.columns(path)))


def _reader(host: Host, suffix: str) -> str:
    """Return the label source for files with an ending, or else the one for any other ending."""
    found: dict[str, str] = {}
    asked = host.asked(Kind.LABELS, lambda kind: tuple(kind.suffixes))
    for source, suffixes in sorted(asked, key=lambda item: not host.find(Kind.LABELS, item[0]).plugin.third_party):
        found |= dict.fromkeys(suffixes, source)  # what comes with labelinf last: nobody takes an ending from it
    if name := found.get(suffix.lower(), found.get("")):
        return name
    raise InputError(f"no label source reads files that end in {suffix!r}{host.left_out}.")


def _labels(builder: Builder, chosen: Mapping[str, Any], name: str, kind: type[Channel]) -> LabelSet:
    """Return the labels: those of a source, or as many as were asked for with the shares that were."""
    if (chosen["records"] is None) == (chosen["labels"] is None):
        raise InputError("say either how many labels there are (--records N) or which (--labels FILE).")
    if chosen["labels"] is not None:
        spec = labels_spec(builder.host, chosen["labels"], **{key: chosen.get(key, "") for key in OF_LABELS})
        data = load_labels(builder, spec, "--labels")
        grouped_only_where_known(data, name, builder.host)
        return data
    for option in ("groups", "posteriors"):
        if chosen.get(option):
            raise InputError(f"--{option} belongs to labels of your own; name their file with --labels.")
    if kind.needs_features:
        example = f", for example {kind.default_labels}" if kind.default_labels else ""
        raise InputError(
            f"--records says too little for the {name} channel, which trains on features; name labels that have them "
            f"with --labels{example}."
        )
    return _counted(chosen["records"], chosen["classes"], chosen["shares"])


def _counted(records: int, classes: int, shares: Sequence[float] | None) -> LabelSet:
    """Return labels of which exactly the given shares are of each class; equal shares when none are given."""
    import numpy as np

    if records < classes:
        raise InputError(f"--records {records} must be at least --classes {classes}.")
    if shares and len(shares) != classes:
        raise InputError(f"--shares names {len(shares)} shares, and there are {classes} classes (--classes).")
    exact = np.array(shares or [1.0] * classes) * (records / sum(shares or [classes]))
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: records - counts.sum()]] += 1
    if np.count_nonzero(counts) < 2:
        raise InputError(f"--shares leaves one class only of {records} records; at least two are needed.")
    names = tuple(map(str, range(classes)))
    labels = np.repeat(np.arange(classes), counts)
    title = f"{records} labels" if shares else f"{records} labels, taken for balanced"
    return LabelSet(labels=labels, class_names=names, title=title, provenance="exact class shares")
