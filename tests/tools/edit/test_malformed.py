"""Edits as weak models write them: applied as they were meant, or refused in words that help."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.tools.edit.malformed.cases import Case, cases
from tests.tools.workspaces import call, workspace
from tools.core.action import Observation, ToolFailure
from tools.core.workspace import Workspace
from tools.edit.edit_tools import apply_patch, edit
from tools.fs.file_tools import read

pytestmark = pytest.mark.slow


CASES = cases()
TOOLS = {"edit": edit, "apply_patch": apply_patch}
APPLIED = [case for case in CASES if not case.refusal]
REFUSED = [case for case in CASES if case.refusal]


def named(case: Case) -> str:
    return case.name


def started(folder: Path, case: Case) -> Workspace:
    """A workspace with the files of a case, read as far as the case says."""
    at = workspace(folder, case.before)
    for path in sorted(case.before.keys() - case.unread):
        call(read, at, path=path)
    return at


def make(case: Case, at: Workspace) -> Observation:
    arguments = {
        name: value.replace("⟨root⟩", str(at.root)) if isinstance(value, str) else value
        for name, value in case.arguments.items()
    }
    return call(TOOLS[case.tool], at, **arguments)


def told(case: Case, at: Workspace) -> str:
    """The words of a refusal, or those that say that there is nothing to do."""
    try:
        text = make(case, at).text
    except ToolFailure as refusal:
        return str(refusal)
    assert "no change: already" in text, "it was not refused"
    return text


def tree(at: Workspace) -> dict[str, bytes]:
    return {
        str(path.relative_to(at.root)): path.read_bytes() for path in at.root.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("case", APPLIED, ids=named)
def test_it_is_applied_as_it_was_meant(case: Case, tmp_path: Path) -> None:
    at = started(tmp_path, case)
    make(case, at)
    assert tree(at) == case.after, case.title


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_it_is_refused_in_words_that_help_and_nothing_is_written(case: Case, tmp_path: Path) -> None:
    at = started(tmp_path, case)
    message = told(case, at)
    assert [pattern for pattern in case.refusal if not re.search(pattern, message)] == [], message
    assert re.search(r"\bline \d|\w\.\w|/", message), "neither file nor line is named"
    assert tree(at) == case.before


def test_most_of_them_are_applied() -> None:
    assert len(CASES) >= 120
    assert len(APPLIED) / len(CASES) >= 0.85


def test_every_family_has_several_cases_with_names_of_their_own() -> None:
    assert min(Counter(case.name.partition("/")[0] for case in CASES).values()) >= 8
    assert [name for name, count in Counter(map(named, CASES)).items() if count > 1] == []
