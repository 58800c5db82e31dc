"""Small fixes in the history of clones: what programmers change when they mend something, without running it.

Only commits of the development half: what the held-out one holds is looked at by nobody.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.templates.commit_files import plain, read_program
from packages.evaluation.mining.fix_commits import SAYS_FIX
from packages.offline.repair.localize.coverage_spectrum import is_test_file
from packages.offline.repair.localize.word_relevance import collect_function_words, split_name
from packages.offline.repair.templates.support.source_tree import Function

# A larger file takes long to be read for each of many commits; a longer change is no small one.
LONGEST, MOST_LINES = 120_000, 24
# Of files that are no library's own code, or tables rather than programs.
_ASIDE = re.compile(
    r"(^|/)(setup|conf|conftest|versioneer|_version)\.py$|(^|/)(docs?|examples?|scripts?|benchmarks?)/"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A commit that says that it mends something, comes with a test, and makes one or two single-line edits.

    path: the one source that it changes
    edits: lines that come, go or differ, of programs written one statement a line (`commit_files.plain`)
    """

    project: str
    clone: str
    commit: str
    subject: str
    path: str
    edits: int

    @property
    def fold(self) -> int:
        """Projects whose fixes may be looked at to write templates (0), and those that only measure them (1)."""
        return sha256(self.project.encode()).digest()[0] % 2

    def programs(self) -> tuple[str, str]:
        """The plain program before and after."""
        before, after = (
            read_program(self.clone, commit, self.path) for commit in (f"{self.commit}^", self.commit)
        )
        return plain(before), plain(after)

    def told(self) -> frozenset[str]:
        """The words of the tests that the commit adds or changes, as failing tests would tell them."""
        found: set[str] = set()
        shown = subprocess.run(
            ["git", "-C", self.clone, "show", "-U0", "--format=", "--no-renames", self.commit, "--", "*.py"],
            capture_output=True, check=False, encoding="utf-8", errors="replace",
        ).stdout  # fmt: skip
        for part in shown.split("diff --git ")[1:]:
            path = part.split("\n", 1)[0].partition(" b/")[2]
            if not is_test_file(path):
                continue
            added = {
                line
                for first, number in re.findall(r"^@@ \S+ \+(\d+)(?:,(\d+))? @@", part, re.MULTILINE)
                for line in range(int(first), int(first) + int(number or 1))
            }
            with suppress(SyntaxError, ValueError):  # written for another Python
                tree = ast.parse(read_program(self.clone, self.commit, path))
                for node in ast.walk(tree):
                    if isinstance(node, Function) and added & {
                        *range(node.lineno, (node.end_lineno or 0) + 1)
                    }:
                        found |= split_name(node.name) | collect_function_words(node)
        return frozenset(found)

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def load_fixes(path: Path) -> list[Fix]:
    return [Fix(**json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


def small_fixes(clone: Path, newest: int) -> Iterator[Fix]:
    """Those among the newest commits that change what their program means."""
    log = subprocess.run(
        ["git", "-C", clone, "log", "--no-merges", f"-{newest}", "--numstat", "--no-renames",
         "--format=%x00%H%x01%s%x01%b%x02", "--", "*.py"],
        capture_output=True, check=False, encoding="utf-8", errors="replace",
    ).stdout  # fmt: skip
    project = clone.name if clone.name != "repo" else clone.parent.name.split("+")[-1]
    for record in log.split("\0")[1:]:
        head, _, files = record.partition("\x02")
        commit, subject, body = [*head.split("\x01"), "", ""][:3]
        if sha256(commit.encode()).digest()[0] % 2 == 0 or not SAYS_FIX.search(f"{subject}\n{body}"):
            continue
        counts = [line.split("\t") for line in files.strip().split("\n") if line.count("\t") == 2]
        sources = [each for each in counts if not is_test_file(each[2])]
        if len(sources) != 1 or len(sources) == len(counts):
            continue
        added, removed, path = sources[0]
        if not added.isdigit() or int(added) + int(removed) > MOST_LINES or _ASIDE.search(path):
            continue
        fix = Fix(project=project, clone=str(clone), commit=commit, subject=subject, path=path, edits=0)
        before, after = fix.programs()
        edits = sum(max(b - a, d - c) for a, b, c, d in changes(before, after))
        if before and after and max(len(before), len(after)) <= LONGEST and 0 < edits <= 2:
            yield Fix(**{**asdict(fix), "edits": edits})


def changes(before: str, after: str) -> list[tuple[int, int, int, int]]:
    """(first, end, first, end) lines of one text and the other that differ, counted from zero."""
    matcher = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    return [(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
