"""Purposes of commands, and causes of their failures."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_SIGNS: Mapping[str, str] = {
    "test": (
        "test tests check pytest py.test unittest tox nox jest vitest mocha rspec phpunit ctest nextest gotestsum"
        " nose2 stestr"
    ),
    "lint": "lint ruff flake8 eslint pylint mypy pyright clippy shellcheck vet",
    "format": "fmt format black prettier gofmt rustfmt clang-format",
    "install": "install sync add ci bootstrap setup",
    "build": "build compile make cmake ninja tsc webpack all dist wheel",
    "serve": "serve start runserver dev up",
}
"""Purposes by the words of a command line that show them; the first that fits counts."""

RUNNERS = (
    "uv poetry pdm pipenv hatch npx pnpm yarn npm bun make just task cargo go mvn gradle python python3 node sh bash"
    " run exec -m env time"
)
"""Words in front of the one that shows the purpose: programs that run others, and their subcommands."""

_SHOWN = 160
"""Characters of a cause, which is one line for a person and for the search."""

_START_FAILURES = compile_lazily(
    r"command not found|: not found$|No module named|No rule to make target|[Mm]issing script|Missing script:"
    r"|unrecognized arguments?|unknown (?:option|argument|flag|command)|[Nn]o such (?:option|command)"
    r"|invalid choice|is not a \w+ command|no tests ran|No such file or directory|[Pp]ermission denied"
    r"|not recognized as|requires? (?:Python|Node|Go|Java)|[Uu]nsupported (?:engine|version)",
    re.MULTILINE,
)
"""Output of commands that are wrong here by themselves. A test that fails is none of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a command failed. is_wrong: the command itself does not work here, whatever the files hold"""

    text: str
    is_wrong: bool


def find_purpose(line: str) -> str:
    """Return what a command line is for, "" if no word of it says so."""
    words = split_words(line)
    plain = [each.rpartition("/")[2].removesuffix(".sh") for each in words if not each.startswith("--")]
    head = [each for each in plain if each not in RUNNERS.split()][:2]
    for words_of in (head, plain):
        for purpose, signs in _SIGNS.items():
            if {each.partition(":")[0] for each in words_of} & set(signs.split()):
                return purpose
    return ""


def split_words(line: str) -> list[str]:
    """Return the words of a command line; those between blanks where it cannot be parsed."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def find_cause(text: str) -> Cause:
    """Return why a command failed, by its output."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    for each in reversed(lines):
        if _START_FAILURES.search(each):
            return Cause(text=each[:_SHOWN], is_wrong=True)
    return Cause(text=lines[-1][:_SHOWN] if lines else "", is_wrong=False)
