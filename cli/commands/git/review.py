"""`patchwright review`: print a review of a change."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, takes_flags
from cli.output.standard_streams import print_json

Form = Literal["text", "json", "sarif"]
"""Formats of a review."""


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(review)


@takes_flags
def review(
    *,
    target: Annotated[str, typer.Argument(metavar="[COMMIT]", help="A commit to review.")] = "",
    folder: Folder = Path("."),
    base: Annotated[str, typer.Option("--base", metavar="REF", help="This branch's changes since REF.")] = "",
    staged: Annotated[bool, typer.Option("--staged", help="The staged changes.")] = False,
    flags: Annotated[Flags, "model api_base"],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="As SARIF 2.1.0, for code hosts.")] = False,
) -> None:
    """Review a change, by default all uncommitted changes.

    Checks without a model, and a model's opinion if one is set up.
    """
    if as_json and as_sarif:
        raise typer.BadParameter("give --json or --sarif")
    form: Form = "json" if as_json else "sarif" if as_sarif else "text"
    raise typer.Exit(print_review(folder, flags, target, base=base, cached=staged, form=form))


def print_review(
    folder: Path, flags: Mapping[str, Any], target: str, *, base: str, cached: bool, form: Form
) -> int:
    """Print a review of a commit, of a branch's changes since `base`, of the staged changes or (by default) of all
    uncommitted changes. Exit code 1 if a check found an error; a model's opinion does not affect it."""
    from cli.commands.git.change_review import review_change

    found = review_change(folder, flags, target, base=base, cached=cached)
    if found is None:
        print("patchwright: nothing to review", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    if form == "sarif":
        from cli.output.formats.sarif import build_sarif

        told = {"summary": found.summary, "review": found.opinion}
        print_json(build_sarif(found.findings, told))
    elif form == "json":
        findings = [{key: getattr(each, key) for key in each.__dataclass_fields__} for each in found.findings]
        report = {"summary": found.summary, "findings": findings, "review": found.opinion}
        print_json(report)
    else:
        print(found.format_text())
    return int(Exit.TESTS_FAIL if any(each.severity == "error" for each in found.findings) else Exit.DONE)
