"""post-merge: changes by a merge or a pull that the user has to act on. It never fails: the merge is done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from cli.hooks.contract import OK, get_hook_folder
from tools.git.git_process import Git

ADVICE = {
    "pyproject.toml": "Python dependencies",
    "requirements.txt": "Python dependencies",
    "uv.lock": "Python dependencies",
    "poetry.lock": "Python dependencies",
    "Pipfile.lock": "Python dependencies",
    "package-lock.json": "npm dependencies",
    "yarn.lock": "yarn dependencies",
    "pnpm-lock.yaml": "pnpm dependencies",
    "Cargo.lock": "Rust crates",
    "go.sum": "Go modules",
    "Gemfile.lock": "Ruby gems",
    "composer.lock": "PHP packages",
    ".gitmodules": "submodules (git submodule update --init)",
}
"""Files that list dependencies to install."""


def run_post_merge(arguments: Sequence[str]) -> int:
    """Print which of these files changed since before the merge (git's ORIG_HEAD)."""
    if "--prepare" in arguments:
        _begin_preparation()
    git = Git.from_folder(get_hook_folder())
    before = git.run_text("rev-parse", "--verify", "--quiet", "ORIG_HEAD", ok=(0, 1))
    if not before:
        return OK
    names = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, "HEAD").split(b"\0")
    paths = [PurePosixPath(name.decode("utf-8", "replace")) for name in names if name]
    told = {ADVICE[path.name]: path for path in paths if path.name in ADVICE}
    migrations = [path for path in paths if "migrations" in path.parts[:-1]]
    if migrations:
        told["database migrations"] = migrations[0]
    if told:
        from sandbox.sanitize import sanitize_text

        lines = [f"  {what}: {path}" for what, path in told.items()]
        print(sanitize_text("\n".join(["patchwright: the merge changed", *lines])), file=sys.stderr)
    return OK


def _begin_preparation() -> None:
    """Start `patchwright prepare` at a low rank; the merge does not wait for it."""
    import os
    import subprocess

    from cli.own_command import find_own_command

    # git tells a hook the folder by variables, which would be those of a process that outlives it
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    with suppress(OSError):
        subprocess.Popen(
            [*find_own_command(), "prepare", "--quiet", "-C", str(get_hook_folder())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=env, preexec_fn=lambda: os.nice(15),
        )  # fmt: skip
