"""A user's mistakes and a machine's troubles: one clear line, its own exit code, nothing lost."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.events import End, parse_event
from tests.end_to_end.story import repair
from tests.support.cli import PATCHWRIGHT, Result, call, environment, git, run, script
from tests.support.loopback import Loopback, Trouble


def one_clear_line(result: Result, code: int, *said: str) -> None:
    """The error is one line (and one that says what to do), with no traceback, and the code is the documented one."""
    lines = [line for line in result.err.splitlines() if line.startswith("patchwright: ")]
    assert result.code == code, result.err
    assert "Traceback" not in result.err
    assert lines, result.err
    for text in said:
        assert text in result.err
    assert result.out == ""


@pytest.mark.slow
def test_a_folder_that_is_no_git_repository(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    result = run("run", "fix it", cwd=tmp_path / "plain")
    one_clear_line(result, 9, "not in a git repository", "git init", "--no-commit")


@pytest.mark.slow
def test_without_commit_a_plain_folder_will_do(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    turns = [{"calls": [call("write", path="a.txt", content="hello\n")]}, {"text": "written"}]
    result = run("run", "write a file", "--no-commit", "--model", script(tmp_path, turns), cwd=folder)
    assert (folder / "a.txt").read_text() == "hello\n"
    assert result.code == 10, "changed, and nothing there to check it with"


@pytest.mark.slow
def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    one_clear_line(run("run", "fix it", "-C", "nowhere", cwd=tmp_path), 2, "no such folder: 'nowhere'")


@pytest.mark.slow
def test_an_unknown_model(ledger: Path) -> None:
    one_clear_line(run("run", "fix it", "--model", "gtp-5", cwd=ledger), 6, "'gtp-5'")


@pytest.mark.slow
def test_a_model_whose_key_is_missing(ledger: Path) -> None:
    result = run("run", "fix it", "--model", "openai/gpt-5", cwd=ledger)
    one_clear_line(result, 8, "OPENAI_API_KEY")


@pytest.mark.slow
def test_a_key_that_the_server_refuses(ledger: Path) -> None:
    with Loopback(troubles=[Trouble(status=401, body='{"error":{"message":"Incorrect API key"}}')]) as server:
        result = run(
            "run", "fix it", "--model", "openai/x", "--api-base", server.url,
            cwd=ledger, env={"OPENAI_API_KEY": "sk-wrong-key-000000000000"},
        )  # fmt: skip
    one_clear_line(result, 8, server.url)
    assert "sk-wrong" not in result.err


@pytest.mark.slow
def test_a_server_that_refuses_the_connection(ledger: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    result = run("run", "fix it", "--model", "openai/x", "--api-base", url, cwd=ledger)
    one_clear_line(result, 7, url)


@pytest.mark.slow
def test_a_missing_script(ledger: Path) -> None:
    one_clear_line(run("run", "fix it", "--model", "scripted:none.yaml", cwd=ledger), 6, "none.yaml")


@pytest.mark.slow
def test_no_test_runner(tmp_path: Path) -> None:
    repository = tmp_path / "bare"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "README").write_text("nothing to test here\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Start")
    result = run("run", "make the failing tests pass", cwd=repository)
    assert result.code == 10, result.err
    assert "no runner found" in result.err
    assert "Traceback" not in result.err


@pytest.mark.slow
def test_an_empty_prompt_and_an_unknown_option(ledger: Path) -> None:
    one_clear_line(run("run", cwd=ledger), 2, "the prompt is empty")
    assert run("run", "x", "--colour", cwd=ledger).code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "not valid TOML"),
        ("modle = 'x'\n", "unknown setting 'modle'"),
        ("max_steps = 'many'\n", "setting 'max_steps'"),
    ],
)
def test_a_settings_file_that_is_wrong(ledger: Path, text: str, said: str) -> None:
    config = Home.from_environment().config
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(text)
    one_clear_line(run("run", "fix it", cwd=ledger), 6, said, "settings.toml")


@pytest.mark.slow
def test_a_project_may_not_choose_the_model_or_its_server(ledger: Path) -> None:
    (ledger / "patchwright.toml").write_text("api_base = 'http://evil.example'\n")
    one_clear_line(run("run", "fix it", cwd=ledger), 6, "'api_base'", "a project may not set")


@pytest.mark.slow
def test_a_task_for_a_model_is_told_apart_when_there_is_none(ledger: Path) -> None:
    result = run("run", "write a poem about the sea", cwd=ledger)
    one_clear_line(result, 6, "offline engine", "--model")


@pytest.mark.slow
def test_the_last_event_comes_on_every_path(ledger: Path, tmp_path: Path) -> None:
    for arguments, outcome in [
        (["run", "fix it", "--model", "gtp-5"], "configuration"),
        (["run", "fix it", "-C", str(tmp_path)], "not-a-repository"),
        (["run", "hi", "--model", script(tmp_path, [{"text": "hello"}], "a.json")], "done"),
        (
            [
                "run",
                "hi",
                "--max-steps",
                "1",
                "--model",
                script(tmp_path, [{"calls": [call("list")]}], "b.json"),
            ],
            "limit",
        ),
        (
            ["run", "hi", "--model", script(tmp_path, [{"error": "model-unreachable"}], "c.json")],
            "model-unreachable",
        ),
    ]:
        result = run(*arguments, "--output", "stream-json", cwd=ledger)
        last = result.events[-1]
        assert (last["kind"], last["outcome"], last["exit_code"]) == ("end", outcome, result.code)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_turn_with_a_last_event(
    ledger: Path, tmp_path: Path, number: signal.Signals
) -> None:
    turns = [
        {"calls": [call("shell", command="echo started; sleep 61.7")]},
        {"text": "too late", "delay": 60},
    ]
    process = subprocess.Popen(
        [*PATCHWRIGHT, "run", "wait", "--output", "stream-json", "--model", script(tmp_path, turns)],
        cwd=ledger,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    lines: list[bytes] = []
    for line in process.stdout:
        lines.append(line)
        if b'"kind":"action"' in line:
            break
    time.sleep(0.3)
    process.send_signal(number)
    if number is signal.SIGINT:  # the first stops the step, the second the turn
        for line in process.stdout:
            lines.append(line)
            if b'"kind":"steer"' in line:
                break
        time.sleep(0.2)
        process.send_signal(number)
    rest, errors = process.communicate(timeout=20)
    lines += rest.splitlines()
    assert process.returncode == 130, errors.decode()
    last = parse_event(lines[-1])
    assert isinstance(last, End)
    assert last.outcome == "interrupted"
    assert subprocess.run(["pgrep", "-f", "sleep 61.7"], capture_output=True, check=False).returncode == 1


@pytest.mark.slow
def test_a_reader_that_goes_away_does_not_break_the_run(ledger: Path, tmp_path: Path) -> None:
    model = script(tmp_path, repair())
    command = " ".join([*PATCHWRIGHT, "run", "go", "--output", "stream-json", "--model", model])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}"],
        cwd=ledger, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert git(ledger, "status", "--porcelain") == ""


def namespaces() -> bool:
    """Whether this machine lets us mount file systems of our own (root, or user namespaces)."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(
    not namespaces(), reason="no user namespaces here to mount a small disk in"
)


