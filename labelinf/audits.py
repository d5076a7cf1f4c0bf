"""Audits of a user's own system, as functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from labelinf.shown import WIDTH, ShownResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from labelinf_core.contracts.pictures import Picture
    from labelinf_core.report.attacked import Attacked
    from labelinf_outputs.audit.findings import OutputsAudit
    from labelinf_outputs.audit.planted import Planted
    from labelinf_scores.audit.report import ScorerReport

__all__ = ["OutputsAudited", "RecordAudited", "ScorerAudited", "audit_outputs", "audit_record", "audit_scorer"]


@attrs.frozen(kw_only=True)
class ScorerAudited(ShownResult):
    """What a scoring function gives away.

    Attributes:
        report: All of it.
    """

    report: ScorerReport

    def lines(self) -> Iterator[str]:
        """Yield what leaks, what is proved to stop it, what that costs, and which metric gave the same answers."""
        from labelinf_scores.audit.words import answer

        yield from answer(self.report).lines(WIDTH)
        yield f"run on made labels: {self.report.sentence()}"

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row an attack."""
        for leak in self.report.leaks:
            share = leak.accuracy
            yield {
                "attack": leak.attack,
                "accuracy": share.value if share else None,
                "accuracy_low": share.low if share else None,
                "accuracy_high": share.high if share else None,
                "baseline": leak.baseline,
                "queries": leak.queries,
                "labels_per_query": leak.labels_per_query,
                "all": leak.exact,
                "trouble": leak.refusal or leak.failure,
            }

    def pictures(self) -> Iterator[Picture]:
        """Yield what every attack that was played recovered."""
        yield from _shares("What a scorer gives away", self.rows())


@attrs.frozen(kw_only=True)
class OutputsAudited(ShownResult):
    """What a model gives back of planted labels.

    Attributes:
        audit: All of it.
        view: What was declared to be visible.
    """

    audit: OutputsAudit
    view: str

    def lines(self) -> Iterator[str]:
        """Yield the answer with its conditions."""
        from labelinf_outputs.audit import words

        yield from words.lines(self.audit, self.view)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row an attack."""
        for item in self.audit.findings:
            share = item.accuracy
            yield {
                "attack": item.attack,
                "word": item.word.value,
                "correct": item.correct,
                "guesses": item.guesses,
                "accuracy": share.value if share else None,
                "accuracy_low": share.low if share else None,
                "accuracy_high": share.high if share else None,
                "baseline": 1 / self.audit.n_classes,
                "p_chance": item.p_chance,
                "p_placebo": item.p_placebo,
                "trouble": item.refusal,
            }

    def pictures(self) -> Iterator[Picture]:
        """Yield what every attack that was played guessed right."""
        yield from _shares("What a model gives back of planted labels", self.rows())


@attrs.frozen(kw_only=True)
class RecordAudited(ShownResult):
    """What the files of a run give away.

    Attributes:
        files: What an adversary read from each.
        full: Whether they are those with every detail.
    """

    files: tuple[Attacked, ...]
    full: bool

    def lines(self) -> Iterator[str]:
        """Yield what leaks, what stops it, what that costs."""
        from labelinf_core.report.attacked import record_answer

        yield from record_answer(self.files, full=self.full).lines(WIDTH)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield one row a file."""
        for item in self.files:
            yield {**attrs.asdict(item), "gives_away": item.gives_away}


