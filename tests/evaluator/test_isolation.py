"""Whatever a plugin does to its process costs its own cells, at once, and is told under its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts.errors import ComponentError, PluginError
from labelinf_core.evaluator.executors import Processes
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import CellResult, summarise
from labelinf_core.evaluator.run import is_complete, run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import watch
from labelinf_core.specs import Builder

InstallFake = Callable[..., Path]

ZOO = '''
import os, signal, sys, time
import attrs, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.contracts.components import Guess
from labelinf_scores.game.oracle import ScoreAttack

labelinf_contract = 2

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("cannot be printed")
    __repr__ = __str__

def closes_its_files():
    os.closerange(0, 64)

def wants_all_memory():
    kept = []
    while True:
        kept.append(np.ones(2**24))

def leaves_a_child():
    child = os.fork()
    if not child:
        time.sleep(600)
    with open(os.environ["ZOO_CHILDREN"], "a") as file:
        print(child, file=file)

def raises(error):
    raise error

HOW = {
    "exits": lambda: os._exit(3),
    "kills": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "aborts": os.abort,
    "sys-exit": lambda: sys.exit("bye"),
    "keyboard": lambda: raises(KeyboardInterrupt()),
    "silent": lambda: raises(Silent()),
    "closes": closes_its_files,
    "hangs": lambda: time.sleep(600),
    "leaves-a-child": leaves_a_child,
}

@attrs.frozen(kw_only=True)
class Zoo(ScoreAttack):
    """Misbehaves."""

    how: str = "exits"

    def run(self, oracle, rng):
        HOW[self.how]()
        return Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))

@attrs.frozen(kw_only=True)
class DeadlyBound(Bound):
    """Ends its process."""

    def evaluate(self, threat):
        os._exit(7)

@attrs.frozen(kw_only=True)
class EndlessBound(Bound):
    """Never answers."""

    def ceilings(self, threat):
        time.sleep(600)

    def evaluate(self, threat):
        return ()

def described(kind, name, target):
    reference = Reference(work="tests", statement="zoo")
    target = f"zoo_plugin:{target}"
    return Descriptor(kind=kind, name=name, summary="x", reference=reference, target=target, channel="score")
'''
ATTACKS = """
@hookimpl
def labelinf_components():
    yield described(Kind.ATTACK, "zoo", "Zoo")
"""
DEADLY = """
@hookimpl
def labelinf_components():
    yield described(Kind.BOUND, "deadly", "DeadlyBound")
"""
ENDLESS = f"""{DEADLY}    yield described(Kind.BOUND, "endless", "EndlessBound")
"""


def played(folder: Path, attacks: list[str], timeout: float, defences: list[str]) -> dict[str, CellResult]:
    host = Host.load()
    assert not list(host.problems())
    matrix = Matrix(
        labels=["made(n_records=8)"],
        attacks=attacks,
        defences=defences,
        settings={"loss": "log-loss", "scorer": "float64"},
    )
    plan = make_plan(Suite(matrix=[matrix], trials=2, title="zoo"), Builder(host), "test.toml")
    store = Store.open(folder, plan)
    with Processes(workers=2, host=host, timeout=timeout, labels=label_sets(plan, Builder(host))) as pool:
        run(plan, store, pool)
    assert is_complete(plan, store)
    results = summarise(store)
    store.close()
    return {f"{cell.cell.shown.attack}/{cell.cell.shown.pipeline}": cell for cell in results.cells}


@pytest.fixture
def zoo(install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that installs the zoo with some of its hooks, here and for workers."""

    def install(hooks: str) -> None:
        site = install_fake("labelinf-zoo", entry="zoo", module="zoo_plugin", source=ZOO + hooks)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
        monkeypatch.setenv("ZOO_CHILDREN", str(tmp_path / "children"))

    return install


