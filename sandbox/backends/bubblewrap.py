"""Run commands under bubblewrap: a read-only part of the machine, a writable workspace, no network, own processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from sandbox.backends.constraints import Constraints
from sandbox.backends.mount_options import SEAL, Mounts, build_mount_options
from sandbox.backends.namespace import LimitsRefusedError, Namespace
from sandbox.backends.seccomp import build_call_filter, build_empty_filter
from sandbox.errors import Fault, UserError
from sandbox.fs.placeholders import hold_placeholders
from sandbox.fs.protected_paths import HELD, ProtectedPaths
from sandbox.helpers.own_programs import drop_planted_libraries, split_loader_variables
from sandbox.network.netns_join import build_join_prefix, open_network_namespace
from sandbox.network.proxy_bridge import ProxyBridge, build_proxy_environment, open_proxy_bridge
from sandbox.process.command import Command, Completed, Limits
from sandbox.process.resource_limits import (
    build_limit_prefix,
    compute_resource_limits,
    compute_user_process_limit,
)
from sandbox.process.spawn import Launch, RemoteRefusedError, check_folder, find_program, supervise
from sandbox.secrets.child_environment import build_child_environment, find_home
from sandbox.view.user_git_settings import open_git_settings, read_git_settings

if TYPE_CHECKING:
    from sandbox.backends.audit import Audit, NoAudit
    from sandbox.network.proxy import Proxy
    from sandbox.resident.residents import Residents

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

_OF_SERVER = tuple(
    option
    for each in ("SYS_ADMIN", "NET_ADMIN", "SETPCAP", "DAC_OVERRIDE", "CHOWN", "FOWNER", "FSETID")
    for option in ("--cap-add", f"CAP_{each}")
)
"""What the server of a resident place needs for mounts, namespaces and networks of its commands, and the last four for
what they write to a layer over a cache. They keep nothing of it."""

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


Resident = Literal["never", "repeated", "always"]
"""repeated: those whose bounds are the same as another's before; a place for them is started beside a command"""


