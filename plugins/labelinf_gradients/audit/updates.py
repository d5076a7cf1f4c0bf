"""What a client's own code sends, in whatever shape: read into arrays by parameter, and from files of saved updates.

A client may return a mapping from parameter names, a sequence in the order of the parameters (as Flower does), or the
module itself after training. New parameters are told from changes by what they have in common with the old ones.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.contracts.regular import read_regular
from labelinf_data.arrays import read_arrays
from labelinf_gradients.defences.clipping import ClippedGaussian
from labelinf_gradients.game.networks import Network, Perceptron
from labelinf_gradients.game.own_network import seeded
from labelinf_gradients.recovery.tensors import FORMATS, as_array, rounded_to
from labelinf_gradients.shielding import MISTAKES, Passed, watched

__all__ = ["Update", "UserClient", "as_update", "read_updates", "updates_of"]

Update = Mapping[str, NDArray[np.float64]]  #: by parameter; the last layer's weights have a row for every class
_IN_COMMON = 0.5  # of the old parameters, that are in new ones at least: changes point elsewhere


@attrs.frozen(kw_only=True, eq=False)
class UserClient:
    """Somebody's code, called with copies of the module that everybody knows.

    Attributes:
        function: Called as ``function(module, x, labels)``; with a list of arrays for a network of arrays.
        name: How messages call it.
        network: The module.
        sends: The parameters that it sent about the first records.
        shields: What its updates came out of, and None if one did not come out of a shield as it was sent.
        formats: Of every parameter, the formats of numbers in which all its updates can have been sent.
        beside: Digests of what it sent beside parameters, buffers, counts and whatever else has a name, and of how it
            was written: in which order, under which names, as what.
        new: Whether it sends new parameters or the trained module, and no change of them.
    """

    function: Callable[..., Any]
    name: str
    network: Network
    sends: list[str] = attrs.field(factory=list, init=False)
    shields: set[ClippedGaussian | None] = attrs.field(factory=set, init=False)
    formats: dict[str, set[int]] = attrs.field(factory=dict, init=False)
    beside: set[bytes] = attrs.field(factory=set, init=False)
    new: set[bool] = attrs.field(factory=set, init=False)

    @property
    def tells_more(self) -> bool:
        """Whether what is sent beside the parameters, which no attack looks at, follows the records."""
        return len(self.beside) > 1

    def __call__(self, x: NDArray[Any], classes: NDArray[np.intp]) -> Update:
        """Return what the client sends about some records.

        Args:
            x: Shape ``(batch, d)``.
            classes: Their classes, shape ``(batch,)``.

        Raises:
            InputError: The code fails, or what it returns cannot be read.
        """
        sent, passed = self._called(x, classes)
        parts, new = _parts(sent, self.network, self.name)
        self.new.add(new)
        update = _change(parts, new, self.network)
        if list(update) != self.sends:
            if self.sends:
                raise InputError(
                    f"client {self.name!r} sends other parameters about some records than about others, and which ones "
                    "may tell of labels: let it send zeros for what it leaves out."
                )
            self.sends.extend(update)
        self.shields.add(self._shield(sent, update, passed))
        self.beside.add(_digest({**_beside(sent, self.network), "": _written(sent)}))
        return update

    def _called(self, x: NDArray[Any], classes: NDArray[np.intp]) -> tuple[Any, list[Passed]]:
        """Return what the function returns, and what came out of shields meanwhile."""
        given = self._given(x, classes)
        with watched() as passed:
            try:
                return self.function(*given), passed
            # The user's code may raise anything at all.
            except Exception as error:
                mistaken = isinstance(error, InputError) and str(error) in MISTAKES
                told = str(error) if mistaken else f"{unquoted(error)}{self._cure(x, classes)}."
                raise InputError(f"client {self.name!r} fails: {told}") from error

    def _cure(self, x: NDArray[Any], classes: NDArray[np.intp]) -> str:
        """Say under what a client that failed does not fail: in train mode, or about more records than one."""
        eager = "; given its module in train mode it does not: an audit gives it in evaluation mode, call model.train()"
        more = "; about two records it does not, as batch normalisation: --batch 8 of labelinf audit client asks so"
        tried = [("", False, 1), (eager, True, 1)]  # what fails now and then has no cure
        tried += [(more, False, 2), (more + eager, True, 2)] if len(x) == 1 else []
        for cure, mode, records in tried:
            model, *others = self._given(np.repeat(x, records, axis=0), np.repeat(classes, records))
            with contextlib.suppress(Exception):
                self.function(model.train() if mode else model, *others)
                return cure
        return ""

    def shielded(self, batches: Sequence[tuple[NDArray[Any], NDArray[np.intp]]]) -> list[list[bytes]]:
        """Return a digest of what goes into its shield about every batch, global generators beginning alike at each."""
        found = []
        for batch in batches:
            with seeded(0):
                _, passed = self._called(*batch)
            found.append([each.given for each in passed])
        return found

    def _shield(self, sent: Any, update: Update, passed: list[Passed]) -> ClippedGaussian | None:
        """Return what an update came out of; None where more was done than rounding it or adding the public module.

        Two shields are two answers about the same records, and a choice among them is more than either tells; a choice
        of the format tells as much.
        """
        if len(passed) != 1 or not _plain(sent):
            return None
        try:
            came = as_update(passed[0].sent, self.network, self.name)
        except InputError:
            return None
        for name, own in update.items():
            old = self.network.parameters.get(name, np.zeros(own.shape, dtype=np.float32))
            found = _formats(own, came[name], old) if name in came else set()
            self.formats[name] = self.formats.get(name, found) & found
        return passed[0].defence if all(self.formats.values()) else None

    def _given(self, x: NDArray[Any], classes: NDArray[np.intp]) -> tuple[Any, Any, Any]:
        network = self.network
        if isinstance(network, Perceptron):
            own = [np.array(part) for part in network.parameters.values()]
            return own, np.array(x, dtype=own[0].dtype), np.array(classes)
        import torch

        from labelinf_gradients.game.torch_network import TorchNetwork

        if not isinstance(network, TorchNetwork):
            raise TypeError(f"{type(network).__name__} cannot be given to a client.")
        labels = torch.as_tensor(np.array(classes), dtype=torch.long)
        return copy.deepcopy(network.module), network.inputs(x), labels


def _formats(sent: NDArray[np.float64], came: NDArray[np.float64], old: NDArray[Any]) -> set[int]:
    """Return in which formats of numbers, alone or added to the module's own, what was sent is what came out."""
    with np.errstate(over="ignore"):
        new = (old + came.astype(old.dtype)).astype(np.float64)  # among much noise not told from a change
        ways = (new, new - old, *(rounded_to(came, name) for name in FORMATS))
    return {at for at, way in enumerate(ways) if np.array_equal([sent, np.signbit(sent)], [way, np.signbit(way)])}


