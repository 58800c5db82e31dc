"""The project's own instructions: `AGENTS.md`, and the files that Claude Code and others read.

They come with the repository, so they are text for the model and grant nothing: regular files of the workspace only,
none that a rule hides, and bounded in total. What is not read is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path, PurePosixPath

from sandbox.fs.untrusted_file import read_workspace_start
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MAX_INSTRUCTIONS = 32 << 10
"""Bytes of instructions in total: enough for usual files (peers cap at the same), small relative to a window."""

DEEPEST_IMPORT = 5
"""Files from the first one to one that it imports; the same as in Claude Code."""

MOST_FILES = 100
"""Files with rules of one folder, and imports of one file, that are looked at."""

_FIRST = (
    ("AGENTS.md",),
    ("CLAUDE.md", ".claude/CLAUDE.md"),
    ("GEMINI.md",),
    ("QWEN.md",),
    ("CRUSH.md",),
    (".goosehints",),
    (".github/copilot-instructions.md",),
    (".cursorrules",),
)
"""Files of a folder; those of the first row that there is one of count."""

_IMPORTING = frozenset(("CLAUDE.md", "GEMINI.md", "QWEN.md", ".goosehints"))
"""Names of files in which `@path` imports a file."""

_RULES = (
    (".claude/rules", ".md", "paths"),
    (".cursor/rules", ".mdc", "globs"),
    (".github/instructions", ".instructions.md", "applyTo"),
)
"""Folders with rules, the ending of their files, and the field of their front matter that says what one is for."""

_LOCAL = "CLAUDE.local.md"

_TEXTS = frozenset(
    ("", ".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc", ".json", ".toml", ".yaml", ".yml")
)
"""Endings of files that are imported."""

_CODE = compile_lazily(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|(`+)[^`].*?\2|<!--.*?-->", re.DOTALL | re.MULTILINE
)
"""Parts of a text in which `@` imports nothing."""

_IMPORT = compile_lazily(r"(?:^|(?<=\s))@((?:\\ |[^\s\\`@])+)")


@dataclass(slots=True)
class ProjectInstructions:
    """files: texts by path relative to the workspace; left: what is not read, and why, a line each"""

    files: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def read_project_instructions(
    root: Path, working: Path, hides: Callable[[str], bool] = lambda path: False
) -> ProjectInstructions:
    """Return the instructions of each folder from the root down to the working one.

    `CLAUDE.md` counts where there is no `AGENTS.md`, with the files that it imports, and so on.

    hides: whether a rule forbids to read a file
    """
    folders = [PurePosixPath()]
    if working != root and working.is_relative_to(root):
        for part in working.relative_to(root).parts:
            folders.append(folders[-1] / part)
    reader = _Reader(root, hides)
    for folder in folders:
        reader.add_folder(folder)
    return reader.found


class _Reader:
    def __init__(self, root: Path, hides: Callable[[str], bool]) -> None:
        self.found = ProjectInstructions()
        self._root = root
        self._hides = hides
        self._room = MAX_INSTRUCTIONS

    def add_folder(self, folder: PurePosixPath) -> None:
        there = self._list_names(folder)
        for names in _FIRST:
            if there.isdisjoint(name.partition("/")[0].casefold() for name in names):
                continue
            found = [
                self._add_file(folder / name, imports=PurePosixPath(name).name in _IMPORTING)
                for name in names
            ]
            if any(found):
                break
        for place, ending, field_name in _RULES:
            if place.partition("/")[0] not in there:
                continue
            for name in self._list_rules(folder, place, ending):
                self._add_file(folder / name, scope=field_name)
        if _LOCAL.casefold() in there:
            self._add_file(folder / _LOCAL)

    def _list_names(self, folder: PurePosixPath) -> frozenset[str]:
        """Return the names in a folder, in small letters: some file systems do not tell them apart.

        One look at the folder is less than one at each file that it may have.
        """
        try:
            return frozenset(map(str.casefold, os.listdir(self._root / folder)))
        except OSError:  # gone, or closed to us
            return frozenset()

    def _add_file(
        self, path: PurePosixPath, depth: int = 1, *, imports: bool = True, scope: str = ""
    ) -> bool:
        """Read a file, and those that it imports. Returns whether there is one.

        scope: field of the front matter that says which files a rule is for, "" for a file that is no rule
        """
        name = str(path)
        if name in self.found.files:
            return True
        if self._hides(name):
            if (self._root / name).is_file():
                self.found.left.append(f"{name}: a rule forbids to read it")
            return False
        content = read_workspace_start(self._root, name, self._room + 1)
        if content is None:  # or a pipe, a device, a link that leads outside: not the project's words
            return False
        if len(content) > self._room:
            self.found.left.append(
                f"{name}: only its first {self._room} bytes: instructions have 32 KiB in total"
            )
            content = content[: self._room]
        self._room -= len(content)
        if not content:
            return True
        text = content.decode("utf-8", "replace")
        self.found.files[name] = _describe_scope(text, scope) if scope else text
        for each in _list_imports(text)[:MOST_FILES] if imports else ():
            self._import_file(path, each, depth)
        return True

    def _import_file(self, source: PurePosixPath, given: str, depth: int) -> None:
        inside = _find_inside(self._root, source, given)
        looks_like_file = PurePosixPath(given).suffix in _TEXTS - {""}
        if inside is None:
            if looks_like_file or given.startswith(("~", "/", "../")):
                self.found.left.append(f"{source} imports {given}: it is outside of the workspace")
        elif not (self._root / inside).is_file():
            if looks_like_file:
                self.found.left.append(f"{source} imports {given}: there is no such file")
        elif inside.suffix.lower() not in _TEXTS or inside.name.startswith("."):
            self.found.left.append(f"{source} imports {given}: only texts are read, such as Markdown")
        elif str(inside) not in self.found.files:
            if depth >= DEEPEST_IMPORT:
                self.found.left.append(
                    f"{source} imports {given}: imports are {DEEPEST_IMPORT} files deep at most"
                )
            elif not self._add_file(inside, depth + 1):
                self.found.left.append(f"{source} imports {given}: it cannot be read")

    def _list_rules(self, folder: PurePosixPath, rules: str, ending: str) -> Iterator[PurePosixPath]:
        """Yield the files with rules of a folder, in the order of their names."""
        top = self._root / folder
        names = []
        for place, below, files in os.walk(top / rules):
            below.sort()
            names += [Path(place, each).relative_to(top) for each in sorted(files) if each.endswith(ending)]
            if len(names) > MOST_FILES:
                self.found.left.append(f"{folder / rules}: only {MOST_FILES} files of it are read")
                break
        yield from (PurePosixPath(each) for each in names[:MOST_FILES])


def _list_imports(text: str) -> list[str]:
    """Return the paths that a text imports by `@path`, without what belongs to the sentence around them."""
    found = (
        match[1].replace("\\ ", " ").partition("#")[0] for match in _IMPORT.finditer(_CODE.sub(" ", text))
    )
    return list(dict.fromkeys(each.rstrip(".,;:!?)]}'\"*") for each in found))


def _find_inside(root: Path, source: PurePosixPath, given: str) -> PurePosixPath | None:
    """Return the path in the workspace that a file imports, None for one outside."""
    named = Path.home() / given[2:] if given.startswith("~/") else Path(given)
    place = Path(os.path.normpath(root / source.parent / named))
    return PurePosixPath(place.relative_to(root)) if place.is_relative_to(root) else None


def _describe_scope(text: str, field_name: str) -> str:
    """Return a file with rules without its front matter; a line says what they are for.

    A rule of Cursor that is neither for all files nor for some is for what its description says.
    """
    from agent.extension.front_matter import BadFrontMatter, read_list_field, split_front_matter

    try:
        found = split_front_matter(text)
        paths = read_list_field(found[0], field_name) if found is not None else ()
    except BadFrontMatter:
        return text
    if found is None:
        return text
    fields, body = found[0], found[1].strip()
    paths = tuple(each.strip() for each in paths if each.strip() not in ("", "**", "**/*"))
    if paths and fields.get("alwaysApply") is not True:
        return f"For these files only: {', '.join(paths)}\n\n{body}"
    if fields.get("alwaysApply") is False and (about := fields.get("description")):
        return f"Where this is at hand: {about}\n\n{body}"
    return body
