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
import os
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import attrs
import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from labelinf_core.cli import main
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.guarantees import Ceiling, PerGame
from labelinf_core.evaluator.cells import Plan, digest_of
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied
from labelinf_core.evaluator.results import Results, summarise
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.report.attacked import Attacked, attacked
from labelinf_core.report.data import as_csv, as_json
from labelinf_core.report.formats import FORMATS
from labelinf_core.report.html import as_html
from labelinf_core.report.junit import as_junit
from labelinf_core.report.published import _theory, count_bits, leaks, published
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


def planned(
    folder: Path,
    builder: Builder,
    labels: Labels,
    attacks: list[str],
    trials: int = TRIALS,
    limits: tuple[int, ...] = LIMITS,
) -> Plan:
    path = folder / "y.csv"
    path.write_text("label\n" + "".join(f"{label}\n" for label in labels))
    matrix = Matrix(
        labels=[{"name": "csv", "path": str(path)}],
        attacks=attacks,
        defences=[f"query-limit(queries={list(limits)})"],
        settings={"loss": "log-loss", "scorer": "float64"},
    )
    return make_plan(Suite(matrix=[matrix], trials=trials, title="mine"), builder, "test.toml")


def unkeyed(plan: Plan) -> Plan:
    """The plan as it was before digests had a key."""
    cells = tuple(attrs.evolve(cell, digest=cell.content) for cell in plan.cells)
    return attrs.evolve(plan, cells=cells, labels=tuple(attrs.evolve(f, digest=f.content) for f in plan.labels), key="")


def played(folder: Path, plan: Plan, builder: Builder) -> Results:
    store = Store.open(folder, plan)
    run(plan, store, InProcess(TrialRunner(builder=builder)))
    results = summarise(store)
    store.close()
    return results


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory, builder: Builder, secret: Labels) -> Results:
    folder = tmp_path_factory.mktemp("new")
    return played(folder / "run", planned(folder, builder, secret, ["prime-blocks"]), builder)


