"""From planting to a verdict in one road: ``labelinf plant``, a model, ``labelinf audit outputs``; and what is void."""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_core.statistics.epsilon_bounds import epsilon_lower_bound
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.curves import roc_points
from labelinf_outputs.audit.findings import Ranking
from labelinf_outputs.audit.plant import Planting
from labelinf_outputs.audit.plant import plant as planted
from labelinf_outputs.audit.power import Power
from labelinf_outputs.audit.seal import Seal, read_seal
from labelinf_outputs.commands import model, outputs, plant, power
from labelinf_privacy.label_noise.resampled_response import effective_epsilon
from labelinf_privacy.randomised_response import perturb

N = 400


def flat(result: Result) -> str:
    """Return what was printed, without its line ends."""
    return " ".join(result.output.split())


def cli(*arguments: str) -> Result:
    command = {"plant": plant, "outputs": outputs, "model": model, "power": power}[arguments[0]]
    return CliRunner().invoke(command, list(arguments[1:]))


def test_both_commands_are_where_a_user_looks_for_them() -> None:
    assert CliRunner().invoke(main, ["plant", "--help"]).exit_code == 0
    assert "outputs" in CliRunner().invoke(main, ["audit", "--help"]).output


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, header: str, lines: list[str]) -> str:
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    """400 records with three features; a line separates the classes but for some noise."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((N, 3))
    labels = np.where(features[:, 0] + 0.3 * rng.standard_normal(N) > 0, "yes", "no")
    lines = [f"{','.join(f'{v:.4f}' for v in row)},{label}" for row, label in zip(features, labels, strict=True)]
    return write(tmp_path / "data.csv", "a,b,c,outcome", lines)


@pytest.fixture
def plan(data: str, tmp_path: Path) -> Path:
    """A quarter of the records planted, with four reference sets."""
    folder = tmp_path / "plan"
    amounts = ("--share", "0.25", "--references", "4", "--seed", "11")
    result = cli("plant", data, "--column", "outcome", "--out", str(folder), *amounts)
    assert result.exit_code == 0, result.output
    return folder


def trained(training: Path, query: Path, mechanism: Callable[[NDArray[Any]], NDArray[Any]] = lambda y: y) -> list[str]:
    """Fifteen lines of the user's own: a forest that memorises, its predictions with their record ids."""
    table, asked = rows(training), rows(query)
    x = np.array([[float(row[name]) for name in "abc"] for row in table])
    y = mechanism(np.array([row["outcome"] == "yes" for row in table], dtype=np.intp))
    forest = RandomForestClassifier(n_estimators=30, random_state=0, bootstrap=False).fit(x, y)
    said = forest.predict_proba([[float(row[name]) for name in "abc"] for row in asked])
    return [f"{row['record']},{p[0]:.6f},{p[1]:.6f}" for row, p in zip(asked, said, strict=True)]


def audit(folder: Path, lines: list[str], *more: str) -> Result:
    predictions = write(folder / "p.csv", "record,no,yes", lines)
    return cli("outputs", predictions, "--seal", str(folder / "sealed.json"), *more)


