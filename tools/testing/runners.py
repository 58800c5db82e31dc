"""Choice of a project's test runner: one table, in order of priority."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import build_trees, go_cargo, java, node, output_parsers, python
from tools.testing.launch import ADDED_PACKAGES, SPLIT_PACKAGES, Launch
from tools.testing.named_command import (
    get_named_command,
    launch_named_command,
    launch_remembered_command,
)
from tools.testing.package_suites import has_root_tests, list_package_suites, split_targets
from tools.testing.packages import find_enclosing_package, list_outer_packages
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.selection import SELECTIONS, find_program, split_recipe

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
    if get_named_command(at):
        return launch_named_command(at, targets, reports)
    project = Project(at)
    fitting = await asyncio.to_thread(find_fitting_runners, project, targets)
    if not fitting:
        names = ", ".join(runner.name for runner in RUNNERS)
        raise TestsNotRunnable(f"no runner found in {project.name} (looked for {names})")
    return await _launch_first(fitting, at, project, targets, reports)


def is_python_suite(at: Workspace, targets: Sequence[str]) -> bool:
    """Return whether the tests that would be run are Python tests or unknown."""
    project = Project(at)
    fitting = find_fitting_runners(project, targets)
    if get_named_command(at):
        return bool(project.python_tests) or not fitting
    return not fitting or fitting[0].name in _PYTHONS


def find_fitting_runners(project: Project, targets: Sequence[str]) -> list[Runner]:
    """Return the runners that the project uses and that can run the targets."""
    known = {suffix for runner in RUNNERS for suffix in runner.suffixes}
    wanted = {Path(target.partition("::")[0]).suffix for target in targets} & known
    able = [each for each in RUNNERS if not (wanted and each.suffixes) or wanted & set(each.suffixes)]
    fitting = [each for each in able if each.found(project)]
    if wanted or _has_python_project(project):
        return fitting
    late = (*_PYTHONS, *(() if _has_stray_tests(project) else _WRAPPERS))
    return sorted(fitting, key=lambda each: each.name in late)  # a manifest outweighs the name of a file


def list_suites(project: Project) -> list[list[Runner]]:
    """Return the project's suites: for each the runners that can run it, best first.

    A Makefile or a script that starts the runner of another suite is none of its own, nor are test files by name alone
    beside a manifest of another language.
    """
    fitting = find_fitting_runners(project, ())
    suites: dict[str, list[Runner]] = {}
    for runner in fitting:
        suites.setdefault(_GROUPS.get(runner.name, runner.name), []).append(runner)
    by_name_only = "python" in suites and not _has_python_project(project)
    by_name_of_other = _OTHER_PYTHON.search(_read_commands(project, "whole")) if "whole" in suites else None
    if by_name_only and len(suites) > 1 and (by_name_of_other or _has_stray_tests(project)):
        del suites["python"]
    if "node" in suites and len(suites) > 1 and not node.declares_tests(project):
        del suites["node"]  # a lock file or a configuration alone shows no tests
    own = {
        name: runners
        for name, runners in suites.items()
        if not any(
            _STARTERS[other].search(_read_commands(project, name)) for other in suites if other != name
        )
    }
    if by_name_only and set(own) == {"python", "whole"}:
        return list(own.values())
    return [runners for name, runners in own.items() if name != "whole" or len(own) == 1] or [fitting]


def list_stray_tests(project: Project) -> tuple[str, ...]:
    """Return the Python files that are named like tests and are not run, since nothing shows a Python project."""
    is_stray = not _has_python_project(project) and _has_stray_tests(project)
    others = (each for each in find_fitting_runners(project, ()) if each.name not in _PYTHONS)
    return project.python_tests if is_stray and any(others) else ()


def _has_python_project(project: Project) -> bool:
    known = (*python.PYTEST_CONFIG.items(), *_PYTHON_MANIFESTS.items())
    return any(project.contains_text(name, text) for name, text in known) or bool(
        python.detect_django(project)
    )


def _has_stray_tests(project: Project) -> bool:
    """Return whether all Python files named like tests are neither at the top nor in a folder for tests."""
    return all(
        "/" in each and not {"test", "tests"} & set(each.split("/")[:-1]) for each in project.python_tests
    )


def _read_commands(project: Project, suite: str) -> str:
    """Return the commands behind `make test` or the test script, "" for other suites."""
    if suite == "node":
        commands = node.list_script_commands(project)
        return "" if any(each.framework for each in commands) else "\n".join(each.text for each in commands)
    return _read_rules(project, "(?:test|check)") if suite == "whole" else ""


def _read_rules(project: Project, target: str) -> str:
    """Return the rules for a target, a pattern, with their commands."""
    texts = (project.read_text(name) for name in _MAKEFILES)
    rules = (re.findall(rf"^{target}\s*:(?!=)[^\n]*(?:\n\t[^\n]*)*", text, re.M) for text in texts)
    return "\n".join(rule for found in rules for rule in found)


async def choose_launches(
    at: Workspace, targets: Sequence[str], reports: Path
) -> tuple[list[Launch], list[str]]:
    """Return the launches of all suites of a project, and why others cannot be run. Raises TestsNotRunnable.

    With a command of the user there is one; with targets, one for each package that they are in. Where nothing can be
    run, it is what ran the tests here before, as far as that is remembered.
    """
    try:
        return await _choose_found_launches(at, targets, reports)
    except TestsNotRunnable:
        remembered = await launch_remembered_command(at, targets, reports)
        if remembered is None:
            raise
        return [remembered], []


async def _choose_found_launches(
    at: Workspace, targets: Sequence[str], reports: Path
) -> tuple[list[Launch], list[str]]:
    project = Project(at)
    suites = [] if get_named_command(at) else await asyncio.to_thread(_list_suites, at, project, targets)
    if len(suites) < 2 and not any(folder for folder, _, _ in suites):
        if suites and suites[0][1] and not targets:
            chosen = tuple(suites[0][1])
            others = await asyncio.to_thread(find_fitting_runners, project, ())
            order = (*chosen, *(each for each in others if each not in chosen))
            return [await _launch_first(order, at, project, (), reports)], []
        return [await choose_launch(at, targets, reports)], []
    launches, problems = await _launch_suites(at, project, suites, reports)
    if not launches:
        raise TestsNotRunnable("; ".join(problems))
    return launches, problems


async def choose_package_launches(
    at: Workspace, packages: Sequence[str], reports: Path
) -> tuple[list[Launch], list[str]]:
    """Return the launches of the suites of some packages, "" for the root, and why others cannot be run."""
    project = Project(at)
    suites = [
        (folder, runners, ())
        for folder in packages
        for runners in await asyncio.to_thread(list_suites, project.enter(folder))
        if runners
    ]
    return await _launch_suites(at, project, suites, reports)


_Suite = tuple[str, Sequence[Runner], Sequence[str]]
"""Folder of the package, "" for the root; its runners, best first; its targets."""


async def _launch_suites(
    at: Workspace, project: Project, suites: Sequence[_Suite], reports: Path
) -> tuple[list[Launch], list[str]]:
    launches: list[Launch] = []
    problems: list[str] = []
    for number, (package, runners, inner) in enumerate(suites):
        folder = reports / str(number)
        await asyncio.to_thread(folder.mkdir, exist_ok=True, parents=True)
        try:
            launch = await _launch_first(runners, at, project.enter(package), inner, folder)
            launches.append(replace(launch, folder=package))
        except TestsNotRunnable as problem:
            problems.append(str(problem))
    return launches, problems


def _list_suites(at: Workspace, project: Project, targets: Sequence[str]) -> list[_Suite]:
    split = at.facts.get(SPLIT_PACKAGES, ())
    packages = [*split, *list_package_suites(project, has_targets=bool(targets))]
    focus = find_enclosing_package(project, at.working_folder)
    added = [each for each in (focus, *at.facts.get(ADDED_PACKAGES, ())) if each]
    if targets:
        return [
            (folder, find_fitting_runners(project.enter(folder), inner), inner)
            for folder, inner in split_targets([*packages, *added], targets).items()
        ]
    if focus and (chosen := [each for each in list_suites(project.enter(focus)) if each]):
        return [(focus, runners, ()) for runners in chosen]
    inside = [(folder, runners, ()) for folder in packages for runners in list_suites(project.enter(folder))]
    kinds = {runner.name for _, runners, _ in inside for runner in runners}
    at_root = list_suites(project)
    if split and has_root_tests(project, split):
        kinds -= _PYTHONS
    found: list[_Suite] = [
        *(("", each, ()) for each in at_root if not kinds & {runner.name for runner in each}),
        *inside,
    ]
    if any(runners for _, runners, _ in found):
        return found
    outer = list_outer_packages(project)  # nothing at the root: each package by itself
    alone: list[_Suite] = [
        (folder, runners, ()) for folder in outer for runners in list_suites(project.enter(folder)) if runners
    ]
    return alone or found


async def _launch_first(
    runners: Sequence[Runner], at: Workspace, project: Project, targets: Sequence[str], reports: Path
) -> Launch:
    problems: list[str] = []
    for runner in runners:
        try:
            launch = await runner.launch(at, project, targets, reports)
            return replace(launch, reports=reports, evidence=runner.found(project))
        except TestsNotRunnable as problem:
            problems.append(str(problem))
    raise TestsNotRunnable("; ".join(problems))


def _make_command_runner(name: str, found: Callable[[Project], str], *argv: str) -> Runner:
    """Create a runner for a command whose output is parsed; it takes targets after `--`, if any.

    A rule of a Makefile takes none: if it does nothing but start one runner, that is started with them instead.
    """

    async def launch(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
        words = (*argv, *(("--", *targets) if targets else ()))
        if targets and argv[0] == "make":
            words = _select_in_recipe(project, argv[1], targets)
            if not words:
                why = f"{name} runs all tests, not single ones: call run_tests without targets"
                raise TestsNotRunnable(why)
        return Launch(
            runner=name,
            argv=words,
            command=project.format_command(words),
            parse=output_parsers.parse_any,
            has_count=False,
            env=shell_environment(),
        )

    return Runner(name=name, found=found, launch=launch)


def _select_in_recipe(project: Project, rule: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the only command of a rule with targets in place of its own, () if it starts no known runner."""
    lines = [line.strip() for line in _read_rules(project, rule).split("\n")[1:]]
    words = split_recipe(re.sub(r"^[@-]+\s*", "", lines[0])) if len(lines) == 1 else ()
    program = find_program(words)
    if not program:
        return ()
    chosen = SELECTIONS[program].format_arguments(targets)
    has_files = any((project.root / word).exists() for word in chosen)
    start = 3 if words[1:2] == ("-m",) else 1
    kept = (
        word
        for word in words[start:]
        if word.startswith("-") or not has_files or not (project.root / word).exists()
    )
    return (*words[:start], *chosen, *kept)


