"""Reproductions that a small model writes of real fixes: true before the fix, a false alarm with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from benchmarks.local_model.tasks import Task
from benchmarks.verification.reproduced_fixes import format_sums, try_report

BEFORE, AFTER = "def double(x):\n    return x + 2\n", "def double(x):\n    return x * 2\n"
ANSWER = "```python\nfrom program import double\n\nassert double(3) == 6\n```"


class Handler(BaseHTTPRequestHandler):
    """A model that writes one script."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        content = json.dumps({"choices": [{"message": {"content": ANSWER}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, form: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}/v1"
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.slow
def test_a_script_of_the_model_is_true_before_the_fix_and_none_with_it(tmp_path: Path, server: str) -> None:
    root = tmp_path / "source"
    root.mkdir()
    (root / "program.py").write_text(AFTER)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(
        ["git", *who, "commit", "-qm", "Fix double, which added two: of 3 it is 6"], cwd=root, check=True
    )
    task = Task(
        id="a@1", program="program.py", text=BEFORE, tests=(), files={}, source=root / ".git", revision="HEAD",
        original=AFTER,
    )  # fmt: skip
    before, after = (try_report(task, state, server) for state in ("before", "after"))
    assert (before["outcome"], before["fixed"], before["origin"]) == ("reproduced", "passes", "model"), before
    assert (after["outcome"], after["fixed"]) == ("not-reproduced", ""), after
    assert format_sums([before, after]) == (
        "before the fix: 1 reports, 1 reproduced, 1 true, 0 false\n"
        "with the fix: 1 reports, 0 reproduced, which is false"
    )
