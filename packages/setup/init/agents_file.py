"""A draft of AGENTS.md, from the repository's own files."""

from __future__ import annotations

from pathlib import Path

from cli.repository_files import list_files
from packages.setup.init.conventions import measure_conventions
from packages.setup.init.layout import describe_layout
from packages.setup.init.project_commands import ProjectCommand, find_commands
from packages.setup.init.purpose import identify_project
from sandbox.errors import Fault, UserError
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.fs.workspace_tree import Tree
from sandbox.sanitize import sanitize_text

FILE = "AGENTS.md"


MOST_LINES = 40
"""Lines of a draft. Long files that were written by models cost others time and right answers."""


def write_draft(root: Path, *, force: bool, tries: bool = False) -> Path:
    """Write the draft; an existing file is only replaced with `force`. Raises UserError. tries: see `build_draft`"""
    path = root / FILE
    if path.exists() and not force:
        raise _create_present_error(path)
    text = build_draft(root, tries=tries)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _create_present_error(path) from None
    except PermissionError as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {str(path)!r}: {error.strerror}") from None
    return path


def _create_present_error(path: Path) -> UserError:
    return UserError(
        Fault.USAGE,
        f"there is an {FILE} already: {str(path)!r}",
        "Check it with `patchwright init --check`, look at a draft with --print, or replace the file with --force.",
    )


def build_draft(root: Path, *, tries: bool = False) -> str:
    """Return the text of the draft, of at most MOST_LINES. The same repository gives the same text.

    tries: run the commands, confined, and keep only those that work here
    """
    files = [path for path in list_files(root) if path != FILE]
    name, purpose = identify_project(root)
    commands = find_commands(root, files)
    if tries:
        from packages.setup.init.command_trial import run_trials

        held = {each.command for each in run_trials(root, [each.command for each in commands]) if each.holds}
        commands = [each for each in commands if each.command in held]
    parts = {
        "Commands": [_format_command(each) for each in commands],
        "Layout": describe_layout(root, files),
        "Conventions": measure_conventions(root, files),
    }
    head = f"# {name}\n\n{purpose}".rstrip()
    surplus = sum(map(_count_lines, parts.values())) + head.count("\n") + 1 - MOST_LINES
    for title in ("Layout", "Commands", "Conventions"):  # what a look at the folders tells goes first
        cut = min(max(surplus, 0), max(len(parts[title]) - _LEAST, 0))
        parts[title] = parts[title][: len(parts[title]) - cut]
        surplus -= cut
    sections = [head, *(_format_section(title, lines) for title, lines in parts.items())]
    return sanitize_text("\n\n".join(filter(None, sections))) + "\n"


_LEAST = 6
"""Lines of a section that stay when a draft is cut."""


def _count_lines(lines: list[str]) -> int:
    """Return how many lines a section takes, with its heading and the blank ones."""
    return len(lines) + 3 if lines else 0


def append_rule(root: Path, rule: str) -> Path:
    """Add one rule to the file of instructions, which is made if there is none. Raises UserError."""
    rule = " ".join(sanitize_text(rule).split())
    name = "CLAUDE.md" if (root / "CLAUDE.md").is_file() and not (root / FILE).exists() else FILE
    path = root / name
    try:
        before = read_workspace_file(root, name, _MOST_BYTES) or b""
        if f"- {rule}" in before.decode("utf-8", "replace").split("\n"):
            raise UserError(Fault.USAGE, f"{name} has that rule already")
        end = b"" if not before or before.endswith(b"\n") else b"\n"
        Tree(root).write(name, before + end + f"- {rule}\n".encode())
    except (ValueError, OSError) as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {str(path)!r}: {error}") from error
    return path


_MOST_BYTES = 1_000_000


def _format_section(title: str, lines: list[str]) -> str:
    """Return a section, "" if nothing was found for it: a placeholder would only cost every session its tokens."""
    return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _format_command(entry: ProjectCommand) -> str:
    about = f" ({entry.about})" if entry.about else ""
    return f"{entry.kind.capitalize()}: `{entry.command}`{about}, from {entry.source}"
