"""The rules for every kind of component, and how they are run and counted."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import attrs

from labelinf_core.contracts.errors import LabelinfError, UnknownNameError
from labelinf_core.contracts.planted import PlantedChannel
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.suite import read_part
from labelinf_core.plugin.descriptors import Command, Kind, SuitePart
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.records import PluginRecord, Registered
from labelinf_core.plugin.reproductions import Reproduction
from labelinf_core.plugin.statements import Statement
from labelinf_core.plugin.worker import watch
from labelinf_core.specs import Builder, Spec
from labelinf_core.testing import channels, kinds, planted
from labelinf_core.testing.rules import NotApplicableError, require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labelinf_core.contracts.components import Rule
    from labelinf_core.plugin.descriptors import Descriptor

__all__ = ["Check", "CheckOutcome", "Result", "checks_of", "run_checks"]


class ExpectedFailureError(NotApplicableError):
    """A rule is broken, as its author knows and says."""


class CheckOutcome(enum.Enum):
    """What became of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED = "expected to fail"


@attrs.frozen(kw_only=True)
class Result:
    """One check on one component."""

    check: str
    outcome: CheckOutcome
    reason: str = ""


@attrs.frozen(kw_only=True)
class Check:
    """One rule, tried on one component, or on what a plugin offers beside its components.

    Attributes:
        rule: What is required, for example ``"is-frozen"``.
        item: The component, or the plugin.
        try_it: Raises AssertionError when the rule is broken, ``NotApplicableError`` when it does not apply.
        expected: Why it is known to be broken; empty when it must be kept.
    """

    rule: str
    item: Registered | PluginRecord = attrs.field(repr=False)
    try_it: Callable[[Host, Any], None] = attrs.field(repr=False)
    host: Host = attrs.field(repr=False)
    expected: str = ""

    def __str__(self) -> str:
        if isinstance(self.item, PluginRecord):
            return f"plugin:{self.item.name}:{self.rule}"
        return f"{self.item.descriptor.kind.value}:{self.item.descriptor.name}:{self.rule}"

    def run(self) -> None:
        """Try the rule.

        Raises:
            AssertionError: It is broken, and the message says how; or it is kept although it was expected to be broken.
            NotApplicableError: It does not apply, or is broken as expected; under pytest this is a skip.
        """
        try:
            self.try_it(self.host, self.item)
        except NotApplicableError:
            raise
        except Exception as error:
            if self.expected:
                raise ExpectedFailureError(self.expected) from error
            raise
        require(not self.expected, f"it is kept, though it was expected to be broken: {self.expected}")

    def result(self) -> Result:
        """Try the rule and say what became of it; a component may raise anything."""
        try:
            with watch.over(f"check {self}"):
                self.run()
        except ExpectedFailureError as error:
            return Result(check=str(self), outcome=CheckOutcome.EXPECTED, reason=str(error))
        except NotApplicableError as error:
            return Result(check=str(self), outcome=CheckOutcome.SKIPPED, reason=str(error))
        except Exception as error:
            reason = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            return Result(check=str(self), outcome=CheckOutcome.FAILED, reason=reason)
        return Result(check=str(self), outcome=CheckOutcome.PASSED)


def checks_of(
    plugin: str, host: Host | None = None, *, expected_failures: Mapping[str, str] | None = None
) -> Sequence[Check]:
    """Return every check of every component of ``plugin``, and of what it offers besides.

    Args:
        plugin: Its name.
        host: What is installed; loaded when omitted.
        expected_failures: Checks that are known to fail, ``"attack:mine:is-reproducible"``, and why; one that does not
            fail any more is a failure.

    Raises:
        UnknownNameError: No such plugin is loaded, or no such check.
    """
    expected = dict(expected_failures or {})
    host = host or Host.load()
    record = host.records.get(plugin)
    if record is None or record.problem:
        raise UnknownNameError(
            f"plugin {plugin!r} is not loaded{': ' + record.problem if record else ''}. "
            f"Installed are {', '.join(host.records)}."
        )
    checks = [
        Check(rule=rule, item=item, try_it=try_it, host=host)
        for item in host.provided(plugin)
        for rule, try_it in _rules(host, item.descriptor)
    ]
    checks += [Check(rule=rule, item=record, try_it=try_it, host=host) for rule, try_it in _OFFERED]
    if unknown := sorted(expected.keys() - {str(check) for check in checks}):
        raise UnknownNameError(f"plugin {plugin!r} has no check {unknown[0]!r} that could be expected to fail.")
    return tuple(attrs.evolve(check, expected=expected.get(str(check), "")) for check in checks)


def _suites_are_played(host: Host, record: PluginRecord) -> None:
    parts = host.offers(record.name, "labelinf_suites", SuitePart)
    if not parts:
        raise NotApplicableError("it offers none")
    for part in parts:
        plan = make_plan(read_part(part), Builder(host), part.file)
        require(not plan.left_out, "; ".join(plan.left_out))


def _are_read(hook: str, expected: type[Any], host: Host, record: PluginRecord) -> None:
    if not host.offers(record.name, hook, expected):
        raise NotApplicableError("it offers none")


