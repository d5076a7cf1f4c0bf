"""Word, exit status, proof and remedy of an audit are one object: they agree wherever they are shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from labelinf_core.contracts.audited import AuditWord
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics.both_tails import WRONG_SHARE
from labelinf_core.statistics.epsilon_bounds import BETA
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.decision import POWER, Decision
from labelinf_outputs.audit.findings import Observation, OutputsAudit
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.audit.power import Power
from labelinf_outputs.audit.validity import voids
from labelinf_outputs.commands import outputs
from labelinf_outputs.game.output import References, Release
from labelinf_outputs.game.view import LossOracle, Outputs, View

BUILDER = Builder(Host.load(strict=True))
Labels = NDArray[np.intp]


def given(said: Labels, planted: Labels, n_classes: int, *, control: bool = False, **more: Any) -> Planted:
    """What an auditor of predicted classes has."""
    shown = np.eye(n_classes)[said]
    logs = np.log(np.maximum(shown, 1e-6))
    openly = np.random.default_rng(0).integers(0, n_classes, 20)
    told = np.eye(n_classes)[openly]
    return Planted(
        release=Release(probabilities=shown, log_probabilities=logs, **more),
        labels=planted,
        class_names=tuple(map(str, range(n_classes))),
        view=View(outputs=Outputs.TOP_ONE, loss=LossOracle.PLANTED if "losses" in more else LossOracle.NONE),
        control=(Release(probabilities=told, log_probabilities=np.log(np.maximum(told, 1e-6))), openly)
        if control
        else None,
    )


def audited(known: Planted, *attacks: str, **options: Any) -> OutputsAudit:
    return audit_outputs(known, BUILDER, attacks=attacks, rng=np.random.default_rng(0), **options)


def cli(folder: Path, said: Labels, planted: Labels, *more: str) -> tuple[int, str]:
    """The command's status and what it prints, of predicted classes."""
    for name, header, values in (("p", "said", said), ("c", "label", planted)):
        (folder / f"{name}.csv").write_text("\n".join([header, *map(str, values.tolist())]) + "\n")
    files = ["--shows", "top-1", str(folder / "p.csv"), "--planted-by-me", str(folder / "c.csv")]
    result = CliRunner().invoke(outputs, [*files, *more])
    assert isinstance(result.exception, SystemExit | None)
    return result.exit_code, result.output


def agree(folder: Path, said: Labels, planted: Labels, *more: str) -> dict[str, Any]:
    """Audit by the command: text, JSON, page and exit status say the same; return the decision."""
    page = folder / "r.html"
    page.unlink(missing_ok=True)
    status, text = cli(folder, said, planted, *more, "--html", str(page))
    same, document = cli(folder, said, planted, *more, "--json")
    decision: dict[str, Any] = json.loads(document)["decision"]
    leaks = decision["level"] > 0

    assert status == same == decision["status"]
    assert (decision["word"] == "leaks") is leaks
    assert (" is proved" in " ".join(text.split())) is (" is proved" in page.read_text()) is leaks
    assert ("stopped by  training behind" in text) is leaks is bool(decision["remedy"])
    assert f"{decision['word']}; exit status {status}" in page.read_text()
    assert decision["refuted"] is ("  REFUTED" in text)
    if "--epsilon" not in more:
        assert status == (1 if leaks else 3)
    elif status == 0:
        assert decision["power"] >= POWER
        assert not decision["refuted"]
    elif status == 1:
        assert decision["refuted"]
    return decision


@pytest.mark.parametrize("seed", range(7))
def test_neighbours_on_breast_cancer_never_prove_a_leak_that_is_not_one(tmp_path: Path, seed: int) -> None:
    """kNN(5), predicted classes: audits proved an epsilon of .11 and more, and ended with 0 and "nothing found"."""
    features, labels = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(seed)
    canaries = rng.permutation(labels.size)[:170]
    planted = rng.integers(0, 2, 170)
    labels[canaries] = planted
    model = KNeighborsClassifier(5).fit((features - features.mean(axis=0)) / features.std(axis=0), labels)
    said = model.predict(((features - features.mean(axis=0)) / features.std(axis=0))[canaries])

    alone = agree(tmp_path, said, planted)
    claimed = agree(tmp_path, said, planted, "--epsilon", "0.1")

    assert claimed["level"] == alone["level"]
    assert claimed["refuted"] is (alone["level"] > 0.1)
    assert claimed["status"] != 0  # 170 canaries refute .2 in one audit of twelve


