"""Writing the file for a platform, the solution that belongs to it, and what a scorer without a ledger can prove.

A scorer that keeps nothing cannot know how much was told. What remains is the fixed split: no answer depends on the
private rows, however many there are. That ends when the platform shows private scores. With ``flip`` the solution
itself holds replaced labels, the private ones too: what that proves does not end.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import math
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_guard.certificate.statement import Certificate, certify
from labelinf_guard.export.stateless import OF_VALUES
from labelinf_guard.files import (
    PrivateLabels,
    State,
    draw_split,
    known_boards,
    read_labels,
    replaced,
    write_once,
    write_private,
)
from labelinf_guard.metrics import METRICS, GuardMetric
from labelinf_guard.policy import Policy, read_policy
from labelinf_guard.status import beside
from labelinf_guard.terms import metric_of, sizes_of, terms_of
from labelinf_privacy.words import SystemWords, Words

__all__ = ["PLATFORMS", "Exported", "export"]

_FUTURE = "from __future__ import annotations\n"
_OURS = re.compile(r"^(?:from __future__.*|from labelinf_guard\..*|__all__ = \[[^]]*\])\n", re.MULTILINE)
_SHOWN = (
    "When {title} shows scores of the private rows, as it does at the deadline, or scores a late submission on them: "
    "from then on nothing is proved."
)
_UNSCORED = "When you let anything score the private rows, such as a later phase: this file never does."
_ELSEWHERE = "Nothing is proved at all if these labels are scored elsewhere."


_CONTAINER = """\
# No network, no state, nothing but /input, /output and the ground truth that the platform mounts.
FROM python:3.12-slim
COPY evaluate.py /opt/app/evaluate.py
USER nobody
ENTRYPOINT ["python", "-I", "/opt/app/evaluate.py"]
"""


@attrs.frozen(kw_only=True)
class Platform:
    """Where a scorer runs that keeps nothing.

    Attributes:
        title: Its name.
        file: What the scorer is called there.
        part: Module that the platform calls; the rest is :mod:`labelinf_guard.export.stateless`.
        ends: When what is proved there ends.
        container: Text of its Dockerfile; empty where the platform makes its own.
    """

    title: str
    file: str
    part: str
    ends: str
    container: str = ""


PLATFORMS = {
    "kaggle": Platform(title="Kaggle", file="metric.py", part="kaggle", ends=_SHOWN),
    "huggingface": Platform(title="Hugging Face", file="metric.py", part="huggingface", ends=_SHOWN),
    "codabench": Platform(title="CodaBench", file="score.py", part="codabench", ends=_UNSCORED),
    "grand-challenge": Platform(
        title="grand-challenge", file="evaluate.py", part="grandchallenge", ends=_UNSCORED, container=_CONTAINER
    ),
}  #: by the name on the command line


@attrs.frozen(kw_only=True)
class Exported:
    """What was written.

    Attributes:
        scorer: The self-contained file.
        solution: Ids, labels and usage: private.
        said: What is proved there, and what is not.
    """

    scorer: Path
    solution: Path
    said: Sequence[str]


def export(board: Path, platform: str, folder: Path, *, words: Words | None = None) -> Exported:
    """Write a scorer for a platform, and draw its split; of a board that was exported before it is the same split.

    Args:
        board: Path of ``board.toml``.
        platform: One of :data:`PLATFORMS`.
        folder: Where the two files go; they must not be there yet.
        words: Where the split gets its randomness.

    Raises:
        InputError: The board cannot be scored without a ledger, or would prove less than its target.
    """
    where, policy = PLATFORMS[platform], read_policy(board)
    _alone(board)
    _stateless(policy)
    written = Exported(scorer=folder / where.file, solution=folder / "solution.csv", said=())
    if there := [path for path in (written.scorer, written.solution) if path.exists()]:
        raise InputError(f"{there[0]} exists. A split is drawn once, and is the same in another folder: export there.")
    labels = read_labels(board, policy.board)
    split = _kept(board, policy, labels) or _drawn(policy, labels, words or SystemWords())
    certificate = _certificate(policy, metric_of(policy, board.parent), labels, split.public, where)
    split = _first(board, policy, labels, split)
    if policy.public.flip:
        labels = attrs.evolve(labels, codes=split.codes)
    others = beside(known_boards(board.parent / policy.board.labels, board, split.public.tobytes()))
    said = [
        *certificate.sentences(),
        f"No ledger: {where.title} keeps nothing between submissions. [budget] bits, quotas, the beat and the final "
        f"release of board.toml do not hold there; answers are rounded, and any number of them is allowed for above.",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_private(written.solution, _solution(policy, labels, split.public).encode())
    written.scorer.write_text(_text(policy, where, said), encoding="utf-8")
    if where.container:
        (folder / "Dockerfile").write_text(where.container, encoding="utf-8")
        (folder / ".dockerignore").write_text(f"*\n!{where.file}\n", encoding="utf-8")  # never the labels
    return attrs.evolve(written, said=[*said, *others])  # paths of the host's are not for the file


@attrs.frozen(kw_only=True, eq=False)
class _Split:
    """What all exported files of a board share.

    Attributes:
        public: Which labels are public, shape ``(n,)``.
        codes: The labels as they are scored, where they were replaced.
    """

    public: NDArray[np.bool_]
    codes: NDArray[np.intp] = attrs.field(repr=False)


def _drawn(policy: Policy, labels: PrivateLabels, source: Words) -> _Split:
    public, flip = draw_split(labels.groups, policy.public.share, source), policy.public.flip
    return _Split(
        public=public,
        codes=replaced(labels.codes, len(policy.board.classes), flip, source) if flip else np.full(public.size, -1),
    )


def _first(board: Path, policy: Policy, labels: PrivateLabels, split: _Split) -> _Split:
    """Keep the split unless one was kept, and return the one that was: two would add up to labels that both show."""
    packed = io.BytesIO()
    np.savez(packed, of=_of(policy, labels), public=split.public, codes=split.codes)
    with State.of(board).alone():
        _alone(board)
        write_once(State.of(board).exported, packed.getvalue())
    found = _kept(board, policy, labels)
    return split if found is None else found


def _alone(board: Path) -> None:
    if State.of(board).directory.exists():
        raise InputError(
            f"{board} has a ledger of its own, and answers told elsewhere would not be in it. Labels are scored by a "
            f"board or by an exported file, not by both."
        )


def _kept(board: Path, policy: Policy, labels: PrivateLabels) -> _Split | None:
    path = State.of(board).exported
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            of, split = str(kept["of"]), _Split(public=kept["public"], codes=kept["codes"])
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read. It holds the split of the exported files: restore a copy.") from error
    if of != _of(policy, labels):
        raise InputError(
            f"{board} was exported ({path.name} holds the split) with other ids, groups, classes, [public] share or "
            f"flip, and a second split would show labels that the first one keeps. Restore them."
        )
    return split


def _of(policy: Policy, labels: PrivateLabels) -> str:
    """Return a hash of what a split is drawn from."""
    part = (labels.ids, labels.groups.tolist(), policy.board.classes, policy.public.share, policy.public.flip)
    return hashlib.sha256(json.dumps(part).encode()).hexdigest()


def _stateless(policy: Policy) -> None:
    if policy.board.metric not in METRICS and (policy.board.metric not in OF_VALUES or policy.board.parameters):
        raise InputError(
            f"an exported file holds {', '.join((*METRICS, *OF_VALUES))}; other metrics and ours = 'module:function' "
            "need labelinf guard score."
        )
    part = policy.release
    if part.show != "scores" or part.low is not None or part.high is not None:
        raise InputError("an exported file tells scores of the metric's whole range: leave out show, low and high.")
    if part.noise:
        raise InputError(
            "noise proves nothing without a ledger: whoever sends more submissions averages it away. Set [release] "
            "noise = 0; the split is what an exported file can prove."
        )


def _certificate(
    policy: Policy, metric: GuardMetric, labels: PrivateLabels, public: NDArray[np.bool_], where: Platform
) -> Certificate:
    """Return what the split proves, or noise in all labels, of any number of answers; refuse what proves too little."""
    scored = public | bool(policy.public.flip)  # private scores too are of replaced labels, and may all be shown
    day = f"On {policy.final.ends}. " if policy.final.ends else ""
    ends = _ELSEWHERE if policy.public.flip else f"{day}{where.ends.format(title=where.title)} {_ELSEWHERE}"
    alone = attrs.evolve(policy, final=attrs.evolve(policy.final, scores=0, ranks=0))
    terms = terms_of(alone, metric, sizes_of(labels, scored), math.inf)
    endless = attrs.evolve(terms.public, bits=math.inf)  # no quota of board.toml holds there
    found = certify(attrs.evolve(terms, public=endless, ends=ends))
    if (found.void or found.now > policy.target.gain + 1e-9) and not policy.target.accept_void:
        raise InputError(
            f"without a ledger this board proves {100 * found.now:.1f} points over a perfect model, the target is "
            f"{100 * policy.target.gain:g}: only the split counts, or noise in all labels. Take a smaller [public] "
            "share, or flip, or accept_void = true."
        )
    return found


def _solution(policy: Policy, labels: PrivateLabels, public: NDArray[np.bool_]) -> str:
    rows = (
        (name, policy.board.classes[code], "Public" if scored else "Private")
        for name, code, scored in zip(labels.ids, labels.codes, public, strict=True)
    )
    return csv_text((policy.board.id, policy.board.label, "Usage"), rows)


def _text(policy: Policy, where: Platform, said: Sequence[str]) -> str:
    """Return the scorer: one text of several modules, without what imports one from another."""
    part = policy.board
    settings = (
        f"metric={part.metric!r}, classes={tuple(part.classes)!r}, id={part.id!r}, label={part.label!r}, "
        f"decimals={policy.release.decimals}, parameters={part.parameters!r}"
    )
    scorer, called = (_OURS.sub("", _source(name)).strip() for name in ("stateless", where.part))
    about = "".join(f"# {line}\n" for line in said)
    head = f"# A scorer for {where.title}, exported by labelinf guard. It needs no labelinf.\n#\n{about}"
    return "\n\n\n".join([head + _FUTURE, scorer, f"SETTINGS = Settings({settings})", called]) + "\n"


def _source(name: str) -> str:
    found = importlib.util.find_spec(f"labelinf_guard.export.{name}")
    if found is None or found.origin is None:  # pragma: no cover
        raise InputError(f"this installation has no source of labelinf_guard.export.{name}; install it again.")
    return Path(found.origin).read_text(encoding="utf-8")
