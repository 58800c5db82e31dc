"""What is asked in a wrong way, or from a place that is gone: one line, the right code, a last event."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.commands.group import GROUPS, THEMES
from sandbox.extensions import read_extensions
from tests.support.cli import Result, git, run, script

pytestmark = pytest.mark.slow  # each test starts whole programs or real repositories


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    repository = tmp_path / "plain"
    repository.mkdir()
    git(repository, "init", "-q")
    return repository


def refused(result: Result, code: int, *said: str) -> None:
    assert result.code == code, result.err
    assert "Traceback" not in result.err
    assert result.out == ""
    for text in said:
        assert text in result.err


def test_an_option_before_the_command_is_refused_rather_than_lost(plain: Path, tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "hello"}])
    result = run("--mode", "read-only", "run", "hi", "--model", model, cwd=plain)
    refused(result, 2, "--mode", "patchwright run --mode")


def test_a_task_in_place_of_a_command_names_the_command_that_does_it(plain: Path) -> None:
    refused(
        run("fix the bug's cause", cwd=plain),
        2,
        "no such command",
        """patchwright run 'fix the bug'"'"'s cause'""",
    )
    refused(run("comit", cwd=plain), 2, "Did you mean", "commit")


def test_trust_outside_a_repository_advises_nothing_that_it_does_not_take(tmp_path: Path) -> None:
    result = run("trust", cwd=tmp_path)
    refused(result, 9, "not in a git repository", "git init")
    assert "--no-commit" not in result.err


@pytest.mark.parametrize(
    "group",
    [
        "",
        "session",
        "functions",
        "config",
        "hook",
        "policy",
        "context",
        "runs",
        "model",
        "memory",
        "eval",
        "tune",
        "plugin",
    ],
)
def test_no_line_of_a_list_of_commands_is_cut_in_a_narrow_terminal(group: str, plain: Path) -> None:
    listed = run(*group.split(), "--help", cwd=plain, env={"COLUMNS": "80"}).out.partition(
        "Commands:" if group else "Work:"
    )[2]
    assert listed
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


def test_the_help_lists_each_command_once_under_its_heading(plain: Path) -> None:
    helped = run("--help", cwd=plain, env={"COLUMNS": "80"}).out
    sections = re.findall(r"^(\w+):\n((?:  \S.*\n?)+)", helped, re.MULTILINE)
    named = {title: [line.split()[0] for line in lines.splitlines()] for title, lines in sections}
    named.pop("Options")
    assert list(named) == ["Work", "Background", "Sessions", "Git", "Code", "Measure", "Project", "Expert"]
    every = [*(name for names in THEMES.values() for name in names), *read_extensions("commands"), *GROUPS]
    grouped = {name for _, names in GROUPS.values() for name in names.split()}
    listed = sorted(name for names in named.values() for name in names)
    assert listed == sorted(name for name in every if name not in grouped)
    assert named["Git"] == ["commit", "review", "pr", "hook"]
    lines = [line for title, lines in sections if title != "Options" for line in lines.splitlines()]
    assert len({len(re.sub(r"^  \S+ +", "", line)) - len(line) for line in lines}) == 1, "one column"


def test_two_prompts_are_one_too_many(plain: Path) -> None:
    refused(run("run", "this", "-p", "that", cwd=plain), 2, "two prompts")


@pytest.mark.parametrize("option", ["--max-cost", "--max-time"])
def test_a_limit_that_is_no_number_is_refused(plain: Path, option: str) -> None:
    refused(run("run", "hi", option, "nan", cwd=plain), 2, option)


@pytest.mark.parametrize(
    "setting", ["max_steps = 0", "max_tokens = -1", "max_cost = -1.0", "max_time = nan", "tests.timeout = 0"]
)
def test_a_number_out_of_range_in_the_settings(plain: Path, setting: str) -> None:
    config = Home.from_environment().config
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(setting + "\n")
    refused(run("run", "hi", cwd=plain), 6, setting.split(" ", 1)[0], "settings.toml", "or more")


@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_resume_with_nothing_to_resume_ends_with_a_last_event(plain: Path, output: str) -> None:
    result = run("resume", "--output", output, cwd=plain)
    assert result.code == 2
    last = result.events[-1]
    assert (last["kind"], last["outcome"], last["exit_code"]) == ("end", "usage", 2)


def test_a_home_that_cannot_be_made(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    model = script(tmp_path, [{"text": "hello"}])
    home = {"PATCHWRIGHT_HOME": str(tmp_path / "file")}
    refused(run("run", "hi", "--model", model, cwd=plain, env=home), 12, "Set PATCHWRIGHT_HOME")
    result = run("doctor", cwd=plain, env=home)
    assert (result.code, "Set PATCHWRIGHT_HOME" in result.out) == (6, True)


def test_a_home_of_a_user_whom_nobody_knows(plain: Path) -> None:
    result = run("run", "hi", cwd=plain, env={"PATCHWRIGHT_HOME": "~nobody-of-that-name/x"})
    refused(result, 6, "~nobody-of-that-name")


@pytest.mark.parametrize("command", [["run", "hi"], ["sessions"], ["doctor"], ["init"], ["resume"]])
def test_a_current_folder_that_is_gone(tmp_path: Path, command: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    wrap = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh"]
    refused(run(*command, cwd=gone, wrap=wrap), 2, "does not exist any more")


def test_doctor_in_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    refused(run("doctor", "-C", "nowhere", cwd=tmp_path), 2, "no such folder: 'nowhere'")
