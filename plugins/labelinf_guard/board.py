"""A board: parse, reserve, score, settle, answer. It tells nothing that it has not charged.

1. a file becomes a canonical submission, or one of eight constant sentences; no label is near;
2. the ledger numbers it, fixes its beat, and holds the worst charge, on the disk;
3. the exact score of the public labels is computed, noise is added, it is rounded to an answer, and kept;
4. at the beat, and in the order of the numbers, the ledger settles;
5. the answer is told: the same text to whoever sends the same canonical submission again, for nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.begin import begin, drawn, rules_of
from labelinf_guard.certificate.statement import FORM, Certificate
from labelinf_guard.clock import BoardClock, SystemClock
from labelinf_guard.export.stateless import Form
from labelinf_guard.files import PrivateLabels, State, derived, known_boards, read_key, read_labels
from labelinf_guard.kept import SealedFiles
from labelinf_guard.ledger.book import LedgerEntry
from labelinf_guard.ledger.store import Ledger, RefusedError
from labelinf_guard.metrics import GuardMetric, UnscorableError
from labelinf_guard.parse import Expected, ParsedSubmission, ParseError, parse
from labelinf_guard.policy import Policy, read_policy
from labelinf_guard.recommendation import Recommendation, recommend
from labelinf_guard.release import AnswerScale, ReleaseNoise
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.standing import STANDING
from labelinf_guard.terms import Sizes, budget_of, certificate_of, metric_of, noise_of, scale_of, sizes_of, values_of
from labelinf_privacy.words import SystemWords, Words

__all__ = ["UNSCORED", "Board", "TeamAnswer", "TeamRefusal"]

_TEAM = re.compile(r"[\w.@+-]{1,64}", re.ASCII)
_FILE, _CELL = 1 << 20, 64  # bytes of a file beside its cells, and of a cell
_RANKED = 10**12  # scores are ranked by twelve decimals
UNSCORED = "could not be scored"  #: the answer to what has no score


@attrs.frozen(kw_only=True)
class TeamAnswer:
    """What a team is told.

    Attributes:
        score: Text of fixed width, or that it could not be scored.
        left: Submissions of the team that are surely answered, as long as no other team sends any.
    """

    score: str
    left: int


@attrs.frozen(kw_only=True)
class TeamRefusal:
    """What a team is told instead.

    Attributes:
        reason: A sentence that no label had a part in.
    """

    reason: str


@attrs.define(kw_only=True, eq=False)
class Board:
    """A board that is open. Use one per thread.

    Attributes:
        policy: What the host decided.
        expected: What a submission must look like.
        ledger: What was told.
        scale: The scores that can be told.
        public: Which labels are scored: for the host alone.
    """

    policy: Policy
    expected: Expected
    ledger: Ledger
    scale: AnswerScale
    public: NDArray[np.bool_] = attrs.field(repr=False)
    _path: Path
    _labels: PrivateLabels = attrs.field(repr=False)
    _codes: NDArray[np.intp] = attrs.field(repr=False)
    _key: bytes = attrs.field(repr=False)
    _kept: SealedFiles
    _metric: GuardMetric
    _words: Words

    @classmethod
    def init(cls, path: Path, *, clock: BoardClock | None = None, words: Words | None = None) -> Board:
        """Begin a board: draw its key and its split, check what it proves, and begin its ledger.

        Args:
            path: Of ``board.toml``.
            clock: Where it gets its time.
            words: Where it gets its randomness.

        Raises:
            InputError: Something cannot be used, the board exists, or it proves less than its target.
        """
        policy, words = read_policy(path), words or SystemWords()
        metric = begin(path, policy, clock or SystemClock(), words)
        board = cls.open(path, policy, clock=clock, words=words, metric=metric)
        board.others(fresh=True)  # the next board of these labels is to know of this one
        return board

    @classmethod
    def open(
        cls,
        path: Path,
        policy: Policy | None = None,
        *,
        clock: BoardClock | None = None,
        words: Words | None = None,
        metric: GuardMetric | None = None,
    ) -> Board:
        """Open a board that was begun.

        Args:
            path: Of ``board.toml``, beside which its state lies.
            policy: What that file says; None: it is read.
            clock: Where it gets its time.
            words: Where it gets its randomness.
            metric: Computes what the policy says; None: as a deployed board does.

        Raises:
            InputError: It was not begun, or what it was begun with has changed since.
        """
        policy = policy or read_policy(path)
        state = State.of(path)
        key, labels = read_key(state.key), read_labels(path, policy.board)
        kept = SealedFiles(state=state, key=key)
        public, codes = drawn(kept, labels, policy)
        metric = metric or metric_of(policy, path.parent)
        ledger = Ledger.open(state.ledger, state.anchor, derived(key, "chain"), clock or SystemClock())
        begun = ledger.book.known()
        sizes = sizes_of(labels, public, min(FORM, begun.form))
        own = rules_of(policy, metric, sizes)  # claims, and what a scorer is allowed, are of the version that began it
        if begun != attrs.evolve(own, claims=begun.claims, allowed=begun.allowed):
            ledger.close()
            raise InputError(
                f"{path} was changed since the board was begun, or another version of labelinf began it. Restore "
                "the file, or go on with that version: another board of these labels would add to what this one told."
            )
        values = values_of(policy)
        expected = Expected(
            form=Form(
                id=policy.board.id,
                label=policy.board.label,
                classes=tuple(policy.board.classes),
                classes_predicted=metric.classes_predicted,
                between=(float(min(values)), float(max(values))) if values else None,
            ),
            ids=labels.ids,
            most_bytes=min(policy.limits.bytes, _largest(labels.ids, 1 if values else len(policy.board.classes))),
        )
        return cls(
            policy=policy,
            expected=expected,
            ledger=ledger,
            path=path,
            labels=labels,
            codes=codes,
            public=public,
            key=key,
            kept=kept,
            metric=metric,
            scale=scale_of(policy, metric),
            words=words or SystemWords(),
        )

    def another(self) -> Board:
        """Return the same board with a ledger of its own, for another thread."""
        state, chain = State.of(self._path), derived(self._key, "chain")
        return attrs.evolve(self, ledger=Ledger.open(state.ledger, state.anchor, chain, self.ledger.clock))

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def submit(self, team: str, data: bytes) -> TeamAnswer | TeamRefusal:
        """Answer one submission, at its beat.

        Args:
            team: Who sends it; letters, digits and ``._@+-``, 64 at most.
            data: The file.

        Raises:
            InputError: The ledger cannot be read or written; nothing is told then.
        """
        entry = self.enter(team, data)
        return entry if isinstance(entry, TeamRefusal) else self.tell(entry, team)

    def enter(self, team: str, data: bytes) -> LedgerEntry | TeamRefusal:
        """Number and score one submission, or refuse it; :meth:`tell` says what it is told.

        Raises:
            InputError: As :meth:`submit`.
        """
        if not _TEAM.fullmatch(team):
            return TeamRefusal(reason="The name of a team has letters, digits and ._@+- only, 64 at most.")
        try:
            submission = parse(data, self.expected)
            digest = self._sealed(submission)
            if isinstance(self._metric, OwnMetric) and self.ledger.admits(team, digest):
                self._metric.ready()
            entry, fresh = self.ledger.reserve(team, digest)
        except (ParseError, RefusedError) as error:
            return TeamRefusal(reason=str(error))
        if fresh:
            self._keep(entry, submission)
        else:
            self._mended(entry, submission)
        return entry

    def tell(self, entry: LedgerEntry, team: str) -> TeamAnswer:
        """Return the answer to a submission that was numbered, at its beat.

        Raises:
            InputError: As :meth:`submit`.
        """
        told = self.ledger.wait(entry)
        symbol = self.ledger.book.known().answers if told.symbol is None else told.symbol
        return TeamAnswer(score=self.text(symbol), left=self.ledger.book.left(team))

    @property
    def labels(self) -> NDArray[np.intp]:
        """All labels, of the classes in the order of ``board.toml``."""
        return self._labels.codes

    def budget(self) -> float:
        """Return how many bits may be told."""
        return budget_of(self.policy, self._metric, self.sizes())

    def certificate(self) -> Certificate:
        """Return what the board proves when all that it may tell is told."""
        return certificate_of(self.policy, self._metric, self.sizes())

    def recommendation(self) -> Recommendation:
        """Return what the board was worth before its first submission."""
        return recommend(self.policy, self._metric, self.sizes())

    @property
    def minimise(self) -> bool:
        """Whether smaller scores are better."""
        return self._metric.minimise

    def others(self, *, fresh: bool = False) -> list[str]:
        """Return other boards of the same file of labels, as far as they are known: certificates do not add up."""
        return known_boards(self._path.parent / self.policy.board.labels, self._path, self._key, fresh=fresh)

    def sizes(self) -> Sizes:
        """Return how many labels there are."""
        return sizes_of(self._labels, self.public, self.ledger.book.known().form)

    @property
    def scored(self) -> NDArray[np.intp]:
        """The classes of the public labels, as they are scored: for the host alone."""
        return self._codes[self.public]

    def answered(self) -> list[LedgerEntry]:
        """Return every submission that was told something else than that it has no score."""
        none = (None, self.ledger.book.known().answers)
        return [entry for entry in self.ledger.book.entries if entry.symbol not in none]

    def rows(self, entry: LedgerEntry) -> NDArray[Any]:
        """Return the canonical rows of a submission.

        Raises:
            InputError: They are not there, or were changed.
        """
        rows = self._kept.rows(entry.number, entry.digest)
        if rows is None:
            raise InputError(f"{self._kept.lost(entry.number)}.")
        return rows

    def faults(self) -> list[str]:
        """Return which of the files that were kept beside the ledger are not what they were."""
        return list(self._kept.faults(self.ledger.answered()))

    def exact(self, entry: LedgerEntry) -> Fraction | None:
        """Return the exact public score of a submission: for the host alone."""
        return self._score(self.rows(entry), self.public)

    def noise(self) -> ReleaseNoise | None:
        """Return the noise of the board's answers."""
        return noise_of(self.policy, self._metric, int(np.count_nonzero(self.public)), self.policy.release.noise)

    def text(self, symbol: int) -> str:
        """Return an answer as it is told: a score, the record of the board, or a rank."""
        if symbol == self.ledger.book.known().answers:
            return UNSCORED
        if self.policy.release.show == "ranks":
            return str(symbol + 1)
        return self.scale.text(self._turned(symbol) if self.policy.release.show == "records" else symbol)

    def standing(self) -> list[tuple[str, str]]:
        """Return every team with the best answer it was told, best first; ties in the order of the answers."""
        self.ledger.settle()
        told = [(entry.team, entry.symbol or 0) for entry in self.answered()]
        placed = STANDING[self.policy.release.show](told, self._metric.minimise)
        return [(team, self.text(symbol)) for team, symbol in placed]

    def token(self, team: str) -> str:
        """Return what a team shows to be that team, where anybody may say so."""
        return hmac.new(derived(self._key, "team"), team.encode(), hashlib.sha256).hexdigest()

    def release(self) -> list[dict[str, Any]]:
        """Close the board, and release the sealed scores once, of the last answered submission of every team.

        Returns:
            For every team its score, in the order of the teams, and for the first ones their rank; of ranks alone the
            ranked teams; nothing where ``[final]`` says nothing. The same whenever it is asked for again.

        Raises:
            InputError: Rows of the ledger were lost, or a submission is.
        """
        try:
            self.ledger.end()
            if self.ledger.book.final is None and ((found := self._final()) or not self.ledger.book.final_lost):
                self.ledger.add_final(found)
        except RefusedError as error:
            raise InputError(str(error)) from error
        return list(self.ledger.book.final or [])

    def sealed_standing(self) -> list[tuple[str, str, str]]:
        """Return what the final release told of every team, rank, name and score, best first; nothing before it."""
        found = sorted(self.ledger.book.final or [], key=lambda row: (row["rank"] or math.inf, row["team"]))
        return [(str(row["rank"] or "-"), row["team"], row["score"]) for row in found]

    def _keep(self, entry: LedgerEntry, submission: ParsedSubmission) -> None:
        self._kept.write_rows(entry.number, entry.digest, submission.rows)
        score = self._score(submission.rows, self.public)
        if score is not None:
            self.ledger.keep(entry, self._settled_by(score))

    def _mended(self, entry: LedgerEntry, submission: ParsedSubmission) -> None:
        """Keep what was sent again if its file was lost or changed since it was told."""
        if entry.symbol is not None and self._kept.rows(entry.number, entry.digest) is None:
            with State.of(self._path).alone():
                self._kept.write_rows(entry.number, entry.digest, submission.rows)

    def _settled_by(self, score: Fraction) -> int:
        """Return what the ledger settles by: the answer, or a number that is greater for a better score."""
        match self.policy.release.show:
            case "records":
                return self._turned(self.scale.symbol(score))
            case "ranks":
                return math.floor(-self._behind(score)[1] * _RANKED)
            case _:
                noise = self.noise()
                return self.scale.symbol(score if noise is None else noise.added(score, self._words))

    def _turned(self, symbol: int) -> int:
        """Return a symbol of which a greater one is better, and the other way round."""
        return self.scale.answers - 1 - symbol if self._metric.minimise else symbol

    def _score(self, rows: NDArray[Any], chosen: NDArray[np.bool_]) -> Fraction | None:
        try:
            known = self._codes[chosen], rows[chosen], len(self.expected.form.classes)
            if isinstance(self._metric, OwnMetric):
                return self._metric.score(*known, np.flatnonzero(chosen))
            return self._metric.score(*known)
        except UnscorableError:
            return None

    def _sealed(self, submission: ParsedSubmission) -> str:
        """Return a keyed hash of a submission, the metric and the ids: what makes two of them the same."""
        part = self.policy.board
        board = "\0".join((part.metric or part.ours, str(sorted(part.parameters.items())), *self.expected.ids)).encode()
        return hmac.new(derived(self._key, "digest"), submission.digest(board), hashlib.sha256).hexdigest()

    def _behind(self, score: Fraction | None) -> tuple[bool, Fraction]:
        """Return what sorts scores from the best to the worst, those that are none last."""
        if score is None:
            return True, Fraction(0)
        return False, score if self._metric.minimise else -score

    def _final(self) -> list[dict[str, Any]]:
        scored = self.ledger.answered()  # what was killed before its file was written is nowhere
        last = {
            entry.team: entry
            for entry in self.answered()
            if entry.number in scored or self._kept.rows(entry.number, entry.digest) is not None
        }
        part = self.policy.final
        if not (part.scores or part.ranks):
            return []
        teams = sorted(last.items(), key=lambda item: item[1].number)[: part.scores or None]
        sealed = ~self.public
        exact = [self._score(self.rows(entry), sealed) for _, entry in teams]
        order = sorted(range(len(teams)), key=lambda at: (self._behind(exact[at]), at))
        rank = {at: place for place, at in enumerate(order[: part.ranks], 1)}
        noise = noise_of(self.policy, self._metric, int(np.count_nonzero(sealed)), part.noise)
        found = []
        for at, ((team, _), score) in enumerate(zip(teams, exact, strict=True)):
            released = score if score is None or noise is None else noise.added(score, self._words)
            said = UNSCORED if released is None else self.scale.text(self.scale.symbol(released))
            found.append({"team": team, "score": said if part.scores else "", "rank": rank.get(at)})
        return found if part.scores else sorted((row for row in found if row["rank"]), key=lambda row: row["rank"])


def _largest(ids: tuple[str, ...], classes: int) -> int:
    """Return how many bytes a file of these ids may have in any format, so that no reader is given more to unpack."""
    return _FILE + len(ids) * (4 * max(map(len, ids)) + _CELL * (classes + 1))
