"""The command line: thin commands over the evaluator and the report.

A command is imported when it is called, and heavy libraries inside it, so that ``labelinf --help`` and ``labelinf
plugins`` answer at once. What a status says stands in :mod:`labelinf_core.contracts.exits`.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

import click

from labelinf_core.cli.offered import Offered
from labelinf_core.contracts.exits import TABLE, Exit

__all__ = ["main"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_COMMANDS = {
    "check": ("check", "Check what you publish: does it give labels away, and what stops that?"),
    "matrix": ("matrix", "Play every attack against every defence."),
    "report": ("report", "Print a run again, also as HTML or JUnit."),
    "compare": ("report", "Show what changed between two runs."),
    "attack": ("attack", "Play one attack once, and show what it recovers."),
    "bounds": ("bounds", "Say what theory implies; nothing is played."),
    "advise": ("advise", "Find the smallest defence for a target."),
    "audit": ("audit", "Attack your own system."),
    "theorems": ("theorems", "List the papers' statements: true, repaired, false."),
    "reproduce": ("reproduce", "Compute a published table again."),
    "plugins": ("plugins", "List, check or begin plugins."),
}  # in the order of a user's journey: the module here that holds it, and its line

_PLAIN = {"·": "-", "∞": "inf", "±": "+-", "≤": "<=", "≥": ">=", "…": "...", "–": "-", "—": "-", "×": "x", "√": "sqrt "}


class _Commands(Offered):
    """Imports a command, a plugin's too, when it is called; shows a mistake as one sentence, never as a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        import importlib

        found = getattr(importlib.import_module(f"{__name__}.{_COMMANDS[cmd_name][0]}"), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from labelinf_core.cli.glance import commands_at_a_glance

        own = [(name, line) for name, (_, line) in _COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(own)
        if brought := [(name, line) for name, line in commands_at_a_glance() if name not in _COMMANDS]:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(brought)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command of this process, and end with its status."""
        if set(sys.argv[1:]) - {"-h", "--help", "--version"}:  # else no plugin is asked
            from labelinf_core.contracts.errors import InputError
            from labelinf_core.plugin.worker import limit_memory, memory_limit

            try:
                memory_limit(1)
            except InputError as error:
                click.echo(f"labelinf: {error}", err=True)
                sys.exit(Exit.INPUT)
            limit_memory(2)
        _heed()
        sys.exit(_status(self.main, *args, **kwargs))

    def invoke(self, ctx: click.Context) -> Any:
        from labelinf_core.contracts.errors import ComponentError, InconclusiveError, LabelinfError, UnwrittenError

        _speak_in_any_encoding()
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
            return found
        except click.ClickException as error:  # it quotes what was typed, however long that is
            error.message = _LONG_WORD.sub(  # type: ignore[misc]
                lambda word: f"{word[0][:_QUOTED]}...", error.message
            )
            raise
        except BrokenPipeError:  # whoever read has seen enough
            _write_nowhere()
            ctx.exit(Exit.DONE)
        except LabelinfError as error:
            click.echo(f"labelinf: {error}", err=True)
            unclear = Exit.INCONCLUSIVE if isinstance(error, InconclusiveError) else Exit.INPUT
            ctx.exit(Exit.INCOMPLETE if isinstance(error, ComponentError | UnwrittenError) else unclear)
        except KeyboardInterrupt:
            click.echo("labelinf: stopped", err=True)
            ctx.exit(Exit.INTERRUPTED)
        except EOFError:  # click would say that the user has aborted
            click.echo("labelinf: a process that was spoken with has ended", err=True)
            ctx.exit(Exit.INCOMPLETE)
        except OSError as error:
            click.echo(_unwritten(error), err=True)
            ctx.exit(Exit.INCOMPLETE)
        except SystemExit as error:
            click.echo(f"labelinf: a component ended the program ({type(error).__name__})", err=True)
            ctx.exit(Exit.INCOMPLETE)


_QUOTED = 60  # characters of a word that a message quotes
_LONG_WORD = re.compile(rf"\S{{{2 * _QUOTED},}}")


def _speak_in_any_encoding() -> None:
    """Write what a terminal or a pipe cannot show in plain letters or as its code, instead of failing after the run."""
    codecs.register_error("labelinf", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="labelinf")


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands for characters that an encoding lacks, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in lacking), error.end


def _unwritten(error: OSError) -> str:
    """Say why something could not be read or written: in the system's words, with a path if there is one."""
    where = f" {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return f"labelinf: what was asked for cannot be written or read{where} ({reason})"


def _heed() -> None:
    """Stop where the user says so, by whichever signal; not where whoever started us had us ignore it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _status(run: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Run a command to its end and return its exit status."""
    try:
        run(*args, **kwargs)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except OSError as error:
        click.echo(_unwritten(error), err=True)
        return Exit.INCOMPLETE
    except BaseException as error:  # our own fault: nothing of anybody else's passes the command
        import traceback

        traceback.print_tb(error.__traceback__)
        click.echo(f"{type(error).__name__}, whose text is left out: it could hold labels.", err=True)
        return Exit.INCOMPLETE
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            _write_nowhere()
    return Exit.DONE


def _write_nowhere() -> None:
    """Let what could not be written go: Python tries once more at its end, and complains in words of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=TABLE
)
@click.version_option(package_name="labelinf")
def main() -> None:
    """Find out how much a score, a gradient or a model gives away about private labels, and what stops it."""
    for variable in _THREADS:  # workers share the processors, and a sum must not depend on how many there are
        os.environ.setdefault(variable, "1")
    if os.getcwd() not in sys.path:  # where a user's own scorer lies
        sys.path.append(os.getcwd())
