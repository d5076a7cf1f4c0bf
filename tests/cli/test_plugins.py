"""``labelinf plugins`` says what there is, where it came from, and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Labelinf = Callable[..., Result]


def test_every_kind_is_listed_with_reference_and_origin(labelinf: Labelinf, fakes: Path) -> None:
    text = labelinf("plugins").stdout

    for heading in ("losses", "attacks", "noise models", "defences", "bounds", "label sources", "channels", "plugins"):
        assert f"\n{heading}\n" in f"\n{text}"
    entry = text[text.index("fake-reader") :].splitlines()
    assert entry[0].endswith("a fake: attacks:Reader")
    assert entry[1].strip() == "labelinf tests, fake-reader · labelinf-fakes 1.0"
    assert "loaded   labelinf-fakes 1.0: 16 components" in text


def test_failed_blocked_and_contested_are_told(
    labelinf: Labelinf, fakes: Path, install_fake: Callable[..., Path]
) -> None:
    install_fake("labelinf-bad", entry="bad", module="bad_plugin", source="raise OSError('no library')")
    twin = (Path(fakes) / "labelinf_fakes" / "plugin.py").read_text()
    install_fake("labelinf-twin", entry="twin", module="twin_plugin", source=twin)

    text = labelinf("plugins", "-p", "no:privacy").stdout

    assert "failed   labelinf-bad 1.0: OSError in bad_plugin, line 1" in text
    assert any(line.split()[:2] == ["privacy", "blocked"] for line in text.splitlines())
    assert "‼ attack 'fake-coin' is provided by plugin 'fakes' of labelinf-fakes 1.0 and by plugin 'twin'" in text


def test_the_list_is_there_for_machines(labelinf: Labelinf, fakes: Path) -> None:
    found = json.loads(labelinf("plugins", "list", "--json").stdout)

    assert found == json.loads(labelinf("plugins", "--json").stdout)
    (reader,) = (item for item in found["components"] if item["name"] == "fake-reader")
    assert reader["kind"] == "attack"
    assert (reader["plugin"], reader["distribution"], reader["version"]) == ("fakes", "labelinf-fakes", "1.0")
    assert {item["name"] for item in found["plugins"]} >= {"fakes", "scores", "data"}


def test_a_component_is_shown_with_its_parameters(labelinf: Labelinf, fakes: Path) -> None:
    text = labelinf("plugins", "show", "fake-reader", "score-noise").stdout

    assert "parameter   confidence: float, default 0.75" in text
    assert "Predicted probability of class 1 for the record asked about." in text
    assert "provided by plugin 'fakes' of labelinf-fakes 1.0" in text
    assert "parameter   model: noise" in text


def test_all_components_can_be_shown(labelinf: Labelinf) -> None:
    shown = json.loads(labelinf("plugins", "show", "--json").stdout)
    listed = json.loads(labelinf("plugins", "--json").stdout)["components"]

    assert [(item["kind"], item["name"]) for item in shown] == [(item["kind"], item["name"]) for item in listed]
    assert all(item["documentation"] for item in shown)


PLUGIN = """
from labelinf_core import Descriptor, Kind, Reference, hookimpl
labelinf_contract = 2

@hookimpl
def labelinf_components():
    yield Descriptor(kind=Kind("{kind}"), name="only-one", channel="score", summary="s",
                     reference=Reference(work="w", statement="s"), target="{target}")
"""


def test_the_contract_of_a_plugin_is_checked(
    labelinf: Labelinf, fakes: Path, install_fake: Callable[..., Path]
) -> None:
    source = PLUGIN.format(kind="defence", target="labelinf_fakes.defences:Open")
    install_fake("labelinf-modest", entry="modest", module="modest_plugin", source=source)

    result = labelinf("plugins", "check", "modest")

    assert result.exit_code == 0, result.stdout
    assert " 0 failed" in result.stdout


def test_a_plugin_that_breaks_the_contract_fails_its_check(
    labelinf: Labelinf, install_fake: Callable[..., Path]
) -> None:
    source = PLUGIN.format(kind="attack", target="nowhere:Nothing")
    install_fake("labelinf-hollow", entry="hollow", module="hollow_plugin", source=source)

    result = labelinf("plugins", "check", "hollow")

    assert result.exit_code == 1
    assert "failed   attack:only-one:is-frozen: " in result.stdout
