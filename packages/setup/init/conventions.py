"""Conventions of a project's code and commits: configured tools, and habits measured on its files and its log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from packages.setup.init.layout import LANGUAGES
from packages.setup.init.purpose import get_table, parse_toml, read_beginning
from sandbox.errors import UserError
from sandbox.lazy_pattern import compile_lazily
from tools.git.git_process import Git

SAMPLE = 60
"""Files measured per language, spread evenly over the sorted list: more change no answer."""

SAMPLE_BYTES = 64 << 10

CLEAR = 0.8
"""Share from which on a habit is reported; below it nothing is claimed."""

COMMITS = 200

_CODE = (
    "Python",
    "JavaScript",
    "TypeScript",
    "Go",
    "Rust",
    "Java",
    "C",
    "C++",
    "Ruby",
    "PHP",
    "Kotlin",
    "C#",
)

_CONFIGS = (
    (".editorconfig", "EditorConfig"),
    (".prettierrc", "Prettier"),
    (".prettierrc.json", "Prettier"),
    ("prettier.config.js", "Prettier"),
    ("eslint.config.js", "ESLint"),
    ("eslint.config.mjs", "ESLint"),
    (".eslintrc.json", "ESLint"),
    (".eslintrc.js", "ESLint"),
    ("biome.json", "Biome"),
    ("ruff.toml", "Ruff"),
    (".flake8", "Flake8"),
    ("mypy.ini", "mypy"),
    ("tsconfig.json", "TypeScript"),
    ("rustfmt.toml", "rustfmt"),
    (".golangci.yml", "golangci-lint"),
    (".clang-format", "clang-format"),
    (".rubocop.yml", "RuboCop"),
    (".pre-commit-config.yaml", "pre-commit"),
)

_PYPROJECT = (
    ("ruff", "Ruff"),
    ("black", "Black"),
    ("isort", "isort"),
    ("mypy", "mypy"),
    ("pyright", "Pyright"),
)


def measure_conventions(root: Path, files: Sequence[str]) -> list[str]:
    """Return lines for the draft: tools, measured style of each main language, commit messages."""
    lines = []
    if tools := _find_tools(root, set(files)):
        lines.append(f"Tools: {', '.join(tools)}")
    languages = Counter(_find_language(path) for path in files)
    main = sorted((name for name in _CODE if languages[name]), key=lambda name: (-languages[name], name))
    for language in main[:3]:
        if style := _measure_style(root, [path for path in files if _find_language(path) == language]):
            lines.append(f"{language}: {style}")
    if commits := _measure_commit_subjects(root):
        lines.append(f"Commit messages: {commits}")
    return lines


def _find_language(path: str) -> str:
    return LANGUAGES.get(path.rpartition(".")[2].lower(), "")


def _find_tools(root: Path, known: set[str]) -> list[str]:
    found = {name: f"{name} ({file})" for file, name in reversed(_CONFIGS) if file in known}
    tool = get_table(parse_toml(read_beginning(root / "pyproject.toml")), "tool")
    for key, name in _PYPROJECT:
        if isinstance(settings := tool.get(key), dict):
            length = settings.get("line-length") or settings.get("line_length")
            found[name] = f"{name} (pyproject.toml{f', line length {length}' if length else ''})"
    return [found[name] for name in sorted(found, key=str.lower)]


def _measure_style(root: Path, paths: Sequence[str]) -> str:
    """Return indentation, quotes and longest lines as measured; only clear results."""
    step = max(1, len(paths) // SAMPLE)
    sample = [read_beginning(root / path, SAMPLE_BYTES) for path in sorted(paths)[::step][:SAMPLE]]
    lines = [line for text in sample for line in text.splitlines() if line.strip()]
    if len(lines) < 20:
        return ""
    facts = [_measure_indentation(sample), _measure_quotes(lines), _measure_line_length(lines)]
    known = [fact for fact in facts if fact]
    counted = (
        f"measured on {len(sample)} of {len(paths)} files" if len(paths) > 1 else "measured on its one file"
    )
    return f"{', '.join(known)} ({counted})" if known else ""


def _measure_indentation(sample: Sequence[str]) -> str:
    """Return the most frequent step from a line to a deeper one below it."""
    steps: Counter[str] = Counter()
    for text in sample:
        before = ""
        for line in text.splitlines():
            if not line.strip():
                continue
            indent = line[: len(line) - len(line.lstrip())]
            if indent.startswith(before) and len(indent) > len(before):
                steps[indent[len(before) :]] += 1
            before = indent
    unit, share = _find_most_frequent(steps)
    if share < CLEAR * 0.75:  # continuation lines are aligned in many styles: a lower share is clear here
        return ""
    return "indented with tabs" if unit == "\t" else f"indented by {len(unit)} spaces"


def _measure_quotes(lines: Sequence[str]) -> str:
    counted: Counter[str] = Counter()
    for line in lines:
        for match in re.finditer(r"(?<![\w\"'])(?:\"[^\"'\\\n]*\"|'[^\"'\\\n]*')(?![\"'])", line):
            counted[match[0][0]] += 1
    quote, share = _find_most_frequent(counted)
    if sum(counted.values()) < 20 or share < CLEAR:
        return ""
    return "double quotes" if quote == '"' else "single quotes"


def _measure_line_length(lines: Sequence[str]) -> str:
    lengths = sorted(len(line) for line in lines)
    return f"99 % of lines within {lengths[int(len(lengths) * 0.99) - 1]} columns"


def _find_most_frequent(counted: Counter[str]) -> tuple[str, float]:
    """Return the most frequent value and its share."""
    if not counted:
        return "", 0.0
    value, count = min(counted.items(), key=lambda item: (-item[1], item[0]))
    return value, count / sum(counted.values())


_CONVENTIONAL = compile_lazily(
    r"^(feat|fix|docs|chore|refactor|test|ci|build|perf|style|revert)(\([^)]*\))?!?: "
)
_TICKET = compile_lazily(r"^\[?[A-Z][A-Z0-9]+-\d+\]?[ :]")

_HABITS = (
    ("Conventional Commits (`fix: …`)", lambda s: bool(_CONVENTIONAL.match(s))),
    ("a ticket first (`ABC-123`)", lambda s: bool(_TICKET.match(s))),
    ("beginning with a capital letter", lambda s: s[:1].isupper() and not _TICKET.match(s)),
    ("beginning with a small letter", lambda s: s[:1].islower() and not _CONVENTIONAL.match(s)),
    ("no full stop at the end", lambda s: not s.endswith(".")),
)


def _measure_commit_subjects(root: Path) -> str:
    """Return habits in the subjects of the newest commits, without merges and bots."""
    options = ("--no-merges", "--no-show-signature", "--pretty=%an%x09%s")
    try:
        log = Git(root).run("log", f"-{COMMITS}", *options, timeout=10)
    except (OSError, UserError):  # no git, or no commit: nothing to measure
        return ""
    rows = [line.split("\t", 1) for line in log.decode("utf-8", "replace").splitlines() if "\t" in line]
    subjects = [subject for author, subject in rows if subject and not author.endswith("[bot]")]
    if len(subjects) < 5:
        return ""
    habits = [name for name, fits in _HABITS if sum(map(fits, subjects)) >= CLEAR * len(subjects)]
    middle = sorted(map(len, subjects))[len(subjects) // 2]
    return ", ".join([*habits, f"subjects of {middle} characters (median of the last {len(subjects)})"])
