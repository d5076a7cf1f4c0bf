"""The board in the grader's place: the same function, and what it tells is charged to a ledger."""

from pathlib import Path

from labelinf_guard.graded import guarded

grade = guarded(Path(__file__).with_name("board.toml"))
