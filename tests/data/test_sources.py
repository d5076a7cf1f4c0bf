from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import BreastCancer, Digits
from labelinf_data.made import Made
from labelinf_data.published import COUNTS, Counts

SIZES = {
    "haberman": (306, 2),
    "breast-cancer": (569, 2),
    "banknote": (1372, 2),
    "titanic": (2201, 2),
    "imdb": (25000, 2),
    "satellite": (6430, 6),
    "cifar-10": (60000, 10),
    "mnist": (70000, 10),
}


def test_breast_cancer_is_the_real_set_with_its_features() -> None:
    data = BreastCancer().load()

    assert (data.n_records, data.class_names, data.provenance) == (569, ("malignant", "benign"), "real")
    assert np.bincount(data.labels).tolist() == [212, 357]
    assert data.features is not None
    assert data.features.shape == (569, 30)


def test_digits_is_the_real_set_with_its_features() -> None:
    data = Digits().load()

    assert (data.n_records, data.n_classes, data.provenance) == (1797, 10, "real")
    assert data.features is not None
    assert data.features.shape == (1797, 64)


@pytest.mark.parametrize("name", COUNTS)
def test_published_counts_have_the_published_sizes(name: str) -> None:
    data = Counts(name=name).load()

    assert (data.n_records, data.n_classes) == SIZES[name]
    assert np.bincount(data.labels).tolist() == list(COUNTS[name].values())
    assert data.provenance == "published label counts, random order"


def test_the_seed_of_published_counts_decides_their_order_alone() -> None:
    first, again, other = (Counts(name="haberman", seed=seed).load().labels for seed in (0, 0, 1))

    assert (first == again).all()
    assert (first != other).any()
    assert (np.sort(first) == np.sort(other)).all()


def test_made_labels_follow_their_prior() -> None:
    data = Made(n_records=4000, n_classes=3, prior=(0.5, 0.25, 0.25), seed=7).load()

    assert (data.n_records, data.n_classes, data.provenance) == (4000, 3, "made")
    # Each share is within 5 standard deviations (at most .04) but for a probability below 2e-6.
    assert np.allclose(data.prior, (0.5, 0.25, 0.25), atol=0.04)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("counts(name=zoo)", "name='zoo' must be one of haberman, breast-cancer"),
        ("made(n_classes=1)", "n_classes=1 must be >= 2"),
        ("made(prior=[.5, .6])", r"prior=\[0.5, 0.6\] must be n_classes=2 shares that are not negative and sum to one"),
        ("csv", r"csv\b.*\bpath\b.*missing"),
    ],
)
def test_a_bad_parameter_is_one_sentence(written: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Builder(Host.load()).build(Kind.LABELS, written, "--labels")


def test_listing_the_sources_imports_nothing_numerical() -> None:
    script = (
        "import sys, labelinf_data.plugin as plugin; catalogue = plugin.labelinf_catalogue(); "
        "assert list(catalogue.labelinf_components()); "
        "print({'numpy', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"
