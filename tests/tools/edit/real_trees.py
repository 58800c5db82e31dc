"""Two trees, between which real programs make diffs: changes, new and removed files, a move, no final newline."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cli.commands.offline.apply import apply_edits
from sandbox.errors import UserError

Tree = Mapping[str, str]

BEFORE: Tree = {
    "cart.py": "".join(f"line {number}\n" for number in range(1, 31)),
    "sub/deep/tax.py": "RATE = 1\nNAME = 'x'\n",
    "gone.txt": "bye\nbye\n",
    "sub/old name.txt": "".join(f"old {number}\n" for number in range(20)),
    "unended.txt": "a\nb\nlast",
    "häßlich.txt": "ä\nö\n",
    "run.sh": "#!/bin/sh\necho\n",
}
_KEPT = {name: text for name, text in BEFORE.items() if name != "gone.txt"}
AFTER: Tree = {
    **_KEPT,
    "cart.py": BEFORE["cart.py"].replace("line 3\n", "line three\n").replace("line 25\n", ""),
    "sub/deep/tax.py": "RATE = 2\nNAME = 'x'\n",
    "sub/new.txt": "new\nfile\n",
    "fresh.txt": "no end",
    "unended.txt": "a\nb\nLAST",
    "häßlich.txt": "ä\nü\n",
}
RENAMED: Tree = {
    **{name: text for name, text in AFTER.items() if name != "sub/old name.txt"},
    "sub/neuer name.txt": BEFORE["sub/old name.txt"].replace("old 7\n", "old sieben\n"),
}

_ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Zoë",
    "GIT_AUTHOR_EMAIL": "z@example.invalid",
    "GIT_COMMITTER_NAME": "Zoë",
    "GIT_COMMITTER_EMAIL": "z@example.invalid",
    "TZ": "America/Denver",
}


def write_tree(root: Path, tree: Tree) -> Path:
    """Write a tree in place of what is there, but for git's folder."""
    for path in sorted(root.rglob("*"), reverse=True) if root.exists() else ():
        if ".git" not in path.relative_to(root).parts:
            path.rmdir() if path.is_dir() else path.unlink()
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def read_tree(root: Path) -> Tree:
    return {
        str(path.relative_to(root)): path.read_text("utf-8")
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def run(*command: str, cwd: Path, allowed: int = 0) -> bytes:
    """The output of a program; `allowed`: the highest exit code."""
    done = subprocess.run(command, cwd=cwd, env=_ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode <= allowed, done.stderr
    return done.stdout


def commit_tree(root: Path, tree: Tree, message: str = "a change") -> Path:
    """Commit a tree in a repository, which is made if there is none."""
    if not (root / ".git").exists():
        root.mkdir(parents=True)
        run("git", "init", "-q", cwd=root)
    write_tree(root, tree)
    run("git", "add", "-A", cwd=root)
    run("git", "commit", "-qm", message, cwd=root)
    return root


def apply_diff(root: Path, diff: bytes, tree: Tree) -> tuple[Tree, str]:
    """The tree after `patchwright apply` of a diff to a tree, and the refusal ("": none)."""
    write_tree(root, tree)
    patch = root.parent / "a.diff"
    patch.write_bytes(diff)
    try:
        code = apply_edits(root, str(patch), form="auto", check=False, exact=False, as_json=False)
    except UserError as error:
        return read_tree(root), error.message
    return read_tree(root), f"exit {code}" if code else ""
