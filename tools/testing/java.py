"""Java projects: Maven and Gradle, with results from the XML reports in the build folder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.policy.decision import Mode
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import junit, output_parsers
from tools.testing.launch import FinishedRun, Launch, read_report
from tools.testing.project_files import Project
from tools.testing.report import NOTHING, Findings

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

REPORTS = ("surefire-reports", "failsafe-reports", "test-results")
"""Folders of XML reports below a module's `target` or `build`."""

MAX_FILES = 5_000
"""Report files read: one for each test class."""

_COMPILE_ERRORS = ("COMPILATION ERROR", "Compilation failed", "compileJava FAILED", "compileTestJava FAILED")


def detect_maven(project: Project) -> str:
    return "pom.xml" if project.contains_text("pom.xml", "") else ""


def detect_gradle(project: Project) -> str:
    names = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    return next((name for name in names if project.contains_text(name, "")), "")


async def launch_maven(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    program = "./mvnw" if project.contains_text("mvnw", "") else "mvn"
    chosen = (f"-Dtest={','.join(map(_to_class_name, targets))}",) if targets else ()
    offline = () if at.mode is Mode.FULL else ("-o",)
    return Launch(
        runner="maven",
        argv=(program, "-B", *offline, *chosen, "test"),
        command=project.format_command((program, *chosen, "test")),
        parse=_parse_reports,
        env=shell_environment(),
    )


async def launch_gradle(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    program = "./gradlew" if project.contains_text("gradlew", "") else "gradle"
    chosen = tuple(word for each in targets for word in ("--tests", _to_class_name(each).replace("#", ".")))
    offline = () if at.mode is Mode.FULL else ("--offline",)
    return Launch(
        runner="gradle",
        # a daemon would be killed with the command; without cleanTest, tests that passed are not run again
        argv=(program, "--no-daemon", "--console=plain", *offline, "cleanTest", "test", *chosen),
        command=project.format_command((program, "test", *chosen)),
        parse=_parse_reports,
        env=shell_environment(),
    )


def _to_class_name(target: str) -> str:
    """Convert src/test/java/com/shop/CartTest.java to com.shop.CartTest; return other targets unchanged."""
    if not target.endswith((".java", ".kt", ".groovy")):
        return target
    _, _, inside = target.partition("src/test/")
    return Path(inside.partition("/")[2] or target).with_suffix("").as_posix().replace("/", ".")


def _parse_reports(evidence: FinishedRun) -> Findings:
    total = NOTHING
    for path in _find_fresh_reports(evidence):
        total += junit.parse_junit(
            read_report(path), evidence.root, junit.format_java_id, broken=_is_unloadable
        )
    if total.counted:
        return total
    if any(text in evidence.text for text in _COMPILE_ERRORS):
        return Findings(counted=False, broken="it does not compile")
    return output_parsers.parse_any(evidence)


def find_class_folders(project: Project, folders: Collection[str], names: Collection[str]) -> set[str] | None:
    """Return the modules that have the source of a test class that ran; None where that cannot be said.

    folders: of all modules; names: of tests, `com.shop.CartTest#total`. A file of another language than Java may have
    classes of any name.
    """
    ran = {name.partition("#")[0].partition("$")[0] for name in names if "#" in name}
    classes = {folder: dict(_iter_test_classes(project.root / folder)) for folder in folders}
    unknown = ran.difference(*classes.values())
    if unknown == ran or (unknown and any(set(known.values()) - {".java"} for known in classes.values())):
        return None
    return {folder for folder, known in classes.items() if not ran.isdisjoint(known)}


def _iter_test_classes(module: Path) -> Iterator[tuple[str, str]]:
    """Yield the classes below the source sets of a module but `main`, by their files, with the suffixes of these."""
    for sources in sorted(module.glob("src/*/*")):
        if sources.parent.name == "main":
            continue
        for path in itertools.islice(sources.rglob("*.*"), MAX_FILES):
            if path.suffix in (".java", ".kt", ".groovy", ".scala"):
                yield ".".join(path.relative_to(sources).with_suffix("").parts), path.suffix


def _is_unloadable(case: Element, problem: Element) -> bool:
    return not case.get("name")


def _find_fresh_reports(evidence: FinishedRun) -> Iterator[Path]:
    """Yield the reports of this run: build folders keep those of earlier runs."""
    found = 0
    for folder, names, files in os.walk(evidence.root):
        names[:] = [name for name in names if name[0] != "." and name not in ("node_modules", "src")]
        if not any(name in Path(folder).parts for name in REPORTS):
            continue
        for file in sorted(files):
            path = Path(folder, file)
            if (
                file.endswith(".xml") and path.lstat().st_mtime >= evidence.start_time - 2
            ):  # coarse file clocks
                found += 1
                if found > MAX_FILES:
                    return
                yield path
