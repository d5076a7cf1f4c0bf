"""What a user writes becomes components, or one sentence per fault with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import Defence, NoiseModel
from labelinf_core.contracts.errors import InputError, PluginError, UnknownNameError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.records import Registered
from labelinf_core.specs import Builder, Spec, parse

PARTS = """
from typing import Literal
import attrs
import numpy as np
from labelinf_core.contracts.components import Defence, NoiseModel

@attrs.frozen(kw_only=True)
class Flat(NoiseModel):
    width: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    def sample(self, rng, size):
        return rng.uniform(-self.width, self.width, size)
    bound = std = property(lambda self: self.width)
    def tail(self, delta):
        return self.width

@attrs.frozen(kw_only=True)
class Wrap(Defence):
    count: int = attrs.field(default=2, validator=attrs.validators.ge(0))
    noise: NoiseModel = Flat(width=3.0)
    weights: tuple[float, ...] = ()
    inner: tuple[Defence, ...] = ()
    maybe: NoiseModel | None = None
    word: Literal["a", "b"] = "a"
    on: bool = False

@attrs.frozen(kw_only=True)
class Needs(Defence):
    path: str
"""
PLUGIN = """
from labelinf_core import Descriptor, Kind, Reference, hookimpl
labelinf_contract = 2
R = Reference(work="w", statement="s")

@hookimpl
def labelinf_components():
    yield Descriptor(kind=Kind.DEFENCE, name="wrap-up", summary="s", reference=R, target="spec_parts:Wrap")
    yield Descriptor(kind=Kind.DEFENCE, name="needs", summary="s", reference=R, target="spec_parts:Needs")
    yield Descriptor(kind=Kind.DEFENCE, name="hidden", summary="s", reference=R, target="spec_hidden:Hidden")
    yield Descriptor(kind=Kind.NOISE, name="flat-noise", summary="s", reference=R, target="spec_parts:Flat")
"""
HIDDEN = """
from __future__ import annotations
from typing import TYPE_CHECKING
import attrs
from labelinf_core.contracts.components import Defence
if TYPE_CHECKING:
    from fractions import Fraction

@attrs.frozen(kw_only=True)
class Hidden(Defence):
    share: Fraction | None = None
