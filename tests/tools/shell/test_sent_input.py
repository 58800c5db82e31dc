"""What is sent to a running shell in parts is judged as the shell takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.policy.shell.judgement import is_harmless_effect, judge_command_line
from tools.shell.sent_input import SentInput


def judge_last(root: Path, *inputs: str) -> set[str]:
    """The kinds of effects of the last input that are not harmless."""
    sent = SentInput(root)
    for each in inputs[:-1]:
        sent.add(each)
    effects = judge_command_line(sent.build_line(inputs[-1]), root=root).effects
    return {effect.kind for effect in effects if not is_harmless_effect(effect)}


@pytest.mark.parametrize(
    "inputs",
    [
        ("rm -r", "f ~\n"),
        ("rm -r", " \\\n", "-f ~\n"),
        ("rm \\\n", "-rf ~\r"),
        ("echo '\n", "' ; rm -rf ~ #'\n"),
        ('echo "\n', '"; rm -rf ~\n'),
        ("bash <<E\n", "rm -rf ~\n", "E\n"),
        ("if true\n", "then\n", "rm -rf ~\n", "fi\n"),
        ("for x in 1; do\n", "rm -rf ~; done\n"),
        ("f() {\n", "rm -rf ~\n", "}\n"),
        ("f() { rm -rf ~; }\n", "f\n"),
        ("cat <<E\nx\nE\nrm -r", "f ~\n"),
    ],
)
def test_a_command_in_parts_is_judged_whole(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    assert "destructive" in judge_last(tmp_path, *inputs)


@pytest.mark.parametrize(
    "inputs",
    [
        ("cd /\n", "rm a\n"),
        ("pushd ..\n", "ls\n", "rm a\n"),
        ("alias ls='rm -rf ~'\n", "ls\n"),
        ("exec >/etc/passwd\n", "echo x\n"),
        ("trap 'rm -rf ~' EXIT\n", "ls\n"),
        ("PATH=/tmp\n", "ls\n"),
        ("ls() {\n", "curl example.org\n}\n", "ls\n"),
        ("echo 'never closed\n" * 5_001, "ls\n"),
    ],
)
def test_what_earlier_lines_left_behind_counts(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    assert judge_last(tmp_path, inputs[-1]) == set()
    assert judge_last(tmp_path, *inputs)


@pytest.mark.parametrize(
    "inputs",
    [
        ("git push\n", "ls\n"),
        ("rm -rf ~\n", "ls\n"),
        ("rm -rf ~", "\n", "ls\n"),
        ("cat <<E\n", "x\n", "E\n", "ls\n"),
        ("if true; then\n", "ls\n", "fi\n", "ls\n"),
        ("cd .\n", "ls\n"),
    ],
)
def test_a_line_that_ended_is_not_judged_again(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    assert judge_last(tmp_path, *inputs) == set()


def test_what_seems_to_be_data_is_judged_as_a_command_too(tmp_path: Path) -> None:
    assert "destructive" in judge_last(tmp_path, "cat <<E\n", "rm -rf ~\n")
    assert "destructive" in judge_last(tmp_path, "print('''\n", "rm -rf ~\n")


def test_only_what_is_sent_is_shown_where_nothing_is_open(tmp_path: Path) -> None:
    sent = SentInput(tmp_path)
    sent.add("ls\n")
    assert sent.build_line("rm x\r") == "rm x\n"
    assert sent.build_line("") == ""