def _plain(sent: Any) -> bool:
    """Whether that is arrays in a mapping or a list and no more: other classes, attributes and views carry more."""
    if type(sent) not in (dict, collections.OrderedDict, list, tuple) or getattr(sent, "__dict__", {}):
        return False
    names, parts = (list(sent), list(sent.values())) if isinstance(sent, Mapping) else ([], list(sent))
    return all(type(name) is str for name in names) and all(map(_plain_array, parts))


def _plain_array(part: Any) -> bool:
    if type(part) is np.ndarray:
        return bool(part.flags.c_contiguous and part.base is None)
    torch = sys.modules.get("torch")
    if torch is None or type(part) is not torch.Tensor or part.__dict__ or part.requires_grad or part.grad is not None:
        return False
    return bool(part.is_contiguous() and part.untyped_storage().nbytes() == part.numel() * part.element_size())


def as_update(sent: Any, network: Network, name: str) -> Update:
    """Return what a client sent, by parameter.

    Args:
        sent: A mapping from names, a sequence in the order of the parameters, or the trained module. Where no name is
            one of the module's (adapters that the client adds), all that is sent is a gradient or a change.
        network: What it was computed from.
        name: How messages call the client.

    Raises:
        InputError: It is none of these, or arrays do not have the parameters' shapes.
    """
    return _change(*_parts(sent, network, name), network)


