"""What every sandbox promises about a command: its result, its output, its end, and that nothing survives it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.errors import Fault, UserError
from sandbox.process import orphan_reaper
from sandbox.process.command import Command, Limits, Sandbox
from sandbox.process.process_tree import Descendants
from tests.sandbox.boxes import living, make, run, sh

LINGER = "tail -f"
"""Followed by a file of a name that no other test or run has: a process that never ends and can be found."""


@pytest.fixture
def trace(workspace: Path) -> Iterator[str]:
    """The path of such a file. Whatever still follows it after the test is ended, so that no run troubles the next."""
    name = f"src/trace-{os.urandom(6).hex()}"
    (workspace / name).touch()
    yield name
    for pid in living(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_the_result_is_that_of_the_program(sandbox: Sandbox, workspace: Path) -> None:
    done = sh(sandbox, workspace, "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.ended) == (7, "exited")
    assert done.stdout.text() == "out\nerr\n"
    assert done.stderr.total == 0


def test_stderr_is_kept_apart_when_asked(sandbox: Sandbox, workspace: Path) -> None:
    done = sh(sandbox, workspace, "echo out; echo err >&2", stderr="separate")
    assert (done.stdout.text(), done.stderr.text()) == ("out\n", "err\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "expected"), [("kill -SEGV $$", -11), ("kill -KILL $$", -9), ("exit 129", 129)]
)
def test_death_by_signal_is_told_from_an_exit_status(
    sandbox: Sandbox, workspace: Path, status: str, expected: int
) -> None:
    assert sh(sandbox, workspace, status).returncode == expected


def test_arguments_reach_the_program_unchanged(sandbox: Sandbox, workspace: Path) -> None:
    arguments = ("-n", "a b", "", "$HOME", "*", "ä\n", "--")
    done = run(sandbox, workspace, sys.executable, "-c", "import sys; print(sys.argv[1:])", *arguments)
    assert done.stdout.text() == f"{list(arguments)}\n"


def test_input_is_fed_and_otherwise_empty(sandbox: Sandbox, workspace: Path) -> None:
    content = os.urandom(1 << 20)
    assert run(sandbox, workspace, "wc", "-c", stdin=content).stdout.text().strip() == str(len(content))
    assert run(sandbox, workspace, "cat").stdout.total == 0


def test_a_command_runs_in_its_folder(sandbox: Sandbox, workspace: Path) -> None:
    assert run(sandbox, workspace / "src", "pwd").stdout.text().strip() == str(workspace / "src")


@pytest.mark.slow
def test_additions_to_the_environment_arrive(sandbox: Sandbox, workspace: Path) -> None:
    assert sh(sandbox, workspace, "echo $COLOUR", env={"COLOUR": "red"}).stdout.text() == "red\n"


def test_temporary_files_can_be_made(sandbox: Sandbox, workspace: Path) -> None:
    done = sh(sandbox, workspace, 'f=$(mktemp) && echo kept > "$f" && cat "$f" && rm "$f"')
    assert done.stdout.text() == "kept\n"


@pytest.mark.slow
def test_a_child_that_keeps_the_pipe_open_delays_nothing_and_dies(
    sandbox: Sandbox, workspace: Path, trace: str
) -> None:
    done = sh(sandbox, workspace, f"{LINGER} {trace} & echo done", timeout=30)
    assert (done.ended, done.stdout.text()) == ("exited", "done\n")
    assert living(trace) == []


@pytest.mark.slow
def test_a_daemon_in_a_session_of_its_own_dies(sandbox: Sandbox, workspace: Path, trace: str) -> None:
    daemon = f"setsid sh -c 'setsid {LINGER} {trace}; :' </dev/null >/dev/null 2>&1 &"
    started = "while [ ! -e src/up ]; do sleep 0.01; done"
    done = sh(sandbox, workspace, f"({daemon}); (sleep 0.05; touch src/up) & {started}; touch src/cart.py")
    assert done.ended == "exited"
    assert living(trace) == []


@pytest.mark.slow
def test_the_time_limit_kills_the_whole_tree(sandbox: Sandbox, workspace: Path, trace: str) -> None:
    script = f"trap '' TERM INT HUP; echo begun; {LINGER} {trace} & setsid {LINGER} {trace} & wait"
    done = sh(sandbox, workspace, script, timeout=0.5)
    assert (done.ended, done.returncode) == ("timeout", -9)
    assert done.stdout.text() == "begun\n"
    assert living(trace) == []


@pytest.mark.slow
def test_cancelling_kills_the_whole_tree(sandbox: Sandbox, workspace: Path, trace: str) -> None:
    async def story() -> None:
        begun = asyncio.Event()
        script = f"setsid {LINGER} {trace} & echo begun; {LINGER} {trace}"
        command = Command(argv=("/bin/sh", "-c", script), cwd=workspace)
        task = asyncio.create_task(sandbox.run(command, lambda chunk: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert living(trace) == []


@pytest.mark.slow
def test_cancelling_leaves_no_output_on_the_disk(workspace: Path, tmp_path: Path, trace: str) -> None:
    spill = tmp_path / "spill"

    async def story() -> None:
        seen = 0
        spilled = asyncio.Event()

        def count(chunk: bytes) -> None:
            nonlocal seen
            seen += len(chunk)
            if seen >= 1_000_000:
                spilled.set()

        script = f"head -c 1000000 /dev/zero; {LINGER} {trace}"
        command = Command(argv=("/bin/sh", "-c", script), cwd=workspace)
        task = asyncio.create_task(make("unconfined", workspace, spill).run(command, count))
        await spilled.wait()
        assert spill.is_dir()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert list(spill.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.006, 0.01])
def test_cancelling_at_any_moment_of_the_start_leaves_nothing(
    sandbox: Sandbox, workspace: Path, trace: str, moment: float
) -> None:
    async def story() -> None:
        command = Command(argv=("tail", "-f", trace), cwd=workspace)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sandbox.run(command), moment)

    asyncio.run(story())
    assert living(trace) == []


@pytest.mark.slow
def test_no_descriptor_is_left_open(sandbox: Sandbox, workspace: Path) -> None:
    def list_descriptors() -> set[tuple[str, str]]:
        """Numbers and what they lead to: one that takes the number of another is seen."""
        found = set()
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # the descriptor of this listing
                found.add((name, str(Path("/proc/self/fd", name).readlink())))
        return found

    async def story() -> set[tuple[str, str]]:
        command = Command(argv=("/bin/sh", "-c", "exit 3"), cwd=workspace, stdin=b"x", stderr="separate")
        await sandbox.run(command)
        gc.collect()  # what other tests of this process left open is not closed meanwhile
        before = list_descriptors()
        for _ in range(3):
            await sandbox.run(command)
        return list_descriptors() - before

    assert asyncio.run(story()) == set()


def test_commands_run_side_by_side(sandbox: Sandbox, workspace: Path) -> None:
    os.mkfifo(workspace / "src" / "meeting")

    async def story() -> list[str]:
        writer = Command(argv=("/bin/sh", "-c", "echo hello > src/meeting"), cwd=workspace, timeout=20)
        reader = Command(argv=("cat", "src/meeting"), cwd=workspace, timeout=20)
        return [done.stdout.text() for done in await asyncio.gather(sandbox.run(writer), sandbox.run(reader))]

    assert asyncio.run(story()) == ["", "hello\n"]


@pytest.mark.slow
def test_a_flood_of_output_is_bounded_and_kept_whole(sandbox: Sandbox, workspace: Path) -> None:
    done = sh(sandbox, workspace, "seq 1 200000")
    whole = "".join(f"{number}\n" for number in range(1, 200001)).encode()
    assert done.stdout.total == len(whole)
    assert whole.startswith(done.stdout.head)
    assert whole.endswith(done.stdout.tail)
    assert len(done.stdout.head) + len(done.stdout.tail) == 64 << 10
    assert done.stdout.spill is not None
    assert done.stdout.spill.read_bytes() == whole


def test_output_is_told_while_it_comes(sandbox: Sandbox, workspace: Path) -> None:
    chunks: list[bytes] = []

    async def story() -> None:
        command = Command(
            argv=("/bin/sh", "-c", "echo one; read line < src/go; echo two"), cwd=workspace, timeout=20
        )
        heard = asyncio.Event()

        def listen(chunk: bytes) -> None:
            chunks.append(chunk)
            heard.set()

        task = asyncio.create_task(sandbox.run(command, listen))
        await heard.wait()
        assert b"".join(chunks) == b"one\n"
        (workspace / "src" / "go").write_text("go\n")
        await task

    os.mkfifo(workspace / "src" / "go")
    asyncio.run(story())
    assert b"".join(chunks) == b"one\ntwo\n"


def test_memory_of_a_process_is_limited(sandbox: Sandbox, workspace: Path) -> None:
    hungry = "try: bytearray(1 << 30)\nexcept MemoryError: print('refused')"
    done = run(sandbox, workspace, sys.executable, "-c", hungry, limits=Limits(memory=512 << 20))
    assert done.stdout.text() == "refused\n"


def test_a_file_cannot_grow_without_end(sandbox: Sandbox, workspace: Path) -> None:
    script = "head -c 3000000 /dev/zero > src/big"
    done = sh(sandbox, workspace, script, limits=Limits(file_size=1 << 20))
    assert done.returncode != 0
    assert (workspace / "src" / "big").stat().st_size == 1 << 20


@pytest.mark.slow
def test_many_processes_are_gone_after_the_time_limit(sandbox: Sandbox, workspace: Path, trace: str) -> None:
    bomb = f'bomb() {{ [ "$1" -gt 0 ] && {{ bomb $(($1 - 1)) & bomb $(($1 - 1)) & }}; {LINGER} {trace}; }}; bomb 6'
    done = sh(sandbox, workspace, bomb, timeout=1.5)
    assert done.ended == "timeout"
    assert living(trace) == []


def test_a_folder_outside_the_workspace_is_denied(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "src" / "out").symlink_to(workspace.parent)
    for folder in (workspace.parent, Path("/"), workspace / "src" / "..", workspace / "src" / "out"):
        if folder.resolve() == workspace:
            assert run(sandbox, folder, "true").returncode == 0
            continue
        with pytest.raises(UserError, match="inside the workspace") as caught:
            run(sandbox, folder, "true")
        assert caught.value.fault is Fault.DENIED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("no-such-program-here",), "no such program: 'no-such-program-here'"),
        (("./src/missing",), "no such program: './src/missing'"),
        (("./src/cart.py",), "not an executable program: './src/cart.py'"),
        (("src",), "no such program: 'src'"),
        ((), "no such program: ''"),
        (("echo", "a\0b"), "holds a NUL byte"),
        (("echo", "x" * (3 << 20)), "could not be started: Argument list too long"),
    ],
)
def test_a_program_that_cannot_be_started_is_one_clear_line(
    sandbox: Sandbox, workspace: Path, argv: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UserError) as caught:
        run(sandbox, workspace, *argv)
    assert words in caught.value.message


def test_a_missing_folder_is_one_clear_line(sandbox: Sandbox, workspace: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        run(sandbox, workspace / "nowhere", "true")


def test_no_key_of_ours_is_seen_by_a_command(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent-very-secret")
    script = "env; cat /proc/self/environ; [ -r /proc/$PPID/environ ] && cat /proc/$PPID/environ; true"
    assert "very-secret" not in sh(sandbox, workspace, script).stdout.text()


@pytest.mark.slow
def test_what_nobody_reaped_is_reaped_and_holds_no_command_up(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make("unconfined", workspace)
    run(box, workspace, "true")  # from now on orphans are ours
    told = subprocess.run(
        ["sh", "-c", "sleep 0.2 >&- 2>&- & echo $!"], stdout=subprocess.PIPE, check=True, text=True
    )
    orphan = int(told.stdout)
    while Path(f"/proc/{orphan}/stat").read_bytes().rpartition(b")")[2][1:2] != b"Z":
        time.sleep(0.001)
    run(box, workspace, "true")
    assert Path(f"/proc/{orphan}").exists(), "somebody may still ask how it ended"
    monkeypatch.setattr(orphan_reaper, "UNCLAIMED_SECONDS", 0.0)
    run(box, workspace, "true")
    assert not Path(f"/proc/{orphan}").exists()


@pytest.mark.parametrize("name", ["unconfined", "landlock"])
def test_an_orphan_that_ends_after_its_command_is_reaped_at_once(workspace: Path, name: str) -> None:
    """One that wiped the mark, in a session of its own; our own children keep their exit status meanwhile."""
    box = make(name, workspace)
    script = "env -i setsid sh -c '{ cat <src/pipe; exit; } & echo $! >src/pid'; cat src/pid"
    os.mkfifo(workspace / "src" / "pipe")

    async def run_commands() -> None:
        beside = Descendants(tagged=True)  # the command of another session: so the orphan may be its own
        pid = int((await box.run(Command(argv=("sh", "-c", script), cwd=workspace))).stdout.text())
        assert Path(f"/proc/{pid}").exists()
        own = subprocess.Popen(["sh", "-c", "exit 7"], start_new_session=True)
        os.waitid(os.P_PID, own.pid, os.WEXITED | os.WNOWAIT)
        (workspace / "src" / "pipe").write_text("")
        async with asyncio.timeout(20):
            while Path(f"/proc/{pid}").exists():
                await asyncio.sleep(0.01)
        await box.run(Command(argv=("true",), cwd=workspace))
        assert own.wait() == 7
        beside.unregister()

    asyncio.run(run_commands())
