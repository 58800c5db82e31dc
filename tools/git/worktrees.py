"""Temporary worktrees: a commit checked out in a separate folder, changed there, and returned as one patch.

Objects are shared, so that a worktree costs only its files. git runs the repository's filters (git LFS, say) at
checkout: create them only if the user allows that, as in a hook that they installed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_dataclass import dataclass
from tools.git.git_process import Git, GitFailed

LINKED = (".venv", "venv", "node_modules")
"""Folders that commands need and git does not track: linked, if git ignores them, instead of rebuilt."""

SNAPSHOT_EMAIL = "patchwright@localhost"
"""Committer of the commits that hold the uncommitted files of a user; no reference has them."""

_PREFIX = "patchwright-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A temporary worktree. folder: its path; base: the commit that it was created from; git: commands in it

    git gets the repository's path explicitly: commands may create another `.git` in the folder, whose configuration
    (filters, say) must not run.
    """

    folder: Path
    base: str
    git: Git

    @property
    def head(self) -> str:
        """The commit that is checked out now."""
        return self.git.run_text("rev-parse", "HEAD")

    def build_patch(self) -> bytes:
        """Build a patch for `git apply --3way` of all changes since `base`, committed or not, with new files."""
        stage_all(self.git)
        linked = self._list_linked()
        if linked:
            self.git.run("rm", "--cached", "--quiet", "--ignore-unmatch", "--", *linked)
        options = ("--cached", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
        return self.git.run("diff", *options, self.base)

    def list_ignored(self) -> list[str]:
        """Return ignored files that were made here, which the patch leaves out; a folder of them ends with "/"."""
        options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory")
        found = os.fsdecode(self.git.run("ls-files", *options)).split("\0")[:-1]
        return [path for path in found if path.rstrip("/") not in self._list_linked()]

    def list_files(self) -> list[str]:
        """Return the files that git tracks here, and new ones that it does not ignore."""
        options = ("-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        found = os.fsdecode(self.git.run("ls-files", *options)).split("\0")[:-1]
        return [path for path in found if path not in self._list_linked()]

    def _list_linked(self) -> list[str]:
        return [name for name in LINKED if (self.folder / name).is_symlink()]


@contextmanager
def temporary_worktree(git: Git, commit: str, folder: Path) -> Iterator[Worktree]:
    """Create a worktree of `commit` in a new folder below `folder`, on no branch; it is always removed afterwards.

    Leftovers of killed processes are removed first. Raises GitFailed.
    """
    create_private_folder(folder)
    own, lock = _create_locked_folder(folder)
    place = own / git.root.name
    git = git.allow(own)
    try:
        _forget_removed(git, folder)
        git.run("worktree", "add", "--detach", "--quiet", str(place), commit)
        _link_dependencies(git.root, place)
        base = git.run_text("rev-parse", f"{commit}^{{commit}}")
        yield Worktree(folder=place, base=base, git=_open_git_inside(git, place))
    finally:
        for name in LINKED:  # removed as links, never through them
            if (place / name).is_symlink():
                (place / name).unlink()
        shutil.rmtree(own, ignore_errors=True)
        os.close(lock)
        _forget_worktree(git, place)


def remove_leftovers(git: Git, folder: Path) -> list[Path]:
    """Remove the worktrees below `folder` whose processes were killed; return their paths. Raises GitFailed."""
    before = list_worktrees(folder)
    if not before:
        return []
    with _hold_gate(folder):
        _remove_unlocked(folder)
    _forget_removed(git, folder)
    return [each / git.root.name for each in before if not each.exists()]


def _forget_removed(git: Git, folder: Path) -> None:
    """Make git forget the worktrees below `folder` that are gone. Not by `git worktree prune`: it would forget those
    of the user on a disk that is not mounted now, with their index and HEAD."""
    below = f"{os.path.realpath(folder)}/{_PREFIX}"
    for line in os.fsdecode(git.run("worktree", "list", "--porcelain")).splitlines():
        path = line.removeprefix("worktree ")
        if path != line and path.startswith(below) and not Path(path).exists():
            _forget_worktree(git, Path(path))


def _forget_worktree(git: Git, place: Path) -> None:
    git.run("worktree", "remove", "--force", "--force", str(place), ok=range(256))


def list_worktrees(folder: Path) -> list[Path]:
    """Return the folders of temporary worktrees, those in use included."""
    return list(folder.glob(f"{_PREFIX}*"))


def commit_work_tree(git: Git) -> str:
    """Commit the work tree with new files, without ignored ones; neither the index nor any reference changes.
    Returns the commit id. Raises GitFailed if there is no commit yet."""
    head = git.run_text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128))
    if not head:
        raise GitFailed("there is no commit yet to begin with")
    index = Path(git.run_text("rev-parse", "--absolute-git-dir"), "index")
    with tempfile.TemporaryDirectory(prefix="patchwright-index-") as scratch:
        own = Path(scratch, "index")
        if index.exists():
            shutil.copy2(index, own)  # with its time: git compares files as young as it by content
        places = {"GIT_INDEX_FILE": str(own)}
        inside = Git(git.root, alone=True, extra={**git.extra, **places}, own_filters=True)
        _unmark_present_files(inside)
        stage_all(inside)
        tree = inside.run_text("write-tree")
    if tree == git.run_text("rev-parse", f"{head}^{{tree}}"):
        return head
    return _commit_tree(git, head, tree)


