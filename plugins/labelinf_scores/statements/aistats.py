"""The statements of Aggarwal et al., *Reconstructing Test Labels from Noisy Loss Functions*, AISTATS 2022 (S30 to S52)."""

from __future__ import annotations

import functools

from labelinf_core import Statement, Status

__all__ = ["STATEMENTS"]


def _aistats(key: str, where: str, says: str, status: Status, **more: object) -> Statement:
    return Statement(key=key, title=f"AISTATS 2022, {where}", says=says, status=status, **more)  # type: ignore[arg-type]


_ok = functools.partial(_aistats, status=Status.OK)
_repaired = functools.partial(_aistats, status=Status.REPAIRED)
_false = functools.partial(_aistats, status=Status.FALSE)

STATEMENTS = (
    _ok(
        "S30",
        "Definition 1",
        "f is tau-separable iff two distinct labellings differ by at least tau in f; 0+-separable iff they differ at all",
        worked="f = <sigma, (1, 2, 4)>: separation 1",
        code=(
            "labelinf_scores.metrics.set_valued:separation",
            "labelinf_scores.certificates.separation:separation",
        ),
        tests=("tests/theorems/test_s30.py",),
    ),
    _ok(
        "S31",
        "Definition 2",
        "tau-robust label inference under noise strictly smaller than tau",
        worked="sums {0, 2}, tau = 1: robust, since an answer of 1 cannot occur",
        code=("labelinf_scores.limits:is_robust",),
        tests=("tests/theorems/test_s31.py",),
    ),
    _ok(
        "S32",
        "Proposition 1, LabelInf",
        "robust iff the separation is at least 2 tau; the nearest labelling decodes",
        worked="gaps (.6, 1.2, 2.4), N = 3: separation .2, robust for tau <= .1",
        code=(
            "labelinf_scores.decoders.exhaustive:nearest_labeling",
            "labelinf_scores.decoders.meet_in_the_middle:nearest_labeling",
        ),
        tests=("tests/theorems/test_s32.py",),
    ),
    _ok(
        "S33",
        "Definition 3, equation 2",
        "a linearly decomposable loss is h(theta) + sum_i sigma_i g(theta_i); only solvability of g = y is needed, not a "
        "global inverse, and theta in (0, 1) where a loss is infinite at the ends",
        worked="log-loss, theta = .2: gap ln 4 = 1.386294",
        code=("labelinf_scores.metrics.additive:AdditiveLoss",),
        tests=("tests/theorems/test_s33.py",),
    ),
    _ok(
        "S34",
        "equation 3",
        "g-linear losses have the gap d(theta) = g(theta) - g(1 - theta), scaled by 1/N",
        worked="squared error, theta = .2: gap .6",
        code=(
            "labelinf_scores.metrics.binary:BinaryLoss",
            "labelinf_scores.metrics.log_loss:LogLoss",
            "labelinf_scores.metrics.itakura_saito:ItakuraSaito",
            "labelinf_scores.metrics.squared_euclidean:SquaredEuclidean",
            "labelinf_scores.metrics.norm_like:NormLike",
        ),
        tests=("tests/theorems/test_s34.py",),
    ),
    _repaired(
        "S35",
        "Lemma 1",
        "every Bregman divergence is linearly decomposable",
        erratum="A-4",
        counterexample="F = x^2 + y^2, theta = 1/4: the true gap is 1, the proof's formula gives -1",
        repaired="g(theta) = (phi(1) - phi(0) - phi'(theta)) / N with phi(x) = F(x, 1 - x); F finite at the corners",
        worked="F = e^x + e^(2y), theta = .25: gap 3.00858 (printed formula -1.76496)",
        code=("labelinf_scores.metrics.bregman:Bregman",),
        tests=("tests/theorems/test_s35.py",),
    ),
    _repaired(
        "S36",
        "losses (7), (8), (10), (11)",
        "Kullback-Leibler, Itakura-Saito, squared Euclidean and norm-like losses",
        erratum="A-3",
        counterexample="Itakura-Saito with the constant -2 is -1 at theta = 1",
        repaired="the constant is -1",
        worked="spans for theta in [.01, .99]: 4.595120, 94.394779, .98, 2.94 (alpha = 3)",
        code=(
            "labelinf_scores.metrics.log_loss:LogLoss",
            "labelinf_scores.metrics.itakura_saito:ItakuraSaito",
            "labelinf_scores.metrics.squared_euclidean:SquaredEuclidean",
            "labelinf_scores.metrics.norm_like:NormLike",
        ),
        tests=("tests/theorems/test_s36.py",),
    ),
    _repaired(
        "S37",
        "Theorem 1",
        "any theta with gaps larger than 2^i N tau is 2 tau-separable",
        erratum="A-1",
        counterexample="N = 2, tau = 1, gaps (9, 9): labellings 10 and 01 collide",
        repaired="gaps d_i >= 2 N tau + sum_{j<i} d_j; equality d_i = 2^i N tau separates by exactly 2 tau",
        worked="N = 3, tau = .1: gaps (.6, 1.2, 2.4), scores .2625355233 + {0, .2, ..., 1.4}",
        code=(
            "labelinf_scores.constructions.powers:power_gaps",
            "labelinf_scores.decoders.superincreasing:greedy_decode",
        ),
        tests=("tests/theorems/test_s37.py",),
    ),
    _ok(
        "S38",
        "Corollary 1",
        "Itakura-Saito with theta_i = 1 / (1 + 3^(2^i N tau)) is 2 tau-separable",
        erratum="A-2",
        worked="N = 1, tau = .01: separation 1.0987891 * 2 tau",
        code=(
            "labelinf_scores.metrics.itakura_saito:ItakuraSaito",
            "labelinf_scores.constructions.powers:power_gaps",
        ),
        tests=("tests/theorems/test_s38.py",),
    ),
    _ok(
        "S39",
        "Corollary 2",
        "log-prime gaps fit into bounded losses: theta_i = (1 - ln p_i / N)/2 for the squared error",
        worked="N = 2, squared error: least gap ln(3/2) / 4 = 0.101366",
        code=(
            "labelinf_scores.constructions.log_primes:log_prime_gaps",
            "labelinf_scores.attacks.log_primes:LogPrimes",
        ),
        tests=("tests/theorems/test_s39.py",),
    ),
    _ok(
        "S40",
        "Theorem 2, Construction 2",
        "gaps 3 P tau ln p_i, P the product of the primes, are 2 tau-separable (N times that in the form with a mean, for the "
        "rounding decoder); the scale 2 sqrt(P + 1/4) is enough, 2 / rho_N is what it takes",
        erratum="A-5, A-6",
        worked="2 / rho_N = 2.89, 4.93, 10.97, 28.99, 42.99, ... against 3P = 6, 18, 90, 630, 6930",
        code=(
            "labelinf_scores.constructions.log_primes:printed_scale",
            "labelinf_scores.constructions.log_primes:small_scale",
            "labelinf_scores.constructions.log_primes:separation",
            "labelinf_scores.attacks.log_primes:LogPrimes",
        ),
        tests=("tests/theorems/test_s40.py",),
    ),
    _repaired(
        "S41",
        "closest squarefree number, Algorithm 1",
        "decoding takes the closest squarefree integer, in sub-exponential time",
        erratum="A-7, A-8",
        counterexample="x = 12.6, m = 3: the algorithm returns 10, the closest is 15",
        repaired="rounding: the answer lies within 0.363 of the integer; then divide by the primes",
        worked="x = 1 (all labels 0): the algorithm returns 2",
        code=(
            "labelinf_scores.decoders.squarefree:closest_squarefree_printed",
            "labelinf_scores.decoders.squarefree:closest_squarefree",
            "labelinf_scores.decoders.rounding:nearest_integer",
        ),
        tests=("tests/theorems/test_s41.py",),
    ),
    _ok(
        "S42",
        "multi-query form",
        "M labels a query with 1/2 elsewhere recover all labels in ceil(N/M) queries, each with the first M weights: those "
        "that follow, as printed, only overflow",
        erratum="A-22",
        worked="N = 6, M = 3: two queries with the same three weights",
        code=(
            "labelinf_scores.attacks.log_primes:LogPrimes",
            "labelinf_scores.plans.prime_query:recover",
        ),
        tests=("tests/theorems/test_s42.py",),
    ),
    _repaired(
        "S43",
        "equations 4 and 5, Theorem 3",
        "K-class weights of range 2^(N K) separate all labellings",
        erratum="A-9",
        counterexample="N = 1, K = 2, labels k = 0, 1 put into the exponents 2^((n - 1) K + k): separation tau ln 3 = 0.549 * 2 tau",
        repaired="index classes 1..K; mixed radix needs the range K^N - 1 only, which is optimal",
        worked="K = 4, N = 3: N times the score ranges over 3822 N tau ln 3 as printed, over 126 N tau in mixed radix",
        code=(
            "labelinf_scores.constructions.class_rows:class_rows",
            "labelinf_scores.constructions.powers:class_exponents",
            "labelinf_scores.constructions.weights:superincreasing",
        ),
        tests=("tests/theorems/test_s43.py",),
    ),
    _repaired(
        "S44",
        "equations 5 and 14, Appendix D and G",
        "softmax and sigmoid losses on logits",
        erratum="A-18, A-19",
        counterexample="called fully specified, yet every row may be shifted; called costlier in bits, yet cheaper",
        repaired="theta' = ln theta + c; logits need fewer bits than probabilities",
        worked="N = 10, K = 2, tau = 1: 23 bits for logits, 8.31e6 for the smallest probability",
        code=(
            "labelinf_scores.metrics.softmax_log_loss:SoftmaxLogLoss",
            "labelinf_scores.metrics.sigmoid_log_loss:SigmoidLogLoss",
        ),
        tests=("tests/theorems/test_s44.py",),
    ),
    _repaired(
        "S45",
        "Section 5, Theorem 6, Remark 4",
        "MutNet outputs a robust vector on the test set and looks like a network otherwise",
        erratum="A-10, A-20",
        counterexample="v = -1, M1 = [-1], M2 = [1], x = .5: output .7310586, not 1/2; one vector for all rows",
        repaired="h = relu([v, -v]); a batch head, an index feature or an interpolating layer",
        worked="a constant output on N = 6, K = 3: 28 distinct scores for 729 labellings",
        code=(
            "labelinf_scores.mutnet:published",
            "labelinf_scores.mutnet:for_any_sign",
            "labelinf_scores.mutnet:batch_head",
            "labelinf_scores.mutnet:interpolating",
        ),
        tests=("tests/theorems/test_s45.py",),
    ),
    _false(
        "S46",
        "Appendix A, Lemmas 2 and 3, Theorem 5",
        "deciding 0+-separability is co-NP-hard, by a reduction from 3-CNF almost-tautology",
        erratum="A-21",
        counterexample="for N >= 4 a 3-CNF is an almost tautology iff every clause contains x and not x: linear time",
        repaired="reduce from 3-DNF tautology with primes and a dummy variable (Lemma 3 itself is true)",
        worked="(x1 or x2 or x3): one falsifying assignment; padded with a dummy variable, two",
        code=(
            "labelinf_scores.hardness:loss_of_cnf",
            "labelinf_scores.hardness:loss_of_dnf",
            "labelinf_scores.hardness:is_almost_tautology_of_3cnf",
        ),
        tests=("tests/theorems/test_s46.py",),
    ),
    _repaired(
        "S47",
        "Definition 4, Propositions 2 and 3",
        "separability carries over between finite and arbitrary precision",
        erratum="A-15, A-16",
        counterexample="f = {.49, .51} rounded to integers is {0, 1}, rounded to quarters {.5, .5}",
        repaired="|separation(rounded f) - separation(f)| <= 2 E, E the evaluation and rounding error",
        worked="tau = 1.1, f = {.07, 1.17}, phi = 7: rounded gap 1.0",
        code=(
            "labelinf_scores.arithmetic.fixed:Fixed",
            "labelinf_scores.metrics.set_valued:separation",
        ),
        tests=("tests/theorems/test_s47.py",),
    ),
    _repaired(
        "S48",
        "Theorem 7",
        "discrete L_p losses are never 0+-separable",
        erratum="A-11",
        counterexample="N = 1: separation 1",
        repaired="for N >= 2; there are N labellings at distance 1",
        worked="N = 2: labellings 10 and 01 are both at distance 1 from 00",
        code=("labelinf_scores.metrics.set_valued:discrete_lp",),
        tests=("tests/theorems/test_s48.py",),
    ),
    _repaired(
        "S49",
        "Theorem 8, Corollary 3",
        "a monotone set function is not tau-separable beyond half its least increment",
        erratum="A-12",
        counterexample="N = 1, f = (0, 1): separation 1, half the increment is 1/2",
        repaired="beyond the least increment for tau-separability; half of it for tau-robust inference",
        worked="f = (0, 1, 2, 3): separation 1 = least increment",
        code=("labelinf_scores.metrics.set_valued:least_increment",),
        tests=("tests/theorems/test_s49.py",),
    ),
    _ok(
        "S50",
        "Theorem 9",
        "f with range beta is not tau-separable for tau > beta / N; loose: the separation is at most (max f - min f) / "
        "(K^N - 1), which mixed radix attains",
        erratum="A-13",
        worked="N = 2, f = {0, 1, 2, 3}, beta = 3: separation 1 = 3 / (2^2 - 1), below 3/2",
        code=(
            "labelinf_scores.limits:separation_ceiling",
            "labelinf_scores.limits:pigeonhole_tau",
        ),
        tests=("tests/theorems/test_s50.py",),
    ),
    _repaired(
        "S51",
        "Theorem 10, Appendix G",
        "theta_i = 3^(2^i) N tau / (1 + 3^(2^i) N tau) is robust",
        erratum="A-14",
        counterexample="N = 3, tau = 3: v = (81, 729, 59049) and 81 * 729 = 59049",
        repaired="3^(2^i N tau)",
        worked="N = 1, tau = 10: printed gap 4.50 < 20",
        code=("labelinf_scores.constructions.powers:power_gaps",),
        tests=("tests/theorems/test_s51.py",),
    ),
    _ok(
        "S52",
        "Appendix D, example",
        "rows (2, 3, 5)/10 and (7, 11, 13)/31: distinct primes give nine distinct scores",
        worked="labels (0, 2): -(1/2) ln(26/310); labels (1, 0): -(1/2) ln(21/310)",
        code=("labelinf_scores.metrics.log_loss:LogLoss",),
        tests=("tests/theorems/test_s52.py",),
    ),
)
