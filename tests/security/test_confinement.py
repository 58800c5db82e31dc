"""Attacks carried out inside each sandbox: nothing outside changes, nothing leaks, nothing survives."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.fs.protected_paths import FILES, FOLDERS
from tests.sandbox.boxes import living
from tests.security.conftest import SECRET, Scene

pytestmark = pytest.mark.slow

ESCAPES = (
    "echo x > ../neighbour",
    "echo x >> {base}/neighbour",
    "echo x > {base}/shop-evil/new",
    "echo x > ~/.bashrc",
    "echo x > ~nobody/x; echo x > /etc/patchwright-test; echo x > /usr/local/bin/patchwright-test",
    "ln -s {base} src/way; echo x > src/way/neighbour; touch src/way/new; rm -f src/way/neighbour",
    "ln -s {base}/neighbour src/a; while :; do ln -sfn cart.py src/a; ln -sfn {base}/neighbour src/a; "
    "[ $((n=n+1)) -gt 50 ] && break; done; echo x > src/a",
    "ln {base}/neighbour src/hard && echo x > src/hard",
    "echo x > /proc/self/root{base}/neighbour; echo x > /proc/1/root{base}/neighbour",
    "echo x > /proc/self/cwd/../neighbour; exec 5<{base}/neighbour; echo x > /proc/self/fd/5; echo x > /dev/fd/5",
    "mv {base}/neighbour src/; cp src/cart.py {base}/neighbour; rm -rf {base}/neighbour {base}/shop-evil",
    "mkfifo {base}/pipe; mknod {base}/disk b 8 0; mknod src/disk b 8 0 && cat src/disk",
    ": > {base}/neighbour; truncate -s 0 {base}/neighbour; dd if=/dev/zero of={base}/neighbour count=1",
    "mv ../shop ../moved; rmdir ../shop-evil; touch ../shop.new",
)
"""Cases of paths: `..`, absolute, home, a sibling's prefix, links soft and hard and swapped, /proc, devices."""


def test_no_path_leads_a_write_outside(scene: Scene) -> None:
    before = scene.state()
    for attack in ESCAPES:
        scene.run(attack.format(base=scene.base))
        assert scene.state() == before, attack
    assert not Path("/etc/patchwright-test").exists()
    assert not Path("/usr/local/bin/patchwright-test").exists()


READS = (
    "cat .env",
    "cat ./.env src/../.env {root}/.env",
    "cp .env src/x; cat src/x",
    "mv .env src/y; cat src/y",
    "ln .env src/h; cat src/h",
    "ln -s ../.env src/s; cat src/s",
    "grep '' .env; grep -r '' . ; sed -n p .env; awk 1 .env; head .env; od -c .env; base64 .env",
    "cat < .env; while read -r l; do echo $l; done < .env; . ./.env; echo $TOKEN",
    "git -c safe.directory=* diff --no-index /dev/null .env",
    "git -c safe.directory=* hash-object -w .env",
    "tar cf - .env; cat .e*; cat .[e]nv; cat '.'env; cat $(printf .env)",
    "cat /proc/self/cwd/.env /proc/self/root{root}/.env; cd src; cat ../.env",
    "dd if=.env; cat private/*; ls -la private; cp -r private src/p; cat src/p/*; mv private src/q; cat src/q/*",
    "cat ~/.ssh/id_ed25519; tar cf - ~/.ssh; find ~ -type f -exec cat {{}} +; grep -rs . ~",
    "chmod 777 .env private ~/.ssh; cat .env private/key ~/.ssh/*",
    "find {base} / -xdev -name id_ed25519 -path '*patchwright-test*' -exec cat {{}} + 2>/dev/null",
)
"""Spellings of reading a file that the user's rules deny, and keys in the home folder."""


def test_a_denied_file_is_unreadable_in_every_spelling(scene: Scene) -> None:
    denied = [scene.root / ".env", scene.root / "private"]
    denied[1].mkdir()
    for path in (denied[0], denied[1] / "key"):
        path.write_text(f"TOKEN={SECRET}\n")
    scene.own()
    attacks = [attack.format(root=scene.root, base=scene.base) for attack in READS]
    attacks_in_python = scene.python_script("import os; print(open('.env').read(), os.listdir('private'))")
    # The last one looks through the whole machine, as long as it may: it begins where the key is.
    denied_paths = [str(path) for path in denied]
    answers = scene.run(*attacks, attacks_in_python, denied=denied_paths, timeout=6)
    for attack, answer in zip((*READS, "python"), answers, strict=True):
        assert SECRET not in answer, attack
    assert denied[0].read_text() == f"TOKEN={SECRET}\n"
    assert (denied[1] / "key").read_text() == f"TOKEN={SECRET}\n"
    assert scene.run("cat .env || echo refused", denied=[str(denied[0])])[0].count("refused") == 1


