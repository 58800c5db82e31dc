"""Start ripgrep, confined to the workspace, and end it where a pipe or a device holds it up."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import IO

from sandbox.errors import Fault, UserError
from sandbox.helpers.blocking_entries import explain_blocking_entry
from sandbox.helpers.helper_confinement import Reach, start_confined
from sandbox.helpers.own_programs import drop_planted_libraries, require_own_program
from sandbox.process.spawn import wait_for_exit

BASE = ("--no-config", "--no-messages", "--hidden", "--no-require-git", "--glob=!.git", "--color=never")
"""Options of every call: user or repository configuration must not change the run, and .git is not searched."""

MAX_EVENT = 1 << 20
"""Bytes of one matching line as ripgrep reports it; longer ones are counted, but not parsed."""

MEMORY = 1 << 30
"""Bytes of memory: it searches in blocks, so a gigabyte is an endless line or an endless file of rules."""

PATIENCE = 1.0
"""Seconds until a look for what may hold it up."""

LISTING_SECONDS = 120.0
"""Time limit of a listing."""


class BlockedByEntry(UserError):
    """A pipe, a device or a huge file under a name that ripgrep reads keeps it from its work; it was stopped."""

    def __init__(self, found: str) -> None:
        super().__init__(
            Fault.CONFIGURATION, f"files cannot be listed here: {found}", "Remove it, then try again."
        )


def find_ripgrep(root: Path | None = None) -> str:
    """Return ripgrep from the PATH, else the installed one. Raises UserError if there is neither."""
    return require_own_program("rg", root)


def start_ripgrep(
    root: Path, arguments: Sequence[str], *, stdin: int = subprocess.DEVNULL, denied: Sequence[Path] = ()
) -> subprocess.Popen[bytes]:
    """Start ripgrep in a workspace, where it reads files of the workspace only and starts nothing.

    It also reads the user's git configuration of ignored files.
    denied: files and folders that it may not read
    """
    program = find_ripgrep(root)
    environment = drop_planted_libraries(os.environ, root)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [program, *arguments],
            cwd=root,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    reach = Reach(
        programs=(program,),
        readable=(os.path.realpath(root), *_list_ignore_files(root)),
        denied=tuple(map(str, denied)),
        memory=MEMORY,
    )
    return start_confined(reach, start)


def _list_ignore_files(root: Path) -> list[str]:
    """Return the files outside the workspace that ripgrep reads rules from, as git does."""
    from sandbox.fs.git_layout import read_git_layout
    from sandbox.fs.git_settings import list_named_files

    folder = os.environ.get("XDG_CONFIG_HOME") or f"{Path.home()}/.config"
    configs = [os.path.realpath(each) for each in (f"{Path.home()}/.gitconfig", f"{folder}/git/config")]
    found = [*configs, *(each for config in configs for each in list_named_files(config))]
    found.append(os.path.realpath(f"{folder}/git/ignore"))
    if layout := read_git_layout(root):
        found.append(f"{layout.shared}/info/exclude")
    # Rules of the folders around the workspace hold in it, too.
    around = root.resolve().parents
    return found + [str(place / name) for place in around for name in (".gitignore", ".ignore", ".rgignore")]


class ListingProcess:
    """A ripgrep that lists files of a workspace while other work is done."""

    def __init__(self, root: Path, arguments: Sequence[str]) -> None:
        self._root = root
        self._process = start_ripgrep(root, ("--files", *BASE, *arguments, "./"))

    def collect_output(self) -> bytes:
        """Return its whole output. Call exactly once: it ends the process. Raises BlockedByEntry."""
        try:
            said, problem = self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            if found := explain_blocking_entry(self._root):
                self._end()
                raise BlockedByEntry(found) from None
            try:
                said, problem = self._process.communicate(timeout=LISTING_SECONDS)
            except subprocess.TimeoutExpired:
                self._end()
                raise UserError(
                    Fault.CONFIGURATION, f"listing files took over {LISTING_SECONDS:g} seconds"
                ) from None
        if has_run_out(self._process.returncode, problem) and (found := explain_blocking_entry(self._root)):
            raise BlockedByEntry(found)
        return said

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()


def has_run_out(returncode: int, problem: bytes) -> bool:
    """Return whether ripgrep was ended by its limit of memory."""
    return returncode < 0 or b"memory allocation" in problem


class Ripgrep:
    """One run of ripgrep in a workspace.

    stdin: text to search in place of files
    denied: files and folders that it may not read
    """

    def __init__(
        self, root: Path, *arguments: str, stdin: bytes | None = None, denied: Sequence[Path] = ()
    ) -> None:
        self._root = root
        self._arguments = arguments
        self._stdin = stdin
        self._denied = denied
        self.problem = ""

    async def stream_lines(self) -> AsyncGenerator[bytes, None]:
        """Yield lines of output; overlong ones truncated. Kills the process when closed early.

        Raises BlockedByEntry.
        """
        with tempfile.TemporaryFile() as text:
            if self._stdin is not None:
                text.write(self._stdin)
                text.seek(0)
            stdin = subprocess.DEVNULL if self._stdin is None else text.fileno()
            process = start_ripgrep(self._root, self._arguments, stdin=stdin, denied=self._denied)
        watch = asyncio.create_task(self._watch(process))
        pipes: list[asyncio.BaseTransport] = []
        try:
            output = await _open_stream(process.stdout, pipes)
            errors = await _open_stream(process.stderr, pipes)
            async for line in _split_lines(output):
                yield line
            problem = await errors.read()
            await wait_for_exit(process.pid, process.wait)
            process.wait()
            self.problem = problem.decode("utf-8", "replace").strip()
            if not watch.done() and has_run_out(process.returncode, problem):
                await watch  # looks at once, after its second
            if watch.done() and not watch.cancelled() and (found := watch.result()):
                raise BlockedByEntry(found)
        finally:
            watch.cancel()
            if process.poll() is None:
                process.kill()
                await wait_for_exit(process.pid, process.wait)
                process.wait()
            for pipe in pipes:
                pipe.close()
            for end in (process.stdout, process.stderr)[
                len(pipes) :
            ]:  # an interrupt came before they were opened
                if end is not None:
                    end.close()

    async def _watch(self, process: subprocess.Popen[bytes]) -> str:
        """Look after a second what may hold the process up; end it, and return what was found."""
        await asyncio.sleep(PATIENCE)
        found = await asyncio.to_thread(explain_blocking_entry, self._root)
        if found and process.poll() is None:
            process.kill()
        return found


async def _open_stream(pipe: IO[bytes] | None, opened: list[asyncio.BaseTransport]) -> asyncio.StreamReader:
    """Return a reader of a pipe; what is to be closed is added to `opened`."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    opened.append(transport)
    return reader


async def _split_lines(stream: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    held = b""
    overlong = False
    while chunk := await stream.read(1 << 16):
        *whole, last = chunk.split(b"\n")
        for piece in whole:
            yield held + piece if not overlong else held
            held, overlong = b"", False
        if not overlong:
            held += last
            overlong = len(held) > MAX_EVENT
    if held:
        yield held
