"""Bubblewrap with workspaces and toolchains in unusual places."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandbox.backends.bubblewrap import Bubblewrap
from sandbox.backends.constraints import Constraints
from sandbox.backends.namespace import find_first_process
from sandbox.errors import Fault, UserError
from sandbox.network.netns_join import find_first_child, open_network_namespace
from sandbox.process.command import Command, Sandbox
from tests.sandbox.boxes import bwrap, living, make, privilege, run, sh


@pytest.mark.slow
def test_the_private_folders_start_empty_and_leave_nothing(
    bubble: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "of-someone-else").touch()
    name = f"left-behind-{os.getpid()}"
    done = sh(
        bubble, workspace, f"ls {tmp_path}; touch /tmp/{name} /var/tmp/{name} /run/{name} /dev/shm/{name}"
    )
    assert done.returncode == 0, done.stdout.text()
    if str(tmp_path).startswith("/tmp/"):
        assert "of-someone-else" not in done.stdout.text()
    assert not [each for each in ("/tmp", "/var/tmp", "/run", "/dev/shm") if Path(each, name).exists()]


def test_the_home_folder_itself_can_be_the_workspace(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("very-secret")
    (home / ".netrc").write_text("very-secret")
    done = sh(make("bubblewrap", home), home, "echo x > file; cat .ssh/id .netrc; echo x > .netrc")
    assert "very-secret" not in done.stdout.text()
    assert (home / "file").read_text() == "x\n"
    assert (home / ".netrc").read_text() == "very-secret"


def test_a_workspace_inside_a_hidden_folder_is_seen(home: Path) -> None:
    data = home / "data"
    copy = data / "attempts" / "1"
    copy.mkdir(parents=True)
    (data / "log").write_text("very-secret")
    box = Bubblewrap(Constraints(copy, hidden=(data,)), program=bwrap(), privilege=privilege())
    done = sh(box, copy, f"echo x > file; cat {data}/log")
    assert (copy / "file").read_text() == "x\n"
    assert "very-secret" not in done.stdout.text()


def test_a_workspace_is_found_through_a_link(workspace: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    box = make("bubblewrap", link)
    assert run(box, link / "src", "pwd").stdout.text().strip() == str(workspace / "src")


@pytest.mark.slow
def test_a_virtual_environment_in_a_temporary_folder_works(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = tmp_path / "environments" / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    box = make("bubblewrap", workspace)
    ask = ("-c", "import sys; print(sys.prefix)")
    python = str(venv / "bin" / "python")
    with pytest.raises(UserError, match="cannot see the program"):
        run(box, workspace, python, *ask)
    assert run(box, workspace, python, *ask, readable=(venv,)).stdout.text().strip() == str(venv)
    monkeypatch.setenv("PATH", f"{venv}/bin{os.pathsep}{os.environ['PATH']}")
    assert sh(box, workspace, "python -c 'import sys; print(sys.prefix)'").stdout.text().strip() == str(venv)


def test_the_projects_own_environment_can_be_written_in_a_temporary_folder(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / ".venv/bin").mkdir(parents=True)
    (workspace / ".venv/pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", f"{workspace}/.venv/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", f"{workspace}/.venv")
    assert sh(make("bubblewrap", workspace), workspace, "echo x > .venv/bin/tool").returncode == 0


@pytest.mark.slow
def test_a_workspace_of_another_user_can_be_written_by_root(workspace: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in (workspace, *workspace.rglob("*")):
        os.chown(path, 65534, 65534)
    assert sh(make("bubblewrap", workspace), workspace, "echo x > src/cart.py; touch new").returncode == 0
    assert (workspace / "new").exists()


def test_setting_up_that_fails_is_told_from_a_command_that_fails(workspace: Path, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    box = Bubblewrap(Constraints(workspace), program=broken, privilege="user")
    with pytest.raises(UserError, match="could not be set up: No permissions") as caught:
        run(box, workspace, "true")
    assert caught.value.fault is Fault.CONFIGURATION


@pytest.mark.slow
def test_a_loop_that_is_killed_takes_its_commands_with_it(workspace: Path) -> None:
    """`--die-with-parent`: not even `kill -9` of us leaves a command running."""
    name = f"src/trace-{os.urandom(6).hex()}"
    (workspace / name).touch()
    script = f"""
