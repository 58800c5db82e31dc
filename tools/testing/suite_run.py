"""One run of a project's tests: choose the runner, start it, parse its results, determine the outcome."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.policy.decision import Mode
from sandbox.process.command import Command, Completed
from tools.changes.lock_files import LOCK_FILES, read_locks
from tools.core.text import join_names
from tools.core.workspace import Workspace
from tools.shell.command_output import make_progress_callback, shape_output
from tools.testing import output_parsers
from tools.testing.launch import (
    ADDED_PACKAGES,
    COPY,
    KNOWN_TESTS,
    LISTING,
    SPLIT_PACKAGES,
    SUITE_NAMES,
    FinishedRun,
    Launch,
)
from tools.testing.named_command import get_named_command
from tools.testing.package_suites import describe_missing_scripts, list_split_packages, place_report
from tools.testing.packages import SuiteScope, list_packages_to_run
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.report import Findings, Outcome, TestReport, join_reports, limit_failures, limit_names
from tools.testing.runners import choose_launches, choose_package_launches, list_stray_tests
from tools.testing.task_output import EXECUTE_TASKS, find_replay

_TRUST = "A command whose exit status is enough can be named as tests.command."

RECORDING, BEFORE_CHANGES = 1.0, 1 / 3
"""Seconds of a turn that are kept to record a run, and the share of it that a run before any change may take."""

TAIL = 4_000
"""Characters of output shown when there is no structured result: enough for a traceback."""


async def run_project(at: Workspace, targets: Sequence[str]) -> TestReport:
    """Run the tests; if they cannot be run, the report gives the reason."""
    reports = await asyncio.to_thread(_create_report_folder, at)
    manifests = [path for path in at.changes if path.rpartition("/")[2] in _MANIFESTS]
    locks = await asyncio.to_thread(read_locks, at.root, manifests) if manifests else {}
    try:
        return await _run_suites(at, tuple(targets), reports)
    finally:
        await asyncio.to_thread(_remove_folder, reports)
        await asyncio.to_thread(_note_followed_locks, at, manifests, locks)


_MANIFESTS = frozenset(each.manifest for each in LOCK_FILES)


def _note_followed_locks(at: Workspace, manifests: Sequence[str], before: Mapping[str, bytes]) -> None:
    """Record the lock files that a runner brought up to a manifest that the session changed, as cargo does: they are
    committed with it."""
    for path, content in read_locks(at.root, manifests).items() if manifests else ():
        if path in before and before[path] != content:
            at.changes.remember_content(at.root, path, before[path])


async def run_copy(
    at: Workspace,
    seconds: float,
    *,
    targets: Sequence[str] = (),
    denied: Sequence[Path] = (),
    listing: bool = False,
) -> TestReport:
    """Run tests of a copy of the project: `at.root`, which is not the sandbox's workspace. All tests are named.

    seconds: wall time until they are killed
    targets: test ids or paths; empty for all
    denied: files of the workspace that the tests may not read, so that they cannot test these instead of the copy's
    listing: where the runner can, tests are only collected, and each counts as passed
    """
    reports = await asyncio.to_thread(_create_report_folder, at)
    try:
        tests = replace(at.settings.tests, timeout=seconds)
        limited = replace(
            at, settings=replace(at.settings, tests=tests), facts={**at.facts, COPY: True, LISTING: listing}
        )
        return await _run_suites(limited, tuple(targets), reports, beside=(at.root,), denied=tuple(denied))
    finally:
        await asyncio.to_thread(_remove_folder, reports)


async def list_tests(at: Workspace) -> dict[str, list[str]]:
    """Return the names of the tests by runner, of the runners that collect them without running them."""
    reports = await asyncio.to_thread(_create_report_folder, at)
    listed = replace(at, facts={**at.facts, LISTING: True})
    found: dict[str, list[str]] = {}
    try:
        launches, _ = await choose_launches(listed, (), reports)
        for launch in launches:
            if launch.can_list:
                report = await _run_launch(listed, launch, launch.reports or reports, (), ())
                found[launch.runner] = [*found.get(launch.runner, ()), *report.passed_tests]
    except TestsNotRunnable:
        return {}
    finally:
        await asyncio.to_thread(_remove_folder, reports)
    return found


def _names_our_report(line: str) -> bool:
    """Return whether a runner says where it wrote the report that we asked for (pytest: `generated xml file`)."""
    return "generated xml file:" in line


async def _run_suites(
    at: Workspace,
    targets: tuple[str, ...],
    reports: Path,
    beside: tuple[Path, ...] = (),
    denied: tuple[Path, ...] = (),
) -> TestReport:
    """Run the chosen launches and build one report. A log gets a limited number of names, a copy's report has all.

    beside: folders that may be written instead of the workspace; denied: files that may not be read
    """
    try:
        launches, problems = await choose_launches(at, targets, reports)
    except TestsNotRunnable as problem:
        return _build_no_runner_report(str(problem))
    parts = [await _run_launch(at, launch, launch.reports or reports, beside, denied) for launch in launches]
    report = join_reports(parts, problems)
    if not targets and not get_named_command(at) and not at.facts.get(LISTING):
        report = await _run_apart(at, report, reports, beside, denied)
        report = await _run_left_out(at, report, reports, beside, denied)
    if not targets and not get_named_command(at):
        strays = await asyncio.to_thread(list_stray_tests, Project(at))
        if strays:
            told = f"not run, since nothing but the name shows a Python project: {join_names(strays, 3)}"
            report = replace(report, note="; ".join(filter(None, (report.note, told))))
        if missing := await asyncio.to_thread(describe_missing_scripts, Project(at)):
            report = replace(report, note="; ".join(filter(None, (report.note, missing))))
    names = {*report.passed_tests, *report.skipped_tests, *(each.id for each in report.failures)}
    at.facts[KNOWN_TESTS] = at.facts.get(KNOWN_TESTS, frozenset()) | names
    if beside or not report.runner:
        return report
    if not targets:
        at.facts[SUITE_NAMES] = report.passed_tests, report.skipped_tests
    return replace(
        report, passed_tests=limit_names(report.passed_tests), skipped_tests=limit_names(report.skipped_tests)
    )


async def _run_apart(
    at: Workspace, report: TestReport, reports: Path, beside: tuple[Path, ...], denied: tuple[Path, ...]
) -> TestReport:
    """Return the report of each Python package's run from its own folder where they cannot be run together, as with
    test files of one name or a configuration in each; else the given report."""
    if report.outcome != "broken" or "pytest" not in report.runner or SPLIT_PACKAGES in at.facts:
        return report
    apart = tuple(await asyncio.to_thread(list_split_packages, Project(at)))
    if not apart or at.working_folder:
        return report
    split = replace(at, facts={**at.facts, SPLIT_PACKAGES: apart})
    launches, problems = await choose_launches(split, (), reports / "apart")
    parts = [await _run_launch(split, each, each.reports or reports, beside, denied) for each in launches]
    found = join_reports(parts, problems)
    at.facts[SPLIT_PACKAGES] = () if found.outcome == "broken" else apart
    return report if found.outcome == "broken" else found


async def _run_left_out(
    at: Workspace, report: TestReport, reports: Path, beside: tuple[Path, ...], denied: tuple[Path, ...]
) -> TestReport:
    """Return the report with the packages of changed files, and those that depend on them, which it left out.

    Once a package was run, later runs and those of copies have it too, so that they can be compared.
    """
    added: tuple[str, ...] = at.facts.get(ADDED_PACKAGES, ())
    if not beside and report.outcome != "timeout":
        changed = list(at.changes)
        scope = SuiteScope(runner=report.runner, command=report.command, names=report.passed_tests)
        more = await asyncio.to_thread(list_packages_to_run, Project(at), changed, scope)
        added = (*added, *(each for each in more if each not in added))
    if not added:
        return report
    launches, _ = await choose_package_launches(at, added, reports / "added")
    if not launches:
        return report
    at.facts[ADDED_PACKAGES] = added
    parts = [await _run_launch(at, each, each.reports or reports, beside, denied) for each in launches]
    return join_reports([report, *parts])


async def _run_launch(
    at: Workspace, launch: Launch, reports: Path, beside: tuple[Path, ...], denied: tuple[Path, ...]
) -> TestReport:
    started = time.time()
    command = _build_command(at, launch, reports, beside, denied)
    try:
        completed = await at.sandbox.run(
            command,
            make_progress_callback(at, hide=_names_our_report),
        )
    except UserError as error:  # the program is not installed, or the sandbox refused
        why = ". ".join(part.rstrip(".") for part in (error.message, error.hint) if part)
        return replace(_build_no_runner_report(why), command=launch.command)
    report = await asyncio.to_thread(_build_report, at, launch, completed, started, reports, command.timeout)
    if not report.counted and completed.returncode and not beside:
        report = await _explain_obstacle(at, launch, report, completed.stdout.text())
    return place_report(report, launch.folder)


async def _explain_obstacle(at: Workspace, launch: Launch, report: TestReport, said: str) -> TestReport:
    """Return the report of a run that failed without results with what is missing, as `doctor` says it."""
    from tools.testing.obstacles import find_obstacle, read_obstacle

    obstacle = read_obstacle(said) or await find_obstacle(at, Project(at, launch.folder), launch)
    if obstacle is None:
        return report
    reason, remedy = obstacle
    return replace(report, outcome="broken", note=f"the tests could not start: {reason}. {remedy}")


def compute_time_limit(at: Workspace, *, beside: bool = False) -> float:
    """Return the seconds that a run may take, so that its results are still recorded when the turn has to stop.

    beside: of a copy, by a search that knows its time. Any other run before a change may take a third of the turn's:
    with less left nothing that it finds could be mended and run again
    """
    left = at.seconds_left() - RECORDING
    share = 1.0 if beside or at.changes else BEFORE_CHANGES
    return min(at.settings.tests.timeout, max(1.0, left * share))


def _build_command(
    at: Workspace, launch: Launch, reports: Path, beside: tuple[Path, ...], denied: tuple[Path, ...]
) -> Command:
    env = {**at.variables, **EXECUTE_TASKS, **launch.env}
    if denied:  # an editable installation leads to the workspace: what is in the copy comes first
        places = dict.fromkeys((at.root / launch.folder, at.root))
        env["PYTHONPATH"] = os.pathsep.join(str(each) for place in places for each in (place / "src", place))
    return Command(
        argv=launch.argv,
        cwd=at.root / launch.folder,
        env=env,
        timeout=compute_time_limit(at, beside=bool(beside)),
        scope="read-only" if beside or at.mode is Mode.READ_ONLY else "workspace",
        writable=(reports, *beside, *launch.writable),
        withheld=denied,
    )


def _parse_run(launch: Launch, evidence: FinishedRun) -> Findings:
    """Parse a run by its report, or by its output where the project's own code has spoiled the report."""
    try:
        return launch.parse(evidence)
    except (ValueError, TypeError, AttributeError, LookupError):  # of a shape that no runner writes
        return output_parsers.parse_any(evidence)


