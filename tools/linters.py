"""The linters that projects configure: how each is known, called and read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_CHARACTERS = 2_000_000
"""Longer files are generated: nobody lints them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One finding. line: counted from 1"""

    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linter:
    """A linter of Python files that reads one from its input.

    configured: names of the files that configure it → what such a file must contain
    arguments: after the program; "{path}" is the file's name
    line: a finding, with the groups line, code and message
    """

    program: str
    configured: Mapping[str, re.Pattern[str]]
    arguments: tuple[str, ...]
    line: re.Pattern[str]

    def complaints(self, output: str) -> list[Complaint]:
        """What it printed, as findings."""
        matches = map(self.line.fullmatch, output.splitlines())
        return [
            Complaint(line=int(match["line"]), code=match["code"], message=match["message"].strip())
            for match in matches
            if match
        ]


_ANYTHING = re.compile("")
_FLAKE8 = re.compile(r"^\[flake8\]", re.MULTILINE)

LINTERS = (
    Linter(
        program="ruff",
        configured={
            "ruff.toml": _ANYTHING,
            ".ruff.toml": _ANYTHING,
            "pyproject.toml": re.compile(r"^\[tool\.ruff[.\]]", re.MULTILINE),
        },
        arguments=("check", "--no-fix", "--no-cache", "--quiet", "--force-exclude", "--output-format", "concise",
                   "--stdin-filename", "{path}", "-"),
        line=re.compile(r".*?:(?P<line>\d+):\d+: (?P<code>[A-Z]+\d+) (?P<message>.*)"),
    ),
    Linter(
        program="flake8",
        configured={".flake8": _FLAKE8, "setup.cfg": _FLAKE8, "tox.ini": _FLAKE8},
        arguments=("--format=%(row)d:%(code)s:%(text)s", "--stdin-display-name", "{path}", "-"),
        line=re.compile(r"(?P<line>\d+):(?P<code>(?!E9)[A-Z]+\d+):(?P<message>.*)"),  # E9: what cannot be parsed
    ),
)  # fmt: skip


def configured(folder: Path) -> Linter | None:
    """The linter that a file of this very folder configures."""
    for linter in LINTERS:
        for name, content in linter.configured.items():
            try:
                if content.search((folder / name).read_text(encoding="utf-8", errors="replace")):
                    return linter
            except OSError:  # there is none, or none that can be read
                continue
    return None


def program_of(root: Path, name: str) -> Path | None:
    """The project's own one, else the user's."""
    import shutil

    for environment in (".venv", "venv"):
        own = root / environment / "bin" / name
        if own.is_file():
            return own
    there = shutil.which(name)
    return Path(there).absolute() if there else None
