"""Seatbelt's profile and the container's command line, as text; a real container where an engine and image are."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.backends import container, seatbelt
from sandbox.backends.constraints import Constraints
from sandbox.backends.container import Container
from sandbox.fs.protected_paths import find_protected_paths
from sandbox.process.command import Command, Limits
from sandbox.view.machine_view import ViewRequest, build_machine_view
from tests.sandbox.boxes import sh


def build_profile(
    workspace: Path, writable: Path, *, closed: Sequence[Path] = (), network: bool = False
) -> str:
    view = build_machine_view(ViewRequest(root=workspace, named=workspace), {"PATH": "/usr/bin"})
    return seatbelt.build_profile(
        view,
        readable=[workspace],
        writable=[writable],
        guards=find_protected_paths(workspace),
        closed=closed,
        network=network,
    )


def test_the_profile_closes_what_the_others_close(workspace: Path, home: Path) -> None:
    (home / ".ssh").mkdir()
    text = build_profile(workspace, workspace, closed=[home / ".ssh"])
    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    allowed = lines.index(f'(allow file-write* (subpath "{workspace}"))')
    for name in (
        ".git",
        ".vscode",
        ".envrc",
        "patchwright.toml",
    ):  # there or not; the last rule that fits decides
        assert lines.index(f'(deny file-write* (subpath "{workspace / name}"))') > allowed
    assert f'(deny file-read* file-write* (subpath "{home / ".ssh"}"))' in lines
    assert f'(deny file-write-unlink (literal "{workspace}"))' in lines
    assert "network" not in text
    assert text.count("(") == text.count(")")


def test_the_profile_of_a_granted_network_and_of_a_name_with_quotes(workspace: Path) -> None:
    odd = workspace / 'a"b\\c'
    text = build_profile(workspace, odd, network=True)
    assert f'(allow file-write* (subpath "{workspace}/a\\"b\\\\c"))' in text
    assert "(allow network*)" in text


def test_the_profile_shows_what_the_others_show(workspace: Path, home: Path) -> None:
    (home / ".cargo" / "bin").mkdir(parents=True)
    (home / "diary").mkdir()
    found = re.findall(
        r'\(allow file-read\* \((?:subpath|literal) "([^"]*)"\)\)', build_profile(workspace, workspace)
    )
    assert {"/usr", "/bin", str(home / ".cargo"), str(workspace)} <= set(found)
    for hidden in (home, home / "diary", Path("/var/log"), Path("/home")):
        assert not {str(each) for each in (hidden, *hidden.parents)} & set(found)


def test_seatbelt_says_why_it_does_not_work_here() -> None:
    if Path("/usr/bin/sandbox-exec").exists():
        pytest.skip("this is macOS")
    assert seatbelt.explain_unavailability() == "this is not macOS"


def test_a_container_is_as_closed_as_it_can_be(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".env").write_text("very-secret")
    box = Container(
        Constraints(workspace, denied=[workspace / ".env"]),
        engine=Path("/usr/bin/docker"),
        image="python:3.12",
    )
    command = Command(
        argv=("true",), cwd=workspace, env={"COLOUR": "red"}, limits=Limits(processes=7, memory=1 << 30)
    )
    argv = box.build_command_line(command, workspace / "src", find_protected_paths(workspace), "name")
    line = " ".join(argv)
    for part in (
        "run --rm --init --interactive --pull=never --name name",
        f"--workdir {workspace}/src",
        "--network none",
        "--read-only --cap-drop ALL --security-opt no-new-privileges",
        f"--user {os.getuid()}:{os.getgid()}",
        "--pids-limit=7 --memory=1073741824",
        "--env COLOUR=red",
        f"--mount type=bind,source={workspace},target={workspace} ",
        f"--mount type=bind,source={workspace}/.git,target={workspace}/.git,readonly",
        f"--mount type=bind,source=/dev/null,readonly,target={workspace}/.env",
    ):
        assert part in line
    assert argv[-1] == "python:3.12"
    assert "very-secret" not in line


def test_a_read_only_command_gets_a_read_only_workspace(workspace: Path) -> None:
    box = Container(Constraints(workspace), engine=Path("/usr/bin/podman"), image="x")
    command = Command(argv=("true",), cwd=workspace, scope="read-only")
    argv = box.build_command_line(command, workspace, find_protected_paths(workspace), "name")
    assert f"type=bind,source={workspace},target={workspace},readonly" in argv


@pytest.mark.slow
def test_a_command_runs_in_a_real_container(workspace: Path) -> None:
    engine = container.find_engine()
    if isinstance(engine, str):
        pytest.skip(engine)
    images = subprocess.run([engine, "images", "-q", "busybox"], capture_output=True, text=True, check=False)
    if not images.stdout.strip():
        pytest.skip("no image busybox here")
    box = Container(Constraints(workspace), engine=engine, image="busybox")
    done = sh(box, workspace, "echo x > src/made; echo x > .git/evil; echo x > /evil; cat src/made")
    assert done.stdout.text().startswith("x\n") or "x\n" in done.stdout.text()
    assert (workspace / "src" / "made").exists()
    assert not (workspace / ".git" / "evil").exists()