def _change(arrays: Update, new: bool, network: Network) -> Update:
    """Return the change of what a client sent, where it sent new parameters."""
    return {key: value - network.parameters[key] for key, value in arrays.items()} if new else arrays


def _parts(sent: Any, network: Network, name: str) -> tuple[Update, bool]:
    """Return the arrays of what a client sent, by parameter, and whether they are new parameters."""
    trained, orders = hasattr(sent, "named_parameters"), _orders(network)
    sent = dict(sent.named_parameters()) if trained else sent
    if isinstance(sent, Sequence) and not isinstance(sent, str):
        order = next((names for names in orders if len(names) == len(sent)), None)
        if order is None:
            raise InputError(f"client {name!r} returned {len(sent)} arrays for {len(orders[0])} parameters.")
        sent = dict(zip(order, sent, strict=True))
    if not isinstance(sent, Mapping):
        raise InputError(
            f"client {name!r} returned {type(sent).__name__}, expected a mapping from parameter names, a sequence in "
            f"their order, or the trained module."
        )
    old, sent = network.parameters, _named(sent, network)
    known = {str(key) for key in sent} & set(old)
    arrays = {str(key): as_array(value) for key, value in sent.items() if str(key) in known or not known}
    if not arrays:
        raise InputError(f"client {name!r} returned nothing.")
    for head in network.classifier_names[:1]:
        arrays = {key: _head_rows(value, network) if key == head else value for key, value in arrays.items()}
    _check(arrays, old, name)
    arrays = {key: np.asarray(arrays[key], dtype=np.float64) for key in ((known and old) or arrays) if key in arrays}
    return arrays, bool(known) and (trained or _in_common(arrays, old) > _IN_COMMON)


def _named(sent: Mapping[Any, Any], network: Network) -> dict[str, Any]:
    """Return what was sent under the module's own names: peft saves them without what it put between, its adapter's."""
    between = {*getattr(getattr(network, "module", None), "peft_config", ()), "modules_to_save"}
    short = {".".join(part for part in name.split(".") if part not in between): name for name in network.parameters}
    return {short.get(str(key), str(key)): value for key, value in sent.items()}


def _beside(sent: Any, network: Network) -> Mapping[str, Any]:
    """Return what a client sent that is no parameter, by name."""
    if hasattr(sent, "named_parameters"):
        return dict(getattr(sent, "named_buffers", dict)())
    if not isinstance(sent, Mapping):
        sent = dict(zip(next(names for names in _orders(network) if len(names) == len(sent)), sent, strict=True))
    sent = _named(sent, network)
    if not set(sent) & set(network.parameters):
        return {}
    own = {_digest({"": value}): name for name, value in sent.items() if name in network.parameters}
    others = {name: value for name, value in sent.items() if name not in network.parameters}
    return {name: own.get(_digest({"": value}), value) for name, value in others.items()}  # which one a tied one is


def _written(sent: Any) -> str:
    """Return how an update is written, whatever its numbers are: of what type, and in its order the names and types."""
    parts = dict(sent.named_parameters()) if hasattr(sent, "named_parameters") else sent
    items = parts.items() if isinstance(parts, Mapping) else enumerate(parts)
    return repr([type(sent), *((name, type(part), str(getattr(part, "dtype", ""))) for name, part in items)])


def _digest(parts: Mapping[str, Any]) -> bytes:
    """Return a digest of numbers by name; what is none is known by how it is written."""
    found = hashlib.sha256()
    for name, value in sorted(parts.items()):
        try:
            array = as_array(value)
        except (TypeError, ValueError, RuntimeError):
            array = np.array(value, dtype=object)
        content = repr(value).encode() if array.dtype.hasobject else array.tobytes()
        found.update(repr((name, array.shape, str(array.dtype), len(content))).encode() + content)
    return found.digest()


