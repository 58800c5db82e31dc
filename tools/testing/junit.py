"""Parser of JUnit XML reports from pytest, node, surefire and gradle."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from tools.testing.report import (
    MAX_FAILURES,
    NOTHING,
    Findings,
    Kind,
    TestFailure,
    describe_unloadable,
    make_failure,
    tally_findings,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Namer = Callable[["Element"], str]
"""Function from a <testcase> to the id that its runner accepts."""


def parse_junit(
    xml: bytes, root: Path, name: Namer, *, broken: Callable[[Element, Element], bool]
) -> Findings:
    """Parse the test cases of one report.

    broken: returns whether a <testcase> and its <error> mean that the test could not be loaded
    """
    tree = _parse_xml(xml)
    if tree is None:
        return NOTHING
    kinds: list[Kind] = []
    names: list[str] = []
    failures: list[TestFailure] = []
    unloadable: list[str] = []
    for case in tree.iter("testcase"):
        kind, problem = _read_verdict(case)
        kinds.append(kind)
        names.append(name(case))
        if problem is None:
            continue
        if len(failures) < MAX_FAILURES:
            failures.append(_build_failure(case, problem, root, name))
        if broken(case, problem):
            unloadable.append(name(case))
    return tally_findings(kinds, failures, describe_unloadable(unloadable), names)


def format_pytest_id(case: Element) -> str:
    """Return `tests/test_a.py::TestX::test_b[1]`, from the xunit1 family's file attribute and dotted class name."""
    file, dotted, name = (case.get(key, "") for key in ("file", "classname", "name"))
    if not dotted:  # a module that could not be collected: its dotted name is in place of the file
        return file or f"{name.replace('.', '/')}.py"
    if not file:  # a plugin that writes another family: best effort
        return f"{dotted.replace('.', '/')}.py::{name}"
    module = re.sub(r"\.py$", "", file).replace("/", ".").replace("\\", ".")
    inside = dotted[len(module) :].strip(".") if dotted.startswith(module) else ""
    return "::".join([file.replace("\\", "/"), *(inside.split(".") if inside else []), name])


def format_java_id(case: Element) -> str:
    """Return `com.shop.CartTest#total`, which surefire accepts as is and gradle with a dot."""
    return f"{case.get('classname', '')}#{case.get('name', '')}".strip("#")


def format_plain_id(case: Element) -> str:
    """Return the test's name, for runners that select by it."""
    return case.get("name", "") or case.get("classname", "")


def _parse_xml(xml: bytes) -> Element | None:
    from xml.etree import ElementTree

    if (
        not xml.strip() or b"<!DOCTYPE" in xml or b"<!ENTITY" in xml
    ):  # no runner writes one; entities can expand without bound
        return None
    try:
        return ElementTree.fromstring(xml)
    except ElementTree.ParseError:  # the run was killed while writing: the output is parsed instead
        return None


_PROBLEMS: tuple[tuple[str, Kind], ...] = (("error", "errors"), ("failure", "failed"))


def _read_verdict(case: Element) -> tuple[Kind, Element | None]:
    if case.find("skipped[@type='todo']") is not None:  # of node: its failure is no failure of the run
        return "skipped", None
    for tag, kind in _PROBLEMS:
        problem = case.find(tag)
        if problem is not None:
            return kind, problem
    skipped = case.find("skipped")
    if skipped is None:
        return "passed", None
    return ("xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"), None


def _build_failure(case: Element, problem: Element, root: Path, name: Namer) -> TestFailure:
    text = (problem.text or "").strip("\n")
    message = problem.get("message", "")
    if message in ("", "collection failure"):  # the exception is more specific
        raised = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
        message = raised[-1] if raised else text[:300]
    file, line = find_innermost_place(text, root)
    if not file:
        file, line = case.get("file", ""), int(case.get("line") or 0)
    return make_failure(
        name(case), file=file, line=line, message=message, detail=keep_project_frames(text, root)
    )


_PLACES = (
    (compile_lazily(r"^(?P<file>[^\s:][^:\n]*(?:\.py|>)):(?P<line>\d+): ", re.M), -1),  # pytest --tb=short
    (compile_lazily(r'^(?:E\s+|\s*)File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.M), -1),  # Python
    (
        compile_lazily(r"^\s+at .*?\(?(?:file://)?(?P<file>(?:node:|/)[^():\n]*):(?P<line>\d+):\d+\)?", re.M),
        0,
    ),  # node
)
"""Patterns of locations in tracebacks, by runner, and the index of the innermost: last or first."""

_FOREIGN = compile_lazily(
    r"(^|/)(site-packages|dist-packages|node_modules|\.venv|venv|\.tox|\.nox)/|^\.\./|^<|^node:"
)
"""Paths outside the project's own code."""


def find_innermost_place(text: str, root: Path) -> tuple[str, int]:
    """Return the innermost location in the project that a traceback names, ("", 0) if none."""
    for pattern, end in _PLACES:
        places = [
            (make_project_relative(match["file"], root), int(match["line"]))
            for match in pattern.finditer(text)
        ]
        own = [place for place in places if place[0]]
        if own:
            return own[end]
    return "", 0


def make_project_relative(file: str, root: Path) -> str:
    """Return the path relative to the project, "" for one outside its own code."""
    file = file.removeprefix(f"{root}/").removeprefix("./")
    return "" if file.startswith("/") or _FOREIGN.search(file) else file


def keep_project_frames(text: str, root: Path) -> str:
    """Remove the frames of third-party code from a traceback."""
    kept: list[str] = []
    foreign = False
    for line in text.splitlines():
        place = next((match for pattern, _ in _PLACES if (match := pattern.match(line))), None)
        if place:
            foreign = not make_project_relative(place["file"], root)
        elif line.startswith("E ") or not line.startswith(" "):
            foreign = False
        if not foreign:
            kept.append(line.replace(f"{root}/", ""))
    return "\n".join(kept)
