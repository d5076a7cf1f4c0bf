"""The games and made gradients of the channels' own tests."""

from __future__ import annotations

import runpy
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHARED = {
    "scores": ("usual_scorer", "play", "threat_of"),
    "scores/robust": ("defences",),
    "gradients": ("make",),
}

for folder, fixtures in SHARED.items():
    made = runpy.run_path(str(TESTS / folder / "conftest.py"))
    globals().update({name: made[name] for name in fixtures})
