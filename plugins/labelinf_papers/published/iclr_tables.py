"""Tables 1 to 4 of Wang et al., ICLR 2024, in kind: labels recovered, and images matched by what is known of them.

The paper's CIFAR, Flowers-17 and ImageNet on ResNets are not here: the real digits stand for ten classes, made clusters
for more, and the networks are ours. Tables 3 and 4 need PyTorch; their images are digits. A learned distance of images
(LPIPS) needs a trained network and is left out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.plugin.comparisons import Compared, Measured, Origin
from labelinf_core.plugin.reproductions import Absent, Reproduced, Table
from labelinf_data.bundled import load_bunch
from labelinf_gradients.attacks.idlg import odd_one_out
from labelinf_gradients.game.clients import train
from labelinf_gradients.game.networks import Perceptron
from labelinf_gradients.recovery.solver import recover
from labelinf_papers.published.iclr_table5 import ABSENT
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import label_loss

__all__ = ["image_tables", "label_tables", "recovery_table", "training_table"]

_FAMILIES = ("smoothing", "mixup", "one-hot")
_RIGHT = 1e-3  # L1
_LABELS, _SEARCHED = 400, 8  # a row; the paper's search takes a hundred times as long
_PRINTED = 1000  # labels a row of the paper
_IMAGES = 2  # a cell of Tables 3 and 4
_COUNTED = ("mean L1 of those right", "N", "N of the search")
_LPIPS = Absent(item="LPIPS of Tables 3 and 4", loader="a trained network of images")
_TORCH = Absent(item="Tables 3 and 4", loader="PyTorch, pip install 'labelinf[torch]',")

Data = tuple[NDArray[np.float64], NDArray[np.intp]]
Found = tuple[float, float, float | str, float, int, int]


def _data(n_classes: int) -> Data:
    """Return the real digits for ten classes, else made clusters in 64 dimensions."""
    if n_classes == 10:
        bunch = load_bunch("digits")
        return bunch.data / 16, np.asarray(bunch.target, dtype=np.intp)
    rng = np.random.default_rng(n_classes)
    classes = rng.integers(n_classes, size=max(2000, 4 * n_classes))
    return rng.random((n_classes, 64))[classes] + 0.15 * rng.normal(size=(len(classes), 64)), classes


def _network(data: Data, n_classes: int, hidden: tuple[int, ...], epochs: int) -> Perceptron:
    rng, half = np.random.default_rng(0), len(data[0]) // 2
    start = Perceptron.random((data[0].shape[1], *hidden, n_classes), rng, bias=False)
    own = np.eye(n_classes)[data[1][:half]]
    return train(start, data[0][:half], own, epochs=epochs, rng=rng).astype("float32")


def _attacked(network: Perceptron, data: Data, n_classes: int, family: str, n: int, searched: int) -> Found:
    """Return shares of labels right by solver, the paper's search and the sign rule, the mean L1, and of how many."""
    rng, half = np.random.default_rng(1), len(data[0]) // 2
    rows = half + rng.permutation(len(data[0]) - half)[:n]
    x, y = data[0][rows], np.eye(n_classes)[data[1][rows]]
    other = np.eye(n_classes)[(data[1][rows] + rng.integers(1, n_classes, len(rows))) % n_classes]
    if family == "smoothing":
        factor = rng.uniform(0, 0.5, (len(y), 1))
        y = (1 - factor) * y + factor / n_classes
    elif family == "mixup":
        weight = rng.uniform(0, 1, (len(y), 1))
        y = weight * y + (1 - weight) * other
    gradients, weights = network.gradients(x, y)[network.classifier_names[0]], network.classifier.weights
    error = np.abs(recover(gradients, weights, family=family).labels - y).sum(axis=1)
    right = error < _RIGHT
    excluded, near = 2 if family == "mixup" else 1, []
    for gradient, label in zip(gradients[:searched], y, strict=False):
        loss = label_loss(gradient, weights, coefficient=4.0 / excluded, excluded=excluded)
        found = loss.labels(np.array([search(loss, np.random.default_rng(0)).scalar]))[0]
        near.append(np.abs(found - label).sum() < _RIGHT)
    hard = float(np.mean(odd_one_out(gradients) == y.argmax(axis=1))) if family == "one-hot" else "hard labels only"
    return float(right.mean()), float(np.mean(near)), hard, float(error[right].mean()), len(y), len(near)


def recovery_table(n: int, searched: int) -> Table:
    """Compute Table 1: three numbers of classes, untrained networks."""
    rows = []
    for n_classes, what in ((10, "digits"), (17, "clusters"), (100, "clusters")):
        data = _data(n_classes)
        network = _network(data, n_classes, (256,), 0)
        rows += [(what, n_classes, f, *_attacked(network, data, n_classes, f, n, searched)) for f in _FAMILIES]
    columns = ("records", "classes", "labels", "exact solver", "paper's search", "iDLG", *_COUNTED)
    return Table(
        title="Table 1: labels recovered to 1e-3, untrained network, hidden 256",
        columns=columns,
        rows=tuple(rows),
    )