def _detect_file(name: str, text: str = "") -> Callable[[Project], str]:
    return lambda project: name if project.contains_text(name, text) else ""


def _detect_make_target(target: str) -> Callable[[Project], str]:
    def detect(project: Project) -> str:
        for name in _MAKEFILES:
            if re.search(rf"^{target}\s*:(?!=)", project.read_text(name), re.M):
                return f"{name}:{target}"
        return ""

    return detect


_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PYTHON = (".py",)
_WRAPPERS = ("make test", "make check", "ctest")
_PYTHONS = frozenset({"pytest", "django", "unittest", "tox", "nox"})
_PYTHON_MANIFESTS = {
    "pyproject.toml": "[project]",
    "setup.py": "",
    "setup.cfg": "[metadata]",
    "requirements.txt": "",
    "requirements-dev.txt": "",
    "Pipfile": "",
    "poetry.lock": "",
    "uv.lock": "",
    "tox.ini": "",
    "noxfile.py": "",
}
"""Files that show a Python project, and the text that they must contain ("": any)."""

_GROUPS: Mapping[str, str] = {
    **dict.fromkeys(_PYTHONS, "python"),
    **dict.fromkeys(_WRAPPERS, "whole"),
    **dict.fromkeys(("maven", "gradle"), "jvm"),
    **dict.fromkeys(("package.json", "bun", "deno"), "node"),
}
"""Suite that a runner is for: runners of one suite are alternatives."""

