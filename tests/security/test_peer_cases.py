"""What the sandboxes of other agents are tested for: pinned ancestors, links in place of folders, sockets, networks.

The cases are known from their test suites; the tests are ours. Each attack prints BROKEN, or leaves a trace outside.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.conftest import SECRET, Scene

pytestmark = pytest.mark.slow


def plant(scene: Scene, *files: str, content: str = f"{SECRET}\n") -> list[Path]:
    """Files in the workspace, with their folders."""
    found = [scene.root / each for each in files]
    for path in found:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return found


def nest(scene: Scene, folder: str) -> Path:
    """A repository inside the workspace; returns its git folder."""
    subprocess.run(["git", "init", "--quiet", str(scene.root / folder)], check=True)
    scene.own()
    return scene.root / folder / ".git"


# --- ancestors of what is guarded or denied

ASIDE = {
    "moved and made anew": "mv {top} {top}-moved; mkdir -p {parent}; echo evil > {path}",
    "moved and read": "mv {top} {top}-moved; cat {top}-moved/{rest}",
    "moved into another": "mkdir other; mv {top} other/; cat other/{top}/{rest}; echo evil > other/{top}/{rest}",
    "removed": "rmdir {parent}; rm -rf {top}; mkdir -p {parent}; echo evil > {path}",
    "replaced by a link": "mkdir decoy; mv {top} old; ln -s decoy {top}; cat old/{rest}; echo evil > old/{rest}",
    "read through a link": "ln -s {top} way; cat way/{rest}; echo evil > way/{rest}",
    "parent exchanged": 'mkdir exch; python3 -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b"{top}", -100, '
    'b"exch", 2)\'; cat exch/{rest}; echo evil > exch/{rest}',
    "linked": "mkdir hard; ln {path} hard/x; cat hard/x; echo evil > hard/x",
    "copied as a whole": "cp -r {top} copy; cat copy/{rest}; tar cf - {top} | tar xOf -",
    "opened first": "exec 5<{parent}; mv {top} gone; cat /proc/self/fd/5/*; cat /dev/fd/5/*",
    "entered first": "cd {parent} && mv ../../../{top} ../../../gone; cat *; cd ..; cat */*",
    "moved by another process": "(sleep 0.2; mv {top} late) & sleep 0.5; cat late/{rest}; wait",
}


@pytest.mark.parametrize("how", ASIDE)
def test_a_denied_file_stays_denied_whatever_happens_to_the_folders_above_it(scene: Scene, how: str) -> None:
    path = "conf/prod/deep/key.txt"
    [denied] = plant(scene, path)
    scene.own()
    parts = {"top": "conf", "rest": "prod/deep/key.txt", "parent": "conf/prod/deep", "path": path}
    script = ASIDE[how].format(**parts)
    answers = scene.run(
        f"{{ {script}; }} 2>/dev/null", "find . -name key.txt -exec cat {} +", denied=[str(denied)]
    )
    assert not [answer for answer in answers if SECRET in answer]
    there = [each for each in scene.root.rglob("*") if each.is_file() and ".git" not in each.parts]
    assert any(each.read_text() == f"{SECRET}\n" for each in there)  # unchanged, wherever it is


@pytest.mark.parametrize("how", ASIDE)
def test_a_nested_repository_stays_guarded_whatever_happens_to_the_folders_above_it(
    scene: Scene, how: str
) -> None:
    folder = nest(scene, "lib/inner/repo")
    config = folder / "config"
    before = config.read_text()
    parts = {
        "top": "lib", "rest": "inner/repo/.git/config", "parent": "lib/inner/repo/.git",
        "path": "lib/inner/repo/.git/config",
    }  # fmt: skip
    scene.run(f"{{ {ASIDE[how].format(**parts)}; }} 2>/dev/null")
    found = [each for each in scene.root.rglob(".git/config") if each.parent.parent != scene.root]
    assert found
    for each in found:
        assert each.read_text() == before
    assert not [each for each in scene.root.rglob("hooks/*") if each.suffix != ".sample" and each.is_file()]


def test_a_link_that_spells_a_denied_place_denies_what_it_leads_to(scene: Scene) -> None:
    [secret] = plant(scene, "data/secrets/secret.txt")
    (scene.root / "secrets").symlink_to("data/secrets")
    scene.own()
    answers = scene.run(
        "cat data/secrets/secret.txt secrets/secret.txt 2>/dev/null",
        "mv data moved; cat moved/secrets/secret.txt 2>/dev/null; mv moved data",
        "rm secrets; ln -s src secrets; cat data/secrets/secret.txt 2>/dev/null",
        "echo evil 2>/dev/null >> data/secrets/secret.txt",
        denied=[str(scene.root / "secrets")],
    )
    assert not [answer for answer in answers if SECRET in answer]
    assert any(each.read_text() == f"{SECRET}\n" for each in scene.root.rglob("secret.txt"))
    assert secret.name == "secret.txt"


LINKS = {".patchwright": "decoy", ".vscode": "{outside}", ".idea": "nowhere", ".envrc": ".envrc"}
"""Guarded places that are links: to a folder in the workspace, to one outside, to nothing, to itself."""

THROUGH = (
    "echo evil > {name}/settings.json; echo evil > {name}; mkdir -p nowhere && echo evil > {name}/settings.json",
    "rm {name}; mkdir {name}; echo evil > {name}/settings.json; echo evil > {name}",
    "ln -sfn src {name}; echo evil > {name}/settings.json",
    "while :; do ln -sfn src {name}; ln -sfn decoy {name}; n=$((n+1)); [ $n -gt 100 ] && break; done & "
    "for i in 1 2 3 4 5 6 7 8; do echo evil > {name}/settings.json; done; wait",
)


@pytest.mark.parametrize("name", LINKS)
def test_a_guarded_place_that_is_a_link_is_not_changed_in_silence(scene: Scene, name: str) -> None:
    """What is written through it stays out of it; where the link itself can be replaced, that is told."""
    outside = scene.base / "shop-evil"
    link = scene.root / name
    for attack in THROUGH:
        shutil.rmtree(scene.root / "decoy", ignore_errors=True)
        (scene.root / "decoy").mkdir()
        if link.is_symlink() or link.is_file():
            link.unlink()
        elif link.exists():
            shutil.rmtree(link)
        link.symlink_to(LINKS[name].format(outside=outside))
        target = link.readlink()
        scene.own()
        answer = scene.run(f"{{ {attack.format(name=name)}; }} 2>/dev/null")[0]
        assert list(outside.iterdir()) == []
        if (
            not link.is_symlink()
            or link.readlink() != target
            or (scene.root / "decoy/settings.json").exists()
        ):
            assert f"'{name}' was changed" in answer, attack


def test_the_git_folder_is_neither_moved_nor_exchanged_nor_covered(scene: Scene) -> None:
    before = scene.state()
    exchange = (
        "import ctypes, os\nos.makedirs('src/exch/hooks', exist_ok=True)\n"
        "for flags in (0, 1, 2, 4):\n"
        " for a, b in ((b'.git', b'src/exch'), (b'src/exch', b'.git'), (b'.git/config', b'src/cart.py')):\n"
        "  if ctypes.CDLL(None).renameat2(-100, a, -100, b, flags) == 0: print('BROKEN', a, b, flags)\n"
    )
    answers = scene.run(
        scene.python_script(exchange),
        "mv .git .git-moved && mkdir .git && echo BROKEN; rmdir .git && echo BROKEN; true",
        "mkdir -p src/m && mount --bind src/m .git && echo BROKEN; true",
        "cd .. && mv shop shop2 && echo BROKEN; true",
        "echo x 2>/dev/null > .git/config.lock && mv .git/config.lock .git/config && echo BROKEN; true",
        "rm -rf .git/hooks && mkdir .git/hooks && echo BROKEN; true",
    )
    assert not [answer for answer in answers if "BROKEN" in answer]
    assert scene.state() == before


def test_ordinary_renames_work_beside_what_is_pinned(scene: Scene) -> None:
    """The twin: package managers stage and rename, editors write beside and move over, folders change their names."""
    nest(scene, "packages/app")
    plant(scene, "packages/app/node_modules/.staging/pad/index.js", "packages/app/index.js", "sub/file.txt")
    scene.own()
    answers = scene.run(
        "cd packages/app/node_modules && mv .staging/pad pad && cat pad/index.js",
        "cd packages/app && echo new > index.js.tmp && mv index.js.tmp index.js && cat index.js",
        "mv packages/app/index.js packages/moved.js && cat packages/moved.js",
        "mv sub src/sub && mkdir -p src/a/b && mv src/sub src/a/b/ && cat src/a/b/sub/file.txt",
        "rm -rf src/a && mkdir src/a && rmdir src/a && echo gone",
    )
    done = [answer.split("\n")[0] for answer in answers]
    if (
        scene.box == "landlock"
    ):  # nothing new beside what is guarded: a right to make files holds for all names
        done[1:4] = ["new", "new", SECRET]
    assert done == [SECRET, "new", "new", SECRET, "gone"]


# --- what every sandbox must allow and refuse


def test_the_basics(scene: Scene) -> None:
    answers = scene.run(
        "ls -l /bin/ | head -3 | wc -l",
        "echo blah > /dev/null && echo blah > /dev/zero && echo written",
        "echo blah > src/test && cat src/test",
        f"echo blah 2>/dev/null > {scene.base}/test; echo tried",
        "grep NoNewPrivs /proc/self/status",
        "grep -E 'Seccomp:' /proc/self/status",
        "sh -c 'sh -c \"exit 7\"'; echo $?",
    )
    words = [answer.split() for answer in answers]
    assert words == [
        ["3"], ["written"], ["blah"], ["tried"], ["NoNewPrivs:", "1"], ["Seccomp:", "2"], ["7"]
    ]  # fmt: skip
    assert not (scene.base / "test").exists()


CLIENTS = {
    "bash": "bash -c 'echo hi > /dev/tcp/{host}/{port}'",
    "bash by UDP": "bash -c 'echo hi > /dev/udp/{host}/{port}; exit 1'",
    "curl": "curl -sI --max-time 3 http://{host}:{port}",
    "curl, proxied": "curl -sI --max-time 3 -x http://{host}:{port} http://example.org",
    "wget": "wget -q --timeout=3 -t 1 -O- http://{host}:{port}",
    "nc": "nc -z -w 3 {host} {port}",
    "ssh": "ssh -o BatchMode=yes -o ConnectTimeout=2 -p {port} {host}",
    "git": "git ls-remote http://{host}:{port}/x",
    "perl": "perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => \"{host}:{port}\", Timeout => 3)'",
    "python": "python3 -c 'import socket; socket.create_connection((\"{host}\", {port}), 3)'",
    "openssl": "timeout 3 openssl s_client -connect {host}:{port} </dev/null",
    "ping": "ping -c 1 -W 2 {host}",
    "getent": "getent ahosts example.org",
    "telnet": "timeout 3 telnet {host} {port} </dev/null",
}


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A service of this machine; nobody may connect."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def test_no_client_program_reaches_anything(scene: Scene, server: socket.socket) -> None:
    port = server.getsockname()[1]
    scripts = [each.format(host="127.0.0.1", port=port) for each in CLIENTS.values()]
    missing = {
        name for name, each in CLIENTS.items() if not shutil.which(each.replace("timeout 3 ", "").split()[0])
    }
    answers = scene.run(
        *(f"{{ {each}; }} >/dev/null 2>&1 && echo BROKEN; true" for each in scripts), timeout=20
    )
    broken = {name for name, answer in zip(CLIENTS, answers, strict=True) if "BROKEN" in answer}
    assert broken - {"ping"} == set()  # its own loopback may answer
    assert len(CLIENTS) - len(missing) >= 5
    with pytest.raises(BlockingIOError):
        server.accept()


# --- Unix sockets

SOCKETS = """
import ctypes, errno, os, socket, struct, subprocess, sys
other, folder, abstract = sys.argv[1:4]
def attempt(what, way):
    try:
        way()
        print("BROKEN", what, flush=True)
    except OSError:
        pass
