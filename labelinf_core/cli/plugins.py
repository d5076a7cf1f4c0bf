"""``labelinf plugins``: what is installed, what it provides, and what is wrong with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labelinf_core.cli.completion import component, named
from labelinf_core.cli.options import block_option, load_host
from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.exits import Exit
from labelinf_core.report.progress import counting

if TYPE_CHECKING:
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.records import Registered

__all__ = ["plugins"]

T = TypeVar("T")


def _components(host: Host) -> Iterator[tuple[str, str]]:
    yield from ((item.descriptor.name, item.descriptor.summary) for item in host.catalogue())


@click.group(invoke_without_command=True)
@block_option
@output_options
@click.pass_context
def plugins(ctx: click.Context, blocks: tuple[str, ...], as_json: bool) -> None:
    """List what plugins provide, and what is wrong with any of them."""
    ctx.obj = load_host(blocks)
    if ctx.invoked_subcommand is None:
        _print_list(ctx.obj, as_json)


@plugins.command("list")
@output_options
@click.pass_obj
def list_(host: Host, as_json: bool) -> None:
    """List every component by kind."""
    _print_list(host, as_json)


@plugins.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=named(_components))
@output_options
@click.pass_obj
def show(host: Host, names: tuple[str, ...], as_json: bool) -> None:
    """Show components: parameters with types and defaults, documentation. Without NAME, all of them."""
    found = [item for name in names for item in _called(host, name)] if names else list(host.catalogue())
    if as_json:
        tell(list(_each(host, found, _described, alone=bool(names))), (), as_json=True)
    else:
        click.echo("\n\n".join(_each(host, found, _page, alone=bool(names))))


def _each(
    host: Host, items: list[Registered], describe: Callable[[Host, Registered], T], *, alone: bool
) -> Iterator[T]:
    """Describe components; one that cannot be had is named, and an error where it is asked for alone."""
    from labelinf_core.contracts.errors import PluginError
    from labelinf_core.plugin.worker import apart

    for item in items:
        ask = functools.partial(describe, host, item)
        try:
            yield apart(f"{item.descriptor} of {item.plugin}", ask) if item.plugin.third_party else ask()
        except PluginError as error:
            if alone:
                raise
            click.echo(f"labelinf: {error}", err=True)


@plugins.command()
@click.argument(
    "plugin", shell_complete=named(lambda host: ((each.name, each.distribution) for each in host.records.values()))
)
@output_options
@click.pass_obj
@click.pass_context
def check(ctx: click.Context, host: Host, plugin: str, as_json: bool) -> None:
    """Run the contract checks on every component of PLUGIN; exit 1 when one fails."""
    from labelinf_core.testing import CheckOutcome, checks_of

    checks, results = checks_of(plugin, host), []
    with counting(len(checks), f"checking {plugin}") as progress:
        for check_ in checks:
            results.append(check_.result())
            progress(len(results))
    counts = {outcome.value: sum(result.outcome is outcome for result in results) for outcome in CheckOutcome}
    if as_json:
        tell({"plugin": plugin, "summary": counts, "checks": results}, (), as_json=True)
    else:
        for result in results:
            if result.outcome is not CheckOutcome.PASSED:
                click.echo(f"{result.outcome.value:8} {result.check}: {result.reason}")
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        click.echo(f"{len(results)} checks: {told}")
    broken = any(result.outcome is CheckOutcome.FAILED for result in results)
    ctx.exit(Exit.FOUND if broken else Exit.DONE)


@plugins.command()
@click.argument("distribution")
@click.option(
    "--kind",
    type=click.Choice(["attack", "defence", "loss", "metric", "noise", "bound", "channel"]),
    required=True,
    help="What it will provide.",
)
@click.option(
    "--channel",
    metavar="NAME",
    shell_complete=component("channel"),
    help="Which channel it belongs to  [default: the first that has such]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it  [default: ./DISTRIBUTION]")
@output_options
@click.pass_obj
def new(host: Host, distribution: str, kind: str, channel: str | None, out: Path | None, as_json: bool) -> None:
    """Write a new plugin that works, for you to change: DISTRIBUTION is its name, for example labelinf-mine."""
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.evaluator.game import channels
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.scaffold import Project, write_project

    home, template = _template(host, Kind(kind), channel)
    labels = next((name for _, name in channels(host, lambda cls: cls.default_labels) if name), "")
    project = Project(distribution=distribution, kind=Kind(kind), channel=home, template=template, labels=labels)
    taken = [*host.records, *(item.descriptor.name for item in host.catalogue(project.kind))]
    if project.name in taken:
        raise InputError(f"{project.name!r} is taken: labelinf plugins lists every name. Choose another.")
    directory = out or Path(distribution)
    write_project(project, directory)
    component = str(directory / project.package / f"{kind}.py")
    said = {"plugin": project.name, "kind": kind, "channel": home, "directory": str(directory)}
    words = (
        f"written: {directory}, with the {kind} in {project.package}/{kind}.py",
        f"next: pip install -e {directory} && labelinf plugins check {project.name}",
    )
    tell({**said, "component": component}, words, as_json=as_json)


def _template(host: Host, kind: Kind, channel: str | None) -> tuple[str | None, str]:
    """Return the channel of a new component and the template it is begun from."""
    from labelinf_core.contracts.errors import InputError
    from labelinf_core.evaluator.game import channels
    from labelinf_core.plugin.descriptors import Kind
    from labelinf_core.scaffold import SHARED

    if kind in SHARED:
        if channel is not None and kind is not Kind.BOUND:
            raise InputError(f"--channel {channel}: a {kind.noun} belongs to none.")
        return channel, SHARED[kind]
    if channel is not None:
        host.find(Kind.CHANNEL, channel)
    offered = {name: text for name, text in channels(host, lambda cls: cls.templates().get(kind)) if text}
    name = channel or next(iter(offered), "")
    if name not in offered:
        known = f"; there is one for {', '.join(offered)}" if offered else ""
        raise InputError(f"the {channel or 'loaded'} channel offers no template for {kind.plural}{known}.")
    return name, offered[name]


def _print_list(host: Host, as_json: bool) -> None:
    tell(_inventory(host), _listing(host), as_json=as_json)


def _inventory(host: Host) -> dict[str, Any]:
    return {
        "plugins": [
            {
                "name": record.name,
                "distribution": record.distribution,
                "version": record.version,
                "status": record.status.value,
                "problem": record.problem,
            }
            for record in host.records.values()
        ],
        "components": [_brief(item) for item in host.catalogue()],
        "contested": list(host.contested()),
    }


def _brief(item: Registered) -> dict[str, Any]:
    descriptor = item.descriptor
    return {
        "kind": descriptor.kind.value,
        "name": descriptor.name,
        "channel": descriptor.channel,
        "summary": descriptor.summary,
        "reference": str(descriptor.reference),
        "plugin": item.plugin.name,
        "distribution": item.plugin.distribution,
        "version": item.plugin.version,
    }


def _listing(host: Host) -> Iterator[str]:
    from labelinf_core.plugin.descriptors import Kind

    items = list(host.catalogue())
    width = max((len(item.descriptor.name) for item in items), default=0)
    for kind in Kind:
        if of_kind := [item for item in items if item.descriptor.kind is kind]:
            yield f"{kind.plural}"
            for item in of_kind:
                yield f"  {item.descriptor.name:{width}}  {item.descriptor.summary}"
                source = f"{item.descriptor.reference} · {item.plugin.distribution} {item.plugin.version}"
                yield click.style(f"  {'':{width}}  {source}", dim=True)
            yield ""
    yield "plugins"
    for record in host.records.values():
        told = record.problem or f"{len(record.provides)} components"
        yield f"  {record.name:{width}}  {record.status.value:8} {record.distribution} {record.version}: {told}"
    for conflict in host.contested():
        yield f"‼ {conflict}"


def _called(host: Host, name: str) -> list[Registered]:
    from labelinf_core.contracts.errors import UnknownNameError
    from labelinf_core.plugin.host import suggested

    found = [item for item in host.catalogue() if item.descriptor.name == name]
    if not found:
        hint = suggested(name, (item.descriptor.name for item in host.catalogue()), "labelinf plugins lists them all.")
        raise UnknownNameError(f"no component is called {name!r}. {hint}{host.left_out}")
    return found


def _described(host: Host, item: Registered) -> dict[str, Any]:
    import inspect

    import attrs

    from labelinf_core.specs import Builder

    cls = item.load()
    return {
        **_brief(item),
        "target": item.descriptor.target,
        "parameters": [attrs.asdict(parameter) for parameter in Builder(host).parameters(cls)],
        "documentation": inspect.getdoc(cls) or "",
    }


def _page(host: Host, item: Registered) -> str:
    import inspect

    from labelinf_core.specs import Builder

    lines = [
        f"{item.descriptor}: {item.descriptor.summary}",
        f"  source      {item.descriptor.reference}",
        f"  provided by {item.plugin}, {item.descriptor.target}",
    ]
    for parameter in Builder(host).parameters(item.load()):
        default = "required" if parameter.default is None else f"default {parameter.default}"
        lines.append(f"  parameter   {parameter.name}: {parameter.type}, {default}")
    lines += ["", *(f"  {line}".rstrip() for line in (inspect.getdoc(item.load()) or "").splitlines())]
    return "\n".join(lines)
