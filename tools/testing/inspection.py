"""What a run of a project's tests would start, and whether it can, without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace
from tools.testing.launch import KNOWN_TESTS
from tools.testing.obstacles import find_obstacle
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.runners import choose_launches


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInspection:
    """A suite that a run would start.

    command: as a user would type it; folder: of the package that it belongs to, "" for the root
    evidence: the file, setting or script by which the runner was chosen
    can_list: its tests can be listed without running them
    obstacle, remedy: why it cannot run here, and what to do; "" if nothing is known to be missing
    """

    runner: str
    command: str
    folder: str
    evidence: str
    can_list: bool
    obstacle: str = ""
    remedy: str = ""


async def inspect_suites(at: Workspace, reports: Path) -> tuple[list[SuiteInspection], list[str]]:
    """Return the suites that a run would start, and why others are not run. Raises TestsNotRunnable for none."""
    launches, problems = await choose_launches(at, (), reports)
    found = []
    for launch in launches:
        obstacle, remedy = await find_obstacle(at, Project(at), launch) or ("", "")
        found.append(
            SuiteInspection(
                runner=launch.runner,
                command=launch.command,
                folder=launch.folder,
                evidence=launch.evidence,
                can_list=launch.can_list,
                obstacle=obstacle,
                remedy=remedy,
            )
        )
    return found, problems


async def format_reruns(at: Workspace, names: Sequence[str], reports: Path) -> dict[str, str]:
    """Return the command that runs each test again, "" for one that its runner cannot run alone."""
    at.facts[KNOWN_TESTS] = at.facts.get(KNOWN_TESTS, frozenset()) | set(names)
    commands: dict[str, str] = {}
    for name in names:
        try:
            launches, _ = await choose_launches(at, (name,), reports)
        except TestsNotRunnable:
            launches = []
        commands[name] = launches[0].command if launches else ""
    return commands
