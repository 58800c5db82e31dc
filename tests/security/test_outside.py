"""Doors out of a sandbox that are files: sockets of running services, pipes, devices, the kernel's own file systems.

Each attack prints BROKEN where it succeeds. Nothing outside may have heard of it either.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.security.conftest import Scene

pytestmark = pytest.mark.slow


SERVICES = (
    *("{home}/.ssh/agent.sock", "{home}/.gnupg/S.gpg-agent", "{home}/.gnupg/S.gpg-agent.ssh"),
    *("{home}/.docker/run/docker.sock", "{home}/.docker/desktop/docker.sock", "{home}/.colima/docker.sock"),
    *("{home}/.cache/tmux/default", "{home}/.cargo/agent", "{home}/.local/share/keyring.sock", "{home}/.nvim.sock"),
    *("{home}/.cache/uv/daemon", "{home}/.gradle/daemon.sock", "{home}/.config/op/agent.sock", "{home}/go/s"),
    *("/tmp/.X11-unix/X4242", "/tmp/.ICE-unix/4242", "/tmp/tmux-4242/default", "/tmp/.s.PGSQL.64242"),
    *("/tmp/ssh-patchwright/agent.1", "/tmp/vscode-git-4242.sock", "/var/tmp/patchwright-mysql.sock"),
    *("/run/patchwright-docker.sock", "/run/user/4242/bus", "/run/user/4242/wayland-0", "/run/user/4242/podman.sock"),
    *("/run/user/4242/gnupg/S.gpg-agent", "/run/user/4242/pulse/native", "/run/systemd/patchwright-private"),
    *("/dev/shm/patchwright.sock", "/var/lib/patchwright-mysql.sock", "/srv/patchwright.sock", "/mnt/patchwright.s"),
    *("{base}/neighbour.sock", "{base}/shop-evil/sock"),
)  # fmt: skip
"""Where agents of keys, desktops, container engines, databases and editors listen."""

KNOCK = """
import socket, sys
for path in sys.argv[1:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_UNIX, kind) as s:
                s.settimeout(2)
                s.connect(path)
                s.send(b"stolen")
                print("BROKEN", path, kind.name)
        except OSError:
            pass
print("tried")
"""


@contextmanager
def listen(path: Path, stack: ExitStack) -> Iterator[socket.socket]:
    """A service that everybody may connect to; its new folders are removed afterwards."""
    missing = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        stack.callback(_remove, folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        stack.callback(path.unlink, missing_ok=True)
        path.chmod(0o777)
        server.listen()
        server.setblocking(False)
        yield server


def was_reached(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def test_no_service_of_this_machine_is_reached(scene: Scene) -> None:
    with ExitStack() as stack:
        servers = {}
        for each in SERVICES:
            path = Path(each.format(home=scene.home, base=scene.base))
            with suppress(PermissionError):  # a place that only root may write
                servers[path] = stack.enter_context(listen(path, stack))
        assert len(servers) > 14
        scene.own()
        answer = scene.run(scene.python_script(KNOCK, *map(str, servers)))[0]
        assert answer.split() == ["tried"]
        for path, server in servers.items():
            assert not was_reached(server), path


LATER = """
import os, socket, sys, time
deadline = time.monotonic() + 5
while time.monotonic() < deadline and not os.path.exists("src/ready"):
    time.sleep(0.02)