def audit_record(
    run: str | Path, y: ArrayLike | None = None, *, features: ArrayLike | None = None, full: bool = False
) -> RecordAudited:
    """Attack what a kept run has written, as ``labelinf audit record`` does.

    >>> import labelinf as li, tempfile
    >>> y, kept = [0, 1, 1, 0, 1] * 4, tempfile.mkdtemp()
    >>> played = li.matrix(y, attacks=["prime-blocks"], trials=1, out=kept)
    >>> any(row["gives_away"] for row in li.audit_record(kept, y).rows())
    False

    Args:
        run: Its directory.
        y: The private labels, which grade the guesses; those of the file that was read when omitted.
        features: What was passed with them.
        full: Whether to attack the files that ``--full`` writes.

    Raises:
        InputError: There is no run, or the labels are not those that it was played on.
    """
    import tempfile
    from pathlib import Path

    from labelinf.games import load, stored
    from labelinf_core.plugin.host import Host
    from labelinf_core.report.attacked import attacked_run
    from labelinf_core.specs import Builder

    with tempfile.TemporaryDirectory() as directory:
        labels = None if y is None else stored(y, features, Path(directory))
        found = tuple(attacked_run(load(run).results, Builder(Host.load()), full=full, labels=labels))
    return RecordAudited(files=found, full=full)


def audit_scorer(
    scorer: str | Callable[..., float],
    y: ArrayLike,
    *,
    queries: int = 0,
    attacks: Sequence[Any] = (),
    defences: Sequence[Any] = (),
    seed: int = 0,
    timeout: float = 600.0,
    target: str = "",
    gain: str | float | None = None,
    tolerance: float | None = None,
) -> ScorerAudited:
    """Attack a scoring function on labels of your own, as ``labelinf audit scorer`` does.

    >>> import labelinf as li
    >>> found = li.audit_scorer("sklearn", [0, 1, 1, 0, 1] * 8, attacks=["binary-weights"])
    >>> [(row["attack"], row["all"]) for row in found.rows()]
    [('binary-weights', True)]

    Args:
        scorer: A function called as ``scorer(labels, predictions)``, or its name as on the command line.
        y: Private labels of any names, shape ``(n_records,)``; or real numbers.
        queries: The adversary's budget; 0 is unlimited.
        attacks: Specs, or objects of your own, instead of the shipped list of the strongest.
        defences: What stands in front of it where it is deployed: specs, or objects of your own, from the scorer out.
        seed: Of all that is drawn.
        timeout: Seconds that the game of an attack may take that does not come with labelinf, and that the scorer may
            take to answer, though never more than two minutes. The scorer runs in a copy of this process.
        target: What is to be proved: ``60%`` of labels, ``no-exact-recovery``; empty: the latter.
        gain: Instead, a fraction over the best blind guess: ``"5%"`` or ``.05``.
        tolerance: How near a guess of a real label must be; a hundredth of their interquartile range if None.

    Raises:
        InputError: The scorer cannot be asked.
        ComponentError: It hung, or ended its process.
    """
    import tempfile
    from pathlib import Path

    from labelinf.games import named_scorer, stored
    from labelinf.objects import written
    from labelinf_core.contracts.fractions import fraction
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.worker import watch
    from labelinf_core.specs import Builder
    from labelinf_scores.audit.report import Goal, audited

    builder = Builder(Host.load())
    with tempfile.TemporaryDirectory() as directory:
        data = builder.build(Kind.LABELS, stored(y, None, Path(directory)), "y").load()
    players = tuple(map(str, written(builder, Kind.ATTACK, attacks)))
    stages = tuple(map(str, written(builder, Kind.DEFENCE, defences)))
    name = named_scorer(scorer) or ""
    with watch.waiting(min(timeout, watch.patience)):
        report = audited(
            name,
            data,
            builder,
            attacks=players,
            stages=stages,
            queries=queries,
            seed=seed,
            timeout=timeout,
            goal=Goal(target=target, gain=None if gain is None else fraction(gain, "gain")),
            tolerance=tolerance,
        )
    return ScorerAudited(report=report)


