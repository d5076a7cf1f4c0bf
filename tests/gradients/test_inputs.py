"""What a recovered label buys: inputs that attacks rebuild, and who gets to see them."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.components import Guess, LabelSet, Setting
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.images import Gallery, as_png
from labelinf_core.report.html import _images
from labelinf_data.bundled import Digits
from labelinf_gradients.attacks.inputs import InputRecursion
from labelinf_gradients.defences.clipping import GradientClip
from labelinf_gradients.defences.noise import GradientNoise
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.effects import LabelFamily
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence, GradientGuess, Shared
from labelinf_gradients.reconstruction.quality import as_images, likeness
from labelinf_privacy.noise.gaussian import Gaussian

CHANNEL = GradientChannel(
    hidden=(32, 16), shared=Shared.ALL, samples=12, auxiliary=10, targets=LabelFamily.SMOOTHING, epochs=1
)


@pytest.fixture(scope="module")
def digits() -> LabelSet:
    return Digits().load()


def play(data: LabelSet, attack: GradientAttack, *defences: GradientDefence) -> Any:
    setting = Setting(data=data, attack=attack, defences=defences)
    return CHANNEL.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


def test_inputs_come_out_behind_labels_and_are_shown_beside_the_true_ones(digits: LabelSet) -> None:
    ours, printed = (play(digits, InputRecursion(as_printed=kind)) for kind in (False, True))

    assert ours.n_correct == 12
    assert ours.evidence["median PSNR, dB"] > 100
    assert ours.evidence["median SSIM"] > 0.999
    assert printed.evidence["median PSNR, dB"] < 60
    assert len(ours.gallery.rebuilt) == 8
    assert ours.gallery.true == printed.gallery.true
    assert printed.gallery.rebuilt != ours.gallery.rebuilt != ()


def test_noise_is_met_by_the_singular_chain_and_a_clip_refuses(digits: LabelSet) -> None:
    noisy = play(digits, InputRecursion(), GradientNoise(model=Gaussian(scale=1e-4)))
    clipped = CHANNEL.threat(Setting(data=digits, defences=(GradientClip(),)))

    assert noisy.evidence["median PSNR, dB"] > 35
    assert "whole" in InputRecursion().unsupported_reason(clipped)


@attrs.frozen(kw_only=True)
class Claims(GradientAttack):
    """Claims inputs of some shape."""

    inputs: Any

    def run(self, oracle: Any, rng: np.random.Generator) -> Guess:
        return GradientGuess(labels=np.zeros(12, dtype=np.intp), inputs=self.inputs)


@pytest.mark.parametrize("shape", [(13, 64), (12, 63), (64,), (0, 64)])
def test_inputs_of_another_shape_are_a_fault_of_the_attack(digits: LabelSet, shape: tuple[int, ...]) -> None:
    with pytest.raises(ComponentError, match="its inputs have shape"):
        play(digits, Claims(inputs=np.zeros(shape)))


def test_what_did_not_come_out_is_black_and_counted(digits: LabelSet) -> None:
    found = play(digits, Claims(inputs=np.full((2, 64), np.nan)))

    assert found.evidence["inputs rebuilt"] == 0
    assert found.gallery.rebuilt == (as_png(np.zeros((8, 8))),) * 2


def test_rows_are_square_images_grey_or_coloured_or_none() -> None:
    row = np.arange(48.0)[None] / 48

    coloured = as_images(row)
    assert coloured.shape == (1, 4, 4, 3)
    assert coloured[0, 1, 2].tolist() == [row[0, 6], row[0, 22], row[0, 38]]
    assert as_images(np.zeros((2, 64))).shape == (2, 8, 8)
    assert likeness(row, row) == pytest.approx([1.0])
    with pytest.raises(ValueError, match="no square images"):
        likeness(np.zeros((1, 30)), np.zeros((1, 30)))


def test_a_gallery_holds_small_images_and_nothing_else() -> None:
    image = as_png(np.eye(4))

    assert base64.b64decode(image).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="1 images beside 2 true ones"):
        Gallery(true=(image, image), rebuilt=(image,))
    for wrong in (('"><script>',), (image,) * 17, ("A" * (1 << 18),)):
        with pytest.raises(ValueError, match="PNG images in base64"):
            Gallery(true=wrong, rebuilt=wrong)


def test_true_inputs_stand_above_every_attack_that_is_of_others() -> None:
    one, two = (as_png(np.full((4, 4), grey)) for grey in (0.2, 0.8))

    def cell(name: str, image: str) -> Any:
        trial = SimpleNamespace(gallery=Gallery(true=(image,), rebuilt=(image,), says="9 dB"))
        return SimpleNamespace(trials=(trial,), cell=SimpleNamespace(shown=SimpleNamespace(attack=name)))

    shown = list(_images([cell("a", one), SimpleNamespace(trials=()), cell("b", one), cell("c", two)]))

    assert shown == [
        *(("true", (one,)), ("a: 9 dB", (one,)), ("b: 9 dB", (one,))),
        *(("true", (two,)), ("c: 9 dB", (two,))),
    ]


SUITE = """
title = "inputs"
trials = 2
[[matrix]]
channel = "gradient"
labels = {labels}
shared = "all"
samples = 6
auxiliary = 10
epochs = 0
hidden = [16, 12]
attacks = ["input-recursion", "input-recursion(as_printed=true)"]
defences = ["none"]
"""


@pytest.mark.long
@pytest.mark.parametrize("private", [False, True])
def test_a_page_shows_images_of_public_records_and_of_private_ones_only_when_asked(
    tmp_path: Path, digits: LabelSet, private: bool
) -> None:
    np.savez(tmp_path / "mine.npz", X=digits.features, y=digits.labels)
    (tmp_path / "suite.toml").write_text(
        SUITE.format(labels=f"\"npy(path='{tmp_path}/mine.npz', column=y, features=X)\"" if private else '"digits"')
    )
    arguments = ["matrix", str(tmp_path / "suite.toml"), "-q"]

    pages = {}
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "run")])
    assert done.exit_code in (0, 1), done.output
    for name, more in (("coarse", []), ("full", ["--full"])):
        pages[name] = CliRunner().invoke(main, ["report", str(tmp_path / "run"), "--format", "html", *more]).stdout

    assert (pages["coarse"].count("<img") == 0) is private
    assert pages["full"].count("<img") == 18  # six true, and twice six
    assert "input-recursion(as_printed=true): " in pages["full"]
    assert "<img" not in (tmp_path / "run" / "results.json").read_text()
