"""The project's own linters and formatters: find those of a file, run one in the sandbox, and read its findings.

The only module that starts a linter. A linter's configuration belongs to the repository, and often is code; so may
be the program (`node_modules/.bin`). It runs read-only, and never without a sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import UserError
from sandbox.fs.regular_file import MANIFEST, read_regular_text
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.lint.linters.linter_table import LINTERS, Linter

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox
    from tools.lint.linters.output_readers import Complaint

MAX_CHARACTERS = 2_000_000
"""Longer files are generated, and not linted."""

_OWN = (".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin")
"""Folders of project-local programs."""


_SHELLS = {".bash": "bash", ".ksh": "ksh", ".bats": "bats"}
_NAMES_SHELL = compile_lazily(r"\A\ufeff?#!|^\s*#\s*shellcheck\s[^\n]*\bshell=", re.M)
"""Shell by which shellcheck takes a file for its name, unless the file itself says one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredLinter:
    """A configured linter, the path of its program, and the folder that configures it, in which it is called: there
    it finds its configuration, and the paths in it fit."""

    linter: Linter
    program: Path
    folder: Path

    def build_argv(self, path: str, text: str) -> tuple[str, ...]:
        """Return the command that reads the file from its input, or from the disk if only that shows it its name.

        path: relative to `folder`; text: content to be checked
        """
        linter = self.linter
        arguments = linter.arguments
        if linter.file_arguments and read_regular_text(self.folder / path, MANIFEST, "replace") == text:
            arguments = linter.file_arguments
        elif linter.program == "shellcheck" and not _NAMES_SHELL.search(text):
            shell = _SHELLS.get(Path(path).suffix.lower())
            arguments = (*((f"--shell={shell}",) if shell else ()), *arguments)
        return (str(self.program), *(each.replace("{path}", path) for each in arguments))


def find_linters(root: Path, path: str) -> Iterator[ConfiguredLinter]:
    """Yield for each role (linting, formatting) the linter that the nearest folder configures, if its program exists.

    path: relative to `root`; only files are read, no program is run
    """
    suffix = Path(path).suffix.lower()
    roles: set[str] = set()
    asked = [each for each in LINTERS if suffix in each.suffixes]
    for folder in _list_parent_folders(root, path) if asked else ():
        for linter in asked:
            if linter.role not in roles and _is_configured(linter, folder):
                roles.add(linter.role)
                if (program := _find_program(root, folder, linter.program)) is not None:
                    yield ConfiguredLinter(linter=linter, program=program, folder=folder)


def can_run_linters(sandbox: Sandbox) -> bool:
    """Return whether a program of the repository may run at all: only where the kernel confines it."""
    return sandbox.name != "unconfined"


async def run_linter(
    found: ConfiguredLinter, sandbox: Sandbox, root: Path, path: str, text: str, *, timeout: float
) -> list[Complaint]:
    """Run a linter on a text, read-only in the sandbox, and return its findings.

    path: the name that the linter is told, relative to `root`; the file itself need not exist
    timeout: in seconds
    Empty where nothing confines it, if it cannot be started, is stopped, prints too much, or if a formatter fails.
    """
    from sandbox.process.command import Command

    inner = (root / path).relative_to(found.folder).as_posix()
    if not can_run_linters(sandbox) or not text or len(text) > MAX_CHARACTERS:
        return []
    if found.linter.is_excluded(found.folder, inner):
        return []
    command = Command(
        argv=found.build_argv(inner, text),
        cwd=found.folder,
        stdin=text.encode("utf-8", "replace"),
        timeout=timeout,
        stderr="separate",
        scope="read-only",
    )
    try:
        done = await sandbox.run(command)
    except UserError:  # it cannot be started here: its advice is not worth a failure
        return []
    if done.ended != "exited" or done.stdout.omitted_bytes:
        return []
    if found.linter.role == "format" and done.returncode:
        return []
    return found.linter.read(text, done.stdout.text())


def _list_parent_folders(root: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a file and those above it, up to the root."""
    folder = (root / path).parent
    yield from (each for each in (folder, *folder.parents) if each == root or root in each.parents)


def _is_configured(linter: Linter, folder: Path) -> bool:
    """Return whether a file in this very folder configures the linter."""
    for name, content in linter.configured.items():
        text = read_regular_text(folder / name, MANIFEST, "replace")
        if text is not None and re.search(content, text, re.MULTILINE):
            return True
    return False


def _find_program(root: Path, folder: Path, name: str) -> Path | None:
    """Return the project-local program, in the configuring folder or above, else the user's."""
    import shutil

    for place in (folder, *(each for each in folder.parents if each == root or root in each.parents)):
        for own in _OWN:
            if (place / own / name).is_file():
                return place / own / name
    there = shutil.which(name)
    return Path(there).absolute() if there else None
