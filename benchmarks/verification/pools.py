"""Public pools of candidates, read from bare clones; nothing of them is kept here.

MIRRORS is a folder with one bare git folder a repository, OWNER+NAME/repo. Only the development half is read: tasks for
which the hash of the name is even.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PRELUDE = (
    "from typing import *\nimport math, re, sys, copy, datetime, itertools, collections, heapq, statistics, functools\n"
    "import hashlib, string, random\n"
)
"""Imports that programs of models take for granted."""


def is_development(task: str) -> bool:
    """Return whether a task is in the development half."""
    return int(hashlib.sha1(task.encode(), usedforsecurity=False).hexdigest(), 16) % 2 == 0


def find_repository(mirrors: Path, name: str) -> Path:
    """Return the bare git folder of OWNER/NAME; ends the program if it is missing."""
    folder = mirrors / name.replace("/", "+") / "repo"
    if not folder.is_dir():
        sys.exit(f"missing: a bare clone of github.com/{name} at {folder}")
    return folder


def read_blob(repository: Path, path: str) -> bytes:
    """Return a file of the newest commit; ends the program if there is none."""
    command = ["git", "-C", str(repository), "show", f"HEAD:{path}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"missing: {path} in {repository}")
    return done.stdout


def read_blobs(repository: Path, paths: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of files of the newest commit, in one git process."""
    command = ["git", "-C", str(repository), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for path in paths:
            process.stdin.write(f"HEAD:{path}\n".encode())
            process.stdin.flush()
            size = int(process.stdout.readline().split()[2])
            yield process.stdout.read(size + 1)[:-1]
        process.stdin.close()


def list_files(repository: Path, *below: str) -> list[str]:
    """Return the paths of files of the newest commit."""
    command = ["git", "-C", str(repository), "ls-tree", "-r", "--name-only", "-z", "HEAD", *below]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode().strip("\0").split("\0")


def read_json_lines(data: bytes) -> list[Any]:
    """Return the objects of a file with one a line, unpacked if it is compressed."""
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def read_humaneval(mirrors: Path) -> dict[str, Any]:
    """Return the tasks of HumanEval by their id."""
    data = read_blob(find_repository(mirrors, "openai/human-eval"), "data/HumanEval.jsonl.gz")
    return {each["task_id"]: each for each in read_json_lines(data)}
