"""A served board: what HTTP clients and EvalAI are told, and that nothing of it depends on sealed labels."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_guard.board import Board
from labelinf_guard.clock import StepClock
from labelinf_guard.evalai import evaluate

N = 200
TEXT = (
    '[board]\ntitle = "<Eyes & ears>"\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\n'
    'metric = "accuracy"\n[public]\nshare = 0.2\n[limits]\nbytes = 4000\n[target]\ngain = 0.2\naccept_void = true\n'
)


def csv(rows: Any) -> bytes:
    return ("id,prediction\n" + "".join(f"r{at:03d},{row}\n" for at, row in enumerate(rows))).encode()


@pytest.fixture
def twins(begun_twins: Callable[..., tuple[Path, Path, Path]]) -> tuple[Path, Path, Path]:
    """A board, a copy whose sealed labels are all flipped, and one whose public labels are."""
    return begun_twins(TEXT, {})


def conversation(folder: Path) -> list[Any]:
    """Everything that clients of both ports are sent: status, headers, bytes, and the time of the board."""
    pytest.importorskip("httpx")
    testing = pytest.importorskip("starlette.testclient")
    from labelinf_guard.service import host_app, public_app

    clock = StepClock()
    board = Board.open(folder / "board.toml", clock=clock)
    rng, told = np.random.default_rng(0), []
    good = csv(rng.integers(0, 2, N))
    sent = [("a", good), ("b", good), ("b", csv(rng.integers(0, 2, N))), ("a", csv([7] * N)), ("a", b"\0")]
    sent += [("a", b"x" * 5000), ("a b", good), ("", good)]
    with (
        testing.TestClient(public_app(board), base_url="http://127.0.0.1") as public,
        testing.TestClient(host_app(board), base_url="http://127.0.0.1") as host,
    ):

        def keep(answer: Any) -> None:
            told.append((answer.status_code, sorted(answer.headers.items()), answer.content, clock.time))

        for team, data in sent:
            keep(public.post("/submissions", content=data, auth=(team, board.token(team))))
        keep(public.post("/submissions", content=good, auth=("a", "guessed")))
        keep(public.post("/submissions", content=good))
        keep(public.post("/submissions", content=good, headers={"Authorization": "Basic é?".encode()}))
        for path in ("/", "/board.json", "/style.css", "/submissions", "/status.json", "/none"):
            keep(public.get(path))
        for path in ("/", "/status.json", "/submissions"):
            keep(host.get(path))
        keep(host.get("/", headers={"Host": "evil.example"}))
    board.close()
    return told


@pytest.mark.long
def test_sealed_labels_change_no_byte_of_what_clients_are_sent(twins: tuple[Path, Path, Path]) -> None:
    """Status, headers, bodies and beats, of submissions and of both pages; public labels change the answers."""
    first, second, third = (conversation(folder) for folder in twins)
    assert first == second
    assert first != third
    posted, public, host = [200] * 3 + [422] * 5 + [401] * 3, [200] * 3 + [404] * 3, [200, 200, 404, 400]
    assert [status for status, *_ in first] == [*posted, *public, *host]
    scores = [json.loads(content).get("score") for _, _, content, _ in first[:3]]
    assert scores[0] == scores[1] != scores[2]
    for _, headers, _, _ in first[:-1]:
        assert dict(headers)["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
        assert dict(headers)["cache-control"] == "no-store"
    page = first[11][2].decode()
    for said in ("accuracy, more is better", "scores of 3 decimals, every 10 seconds", "answers of all teams together"):
        assert said in page
    assert "<h1>&lt;Eyes &amp; ears&gt;</h1>" in page
    assert "<script" not in page
    assert all(
        f'<td>{team}</td><td class="n">{score}</td>' in page for team, score in zip("ab", scores[1:], strict=True)
    )
    assert b"bits, reserved" in first[17][2]
    assert "bits, reserved" not in page


SHOWN = ['[release]\nshow = "records"\n', '[release]\nshow = "ranks"\n', "flip = 0.3\n", "values"]


def shown(policy: str) -> str:
    """Return a board of one of these policies."""
    text = TEXT.replace("[target]", "[budget]\nper_board = 90\n[target]")
    if policy == "values":
        return text.replace('metric = "accuracy"', 'metric = "rmse"').replace("gain = 0.2", "gain = 0.11")
    return text.replace("share = 0.2\n", f"share = 0.2\n{policy}")


@pytest.mark.long
@pytest.mark.parametrize("policy", SHOWN)
def test_no_policy_tells_clients_of_sealed_labels(begun_twins: Any, policy: str) -> None:
    """And where labels were replaced, of no true label at all."""
    text = shown(policy)
    first, second, third = (conversation(folder) for folder in begun_twins(text, {}))
    assert first == second
    assert (first == third) is policy.startswith("flip")


def _sealed(board: Board) -> int:
    return int(board._labels.codes[~board.public][0])


def _header(patch: pytest.MonkeyPatch) -> None:
    from labelinf_guard import service

    original = service._told

    def told(board: Board, entry: Any, team: str) -> Any:
        answer = original(board, entry, team)
        answer.headers["X-Debug"] = str(_sealed(board))
        return answer

    patch.setattr(service, "_told", told)


def _order(patch: pytest.MonkeyPatch) -> None:
    original = Board.standing
    patch.setattr(Board, "standing", lambda self: original(self)[:: 1 - 2 * _sealed(self)])


def _error(patch: pytest.MonkeyPatch) -> None:
    def fail(self: Board, team: str, data: bytes) -> Any:
        self.ledger.clock.wait(60_000 * _sealed(self))
        raise RuntimeError(_sealed(self))

    patch.setattr(Board, "enter", fail)


@pytest.mark.long
@pytest.mark.parametrize("plant", [_header, _order, _error], ids=["a header", "the order of teams", "time"])
def test_planted_leaks_of_the_service_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], twins: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("starlette")
    plant(monkeypatch)
    assert conversation(twins[0]) != conversation(twins[1])


def test_an_error_has_no_text(twins: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong inside is one constant sentence, and the next submission is answered."""
    pytest.importorskip("httpx")
    testing = pytest.importorskip("starlette.testclient")
    from labelinf_guard.service import public_app

    board = Board.open(twins[0] / "board.toml", clock=StepClock())
    with testing.TestClient(public_app(board)) as client:

        def post() -> Any:
            return client.post("/submissions", content=csv([1] * N), auth=("a", board.token("a")))

        with monkeypatch.context() as patch:
            patch.setattr(Board, "enter", lambda self, team, data: (_ for _ in ()).throw(ValueError("label 1")))
            told = post()
        assert (told.status_code, told.json()) == (503, {"reason": "This board cannot answer now. Nothing was told."})
        assert post().status_code == 200
    board.close()


