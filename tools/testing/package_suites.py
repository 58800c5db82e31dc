"""Packages of one repository that each have a test suite of their own, which no run at the root would start rightly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox.parsed_data import parse_json
from tools.testing.node import detect_node
from tools.testing.packages import is_matched, list_package_folders
from tools.testing.project_files import Project
from tools.testing.python import PYTEST_CONFIG, detect_django
from tools.testing.report import TestReport

_OWN_CONFIG = {name: text for name, text in PYTEST_CONFIG.items() if "conftest" not in name}
"""Files that make their folder pytest's root."""


def list_package_suites(project: Project) -> list[str]:
    """Return the folders whose tests are run from there, [] where the root has the suite.

    Python: every test is below a folder with a configuration of pytest, and the root has none. JavaScript: members of
    a workspace that have a test script, where the root has none.
    """
    return [*_list_python_packages(project), *_list_node_members(project)]


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


def _list_node_members(project: Project) -> list[str]:
    if detect_node(project) or not (patterns := _read_workspaces(project)):
        return []
    left_out = [each[1:] for each in patterns if each.startswith("!")]
    return [
        each
        for each in list_package_folders(project, ".js")
        if is_matched(each, patterns) and not is_matched(each, left_out) and detect_node(project.enter(each))
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
