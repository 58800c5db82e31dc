"""`search`: matching lines and file names, by ripgrep."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.rule_places import is_absolute
from tools.core.action import Observation, ToolFailure
from tools.core.path_resolution import describe_missing_path, resolve_path, translate_path_errors
from tools.core.registry import tool
from tools.core.text import clip, format_count
from tools.core.workspace import Workspace
from tools.fs.ripgrep import BASE, MAX_EVENT, Ripgrep

MAX_LINES = 200
"""Matching lines shown in total."""

MAX_LINES_PER_FILE = 40
"""Matching lines shown of one file, so that one file of data does not hide the others."""

MAX_CHARACTERS = 20_000
"""Characters shown, a little under the gateway's limit."""

MAX_LINE = 240
"""Characters shown of a matching line."""

MAX_NAMES = 20
"""Files shown because their name matches."""

MAX_COUNTED = 20_000
"""Matching lines after which counting stops: the pattern is too broad to be useful."""

MAX_SECONDS = 30.0
"""Time limit of a search: a slower one should have a narrower pattern or path."""


@tool(effect="read")
async def search(pattern: str, path: str = ".", glob: str | None = None, *, at: Workspace) -> Observation:
    """Find lines and file names by a regular expression (ripgrep), without ignored files. glob: e.g. *.py"""
    where = resolve_path(at, "search", path)
    with translate_path_errors("search", where):
        if not (at.files.is_file(where) or at.files.is_dir(where)):
            raise ToolFailure(describe_missing_path(at, "search", where))
    if not pattern:
        raise ToolFailure("search: the pattern is empty: list shows the files of a folder")
    for name, text in (("pattern", pattern), ("glob", glob or "")):
        if not _is_expressible(text):
            raise ToolFailure(f"search: the {name} {text!r} holds a character that no text file has")
    # Only for patterns that need it: it lets \s and negated classes match line ends as well.
    lines = ("--multiline",) if "\n" in pattern or "\\n" in pattern else ()
    scope = (
        *BASE,
        "--max-filesize=20M",
        *lines,
        *((f"--glob={glob}",) if glob else ()),
        *build_exclusion_options(at),
    )
    from tools.fs.tracked_ignored import list_tracked_ignored

    places = (where, *await asyncio.to_thread(list_tracked_ignored, at.root, where, glob))
    hits, names = await asyncio.gather(
        _search_content(at, scope, pattern, *places), _search_names(at, scope, pattern, *places)
    )
    text = _format_hits(hits, names, pattern, where)
    return Observation(text=text, data=hits.as_data(names), value=hits.all_matches)


def build_exclusion_options(at: Workspace) -> Iterator[str]:
    """Yield options that exclude paths the user's rules deny reading. They go last, since the last match counts."""
    for rule in at.rules.read_denials:
        if is_absolute(rule.pattern):
            continue  # what it means in the workspace is a rule of its own
        anchored = "/" in rule.pattern.rstrip("/")
        place = re.sub(
            r"([\[\]{}!\\])", r"\\\1", rule.pattern.removeprefix("./").rstrip("/")
        )  # literal in rules
        yield f"--iglob=!{'/' if anchored else ''}{place}"


def _find_denied_paths(at: Workspace) -> tuple[Path, ...]:
    """Return the existing paths that the user's rules deny reading: a folder may change its name meanwhile."""
    if not at.rules.read_denials:
        return ()
    from sandbox.backends.deny_read import find_denied_paths

    return find_denied_paths(at.root, at.rules)


