"""Run commands under macOS's own sandbox: a profile in its language, applied by `sandbox-exec`."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path

from sandbox.backends.constraints import Constraints
from sandbox.fs.protected_paths import ProtectedPaths
from sandbox.process.command import Command, Completed
from sandbox.process.process_tree import Descendants
from sandbox.process.resource_limits import build_limit_prefix
from sandbox.process.spawn import Launch, check_folder, find_program, supervise
from sandbox.secrets.child_environment import build_child_environment
from sandbox.view.machine_view import MachineView, resolve_existing
from sandbox.view.user_git_settings import write_git_settings

PROGRAM = Path("/usr/bin/sandbox-exec")
"""A full path: a program found by PATH could be anyone's."""


class Seatbelt:
    """A sandbox of rules that the macOS kernel checks; the last rule that matches an access decides."""

    name = "seatbelt"
    warning = (
        "Commands are confined by Seatbelt: a daemon that they leave behind is not ended, but stays confined."
    )

    def __init__(
        self,
        bounds: Constraints,
    ) -> None:
        self.root = bounds.root
        self._bounds = bounds

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        import tempfile
        from dataclasses import replace

        cwd = check_folder(command, self.root)
        audit = await self._bounds.start_audit(command)
        tree = Descendants()
        with tempfile.TemporaryDirectory(prefix="patchwright-") as folder:
            private = Path(folder).resolve()
            own = {"TMPDIR": str(private), **write_git_settings(private, self.root)}
            env = build_child_environment({**own, **command.env, **tree.environment}, self.root)
            program = find_program(command, env)
            view = self._bounds.get_view(env, self._bounds.collect_secret_paths())
            self._bounds.check_program(program, command, view)
            writable = [private, *resolve_existing(command.writable)]
            if command.scope == "workspace":
                writable.append(self.root)
            text = build_profile(
                view,
                readable=[
                    self.root,
                    *self._bounds.list_guards(audit.places),
                    *resolve_existing(command.readable),
                ],
                writable=writable,
                guards=audit.places,
                closed=self._bounds.list_unreadable_paths(command),
                network=self._bounds.network,
            )
            limits = build_limit_prefix(command.limits, processes=0)
            argv = (str(PROGRAM), "-p", text, *limits, *command.argv)
            launch = Launch(argv=argv, env=env, cwd=cwd, pass_fds=command.descriptors)
            try:
                done = await supervise(command, launch, tree, spill=self._bounds.spill, on_output=on_output)
            finally:
                audit.finish()  # of an interrupted command, too
        return replace(done, noticed=(*done.noticed, *audit.finish()))


def explain_unavailability() -> str:
    """Return "" if commands can be confined here, else the reason."""
    if platform.system() != "Darwin":
        return "this is not macOS"
    return "" if os.access(PROGRAM, os.X_OK) else f"no program {str(PROGRAM)!r}"


def build_profile(
    view: MachineView,
    *,
    readable: Iterable[Path],
    writable: Iterable[Path],
    guards: ProtectedPaths,
    closed: Iterable[Path],
    network: bool,
) -> str:
    """Return the profile's text. Guarded names are refused whether they exist or not: rules need no file.

    view: what commands see of the machine; readable: places that they see besides
    """
    writable = list(writable)
    shown = dict.fromkeys((*(each.path for each in view.places), *readable, *writable))
    refused = [*guards.there, *guards.folders, *guards.files, *guards.missing, *guards.links]
    lines = [
        _BASE,
        *(f"(allow file-read* (subpath {_quote_path(path)}))" for path in shown),
        *(f"(allow file-read* (literal {_quote_path(link)}))" for link, _ in view.links),
        *(f"(allow file-write* (subpath {_quote_path(path)}))" for path in writable),
        *(f"(deny file-write* (subpath {_quote_path(path)}))" for path in dict.fromkeys(refused)),
        # Renaming a parent folder would take the guard with it.
        *(f"(deny file-write-unlink (literal {_quote_path(path)}))" for path in _list_parents(refused)),
        *(f"(deny file-read* file-write* (subpath {_quote_path(path)}))" for path in closed),
    ]
    if network:
        lines.append("(allow network*)\n(allow system-socket)")
    return "\n".join(lines) + "\n"


_BASE = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath "/dev"))
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(allow ipc-posix-sem)
(allow ipc-posix-shm-read-data ipc-posix-shm-write-create ipc-posix-shm-write-data)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.notification_center") (global-name "com.apple.system.logger"))
(deny process-exec (literal "/usr/bin/open") (literal "/usr/bin/osascript") (literal "/bin/launchctl"))"""
"""Rights of every command: run, follow paths, look up users and groups. No service that starts programs is reachable.

The metadata of a file (that it exists, its size and times) can be had everywhere: without them no path can be followed.
"""


def _list_parents(places: Iterable[Path]) -> list[Path]:
    """Return the parents of each path, which a command may write in but not remove or rename."""
    return sorted({folder for place in places for folder in place.parents if folder != Path("/")})


def _quote_path(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
