"""pre-commit: checks of the staged change before it becomes a commit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.hooks.confinement import choose_confinement
from cli.hooks.contract import FOUND, OK, USAGE, get_hook_folder
from tools.git.git_change import read_staged_change
from tools.git.git_process import Git

if TYPE_CHECKING:
    from tools.lint.checks.finding import Finding

SKIP = "PATCHWRIGHT_SKIP"
"""Variable with the names of checks to skip, separated by commas."""

SHOWN = 50
"""Maximum of printed findings."""


def run_pre_commit(arguments: Sequence[str]) -> int:
    """Return 1 if findings block the commit.

    `--strict`: warnings block it, too; `--review=MODEL`: a model's opinion is printed, and decides nothing
    `--sarif=FILE`: the findings are also written there, as SARIF 2.1.0
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    model, report = given.get("--review", ""), given.get("--sarif", "")
    if given.keys() - {"--strict", "--review", "--sarif"}:
        print(
            f"patchwright: pre-commit takes --strict, --review=MODEL, --sarif=FILE (got {list(arguments)!r})",
            file=sys.stderr,
        )
        return USAGE
    change = read_staged_change(Git.from_folder(get_hook_folder()))
    if not change.files:
        return OK
    from tools.lint.checks import run_checks

    found = run_checks(change, read_skipped_checks(), lambda: choose_confinement(change.git.root))
    if report:
        _write_sarif(report, found)
    stops = [each for each in found if each.severity == "error" or "--strict" in arguments]
    if found:
        print("\n".join(format_findings(found, stops=bool(stops))), file=sys.stderr)
    if model and not stops:
        from cli.commands.git.change_review import ask_review_opinion
        from sandbox.sanitize import sanitize_text

        print(
            sanitize_text(
                f"patchwright: {model} says:\n{ask_review_opinion(change.git, {'model': model}, found)}"
            ),
            file=sys.stderr,
        )
    return FOUND if stops else OK


def _write_sarif(report: str, found: Sequence[Finding]) -> None:
    """Write findings to a file. Raises UserError."""
    import json
    from pathlib import Path

    from cli.output.formats.sarif import build_sarif
    from sandbox.errors import Fault, UserError

    try:
        Path(report).write_text(json.dumps(build_sarif(found)) + "\n", "utf-8")
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot write {report!r}: {error.strerror}") from None


def read_skipped_checks() -> set[str]:
    """Return the names of checks that the user skips."""
    return set(filter(None, os.environ.get(SKIP, "").replace(" ", "").split(",")))


def format_findings(found: Sequence[Finding], *, stops: bool) -> list[str]:
    """Return findings as lines: `path:line: check: message`."""
    from sandbox.sanitize import quote_name, sanitize_text

    lines = ["patchwright: not committed:" if stops else "patchwright: committed, but look at this:"]
    for each in found[:SHOWN]:
        place = f"{quote_name(each.path)}:{each.line}" if each.line else quote_name(each.path)
        lines.append(sanitize_text(f"  {place}: {each.check}: {each.message}"))
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN} more")
    if stops:
        checks = ",".join(dict.fromkeys(each.check for each in found))
        lines.append(f"  Leave checks out: {SKIP}={checks} git commit …; all of them: git commit --no-verify")
    return lines