PLACES = (*FOLDERS, *FILES, "shop.code-workspace")
PARTS = [PLACES[start : start + 32] for start in range(0, len(PLACES), 32)]
"""Each part is attacked by itself: what is there costs a mount for each command, hundreds of them a third of a second.
"""


def attacks_on(name: str) -> tuple[str, ...]:
    return (
        f"echo evil > {name}; echo evil >> {name}",
        f"mkdir -p {name}/hooks; echo evil > {name}/hooks/pre-commit; echo evil > {name}/settings.json",
        f"rm -rf {name}; mkdir {name}; echo evil > {name}/config",
        f"mv {name} src/old; echo evil > {name}",
        f"ln -sfn src {name}; cp -r src {name}; ln -f src/cart.py {name}",
        f"mkdir -p src/new/{name}; mv src/new/{name} {name}; mv src/new/{name} .",
        f"chmod -R 777 {name}/config; rmdir {name}; unlink {name}; mkfifo {name}",
    )


def fill_places(scene: Scene, names: Sequence[str]) -> None:
    for name in names:
        path = scene.root / name
        if name in FOLDERS:
            path.mkdir(exist_ok=True)
            (path / "config").write_text("[core]\n")
        else:
            path.write_text("mine\n")


@pytest.mark.parametrize("part", PARTS, ids=[part[0] for part in PARTS])
@pytest.mark.parametrize("there", [True, False], ids=["there", "absent"])
def test_guarded_places_stay_as_they_are(scene: Scene, there: bool, part: tuple[str, ...]) -> None:
    fill_places(scene, part if there else ())
    scene.own()
    before = scene.state()
    scripts: list[str] = []
    for name in part:
        if name == "shop.code-workspace" and not there:
            continue  # told of, as any name may end so
        attacks = attacks_on(name)
        one_by_one = attacks if name in (".git", ".vscode", ".envrc") else ()
        scripts += (*one_by_one, "\n".join(attacks))
    scene.run(
        *scripts
    )  # in one process, which takes a third of a second to start; no attack restores another place
    after = scene.state()
    assert {name: after.get(name) for name in {*before, *after} if after.get(name) != before.get(name)} == {}


def test_hundreds_of_guarded_places_stay_as_they_are_beside_each_other(scene: Scene) -> None:
    fill_places(scene, PLACES)
    scene.own()
    before = scene.state()
    names = " ".join(PLACES)
    scene.run(
        f"for name in {names}; do echo evil > $name; echo evil >> $name/config; done",
        f"rm -rf {names}; for name in {names}; do echo evil > $name; done",
        f"mkdir src/old; mv {names} src/old; for name in {names}; do echo evil > $name; done",
    )
    assert scene.state() == before


def test_a_plain_folder_gets_no_repository(scene: Scene) -> None:
    """CVE-2026-25725's class: what does not exist yet, and whose parent is missing."""
    subprocess.run(["rm", "-rf", str(scene.root / ".git")], check=True)
    before = scene.state()
    scene.run(
        "git init .; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo '[core] fsmonitor=x' > .git/config",
        "mkdir -p .vscode; echo evil > .vscode/tasks.json; mkdir -p .patchwright/hooks; echo evil > .envrc",
    )
    assert scene.state() == before


def test_a_nested_repository_keeps_its_hooks(scene: Scene) -> None:
    """CVE-2026-26268: hooks of a repository inside the repository."""
    for inner in (scene.root / "lib" / "inner", scene.root / "bare.git"):
        inner.mkdir(parents=True)
        bare = ["--bare"] if inner.name == "bare.git" else []
        subprocess.run(["git", "init", "--quiet", *bare, str(inner)], check=True)
    scene.own()
    before = scene.state()
    for attack in (
        "echo evil > lib/inner/.git/hooks/pre-commit; echo evil >> lib/inner/.git/config",
        "echo evil > bare.git/hooks/pre-receive; echo evil >> bare.git/config; rm -rf bare.git",
        "mv lib src/lib; mkdir -p lib/inner/.git/hooks; echo evil > lib/inner/.git/hooks/pre-commit",
        "mv lib/inner src/inner; mkdir -p lib/inner/.git; echo evil > lib/inner/.git/config",
        "git -C lib/inner -c safe.directory=* config core.fsmonitor ./evil",
    ):
        scene.run(attack)
        assert scene.state() == before, attack


def test_a_link_in_a_guarded_place_is_told_when_it_changes(scene: Scene) -> None:
    (scene.root / "editor").mkdir()
    (scene.root / ".vscode").symlink_to("editor")
    scene.own()
    answer = scene.run(
        "rm .vscode && mkdir .vscode && echo evil > .vscode/tasks.json; echo evil > editor/tasks.json"
    )[0]
    assert not (scene.root / "editor" / "tasks.json").exists()
    changed = not (scene.root / ".vscode").is_symlink()
    assert changed is ("'.vscode' was changed" in answer)


