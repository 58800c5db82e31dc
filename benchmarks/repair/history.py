"""One-line fixes in the history of clones: what programmers change when they mend something, without running it.

Only commits of the development half (`mining.Bug.half`): what the held-out one holds is looked at by nobody.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.repair.mining import SAYS_FIX, blob, plain
from tools.repair.spectrum import is_test_file

# A larger file takes long to be read for each of many commits.
LONGEST = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OneLine:
    """A commit that says that it mends something and changes one line of one program: a line comes, goes or differs.

    line: of the text before, the first that is changed or that something is put in front of
    """

    project: str
    commit: str
    path: str
    line: int
    before: str
    after: str


def one_line_fixes(clone: Path, newest: int) -> Iterator[OneLine]:
    """Those among the newest commits that change what their program means."""
    log = subprocess.run(
        ["git", "-C", clone, "log", "--no-merges", f"-{newest}", "-p", "-U0", "--no-renames", "--no-color",
         "--no-ext-diff", "--format=%x00%H%x01%s%x01%b%x02", "--", "*.py"],
        capture_output=True, check=False, encoding="utf-8", errors="replace",
    ).stdout  # fmt: skip
    for record in log.split("\0")[1:]:
        head, _, patch = record.partition("\x02")
        commit, subject, body = [*head.split("\x01"), "", ""][:3]
        if sha256(commit.encode()).digest()[0] % 2 == 0 or not SAYS_FIX.search(f"{subject}\n{body}"):
            continue
        places = list(_places(patch))
        if len(places) != 1:
            continue
        path, line = places[0]
        before, after = (
            blob(clone, name, path).decode("utf-8", "replace") for name in (f"{commit}^", commit)
        )
        if max(len(before), len(after)) > LONGEST or plain(before) == plain(after) or not plain(after):
            continue
        project = clone.name if clone.name != "repo" else clone.parent.name.split("+")[-1]
        yield OneLine(project=project, commit=commit, path=path, line=line, before=before, after=after)


_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def _places(patch: str) -> Iterator[tuple[str, int]]:
    """(path, line) of each hunk of a source; twice for what is more than one line."""
    path = ""
    for line in patch.split("\n"):
        if line.startswith("--- a/"):
            path = line[6:]
        elif line.startswith(("new file", "deleted file")):
            yield "", 0
            yield "", 0
        elif (found := _HUNK.match(line)) and not is_test_file(path):
            start, old, new = int(found[1]), int(found[2] or 1), int(found[3] or 1)
            yield path, start if old else start + 1
            if old > 1 or new > 1:
                yield path, start
