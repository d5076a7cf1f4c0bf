"""``labelinf bounds`` prints what theory says, and plays nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]

CLIP = ("--defence", "clip(epsilon=0.01)")


def document(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_the_threat_model_is_what_was_asked_for(labelinf: Labelinf) -> None:
    found = document(labelinf("bounds", "--records", "569", *CLIP, "--queries", "100", "--json"))

    threat = found["threat"]
    assert isinstance(threat, dict)
    assert (threat["n_records"], threat["n_classes"], threat["clip"], threat["query_budget"]) == (569, 2, 0.01, 100)
    assert found["baseline"] == 285 / 569


def test_the_noise_against_one_label_per_query_is_half_a_labels_share(labelinf: Labelinf) -> None:
    """Worked by hand: L / (2 N) with L = ln(.99 / .01) = 4.59512 and N = 569."""
    found = document(labelinf("bounds", "--records", "569", *CLIP, "--json"))

    values = [bound["value"] for bound in found["bounds"] if bound["quantity"] == "noise"]  # type: ignore[attr-defined]
    assert any(math.isclose(value, 4.5951198501 / (2 * 569), rel_tol=1e-9) for value in values)


def test_the_table_names_value_formula_conditions_and_source(labelinf: Labelinf, fakes: Path) -> None:
    result = labelinf("bounds", "--records", "12", *CLIP)

    assert result.exit_code == 0
    assert "n records 12" in result.stdout
    entry = result.stdout[result.stdout.index("noise against one label per query") :].splitlines()
    assert entry[1].strip().startswith("L / (2 N); worst-case noise; proved if bound fake-bound of")
    assert "labelinf tests, bound" in {line.strip() for line in entry[:5]}
    assert "bound fake-broken-bound could not be evaluated: OverflowError in labelinf_fakes.bounds" in result.stderr


def test_what_no_attack_exceeds_comes_from_the_defences(labelinf: Labelinf) -> None:
    found = document(labelinf("bounds", "--records", "100", "--defence", "randomised-response(epsilon=1)", "--json"))

    best = min(ceiling["accuracy"] for ceiling in found["ceilings"])  # type: ignore[attr-defined]
    assert best == pytest.approx(1 / (1 + math.exp(-1)))


def test_none_among_defences_is_no_defence(labelinf: Labelinf) -> None:
    short = labelinf("bounds", "--records", "100", *CLIP, "--json")
    empty = labelinf("bounds", "--records", "100", "--defence", "none", *CLIP, "--json")

    assert document(short) == document(empty)


def test_a_label_set_may_stand_for_the_numbers(labelinf: Labelinf) -> None:
    found = document(labelinf("bounds", "--labels", "counts(name=satellite)", "--json"))

    threat = found["threat"]
    assert isinstance(threat, dict)
    assert (threat["n_records"], threat["n_classes"]) == (6430, 6)


def test_the_shares_of_classes_may_be_given(labelinf: Labelinf) -> None:
    found = document(labelinf("bounds", "--records", "10", "--classes", "3", "--shares", ".75,.2,.05", "--json"))

    assert found["baseline"] == 0.8  # 7.5, 2 and half a record: the largest remainder is rounded up


def test_a_number_of_records_says_too_little_where_features_are_needed(labelinf: Labelinf) -> None:
    result = labelinf("bounds", "--records", "100", "--channel", "gradient")

    assert result.exit_code == 2
    assert "--records says too little for the gradient channel, which trains on features; name labels" in result.stderr


def test_groups_count_by_their_number_and_without_them_records_are_assumed_independent(
    labelinf: Labelinf, tmp_path: Path
) -> None:
    rows = [f"{patient % 2},p{patient}" for patient in range(100) for _ in range(3)]
    path = tmp_path / "y.csv"
    path.write_text("\n".join(["label,patient", *rows, ""]))
    asked = ("bounds", "--labels", str(path), "--column", "label", "--queries", "1", "--defence", "round(decimals=1)")

    apart, together = (document(labelinf(*asked, *more, "--json")) for more in ((), ("--groups", "patient")))

    gains = [next(b for b in found["bounds"] if b["quantity"] == "gain") for found in (apart, together)]
    assert gains[0]["value"] < gains[1]["value"]
    assert "records are assumed independent" in gains[0]["conditions"]
    assert "300 records in 100 groups" in gains[1]["conditions"]
    rows.append("1,p100")  # one more patient, of one record: then counts may tell who is who
    path.write_text("\n".join(["label,patient", *rows, ""]))
    several = document(labelinf(*asked, "--groups", "patient", "--json"))
    assert not [b for b in several["bounds"] if b["quantity"] in ("gain", "queries")]
    assert all(c["accuracy"] + c["allowance"] >= 1 for c in several["ceilings"])


def test_groups_are_refused_where_nothing_heeds_them(labelinf: Labelinf, tmp_path: Path) -> None:
    path = tmp_path / "y.csv"
    path.write_text("label,patient,x\n" + "".join(f"{i % 2},{i // 3},{i}\n" for i in range(12)))
    asked = ("--labels", str(path), "--column", "label", "--features", "x", "--groups", "patient")

    result = labelinf("bounds", *asked, "--channel", "gradient")

    assert result.exit_code == 2
    assert "the gradient channel says is of independent records" in result.stderr
    assert "--groups belongs to labels of your own" in labelinf("bounds", "--records", "9", "--groups", "p").stderr


@pytest.mark.long
def test_bounds_and_advise_speak_of_the_gain_over_a_perfect_model(labelinf: Labelinf, tmp_path: Path) -> None:
    """Half of the records are as good as known: 3 points over a model that is right on 86.8 % are .226 of the rest."""
    own = tmp_path / "y.csv"
    own.write_text("y,p\n" + "".join(f"{'ab'[i % 2]},{(0.99, 0.5)[i % 4 == 0]}\n" for i in range(200)))

    def said(*words: str) -> str:
        told = labelinf(*words, "--labels", str(own), "--column", "y", "--posteriors", "p")
        return " ".join((told.stdout + told.stderr).split())

    bounded = said("bounds", "--defence", "subset(share=0.1)")
    assert "points over a perfect model that is right on 86.8% of the labels" in bounded
    advised = said("advise", "--gain", "3%", "--only", "subset")
    assert "at most 3.0 points over a perfect model, right on 86.8% as assumed" in advised
    assert re.search(r"proved <= 0\.22\d* \(labelinf theory, guard, gain over a perfect model\)", advised)
    assert "counts are unknown; labels are independent given all that a perfect model knows" in advised
    assert "attacks" not in advised
    assert "say --gain" in said("advise", "--target", "90%")
    assert "above 0 and below 13.2" in said("advise", "--gain", "20%")
    assert "has no use for --posteriors" in said("bounds", "--channel", "output", "--features", "p")
    assert "name their file with --labels" in labelinf("bounds", "--records", "9", "--posteriors", "p").stderr
