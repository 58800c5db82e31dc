"""Run commands under bubblewrap: a read-only machine, a writable workspace, no network, own processes."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from sandbox.backends.constraints import Constraints
from sandbox.backends.mount_view import (
    find_served_sockets,
    list_needed_paths,
    list_private_folders,
    resolve_existing,
)
from sandbox.backends.seccomp import build_call_filter
from sandbox.errors import Fault, UserError
from sandbox.fs.placeholders import hold_placeholders
from sandbox.fs.protected_paths import HELD, ProtectedPaths
from sandbox.network.netns_join import build_join_prefix, open_network_namespace
from sandbox.network.proxy_bridge import ProxyBridge, build_proxy_environment, open_proxy_bridge
from sandbox.process.command import Command, Completed, Limits
from sandbox.process.resource_limits import build_limit_prefix, compute_user_process_limit
from sandbox.process.spawn import (
    DEATH_SECONDS,
    ROUND_SECONDS,
    Launch,
    check_folder,
    find_program,
    is_group_alive,
    supervise,
    wait_for_exit,
    wait_with_timeout,
)
from sandbox.secrets.child_environment import build_child_environment

if TYPE_CHECKING:
    from sandbox.network.proxy import Proxy

Kind = Literal["empty", "read", "write", "guard", "denied"]

_BINDS: Mapping[Kind, str] = {"read": "--ro-bind", "write": "--bind", "guard": "--ro-bind"}
_RANK: Mapping[Kind, int] = {kind: rank for rank, kind in enumerate(get_args(Kind))}
"""Of two mount requests for the same path, the later kind wins."""

_MACHINE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")

NAMESPACES = (
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session"),
)

_ORDINARY = ("--unshare-user", "--cap-drop", "ALL")
_SETUID = ("--cap-drop", "ALL")
_ROOT = (*_SETUID, "--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_CHOWN", "--cap-add", "CAP_FOWNER")

PRIVILEGES: Mapping[str, tuple[str, ...]] = {"root": _ROOT, "user": _ORDINARY, "setuid": _SETUID}
"""Ways to get the rights for mounting. "root" keeps the capabilities that root needs in a workspace that
belongs to another user (they cannot lift a read-only mount); "setuid" is for a bwrap installed setuid
where the kernel gives ordinary users no namespaces."""

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
"""bwrap, like a shell, reports death by signal n as exit status 128 + n. Decoded only for signals whose
status no program chooses itself (git exits with 129 for a wrong option)."""

_GO_CACHE = "/tmp/go-build"
"""Go does not build without a writable cache, and the one in the home folder is read-only."""


class Bubblewrap:
    """A sandbox of kernel namespaces.

    program, privilege: the bwrap to use and how it gets its rights, as `probe_bubblewrap` found them
    proxy: the only network access of commands that are not on the machine's network
    """

    name = "bubblewrap"
    warning = ""

    def __init__(
        self,
        bounds: Constraints,
        *,
        program: Path,
        privilege: str,
        proxy: Proxy | None = None,
    ) -> None:
        self.root = bounds.root
        self._bounds = bounds
        self._proxy = None if bounds.network else proxy
        self._filter = build_call_filter("machine")
        # Without a filter, the kernel's own limit has to keep commands from making namespaces.
        sealed = () if self._filter or privilege != "user" else ("--disable-userns",)
        self._front = (str(program), *PRIVILEGES[privilege], *NAMESPACES, *sealed)
        self._program = program
        self._counts_apart = privilege == "user"

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        from dataclasses import replace

        cwd = check_folder(command, self.root)
        env = build_child_environment({"TMPDIR": "/tmp", "GOCACHE": _GO_CACHE, **command.env}, self.root)
        program = find_program(command, env)
        places = self._bounds.scan_protected_paths()
        audit = self._bounds.audit_command(command, places)
        async with AsyncExitStack() as stack:
            shared = stack.enter_context(open_network_namespace(command.beside)) if command.beside else -1
            way_out = ProxyBridge(environment=build_proxy_environment() if self._proxy else {})
            if self._proxy and shared < 0:
                way_out = await stack.enter_async_context(open_proxy_bridge(self._proxy))
            status, status_write = os.pipe()
            stack.callback(os.close, status)
            stack.callback(os.close, status_write)
            os.set_blocking(status, False)
            namespace = _Namespace(status)
            writes = command.scope == "workspace"
            to_hold = [folder for folder in places.folders if writes and folder.name in HELD]
            placeholders = stack.enter_context(hold_placeholders(self.root, to_hold))
            seccomp = self._open_seccomp_filter(stack)
            own_network = () if self._bounds.network or shared >= 0 else ("--unshare-net",)
            argv = (
                *(build_join_prefix(shared) if shared >= 0 else ()),
                *self._front,
                *own_network,
                *("--json-status-fd", str(status_write)),
                *(option for each in seccomp for option in ("--seccomp", str(each))),
                *self._build_mount_options(command, program, env, places, placeholders),
                *("--chdir", str(cwd), "--"),
                *build_limit_prefix(command.limits, processes=self._compute_process_limit(command.limits)),
                *way_out.prefix,
                *command.argv,
            )
            launch = Launch(
                argv=argv,
                env={**env, **way_out.environment},
                cwd=Path("/"),
                pass_fds=(
                    status_write,
                    *seccomp,
                    *way_out.descriptors,
                    *command.descriptors,
                    *((shared,) if shared >= 0 else ()),
                ),
            )
            done = await supervise(command, launch, namespace, spill=self._bounds.spill, on_output=on_output)
        if done.ended == "exited" and not namespace.started and not done.noticed:
            raise _build_setup_error(done)
        return replace(_decode_signal_exit(done), noticed=(*done.noticed, *way_out.noticed, *audit.finish()))

    def _compute_process_limit(self, limits: Limits) -> int:
        return limits.processes if self._counts_apart else compute_user_process_limit(limits)

    def _open_seccomp_filter(self, stack: AsyncExitStack) -> list[int]:
        """Return a descriptor to read the filter from, if this architecture has one."""
        if not self._filter:
            return []
        descriptor = os.memfd_create("filter")
        stack.callback(os.close, descriptor)
        os.write(descriptor, self._filter)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return [descriptor]

    def _build_mount_options(
        self,
        command: Command,
        program: Path,
        env: Mapping[str, str],
        places: ProtectedPaths,
        placeholders: Sequence[Path],
    ) -> list[str]:
        """Return the options for all mounts, outer folders first, so that the most specific request applies."""
        wishes: dict[Path, Kind] = {}

        def request_mount(kind: Kind, paths: Iterable[Path]) -> None:
            for path in paths:
                if path not in wishes or _RANK[kind] > _RANK[wishes[path]]:
                    wishes[path] = kind

        private = list_private_folders()
        secrets = self._bounds.collect_secret_paths()
        request_mount("empty", [*private, *secrets])
        toolchain = list_needed_paths(private, env, [program, self._program], self._bounds.network)
        request_mount("read", [each for each in toolchain if self.root not in each.parents])
        request_mount("read", resolve_existing(command.readable))
        request_mount("write" if command.scope == "workspace" else "read", [self.root])
        request_mount("write", resolve_existing(command.writable))
        if command.scope == "workspace":
            request_mount("write", places.list_enclosing_folders(self.root))
        request_mount("guard", [place for place in (*places.there, *placeholders) if place not in secrets])
        asked_for = {*resolve_existing(command.readable), *resolve_existing(command.writable)}
        shown = [path for path, kind in wishes.items() if kind in _BINDS]
        request_mount(
            "empty", [each for each in find_served_sockets(private, shown) if each not in asked_for]
        )
        request_mount("denied", self._bounds.list_denied_paths(command))

        options = list(_MACHINE)
        size = ["--size", str(command.limits.memory)] if command.limits.memory else []
        for path, kind in sorted(wishes.items(), key=lambda item: len(item[0].parts)):
            if kind == "empty" and path in private:
                options += [*size, "--tmpfs", str(path)]
            else:
                options += _format_mount(kind, path)
        masked = [path for path, kind in wishes.items() if kind not in _BINDS and path not in private]
        for path in masked:  # after everything inside them is mounted
            options += ["--remount-ro", str(path)] if path.is_dir() else []
        # Root needs no capability for files under /proc/sys, and nobody one to take its oom_score_adj back.
        return [*options, *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--remount-ro", "/proc"]


def _format_mount(kind: Kind, path: Path) -> list[str]:
    """Return the options for one mount. A masked file reads as empty; opening a denied one is an error,
    because a device on a mount without devices cannot be opened."""
    if kind in _BINDS:
        return [_BINDS[kind], str(path), str(path)]
    if path.is_dir():
        return ["--perms", "0555", "--size", "4096", "--tmpfs", str(path)]
    return ["--ro-bind" if kind == "denied" else "--dev-bind", os.devnull, str(path)]


def probe_bubblewrap(program: Path, privilege: str) -> str:
    """Run an empty command in a sandbox like the real ones; return "" if it works, else the reason."""
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
"""It takes milliseconds; the limit is for a machine that is starting up or swapping."""


class _Namespace:
    """The process namespace of one command: when its first process dies, the kernel kills all others."""

    def __init__(self, status: int) -> None:
        self._status = status
        self._group = 0
        self.started = False

    def kill(self, leader: int) -> None:
        # The group too: before bwrap's child has left it, the child would outlive a killed bwrap.
        self._group = leader
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)

    async def wait_until_gone(self) -> None:
        first = self._read_status()
        if first is None:  # killed before it was reported: then it is still in the group
            await wait_with_timeout(DEATH_SECONDS, _wait_group_gone(self._group))
            return
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
        await wait_with_timeout(DEATH_SECONDS, wait_for_exit(first, lambda: None))
        with suppress(ChildProcessError):  # our child only if we are the first process here
            os.waitpid(first, os.WNOHANG)

    def _read_status(self) -> int | None:
        """Return the namespace's first process, if bwrap reported it before it was killed."""
        try:
            report = os.read(self._status, _STATUS_SIZE)
        except BlockingIOError:  # killed before it reported anything
            return None
        self.started = b'"exit-code"' in report  # reported only for a command that was started
        first = _FIRST_PROCESS.search(report)
        return int(first[1]) if first else None


async def _wait_group_gone(group: int) -> None:
    import asyncio

    while is_group_alive(group):
        await asyncio.sleep(ROUND_SECONDS)


_STATUS_SIZE = 4096
"""Two lines of about 200 bytes."""

_FIRST_PROCESS = re.compile(rb'"child-pid": *([0-9]+)[^0-9]')
"""JSON, but written piecewise by a program that may be killed meanwhile: half a number names another process."""


def _build_setup_error(done: Completed) -> UserError:
    words = done.stdout.text() + done.stderr.text()
    reason = words.strip().removeprefix("bwrap: ") or f"exit status {done.returncode}"
    return UserError(
        Fault.CONFIGURATION,
        f"the sandbox could not be set up: {reason}",
        "Set `sandbox` to landlock or unconfined to work without bubblewrap.",
    )


def _decode_signal_exit(done: Completed) -> Completed:
    from dataclasses import replace

    number = done.returncode - 128
    return replace(done, returncode=-number) if number in _SIGNALS_TOLD_AS_128_PLUS else done