@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "ways",
    [
        ("exits", "keyboard"),
        pytest.param(
            ("kills", "aborts", "silent", "sys-exit", "closes", "hangs", "leaves-a-child"),
            marks=[pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")],
        ),
    ],
)
def test_every_way_to_ruin_a_process_costs_its_own_cell(
    zoo: Callable[[str], None], tmp_path: Path, ways: tuple[str, ...]
) -> None:
    expected = {
        "exits": (Status.CRASHED, "its process ended with exit code 3"),
        "kills": (Status.CRASHED, "its process was killed by SIGKILL"),
        "aborts": (Status.CRASHED, "its process was killed by SIGABRT"),
        "hangs": (Status.TIMEOUT, "no result within 20 s"),
        "keyboard": (Status.ERROR, "it raised KeyboardInterrupt"),
    }
    zoo(ATTACKS)

    found = played(tmp_path / "run", [*(f"zoo(how='{way}')" for way in ways), "majority"], 20, ["none"])

    assert found["majority/none"].failure is None
    for way in ways:
        failure = found[f"zoo(how='{way}')/none"].failure
        if way == "leaves-a-child":
            assert failure is None
            assert not any(alive(int(child)) for child in (tmp_path / "children").read_text().split())
        else:
            assert failure is not None
            assert failure == expected.get(way, failure)
            assert failure[0] in (Status.CRASHED, Status.ERROR, Status.TIMEOUT)


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.parametrize("names", [("deadly",), pytest.param(("deadly", "endless"), marks=pytest.mark.slow)])
def test_a_bound_that_nobody_named_costs_itself_and_is_named(
    zoo: Callable[[str], None], tmp_path: Path, names: tuple[str, ...]
) -> None:
    """It used to destroy every cell of every run, whatever was played."""
    zoo(ENDLESS if "endless" in names else DEADLY)
    why = {"deadly": "its process ended with exit code 7", "endless": "no result within 20 s"}

    found = played(tmp_path / "run", ["majority", "prime-blocks"], 20, ["none", "round(decimals=3)"])

    assert len(found) == 4
    for result in found.values():
        assert result.failure is None
        assert result.tally.played == 2
        assert result.implied.bounds
        left_out = sorted(note for note in result.implied.notes if "is left out" in note)
        assert left_out == [f"bound {name} is left out: bound {name}: {why[name]}" for name in names]


PATCHING = """
import sys
np.mean = np.sum = lambda *a, **k: 0.25
"""


@pytest.mark.long
def test_whoever_plans_and_sums_up_has_imported_nothing_of_a_stranger(
    zoo: Callable[[str], None], tmp_path: Path
) -> None:
    zoo(PATCHING + ATTACKS)

    plan = make_plan(
        Suite(
            matrix=[
                Matrix(
                    labels=["made(n_records=8)"],
                    attacks=["all", "zoo(how=['exits', 'hangs'])"],
                    defences=["none"],
                    settings={"loss": "log-loss", "scorer": "float64"},
                )
            ],
            trials=1,
        ),
        Builder(Host.load()),
        "test.toml",
    )

    assert {"zoo(how='exits')", "zoo(how='hangs')"} <= {cell.shown.attack for cell in plan.cells}
    assert "zoo_plugin" not in sys.modules
    assert np.sum([1, 2]) == 3


