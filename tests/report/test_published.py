"""What leaves the machine of a run on private labels does not give them away.

The old record did: the order of trial t followed from the digest of the labels and the seed, both printed, so that
every trial's count of correct guesses was a linear equation on the labels. That attack ships here; so do brute force of
the digest and confirmation of a guess by the cells' names.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, sparse

from labelinf_core.contracts.components import LabelSet
from labelinf_core.evaluator.cells import Plan, digest_of
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import Bench, curator_rng
from labelinf_core.evaluator.results import Results, summarise
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.report.data import as_csv, as_json
from labelinf_core.report.html import as_html
from labelinf_core.report.junit import as_junit
from labelinf_core.report.published import count_bits, leaks, published
from labelinf_core.specs import Builder

N, LIMITS, TRIALS = 120, (1, 2, 4, 7, 10, 15), 20
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "results.schema.json"
Labels = NDArray[np.intp]


@pytest.fixture(scope="module")
def builder() -> Builder:
    return Builder(Host.load())


@pytest.fixture(scope="module")
def secret() -> Labels:
    return np.random.default_rng(5).permutation(np.repeat([0, 1], [47, 73]))


def planned(folder: Path, builder: Builder, labels: Labels, attacks: list[str], trials: int = TRIALS) -> Plan:
    path = folder / "y.csv"
    path.write_text("label\n" + "".join(f"{label}\n" for label in labels))
    matrix = Matrix(
        labels=[{"name": "csv", "path": str(path)}],
        attacks=attacks,
        defences=[f"query-limit(queries={list(LIMITS)})"],
        settings={"loss": "log-loss", "scorer": "float64"},
    )
    return make_plan(Suite(matrix=[matrix], trials=trials, title="mine"), builder, "test.toml")


def unkeyed(plan: Plan) -> Plan:
    """The plan as it was before digests had a key."""
    cells = tuple(attrs.evolve(cell, digest=cell.content) for cell in plan.cells)
    return attrs.evolve(plan, cells=cells, labels=tuple(attrs.evolve(f, digest=f.content) for f in plan.labels), key="")


def played(folder: Path, plan: Plan, builder: Builder) -> Results:
    store = Store.open(folder, plan)
    run(plan, store, InProcess(Bench(builder=builder)))
    results = summarise(store)
    store.close()
    return results


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory, builder: Builder, secret: Labels) -> str:
    folder = tmp_path_factory.mktemp("old")
    plan = unkeyed(planned(folder, builder, secret, ["prime-blocks"]))
    return as_json(played(folder / "run", plan, builder), full=True)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory, builder: Builder, secret: Labels) -> Results:
    folder = tmp_path_factory.mktemp("new")
    return played(folder / "run", planned(folder, builder, secret, ["prime-blocks"]), builder)


def solved(document: dict[str, Any], digest: str, count: int, covered: list[int]) -> Labels:
    """Solve for the labels: per trial, those beyond the first ``covered`` in its order that are of the largest class.

    Args:
        document: A results file.
        digest: What the orders are derived from.
        count: Labels of class 1, the larger one.
        covered: How many labels the attack recovers in every cell.
    """
    rows, right = [np.ones(N)], [float(count)]
    for cell, known in zip(document["cells"], covered, strict=True):
        counts = [outcome["n_correct"] for outcome in cell["outcomes"] or []]
        mean = round(cell["accuracy"]["value"] * N)
        for trial in range(document["trials"]):
            order = curator_rng(digest, document["seed"], trial).permutation(N)
            row = np.zeros(N)
            row[order[known:]] = 1
            rows.append(row)
            right.append((counts[trial] if counts else mean) - known)
    slack = 0.0 if document["cells"][0]["outcomes"] else float(N)
    low, high = np.array(right) - slack, np.array(right) + slack
    low[0] = high[0] = count
    found = optimize.milp(
        np.zeros(N),
        integrality=np.ones(N),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(sparse.csr_array(np.array(rows)), low, high),
        options={"node_limit": 1000},  # the first node will do; a limit of time would depend on the machine
    )
    return np.rint(found.x).astype(np.intp) if found.x is not None else np.ones(N, dtype=np.intp)


@pytest.fixture(scope="module")
def covered(builder: Builder, new: Results) -> list[int]:
    """How many labels the attack recovers in every cell: anybody can count that on labels of his own."""
    found = []
    rng = np.random.default_rng(0)
    for cell in new.plan.cells:
        own = rng.permutation(np.repeat([0, 1], [47, 73]))
        bench = Bench(builder=builder)
        data = LabelSet(labels=own, class_names=("0", "1"), title="own", provenance="made")
        played_there = attrs.evolve(cell, content=digest_of(data))
        bench._data[played_there.content] = data
        right = np.ones(N, dtype=bool)
        for trial in range(8):
            outcome = bench.bout(played_there, 0, trial)
            order = curator_rng(cell.digest, 0, trial).permutation(N)
            assert outcome.guess is not None
            right &= outcome.guess[order] == own[order]
        found.append(int(np.argmin(np.append(right, False))))
    return found


def test_the_old_record_gave_every_label_away(old: str, secret: Labels, covered: list[int]) -> None:
    document = json.loads(old)
    (labels,) = document["labels"]

    guess = solved(document, labels["digest"], labels["class_counts"][1], covered)

    assert np.mean(guess == secret) == 1


def test_the_new_record_gives_nothing_above_the_majority_guess(
    new: Results, secret: Labels, covered: list[int]
) -> None:
    """Whatever key is supposed, the equations that are left lead nowhere; the exact count is given to the adversary."""
    document = json.loads(as_json(new))
    (labels,) = document["labels"]
    assert labels["class_counts"] is None

    shares = [
        float(np.mean(solved(document, digest, int(secret.sum()), covered) == secret))
        for digest in (labels["digest"], document["plan"], document["cells"][0]["id"], "0" * 64)
    ]

    assert max(shares) <= max(np.mean(secret), 1 - np.mean(secret)) + 0.05  # a guess of 73 ones at random gets .52


def test_a_digest_without_its_key_confirms_no_guess(tmp_path: Path, builder: Builder) -> None:
    """Brute force of twelve labels: the old digest names them among all, nothing that is published does now."""
    labels = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1])
    plan = planned(tmp_path, builder, labels, ["majority"], trials=1)
    texts = written(played(tmp_path / "run", plan, builder))

    def digest(guess: tuple[int, ...]) -> str:
        return digest_of(LabelSet(labels=np.array(guess), class_names=("0", "1"), title="", provenance=""))

    found = [guess for guess in itertools.product((0, 1), repeat=12) if digest(guess) == plan.cells[0].content]
    assert found == [tuple(labels)]
    for text in texts:
        for private in (plan.cells[0].content, plan.cells[0].digest, plan.key, plan.cells[0].id, plan.digest):
            assert private[:12] not in text


def written(results: Results) -> tuple[str, ...]:
    return as_json(results), as_csv(results), as_html(results), as_junit(results)


def test_the_names_of_cells_say_nothing_of_the_labels(tmp_path: Path, builder: Builder, new: Results) -> None:
    (tmp_path / "other").mkdir()
    other = np.random.default_rng(6).permutation(np.repeat([0, 1], [60, 60]))
    there = played(tmp_path / "run", planned(tmp_path / "other", builder, other, ["prime-blocks"], trials=1), builder)

    assert names(as_csv(there)) == names(as_csv(new))


def names(text: str) -> list[str]:
    return [row["cell"] for row in csv.DictReader(io.StringIO(text))]


def test_every_published_share_is_on_the_grid_and_no_trial_is_told(new: Results) -> None:
    document = json.loads(as_json(new))

    for cell in document["cells"]:
        assert cell["outcomes"] is None
        for share in (cell["baseline"], *cell["accuracy"].values(), *cell["exact_recovery"].values()):
            assert share == round(share, 2)
        assert cell["accuracy"]["low"] <= cell["accuracy"]["value"] <= cell["accuracy"]["high"]
    for threat in document["threats"]:
        for bound in threat["bounds"]:
            value = bound["value"]
            assert isinstance(value, str) or value == float(f"{value:.1e}")


def test_no_published_text_holds_a_class_count(new: Results, secret: Labels) -> None:
    smaller, larger = 47, 73
    assert sorted(np.bincount(secret)) == [smaller, larger]

    for text in (as_json(new), as_csv(new)):
        assert f"{larger / N:.4f}"[:6] not in text
        assert f"[{smaller}, {larger}]" not in re.sub(r"\s+", " ", text)


def test_intervals_only_widen_and_bounds_on_the_adversary_only_rise(new: Results) -> None:
    for exact, told in zip(new.cells, published(new).cells, strict=True):
        assert exact.accuracy is not None
        assert told.accuracy is not None
        assert told.accuracy.low <= exact.accuracy.low <= exact.accuracy.high <= told.accuracy.high
        for proved, said in zip(exact.implied.ceilings, told.implied.ceilings, strict=True):
            assert proved.accuracy <= said.accuracy
            assert proved.exact <= said.exact
        if told.implied.promise is not None and exact.implied.promise is not None:
            assert told.implied.promise.certified == exact.implied.promise.certified


def test_trials_in_fresh_order_tell_no_more_than_the_class_counts(new: Results) -> None:
    (leak,) = leaks(new)

    assert leak.bits == pytest.approx(count_bits(N, 2)) == pytest.approx(np.log2(N + 1))
    assert str(leak) == "tells at most 7 bits about the 120 labels of y.csv, which hold 120"


def test_a_channel_that_promises_no_fresh_order_counts_with_all_its_figures(new: Results) -> None:
    bare = attrs.evolve(new, plan=attrs.evolve(new.plan, fresh_order=(), counts_only=()))
    (leak,) = leaks(bare)

    assert leak.bits > len(new.cells) * 2 * 17
    assert "no protection is proved by counting" in str(leak)
    for cell in published(bare).cells:  # nor is anything of its theory told
        assert (cell.implied.bounds, cell.implied.ceilings, cell.implied.promise) == ((), (), None)
        assert cell.implied.threat == {}


def test_what_is_published_follows_the_schema(new: Results) -> None:
    jsonschema.validate(json.loads(as_json(new)), json.loads(SCHEMA.read_text()))
    jsonschema.validate(json.loads(as_json(new, full=True)), json.loads(SCHEMA.read_text()))


@pytest.mark.fresh_key
def test_two_runs_differ_and_the_key_of_one_replays_it(tmp_path: Path, builder: Builder, secret: Labels) -> None:
    plan = planned(tmp_path, builder, secret, ["prime-blocks"], trials=2)
    again = planned(tmp_path, builder, secret, ["prime-blocks"], trials=2)
    one, two, replay = (
        as_json(played(tmp_path / name, p, builder), full=True)
        for name, p in (("1", plan), ("2", again), ("3", again.keyed(plan.key)))
    )

    assert one == replay
    assert one != two
    assert plan.key != again.key
    assert len(bytes.fromhex(plan.key)) == 32


def test_public_labels_need_no_key_and_lose_no_detail(builder: Builder, tmp_path: Path) -> None:
    matrix = Matrix(
        labels=["made(n_records=20)"], attacks=["majority"], defences=["none"], settings={"loss": "log-loss"}
    )
    plan = make_plan(Suite(matrix=[matrix], trials=2), builder, "test.toml")
    results = played(tmp_path / "run", plan, builder)

    assert plan.key == ""
    assert plan.cells[0].digest == plan.cells[0].content
    assert leaks(results) == ()
    assert as_json(results) == as_json(results, full=True)
    assert published(results) == results
