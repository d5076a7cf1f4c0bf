"""``labelinf guard``: plan, begin, score, show, verify and close a board."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelinf_core.cli.completion import component
from labelinf_core.cli.options import Finite, NewFile, Share
from labelinf_core.cli.output import output_options, tell
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_core.contracts.regular import open_regular
from labelinf_core.report.progress import steps, waiting

if TYPE_CHECKING:
    from labelinf_guard.ledger.verify import Verified

__all__ = ["guard"]

_board = click.argument("board", metavar="board.toml", type=click.Path(path_type=Path))


@click.group()
def guard() -> None:
    """Deploy a scorer that tells nothing it has not charged, with a certificate against all teams together."""


@guard.command()
@click.option("--records", required=True, type=click.IntRange(min=1), help="Private labels.")
@click.option("--classes", type=click.IntRange(min=2), default=2, show_default=True)
@click.option("--values", type=float, nargs=3, metavar="LEAST GREATEST STEP", help="Of labels that are numbers.")
@click.option(
    "--metric", default="accuracy", show_default=True, shell_complete=component("metric"), help="One that ships."
)
@click.option(
    "--range", "ends", type=Finite(), nargs=2, metavar="LOW HIGH", help="Of its scores, where board.toml must say it."
)
@click.option("--decimals", type=click.IntRange(0, 6), default=3, show_default=True)
@click.option("--teams", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--submissions", type=click.IntRange(min=1), default=100, show_default=True, help="Of every team.")
@click.option("--gain", type=Share(min=0, min_open=True, max=1), default=0.1, show_default=True, help="The target.")
@click.option("--perfect", type=Share(min=0, max=1), help="Accuracy of a perfect model, if you will assume it.")
@click.option("--counts-unknown", is_flag=True, help="Assume that nobody knows the class counts.")
@click.option("--html", type=NewFile(), metavar="FILE", help="Write it as a page, with pictures.")
@output_options
def plan(html: Path | None, as_json: bool, **asked: Any) -> None:
    """Show what each policy proves, what the best known attack gets, and what honest teams lose."""
    from labelinf_guard.plan import PlanQuestion, lines, table

    values, known = asked.pop("values") or (), not asked.pop("counts_unknown")
    asked["low"], asked["high"] = asked.pop("ends") or (None, None)
    try:
        with steps("planning") as progress:
            rows = table(PlanQuestion(counts_known=known, values=values, **asked), progress)
    except ValueError as error:  # of what a board.toml cannot say
        raise InputError(str(error).rstrip(".") + ".") from error
    if html is not None:
        from labelinf_guard.pages import plan_page

        html.write_text(plan_page(f"Policies for {asked['records']} labels", rows, lines(rows)), encoding="utf-8")
    tell(rows, lines(rows), as_json=as_json)


@guard.command()
@_board
@output_options
def init(board: Path, as_json: bool) -> None:
    """Begin a board: draw its key and its public labels, check its target, print its certificate."""
    from labelinf_guard.board import Board
    from labelinf_guard.status import beside

    with waiting("beginning the board"), closing(Board.init(board)) as opened:
        certificate, head, others = opened.certificate(), opened.ledger.head, opened.others()
        worth = opened.recommendation()
    sentences, arithmetic = list(certificate.sentences()), list(certificate.arithmetic())
    words = [*worth.lines(), "", *sentences, "", *(f"  {line}" for line in arithmetic)]
    words += [f"\n{line}" for line in beside(others)]
    words += [f"\nledger begun; chain head {head}", f"next: labelinf guard score {board} --team NAME FILE"]
    document = {
        "recommendation": worth,
        "certificate": sentences,
        "arithmetic": arithmetic,
        "head": head,
        "others": others,
    }
    tell(document, words, as_json=as_json)


@guard.command()
@_board
@click.option("--team", required=True, metavar="NAME", help="Whose submission it is.")
@click.argument("submission", type=click.Path(path_type=Path), metavar="FILE")
@output_options
@click.pass_context
def score(context: click.Context, board: Path, team: str, submission: Path, as_json: bool) -> None:
    """Answer one submission, at its beat. Exits with status 2 when it is refused."""
    from labelinf_guard.board import Board, TeamRefusal
    from labelinf_guard.certificate.statement import counted

    with closing(Board.open(board)) as opened:
        limit = opened.policy.limits.bytes + 1
        try:
            with open_regular(submission) as file:
                data = file.read(limit)
        except OSError as error:
            raise InputError(f"{submission} cannot be read: {error.strerror}.") from error
        told, daily = opened.submit(team, data), opened.policy.budget.per_team_day
    if isinstance(told, TeamRefusal):
        click.echo(told.reason, err=True)
        context.exit(Exit.INPUT)
    tell(told, (told.score, f"{counted(told.left, 'submission')} left, {daily} a day at most"), as_json=as_json)


@guard.command()
@_board
@click.option(
    "--timeout",
    "seconds",
    type=Finite(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="For what is determined.",
)
@output_options
def status(board: Path, seconds: float, as_json: bool) -> None:
    """Show what was spent and is left, the certificate, which labels are determined, who surprises. For the host."""
    from labelinf_guard.board import Board
    from labelinf_guard.status import shown, status_of

    with closing(Board.open(board)) as opened:
        opened.ledger.settle()
        with waiting("counting determined labels", lambda: f"{seconds:.0f} s at most"):
            found = status_of(opened, seconds=seconds)
    tell(found, shown(found), as_json=as_json)


@guard.command()
@_board
@click.option("--gain", type=Share(min=0, min_open=True, max=1), help="Over the blind guess  [default: its target]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@output_options
@click.pass_context
def audit(context: click.Context, board: Path, gain: float | None, seed: int, as_json: bool) -> None:
    """Attack the board as it is deployed, on its labels; nothing is asked of it, and its ledger stays as it is.

    Exits as labelinf audit scorer does: 0 where it is proved to stay within the gain and no attack got more, 1 where
    one did, 3 where neither is shown.
    """
    from labelinf_core.cli.options import load_host
    from labelinf_core.specs import Builder
    from labelinf_guard.board import Board
    from labelinf_guard.deployed import deployed
    from labelinf_scores.audit.report import Goal, audited
    from labelinf_scores.commands import document, lines

    with closing(Board.open(board)) as opened:
        found = deployed(opened)
    with steps("auditing") as progress:
        report = audited(
            "sklearn",
            found.labels,
            Builder(load_host(())),
            metric=found.metric,
            stages=(found.stage,),
            queries=found.queries,
            seed=seed,
            goal=Goal(gain=found.gain if gain is None else gain),
            until=found.until,
            besides=found.besides,
            progress=progress,
        )
    tell(document(report), lines(report), as_json=as_json)
    context.exit(report.decision.status)


@guard.command()
@_board
@click.option("--head", metavar="HEX", default="", help="A chain head that was published: it must be in the ledger.")
@output_options
@click.pass_context
def verify(context: click.Context, board: Path, head: str, as_json: bool) -> None:
    """Compute seals, charges, order and quotas again; check kept files. Exits with status 1 when one is wrong."""
    from labelinf_guard.files import State, derived, read_key
    from labelinf_guard.kept import SealedFiles
    from labelinf_guard.ledger.verify import verify as again

    state = State.of(board)
    with waiting("computing the ledger again"):
        key = read_key(state.key)
        files = SealedFiles(state=state, key=key)
        found = again(state.ledger, derived(key, "chain"), head=head, files=files.faults, anchor=state.anchor)
    tell(found, _verified(found), as_json=as_json)
    context.exit(Exit.FOUND if found.faults else Exit.DONE)


@guard.command()
@_board
@click.option("--lost", type=click.IntRange(min=0), default=0, help="Rows, if the anchor was restored too.")
@output_options
def adopt(board: Path, lost: int, as_json: bool) -> None:
    """Go on with a ledger that was restored from a copy; what may have been told since is charged in full."""
    from labelinf_guard.clock import SystemClock
    from labelinf_guard.files import State, derived, read_key
    from labelinf_guard.ledger.store import Ledger

    state = State.of(board)
    lost = Ledger.adopt(state.ledger, state.anchor, derived(read_key(state.key), "chain"), SystemClock(), lost=lost)
    told = f"{lost} lost rows are charged in full." if lost else "nothing was lost."
    tell({"lost": lost}, (told,), as_json=as_json)


@guard.command()
@_board
@click.option("--final", is_flag=True, required=True, help="Yes: close the board for ever.")
@output_options
def release(board: Path, final: bool, as_json: bool) -> None:
    """Close the board: print its last standing, and what [final] releases of the sealed labels, once."""
    from labelinf_guard.board import Board

    with closing(Board.open(board)) as opened, waiting("releasing"):
        found, standing, ranked = opened.release(), opened.standing(), opened.sealed_standing()
    sealed = [f"{rank:>4}  {score}  {team}" for rank, team, score in ranked]
    public = [f"{place:>4}  {score}  {team}" for place, (team, score) in enumerate(standing, 1)]
    document = {"closed": True, "final": found, "public": [{"team": team, "score": text} for team, text in standing]}
    told = ["by the public labels", *public, "", *(["by the sealed labels", *sealed, ""] if sealed else [])]
    tell(document, [*told, f"closed; labelinf guard verify {board} checks all of it"], as_json=as_json)


@guard.command()
@_board
@click.option("--address", default="127.0.0.1", show_default=True, help="Where the public page is served.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Of the public page.")
@click.option(
    "--host-port", type=click.IntRange(1, 65535), default=8001, show_default=True, help="Of the host's, here only."
)
@output_options
def serve(board: Path, address: str, port: int, host_port: int, as_json: bool) -> None:
    """Serve the board over HTTP; answers leave at beats. Give each team its token: labelinf guard token."""
    from labelinf_guard.board import Board

    try:
        import uvicorn  # noqa: F401  which the service needs last

        from labelinf_guard.service import run
    except ImportError as error:
        raise InputError("labelinf guard serve needs Starlette and uvicorn: pip install 'labelinf[serve]'.") from error
    if port == host_port:
        raise InputError(f"--port and --host-port are both {port}: the host's page must not be on the public port.")
    opened = Board.open(board)
    public, host = f"http://{address}:{port}/", f"http://127.0.0.1:{host_port}/"
    tell({"public": public, "host": host}, (f"public page {public}", f"host's page {host}"), as_json=as_json)
    run(opened, address=address, port=port, host_port=host_port)


@guard.command()
@_board
@click.argument("team", metavar="NAME")
@output_options
def token(board: Path, team: str, as_json: bool) -> None:
    """Print the token that a team sends with its submissions to a board that is served. Give it to nobody else."""
    from labelinf_guard.board import Board

    with closing(Board.open(board)) as opened:
        found = opened.token(team)
    tell({"team": team, "token": found}, (found,), as_json=as_json)


@guard.command()
@_board
@click.option(
    "--to",
    "platform",
    required=True,
    type=click.Choice(["kaggle", "huggingface", "codabench", "grand-challenge"]),
    help="Where it will run.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("export"), show_default=True, help="A folder.")
@output_options
def export(board: Path, platform: str, out: Path, as_json: bool) -> None:
    """Write one self-contained scorer for a platform that keeps nothing, and the solution file with its split."""
    from labelinf_guard.export.write import export as write

    with waiting("writing the scorer"):
        found = write(board, platform, out)
    files = (f"\nscorer {found.scorer}", f"solution {found.solution} (private: it holds the labels)")
    document = {"said": found.said, "scorer": str(found.scorer), "solution": str(found.solution)}
    tell(document, (*found.said, *files), as_json=as_json)


def _verified(found: Verified) -> list[str]:
    budget = f"{found.budget / 1024:.1f}" if found.budget >= 0 else "no limit"
    lines = [
        f"{found.rows} rows, {found.submissions} submissions; chain head {found.head}",
        f"spent {found.spent / 1024:.1f} bits, reserved {found.reserved / 1024:.1f}, budget {budget}",
        *([f"certificate: {found.proved}, as when the board was begun"] if found.proved else []),
    ]
    if found.faults:
        return [*lines, *(f"WRONG  {fault}." for fault in found.faults)]
    return [*lines, "all of it follows, from the ledger alone: board.toml and the labels are not read"]
