"""One reader of front matter for agents, skills, commands and rules: tolerant, and never wrong about what is YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.extension.commands.command_file import parse_command_file
from agent.extension.front_matter import BadFrontMatter, split_front_matter
from agent.extension.skills.skill_file import parse_skill
from agent.team.definitions.agent_file import parse_agent_file
from tools.builtin_tools import NAMES

EXAMPLES = """Use it so. Examples:

<example>
Context: somebody is new
user: "How?"
assistant: "Let me look: now"
</example>

- one: two"""

LOOSE = f"name: loose\ndescription: {EXAMPLES}\ntools:\n  - Read\n  - Grep\nmodel: haiku"


def wrap(head: str, before: str = "") -> str:
    return f"{before}---\n{head}\n---\nbody\n"


def test_all_four_kinds_read_a_text_on_several_lines() -> None:
    text = wrap(LOOSE, "\ufeff\n<!-- from\n elsewhere -->\n\n")
    fields, body = split_front_matter(text) or ({}, "")
    assert fields == {"name": "loose", "description": EXAMPLES, "tools": ["Read", "Grep"], "model": "haiku"}
    assert body == "body\n"
    flat = " ".join(EXAMPLES.split())
    agent = parse_agent_file(text, "f", "f", NAMES)
    assert (agent.name, agent.description, agent.model) == ("loose", flat, "fast")
    assert [each.written for each in agent.tools or ()] == ["Read", "Grep"]
    assert parse_skill(text, "f", Path("/f")).description == flat
    assert parse_command_file(text, "f", "f", is_project=True).description == flat


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("a: b: c", {"a": "b: c"}),
        ('description: "Use "this" now"\nname: x', {"description": 'Use "this" now', "name": "x"}),
        ("# note\ndescription: [oops\nname: 0-x", {"description": "[oops", "name": "0-x"}),
        (
            "description: a: b\nskills: [x, y]\non: z",
            {"description": "a: b", "skills": ["x", "y"], "on": "z"},
        ),
        ("description: a: b\n  more\nmaxTurns: 3", {"description": "a: b\n  more", "maxTurns": 3}),
        ("description: |\n  a: b\nname: c: d", {"description": "a: b", "name": "c: d"}),
        ("yes: 1\n2: x", {"True": 1, "2": "x"}),
        ("", {}),
    ],
)
def test_fields_are_read_one_by_one_where_they_are_no_yaml(head: str, fields: dict[str, object]) -> None:
    assert (split_front_matter(wrap(head)) or ({}, ""))[0] == fields


def test_two_rules_in_a_text_are_no_front_matter() -> None:
    assert split_front_matter("\n---\nSome words.\n---\nmore") is None
    assert split_front_matter("words\n---\na: b\n---\n") is None
    assert split_front_matter("<!-- open ---\na: b\n---\n") is None
    with pytest.raises(BadFrontMatter):
        split_front_matter("---\nSome words.\n---\nmore")


NAME = st.sampled_from(("name", "description", "model", "tools", "x-own", "color"))
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=60)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAME, TEXT | st.integers() | st.lists(TEXT, max_size=3), min_size=1), TEXT)
def test_what_is_yaml_is_read_as_yaml(fields: dict[str, object], body: str) -> None:
    head = yaml.safe_dump(fields, allow_unicode=True)
    if "---" in head or "\x85" in head:
        return
    assert split_front_matter(f"---\n{head}---\n{body}") == (yaml.safe_load(head), body)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAME, TEXT, min_size=1), st.sampled_from(("", "\n", "<!-- a -->\n", "\ufeff")))
def test_texts_as_they_stand_lose_no_field(fields: dict[str, str], before: str) -> None:
    """Whatever is in the lines, each field is there, or the file is refused."""
    head = "\n".join(f"{name}: {value}" for name, value in fields.items())
    try:
        found = split_front_matter(wrap(head, before))
    except BadFrontMatter:
        return
    assert found is not None
    assert set(found[0]) == set(fields)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("-\n: ab#<!>[]{}&*'\"|>"), max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = split_front_matter(f"---\n{text}")
    except BadFrontMatter:
        return
    assert found is None or isinstance(found[0], dict)