KNOCK = """
import socket, sys
def attempt(family, kind, address):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(2)
            s.connect(address)
            s.send(b"stolen")
            if kind == socket.SOCK_STREAM:
                print("REACHED", family.name, address)
    except (OSError, ValueError) as error:
        pass
tcp, udp, name, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
for host in ("127.0.0.1", "127.1.2.3", "0.0.0.0", "localhost", "169.254.169.254", "10.0.0.1"):
    attempt(socket.AF_INET, socket.SOCK_STREAM, (host, tcp if host[0] in "10l" else 80))
attempt(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", udp))
attempt(socket.AF_INET6, socket.SOCK_STREAM, ("::1", tcp))
attempt(socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", tcp))
attempt(socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + name)
for each in (path, "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0"):
    attempt(socket.AF_UNIX, socket.SOCK_STREAM, each)
for family in (socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG, socket.AF_CAN):
    try:
        socket.socket(family, socket.SOCK_RAW if family != socket.AF_VSOCK else socket.SOCK_STREAM).close()
        print("OPENED", family.name)
    except OSError:
        pass
for protocol in range(1, 20):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        print("OPENED netlink", protocol)
    except OSError:
        pass
try:
    print("RESOLVED", socket.getaddrinfo("example.org", 80))
except OSError:
    pass
"""


def test_no_socket_leads_out(scene: Scene) -> None:
    """TCP, UDP, IPv6, metadata addresses, names, raw and virtual-machine sockets; Unix sockets by name and by path."""
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        name = f"patchwright-test-{os.getpid()}"
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind("\0" + name)
        path = scene.home / "agent.sock"
        agent = stack.enter_context(socket.socket(socket.AF_UNIX))
        agent.bind(str(path))
        path.chmod(0o777)
        for server in (tcp, abstract, agent):
            server.listen()
        for server in (tcp, udp, abstract, agent):
            server.setblocking(False)
        ports = (str(tcp.getsockname()[1]), str(udp.getsockname()[1]))
        answer = scene.run(scene.python_script(KNOCK, *ports, name, str(path)))[0]
        assert answer.strip() == ""
        for server in (tcp, abstract, agent):
            with pytest.raises(BlockingIOError):
                server.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(10)


CALLS = """
import ctypes, fcntl, os, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
NUMBERS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "setns": (308, 268),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432),
    "mount_setattr": (442, 442), "open_by_handle_at": (304, 265), "pidfd_getfd": (438, 438),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104), "syslog": (103, 116),
    "clone3": (435, 435),
}
for name, numbers in NUMBERS.items():
    ctypes.set_errno(0)
    result = libc.syscall(numbers[0 if x86 else 1], 0, 0, 0, 0, 0, 0)
    if result >= 0 or ctypes.get_errno() not in (1, 38):
        print("DONE", name, result, os.strerror(ctypes.get_errno()))
def refused(what, result):
    if result >= 0:
        print("DONE", what, result)
for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
    refused(f"unshare {flag:x}", libc.unshare(flag))
refused("clone", libc.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0))
refused("personality", libc.personality(0x0400000))
if x86:
    refused("x32", libc.syscall(0x40000000 | 39))
for request in (0x5412, 0x541C, (1 << 32) | 0x5412):
    ctypes.set_errno(0)
    result = libc.ioctl(ctypes.c_int(0), ctypes.c_ulong(request), ctypes.c_char_p(b"\\x03"))
    if result >= 0 or ctypes.get_errno() != 1:
        print("DONE ioctl", hex(request), os.strerror(ctypes.get_errno()))
print("tried")
"""


def test_calls_that_lead_out_of_a_sandbox_are_refused(scene: Scene) -> None:
    answer = scene.run(scene.python_script(CALLS))[0]
    assert answer.strip() == "tried"


def test_our_own_process_is_out_of_reach(scene: Scene) -> None:
    """Kill, memory and environment of the agent, through every thread that it has, and its descriptors."""
    spy = """
import os, signal, sys
for pid in [each for each in os.listdir("/proc") if each.isdigit()]:
    if int(pid) in (os.getpid(), os.getppid()) and sys.argv[2] == "bubblewrap":
        continue
    if int(pid) == os.getpid():
        continue
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        continue
    for task in tasks:
        for name in ("environ", "mem", "maps"):
            try:
                with open(f"/proc/{pid}/task/{task}/{name}", "rb") as file:
                    content = file.read(1 << 16)
                    if b"MARK=" in content if name == "environ" else content:
                        print("READ", pid, name)
            except OSError:
                pass
if sys.argv[2] == "landlock":
    for pid in (int(sys.argv[1]), os.getppid()):
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            try:
                os.kill(pid, number)
                print("KILLED", pid)
            except OSError:
                pass
print(sorted(os.listdir("/proc/self/fd")))
"""
    os.environ["PATCHWRIGHT_TEST_MARK"] = "MARK="
    with subprocess.Popen(["sleep", "60"], env={"SECRET": "MARK=", "PATH": os.environ["PATH"]}) as sibling:
        try:
            answer = scene.run(scene.python_script(spy, str(os.getpid()), scene.box))[0]
            assert sibling.poll() is None
        finally:
            sibling.kill()
            del os.environ["PATCHWRIGHT_TEST_MARK"]
    assert answer.strip() == "['0', '1', '2', '3']"


