"""What marks a hook: the name of the project, the version of its contract, and pluggy's two markers."""

from __future__ import annotations

import pluggy

__all__ = ["CONTRACT", "PROJECT", "hookimpl", "hookspec"]

PROJECT = "labelinf"  #: entry-point group, hook prefix and distribution name
CONTRACT = 2  #: version of the hook contract, declared by a plugin as ``labelinf_contract``

hookspec = pluggy.HookspecMarker(PROJECT)  #: marks a hook's declaration
hookimpl = pluggy.HookimplMarker(PROJECT)  #: marks a plugin's hook implementations
