"""LabelBench: for every defence the strongest known attack, beside its certificate, its cost and the standard attack.

    python benchmarks/labelbench.py                  writes docs/labelbench.md from the entries in benchmarks/labelbench
    python benchmarks/labelbench.py --check          writes nothing; 1 when it is stale or a row is above its ceiling
    python benchmarks/labelbench.py --add RUN ...    makes an entry of a run that labelinf matrix has kept, with the
                                                     options beside --trials and --seed that it was played with
    python benchmarks/labelbench.py --replay NAME    plays an entry again and compares; without NAME every one (an hour)

An entry is what a run on public labels came to, with the command that plays it again.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import labelinf
from labelinf_core.report.words import at_most

ROOT = Path(__file__).parents[1]
ENTRIES = ROOT / "benchmarks" / "labelbench"
PAGE = ROOT / "docs" / "labelbench.md"
HEAD = """# LabelBench

The strongest attack that is known on every defence, what is proved of it, and what it costs honest participants. Every
row comes from a recorded run that plays again (of models, which are trained anew, 7 of 129 cells once came out one
record off); one that lies above a proved ceiling fails the build. Beside it stands
the strongest attack of the literature that was played there, as it was published or repaired; where none is known for
such a board, that is said.

A new defence: `labelinf plugins new`, then an issue with the record of your run (the template *New entry of LabelBench*
asks for it). `python benchmarks/labelbench.py` writes this page.
"""
OURS = ("labelinf theory", "folklore")


def entries() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every entry by its name."""
    for file in sorted(ENTRIES.glob("*.json")):
        yield file.stem, json.loads(file.read_text(encoding="utf-8"))


def above(entry: dict[str, Any]) -> list[str]:
    """Return the rows whose lower limit lies above what is proved."""
    return [
        f"{cell['attack']} against {' + '.join(cell['defences'])}: at least {cell['accuracy']['low']:.1%}, and "
        f"{ceiling['statement']} allows {ceiling['accuracy'] + ceiling['allowance']:.1%}"
        for cell in entry["cells"]
        for ceiling in cell["ceilings"]
        if cell["accuracy"] and cell["accuracy"]["low"] > ceiling["accuracy"] + ceiling["allowance"]
    ]


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for name, entry in entries():
        parts += [f"\n## {name}\n\n```\n{entry['command']}\n```\n"]
        boards = dict.fromkeys((cell["channel"], cell["labels"]) for cell in entry["cells"])
        for channel, labels in boards:
            cells = [cell for cell in entry["cells"] if (cell["channel"], cell["labels"]) == (channel, labels)]
            blind = max(cell["baseline"] for cell in cells)
            parts += [f"\n`{channel}` on {entry['titles'][labels]}, best blind guess {blind:.1%}\n"]
            parts += [
                "\n| defence | best known attack | labels | verdict | at most, proved | standard attack | costs |"
            ]
            parts += ["\n|---|---|---|---|---|---|---|\n", *map(_row, _lines(cells))]
    return "".join(parts)


def _lines(cells: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for defences in dict.fromkeys(tuple(cell["defences"]) for cell in cells):
        played = [cell for cell in cells if tuple(cell["defences"]) == defences and cell["accuracy"]]
        valid = [cell for cell in played if cell["verdict"] not in ("leaky: void", "view reveals label")]
        if valid:
            yield sorted(valid, key=lambda cell: (-cell["accuracy"]["value"], _queries(cell)))


def _row(cells: list[dict[str, Any]]) -> str:
    best = cells[0]
    standard = next((cell for cell in cells if not cell["reference"].startswith(OURS)), None)
    ceiling = min((item["accuracy"] for item in best["ceilings"]), default=None)
    beside = "none is published that fits" if standard is None else f"`{_name(standard)}` {_share(standard)}"
    costs = ", ".join(f"{key.replace('_', ' ')} {value:.3g}" for key, value in best["costs"].items())
    proved = "" if ceiling is None else f"{at_most(ceiling)}%"
    defence = " + ".join(best["defences"])
    return f"| `{defence}` | `{_name(best)}` | {_share(best)} | {best['verdict']} | {proved} | {beside} | {costs} |\n"


def _name(cell: dict[str, Any]) -> str:
    return str(cell["attack"]).partition("(")[0]


def _share(cell: dict[str, Any]) -> str:
    found = cell["accuracy"]
    spent = f", {_queries(cell):.0f} queries" if _queries(cell) > 1 else ""
    return f"{found['value']:.1%} ({found['low']:.1%} to {found['high']:.1%}){spent}"


def _queries(cell: dict[str, Any]) -> float:
    return float(cell["queries"] or 0)


def condensed(document: dict[str, Any], command: str) -> dict[str, Any]:
    """Return what an entry keeps of ``results.json``."""
    costs = {threat["id"]: threat["utility"] for threat in document["threats"]}
    kept = (
        "channel",
        "labels",
        "attack",
        "reference",
        "defences",
        "baseline",
        "accuracy",
        "queries",
        "ceilings",
        "verdict",
    )
    measured = ("mean_error", "rank_correlation", "test_accuracy", "gradient_cosine", "cosine")
    return {
        "command": command,
        "versions": document["cells"][0]["versions"] | document["environment"],
        "titles": {labels["digest"]: labels["title"] for labels in document["labels"]},
        "cells": [
            {
                **{key: cell[key] for key in kept},
                "costs": {key: value for key, value in costs[cell["threat"]].items() if key in measured},
            }
            for cell in document["cells"]
        ],
    }


def _add(run: Path, options: list[str]) -> None:
    """Make an entry of a run.

    Raises:
        SystemExit: It is of private labels, whose figures nobody can play again, and which ``--full`` would give away.
    """
    if not all(facts.public for facts in labelinf.load(run).plan.labels):
        raise SystemExit("an entry is played on public labels, so that anybody can play it again")
    document = json.loads((run / "results.json").read_text(encoding="utf-8"))
    command = f"labelinf matrix {document['title']} --trials {document['trials']} --seed {document['seed']}"
    command = shlex.join([*shlex.split(command), *options])
    ENTRIES.mkdir(exist_ok=True)
    text = json.dumps(condensed(document, command), indent=None, sort_keys=True, separators=(",", ":"))
    (ENTRIES / f"{document['title']}.json").write_text(text + "\n", encoding="utf-8")


def replay(names: list[str]) -> list[str]:
    """Play entries again, all where none is named; return what came out otherwise."""
    wrong = []
    for name, entry in entries():
        if names and name not in names:
            continue
        command = [sys.executable, "-m", "labelinf_core", *shlex.split(entry["command"])[1:], "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        again = condensed(json.loads(done.stdout), entry["command"])
        wrong += [f"{name}: {a['attack']}" for a, b in zip(entry["cells"], again["cells"], strict=True) if a != b]
    return wrong


def main(arguments: list[str]) -> int:
    """Do what the module says; return the exit status."""
    if arguments[:1] == ["--add"]:
        _add(Path(arguments[1]), arguments[2:])
        return 0
    faults = [fault for _, entry in entries() for fault in above(entry)]
    if arguments[:1] == ["--replay"]:
        faults += replay(arguments[1:])
    text = page()
    if arguments == ["--check"]:
        faults += [f"{PAGE.name} is stale"] if PAGE.read_text(encoding="utf-8") != text else []
    elif not faults:
        PAGE.write_text(text, encoding="utf-8")
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
