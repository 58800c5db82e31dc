"""Which runner a project's tests need: one table, read from the top."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.environment import shell_environment
from tools.testing import compiled, console, java, node, python
from tools.testing.evidence import Launch
from tools.testing.project import Project, TestsNotRunnable
from tools.workspace import Workspace

Launcher = Callable[[Workspace, Project, Sequence[str], Path], Awaitable[Launch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A way to run tests.

    found: the evidence that a project uses it, "" if there is none
    launch: how to run it; raises TestsNotRunnable when that cannot be done here
    suffixes: files it runs, to choose among several runners by what is asked for; () for any
    """

    name: str
    found: Callable[[Project], str]
    launch: Launcher
    suffixes: tuple[str, ...] = ()


async def choose(at: Workspace, targets: Sequence[str], reports: Path) -> Launch:
    """The launch of the first runner that fits the project and can run. Raises TestsNotRunnable."""
    if at.settings.test_command:
        return await _named(at, Project(at), targets, reports)
    project = Project(at)
    problems: list[str] = []
    for runner in await asyncio.to_thread(_fitting, project, targets):
        try:
            return await runner.launch(at, project, targets, reports)
        except TestsNotRunnable as problem:
            problems.append(str(problem))
    names = ", ".join(runner.name for runner in RUNNERS)
    why = "; ".join(problems) or f"no runner found in {project.name} (looked for {names})"
    raise TestsNotRunnable(why)


def is_python(at: Workspace, targets: Sequence[str]) -> bool:
    """Whether the tests that would be run are Python's, or nothing is known of them."""
    project = Project(at)
    fitting = _fitting(project, targets)
    if at.settings.test_command:
        return bool(project.python_tests) or not fitting
    return not fitting or fitting[0].name in _PYTHONS


def _fitting(project: Project, targets: Sequence[str]) -> list[Runner]:
    """Runners that the project uses and that can run what is asked for."""
    known = {suffix for runner in RUNNERS for suffix in runner.suffixes}
    wanted = {Path(target.partition("::")[0]).suffix for target in targets} & known
    able = [each for each in RUNNERS if not (wanted and each.suffixes) or wanted & set(each.suffixes)]
    return [each for each in able if each.found(project)]


async def _named(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    """The command that the user named, made to report where we know how to."""
    command = at.settings.test_command
    try:
        words = tuple(shlex.split(command))
    except ValueError:  # an open quote: bash will say so
        words = ()
    if not re.search(r"[|&;<>$`*?()]", command) and _is_pytest(words):
        unknown = python.Interpreter(path=words[0], pytest=True, covered=False, missing=False)
        return python.pytest_launch(at, project, unknown, words, targets, reports)
    whole = " ".join([command, *(shlex.quote(target) for target in targets)])
    return Launch(
        runner="tests.command",
        argv=("bash", "-c", whole),
        command=whole,
        parse=console.anything,
        counts=False,
        env=shell_environment(),
    )


_STARTS_PYTEST = re.compile(r"(python[\d.]*|uv|poetry|pdm|hatch|pipenv|rye|coverage|pytest|py\.test)")
"""Programs after which the word pytest means that pytest is started, and given what follows."""


def _is_pytest(words: Sequence[str]) -> bool:
    return (
        bool(words)
        and _STARTS_PYTEST.fullmatch(Path(words[0]).name) is not None
        and any(Path(word).name in ("pytest", "py.test") for word in words[:4])
    )


def _command(name: str, found: Callable[[Project], str], *argv: str) -> Runner:
    """A runner that is one command, understood by its output; it takes targets after `--`, if any."""

    async def launch(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
        if targets and argv[0] == "make":
            raise TestsNotRunnable(f"{name} runs all tests, not single ones: call run_tests without targets")
        words = (*argv, *(("--", *targets) if targets else ()))
        return Launch(
            runner=name,
            argv=words,
            command=project.typed(words),
            parse=console.anything,
            counts=False,
            env=shell_environment(),
        )

    return Runner(name=name, found=found, launch=launch)


def _file(name: str, text: str = "") -> Callable[[Project], str]:
    return lambda project: name if project.mentions(name, text) else ""


def _make_target(target: str) -> Callable[[Project], str]:
    def found(project: Project) -> str:
        for name in ("GNUmakefile", "makefile", "Makefile"):
            if re.search(rf"^{target}\s*:(?!=)", project.text(name), re.M):
                return f"{name}:{target}"
        return ""

    return found


_PYTHON = (".py",)
_PYTHONS = frozenset({"pytest", "django", "unittest", "tox", "nox"})
_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts")
_JVM = (".java", ".kt", ".groovy")

RUNNERS = (
    Runner(name="pytest", found=python.pytest_found, launch=python.launch_pytest, suffixes=_PYTHON),
    Runner(name="django", found=python.django_found, launch=python.launch_django, suffixes=_PYTHON),
    Runner(name="unittest", found=python.unittest_found, launch=python.launch_unittest, suffixes=_PYTHON),
    _command("tox", _file("tox.ini", "[testenv"), "tox", "-q"),
    _command("nox", _file("noxfile.py"), "nox"),
    Runner(name="package.json", found=node.node_found, launch=node.launch_node, suffixes=_SCRIPT),
    Runner(name="go", found=compiled.go_found, launch=compiled.launch_go, suffixes=(".go",)),
    Runner(name="cargo", found=compiled.cargo_found, launch=compiled.launch_cargo, suffixes=(".rs",)),
    Runner(name="maven", found=java.maven_found, launch=java.launch_maven, suffixes=_JVM),
    Runner(name="gradle", found=java.gradle_found, launch=java.launch_gradle, suffixes=_JVM),
    _command("make test", _make_target("test"), "make", "test"),
    _command("make check", _make_target("check"), "make", "check"),
)