def connect(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.settimeout(2)
        s.connect(path)
attempt("path", lambda: connect(other))
os.symlink(other, "src/into.sock")
attempt("link", lambda: connect("src/into.sock"))
os.symlink(folder, "src/way")
attempt("link to the folder", lambda: connect("src/way/" + os.path.basename(other)))
def relative():
    os.chdir(folder)
    connect(os.path.basename(other))
here = os.getcwd()
attempt("relative", relative)
os.chdir(here)
attempt("dots", lambda: connect("src/../../" + os.path.basename(other)))
attempt("abstract", lambda: connect("\\0" + abstract))
attempt("abstract, padded", lambda: connect("\\0" + abstract + "\\0" * 20))
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
    attempt(kind.name, lambda: connect(other, kind))
def descriptor():
    handle = os.open(other, os.O_PATH)
    connect(f"/proc/self/fd/{handle}")
attempt("descriptor", descriptor)
attempt("hard link", lambda: (os.link(other, "src/hard.sock"), connect("src/hard.sock")))
attempt("moved", lambda: (os.rename(other, "src/moved.sock"), connect("src/moved.sock")))
code = "import socket; s = socket.socket(1); s.settimeout(2); s.connect(%r); print('BROKEN grandchild')" % other
subprocess.run(["sh", "-c", "exec \\"$@\\"", "sh", sys.executable, "-c", code], stderr=subprocess.DEVNULL)
print("tried")
"""


def test_a_socket_outside_is_reached_in_no_spelling(scene: Scene) -> None:
    path = scene.base / "other.sock"
    name = f"patchwright-peer-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as abstract:
        other.bind(str(path))
        abstract.bind("\0" + name)
        path.chmod(0o777)
        for each in (other, abstract):
            each.listen()
            each.setblocking(False)
        scene.own()
        answer = scene.run(scene.python_script(SOCKETS, str(path), str(scene.base), name))[0]
        assert answer.split() == ["tried"]
        for each in (other, abstract):
            with pytest.raises(BlockingIOError):
                each.accept()
        assert path.exists()


OWN = """
import os, socket, sys
def attempt(what, way):
    try:
        way()
        print(what)
    except OSError as error:
        print("no", what)
def serve():
    server = socket.socket(socket.AF_UNIX)
    server.bind("src/own.sock")
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect("src/own.sock")
    os.unlink("src/own.sock")
def autobind():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    try:
        s.connect("/nowhere")
    except OSError:
        pass
    s.listen(5)
def tcp():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname(), 2)
attempt("pair", lambda: [each.send(b"x") for each in socket.socketpair()])
attempt("serve", serve)
attempt("autobind", autobind)
attempt("tcp", tcp)
"""


def test_sockets_of_its_own_work_where_the_sandbox_has_a_network_of_its_own(scene: Scene) -> None:
    """The twin. Under Landlock no socket is opened, and pairs work."""
    words = [line for line in scene.run(scene.python_script(OWN))[0].splitlines() if line]
    own = scene.box == "bubblewrap"
    assert words[:2] == ["pair", "serve" if own else "no serve"]
    assert words[3] == ("tcp" if own else "no tcp")


FILTER = """
import ctypes, errno, os, platform, struct
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
x86 = platform.machine() == "x86_64"
def install(action, flags):
    code = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, action))
    libc.prctl(38, 1, 0, 0, 0)
    return libc.syscall(317 if x86 else 277, 1, flags, ctypes.byref(Program(1, ctypes.cast(code, ctypes.c_void_p))))
def refused():
    found = []
    for name, numbers in (("ptrace", (101, 117)), ("keyctl", (250, 219)), ("bpf", (321, 280))):
        ctypes.set_errno(0)
        if libc.syscall(numbers[not x86], 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
            found.append(name)
    return found
before = refused()
for flags in (0, 1 << 3, 1 << 1):  # allow everything: plainly, with a listener, logged
    install(0x7FFF0000, flags)
libc.prctl(22, 0, 0, 0, 0)
if before or refused():
    print("BROKEN", before, refused())
print("tried")
"""


def test_a_filter_of_its_own_loosens_nothing(scene: Scene) -> None:
    """Whoever adds a filter of system calls, or a listener that answers for the kernel, adds refusals only."""
    assert scene.run(scene.python_script(FILTER))[0].split() == ["tried"]


def test_a_command_that_waits_is_ended_and_says_so(scene: Scene) -> None:
    assert scene.run("echo begun; sleep 30; echo BROKEN", timeout=1)[0].split()[:1] == ["begun"]
