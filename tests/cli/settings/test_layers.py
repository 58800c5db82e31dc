"""Where a setting may come from: the environment for all of them, a project's file as far as its user trusts it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.commands.setup.trust import grant_trust, revoke_trust, show_trust
from cli.settings.layers import load_settings
from cli.settings.setting_sources import explain_settings
from cli.settings.settings_files import read_settings_file
from cli.settings.terminal_settings import TerminalSettings, read_terminal_settings
from sandbox.errors import UserError
from sandbox.policy.decision import Mode
from tests.support.repo import Repo

SETS = 'mode = "read-only"\n[tests]\ncommand = "make test"\n[context]\nrecent = 2000\n'


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("patchwright.toml", SETS)
    repo.commit_all()
    return repo


def source_of(key: str, root: Path, env: dict[str, str]) -> str:
    return next(row.source for row in explain_settings(Home.from_environment(), root, env) if row.key == key)


@pytest.mark.slow
def test_every_kind_of_setting_is_taken_from_the_environment_and_told_as_such(tmp_path: Path) -> None:
    env = {
        "PATCHWRIGHT_MODE": "read-only",
        "PATCHWRIGHT_MAX_COST": "0.5",
        "PATCHWRIGHT_NETWORK": '["pypi.org"]',
        "PATCHWRIGHT_TESTS__COMMAND": "make test",
        "PATCHWRIGHT_EDIT__LINT": "false",
        "PATCHWRIGHT_MODEL": "7",
        "PATCHWRIGHT_SANDBOX": "",
        "PATCHWRIGHT_STRESS": "nothing of the settings'",
    }
    settings = load_settings(Home.from_environment(), tmp_path, {}, env).session
    assert (settings.access.mode, settings.limits.max_cost, settings.access.network) == (
        Mode.READ_ONLY,
        0.5,
        ["pypi.org"],
    )
    assert (settings.tools.tests.command, settings.tools.edit.lint, settings.model) == (
        "make test",
        False,
        "7",
    )
    assert settings.access.sandbox == "auto"
    assert source_of("tests.command", tmp_path, env) == "PATCHWRIGHT_TESTS__COMMAND"
    assert source_of("sandbox", tmp_path, env) == "built-in"
    assert (
        load_settings(Home.from_environment(), tmp_path, {"mode": "full"}, env).session.access.mode
        == Mode.FULL
    )


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PATCHWRIGHT_MODE", "everything"),
        ("PATCHWRIGHT_MAX_STEPS", "0"),
        ("PATCHWRIGHT_TESTS__TIMEOUT", "soon"),
    ],
)
def test_a_wrong_value_is_told_with_its_variable(variable: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{variable}: setting"):
        load_settings(Home.from_environment(), tmp_path, {}, {variable: text})


def test_a_rule_in_the_environment_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^PATCHWRIGHT_PERMISSIONS__DENY: rules are not taken"):
        load_settings(
            Home.from_environment(), tmp_path, {}, {"PATCHWRIGHT_PERMISSIONS__DENY": '["shell(rm *)"]'}
        )


@pytest.mark.slow
def test_a_table_of_the_project_leaves_the_rest_of_the_users_as_it_is(tmp_path: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text("[tests]\ntimeout = 9.0\ncommand = 'mine'\n")
    (tmp_path / "patchwright.toml").write_text("[tests]\ncommand = 'theirs'\n")
    tests = load_settings(home, tmp_path, {}, {}).session.tools.tests
    assert (tests.command, tests.timeout) == ("theirs", 9.0)
    assert (
        load_settings(home, tmp_path, {}, {"PATCHWRIGHT_TESTS__COMMAND": "now"}).session.tools.tests.command
        == "now"
    )


@pytest.mark.slow
def test_what_a_project_sets_holds_as_long_as_it_is_what_was_trusted(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.from_environment()
    with pytest.raises(
        UserError, match=r"line 4 sets 'context', which a project may not set before"
    ) as caught:
        load_settings(home, repo.root, {}, {})
    assert "patchwright trust -C" in (caught.value.hint or "")
    grant_trust(repo.root)
    said = capsys.readouterr().out
    assert 'setting patchwright.toml mode: "read-only"' in said
    assert 'setting patchwright.toml context: {"recent": 2000}' in said
    settings = load_settings(home, repo.root, {}, {}).session
    assert (settings.access.mode, settings.context.recent) == (Mode.READ_ONLY, 2000)
    assert source_of("mode", repo.root, {}) == f"{repo.root / 'patchwright.toml'}:1"

    repo.write("patchwright.toml", SETS.replace("make test", "make check"))
    assert load_settings(home, repo.root, {}, {}).session.tools.tests.command == "make check", (
        "it runs in the sandbox: no word is needed"
    )
    repo.write("patchwright.toml", SETS.replace("read-only", "full"))
    with pytest.raises(UserError, match="before you trust it"):
        load_settings(home, repo.root, {}, {})
    show_trust(repo.root)
    assert "changed since it was trusted" in capsys.readouterr().out

    repo.write("patchwright.toml", SETS)
    revoke_trust(repo.root)
    with pytest.raises(UserError, match="before you trust it"):
        load_settings(home, repo.root, {}, {})


@pytest.mark.slow
def test_rules_and_the_screen_are_the_users_alone(repo: Repo) -> None:
    repo.write("patchwright.toml", '[permissions]\nallow = ["shell(*)"]\n')
    with pytest.raises(UserError, match=r"'permissions', which a project may not set$"):
        grant_trust(repo.root)
    with pytest.raises(UserError, match=r"'permissions', which a project may not set$"):
        load_settings(Home.from_environment(), repo.root, {}, {})


def test_nothing_that_is_wrong_can_be_trusted(repo: Repo) -> None:
    repo.write("patchwright.toml", 'mode = "everything"\n')
    with pytest.raises(UserError, match="line 1"):
        grant_trust(repo.root)


@pytest.mark.slow
def test_a_linked_work_tree_has_the_word_of_its_repository_and_nothing_else_has(
    repo: Repo, tmp_path: Path
) -> None:
    home = Home.from_environment()
    grant_trust(repo.root)
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert load_settings(home, tmp_path / "linked", {}, {}).session.access.mode == Mode.READ_ONLY
    other = tmp_path / "claims"
    other.mkdir()
    (other / ".git").write_text((tmp_path / "linked" / ".git").read_text())
    (other / "patchwright.toml").write_text(SETS)
    with pytest.raises(UserError, match="before you trust it"):
        load_settings(home, other, {}, {})


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('model = "openai/gpt\n', 'Close the quote in line 1: model = "openai/gpt'),
        ("a = 1\nmodel = 'x\n", "Close the quote in line 2: model = 'x"),
        ("model = openai/gpt\n", 'Put the text in quotes: model = "openai/gpt"'),
        ("[verify]\nlint = True\n", "TOML writes it in lower case: lint = true"),
        ("model = \n", ""),
    ],
)
def test_invalid_toml_is_told_with_what_is_usually_wrong(text: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(UserError, match="not valid TOML") as caught:
        read_settings_file(tmp_path / "settings.toml")
    assert caught.value.hint == hint


def test_the_prompt_is_drawn_with_every_terminal_setting_of_the_environment(tmp_path: Path) -> None:
    values = {
        "theme": "light",
        "editing": "vi",
        "notify": "off",
        "pause": 0.25,
        "links": False,
        "plain": True,
        "keys": {"unfold": ["f2"]},
    }
    shown = {"keys": '{unfold = ["f2"]}'}
    env = {
        f"PATCHWRIGHT_TERMINAL__{name.upper()}": shown.get(name, str(value).lower())
        for name, value in values.items()
    }
    (tmp_path / "settings.toml").write_text('[terminal]\ntheme = "mono"\n')
    drawn = read_terminal_settings(tmp_path, plain=False, env=env)
    assert {name: getattr(drawn, name) for name in values} == values
    missing = {each.name for each in fields(TerminalSettings)} - set(values)
    assert missing == {"footer"}, "drawn once the settings are loaded"
    wrong = read_terminal_settings(tmp_path, plain=False, env={"PATCHWRIGHT_TERMINAL__PAUSE": "soon"})
    assert (wrong.pause, wrong.theme) == (TerminalSettings().pause, "mono")
