"""The project's own linters, on what is staged: their findings in new lines."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.checks.finding import Finding
from tools.checks.staged import Change, File
from tools.linters import MAX_CHARACTERS, Complaint, Linter, configured, program_of
from tools.plumbing import without_git

TIMEOUT = 20.0
"""Seconds for one file."""


def check(change: Change) -> Iterator[Finding]:
    """What the linter that a file's folder configures says of its new lines; nothing where none is found."""
    root = change.git.root
    jobs = []
    for file in change.plain:
        if file.path.endswith((".py", ".pyi")) and file.size <= MAX_CHARACTERS:
            linter = _linter(root, file.path)
            program = program_of(root, linter.program) if linter else None
            if linter and program:
                jobs.append((file, linter, program))
    if not jobs:
        return
    running: list[subprocess.Popen[bytes]] = []
    pool = ThreadPoolExecutor(max_workers=4)
    try:
        found = pool.map(lambda job: _run(change, job[0], job[1], job[2], running), jobs)
        for (file, _, _), complaints in zip(jobs, found, strict=True):
            new = {line for line, _ in file.added()}
            for each in complaints:
                if each.line in new:
                    message = f"{each.code} {each.message}"
                    yield Finding(check="linters", path=file.path, line=each.line, message=message)
    finally:  # also when the time for the whole hook is over: nothing that was started outlives it
        for process in running:
            process.kill()
        pool.shutdown(cancel_futures=True)


def _linter(root: Path, path: str) -> Linter | None:
    """That of the nearest folder that configures one, up to the root."""
    folder = (root / path).parent
    places = [folder, *folder.parents]
    inside = [each for each in places if each == root or root in each.parents]
    return next((linter for place in inside if (linter := configured(place)) is not None), None)


def _run(
    change: Change, file: File, linter: Linter, program: Path, running: list[subprocess.Popen[bytes]]
) -> list[Complaint]:
    arguments = [each.replace("{path}", file.path) for each in linter.arguments]
    try:
        process = subprocess.Popen(
            [str(program), *arguments],
            cwd=change.git.root,
            env=without_git(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # it cannot be started: the other checks stand
        return []
    with process:
        running.append(process)
        try:
            text = change.text(file.new).encode("utf-8", "surrogateescape")
            output, _ = process.communicate(text, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:  # it hangs
            process.kill()
            return []
    return linter.complaints(output.decode("utf-8", "replace"))
