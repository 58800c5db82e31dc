"""Run commands under bubblewrap: a read-only machine, a writable workspace, no network, own processes."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from sandbox.errors import Fault, UserError
from sandbox.guarded import guarded_places
from sandbox.process import Command, Completed
from sandbox.secrets import FOLDER_VARIABLES, child_environment, home, secret_places
from sandbox.spawn import (
    DEATH_SECONDS,
    ROUND_SECONDS,
    Launch,
    check_folder,
    exit_of,
    find_program,
    group_lives,
    limited,
    supervise,
    within,
)

Kind = Literal["empty", "read", "write", "guard"]

_MOUNT_OPTIONS: Mapping[Kind, str] = {
    "empty": "--tmpfs",
    "read": "--ro-bind",
    "write": "--bind",
    "guard": "--ro-bind",
}
_RANK: Mapping[Kind, int] = {kind: rank for rank, kind in enumerate(_MOUNT_OPTIONS)}
"""Of two wishes for the same place, the later kind wins."""

_MACHINE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")

PRIVATE = ("/tmp", "/var/tmp", "/run")
"""Empty for each command. /run holds the sockets of services (docker, dbus, systemd) that would do anything
on a caller's behalf; a read-only mount does not keep a process from connecting to them."""

SHOWN_IN_RUN = ("/run/current-system", "/run/opengl-driver")
"""NixOS keeps all programs behind the first."""

NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session")

_ORDINARY = ("--unshare-user", "--cap-drop", "ALL")
_SETUID = ("--cap-drop", "ALL")
_ROOT = (*_SETUID, "--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_CHOWN", "--cap-add", "CAP_FOWNER")

PRIVILEGES: Mapping[str, tuple[str, ...]] = {"root": _ROOT, "user": _ORDINARY, "setuid": _SETUID}
"""Ways to get the rights for mounting. "root" keeps what root needs in a workspace that belongs to another
user (those rights cannot lift a read-only mount); "setuid" is for a bwrap so installed where the kernel
gives ordinary users no namespaces."""

_SIGNALS_TOLD_AS_128_PLUS = frozenset(
    int(each)
    for each in (
        signal.SIGILL,
        signal.SIGTRAP,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGXCPU,
        signal.SIGXFSZ,
        signal.SIGSYS,
    )
)
"""bwrap, like a shell, tells death by signal n as exit status 128 + n. Only for these is that no status a
program chooses itself (git exits with 129 for a wrong option)."""

_GO_CACHE = "/tmp/go-build"
"""Go does not build without a writable cache, and the one in the home folder is read-only."""


class Bubblewrap:
    """A sandbox of kernel namespaces.

    root: the workspace, the one place commands may write
    program, privilege: the bwrap to use and how it gets its rights, as `works` found them
    hidden: folders of ours that commands may not see
    network: leave commands on the machine's network
    """

    name = "bubblewrap"
    warning = ""

    def __init__(
        self,
        root: Path,
        *,
        program: Path,
        privilege: str,
        spill: Path | None = None,
        hidden: Iterable[Path] = (),
        network: bool = False,
    ) -> None:
        self.root = root.resolve()
        self._network = network
        self._spill = spill
        self._hidden = tuple(hidden)
        unshared = NAMESPACES if network else (*NAMESPACES, "--unshare-net")
        self._front = (str(program), *PRIVILEGES[privilege], *unshared)

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        cwd = check_folder(command, self.root)
        env = child_environment({"TMPDIR": "/tmp", "GOCACHE": _GO_CACHE, **command.env})
        program = find_program(command, env)
        status, status_write = os.pipe()
        os.set_blocking(status, False)
        namespace = _Namespace(status)
        try:
            argv = (
                *self._front,
                "--json-status-fd",
                str(status_write),
                *self._mounts(command, program, env),
                "--chdir",
                str(cwd),
                "--",
                *limited(command.limits, count_processes=True),
                *command.argv,
            )
            launch = Launch(argv=argv, env=env, cwd=Path("/"), pass_fds=(status_write,))
            done = await supervise(command, launch, namespace, spill=self._spill, on_output=on_output)
        finally:
            os.close(status)
            os.close(status_write)
        if done.ended == "exited" and not namespace.started:
            raise _broken(done)
        return _with_signal(done)

    def _mounts(self, command: Command, program: Path, env: Mapping[str, str]) -> list[str]:
        """Options for all mounts, outer folders first: so the most specific wish about a place holds."""
        wishes: dict[Path, Kind] = {}

        def wish(kind: Kind, paths: Iterable[Path]) -> None:
            for path in paths:
                if path not in wishes or _RANK[kind] > _RANK[wishes[path]]:
                    wishes[path] = kind

        private = [path for each in PRIVATE if (path := Path(each)).is_dir() and not path.is_symlink()]
        secrets = secret_places(self._hidden)
        wish("empty", [*private, *(path for path in secrets if path.is_dir())])
        wish("read", _needed(private, program, env, self._network))
        wish("read", _existing(command.readable))
        wish("write" if command.scope == "workspace" else "read", [self.root])
        wish("write", _existing(command.writable))
        wish("guard", guarded_places(self.root))

        options = list(_MACHINE)
        size = ["--size", str(command.limits.memory)] if command.limits.memory else []
        for path, kind in sorted(wishes.items(), key=lambda item: len(item[0].parts)):
            if kind == "empty":
                options += [*size, "--tmpfs", str(path)]
            else:
                options += [_MOUNT_OPTIONS[kind], str(path), str(path)]
        for path in secrets:
            if path not in wishes:  # a file; /dev/null is one that is there, and empty
                options += ["--dev-bind", os.devnull, str(path)]
        return options


