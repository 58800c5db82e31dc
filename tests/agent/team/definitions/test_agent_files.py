"""Agent files: what they mean, what is told about bad ones, and whose count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.team.definitions.agent_catalog import (
    TRUST_PLACE,
    AgentCatalog,
    check_agent_files,
    find_agents_to_trust,
    load_agents,
)
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file
from agent.team.rights import limit_agents
from sandbox.policy.decision import Mode
from sandbox.policy.trust import TrustStore
from tools.builtin_tools import NAMES

FULL = """---
name: Fixer
description: "Fixes: what is broken"
tools: Read, Edit, Bash(git:*), NotebookRead
disallowedTools: [Write]
model: haiku
permissionMode: acceptEdits
maxTurns: 7
skills: [review]
background: true
effort: max
color: red
---

Fix it.
"""


def parse(text: str) -> AgentDefinition:
    return parse_agent_file(text, "fixer.md", "fixer", NAMES)


def test_a_file_of_another_agent_is_understood() -> None:
    agent = parse(FULL)
    assert (agent.name, agent.description, agent.instructions) == (
        "fixer",
        "Fixes: what is broken",
        "Fix it.",
    )
    assert agent.tools is not None
    assert [each.written for each in agent.tools] == ["Read", "Edit", "Bash(git:*)", "NotebookRead"]
    assert [each.written for each in agent.denied] == ["Write"]
    assert (agent.model, agent.mode, agent.max_turns) == ("fast", Mode.WORKSPACE, 7)
    assert (agent.background, agent.effort, agent.skills) == (True, "max", ("review",))
    assert agent.warnings == (
        "fixer.md: unknown, not used: color",
        "fixer.md: there is no such tool here, left out: NotebookRead",
    )


def test_a_description_with_a_colon_is_taken_as_it_stands() -> None:
    agent = parse("---\ndescription: Use it: always\ntools: Read\n---\nLook.\n")
    assert (agent.name, agent.description) == ("fixer", "Use it: always")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no front matter: begin with a line `---`"),
        ("---\nname: x\n", "there is no front matter"),
        ("---\n- a\n- b\n---\nx", "no list of `field: value` lines"),
        ("---\nname: x\n---\nhello", "there is no description: say in `description:`"),
        ("---\ndescription: d\n---\n \n", "there are no instructions: write them below"),
        ("---\nname: a b\ndescription: d\n---\nx", "'a b' is no name"),
        (
            "---\ndescription: d\npermissionMode: yolo\n---\nx",
            "`permissionMode: yolo` must be one of default",
        ),
        ("---\ndescription: d\nmaxTurns: many\n---\nx", "`maxTurns: many` must be a number"),
        ("---\ndescription: d\nmaxTurns: 0\n---\nx", "`maxTurns: 0` must be a number"),
        ("---\ndescription: d\nisolation: jail\n---\nx", "`isolation: jail` must be one of none, worktree"),
        ("---\ndescription: d\nbackground: perhaps\n---\nx", "`background: perhaps` must be true or false"),
        ("---\ndescription: d\neffort: 11\n---\nx", "`effort: 11` must be one of none, minimal"),
        ("---\ndescription: d\ntools: {a: 1}\n---\nx", "is no list of tools"),
        ("---\ndescription: d\ntools: Read(\n---\nx", "'Read(' is no tool"),
        ("---\ndescription: [1]\n---\nx", "`description: [1]` must be a text"),
        ("---\na: &a [*a]\ndescription: d\n---\nx", ""),
    ],
)
def test_a_bad_file_is_one_line_that_says_what_to_do(text: str, told: str) -> None:
    try:
        parse(text)
    except BadAgentFile as error:
        line = str(error)
    else:
        line = ""
    assert told in line
    assert "\n" not in line
    assert bool(line) == bool(told)


def put(folder: Path, name: str, description: str = "d", more: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\ndescription: {description}\n{more}---\nDo it.\n")


def test_agents_of_a_project_count_as_the_user_trusted_them(shop: Path) -> None:
    home = Home.from_environment()
    put(home.config / "agents", "mine.md")
    put(shop, ".claude/agents/theirs.md")
    put(shop, ".patchwright/agents/theirs.md", "the first folder counts")
    put(shop, ".agents/agents/other.md")
    before = load_agents(home, shop)
    assert "mine" in before.agents
    assert "theirs" not in before.agents
    assert before.notices == (
        "3 agents of this project not used, since you have not trusted them as they are: "
        f"patchwright trust -C {str(shop)!r}",
    )
    TrustStore(home.config).grant(shop / TRUST_PLACE, find_agents_to_trust(shop))
    after = load_agents(home, shop)
    assert after.agents["theirs"].description == "the first folder counts"
    assert "other" in after.agents
    put(shop, ".agents/agents/other.md", "changed")
    assert "other" not in load_agents(home, shop).agents
    assert "explore" in load_agents(home, shop).agents


def test_no_file_breaks_a_session(shop: Path) -> None:
    """Neither a pipe, nor a link that leads out, nor bytes that are no text."""
    import os

    home = Home.from_environment()
    folder = shop / ".claude/agents"
    folder.mkdir(parents=True)
    (folder / "bytes.md").write_bytes(b"---\xff\xfe")
    os.mkfifo(folder / "pipe.md")
    (folder / "out.md").symlink_to("/etc/passwd")
    (folder / "gone.md").symlink_to("nowhere.md")
    put(shop, ".claude/agents/good.md")
    put(shop, ".claude/agents/twice.md", more="name: good\n")
    catalog = check_agent_files(home, shop)
    assert "good" in catalog.agents
    assert [line.split(":")[0] for line in catalog.bad] == [
        ".claude/agents/bytes.md",
        ".claude/agents/twice.md",
    ]
    assert len(catalog.notices) == 4
    assert all("\n" not in line for line in catalog.notices)


@pytest.mark.parametrize("name", ["0-first", "3d", "Code.Review", "größe", "_shared"])
def test_names_of_agents(name: str) -> None:
    assert parse(f"---\nname: {name}\ndescription: d\n---\nx").name == name.lower()


def test_patterns_that_mean_nothing_never_grant() -> None:
    agent = parse(
        "---\ndescription: d\ntools: Read, Agent(a, b), WebFetch(domain:x.example)\n"
        "disallowedTools: WebSearch(x), Task(c)\n---\nx"
    )
    assert [(each.tools, each.agents) for each in agent.tools or ()] == [
        (("read",), ()),
        (("delegate",), ("a", "b")),
        ((), ()),
    ]
    assert [(each.tools, each.agents) for each in agent.denied] == [
        (("web_search",), ()),
        (("delegate",), ("c",)),
    ]
    assert agent.warnings == ("fixer.md: there is no such tool here, left out: WebFetch(domain:x.example)",)


@pytest.mark.parametrize(
    ("name", "lines", "kept"),
    [
        ("lead", "tools: Agent(first, second)", ["first"]),
        ("p:lead", "tools: Agent(second)", ["p:second"]),
        ("lead", "tools: Agent, Agent(first)", ["first", "third", "p:second"]),
        ("lead", "disallowedTools: Agent(first)", ["third", "p:second"]),
        ("p:lead", "tools: Task(First), Agent(third)\ndisallowedTools: Agent(second)", ["first", "third"]),
        ("lead", "tools: Read", ["first", "third", "p:second"]),
    ],
)
def test_the_agents_that_an_agent_may_start(name: str, lines: str, kept: list[str]) -> None:
    lead = replace(parse(f"---\ndescription: d\n{lines}\n---\nx"), name=name)
    catalog = AgentCatalog(agents=dict.fromkeys(("first", "third", "p:second"), lead))
    assert list(limit_agents(lead, catalog).agents) == kept
