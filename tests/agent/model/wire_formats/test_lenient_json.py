"""Arguments that are nearly JSON are read as meant; those that are not complete are never completed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.wire_formats.lenient_json import NotReadable, parse_json_at, parse_lenient_json
from agent.model.wire_formats.tool_arguments import parse_action

MEANT: list[tuple[str, Any]] = [
    ("{'path': 'a.py'}", {"path": "a.py"}),
    ('{"path": "a.py",}', {"path": "a.py"}),
    ('{path: "a.py", all: True}', {"path": "a.py", "all": True}),
    ('```json\n{"path": "a.py"}\n```', {"path": "a.py"}),
    ('{"a": 1, // one\n "b": 2 /* two */}', {"a": 1, "b": 2}),
    ('{"pattern": "\\d+\\s"}', {"pattern": "\\d+\\s"}),
    ('{"text": "two\nlines"}', {"text": "two\nlines"}),
    ('{"old": """\na = "x"\n""", "n": None}', {"old": 'a = "x"\n', "n": None}),
    ('{"old": "say "hi" now", "new": "x"}', {"old": 'say "hi" now', "new": "x"}),
    ("{'old': 'it\\'s', 'new': \"its\"}", {"old": "it's", "new": "its"}),
    ("{'lines': [1, -2, 0x10, 1.5e3,]}", {"lines": [1, -2, 16, 1500.0]}),
    ('{"e": "\\ud83d\\ude00", "x": \'\'}', {"e": "😀", "x": ""}),
    ("{}", {}),
]

NOT_COMPLETE = [
    '{"path": "a',
    '{"path": "a"',
    '{"path": "a", ',
    '{"path": ',
    "{'path': 'a'",
    '{"content": "d = {"k": "v"}',
    '{"content": """\nabc',
    '{"": ["", {"": [""]}',
    "[1, 2",
    '{"a": 1} {"b": 2}',
    '{"a": 1, "a": 2',
    "{'a': 1, 'a': 2}",
    '{"a" 1}',
    "",
    "read a.py",
    "{" * 100,
    '{"a": "x\\',
    '{"a": nonsense}',
    '{"a": ' + "1" * 5000 + "}",
    '{"a": 0x' + "f" * 5000 + "}",
]


@pytest.mark.parametrize(("text", "value"), MEANT, ids=[text[:30] for text, _ in MEANT])
def test_what_is_nearly_json_is_read_as_meant(text: str, value: Any) -> None:
    assert parse_lenient_json(text) == value
    action = parse_action("1", "t", text)
    assert (action.arguments, action.problem) == (value, "")


@pytest.mark.parametrize("text", NOT_COMPLETE, ids=[text[:30] for text in NOT_COMPLETE])
def test_what_is_not_complete_is_never_completed(text: str) -> None:
    with pytest.raises(NotReadable):
        parse_lenient_json(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4))
def test_json_reads_the_same_and_no_part_of_it_reads_at_all(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_lenient_json(text) == value
    assert parse_json_at(f"x {text} y", 2) == (value, 2 + len(text))
    for end in range(1, len(text)):
        action = parse_action("1", "t", text[:end])
        assert action.problem, f"{text[:end]!r} was taken for {action.arguments!r}"


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"\A[a-z]{1,5}\Z"), VALUES, min_size=1, max_size=4))
def test_python_s_own_way_of_writing_reads_the_same(value: dict[str, Any]) -> None:
    assert parse_lenient_json(repr(value)) == value or _has_odd_escapes(repr(value))


def _has_odd_escapes(text: str) -> bool:
    return "\\x" in text or "\\U" in text


def test_nothing_is_mended_in_an_answer_that_reached_its_limit() -> None:
    action = parse_action("1", "t", "{'path': 'a.py'}", cut=True)
    assert "output limit" in action.problem
    assert action.arguments == {}


def test_arguments_that_were_encoded_twice_are_decoded_twice() -> None:
    assert parse_action("1", "t", json.dumps(json.dumps({"path": "a"}))).arguments == {"path": "a"}
    assert parse_action("1", "t", json.dumps("just text")).problem