def _is_expressible(text: str) -> bool:
    """Return whether the text can be a command-line argument: no NUL, no half of a surrogate pair."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


class Match(NamedTuple):
    """A matching line. line: its number from 1, 0 if unknown"""

    path: str
    line: int
    text: str


@dataclass(slots=True, kw_only=True)
class Hits:
    """Matching lines, by file in the order of their paths.

    interpretation: interpretation of the pattern, if it was changed (else "")
    all_matches: all matches, including those not shown
    stop_reason: why counting ended early, "" if it did not
    """

    interpretation: str = ""
    files: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    all_matches: list[Match] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    lines: int = 0
    shown: int = 0
    characters: int = 0
    stop_reason: str = ""

    def add_match(self, path: str, number: int, text: str) -> None:
        self.lines += 1
        self.all_matches.append(Match(path, number, text.rstrip("\r\n")))
        of_file = self.files.setdefault(path, [])
        text = clip(text.rstrip("\r\n"), MAX_LINE)
        room = self.shown < MAX_LINES and self.characters < MAX_CHARACTERS
        if room and len(of_file) < MAX_LINES_PER_FILE:
            of_file.append((number, text))
            self.shown += 1
            self.characters += len(text) + 10 + (len(path) if len(of_file) == 1 else 0)
        else:
            self.left_out[path] = self.left_out.get(path, 0) + 1

    def as_data(self, names: Sequence[str]) -> dict[str, Any]:
        places = [[path, number] for path, lines in self.files.items() for number, _ in lines]
        return {
            "lines": self.lines,
            "files": len(self.files),
            "places": places,
            "names": list(names[:MAX_NAMES]),
        }


async def _search_content(at: Workspace, scope: Sequence[str], pattern: str, *where: str) -> Hits:
    """Search all files, each in its own encoding if the pattern has letters that are not the same in all."""
    hits = await _search_utf8(at, scope, pattern, *where)
    if pattern.isascii():
        return hits
    from tools.fs.encoded_files import group_by_label

    more: list[Match] = []
    for label, paths in (await group_by_label(at, scope, [*map(_to_path_argument, where)])).items():
        options = (*scope, f"--encoding={label}", f"--regexp={pattern}")
        found, _ = await _run_search(at, options, *(path.removeprefix("./") for path in paths))
        more += found.all_matches
    return _merge_matches(hits, more) if more else hits


def _merge_matches(hits: Hits, more: Sequence[Match]) -> Hits:
    """Return hits with more matches, each line once: some are found as UTF-8 and in the file's own encoding."""
    merged = Hits(interpretation=hits.interpretation, stop_reason=hits.stop_reason)
    lines = {(each.path, each.line): each for each in (*hits.all_matches, *more)}
    for place in sorted(lines):
        merged.add_match(*lines[place])
    return merged


async def _search_utf8(at: Workspace, scope: Sequence[str], pattern: str, *where: str) -> Hits:
    """Search as requested; as a literal, if the pattern does not parse; ignoring case, if nothing matched."""
    hits, problem = await _run_search(at, (*scope, f"--regexp={pattern}"), *where)
    if problem:
        hits, problem = await _run_search(at, (*scope, "--fixed-strings", f"--regexp={pattern}"), *where)
        hits.interpretation = "taken literally, since it is not a valid regular expression"
        if problem:
            raise ToolFailure(f"search: {problem}")
    elif not hits.lines and pattern.lower() != pattern.upper():
        other, _ = await _run_search(at, (*scope, "--ignore-case", f"--regexp={pattern}"), *where)
        if other.lines:
            other.interpretation = "in other letter case"
            return other
    return hits


async def _run_search(at: Workspace, arguments: Sequence[str], *where: str) -> tuple[Hits, str]:
    import json

    hits = Hits()
    options = ("--json", "--sort=path", *arguments, "--", *map(_to_path_argument, where))
    denied = await asyncio.to_thread(_find_denied_paths, at) if at.rules.read_denials else ()
    run = Ripgrep(at.root, *options, denied=denied)
    path = ""
    begun: set[str] = set()
    encodings: dict[str, str] = {}
    is_repeated = False
    try:
        async with asyncio.timeout(MAX_SECONDS), aclosing(run.stream_lines()) as lines:
            async for line in lines:
                if len(line) > MAX_EVENT:
                    hits.add_match(path, 0, "[a line of over 1 MB]")
                    continue
                event = json.loads(line)
                if event["type"] == "begin":
                    path = _decode_text(event["data"]["path"]).removeprefix("./")
                    is_repeated = path in begun  # named, and found in a named folder
                    begun.add(path)
                elif event["type"] == "match" and not is_repeated:
                    if "text" not in event["data"]["lines"] and path not in encodings:
                        from tools.fs.encoded_files import find_encoding

                        encodings[path] = await asyncio.to_thread(find_encoding, at, path)
                    _add_event(hits, path, event["data"], encodings.get(path, ""))
                if hits.lines >= MAX_COUNTED:
                    hits.stop_reason = f"stopped after {MAX_COUNTED:,} lines"
                    break
    except TimeoutError:  # partial results still help
        hits.stop_reason = f"stopped after {MAX_SECONDS:g} s"
    return hits, run.problem