_OFFERED: tuple[tuple[str, Callable[[Host, PluginRecord], None]], ...] = (
    ("suites-are-played", _suites_are_played),
    ("statements-are-read", functools.partial(_are_read, "labelinf_statements", Statement)),
    ("reproductions-are-read", functools.partial(_are_read, "labelinf_reproductions", Reproduction)),
    ("commands-are-read", functools.partial(_are_read, "labelinf_commands", Command)),
)  #: rules of a plugin, beside those of its components


def run_checks(
    plugin: str, host: Host | None = None, *, expected_failures: Mapping[str, str] | None = None
) -> Sequence[Result]:
    """Run every check of ``plugin``; nothing is raised for a broken rule. Arguments as of :func:`checks_of`.

    Raises:
        UnknownNameError: No such plugin is loaded.
    """
    return tuple(check.result() for check in checks_of(plugin, host, expected_failures=expected_failures))


def example(host: Host, item: Registered) -> Any:
    """Build the component with its defaults, and its declared example for what has none.

    A class whose parameters have no default says in ``example_parameters`` what to try; one that reads a user's own
    file may ship a small one.
    """
    spec = _example_spec(item)
    try:
        return _builder(host, item).build(item.descriptor.kind, spec, "check")
    except LabelinfError as error:
        raise AssertionError(
            f"it cannot be built from its defaults ({error}); give every parameter a default, or the class an "
            f"'example_parameters' dictionary"
        ) from error


def _builder(host: Host, item: Registered) -> Builder:
    return _builders(host).on(item.descriptor.channel or "")


@functools.lru_cache(maxsize=1)
def _builders(host: Host) -> Builder:
    """Return the builder of all examples of a host: each of its own would prepare every class anew."""
    return Builder(host)


def _example_spec(item: Registered) -> Spec:
    cls = item.load()
    given = getattr(cls, "example_parameters", {})
    missing = [field.name for field in attrs.fields(cls) if field.init and field.default is attrs.NOTHING]
    if needed := sorted(set(missing) - set(given)):
        raise NotApplicableError(f"it needs {', '.join(needed)}; an 'example_parameters' dictionary would show some")
    return Spec(item.descriptor.name, given)


def _is_frozen(host: Host, item: Registered) -> None:
    cls = item.load()
    component = example(host, item)
    for field in attrs.fields(cls):
        require(field.kw_only, f"parameter {field.name!r} must be keyword-only: @attrs.frozen(kw_only=True)")
        try:
            setattr(component, field.name, getattr(component, field.name))
        except attrs.exceptions.FrozenInstanceError:
            continue
        raise AssertionError("it must be frozen: @attrs.frozen(kw_only=True)")


def _is_documented(host: Host, item: Registered) -> None:
    text = inspect.getdoc(item.load()) or ""
    require(text, "it needs a docstring")
    for field in filter(lambda each: each.init, attrs.fields(item.load())):
        require(f"{field.name}:" in text, f"parameter {field.name!r} needs a line under 'Attributes:'")


def _has_reference(host: Host, item: Registered) -> None:
    reference = item.descriptor.reference
    require(reference.work and reference.statement, "its reference must name a work and a statement in it")


def _survives_a_round_trip(host: Host, item: Registered) -> None:
    builder = _builder(host, item)
    kind = item.descriptor.kind
    spec = _example_spec(item)
    full = builder.full(kind, spec, "check")
    require(
        builder.build(kind, str(full), "check") == builder.build(kind, spec, "check"),
        f"written down as {full} it reads back as something else",
    )


def _rules(host: Host, descriptor: Descriptor) -> Iterator[tuple[str, Callable[[Host, Registered], None]]]:
    twin = "another plugin has a component of that name, so that nobody finds this one"
    yield "is-found", lambda host, item: require(host.is_found(item), twin)
    yield "is-documented", _is_documented
    yield "has-a-reference", _has_reference
    kind = descriptor.kind
    if kind is Kind.CHANNEL:  # its parameters are the game's; a suite gives them
        yield from channels.RULES
        return
    yield "is-frozen", _is_frozen
    yield "survives-a-round-trip", _survives_a_round_trip
    for rule, try_it in _played(host, descriptor):
        yield rule, functools.partial(_on_example, try_it)


def _played(host: Host, descriptor: Descriptor) -> Sequence[Rule]:
    """Return the rules that use the component: its channel's, or those of a kind that belongs to no channel."""
    if descriptor.channel is None:
        return kinds.RULES.get(descriptor.kind, ())
    try:
        channel = host.find(Kind.CHANNEL, descriptor.channel).load()
        rules = channel.rules().get(descriptor.kind, ())
        if not rules and issubclass(channel, PlantedChannel):
            rules = _planted(channel).get(descriptor.kind, ())
    except LabelinfError as error:
        return (
            (
                "is-played",
                functools.partial(_unknown, f"there are no rules for channel {descriptor.channel!r}: {error}"),
            ),
        )
    return rules or (("is-played", functools.partial(_unknown, f"channel {descriptor.channel!r} has no rules for it")),)


_planted = functools.lru_cache(maxsize=8)(planted.rules)


def _unknown(reason: str, component: object) -> None:
    raise NotApplicableError(reason)


def _on_example(try_it: Callable[[Any], None], host: Host, item: Registered) -> None:
    try_it(example(host, item))
