"""What a confined command cannot do: write outside, touch .git, reach a network, read keys, gain rights."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.backends.constraints import Constraints
from sandbox.process.command import Limits, Sandbox
from sandbox.secrets.child_environment import HIDDEN_IN_HOME
from tests.sandbox.boxes import CONFINED, make, run, sh


@pytest.mark.slow
def test_a_write_outside_fails_and_leaves_nothing(confined: Sandbox, workspace: Path, home: Path) -> None:
    for target in (Path("/etc/outside"), Path("/var/outside"), Path("/outside")):
        assert sh(confined, workspace, f"echo x > {target}").returncode != 0
        assert not target.exists()
    sh(confined, workspace, f"echo x > {home}/outside")  # may succeed in a private home, where it is lost
    assert not (home / "outside").exists()
    neighbour = workspace.parent / "outside"
    sh(confined, workspace, f"echo x > {neighbour}")  # may succeed in a private /tmp, where it is lost
    assert not neighbour.exists()
    victim = workspace.parent / "victim"
    victim.write_text("precious")
    sh(
        confined,
        workspace,
        f"echo x >> {victim}; : > {victim}; rm -f {victim}; mv {victim} src/; ln -f {victim} src/l",
    )
    assert victim.read_text() == "precious"


def test_a_link_in_the_workspace_leads_no_write_outside(confined: Sandbox, workspace: Path) -> None:
    victim = workspace.parent / "victim"
    victim.write_text("precious")
    (workspace / "src" / "link").symlink_to(victim)
    (workspace / "link").symlink_to(workspace.parent)
    sh(confined, workspace, "echo x > src/link; echo x > link/new")
    assert victim.read_text() == "precious"
    assert not (workspace.parent / "new").exists()


def test_a_write_inside_succeeds(confined: Sandbox, workspace: Path) -> None:
    script = "echo 1 > src/cart.py && mkdir -p src/a/b && echo 2 > src/a/new && mv src/a/new src/a/b/moved"
    assert sh(confined, workspace, script).returncode == 0
    assert (workspace / "src" / "a" / "b" / "moved").read_text() == "2\n"


@pytest.mark.slow
def test_the_git_folder_cannot_be_changed(confined: Sandbox, workspace: Path) -> None:
    def state() -> dict[str, bytes | None]:
        return {str(path): path.read_bytes() if path.is_file() else None for path in git.rglob("*")}

    git = workspace / ".git"
    before = state()
    attacks = (
        "git config core.fsmonitor /tmp/evil",
        "echo evil >> .git/config",
        "echo evil > .git/hooks/pre-commit",
        "rm -rf .git",
        "mv .git .tig",
        "mkdir .git/evil",
        "ln -s /tmp .git/evil",
        "chmod -R 777 .git",
        "ln .git/config src/config && echo evil > src/config",
    )
    for attack in attacks:
        sh(confined, workspace, attack)
        assert state() == before, attack
    assert run(confined, workspace, "git", "-c", "safe.directory=*", "status", "--short").returncode == 0


@pytest.mark.slow
def test_the_real_git_folder_of_a_worktree_cannot_be_changed(workspace: Path) -> None:
    commit = ["commit", "--quiet", "--allow-empty", "--message", "begin"]
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(workspace), *who, *commit], check=True)
    second = workspace / "trees" / "second"
    subprocess.run(["git", "-C", str(workspace), "worktree", "add", "--quiet", str(second)], check=True)
    for name in CONFINED:
        box = make(name, second)
        pointer = (second / ".git").read_text()
        script = "git -c safe.directory=* log --format=%s; echo x > .git; rm .git; mv .git tig"
        assert sh(box, second, script).stdout.text().startswith("begin\n")
        assert (second / ".git").read_text() == pointer


def test_our_settings_in_the_project_cannot_be_changed(confined: Sandbox, workspace: Path) -> None:
    (workspace / "patchwright.toml").write_text("[tests]\n")
    assert sh(confined, workspace, "echo evil >> patchwright.toml").returncode != 0
    assert (workspace / "patchwright.toml").read_text() == "[tests]\n"


def test_read_only_scope_writes_nothing_in_the_workspace(confined: Sandbox, workspace: Path) -> None:
    done = sh(confined, workspace, "cat src/cart.py; echo x > src/cart.py; touch src/new", scope="read-only")
    assert done.stdout.text().startswith("total = 0\n")
    assert (workspace / "src" / "cart.py").read_text() == "total = 0\n"
    assert not (workspace / "src" / "new").exists()


def test_extra_folders_are_readable_or_writable_as_asked(
    confined: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    reports, script = tmp_path / "reports", tmp_path / "script"
    reports.mkdir()
    script.write_text("hello")
    shown = {"readable": (script,), "writable": (reports,)}
    done = sh(confined, workspace, f"cat '{script}' > '{reports}'/copy; echo x >> '{script}'", **shown)
    assert done.returncode != 0
    assert (reports / "copy").read_text() == "hello"
    assert script.read_text() == "hello"


CONNECT = """
import socket, sys
kind = socket.SOCK_DGRAM if sys.argv[1] == "udp" else socket.SOCK_STREAM
with socket.socket(socket.AF_INET, kind) as s:
    s.settimeout(5)
    s.connect((sys.argv[2], int(sys.argv[3])))
    s.send(b"stolen")
