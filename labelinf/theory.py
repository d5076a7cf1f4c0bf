"""What theory implies, and the smallest defence for a target: as functions of one game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from labelinf.labels import label_set, labels_first, named_scorer
from labelinf.objects import handed, written
from labelinf.results import Advised, Theory
from labelinf.shown import shows
from labelinf_core.advise.answer import advised
from labelinf_core.contracts.doing import say
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.contracts.fractions import fraction
from labelinf_core.evaluator.game import AttackedGame, asked
from labelinf_core.evaluator.records import Implied
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

__all__ = ["Game", "advise", "bounds"]


class Game(TypedDict, total=False):
    """A game, by the names that its settings have on the command line.

    Attributes:
        records: How many private labels there are.
        classes: Of how many classes; 2 when omitted.
        shares: Share of every class; equal when omitted.
        labels: Instead, where no labels are passed: a file or a label source.
        column: Of that file.
        features: Its columns or array of features; with labels of your own an array, shape ``(n_records, n_features)``.
        groups: Its column that says which records belong together; with labels of your own a name for each.
        posteriors: Its columns, or ``FILE.csv:columns``, with what a perfect model would say of the classes.
        queries: The adversary's budget; unlimited when omitted.
        scorer: What computes the score.
        metric: What is scored: a metric, or a loss that a score averages.
        channel: Which game; the first that can be played on what is given when omitted.
        defences: What stands between, from the curator outward: specs or objects.
    """

    records: int | None
    classes: int
    shares: Sequence[float] | None
    labels: str | None
    column: str
    features: Any
    groups: Any
    posteriors: str
    queries: int | None
    scorer: str | Callable[..., float] | None
    metric: str | None
    channel: str | None
    defences: Sequence[Any]


_OMITTED: Game = {
    "records": None,
    "classes": 2,
    "shares": None,
    "labels": None,
    "column": "",
    "features": "",
    "groups": "",
    "posteriors": "",
    "queries": None,
    "scorer": None,
    "metric": None,
    "channel": None,
    "defences": (),
}


@shows("computing bounds")
def bounds(y: ArrayLike | None = None, **game: Unpack[Game]) -> Theory:
    """Say what theory implies; nothing is played.

    >>> import labelinf as li
    >>> li.bounds([0, 1, 1, 1] * 5).baseline, li.bounds(records=100, classes=4).baseline
    (0.75, 0.25)

    Args:
        y: Private labels of any names, shape ``(n_records,)``; None: those that ``game`` names or counts.
        game: What is played, as in :class:`Game`.

    Raises:
        InputError: Something cannot be used as it is.
    """
    host, chosen = _chosen(y, game)

    def question() -> Implied:
        read = AttackedGame.read(host, chosen)
        return theory(read.builder, read.spec.name, read.channel.threat(read.setting))

    return Theory(implied=asked("bounds", host, chosen, question))


@shows("advising")
def advise(
    y: ArrayLike | None = None,
    *,
    target: str | None = None,
    gain: str | float | None = None,
    attacks: Sequence[Any] = (),
    also: Sequence[Any] = (),
    only: Sequence[str] = (),
    questions: int = 50_000,
    timeout: float = 600.0,
    seed: int = 0,
    **game: Unpack[Game],
) -> Advised:
    """Find the smallest setting of each defence that reaches a target.

    >>> import labelinf as li
    >>> found = li.advise(gain="5%", records=200, only=["randomised-response"], questions=0)
    >>> [round(item.certified, 3) for item in found.found]
    [0.129]

    Args:
        y: Private labels of any names, shape ``(n_records,)``; None: those that ``game`` names or counts.
        target: ``"60%"`` of the labels, ``"no-exact-recovery"`` or ``"epsilon<=1"``.
        gain: Instead: a fraction over the best blind guess, ``"5%"`` or ``.05``.
        attacks: What is played instead of the strongest.
        also: What is played besides.
        only: Texts, one of which a knob's title or spec must contain.
        questions: After how many no further game begins on one knob: the same on every machine; 0: none is played.
        timeout: Seconds after which none begins either.
        seed: Of the games.
        game: What is played, as in :class:`Game`; its defences stand already.

    Raises:
        InputError: Something cannot be used as it is, or the target cannot be meant.
    """
    if not isinstance(target, str | None):
        raise InputError(f"target={target!r} must be text, such as '60%'.")
    host, chosen = _chosen(y, game)
    chosen |= {
        "target": target,
        "gain": None if gain is None else fraction(gain, "gain"),
        "only": [only] if isinstance(only, str) else only,
        "questions": questions,
        "patience": timeout,
        "seed": seed,
        "attacks": list(map(str, written(Builder(host), Kind.ATTACK, attacks))),
        "also": list(map(str, written(Builder(host), Kind.ATTACK, also))),
    }
    found = advised(host, chosen, lambda title, _: say(title, 0, 0))
    if found.failed:
        raise ComponentError("\n".join(found.failed))
    return Advised(target=found.target, found=found.found, measures=found.measures, played=found.played)


def _chosen(y: ArrayLike | None, game: Game) -> tuple[Host, dict[str, Any]]:
    """Return what a game is read from, as the command line says it."""
    labels_first(y, "bounds(y), or labels='FILE'")
    if unknown := sorted(game.keys() - _OMITTED.keys()):
        raise TypeError(f"{unknown[0]!r} is no setting of a game; there are {', '.join(_OMITTED)}.")
    given, host = _OMITTED | game, Host.load()
    chosen = {**given, "scorer": named_scorer(given["scorer"])}
    chosen["defences"] = written(Builder(host), Kind.DEFENCE, given["defences"])
    if y is not None:
        if given["records"] is not None or given["labels"] is not None:
            raise InputError("the labels are passed: leave out records and labels.")
        features, groups = (None if isinstance(given[key], str) else given[key] for key in ("features", "groups"))
        chosen |= {"column": "", "features": "", "groups": "", "posteriors": ""}
        chosen["labels"] = handed(Builder(host), label_set(y, features, groups, given["posteriors"]))
    return host, chosen
