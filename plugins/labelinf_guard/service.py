"""A board over HTTP, with the extra ``serve``: the public page and submissions on one port, the host's page on another.

    POST /submissions    the file as body, the team and its token by basic authentication; answered at the beat
    GET  /  /board.json  best answers, certificate, chain head

Whatever goes wrong is a constant sentence. A refusal depends on the request and on history; an answer is what
:meth:`labelinf_guard.board.Board.submit` told, at its beat. Nothing else is told to anybody: no error has a text.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import attrs
from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from labelinf_guard.board import Board, TeamRefusal
from labelinf_guard.ledger.book import LedgerEntry
from labelinf_guard.pages import STYLE, host_page, public_page
from labelinf_guard.status import about, sections, status_of

__all__ = ["host_app", "public_app", "run"]

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_DOWN = "This board cannot answer now. Nothing was told."
_STRANGER = "The name of the team or its token is wrong."
_AUDIT = 2.0  # seconds for which a page of the host's looks for labels that are determined
_PAGES = 4  # threads for pages, which must not wait behind submissions
_HOSTS = ["127.0.0.1", "localhost", "[::1]"]  # by another name a web site could read it through a browser
_SCORED = 4  # submissions that are scored at the same time
_SEATS = 2  # of one team that are read or scored at the same time; who waits for a beat holds none

Page = Callable[[Board], Response]
Answered = Callable[[Request], Awaitable[Response]]

Made = TypeVar("Made")


@attrs.define(eq=False)
class _Threads:
    """Threads that each have the board to themselves."""

    _board: Board
    _workers: int
    _local: threading.local = attrs.field(factory=threading.local, init=False)
    _opened: list[Board] = attrs.field(factory=list, init=False)
    _pool: ThreadPoolExecutor = attrs.field(
        default=attrs.Factory(lambda self: ThreadPoolExecutor(self._workers), takes_self=True), init=False
    )

    async def ask(self, ask: Callable[[Board], Made]) -> Made | Response:
        """Return what is made of the board, in a thread; the same sentence for whatever goes wrong."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._asked, ask)

    def close(self) -> None:
        """Wait for what is being answered, and close."""
        self._pool.shutdown()
        for board in self._opened:
            board.close()

    def _asked(self, ask: Callable[[Board], Made]) -> Made | Response:
        try:
            if not hasattr(self._local, "board"):
                self._local.board = self._board.another()
                self._opened.append(self._local.board)
            return ask(self._local.board)
        except Exception:  # no text of it is told, for it might hold anything
            self._local.__dict__.clear()
            return _said(503, _DOWN)


def public_app(board: Board) -> Starlette:
    """Return what everybody may ask of a board: its page, and answers to submissions."""
    pages, scorers, tellers = (_Threads(board, workers) for workers in (_PAGES, _SCORED, _PAGES))
    seats: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_SEATS))

    async def submit(request: Request) -> Response:
        team, token = _credentials(request.headers.get("authorization", ""))
        if not hmac.compare_digest(board.token(team).encode(), token.encode()):
            return _said(401, _STRANGER, **{"WWW-Authenticate": "Basic"})
        async with seats[team]:
            data = await _body(request, board.policy.limits.bytes)
            entered = await scorers.ask(lambda own: _entered(own, team, data))
        if isinstance(entered, Response):
            return entered
        entry, beat = entered
        await board.ledger.clock.pause(beat)
        return await tellers.ask(lambda own: _told(own, entry, team))

    routes = [
        Route("/", _on(pages, _public), methods=["GET"]),
        Route("/board.json", _on(pages, _public_json), methods=["GET"]),
        Route("/submissions", submit, methods=["POST"]),
    ]
    return _app(routes, pages, scorers, tellers)