"""


@pytest.fixture
def builder(install_fake: Any) -> Builder:
    site: Path = install_fake("labelinf-spec-test", entry="spectest", module="spec_plugin", source=PLUGIN)
    (site / "spec_parts.py").write_text(PARTS)
    (site / "spec_hidden.py").write_text(HIDDEN)
    return Builder(Host.load())


def built(builder: Builder, written: object) -> Any:
    return builder.build(Kind.DEFENCE, written, "here")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("none", Spec("none")),
        ("query-limit", Spec("query-limit")),
        ("round(decimals=4)", Spec("round", {"decimals": 4})),
        ("a(x=-0.5, y=1e-3, z=true)", Spec("a", {"x": -0.5, "y": 1e-3, "z": True})),
        ("a(x=inf, y=-inf, z=None)", Spec("a", {"x": float("inf"), "y": float("-inf"), "z": None})),
        ("csv(path='my-data/y-1.csv')", Spec("csv", {"path": "my-data/y-1.csv"})),
        ('csv(path="it\'s-here.csv")', Spec("csv", {"path": "it's-here.csv"})),
        ("a(b=c-d(e=f-g))", Spec("a", {"b": Spec("c-d", {"e": Spec("f-g")})})),
        ("a(b=[1, 2, c-d])", Spec("a", {"b": [1, 2, Spec("c-d")]})),
    ],
)
def test_text_is_read(text: str, spec: Spec) -> None:
    assert parse(text, "here") == spec


@pytest.mark.parametrize(
    "text", ["", "a(", "a(1)", "a.b", "a(**b)", "__import__('os').system('ls')", "a b", "1", "a(x=f'{1}')"]
)
def test_text_that_is_no_component_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"^here: .* is not a component; write a name or a call"):
        parse(text, "here")


def test_a_table_is_read_with_the_tables_inside_it() -> None:
    table = {"name": "score-noise", "model": {"name": "uniform", "tau": 0.1}}

    assert parse(table, "here") == Spec("score-noise", {"model": Spec("uniform", {"tau": 0.1})})


@pytest.mark.parametrize("written", [{"decimals": 4}, 4, None, ["round"]])
def test_what_is_neither_text_nor_a_named_table_is_one_sentence(written: object) -> None:
    with pytest.raises(InputError, match=r"^here: .*(name|table)"):
        parse(written, "here")


VALUES = st.recursive(
    st.one_of(
        st.integers(),
        st.floats(allow_nan=False),
        st.booleans(),
        st.none(),
        st.text(),
        st.from_regex(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", fullmatch=True)
        .filter(lambda name: name not in {"true", "false", "inf"})
        .filter(lambda name: not __import__("keyword").iskeyword(name))
        .map(Spec),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "tau", "x1"]), inner, max_size=2).map(lambda d: Spec("part-2", d)),
    ),
    max_leaves=6,
)


@pytest.mark.long
@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(["alpha", "b", "n_queries"]), VALUES, max_size=3))
def test_a_spec_reads_back_as_it_was_written(params: dict[str, Any]) -> None:
    spec = Spec("some-name", params)

    assert parse(str(spec), "here") == spec


def test_a_heading_is_shorter_than_the_spec() -> None:
    assert parse("score-noise(model=uniform(tau=0.01))", "here").compact == "score-noise uniform 0.01"
    assert parse("rr(epsilon=1, sticky=true)", "here").compact == "rr epsilon=1 sticky=true"


def test_a_component_is_built_with_its_components(builder: Builder) -> None:
    part = built(builder, "wrap-up(count=3, noise=flat-noise(width=2), weights=[1, 0.5], inner=[wrap-up, clip])")

    assert isinstance(part, Defence)
    assert (part.count, part.noise.width, part.weights) == (3, 2.0, (1.0, 0.5))
    assert len(part.inner) == 2
    assert isinstance(part.noise, NoiseModel)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wrap-up(count=3.7)", "here: wrap-up.count: expected int, got 3.7"),
        ("wrap-up(count='7')", "here: wrap-up.count: expected int, got '7'"),
        ("wrap-up(count=true)", "here: wrap-up.count: expected int, got True"),
        ("wrap-up(on=1)", "here: wrap-up.on: expected bool, got 1"),
        ("wrap-up(count=-1)", "here: wrap-up: count=-1 must be >= 0"),
        ("wrap-up(cuont=1)", "here: wrap-up: unknown parameter 'cuont'; did you mean 'count'?"),
        ("needs", "here: needs.path: is missing."),
        ("wrap-up(noise=flat-noise(width=0))", "here: wrap-up.noise: width=0.0 must be > 0"),
        ("wrap-up(noise=flat-noise(widht=1))", "here: wrap-up.noise: unknown parameter 'widht'; did you mean 'width'?"),
        ("wrap-up(weights=[1, 'b'])", "here: wrap-up.weights[1]: expected float, got 'b'"),
    ],
)
def test_a_fault_names_its_place_and_what_would_be_right(builder: Builder, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        built(builder, text)

    assert str(caught.value) == message


def test_all_faults_of_a_component_come_at_once(builder: Builder) -> None:
    with pytest.raises(InputError) as caught:
        built(builder, "wrap-up(count='x', noise=flat-noise(width='y'), zzz=1)")

    assert len(str(caught.value).splitlines()) == 3


def test_an_unknown_name_inside_a_component_is_named(builder: Builder) -> None:
    with pytest.raises(InputError, match=r"here: wrap-up\.noise: no noise model is called 'flat-nose'.*'flat-noise'"):
        built(builder, "wrap-up(noise=flat-nose)")


def test_an_unknown_component_suggests_near_names(builder: Builder) -> None:
    with pytest.raises(UnknownNameError, match="'wrap-up'"):
        built(builder, "wrap-upp")


def test_parameters_whose_types_cannot_be_read_are_the_plugins_fault(builder: Builder) -> None:
    with pytest.raises(PluginError, match=r"spec_hidden:Hidden cannot be read .*not under TYPE_CHECKING"):
        built(builder, "hidden")


def test_a_grid_is_the_product_of_its_lists(builder: Builder) -> None:
    points = builder.expand(
        Kind.DEFENCE, "wrap-up(count=[1, 2], noise=[flat-noise(width=[3, 4]), flat-noise], weights=[5, 6])", "here"
    )

    assert [str(point) for point in points] == [
        f"wrap-up(count={count}, noise={noise}, weights=[5, 6])"
        for count in (1, 2)
        for noise in ("flat-noise(width=3)", "flat-noise(width=4)", "flat-noise")
    ]


def test_a_grid_inside_a_list_of_components_is_expanded(builder: Builder) -> None:
    points = builder.expand(Kind.DEFENCE, "wrap-up(inner=[wrap-up(count=[1, 2]), needs(path='x')])", "here")

    assert [str(point.params["inner"][0]) for point in points] == ["wrap-up(count=1)", "wrap-up(count=2)"]


def test_a_full_spec_spells_out_every_default(builder: Builder) -> None:
    full = builder.full(Kind.DEFENCE, "wrap-up(inner=[needs(path='p-q')])", "here")

    assert str(full) == (
        "wrap-up(count=2, noise=flat-noise(width=3), weights=[], inner=[needs(path='p-q')], maybe=None, word='a', "
        "on=false)"
    )
    assert built(builder, str(full)) == built(builder, "wrap-up(inner=[needs(path='p-q')])")


def test_owners_are_the_plugins_of_all_parts(builder: Builder) -> None:
    owners = {plugin.distribution for plugin in builder.owners(Kind.DEFENCE, "wrap-up(inner=[clip])", "here")}

    assert owners == {"labelinf-spec-test", "labelinf"}


WHOLE = Host.load()


@pytest.mark.parametrize("item", list(WHOLE.catalogue()), ids=lambda item: f"{item.descriptor}")
def test_a_default_can_be_typed_in_as_it_is_shown(item: Registered) -> None:
    whole, kind, name = Builder(WHOLE), item.descriptor.kind, item.descriptor.name
    cls = item.load()
    needed = {p.name for p in whole.parameters(cls) if p.default is None}
    given = {key: value for key, value in getattr(cls, "example_parameters", {}).items() if key in needed}
    shown = {p.name: p.default for p in whole.parameters(cls) if p.default is not None}
    if needed - set(given):
        given = dict.fromkeys(needed, "x")  # a path, a name: what is built is not used
    by_default = Spec(name, given)
    typed = parse(f"{name}({', '.join(f'{key}={value}' for key, value in shown.items())})", "here")

    try:
        expected = whole.build(kind, by_default, "here")
    except InputError:
        pytest.skip("it needs a real name")
    assert whole.build(kind, Spec(name, {**given, **typed.params}), "here") == expected
    assert str(whole.full(kind, Spec(name, {**given, **typed.params}), "here")) == str(
        whole.full(kind, by_default, "h")
    )


def test_parameters_are_listed_with_types_and_defaults(builder: Builder) -> None:
    cls = builder.host.find(Kind.DEFENCE, "wrap-up").load()

    told = {item.name: (item.type, item.default) for item in builder.parameters(cls)}

    assert told["count"] == ("int", "2")
    assert told["noise"][0] == "noise model"
    assert told["on"] == ("bool", "false")
    assert attrs.asdict(builder.parameters(builder.host.find(Kind.DEFENCE, "needs").load())[0])["default"] is None