def _create_report_folder(at: Workspace) -> Path:
    parent = at.folders.reports
    create_private_folder(parent)
    return Path(tempfile.mkdtemp(dir=parent))


def _remove_folder(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)  # a leftover report is harmless


def _build_no_runner_report(why: str) -> TestReport:
    return TestReport(
        runner="",
        command="",
        outcome="no-runner",
        note=f"tests were not run: {why}.",
        output='Name the command: --tests "python -m pytest" …, or tests.command in patchwright.toml; '
        "or run it with shell.",
    )


def _build_report(
    at: Workspace, launch: Launch, completed: Completed, started: float, reports: Path, limit: float
) -> TestReport:
    output = shape_output(at, completed.stdout, budget=TAIL, keep=True)
    evidence = FinishedRun(
        root=at.root / launch.folder,
        returncode=completed.returncode,
        text=completed.stdout.text(),
        full_output=at.artifacts.find_file(output.ref) if completed.stdout.omitted_bytes else None,
        report_folder=reports,
        start_time=started,
    )
    found = _parse_run(launch, evidence)
    outcome, note = judge_outcome(found, completed, launch, limit)
    if outcome == "timeout" and limit < at.settings.tests.timeout:
        note = f"killed after {limit:.0f} s, since the turn is short of time (--max-time)"
    # failures with locations are complete: the output would repeat them
    told = outcome == "passed" or (found.failures and all(each.file for each in found.failures))
    return TestReport(
        runner=launch.runner,
        command=launch.command,
        outcome=outcome,
        collected=found.results - found.repeated,
        passed=found.passed,
        failed=found.failed,
        errors=found.errors,
        skipped=found.skipped,
        xfailed=found.xfailed,
        xpassed=found.xpassed,
        deselected=found.deselected,
        passed_tests=found.passed_tests,
        skipped_tests=found.skipped_tests,
        duration=completed.duration,
        failures=limit_failures(found.failures),
        counted=found.counted,
        note=note,
        output="" if told else output.text,
        ref=output.ref,
    )