class Bubblewrap:
    """A sandbox of kernel namespaces.

    program, privilege: the bwrap to use and how it gets its rights, as `probe_bubblewrap` found them
    overlays: overlays work here, as `probe_overlays` found
    proxy: the only network access of commands that are not on the machine's network
    resident: which commands a server inside a sandbox starts (see sandbox/resident)
    """

    name = "bubblewrap"
    warning = ""

    def __init__(
        self,
        bounds: Constraints,
        *,
        program: Path,
        privilege: str,
        overlays: bool = False,
        proxy: Proxy | None = None,
        resident: Resident = "never",
    ) -> None:
        self.root = bounds.root
        self._bounds = bounds
        self._proxy = None if bounds.network else proxy
        self._filter = build_call_filter("machine")
        # Without a filter, the kernel's own limit has to keep commands from making namespaces.
        sealed = () if self._filter or privilege != "user" else ("--disable-userns",)
        self._front = (str(program), *PRIVILEGES[privilege], *NAMESPACES, *sealed)
        self.overlays = overlays
        self._counts_apart = privilege == "user"
        self._sets_limits_inside = privilege == "setuid"  # a process with other user ids is not ours to limit
        can_stay = self._filter and privilege != "setuid"
        self._resident = _choose_resident(resident) if can_stay else "never"
        self._has_run = False

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        from dataclasses import replace

        cwd = check_folder(command, self.root)
        env = build_child_environment({"TMPDIR": "/tmp", "GOCACHE": _GO_CACHE, **command.env}, self.root)
        program = find_program(command, env)
        own_env, loading = split_loader_variables(env)
        audit = await self._bounds.prepare_audit(command)
        places = audit.places
        async with AsyncExitStack() as stack:
            stack.callback(audit.finish)  # of an interrupted command, too
            shared = stack.enter_context(open_network_namespace(command.beside)) if command.beside else -1
            proxy = self._choose_proxy(command)
            way_out = ProxyBridge(environment=build_proxy_environment() if proxy else {})
            if proxy and shared < 0:
                way_out = await stack.enter_async_context(open_proxy_bridge(proxy))
            writes = command.scope == "workspace"
            to_hold = [folder for folder in places.folders if writes and folder.name in HELD]
            placeholders = stack.enter_context(hold_placeholders(self.root, to_hold))
            mounts = self._collect_mounts(command, env, places)
            self._bounds.check_program(program, command, mounts.view)
            start = _Start(command, env, cwd, placeholders, audit, on_output)
            if (done := await self._run_resident(start, mounts)) is not None:
                return done
            namespace = self._open_namespace(stack, command.limits, audit.record_state)
            mounts = replace(mounts, guards=(*mounts.guards, *placeholders))
            settings = _open_git_settings(stack, mounts.view.emptied)
            own_network = () if self._bounds.network or shared >= 0 else ("--unshare-net",)
            argv = (
                *(build_join_prefix(shared) if shared >= 0 else ()),
                *self._front,
                *own_network,
                *(word for each in loading.items() for word in ("--setenv", *each)),
                *namespace.options,
                *build_mount_options(mounts),
                *(
                    option
                    for each in settings
                    for option in ("--perms", "0644", "--file", str(each), str(find_home() / ".gitconfig"))
                ),
                *SEAL,
                *("--chdir", str(cwd), "--"),
                *self._build_limit_prefix(command.limits),
                *way_out.prefix,
                *command.argv,
            )
            launch = Launch(
                argv=argv,
                env={**own_env, **way_out.environment},
                cwd=Path("/"),
                pass_fds=(
                    *namespace.descriptors,
                    *settings,
                    *way_out.descriptors,
                    *command.descriptors,
                    *((shared,) if shared >= 0 else ()),
                ),
                gate=namespace,
            )
            done = None
            with suppress(LimitsRefusedError):
                done = await supervise(
                    command, launch, namespace, spill=self._bounds.spill, on_output=on_output
                )
        if done is None:  # a security module of the kernel is against it
            self._sets_limits_inside = True
            return await self.run(command, on_output)
        if done.ended == "exited" and not namespace.has_started and not done.noticed:
            if self.overlays and "overlay" in _read_setup_error(done):  # a file system that cannot be a layer
                self.overlays = False
                return await self.run(command, on_output)
            if not _read_setup_error(done).startswith(_NOT_EXECUTABLE):
                raise _build_setup_error(done)
            done = replace(done, returncode=_EXIT_NOT_EXECUTABLE)  # a script whose interpreter is missing
        return _add_notes(_decode_signal_exit(done), (*way_out.noticed, *audit.finish()))

    def _choose_proxy(self, command: Command) -> Proxy | None:
        """Return the way out of a command: the session's, or one that also leads to its own hosts."""
        if not command.hosts or self._bounds.network:
            return self._proxy
        from sandbox.network.hosts import parse_host_rules
        from sandbox.network.proxy import Proxy

        return Proxy((*(self._proxy.rules if self._proxy else ()), *parse_host_rules(command.hosts)))

    @cached_property
    def _residents(self) -> Residents:
        """The resident places; opened by a second command, since a session with one needs none."""
        from sandbox.resident.residents import Residents

        network = () if self._bounds.network else ("--unshare-net",)
        return Residents(
            (*self._front[: -len(NAMESPACES)], *_OF_SERVER, *NAMESPACES, *network),
            filter_=self._filter,
            as_root=not self._counts_apart,
            separate_network=not self._bounds.network,
            starts_at_once=self._resident == "always",
        )

    def close(self) -> None:
        """End what is kept for later commands; it also ends with this object, and with our process."""
        if "_residents" in self.__dict__:
            self._residents.close()

    def _open_namespace(
        self, stack: AsyncExitStack, limits: Limits, prepare: Callable[[], None]
    ) -> Namespace:
        set_by_us = {} if self._sets_limits_inside else self._compute_limits(limits)
        namespace = Namespace(set_by_us, prepare, self._filter or build_empty_filter())
        stack.callback(namespace.close)
        return namespace

    def _compute_limits(self, limits: Limits) -> dict[int, int]:
        return compute_resource_limits(limits, processes=self._compute_process_limit(limits))

    def _build_limit_prefix(self, limits: Limits) -> tuple[str, ...]:
        if not self._sets_limits_inside:
            return ()
        return build_limit_prefix(limits, processes=self._compute_process_limit(limits))

    def _compute_process_limit(self, limits: Limits) -> int:
        return limits.processes if self._counts_apart else compute_user_process_limit(limits)

    async def _run_resident(self, start: _Start, mounts: Mounts) -> Completed | None:
        """Run a command in a resident place; return None if it needs a sandbox of its own."""
        is_first, self._has_run = not self._has_run, True
        if (
            self._resident == "never"
            or self._proxy
            or start.command.hosts
            or (is_first and self._resident != "always")
        ):
            return None
        settings = read_git_settings() if find_home() in mounts.view.emptied else ""
        process = await self._residents.reserve(mounts, settings)
        if process is None:
            return None
        from sandbox.resident.place import Request

        try:
            process.request = Request(
                argv=start.command.argv,
                env=start.env,
                cwd=start.cwd,
                limits=self._compute_limits(start.command.limits),
                folders=start.placeholders,
                prepare=start.audit.record_state,
            )
            launch = Launch(argv=(), env={}, cwd=start.cwd, gate=process, remote=process)
            done = await supervise(
                start.command, launch, process, spill=self._bounds.spill, on_output=start.on_output
            )
        except RemoteRefusedError:
            return None
        finally:
            process.release()
        return _add_notes(_decode_signal_exit(done), start.audit.finish())

    def _collect_mounts(
        self,
        command: Command,
        env: Mapping[str, str],
        places: ProtectedPaths,
    ) -> Mounts:
        secrets = self._bounds.collect_secret_paths()
        denied = self._bounds.list_denied_paths(command)
        return Mounts(
            root=self.root,
            command=command,
            view=self._bounds.get_view(env, secrets),
            secrets=secrets,
            denied=denied,
            guards=self._bounds.list_guards(places),
            enclosing=places.list_enclosing_folders(self.root, [*secrets, *denied]),
            sockets=self._bounds.find_served_sockets(),
            overlays=self.overlays,
        )


