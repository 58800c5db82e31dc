"""Command files: how they are read, whose count, and the prompt that they make."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.extension.commands.command_catalog import find_commands_to_trust, load_commands
from agent.extension.commands.command_file import BadCommandFile, PromptCommand, parse_command_file
from agent.extension.commands.command_prompt import CalledCommand, expand_call
from agent.extension.extension_files import COMMANDS_TRUST
from agent.session_request import SessionRequest
from sandbox.policy.trust import TrustStore
from tests.support.child_sessions import settings_for
from tests.support.cli import git, script

FULL = """---
description: Commits what is staged
argument-hint: [message] [scope]
allowed-tools: Bash(git add:*), Bash(git commit:*)
model: claude-3-5-haiku-20241022
---

# Commit

Commit "$1" in $2.
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("RATE = 2\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def parse(text: str, *, is_project: bool = True) -> PromptCommand:
    return parse_command_file(text, "commit.md", "git:commit", is_project=is_project)


def test_a_command_of_another_agent_is_understood() -> None:
    command = parse(FULL)
    assert (command.name, command.description) == ("git:commit", "Commits what is staged")
    assert (command.argument_hint, command.model) == ("[message] [scope]", "fast")
    assert command.allowed_tools == ("Bash(git add:*)", "Bash(git commit:*)")
    assert command.template.startswith("# Commit\n\nCommit")
    assert parse("---\nmodel: claude-opus-4-1\n---\nx").model == ""
    assert parse("---\nmodel: openai/gpt-5-mini\n---\nx").model == "openai/gpt-5-mini"


def test_a_heading_describes_a_command_without_front_matter() -> None:
    text = "# say what it does\n\nExplain it.\n"
    mine, theirs = parse(text, is_project=False), parse(text)
    assert (mine.description, mine.template) == ("say what it does", "Explain it.")
    assert (theirs.description, theirs.template) == ("say what it does", text.strip())
    assert parse("Explain it.").description == "of this project: Explain it."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\ndescription: d\n---\n", "there is no prompt"),
        ("---\n- a\n---\nx", "no list of `field: value` lines"),
    ],
)
def test_what_cannot_be_used_is_told(text: str, told: str) -> None:
    with pytest.raises(BadCommandFile, match=told):
        parse(text)


def write(folder: Path, **commands: str) -> None:
    for name, text in commands.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def trust(root: Path) -> None:
    TrustStore(Home.from_environment().config).grant(root / COMMANDS_TRUST, find_commands_to_trust(root))


def test_a_project_s_commands_count_as_they_were_trusted(shop: Path, tmp_path: Path) -> None:
    home = Home.from_environment()
    write(shop / ".claude/commands", git__commit="Theirs: !`git log -1`", deploy="Deploy")
    write(home.config / "commands", git__commit="Mine.", readme="No command")
    (tmp_path / "secret.md").write_text("secret")
    (shop / ".claude/commands/secret.md").symlink_to(tmp_path / "secret.md")
    found = load_commands(home, shop)
    assert {each.name: each.template for each in found.commands.values()} == {"git:commit": "Mine."}
    assert any("3 commands" in each or "2 commands" in each for each in found.notices)
    assert any("link that leads outside" in each for each in found.notices)
    [deploy, commit] = find_commands_to_trust(shop)
    assert (commit.kind, commit.name) == ("command", ".claude/commands/git/commit.md")
    assert "runs in the sandbox: git log -1" in commit.runs
    assert deploy.name == ".claude/commands/deploy.md"
    trust(shop)
    found = load_commands(home, shop)
    assert set(found.commands) == {"git:commit", "deploy"}
    assert found.find_command("commit") is found.commands["git:commit"]
    assert found.commands["git:commit"].is_project
    write(shop / ".claude/commands", deploy="Deploy: !`touch hacked`")
    assert set(load_commands(home, shop).commands) == {"git:commit"}


def test_the_prompt_of_a_command(shop: Path) -> None:
    home = Home.from_environment()
    write(
        shop / ".claude/commands",
        plain="Explain it.",
        wow="Hello!`touch hacked`",
        all="All: $ARGUMENTS; costs $100.",
        words="First $1, second ${x} $2, third <$3>.",
        shell='Log: !`echo $1; echo "$ARGUMENTS"; touch ~/no` end',
        file="See @cart.py and @$1 and me@example.com and @nothing.py.",
    )
    write(home.config / "skills/greet", SKILL="---\nname: greet\ndescription: d\n---\nHello $ARGUMENTS.")
    trust(shop)
    settings = settings_for(script(shop.parent, [{"text": "Done."}]), sandbox="auto")

    async def expand(*texts: str) -> list[CalledCommand | None]:
        runtime = assemble_runtime(settings, SessionRequest(working=shop), home)
        try:
            return [await expand_call(runtime, home, text) for text in texts]
        finally:
            await runtime.close()

    found = asyncio.run(
        expand(
            "/wow",
            "/plain",
            "/plain cart.py",
            "/plain cart.py\n\n<stdin>\nx\n</stdin>",
            "/all !`touch hacked` $1",
            '/words "a b" c',
            "/shell ';touch hacked;' two",
            "/file order.py",
            "/greet Ann",
            "/usr/bin is missing",
            "/nobody",
        )
    )
    prompts = [each.prompt if each is not None else None for each in found]
    assert prompts[:6] == [
        "Hello!`touch hacked`",
        "Explain it.",
        "Explain it.\n\ncart.py",
        "Explain it.\n\ncart.py\n\n<stdin>\nx\n</stdin>",
        "All: !`touch hacked` $1; costs $100.",
        "First a b, second ${x} c, third <>.",
    ]
    assert prompts[6] is not None
    assert prompts[6].startswith("Log: <output command=")
    assert "\n;touch hacked;\n" in prompts[6]
    assert prompts[6].endswith("</output> end")
    assert prompts[7] is not None
    text, _, files = prompts[7].partition("\n\n")
    assert text == "See @cart.py and @order.py and me@example.com and @nothing.py."
    assert files.startswith("<file path='cart.py'>")
    assert prompts[7].count("<file ") == 1
    assert "RATE = 2" in prompts[7]
    assert prompts[8] is not None
    assert "Hello Ann." in prompts[8]
    assert prompts[9:] == [None, None]
    assert not (shop / "hacked").exists()
    assert not (Path.home() / "no").exists()