def judge_outcome(
    found: Findings, completed: Completed, launch: Launch, timeout: float
) -> tuple[Outcome, str]:
    """Determine the outcome: no pass with zero tests run, without the end of the run, or with a failing exit status."""
    ran = found.passed + found.failed + found.errors + found.xpassed
    status = completed.returncode
    if completed.ended != "exited":
        return "timeout", f"killed after {timeout:g} s: run fewer tests, or raise tests.timeout"
    if found.broken:
        return "broken", found.broken
    if not found.counted:
        idle = output_parsers.explain_idle_make(completed.stdout.text()) if not status else ""
        if not idle and found.lost and not status:
            return "broken", found.lost
        return ("no-tests", idle) if idle else _judge_by_status(status, launch)
    if found.failed or found.errors:
        return "failed", found.lost
    if found.lost:
        return "broken", found.lost
    if not ran:
        unrun = found.skipped or found.xfailed
        if unrun and status:
            return "failed", f"no test ran, and the command ended with exit {status}"
        return "no-tests", "all tests were skipped" if unrun else "no test matched or was collected"
    if status:
        return "failed", f"every test passed, but the command ended with exit {status}"
    if replay := find_replay(completed.stdout.text()):
        return "unverified", f"results of an earlier run were shown, not all tests were executed: {replay!r}"
    return "passed", ""


def _judge_by_status(status: int, launch: Launch) -> tuple[Outcome, str]:
    if status < 0:
        return "broken", f"the tests were ended by signal {-status} before they could report"
    if launch.has_count:
        return "broken", f"{launch.runner} ended with exit {status}, but left no results"
    if status:
        return "failed", f"exit {status}; the output does not say which tests failed"
    note = "nothing counted: exit 0, but the output does not say how many tests ran"
    return ("passed", note) if launch.is_trusted else ("unverified", f"{note}. {_TRUST}")
