"""An example of what a host decides; an exported file has the host's own in its place."""

from __future__ import annotations

from labelinf_guard.export.stateless import Settings

__all__ = ["SETTINGS"]

SETTINGS = Settings(metric="accuracy", classes=("0", "1"), id="id", label="label", decimals=3)
