"""A plugin is a file of data: what the file may say, and the one sentence when it says something else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from labelinf_core import Catalogue, Kind, StatementStatus
from labelinf_core.contracts.errors import PluginError
from labelinf_core.plugin.descriptors import Command, Descriptor, Reference, SuitePart
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.statements import Statement

InstallFake = Callable[..., Path]
Written = Callable[..., Catalogue]
NUMBERS = itertools.count()  # a package is imported once, so every one has a name of its own

WHOLE = """
default-channel = "score"
statements = ["ours.toml"]

[attack.by-name]
summary = "guesses by name"
work = "Doe, 2026"
statement = "Section 3"
target = ".attack:ByName"

[noise.hum]
summary = "a hum"
work = "Doe, 2026"
statement = ""
target = "elsewhere.noise:Hum"

[channel.rumour]
summary = "what one hears"
work = "Doe, 2026"
statement = ""
target = ".game:Rumour"

[suite.quick]
file = ".suites:quick.toml"
rank = 7

[command.rumour]
group = "audit"
summary = "Listen."
target = ".commands:rumour"

[reproduction.table-1]
summary = "who said what"
work = "Doe, 2026"
statement = "Table 1"
target = ".tables:one"
"""
OURS = """
work = "Doe, 2026"

[R1]
where = "Theorem 1"
status = "false"
says = "walls have ears"
counterexample = "this one"
code = [".attack:ByName"]
tests = ["tests/test_attack.py"]

[R2]
title = "Roe, 2020, Lemma 4"
status = "ok"
says = "so do fields"
code = []
tests = []
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Write a package of files and read its catalogue."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(catalogue: str, **files: str) -> Catalogue:
        package = f"rumours{next(NUMBERS)}"
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        for name, text in {"catalogue": catalogue, **files}.items():
            (tmp_path / package / f"{name}.toml").write_text(text)
        return Catalogue.read(package)

    return write


def test_every_table_becomes_what_its_hook_yields(written: Written) -> None:
    catalogue = written(WHOLE, ours=OURS)

    found = {item.name: item for item in catalogue.labelinf_components()}
    assert [item.kind for item in found.values()] == [Kind.ATTACK, Kind.NOISE, Kind.CHANNEL]
    assert [item for item in found.values() if item.kind is Kind.ATTACK] == [
        Descriptor(
            kind=Kind.ATTACK,
            name="by-name",
            channel="score",
            summary="guesses by name",
            reference=Reference(work="Doe, 2026", statement="Section 3"),
            target=f"{catalogue.package}.attack:ByName",
        )
    ]
    noise, channel = list(found.values())[1:]
    assert (noise.channel, noise.target) == (None, "elsewhere.noise:Hum")
    assert channel.channel == "rumour"
    assert list(catalogue.labelinf_suites()) == [
        SuitePart(suite="quick", file=f"{catalogue.package}.suites:quick.toml", rank=7)
    ]
    assert list(catalogue.labelinf_commands()) == [
        Command(group="audit", name="rumour", summary="Listen.", target=f"{catalogue.package}.commands:rumour")
    ]
    (table,) = catalogue.labelinf_reproductions()
    assert (table.name, table.target) == ("table-1", f"{catalogue.package}.tables:one")


def test_statements_name_their_work_once(written: Written) -> None:
    first, second = written(WHOLE, ours=OURS).labelinf_statements()

    assert (first.key, first.title, first.status) == ("R1", "Doe, 2026, Theorem 1", StatementStatus.FALSE)
    assert first.code[0].endswith(".attack:ByName")
    assert first.tests == ("tests/test_attack.py",)
    assert second == Statement(
        key="R2", title="Roe, 2020, Lemma 4", says="so do fields", status=StatementStatus.OK, code=(), tests=()
    )


