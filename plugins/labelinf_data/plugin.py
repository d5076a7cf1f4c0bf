"""Registers the label sources. Imports nothing numerical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core import Descriptor, Kind, Reference, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator

labelinf_contract = 1


def _source(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.LABELS,
        name=name,
        summary=summary,
        reference=Reference(work=work, statement=statement or "README"),
        target=f"labelinf_data.{target}",
    )


@hookimpl
def labelinf_label_sources() -> Iterator[Descriptor]:
    """Yield the bundled sets, published label counts, a user's files and made labels."""
    yield _source(
        "breast-cancer",
        "569 real labels with features, bundled with scikit-learn: 357 benign, 212 malignant",
        "Aggarwal et al., ICML 2021",
        "Table 2, D3",
        "bundled:BreastCancer",
    )
    yield _source(
        "digits",
        "1 797 real labels of 10 classes with features, bundled with scikit-learn",
        "Pedregosa et al., JMLR 2011",
        "load_digits",
        "bundled:Digits",
    )
    yield _source(
        "counts",
        "class counts of a published data set, in a seeded random order",
        "Aggarwal et al., ICML 2021 and AISTATS 2022",
        "data sets of the experiments",
        "published:Counts",
    )
    yield _source("csv", "a column of a user's CSV file, with any class names", "user's file", "", "csv_file:CsvFile")
    yield _source("npy", "a vector of a user's .npy or .npz file", "user's file", "", "npy_file:NpyFile")
    yield _source("made", "independent random labels, for trying things out", "folklore", "", "made:Made")
