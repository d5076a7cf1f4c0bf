"""E16: success above one half does not show that randomised response fails (Khan et al., BLIA, 2025, section 3.3).

The paper: "Even with Label DP, a success ratio above 50% conclusively demonstrates label memorization, as the
privacy-preserving mechanism fails to prevent memorization of random labels."
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from labelinf_core.contracts.audited import AuditWord
from labelinf_core.statistics.epsilon_bounds import label_dp_ceiling
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.committed import Commitment
from labelinf_outputs.audit.decision import Decision
from labelinf_outputs.audit.findings import AttackRun, Finding, Ranking, findings_of
from labelinf_outputs.game.output import OutputOracle, OutputThreat, Release
from labelinf_outputs.game.view import View
from labelinf_privacy.randomised_response import perturb


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_a_mechanism_that_works_as_specified_lets_an_attack_reach_its_ceiling(epsilon: float) -> None:
    """The attack that guesses the response: 50 000 labels lie within 5 standard deviations of the ceiling."""
    labels = np.random.default_rng(0).integers(0, 2, 50_000)
    responses = perturb(labels, epsilon, 2, np.random.default_rng(1))
    ceiling = label_dp_ceiling(epsilon, 2)

    success = float((responses == labels).mean())

    assert success > 0.5
    assert abs(success - ceiling) < 5 * np.sqrt(ceiling * (1 - ceiling) / labels.size)


def test_the_label_that_was_trained_on_and_the_one_that_is_protected_are_two_questions() -> None:
    """A tree fits every response it was trained on; the audit finds all of those and refutes nothing.

    2 000 planted labels lie within 5 standard deviations of the ceiling. The same tree trained on the planted labels
    themselves is caught, so the audit can refute.
    """
    rng, epsilon, m = np.random.default_rng(2), 0.3, 2_000
    planted, features = rng.integers(0, 2, m), rng.normal(size=(m, 3))
    trained = perturb(planted, epsilon, 2, np.random.default_rng(3))
    threat = OutputThreat(n_records=m, n_classes=2, prior=(0.5, 0.5), declared=View())
    committed = Commitment(attack="lia-threshold", guesses=m, why="fixed in advance")

    def audited(labels: NDArray[np.intp]) -> tuple[Finding, Decision]:
        said = DecisionTreeClassifier(random_state=0).fit(features, labels).predict_proba(features)
        release = Release(probabilities=said, log_probabilities=np.log(np.maximum(said, 1e-300)))
        oracle = OutputOracle(threat, release, lambda: pytest.fail("there are no references"))
        guess = Threshold().run(oracle, rng)
        run_trial = AttackRun(
            attack="lia-threshold",
            ranked=guess.ranked(planted),
            placebo=guess.labels == rng.integers(0, 2, m),
            trained=guess.labels == labels,
            first=Ranking(canaries=guess.surest(), right=guess.ranked(planted)),
        )
        claim = PrivacyClaim(epsilon=epsilon)
        decision = Decision(claim=claim, found=claim.proof(run_trial.ranked, m, n_classes=2, n_canaries=m))
        return findings_of([run_trial], threat, committed)[run_trial.attack], decision

    (honest, kept), (_, broken) = audited(trained), audited(planted)

    assert honest.memorised is not None
    assert honest.accuracy is not None
    assert honest.memorised.value == 1.0
    ceiling = label_dp_ceiling(epsilon, 2)
    assert abs(honest.accuracy.value - ceiling) < 5 * np.sqrt(ceiling * (1 - ceiling) / m)
    assert 0 < kept.level < epsilon
    assert kept.word is broken.word is AuditWord.LEAKS
    assert (kept.refuted, broken.refuted) == (False, True)
    assert broken.level > 5
