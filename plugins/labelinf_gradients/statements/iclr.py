"""The statements of Wang et al., *Eliminating Hard Label Constraints in Gradient Inversion*, ICLR 2024, that hold."""

from __future__ import annotations

import functools

from labelinf_core import Statement, Status

__all__ = ["STATEMENTS"]


def _iclr(key: str, where: str, says: str, status: Status, **more: object) -> Statement:
    title = f"Wang et al., ICLR 2024, {where}"
    return Statement(key=key, title=title, says=says, status=status, **more)  # type: ignore[arg-type]


_ok = functools.partial(_iclr, status=Status.OK)

STATEMENTS = (
    _ok(
        "G1",
        "Section 2, bias attack",
        "the quotient of a layer's gradient by its bias's gradient is the layer's input",
        repaired="least squares over all rows, x = G'g / |g|^2; then y = softmax(W x + b) - g for any label, no prior",
        worked="g = (-.9, .4, .5), x = 2: G = (-1.8, .8, 1), G'g / |g|^2 = 2.44 / 1.22 = 2",
        code=("labelinf_gradients.closed_forms:from_last_bias", "labelinf_gradients.attacks.bias:LastBias"),
        tests=(
            "tests/theorems/test_g01.py",
            "tests/gradients/test_closed_forms.py::test_the_last_bias_gives_any_label",
        ),
    ),
    _ok(
        "G2",
        "equation 1",
        "gradient matching: the input whose gradient is nearest the released one, by squares or by cosine",
        worked="digits network, label known: the true input has distance 0",
        code=("labelinf_gradients.reconstruction.matching:Matching",),
        tests=("tests/gradients/test_torch.py",),
    ),
    _ok(
        "G3",
        "equation 2",
        "one sample's last-layer gradient is (p - y) x': a matrix of rank one whose rows sum to zero",
        worked="w = (0, ln 2, ln 4), x = 1, y = (1, 0, 0): G = (-6/7, 2/7, 4/7)",
        code=("labelinf_gradients.game.networks:Perceptron.gradients", "labelinf_gradients.recovery.factor:factor"),
        tests=("tests/theorems/test_g03.py",),
    ),
    _ok(
        "G4",
        "Section 3.1, iDLG's sign",
        "p_i - y_i is negative for the label of a one-hot sample and for no other class",
        repaired="the label's row is the only one of negative sum where features are known to be non-negative",
        worked="p = (1, 2, 4) / 7, y = (1, 0, 0): p - y = (-6, 2, 4) / 7",
        code=("labelinf_gradients.attacks.idlg:Idlg.run", "labelinf_gradients.attacks.idlg:odd_one_out"),
        tests=("tests/theorems/test_g04.py",),
    ),
    _ok(
        "G5",
        "equation 5",
        "the variance of the entries outside the |S| largest is 0 at the true scalar, for smoothing |S| = 1, for mixup 2",
        worked="w = ln (1, 2, 3, 4), y = (.1, .7, .1, .1): a = (0, -.5, .2, .3), variance 0 at t = 1",
        code=("labelinf_gradients.search.loss:LabelLoss",),
        tests=("tests/theorems/test_g05.py",),
    ),
    _ok(
        "G6",
        "Appendix C",
        "the mean square outside S, or the sum of absolute entries less one, can replace the variance",
        repaired="true of one-hot and mixed labels; for a smoothed label the first is smallest elsewhere, and the second is 0 on all of the feasible interval",
        worked="y = (.1, .7, .1, .1) of G5: mean square .01 at the truth t = 1, .00037 at t = 15; second loss 0 for .808 <= t <= 14.9",
        code=("labelinf_gradients.search.loss:Target",),
        tests=("tests/theorems/test_g06.py",),
    ),
    _ok(
        "G7",
        "Theorem 1, Section 3.4",
        "for every scalar the entries of the pseudo label sum to 1, so that the sum says nothing about the scalar",
        worked="w = ln (1, 2, 3, 4), a = (0, -.5, .2, .3): at t = 2 the label is (1, 11.5, 6, 11.5) / 30, sum 1",
        code=("labelinf_gradients.recovery.problem:Problem.labels",),
        tests=("tests/theorems/test_g07.py",),
    ),
    _ok(
        "G8",
        "Figure 2",
        "without a prior on labels a whole range of scalars gives valid labels with the same gradient",
        repaired="on each half line that range is one interval; its ends are computed (G14)",
        worked="w = ln (1, 2, 3, 4), a = (0, -.5, .2, .3): t in [0.807245, 14.949101], none below 0",
        code=("labelinf_gradients.recovery.feasible:feasible_interval",),
        tests=("tests/theorems/test_g08.py",),
    ),
    _ok(
        "G9",
        "equation 8",
        "the recovered last-layer feature joins the matching loss, with weights alpha of the last gradient and beta of the feature",
        worked="alpha = 0, beta = 2 is the paper's best",
        code=("labelinf_gradients.reconstruction.matching:Matching",),
        tests=("tests/gradients/test_torch.py",),
    ),
    _ok(
        "G10",
        "Appendix B.2",
        "the variance loss tends to 0 as the scalar tends to infinity, so that a search needs bounds",
        repaired="an artefact of dividing by the scalar: t * std(y(t)) tends to the spread of a itself, and |t| = |x| is bounded; it vanishes only where the softmax is saturated (G17)",
        worked="w = ln (1, 2, 3, 4), a = (0, -.5, .2, .3): variance 8.7e-10 at t = 1e4, t * std .294 there",
        code=("labelinf_gradients.recovery.problem:Problem.misfit",),
        tests=("tests/theorems/test_g10.py",),
    ),
)