def stage_all(git: Git) -> None:
    """Stage the whole work tree without ignored files, in the index that `git` has; also what is new beside a sparse
    checkout, which git refuses by default. Raises GitFailed."""
    is_sparse = git.read_setting("core.sparseCheckout", "bool") == "true"
    git.run("add", "--all", *(("--sparse",) if is_sparse else ()), "--", ".")


def _unmark_present_files(git: Git) -> None:
    """Take the user's marks (skip-worktree, assume-unchanged) off the files that are there, in the index that `git`
    has: an attempt begins with the files as they are."""
    fields = git.run("ls-files", "-v", "-z").split(b"\0")
    marked = [field[2:] for field in fields if field[:1] in (b"S", b"s", b"h")]
    present = b"".join(path + b"\0" for path in marked if os.path.lexists(Path(git.root, os.fsdecode(path))))
    for option in ("--no-skip-worktree", "--no-assume-unchanged") if present else ():
        git.run("update-index", option, "-z", "--stdin", stdin=present)


def commit_patch(git: Git, base: str, patch: bytes) -> str:
    """Commit `base` with a patch applied; neither the work tree, the index nor any reference changes.
    Returns the commit id. Raises GitFailed if the patch does not fit."""
    with tempfile.TemporaryDirectory(prefix="patchwright-index-") as scratch:
        inside = Git(git.root, alone=True, extra={**git.extra, "GIT_INDEX_FILE": str(Path(scratch, "index"))})
        inside.run("read-tree", base)
        if patch:
            inside.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
        tree = inside.run_text("write-tree")
    return _commit_tree(git, base, tree)


def commit_entries(git: Git, commit: str, source: str, paths: Iterable[str]) -> str:
    """Commit the tree of `commit` with some paths as the commit `source` has them, or without those it has not.

    Neither the work tree, the index nor any reference changes. Returns the commit id.
    """
    with tempfile.TemporaryDirectory(prefix="patchwright-index-") as scratch:
        inside = Git(git.root, alone=True, extra={**git.extra, "GIT_INDEX_FILE": str(Path(scratch, "index"))})
        inside.run("read-tree", commit)
        for path in paths:
            entries = inside.run("--literal-pathspecs", "ls-tree", "-r", "-z", source, "--", path)
            for entry in filter(None, entries.split(b"\0")):
                head, _, name = entry.partition(b"\t")
                mode, _, blob = head.decode().split(" ")
                information = f"{mode},{blob},{os.fsdecode(name)}"
                inside.run("update-index", "--add", "--replace", "--cacheinfo", information)
            if not entries:
                inside.run("update-index", "--force-remove", "--", path)
        tree = inside.run_text("write-tree")
    return _commit_tree(git, commit, tree)


def _commit_tree(git: Git, parent: str, tree: str) -> str:
    maker = ("-c", "user.name=Patchwright", "-c", f"user.email={SNAPSHOT_EMAIL}")
    return git.run_text(
        *maker, "commit-tree", "--no-gpg-sign", "-p", parent, "-m", "What an attempt begins with", tree
    )


def apply_patch(git: Git, patch: bytes) -> None:
    """Apply a patch to the user's work tree, not to the index, completely or not at all. Raises GitFailed."""
    if patch:
        git.run("apply", "--whitespace=nowarn", "-", stdin=patch)


def is_applied(git: Git, patch: bytes) -> bool:
    """Whether the user's work tree already has all changes of a patch."""
    try:
        git.run("apply", "--check", "--reverse", "-", stdin=patch)
    except GitFailed:
        return False
    return True


def _open_git_inside(git: Git, place: Path) -> Git:
    """Open git in a new worktree, with the same definitions disabled as in `git`."""
    own = Git(place, alone=True).run_text("rev-parse", "--absolute-git-dir")
    places = {"GIT_DIR": own, "GIT_WORK_TREE": str(place)}
    return Git(place, alone=True, extra={**git.extra, **places}, own_filters=True)


def _create_locked_folder(folder: Path) -> tuple[Path, int]:
    """Create a folder, locked by a descriptor that a kill closes; unlocked folders are removed."""
    with _hold_gate(folder):
        _remove_unlocked(folder)
        own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        held = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return own, held


@contextmanager
def _hold_gate(folder: Path) -> Iterator[None]:
    """Keep other processes from making or removing worktrees there."""
    gate = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(gate, fcntl.LOCK_EX)
        yield
    finally:
        os.close(gate)


def _remove_unlocked(folder: Path) -> None:
    for left in folder.glob(f"{_PREFIX}*"):
        if (lock := _lock_folder(left)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def _lock_folder(folder: Path) -> int | None:
    """Return a descriptor that locks a folder; None if another process holds the lock, or that is unknown."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # already removed
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _link_dependencies(root: Path, place: Path) -> None:
    for name in LINKED:
        if (root / name).is_dir() and not os.path.lexists(place / name):
            (place / name).symlink_to(root / name, target_is_directory=True)
