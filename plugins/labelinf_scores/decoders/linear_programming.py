"""Signs from noisy sums of signs, by linear programming.

Among all ``z`` in the cube [-1, 1]^n the one whose sums ``A z`` are nearest to the answers, in the sum of the
deviations (L1) or in the largest of them (Linf); then the signs of that z. This is the reconstruction of C. Dwork,
F. McSherry and K. Talwar (*The price of privacy and the limits of LP decoding*, STOC 2007). The cube is what makes
fewer sums than signs enough.

The largest deviation suits noise that is bounded: the error of an estimate then falls as 1/q, not as 1/sqrt(q), so
that bounded noise protects least where many queries are allowed. L1 suits noise with tails.

Example:
    >>> import numpy as np
    >>> fit_signs(np.array([[1, 1], [1, -1]]), np.array([0.2, 1.9]), Norm.L1).round().tolist()
    [1.0, -1.0]
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array

__all__ = ["Norm", "fit_signs"]


class Norm(enum.Enum):
    """How deviations of the answers are weighed."""

    L1 = "l1"
    """Their sum: for noise with tails."""

    LINF = "linf"
    """The largest: for bounded noise."""


def fit_signs(design: NDArray[np.integer[Any]], answers: NDArray[np.float64], norm: Norm) -> NDArray[np.float64]:
    """Return the point of the cube that explains the answers best.

    Args:
        design: A, shape ``(q, n)``, entries -1, 0, 1.
        answers: Shape ``(q,)``.
        norm: How deviations are weighed.

    Returns:
        Shape ``(n,)``, in [-1, 1].

    Raises:
        RuntimeError: The solver gave up.
    """
    q, n = design.shape
    sums = csr_array(design.astype(float))
    slack = eye_array(q, format="csr") if norm is Norm.L1 else csr_array(np.ones((q, 1)))
    n_slack = slack.shape[1]
    # |A z - r| <= t, one t for each answer or one for all. The stubs of linprog know no sparse matrices.
    limits: Any = block_array([[sums, -slack], [-sums, -slack]], format="csr")
    found = linprog(
        np.concatenate([np.zeros(n), np.ones(n_slack)]),
        A_ub=limits,
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(-1, 1)] * n + [(0, None)] * n_slack,
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    return np.asarray(found.x[:n])
