"""Run each command in a container of an image that the user names, by docker or podman: chosen by setting only."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.backends.constraints import Constraints
from sandbox.errors import Fault, UserError
from sandbox.fs.protected_paths import ProtectedPaths
from sandbox.helpers.own_programs import build_search_path, drop_planted_libraries, find_own_program
from sandbox.process.command import Command, Completed
from sandbox.process.spawn import DEATH_SECONDS, Launch, check_folder, supervise
from sandbox.secrets.child_environment import build_child_environment
from sandbox.view.machine_view import resolve_existing

if TYPE_CHECKING:
    import subprocess

ENGINES = ("podman", "docker")
"""The one without a root daemon comes first."""

_NOT_STARTED = (125,)
"""Exit status by which both engines report that they could not start the container."""


class Container:
    """A sandbox with the programs of an image, and the workspace at its own path.

    engine: path of the docker or podman program
    image: name of the image; it is never fetched
    """

    name = "container"
    warning = ""

    def __init__(
        self,
        bounds: Constraints,
        *,
        engine: Path,
        image: str,
    ) -> None:
        self.root = bounds.root
        self._bounds = bounds
        self._engine = engine
        self._image = image

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        from dataclasses import replace

        cwd = check_folder(command, self.root)
        audit = await self._bounds.start_audit(command)
        container = f"patchwright-{os.getpid()}-{next(_NUMBERS)}"
        argv = (*self.build_command_line(command, cwd, audit.places, container), *command.argv)
        env = build_child_environment({**_build_engine_environment(), "PATH": build_search_path(self.root)})
        launch = Launch(argv=argv, env=env, cwd=Path("/"))
        tree = _ContainerProcesses(self._engine, container)
        try:
            done = await supervise(command, launch, tree, spill=self._bounds.spill, on_output=on_output)
        finally:
            audit.finish()  # of an interrupted command, too
        if done.ended == "exited" and done.returncode in _NOT_STARTED:
            raise UserError(
                Fault.CONFIGURATION,
                f"the container could not be started: {(done.stdout.text() + done.stderr.text()).strip()}",
                f"Try: {self._engine.name} run --rm {self._image} true",
            )
        return replace(done, noticed=(*done.noticed, *audit.finish()))

    def build_command_line(
        self, command: Command, cwd: Path, places: ProtectedPaths, container: str
    ) -> list[str]:
        """Return the engine's command line, up to the program to run."""
        limits = command.limits
        argv = [str(self._engine), "run", "--rm", "--init", "--interactive", "--pull=never"]
        argv += ["--name", container, "--workdir", str(cwd), "--entrypoint", ""]
        argv += ["--network", "host" if self._bounds.network else "none", "--ipc", "private"]
        argv += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        argv += ["--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777"]
        argv += ["--user", f"{os.getuid()}:{os.getgid()}"]
        if self._engine.name == "podman" and os.getuid() != 0:
            argv += ["--userns", "keep-id"]
        bounds = {
            "--pids-limit": limits.processes,
            "--memory": limits.memory,
            "--ulimit=fsize": limits.file_size,
            "--ulimit=nofile": limits.open_files,
            "--ulimit=cpu": limits.cpu,
        }
        argv += [f"{option}={value}" for option, value in bounds.items() if value]
        argv += ["--ulimit=core=0", *self._build_mount_options(command, places)]
        for name, value in {"HOME": "/tmp", "TMPDIR": "/tmp", **command.env}.items():
            argv += ["--env", f"{name}={value}"]
        return [*argv, self._image]

    def _build_mount_options(self, command: Command, places: ProtectedPaths) -> Sequence[str]:
        """Return the options for all mounts, outer folders first, so that the more specific mount is on top."""
        access = dict.fromkeys(resolve_existing((*command.readable, *self._bounds.visible)), "ro")
        access |= dict.fromkeys(resolve_existing(command.writable), "rw")
        access[self.root] = "rw" if command.scope == "workspace" else "ro"
        if command.scope == "workspace":
            closed = self._bounds.list_unreadable_paths(command)
            access |= dict.fromkeys(places.list_enclosing_folders(self.root, closed), "rw")
        access |= dict.fromkeys(places.there, "ro")
        argv: list[str] = []
        for path, rights in sorted(access.items(), key=lambda item: len(item[0].parts)):
            argv += [
                "--mount",
                f"type=bind,source={path},target={path}{',readonly' if rights == 'ro' else ''}",
            ]
        for path in self._bounds.list_unreadable_paths(command):
            if any(shown in path.parents for shown in access):
                what = "type=tmpfs" if path.is_dir() else f"type=bind,source={os.devnull},readonly"
                argv += ["--mount", f"{what},target={path}"]
        return argv


def find_engine(root: Path | None = None) -> Path | str:
    """Return the engine's program, if one is installed and answers; else the reason."""
    import subprocess

    reason = "neither podman nor docker is installed"
    for name in ENGINES:
        found = find_own_program(name, root)
        if found is None:
            continue
        try:
            done = subprocess.run(
                [found, "info"],
                env={**drop_planted_libraries(os.environ, root), "PATH": build_search_path(root)},
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:  # not a program for this machine, or it hangs
            reason = f"{name}: {error}"
            continue
        if done.returncode == 0:
            return Path(found)
        reason = f"{name} does not answer"
    return reason


_PROBE_SECONDS = 10.0

_NUMBERS = count(1)


def _build_engine_environment() -> dict[str, str]:
    """Return the variables that say where the engine's daemon listens. The container gets none of our environment."""
    names = ("DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "XDG_RUNTIME_DIR")
    return {name: value for name in names if (value := os.environ.get(name))}


class _ContainerProcesses:
    """The processes of one container: they end with it."""

    def __init__(self, program: Path, container: str) -> None:
        self._program = program
        self._container = container
        self._removal: subprocess.Popen[bytes] | None = None

    def kill(self, leader: int) -> None:
        import signal
        import subprocess

        # The program we started only relays: the container's processes are the engine's children.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
        with suppress(OSError):  # no more processes: the container has its own limit and ends with the engine
            self._removal = subprocess.Popen(
                [self._program, "rm", "--force", "--volumes", self._container],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    async def wait_until_gone(self) -> None:
        import asyncio
        import subprocess

        if self._removal is None:
            return
        try:
            await asyncio.to_thread(self._removal.wait, _REMOVAL_SECONDS)
        except subprocess.TimeoutExpired:  # the engine hangs: then we cannot end the container
            self._removal.kill()
            self._removal.wait()


_REMOVAL_SECONDS = 6 * DEATH_SECONDS
"""An engine takes seconds where a kill takes milliseconds."""
