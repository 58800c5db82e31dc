"""`patchwright policy check`, and the rules in the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.commands.offline.policy import explain_command
from cli.settings.layers import load_settings
from cli.settings.permission_rules import STORED, store_rules
from sandbox.errors import UserError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path / "own"))
    found = Home.from_environment()
    found.config.mkdir(parents=True)
    return found


def write(home: Home, text: str) -> None:
    (home.config / "settings.toml").write_text(text)


def test_it_explains_each_part_and_says_the_verdict(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain_command(tmp_path, "ls | head", {}, as_json=False) == 0
    assert "allow: it runs without asking" in capsys.readouterr().out
    assert explain_command(tmp_path, "ls && git push", {"approval": "never"}, as_json=False) == 5
    shown = capsys.readouterr().out
    assert "git push\n  network" in shown
    assert "deny: it does not run" in shown


def test_it_names_the_rule(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home, '[permissions]\ndeny = ["shell(npm publish *)"]\n')
    assert explain_command(tmp_path, "npm  publish", {}, as_json=True) == 5
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "deny"
    assert "shell(npm publish *)" in found["segments"][0]["reason"]


def test_an_example_that_does_not_hold_stops_the_loading(home: Home) -> None:
    write(home, '[permissions]\nask = [{rule = "shell(git push *)", match = ["git pull"]}]\n')
    with pytest.raises(UserError, match=r"settings.toml.*git pull"):
        load_settings(home, None, {})


def test_a_project_sets_no_rules(home: Home, tmp_path: Path) -> None:
    (tmp_path / "patchwright.toml").write_text('[permissions]\nallow = ["shell(curl *)"]\n')
    with pytest.raises(UserError, match="a project may not set"):
        load_settings(home, tmp_path, {})


def test_settings_cannot_name_what_is_made_of_them(home: Home) -> None:
    write(home, "flags = {}\n")
    with pytest.raises(UserError, match="flags"):
        load_settings(home, None, {})


def test_what_is_always_allowed_is_kept_once_and_loaded_again(home: Home) -> None:
    store_rules(home, ("git add *",))
    store_rules(home, ("git add *", "npm test"))
    assert (home.config / STORED).read_text() == "git add *\nnpm test\n"
    assert [str(rule) for rule in load_settings(home, None, {}).session.access.rules.rules] == [
        "shell(git add *)",
        "shell(npm test)",
    ]


@pytest.mark.parametrize("line", ["", "  ", "# only a comment"])
def test_a_line_without_a_command_does_nothing(
    line: str, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain_command(tmp_path, line, {}, as_json=False) == 0
    assert capsys.readouterr().out.startswith("(no command)\nallow: ")


def test_a_place_that_no_sandbox_may_show_is_refused_as_in_a_session(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    keys = tmp_path / "home" / ".ssh"
    keys.mkdir(parents=True)
    write(home, f"visible_paths = [{str(keys)!r}]\n")
    with pytest.raises(UserError, match="keys are stored there"):
        explain_command(tmp_path, "ls", {}, as_json=False)