import asyncio, os, signal, sys
from pathlib import Path
from sandbox.backends.constraints import Constraints
from sandbox.backends.bubblewrap import Bubblewrap
from sandbox.process.command import Command
box = Bubblewrap(Constraints(Path({str(workspace)!r})), program=Path({str(bwrap())!r}), privilege={privilege()!r})
command = Command(argv=("sh", "-c", "echo up; tail -f {name}"), cwd=box.root)
asyncio.run(box.run(command, lambda chunk: os.kill(os.getpid(), signal.SIGKILL)))
"""
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", script], cwd=root, check=False, timeout=30)

    async def gone() -> None:
        async with asyncio.timeout(10):
            while living(name):
                await asyncio.sleep(0.01)

    asyncio.run(gone())


@pytest.mark.slow
def test_toolchains_that_reserve_much_memory_start(bubble: Sandbox, workspace: Path) -> None:
    programs = [("node", "-e", "console.log(1)"), ("java", "-version"), ("go", "version")]
    present = [argv for argv in programs if shutil.which(argv[0])]
    if not present:
        pytest.skip("none of node, java, go is installed")
    for argv in present:
        done = run(bubble, workspace, *argv)
        assert done.returncode == 0, done.stdout.text()


def test_a_shell_of_its_own_session_cannot_type_into_the_terminal(bubble: Sandbox, workspace: Path) -> None:
    done = asyncio.run(bubble.run(Command(argv=("sh", "-c", "echo x > /dev/tty"), cwd=workspace)))
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("report", "first"),
    [
        (b"", 0),
        (b'{ "child-pid": 74', 0),
        (b'{ "child-pid": 7432, "net', 7432),
        (b'{ "child-pid": 7432, "net-namespace": 1 }\n{ "exit-code": 0 }\n', 7432),
    ],
)
def test_a_report_that_breaks_off_names_no_other_process(report: bytes, first: int) -> None:
    assert find_first_process(report) == first


@pytest.mark.slow
def test_a_script_without_its_interpreter_ends_as_in_a_shell(bubble: Sandbox, workspace: Path) -> None:
    (workspace / "script").write_text("#!/no/such/interpreter\n")
    (workspace / "script").chmod(0o755)
    done = run(bubble, workspace, "./script")
    assert done.returncode == 127
    assert "./script" in done.stdout.text()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this machine has no /dev/shm")
def test_a_workspace_in_shared_memory_is_seen_alone(home: Path) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as folder,
        tempfile.NamedTemporaryFile(dir="/dev/shm") as other,
    ):
        box = Bubblewrap(Constraints(Path(folder)), program=bwrap(), privilege=privilege())
        done = sh(box, Path(folder), f"ls /dev/shm; touch made; touch {other.name}.x /dev/x")
        assert done.stdout.text().splitlines()[0] == Path(folder).name
        assert os.listdir(folder) == ["made"]
        assert "/dev/x" in done.stdout.text(), "the devices stay read-only"


def refuse_limits(*_: object) -> None:
    raise PermissionError(1, "not permitted")


@pytest.mark.slow
def test_a_command_starts_with_its_limits(
    bubble: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set by us or, where that is forbidden, by a shell in the sandbox."""
    script = "ulimit -Hc; ulimit -Hd; ulimit -Hf; echo x >> src/ran"
    for refused in (False, False, True, True):
        if refused:
            monkeypatch.setattr(resource, "prlimit", refuse_limits)
        done = sh(bubble, workspace, script)
        assert done.stdout.text().split() == ["0", str((8 << 30) // 1024), str((4 << 30) // 512)]
    assert (workspace / "src" / "ran").read_text() == "x\n" * 4, "none ran twice"


def test_a_process_in_the_machines_own_network_has_none_to_share() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(["/bin/sh", "-c", "cat; :"], stdin=pipe, stdout=pipe) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(b"x")
        shell.stdin.flush()
        assert shell.stdout.read(1) == b"x", "its child runs"
        assert find_first_child(shell.pid) != 0
        with open_network_namespace(shell.pid) as descriptor:
            assert descriptor == -1
        shell.stdin.close()