def response(epsilon: float, seed: int = 0) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Randomised response that draws anew at every call."""
    rng = np.random.default_rng(seed)
    return lambda y: perturb(y, epsilon, 2, rng)


def test_a_model_that_memorises_is_refuted_from_an_empty_folder(plan: Path) -> None:
    result = audit(plan, trained(plan / "training.csv", plan / "query.csv"), "--epsilon", "1")

    assert result.exit_code == 1
    assert "REFUTED: epsilon = 1 was claimed, epsilon >= 3.49 is proved." in result.output
    assert "100/100 = 100.0%" in result.output
    assert max(map(len, result.output.splitlines())) <= 80


@pytest.mark.parametrize(("name", "right"), [("no", 100), ("yes", 0), ("score", 0)])
def test_one_column_is_about_the_class_that_its_header_names(plan: Path, name: str, right: int) -> None:
    seal = read_seal(str(plan / "sealed.json"))
    told = {record: 1 - label for record, label in zip(seal.records, seal.labels, strict=True)}
    lines = [f"{record},{0.1 + 0.8 * told.get(record, 0)}" for record in (*seal.records, *seal.control)]
    predictions = write(plan / "p.csv", f"record,{name}", lines)
    shown = ("--seal", str(plan / "sealed.json"), "--attack", "lia-threshold")

    assert f"{right}/100" in cli("outputs", predictions, *shown).output


def test_what_plant_says_fits_in_80_columns_whatever_the_folder_and_is_json_for_a_program(
    data: str, tmp_path: Path
) -> None:
    folder = tmp_path / ("a-very-long-name-" * 8)
    arguments = ("plant", data, "--column", "outcome", "--references", "2", "--seed", "1")

    told = cli(*arguments, "--out", str(folder)).output
    said = json.loads(cli(*arguments, "--out", f"{folder}2", "--json").output)

    assert max(map(len, told.splitlines())) <= 80
    assert str(folder) in told.replace("\n  ", "")
    seal = read_seal(str(folder / "sealed.json"))
    assert f"seal {seal.digest}\n" in told
    counts = {"canaries": 40, "classes": 2, "control": 20, "references": 2}
    assert said == {"folder": f"{folder}2", "seal": seal.digest, **counts, "warnings": []}


def test_without_a_claim_a_leak_ends_with_status_one(plan: Path) -> None:
    result = audit(plan, trained(plan / "training.csv", plan / "query.csv"))

    assert result.exit_code == 1
    assert flat(result).startswith(
        "leaks the model gives planted labels away; epsilon >= 3.49 is proved. stopped by training"
    )


@pytest.mark.long
def test_randomised_response_is_not_refuted_and_the_references_choose_the_attack(plan: Path) -> None:
    """A true claim is refuted in one audit of twenty at most: more than two of eight with a probability of .6 %."""
    said = []
    for seed in range(8):
        mechanism = response(1.0, seed)
        lines = trained(plan / "training.csv", plan / "query.csv", mechanism)
        given = references(plan, 4, mechanism)
        said += [audit(plan, lines, "--epsilon", "1", *given), audit(plan, lines, "--epsilon", "1")]

    chosen, fixed = said[::2], said[1::2]
    for results in (chosen, fixed):
        refuted = ["leaks REFUTED: epsilon = 1" in flat(result) for result in results]
        assert [result.exit_code == 1 for result in results] == refuted
        assert sum(refuted) <= 2
    assert all(result.exit_code in (0, 1) for result in fixed)
    assert all("guesses, chosen on 4 reference models" in result.output for result in chosen)
    assert all("Power against twice the claim, epsilon = 2: 98.6%" in result.output for result in fixed)


def test_a_model_that_learns_no_single_label_is_cleared_of_a_claim_because_the_control_comes_out(plan: Path) -> None:
    """Canaries trained on with labels of their own drawing tell nothing; the control's labels come out all the same."""
    lines = trained(plan / "reference-1.csv", plan / "query.csv")

    result = audit(plan, lines)

    assert result.exit_code == 3
    assert flat(result).startswith("leaks NO LEAK SHOWN: what the counted guesses tell may be chance.")
    assert "The labels that were trained on openly do come out." in flat(result)
    for epsilon, status, said in (("0.1", 3, "INCONCLUSIVE"), ("1", 0, "NOT REFUTED")):
        claimed = audit(plan, lines, "--epsilon", epsilon)
        assert claimed.exit_code == status
        assert flat(claimed).startswith(f"leaks {said}: epsilon = {epsilon} was claimed, no leak is shown")


def test_an_attack_that_looks_at_nothing_passes_no_claim(plan: Path) -> None:
    """The model tells the control's labels, but not to it."""
    lines = trained(plan / "reference-1.csv", plan / "query.csv")

    result = audit(plan, lines, "--epsilon", "1", "--attack", "blind-guess")

    assert result.exit_code == 3
    assert "The labels that were trained on openly do not come out either" in flat(result)


