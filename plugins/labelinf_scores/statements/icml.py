"""The statements of Aggarwal et al., *Label Inference Attacks from Log-loss Scores*, ICML 2021 (S1 to S27)."""

from __future__ import annotations

import functools

from labelinf_core import Statement, Status

__all__ = ["STATEMENTS"]

_HERE = "labelinf_scores"


def _icml(key: str, where: str, says: str, status: Status, **more: object) -> Statement:
    return Statement(key=key, title=f"ICML 2021, {where}", says=says, status=status, **more)  # type: ignore[arg-type]


_ok = functools.partial(_icml, status=Status.OK)
_repaired = functools.partial(_icml, status=Status.REPAIRED)
_false = functools.partial(_icml, status=Status.FALSE)
_open = functools.partial(_icml, status=Status.OPEN)

STATEMENTS = (
    _repaired(
        "S1",
        "Definition 1",
        "the K-ary log-loss is -(1/N) sum_i ln u[i, sigma_i], where every row of u sums to one",
        erratum="I-1",
        counterexample="the printed condition sums a column: u = [[.9, .1], [.8, .2]] has columns 1.7 and .3",
        repaired="sum_k u[i, k] = 1 for each row i",
        worked="u = [[.9, .1], [.8, .2]], labels (0, 1): (ln(1/.9) + ln(1/.2)) / 2 = 0.857399",
        code=("labelinf_scores.metrics.log_loss:LogLoss",),
        tests=("tests/theorems/test_s01.py",),
    ),
    _ok(
        "S2",
        "Definition 2",
        "the binary log-loss is -(1/N) sum_i ln(u_i if sigma_i = 1 else 1 - u_i)",
        worked="u = (1/2, 1/2): ln 2 = 0.693147 whatever the labels",
        code=("labelinf_scores.metrics.log_loss:LogLoss",),
        tests=("tests/theorems/test_s02.py",),
    ),
    _ok(
        "S3",
        "equations 1 and 2",
        "with u = v / (1 + v) the loss is (1/N) (sum_i ln(1 + v_i) - sum over labels 1 of ln v_i)",
        worked="v = (2, 3), labels (1, 0): (ln 3 + ln 4 - ln 2) / 2 = 0.895880",
        code=("labelinf_scores.metrics.log_loss:LogLoss",),
        tests=("tests/theorems/test_s03.py",),
    ),
    _repaired(
        "S4",
        "Section 2, FPA(phi)",
        "numbers are multiples of 2^-((phi - 1)/2) up to 2^((phi - 1)/2)",
        erratum="I-2",
        counterexample="called floating point; the step does not scale with the number",
        repaired="it is fixed point with (phi - 1)/2 fraction bits",
        worked="phi = 9: step 1/16, so ln 2 is held as 11/16",
        code=("labelinf_scores.arithmetic.fixed:Fixed",),
        tests=("tests/theorems/test_s04.py",),
    ),
    _ok(
        "S5",
        "Definition 3",
        "label inference recovers all of sigma from M exact scores",
        worked="N = 5, M = 1: see S6",
        code=(
            "labelinf_scores.attacks.primes:Primes",
            "labelinf_scores.attacks.prime_blocks:PrimeBlocks",
        ),
        tests=("tests/theorems/test_s05.py",),
    ),
    _ok(
        "S6",
        "Theorem 1",
        "u_i = p_i / (1 + p_i) with distinct primes; X = T e^(-N l), T = prod (1 + p_i); label i is 1 iff p_i divides X",
        worked="primes (2, 3, 5, 7, 11), labels 01101: T = 6912, loss 0.7470137673, X = 165 = 3 * 5 * 11",
        code=(
            "labelinf_scores.constructions.primes:prime_predictions",
            "labelinf_scores.attacks.primes:labels_of_score",
            "labelinf_scores.decoders.divisibility:divisors",
        ),
        tests=("tests/theorems/test_s06.py",),
    ),
    _repaired(
        "S7",
        "Algorithm 1",
        "in blocks of m primes with 1/2 elsewhere, q = prod (1 + p_i) exp(-N l + (N - m) ln 2) is the product of the "
        "primes with label 1",
        erratum="I-4",
        counterexample="the printed choice of m, largest with p_m <= 2^((phi - 5)/4), gives m = 36 for phi = 34, "
        "though 34 bits cannot carry 36 labels",
        repaired="choose m by N * error < ln(1 + 1/(2 P_m))",
        worked="float64 answers, N = 306: 10 primes a query are certified, the paper takes 5",
        code=(
            "labelinf_scores.attacks.prime_blocks:PrimeBlocks",
            "labelinf_scores.attacks.prime_blocks_printed:PrimeBlocksPrinted",
            "labelinf_scores.constructions.primes:printed_block_size",
        ),
        tests=("tests/theorems/test_s07.py",),
    ),
    _false(
        "S8",
        "Theorem 2",
        "Theta(1 + N phi 2^(-phi/4)) queries in FPA(phi), and that is optimal",
        erratum="I-4",
        counterexample="phi = 33, N = m: m = 31 is claimed, answers are distinct only up to m = 10",
        repaired="b = (phi - 1)/2 - log2 N + log2 L usable bits a query: primes satisfy m log m ~ b, binary weights "
        "m ~ b, so Theta(1 + N/b) queries",
        worked="the gap of neighbouring u is smallest inside the list, not at its top: 1/84 at (11, 13), 1/63 at (13, 17)",
        code=(
            "labelinf_scores.plans.prime_design:most_labels",
            "labelinf_scores.constructions.primes:printed_block_size",
        ),
        tests=("tests/theorems/test_s08.py",),
    ),
    _ok(
        "S9",
        "Theorems 3 and 8, exact arithmetic",
        "u[i, k] = p_i^(k-1) / sum_j p_i^(j-1); the exponent of p_i in X is sigma_i - 1",
        worked="K = 3, primes (2, 3), classes (3, 2): X = 2^2 * 3 = 12",
        code=(
            "labelinf_scores.constructions.prime_powers:power_rows",
            "labelinf_scores.attacks.prime_powers:classes_of_score",
        ),
        tests=("tests/theorems/test_s09.py",),
    ),
    _false(
        "S10",
        "Theorem 3, FPA",
        "the vector u^(m) recovers the labels inside [m], h(phi) = O((ln phi)^2 / (phi + (N - K) ln K)^(2/3))",
        erratum="I-6, I-7",
        counterexample="K = 3, m = 2, N = 2: classes (1,1), (3,1), (1,3), (3,3) all score 1.497866136777",
        repaired="exponents 1..m on the block and 0 outside; h = Theta(ln b / b) with b as in S8; mixed radix is better",
        worked="K = 3, m = 2, N = 2 with the repaired exponents: all 9 scores differ",
        code=(
            "labelinf_scores.constructions.prime_powers:class_block",
            "labelinf_scores.constructions.prime_powers:printed_block_rows",
            "labelinf_scores.attacks.prime_blocks:PrimeBlocks",
        ),
        tests=("tests/theorems/test_s10.py",),
    ),
    _repaired(
        "S11",
        "Definitions 4 and 5",
        "tau-robust label inference: one algorithm recovers every labelling under every noise of size at most tau",
        erratum="I-3",
        counterexample="as printed the algorithm may depend on the labelling, so a constant algorithm qualifies",
        repaired="exists A, for all labellings and all noise",
        worked="sums {0, 2}, tau = 1, answer 1 fits both: not 1-robust under closed noise",
        code=("labelinf_scores.limits:is_robust",),
        tests=("tests/theorems/test_s11.py",),
    ),
    _ok(
        "S12",
        "Lemma 1",
        "the separation of a vector v is mu(ln v) / N, mu the least difference of two subset sums of distinct subsets; over "
        "all pairs, as the formula has it, both sides are 0",
        erratum="I-3",
        worked="v = (e, e^2), N = 2: subset sums 0, 1, 2, 3, separation 1/2",
        code=(
            "labelinf_scores.metrics.set_valued:separation",
            "labelinf_scores.metrics.log_loss:LogLoss",
        ),
        tests=("tests/theorems/test_s12.py",),
    ),
    _ok(
        "S13",
        "Algorithm 2, Theorem 4",
        "v_i = 3^(2^i N tau) separates all labellings by 2 tau ln 3; the nearest labelling is the true one",
        erratum="I-8",
        worked="N = 3, tau = .1: least gap 0.219722",
        code=(
            "labelinf_scores.constructions.powers:power_gaps",
            "labelinf_scores.attacks.powers_exhaustive:PowersExhaustive",
            "labelinf_scores.decoders.meet_in_the_middle:nearest_labeling",
        ),
        tests=("tests/theorems/test_s13.py",),
    ),
    _open(
        "S14",
        "Theorem 5",
        "n positive reals whose subset sums differ by more than lambda have a maximum of Omega(lambda 2^n)",
        erratum="I-10",
        counterexample="it is the open distinct-subset-sums problem; the cited results bound sum 1/a_i",
        repaired="max S >= mu(S) C(n, floor(n/2)) is proved, and max S >= mu sqrt((4^n - 1)/(3 n))",
        worked="{3, 5, 6, 7}: mu = 1, maximum 7 >= C(4, 2) = 6",
        code=(
            "labelinf_scores.limits:least_widest_gap",
            "labelinf_scores.limits:variance_widest_gap",
        ),
        tests=("tests/theorems/test_s14.py",),
    ),
    _false(
        "S15",
        "Theorem 6",
        "every tau-robust v has max v = Omega(e^(2^N N tau))",
        erratum="I-11",
        counterexample="v_i = 3^(-2^i N tau) is robust with max v = 0.415 at N = 4, tau = .1",
        repaired="max |ln v_i| >= 2 N tau C(N, floor(N/2))",
        worked="ln v = 2 N tau * 1.01 * {3, 5, 6, 7}: ln max v = 5.656 < 6.4 = 2^N N tau at N = 4, tau = .1",
        code=("labelinf_scores.limits:least_log_entry",),
        tests=("tests/theorems/test_s15.py",),
    ),
    _false(
        "S16",
        "Lemmas 2 and 7",
        "v_i = 3 e^(2^i N tau) separates labellings by more than 2 tau",
        erratum="I-9",
        counterexample="N = 3, tau = ln 3 / 6: v = (9, 27, 243) and 9 * 27 = 243, so labellings 110 and 001 collide",
        repaired="v_i = 3^(2^i N tau): separation exactly 2 tau ln 3",
        worked="N = 3, tau = ln 3 / 6: repaired gap 0.402316, printed gap 0",
        code=("labelinf_scores.constructions.powers:power_gaps",),
        tests=("tests/theorems/test_s16.py",),
    ),
    _repaired(
        "S17",
        "Algorithm 3",
        "blocks of m rows with v = 3^(2^r N tau), 1 elsewhere, recover all labels in ceil(N/m) queries",
        erratum="I-13, I-20",
        counterexample="m rounds up, in the text as extracted: phi - 8 = 1.01 N tau ln 2 gives m = 1 where twice that is needed; "
        "lines 5 and 9 score u where v is meant",
        repaired="round down, and 1 - u_m must be representable: (phi - 1)/2 >= 2^m N tau log2 3 + O(1)",
        worked="log2(16 e^x) = 4 + x / ln 2, not 4 + x ln 2",
        code=(
            "labelinf_scores.attacks.powers_blocks:PowersBlocks",
            "labelinf_scores.constructions.powers:printed_labels_per_query",
        ),
        tests=("tests/theorems/test_s17.py",),
    ),
    _repaired(
        "S18",
        "Theorem 7",
        "phi >= 8 + ceil(N tau ln 2) bits suffice for tau-robust inference",
        erratum="I-13, I-14, I-15",
        counterexample="N = 10, tau = 1: phi = 15 leaves m = 0 labels a query",
        repaired="phi >= 8 + 2 N tau ln 2 in the paper's own accounting; maximum loss ln 2 + ln 3 (2^(m+1) - 2) tau",
        worked="N = 100, tau = .03, m = 1: the maximum loss is 0.757, the proof's bound .12",
        code=(
            "labelinf_scores.constructions.powers:largest_loss",
            "labelinf_scores.constructions.powers:printed_labels_per_query",
        ),
        tests=("tests/theorems/test_s18.py",),
    ),
    _ok(
        "S19",
        "Lemma 3",
        "the n-th prime is asymptotic to n ln n",
        worked="p_10000 = 104729; n ln n = 92103",
        code=("labelinf_scores.constructions.primes:first_primes",),
        tests=("tests/theorems/test_s19.py",),
    ),
    _ok(
        "S20",
        "Lemma 4",
        "with v = 1 outside the first M rows the loss depends on those rows and the constant "
        "((N - M) ln 2 + sum ln(1 + v_j)) / N",
        worked="N = 4, M = 1, v_1 = 3: the constant is (3 ln 2 + ln 4) / 4 = 0.866434",
        code=("labelinf_scores.plans.probe:Probe",),
        tests=("tests/theorems/test_s20.py",),
    ),
    _ok(
        "S21",
        "Lemma 5",
        "tau-robust under closed noise iff the separation exceeds 2 tau",
        worked="sums {0, 2}, tau = 1: separation 2 is not enough",
        code=("labelinf_scores.limits:is_robust",),
        tests=("tests/theorems/test_s21.py",),
    ),
    _ok(
        "S22",
        "Lemma 6",
        "if v is tau-robust, S = { s ln v_i / (2 N tau) } has subset sums more than s apart",
        worked="v of S13 with N = 3, tau = .1, s = 1: least gap ln 3 = 1.098612",
        code=(
            "labelinf_scores.limits:least_log_entry",
            "labelinf_scores.constructions.powers:power_gaps",
        ),
        tests=("tests/theorems/test_s22.py",),
    ),
    _ok(
        "S23",
        "Definition 6, Theorem 9",
        "noise of any distribution F: be robust to tau = max(|F^-1(delta/4)|, |F^-1(1 - delta/4)|); "
        "the proof prints delta/2 for P(|noise| <= tau) >= 1 - delta/2",
        erratum="I-16",
        worked="standard normal, delta = .1: tau = 1.959964",
        code=(
            "labelinf_privacy.noise.quantiles:robustness_needed",
            "labelinf_privacy.noise.quantiles:central_bound",
        ),
        tests=("tests/theorems/test_s23.py",),
    ),
    _ok(
        "S24",
        "Lemma 8",
        "sub-exponential (lambda^2, nu): P(|Y| > t) <= 2 exp(-min(t^2/lambda^2, t/nu)/2)",
        worked="lambda = 2, nu = 4, t = 23.97: bound 0.1",
        code=("labelinf_privacy.noise.sub_exponential:tail_probability",),
        tests=("tests/theorems/test_s24.py",),
    ),
    _false(
        "S25",
        "Theorem 10",
        "for sub-exponential noise tau = 2 (lambda + nu) sqrt(ln(2/delta)) suffices",
        erratum="I-17",
        counterexample="Laplace(1), lambda^2 = 4 ln 2, nu = sqrt 2, delta = e^-39: threshold 38.801, yet "
        "P(|Y| > 38.801) = e^-38.801 > delta",
        repaired="tau = max(lambda sqrt(2 ln(2/delta)), 2 nu ln(2/delta))",
        worked="lambda = 2, nu = 4, delta = .1: 23.97 is needed, 20.77 is printed",
        code=(
            "labelinf_privacy.noise.sub_exponential:threshold",
            "labelinf_privacy.noise.sub_exponential:printed_threshold",
        ),
        tests=("tests/theorems/test_s25.py",),
    ),
    _repaired(
        "S26",
        "Theorem 11",
        "under multiplicative noise alpha, ceil(log2(1/alpha) - 2) labels a query survive",
        erratum="I-18, I-19",
        counterexample="ceil, in the text as extracted: alpha = .1249, N = 50, m = 2: (1 + alpha) 1.4263 = 1.6044 > (1 - alpha) 1.8068 = 1.5811",
        repaired="floor instead of ceil; and alpha >= 1/4 is no barrier: one label a query survives any alpha < 1 with "
        "a large enough weight",
        worked="alpha = 1/8: floor(3 - 2) = 1 label; equally spaced weights carry 2",
        code=(
            "labelinf_privacy.noise.multiplicative:labels_per_query",
            "labelinf_privacy.noise.multiplicative:printed_labels_per_query",
        ),
        tests=("tests/theorems/test_s26.py",),
    ),
    _ok(
        "S27",
        "Table 2",
        "N/5 queries recover the four data sets exactly through a float64 score; superseded: certified binary weights take an "
        "eighth to a ninth of them",
        worked="N = 306, 569, 1372, 25000: 62, 114, 275, 5000 queries by Table 2; 7, 12, 29, 569 by binary weights",
        code=(
            "labelinf_scores.attacks.prime_blocks:PrimeBlocks",
            "labelinf_scores.attacks.binary_weights:BinaryWeights",
        ),
        tests=("tests/theorems/test_s27.py",),
    ),
)
