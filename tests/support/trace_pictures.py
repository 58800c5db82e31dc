"""The pictures of the trace page in the docs: `python -m tests.support.trace_pictures`, where Chromium is installed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from packages.trace.page.page import render_page
from packages.trace.rows.traced_sessions import read_traces
from tests.packages.trace.written_logs import Log
from tests.support.browser import CHROMIUM, MISSING, open_browser

SCREENS = Path(__file__).parents[2] / "docs/screens"

WIDTH, HEIGHT = 1280, 760

DIFF = """\
--- a/cart.py
+++ b/cart.py
@@ -1,3 +1,3 @@
 def total(items):
-    return sum(items[1:])
+    return sum(items[2:])
"""


def write_session(folder: Path) -> Log:
    """Write a session that mends the wrong place, sees it, and ends without what was asked for."""
    log = Log(folder)
    spent = {"input": 4_200, "cached": 0, "output": 60, "cost": 0.012, "seconds": 2.1}
    later = {"input": 4_900, "cached": 4_100, "output": 85, "cost": 0.004, "seconds": 1.4}
    log.prompt("total() leaves the first item out. Mend it, so that the tests pass.")
    log.step("search", {"pattern": "def total"}, "cart.py:1:def total(items):", usage=spent)
    log.step("read", {"path": "cart.py"}, "1\tdef total(items):\n2\t    return sum(items[1:])", usage=later)
    log.tests(11, "test_cart.py::test_total", message="cart.py:2: assert 3 == 6")
    log.step(
        "edit", {"path": "cart.py", "old": "items[1:]", "new": "items[2:]"}, "changed", diff=DIFF, usage=later
    )
    log.tests(10, "test_cart.py::test_total", "test_cart.py::test_two", message="cart.py:2: assert 0 == 3")
    log.event(
        "compaction",
        stage="masking",
        masked={"e4": ""},
        tokens_before=5_200,
        tokens_after=3_900,
        reason="full",
    )
    for _ in range(3):
        log.step(
            "read", {"path": "cart.py"}, "1\tdef total(items):\n2\t    return sum(items[2:])", usage=later
        )
    log.say("I could not find the fault.", usage=later)
    log.event("verification", outcome="failed", detail="2 of 12 tests fail")
    log.end("tests-fail", 1)
    return log


def take_pictures(target: Path) -> list[Path]:
    """Write the pictures into a folder; return their paths."""
    made = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = folder / "trace.html"
        page.write_bytes(render_page(read_traces(write_session(folder / "20261130-101502-1a2b").folder)))
        with open_browser(folder) as browser:
            browser.set_size(WIDTH, HEIGHT)
            for scheme in ("light", "dark"):
                browser.set_media(prefers_color_scheme=scheme)
                browser.open("about:blank")
                browser.open(f"{page.as_uri()}#step-4")
                browser.wait_for("document.getElementById('detail').innerText.startsWith('Step 4')")
                made.append(target / f"trace-{scheme}.png")
                made[-1].write_bytes(browser.take_picture())
    return made


if __name__ == "__main__":
    if CHROMIUM is None:
        raise SystemExit(MISSING)
    for path in take_pictures(SCREENS):
        print(path)
