"""Fresh work of a person: what is not committed, or was committed so lately that it is still being worked on.

A commit counts as fresh for two weeks, and as long as it is on no remote branch if the repository has any. Older
ones are history, in which a fault may be looked for and taken back.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.git.git_process import Git
from tools.git.worktrees import SNAPSHOT_EMAIL

FRESH_SECONDS = 14 * 24 * 3600
"""Two weeks: the length of a usual iteration. What is older was built upon by now."""

MOST_FRESH, MOST_VERSIONS = 200, 64
"""Commits that are examined, and versions of files that are read."""

UNCOMMITTED = "your change that is not committed"
"""Phrase for work in no commit of the user's, also where it is in one that attempts begin with."""

_TOKEN = compile_lazily(r"\w+|\S")
_WORD = compile_lazily(r"\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVersion:
    """The text of a file before fresh work on it. work: a phrase that names that work"""

    text: str
    work: str


def read_earlier_versions(root: Path, paths: Collection[str]) -> dict[str, list[EarlierVersion]]:
    """Return the versions before fresh work, by path, the newest first; {} without a repository. Blocking.

    A file that is new has no earlier version.
    """
    names = sorted(path for path in paths if "\n" not in path)
    if find_root(root) is None or not names:
        return {}
    git = Git(root, alone=True)
    try:
        wanted = [(path, f"HEAD:./{path}", UNCOMMITTED) for path in names]
        fresh = list_fresh_commits(git)
        for commit, path in list_changes(git, names, most=MOST_FRESH, of=fresh)[:MOST_VERSIONS]:
            wanted.append((path, f"{commit}^:./{path}", fresh[commit]))
        texts = read_versions(git, [name for _, name, _ in wanted])
    except UserError:  # no commit yet, or a repository that git itself refuses
        return {}
    found: dict[str, list[EarlierVersion]] = {}
    for (path, _, work), text in zip(wanted, texts, strict=True):
        if text is not None:
            found.setdefault(path, []).append(EarlierVersion(text=text, work=work))
    return found


def read_committed_texts(root: Path, paths: Collection[str]) -> dict[str, str]:
    """Return the texts of the last commit by path, {} without a repository or a commit. Blocking."""
    names = sorted(path for path in paths if "\n" not in path)
    if find_root(root) is None or not names:
        return {}
    try:
        texts = read_versions(Git(root, alone=True), [f"HEAD:./{path}" for path in names])
    except UserError:
        return {}
    return {path: text for path, text in zip(names, texts, strict=True) if text is not None}


def list_fresh_commits(git: Git) -> dict[str, str]:
    """Return the ids of fresh commits, each with a phrase that names its work."""
    form = "--format=%H %ct %ce"
    lines = git.run_text("log", f"--max-count={MOST_FRESH}", "--no-show-signature", form).split("\n")
    commits = [line.split(" ", 2) for line in lines if line.count(" ") >= 2]
    unpublished = set[str]()
    if git.run_text("for-each-ref", "--count=1", "refs/remotes"):
        listed = git.run_text("rev-list", f"--max-count={MOST_FRESH}", "HEAD", "--not", "--remotes")
        unpublished = set(listed.split("\n"))
    since, fresh = time.time() - FRESH_SECONDS, dict[str, str]()
    for commit, date, committer in commits:
        if committer == SNAPSHOT_EMAIL:
            fresh[commit] = UNCOMMITTED
        elif int(date) >= since:
            fresh[commit] = f"your commit {commit[:10]} of {_format_date(int(date))}"
        elif commit in unpublished:
            fresh[commit] = f"your commit {commit[:10]}, not pushed yet"
    return fresh


def list_changes(
    git: Git, paths: Collection[str], *, most: int, of: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return (commit, path) of the changes of the last `most` commits to the paths, newest first.

    of: only these commits count
    """
    # git is not given the paths: if they last changed long ago, it would go through all of a long history.
    told = git.run(
        "log", f"--max-count={most}", "--no-merges", "--no-renames", "--no-show-signature", "--relative",
        "--name-only", "--format=%x01%H",
    ).decode("utf-8", "replace")  # fmt: skip
    known = set(paths)
    found: list[tuple[str, str]] = []
    for entry in told.split("\x01")[1:]:
        commit, *names = [line for line in entry.split("\n") if line]
        if of is None or commit in of:
            found += [(commit, name) for name in names if name in known]
    return found


def read_versions(git: Git, names: Sequence[str]) -> list[str | None]:
    """Return the text of each version; None for missing or binary ones. No filter of the repository is run."""
    data = git.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
    found: list[str | None] = []
    for _ in names:
        head, _, data = data.partition(b"\n")
        kind = head.split(b" ")
        if len(kind) != 3 or kind[1] != b"blob":
            found.append(None)
            continue
        size = int(kind[2])
        found.append(decode_text(data[:size]))
        data = data[size + 1 :]
    return found


def decode_text(data: bytes) -> str | None:
    """Return the text with plain line ends, None for other bytes than UTF-8."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def find_taken_back(now: str, after: str, versions: Sequence[EarlierVersion]) -> str:
    """Return the phrase of the fresh work that a change takes back, "" if it takes none back.

    Work is taken back where text of before it returns, where its lines go without others in their place, or where
    words of it go and nothing comes. A change within fresh work that puts something new there is none.
    """
    for version in versions:
        if version.text != now and _is_taken_back(now, after, version.text):
            return version.work
    return ""


def list_restored_lines(now: str, after: str, earlier: str) -> list[int]:
    """Return the first lines, from 1, of those changes since `earlier` that are wholly gone in `after`."""
    old, lines, new = earlier.splitlines(), now.splitlines(), after.splitlines()
    left = _list_differences(old, new)
    return [
        a + 1
        for c, d, a, b in _list_differences(old, lines)
        if any(map(_WORD.search, (*lines[a:b], *old[c:d])))
        and not any(
            (first < d and c < last) or (c <= first <= d and c <= last <= d) for first, last, _, _ in left
        )
    ]


def _is_taken_back(now: str, after: str, earlier: str) -> bool:
    old, lines, new = earlier.splitlines(), now.splitlines(), after.splitlines()
    fresh = _list_differences(old, lines)
    for p, q, r, s in _list_differences(lines, new):
        gone, come = lines[p:q], new[r:s]
        for c, d, a, b in fresh:
            if not ((p < b and a < q) or ((a == b or p == q) and p <= b and a <= q)):
                continue
            before = {line.strip() for line in old[c:d] if _WORD.search(line)}
            had = {line.strip() for line in gone}
            if any(line.strip() in before - had for line in come):
                return True
            if a < b and len(gone) > len(come) and any(map(_WORD.search, lines[max(a, p) : min(b, q)])):
                return True
            if c < d and a < b and come and _only_loses_words(gone, come):
                return True
    return False


def _list_differences(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return (start, end) of the lines that differ, in the old text and in the new one."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [(c, d, a, b) for tag, c, d, a, b in matcher.get_opcodes() if tag != "equal"]


def _only_loses_words(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Return whether the new lines are the old ones without some of their words and marks."""
    was, now = _TOKEN.findall("\n".join(gone)), _TOKEN.findall("\n".join(come))
    rest = iter(was)
    return len(now) < len(was) and all(any(each == other for other in rest) for each in now)


def _format_date(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
