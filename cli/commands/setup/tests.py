"""`patchwright tests`: how a project's tests are run here, why so, which there are, and how failing ones run again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from tools.core.workspace import Workspace
    from tools.testing.inspection import SuiteInspection

MOST_SESSIONS = 20
"""Sessions whose logs are searched for the last run of the tests."""

MOST_FAILURES = 40
"""Failing tests that are shown with their commands."""


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command(name="tests")(show_tests)


def show_tests(
    folder: Folder = Path("."),
    listing: Annotated[bool, typer.Option("--list", help="List the tests without running them.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each runner was chosen.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show how the tests run here, and how failing ones run again.

    Nothing is run but what --list needs to collect them. Failing tests are those of the last whole run in a session.
    """
    raise typer.Exit(describe_tests(folder, listing=listing, explain=explain, as_json=as_json))


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsPage:
    """What the command shows.

    not_run: why suites of the project cannot be run
    names: tests by runner, where they were listed; unlisted: runners that cannot list theirs
    last: outcome and counts of the last whole run in a session, {} for none
    again: command for each test that failed in it, "" where the runner cannot run it alone
    """

    suites: Sequence[SuiteInspection]
    not_run: Sequence[str]
    names: Mapping[str, Sequence[str]]
    unlisted: Sequence[str]
    last: Mapping[str, Any]
    again: Mapping[str, str]


def describe_tests(folder: Path, *, listing: bool, explain: bool, as_json: bool) -> int:
    """Print the page. Returns NO_TEST_RUNNER if no suite can be run here, else DONE. Raises UserError."""
    from agent.workspace_root import find_workspace_root
    from cli.commands.setup.test_workspace import open_test_workspace
    from sandbox.process.bounded_end import run_loop

    root, _ = find_workspace_root(folder, need_git=False)
    with tempfile.TemporaryDirectory(prefix="patchwright-tests-") as scratch:
        at = open_test_workspace(root, Path(scratch), working=folder)
        page = run_loop(_collect_page(at, _read_last_run(root), Path(scratch), listing=listing))
    if as_json:
        print_json({**asdict(page), "suites": [asdict(each) for each in page.suites]})
    else:
        print(sanitize_text(_format_page(page, explain=explain)))
    return Exit.DONE if any(not each.obstacle for each in page.suites) else Exit.NO_TEST_RUNNER


async def _collect_page(at: Workspace, last: Mapping[str, Any], scratch: Path, *, listing: bool) -> TestsPage:
    from tools.testing.inspection import format_reruns, inspect_suites
    from tools.testing.project_files import TestsNotRunnable

    suites: list[SuiteInspection] = []
    try:
        suites, not_run = await inspect_suites(at, scratch)
    except TestsNotRunnable as problem:
        not_run = [str(problem)]
    names: Mapping[str, Sequence[str]] = {}
    if listing:
        from tools.testing.suite_run import list_tests

        names = await list_tests(at)
    failures = [each for each in last.get("failures", ()) if isinstance(each, dict) and each.get("id")]
    failing = [str(each["id"]) for each in failures[:MOST_FAILURES]]
    kept = ("runner", "outcome", "passed", "failed", "errors", "skipped")
    return TestsPage(
        suites=suites,
        not_run=not_run,
        names=names,
        unlisted=[each.runner for each in suites if listing and not each.can_list],
        last={key: last[key] for key in kept if key in last},
        again=await format_reruns(at, failing, scratch) if suites else {},
    )


def _read_last_run(root: Path) -> Mapping[str, Any]:
    """Return the report of the last whole run in the project's sessions, {} if there is none."""
    from agent.app_dirs import Home
    from agent.events import ObservationEvent
    from agent.session.log import read_events
    from agent.session.session_index import load_session_summaries

    for session in load_session_summaries(Home.from_environment(), root)[:MOST_SESSIONS]:
        reports = [
            event.data["report"]
            for event in read_events(session.path, only=(b'"report"',))
            if isinstance(event, ObservationEvent) and isinstance(event.data.get("report"), dict)
        ]
        whole = [each for each in reports if each.get("runner") and not each.get("targets")]
        if whole:
            return dict(whole[-1])
    return {}


def _format_page(page: TestsPage, *, explain: bool) -> str:
    lines: list[str] = []
    for suite in page.suites:
        lines.append(f"{suite.runner}: {suite.command}")
        if explain:
            lines.append(f"  chosen by {suite.evidence or 'its folder'}")
        if suite.obstacle:
            lines.append(f"  cannot run: {suite.obstacle}. {suite.remedy}")
    lines += [f"not run: {each}" for each in page.not_run]
    for runner, names in page.names.items():
        lines += [f"{len(names)} of {runner}:", *(f"  {name}" for name in names)]
    lines += [f"{runner} cannot list its tests without running them" for runner in page.unlisted]
    if page.last:
        counts = ", ".join(
            f"{page.last[kind]} {kind}"
            for kind in ("failed", "errors", "passed", "skipped")
            if page.last.get(kind)
        )
        lines.append(f"last run: {page.last['outcome']}{f' ({counts})' if counts else ''}")
    for name, command in page.again.items():
        lines += [f"  {name}", f"    {command or 'its runner runs it only with all others'}"]
    return "\n".join(lines)
