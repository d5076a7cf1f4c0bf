"""Updates that were saved: which labels those of single records determine, which tokens those of a language model.

Where the last layer is frozen its bias, or the second matrix of its adapter, still tells one record's label: the row
that points against all others (G27). Any other parameter tells labels to who can run the client, and to no file.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.errors import InputError
from labelinf_core.statistics.proportions import clopper_pearson
from labelinf_gradients.audit.updates import Update
from labelinf_gradients.batches.tokens import token_labels
from labelinf_gradients.game.networks import Network
from labelinf_gradients.game.torch_network import TorchNetwork
from labelinf_gradients.recovery.factor import factor
from labelinf_gradients.recovery.results import BFLOAT16, FLOAT16, GradientPrecision, RecoveryStatus
from labelinf_gradients.recovery.solver import recover

__all__ = ["Saved", "audit_saved"]

_RANK_ONE = 1e-2  # what is left of a gradient of one record, in a half too
_LEAST_HALF = 2.0**-25  # half the distance of the smallest numbers of float16


@attrs.frozen(kw_only=True)
class Saved(AuditDecision):
    """What an audit of saved updates found.

    Attributes:
        n_updates: How many there are.
        certain: Of how many one label explains all, or one hard label where several others do.
        listed: Of how many several labels are listed, or the class alone is known.
        correct: How many hard labels are right, where the file holds them; -1 otherwise.
        agree: Of how many whose label one explanation determines it is the file's; -1 without labels.
        blind: Share of the commonest label in the file.
        scaled: Whether they are gradients up to a factor only.
        tokens: Of a language model, how many tokens are told to be labels, all updates together; -1 of other models.
        counts: Of how many of them it is known how often.
        solvable: Whether a last layer, its bias or its adapter is among what was saved.
        remark: What may be behind those that no label explains.
        assumes: What is not checked, for a file does not say it.
    """

    n_updates: int
    certain: int
    listed: int
    correct: int = -1
    agree: int = -1
    blind: float = 0.0
    scaled: bool = False
    tokens: int = -1
    counts: int = 0
    solvable: bool = True
    remark: str = ""
    assumes: str = "every update is of one record, its label the hard one if several explain it"

    @property
    def contradicted(self) -> bool:
        """Whether determined labels are not those of the file, and agree no more often than a blind guess may."""
        surely = self.certain > 0 and clopper_pearson(max(0, self.agree), self.certain).low > self.blind
        return 0 <= self.agree < self.certain and not surely

    @property
    def word(self) -> AuditWord:
        """The answer in a word."""
        return AuditWord.LEAKS if self.leaks else AuditWord.UNSHOWN

    @property
    def leaks(self) -> bool:
        """Whether labels are determined, and nothing that is given contradicts them."""
        return self.certain > 0 and not self.contradicted


def audit_saved(
    updates: list[Update], labels: NDArray[np.intp] | None, network: Network, precision: GradientPrecision
) -> Saved:
    """Solve saved updates of single records, as they are and up to a factor of either sign, whichever explains more.

    Args:
        updates: Each of one record; of a language model each of any texts.
        labels: The classes behind them, if they are known; the tokens, a row for each update, -100 where there is none.
        network: What they were computed from.
        precision: How exactly their numbers are known.

    Raises:
        InputError: The labels are not one class for every update.
    """
    own, bias = network.classifier_names, ""
    if isinstance(network, TorchNetwork):
        bias = network.head.bias
        if own and own[0] in updates[0] and network.vocabulary == len(network.classifier.weights):
            return _of_tokens(updates, labels, network)
    if labels is not None and labels.shape != (len(updates),):
        raise InputError(
            f"'labels' has shape {labels.shape}, expected ({len(updates)},): a file holds updates of one record each."
        )
    name = next((name for name in (*own, bias) if name in updates[0]), "")
    if name not in own[:1]:
        rows = _odd_rows(np.array([np.atleast_1d(update.get(name, 0.0)) for update in updates])[..., None])
        return _counted(rows, rows >= 0, labels, solvable=bool(name))
    layer, gradients = network.classifier, np.array([update[name] for update in updates])
    gradients[_of_several(gradients, precision)] = np.nan  # which explains nothing
    solve = functools.partial(recover, bias=layer.bias, nonnegative=network.nonnegative, precision=precision)
    ways = ((False, 1), (True, -1), (True, 1))
    tries = [(solve(sign * gradients, layer.weights, scaled=scaled), scaled) for scaled, sign in ways]
    explaining = [sum(status is not RecoveryStatus.UNEXPLAINED for status in found.status) for found, _ in tries]
    explained, (best, scaled) = max(explaining), tries[int(np.argmax(explaining))]
    unique = np.array([status is RecoveryStatus.UNIQUE for status in best.status], dtype=bool)
    # Of an adapter nothing is explained: the layer that it is added to is nowhere in it.
    several = np.array([not explained or status is RecoveryStatus.AMBIGUOUS for status in best.status], dtype=bool)
    rows = np.where(several, _odd_rows(gradients), -1)
    silent = sum(status is RecoveryStatus.NO_INFORMATION for status in best.status)
    listed = max(0, explained - int((unique | (rows >= 0)).sum()) - silent)
    told = np.where(rows < 0, best.hard, rows)
    return _counted(told, unique | (rows >= 0), labels, listed=listed, scaled=scaled, remark=best.remark)


def _counted(
    told: NDArray[np.intp], sure: NDArray[np.bool_], labels: NDArray[np.intp] | None, *, listed: int = 0, **also: Any
) -> Saved:
    """Return what is found, from a class for every update and whether that is sure."""
    certain, also = int(sure.sum()), {"listed": listed, **also}
    if labels is not None:
        also["correct"], also["agree"] = int((told == labels).sum()), int((told == labels)[sure].sum())
        also["blind"] = float(np.unique(labels, return_counts=True)[1].max(initial=0) / len(told))
    return Saved(n_updates=len(told), certain=certain, **also)


def _odd_rows(gradients: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the row of every gradient of rank one that points against all others; -1 where there is none."""
    parts = factor(gradients)
    signs = np.where(parts.misfit[:, None] < _RANK_ONE, np.sign(parts.column), 0)
    total = signs.sum(axis=1)
    told = (np.abs(total) == signs.shape[1] - 2) & signs.all(axis=1) & (total != 0)
    return np.where(told, (signs * total[:, None]).argmin(axis=1), -1)