def test_nothing_found_means_nothing_where_the_control_does_not_come_out(plan: Path) -> None:
    """Predictions whose rows were shuffled, as if they were another model's."""
    lines = trained(plan / "training.csv", plan / "query.csv")
    ids, said = zip(*(line.split(",", 1) for line in lines), strict=True)
    shuffled = [f"{a},{b}" for a, b in zip(ids, np.random.default_rng(5).permutation(said), strict=True)]

    result = audit(plan, shuffled, "--epsilon", "0.3")

    assert result.exit_code == 3
    assert flat(result).startswith("leaks INCONCLUSIVE: epsilon = 0.3 was claimed, no leak is shown")
    assert "The labels that were trained on openly do not come out either" in flat(result)


def test_rows_that_are_shifted_are_void(plan: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    seal = json.loads((plan / "sealed.json").read_text())
    place = {line.split(",")[0]: line.split(",", 1)[1] for line in lines}
    order = seal["records"]
    moved = [f"{order[(i + 1) % len(order)]},{place[name]}" for i, name in enumerate(order)]
    control = [f"{name},{place[name]}" for name in seal["control"]]

    result = audit(plan, moved + control)

    assert result.exit_code == 3
    assert flat(result).startswith("leaks VOID: this is no audit.")
    assert "the predictions fit the labels of other rows, 1 further" in result.output


def test_shuffled_references_are_void(plan: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    references = []
    for r in range(1, 5):
        said = trained(plan / f"reference-{r}.csv", plan / "query.csv")
        ids, values = zip(*(line.split(",", 1) for line in said), strict=True)
        mixed = np.random.default_rng(r).permutation(values)
        references.append(
            write(plan / f"q{r}.csv", "record,no,yes", [f"{a},{b}" for a, b in zip(ids, mixed, strict=True)])
        )

    result = audit(plan, lines, "--epsilon", "1", *(text for path in references for text in ("--reference", path)))

    assert result.exit_code == 3
    assert "the reference models do not give back theirs: they are shuffled, or not of the same pipeline" in flat(
        result
    )


@pytest.mark.long
def test_references_in_another_order_are_void(plan: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    references = [
        write(plan / f"q{r}.csv", "record,no,yes", trained(plan / f"reference-{r}.csv", plan / "query.csv"))
        for r in (2, 1, 4, 3)
    ]

    result = audit(plan, lines, *(text for path in references for text in ("--reference", path)))

    assert result.exit_code == 3


def test_what_was_changed_after_planting_is_not_audited(plan: Path) -> None:
    """Original labels in place of the planted ones, which every good model would give back."""
    lines = trained(plan / "training.csv", plan / "query.csv")
    path = plan / "sealed.json"
    sealed = json.loads(path.read_text())
    kept = sealed["seal"]
    path.write_text(json.dumps({**sealed, "labels": [1 - y for y in sealed["labels"]]}))
    assert "was changed after it was sealed" in str(audit(plan, lines).exception)

    forged = attrs.evolve(seal_of(sealed), labels=tuple(1 - y for y in sealed["labels"]))
    forged.write(path)
    assert "not the one that was committed to" in str(audit(plan, lines, "--commitment", kept).exception)

    seal_of(sealed).write(path)
    assert audit(plan, lines, "--commitment", kept[:12]).exit_code == 1


def seal_of(content: dict[str, Any]) -> Seal:
    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return Seal(**{name: frozen(value) for name, value in content.items() if name not in ("format", "seal")})


def test_labels_that_nobody_swears_to_have_planted_are_not_audited(tmp_path: Path) -> None:
    p = write(tmp_path / "p.csv", "no,yes", ["0.1,0.9"] * 4)
    c = write(tmp_path / "c.csv", "label", ["no", "yes", "yes", "no"])

    assert "say what was planted" in (said := str(cli("outputs", p).exception))
    assert "What was not planted is not audited" in said
    assert cli("outputs", p, "--planted-by-me", c).exit_code == 3


def test_labels_of_one_class_are_one_sentence(tmp_path: Path) -> None:
    p = write(tmp_path / "p.csv", "no,yes", ["0.1,0.9"] * 30)
    c = write(tmp_path / "c.csv", "label", ["yes"] * 30)

    result = cli("outputs", p, "--planted-by-me", c, "--epsilon", "0.1")

    assert "c.csv: the planted labels hold one class; at least two are needed." in str(result.exception)


def test_ids_that_stand_there_twice_or_not_at_all_are_one_sentence(plan: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")

    assert "1 record ids stand there more than once" in str(audit(plan, [*lines, lines[0]]).exception)
    canaries = set(read_seal(str(plan / "sealed.json")).records)
    fewer = [line for line in lines if line.split(",")[0] not in sorted(canaries)[:3]]
    assert "lacks 3 of 100 records" in str(audit(plan, fewer).exception)
    bare = write(plan / "b.csv", "no,yes", [line.split(",", 1)[1] for line in lines])
    result = cli("outputs", bare, "--seal", str(plan / "sealed.json"))
    assert "has no column 'record': predictions are joined with what was planted on its ids" in str(result.exception)


def test_the_training_set_holds_what_the_seal_says_and_nothing_else_changes(data: str, plan: Path) -> None:
    seal = read_seal(str(plan / "sealed.json"))
    original, training = rows(Path(data)), rows(plan / "training.csv")
    planted_labels = {name: seal.classes[k] for name, k in zip(seal.records, seal.labels, strict=True)}
    open_labels = {name: seal.classes[k] for name, k in zip(seal.control, seal.control_labels, strict=True)}

    assert len(training) == N + 20 * 9
    for row in training:
        name = row.pop("record")
        expected = dict(original[int(name)])
        expected["outcome"] = planted_labels.get(name, open_labels.get(name, expected["outcome"]))
        assert row == expected
    assert len(seal.records) == 100
    assert not set(seal.records) & set(seal.control)
    assert all("outcome" not in row for row in rows(plan / "query.csv"))
    other = rows(plan / "reference-1.csv")
    changed = {a["record"] for a, b in zip(rows(plan / "training.csv"), other, strict=True) if a != b}
    assert changed < set(seal.records)


@pytest.mark.long
def test_planted_labels_are_uniform_and_a_seed_draws_them_again(data: str, tmp_path: Path) -> None:
    """40 plans of 100 labels: within 4.5 standard deviations of one half."""
    how = Planting(share=0.25, references=1)
    seals = [planted(data, "outcome", tmp_path / str(s), how, np.random.default_rng(s))[0] for s in range(40)]
    again = planted(data, "outcome", tmp_path / "again", how, np.random.default_rng(3))[0]

    assert abs(np.mean([seal.labels for seal in seals]) - 0.5) < 4.5 * 0.5 / 4000**0.5
    assert again == seals[3]
    assert again.digest != seals[4].digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,outcome\n1,x\n2,y\n3,x\n4,y\n", "4 records are too few for 0 canaries"),
        ("a,a,outcome\n1,2,x\n", "its header names column 'a' twice"),
        ("a,y\n1,2\n", "has no column 'outcome'"),
        ("record,outcome\n7,x\n7,y\n", "1 ids in column 'record' stand there more than once"),
        ("a,outcome\n1,x\n2,\n", "column 'outcome' has 1 empty cells, the first in row 3"),
        ("a,outcome\n1,x\n2,x\n", "column 'outcome' has 1 different values in 2 rows"),
        ("a,outcome\n1,x\n2,y\n3,z\n", "column 'outcome' has 3 different values in 3 rows"),
    ],
)
def test_a_table_that_cannot_be_planted_in_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "d.csv").write_text(text)

    with pytest.raises(InputError, match=message):
        planted(str(tmp_path / "d.csv"), "outcome", tmp_path / "x", Planting(), np.random.default_rng(0))


def test_what_was_planted_is_for_its_owners_eyes_alone(plan: Path) -> None:
    assert (plan / "sealed.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["sealed.json", "training.csv", "holdout.csv", "query.csv", "reference-8.csv"])
@pytest.mark.parametrize("dangling", [False, True])
def test_nothing_is_planted_over_a_file_that_stands_there(data: str, tmp_path: Path, name: str, dangling: bool) -> None:
    folder = tmp_path / "plan"
    folder.mkdir()
    if dangling:
        (folder / name).symlink_to(tmp_path / "elsewhere")
    else:
        (folder / name).write_text("mine")

    refused = cli("plant", data, "--column", "outcome", "--out", str(folder)).exception

    assert f"holds {name} already, and nothing is written over" in str(refused)
    assert [path.name for path in folder.iterdir()] == [name]
    assert dangling or (folder / name).read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_planting_beside_files_of_other_names_leaves_them(data: str, tmp_path: Path) -> None:
    assert cli("plant", data, "--column", "outcome", "--out", str(tmp_path)).exit_code == 0
    assert Path(data).read_text().startswith("a,b,c,outcome")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "no", '{"format": "x"}', '{"format": "labelinf planted labels 1", "classes": 7}']
)
def test_a_file_that_is_no_seal_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)

    with pytest.raises(InputError, match=r"is no sealed file of labelinf plant|is empty"):
        read_seal(str(tmp_path / "s.json"))