SLOW = '''
import os, time
import attrs
from labelinf_core import hookimpl
from labelinf_core.contracts.components import TunableParameter
from labelinf_core.plugin.descriptors import Descriptor, Kind, Reference
from labelinf_scores.game.curator import ScoreDefence

labelinf_contract = 2

@attrs.frozen(kw_only=True)
class Slow(ScoreDefence):
    """Never says what it does, or takes its process along."""
    strength: float = 1.0
    how: str = "hangs"
    def does(self, threat):
        os._exit(3) if self.how == "exits" else time.sleep(1000)
    @classmethod
    def tunable_parameters(cls, threat):
        return (TunableParameter(title="s", template="slow(strength={})", weakest=1.0, strongest=2.0),)

@hookimpl
def labelinf_components():
    reference = Reference(work="tests", statement="slow")
    yield Descriptor(kind=Kind.DEFENCE, name="slow", summary="x", reference=reference, target="slow_plugin:Slow",
                     channel="score")
'''


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_advice_and_theory_outlast_a_strangers_defence(
    install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Advice on one knob had no limit of time at all, and theory built the defence in the user's own process."""
    install_fake("labelinf-slow", entry="slow", module="slow_plugin", source=SLOW)
    monkeypatch.setattr(watch, "lost", {})
    with pytest.raises(PluginError, match=r"bounds behind slow.*: its process ended with exit code 3"):
        li.bounds(records=20, defences=["slow(how=exits)"])
    with pytest.raises(PluginError, match=r"advice behind slow.*: its process ended with exit code 3"):
        li.advise(gain="5%", records=20, defences=["slow(how=exits)"])
    monkeypatch.setattr(watch, "patience", 3.0)
    with pytest.raises(PluginError, match=r"bounds behind slow: no answer within 3 s"):
        li.bounds(records=20, defences=["slow"])
    with pytest.raises(PluginError, match=r"defence s: no answer within 3\.5 s"):
        li.advise(gain="5%", records=20, scorer="float64", only=["slow"], timeout=0.5)
    assert "slow_plugin" not in sys.modules


MOODY = '''
import os
import attrs, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Guess
from labelinf_scores.game.oracle import ScoreAttack

labelinf_contract = 2

@attrs.frozen(kw_only=True)
class Moody(ScoreAttack):
    """Ends its process where answers are rounded."""

    def run(self, oracle, rng):
        if "Rounded" in repr(oracle.threat):
            os._exit(3)
        return Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))

@hookimpl
def labelinf_components():
    reference = Reference(work="tests", statement="moody")
    yield Descriptor(kind=Kind.ATTACK, name="moody", summary="x", reference=reference, target="moody_plugin:Moody",
                     channel="score")
'''


@pytest.mark.long
@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_an_attack_that_takes_its_copy_along_in_one_cell_still_plays_the_others(
    install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name was never tried again: every later cell of that attack was said to have crashed, too."""
    install_fake("labelinf-moody", entry="moody", module="moody_plugin", source=MOODY)
    monkeypatch.setattr(watch, "lost", {})

    found = li.matrix([0, 1, 1, 0] * 3, attacks=["moody", "majority"], defences=["round(decimals=3)", "none"], trials=2)

    for result in found.cells:
        if "moody" in result.cell.attack and result.cell.defences:
            assert result.failure == (Status.CRASHED, "its process ended with exit code 3")
        else:
            assert (result.failure, result.tally.played) == (None, 2)
    with pytest.raises(ComponentError, match="exit code 3"):  # advice has no cell to lose; this process goes on
        li.advise(gain="5%", records=12, queries=4, scorer="float64", attacks=["moody"], only=["decimals"])
    assert "moody_plugin" not in sys.modules


@pytest.mark.long
@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_who_hangs_under_the_python_api_times_out_once(zoo: Callable[[str], None]) -> None:
    """It read "crashed", was waited for twice, and nobody could say how long; the audits waited ten minutes."""
    zoo(ATTACKS)
    labels = [0, 1, 1, 0] * 3

    found = li.matrix(labels, attacks=["zoo(how=hangs)", "majority"], trials=2, timeout=2.0)
    audited = li.audit_scorer(labels, "float64", attacks=["zoo(how=hangs)"], timeout=2.0)

    hung, healthy = found.cells
    assert hung.failure == (Status.TIMEOUT, "no result within 2 s")
    assert (healthy.failure, healthy.tally.played) == (None, 2)
    assert [row["trouble"] for row in audited.rows()] == ["attack zoo(how=hangs): no answer within 2 s"]
    assert "zoo_plugin" not in sys.modules


@pytest.mark.long
@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_scorer_of_the_users_own_that_hangs_or_ends_its_process_costs_its_cells_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was played in the user's own process: a notebook was gone, or hung whatever ``timeout`` said."""
    (tmp_path / "own_board.py").write_text(
        "import os, time\nimport numpy as np\n"
        "def loss(y, p):\n    return float(np.mean(-np.log(np.where(np.asarray(y) == 1, p, 1 - np.asarray(p)))))\n"
        "def ends(y, p):\n    return os._exit(3) if len(y) == 37 else loss(y, p)\n"
        "def hangs(y, p):\n    return time.sleep(600) if len(y) == 37 else loss(y, p)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    labels = [0, 1, 1, 0] * 9 + [1]

    ended = li.matrix(labels, scorer="own_board:ends", attacks=["prime-blocks"], trials=1)
    hung = li.matrix(labels, scorer="own_board:hangs", attacks=["prime-blocks"], trials=1, timeout=1.0)

    [(crashed, how)] = [cell.failure or (Status.OK, "") for cell in ended.cells]
    assert (crashed, how.endswith("its process ended with exit code 3")) == (Status.CRASHED, True)
    [(late, how)] = [cell.failure or (Status.OK, "") for cell in hung.cells]
    assert (late, how.endswith("within 1 s")) == (Status.TIMEOUT, True)
    assert "own_board" not in sys.modules
