"""No defence: trains on the labels as they are and shows what the model says. Certificate: none."""

from __future__ import annotations

import attrs

from labelinf_outputs.game.output import OutputDefence

__all__ = ["Undefended"]


@attrs.frozen(kw_only=True)
class Undefended(OutputDefence):
    """Changes nothing."""
