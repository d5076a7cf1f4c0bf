"""A board that was begun, as a game: what an audit plays attacks on, and what is proved of it.

The game draws a split and noise of its own by the same policy, so that an audit asks nothing of the board itself and
charges its ledger with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_guard.board import Board
from labelinf_guard.certificate.statement import points
from labelinf_guard.status import besides

__all__ = ["Deployed", "deployed"]


@attrs.frozen(kw_only=True)
class Deployed:
    """A board in the words of the score channel.

    Attributes:
        labels: All its labels; who plays does not know which are public.
        metric: What it scores, as a spec.
        stage: The board, as the spec of a defence.
        queries: Submissions of all teams together.
        gain: What it was begun to keep to, as a share.
        until: When what is proved of the game ends, as a clause; empty where it does not.
        besides: What was told of the labels that is no part of the game.
    """

    labels: LabelSet = attrs.field(repr=False)
    metric: str
    stage: str
    queries: int
    gain: float
    until: str = ""
    besides: tuple[str, ...] = ()


def deployed(board: Board) -> Deployed:
    """Return a board as a game.

    Raises:
        InputError: Attacks are not played on boards of this kind.
    """
    policy, part = board.policy, board.policy.board
    cut = policy.release.low is not None or policy.release.high is not None
    kinds = {"a scorer of your own": part.ours, "groups": part.group, "values": part.values, "scores that are cut": cut}
    for kind in (kind for kind, there in kinds.items() if there):
        raise InputError(f"an audit plays on no board with {kind}; labelinf guard status says what it proves.")
    bits = board.budget()
    given = {
        "share": policy.public.share,
        "decimals": policy.release.decimals,
        "noise": policy.release.noise,
        "bits": -1.0 if math.isinf(bits) else bits,
        "answers": policy.budget.per_board,
        "rule": policy.release.rule,
        "show": policy.release.show,
        "flip": policy.public.flip,
        "low": part.low,
        "high": part.high,
    }
    parameters = dict(part.parameters)
    if part.metric == "log-loss":
        given["clip"] = parameters.pop("clip", 0.01)
    after = (proved := board.certificate()).after
    said = "nothing is proved" if proved.void or after is None else f"{points(after)} points over a perfect model are"
    codes = np.array(board.labels)
    codes.setflags(write=False)
    return Deployed(
        labels=LabelSet(labels=codes, class_names=tuple(part.classes), title=part.title, provenance=part.labels),
        metric=_spec(part.metric, parameters),
        stage=_spec("guarded-board", {key: value for key, value in given.items() if value is not None}),
        queries=policy.budget.per_board,
        gain=policy.target.gain,
        until="" if after is None else f"until the final release, after which {said}",
        besides=tuple(besides(board)),
    )


def _spec(name: str, parameters: Mapping[str, object]) -> str:
    said = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name}({said})" if said else name
