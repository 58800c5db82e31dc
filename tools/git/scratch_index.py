"""Separate indexes: a copy of the user's, and one with all of a work tree staged; the user's is not changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Trusts
from tools.git.broker import Broker
from tools.git.git_process import Git
from tools.git.repository_programs import format_warning, list_filter_names
from tools.git.worktrees import stage_all


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchIndex:
    """git: with that index; warning: disabled definitions of the repository, in one line, "" if there are none"""

    git: Git
    warning: str


def stage_work_tree(git: Git, scratch: Path, trusts: Trusts) -> ScratchIndex:
    """Stage all of the work tree except ignored files in an index in `scratch`. Raises GitFailed.

    Filters of an untrusted repository do not run; their files keep the committed version, since without the filter
    secret content would be exposed (git-crypt).
    """
    index = Path(git.root, git.run_text("rev-parse", "--git-path", "index"))
    objects = Path(git.root, git.run_text("rev-parse", "--git-path", "objects"))
    _copy_file(index, scratch / "index")
    (scratch / "objects").mkdir()
    broker = Broker(git.root, trusts)
    untrusted = [each for each in broker.untrusted_definitions if each.kind == "setting"]
    places = {
        "GIT_INDEX_FILE": str(scratch / "index"),
        "GIT_OBJECT_DIRECTORY": str(scratch / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
    }
    extra = {**git.extra, **broker.replacement_environment, **places}
    its = Git(git.root, extra=extra, own_filters=True)
    stage_all(its)
    if names := list_filter_names(untrusted):
        _reset_filtered_files(its, names)
    return ScratchIndex(git=its, warning=format_warning(untrusted) if names else "")


def copy_index(broker: Broker, folder: Path) -> Path:
    """Copy the user's index to `folder`, to be changed freely."""
    index = folder / "index"
    _copy_file(broker.folder / "index", index)
    return index


def _copy_file(source: Path, index: Path) -> None:
    """Copy an index with its time: git compares files as young as the index by content."""
    content = read_regular_file(source, SOURCE)
    if content is None:  # nothing was ever added there
        return
    index.write_bytes(content)
    with suppress(FileNotFoundError):  # replaced this very moment, by a younger one
        info = source.stat()
        os.utime(index, ns=(info.st_atime_ns, info.st_mtime_ns))


def _reset_filtered_files(git: Git, filters: set[str]) -> None:
    """Reset the entries of files with one of these filters to the last commit."""
    paths = git.run("diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff")
    fields = git.run("check-attr", "-z", "--stdin", "filter", stdin=paths).split(b"\0")[:-1]
    held = [
        path for path, value in zip(fields[::3], fields[2::3], strict=True) if os.fsdecode(value) in filters
    ]
    if held:
        git.run(
            "reset",
            "--quiet",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
            stdin=_encode_literal_paths(held),
        )


def _encode_literal_paths(paths: Sequence[bytes]) -> bytes:
    return b"".join(b":(top,literal)" + path + b"\0" for path in paths)