@pytest.mark.long
def test_randomised_response_is_told_in_one_word_in_every_audit() -> None:
    """True epsilon .5, 100 labels: of 150 audits 123 proved something, and 53 of these said that nothing was."""
    rng, proving = np.random.default_rng(1), 0
    for _ in range(150):
        planted = rng.integers(0, 2, 100)
        said = np.where(rng.random(100) < 1 / (1 + math.exp(-0.5)), planted, 1 - planted)
        found = audited(given(said, planted, 2, control=True)).decision
        proving += found.level > 0
        assert (found.word is AuditWord.LEAKS) is (found.level > 0) is (found.status == 1) is bool(found.remedy)
        assert found.status in (1, 3)
        assert found.proof is not None
        assert found.proof.share is not None
        # The interval weighs both sides alike, the proof does not: it may prove a little where a half is inside.
        assert found.level > 0 or found.proof.share.low <= 0.5 <= found.proof.share.high

    assert proving > 65


@pytest.mark.long
def test_an_always_wrong_guess_tells_as_much_as_an_always_right_one(tmp_path: Path) -> None:
    """0 of 170 right, by a forest whose predictions were turned round."""
    features, labels = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(3)
    canaries = rng.permutation(labels.size)[:170]
    planted = rng.integers(0, 2, 170)
    labels[canaries] = planted
    said = RandomForestClassifier(30, bootstrap=False, random_state=0).fit(features, labels).predict(features[canaries])

    right, wrong = (agree(tmp_path, answer, planted) for answer in (said, 1 - said))
    claimed = agree(tmp_path, 1 - said, planted, "--epsilon", "1")

    assert (right["proof"]["correct"], wrong["proof"]["correct"]) == (170, 0)
    assert right["level"] == pytest.approx(wrong["level"]) == pytest.approx(4.03, abs=0.01)
    assert (wrong["word"], wrong["status"]) == ("leaks", 1)
    assert (claimed["refuted"], claimed["status"]) == (True, 1)


def test_wrong_guesses_of_ten_classes_prove_what_a_class_left_out_tells() -> None:
    """No label is ever guessed: 0 of 300 right where 30 are expected."""
    planted = np.random.default_rng(0).integers(0, 10, 300)

    found = audited(given((planted + 1) % 10, planted, 10))

    assert found.decision.word is AuditWord.LEAKS
    share = WRONG_SHARE * BETA
    alone = math.log(share ** (1 / 300) / (1 - share ** (1 / 300)) / 9)  # what the wrong ones prove at their share
    assert alone < found.decision.level < alone + 0.1
    assert found.findings[0].word is not Observation.COUNTED  # blind-guess is beside


@pytest.mark.parametrize(("m", "status"), [(300, 3), (1000, 0)])
def test_a_claim_passes_only_where_twice_as_much_would_have_been_refuted(m: int, status: int) -> None:
    """Randomised response of .3, sold as that. Against .6, 300 labels have a power of 70 % and 1 000 one of 99.7 %."""
    rng = np.random.default_rng(6)
    planted = rng.integers(0, 2, m)
    said = np.where(rng.random(m) < 1 / (1 + math.exp(-0.3)), planted, 1 - planted)

    found = audited(given(said, planted, 2), claim=PrivacyClaim(epsilon=0.3)).decision

    assert not found.refuted
    assert found.power == Power(claim=PrivacyClaim(epsilon=0.3), n_classes=2).against_twice(m, m)
    assert (found.power >= POWER) is (status == 0)
    assert found.status == status


@pytest.mark.parametrize("claim", [PrivacyClaim(epsilon=0.3, delta=1e-5), PrivacyClaim(mu=0.3)], ids=str)
def test_an_attack_that_declines_half_of_its_guesses_passes_no_claim_of_disasters(claim: PrivacyClaim) -> None:
    """Randomised response of 3, sold as .3: status 0 and a power of 99.6 %, as if all 1 000 guesses had been made."""
    rng = np.random.default_rng(6)
    planted = rng.integers(0, 2, 1000)
    said = np.where(rng.random(1000) < 1 / (1 + math.exp(-3)), planted, 1 - planted)
    known = given(said, planted, 2, control=True)

    whole, half = (audited(known, f"lia-threshold(abstain={part})", claim=claim).decision for part in (0, 0.5))

    assert (whole.status, half.status) == (1, 3)
    assert half.signal
    assert half.power is not None
    assert half.power < 1e-9


def test_the_power_that_is_printed_is_that_of_the_audit() -> None:
    """2 000 simulated audits of randomised response at twice the claim: refuted as often as is said, within 4 sigma."""
    rng, claim, m = np.random.default_rng(2), PrivacyClaim(epsilon=0.5), 200
    said = Power(claim=claim, n_classes=3).against_twice(m, m)
    right = rng.binomial(m, math.e / (math.e + 2), 2000)
    level = {c: claim.proved(c, m - c, m, n_classes=3, n_canaries=m) for c in set(right.tolist())}

    refuted = np.mean([level[c] > 0.5 for c in right.tolist()])

    assert abs(refuted - said) < 4 * math.sqrt(said * (1 - said) / 2000)


