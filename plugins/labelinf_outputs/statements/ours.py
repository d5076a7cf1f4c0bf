"""What the audit of planted labels rests on (T9 to T12)."""

from __future__ import annotations

from labelinf_core import Statement, Status

__all__ = ["STATEMENTS"]

STATEMENTS = (
    Statement(
        key="T9",
        title="Steinke, Nasr and Jagielski, NeurIPS 2023, Theorem 5.1, K classes",
        says="v of r guesses right refute every epsilon with P[Bin(r, e^eps / (e^eps + K - 1)) >= v] <= beta",
        status=Status.OK,
        worked="beta = .05: 300 of 520 prove .1606, 100 of 100 prove 3.4930; K = 10: 731 of 1 000 prove 3.0778",
        code=("labelinf_privacy.auditing:epsilon_lower_bound", "labelinf_privacy.auditing:one_run_epsilon"),
        tests=(
            "tests/theorems/test_bt09.py",
            "tests/outputs/test_auditing.py::test_one_run_covers_whatever_the_ranking",
        ),
    ),
    Statement(
        key="T10",
        title="labelinf theory, label-DP ceilings",
        says="no attack guesses more than (e^eps + (K - 1) delta) / (e^eps + K - 1) of uniform labels; keeping a label "
        "with that probability and else drawing from all classes has eps = ln(1 + K e^eps / (K - 1))",
        status=Status.OK,
        worked="eps = 1, .3: .73106, .57444; resampling at a nominal .3 is 1.30826",
        code=(
            "labelinf_privacy.auditing:label_dp_ceiling",
            "labelinf_outputs.defences.resampling_rr:effective_epsilon",
        ),
        tests=("tests/theorems/test_bt10.py",),
    ),
    Statement(
        key="T11",
        title="labelinf theory, loss oracles",
        says="a loss computed with a label is that label; Delta-Margin reads it: right on every 0 where beta/alpha >= "
        "max (2p - 1) / (-ln(1 - p)), on a 1 where p_1 exceeds a critical value, on 3/4 of labels nobody saw",
        status=Status.OK,
        worked="the maximum is .3733646, at p = .8133; critical p_1 is .6874 for beta/alpha = 1",
        code=(
            "labelinf_outputs.attacks.delta_margin:critical_probability",
            "labelinf_outputs.attacks.delta_margin:scores",
            "labelinf_outputs.attacks.loss_inversion:fit_of_losses",
        ),
        tests=("tests/theorems/test_bt11.py",),
    ),
    Statement(
        key="T12",
        title="Khan et al., BLIA, 2025, Tables 1 and 3 to 8, computed again",
        says="37 of 84 rates beat one half at 1 %, 33 after Holm; 15 of 72 exceed what label-DP allows, 14 after Holm; "
        "IMDB fits SR_DM = (1 + SR_Thr) / 2 and resampled labels (an inference from printed numbers, not a proof)",
        status=Status.OK,
        worked="IMDB, Delta-Margin at eps = .3: 89.2 %, allowed 57.4 %, p = 6e-55; identity p = .39, resampling p = .13",
        code=tuple(
            f"labelinf_outputs.published.blia:{name}"
            for name in ("entries", "loss_identity", "threshold_fit", "train_fit")
        ),
        tests=("tests/theorems/test_bt12.py",),
    ),
)
