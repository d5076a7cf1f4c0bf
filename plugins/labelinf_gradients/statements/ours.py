"""What labelinf adds: the exact solver's theorems, where identifiability ends, and certificates against every attack."""

from __future__ import annotations

import functools

from labelinf_core import Statement, Status

__all__ = ["STATEMENTS"]


def _ours(key: str, where: str, says: str, status: Status, **more: object) -> Statement:
    return Statement(key=key, title=f"labelinf theory, {where}", says=says, status=status, **more)  # type: ignore[arg-type]


_ok = functools.partial(_ours, status=Status.OK)

_CERTIFICATES = "labelinf_gradients.certificates"
_ATTACKED = "tests/gradients/test_attacked.py"

STATEMENTS = (
    _ok(
        "G11",
        "two roots",
        "t p_i(t) = a_i, and t (p_i - p_j)(t) = a_i - a_j where w_i > w_j, have at most two roots on each half line: the logarithms of the left sides are strictly concave; at most one where i has the largest slope",
        worked="w = (0, ln 3), a_0 = .25, y = e_1: t = 1 and 1.341822454747, and their negatives",
        code=("labelinf_gradients.recovery.equations:roots",),
        tests=("tests/theorems/test_g11.py",),
    ),
    _ok(
        "G12",
        "complete enumeration",
        "|S| + 1 single equations (other entries zero) or pairs of the |S| + 1 largest with the |S| + 1 smallest slopes (merely equal) contain every solution, equal slopes or not; all pairs where C < 2 (|S| + 1)",
        worked="mixup, w = (0, ln 2, ln 4), y = (.4, .6, 0): t = 1, -1.155466548460, -3.161486760014",
        code=("labelinf_gradients.recovery.candidates:candidate_scales",),
        tests=(
            "tests/gradients/test_solver.py::test_every_candidate_that_a_grid_finds_is_found",
            "tests/gradients/test_worked_examples.py",
        ),
    ),
    _ok(
        "G13",
        "sign rule",
        "outside S of a smoothed label, (a_i - a_j)(w_i - w_j) > 0 for both signs of t",
        worked="w = ln (1, 2, 3, 4), a = (0, -.5, .2, .3): 0 < .2 < .3 as w_0 < w_2 < w_3",
        code=("labelinf_gradients.recovery.candidates:candidate_scales",),
        tests=("tests/theorems/test_g11.py::test_entries_outside_s_are_ordered_as_the_slopes_for_both_signs",),
    ),
    _ok(
        "G14",
        "feasible set",
        "{t > 0: y(t) >= 0} is an interval: superlevel sets of log-concave functions; so is {t < 0: y(t) >= 0}",
        worked="w = ln (1, 2, 3, 4), a = (0, -.5, .2, .3): [0.807245, 14.949101]",
        code=("labelinf_gradients.recovery.feasible:feasible_interval",),
        tests=("tests/gradients/test_feasible.py", "tests/theorems/test_g08.py"),
    ),
    _ok(
        "G15",
        "identifiability",
        "one answer for generic gradients from C >= |S| + 2 classes on where other entries are zero, |S| + 3 where merely equal (by counting and simulation; no proof that exceptions have measure zero)",
        worked="300 draws, smoothing: C = 3 about .4 unique, C = 4 all",
        code=("labelinf_gradients.bounds.identifiability:Identifiability",),
        tests=("tests/gradients/test_solver.py::test_identifiability_is_what_counting_says",),
    ),
    _ok(
        "G16",
        "two classes",
        "with C = 2, (x, e_k) and (-x, e_l) give the same gradient: always ambiguous unless the features' sign is known",
        worked="w = (0, ln 3), y = e_0: t = 1 gives e_0, t = -1 gives e_1",
        code=("labelinf_gradients.recovery.solver:recover",),
        tests=("tests/gradients/test_solver.py::test_two_classes_are_always_ambiguous_without_the_sign",),
    ),
    _ok(
        "G17",
        "saturation",
        "where the softmax is saturated on the labelled class every large scale explains a smoothed label: the class is known, the factor only as an interval; one-hot labels are not affected",
        worked="p = e_0, y = (.7, .1, .1, .1), x = 5: a = (1.5, -.5, -.5, -.5) fits every t >= 2, y_0 = 1 - 1.5 / t in [.25, 1)",
        code=("labelinf_gradients.recovery.saturation:settle",),
        tests=("tests/gradients/test_saturation.py",),
    ),
    _ok(
        "G18",
        "scale invariance",
        "for a bias-free ReLU network the complete gradient of all layers is the same for (s x, y(s)) at every s > 0: there, a prior on labels is necessary",
        worked="s = 1.7: entries differ by less than 1e-14",
        code=("labelinf_gradients.game.networks:Perceptron",),
        tests=(
            "tests/gradients/test_closed_forms.py::test_without_any_bias_the_complete_gradient_is_the_same_for_another_input_and_label",
        ),
    ),
    _ok(
        "G19",
        "likelihood under noise",
        "Gaussian noise on G: the likeliest scale minimises the sum of squares of h = t p - a outside S, not the variance of y = h / t, which favours large |t|",
        worked="smoothing, noise .05 per entry: median L1 of the label less than a fifth of the smallest variance's",
        code=("labelinf_gradients.noisy.likelihood:likeliest_scales",),
        tests=("tests/gradients/test_noisy.py::test_the_likelihood_beats_the_smallest_variance_under_noise",),
    ),
    _ok(
        "G20",
        "certificates, Gaussian",
        "noise of deviation sigma on gradients clipped to norm S, nothing but noise in between: accuracy <= max sum pi_k Phi(Phi^-1(q_k) + S / sigma), sum q_k <= 1; equal shares Phi(Phi^-1(1/K) + S / sigma)",
        worked="K = 10, sigma / S = .5, 1, 2: .764, .389, .217; shares (.5, .3, .2), S = sigma: .738303",
        code=(f"{_CERTIFICATES}:gaussian",),
        tests=("tests/gradients/test_certificates.py", _ATTACKED),
    ),
    _ok(
        "G21",
        "certificates, exact Bayes",
        "features public, no clipping, last layer: the best attack is right with probability integral phi(u - d) Phi(u)^(K-1) du, d = |x| / sigma; met exactly",
        worked="K = 10, d = 1: .3409",
        code=(f"{_CERTIFICATES}:bayes_public",),
        tests=("tests/gradients/test_certificates.py", _ATTACKED),
    ),
    _ok(
        "G22",
        "certificates, Laplace",
        "Laplace noise 2 S / eps on gradients clipped to 1-norm S, nothing but noise in between: accuracy <= min(h / K, 1 - (1 - 1/K) / h), h = e^(eps / 2), for equal shares",
        worked="K = 10: eps = 1 gives .165 (pure label-DP: .232), eps = 4 .739 (.858)",
        code=(f"{_CERTIFICATES}:laplace",),
        tests=("tests/gradients/test_certificates.py", _ATTACKED),
    ),
    _ok(
        "G23",
        "certificates, label-DP",
        "eps-label-DP: accuracy <= max over j of e^eps P / (j - 1 + e^eps), P the sum of the j largest shares; (eps, delta) and equal shares: (e^eps + (K-1) delta) / (e^eps + K - 1)",
        worked="eps = ln 3, shares (.5, .5): .75, met by randomised response",
        code=(
            "labelinf_gradients.bounds.certificates:GradientCertificate",
            "labelinf_privacy.label_dp:pure_accuracy",
            "labelinf_privacy.label_dp:approximate_accuracy",
        ),
        tests=(
            "tests/gradients/test_defences.py::test_label_dp_is_a_certificate_of_its_own",
            "tests/privacy/test_label_dp.py",
            _ATTACKED,
        ),
    ),
    _ok(
        "G24",
        "certificates, DP-SGD",
        "T full-batch steps with noise multiplier m: the Gaussian certificate at mu = sqrt(T) / m against the zero reference, not 2 sqrt(T) / m (subsampled steps are not covered)",
        worked="m = 2, T = 4, K = 10: mu = 1, .389",
        code=(f"{_CERTIFICATES}:training_mu",),
        tests=(
            "tests/gradients/test_certificates.py::test_several_releases_add_up_like_one_with_less_noise",
            _ATTACKED,
        ),
    ),
    _ok(
        "G25",
        "certificates, none",
        "clipping alone, top-k, pruning, signs, quantisation, aggregation, soft labels and dropped biases certify nothing: certificate none",
        worked="digits network, one-hot: signs, 2 bits, top 1 % and clipping each leave iDLG 100 % of the labels",
        code=("labelinf_gradients.bounds.certificates:GradientCertificate",),
        tests=("tests/gradients/test_defences.py::test_nothing_is_certified_that_is_not_proved", _ATTACKED),
    ),
)
