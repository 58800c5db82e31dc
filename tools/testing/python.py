"""Python projects: choice of the interpreter, and pytest, unittest and Django's test command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command import Command
from tools.core.surroundings import Surroundings
from tools.shell.environment import python_environment
from tools.testing import junit, output_parsers
from tools.testing.launch import COPY, LISTING, SPLIT_PACKAGES, FinishedRun, Launch
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.report import Findings

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PYTEST_CONFIG = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "setup.cfg": "[tool:pytest]",
    "tox.ini": "[pytest]",
    "conftest.py": "",
    "tests/conftest.py": "",
    "test/conftest.py": "",
}
"""Configuration files of pytest, and the text that they must contain ("": any)."""

_PYTEST_WAY = compile_lazily(r"^(?:async )?def test|^class Test\w*(?:\(\))?:|^(?:import|from) pytest\b", re.M)
"""A test function, a test class without a base, or the use of pytest."""

VENVS = (".venv", "venv", "env")
"""Usual folders of a project's virtual environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python interpreter that can run tests.

    has_pytest: pytest can be imported
    has_coverage: it has the pytest-cov plugin
    needs_source_path: whether packages under src/ are imported only with a changed path, or are another installed copy
        else; one that was compiled there stays in use
    """

    path: str
    has_pytest: bool
    has_coverage: bool
    needs_source_path: bool


def detect_pytest(project: Project) -> str:
    """Return the file that shows that this is a pytest project, "" if none does; Django has tests of its own way."""
    for name, text in PYTEST_CONFIG.items():
        if project.contains_text(name, text):
            return name
    return "" if detect_django(project) else next(iter(project.python_tests), "")


def detect_unittest(project: Project) -> str:
    return next((name for name in project.python_tests if project.contains_text(name, "unittest")), "")


def detect_django(project: Project) -> str:
    return "manage.py" if project.contains_text("manage.py", "DJANGO_SETTINGS_MODULE") else ""


async def launch_pytest(at: Surroundings, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    python = await find_interpreter(at, project, pytest=True)
    return build_pytest_launch(at, project, python, (python.path, "-m", "pytest"), targets, reports)


def build_pytest_launch(
    at: Surroundings,
    project: Project,
    python: Interpreter,
    start: tuple[str, ...],
    targets: Sequence[str],
    reports: Path,
) -> Launch:
    """Build a pytest command line that writes our report; `start` is its beginning, as a user would type it."""
    cache = at.folders.cache / "pytest" / project.key
    create_private_folder(cache)
    listing = bool(at.facts.get(LISTING))
    apart = () if targets or project.folder else at.facts.get(SPLIT_PACKAGES, ())
    start = (*start, *(f"--ignore={each}" for each in apart))
    ours = (
        *(("--collect-only", "--verbosity=-1") if listing else ()),
        "--tb=short",
        f"--junitxml={reports / 'junit.xml'}",
        "-o",
        "junit_family=xunit1",  # the one with file names
        "-o",
        f"cache_dir={cache}",  # not `-p no:cacheprovider`: a project's --ff would be an unknown option
        *(("--no-cov",) if python.has_coverage else ()),  # a partial run never reaches the required coverage
    )
    return Launch(
        runner="pytest",
        argv=(*start, *ours, *targets),
        command=project.format_command((*start, *targets)),
        parse=_parse_pytest_listing if listing else _parse_pytest,
        env=_build_environment(at, project, python),
        writable=(cache,),
        can_list=True,
    )


async def launch_unittest(
    at: Surroundings, project: Project, targets: Sequence[str], reports: Path
) -> Launch:
    python = await find_interpreter(at, project, pytest=False)
    if targets:
        arguments = ["-v", *(_to_dotted_name(target) for target in targets)]
    else:
        arguments = ["discover", "-v", *_find_start_folder(project)]
    argv = (python.path, "-m", "unittest", *arguments)
    return Launch(
        runner="unittest",
        argv=argv,
        command=project.format_command(argv),
        parse=output_parsers.parse_unittest,
        env=_build_environment(at, project, python),
    )


async def launch_django(at: Surroundings, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    python = await find_interpreter(at, project, pytest=False)
    argv = (
        python.path,
        "manage.py",
        "test",
        "-v",
        "2",
        "--noinput",
        *(_to_dotted_name(each) for each in targets),
    )
    env = _build_environment(at, project, python)
    return Launch(
        runner="django",
        argv=argv,
        command=project.format_command(argv),
        parse=output_parsers.parse_unittest,
        env=env,
    )


async def find_interpreter(at: Surroundings, project: Project, *, pytest: bool) -> Interpreter:
    """Return the first suitable interpreter. Results are cached: each probe costs a process."""
    known: dict[str, Interpreter] = at.facts.setdefault("interpreters", {})
    asked = []
    nearest = [str(project.root / each / "bin/python") for each in VENVS] if project.folder else []
    own = [each for each in nearest if os.access(each, os.X_OK)]
    for path in dict.fromkeys((*own, *list_interpreter_paths(at.root))):
        key = f"{project.folder}:{path}" if project.folder else path
        found = known.get(key) or await _probe_interpreter(at, path, project.root)
        if found is None:
            continue
        if found.has_pytest:  # not cached without pytest, which may be installed at any time
            known[key] = found
        if found.has_pytest or not pytest:
            return found
        asked.append(project.format_command((path,)))
        if is_pure_unittest(project):
            break  # another interpreter may have pytest, but not this project's dependencies or version
    raise TestsNotRunnable(
        f"pytest cannot be imported by any Python here (asked: {', '.join(asked) or 'none works'})"
    )


async def find_test_interpreter(at: Surroundings, project: Project) -> Interpreter:
    """Return the interpreter that runs the project's tests, with either framework."""
    if not is_pure_unittest(project):
        with suppress(TestsNotRunnable):
            return await find_interpreter(at, project, pytest=True)
    return await find_interpreter(at, project, pytest=False)


