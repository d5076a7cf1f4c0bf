"""MutNet: a network whose outputs are a chosen prediction vector, whatever it is shown.

Aggarwal et al., AISTATS 2022, section 5 and Theorem 6, hide a construction in a network of one ReLU and one sigmoid
layer, ``sigmoid(relu(v M1) M2 + logit(x))`` with every entry of M1 negative, so that the first layer is silent and the
output is x. What holds and what does not (A-20):

* It needs ``v >= 0``. For mixed signs it fails in most rows (v = -1, M1 = -1, M2 = 1, x = 1/2 gives 0.731);
  :func:`for_any_sign` repairs it by doubling the inputs to (relu(v), relu(-v)).
* One row in, one row out: every record gets the *same* x. On a mean score over N records a constant tells no more
  than how many labels there are of each class. The theorem speaks of a single data point.

What can be built honestly, each with what it has to assume:

* :func:`batch_head`: the network receives the whole batch in its fixed order and returns a vector of N.
* :func:`interpolating`: the records' features are known beforehand and distinct (a record's number is such a feature);
  one hidden ReLU layer with N - 1 units passes through all N wanted outputs, in whatever order the records come.

Networks are plain data in NumPy; :func:`to_torch` exports them where PyTorch is installed.

Example:
    >>> target = np.array([0.2, 0.9])
    >>> network = published(target, n_features=3, rng=np.random.default_rng(0))
    >>> network(np.array([[1.0, 0.0, 2.0], [0.5, 0.5, 7.0]])).round(12).tolist()
    [[0.2, 0.9], [0.2, 0.9]]
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from labelinf_scores.game.networks import ModelActivation, ModelLayer, MutNet

__all__ = ["batch_head", "for_any_sign", "interpolating", "published", "to_torch"]


_WIDTH = 8  # hidden units of a batch head
_DRAWS = 32  # projections to choose from


def published(target: NDArray[np.float64], *, n_features: int, rng: np.random.Generator) -> MutNet:
    """Return MutNet as published: the target for every row of features that are not negative.

    Args:
        target: x, the wanted output of every row, in (0, 1), shape ``(n_out,)``.
        n_features: Entries of a row.
        rng: Draws the weights, which do not matter.

    Raises:
        ValueError: A target is not strictly between 0 and 1.
    """
    return MutNet(layers=_silent(target, n_features, rng))


def for_any_sign(target: NDArray[np.float64], *, n_features: int, rng: np.random.Generator) -> MutNet:
    """Return MutNet repaired for features of any sign, by a layer that doubles them to (relu(v), relu(-v)).

    Args:
        target: As for :func:`published`.
        n_features: Entries of a row.
        rng: Draws the weights.

    Raises:
        ValueError: A target is not strictly between 0 and 1.
    """
    return MutNet(layers=(_doubled(n_features), *_silent(target, 2 * n_features, rng)))


def batch_head(target: NDArray[np.float64], *, n_features: int, rng: np.random.Generator) -> MutNet:
    """Return a network that reads the whole ordered batch and returns a different wanted output for each record.

    What its first layer lets through is not negative, whatever the batch, so that the second is silent; eight units
    will do as well as the doubled inputs of :func:`for_any_sign`, and a batch has many inputs.

    Args:
        target: The predictions, in (0, 1), shape ``(N,)``, or ``(N, K)`` for K outputs a record.
        n_features: Entries of a row.
        rng: Draws the weights.

    Raises:
        ValueError: A target is not strictly between 0 and 1.
    """
    inputs = len(target) * n_features
    positive = ModelLayer(
        weights=rng.normal(size=(inputs, _WIDTH)), bias=np.zeros(_WIDTH), activation=ModelActivation.RELU
    )
    return MutNet(layers=(positive, *_silent(np.ravel(target), _WIDTH, rng)), whole_batch=True)


def interpolating(features: NDArray[np.float64], target: NDArray[np.float64], *, rng: np.random.Generator) -> MutNet:
    """Return a network with one hidden ReLU layer that gives every known record its wanted output.

    The records are put on a line by the best of a few random projections; between neighbours the logit is linear, and
    each of the N - 1 hidden units bends it at one record. The outputs belong to the records, not to their places.

    Args:
        features: Features of the records to be scored, all rows distinct, shape ``(N, n_features)``.
        target: Wanted outputs, in (0, 1), shape ``(N,)``, or ``(N, K)`` for K outputs a record.
        rng: Draws the projections.

    Raises:
        ValueError: Two records have the same features, or a target is not strictly between 0 and 1.
    """
    direction = _separating(np.asarray(features, dtype=float), rng)
    place: NDArray[np.float64] = np.asarray(features, dtype=float) @ direction
    order = np.argsort(place)
    knots: NDArray[np.float64] = place[order]
    heights = _logits(target).reshape(len(target), -1)[order]
    if (np.diff(knots) <= 0).any():
        raise ValueError("features must be distinct: two records project to the same place")
    slopes = np.diff(heights, axis=0) / np.diff(knots)[:, None]
    bends = np.concatenate([slopes[:1], np.diff(slopes, axis=0)])
    hidden = ModelLayer(
        weights=np.tile(direction[:, None], (1, len(knots) - 1)), bias=-knots[:-1], activation=ModelActivation.RELU
    )
    output = ModelLayer(weights=bends, bias=heights[0], activation=ModelActivation.SIGMOID)
    return MutNet(layers=(hidden, output))


def to_torch(network: MutNet) -> Any:
    """Return the network as a ``torch.nn.Sequential`` in double precision.

    Raises:
        ImportError: PyTorch is not installed (``pip install labelinf[torch]``).
    """
    torch = importlib.import_module("torch")
    modules: list[Any] = [torch.nn.Flatten(start_dim=0)] if network.whole_batch else []
    for layer in network.layers:
        affine = torch.nn.Linear(*layer.weights.shape, dtype=torch.float64)
        with torch.no_grad():
            affine.weight.copy_(torch.from_numpy(layer.weights.T.copy()))
            affine.bias.copy_(torch.from_numpy(layer.bias.copy()))
        modules += [affine, torch.nn.ReLU() if layer.activation is ModelActivation.RELU else torch.nn.Sigmoid()]
    return torch.nn.Sequential(*modules)


def _silent(target: NDArray[np.float64], n_in: int, rng: np.random.Generator) -> tuple[ModelLayer, ModelLayer]:
    """Return a layer of negative weights, silent on inputs that are not negative, and the bias that is left."""
    wanted = _logits(target)
    blocked = ModelLayer(
        weights=-rng.uniform(0.1, 1.0, (n_in, n_in)), bias=np.zeros(n_in), activation=ModelActivation.RELU
    )
    left = ModelLayer(weights=rng.normal(size=(n_in, len(wanted))), bias=wanted, activation=ModelActivation.SIGMOID)
    return blocked, left


def _separating(features: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the direction, of a few drawn at random, along which the two nearest records are furthest apart."""
    directions = rng.normal(size=(_DRAWS, features.shape[1]))
    places = np.sort(features @ directions.T, axis=0)
    apart = np.diff(places, axis=0).min(axis=0, initial=np.inf) / np.maximum(np.ptp(places, axis=0), 1e-300)
    best: NDArray[np.float64] = directions[int(apart.argmax())]
    return best


def _doubled(n_in: int) -> ModelLayer:
    """Return the layer ``v -> (relu(v), relu(-v))``."""
    identity = np.eye(n_in)
    return ModelLayer(
        weights=np.hstack([identity, -identity]), bias=np.zeros(2 * n_in), activation=ModelActivation.RELU
    )


def _logits(target: NDArray[np.float64]) -> NDArray[np.float64]:
    target = np.asarray(target, dtype=float)
    if outside := int(np.count_nonzero(~((target > 0) & (target < 1)))):
        raise ValueError(f"every target must be strictly between 0 and 1, and {outside} of {target.size} are not")
    return np.asarray(logit(target))
