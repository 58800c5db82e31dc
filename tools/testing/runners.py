"""Choice of a project's test runner: one table, in order of priority."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import build_trees, go_cargo, java, node, output_parsers, python
from tools.testing.launch import Launch
from tools.testing.project_files import Project, TestsNotRunnable

Launcher = Callable[[Workspace, Project, Sequence[str], Path], Awaitable[Launch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A test runner.

    found: returns the evidence that a project uses it, "" if there is none
    launch: returns how to run it; raises TestsNotRunnable if it cannot run here
    suffixes: suffixes of files it runs, to choose among several runners by target; () for any
    """

    name: str
    found: Callable[[Project], str]
    launch: Launcher
    suffixes: tuple[str, ...] = ()


async def choose_launch(at: Workspace, targets: Sequence[str], reports: Path) -> Launch:
    """Return the launch of the first runner that fits the project and can run. Raises TestsNotRunnable."""
    if at.settings.tests.command:
        return await _launch_named_command(at, Project(at), targets, reports)
    project = Project(at)
    problems: list[str] = []
    for runner in await asyncio.to_thread(find_fitting_runners, project, targets):
        try:
            return await runner.launch(at, project, targets, reports)
        except TestsNotRunnable as problem:
            problems.append(str(problem))
    names = ", ".join(runner.name for runner in RUNNERS)
    why = "; ".join(problems) or f"no runner found in {project.name} (looked for {names})"
    raise TestsNotRunnable(why)


def is_python_suite(at: Workspace, targets: Sequence[str]) -> bool:
    """Return whether the tests that would be run are Python tests or unknown."""
    project = Project(at)
    fitting = find_fitting_runners(project, targets)
    if at.settings.tests.command:
        return bool(project.python_tests) or not fitting
    return not fitting or fitting[0].name in _PYTHONS


def find_fitting_runners(project: Project, targets: Sequence[str]) -> list[Runner]:
    """Return the runners that the project uses and that can run the targets."""
    known = {suffix for runner in RUNNERS for suffix in runner.suffixes}
    wanted = {Path(target.partition("::")[0]).suffix for target in targets} & known
    able = [each for each in RUNNERS if not (wanted and each.suffixes) or wanted & set(each.suffixes)]
    return [each for each in able if each.found(project)]


async def _launch_named_command(
    at: Workspace, project: Project, targets: Sequence[str], reports: Path
) -> Launch:
    """Return the launch of the user's command, with a report if its runner is known."""
    command = at.settings.tests.command
    try:
        words = tuple(shlex.split(command))
    except ValueError:  # an open quote: bash reports it
        words = ()
    if not re.search(r"[|&;<>$`*?()]", command) and _is_pytest_command(words):
        unknown = python.Interpreter(
            path=words[0], has_pytest=True, has_coverage=False, has_missing_packages=False
        )
        return python.build_pytest_launch(at, project, unknown, words, targets, reports)
    whole = " ".join([command, *(shlex.quote(target) for target in targets)])
    return Launch(
        runner="tests.command",
        argv=("bash", "-c", whole),
        command=whole,
        parse=output_parsers.parse_any,
        has_count=False,
        is_trusted=True,
        env=shell_environment(),
    )


_STARTS_PYTEST = re.compile(r"(python[\d.]*|uv|poetry|pdm|hatch|pipenv|rye|coverage|pytest|py\.test)")
"""Programs after which the word pytest starts pytest with the arguments that follow."""


def _is_pytest_command(words: Sequence[str]) -> bool:
    return (
        bool(words)
        and _STARTS_PYTEST.fullmatch(Path(words[0]).name) is not None
        and any(Path(word).name in ("pytest", "py.test") for word in words[:4])
    )


def _make_command_runner(name: str, found: Callable[[Project], str], *argv: str) -> Runner:
    """Create a runner for a command whose output is parsed; it takes targets after `--`, if any."""

    async def launch(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
        if targets and argv[0] == "make":
            raise TestsNotRunnable(f"{name} runs all tests, not single ones: call run_tests without targets")
        words = (*argv, *(("--", *targets) if targets else ()))
        return Launch(
            runner=name,
            argv=words,
            command=project.format_command(words),
            parse=output_parsers.parse_any,
            has_count=False,
            env=shell_environment(),
        )

    return Runner(name=name, found=found, launch=launch)


def _detect_file(name: str, text: str = "") -> Callable[[Project], str]:
    return lambda project: name if project.contains_text(name, text) else ""


def _detect_make_target(target: str) -> Callable[[Project], str]:
    def detect(project: Project) -> str:
        for name in ("GNUmakefile", "makefile", "Makefile"):
            if re.search(rf"^{target}\s*:(?!=)", project.read_text(name), re.M):
                return f"{name}:{target}"
        return ""

    return detect


_PYTHON = (".py",)
_PYTHONS = frozenset({"pytest", "django", "unittest", "tox", "nox"})
_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts")
_JVM = (".java", ".kt", ".groovy")

RUNNERS = (
    Runner(name="pytest", found=python.detect_pytest, launch=python.launch_pytest, suffixes=_PYTHON),
    Runner(name="django", found=python.detect_django, launch=python.launch_django, suffixes=_PYTHON),
    Runner(name="unittest", found=python.detect_unittest, launch=python.launch_unittest, suffixes=_PYTHON),
    _make_command_runner("tox", _detect_file("tox.ini", "[testenv"), "tox", "-q"),
    _make_command_runner("nox", _detect_file("noxfile.py"), "nox"),
    Runner(name="package.json", found=node.detect_node, launch=node.launch_node, suffixes=_SCRIPT),
    Runner(name="go", found=go_cargo.detect_go, launch=go_cargo.launch_go, suffixes=(".go",)),
    Runner(name="cargo", found=go_cargo.detect_cargo, launch=go_cargo.launch_cargo, suffixes=(".rs",)),
    Runner(name="maven", found=java.detect_maven, launch=java.launch_maven, suffixes=_JVM),
    Runner(name="gradle", found=java.detect_gradle, launch=java.launch_gradle, suffixes=_JVM),
    Runner(name="rspec", found=build_trees.detect_rspec, launch=build_trees.launch_rspec, suffixes=(".rb",)),
    _make_command_runner("make test", _detect_make_target("test"), "make", "test"),
    _make_command_runner("make check", _detect_make_target("check"), "make", "check"),
    Runner(name="ctest", found=build_trees.detect_ctest, launch=build_trees.launch_ctest),
)
