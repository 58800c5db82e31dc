"""The server of a resident place: it runs inside the sandbox, and keeps one process ready for the next command.

It is read from memory by an isolated Python, so it imports nothing of Patchwright. Its processes:

- the server, the sandbox's first process: it forks one spare after the other, and ends when a spare was not used;
- a spare, the first process of a process namespace of its own: it makes private mounts, then waits for the end of its
  child, and tells it; with the spare die all processes of the command;
- the command-to-be, its child: it waits for a request, and becomes the command.

A command cannot trace them or look into them, because they cannot be dumped. Of the three it sees its first process
only, on which signals from inside have no effect.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import gc
import marshal
import os
import resource
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # what is imported makes the process larger, and so each fork slower
    from collections.abc import Callable
    from typing import Any, NoReturn

NEW_MOUNTS, NEW_IPC, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000,
    0x08000000,
    0x20000000,
    0x40000000,
)  # linux/sched.h
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8  # linux/mount.h: MS_RDONLY …
REMOUNT, BIND, RECURSIVE = 32, 4096, 16384
SET_DUMPABLE, SET_SECCOMP, DROP_FROM_BOUND, AMBIENT, CLEAR_AMBIENT = 4, 22, 24, 47, 4  # linux/prctl.h
CAPABILITY_VERSION, CAPABILITIES = 0x20080522, 64
INTERFACE_FLAGS, UP = 0x8914, 1  # SIOCSIFFLAGS, IFF_UP

SHORT_SECONDS = 0.02

libc = ctypes.CDLL(None, use_errno=True)


class Server:
    """The parent of all spares.

    steps: what is mounted for each command anew (see plan.py)
    filter_: the system call filter of commands
    kept: bits of the capabilities that commands keep; separate_network: each command has a network of its own
    idle: seconds after which an unused spare ends, and the server with it
    """

    def __init__(
        self,
        client: _socket.socket,
        *,
        steps: list[tuple[Any, ...]],
        filter_: bytes,
        kept: int,
        separate_network: bool,
        idle: float,
    ) -> None:
        self.client = client
        self.steps = steps
        self.filter = ctypes.create_string_buffer(filter_)
        self.program = struct.pack("HxxxxxxP", len(filter_) // 8, ctypes.addressof(self.filter))
        self.kept, self.separate_network, self.idle = kept, separate_network, idle
        self.original = watch_mounts()
        self.mask = os.umask(0)
        drop_bound(kept)
        self.own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        # Not where bwrap has made a second user namespace for an ordinary user's number.
        self.returns = libc.setns(self.own_processes, NEW_PROCESSES) == 0

    def run(self) -> None:
        """Prepare a spare whenever the last one is taken; return when one is not."""
        while not has_changed(self.original):
            if self.separate_network:
                renew_network()
            taken, tell = os.pipe()
            self.start_spare(taken, tell)
            os.close(tell)
            if not os.read(taken, 1):
                break
            wait_briefly(taken)
            os.close(taken)
            reap(os.WNOHANG)
        reap(0)  # with the server, a command that still runs would end

    def start_spare(self, taken: int, tell: int) -> None:
        """Fork a process that is the first of a process namespace."""
        if not self.returns and (helper := os.fork()):
            os.waitpid(helper, 0)  # its child is ours then: we are the first process here
            return
        check(libc.unshare(NEW_PROCESSES), "unshare")
        if not os.fork():
            os.close(taken)
            run_or_exit(self.be_first, tell)
        if not self.returns:
            os._exit(0)
        check(libc.setns(self.own_processes, NEW_PROCESSES), "setns")

    def be_first(self, tell: int) -> NoReturn:
        """Make the private mounts, start the command-to-be, and report its end."""
        os.setsid()
        check(libc.unshare(NEW_MOUNTS | NEW_IPC), "unshare")
        for step in self.steps:
            take_step(*step)
        os.chdir("/")
        mounts = watch_mounts()
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0)
        leader = os.fork()
        if not leader:
            run_or_exit(self.become_command, ours, theirs, tell, mounts)
        theirs.close()  # `tell` stays open: its end is ours
        set_capabilities(0)
        process = 0
        while process != leader:
            process, status = os.wait()
        try:
            os.kill(-1, _signal.SIGKILL)  # all but ourselves; a fork that is under way fails
        except ProcessLookupError:
            pass
        reap(0)
        number = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        ours.send(b"E%d" % number)
        os._exit(0)

    def rehearse(self, mounts: select.poll) -> None:
        """Do what can be done ahead with nothing: memory is copied by the first write after a fork, not while somebody
        waits."""
        request = marshal.dumps(([b"true"], [b"A=b"], b"/", b"/", [(resource.RLIMIT_CORE, 0)], []))
        argv, *_ = marshal.loads(request)
        build_array(argv)
        resource.getrlimit(resource.RLIMIT_CORE)
        struct.unpack("4i", struct.pack("4i", 0, 0, 0, 0))
        if has_changed(self.original) or has_changed(mounts):
            os._exit(0)
        if self.separate_network:
            renew_network()

    def become_command(
        self, ours: _socket.socket, theirs: _socket.socket, tell: int, mounts: select.poll
    ) -> NoReturn:
        """Wait for a request, and become its command."""
        self.rehearse(mounts)
        handle = os.pidfd_open(1)
        passed = struct.pack("2i", handle, theirs.fileno())
        self.client.sendmsg([b"R"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
        os.close(handle)
        theirs.close()
        waiting = select.poll()
        waiting.register(ours.fileno(), select.POLLIN)
        if not waiting.poll(self.idle * 1000):
            os._exit(0)
        _, parts, _, _ = ours.recvmsg(1, _socket.CMSG_SPACE(4 * 4), _socket.MSG_CMSG_CLOEXEC)
        if not parts:  # they have ended
            os._exit(0)
        os.write(tell, b"x")
        content, *streams = struct.unpack("4i", parts[0][2])
        argv, env, path, cwd, limits, folders = marshal.loads(read_all(content))
        held = True
        try:
            if has_changed(self.original) or has_changed(mounts):
                raise OSError(0, "the mounts have changed")
            if self.separate_network:
                renew_network()
            for folder in folders:
                mount(folder, folder, None, BIND)
                mount(None, folder, None, REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEVICES)
            os.chdir(cwd)
            for which, value in limits:
                resource.setrlimit(which, (value, value))
            words, variables = build_array(argv), build_array(env)
            if path is None:
                os.unsetenv(b"PATH")
            else:
                os.putenv(b"PATH", path)
            for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
                _signal.signal(number, _signal.SIG_DFL)
            os.umask(self.mask)
            set_capabilities(self.kept)
            held = False
            if not ours.recv(1):
                os._exit(0)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            ours.send(b"B")
            check(libc.prctl(SET_SECCOMP, 2, self.program, 0, 0), "seccomp")
            libc.execvpe(argv[0], words, variables)
            raise OSError(ctypes.get_errno(), "exec")
        except OSError:
            if held:  # what is not read before the end would make the answer an error
                ours.recv(1)
            ours.send(b"F")
            os._exit(1)


def wait_briefly(taken: int) -> None:
    """Wait for the end of a short command: the next spare is prepared while nobody waits for anything."""
    ended = select.poll()
    ended.register(taken, 0)
    ended.poll(SHORT_SECONDS * 1000)


def reap(options: int) -> None:
    """Reap children that have ended; without WNOHANG, all of them."""
    try:
        while os.waitpid(-1, options)[0]:
            pass
    except ChildProcessError:
        pass


def build_array(words: list[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    """Return an array as execve(2) takes it."""
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)


def take_step(kind: str, path: bytes, *more: Any) -> None:
    """Take one step of the plan."""
    if kind == "tmpfs":
        size, mode = more
        mount(
            b"tmpfs",
            path,
            b"tmpfs",
            NO_SUID | NO_DEVICES,
            b"mode=%o%s" % (mode, b",size=%d" % size if size else b""),
        )
    elif kind == "enter":
        os.chdir(path)
    elif kind == "folder":
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            pass
    elif kind == "empty":
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    elif kind == "bind":
        mount(more[0], path, None, BIND | RECURSIVE)
    elif kind == "overlay":
        lower, upper, work = more
        os.mkdir(upper, 0o755)
        os.mkdir(work, 0o755)
        mount(
            b"overlay",
            path,
            b"overlay",
            0,
            b"lowerdir=%s,upperdir=%s,workdir=%s,userxattr" % (escape(lower), upper, work),
        )
    elif kind == "link":
        os.symlink(more[0], path)
    elif kind == "file":
        with open(path, "xb", buffering=0) as file:
            file.write(more[0])
            os.fchmod(file.fileno(), more[1])
    elif kind == "seal":
        mount(None, path, None, REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEVICES)
    elif kind == "proc":
        mount(b"proc", path, b"proc", READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC)


def escape(path: bytes) -> bytes:
    """Escape what has a meaning in the options of an overlay."""
    return path.replace(b"\\", b"\\\\").replace(b":", b"\\:").replace(b",", b"\\,")


def mount(
    source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None
) -> None:
    """Make a mount. Raises OSError."""
    check(libc.mount(source, target, kind, ctypes.c_ulong(flags), data), "mount")


def watch_mounts() -> select.poll:
    """Return something that `has_changed` can ask about the mounts of this process's namespace."""
    watching = select.poll()
    watching.register(os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC), select.POLLPRI)
    return watching