def works(program: Path, privilege: str) -> str:
    """Try an empty command in a sandbox like the real ones: "" if it works, else why not."""
    import subprocess

    status, status_write = os.pipe()
    try:
        argv = (str(program), *PRIVILEGES[privilege], *NAMESPACES, "--unshare-net")
        mounts = (*_MACHINE, "--size", "4096", "--tmpfs", "/tmp")
        done = subprocess.run(
            [*argv, "--json-status-fd", str(status_write), *mounts, "--", "/bin/sh", "-c", ":"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=(status_write,),
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:  # not a program for this machine, or it hangs
        return str(error)
    finally:
        os.close(status)
        os.close(status_write)
    words = done.stderr.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
    return "" if done.returncode == 0 else words or f"exit status {done.returncode}"


_PROBE_SECONDS = 10.0
"""It takes milliseconds; this is for a machine that is starting up or swapping."""


class _Namespace:
    """The process namespace of one command: when its first process dies, the kernel kills every other."""

    def __init__(self, status: int) -> None:
        self._status = status
        self._group = 0
        self.started = False

    def kill(self, leader: int) -> None:
        # The group too: before bwrap's child has left it, the child would outlive a killed bwrap.
        self._group = leader
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)

    async def settle(self) -> None:
        first = self._read_status()
        if first is None:  # killed before it was told of: then it is still in the group
            await within(DEATH_SECONDS, _group_gone(self._group))
            return
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
        await within(DEATH_SECONDS, exit_of(first, lambda: None))
        with suppress(ChildProcessError):  # ours only if we are the machine's or a container's first process
            os.waitpid(first, os.WNOHANG)

    def _read_status(self) -> int | None:
        """The namespace's first process, if bwrap got as far as to tell it before it was killed."""
        try:
            report = os.read(self._status, _STATUS_SIZE)
        except BlockingIOError:  # it was killed before it told anything
            return None
        self.started = b'"exit-code"' in report  # told only of a command that was started
        first = _FIRST_PROCESS.search(report)
        return int(first[1]) if first else None


async def _group_gone(group: int) -> None:
    import asyncio

    while group_lives(group):
        await asyncio.sleep(ROUND_SECONDS)


_STATUS_SIZE = 4096
"""Two lines of about 200 bytes."""

_FIRST_PROCESS = re.compile(rb'"child-pid": *([0-9]+)[^0-9]')
"""JSON, but written piece by piece by a program that may be killed meanwhile: half a number names another process."""


def _needed(private: Sequence[Path], program: Path, env: Mapping[str, str], network: bool) -> list[Path]:
    """What a command needs although it lies in a folder that is made empty: its toolchain, its home."""
    below = tuple(f"{each}/" for each in private)
    named = [*env.get("PATH", "").split(os.pathsep), *(env.get(name, "") for name in FOLDER_VARIABLES)]
    paths = [_installation(Path(each)) for each in named if each.startswith(below)]
    paths += [home(), _installation(program.parent), _installation(program.resolve().parent)]
    # Our own interpreter is the runner of last resort for a project's tests.
    paths += [Path(sys.prefix), Path(sys.base_prefix)]
    paths += [Path(each) for each in SHOWN_IN_RUN]
    if network:
        paths.append(Path("/etc/resolv.conf").resolve())
    return [path for path in paths if str(path).startswith(below) and path.exists()]


def _installation(folder: Path) -> Path:
    """The folder that holds bin/ together with the lib/ it needs; a bin/ right under /tmp stands alone."""
    alone = folder.name not in ("bin", "sbin") or str(folder.parent) in PRIVATE
    return folder if alone else folder.parent


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [path.resolve() for path in paths if path.exists()]


def _broken(done: Completed) -> UserError:
    words = done.stdout.text() + done.stderr.text()
    reason = words.strip().removeprefix("bwrap: ") or f"exit status {done.returncode}"
    return UserError(
        Fault.CONFIGURATION,
        f"the sandbox could not be set up: {reason}",
        "Set `sandbox` to landlock or unconfined to work without bubblewrap.",
    )


def _with_signal(done: Completed) -> Completed:
    from dataclasses import replace

    number = done.returncode - 128
    return replace(done, returncode=-number) if number in _SIGNALS_TOLD_AS_128_PLUS else done