async def find_test_python(at: Surroundings, project: Project) -> str:
    """Return the path of the interpreter that runs the project's tests, "" if there is none."""
    try:
        return (await find_test_interpreter(at, project)).path
    except TestsNotRunnable:
        return ""


def is_pure_unittest(project: Project) -> bool:
    """Return whether unittest runs all tests: pytest is not configured, and no test is written for it."""
    if any(project.contains_text(name, text) for name, text in PYTEST_CONFIG.items()):
        return False
    texts = [project.read_text(name) for name in project.python_tests]
    return any("TestCase" in text for text in texts) and not any(map(_PYTEST_WAY.search, texts))


def list_interpreter_paths(root: Path) -> Iterator[str]:
    """Yield interpreter paths, those closest to the project first, without duplicates."""
    seen: set[str] = set()
    folders = [root / name for name in VENVS]
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        folders.append(Path(active))
    for path in (
        *(folder / "bin" / "python" for folder in folders),
        *_list_path_interpreters(),
        Path(sys.executable),
    ):
        if str(path) not in seen and os.access(path, os.X_OK):
            seen.add(str(path))
            yield str(path)


def _list_path_interpreters() -> Iterator[Path]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if Path(folder).is_absolute():
            yield from (Path(folder, "python3"), Path(folder, "python"))


_QUESTION = """
import os, importlib.util as u
def find(name):
    try: return u.find_spec(name)
    except Exception: return None
source = os.path.realpath("src") + os.sep
def is_ours(name):
    found = find(name)
    place = os.path.realpath(found.origin) if found and os.path.isfile(found.origin or "") else ""
    if not place or place.startswith(source): return bool(found)
    beside = os.listdir(os.path.dirname(place)) if os.path.basename(place) == "__init__.py" else [place]
    return any(each.endswith((".so", ".pyd")) for each in beside)
own = [n.split(".")[0] for n in (os.listdir("src") if os.path.isdir("src") else ())
       if n.endswith(".py") or os.path.isfile(os.path.join("src", n, "__init__.py"))]
print("answer", int(bool(find("pytest"))), int(bool(find("pytest_cov"))), int(not all(map(is_ours, own))))
"""
"""Probe script, run by an interpreter in the workspace root; works on any Python 3."""


async def _probe_interpreter(at: Surroundings, path: str, folder: Path) -> Interpreter | None:
    command = Command(
        argv=(path, "-c", _QUESTION),
        cwd=folder,
        env=python_environment(),
        timeout=20,
        scope="read-only",
        writable=(at.root,) if at.facts.get(COPY) else (),
    )
    try:
        done = await at.sandbox.run(command)
    except UserError:  # it cannot be started (a venv whose Python was removed): try the next one
        return None
    words = done.stdout.text().split()
    if done.returncode or len(words) < 4 or words[-4] != "answer":
        return None
    pytest, covered, missing = (word == "1" for word in words[-3:])
    return Interpreter(path=path, has_pytest=pytest, has_coverage=covered, needs_source_path=missing)


