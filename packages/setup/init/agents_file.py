"""A draft of AGENTS.md, from the repository's own files."""

from __future__ import annotations

from pathlib import Path

from cli.repository_files import list_files
from packages.setup.init.conventions import measure_conventions
from packages.setup.init.layout import describe_layout
from packages.setup.init.project_commands import ProjectCommand, find_commands
from packages.setup.init.purpose import identify_project
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

FILE = "AGENTS.md"


def write_draft(root: Path, *, force: bool) -> Path:
    """Write the draft; an existing file is only replaced with `force`. Raises UserError."""
    path = root / FILE
    text = build_draft(root)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(
            Fault.USAGE,
            f"there is an {FILE} already: {str(path)!r}",
            "Look at the draft with `patchwright init --print`, or replace the file with --force.",
        ) from None
    except PermissionError as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {str(path)!r}: {error.strerror}") from None
    return path


def build_draft(root: Path) -> str:
    """Return the text of the draft. The same repository gives the same text."""
    files = [path for path in list_files(root) if path != FILE]
    name, purpose = identify_project(root)
    sections = [
        f"# {name}\n\n{purpose or '(One sentence: what this project is for. None was found in its files.)'}",
        _format_commands(find_commands(root, files)),
        _format_section("Layout", describe_layout(root, files), "(No files yet.)"),
        _format_section("Conventions", measure_conventions(root, files), "(None could be measured.)"),
        _TO_FILL_IN,
    ]
    return sanitize_text("\n\n".join(sections)) + "\n"


def _format_section(title: str, lines: list[str], otherwise: str) -> str:
    return f"## {title}\n\n" + ("\n".join(f"- {line}" for line in lines) or otherwise)


def _format_commands(entries: list[ProjectCommand]) -> str:
    lines = []
    for entry in entries:
        about = f" ({entry.about})" if entry.about else ""
        lines.append(f"{entry.kind.capitalize()}: `{entry.command}`{about}, from {entry.source}")
    return _format_section("Commands", lines, "(None were found: say how to install, test, lint and run.)")


_TO_FILL_IN = """\
## Security

<!-- To fill in: studies of such files find this section missing in most of them. Delete what does not apply. -->

- What must never be logged, committed or sent anywhere: …
- Input that is not trusted, and where it is checked: …
- Code that may not change without a review by a person: …

## Performance

<!-- To fill in: the same studies. Delete what does not apply. -->

- Paths that must stay fast, and how that is measured: …
- Sizes to expect (rows, files, requests per second): …"""
"""Chatlatanagulchai et al. 2025, "Agent READMEs" (arXiv 2511.12884), on 2,303 such files: 14.5 % mention
security and 14.5 % performance, while 67.7 % describe the architecture and 62.3 % build commands."""