def attack(
    results: Results, builder: Builder, secret: Labels, forms: Collection[str], *, full: bool
) -> dict[str, Attacked]:
    data = LabelSet(labels=secret, class_names=("0", "1"), title="y.csv", provenance="")
    (facts,) = results.plan.labels
    names = {"json": "results.json", "csv": "results.csv", "html": "report.html", "junit": "junit.xml"}
    files = {
        names.get(form, f"results.{form}"): "".join(write(results, full=full))
        for form, write in FORMATS.items()
        if form in forms
    }
    return {item.file: item for item in attacked(files, results.plan, builder, data, facts.digest)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "limits", "trials", "forms"),
    [
        (15, (1,), 16, ("json",)),
        pytest.param(N, LIMITS, TRIALS, FORMATS, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_the_attack_gets_every_label_of_the_old_record_and_nothing_above_the_majority_guess_of_the_new_one(
    tmp_path: Path, builder: Builder, n: int, limits: tuple[int, ...], trials: int, forms: Collection[str]
) -> None:
    """The exact class counts are given to the adversary, and every name in a file is tried as the key."""
    labels = np.random.default_rng(5).permutation(np.repeat([0, 1], [2 * n // 5, n - 2 * n // 5]))
    plan = planned(tmp_path, builder, labels, ["prime-blocks"], trials, limits)
    old = attack(played(tmp_path / "old", unkeyed(plan), builder), builder, labels, ("json",), full=True)
    new = attack(played(tmp_path / "new", plan, builder), builder, labels, forms, full=False)

    assert old["results.json"].correct == n
    assert old["results.json"].above
    assert old["results.json"].names
    assert len(new) == len(forms)
    for item in new.values():
        assert item.figures >= len(limits) - 1  # the weakest cell is no leak to JUnit and SARIF
        assert not item.gives_away
        assert item.names == 0


@pytest.mark.long
def test_the_audit_of_a_record_says_which_files_give_labels_away(
    tmp_path: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command itself; that it gets every label of the record above takes its time, and more labels."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    labels = np.random.default_rng(5).permutation(np.repeat([0, 1], [6, 9]))
    played(tmp_path / "run", planned(tmp_path, builder, labels, ["prime-blocks"], 2, (1,)), builder)

    found = {}
    for full in ((), ("--full",)):
        done = CliRunner().invoke(main, ["audit", "record", str(tmp_path / "run"), "--json", *full])
        found[full] = done.exit_code, {item["file"]: item for item in json.loads(done.stdout)}

    status, files = found[()]
    assert status == 3  # attacks that failed prove nothing
    assert {(item["above"], item["names"]) for item in files.values()} == {(False, 0)}
    status, files = found[("--full",)]
    assert status == 1
    assert files["results.json"]["names"] > files["results.csv"]["names"] > 0

    with monkeypatch.context():  # what lies there is attacked, and not what a report would write
        whole = CliRunner().invoke(main, ["report", str(tmp_path / "run"), "--full", "--format", "json"]).stdout
        (tmp_path / "run" / "results.json").write_text(whole)
        done = CliRunner().invoke(main, ["audit", "record", str(tmp_path / "run"), "--json"])
        assert done.exit_code == 1
        assert {item["file"] for item in json.loads(done.stdout) if item["names"]} == {"results.json"}
        for edited in ("{}", whole.replace('"n_correct": ', '"n_correct": 1e999, "was": ')):
            (tmp_path / "run" / "results.json").write_text(edited)
            assert (
                "no longer what a run writes"
                in CliRunner().invoke(main, ["audit", "record", str(tmp_path / "run")]).stderr
            )


@pytest.mark.long
def test_labels_that_are_given_are_meant_though_others_are_where_they_were_read(
    tmp_path: Path, builder: Builder
) -> None:
    labels = np.random.default_rng(5).permutation(np.repeat([0, 1], [6, 9]))
    played(tmp_path / "run", planned(tmp_path, builder, labels, ["majority"], 1, (1,)), builder)
    (tmp_path / "others.csv").write_text("y\n" + "".join(f"{1 - label}\n" for label in labels))

    done = CliRunner().invoke(
        main, ["audit", "record", str(tmp_path / "run"), "--labels", str(tmp_path / "others.csv")]
    )

    assert done.exit_code == 2
    assert "of this run are others" in done.stderr


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


@pytest.mark.long
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
        for known, bound in zip(exact.implied.bounds, told.implied.bounds, strict=True):
            weaker = known.weaker(2)
            assert bound.value == weaker
            assert (known.value <= weaker) == (known.rises or known.value == weaker)
        if told.implied.promise is not None and exact.implied.promise is not None:
            assert told.implied.promise.survives <= exact.implied.promise.survives
            assert told.implied.promise.present >= exact.implied.promise.present
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


@pytest.mark.long
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


def test_what_was_typed_is_told_of_public_labels_only(new: Results) -> None:
    typed = attrs.evolve(new, made=attrs.evolve(new.made, command="labelinf matrix --labels /secret/folder.csv"))

    assert "/secret/folder.csv" not in as_html(typed)
    assert "/secret/folder.csv" in as_html(typed, full=True)


GALLERY = '''
import attrs, base64, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Attack, Channel, Guess, Trialled
from labelinf_core.contracts.images import Gallery, as_png
from labelinf_core.contracts.threat import ThreatModel

labelinf_contract = 2

@attrs.frozen(kw_only=True)
class Blind(Attack):
    """Guesses nothing."""

@attrs.frozen(kw_only=True)
class Painter(Channel):
    """Paints the labels, writes them below, and promises that it reads class counts only."""

    counts_only = True
    fresh_order = True

    def undefended(self, setting):
        return ThreatModel(n_records=setting.data.n_records, n_classes=2, prior=setting.data.prior)

    def trial(self, setting, *, curator_rng, attack_rng):
        labels = setting.data.labels
        written = "".join("ny"[label] for label in labels)
        hidden = base64.b64encode(written.encode()).decode()
        seen = Gallery(true=(as_png(labels.reshape(-1, 1)), hidden), rebuilt=(hidden, hidden), says=written)
        guess = Guess(labels=np.full(labels.size, -1))
        return Trialled(guess=guess, planted=labels, queries=1, evidence={"seen": written}, gallery=seen)

def item(kind, name, target):
    return Descriptor(kind=kind, name=name, channel="painter", summary="-", target="painter_plugin:" + target,
                      reference=Reference(work="test", statement="test"))

@hookimpl
def labelinf_components():
    yield item(Kind.ATTACK, "blind", "Blind")
    yield attrs.evolve(item(Kind.CHANNEL, "painter", "Painter"), channel=None)
'''


def test_a_channel_that_paints_private_labels_publishes_no_pixel_unless_everything_was_asked_for(
    install_fake: Callable[..., Path], tmp_path: Path
) -> None:
    """Pictures of private labels leave with ``--full`` only, whatever the channel says about itself."""
    install_fake("labelinf-painter", entry="painter", module="painter_plugin", source=GALLERY)
    labels = np.random.default_rng(0).integers(2, size=60)
    written = "".join("ny"[label] for label in labels)
    (tmp_path / "y.csv").write_text("label\n" + "".join(f"{label}\n" for label in labels))
    source = {"name": "csv", "path": str(tmp_path / "y.csv")}
    matrix = Matrix(labels=[source], attacks=["blind"], defences=["none"], channel="painter")
    builder = Builder(Host.load(strict=True))
    plan = make_plan(Suite(matrix=[matrix], trials=2, title="t"), builder, "test.toml")
    store = Store.open(tmp_path / "run", plan)
    run(plan, store, InProcess(TrialRunner(builder=builder)))
    results = summarise(store)
    (cell,) = results.cells
    trial = next(iter(cell.trials), None)
    assert trial is not None, cell.implied.message
    assert trial.gallery is not None, (trial.status, trial.message)
    secrets = {written, *trial.gallery.true, *trial.gallery.rebuilt}

    coarse = {form: "".join(write(results)) for form, write in FORMATS.items()}
    full = "".join(FORMATS["html"](results, full=True))

    assert not [(form, secret) for form, text in coarse.items() for secret in secrets if secret in text]
    assert all("<img" not in text and "data:image" not in text for text in coarse.values())
    assert all(secret in full for secret in secrets)
    assert all(result.trials == () for result in published(results).cells)
    store.close()


def test_what_no_attack_exceeds_is_published_rounded_up() -> None:
    """Its allowance too, and the line of a single game: .75 and .0625 were published as .812."""
    game = PerGame(share=0.7449, bits=2.1429)
    exact = Ceiling(accuracy=0.75, exact=0.501, statement="s", conditions="c", allowance=0.0625, game=game)
    implied = Implied(baseline=0.75, ceilings=(exact,), bounds=(), threat={}, notes=())
    (told,) = _theory(implied, frozenset()).ceilings
    assert told.reached >= exact.reached
    assert told.exact >= exact.exact
    assert told.game is not None
    assert told.game.share >= game.share
    assert told.game.bits >= game.bits
