"""Run a command: what is asked (`Command`), what came of it (`Completed`), and who can do it (`Sandbox`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings for one command's process tree; 0 lifts one.

    memory: bytes of private writable memory of one process. (Not of address space: node, Java and Go
        reserve far more of that than they use. Programs built with a sanitizer do need 0.)
    processes: how many may exist at once; where only all of the user's processes are counted, so many more
        than run now; those of root are counted by control groups, where we may make one
    file_size: bytes of one file written
    open_files: descriptors of one process
    cpu: seconds of processor time of one process
    """

    memory: int = 8 << 30
    processes: int = 4096
    file_size: int = 4 << 30
    open_files: int = 1 << 16
    cpu: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program to run.

    argv: program and arguments, never passed through a shell
    cwd: absolute folder in the workspace
    env: additions to the allow-listed environment
    stdin: bytes to feed, a descriptor of the caller's to read from, or None for an empty input
    timeout: seconds of wall time until the whole tree is killed
    stderr: "merge" interleaves it with stdout, "separate" keeps `Completed.stderr`
    scope: "workspace" may write inside the workspace, "read-only" may write nothing but its private /tmp
    readable: extra absolute paths to show read-only (a script of ours, an interpreter)
    writable: extra absolute folders of ours that may be written (a report folder, a byte-code cache)
    denied: files and folders that may not even be read
    descriptors: open descriptors of ours that it inherits under their numbers
    started: called with the leader's process id once it runs
    beside: leader of another command of this sandbox, whose network it shares where there are networks of their
        own; 0 for none
    resident: it lives beside other commands and our own work, so that what changed at guarded places meanwhile is
        not its doing alone: whoever talks to it audits them
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | int | None = None
    timeout: float = 120.0
    stderr: Literal["merge", "separate"] = "merge"
    scope: Literal["workspace", "read-only"] = "workspace"
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    denied: tuple[Path, ...] = ()
    limits: Limits = Limits()
    descriptors: tuple[int, ...] = ()
    started: Callable[[int], None] | None = None
    beside: int = 0
    resident: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Bounded head and tail of a stream.

    total: bytes the command wrote in all
    spill: file that holds the whole stream, when head and tail do not (moved or deleted by the caller)
    note: why the spill is missing or not whole, as a clause; "" when it is whole or not needed
    """

    head: bytes
    tail: bytes
    total: int
    spill: Path | None = None
    note: str = ""

    @property
    def omitted_bytes(self) -> int:
        """Bytes that stand neither in head nor in tail."""
        return self.total - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Everything kept, decoded; a line says how much is missing between head and tail."""
        if not self.omitted_bytes:
            return (self.head + self.tail).decode("utf-8", "replace")
        middle = f"\n[… {self.omitted_bytes} bytes cut …]\n"
        return self.head.decode("utf-8", "replace") + middle + self.tail.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What came of a command.

    returncode: exit status; negative is the number of the signal that ended it
    ended: "exited" by itself, "timeout" and "interrupted" were killed with their whole tree
    duration: seconds of wall time
    noticed: what happened to guarded places meanwhile, one sentence each (see audit.py)
    """

    argv: tuple[str, ...]
    returncode: int
    ended: Literal["exited", "timeout", "interrupted"]
    duration: float
    stdout: Capture
    stderr: Capture
    noticed: tuple[str, ...] = ()


class Sandbox(Protocol):
    """Something that can run commands within bounds.

    name: "bubblewrap", "landlock", "seatbelt", "container" or "unconfined"
    warning: one line for the user when confinement is weaker than promised, else ""
    """

    name: str
    warning: str

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """Run to the end of the *leader* process, then kill what is left of its tree.

        A background child that keeps the pipe open does not delay the answer. Cancelling the
        task kills the tree. Raises UserError if the program cannot be found or started.
        """
        ...