print("ready" if os.path.exists("src/ready") else "late")
"""


@pytest.mark.parametrize("how", ["relative", "renamed", "late", "linked"])
def test_a_service_is_not_reached_however_it_got_its_name(scene: Scene, how: str) -> None:
    """The kernel lists a socket by the name it was bound with: none that leads anywhere, an old one, none yet."""
    folder = scene.home / ".cache" / "service"
    folder.mkdir(parents=True)
    path = folder / "sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.setblocking(False)

        def bind() -> None:
            if how == "relative":
                here = Path.cwd()
                os.chdir(folder)
                server.bind("sock")
                os.chdir(here)
            else:
                server.bind(str(path))
            if how == "renamed":
                path.rename(folder / "other")
                (folder / "other").chmod(0o777)
            elif how == "linked":
                os.link(path, folder / "second")
                path.unlink()
                (folder / "second").chmod(0o777)
            else:
                path.chmod(0o777)
            server.listen()

        if how != "late":
            bind()
        scene.own()
        names = [str(folder / each) for each in ("sock", "other", "second")]
        if how == "late":
            import threading

            (scene.root / "src" / "ready").unlink(missing_ok=True)
            timer = threading.Timer(0.5, lambda: (bind(), (scene.root / "src/ready").touch()))
            timer.start()
            answers = scene.run(scene.python_script(LATER + KNOCK, *names))
            timer.join()
            assert answers[0].split() == ["ready", "tried"]
        else:
            assert scene.run(scene.python_script(KNOCK, *names))[0].split() == ["tried"]
        assert not was_reached(server)


def test_an_agent_of_keys_signs_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real ssh-agent of this user, by its variable and by its path."""
    if not shutil.which("ssh-agent") or not shutil.which("ssh-add"):
        pytest.skip("no ssh-agent on this machine")
    path = scene.home / ".ssh" / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL) as agent:
        try:
            deadline = time.monotonic() + 5
            while not path.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            path.chmod(0o777)
            scene.own()
            monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
            answers = scene.run("ssh-add -l 2>&1", f"SSH_AUTH_SOCK={path} ssh-add -l 2>&1")
        finally:
            agent.kill()
    assert all("no identities" not in each for each in answers), answers


WRITE = """
import os, sys
for path in sys.argv[1:]:  # not a shell's redirection: that would make a file where there is none
    try:
        os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"evil")
    except OSError:
        pass
"""


def test_a_pipe_outside_carries_nothing(scene: Scene) -> None:
    """A pipe on a read-only mount can be written; its reader might be a shell."""
    places = [scene.base / "pipe", scene.home / ".cache" / "uv" / "pipe", scene.home / ".cargo" / "pipe"]
    for each in places:
        each.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(each)
        each.chmod(0o666)
    scene.own()
    readers = [os.open(each, os.O_RDWR | os.O_NONBLOCK) for each in places]
    try:
        scene.run(scene.python_script(WRITE, *map(str, places)))
        for each in readers:
            with pytest.raises(BlockingIOError):
                os.read(each, 10)
    finally:
        for each in readers:
            os.close(each)


DEVICES = """
/dev/mem /dev/kmem /dev/port /dev/kmsg /dev/console /dev/tty0 /dev/tty1 /dev/ttyS0 /dev/fuse /dev/kvm
/dev/net/tun /dev/uinput /dev/input/event0 /dev/loop-control /dev/loop0 /dev/sda /dev/vda /dev/nvme0n1
/dev/mapper/control /dev/vsock /dev/vhost-net /dev/vhost-vsock /dev/hwrng /dev/rtc0 /dev/watchdog
/dev/cpu/0/msr /dev/snd/controlC0 /dev/dri/card0 /dev/video0 /dev/autofs /dev/userfaultfd /dev/hpet
/dev/mcelog /dev/snapshot /dev/ppp /dev/btrfs-control
"""

OPEN = """
import os, sys
for path in sys.argv[1:]:
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK))
            print("BROKEN", path, flags)
        except OSError:
            pass
print("tried")
"""


def test_no_device_is_opened(scene: Scene) -> None:
    disk = scene.base.stat().st_dev
    copies = [scene.base / "shop-evil" / "disk", scene.root / "src" / "memory"]
    if os.geteuid() == 0:  # nodes that somebody left outside, and in the workspace
        os.mknod(copies[0], 0o666 | stat.S_IFBLK, disk)
        os.mknod(copies[1], 0o666 | stat.S_IFCHR, os.makedev(1, 1))
        for each in copies:
            each.chmod(0o666)
    make = """
import os, stat
for kind, number in ((stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(8, 0))):
    try:
        os.mknod("src/node", 0o666 | kind, number)
        os.close(os.open("src/node", os.O_RDONLY))
        print("BROKEN")
    except OSError:
        pass
"""
    answers = scene.run(
        scene.python_script(OPEN, *DEVICES.split(), *map(str, copies)), scene.python_script(make)
    )
    assert [each.split() for each in answers] == [["tried"], []]