def audit_outputs(
    probabilities: ArrayLike | str | Path,
    *,
    planted: ArrayLike | None = None,
    references: tuple[ArrayLike, ArrayLike] | None = None,
    seal: str | Path | None = None,
    epsilon: float = math.inf,
    delta: float = 0.0,
    mu: float = math.inf,
    attacks: Sequence[Any] = (),
    seed: int = 0,
    timeout: float = 600.0,
) -> OutputsAudited:
    """Audit a trained model: does it give back the labels that were planted in its training data?

    >>> import labelinf as li, numpy as np
    >>> planted = np.random.default_rng(0).integers(0, 2, 200)
    >>> told = np.where(planted[:, None] == [0, 1], 0.9, 0.1)
    >>> li.audit_outputs(told, planted=planted, attacks=["lia-threshold"]).audit.decision.word.value
    'leaks'

    Args:
        probabilities: What the model says of every record, shape ``(n_records, n_classes)``, or a file of it.
        planted: The labels that you drew yourself, uniformly, independently of everything and before training, one
            a row: class numbers, shape ``(n_records,)``.
        references: What R models with other planted labels say, shape ``(R, n_records, n_classes)``, and those
            labels, shape ``(R, n_records)``.
        seal: Instead of ``planted``: the file that ``labelinf plant`` wrote, with predictions in a file.
        epsilon: The label-DP that is claimed.
        delta: The delta of that claim.
        mu: Instead: Gaussian label-DP.
        attacks: Specs, or objects of your own, instead of all that are loaded.
        seed: Of the placebo's labels.
        timeout: Seconds that one game of an attack may take that does not come with labelinf.

    Raises:
        InputError: Something cannot be used as it is.
    """
    import numpy as np

    from labelinf.objects import written
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.specs import Builder
    from labelinf_outputs.audit.claim import PrivacyClaim
    from labelinf_outputs.audit.outputs import audit_outputs as audited

    known = _planted(probabilities, planted, references, seal)
    builder = Builder(Host.load())
    found = audited(
        known,
        builder,
        attacks=tuple(map(str, written(builder, Kind.ATTACK, attacks))),
        claim=PrivacyClaim(epsilon=epsilon, delta=delta, mu=mu),
        rng=np.random.default_rng(seed),
        timeout=timeout,
    )
    return OutputsAudited(audit=found, view=str(known.view))


def _planted(
    probabilities: ArrayLike | str | Path,
    planted: ArrayLike | None,
    references: tuple[ArrayLike, ArrayLike] | None,
    seal: str | Path | None,
) -> Planted:
    """Read what is known, arrays by way of the files that the command line reads."""
    import tempfile
    from pathlib import Path

    import numpy as np

    from labelinf_core.contracts.errors import InputError
    from labelinf_outputs.audit.planted import read_planted, read_sealed
    from labelinf_outputs.audit.seal import read_seal
    from labelinf_outputs.game.view import View

    if (planted is None) == (seal is None):
        raise InputError("say what was planted: either planted=LABELS, which you drew yourself, or seal=FILE.")
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        shown = probabilities
        if not isinstance(shown, str | Path):
            np.save(here / "shown.npy", np.asarray(shown, dtype=np.float64))
            shown = here / "shown.npy"
        if seal is not None:
            return read_sealed(str(shown), read_seal(str(seal), ""), (), view=View())
        labels = np.asarray(planted)
        (here / "canaries.csv").write_text("label\n" + "".join(f"{label}\n" for label in labels), encoding="utf-8")
        beside = None
        if references is not None:
            beside = str(here / "references.npz")
            np.savez(beside, probabilities=np.asarray(references[0]), labels=np.asarray(references[1]))
        return read_planted(str(shown), str(here / "canaries.csv"), beside)


def _shares(title: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Picture]:
    """Draw observed shares with their intervals beside the blind guess, of what was played."""
    from labelinf_core.contracts.pictures import Picture, Series

    played = [row for row in rows if row["accuracy"] is not None]
    if not played:
        return
    at = [float(index) for index in range(len(played))]
    yield Picture(
        title=title,
        x="attack",
        y="labels recovered, %",
        series=(
            Series(
                name="observed",
                points=tuple(zip(at, (100 * row["accuracy"] for row in played), strict=True)),
                spans=tuple((100 * row["accuracy_low"], 100 * row["accuracy_high"]) for row in played),
                line=False,
            ),
            Series(
                name="a blind guess",
                points=tuple(zip(at, (100 * row["baseline"] for row in played), strict=True)),
                bound=True,
            ),
        ),
        names=tuple(row["attack"] for row in played),
    )