def training_table(n: int, searched: int) -> Table:
    """Compute Table 2: two networks on the digits, trained and not."""
    data, rows = _data(10), []
    for hidden in ((64,), (256, 128, 64)):
        for epochs in (0, 20):
            network = _network(data, 10, hidden, epochs)
            rows += [
                ("-".join(map(str, (64, *hidden, 10))), epochs, f, *_attacked(network, data, 10, f, n, searched))
                for f in _FAMILIES[:2]
            ]
    return Table(
        title="Table 2: digits, network trained or not",
        columns=("network", "epochs", "labels", "exact solver", "paper's search", *_COUNTED),
        rows=tuple((*row[:5], *row[6:]) for row in rows),
    )


def label_tables(*, full: bool = False) -> Reproduced:
    """Compute Tables 1 and 2, with as many labels as the paper has where ``full`` and as there are."""
    sizes = (_PRINTED, _PRINTED) if full else (_LABELS, _SEARCHED)
    one, two = recovery_table(*sizes), training_table(*sizes)
    return Reproduced(
        title="Tables 1 and 2 of Wang et al., ICLR 2024, in kind: labels from gradients of the last layer",
        tables=(one, two),
        compared=tuple(_compared(one, two)),
        absent=ABSENT,
    )


def _compared(one: Table, two: Table) -> Iterator[Compared]:
    why = "other records and networks; the solver enumerates, so that nothing hangs on where a search begins"
    printed = {"smoothing": "99.1 to 100 %", "mixup": "97.6 to 100 %", "one-hot": "95.6 to 100 %"}
    for family, paper in printed.items():
        found = {f"{row[1]} classes, {row[0]}, {family}": row for row in one.rows if row[2] == family}
        ours = tuple(figure for game, row in found.items() for figure in _shares(game, row, "untrained, hidden 256"))
        yield Compared(quantity=f"Table 1, {family}: accuracy", paper=paper, ours=ours, why=why)
    trained = tuple(
        figure for row in two.rows for figure in _shares(f"{row[2]}, {row[0]}, {row[1]} epochs", row, "digits")
    )
    yield Compared(quantity="Table 2: accuracy, trained and not", paper="88.3 to 100 %", ours=trained, why=why)


def _shares(name: str, row: tuple[Any, ...], network: str) -> Iterator[Measured]:
    """Yield the solver's share of labels and the paper's search's, each with its own number of labels."""
    for of, share, n in (("exact solver", row[3], row[-2]), ("paper's search", row[4], row[-1])):
        played = Origin(game=f"{of}, {name}; {network}", n=n, queries=n, seen="gradients", seed=1)
        yield Measured(value=100 * share, unit="%", of=f"{of}, {name}", played=played, n=_PRINTED)


def image_tables() -> Reproduced:
    """Compute Tables 3 and 4, on digits; without PyTorch, say what is missing."""
    tables: tuple[Table, ...] = ()
    if importlib.util.find_spec("torch") is not None:
        from labelinf_papers.published.iclr_matching import feature_table, label_table

        tables = tuple(made(images=_IMAGES, iterations=100) for made in (label_table, feature_table))
    return Reproduced(
        title="Tables 3 and 4 of Wang et al., ICLR 2024, in kind: digits, by gradient matching",
        tables=tables,
        compared=tuple(_by_label(tables[0])) if tables else (),
        absent=(*ABSENT, _LPIPS, *(() if tables else (_TORCH,))),
    )


def _by_label(three: Table) -> Iterator[Compared]:
    """Yield what a hard label costs: the paper's figures beside each network and kind of label."""
    at = {name: three.columns.index(name) for name in ("iDLG", "ours")}
    why = (
        "other images and networks; a hard label costs the more, the further it is from the soft one: most of mixed "
        "labels, least of smoothed ones on a trained network; why so little in the paper is not known"
    )
    for row in (row for row in three.rows if row[1] == "cosine"):
        kind, _, trained = row[:3]
        game = f"{kind}, cosine distance, trained: {trained}; digits"
        played = Origin(game=game, n=_IMAGES, queries=_IMAGES, seen="gradients", seed=0)
        ours = (Measured(value=float(row[of].split()[0]), unit="dB", of=name, played=played) for name, of in at.items())
        quantity = f"Table 3, cosine, {kind}, trained: {trained}: PSNR with iDLG's label and with the recovered one"
        yield Compared(quantity=quantity, paper="23.0 and 25.8 dB", ours=tuple(ours), why=why)
