"""Interfaces to run a command: the request (`Command`), the result (`Completed`) and the runner (`Sandbox`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings for one command's process tree; 0 lifts one.

    memory: bytes of private writable memory of one process. (Not of address space: node, Java and Go
        reserve far more of that than they use. Programs built with a sanitizer do need 0.)
    total_memory: bytes of memory of the whole tree where we may make a control group; 0: four fifths of the machine's
    processes: how many may exist at once; where only all of the user's processes are counted, so many more
        than run now; a control group counts exactly
    file_size: bytes of one file written
    open_files: descriptors of one process
    cpu: seconds of processor time of one process
    """

    memory: int = 8 << 30
    total_memory: int = 0
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
    readable: extra absolute paths to show read-only (one of our scripts, an interpreter)
    writable: extra absolute folders of Patchwright's that may be written (a report folder, a byte-code cache)
    denied: files and folders that may not even be read, by any later command either, wherever they are moved to
    withheld: files and folders that this command alone may not read
    guarded: files and folders of the workspace that may not be changed
    descriptors: our open descriptors that it inherits under their numbers
    started: called with the leader's process id once it runs
    beside: leader of another command of this sandbox, whose network it shares where networks are separate;
        0 for none
    resident: it runs alongside other commands and our own work, so that changes at guarded paths meanwhile are
        not its alone: its client audits them; its client also records the output, as it arrives
    hosts: hosts that it may reach beside those of the sandbox; only bubblewrap opens them
    whole: bytes of each stream that are kept in memory, exactly, for a caller that reads data: no file is written
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
    withheld: tuple[Path, ...] = ()
    guarded: tuple[Path, ...] = ()
    limits: Limits = Limits()
    descriptors: tuple[int, ...] = ()
    started: Callable[[int], None] | None = None
    beside: int = 0
    resident: bool = False
    hosts: tuple[str, ...] = ()
    whole: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Bounded head and tail of a stream.

    total: bytes the command wrote in all
    spill: file with the whole stream, secrets redacted, when head and tail do not hold it (moved or deleted by the
        caller)
    note: why the spill is missing or incomplete, as a clause; "" when it is complete or not needed
    """

    head: bytes
    tail: bytes
    total: int
    spill: Path | None = None
    note: str = ""

    @property
    def omitted_bytes(self) -> int:
        """Bytes in neither head nor tail."""
        return self.total - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Return head and tail, decoded, with a line between them that gives the number of missing bytes."""
        if not self.omitted_bytes:
            return (self.head + self.tail).decode("utf-8", "replace")
        middle = f"\n[… {self.omitted_bytes} bytes cut …]\n"
        return self.head.decode("utf-8", "replace") + middle + self.tail.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """Result of a command.

    returncode: exit status; negative is the number of the signal that ended it
    ended: "exited" by itself, "timeout" and "interrupted" were killed with their whole tree
    duration: seconds of wall time
    noticed: changes at guarded paths meanwhile, one sentence each (see audit.py)
    """

    argv: tuple[str, ...]
    returncode: int
    ended: Literal["exited", "timeout", "interrupted"]
    duration: float
    stdout: Capture
    stderr: Capture
    noticed: tuple[str, ...] = ()


class Sandbox(Protocol):
    """Runner of commands within bounds.

    name: "bubblewrap", "landlock", "seatbelt", "container" or "unconfined"
    warning: one line for the user when confinement is weaker than promised, else ""
    """

    name: str
    warning: str

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """Run to the end of the *leader* process, then kill the rest of its tree.

        A background child that keeps the pipe open does not delay the result. Cancelling the
        task kills the tree. Raises UserError if the program cannot be found or started.
        """
        ...
