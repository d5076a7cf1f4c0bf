"""The statements of Khan et al., *BLIA*, 2025, that do not hold as printed (E12 to E19)."""

from __future__ import annotations

import functools

from labelinf_core import Statement, Status

__all__ = ["STATEMENTS"]


def _blia(key: str, where: str, says: str, status: Status, **more: object) -> Statement:
    title = f"Khan et al., BLIA, 2025, {where}"
    return Statement(key=key, title=title, says=says, status=status, **more)  # type: ignore[arg-type]


_repaired = functools.partial(_blia, status=Status.REPAIRED)
_false = functools.partial(_blia, status=Status.FALSE)
_open = functools.partial(_blia, status=Status.OPEN)

_PUBLISHED = "labelinf_outputs.published.blia"
_ATTACKS = "labelinf_outputs.attacks"

STATEMENTS = (
    _repaired(
        "E12",
        "section 5.2, margin",
        "the margin is the highest minus the second-highest probability; the formula is p_1 - SecondHighest(p)",
        counterexample="p = (.75, .25): the text gives .5, the formula 0",
        repaired="for two classes the formula is max(0, 2 p_1 - 1), never negative; it is what is implemented",
        worked="p = (.25, .75): .5 by both",
        code=(f"{_ATTACKS}.delta_margin:margin",),
        tests=("tests/theorems/test_b12.py",),
    ),
    _repaired(
        "E13",
        "section 5.2, weights",
        "Delta-Margin guesses 1 where alpha m - beta l > 0; alpha and beta are not given",
        counterexample="one confident model, labels nobody saw: .5 at beta/alpha = .1, .75 at .747, .5 at 50",
        repaired="alpha and beta are parameters, 1 and 1 by default, and every result names them",
        worked="beta/alpha >= .3733646: every label 0 is guessed, whatever the model says",
        code=(f"{_ATTACKS}.delta_margin:DeltaMargin",),
        tests=("tests/theorems/test_b13.py",),
    ),
    _false(
        "E14",
        "abstract, Lemma 3.1, section 7",
        "success rates consistently exceed 50 %, which conclusively demonstrates memorisation",
        counterexample="seven of 84 rates do not exceed 50 %, 47 are not significant at 1 %; Census 262 of 520: p = .45",
        repaired="an exact p-value against 1/K for every rate, with Holm's correction over the table",
        worked="37 of 84 are significant at 1 %, 33 after Holm; Tables 2 and 8 print 52.08 and 52.09 for one rate",
        code=(f"{_PUBLISHED}:entries", "labelinf_core.evaluator.statistics:p_value"),
        tests=("tests/theorems/test_b14.py",),
    ),
    _false(
        "E15",
        "section 6.2.1",
        "LIA-Delta-Margin consistently outperformed LIA-Threshold",
        counterexample="it did not in 6 of 42 settings: Census eps = inf, 2; CIFAR-10 eps = .5, .3; Big-Vul eps = inf, .5",
        repaired="it did in 36 of 42; where its loss is computed with the label to be inferred, that shows the loss",
        code=(f"{_PUBLISHED}:rows",),
        tests=("tests/theorems/test_b15.py",),
    ),
    _false(
        "E16",
        "section 3.3",
        "even with label-DP, success above 50 % demonstrates that the mechanism fails to prevent memorisation",
        counterexample="randomised response at eps = .3: guessing its answer is right with probability .5744, as specified",
        repaired="the limit is e^eps / (e^eps + K - 1); success against the label trained on and against the label "
        "protected are two questions, and both are reported",
        worked="eps = 1, K = 2: up to .7311 of the protected labels, all of those trained on",
        code=("labelinf_privacy.auditing:label_dp_ceiling", "labelinf_outputs.defences.label_rr:LabelRr"),
        tests=("tests/theorems/test_b16.py",),
    ),
    _repaired(
        "E17",
        "section 6 against section 3",
        "the labels of 2 % of the training data are flipped",
        counterexample="FashionMNIST: 1 200 canaries of 60 000, flipped with probability 1/2: about 600 labels change",
        repaired="2 % are canaries with uniform labels; about 1 % of all labels change",
        code=(f"{_PUBLISHED}:rows",),
        tests=("tests/theorems/test_b17.py",),
    ),
    _false(
        "E18",
        "Tables 2 and 6",
        "the train accuracies and the threshold rates belong to the same labels",
        counterexample="FashionMNIST without label-DP: 216 training errors in all, 495 of them among 1 200 canaries",
        repaired="a report says which labels an accuracy is measured on",
        worked="Census fits randomised response to .6 points (measured on noisy labels), FashionMNIST fits nothing",
        code=(f"{_PUBLISHED}:train_fit",),
        tests=("tests/theorems/test_b18.py",),
    ),
    _open(
        "E19",
        "appendix, on Census",
        "a data set on which the attacks score low is less vulnerable",
        counterexample="digits at their best epoch: the threshold attack below .60, the calibrated one above .75 (one "
        "split); it may be the attack that is weak",
        repaired="a low score limits the attack that was played; what no attack can exceed takes a certificate",
        code=(f"{_ATTACKS}.calibrated:Calibrated",),
        tests=("tests/theorems/test_b19.py",),
    ),
)
