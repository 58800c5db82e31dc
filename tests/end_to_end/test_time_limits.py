"""`--max-time` is kept whatever takes long, and what was found until then is shown: suspects at least."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LIMIT, LATE = 20, 2.0
"""Seconds of a turn, and those after which the program has ended at the latest, its start not counted."""

BUSY = 1.5
"""Seconds of a start, usually a third, from which on other work has the processor."""

CODE = "def total(prices):\n    found = 0\n    for each in prices:\n        found -= each\n    return found\n"
FAILS = "from cart import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n"
PYTHON = {
    "a test that sleeps": "import time\n\ndef test_long():\n    time.sleep(60)\n",
    "a test that hangs": "def test_endless():\n    while total([]) == 0:\n        pass\n",
    "many tests": (
        "import time, pytest\n\n@pytest.mark.parametrize('n', range(3000))\ndef test_one(n):\n"
        "    time.sleep(0.004)\n    assert total([n]) == n\n"
    ),
    "slow collection": "import time\ntime.sleep(60)\n",
}
SCRIPT = {
    "package.json": '{"name": "cart", "version": "1.0.0", "scripts": {"test": "node --test"}}',
    "cart.js": "function total(prices) {\n  let found = 7;\n  for (const each of prices) {\n"
    "    found = (found * 31 + each) % 97;\n  }\n  return found;\n}\nmodule.exports = { total };\n",
    "cart.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { total } = require('./cart');\n"
    "test('total', () => assert.strictEqual(total([1, 2]), 87123));\n",
}
PYTHON_WITHOUT_CHANGE = {
    "cart.py": CODE.replace("found -= each", "found = (found * 31 + each) % 97"),
    "test_cart.py": FAILS.replace("== 3", "== 87123"),
}


def measure(root: Path, *options: str) -> tuple[float, int, str]:
    """Return seconds of a turn and of its end, exit code, and output."""
    began = time.monotonic()
    run("--version", cwd=root)
    start = time.monotonic() - began
    if start > BUSY:
        pytest.skip(f"the machine is too busy to measure seconds: the program takes {start:.1f} s to start")
    result = run("run", "make the tests pass", "--max-time", str(LIMIT), *options, cwd=root)
    return time.monotonic() - began - 2 * start, result.code, result.out + result.err


def make(tmp_path: Path, files: Mapping[str, str]) -> Repo:
    repo = Repo(tmp_path / "shop")
    for path, text in files.items():
        repo.write(path, text)
    repo.commit_all()
    return repo


@pytest.mark.parametrize("kind", sorted(PYTHON))
def test_the_engine_shows_suspects_in_time(kind: str, tmp_path: Path) -> None:
    repo = make(tmp_path, {"cart.py": CODE, "test_cart.py": FAILS + PYTHON[kind]})
    seconds, code, shown = measure(repo.root, "--model", "offline")
    assert seconds < LIMIT + LATE, shown
    assert code in (1, 4, 13), shown
    assert repo.read("cart.py") == CODE, "no run of the whole suite has confirmed a change"
    if kind != "slow collection":  # nothing can be known before the tests are
        assert "cart.py:4" in shown


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_other_languages_keep_the_time_too(tmp_path: Path) -> None:
    repo = make(tmp_path, SCRIPT)
    seconds, code, shown = measure(repo.root, "--model", "offline")
    assert seconds < LIMIT + LATE, shown
    assert code in (1, 4, 13), shown
    assert "cart.js:" in shown


@pytest.mark.parametrize("files", [PYTHON_WITHOUT_CHANGE, SCRIPT], ids=["python", "javascript"])
def test_a_server_that_fills_slowly_is_not_waited_for(files: Mapping[str, str], tmp_path: Path) -> None:
    if "cart.js" in files and not shutil.which("node"):
        pytest.skip("node is not installed")
    repo = make(tmp_path, files)
    turns = [{"text": "I see nothing.", "delay": 30, "repeat": 20}]
    with Loopback(turns, pages={"/infill": {"content": "found = 3"}}, page_delay=30) as server:
        seconds, code, shown = measure(repo.root, "--model", "openai/coder-1.5b", "--api-base", server.url)
    assert seconds < LIMIT + LATE, shown
    assert code in (1, 4, 5, 13), shown
    assert "cart." in shown
