"""A user's own update clipped as a whole and put behind noise, and a watch over what came out of that.

Code that audits a client calls it under :func:`watched`: what reaches the wire can then be compared with what came out
here, which is how a shield is seen behind whose noise nothing else can be.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.recovery.tensors import as_array

__all__ = ["MISTAKES", "Passed", "shielded", "watched"]

_LEAST, _MOST = 1e-100, 1e100
_NUMBERS = f"li.shield: norm and multiplier must be positive numbers, from {_LEAST:g} to {_MOST:g}."
_ARRAYS = (
    "li.shield takes an update as a mapping or a list that is not empty, of dense arrays or tensors of real numbers, "
    "none of them None: of a module, the changes of its parameters."
)
_BEFORE = (
    "li.shield takes as before what training began with: the model, or its parameters, by the names or in the order of "
    "the update, and in its shapes."
)
_SAME = "li.shield: before is the very model that was trained, so that nothing has changed; copy it before training."
MISTAKES = (_NUMBERS, _ARRAYS, _BEFORE, _SAME)  #: all that is ever said of a mistake: nothing of what was given

_WATCH: contextvars.ContextVar[list[Passed] | None] = contextvars.ContextVar("shielded", default=None)


@attrs.frozen(kw_only=True, eq=False)
class Passed:
    """An update that came out of a shield.

    Attributes:
        defence: Its clip and its noise.
        sent: The update, as it was returned.
        given: A digest of what was clipped: it tells whether two updates are the same beneath their noise.
    """

    defence: ClippedGaussian
    sent: Any
    given: bytes


@contextlib.contextmanager
def watched() -> Iterator[list[Passed]]:
    """Collect what comes out of shields inside."""
    passed: list[Passed] = []
    token = _WATCH.set(passed)
    try:
        yield passed
    finally:
        _WATCH.reset(token)


def shielded(update: Any, *, norm: float, multiplier: float, before: Any = None) -> Any:
    """Return an update clipped as a whole, in noise of the system's own randomness.

    Args:
        update: A mapping from names, or a sequence, of arrays or tensors.
        norm: To which all of it together is clipped.
        multiplier: Standard deviation of the noise over ``norm``.
        before: The model, or its parameters, before training; ``update`` is then the trained model, or its parameters,
            and the change of the parameters is what is shielded, without buffers.

    Returns:
        A mapping or a list of arrays of float64, and of tensors where those were given, of their types.

    Raises:
        InputError: One of :data:`MISTAKES`.
    """
    if not all(isinstance(size, Real) and _LEAST <= size <= _MOST for size in (norm, multiplier)):
        raise InputError(_NUMBERS)
    update = update if before is None else _changed(update, before)
    if not isinstance(update, Mapping | Sequence) or isinstance(update, str | bytes) or not len(update):
        raise InputError(_ARRAYS)
    given = list(update.values() if isinstance(update, Mapping) else update)
    parts = [_numbers(part) for part in given]
    defence = ClippedGaussian(norm=float(norm), multiplier=float(multiplier))
    stage = defence.deployed()
    whole = np.concatenate([part.ravel() for part in parts])
    row = stage.release(stage.examples(whole[None], ())[0], ())
    pieces = np.split(row, np.cumsum([part.size for part in parts])[:-1])
    arrays = [own.reshape(part.shape).copy() for own, part in zip(pieces, parts, strict=True)]  # no view of the others
    arrays = list(map(_like, arrays, given))
    sent = dict(zip(update, arrays, strict=True)) if isinstance(update, Mapping) else arrays
    watch = _WATCH.get()
    if watch is not None:
        digest = hashlib.sha256(whole.tobytes()).digest()
        watch.append(Passed(defence=defence, sent=copy.deepcopy(sent), given=digest))  # whoever gets it may change it
    return sent


def _changed(update: Any, before: Any) -> Any:
    """Return what parameters have changed by: in their order where they had no names, by name otherwise.

    Raises:
        InputError: They are not those of before.
    """
    old, new = _named(before), _named(update)
    if isinstance(update, Sequence):
        orders = [list(old)]
        if hasattr(before, "named_parameters"):  # with those that are not trained, or with buffers: both are left out
            orders += [[name for name, _ in before.named_parameters()], list(before.state_dict())]
        new = next((dict(zip(names, update, strict=True)) for names in orders if len(names) == len(update)), {})
    pairs = [(name, as_array(part), as_array(old[name])) for name, part in new.items() if name in old]
    if not pairs or any(part.shape != own.shape for _, part, own in pairs):
        raise InputError(_BEFORE)
    if any(np.may_share_memory(part, own) for _, part, own in pairs):  # its change would be 0 for ever
        raise InputError(_SAME)
    changes = {name: _like(_numbers(part) - _numbers(own), new[name]) for name, part, own in pairs}
    return list(changes.values()) if isinstance(before, Sequence) else changes


def _named(parts: Any) -> dict[Any, Any]:
    """Return parameters by name, or by their places.

    Raises:
        InputError: It holds none.
    """
    if hasattr(parts, "named_parameters"):
        return {name: part for name, part in parts.named_parameters() if part.requires_grad}  # the others are public
    if not isinstance(parts, Mapping | Sequence) or isinstance(parts, str | bytes):
        raise InputError(_BEFORE)
    return dict(parts) if isinstance(parts, Mapping) else dict(enumerate(parts))


def _like(array: NDArray[np.float64], given: Any) -> Any:
    """Return an array as a tensor like the one that was given, with nothing of it but its type; as it is otherwise."""
    if not hasattr(given, "new_tensor"):
        return array
    return (given if given.is_floating_point() else given.double()).new_tensor(array)


def _numbers(part: Any) -> NDArray[np.float64]:
    try:
        array = as_array(part)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(_ARRAYS) from error
    if array.dtype.kind not in "biuf":
        raise InputError(_ARRAYS)
    return array.astype(np.float64)
