"""One command plants, trains a kind of model, and audits it against the epsilon that it states."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import BreastCancer
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.trained import trained
from labelinf_outputs.commands import model


@pytest.mark.long
@pytest.mark.parametrize("victim", ["forest", "boosting", "neighbours"])
def test_a_model_without_privacy_is_refuted_in_one_command(victim: str) -> None:
    found = CliRunner().invoke(model, [victim, "--epsilon", "1", "--json"])

    assert found.exit_code == 1
    assert json.loads(found.stdout)["decision"]["refuted"]
    assert f"{victim} trained on breast-cancer: " in found.stderr


@pytest.mark.long
@pytest.mark.parametrize("victim", ["dp-bayes", "dp-forest"])
def test_a_model_of_diffprivlib_is_trained_with_the_claimed_epsilon_and_not_refuted(victim: str) -> None:
    """Five models each; a true claim is refuted in one audit of twenty at most."""
    builder, data, accuracies = Builder(Host.load(strict=True)), BreastCancer().load(), []
    for seed in range(5):
        for epsilon in (0.01, 50.0):
            claim = PrivacyClaim(epsilon=epsilon)
            planted, accuracy = trained(victim, data, claim, seed)
            accuracies.append(accuracy)
            audited = audit_outputs(
                planted, builder, attacks=["lia-threshold"], claim=claim, rng=np.random.default_rng(0)
            )
            assert audited.decision.level <= max(epsilon, 0.6)

    assert np.mean(accuracies[::2]) < np.mean(accuracies[1::2])  # the epsilon arrives where the noise is made


def test_a_control_is_planted_too_so_that_nothing_found_means_something() -> None:
    planted, _ = trained("memory", BreastCancer().load(), PrivacyClaim(), seed=0)

    assert planted.control is not None
    shown, labels = planted.control
    assert labels.size == 20
    assert np.array_equal(shown.log_probabilities.argmax(axis=1), labels)
    assert planted.seal


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "victim 'nothing' must be one of mlp"),
        (["forest", "--labels", "made"], "come without features"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(arguments: list[str], said: str) -> None:
    assert said in str(CliRunner().invoke(model, arguments).exception)