@pytest.mark.parametrize("text", ["²", "5" * 5000, "-1", "1.0", "", "१"])
def test_a_record_that_is_no_row_is_one_sentence(tmp_path: Path, text: str) -> None:
    p = write(tmp_path / "p.csv", "no,yes", ["0.1,0.9"] * 4)
    c = write(tmp_path / "c.csv", "record,label", ["0,no", f"{text},yes"])

    result = cli("outputs", p, "--planted-by-me", c)

    assert isinstance(result.exception, InputError)
    assert str(result.exception).endswith("row 3: record must be a whole number in 0..3.")


def test_two_columns_of_one_name_are_one_sentence(tmp_path: Path) -> None:
    p = write(tmp_path / "p.csv", "no,yes", ["0.1,0.9"] * 2)
    c = write(tmp_path / "c.csv", "label,label", ["no,yes", "yes,no"])

    result = cli("outputs", p, "--planted-by-me", c)

    assert "its header names column 'label' twice" in str(result.exception)


def references(folder: Path, count: int, mechanism: Callable[[NDArray[Any]], NDArray[Any]]) -> list[str]:
    """Predictions of models of the first reference sets, as options."""
    options = []
    for r in range(1, count + 1):
        said = trained(folder / f"reference-{r}.csv", folder / "query.csv", mechanism)
        options += ["--reference", write(folder / f"q{r}.csv", "record,no,yes", said)]
    return options


