"""Plugins: how they are read, shown, pinned and updated, and what they may do in a session."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.children.children import Children
from agent.extension.commands.command_prompt import expand_call
from agent.extension.extension_files import has_plugins
from agent.extension.plugins.git_source import find_protocol
from agent.extension.plugins.plugin_copies import place_plugin
from agent.extension.plugins.plugin_install import (
    StagedPlugin,
    accept_plugin,
    compare_versions,
    discard_plugin,
    is_unchanged,
    remove_plugin,
    stage_plugin,
    stage_update,
)
from agent.extension.plugins.plugin_parts import PluginPart
from agent.extension.plugins.plugin_servers import load_plugin_servers
from agent.extension.plugins.plugin_store import find_plugin, list_plugins
from agent.extension.skills.skill_catalog import load_skills
from agent.team.definitions.agent_catalog import load_agents
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.process.command_line import CommandLine
from tests.agent.extension.plugins.plugin_folders import SCHEMA, make_neutral, make_vendor, write
from tests.support.child_sessions import Says, play, settings_for
from tests.support.cli import call, git, script


def add(source: str, *words: str) -> StagedPlugin:
    staged = stage_plugin(Home.from_environment(), source, *words)
    accept_plugin(Home.from_environment(), staged)
    return staged


def by_name(parts: tuple[PluginPart, ...]) -> dict[str, str]:
    return {f"{each.kind} {each.name}": each.does for each in parts}


def commit(folder: Path, message: str = "c") -> str:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD").strip()


def test_each_part_of_a_neutral_plugin_is_shown(tmp_path: Path) -> None:
    staged = stage_plugin(Home.from_environment(), str(make_neutral(tmp_path / "p", unknown=1)))
    shown = by_name(staged.contents.parts)
    assert list(shown) == [
        "skill calc:adding",
        "server calc:sums",
        "server calc:far",
    ]  # none from deeper folders
    assert "scripts, which run in the sandbox: scripts/add.sh" in shown["skill calc:adding"]
    assert "starts in the sandbox: python3 '${PLUGIN_ROOT}/server.py' tells" in shown["server calc:sums"]
    assert "your" not in shown["server calc:sums"]  # the format expands no variable of the user's
    assert "plugin.json: unknown, not used: unknown" in staged.left
    told = "\n".join(staged.left)
    assert "is reached at http://127.0.0.1:9/mcp" in shown["server calc:far"]
    assert "'out' is not used: its command '../server' is neither" in told
    assert list_plugins(Home.from_environment()) == []  # shown is not accepted
    discard_plugin(Home.from_environment(), staged)
    assert not has_plugins(Home.from_environment())


def test_each_part_of_a_vendors_plugin_is_shown(tmp_path: Path) -> None:
    servers = {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "env": {"TOKEN": "${DB_TOKEN}", "A": "${B:-c}"}}}
    folder = make_vendor(tmp_path / "p", mcpServers=servers, lspServers={}, commands=["./no", "../out"])
    staged = stage_plugin(Home.from_environment(), str(folder))
    shown = by_name(staged.contents.parts)
    assert list(shown) == [
        "skill guard:care",
        "command guard:git:log",
        "command guard:look",
        "agent guard:judge",
        "hook guard:PreToolUse Bash 1",
        "hook guard:PreToolUse Bash 2",
        "server guard:web",
        "server guard:db",
    ]
    assert "runs in the sandbox: cat ${CLAUDE_PLUGIN_ROOT}/why.txt" in shown["command guard:look"]
    assert shown["agent guard:judge"].startswith("tools: Read, Grep; mode: by its tools")
    assert "runs in the sandbox: python3" in shown["hook guard:PreToolUse Bash 1"]
    assert "gets the values of your DB_TOKEN, B" in shown["server guard:db"]
    told = "\n".join(staged.left)
    assert "there is nothing like it here: lspServers" in told
    assert "`commands` names './no', which there is not" in told
    assert "`commands` names '../out', which there is not" in told
    assert "what it guards is denied: an address is called for your own hooks only" in told
    assert "https://example.com/hook" in shown["hook guard:PreToolUse Bash 2"]
    assert "is reached at http://127.0.0.1:9/mcp" in shown["server guard:web"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"a.txt": "x"}, "neither plugin.json nor"),
        ({"plugin.json": "{"}, "no JSON"),
        ({"plugin.json": {"name": "a"}}, "is for None"),
        ({"plugin.json": {"$schema": SCHEMA, "name": "A-b"}}, "no name"),
        ({"plugin.json": {"$schema": SCHEMA, "name": "a--b"}}, "no name"),
        ({"plugin.json": {"$schema": SCHEMA, "name": "a", "keywords": "x"}}, "`keywords` has the wrong type"),
        ({"plugin.json": {"$schema": SCHEMA, "name": "a", "author": {"x": "y"}}}, "`author`"),
        ({".claude-plugin/plugin.json": {"name": "../x"}}, "is none: small letters"),
    ],
)
def test_what_is_no_plugin_is_refused(tmp_path: Path, files: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match="is no plugin") as refused:
        stage_plugin(Home.from_environment(), str(write(tmp_path / "p", files)))
    assert told in refused.value.message


def test_a_plugin_of_a_repository_is_pinned_and_updated(tmp_path: Path) -> None:
    home, source = Home.from_environment(), make_vendor(tmp_path / "source")
    (source / "link").symlink_to("/etc/passwd")
    (source / ".gitattributes").write_text("*.txt filter=evil\n")
    git(source, "init", "-q")
    git(source, "config", "filter.evil.smudge", f"touch {tmp_path}/ran")
    first = commit(source)
    address = source.as_uri()
    staged = add(address)
    assert (staged.plugin.record.commit, staged.plugin.record.source) == (first, address)
    assert "link: a link" in staged.left
    assert not (staged.plugin.folder / "link").exists()
    again = stage_update(home, staged.plugin)
    assert again.plugin.record == staged.plugin.record

    (source / "hooks/guard.py").write_text("import os; os.remove('x')\n")
    (source / "agents/judge.md").write_text("---\nname: judge\ndescription: d\ntools: Bash\n---\nx\n")
    git(source, "rm", "-q", "commands/look.md")
    second = commit(source, "more")
    known = find_plugin(home, "guard")
    assert known is not None
    newer = stage_update(home, known)
    assert newer.plugin.record.commit == second
    changes = compare_versions(known, newer)
    assert any(each.startswith("- command guard:look") for each in changes)
    assert any(
        each.startswith("! agent guard:judge: tools: Bash") and "(was: tools: Read" in each
        for each in changes
    )
    assert "  file changed: hooks/guard.py" in changes
    discard_plugin(home, newer)  # the user said no
    kept = find_plugin(home, "guard")
    assert kept is not None
    assert (kept.record.commit, is_unchanged(kept)) == (first, True)
    accept_plugin(home, stage_update(home, kept))
    [now] = list_plugins(home)
    assert (now.record.commit, now.folder.is_dir(), kept.folder.exists()) == (second, True, False)
    (now.folder / "hooks/guard.py").write_text("x")
    assert not is_unchanged(now)
    remove_plugin(home, now)
    assert not has_plugins(home)
    assert not (tmp_path / "ran").exists()

    pinned = stage_plugin(home, address, "", first)  # a commit that no branch points at any more
    assert (pinned.plugin.record.commit, pinned.plugin.record.ref) == (first, first)


def test_a_submodule_and_other_protocols_are_left_alone(tmp_path: Path) -> None:
    inner, source = tmp_path / "inner", make_vendor(tmp_path / "source")
    write(inner, {"a.txt": "x"})
    commit(inner)
    commit(source)
    git(source, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    commit(source, "sub")
    staged = stage_plugin(Home.from_environment(), source.as_uri())
    assert "sub: a submodule" in staged.left
    assert find_protocol("git@example.com:a/b.git") == "ssh"
    for address in ("ext::sh -c id", "http://example.com/a", "git://example.com/a", "fd::17"):
        with pytest.raises(UserError, match=r"is not used here|there is no folder"):
            stage_plugin(Home.from_environment(), address)
    with pytest.raises(UserError, match="names no branch"):
        stage_plugin(Home.from_environment(), source.as_uri(), "", "--upload-pack=id")
    with pytest.raises(UserError, match="could not be fetched"):
        stage_plugin(Home.from_environment(), source.as_uri(), "", "no-such-branch")


def test_one_of_a_marketplace_is_chosen(tmp_path: Path) -> None:
    make_vendor(tmp_path / "m/plugins/guard")
    other = make_neutral(tmp_path / "other/deep/calc")
    commit(tmp_path / "other")
    write(
        tmp_path / "m",
        {
            ".claude-plugin/marketplace.json": {
                "plugins": [
                    {"name": "guard", "source": "./plugins/guard"},
                    {"name": "one", "source": "./", "strict": False, "skills": ["./skills/one"]},
                    {
                        "name": "far",
                        "source": {
                            "source": "git-subdir",
                            "url": (tmp_path / "other").as_uri(),
                            "path": other.relative_to(tmp_path / "other").as_posix(),
                        },
                    },
                    {"name": "npm", "source": {"source": "npm", "package": "x"}},
                ]
            },
            "skills/one/SKILL.md": "---\nname: one\ndescription: One\n---\n1\n",
            "skills/two/SKILL.md": "---\nname: two\ndescription: Two\n---\n2\n",
        },
    )
    home, source = Home.from_environment(), str(tmp_path / "m")
    assert stage_plugin(home, source, "guard").plugin.name == "guard"
    assert stage_plugin(home, source, "plugins/guard").plugin.name == "guard"
    assert list(by_name(stage_plugin(home, source, "one").contents.parts)) == ["skill one:one"]
    staged = add(source, "far")
    far = staged.plugin.record
    assert (far.name, far.source, far.path) == ("calc", source, "far")
    assert far.origin == (tmp_path / "other").as_uri()
    (other / "skills/adding/SKILL.md").write_text("---\nname: adding\ndescription: Adds more\n---\nx\n")
    newest = commit(tmp_path / "other", "more")
    assert stage_update(home, staged.plugin).plugin.record.commit == newest  # through the marketplace
    with pytest.raises(UserError, match="has several plugins"):
        stage_plugin(home, source)
    with pytest.raises(UserError, match="only git repositories"):
        stage_plugin(home, source, "npm")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text("RATE = 2\n")
    commit(folder)
    return folder


def test_copies_of_old_sessions_are_removed(tmp_path: Path) -> None:
    plugin = add(str(make_vendor(tmp_path / "guard"))).plugin
    places = [tmp_path / "copies" / each / "skills" for each in ("old", "recent", "now")]
    old, recent, now = (place_plugin(plugin, each) for each in places)
    assert (now / "why.txt").read_text() == "the guard says no\n"
    os.utime(old.parent, (1, 1))
    shutil.rmtree(now)
    place_plugin(plugin, places[2])
    assert [each.is_dir() for each in (old, recent, now)] == [False, True, True]
    assert place_plugin(plugin, places[0]) == old  # made anew


def test_the_parts_of_a_plugin_act_under_its_name(shop: Path, tmp_path: Path) -> None:
    home = Home.from_environment()
    add(str(make_vendor(tmp_path / "guard")))
    add(str(make_neutral(tmp_path / "calc")))
    assert set(load_skills(home, shop).skills) == {"calc:adding", "guard:care"}
    assert load_agents(home, shop).agents["guard:judge"].instructions == "Judge it."

    async def story(runtime: Runtime, children: Children) -> None:
        called = await expand_call(runtime, home, "/look cart.py")
        assert called is not None
        assert "the guard says no" in called.prompt  # read by its command line, in the sandbox
        await runtime.run_turn("Go")
        assert runtime.mcp is not None
        assert [each.name for each in runtime.mcp] == ["calc:sums", "calc:far", "guard:web"]

    turns = [
        {"calls": [call("shell", command="echo forbidden")]},
        {
            "expect": ["the guard says no"],
            "calls": [call("skill", name="guard:care"), call("mcp__calc_sums__add", a=1, b=2)],
        },
        {"expect": ["/.plugins/guard/why.txt", "PLUGIN_DATA"], "text": "Done."},
    ]
    settings = settings_for(script(tmp_path, turns), sandbox="auto", approval=None)
    person = Says("allow")
    play(shop, settings, story, approver=person)
    assert person.asked == ["only the server calc:sums knows what that does"]
    state = home.data / "plugins/guard/state"
    assert (state / "seen").read_text() == "Bash"
    assert json.loads((home.data / "plugins/calc/record.json").read_text())["name"] == "calc"


def test_variables_of_a_plugins_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are shown and filled in wherever they are; one that is not set refuses its server alone."""
    monkeypatch.setenv("PORT", "80 ${CLAUDE_PLUGIN_ROOT}")
    monkeypatch.delenv("NOT_THERE", raising=False)
    db = {"command": "${CLAUDE_PLUGIN_ROOT}/${BIN:-db}", "args": ["--port", "${PORT}"]}
    servers = {
        "db": db,
        "lost": {"command": "x", "args": ["${NOT_THERE}"]},
        "far": {"url": "${BASE:-http://x}"},
    }
    staged = add(str(make_vendor(tmp_path / "p", mcpServers=servers)))
    assert "gets the values of your BIN, PORT" in by_name(staged.contents.parts)["server guard:db"]
    found = load_plugin_servers(Home.from_environment(), tmp_path)
    place = found["guard:db"]
    assert isinstance(place, CommandLine)
    [plugin] = list_plugins(Home.from_environment())
    assert place.argv == (f"{plugin.folder}/db", "--port", "80 ${CLAUDE_PLUGIN_ROOT}")
    assert str(found["guard:lost"]).startswith("the variable NOT_THERE is not set")
    assert str(found["guard:far"]) == "x is another machine: its address begins with https://"


def test_parts_that_there_is_nothing_like_are_named(tmp_path: Path) -> None:
    folder = make_vendor(tmp_path / "p", workflows="./flows", dependencies=["other"])
    write(folder, {f"workflows/{n}.js": "export const meta = {}" for n in range(7)})
    write(folder, {"output-styles/short.md": "x", "bin/tool": "x", "settings.json": "{}"})
    forked = "---\nname: forked\ndescription: Does it.\ncontext: fork\nmodel: fast\nlicense: MIT\n---\nx\n"
    write(folder, {"skills/forked/SKILL.md": forked})
    told = "\n".join(stage_plugin(Home.from_environment(), str(folder)).left)
    assert "there is nothing like it here: workflows/0.js, workflows/1.js" in told
    assert "skills/forked/SKILL.md: fields without effect: context, model" in told.splitlines()
    for each in (
        "workflows/4.js and 2 more",
        "output-styles/short.md",
        "bin/tool",
        "settings.json",
        "dependencies",
    ):
        assert each in told, each
