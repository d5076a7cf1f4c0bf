"""What defences cost honest users, from several draws: one draw of a rank correlation says little of the next."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import HALF_WIDTH, Channel, Defence, LabelSet

__all__ = ["cost"]

_DRAWS = 5
_STUDENT = 2.776  # quantile .975 of Student's law with four degrees of freedom


def cost(
    channel: Channel, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator
) -> Mapping[str, float]:
    """Return the mean of every measure, and beside what chance decides the half width of its 95 % interval.

    What two draws agree on in every measure is taken to be no matter of chance.

    Raises:
        ComponentError: The channel returns something else than named finite numbers.
        InputError: The labels and the defences do not fit together.
    """
    streams = rng.spawn(_DRAWS)
    draws = [gate.finite(channel.utility(data, defences, each), "measure") for each in streams[:2]]
    if draws[0] == draws[1]:
        return draws[0]
    draws += [gate.finite(channel.utility(data, defences, each), "measure") for each in streams[2:]]
    found = {}
    for key in draws[0]:
        values = np.array([draw[key] for draw in draws if key in draw])
        found[key] = float(values.mean())
        if np.ptp(values) > 0:
            found[key + HALF_WIDTH] = float(_STUDENT * values.std(ddof=1) / math.sqrt(values.size))
    return found