def _orders(network: Network) -> list[list[str]]:
    """Return the names that a sequence can stand for: of the parameters that are trained, of all, with buffers."""
    module = getattr(network, "module", None)
    found = [list(network.parameters)]
    return found if module is None else [*found, [n for n, _ in module.named_parameters()], list(module.state_dict())]


def _head_rows(values: NDArray[Any], network: Network) -> NDArray[Any]:
    """Return the last layer's weights with a row for every class, as the network's own are."""
    head = getattr(network, "head", None)
    return values if head is None or not head.fits(values.shape, network.shapes[head.weight]) else head.rows(values)


def _in_common(arrays: Mapping[str, NDArray[Any]], old: Mapping[str, NDArray[Any]]) -> float:
    """Return how often what was sent contains the old parameters, or their cosine if that is less."""
    new, own = (np.concatenate([np.ravel(side[key]) for key in arrays]).astype(np.float64) for side in (arrays, old))
    size = max(float(np.linalg.norm(own)), 1e-300)
    return float(new @ own) / max(size * size, size * float(np.linalg.norm(new)))


def _check(arrays: Mapping[str, NDArray[Any]], parameters: Mapping[str, Any], name: str) -> None:
    """Refuse arrays that do not fit their parameters, or are not finite."""
    for key, value in arrays.items():
        if key in parameters and value.shape != parameters[key].shape:
            raise InputError(
                f"client {name!r} returned {key!r} of shape {value.shape}, expected {parameters[key].shape}."
            )
    if any(value.dtype.kind not in "fiub" for value in arrays.values()):
        raise InputError(f"client {name!r} returned what holds no numbers, expected arrays by parameter.")
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise InputError(f"client {name!r} returned numbers that are not finite.")


def read_updates(path: str, network: Network) -> tuple[list[Update], NDArray[np.intp] | None]:
    """Return the updates of a file, and the classes behind them if it holds those as ``labels``.

    A file holds an array for every parameter, by its name, one update along the first axis; or one update, an adapter
    as peft writes it.

    Args:
        path: An ``.npz`` or a ``.safetensors`` file.
        network: What they were computed from.

    Raises:
        InputError: It cannot be read, or its arrays do not fit.
    """
    arrays = _safetensors(path) if path.endswith(".safetensors") else read_arrays(path)
    labels = arrays.pop("labels", None)
    return updates_of(arrays, network, path), None if labels is None else np.asarray(labels, dtype=np.intp)


def updates_of(arrays: Mapping[str, NDArray[Any]], network: Network, path: str) -> list[Update]:
    """Return updates from an array for every parameter, one update along the first axis of each.

    Raises:
        InputError: The arrays do not fit the network; ``path`` says where they stand.
    """
    own, arrays = network.parameters, _named(arrays, network)
    names = [name for name in own if name in arrays]
    if names and all(arrays[name].shape == own[name].shape for name in names):
        return [as_update({name: arrays[name] for name in names}, network, path)]
    counts = {len(arrays[name]) for name in names if arrays[name].ndim}
    if len(counts) != 1:
        raise InputError(
            f"{path} must hold an array for every parameter, by its name, {next(iter(own), '')!r} for one, with one "
            f"update along the first axis of each."
        )
    (n,) = counts
    return [as_update({name: arrays[name][row] for name in names}, network, path) for row in range(n)]


_FORMATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}


def _safetensors(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file in the safetensors format: a length, a JSON header, and numbers."""
    try:
        data = read_regular(path)
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        found = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            low, high = entry["data_offsets"]
            values = np.frombuffer(data[8 + size + low : 8 + size + high], dtype=_FORMATS[entry["dtype"]])
            if entry["dtype"] == "BF16":
                values = (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
            found[name] = values.reshape(entry["shape"])
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a safetensors file of plain numbers.") from error
    return found


def format_seen(updates: Sequence[Update]) -> str:
    """Return the coarsest number format that holds all numbers of some updates."""
    values = np.concatenate([part.ravel() for update in updates for part in update.values()])
    with np.errstate(over="ignore"):
        for name in ("bfloat16", "float16", "float32"):
            if np.array_equal(rounded_to(values, name).astype(np.float64), values):
                return name
    return "float64"
