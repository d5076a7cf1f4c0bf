"""A plugin that is wrong in every way: every place where a host calls it, times every way to go wrong there.

``EVERYTHING`` names them; :func:`install` writes the plugin that :data:`SOURCE` is, and one distribution more for every
way to fail while a plugin is loaded. What is faulty at place P in way W is called ``zoo-P-W``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

WAYS = (
    "raises", "exits", "interrupts", "os-exit", "kills", "aborts", "hangs", "memory", "recursion", "silent",
    "surrogates", "unpicklable", "nonsense", "huge", "thread", "child", "closes", "prints",
)  # fmt: skip
HARMLESS = ("thread", "child", "prints")  # to the cell itself: it must be played, and its neighbours too
LOADING = ("raises", "exits", "interrupts", "os-exit", "kills", "hangs", "nonsense", "surrogates")

SOURCE = '''
import os, signal, sys, threading, time
import attrs, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Bound, Guess, LabelSet, LabelSource
from labelinf_scores.game.curator import ActiveScoreDefence, ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack

labelinf_contract = 2

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("cannot be printed")
    __repr__ = __str__

class Unpicklable(Exception):
    def __init__(self, a, b):
        super().__init__(lambda: a)

def throw(error):
    raise error

def memory():
    kept = []
    while True:
        kept.append(np.ones(2**25))

def recursion():
    recursion()

def child():
    if not os.fork():
        time.sleep(300)

def prints():
    print("a word on standard output" * 10)
    sys.stdout.write("\\x1b[2J")

WRONG = {
    "raises": lambda: throw(ZeroDivisionError("by zero")),
    "exits": lambda: sys.exit("bye"),
    "interrupts": lambda: throw(KeyboardInterrupt()),
    "os-exit": lambda: os._exit(3),
    "kills": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "aborts": os.abort,
    "hangs": lambda: time.sleep(600),
    "memory": memory,
    "recursion": recursion,
    "silent": lambda: throw(Silent()),
    "surrogates": lambda: throw(RuntimeError("\\ud800 \\x00 \\x1b[2J")),
    "unpicklable": lambda: throw(Unpicklable(1, 2)),
    "nonsense": lambda: object(),
    "huge": lambda: "x" * 10**7,
    "thread": lambda: threading.Thread(target=time.sleep, args=(300,), daemon=True).start(),
    "child": child,
    "closes": lambda: os.closerange(0, 64),
    "prints": prints,
}
HARMLESS = ("thread", "child", "prints")

def go_wrong(way, fine):
    """Go wrong; return nonsense if that is the way, and else what would be right."""
    found = WRONG[way]()
    return fine() if way in HARMLESS else found

def attack(way, place):
    @attrs.frozen(kw_only=True)
    class Zoo(ScoreAttack):
        """Is wrong somewhere."""

        def __attrs_post_init__(self):
            if place == "made":
                go_wrong(way, lambda: None)

        def promise(self, threat):
            return go_wrong(way, lambda: None) if place == "promise" else None

        def unsupported_reason(self, threat):
            return go_wrong(way, str) if place == "refusal" else ""

        def run(self, oracle, rng):
            zeros = lambda: Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))
            return go_wrong(way, zeros) if place == "run" else zeros()

    return Zoo

def defence(way, place):
    @attrs.frozen(kw_only=True)
    class Zoo(ScoreDefence):
        """Is wrong somewhere."""

        def does(self, threat):
            return go_wrong(way, tuple) if place == "does" else ()

        def start(self, threat, rng):
            return go_wrong(way, ActiveScoreDefence) if place == "start" else ActiveScoreDefence()

    return Zoo

def source(way, place):
    @attrs.frozen(kw_only=True)
    class Zoo(LabelSource):
        """Is wrong when it is asked."""

        def load(self):
            fine = dict(labels=np.arange(8) % 2, class_names=("a", "b"), title="zoo", provenance="made", public=True)
            return go_wrong(way, lambda: LabelSet(**fine))

    return Zoo

def bound(way, place):
    @attrs.frozen(kw_only=True)
    class Zoo(Bound):
        """Is wrong when it is asked."""

        def evaluate(self, threat):
            return go_wrong(way, tuple) if place == "evaluate" else ()

        def ceilings(self, threat):
            return go_wrong(way, tuple) if place == "ceilings" else ()

    return Zoo

MAKERS = {"does": (Kind.DEFENCE, defence), "start": (Kind.DEFENCE, defence), "load": (Kind.LABELS, source),
          "evaluate": (Kind.BOUND, bound), "ceilings": (Kind.BOUND, bound)}

def __getattr__(name):
    if not name.startswith("Zoo_"):
        raise AttributeError(name)
    _, place, way = name.replace("__", "-").split("_")
    globals()[name] = MAKERS.get(place, (Kind.ATTACK, attack))[1](way, place)
    return globals()[name]

def described(kind):
    for place, way in MEMBERS:
        if MAKERS.get(place, (Kind.ATTACK,))[0] is kind:
            late = f"zoo_{way.replace('-', '_')}:Zoo"
            target = late if place == "module" else f"zoo_plugin:Zoo_{place}_{way.replace('-', '__')}"
            yield Descriptor(kind=kind, name=f"zoo-{place}-{way}", summary="x", target=target,
                             reference=Reference(work="tests", statement="zoo"),
                             channel=None if kind is Kind.LABELS else "score")

@hookimpl
def labelinf_components():
    for kind in (Kind.ATTACK, Kind.DEFENCE, Kind.LABELS, Kind.BOUND):
        yield from described(kind)
'''
MODULE = """import zoo_plugin
zoo_plugin.go_wrong({way!r}, lambda: 0)
Zoo = zoo_plugin.attack("raises", "nowhere")
"""
LOADED = "import zoo_plugin\nlabelinf_contract = 2\nzoo_plugin.go_wrong({way!r}, lambda: 0)\n"
HOOKED = """import zoo_plugin
from labelinf_core import hookimpl
labelinf_contract = 2
@hookimpl
def {hook}():
    yield zoo_plugin.go_wrong({way!r}, lambda: 0)
"""

Members = tuple[tuple[str, str], ...]
EVERYTHING: Members = tuple(
    (place, way)
    for place in ("run", "promise", "made", "module", "start", "load", "evaluate")
    for way in WAYS
    if (place, way) != ("module", "closes")
)


def install(
    install_fake: Callable[..., Path],
    members: Iterable[tuple[str, str]],
    loading: Iterable[str],
    kinds: Iterable[str] = ("import", "hook", "late"),
) -> Path:
    """Install the plugin with some of its members, and distributions that fail while they are loaded.

    Returns:
        The folder to put on a path.
    """
    chosen = tuple(members)
    site = install_fake("labelinf-zoo", entry="zoo", module="zoo_plugin", source=f"MEMBERS = {chosen!r}\n{SOURCE}")
    for place, way in chosen:
        if place == "module":
            (site / f"zoo_{way.replace('-', '_')}.py").write_text(MODULE.format(way=way))
    for way in loading:
        name = way.replace("-", "_")
        sources = {
            "import": LOADED.format(way=way),
            "hook": HOOKED.format(way=way, hook="labelinf_components"),
            "late": HOOKED.format(way=way, hook="labelinf_statements"),
        }
        for kind in kinds:
            install_fake(f"bad-{kind}-{way}", entry=f"{kind}-{way}", module=f"{kind}_{name}", source=sources[kind])
    return site
