"""Which heavy libraries the mere listing of a plugin would import."""

from __future__ import annotations

import subprocess
import sys

__all__ = ["HEAVY", "discovery_imports"]

HEAVY = ("numpy", "scipy", "sklearn", "diffprivlib", "gmpy2", "torch")  #: libraries that must load on first use


def discovery_imports(module: str) -> frozenset[str]:
    """Return the heavy libraries that importing ``module`` in a fresh interpreter pulls in.

    Raises:
        subprocess.CalledProcessError: The module cannot be imported.
    """
    code = f"import sys, {module}; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())