ATTACK = "[attack.a]\nsummary = 's'\nwork = 'w'\nstatement = ''\ntarget = '.m:C'\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[attack.a", "/catalogue.toml is not TOML: Expected ']'"),
        ("[atack.a]", "/catalogue.toml: unknown table 'atack'; known are attack, bound, channel, command, default-"),
        ("attack = 3", "/catalogue.toml: attack must be a table, got 3."),
        ("[attack]\na = 3", "/catalogue.toml: attack.a must be a table, got 3."),
        (ATTACK.replace("summary = 's'\n", ""), "/catalogue.toml: attack.a: summary is missing."),
        (ATTACK.replace("work = 'w'\n", ""), "/catalogue.toml: attack.a: work=None must be a string"),
        (ATTACK + "sumary = 's'\n", "/catalogue.toml: attack.a: unknown key 'sumary'; known are summary, target, chan"),
        (ATTACK.replace("'s'", "7"), "/catalogue.toml: attack.a: summary=7 must be a string."),
        (ATTACK.replace("[attack.a]", "[attack.A]"), "/catalogue.toml: attack.A: Descriptor.name='A' must look like"),
        (ATTACK.replace(".m:C", ".m.C"), "/catalogue.toml: attack.a: Descriptor.target='.m.C' must look like"),
    ],
)
def test_a_faulty_entry_is_one_sentence_with_its_place(written: Written, text: str, sentence: str) -> None:
    with pytest.raises(PluginError) as caught:
        list(written(text).labelinf_components())

    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (OURS.replace("'false'", "'wrong'").replace('"false"', '"wrong"'), "R1: status='wrong' must be one of ok, re"),
        (OURS.replace("code = []", "code = [3]"), "R2: code=[3] must be a list of strings."),
        (OURS.replace("code = []", "code = 'm:f'"), "R2: code='m:f' must be a list of strings."),
        (OURS.replace('says = "so do fields"', ""), "R2: says is missing."),
        (OURS + "colour = 'red'\n", "R2: unknown key 'colour'; known are title, says, code, tests, erratum,"),
        ("R3 = 1", "R3 must be a table, got 1."),
    ],
)
def test_a_faulty_statement_is_one_sentence_with_its_place(written: Written, text: str, sentence: str) -> None:
    with pytest.raises(PluginError) as caught:
        list(written(WHOLE, ours=text).labelinf_statements())

    assert f"/ours.toml: {sentence}" in str(caught.value)


def test_a_rank_is_an_integer(written: Written) -> None:
    with pytest.raises(PluginError, match=r"suite\.quick: rank='7' must be an integer\."):
        list(written("[suite.quick]\nfile = '.s:q'\nrank = '7'").labelinf_suites())


@pytest.mark.parametrize("file", ["catalogue", "ours"])
def test_a_file_that_is_not_there_is_named(written: Written, file: str) -> None:
    with pytest.raises(PluginError, match=rf"/{file}\.toml cannot be read"):
        list(written(WHOLE).labelinf_statements()) if file == "ours" else Catalogue.read("labelinf_core")


PLUGIN = """
from labelinf_core import Catalogue, hookimpl
labelinf_contract = 2

@hookimpl
def labelinf_catalogue():
    return {what}
"""


def test_an_outside_plugin_is_a_file_and_five_lines(install_fake: InstallFake) -> None:
    site = install_fake(
        "fake", entry="fake", module="fake_plugin", source=PLUGIN.format(what="Catalogue.read('fake_package')")
    )
    (site / "fake_package").mkdir()
    (site / "fake_package" / "__init__.py").touch()
    (site / "fake_package" / "catalogue.toml").write_text(WHOLE)
    (site / "fake_package" / "ours.toml").write_text(OURS)

    host = Host.load(strict=True)

    assert host.find(Kind.ATTACK, "by-name").plugin.name == "fake"
    assert "rumour" in {item.name for item in host.commands()}
    assert {"R1", "R2"} <= {item.key for item in host.statements()}


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("'catalogue.toml'", "labelinf_catalogue must return a Catalogue, got str"),
        ("Catalogue.read('no_such_package')", "no_such_package/catalogue.toml cannot be read"),
    ],
)
def test_a_plugin_with_a_faulty_catalogue_is_left_out_and_named(
    install_fake: InstallFake, what: str, problem: str
) -> None:
    install_fake("fake", entry="fake", module="fake_plugin", source=PLUGIN.format(what=what))

    host = Host.load()

    assert problem in host.records["fake"].problem
    assert host.records["scores"].provides