def _build_environment(at: Surroundings, project: Project, python: Interpreter) -> Mapping[str, str]:
    env = dict(python_environment())
    if python.needs_source_path:
        env["PYTHONPATH"] = str(project.root / "src")
    return env


def _parse_pytest(evidence: FinishedRun) -> Findings:
    found = junit.parse_junit(
        evidence.read_report_file("junit.xml"),
        evidence.root,
        junit.format_pytest_id,
        broken=_is_collection_failure,
    )
    if evidence.returncode == 4 and "not found: " in evidence.text:  # a target that does not exist
        return Findings()
    if evidence.returncode in (2, 3, 4) and not found.broken:
        return Findings(counted=False, broken=_PYTEST_EXITS[evidence.returncode]) + found
    if not found.counted:
        return output_parsers.parse_pytest(evidence)
    return replace(
        _correct_counts(found, output_parsers.parse_pytest_counts(evidence)),
        lost=output_parsers.find_pytest_exit(evidence),
    )


def _correct_counts(found: Findings, said: Mapping[str, int]) -> Findings:
    """Return the report's results with the counts of pytest's last line, if it has one.

    The report names tests that were run again more than once, calls a test skipped if a subtest is, leaves out a pass
    before an error of the teardown, and does not tell what passed unexpectedly or was deselected.
    """
    if not said:
        return found
    failing = {each.id for each in found.failures}
    skipped = () if found.skipped and not said.get("skipped") and not found.xfailed else found.skipped_tests
    ran = (*found.passed_tests, *(() if skipped else found.skipped_tests))
    corrected = replace(
        found,
        passed=said.get("passed", 0),
        failed=max(said.get("failed", 0), found.failed),
        errors=max(said.get("error", 0) + said.get("errors", 0), found.errors),
        skipped=said.get("skipped", 0),
        xfailed=said.get("xfailed", 0),
        xpassed=said.get("xpassed", 0),
        deselected=said.get("deselected", 0),
        passed_tests=tuple(name for name in dict.fromkeys(ran) if name not in failing),
        skipped_tests=skipped,
    )
    if found.failed + found.errors > len(found.failures):  # too many: not all are named
        return corrected
    tests = failing.union(found.passed_tests, found.skipped_tests)
    return replace(corrected, repeated=max(0, corrected.results - len(tests)))


def _parse_pytest_listing(evidence: FinishedRun) -> Findings:
    """Return the collected tests as passed; files that cannot be collected have none."""
    lines = (line.strip() for line in evidence.stream_lines())
    names = tuple(line for line in lines if re.match(r"(?!ERROR |FAILED )[^:=]+\.\w+::\S", line))
    return Findings(passed=len(names), passed_tests=names)


_PYTEST_EXITS = {
    2: "pytest was interrupted before the end",
    3: "pytest itself failed",
    4: "pytest could not start (wrong option, or an error in conftest.py)",
}


def _is_collection_failure(case: Element, problem: Element) -> bool:
    return problem.get("message") == "collection failure"


def _to_dotted_name(target: str) -> str:
    """Convert a path or a pytest-like id for unittest: tests/test_a.py::TestX → tests.test_a.TestX."""
    # of a subtest the test, of a fixture for all tests of a class or module that class or module
    target = re.sub(r"\.(?:setUp|tearDown)(?:Class|Module)$", "", target.partition(" (")[0])
    file, *inside = target.split("::")
    if file.endswith(".py") or "/" in file:
        file = file.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
    return ".".join([file, *inside])


def _find_start_folder(project: Project) -> tuple[str, ...]:
    """Return where discovery starts: tests in a folder that is no package are not found from above it."""
    folders = {name.rpartition("/")[0] for name in project.python_tests}
    top = os.path.commonpath(folders) if folders and "" not in folders else ""
    if not top:
        return ()
    package = project.contains_text(f"{top}/__init__.py", "")
    return ("-s", top, "-t", ".") if package else ("-s", top)
