"""What a recovered label buys: inputs of single samples, after Wang et al., ICLR 2024, Section 4.3 and Table 6.

The real digits and a fully connected 64-256-128-64-10 network without biases. Ratios are of floats: the paper's 51 dB
are the floor of images truncated to 8 bits, which is shown beside them. With PyTorch installed, gradient matching on a
convolutional network follows. The networks are ours, so no number is a claim about the paper's.
"""

from __future__ import annotations

import importlib.util
import time
from typing import TYPE_CHECKING

import numpy as np

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.comparisons import Compared, Measured, Origin
from labelinf_core.plugin.reproductions import Absent, Remark, Reproduced, Table
from labelinf_gradients.game.networks import softmax
from labelinf_gradients.reconstruction.chain import as_printed, inputs_by_recursion
from labelinf_gradients.reconstruction.inputs import reconstruct, reconstruct_noisy
from labelinf_gradients.reconstruction.quality import psnr
from labelinf_papers.published.iclr_matching import matching_table
from labelinf_papers.published.iclr_table5 import ABSENT
from labelinf_papers.published.iclr_victims import Victims, fully_connected

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clean_table", "noise_table", "reconstruction"]

_EPOCHS = (0, 3, 20)
_MATCHING = (
    Absent(item="gradient matching (8.01 and 10.22 dB in Figure 3)", loader="PyTorch, pip install 'labelinf[torch]',"),
)
_NOISE = (1e-4, 1e-3)
_DIGITS = 300  # a row


def clean_table(n: int, epochs: tuple[int, ...] = _EPOCHS) -> Table:
    """Reconstruct ``n`` samples per cell from float32 gradients, by the exact solver and the recursion."""
    rows = []
    for count in epochs:
        network = fully_connected(count).astype("float32")
        for family in ("one-hot", "smoothing", "mixup"):
            victims = Victims.draw(n, family)
            releases = network.gradients(victims.inputs, victims.labels)
            start = time.process_time()
            found = reconstruct(network, releases)
            milliseconds = (time.process_time() - start) / n * 1e3
            quality = np.nan_to_num(psnr(found.inputs, victims.inputs), nan=-np.inf)
            determined = np.append(quality[found.determined], np.inf)
            errors = softmax(network.logits(victims.inputs).astype(np.float64)) - victims.labels
            printed = np.median(psnr(as_printed(network, releases, errors), victims.inputs))
            cut = np.floor(np.clip(np.nan_to_num(found.inputs), 0, 1) * 255) / 255
            rows.append(
                (
                    count,
                    family,
                    float(np.mean(found.determined)),
                    float(np.median(quality)),
                    float(determined.min()),
                    float(np.mean(quality > 40)),
                    float(np.median(psnr(cut, victims.inputs))),
                    float(printed),
                    milliseconds,
                )
            )
    return Table(
        title=f"64-256-128-64-10 without biases, float32 gradients, {n} digits a row, PSNR in dB on floats",
        columns=(
            "epochs",
            "labels",
            "label determined",
            "median",
            "least of those",
            "over 40 dB",
            "8 bits",
            "eq. 6-7 as printed",
            "CPU ms",
        ),
        rows=tuple(rows),
    )


def noise_table(n: int, epochs: tuple[int, ...] = _EPOCHS) -> Table:
    """Compare the recursion, given the true label, with the singular chain, given nothing, under Gaussian noise."""
    rows = []
    for count in epochs:
        network = fully_connected(count)
        victims = Victims.draw(n, "smoothing")
        clean = network.gradients(victims.inputs, victims.labels)
        errors = softmax(network.logits(victims.inputs)) - victims.labels
        features = network.features(victims.inputs)
        for level in _NOISE:
            rng = np.random.default_rng(2)
            noisy = {name: part + level * rng.normal(size=part.shape) for name, part in clean.items()}
            chain = reconstruct_noisy(network, noisy, family="smoothing").inputs
            given = inputs_by_recursion(network, noisy, features, errors)
            ratios = (float(np.median(psnr(found, victims.inputs))) for found in (given, chain))
            rows.append((count, level, *ratios))
    return Table(
        title=f"noise on every entry of every layer, smoothed labels, {n} digits a row, median PSNR in dB",
        columns=("epochs", "standard deviation", "recursion, true label given", "singular chain, nothing given"),
        rows=tuple(rows),
    )


def reconstruction() -> Reproduced:
    """Compute the tables; with PyTorch, gradient matching too."""
    clean, noise = clean_table(_DIGITS), noise_table(40)
    remarks = [
        Remark(says="least median over trainings and families, dB", value=min(row[3] for row in clean.rows)),
        Remark(says="most an 8-bit image shows of it, dB", value=max(row[6] for row in clean.rows)),
        Remark(says="slowest, CPU ms a sample", value=max(row[8] for row in clean.rows)),
    ]
    tables = [clean, noise]
    if importlib.util.find_spec("torch") is None:
        remarks.append(Remark(says="gradient matching on a convolutional network", value="needs labelinf[torch]"))
    else:
        tables.append(matching_table(images=2, iterations=600))
    return Reproduced(
        title="Inputs behind recovered labels (Wang et al., ICLR 2024, Figure 3 and Table 6)",
        tables=tuple(tables),
        remarks=tuple(remarks),
        pictures=(_drawn(clean),),
        compared=tuple(_compared(clean)),
        absent=(*ABSENT, *_MATCHING[len(tables) - 2 :]),
    )


def _drawn(clean: Table) -> Picture:
    names = {"floats": 3, "truncated to 8 bits": 6, "equations 6 and 7 as printed": 7}
    cells = tuple(f"{family}, {epochs} epochs" for epochs, family, *_ in clean.rows)
    return Picture(
        title="Quality of reconstructed inputs, label unknown",
        x="labels and training",
        y="median PSNR, dB",
        names=cells,
        series=tuple(
            Series(name=name, line=False, points=tuple((float(n), row[at]) for n, row in enumerate(clean.rows)))
            for name, at in names.items()
        ),
    )


def _compared(clean: Table) -> Iterator[Compared]:
    """Yield the paper's figures beside those of the untrained network, which it attacks."""
    why = "in 8 bits both are the floor of truncation (E10); on floats there is six orders of magnitude more"
    for item, family, printed in (
        ("Figure 3, smoothed labels: PSNR", "smoothing", "51.41 dB"),
        ("Table 6, smoothed labels: PSNR", "smoothing", "51.30 dB"),
        ("Table 6, mixed labels: PSNR", "mixup", "66.80 dB"),
    ):
        row = next(row for row in clean.rows if row[:2] == (0, family))
        ours = (_quality(row[6], "in 8 bits", family), _quality(row[3], "on floats", family))
        yield Compared(quantity=item, paper=printed, ours=ours, why=why)
    untrained = next(row for row in clean.rows if row[:2] == (0, "smoothing"))
    yield Compared(
        quantity="Equations 6 and 7 as printed: PSNR",
        paper="the method of Figure 3",
        ours=(_quality(untrained[7], "label given", "smoothing"),),
        why="the slope of the activation is missing, and one row stands for all",
    )


def _quality(value: float, of: str, family: str) -> Measured:
    game = f"inputs of untrained 64-256-128-64-10 rebuilt {of}, {family}, median"
    played = Origin(game=game, n=_DIGITS, queries=_DIGITS, seen="gradients", seed=1)
    return Measured(value=value, unit="dB", of=of, played=played)
