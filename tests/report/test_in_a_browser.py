"""The page in a real Chromium: axe-core finds nothing to mend, in either theme, on a screen and on a phone."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from labelinf_core.evaluator.results import Results
from labelinf_core.report.html import as_html

Played = Callable[..., Results]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HAS_AXE = importlib.util.find_spec("axe_core_python") is not None
RUN = """<script>
axe.run().then(found => {
  const told = document.createElement("pre");
  told.id = "found-by-axe";
  told.textContent = JSON.stringify({
    violations: found.violations.map(item => ({rule: item.id, nodes: item.nodes.map(node => node.html)})),
    passes: found.passes.length,
    width: document.documentElement.scrollWidth,
  });
  document.body.replaceChildren(told);
});
</script>"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None or not HAS_AXE, reason="needs Chromium and axe-core-python"),
]


def axe() -> str:
    spec = importlib.util.find_spec("axe_core_python")
    assert spec is not None
    assert spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


def looked_at(page: str, folder: Path, *, width: int, dark: bool) -> dict[str, Any]:
    """Return what axe-core finds on a page, and how wide it is."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    file = folder / "page.html"
    file.write_text(page.replace("</body>", f"<script>{axe()}</script>{RUN}</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            str(BROWSER),
            *("--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"),
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            *("--virtual-time-budget=60000", "--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    told = re.search(r'<pre id="found-by-axe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told is not None, done.stderr[-500:]
    found: dict[str, Any] = json.loads(unescape(told[1]))
    return found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_axe_finds_nothing_to_mend(played: Played, tmp_path: Path, width: int, dark: bool) -> None:
    page = "".join(as_html(played(["fake-reader", "fake-raises"], ["none", "fake-noise(scale=[1, 2])"])))

    found = looked_at(page, tmp_path, width=width, dark=dark)

    assert found["violations"] == []
    assert found["passes"] > 10
    assert found["width"] <= max(width, 500)  # no window of this browser is narrower


def test_axe_sees_a_page_that_is_wrong(tmp_path: Path) -> None:
    found = looked_at("<html><head></head><body><img src='x'></body></html>", tmp_path, width=800, dark=False)

    assert {"image-alt", "html-has-lang"} <= {item["rule"] for item in found["violations"]}
