"""Lint of an AGENTS.md: commands that cannot work any more, paths that are gone, contradictions, length, gaps.

All of it is read off the text and the repository's files; nothing is run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from packages.setup.init.project_commands import find_all_commands
from sandbox.errors import UserError
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.git.git_process import Git

MOST_LINES = 150
"""Lines from which on a file is called long: each session reads all of it, and what matters is lost in it."""

_MOST_BYTES = 200_000

_SPAN = compile_lazily(r"`([^`\n]{2,200})`")
_LINK = compile_lazily(r"\]\(([^)\s]+)\)")
_SHELLS = ("", "sh", "bash", "shell", "console", "zsh")

_PLAIN_PATH = compile_lazily(r"(?:\./)?[\w.@+-]+(?:/[\w.@+-]+)*/?")

_SWITCH = compile_lazily(
    r"\b(?:use|run|prefer) `?(?P<use>[\w.-]+)`?,? (?:instead of|rather than|(?:and )?not) `?(?P<avoid>[\w.-]+)`?",
    re.IGNORECASE,
)

_SIGN = compile_lazily(r"\b(always|never|do not|don't|must not|must)\b", re.IGNORECASE)

_AGAINST = ("never", "do not", "don't", "must not")

_TOPICS: Mapping[str, str] = {
    "security": r"secur|secret|credential|token|password|untrusted|sanitiz",
    "performance": r"perform|slow|fast|latency|memory use|complexity|timeout|benchmark",
}
"""What most such files leave out and sessions then have no rule for, with words of it."""

_SCRIPTS = frozenset(("python", "python3", "sh", "bash", "node", "ruby", "perl"))
"""Programs whose first plain argument is a file."""

_TARGETS = (
    "make",
    "just",
    "npm run",
    "pnpm run",
    "yarn run",
    "bun run",
    "npm test",
    "pnpm test",
    "yarn test",
)
"""Beginnings of commands that name a target or script, which one file of the repository defines."""

_MANIFESTS: Mapping[str, tuple[str, ...]] = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "bun": ("package.json",),
    "cargo": ("Cargo.toml",),
    "go": ("go.mod", "go.work"),
    "mvn": ("pom.xml",),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "poetry": ("pyproject.toml",),
    "uv": ("pyproject.toml", "uv.lock", "requirements.txt"),
    "bundle": ("Gemfile",),
    "docker-compose": ("docker-compose.yml", "docker-compose.yaml", "compose.yaml", "compose.yml"),
}
"""Files one of which a program needs in the repository, at any depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to mend. line: from 1, 0 for the whole file; is_advice: nothing is wrong, something may be missing"""

    line: int
    text: str
    is_advice: bool = False


def check_instructions(root: Path, name: str, files: Sequence[str]) -> list[Finding]:
    """Return what is to be mended in a file of instructions, in the order of its lines."""
    text = read_workspace_text(root, name, _MOST_BYTES)
    lines = text.split("\n")
    found = [
        *_check_commands(root, text, files),
        *_check_paths(root, lines, files),
        *_check_contradictions(lines),
    ]
    if len(lines) > MOST_LINES:
        found.append(
            Finding(line=0, text=f"{len(lines)} lines: keep what no file tells, at most {MOST_LINES}")
        )
    for topic, pattern in _TOPICS.items():
        if text.strip() and re.search(pattern, text, re.IGNORECASE) is None:
            found.append(
                Finding(line=0, text=f"no rule about {topic}: add one, if there is one", is_advice=True)
            )
    return sorted(dict.fromkeys(found), key=lambda each: (each.is_advice, each.line))


def list_commands(text: str) -> list[tuple[int, str]]:
    """Return the command lines of a text, with their lines: those of shell blocks, and spans that begin as one."""
    found: list[tuple[int, str]] = []
    language: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            language = stripped[3:].strip().lower() if language is None else None
        elif language is None:
            found += [(number, each) for each in _SPAN.findall(line) if _begins_command(each)]
        elif language in _SHELLS and _begins_command(command := stripped.removeprefix("$ ")):
            found.append((number, command.partition(" #")[0].rstrip()))
    return list(dict.fromkeys(found))


def _begins_command(text: str) -> bool:
    program, _, rest = text.partition(" ")
    if program.startswith("./"):
        return True
    return bool(rest) and (program in _MANIFESTS or program in _SCRIPTS)


def _check_commands(root: Path, text: str, files: Sequence[str]) -> Iterator[Finding]:
    known = {each.command for each in find_all_commands(root, files)}
    names = {PurePosixPath(each).name for each in files}
    for line, command in list_commands(text):
        if problem := _explain_command(command, known, names, files, root):
            yield Finding(line=line, text=f"`{command}`: {problem}")


def _explain_command(command: str, known: set[str], names: set[str], files: Sequence[str], root: Path) -> str:
    """Return why a command cannot work, "" if nothing speaks against it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return "it is no command: a quote is open"
    if not words or any(mark in command for mark in "<>{$*"):  # a placeholder, or more than one command says
        return ""
    program = words[0]
    if program.startswith("./"):
        return "" if (root / program).exists() else f"there is no {program[2:]}"
    if program in _SCRIPTS:
        script = next((each for each in words[1:] if not each.startswith("-")), "")
        is_file = "." in script and "-m" not in words and "-c" not in words and "-e" not in words
        return f"there is no {script}" if is_file and not (root / script).exists() else ""
    needed = _MANIFESTS.get(program, ())
    if needed and not names.intersection(needed):
        return f"there is no {needed[0]}"
    return _explain_target(words, known, files)


