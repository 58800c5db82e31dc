"""`patchwright eval build`: turn a copy of a public suite into task folders."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit


class HalfOption(StrEnum):
    """Halves of a data set: development where the SHA-1 of a task's id is even."""

    development = "development"
    test = "test"


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(build)


Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for the task folders.")
]


def build(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Name of the suite; see --list.")] = "",
    source: Annotated[
        Path | None, typer.Option("--from", metavar="PATH", help="The data set: a folder, a clone or a file.")
    ] = None,
    output: Output = None,
    half: Annotated[HalfOption | None, typer.Option("--half", help="Only the tasks of this half.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many tasks.")] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", metavar="NAME", help="Only tasks in it; repeatable.")
    ] = None,
    repositories: Annotated[
        Path | None,
        typer.Option("--repositories", metavar="DIR", help="Clones of the projects, for swebench."),
    ] = None,
    refuse: Annotated[
        bool, typer.Option("--refuse", help="Expect an honest refusal: for an engine that cannot solve them.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the suites, and where each comes from.")
    ] = False,
) -> None:
    """Turn a copy of a public suite into task folders. Tasks that are there already are kept."""
    raise typer.Exit(
        list_suites()
        if list_
        else build_named_suite(
            suite,
            source,
            output,
            half=half,
            limit=limit,
            languages=language or [],
            repositories=repositories,
            refuse=refuse,
        )
    )


def list_suites() -> int:
    """Print the suites that can be built. Returns the exit code."""
    from packages.evaluation.suites.suite_table import SUITES

    for name, entry in SUITES.items():
        print(f"{name}: {entry.description}\n  from {entry.address}; {entry.licence}")
        if entry.needs:
            print(f"  needs {entry.needs}")
    return int(Exit.DONE)


def build_named_suite(
    suite: str,
    source: Path | None,
    output: Path | None,
    *,
    half: HalfOption | None,
    limit: int | None,
    languages: list[str],
    repositories: Path | None,
    refuse: bool,
) -> int:
    """Build a suite, with a line on standard error for each task. Returns the exit code. Raises UserError."""
    from agent.app_dirs import Home
    from cli.output.standard_streams import write_error
    from cli.settings.layers import load_settings
    from packages.evaluation.suites.suite_builder import build_suite
    from sandbox.errors import Fault, UserError
    from sandbox.sanitize import sanitize_text

    if not suite or source is None:
        raise UserError(
            Fault.USAGE,
            f"{'no suite' if not suite else '--from is needed: the data set of ' + suite}",
            "Usage: patchwright eval build SUITE --from PATH -o DIR. Suites: patchwright eval build --list",
        )
    place = output or Path(suite)
    home = Home.from_environment()
    summary = build_suite(
        suite,
        source,
        place,
        cache=home.cache / "evaluation",
        half=None if half is None else half.value,
        limit=limit,
        languages=languages,
        repositories=repositories,
        expect="refuse" if refuse else "solve",
        access=load_settings(home, None, {}).session.access,
        report=lambda line: write_error(sanitize_text(line) + "\n"),
    )
    kept = f", {summary.kept} were there already" if summary.kept else ""
    print(sanitize_text(f"{place}: {summary.written} tasks written{kept}"))
    for reason, number in sorted(summary.missing.items(), key=lambda item: -item[1]):
        print(sanitize_text(f"  {number} left out: {reason}"))
    return int(Exit.DONE)