"""


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_nothing_outside_can_be_reached_by_network(confined: Sandbox, workspace: Path, protocol: str) -> None:
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as server:
        server.bind(("127.0.0.1", 0))
        if protocol == "tcp":
            server.listen()
        server.setblocking(False)
        port = str(server.getsockname()[1])
        run(confined, workspace, sys.executable, "-c", CONNECT, protocol, "127.0.0.1", port)
        with pytest.raises(BlockingIOError):
            server.accept() if protocol == "tcp" else server.recv(10)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFINED)
def test_the_network_is_there_when_the_user_grants_it(name: str, workspace: Path) -> None:
    box = make(name, workspace, network=True)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = str(server.getsockname()[1])
        done = run(box, workspace, sys.executable, "-c", CONNECT, "tcp", "127.0.0.1", port)
        assert done.returncode == 0, done.stdout.text()


def test_an_abstract_socket_of_another_program_cannot_be_reached(confined: Sandbox, workspace: Path) -> None:
    name = f"patchwright-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        knock = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        assert run(confined, workspace, sys.executable, "-c", knock).returncode != 0


@pytest.mark.slow
def test_keys_in_the_home_folder_cannot_be_read(confined: Sandbox, workspace: Path, home: Path) -> None:
    folders = {".ssh", ".gnupg", ".password-store", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh"}
    for name in HIDDEN_IN_HOME:
        key = home / name / "key" if name in folders else home / name
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_text("very-secret")
    (home / "notes.txt").write_text("private")
    (home / ".cargo/notes.txt").write_text("harmless")
    done = sh(confined, workspace, "grep -rs . ~; cat ~/notes.txt")
    assert "very-secret" not in done.stdout.text()
    assert "private" not in done.stdout.text()
    assert "harmless" in done.stdout.text()


def test_our_own_folders_cannot_be_read(workspace: Path, home: Path) -> None:
    from sandbox.backends.bubblewrap import Bubblewrap
    from sandbox.backends.landlock import Landlock, explain_unavailability
    from tests.sandbox.boxes import bwrap, privilege

    data = home / ".local" / "share" / "patchwright"
    data.mkdir(parents=True)
    (data / "session").write_text("very-secret")
    boxes: list[Sandbox] = [
        Bubblewrap(Constraints(workspace, hidden=(data,)), program=bwrap(), privilege=privilege())
    ]
    if not explain_unavailability():
        boxes.append(Landlock(Constraints(workspace, hidden=(data,))))
    for box in boxes:
        assert "very-secret" not in sh(box, workspace, f"cat {data}/session").stdout.text()


def test_no_other_process_can_be_signalled(confined: Sandbox, workspace: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            sh(confined, workspace, f"kill -9 {other.pid}")
            assert other.poll() is None
        finally:
            other.kill()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bubblewrap", "bubblewrap-user"])
def test_a_read_only_mount_cannot_be_made_writable(name: str, workspace: Path) -> None:
    box = make(name, workspace)
    target = workspace.parent / "escaped"
    for attempt in (
        "mount -o remount,bind,rw /",
        f"mount -o remount,bind,rw {workspace}/.git",
        f"umount {workspace}/.git",
        "unshare -Urm sh -c 'mount -o remount,bind,rw /; mount -o remount,rw /'",
        f"unshare -Urm sh -c 'umount {workspace}/.git; mount -o remount,bind,rw {workspace}/.git'",
        "mknod src/disk b 254 0",
    ):
        sh(box, workspace, f"{attempt}; touch {target} .git/escaped /etc/escaped")
        assert not target.exists(), attempt
        assert not (workspace / ".git" / "escaped").exists(), attempt
        assert not Path("/etc/escaped").exists(), attempt


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bubblewrap", "bubblewrap-user"])
def test_a_server_of_its_own_can_be_reached_within_a_command(name: str, workspace: Path) -> None:
    talk = """
import socket
server = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(server.getsockname()) as client:
    server.accept()[0].send(b"hi")
    print(client.recv(10))
"""
    done = run(make(name, workspace), workspace, sys.executable, "-c", talk)
    assert done.stdout.text() == "b'hi'\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel does not count root's processes")
def test_the_number_of_processes_is_limited(bubble: Sandbox, workspace: Path) -> None:
    done = sh(bubble, workspace, "for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done", limits=Limits(processes=5))
    assert "fork" in done.stdout.text()