@pytest.mark.slow
@needs_namespaces
def test_a_full_disk_loses_nothing_that_was_logged(ledger: Path, tmp_path: Path) -> None:
    """The home on a tiny disk fills up in the middle of a session: one line, its own code, the log still opens."""
    keep = tmp_path / "kept"
    keep.mkdir()
    noise = "head -c 300000 /dev/zero | tr '\\\\0' x"
    turns = [{"calls": [call("shell", command=noise)], "repeat": 8}, {"text": "done"}]
    inside = (
        f"mkdir {tmp_path}/small && mount -t tmpfs -o size=1m none {tmp_path}/small && "
        f'"$@"; code=$?; cp -r {tmp_path}/small/. {keep}; exit $code'
    )
    result = run(
        "run", "fill it", "--no-commit", "--model", script(tmp_path, turns),
        cwd=ledger, env={"PATCHWRIGHT_HOME": f"{tmp_path}/small"}, wrap=["unshare", "-rm", "sh", "-c", inside, "sh"],
    )  # fmt: skip
    one_clear_line(result, 11, "no space left")
    log = next(keep.glob("data/projects/*/sessions/*/log.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    assert all(parse_event(line) for line in lines)
    assert lines[-1].endswith(b"\n")


@pytest.mark.slow
@needs_namespaces
def test_a_read_only_folder(ledger: Path) -> None:
    inside = (
        f'mount --bind {ledger} {ledger} && mount -o remount,bind,ro {ledger} && cd {ledger} && exec "$@"'
    )
    result = run("run", "fix it", cwd=ledger, wrap=["unshare", "-rm", "sh", "-c", inside, "sh"])
    one_clear_line(result, 12, "cannot be written", "--mode read-only")


@pytest.mark.slow
@needs_namespaces
def test_questions_about_a_read_only_folder_are_answered(ledger: Path, tmp_path: Path) -> None:
    inside = (
        f'mount --bind {ledger} {ledger} && mount -o remount,bind,ro {ledger} && cd {ledger} && exec "$@"'
    )
    turns = [{"calls": [call("read", path="README.md")]}, {"text": "It keeps a flat's expenses."}]
    result = run(
        "run", "what is this?", "--mode", "read-only", "--model", script(tmp_path, turns),
        cwd=ledger, wrap=["unshare", "-rm", "sh", "-c", inside, "sh"],
    )  # fmt: skip
    assert (result.code, result.out) == (0, "It keeps a flat's expenses.\n")
