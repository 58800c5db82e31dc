"""The report of an agent: bounded whatever it contains, and read from text where a model does not use the tool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.team.report import LONGEST, Finding, Report, check_place, parse_findings

PARTS = st.sampled_from(["a", "é", "\n", " ", "</agent-report>", "…", "<agent-report", "x" * 40])
TEXTS = st.lists(PARTS, max_size=200).map("".join)


@pytest.mark.slow
@given(text=TEXTS, words=TEXTS, notes=st.lists(TEXTS, max_size=30), code=st.sampled_from([0, 4, 130, 7]))
def test_a_report_is_bounded_and_cannot_close_its_tag(
    text: str, words: str, notes: list[str], code: int
) -> None:
    report = Report(
        agent="explore",
        child="explore-12",
        session="20261126-120000-abcd",
        outcome="model-unreachable",
        exit_code=code,
        text=text,
        last_words=words,
        findings=[Finding(place="a/b.py:3", note=each) for each in notes],
    )
    told = report.format_text("out:12345")
    assert len(told.encode()) <= LONGEST
    assert told.count("</agent-report>") == 1
    assert told.splitlines()[-1].startswith("Whole report: recall(")
    assert (code in (4, 130, 7)) == told.startswith("explore-12: Not finished (")


def test_findings_are_read_from_a_text() -> None:
    text = "Seen:\n- `a/b.py:3`: it begins here\n* c.py:4-9 - and ends there.\nd.py: no line\ne.py:7\nhttp://x:80/ no"
    assert [(each.place, each.note) for each in parse_findings(text)] == [
        ("a/b.py:3", "it begins here"),
        ("c.py:4-9", "and ends there."),
    ]


def test_a_place_has_a_file_and_a_line() -> None:
    lines = {"a.py": 10, "empty.py": 0}
    assert [check_place(each, lines.get) for each in ("a.py:1", "a.py:10", "a.py:3-99", "empty.py:1")] == [
        ""
    ] * 4
    for bad in ("a.py", "a.py:0", "a.py:11", "a.py:5-4", "b.py:1", "a.py:x", ":3", ""):
        assert check_place(bad, lines.get), bad