def _of_tokens(updates: list[Update], labels: NDArray[np.intp] | None, network: TorchNetwork) -> Saved:
    """Return which tokens are labels somewhere in the texts behind every update.

    How many places these have is used with a bias alone: it shows whether an update is their mean gradient, and whether
    it is one at all, for most tokens are no labels.
    """
    (weight, *more), layer, right, told = network.classifier_names, network.classifier, 0, []
    for row, update in enumerate(updates):
        truth = np.zeros(0, dtype=np.intp) if labels is None else np.ravel(labels[row])
        known, bias = np.unique(truth[truth >= 0]), update.get(more[0]) if more else None
        places = 0 if bias is None or np.median(bias) < 0 else int((truth >= 0).sum())
        tied = network.head.tied
        told.append(token_labels(update[weight], layer.weights, bias_gradient=bias, places=places, tied=tied))
        right += int((tied or len(known) == len(told[row].tokens)) and np.isin(known, told[row].tokens).all())
    found = Saved(
        n_updates=len(told),
        certain=sum(len(each.tokens) > 0 for each in told),
        listed=0,
        tokens=sum(len(each.tokens) for each in told),
        counts=sum(int((each.least == each.most).sum()) for each in told),
    )
    return found if labels is None else attrs.evolve(found, correct=right, agree=right)


def _of_several(gradients: NDArray[np.float64], precision: GradientPrecision) -> NDArray[np.bool_]:
    """Return which gradients in a half are further from rank one than the rounding of one record's can put them."""
    if precision not in (FLOAT16, BFLOAT16):
        return np.zeros(len(gradients), dtype=bool)
    squares = np.linalg.svd(gradients, compute_uv=False) ** 2
    lost = _LEAST_HALF * math.sqrt(gradients[0].size) if precision == FLOAT16 else 0.0
    bound = 1.01 * precision.rounding * np.sqrt(squares.sum(axis=1)) + lost
    return np.asarray(np.sqrt(squares[:, 1:].sum(axis=1)) > bound)
