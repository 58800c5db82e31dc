"""A helper reads, writes and starts only the listed paths, opens no socket, and its memory is limited."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.helpers.git_reach import find_command_name
from sandbox.helpers.helper_confinement import Reach, find_confinement, find_loader, start_confined

pytestmark = pytest.mark.skipif(not find_confinement(), reason="the kernel has no Landlock")


def run_python(code: str, *arguments: str | Path, port: int = 0, **reach: tuple[str, ...]) -> str:
    """Run Python as a helper would be; return what it printed, or the name of the error that ended it."""
    own = tuple(map(os.path.realpath, (sys.prefix, sys.base_prefix)))
    bounds = Reach(
        programs=(sys.executable, *reach.get("programs", ())),
        readable=(*own, *reach.get("readable", ())),
        writable=reach.get("writable", ()),
        denied=reach.get("denied", ()),
        memory=1 << 28,
        port=port,
    )
    argv = [sys.executable, "-I", "-S", "-c", f"import os, sys\n{code}", *map(str, arguments)]
    process = start_confined(
        bounds, lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    )
    out, err = process.communicate(timeout=60)
    return (out or err.splitlines()[-1].split(b":")[0]).decode().strip()


READ = "print(open(sys.argv[1]).read())"


@pytest.mark.slow
def test_it_reads_what_it_may_and_nothing_else(tmp_path: Path) -> None:
    for name in ("mine", "other", "mine/deep"):
        (tmp_path / name).mkdir()
    for name in ("mine/a", "mine/deep/key", "other/b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "mine/link").symlink_to(tmp_path / "other/b")
    mine = (str(tmp_path / "mine"),)
    assert run_python(READ, tmp_path / "mine/a", readable=mine) == "mine/a"
    assert run_python(READ, tmp_path / "mine/deep/key", readable=mine) == "mine/deep/key"
    assert run_python(READ, tmp_path / "other/b", readable=mine) == "PermissionError"
    assert run_python(READ, tmp_path / "mine/link", readable=mine) == "PermissionError"
    closed = (str(tmp_path / "mine/deep/key"),)
    assert run_python(READ, tmp_path / "mine/deep/key", readable=mine, denied=closed) == "PermissionError"
    assert run_python(READ, tmp_path / "mine/a", readable=mine, denied=closed) == "mine/a"


def test_it_writes_what_it_may_and_nothing_else(tmp_path: Path) -> None:
    code = "open(sys.argv[1], 'w').write('x'); print('written')"
    (tmp_path / "mine").mkdir()
    mine = (str(tmp_path / "mine"),)
    assert run_python(code, tmp_path / "mine/new", writable=mine) == "written"
    assert run_python(code, tmp_path / "new", writable=mine) == "PermissionError"
    assert run_python(code, tmp_path / "mine/new", readable=mine) == "PermissionError"
    move = "os.rename(sys.argv[1], sys.argv[2]); print('moved')"
    assert run_python(move, tmp_path / "mine/new", tmp_path / "out", writable=mine) in (
        "PermissionError",
        "OSError",
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_it_starts_its_own_programs_only(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.run([sys.argv[1]], env={}).returncode)"
    assert run_python(code, "/bin/true", readable=("/usr/bin", "/bin")) == "PermissionError"
    assert run_python(code, "/bin/true", programs=("/bin/true",)) == "0"
    planted = tmp_path / "planted"
    planted.write_bytes(Path("/bin/true").read_bytes())
    planted.chmod(0o755)
    assert run_python(code, planted, writable=(str(tmp_path),)) == "PermissionError"


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_PACKET"])
def test_it_opens_no_socket(family: str) -> None:
    assert run_python(f"import socket; socket.socket(socket.{family})") == "PermissionError"


def test_a_server_answers_on_its_port_and_calls_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listen = (
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen(); print('on')"
    )
    assert run_python(listen, str(port), port=port) == "on"
    assert (
        run_python("import socket; socket.socket().connect(('127.0.0.1', 9))", port=port) == "PermissionError"
    )
    fast = "import socket; socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', 9))"
    assert run_python(fast, port=port) == "PermissionError"
    assert run_python("import socket; socket.socket(type=socket.SOCK_DGRAM)", port=port) == "PermissionError"
    assert run_python("import socket; socket.socket(socket.AF_UNIX)", port=port) == "PermissionError"
    if find_confinement() >= 4:
        assert run_python(listen, str(port + 1), port=port) == "PermissionError"


@pytest.mark.slow
def test_its_memory_is_limited() -> None:
    assert run_python("print(len(bytearray(1 << 26)))") == str(1 << 26)
    assert run_python("print(len(bytearray(1 << 29)))") == "MemoryError"


def test_a_script_reads_what_its_interpreter_needs_but_writes_nothing(tmp_path: Path) -> None:
    """A shim of a version manager starts the program that it stands for."""
    shim = tmp_path / "shim"
    shim.write_text('#!/bin/sh\n/bin/echo through\n( : >"$1" ) 2>/dev/null || echo kept\n')
    shim.chmod(0o755)
    bounds = Reach(programs=(str(shim),))
    argv = [str(shim), str(tmp_path / "new")]
    process = start_confined(bounds, lambda: subprocess.Popen(argv, stdout=subprocess.PIPE))
    assert process.communicate(timeout=60)[0] == b"through\nkept\n"


def test_our_own_threads_stay_unconfined(tmp_path: Path) -> None:
    run_python("print(1)")
    (tmp_path / "new").write_text("x")
    assert subprocess.run(["/bin/true"], check=False).returncode == 0


def test_a_loader_is_found_in_a_program(tmp_path: Path) -> None:
    assert Path(find_loader(os.path.realpath(sys.executable))).is_file()
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "torn").write_bytes(b"\x7fELF\x02\x01")
    assert find_loader(str(tmp_path / "script")) == ""
    assert find_loader(str(tmp_path / "torn")) == ""
    assert find_loader(str(tmp_path / "missing")) == ""


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("-c", "a=b", "--no-pager", "log", "status"), "log"),
        (("--literal-pathspecs", "-C", "add", "diff"), "diff"),
        (("--version",), ""),
    ],
)
def test_the_command_is_told_from_its_options(arguments: tuple[str, ...], name: str) -> None:
    assert find_command_name(arguments) == name
