"""Real repositories for tests: files, git commands, and the workspace that a session would have in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from sandbox.backends.unconfined import Unconfined
from sandbox.fs.workspace_tree import Tree
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace


class Repo:
    """A folder with a git repository in it."""

    def __init__(self, root: Path, *, init: bool = True) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if init:
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run git and return what it printed, byte for byte."""
        settings = ("gc.auto=0", "user.name=Test User", "user.email=user@example.org")
        command = ("git", *(part for setting in settings for part in ("-c", setting)), *arguments)
        done = subprocess.run(command, cwd=self.root, capture_output=True, check=False)
        assert not check or done.returncode == 0, done.stderr.decode()
        return os.fsdecode(done.stdout)

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def commit_all(self, message: str = "state") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def show(self, path: str, commit: str = "HEAD") -> str:
        """A file as a commit has it."""
        return self.git("show", f"{commit}:{path}")

    def committed(self, commit: str = "HEAD") -> list[str]:
        """Paths that a commit changed."""
        options = ("-r", "-z", "--root", "--no-commit-id", "--name-only", "--no-renames")
        return self.git("diff-tree", *options, commit).split("\0")[:-1]

    def index(self) -> dict[str, str]:
        """Mode, blob and stage of every index entry."""
        lines = self.git("ls-files", "-s", "-z").split("\0")[:-1]
        return {line.partition("\t")[2]: line.partition("\t")[0] for line in lines}

    def hook(self, name: str, script: str, folder: str = ".git/hooks") -> Path:
        file = self.write(f"{folder}/{name}", f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    def workspace(self, folder: str = "", model: str = "scripted:turns.yaml") -> Workspace:
        """What the tools of a session would see, in a repository that the user trusts."""
        place = self.root.parent / f"{self.root.name}-session"
        return Workspace(
            root=self.root / folder,
            files=Tree(self.root / folder),
            sandbox=Unconfined(self.root, spill=place / "spill"),
            artifacts=Artifacts(place / "artifacts"),
            journal=place / "journal",
            folders=ToolFolders(cache=place / "cache"),
            trusts=lambda definitions: True,
            facts={"model": model},
        )


def remember_original(at: Workspace, path: str) -> None:
    """Record a file's content as a tool does before it first changes the file."""
    if path not in at.changes:
        there = at.files.is_file(path)
        at.changes.remember_content(at.root, path, at.files.read(path) if there else None)
        if there:
            at.changes.original_modes[path] = (
                (at.root / path).stat().st_mode
            )  # of the target, if it is a link


def agent_writes(at: Workspace, path: str, content: str | bytes) -> None:
    """What an editing tool does."""
    remember_original(at, path)
    at.files.write(path, content if isinstance(content, bytes) else content.encode())


def agent_removes(at: Workspace, path: str) -> None:
    remember_original(at, path)
    at.files.remove(path)