def _choose_resident(wanted: Resident) -> Resident:
    """Return which commands run in a resident place; a variable wins, for tests."""
    value = os.environ.get("PATCHWRIGHT_RESIDENT")
    return next((each for each in get_args(Resident) if each == value), wanted)


class _Start(NamedTuple):
    command: Command
    env: Mapping[str, str]
    cwd: Path
    placeholders: Sequence[Path]
    audit: Audit | NoAudit
    on_output: Callable[[bytes], None] | None


def _open_git_settings(stack: AsyncExitStack, emptied: Sequence[Path]) -> list[int]:
    """Return a descriptor of the git settings that replace the user's own, where their home folder is hidden."""
    text = read_git_settings() if find_home() in emptied else ""
    if not text:
        return []
    descriptor = open_git_settings(text)
    stack.callback(os.close, descriptor)
    return [descriptor]


def probe_bubblewrap(program: Path, privilege: str) -> str:
    """Run an empty command in a sandbox like the real ones; return "" if it works, else the reason."""
    return _probe_mounts(program, privilege, ("--size", "4096", "--tmpfs", "/tmp"))


def probe_overlays(program: Path, privilege: str) -> bool:
    """Return whether overlays work, tried with the home folder as the lower layer: bwrap 0.11, Linux 5.11."""
    lower = home if (home := find_home()) != Path("/") and home.is_dir() else Path("/usr")
    return not _probe_mounts(program, privilege, ("--overlay-src", str(lower), "--tmp-overlay", str(lower)))


def _probe_mounts(program: Path, privilege: str, mounts: Sequence[str]) -> str:
    import subprocess

    status, status_write = os.pipe()
    try:
        argv = (str(program), *PRIVILEGES[privilege], *NAMESPACES, "--unshare-net")
        machine = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        done = subprocess.run(
            [*argv, "--json-status-fd", str(status_write), *machine, *mounts, "--", "/bin/sh", "-c", ":"],
            env=drop_planted_libraries(os.environ),
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


def _read_setup_error(done: Completed) -> str:
    words = done.stdout.text() + done.stderr.text()
    return words.strip().removeprefix("bwrap: ")


_NOT_EXECUTABLE = "execvp "
_EXIT_NOT_EXECUTABLE = 127
"""The status that a shell reports for it."""


def _build_setup_error(done: Completed) -> UserError:
    reason = _read_setup_error(done) or f"exit status {done.returncode}"
    return UserError(
        Fault.CONFIGURATION,
        f"the sandbox could not be set up: {reason}",
        "Set `sandbox` to landlock or unconfined to work without bubblewrap.",
    )


def _add_notes(done: Completed, notes: Sequence[str]) -> Completed:
    from dataclasses import replace

    return replace(done, noticed=(*done.noticed, *notes))


def _decode_signal_exit(done: Completed) -> Completed:
    from dataclasses import replace

    number = done.returncode - 128
    return replace(done, returncode=-number) if number in _SIGNALS_TOLD_AS_128_PLUS else done
