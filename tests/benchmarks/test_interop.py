"""The cases of other programs' formats: a slice of each in `make test`, all of them in `make stress`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.interop.case_file import CaseFile, Check, judge, read_case_files
from benchmarks.interop.plugins import describe_plugins, find_plugins, list_parts
from benchmarks.interop.table import format_table, run_cases, share_same
from tests.support.stress import count_cases

FILES = list(read_case_files())
STEP = 1 if count_cases(1) > 1 else 4
"""Every fourth input, unless more cases are wanted."""


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=[each.format for each in FILES])
def test_no_case_is_silent_or_means_something_else(file: CaseFile) -> None:
    rows = list(run_cases([file], STEP))
    assert [(each.theirs, each.ours) for each in rows if each.outcome in ("silent", "other")] == []


def test_there_are_enough_cases_and_formats() -> None:
    checks = [check for file in FILES for each in file.inputs for check in each.checks]
    assert len(checks) >= 300
    assert len(FILES) >= 14
    for file in FILES:
        assert file.version
        assert file.source


@pytest.mark.parametrize(
    ("rule", "state", "outcome"),
    [
        ({"at": "a/b", "is": 1}, {"a": {"b": 1}}, "same"),
        ({"at": "a/0", "has": "x"}, {"a": ["xy"]}, "same"),
        ({"at": "a", "has": ["x", "y"]}, {"a": ["x"]}, "other"),
        ({"at": "a", "is": 1}, {}, "silent"),
        ({"at": "a", "is": 1, "named": "a:"}, {"left": ["a: nothing like it"]}, "named"),
        ({"off": "a", "named": "a:"}, {"left": ["a: it is off"]}, "same"),
        ({"off": "a", "named": "a:"}, {"left": []}, "silent"),
        ({"off": "a", "named": "a:"}, {"a": 1, "left": ["a: it is off"]}, "other"),
        ({"named": "a:"}, {"left": ["a: no"]}, "named"),
        ({"named": "a:"}, {}, "silent"),
    ],
)
def test_outcomes(rule: Mapping[str, Any], state: Mapping[str, Any], outcome: str) -> None:
    assert judge(Check(theirs="x", rule=rule), state)[0] == outcome


def test_the_table_has_sums_and_what_is_not_as_the_original() -> None:
    files = [each for each in FILES if each.format == "mcp_forms"]
    rows = list(run_cases(files))
    text = format_table(files, rows)
    assert share_same(rows) == 1.0
    assert f"| all | | | {len(rows)} | {len(rows)} | 0 | 0 | 0 |" in text


def test_plugins_of_a_repository_are_found_with_their_parts(tmp_path: Path) -> None:
    files = {
        ".claude-plugin/marketplace.json": '{"name": "m", "plugins": [{"name": "b", "source": "./b"}, 7]}',
        "a/.claude-plugin/plugin.json": '{"name": "a", "commands": "./more"}',
        "a/skills/one/SKILL.md": "---\nname: one\ndescription: d\n---\nx",
        "a/commands/git/ship.md": "x",
        "a/more/two.md": "x",
        "a/agents/rev.md": "---\nname: Reviewer\ndescription: d\n---\nx",
        "b/commands/go.md": "x",
        "c/commands/no.md": "x",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    first, second = find_plugins(tmp_path)
    assert [each[2].get("name") for each in (first, second)] == [None, "b"]
    assert list_parts(first[0]) == {"skill": {"one"}, "command": {"ship", "two"}, "agent": {"reviewer"}}
    assert list_parts(second[0]) == {"skill": set(), "command": {"go"}, "agent": set()}
    assert "| all | | 5 | 5 | 0 | 0 |" in describe_plugins([str(tmp_path)], tmp_path / "clones")
