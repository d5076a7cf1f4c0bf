"""The beginning of a board: its key, its split and its ledger are drawn and written once, whole or not at all."""

from __future__ import annotations

import hashlib
import hmac
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.certificate.statement import certify
from labelinf_guard.clock import BoardClock
from labelinf_guard.commitment import claims_of, whole_terms
from labelinf_guard.files import PrivateLabels, State, derived, draw_split, new_key, read_labels, replaced
from labelinf_guard.kept import SealedFiles
from labelinf_guard.ledger.book import Book, Rules
from labelinf_guard.ledger.charge import MILLIBITS, rule_named, worst_charge
from labelinf_guard.ledger.store import Ledger
from labelinf_guard.metrics import GuardMetric
from labelinf_guard.policy import Policy
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.terms import Sizes, budget_of, certificate_of, metric_of, scale_of, sizes_of, terms_of
from labelinf_privacy.words import Words

__all__ = ["begin", "drawn", "rules_of"]


def begin(
    path: Path, policy: Policy, clock: BoardClock, source: Words, metric: GuardMetric | None = None
) -> GuardMetric:
    """Check what a board proves, draw its key and its split, and begin its ledger.

    Args:
        path: Of ``board.toml``.
        policy: What it says.
        clock: Of the ledger.
        source: Of the split.
        metric: Computes what the policy says; None: as a deployed board does.

    Returns:
        The board's metric.

    Raises:
        InputError: Something cannot be used, the board exists, or it proves less than its target.
    """
    state, labels = State.of(path), read_labels(path, policy.board, fresh=True)
    if metric is None and np.all(labels.codes == labels.codes[0]):  # said to a host; in a game it would tell labels
        raise InputError(f"all labels in {policy.board.labels} are the same: there is nothing to score or to hide.")
    public = draw_split(labels.groups, policy.public.share, source)
    metric, sizes = metric or metric_of(policy, path.parent), sizes_of(labels, public)
    certificate_of(policy, metric, sizes)
    rules = rules_of(policy, metric, sizes)
    if not (Book(rules=rules).sure() or policy.target.accept_void):
        worst = worst_charge(rule_named(rules.rule, rules.answers)) / MILLIBITS
        raise InputError(
            f"this board could tell {rules.budget / MILLIBITS:.1f} bits, and one answer may cost {worst:.1f}: it would "
            "be closed before the first. Take a smaller [public] share, fewer decimals or a larger [target] gain: "
            "labelinf guard plan says how large."
        )
    if isinstance(metric, OwnMetric):
        metric.ready()  # what cannot be imported is said to the host, before a team is told that it has no score
    with state.alone(), _whole(path, state) as fresh:
        key, codes = new_key(fresh.key), np.full(public.size, -1)
        if policy.public.flip:
            codes[public] = replaced(labels.codes[public], len(policy.board.classes), policy.public.flip, source)
        SealedFiles(state=fresh, key=key).write_split(public=public, ids=_digest(labels, key), codes=codes)
        Ledger.create(fresh.ledger, fresh.anchor, derived(key, "chain"), rules, clock).close()
    return metric


def drawn(kept: SealedFiles, labels: PrivateLabels, policy: Policy) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which labels are public, and the labels as they are scored.

    Raises:
        InputError: The split cannot be read, was changed, or is of other labels.
    """
    public, ids, codes = kept.split("public", "ids", "codes")
    told = (_digest(labels, kept.key), _digest(labels, None))  # boards of 0.1 hold the ids' alone
    if not any(np.array_equal(ids, each) for each in told):
        raise InputError(
            f"{policy.board.labels} has other ids or labels than when the board was begun. Restore the file."
        )
    return public, np.where(public, codes, labels.codes) if policy.public.flip else labels.codes


def rules_of(policy: Policy, metric: GuardMetric, sizes: Sizes) -> Rules:
    """Return what the ledger of a board holds it to."""
    bits = budget_of(policy, metric, sizes)
    found = certify(terms_of(policy, metric, sizes, bits))
    ranked = policy.release.show == "ranks"
    return Rules(
        policy=policy.fingerprint(),
        rule=policy.rule,
        answers=policy.budget.per_board if ranked else scale_of(policy, metric).answers,
        budget=math.floor(bits * MILLIBITS) if math.isfinite(bits) else -1,
        beat=round(1000 * policy.release.beat),
        allowed=round(1000 * _allowed(policy, metric)),
        per_team=policy.budget.per_team,
        per_team_day=policy.budget.per_team_day,
        per_day=policy.budget.per_day,
        per_board=policy.budget.per_board,
        terms=whole_terms(policy, metric, sizes),
        claims=claims_of(found),
    )


def _allowed(policy: Policy, metric: GuardMetric) -> float:
    """Return how many seconds before a beat a submission must come: half a beat, of the guard's own metrics."""
    enough = policy.limits.seconds if isinstance(metric, OwnMetric) else max(1.0, policy.release.beat / 2)
    return min(policy.limits.seconds, enough)


@contextmanager
def _whole(path: Path, state: State) -> Iterator[State]:
    """Fill a directory aside, and put it in its place: killed at any moment, a board was begun or it was not."""
    if state.directory.exists():
        raise InputError(f"{state.directory} exists. A board is begun once; labelinf guard status shows it.")
    if state.exported.exists():
        raise InputError(
            f"{path} was exported ({state.exported.name} holds the split), and a board would draw another split of "
            f"the same labels. Labels are scored by a board or by an exported file, not by both."
        )
    aside = State(directory=state.directory.with_suffix(".state-new"))
    shutil.rmtree(aside.directory, ignore_errors=True)
    aside.directory.mkdir(mode=0o700)
    yield aside
    aside.directory.rename(state.directory)


def _digest(labels: PrivateLabels, key: bytes | None) -> NDArray[np.uint8]:
    """Return a digest of ids and labels under a key, or of the ids alone."""
    held = "\0".join(labels.ids).encode()
    if key is None:
        return np.frombuffer(hashlib.sha256(held).digest(), dtype=np.uint8)
    whole = held + b"\0\0" + labels.codes.astype("<i8").tobytes()
    return np.frombuffer(hmac.new(derived(key, "labels"), whole, hashlib.sha256).digest(), dtype=np.uint8)
