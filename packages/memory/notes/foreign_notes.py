"""Notes that other agents keep of a repository: the memory folders of Claude Code and Codex, and Markdown files.

Only text is read: no link is followed out of a folder, nothing that a note names is opened or run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.extension.front_matter import BadFrontMatter, split_front_matter, split_head
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.fs.repository import find_main_work_tree
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json

_MOST_FILES = 200
"""Notes of one folder: Claude Code writes one file a fact."""

_MEMORY_SWITCH = "autoMemoryDirectory"
"""Setting of Claude Code that moves the folder of all projects."""

_BULLET = compile_lazily(r"[ \t]{0,3}(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.+)")

_LINKED = compile_lazily(r"\[[^\]]*\]\(\S+\.md\)")
"""A link to another note, as in an index: that note is read itself."""

_INDEX, _NO_NOTES = "MEMORY.md", ("rollout_summary_files", "keywords")
"""Name of the index or handbook in both folders, and the sections of Codex's that point elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that another agent keeps.

    source: the file, for a person; folder: the one that is read as a whole, "" for a file that is read alone
    """

    text: str
    source: str
    folder: str = ""


def read_claude_notes(root: Path) -> Iterator[Note]:
    """Yield the notes that Claude Code keeps of a repository: a file each, or the lines of `MEMORY.md`; and the user's
    own `CLAUDE.md`. Those of the project are read as instructions anyway.
    """
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for folder in _list_claude_folders(home, root):
        for path in sorted(folder.glob("*.md"))[:_MOST_FILES]:
            if path.is_symlink():  # the agent writes here; links of the user are elsewhere
                continue
            text = _read(path)
            if path.name == _INDEX:
                yield from _split_notes(text, _shorten(path))
            else:
                yield Note(text=_summarize(text), source=_shorten(path), folder=_shorten(folder))
    yield from _split_notes(_read(home / "CLAUDE.md"), _shorten(home / "CLAUDE.md"))


def read_codex_notes(root: Path) -> Iterator[Note]:
    """Yield the entries of Codex's handbook that apply to a repository, and those of the user's own `AGENTS.md`."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    path = home / "memories" / _INDEX
    for group in _split_groups(_read(path)):
        if _is_of(group, root):
            _, body = split_head(group) or ("", group)
            yield from _split_notes(body, _shorten(path))
    yield from _split_notes(_read(home / "AGENTS.md"), _shorten(home / "AGENTS.md"))


def read_markdown_notes(path: Path) -> Iterator[Note]:
    """Yield the entries of the lists in a Markdown file. Raises UserError if it cannot be read."""
    content = read_regular_file(path, SETTINGS)
    yield from _split_notes((content or b"").decode("utf-8", "replace"), _shorten(path))


AGENTS: Mapping[str, Callable[[Path], Iterator[Note]]] = {
    "claude": read_claude_notes,
    "codex": read_codex_notes,
}
"""Readers by the word that names the agent."""


def _list_claude_folders(home: Path, root: Path) -> list[Path]:
    """Return the memory folders of a repository: worktrees use that of the main one, unless a setting names another."""
    try:
        set_to = parse_json(read_regular_file(home / "settings.json", SETTINGS) or b"{}").get(_MEMORY_SWITCH)
    except (UserError, ValueError, AttributeError):  # a file of theirs that is damaged
        set_to = None
    if isinstance(set_to, str) and set_to.startswith(("/", "~/")):
        return [Path(set_to).expanduser()]
    places = [home / "projects" / _encode_folder(each) / "memory" for each in _list_roots(root)]
    return [each for each in places if each.is_dir()]


def _list_roots(root: Path) -> Sequence[Path]:
    main = find_main_work_tree(root)
    return [root] if main is None or main == root else [root, main]


def _encode_folder(root: Path) -> str:
    """Return the name that Claude Code gives to a project's folder: all but letters and digits become dashes."""
    units = os.fsdecode(root).encode("utf-16-le", "surrogatepass")
    return "".join(
        chr(unit) if unit < 128 and chr(unit).isalnum() else "-"
        for unit in (int.from_bytes(units[at : at + 2], "little") for at in range(0, len(units), 2))
    )


def _summarize(text: str) -> str:
    """Return what a note of one fact says: its description, else its first paragraph."""
    try:
        fields, body = split_front_matter(text) or ({}, text)
    except BadFrontMatter:
        fields, body = {}, text
    described = fields.get("description")
    if isinstance(described, str) and described.strip():
        return described
    paragraphs = (each.strip() for each in re.split(r"\n\s*\n", body))
    return next((each for each in paragraphs if each and not each.startswith("#")), "")


def _split_notes(text: str, source: str) -> Iterator[Note]:
    """Yield the entries of lists in a text. Code, and the sections that only point elsewhere, are left out."""
    heading, fenced = "", False
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            heading = line.lstrip("# ").strip().casefold()
        elif fenced or heading in _NO_NOTES:
            continue
        elif (match := _BULLET.fullmatch(line)) is not None and not _LINKED.search(match[1]):
            yield Note(text=" ".join([match[1], *_take_continuation(lines, number + 1)]), source=source)


def _take_continuation(lines: Sequence[str], start: int) -> Iterator[str]:
    """Yield the indented lines that go on with an entry."""
    for line in lines[start:]:
        if not line.startswith(("  ", "\t")) or _BULLET.fullmatch(line.lstrip()) or not line.strip():
            return
        yield line.strip()


def _split_groups(text: str) -> Iterator[str]:
    """Yield the groups of Codex's handbook: each begins with a heading, or in older files with front matter."""
    found: list[str] = []
    for line in text.split("\n"):
        begins = line.startswith("# ") or (line == "---" and not _is_open(found))
        if begins and found:
            yield "\n".join(found)
            found = []
        found.append(line)
    yield "\n".join(found)


def _is_open(lines: Sequence[str]) -> bool:
    """Whether lines are front matter that has not ended."""
    return bool(lines) and lines[0] == "---" and "---" not in lines[1:]


def _is_of(group: str, root: Path) -> bool:
    """Whether a group of notes names a folder in the repository as the one that it applies to."""
    lines = (each for each in group.split("\n") if "cwd=" in each)
    ends = r"(?=$|[/;,)\s])"
    roots = "|".join(re.escape(os.fsdecode(each)) for each in _list_roots(root))
    pattern = re.compile(rf"(?:cwd=|[,\s])(?:{roots}){ends}")
    return any(pattern.search(each) for each in lines)


def _read(path: Path) -> str:
    """Return a file's text, "" if there is none that can be read: it is another program's."""
    try:
        return (read_regular_file(path, SETTINGS) or b"").decode("utf-8", "replace")
    except UserError:
        return ""


def _shorten(path: Path) -> str:
    """Return a path as a person writes it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if home in path.parents else str(path)