def host_app(board: Board) -> Starlette:
    """Return what the host may ask: the status, as a page and as JSON. Serve it where nobody else comes."""
    pages = _Threads(board, _PAGES)
    routes = [
        Route("/", _on(pages, _host), methods=["GET"]),
        Route("/status.json", _on(pages, _host_json), methods=["GET"]),
    ]
    app = _app(routes, pages)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)
    return app


def run(board: Board, *, address: str, port: int, host_port: int) -> None:  # pragma: no cover
    """Serve both until interrupted; the host's page on this machine only."""
    import uvicorn

    def server(app: Starlette, where: str, at: int) -> Any:
        settings = {"log_level": "warning", "access_log": False, "server_header": False}
        return uvicorn.Server(uvicorn.Config(app, host=where, port=at, **settings))

    private = server(host_app(board), "127.0.0.1", host_port)
    threading.Thread(target=private.run, daemon=True).start()
    server(public_app(board), address, port).run()
    private.should_exit = True


def _app(routes: list[Route], *threads: _Threads) -> Starlette:
    async def style(request: Request) -> Response:
        return Response(STYLE, media_type="text/css", headers=_HEADERS)

    async def nothing(request: Request, error: Exception) -> Response:
        return _said(404, "There is nothing here.")

    async def down(request: Request, error: Exception) -> Response:
        return _said(503, _DOWN)

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        yield
        for some in threads:
            some.close()

    handlers: Any = {404: nothing, 405: nothing, Exception: down}
    routes = [*routes, Route("/style.css", style, methods=["GET"])]
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=life)
    app.router.redirect_slashes = False  # a redirect names the host that a client says it asks
    return app


def _on(threads: _Threads, page: Page) -> Answered:
    async def answer(request: Request) -> Response:
        return await threads.ask(page)

    return answer


def _public(board: Board) -> Response:
    standing, certificate = board.standing(), board.certificate().sentences()
    final, head = board.sealed_standing(), board.ledger.head
    page = public_page(board.policy.board.title, about(board), standing, final, certificate, head)
    return HTMLResponse(page, headers=_HEADERS)


def _public_json(board: Board) -> Response:
    teams = [{"team": team, "score": score} for team, score in board.standing()]
    final = [{"rank": rank, "team": team, "score": score} for rank, team, score in board.sealed_standing()]
    said = {"title": board.policy.board.title, "about": about(board), "teams": teams, "final": final}
    certificate = board.certificate().sentences()
    return JSONResponse({**said, "certificate": certificate, "head": board.ledger.head}, headers=_HEADERS)


def _host(board: Board) -> Response:
    board.ledger.settle()
    found = sections(status_of(board, seconds=_AUDIT))
    return HTMLResponse(host_page(board.policy.board.title, found), headers=_HEADERS)


def _host_json(board: Board) -> Response:
    board.ledger.settle()
    return JSONResponse(status_of(board, seconds=_AUDIT), headers=_HEADERS)


def _entered(board: Board, team: str, data: bytes) -> tuple[LedgerEntry, int] | Response:
    """Return what was numbered and scored, and when it may be told; or a refusal, at once."""
    entry = board.enter(team, data)
    return _said(422, entry.reason) if isinstance(entry, TeamRefusal) else (entry, board.ledger.beat(entry))


def _told(board: Board, entry: LedgerEntry, team: str) -> Response:
    answer = board.tell(entry, team)
    return JSONResponse({"score": answer.score, "left": answer.left}, headers=_HEADERS)


def _said(status: int, reason: str, **headers: str) -> Response:
    return JSONResponse({"reason": reason}, status_code=status, headers={**_HEADERS, **headers})


def _credentials(header: str) -> tuple[str, str]:
    """Return the team and its token; empty where there are none."""
    kind, _, packed = header.partition(" ")
    try:
        team, _, token = base64.b64decode(packed, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return (team, token) if kind.lower() == "basic" else ("", "")


async def _body(request: Request, most: int) -> bytes:
    """Return a body, but no more of it than shows that it is too large."""
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > most:
            break
    return bytes(found[: most + 1])