@pytest.mark.long
def test_pooled_models_prove_more_than_one(plan: Path) -> None:
    mechanism = response(1.0)
    lines = trained(plan / "training.csv", plan / "query.csv", mechanism)
    others = references(plan, 4, mechanism)

    alone, pooled = (
        json.loads(audit(plan, lines, *others, "--pool", str(pool), "--epsilon", "1", "--json").output)
        for pool in (0, 2)
    )

    assert (alone["n_models"], alone["n_canaries"]) == (1, 100)
    assert (pooled["n_models"], pooled["n_canaries"]) == (3, 300)
    for found in (pooled, alone):
        guesses = found["committed"]["guesses"]
        assert found["decision"]["proof"]["provable"] == pytest.approx(epsilon_lower_bound(guesses, guesses))
    assert pooled["committed"]["guesses"] % 3 == 0
    assert not pooled["decision"]["refuted"]
    assert not alone["decision"]["refuted"]
    assert pooled["decision"]["power"] > alone["decision"]["power"]
    assert "2 reference models" in audit(plan, lines, *others, "--pool", "2").output
    assert "--pool 5 must be at most" in str(audit(plan, lines, *others, "--pool", "5").exception)


def test_a_page_to_hand_on_names_no_record_and_the_owners_is_the_owners_alone(plan: Path, tmp_path: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    page, own = tmp_path / "report.html", tmp_path / "owner.html"
    own.touch(0o644)

    result = audit(
        plan, lines, *references(plan, 2, lambda y: y), "--epsilon", "1", "--html", str(page), "--owner", str(own)
    )

    assert result.exit_code == 1
    text, private = page.read_text(), own.read_text()
    assert own.stat().st_mode & 0o777 == 0o600
    assert "REFUTED: epsilon = 1 was claimed, epsilon &gt;= 3.49 is proved." in text
    assert text.count("<svg") == 2
    assert "labelinf outputs " in text
    assert "--epsilon 1" in text
    assert "100 guesses, all correct, would have proved" in text
    assert "numpy" in text
    ids = read_seal(str(plan / "sealed.json")).records
    assert all(f"<td>{name}</td><td>yes</td>" in private for name in ids)
    first = private[: private.index("</table>")]  # above the fold: ids, yes or no, model, date and seal, no statistics
    assert f"seal {read_seal(str(plan / 'sealed.json')).digest}" in first
    assert str(datetime.date.today()) in first
    assert not re.search("epsilon|emorisation|REFUTED|rank", first)
    assert "REFUTED" in private
    assert not any(f"<td>{name}</td>" in text for name in ids)


def test_records_are_called_as_the_owners_file_calls_them(tmp_path: Path) -> None:
    rows = "".join(f"p{row:03d},{row % 7},{'ab'[row % 2]}\n" for row in range(200))
    (tmp_path / "own.csv").write_text(f"ID,x,y\n{rows}")
    seal, _ = planted(str(tmp_path / "own.csv"), "y", tmp_path / "plan", Planting(), np.random.default_rng(0))
    assert all(re.fullmatch(r"p\d{3}", name) for name in (*seal.records, *seal.control))


def test_a_curve_of_accusations_begins_at_few_false_ones() -> None:
    ranking = Ranking(canaries=np.arange(4), right=np.array([True, True, False, True]))

    points = roc_points(ranking, n_canaries=4, n_classes=3)

    assert points.tolist() == [[0, 0.25], [0, 0.5], [0.125, 0.5], [0.125, 0.75]]


def test_a_plan_says_with_what_power_canaries_refute_a_claim() -> None:
    """Resampling sold as epsilon .3 before 40 canaries: 29 right refute it, which happens with 87 %."""
    plan = Power(claim=PrivacyClaim(epsilon=0.3), n_classes=2)

    assert plan.needed(40) == 29
    assert plan.of(40, effective_epsilon(0.3, 2)) == pytest.approx(0.874, abs=1e-3)
    assert plan.needed(2) is None
    assert plan.of(2, 5.0) == 0.0
    printed = cli("power", "2", "--epsilon", "0.3")
    assert printed.exit_code == 0
    assert max(map(len, printed.output.splitlines())) <= 80
    assert "none suffice" in cli("power", "2", "--epsilon", "6").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["power", "2"], "say which claim is to be refuted"),
        (["outputs", "p", "--seal", "s", "--planted-by-me", "c.csv"], "leave out --planted-by-me."),
        (["outputs", "p", "--planted-by-me", "c.csv", "--commitment", "0123"], "leave out --commitment."),
        (["outputs", "p", "--planted-by-me", "c", "--pool", "2", "--features", "q"], "leave out --features, --pool."),
        (["outputs", "p", "--planted-by-me", "c", "--reference", "a", "--reference", "b"], "take one --reference"),
        (["outputs", "p"], "say what was planted"),
        (["model", "mlp", "--html", "r.html", "--owner", "./r.html"], "--html and --owner must be two files"),
        (["power", "2", "--mu", "1", "--epsilon", "1"], "or --mu; not both"),
        (["model", "mlp", "--delta", "0.1"], "--delta belongs to --epsilon"),
    ],
)
def test_a_claim_that_cannot_be_tested_is_one_sentence(arguments: list[str], message: str) -> None:
    assert message in str(cli(*arguments).exception)