def _explain_target(words: Sequence[str], known: set[str], files: Sequence[str]) -> str:
    """Return why a target or script is not there; "" if it is, or its file is not one at the root."""
    beginning = next((each for each in _TARGETS if " ".join(words).startswith(f"{each} ")), "")
    target = words[len(beginning.split())] if len(words) > len(beginning.split()) else ""
    program = words[0]
    source = next((each for each in _MANIFESTS.get(program, ()) if each in files), "")
    if not beginning or not source or not re.fullmatch(r"[A-Za-z][\w:.-]*", target):
        return ""
    defined = {
        each.split()[-1] for each in known if each.split()[0] in (program, "npm", "pnpm", "yarn", "bun")
    }
    return "" if not defined or target in defined else f"{source} has no {target}"


def _check_paths(root: Path, lines: Sequence[str], files: Sequence[str]) -> Iterator[Finding]:
    """Yield the paths of this repository in spans and links that are not there.

    One in a span that git never knew may be an example.
    """
    tops = {each.partition("/")[0] for each in files}
    folders = {str(parent) for each in files for parent in PurePosixPath(each).parents}
    ends = {PurePosixPath(each).suffix for each in files} - {""}
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.strip().startswith(("```", "~~~")):
            fenced = not fenced
        linked = [each.partition("#")[0] for each in _LINK.findall(line)]
        for path in () if fenced else (*_SPAN.findall(line), *linked):
            plain = path.removeprefix("./")
            if _PLAIN_PATH.fullmatch(path) is None or "/" not in plain.rstrip("/"):
                continue
            is_ours = plain.partition("/")[0] in tops and (
                PurePosixPath(plain).suffix in ends or plain.endswith("/")
            )
            if is_ours and plain.rstrip("/") not in folders and not (root / plain).exists():
                commit = _find_last_commit(root, plain)
                end = f", since {commit}" if commit else ""
                is_example = not commit and path not in linked
                yield Finding(line=number, text=f"{plain} is not there{end}", is_advice=is_example)


def _find_last_commit(root: Path, path: str) -> str:
    """Return the commit that removed a path, "" if git knows none."""
    try:
        return (
            Git(root, alone=True).run_text("log", "-1", "--format=%h", "--", path, timeout=_TIMEOUT).strip()
        )
    except (OSError, UserError):  # no git, or a history that takes too long
        return ""


_TIMEOUT = 5.0


def _check_contradictions(lines: Sequence[str]) -> Iterator[Finding]:
    """Yield rules that cannot both hold: always and never the same, or each in place of the other."""
    signs: dict[str, tuple[bool, int]] = {}
    switches: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, 1):
        match = _SWITCH.search(line)
        if match is not None:
            use, avoid = match["use"].casefold(), match["avoid"].casefold()
            if (avoid, use) in switches:
                yield Finding(
                    line=number,
                    text=f"{use} in place of {avoid}: line {switches[avoid, use]} says the reverse",
                )
            switches.setdefault((use, avoid), number)
        sign = _SIGN.search(line)
        if sign is None:
            continue
        is_against = sign[1].casefold() in _AGAINST
        rest = " ".join(re.findall(r"\w+", f"{line[: sign.start()]}{line[sign.end() :]}".casefold()))
        was_against, where = signs.setdefault(rest, (is_against, number))
        if rest and was_against != is_against:
            yield Finding(line=number, text=f"line {where} says the reverse: {line.strip(' -*')[:80]}")
