"""The host loads what it can, and says what it cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pluggy
import pytest

from labelinf_core.contracts.errors import NameConflictError, PluginError, UnknownNameError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.hookspecs import Specs
from labelinf_core.plugin.host import BLOCK_VARIABLE, Host
from labelinf_core.plugin.records import PluginStatus
from labelinf_core.testing import CheckOutcome, checks_of

InstallFake = Callable[..., Path]

GOOD = """
from labelinf_core import Descriptor, Kind, Reference, hookimpl
labelinf_contract = 2

@hookimpl
def labelinf_components():
    yield Descriptor(kind=Kind.ATTACK, name={name!r}, channel="score", summary="does nothing",
                     reference=Reference(work="w", statement="s"), target={target!r})
"""
HEAD = "from labelinf_core import Descriptor, Kind, Reference, hookimpl\nlabelinf_contract = 2\n"
DESCRIPTOR = (
    "Descriptor(kind=Kind.{kind}, name={name!r}, summary='s', "
    "reference=Reference(work='w', statement='s'), target='m:C')"
)


def good(name: str, target: str = "fake_module:Fake") -> str:
    return GOOD.format(name=name, target=target)


def yields(hook: str, what: str) -> str:
    return f"{HEAD}@hookimpl\ndef {hook}():\n    return [{what}]\n"


def test_builtins_are_found_the_way_a_third_party_is() -> None:
    """Plain pluggy sees the same plugins as the guarded host."""
    manager = pluggy.PluginManager("labelinf")
    manager.add_hookspecs(Specs)
    manager.load_setuptools_entrypoints("labelinf")

    plain = {name for name, _ in manager.list_name_plugin()}

    assert plain == {name for name, record in Host.load().records.items() if record.status is PluginStatus.LOADED}
    assert {"data", "privacy", "scores"} <= plain


def test_every_builtin_plugin_loads_without_a_problem() -> None:
    assert list(Host.load(strict=True).problems()) == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        pytest.param("import no_such_module", "No module named 'no_such_module'", id="import"),
        pytest.param("1 / 0", "ZeroDivisionError", id="import-time-bug"),
        pytest.param("raise SystemExit(3)", "SystemExit in faulty_plugin, line", id="exits-on-import"),
        pytest.param("x = 1", "declares labelinf_contract = None, this host speaks 2", id="no-contract"),
        pytest.param("labelinf_contract = 1", "declares labelinf_contract = 1", id="other-contract"),
        pytest.param("labelinf_contract = 2", "it implements no hook", id="no-hook"),
        pytest.param(
            HEAD + "@hookimpl\ndef labelinf_atacks(): return []", "unknown hook 'labelinf_atacks'", id="misspelt-hook"
        ),
        pytest.param(
            HEAD + "@hookimpl\ndef labelinf_components(seed): return []",
            "can not be found in the hookspec",
            id="unknown-argument",
        ),
        pytest.param(yields("labelinf_components", "'x'"), "must yield Descriptor objects, got str", id="wrong-type"),
        pytest.param(
            yields("labelinf_components", ", ".join([DESCRIPTOR.format(kind="ATTACK", name="a")] * 2)),
            "labelinf_components yields attack 'a' twice",
            id="twice",
        ),
        pytest.param(good("Bad Name"), "must look like lower-case words joined by '-'", id="bad-name"),
        pytest.param(good("fine", target="nonsense"), "must look like 'module:Class'", id="bad-target"),
    ],
)
def test_a_faulty_plugin_is_reported_and_the_rest_still_load(
    install_fake: InstallFake, source: str, problem: str
) -> None:
    install_fake("fault-y", entry="faulty", module="faulty_plugin", source=source)

    host = Host.load()

    assert host.records["faulty"].status is PluginStatus.FAILED
    assert problem in host.records["faulty"].problem
    assert list(host.problems()) == [f"plugin 'faulty' of fault-y 1.0 was left out: {host.records['faulty'].problem}"]
    assert host.find(Kind.CHANNEL, "score").plugin.name == "scores"


def test_one_module_under_two_names_is_reported(install_fake: InstallFake) -> None:
    install_fake("twice", entry="zz-twice", module="labelinf_scores.plugin")

    assert "already registered under another name" in Host.load().records["zz-twice"].problem


def test_strict_raises_the_first_fault(install_fake: InstallFake) -> None:
    install_fake("faulty", entry="faulty", module="faulty_plugin", source="1 / 0")

    with pytest.raises(PluginError, match=r"plugin 'faulty' of faulty 1\.0 failed: ZeroDivisionError"):
        Host.load(strict=True)


def test_a_blocked_plugin_is_never_imported(install_fake: InstallFake) -> None:
    install_fake("faulty", entry="faulty", module="faulty_plugin", source="1 / 0")

    host = Host.load(blocked={"faulty"}, strict=True)

    assert host.records["faulty"].status is PluginStatus.BLOCKED


def test_the_environment_blocks_too(install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake("faulty", entry="faulty", module="faulty_plugin", source="1 / 0")
    monkeypatch.setenv(BLOCK_VARIABLE, "faulty, data")

    host = Host.load(strict=True)

    assert {name for name, r in host.records.items() if r.status is PluginStatus.BLOCKED} == {"faulty", "data"}


def test_blocking_what_is_not_installed_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="cannot block plugin 'nobody': it is not installed"):
        Host.load(blocked={"nobody"})


@pytest.mark.long
def test_a_name_with_two_providers_belongs_to_neither(install_fake: InstallFake) -> None:
    install_fake("first", entry="first", module="first_p", source=good("contested"))
    install_fake("rival", entry="rival", module="rival_p", source=good("contested"))

    host = Host.load()

    with pytest.raises(
        NameConflictError,
        match=r"attack 'contested' is provided by plugin 'first' of first 1\.0 and by plugin 'rival' of rival 1\.0",
    ):
        host.find(Kind.ATTACK, "contested")
    assert "contested" not in {item.descriptor.name for item in host.catalogue(Kind.ATTACK)}
    assert len(list(host.contested())) == 1
    assert Host.load(blocked={"rival"}).find(Kind.ATTACK, "contested").plugin.name == "first"
    with pytest.raises(NameConflictError):
        Host.load(strict=True)


def test_two_distributions_with_one_entry_point_both_fail(install_fake: InstallFake) -> None:
    install_fake("shadow", entry="twice", module="shadow_p", source=good("other"))
    install_fake("shade", entry="twice", module="shade_p", source=good("another"))

    host = Host.load()

    assert host.records["twice"].status is PluginStatus.FAILED
    assert "'twice' is declared by" in host.records["twice"].problem
    assert "shadow 1.0" in host.records["twice"].problem


def test_nobody_takes_the_entry_point_of_what_comes_with_labelinf(install_fake: InstallFake) -> None:
    """Both stayed out: whoever installed a package with an entry point ``scores`` lost all scores."""
    install_fake("shadow", entry="scores", module="shadow_p", source=good("other"))

    host = Host.load()

    assert host.records["scores"].status is PluginStatus.LOADED
    assert host.records["scores of shadow"].status is PluginStatus.FAILED
    assert [told for told in host.problems() if "shadow 1.0" in told and "needs another name" in told]


def test_a_name_belongs_to_a_channel_and_a_kind(install_fake: InstallFake) -> None:
    """Where a package of another channel had a ``label-rr`` the default matrix refused, and every check missed it."""
    own = Host.load().find(Kind.DEFENCE, "label-rr")
    source = yields(
        "labelinf_components", DESCRIPTOR.format(kind="DEFENCE", name="label-rr")[:-1] + ", channel='split')"
    )
    install_fake("elsewhere", entry="elsewhere", module="elsewhere_p", source=source)

    host = Host.load(strict=True)

    assert not list(host.contested())
    assert host.find(Kind.DEFENCE, "label-rr").descriptor == own.descriptor
    assert host.find(Kind.DEFENCE, "label-rr", str(own.descriptor.channel)).descriptor == own.descriptor
    assert host.find(Kind.DEFENCE, "label-rr", "split").plugin.name == "elsewhere"
    assert len([item for item in host.catalogue(Kind.DEFENCE) if item.descriptor.name == "label-rr"]) == 2


def test_a_builtin_is_never_lost_to_a_name_and_who_has_taken_it_is_told(install_fake: InstallFake) -> None:
    install_fake("greedy", entry="greedy", module="greedy_p", source=good("majority"))

    host = Host.load()

    assert host.find(Kind.ATTACK, "majority").plugin.distribution == "labelinf"
    assert host.find(Kind.ATTACK, "majority", "score").plugin.distribution == "labelinf"
    assert list(host.contested()) == [
        "attack 'majority' of plugin 'greedy' of greedy 1.0 is left out: labelinf has one of that name"
    ]
    failed = [str(check) for check in checks_of("greedy", host) if check.result().outcome is CheckOutcome.FAILED]
    assert "attack:majority:is-found" in failed


def test_two_channels_that_have_a_name_are_told_apart_by_the_channel(install_fake: InstallFake) -> None:
    for name in ("left", "right"):
        described = DESCRIPTOR.format(kind="ATTACK", name="shared")[:-1] + f", channel='{name}')"
        install_fake(name, entry=name, module=f"{name}_p", source=yields("labelinf_components", described))

    host = Host.load()

    assert host.find(Kind.ATTACK, "shared", "left").plugin.name == "left"
    with pytest.raises(NameConflictError, match=r"attack 'shared' is one of the channels left and right"):
        host.find(Kind.ATTACK, "shared")


def test_an_unknown_name_suggests_near_ones_and_lists_failures(install_fake: InstallFake) -> None:
    install_fake("faulty", entry="faulty", module="faulty_plugin", source="1 / 0")
    install_fake("sound", entry="sound", module="sound_p", source=good("some-attack"))

    with pytest.raises(UnknownNameError) as caught:
        Host.load(blocked={"data"}).find(Kind.ATTACK, "some-attak")

    message = str(caught.value)
    assert "no attack is called 'some-attak'. Did you mean 'some-attack'?" in message
    assert "plugin 'faulty' of faulty 1.0 failed: ZeroDivisionError" in message
    assert "plugin 'data' of labelinf" in message
    assert "is blocked" in message


def test_a_plugin_for_another_version_says_so(install_fake: InstallFake) -> None:
    install_fake("old", entry="old", module="old_p", source="import gone", requires=("labelinf<0.1",))

    assert "it requires labelinf<0.1" in Host.load().records["old"].problem


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param("raise OSError('no disk')", r"cannot be imported .* OSError in late_module, line 1", id="raises"),
        pytest.param("", "cannot be imported .* has no attribute 'Fake'", id="missing"),
        pytest.param("class Fake: pass", "must be an attrs class that derives from", id="no-component"),
    ],
)
def test_a_component_that_is_not_what_it_says_names_its_plugin(
    install_fake: InstallFake, monkeypatch: pytest.MonkeyPatch, body: str, problem: str
) -> None:
    site = install_fake("sound", entry="sound", module="sound_p", source=good("late", target="late_module:Fake"))
    (site / "late_module.py").write_text(body)
    monkeypatch.delitem(sys.modules, "late_module", raising=False)

    with pytest.raises(PluginError, match=problem) as caught:
        Host.load().find(Kind.ATTACK, "late").load()
    assert "attack 'late' of plugin 'sound' of sound 1.0" in str(caught.value)


def test_a_name_that_is_near_to_none_of_many_is_no_page_of_names() -> None:
    with pytest.raises(UnknownNameError) as caught:
        Host.load().find(Kind.ATTACK, "zzqq")

    assert "labelinf plugins lists the " in str(caught.value)
    assert len(str(caught.value)) < 120
