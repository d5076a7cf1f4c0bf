from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_data.cifar_file import CifarFile


def written(path: Path, labels: np.ndarray) -> str:
    """Write records of CIFAR's binary version: label bytes, then pixels that count up."""
    pixels = np.arange(3072) % 256 * np.ones((len(labels), 1))
    np.concatenate([labels, pixels], axis=1).astype(np.uint8).tofile(path)
    return str(path)


def test_reads_labels_and_images_of_both_sets(tmp_path: Path) -> None:
    ten = CifarFile(path=written(tmp_path / "ten.bin", np.array([[3], [9], [3]]))).load()
    fine = np.array([[1, 70], [19, 5], [1, 70]])
    hundred = written(tmp_path / "hundred.bin", fine)

    assert (ten.class_names, ten.labels.tolist()) == (("3", "9"), [0, 1, 0])
    assert ten.features is not None
    assert ten.features.shape == (3, 3072)
    assert ten.features[0, :3].tolist() == [0, 1 / 255, 2 / 255]
    assert CifarFile(path=hundred).load().class_names == ("5", "70")
    assert CifarFile(path=hundred, coarse=True, most=2).load().class_names == ("1", "19")


def test_what_is_no_such_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "pickle.bin").write_bytes(b"\x80\x02}")
    wrong = written(tmp_path / "wrong.bin", np.array([[3], [200]]))

    with pytest.raises(InputError, match=r"has 3 bytes, expected a multiple of 3073 \(CIFAR-10\) or 3074"):
        CifarFile(path=str(tmp_path / "pickle.bin")).load()
    with pytest.raises(InputError, match="has labels that are none of 10 classes"):
        CifarFile(path=wrong).load()
    with pytest.raises(InputError, match="none of 20 classes"):
        CifarFile(path=written(tmp_path / "ten.bin", np.array([[3], [9]])), coarse=True).load()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        CifarFile(path=str(tmp_path / "missing.bin")).load()