KERNEL = """
echo b > /proc/sysrq-trigger
echo x > /proc/sys/kernel/core_pattern
echo 1 > /proc/sys/vm/drop_caches
echo 1 > /proc/sys/net/ipv4/ip_forward
echo x > /proc/sys/kernel/hostname
echo x > /proc/sys/fs/binfmt_misc/register
echo x > /proc/1/comm
echo 0 > /proc/1/oom_score_adj
echo 0 > /proc/1/coredump_filter
echo x > /sys/kernel/uevent_helper
echo mem > /sys/power/state
echo x > /sys/kernel/profiling
echo 1 > /sys/fs/cgroup/cgroup.procs
echo 1 > /sys/fs/cgroup/unified/cgroup.procs
mkdir /sys/fs/cgroup/evil
mkdir /sys/fs/cgroup/unified/evil
echo x > /sys/fs/cgroup/release_agent
echo x > /sys/kernel/mm/transparent_hugepage/enabled
echo x > /sys/module/apparmor/parameters/mode
echo 1 > /sys/kernel/debug/x
mkdir /sys/kernel/config/x
echo x > /sys/fs/selinux/enforce
echo - - - > /sys/class/scsi_host/host0/scan
echo 1 > /sys/bus/pci/rescan
dd if=/proc/kcore of=/dev/null bs=1 count=1
head -c 1 /proc/kmsg
head -c 1 /sys/firmware/dmi/tables/DMI
mount -t tmpfs none /mnt
mount --bind / src
mount -o remount,rw /
umount /tmp
umount -l /proc
unshare -r true
unshare -m true
unshare -n true
nsenter -t 1 -m true
chroot / true
losetup -f src/cart.py
modprobe dummy
dmesg
hwclock -w
date -s @1
ip link add d0 type dummy
iptables -L
sysctl -w kernel.panic=1
renice -n -5 1
chrt -f 50 true
kill -0 1 && [ $(cat /proc/1/comm) = systemd ]
gdb -p 1 -batch
strace -p 1
setcap cap_net_raw+ep src/cart.py
""".strip().splitlines()
"""What writes to the kernel, or asks it for rights. `chrt` and `mount` of root need capabilities that it lost."""


def test_the_kernel_is_not_configured(scene: Scene) -> None:
    attacks = [f"{{ {each}; }} >/dev/null 2>&1 && echo BROKEN" for each in KERNEL]
    # Where a program is missing, the attack fails for the wrong reason: the others still count.
    broken = [each for each, answer in zip(KERNEL, scene.run(*attacks), strict=True) if "BROKEN" in answer]
    assert broken == []


ROADS = (
    *("/proc/self/root/{outside}", "/proc/1/root/{outside}", "/proc/self/cwd/../{name}", "/proc/1/cwd/../{name}"),
    *("/proc/thread-self/root/{outside}", "/dev/fd/../root/{outside}", "src/../../{name}", "src/out/{name}"),
    *("/proc/self/task/../root/{outside}", "//{outside}", "/./{outside}", "/proc/self/map_files/../root/{outside}"),
)  # fmt: skip


def test_no_road_leads_to_the_neighbour(scene: Scene) -> None:
    (scene.root / "src" / "out").symlink_to(scene.base)
    scene.own()
    paths = [each.format(outside=str(scene.base / "neighbour"), name="neighbour") for each in ROADS]
    answers = scene.run(
        *(f"echo evil 2>/dev/null > {each}; echo evil 2>/dev/null >> {each}" for each in paths),
        *(f"ln {each} src/hard 2>/dev/null && echo evil > src/hard" for each in paths),
        *(f"mv {each} src/moved 2>/dev/null" for each in paths),
        *(f"rm -f {each} 2>/dev/null" for each in paths),
    )
    assert len(answers) == 4 * len(ROADS)
    assert (scene.base / "neighbour").read_text() == "precious"