_OTHER_PYTHON = compile_lazily(
    r"\b(?:nose2|trial|zope-testrunner|green|stestr|ward|mamba|avocado|behave|robot|lit)\b"
)
"""Runners of Python tests that only a rule of a Makefile starts: files that are named like tests are theirs."""

_STARTERS = {
    "python": compile_lazily(
        r"\b(?:pytest|py\.test|unittest|tox|nox|python[\d.]*|manage\.py)\b|\$[({]PY\w*[)}]"
    ),
    "node": compile_lazily(r"\b(?:npm|npx|yarn|pnpm|bun|deno|node|jest|vitest|mocha)\b"),
    "go": compile_lazily(r"\b(?:go|gotestsum)\b"),
    "cargo": compile_lazily(r"\bcargo\b"),
    "jvm": compile_lazily(r"\bmvnw?\b|\bgradlew?\b"),
    "rspec": compile_lazily(r"\b(?:rspec|rake|bundle)\b"),
    "whole": compile_lazily(r"\b(?:make|ctest)\b"),
}
"""Words in a command that starts the runner of a suite."""

_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts")
_JVM = (".java", ".kt", ".groovy")

RUNNERS = (
    Runner(name="pytest", found=python.detect_pytest, launch=python.launch_pytest, suffixes=_PYTHON),
    Runner(name="django", found=python.detect_django, launch=python.launch_django, suffixes=_PYTHON),
    Runner(name="unittest", found=python.detect_unittest, launch=python.launch_unittest, suffixes=_PYTHON),
    _make_command_runner("tox", _detect_file("tox.ini", "[testenv"), "tox", "-q"),
    _make_command_runner("nox", _detect_file("noxfile.py"), "nox"),
    Runner(name="package.json", found=node.detect_node, launch=node.launch_node, suffixes=_SCRIPT),
    Runner(name="bun", found=node.detect_bun, launch=node.launch_bun, suffixes=_SCRIPT),
    Runner(name="deno", found=node.detect_deno, launch=node.launch_deno, suffixes=_SCRIPT),
    Runner(name="go", found=go_cargo.detect_go, launch=go_cargo.launch_go, suffixes=(".go",)),
    Runner(name="cargo", found=go_cargo.detect_cargo, launch=go_cargo.launch_cargo, suffixes=(".rs",)),
    Runner(name="maven", found=java.detect_maven, launch=java.launch_maven, suffixes=_JVM),
    Runner(name="gradle", found=java.detect_gradle, launch=java.launch_gradle, suffixes=_JVM),
    Runner(name="rspec", found=build_trees.detect_rspec, launch=build_trees.launch_rspec, suffixes=(".rb",)),
    _make_command_runner("make test", _detect_make_target("test"), "make", "test"),
    _make_command_runner("make check", _detect_make_target("check"), "make", "check"),
    Runner(name="ctest", found=build_trees.detect_ctest, launch=build_trees.launch_ctest),
)