def test_rounded_predictions_beside_references_of_full_precision_are_one_sentence(plan: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    noisy = np.random.default_rng(0).uniform(0.1, 0.9, len(lines))
    coarse, fine = (
        [f"{line.split(',')[0]},{1 - p:.{digits}f},{p:.{digits}f}" for line, p in zip(lines, noisy, strict=True)]
        for digits in (2, 6)
    )
    reference = write(plan / "q1.csv", "record,no,yes", fine)

    result = audit(plan, coarse, "--reference", reference)

    assert "the references have more decimals than the model" in str(result.exception)
    assert "--shows probabilities:2" in str(result.exception)
    assert audit(plan, fine, "--reference", reference).exit_code == 3
    assert audit(plan, coarse, "--reference", write(plan / "q1.csv", "record,no,yes", coarse)).exit_code == 3


def test_the_twin_is_trained_without_the_canaries(data: str, plan: Path) -> None:
    original = {str(number): row["outcome"] for number, row in enumerate(rows(Path(data)))}
    planted_ids = set(read_seal(str(plan / "sealed.json")).records)
    twin = {row["record"]: row["outcome"] for row in rows(plan / "holdout.csv")}

    assert twin == {name: label for name, label in original.items() if name not in planted_ids}


def test_features_let_an_attack_play_that_trains_nothing(plan: Path) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    others = references(plan, 2, lambda y: y)

    found = json.loads(audit(plan, lines, *others, "--features", str(plan / "query.csv"), "--json").output)

    quantile = next(item for item in found["findings"] if item["attack"] == "quantile")
    assert (quantile["word"], quantile["correct"]) == ("above chance", 100)


def test_features_that_cannot_be_used_are_one_sentence(plan: Path) -> None:
    lines, asked = trained(plan / "training.csv", plan / "query.csv"), (plan / "query.csv").read_text().splitlines()
    head, first, *others = asked
    record, *values = first.split(",")
    for table, said in (
        ([head, first], "lacks "),
        ([*asked, first], "f.csv: 1 record ids stand there more than once."),
        ([head, ",".join([record, "nan", *values[1:]]), *others], "f.csv: row 2: 'a' must be a finite number"),
        ([head, *others, ",".join([record, values[0], "", values[2]])], "f.csv: row 121: 'b' must be a finite number"),
        (["record,town", *(f"{row.split(',')[0]},Ulm" for row in asked[1:])], "must have a column of numbers"),
    ):
        features = write(plan / "f.csv", table[0], table[1:])
        assert said in str(audit(plan, lines, "--features", features).exception)
    towns = write(plan / "f.csv", f"{head},town", [f"{row},Ulm" for row in asked[1:]])
    assert audit(plan, lines, "--features", towns).exit_code == 1


def test_ids_that_lost_their_zeros_are_said_to_have(plan: Path) -> None:
    seal = json.loads((plan / "sealed.json").read_text())
    attrs.evolve(seal_of(seal), records=tuple(f"0{name}" for name in seal["records"])).write(plan / "sealed.json")

    refused = audit(plan, trained(plan / "training.csv", plan / "query.csv"))

    assert "(without its zeros it is there: read ids as text)." in str(refused.exception)


def test_a_digit_of_a_seal_is_no_commitment(plan: Path) -> None:
    """One digit fits a sixteenth of all seals."""
    seal = read_seal(str(plan / "sealed.json"))

    refused = audit(plan, [], "--commitment", seal.digest[:1])

    assert "a commitment of 1 digits may fit by chance: give 8 or more of the seal." in str(refused.exception)
    assert read_seal(str(plan / "sealed.json"), seal.digest[:8].upper()) == seal


@pytest.mark.parametrize("against", [False, True])
def test_the_owner_is_told_the_records_of_a_model_that_is_always_wrong_too(
    plan: Path, tmp_path: Path, against: bool
) -> None:
    lines = trained(plan / "training.csv", plan / "query.csv")
    if against:
        lines = [",".join([name, q, p]) for name, p, q in (line.split(",") for line in lines)]
    own = tmp_path / "owner.html"

    result = audit(plan, lines, "--epsilon", "1", "--owner", str(own))

    assert result.exit_code == 1
    assert ("Was its label told not to be the guess" in own.read_text()) is against
    assert own.read_text().count("<td>yes</td>") == 100


def test_what_a_claim_about_records_says_more_stands_in_the_report(plan: Path, tmp_path: Path) -> None:
    lines, page = trained(plan / "training.csv", plan / "query.csv"), tmp_path / "r.html"
    said = "What is tested is labels, not whether a record was there: a claim about whole records says more."

    claimed = audit(plan, lines, "--epsilon", "1", "--html", str(page))

    assert said in flat(claimed)
    assert said in page.read_text()
    assert said not in flat(audit(plan, lines))


def test_nothing_says_that_any_attack_would_have_refuted_twice_a_claim() -> None:
    shown = flat(cli("outputs", "--help"))

    assert "an attack that reads every trained label would refute twice as much" in shown
    assert "(a weaker one in fewer)" in shown
