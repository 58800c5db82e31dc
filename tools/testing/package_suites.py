"""Packages of one repository that each have a test suite of their own, which no run at the root would start rightly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox.parsed_data import parse_json
from tools.core.text import join_names
from tools.testing.node import detect_node, is_delegating, read_test_script
from tools.testing.package_coverage import is_matched, runs_every_package
from tools.testing.packages import list_package_folders
from tools.testing.project_files import Project
from tools.testing.python import PYTEST_CONFIG, detect_django
from tools.testing.report import TestReport

_OWN_CONFIG = {name: text for name, text in PYTEST_CONFIG.items() if "conftest" not in name}
"""Files that make their folder pytest's root."""


def list_package_suites(project: Project, *, has_targets: bool = False) -> list[str]:
    """Return the folders whose tests are run from there, [] where the root has the suite.

    Python: every test is below a folder with a configuration of pytest, and the root has none. JavaScript: members of
    a workspace that have a test script, where the root has none, or one that only starts theirs.
    has_targets: they are wanted for single tests, which a script that starts those of members can pass to none
    """
    return [*_list_python_packages(project), *_list_node_members(project, has_targets=has_targets)]


def list_split_packages(project: Project) -> list[str]:
    """Return the packages, by their manifests, that have tests in Python."""
    folders = list_package_folders(project, ".py")
    found: dict[str, None] = {}
    for test in project.python_tests:
        inner = max((each for each in folders if test.startswith(f"{each}/")), key=len, default=None)
        if inner is not None:
            found[inner] = None
    return list(found)


def has_root_tests(project: Project, packages: Sequence[str]) -> bool:
    """Return whether there are tests in Python outside some packages."""
    heads = tuple(f"{each}/" for each in packages)
    return any(not each.startswith(heads) for each in project.python_tests)


def describe_missing_scripts(project: Project) -> str:
    """Return a sentence on members without a test script, for which npm's own run of all members fails; "" for none."""
    script = read_test_script(project)
    if not (is_delegating(script) and script.startswith("npm ")) or "--if-present" in script:
        return ""
    without = [each for each in _list_members(project) if not detect_node(project.enter(each))]
    return f"`{script}` itself fails: no test script in {join_names(without, 5)}" if without else ""


def split_targets(folders: Sequence[str], targets: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the targets by package, relative to it; "" stands for the root."""
    found: dict[str, tuple[str, ...]] = {}
    for target in targets:
        folder = max((each for each in folders if f"{target}/".startswith(f"{each}/")), key=len, default="")
        inner = target.removeprefix(folder).lstrip("/") if folder else target
        found[folder] = (*found.get(folder, ()), *((inner,) if inner else ()))
    return found


def place_report(report: TestReport, folder: str) -> TestReport:
    """Return the report of a package's run with the names and places that they have from the root on."""
    if not folder:
        return report
    return replace(
        report,
        failures=tuple(
            replace(each, id=f"{folder}/{each.id}", file=f"{folder}/{each.file}" if each.file else "")
            for each in report.failures
        ),
        passed_tests=tuple(f"{folder}/{each}" for each in report.passed_tests),
        skipped_tests=tuple(f"{folder}/{each}" for each in report.skipped_tests),
    )


def _list_python_packages(project: Project) -> list[str]:
    if any(project.contains_text(name, text) for name, text in PYTEST_CONFIG.items()) or detect_django(
        project
    ):
        return []
    found: dict[str, None] = {}
    for test in project.python_tests:
        parts = test.split("/")[:-1]
        places = ("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
        package = next((each for each in places if _has_own_config(project, each)), None)
        if package is None:  # a test of the root
            return []
        found[package] = None
    return list(found)


def _has_own_config(project: Project, folder: str) -> bool:
    return any(project.contains_text(f"{folder}/{name}", text) for name, text in _OWN_CONFIG.items())


def _list_node_members(project: Project, *, has_targets: bool) -> list[str]:
    script = read_test_script(project)
    starts_members = is_delegating(script) or (has_targets and runs_every_package(script))
    if detect_node(project) and not starts_members:
        return []
    return [each for each in _list_members(project) if detect_node(project.enter(each))]


def _list_members(project: Project) -> list[str]:
    if not (patterns := _read_workspaces(project)):
        return []
    left_out = [each[1:] for each in patterns if each.startswith("!")]
    return [
        each
        for each in list_package_folders(project, ".js")
        if is_matched(each, patterns) and not is_matched(each, left_out)
    ]


def _read_workspaces(project: Project) -> list[str]:
    """Return the patterns of the members' folders: of npm, yarn and bun, or of pnpm."""
    try:
        named = parse_json(project.read_text("package.json") or "{}").get("workspaces", ())
    except (ValueError, AttributeError):  # not JSON, or no object
        return []
    if isinstance(named, Mapping):
        named = named.get("packages", ())
    block = re.search(
        r"^packages:\s*\n((?:[ \t]*-[^\n]*\n?|\s*#[^\n]*\n)+)", project.read_text("pnpm-workspace.yaml"), re.M
    )
    listed = re.findall(r"^[ \t]*-\s*[\"']?([^\"'\s#]+)", block[1], re.M) if block else []
    return [str(each) for each in (*(named if isinstance(named, list) else ()), *listed)]