def test_nothing_survives_a_command(scene: Scene) -> None:
    """Sessions of their own, wiped environments, double forks, ignored signals."""
    word = f"trace-{os.urandom(6).hex()}"
    (scene.root / "src" / word).touch()
    scene.own()
    linger = f"tail -f src/{word}"
    scene.run(
        f"setsid {linger} >/dev/null 2>&1 & sleep 0.1",
        f"(setsid sh -c 'env -i setsid {linger} & :' </dev/null >/dev/null 2>&1 &); sleep 0.2",
        f"(env -i A=1 setsid sh -c \"trap '' TERM HUP INT; {linger}; :\" </dev/null >/dev/null 2>&1 &); sleep 0.2",
    )
    time.sleep(0.05)
    assert living(word) == []


def test_bombs_end_and_leave_the_machine_alone(scene: Scene) -> None:
    word = f"bomb-{os.urandom(6).hex()}"
    # A tree of four hundred, not a real bomb: if a bound fails, the machine must bear it. It stands until the watch has
    # seen it, on a busy machine too; no part of it uses up what all users share (as `tail -f` does by inotify).
    stands = 20 if scene.user == 0 else 5
    part = f"sh -c 'sleep 20; : {word}'"
    forks = f"b() {{ [ $1 = 0 ] || {{ b $(($1 - 1)) & b $(($1 - 1)) & }}; {part}; }}; b 6 & sleep {stands}"
    answer = scene.run(forks, limits={"processes": 100}, timeout=25)[0]
    assert living(word) == []
    if scene.user == 0:
        assert "killed: it had more than 100 processes" in answer
    elif scene.box == "bubblewrap":  # the kernel counts
        assert "fork" in answer
    memory = "a = []\ntry:\n while True: a.append(bytearray(1 << 26))\nexcept MemoryError: print('refused')"
    files = "n = 0\nfiles = []\ntry:\n while True: files.append(open('/dev/null'))\nexcept OSError: print('refused')"
    disk = "head -c 100000000 /dev/zero > src/big; ls -l src/big | cut -d' ' -f5"
    answers = scene.run(
        scene.python_script(memory),
        scene.python_script(files),
        disk,
        limits={"memory": 256 << 20, "open_files": 64, "file_size": 1 << 20},
    )
    assert [answer.split()[-1] for answer in answers] == ["refused", "refused", str(1 << 20)]


def test_the_settings_of_the_kernel_are_closed_to_root_too(scene: Scene) -> None:
    """/proc/sys/kernel/core_pattern names a program that the kernel starts outside of everything."""
    files = ("core_pattern", "modprobe", "hotplug", "panic", "overflowuid")
    # Their own content, so that nothing changes should it succeed.
    script = 'f=/proc/sys/kernel/{}; if [ -e $f ]; then v=$(cat $f); echo "$v" > $f && echo WROTE; fi'
    answers = scene.run(
        *(script.format(each) for each in files),
        "echo 500 > /sys/kernel/mm/ksm/sleep_millisecs && echo WROTE",
    )
    assert not [answer for answer in answers if "WROTE" in answer]


def test_shared_places_are_not_shared(scene: Scene) -> None:
    name = f"patchwright-test-{os.getpid()}"
    shared = [Path(each, name) for each in ("/dev/shm", "/tmp", "/var/tmp", "/run/lock", "/dev/mqueue")]
    scene.run("; ".join(f"echo x > {path}" for path in shared))
    assert [path for path in shared if path.exists()] == []


def test_a_home_in_an_odd_place_is_hidden_as_well(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for home in ("", "/", "relative", "/nonexistent", str(scene.base / "nowhere")):
        monkeypatch.setenv("HOME", home)
        assert scene.run("echo works")[0].strip() == "works"
    (scene.base / "link").symlink_to(scene.home)
    monkeypatch.setenv("HOME", str(scene.base / "link"))
    answer = scene.run(f"cat ~/.ssh/id_ed25519 {scene.home}/.ssh/id_ed25519; echo tried")[0]
    assert answer.strip().splitlines()[-1] == "tried"
    assert SECRET not in answer
