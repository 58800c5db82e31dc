"""Content of the next commit: files of the index that differ from the last commit, read from git's objects.

Never from the work tree: the staged version is committed, even if the file on disk has been edited since.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from tools.git.diff_hunks import Hunk, parse_file_hunks
from tools.git.git_process import Git, GitFailed

LARGEST = 2_000_000
"""Bytes. The contents of larger files are not read: they are data, or generated."""

EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The id of a tree without files, by the number of its digits (SHA-1, SHA-256)."""


@dataclass(slots=True, kw_only=True)
class File:
    """One file of a change.

    status: git's letter: A, M, D or T; mode: of the new version, as git writes it
    old, new: blob ids, "" for none; size: of the new version in bytes
    hunks: its changed lines, none for a binary file
    """

    path: str
    status: str
    mode: str
    old: str
    new: str
    size: int = 0
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def is_regular(self) -> bool:
        """A regular file that is not deleted."""
        return bool(self.new) and self.mode.startswith("100")

    def iterate_added_lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, text) of each added line."""
        for hunk in self.hunks:
            yield from enumerate(hunk.added, hunk.line)

    def iterate_removed_lines(self) -> Iterator[str]:
        """Yield each removed line."""
        for hunk in self.hunks:
            yield from hunk.removed


@dataclass(slots=True)
class Change:
    """The files of a change, with access to their contents."""

    git: Git
    files: list[File]
    _contents: dict[str, bytes] | None = None

    @classmethod
    def from_contents(cls, git: Git, sides: Mapping[str, tuple[bytes | None, bytes | None]]) -> Change:
        """Build a change that is not in git from (content before, content after) of each path; None: no file."""
        files, contents = [], {}
        for path, (before, after) in sorted(sides.items()):
            names = []
            for side, content in (("old", before), ("new", after)):
                names.append("" if content is None else f"{side}:{path}")
                contents[names[-1]] = b"" if content is None or len(content) > LARGEST else content
            status = "A" if before is None else "D" if after is None else "M"
            size = len(after or b"")
            files.append(File(path=path, status=status, mode="100644", old=names[0], new=names[1], size=size))
        return cls(git, files, contents)

    @property
    def regular_files(self) -> list[File]:
        """Regular files that the change adds or edits, up to LARGEST bytes."""
        return [each for each in self.files if each.is_regular and each.size <= LARGEST]

    def read_text(self, blob: str) -> str:
        """Return a blob as text; "" for none, and for one that is binary or too large."""
        content = (self._contents or {}).get(blob, b"") if blob else b""
        return "" if b"\0" in content else content.decode("utf-8", "replace")

    def load_contents(self) -> None:
        """Read all contents in one git process, once."""
        if self._contents is not None:
            return
        wanted = {blob for each in self.regular_files for blob in (each.old, each.new) if blob}
        wanted |= {each.old for each in self.files if not each.new and each.old}
        sizes = self.git.read_blob_sizes(sorted(wanted))
        self._contents = self.git.read_blobs(sorted(each for each, size in sizes.items() if size <= LARGEST))


def read_staged_change(git: Git, base: str = "HEAD") -> Change:
    """Return the staged changes against `base`; in a merge, only those against both parents. Raises GitFailed."""
    base = base if _is_revision(git, base) else find_empty_tree(git)
    change = _read_change(git, "--cached", base)
    other = git.run_text("rev-parse", "--verify", "--quiet", "MERGE_HEAD", ok=(0, 1))
    if other:
        names = git.run("diff-index", "--cached", "--name-only", "-z", "--no-renames", other)
        both = {os.fsdecode(name) for name in names.split(b"\0") if name}
        change.files = [each for each in change.files if each.path in both]
    return change


def read_committed_change(git: Git, old: str, new: str) -> Change:
    """Return the changes between two commits; if `old` is "", all of `new`. Raises GitFailed."""
    return _read_change(git, old or find_empty_tree(git), new)


def find_empty_tree(git: Git) -> str:
    """Return the id of the empty tree in this repository's hash."""
    return EMPTY_TREES[64 if git.read_setting("extensions.objectFormat") == "sha256" else 40]


def _is_revision(git: Git, name: str) -> bool:
    return bool(git.run_text("rev-parse", "--verify", "--quiet", name, ok=(0, 1, 128)))


def _read_change(git: Git, *sides: str) -> Change:
    command = "diff-index" if sides[0] == "--cached" else "diff-tree"
    options = (
        *(
            "--raw",
            "--patch",
            "--unified=0",
            "--inter-hunk-context=0",
            "-z",
            "-r",
            "--no-renames",
            "--no-abbrev",
        ),
        *("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"),
    )
    output = git.run(command, *options, *sides, "--")
    files, patch = _parse_raw_diff(output)
    shown = parse_file_hunks(patch.lstrip(b"\0").decode("utf-8", "replace"))
    for each in files:
        each.hunks = next(shown, [])
        if each.status == "T":  # in the patch, a removed and an added file
            each.hunks += next(shown, [])
    if next(shown, None) is not None:
        raise GitFailed(f"git told of {len(files)} files and showed more")
    sizes = git.read_blob_sizes(sorted({each.new for each in files if each.is_regular}))
    for each in files:
        each.size = sizes.get(each.new, 0)
    return Change(git, files)


def _parse_raw_diff(output: bytes) -> tuple[list[File], bytes]:
    """Parse the entries (`:100644 100644 old new M`, NUL, path, NUL); return them and the patch that follows."""
    files: list[File] = []
    at = 0
    while output[at : at + 1] == b":":
        end = output.index(b"\0", at)
        stop = output.index(b"\0", end + 1)
        _, mode, old, new, status = output[at + 1 : end].decode().split(" ")
        path = os.fsdecode(output[end + 1 : stop])
        if status != "U":  # an unresolved conflict has no version to commit
            files.append(
                File(
                    path=path, status=status[:1], mode=mode, old=_parse_blob_id(old), new=_parse_blob_id(new)
                )
            )
        at = stop + 1
    return files, output[at:]


def _parse_blob_id(name: str) -> str:
    return name if name.strip("0") else ""
