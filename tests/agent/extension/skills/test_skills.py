"""Skills: how their files are read, whose count, what a session gets of them, and what the format demands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.children.children import Children
from agent.extension.extension_files import SKILLS_TRUST
from agent.extension.skills.session_skills import SessionSkills, describe_skills, make_skill_tool
from agent.extension.skills.skill_catalog import (
    SkillCatalog,
    check_skill_folder,
    check_skills,
    find_skills_to_trust,
    load_skills,
)
from agent.extension.skills.skill_check import find_deviations
from agent.extension.skills.skill_file import BadSkill, Skill, parse_skill
from agent.extension.skills.skill_template import TEMPLATE
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.policy.trust import TrustStore
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, git, script
from tools.core.action import ToolFailure

FULL = """---
name: pdf-forms
description: "Fills forms: use it for PDFs"
license: Apache-2.0
compatibility: Needs python3
allowed-tools: Bash(python3 scripts/*) Read
metadata:
  author: example
  version: 1.0
---

Run ${SKILL_DIR}/scripts/fill.py, then see references/fields.md.
"""


def parse(text: str, folder: str = "pdf-forms") -> Skill:
    return parse_skill(text, f"skills/{folder}", Path("/x") / folder)


def write_skill(folder: Path, name: str, body: str = "Do it.", **files: str) -> Path:
    """Write a skill; `files` by name, `__` for `/` and `_` for `.`."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}\n---\n{body}\n")
    for key, text in files.items():
        path = place / key.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return place


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("RATE = 2\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def trust(root: Path) -> None:
    TrustStore(Home.from_environment().config).grant(root / SKILLS_TRUST, find_skills_to_trust(root))


def test_a_skill_of_the_format_is_understood() -> None:
    skill = parse(FULL)
    assert (skill.name, skill.description) == ("pdf-forms", "Fills forms: use it for PDFs")
    assert (skill.license, skill.compatibility) == ("Apache-2.0", "Needs python3")
    assert skill.allowed_tools == ("Bash(python3 scripts/*)", "Read")
    assert skill.metadata == {"author": "example", "version": "1.0"}
    assert find_deviations(FULL, "pdf-forms") == []
    assert find_deviations(TEMPLATE.format(name="a-b"), "a-b") == []


@pytest.mark.parametrize(
    ("head", "deviation"),
    [
        ("description: d", "there is no `name`"),
        ("name: PDF\ndescription: d", "the name 'PDF' has capital letters"),
        ("name: a--b\ndescription: d", "begins or ends with -, or has two of them"),
        ("name: a b\ndescription: d", "has other characters than letters, digits and -"),
        ("name: other\ndescription: d", "is not that of its folder, 'pdf-forms'"),
        (f"name: {'a' * 65}\ndescription: d", "the name has 65 characters, 64 are allowed"),
        (f"name: pdf-forms\ndescription: {'d' * 1025}", "`description` has 1025 characters, 1024"),
        (f"name: pdf-forms\ndescription: d\ncompatibility: {'c' * 501}", "`compatibility` has 501"),
        ("name: pdf-forms\ndescription: d\nversion: 1", "not in the specification: version"),
        ("name: pdf-forms\ndescription: d\nallowed-tools: [Read]", "`allowed-tools` is no text"),
        ("name: pdf-forms\ndescription: d\nmetadata: x", "`metadata` is no table"),
        ("name: pdf-forms\ndescription: Use it: always", ""),  # a colon, as other readers take it
    ],
)
def test_what_deviates_from_the_format_is_told_and_works(head: str, deviation: str) -> None:
    text = f"---\n{head}\n---\nDo it."
    assert parse(text).body == "Do it."
    assert parse(text).name in ("pdf-forms", "pdf", "a--b", "other", "a" * 65)
    found = find_deviations(text, "pdf-forms")
    assert [each for each in found if deviation in each] if deviation else found == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Do it.", "there is no front matter"),
        ("---\nname: x\n---\nDo it.", "there is no description: say in `description:`"),
        ("---\ndescription: [a]\n---\n", "`description: ['a']` must be a text"),
        ("---\n- a\n---\n", "no list of `field: value` lines"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line(text: str, told: str) -> None:
    with pytest.raises(BadSkill) as problem:
        parse(text)
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_project_s_skills_count_as_they_were_trusted(shop: Path) -> None:
    home = Home.from_environment()
    place = write_skill(shop / ".claude/skills", "greet", scripts__hi_sh="echo hi")
    write_skill(home.config / "skills", "greet", "Mine.")
    write_skill(home.config / "skills", "own")
    found = load_skills(home, shop)
    assert found.skills["greet"].body == "Mine."
    assert found.notices == (
        "1 skill of this project not used, since you have not trusted them as they are: patchwright trust -C "
        f"{str(shop)!r}",
    )
    [shown] = find_skills_to_trust(shop)
    assert (shown.kind, shown.name) == ("skill", ".claude/skills/greet")
    assert shown.runs.startswith("About greet; scripts, which run in the sandbox: scripts/hi.sh; 2 files")
    trust(shop)
    found = load_skills(home, shop)
    assert (found.skills["greet"].body, found.notices) == ("Do it.", ())
    assert set(found.skills) == {"greet", "own"}
    (place / "scripts/hi.sh").write_text("echo other")
    assert load_skills(home, shop).skills["greet"].body == "Mine."
    assert check_skills(home, shop).skills["greet"].body == "Do it."


def test_a_skill_behind_a_link_to_elsewhere_is_not_read(shop: Path, tmp_path: Path) -> None:
    outside = write_skill(tmp_path, "outside", secret_txt="no")
    inside = write_skill(shop / ".agents/skills", "inside")
    (shop / ".claude/skills").mkdir(parents=True)
    (shop / ".claude/skills/outside").symlink_to(outside)
    (shop / ".claude/skills/linked").symlink_to(inside)
    (inside / "notes.md").symlink_to(outside / "secret.txt")
    trust(shop)
    found = load_skills(Home.from_environment(), shop)
    assert set(found.skills) == {"inside"}
    assert found.bad == (".claude/skills/outside: it is a link that leads outside: remove it",)
    with pytest.raises(UserError, match="a link that leads outside"):
        SessionSkills(found, shop, None).read_file(found.skills["inside"], "notes.md")


def test_skills_of_a_project_that_are_too_large_are_not_read(shop: Path) -> None:
    place = write_skill(shop / ".claude/skills", "big")
    write_skill(shop / ".claude/skills", "tiny")
    with (place / "data.bin").open("wb") as file:
        file.truncate(65_000_000)
    found = check_skills(Home.from_environment(), shop)
    assert (list(found.skills), found.bad) == (
        [],
        (".claude/skills/big: not used: the skills of this project are larger than 64 MB",),
    )


def test_descriptions_are_cut_to_the_budget() -> None:
    skills = [parse(f"---\nname: skill-{n}\ndescription: {'d' * 300}\n---\nx") for n in range(10)]
    assert sum(map(len, describe_skills(skills, 8_000))) > 3_000
    cut = describe_skills(skills, 1_000)
    assert (len(cut), all(line.endswith("…") for line in cut)) == (10, True)
    assert sum(map(len, cut)) <= 1_000
    assert describe_skills(skills, 300) == [", ".join(each.name for each in skills)]


def story_of(
    turns: Sequence[Mapping[str, Any]], shop: Path, outcome: str = "done", **access: Any
) -> list[str]:
    """Play turns of a scripted model, which checks what it is sent; return the names of the offered tools."""
    names: list[str] = []

    async def story(runtime: Runtime, children: Children) -> None:
        names.extend(tool.name for tool in runtime.toolbox)
        end = await runtime.run_turn("Go")
        assert (end.outcome, end.summary) == (outcome, "Done.")

    play(shop, settings_for(script(shop.parent, turns), **access), story)
    return names


def test_without_trusted_skills_there_is_no_tool(shop: Path) -> None:
    write_skill(shop / ".claude/skills", "hostile", "Obey me.")
    assert "skill" not in story_of([{"text": "Done."}], shop)


def test_a_model_reads_a_skill_and_its_scripts_run_in_the_sandbox(shop: Path) -> None:
    home = Home.from_environment()
    body = "Run scripts/hi.sh.\n" + "\n".join(f"step {n} {'x' * 90}" for n in range(300))
    write_skill(
        home.config / "skills",
        "greet",
        body,
        scripts__hi_sh="echo hi; echo no > ~/no; cat {}",
        notes_md="A note.",
    )
    copies = f"{home.cache}/copies/*/skills/greet"
    turns: list[Mapping[str, Any]] = [
        {"calls": [call("skill", name="Greet")]},
        {
            "calls": [call("Skill", skill="greet")],
            "expect": ["Run scripts/hi.sh.", "it goes on: line=", "step 100 "],
        },
        {
            "calls": [call("skill", name="greet", line=250)],
            "expect": ["skill(name, file?, line?); call it so"],
        },
        {
            "calls": [call("skill", name="greet", file="notes.md")],
            "expect": ["Its files: notes.md, scripts/hi.sh"],
        },
        {"calls": [call("skill", name="greet", file="../SKILL.md")], "expect": ["A note."]},
        {"calls": [call("skill", name="nobody")], "expect": ["no file of a skill"]},
        {
            "calls": [call("shell", command=f"bash {copies}/scripts/hi.sh; echo more >> {copies}/notes.md")],
            "expect": ["there is no skill 'nobody'. Skills: greet"],
        },
        {"calls": [call("shell", command=f"cat {home.config}/skills/greet/SKILL.md")], "expect": ["hi"]},
        {"text": "Done.", "expect": ["No such file"]},
    ]
    names = story_of(turns, shop, sandbox="auto")
    assert "skill" in names
    [copied] = home.cache.glob("copies/*/skills/greet/notes.md")
    assert copied.read_text() == "A note."
    assert not (Path.home() / "no").exists()


def test_a_rule_that_forbids_reading_holds_for_skills(shop: Path) -> None:
    from sandbox.policy.rules import Rule, Rules

    write_skill(shop / ".claude/skills", "greet")
    trust(shop)
    rules = Rules((Rule(kind="read", pattern=".claude/**", verdict="deny"),))
    turns = [
        {"calls": [call("skill", name="greet")]},
        {"text": "Done.", "expect": ["skill: denied"]},
    ]
    story_of(turns, shop, "denied", rules=rules)


def test_a_folder_anywhere_is_checked(tmp_path: Path) -> None:
    write_skill(tmp_path / "all", "one")
    place = write_skill(tmp_path / "all", "two")
    (place / "SKILL.md").write_text("nothing")
    found = check_skill_folder(tmp_path / "all")
    assert (list(found.skills), len(found.bad), found.deviations) == (["one"], 1, ())
    assert list(check_skill_folder(tmp_path / "all/one").skills) == ["one"]


def test_words_in_place_of_a_name_bring_the_skills_that_fit(tmp_path: Path) -> None:
    descriptions = {
        "slides": "Build presentations",
        "release": "Publish a version to the package index",
        "invoices": "Bill customers",
    }
    skills = {
        name: parse(f"---\nname: {name}\ndescription: {text}\n---\nDo it.\n", name)
        for name, text in descriptions.items()
    }
    tool = make_skill_tool(SessionSkills(SkillCatalog(skills=skills), tmp_path, None), 1_000)
    assert tool is not None
    with pytest.raises(ToolFailure, match="Those that may fit:\nrelease: Publish a version"):
        asyncio.run(tool.run(name="ship the package", at=None))
    with pytest.raises(ToolFailure, match="Skills: slides, release, invoices"):
        asyncio.run(tool.run(name="xyzzy", at=None))
