"""Table of linters and formatters: configuration files, arguments, and output reader of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from tools.lint.linters.excluded_files import is_excluded_from_black, is_excluded_from_flake8
from tools.lint.linters.output_readers import Reader, make_line_reader, read_eslint, read_formatted


@dataclass(frozen=True, slots=True, kw_only=True)
class Linter:
    """A program that reads one file from its input and reports findings.

    suffixes: of the files that it handles
    configured: names of its configuration files → pattern that a line of such a file has to match
    arguments: after the program; "{path}" is the file's name, relative to the folder in which it is called
    file_arguments: in place of them for a file that is on disk as it is checked, whose name its input would lose
    is_excluded: whether the configuration in a folder excludes a path below it, though a file that is given is checked
    """

    program: str
    role: Literal["lint", "format"]
    suffixes: tuple[str, ...]
    configured: Mapping[str, str]
    arguments: tuple[str, ...]
    read: Reader
    file_arguments: tuple[str, ...] = ()
    is_excluded: Callable[[Path, str], bool] = lambda folder, path: False


def _match_config(*names: str, holding: str = "") -> dict[str, str]:
    return dict.fromkeys(names, holding)


_PYTHON = (".py", ".pyi")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm", ".proto")
_ESLINT = tuple(
    name
    for base, ends in (("eslint.config", ("js", "mjs", "cjs", "ts", "mts", "cts")),
                       (".eslintrc", ("js", "cjs", "json", "yml", "yaml")))
    for name in (base, *(f"{base}.{end}" for end in ends))
)  # fmt: skip
_PRETTIER = tuple(
    f"{base}{end}"
    for base in (".prettierrc", "prettier.config")
    for end in ("", ".json", ".json5", ".yml", ".yaml", ".toml", ".js", ".mjs", ".cjs", ".ts")
)

# Parse errors (ruff's syntax errors, E9 of flake8) are left to the check `syntax`.
LINTERS = (
    Linter(
        program="ruff", role="lint", suffixes=_PYTHON,
        configured=_match_config("ruff.toml", ".ruff.toml")
        | _match_config("pyproject.toml", holding=r"^\[tool\.ruff[.\]]"),
        arguments=("check", "--no-fix", "--no-cache", "--quiet", "--force-exclude", "--output-format", "concise",
                   "--stdin-filename", "{path}", "-"),
        read=make_line_reader(r".*?:(?P<line>\d{1,9}):\d+: (?P<code>[A-Z]+\d+) (?P<message>.*)"),
    ),
    Linter(
        program="flake8", role="lint", suffixes=_PYTHON,
        configured=_match_config(".flake8", "setup.cfg", "tox.ini", holding=r"^\[flake8\]"),
        arguments=("--format=%(row)d:%(code)s:%(text)s", "--stdin-display-name", "{path}", "-"),
        is_excluded=is_excluded_from_flake8,
        read=make_line_reader(r"(?P<line>\d{1,9}):(?P<code>(?!E9)[A-Z]+\d+):(?P<message>.*)"),
    ),
    Linter(
        program="ruff", role="format", suffixes=_PYTHON,
        configured=_match_config("ruff.toml", ".ruff.toml", holding=r"^\[format\]")
        | _match_config("pyproject.toml", holding=r"^\[tool\.ruff\.format\]"),
        arguments=("format", "--no-cache", "--quiet", "--force-exclude", "--stdin-filename", "{path}", "-"),
        read=read_formatted,
    ),
    Linter(
        program="black", role="format", suffixes=_PYTHON,
        configured=_match_config("pyproject.toml", holding=r"^\[tool\.black\]"),
        arguments=("--quiet", "--stdin-filename", "{path}", "-"),
        read=read_formatted, is_excluded=is_excluded_from_black,
    ),
    Linter(
        program="eslint", role="lint", suffixes=_SCRIPTS,
        configured=_match_config(*_ESLINT) | _match_config("package.json", holding=r'"eslintConfig"\s*:'),
        arguments=("--stdin", "--stdin-filename", "{path}", "--format", "json"),
        read=read_eslint,
    ),
    Linter(
        program="prettier", role="format",
        suffixes=(*_SCRIPTS, ".css", ".scss", ".less", ".json", ".md", ".yml", ".yaml", ".html", ".graphql"),
        configured=_match_config(*_PRETTIER)
        | _match_config("package.json", holding=r'^\s*"prettier"\s*:\s*[{"][^\d^~<>=*]'),
        arguments=("--stdin-filepath", "{path}"),
        read=read_formatted,
    ),
    Linter(  # the Go project's own rule: committed code is formatted by gofmt
        program="gofmt", role="format", suffixes=(".go",),
        configured=_match_config("go.mod"),
        arguments=(),
        read=read_formatted,
    ),
    Linter(  # without an edition in that file it lacks the one that cargo otherwise passes, and cannot parse
        program="rustfmt", role="format", suffixes=(".rs",),
        configured=_match_config("rustfmt.toml", ".rustfmt.toml", holding=r"^edition\s*="),
        arguments=("--quiet", "--emit", "stdout"),
        read=read_formatted,
    ),
    Linter(
        program="clang-format", role="format", suffixes=_C,
        configured=_match_config(".clang-format", "_clang-format"),
        arguments=("--assume-filename={path}",),
        read=read_formatted,
    ),
    Linter(
        program="shellcheck", role="lint", suffixes=(".sh", ".bash", ".bats", ".ksh"),
        configured=_match_config(".shellcheckrc", "shellcheckrc"),
        arguments=("--format=gcc", "-"), file_arguments=("--format=gcc", "--", "{path}"),
        read=make_line_reader(r".*?:(?P<line>\d{1,9}):\d+: \w+: (?P<message>.*) \[(?P<code>SC\d+)\]"),
    ),
    Linter(
        program="yamllint", role="lint", suffixes=(".yml", ".yaml"),
        configured=_match_config(".yamllint", ".yamllint.yml", ".yamllint.yaml"),
        arguments=("--format=parsable", "-"), file_arguments=("--format=parsable", "--", "{path}"),
        read=make_line_reader(
            r".*?:(?P<line>\d{1,9}):\d+: \[(?:error|(?P<warning>warning))\] (?P<message>.*) \((?P<code>[\w-]+)\)"
        ),
    ),
    Linter(  # its format "emacs": docs.rubocop.org/rubocop/formatters.html
        program="rubocop", role="lint", suffixes=(".rb", ".rake", ".gemspec"),
        configured=_match_config(".rubocop.yml"),
        arguments=("--format", "emacs", "--cache", "false", "--force-exclusion", "--stdin", "{path}"),
        read=make_line_reader(r".*?:(?P<line>\d{1,9}):\d+: [A-Z]: (?:\[Correctable\] )?"
                   r"(?P<code>(?!Lint/Syntax)[\w/]+): (?P<message>.*)"),
    ),
    Linter(  # its report "emacs": PHP_CodeSniffer's wiki, "Reporting"
        program="phpcs", role="lint", suffixes=(".php",),
        configured=_match_config("phpcs.xml", "phpcs.xml.dist", ".phpcs.xml", ".phpcs.xml.dist"),
        arguments=("-q", "-s", "--report=emacs", "--stdin-path={path}", "-"),
        read=make_line_reader(
            r".*?:(?P<line>\d{1,9}):\d+: (?:error|(?P<warning>warning)) - (?P<message>.*) \((?P<code>[\w.]+)\)"
        ),
    ),
)  # fmt: skip
"""The first one of each role that a folder configures is used."""