def _add_event(hits: Hits, path: str, data: dict[str, Any], encoding: str) -> None:
    """Add a match; one over several lines is shown by its first."""
    text = _decode_text(data["lines"], encoding)
    hits.add_match(path, data["line_number"] or 0, text.split("\n", 1)[0])


def _decode_text(value: dict[str, str], encoding: str = "") -> str:
    """Decode ripgrep's text, which is base64 where it is not UTF-8. encoding: of the file, "" for UTF-8"""
    if "text" in value:
        return value["text"]
    import base64

    return base64.b64decode(value["bytes"]).decode(encoding or "utf-8", "replace")


async def list_file_names(at: Workspace, arguments: Sequence[str], *where: str) -> list[str]:
    """Return all files that ripgrep would search, relative to the workspace, sorted."""
    run = Ripgrep(at.root, "--files", *arguments, "--", *map(_to_path_argument, where))
    found: list[str] = []
    try:
        async with asyncio.timeout(MAX_SECONDS), aclosing(run.stream_lines()) as lines:
            async for line in lines:
                found.append(line.decode("utf-8", "replace").removeprefix("./"))
    except TimeoutError:  # a very slow disk: partial names are better than none
        pass
    return sorted(set(found))


def _to_path_argument(where: str) -> str:
    """Return a path that cannot be mistaken for an option; results have the same prefix."""
    return "./" if where == "." else f"./{where}"


async def _search_names(at: Workspace, scope: Sequence[str], pattern: str, *where: str) -> list[str]:
    """Return files whose name matches; with a slash in the pattern, those whose path does."""
    files = await list_file_names(at, scope, *where)
    subjects = files if "/" in pattern else [file.rpartition("/")[2] for file in files]
    stdin = "\n".join(subjects).encode("utf-8", "replace")
    base = ("--no-config", "--color=never", "--line-number", "--no-filename")
    for how in ((), ("--fixed-strings",)):
        run = Ripgrep(at.root, *base, *how, f"--regexp={pattern}", "-", stdin=stdin)
        async with aclosing(run.stream_lines()) as lines:
            numbers = [int(line.partition(b":")[0]) async for line in lines]
        if not run.problem:
            return [files[number - 1] for number in numbers]
    return []


def _format_hits(hits: Hits, names: Sequence[str], pattern: str, where: str) -> str:
    place = "" if where == "." else f" in {where}"
    how = f" ({hits.interpretation})" if hits.interpretation else ""
    if hits.lines:
        found = f"{format_count(hits.lines, 'line')} in {format_count(len(hits.files), 'file')}"
        stopped = f", {hits.stop_reason}" if hits.stop_reason else ""
        parts = [f"{found}{place} match {pattern!r}{how}{stopped}"]
    else:
        parts = [
            f"no line{place} matches {pattern!r}{how}"
            + (f" ({hits.stop_reason})" if hits.stop_reason else "")
        ]
    unshown = [path for path, lines in hits.files.items() if not lines]
    for path, lines in hits.files.items():
        if not lines:
            continue
        parts.append(path)
        parts += [f"  {number}: {text}" for number, text in lines]
        if path in hits.left_out:
            parts.append(f"  … {hits.left_out[path]:,} more in this file")
    if unshown:
        number = sum(hits.left_out[path] for path in unshown)
        parts.append(
            f"… {number:,} more lines in {format_count(len(unshown), 'other file')}: narrow path or glob"
        )
    if names:
        parts.append("files whose name matches:")
        parts += [f"  {name}" for name in names[:MAX_NAMES]]
        if len(names) > MAX_NAMES:
            parts.append(f"  … {len(names) - MAX_NAMES:,} more")
    elif not hits.lines and pattern.startswith("*"):
        parts.append(f'To find files by a glob: search(pattern=".", glob={pattern!r}), or list')
    return "\n".join(parts)
