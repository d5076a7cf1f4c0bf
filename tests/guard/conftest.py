"""Fixtures of the guard's tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelinf_guard.ledger import store


@pytest.fixture(autouse=True)
def closed_ledgers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close whatever ledgers a test has opened and left: as killed processes leave them, which is what many play."""
    opened: list[sqlite3.Connection] = []

    def connected(path: Path) -> sqlite3.Connection:
        opened.append(plainly(path))
        return opened[-1]

    plainly = store._connected
    monkeypatch.setattr(store, "_connected", connected)
    yield
    for connection in opened:
        connection.close()