@pytest.mark.parametrize("m", [5, 6, 7, 8, 12, 40])
def test_what_is_read_from_a_loss_proves_nothing_however_few_the_labels(m: int) -> None:
    rng = np.random.default_rng(m)
    planted = rng.integers(0, 2, m)
    said = rng.integers(0, 2, m)
    losses = -np.log(np.maximum(np.eye(2)[said][np.arange(m), planted], 1e-6))

    found = audited(given(said, planted, 2, losses=losses), "loss-inversion").decision

    assert found.level == 0
    assert found.status == 3
    assert found.word is AuditWord.VOID


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("wrong", [False, True])
def test_the_bound_lies_above_the_truth_in_at_most_five_audits_of_a_hundred(
    n_classes: int, epsilon: float, wrong: bool
) -> None:
    """4 000 audits a row, by a generator of labels, noise and guesses of its own; 6.4 % is 4 standard deviations off.

    The mechanism is the worst of its epsilon for guesses that are right, or for guesses that are wrong: it names the
    label, or a class that is not the label, as often as it may.
    """
    rng, m, runs = np.random.default_rng([n_classes, wrong, round(10 * epsilon)]), 150, 4000
    planted = rng.integers(0, n_classes, (runs, m))
    odds = math.exp(epsilon)
    weights = np.full(n_classes, odds if wrong else 1.0)  # of naming the class so many places behind the label
    weights[0] = 1.0 if wrong else odds
    said = (planted + rng.choice(n_classes, (runs, m), p=weights / weights.sum())) % n_classes
    right = (said == planted).sum(axis=1)
    claim = PrivacyClaim()
    level = {c: claim.proved(c, m - c, m, n_classes=n_classes, n_canaries=m) for c in set(right.tolist())}

    above = np.mean([level[c] > epsilon for c in right.tolist()])

    assert above <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)


def test_nothing_of_a_decision_can_be_set_against_the_rest() -> None:
    """Word, status and remedy have no value of their own."""
    proof = PrivacyClaim().proof(np.ones(100, dtype=bool), 100, n_classes=2, n_canaries=100)
    found = Decision(claim=PrivacyClaim(), found=proof)

    assert (found.word, found.status) == (AuditWord.LEAKS, 1)
    for name in ("word", "status", "level", "refuted", "remedy"):
        with pytest.raises(AttributeError):
            setattr(found, name, None)
    assert Decision(claim=PrivacyClaim(), found=proof, voids=("shifted",)).status == 3


def left_out_means(labels: Labels, groups: Labels, n_classes: int) -> NDArray[np.float64]:
    """Probabilities of a target mean of a record's group that leaves the record itself out, in logarithms."""
    told = np.eye(n_classes)[labels]
    sums = np.stack([np.bincount(groups, column) for column in told.T], axis=1)
    counts = sums[groups] - told + 0.5
    return np.asarray(np.log(counts / counts.sum(axis=1, keepdims=True)))


@pytest.mark.long
@pytest.mark.parametrize("n_classes", [2, 5])
def test_means_that_show_each_label_by_its_absence_are_found_with_references(n_classes: int) -> None:
    """Two groups of 100 records: a label is missing from the mean beside it. Four models show what is usual."""
    for seed in range(3):
        rng, groups = np.random.default_rng(seed), np.arange(200) // 100
        labels = rng.integers(0, n_classes, (5, 200))
        logs = np.array([left_out_means(row, groups, n_classes) for row in labels])
        known = Planted(
            release=Release(probabilities=np.exp(logs[0]), log_probabilities=logs[0]),
            labels=labels[0],
            class_names=tuple(map(str, range(n_classes))),
            view=View(references=4),
            references=References(log_probabilities=logs[1:], planted=labels[1:], trained=labels[1:]),
        )

        assert audited(known).decision.level > 1


def test_means_over_neighbouring_records_are_no_shifted_rows() -> None:
    """Groups of four, one behind the other: what is said of a record fits its neighbours, and was called a mistake."""
    groups = np.arange(200) // 4
    for seed in range(10):
        planted = np.random.default_rng(seed).integers(0, 2, 200)
        logs = left_out_means(planted, groups, 2)
        known = attrs.evolve(
            given(planted, planted, 2), release=Release(probabilities=np.exp(logs), log_probabilities=logs)
        )

        assert voids(known) == ()
