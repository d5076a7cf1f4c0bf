"""What would stop a scorer from giving labels away: the smallest change of each kind that is proved to reach a target.

The proof is of the board as it would be deployed, whatever the scorer is (:mod:`.certificate`). A change is played on
the scorer besides, which may refute it, and is then left out; so is one in front of which the scorer breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from labelinf_core.advise.search import Advice
from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import Defence, LabelSet, TunableParameter, of_channel
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder
from labelinf_scores.audit.certificate import (
    AuditedBoard,
    BoardCertificate,
    Certifying,
    certificate,
    informed,
    never_asking,
)
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.scorers import is_own
from labelinf_scores.metrics.readings.sums import MeanLoss

__all__ = ["Remedy", "changes_for", "exceeds"]


@attrs.frozen(kw_only=True)
class Remedy:
    """A change that is proved to reach the target, and was not refuted when it was played.

    Attributes:
        advice: The change and what it costs.
        proof: What is proved of the board with it.
        behind: What the strongest attack that could be played got on this very scorer behind it; None: none could.
    """

    advice: Advice
    proof: BoardCertificate
    behind: Extraction | None

    @property
    def ranking(self) -> float:
        """How well it leaves honest participants ranked, at most 1; -1 where that is not known."""
        return float(self.advice.certified_cost.get("rank_correlation", -1.0))


def exceeds(leak: Extraction, target: Target) -> bool:
    """Whether what an attack got in one game is more than the target tolerates."""
    if leak.accuracy is None:
        return False
    return leak.accuracy.value > target.accuracy if target.accuracy is not None else leak.exact


def changes_for(
    play: Callable[..., Iterator[Extraction]] | None,
    data: LabelSet,
    board: AuditedBoard,
    leaks: Sequence[Extraction],
    *,
    builder: Builder,
    standing: tuple[Defence, ...],
    target: Target,
    seed: int,
) -> Iterator[Remedy]:
    """Yield the smallest change of every kind that reaches ``target``, behind the stages that stand.

    Args:
        play: Plays attacks on the scorer behind defences (:func:`audit_scorer`); None: nothing is known to play on.
        data: The private labels.
        board: The board as it is.
        leaks: What every attack got.
        builder: Builds defences and attacks.
        standing: The stages that stand.
        target: What is to be reached.
        seed: Of all that is drawn.
    """
    mean = board.found is None or isinstance(board.found.metric, MeanLoss)
    general = [] if mean else shipped()["general"]
    strongest = [leak.attack for leak in sorted(leaks, key=lambda leak: -leak.labels_per_query) if leak.accuracy]
    strongest = [spec for spec in strongest if not spec.startswith("simulate")]  # minutes behind every change
    strongest += [spec for spec in shipped()["attacks" if mean else "metrics"] if spec not in strongest]
    for advisor, knob in _turned(data, board, builder, standing, target):
        advice = advisor.advise(knob)
        if advice.certified is None:
            continue
        game = of_channel(advisor.channel, AuditedBoard, "channel", "score")
        try:
            stages = (*standing, *builder.pipeline((advice.setting,), "audit"))
            proof = certificate(builder, game.deployed(data, stages), target)
            if proof is not None and game is not board:
                proof, behind = never_asking(proof), None
            else:
                behind = None if play is None else _played(play, strongest, general, stages, seed)
        except InputError:  # it does not fit in front of this scorer
            continue
        if proof is not None and (behind is None or not (behind.failure or exceeds(behind, target))):
            yield Remedy(advice=advice, proof=proof, behind=behind)


def _turned(
    data: LabelSet, board: AuditedBoard, builder: Builder, standing: tuple[Defence, ...], target: Target
) -> Iterator[tuple[Certifying, TunableParameter]]:
    """Yield every knob and who turns it: of a stage that never asks the scorer, on the board of what it agrees with."""
    boards = (board,) if not is_own(board.scorer) else (board, board.twin)
    for game in filter(None, boards):
        advisor = Certifying(
            builder=builder,
            name="score",
            channel=game,
            data=informed(data),
            base=standing,
            target=target,
            attacks=(),
        )
        for knob in advisor.tunable_parameters():
            stage = builder.build(Kind.DEFENCE, knob.spec(knob.strongest), "audit")
            asked = not isinstance(stage, ScoreDefence) or stage.asks
            if len(boards) == 1 or asked is (game is board):
                yield advisor, knob


def _played(
    play: Callable[..., Iterator[Extraction]],
    strongest: Sequence[str],
    general: Sequence[str],
    stages: tuple[Defence, ...],
    seed: int,
) -> Extraction | None:
    """Return the most that the first of the strongest attacks that can be played there gets, and the general ones.

    What read the most without a defence need not behind one. Where all refuse, nothing was played: None.
    """
    games = (next(iter(play(attacks=[spec], rng=np.random.default_rng(seed), defences=stages))) for spec in strongest)
    first = next((game for game in games if not game.refusal), None)
    others = [spec for spec in general if first is None or spec != first.attack]
    played = [*play(attacks=others, rng=np.random.default_rng(seed), defences=stages)] if others else []
    played = [game for game in (first, *played) if game is not None and not game.refusal]
    return max(played, key=lambda game: (bool(game.failure), game.accuracy is not None, game.right), default=None)
