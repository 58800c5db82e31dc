"""`shell`: real commands in the real sandbox."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sandbox.policy.decision import Mode
from tests.tools.workspaces import call, refused, workspace
from tools.edit.edit_tools import edit
from tools.session.recall import recall
from tools.shell.shell_tool import shell


def test_exit_status_comes_first_and_output_is_merged(tmp_path: Path) -> None:
    observation = call(shell, workspace(tmp_path), command="echo out; echo err >&2; exit 3")
    assert observation.text == "exit 3\nout\nerr"
    assert observation.failed
    assert observation.data["exit"] == 3
    silent = call(shell, workspace(tmp_path), command="true")
    assert silent.text == "exit 0\n(no output)"
    assert not silent.failed


def test_commands_run_in_the_workspace_root_and_may_write_there(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "one\n"})
    assert call(shell, at, command="cat a.txt; echo two > b.txt").text == "exit 0\none"
    assert (at.root / "b.txt").read_text() == "two\n"


def test_a_read_only_session_lets_commands_write_nothing(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    if at.sandbox.name == "unconfined":
        pytest.skip("nothing confines commands on this machine")
    at.mode = Mode.READ_ONLY
    observation = call(shell, at, command="echo two > b.txt")
    assert observation.failed
    assert "[sandbox: the session is read-only: commands can write only /tmp]" in observation.text
    assert not (at.root / "b.txt").exists()


def test_bounds_of_the_sandbox_are_explained(tmp_path: Path) -> None:
    at = workspace(tmp_path, {".git/HEAD": "ref: refs/heads/main\n"})
    if at.sandbox.name == "unconfined":
        pytest.skip("nothing confines commands on this machine")
    assert "use git_commit, or git_bisect" in call(shell, at, command="touch .git/index.lock").text
    no_name = call(shell, at, command="echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6")
    assert no_name.text.endswith("[sandbox: commands have no network]")


@pytest.mark.slow
def test_what_commands_do_not_see_is_explained(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": ""})
    if at.sandbox.name == "unconfined":
        pytest.skip("nothing confines commands on this machine")
    docker = (
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    )
    for line in (docker, "connect to /tmp/agent.sock failed: No such file or directory"):
        assert (
            "[sandbox: sockets of other programs cannot be reached"
            in call(shell, at, command=f"echo '{line}'; exit 1").text
        )
    beside = call(shell, at, command="cat /srv/models/weights.bin")
    assert "commands see little outside the workspace, not /srv/models/weights.bin" in beside.text
    assert "visible_paths" in beside.text
    for path in ("missing.txt", f"{at.root}/missing.txt", "/usr/missing", "/tmp/missing"):
        assert "visible_paths" not in call(shell, at, command=f"cat {path}").text, path


@pytest.mark.slow
def test_a_committed_folder_that_looks_like_a_repository_is_explained(tmp_path: Path) -> None:
    parts = {"HEAD": "ref: refs/heads/main\n", "objects/keep": "", "refs/keep": "", "description": "one\n"}
    at = workspace(tmp_path, {f"demo.git/{name}": content for name, content in parts.items()})
    if at.sandbox.name == "unconfined":
        pytest.skip("nothing confines commands on this machine")
    text = call(shell, at, command="echo two > demo.git/description").text
    assert "commands cannot write it; use edit or write" in text
    assert "git_commit" not in text
    call(edit, at, path="demo.git/description", old="one", new="two")
    assert (at.root / "demo.git/description").read_text() == "two\n"
    (at.root / "site.git").mkdir()
    assert call(shell, at, command="echo a > site.git/index.html").data["exit"] == 0


@pytest.mark.slow
def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    observation = call(shell, workspace(tmp_path), command="echo begun; sleep 60", timeout=1)
    assert observation.text == "killed after 1 s, the time limit (timeout= raises it up to 3600)\nbegun"
    assert observation.data["ended"] == "timeout"


def test_long_output_keeps_head_and_tail_and_the_whole_by_reference(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    observation = call(shell, at, command="seq 1 30000")
    assert observation.ref == "out:1"
    lines = observation.text.splitlines()
    assert lines[:3] == ["exit 0", "1", "2"]
    assert lines[-1] == "30000"
    assert len(observation.text) < 17_000
    cut = next(line for line in lines if "cut" in line)
    start = int(cut.partition("start=")[2].partition(")")[0])
    assert str(start - 1) == lines[lines.index(cut) - 1]
    assert f"{start}\t{start}\n" in call(recall, at, ref=observation.ref, start=start).text


def test_colours_and_progress_are_left_out(tmp_path: Path) -> None:
    text = call(shell, workspace(tmp_path), command=r"printf '\e[31mred\e[0m\n 10%%\r 99%%\rdone\n'").text
    assert text == "exit 0\nred\ndone"


@pytest.mark.slow
def test_python_leaves_no_byte_code_and_never_runs_stale_one(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"m.py": "A = 1\n"})
    command = f"{sys.executable} -c 'import m; print(m.A)'"
    assert call(shell, at, command=command).text == "exit 0\n1"
    (at.root / "m.py").write_text("A = 2\n")  # the same size, within the same second
    assert call(shell, at, command=command).text == "exit 0\n2"
    assert not (at.root / "__pycache__").exists()


def test_arguments_out_of_range_are_refused(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    assert "the command is empty" in refused(shell, at, command="  ")
    assert "1 to 3600" in refused(shell, at, command="true", timeout=4000)
    assert "1 to 3600" in refused(shell, at, command="true", timeout=0)


def test_a_person_sees_the_last_line_while_it_runs(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    seen: list[str] = []
    at.progress = seen.append
    call(shell, at, command="echo compiling; echo linking")
    assert seen[-1] == "linking"


def test_the_effect_names_the_command_line(tmp_path: Path) -> None:
    effect = shell.effect_of({"command": "ls -l", "timeout": None}, workspace(tmp_path))
    assert (effect.kind, effect.argv) == ("execute", ("bash", "-c", "ls -l"))
    assert not shell.reads_only
