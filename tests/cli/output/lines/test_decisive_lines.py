"""The lines of a failed command that stay in sight, of outputs as the tools write them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.output.lines.decisive_lines import select_decisive_lines
from tests.support.cli import call
from tests.support.talking import ask, at_rest, leave, make_shop, talk

NPM = """\
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/left-padd - Not found
npm error 404
npm error 404  'left-padd@*' is not in this registry.
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /home/x/.npm/_logs/debug-0.log
"""
PIP = """\
Collecting requsts
  Downloading index
ERROR: Could not find a version that satisfies the requirement requsts (from versions: none)
ERROR: No matching distribution found for requsts

[notice] A new release of pip is available: 24.0 -> 25.0
[notice] To update, run: pip install --upgrade pip
[notice] See the changelog
"""
CARGO = """\
   Compiling shop v0.1.0 (/home/x/shop)
error[E0308]: mismatched types
 --> src/main.rs:2:18
  |
2 |     let x: i32 = "a";
  |            ---   ^^^ expected `i32`, found `&str`

For more information about this error, try `rustc --explain E0308`.
error: could not compile `shop` (bin "shop") due to 1 previous error
note: build failed, waiting for other jobs
note: run with `--verbose`
note: end
"""
PUSH = """\
remote: error: GH006: Protected branch update failed for refs/heads/main.
To github.com:x/shop.git
 ! [remote rejected] main -> main (protected branch hook declined)
error: failed to push some refs to 'github.com:x/shop.git'
hint: one
hint: two
hint: three
"""
MAKE = "cc -c a.c\na.c:1:5: error: unknown type name 'itn'\nmake: *** [Makefile:2: a.o] Error 1\nx\ny\nz\n"


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        (NPM, ["404 Not Found - GET", "is not in this registry"]),
        (PIP, ["Could not find a version", "No matching distribution found for requsts"]),
        (CARGO, ["error[E0308]: mismatched types", "could not compile `shop`"]),
        (PUSH, ["GH006: Protected branch", "! [remote rejected] main -> main", "failed to push some refs"]),
        (MAKE, ["a.c:1:5: error: unknown type name 'itn'", "make: *** "]),
    ],
    ids=["npm", "pip", "cargo", "git push", "make"],
)
def test_the_reason_stays_in_sight(output: str, seen: list[str]) -> None:
    shown = select_decisive_lines([line for line in output.splitlines() if line.strip()], 3)
    assert len(set(shown)) == len(shown) <= 3
    assert all(any(part in line for line in shown) for part in seen), shown


def test_of_an_unknown_tool_the_last_lines_are_shown() -> None:
    assert select_decisive_lines(["a", "b", "c", "d"], 3) == ["b", "c", "d"]


def test_what_pytest_says_itself_is_cut_to_its_reason(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert [1, 2] == [1, 3]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--no-header", "test_a.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    shown = select_decisive_lines([line for line in said.splitlines() if line.strip()], 3)
    assert shown[0].startswith("E       assert [1, 2] == [1, 3]")
    assert "1 failed" in shown[-1]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_refused_push_is_seen_in_a_conversation(tmp_path: Path, columns: int) -> None:
    """To its end, also in a narrow window."""
    shop = make_shop(tmp_path / "shop")
    (shop / "push.txt").write_text(PUSH)
    turns = [{"calls": [call("shell", command="cat push.txt; exit 1")]}, {"text": "It was refused."}]
    with talk(shop, turns, "--tests", "true", columns=columns, rows=40) as terminal:
        at_rest(terminal)
        ask(terminal, "what does it say?", "It was refused.")
        told = " ".join(terminal.everything.split())
        assert "! [remote rejected] main -> main (protected branch hook declined)" in told
        assert "error: failed to push some refs to 'github.com:x/shop.git'" in told
        assert "hint: three" not in told
        assert "+4 lines (Ctrl-O)" in told  # lines, not the rows that they take
        leave(terminal)


def test_long_lines_are_searched_in_linear_time() -> None:
    lines = ["= " + "failed " * 30_000, "=" * 200_000, " " * 200_000, "remote: " * 30_000] * 10
    assert select_decisive_lines([*lines, "fatal: no such remote"], 3) == ["fatal: no such remote"]
