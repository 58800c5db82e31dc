"""Why a project's tests, whose runner was found, could still not run here, found out without running them."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from tools.core.workspace import Workspace
from tools.testing.launch import Launch
from tools.testing.project_files import Project

MOST_TEST_FILES = 40
"""Test files whose imports are looked up: the nearest to the root, which import what the others do."""

Obstacle = tuple[str, str]
"""Reason and remedy."""


async def find_obstacle(at: Workspace, project: Project, launch: Launch) -> Obstacle | None:
    """Return the first reason why the launch would fail; None if none is seen."""
    program = launch.argv[0]
    if not shutil.which(at.root / program if program.startswith("./") else program):
        return f"{program} is not installed", f"Install {program}, or name another command: --tests COMMAND"
    if Path(program).name in _NODE_INSTALLS:
        return _find_missing_node_packages(project, Path(program).name)
    if launch.runner == "maven":
        return _find_missing_maven_plugins()
    if launch.runner == "pytest":
        return _find_missing_coverage(project, launch) or await _find_missing_imports(at, project, launch)
    return None


def read_obstacle(output: str) -> Obstacle | None:
    """Return why a package manager started nothing, by what it said; None if it did not."""
    for pattern, reason, remedy in _MANAGER_WORDS:
        if found := pattern.search(output):
            return found.expand(reason), found.expand(remedy)
    return None


_MANAGER_WORDS = (
    (
        compile_lazily(
            r"""defines "packageManager": "(?:yarn@)?(?P<want>[^"]+)".* is (?P<have>\S+?)\.$""", re.M
        ),
        r"package.json names \g<want>, and yarn \g<have> is installed",
        "Run `corepack enable`.",
    ),
    (
        compile_lazily(r"^npm (?:error|ERR!).* (?P<want>Invalid .*)$", re.M),
        r"npm refuses by devEngines: \g<want>",
        "Install what package.json names.",
    ),
    (
        compile_lazily(
            r"(?:Network access disabled|running Corepack).*?(?P<want>(?:pnpm|yarn|npm)@?\S*)", re.S
        ),
        r"corepack does not have \g<want>, and commands have no network",
        "Run `corepack install` once yourself.",
    ),
    (
        compile_lazily(r"This project is configured to use (?P<want>v?[\w.@-]+)(?: of pnpm)?", re.S),
        r"the project is configured to use \g<want>, which is not installed",
        "Install it, or run the tests once yourself.",
    ),
    (
        compile_lazily(r"Failed to (?:fetch|switch|install).*?https?://\S*/(?P<want>pnpm|yarn|npm)\b", re.S),
        r"\g<want> tries to load the version that package.json names, and commands have no network",
        r"Run `\g<want> install` once yourself.",
    ),
)
"""Refusals of managers: pattern of the output, reason and remedy."""

_NODE_INSTALLS = {"npm": "npm install", "pnpm": "pnpm install", "yarn": "yarn install", "bun": "bun install"}


def _find_missing_node_packages(project: Project, manager: str) -> Obstacle | None:
    depends = re.search(r'"(?:devD|d)ependencies"\s*:\s*\{\s*"', project.read_text("package.json"))
    if not depends or any((project.root / name).exists() for name in ("node_modules", ".pnp.cjs")):
        return None
    return "the packages of package.json are not installed", f"Run `{_NODE_INSTALLS[manager]}`."


def _find_missing_maven_plugins() -> Obstacle | None:
    """Commands have no network, so that Maven needs its plugins in the user's local repository."""
    plugins = Path.home() / ".m2/repository/org/apache/maven/plugins"
    if (plugins / "maven-surefire-plugin").is_dir():
        return None
    return (
        f"Maven's plugins are not in {plugins}, and commands have no network",
        "Run `mvn test` once yourself.",
    )


_OPTIONS = compile_lazily(r"^\s*addopts\s*=(?:.|\n[ \t])*?--cov\b", re.MULTILINE)


def _find_missing_coverage(project: Project, launch: Launch) -> Obstacle | None:
    if "--no-cov" in launch.argv:  # the interpreter has the plugin
        return None
    for name in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        if _OPTIONS.search(project.read_text(name)):
            remedy = f"Run `{project.format_command((launch.argv[0],))} -m pip install pytest-cov`."
            return f"the options in {name} need pytest-cov, which {launch.argv[0]} does not have", remedy
    return None


_QUESTION = """
import sys, importlib.util as u
sys.path[:0] = [".", "src", *sys.argv[1].split(":")]
def has(name):
    try: return name in sys.modules or u.find_spec(name) is not None
    except Exception: return False
print("missing", *(name for name in sys.argv[2:] if not has(name)))
"""
"""Looks up top-level names only, which executes no code of the project; works on any Python 3."""


async def _find_missing_imports(at: Workspace, project: Project, launch: Launch) -> Obstacle | None:
    """Look up the modules that test files import in the interpreter that would run them."""
    from sandbox.process.command import Command

    tests = [*project.python_tests[:MOST_TEST_FILES], "conftest.py", "tests/conftest.py"]
    names = sorted({name for path in tests for name in _list_imports(project.read_text(path))})
    folders = sorted({path.rpartition("/")[0] or "." for path in tests})
    if not names:
        return None
    command = Command(
        argv=(launch.argv[0], "-c", _QUESTION, ":".join(folders), *names),
        cwd=at.root,
        env=launch.env,
        timeout=20,
        scope="read-only",
    )
    said = (await at.sandbox.run(command)).stdout.text().strip().rpartition("\n")[2].split()
    if said[:1] != ["missing"] or len(said) == 1:
        return None
    shown = ", ".join(said[1:6]) + (f" and {len(said) - 6} more" if len(said) > 6 else "")
    remedy = "Install the project with its test packages, in a .venv for example."
    return f"tests import {shown}, which {launch.argv[0]} does not find", remedy


def _list_imports(text: str) -> Iterator[str]:
    """Yield the top-level names of the modules that a file imports at its margin: others may be optional."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # perhaps of a newer Python: nothing is claimed
        return
    for node in tree.body:
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        yield from (top for name in names if (top := name.partition(".")[0]) not in sys.stdlib_module_names)
