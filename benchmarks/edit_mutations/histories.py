"""Hunks from git histories: what people really changed, one hunk of one file of one commit at a time."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.edit_mutations.draft import Draft, Source, Text, old_lines, widened
from tools.edit.edit_model import Line

MOST_CONTEXT = 5
"""Lines of context drawn: 0 to 5, on each side."""

MOST_LINES = 10_000
"""Longer files are data more often than code, and the same few would take most of the time."""

LONGEST_LINE = 1_000
"""A longer line is minified code or data: nobody edits it by quoting it."""

LONGEST_HUNK = 120
"""Lines of one hunk: a longer one is a rewritten file."""

_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OPS = {32: " ", 43: "+", 45: "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A clone of a public repository, at a commit."""

    path: Path
    name: str
    head: str


def clone(path: Path) -> Clone:
    """The clone at a path, bare or not."""
    head = _git(path, "rev-parse", "HEAD").decode().strip()
    return Clone(path=path, name=path.resolve().name.removesuffix(".git"), head=head)


def hunks(clones: Sequence[Clone], count: int, seed: int) -> list[Draft]:
    """So many hunks, equally many from each clone as far as they have them. The same seed gives the same."""
    drawn = [_hunks(each, seed) for each in clones]
    found: list[Draft] = []
    while drawn and len(found) < count:
        for each in list(drawn):
            draft = next(each, None)
            if draft is None:
                drawn.remove(each)
            elif len(found) < count:
                found.append(draft)
    return found


def _hunks(of: Clone, seed: int) -> Iterator[Draft]:
    """All hunks of a clone in random order, one of each changed file of each commit."""
    rng = random.Random(f"{seed} {of.name}")
    changes = list(_changes(of))
    rng.shuffle(changes)
    for commit, path, old, new in changes:
        context = rng.randint(0, MOST_CONTEXT)
        diff = _git(of.path, "diff", f"-U{context}", "--no-color", "--no-ext-diff", "--no-textconv", old, new)
        starts = [match.start() for match in re.finditer(rb"^@@ ", diff, re.MULTILINE)]
        if not starts:
            continue
        chosen = rng.randrange(len(starts))
        hunk = diff[starts[chosen] : [*starts, len(diff)][chosen + 1]]
        draft = _draft(of, commit, path, _git(of.path, "cat-file", "blob", old), hunk)
        if draft is not None:
            yield draft


def _changes(of: Clone) -> Iterator[tuple[str, str, str, str]]:
    """Commit, path, blob before and after of each modified file of each commit that is no merge."""
    log = _git(
        of.path,
        "log",
        "--no-merges",
        "--raw",
        "--no-renames",
        "--diff-filter=M",
        "--abbrev=40",
        "--format=%H",
    )
    commit = ""
    for line in log.decode(errors="replace").splitlines():
        if not line.startswith(":"):
            commit = line or commit
            continue
        fields, path = line.split("\t", 1)
        before, after, old, new = fields[1:].split()[:4]
        if before == after and before.startswith("100") and not path.startswith('"'):
            yield commit, path, old, new


def _draft(of: Clone, commit: str, path: str, before: bytes, hunk: bytes) -> Draft | None:
    """The hunk in its file; None if either is not plain text, or more than a hand would edit."""
    text = _text(before)
    parsed = _parsed(hunk, "\r\n" in before.decode(errors="replace"))
    if text is None or parsed is None:
        return None
    start, ops = parsed
    lines, newline = text
    draft = Draft(
        source=Source(
            repository=of.name,
            commit=commit,
            path=path,
            newline=newline,
            final_newline=before.endswith(b"\n"),
            bom=b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b"",
        ),
        text=Text(lines),
        start=start,
        truth=ops,
        given=ops,
    )
    while not any(line.strip() for line in old_lines(draft.truth)):  # nobody quotes blank lines alone
        wider = widened(draft, 1, 0) if draft.start else widened(draft, 0, 1)
        if wider == draft:
            return None
        draft = wider
    if lines[draft.start : draft.stop] != list(old_lines(draft.truth)):
        return None
    return draft


def _text(content: bytes) -> tuple[list[str], str] | None:
    """The lines and their ending, if it is one and the same."""
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return None  # in another encoding: the other tools' ways with those are not what is compared
    ends = text.count("\n")
    crlf = text.count("\r\n")
    if not ends or "\0" in text or crlf not in (0, ends) or text.count("\r") != crlf:
        return None
    newline = "\r\n" if crlf else "\n"
    lines = text.removesuffix(newline).split(newline)
    if len(lines) > MOST_LINES or max(map(len, lines)) > LONGEST_LINE:
        return None
    return lines, newline


def _parsed(hunk: bytes, crlf: bool) -> tuple[int, tuple[Line, ...]] | None:
    """Index of the first old line, and the hunk's lines; None if it also changes line endings."""
    head, *body = hunk.removesuffix(b"\n").split(b"\n")
    header = _HEADER.match(head)
    if header is None or len(body) > LONGEST_HUNK:
        return None
    ops: list[Line] = []
    unended: list[str] = []
    for raw in body:
        if raw.startswith(b"\\"):
            unended.append(ops[-1].op)
            continue
        try:
            text = raw[1:].decode()
        except UnicodeDecodeError:
            return None  # the new text is in another encoding
        op = _OPS.get(raw[0])
        if op is None or ("\r" in text) != crlf or len(text) > LONGEST_LINE:
            return None
        ops.append(Line(op, text.removesuffix("\r")))  # type: ignore[arg-type]
    if unended not in ([], [" "], ["-", "+"]):
        return None
    first, count = int(header[1]), int(header[2] or 1)
    return (first - 1 if count else first), tuple(ops)


def _git(at: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(at), *words], check=True, capture_output=True).stdout
