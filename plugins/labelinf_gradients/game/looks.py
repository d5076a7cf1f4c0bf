"""How good rebuilt inputs are, and what they look like beside the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.images import Gallery, as_png
from labelinf_gradients.game.gradient import GradientGuess
from labelinf_gradients.reconstruction.quality import as_images, colours_of, likeness, psnr

if TYPE_CHECKING:
    from labelinf_core.contracts.components import Guess
    from labelinf_gradients.game.clients import Samples

__all__ = ["seen"]

_SHOWN = 8
_EXACT = 400.0  # dB; more than doubles can tell


def seen(guess: Guess, samples: Samples) -> tuple[dict[str, float], Gallery | None]:
    """Return the quality of rebuilt inputs of single samples, and the first of them as images where they are some.

    Args:
        guess: What an attack answered.
        samples: The truth.

    Raises:
        ComponentError: There are more inputs than samples, or they are of another width.
    """
    if not isinstance(guess, GradientGuess) or guess.inputs is None or samples.inputs.shape[1] > 1:
        return {}, None
    own = np.array(guess.inputs, dtype=float, subok=False)  # an object of the attack's own would be shown the truth
    truth = samples.inputs[:, 0]
    if own.ndim != 2 or not 0 < len(own) <= len(truth) or own.shape[1] != truth.shape[1]:
        raise ComponentError(f"its inputs have shape {own.shape}, expected at most {truth.shape}")
    truth, whole = truth[: len(own)], np.isfinite(own).all(axis=1)
    found = np.where(whole[:, None], own, 0.0)
    quality = {
        "inputs rebuilt": float(np.mean(whole)),
        "median PSNR, dB": float(np.median(np.minimum(psnr(found, truth), _EXACT))),
    }
    if not colours_of(truth.shape[1]):
        return quality, None
    quality["median SSIM"] = float(np.median(likeness(found, truth)))
    true, rebuilt = (tuple(map(as_png, as_images(rows[:_SHOWN]))) for rows in (truth, found))
    says = f"{quality['median PSNR, dB']:.0f} dB, SSIM {quality['median SSIM']:.2f}"
    return quality, Gallery(true=true, rebuilt=rebuilt, says=says)