def test_the_public_page_lists_the_sealed_ranks_once_they_are_out(begun_twins: Any) -> None:
    pytest.importorskip("httpx")
    testing = pytest.importorskip("starlette.testclient")
    from labelinf_guard.service import public_app

    folder, *_ = begun_twins(TEXT.replace("[target]", "[final]\nranks = 1\n[budget]\nper_board = 9\n[target]"), {})
    board = Board.open(folder / "board.toml", clock=StepClock())
    for team, rows in (("worse", 1 - board.labels), ("better", board.labels)):
        board.submit(team, csv(rows))
    with testing.TestClient(public_app(board)) as client:
        before = client.get("/").text, client.get("/board.json").json()["final"]
        board.release()
        page, final = client.get("/").text, client.get("/board.json").json()["final"]
    board.close()

    assert ("by the sealed rows" in before[0], before[1]) == (False, [])
    assert final == [{"rank": "1", "team": "better", "score": ""}]
    sealed, _, public = page.partition("<h2>Teams</h2>")
    assert "<h2>Final, by the sealed rows</h2>" in sealed
    assert '<td class="n">1</td><td>better</td>' in sealed
    assert "worse" not in sealed
    assert "worse" in public


@pytest.mark.long
def test_a_team_with_many_files_lets_another_be_scored_at_once(
    twins: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 files of one team two are scored at a time; who waits for a beat keeps no thread and no seat."""
    pytest.importorskip("httpx")
    import httpx

    from labelinf_guard.service import _SEATS, public_app

    at_once: list[set[int]] = []
    scoring: dict[str, set[int]] = {"busy": set(), "other": set()}
    original = Board.enter

    def enter(self: Board, team: str, data: bytes) -> Any:
        scoring[team].add(id(data))
        at_once.append(set(scoring["busy"]))
        try:
            return original(self, team, data)
        finally:
            scoring[team].discard(id(data))

    monkeypatch.setattr(Board, "enter", enter)
    board = Board.open(twins[0] / "board.toml", clock=_Held())
    order: list[str] = []

    async def played() -> None:
        app = public_app(board)
        async with app.router.lifespan_context(app):  # its end waits for what is being scored
            await crowd(httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1"))

    async def crowd(asked: httpx.AsyncClient) -> None:
        rng = np.random.default_rng(0)

        async def post(team: str) -> None:
            data = csv(rng.integers(0, 2, N))
            await asked.post("/submissions", content=data, auth=(team, board.token(team)), timeout=60)

        many = [asyncio.create_task(post("busy")) for _ in range(300)]
        await asyncio.sleep(0.05)
        one = asyncio.create_task(post("other"))
        while not any(entry.team == "other" for entry in board.ledger.book.entries):
            await asyncio.sleep(0.01)
            board.ledger.settle()
        order.extend(entry.team for entry in board.ledger.book.entries)
        for task in [*many, one]:
            task.cancel()
        await asked.aclose()

    asyncio.run(played())
    board.close()
    assert max(map(len, at_once)) <= _SEATS
    assert order.index("other") < 100


class _Held(StepClock):
    """A clock at which no beat comes."""

    async def pause(self, until: int) -> None:
        """Nobody is told anything."""
        await asyncio.sleep(3600)


@pytest.mark.parametrize("path", ["/submissions/", "/submissions//", "/board.json/"])
def test_no_address_is_answered_by_a_redirect(twins: tuple[Path, Path, Path], path: str) -> None:
    """It was answered 307 with the Host header that it was sent."""
    pytest.importorskip("httpx")
    testing = pytest.importorskip("starlette.testclient")
    from labelinf_guard.service import public_app

    board = Board.open(twins[0] / "board.toml", clock=StepClock())
    with testing.TestClient(public_app(board), follow_redirects=False) as client:
        for told in (client.get(path, headers={"Host": "evil.example"}), client.post(path, content=b"x")):
            assert (told.status_code, told.json()) == (404, {"reason": "There is nothing here."})
            assert "evil" not in str(told.headers)
    board.close()


def evalai(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All that EvalAI is told, by one worker after the other, and which files are left."""
    clock = StepClock()
    monkeypatch.setattr("labelinf_guard.board.SystemClock", lambda: clock)
    rng = np.random.default_rng(0)
    good = rng.integers(0, 2, N)
    for name, rows in {"good.csv": good, "bad.csv": [7] * N, "next.csv": 1 - good}.items():
        (folder / name).write_bytes(csv(rows))
    sent = [("board.toml", "good.csv"), ("board.toml", "bad.csv"), ("x.toml", "good.csv"), ("board.toml", "next.csv")]
    team = {"participant_team": 7}
    told: list[Any] = [
        (evaluate(str(folder / board), str(folder / name), "test", submission_metadata=team), clock.time)
        for board, name in [*sent, sent[0]]
    ]
    told.append(evaluate(str(folder / "board.toml"), str(folder / "good.csv"), "test"))
    left = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    host = ("labels.csv", "board.state/split.npz")  # the host's own: her labels, and a digest of them under her key
    return [*told, {name: data for name, data in left.items() if name not in host}]


def test_evalai_is_told_answers_and_constant_sentences(
    twins: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The layout of EvalAI's ``evaluate``; sealed labels change nothing of it, and nothing is printed."""
    first, second, third = (evalai(folder, monkeypatch) for folder in twins)
    assert first == second
    assert first != third
    told = [answer for answer, _ in first[:5]]
    assert list(told[0]["result"][0]["test"]) == ["accuracy"]
    assert [answer["result"] for answer in told[1:3]] == [[], []]
    assert told[4] == told[0]
    assert "A prediction must be a class" in told[1]["submission_result"]
    assert told[2]["submission_result"] == "This board cannot answer now. Nothing was told."
    assert first[5]["result"] == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
@pytest.mark.parametrize("policy", SHOWN)
def test_no_policy_tells_evalai_of_sealed_labels(
    begun_twins: Any, policy: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And where labels were replaced, of no true label at all."""
    text = shown(policy)
    first, second, third = (evalai(folder, monkeypatch) for folder in begun_twins(text, {}))
    assert first == second
    assert (first == third) is policy.startswith("flip")
    assert [len(first[at][0]["result"]) for at in (0, 3, 4)] == [1, policy != "values", 1]
    assert capfd.readouterr() == ("", "")
