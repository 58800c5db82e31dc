"""`patchwright rules`: rules of settings and of trusted projects, their listing, and the check of a past session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.settings.layers import load_settings
from tests.support.cli import call, git, run, script

pytestmark = pytest.mark.slow


ORDER = """
[[rules]]
name = "tested"
kind = "order"
text = "shell(touch *) needs tests-passed since edit"
"""
COMMANDS = """
[[rules]]
name = "no-rm"
kind = "commands"
commands = ["rm *"]
message = "ask me"
"""
TURNS = [
    {
        "calls": [
            call("write", path="a.txt", content="x\n"),
            call("shell", command="touch b.txt; sh -c 'rm a.txt'"),
        ]
    },
    {"text": "done"},
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".patchwright").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / ".patchwright" / "rules.toml").write_text(COMMANDS)
    (folder / ".gitignore").write_text(".patchwright\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def write_settings(text: str) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(text)


def test_rules_are_listed_used_and_held_against_a_past_session(shop: Path, tmp_path: Path) -> None:
    write_settings(ORDER)
    model = script(tmp_path, TURNS)
    arguments = (
        "run",
        "do",
        "--model",
        model,
        "--tests",
        "false",
        "--output",
        "json",
        "--sandbox",
        "unconfined",
    )
    first = run(*arguments, "--mode", "full", cwd=shop)
    told = json.loads(first.out)
    assert [each for each in told["notices"] if "is not used, since you have not trusted it" in each], (
        "announced"
    )
    assert not (shop / "b.txt").exists(), "the user's own rule holds"

    untrusted = run("rules", cwd=shop)
    assert ("no-rm" in untrusted.out, "patchwright trust -C" in untrusted.err) == (False, True)
    shown = run("trust", cwd=shop)
    assert "setting .patchwright/rules.toml no-rm" in shown.out
    listed = run("rules", "--json", cwd=shop)
    assert [(each["name"], each["kind"], each["level"], each["text"]) for each in json.loads(listed.out)] == [
        ("tested", "order", "refuse", "shell(touch *) needs tests-passed since edit"),
        ("no-rm", "commands", "refuse", "do not run rm *"),
    ]

    checked = run("rules", "check", "--session", told["session"], "--json", cwd=shop)
    assert checked.code == Exit.DENIED
    found = json.loads(checked.out)["findings"]
    assert {(each["action"], each["rule"], each["level"]) for each in found} == {
        ("shell", "tested", "refuse"),
        ("shell", "no-rm", "refuse"),
    }
    assert len({each["event"] for each in found}) == 1
    assert run("rules", "check", "--session", "none", cwd=shop).code == Exit.USAGE


def test_a_linked_work_tree_has_the_rules_of_the_main_one(shop: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(shop, "worktree", "add", "-q", str(linked))
    assert run("trust", cwd=shop).code == Exit.DONE
    assert "no-rm" in run("rules", cwd=linked).out, "git ignores the file, so the work tree has none"
    file = shop / ".patchwright" / "rules.toml"
    file.write_text(file.read_text().replace("rm *", "mv *"))
    changed = run("rules", cwd=shop)
    assert (changed.code, "has changed since you trusted it" in changed.err) == (Exit.CONFIGURATION, True)
    file.unlink()
    gone = run("rules", cwd=shop)
    assert (gone.code, "has gone since you trusted it" in gone.err) == (Exit.CONFIGURATION, True)
    assert [run(word, cwd=shop).code for word in ("trust", "rules")] == [Exit.DONE, Exit.DONE]


CONTRADICTORY = """
[[rules]]
name = "tested"
kind = "order"
text = "git_commit needs run_tests"

[[rules]]
name = "lazy"
kind = "order"
text = "run_tests needs git_commit"
"""


def test_contradictory_rules_end_every_start_with_one_line(shop: Path, tmp_path: Path) -> None:
    write_settings(CONTRADICTORY)
    for arguments in (("rules", "check"), ("run", "do", "--model", script(tmp_path, TURNS))):
        ended = run(*arguments, cwd=shop)
        assert ended.code == Exit.CONFIGURATION
        first, *rest = [line for line in ended.err.splitlines() if "patchwright:" in line]
        assert ("'tested'" in first, "'lazy'" in first, rest) == (True, True, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = 'x'\n", "holds rules only"),
        ("rules = [1]\n", "rules are tables"),
        ("[[rules]]\nname = 'x'\nkind = 'odd'\n", "there is no kind 'odd'"),
    ],
)
def test_a_wrong_file_of_rules_is_an_error(text: str, said: str, shop: Path) -> None:
    (shop / ".patchwright" / "rules.toml").write_text(text)
    ended = run("trust", cwd=shop)
    assert (ended.code, said in ended.err) == (Exit.CONFIGURATION, True)


def test_a_file_that_may_not_be_read_is_hidden_by_the_policy_too(shop: Path) -> None:
    write_settings("[[rules]]\nname = 'keys'\nkind = 'protect'\npaths = ['keys/**']\naccess = 'read'\n")
    access = load_settings(Home.from_environment(), shop, {}, {}).session.access
    assert [access.rules.denies_reading(path) for path in ("keys/a.pem", "a.pem")] == [True, False]


def test_rules_do_not_come_from_the_environment(shop: Path) -> None:
    ended = run("rules", cwd=shop, env={"PATCHWRIGHT_RULES": "[]"})
    assert (ended.code, "rules are not taken from the environment" in ended.err) == (Exit.CONFIGURATION, True)