def has_changed(mounts: select.poll) -> bool:
    """Return whether a mount was added or removed: the kernel removes one when its file is replaced outside."""
    return bool(mounts.poll(0))


def renew_network() -> None:
    """Get a new network, if anything was ever sent in this one; what was not left behind by packets ended with its
    process. It is the server's at first, so that most commands need not wait for one.
    """
    with open("/proc/self/net/dev", "rb", buffering=0) as file:
        lines = file.read(4096).splitlines()
    loopback = lines[2].split()
    if loopback[:1] == [b"lo:"] and len(lines) == 3 and set(loopback[1:]) == {b"0"}:
        return
    check(libc.unshare(NEW_NETWORK), "unshare")
    start_loopback()


def start_loopback() -> None:
    """Start the loopback interface of a new network."""
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    check(libc.ioctl(probe.fileno(), INTERFACE_FLAGS, struct.pack("16sh14x", b"lo", UP)), "lo")
    probe.close()


def drop_bound(kept: int) -> None:
    """Give up for good all capabilities that no later program may get."""
    for number in range(CAPABILITIES):
        if not kept >> number & 1:
            libc.prctl(DROP_FROM_BOUND, number, 0, 0, 0)
    libc.prctl(AMBIENT, CLEAR_AMBIENT, 0, 0, 0)


def set_capabilities(kept: int) -> None:
    """Give up all other capabilities."""
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    check(libc.capset(header, struct.pack("6I", kept, kept, kept, 0, 0, 0)), "capset")


def read_all(descriptor: int) -> bytes:
    """Return the content of a file."""
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def check(result: int, what: str) -> None:
    """Raise OSError if a call failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def run_or_exit(work: Callable[..., NoReturn], *arguments: object) -> NoReturn:
    """Run a child's work; an error ends it, and never lets it go on as its parent."""
    try:
        work(*arguments)
    finally:
        os._exit(1)


def main() -> None:
    """Serve the socket and the settings that were inherited."""
    check(libc.prctl(SET_DUMPABLE, 0, 0, 0, 0), "dumpable")
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    client, settings = map(int, sys.argv[1:3])
    os.set_inheritable(client, False)
    content = marshal.loads(read_all(settings))
    os.close(settings)
    for name in ("unshare", "setns", "mount", "capset", "prctl", "ioctl", "execvpe"):
        getattr(libc, name)  # looked up here once, not in each child
    gc.disable()
    gc.freeze()
    Server(_socket.socket(fileno=client), **content).run()


if __name__ == "__main__":
    main()
