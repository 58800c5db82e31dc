"""Base files of a task as a git repository with one commit: made once for a task, copied for each trial."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from packages.evaluation.tasks.folder_files import list_folder_files, write_files
from packages.evaluation.tasks.task_folder import Task
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.repository import find_git_folders
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitRunner, strip_git_variables
from sandbox.lazy_pattern import compile_lazily

_NO_VARIABLE = compile_lazily("")

_DATE = "2001-01-01T00:00:00Z"
"""Of the base's commit: the same files have the same commit id in every trial."""

_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = false
\ttrustctime = false
\tcheckStat = minimal
\tautocrlf = false
[user]
\tname = Task
\temail = task@localhost
[commit]
\tgpgsign = false
"""
"""A copy keeps sizes and times of its files, so that git need not read them all again."""

ENVIRONMENT = {
    **NO_USER_SETTINGS,
    "LC_ALL": "C.UTF-8",
    "GIT_AUTHOR_DATE": _DATE,
    "GIT_COMMITTER_DATE": _DATE,
}


def prepare_base(task: Task, scratch: Path) -> Path:
    """Return the folder of a task's base repository; made if it is not there. Blocking. Raises UserError."""
    ready = scratch / "bases" / task.digest
    if ready.is_dir():
        return ready
    create_private_folder(ready.parent)
    making = Path(tempfile.mkdtemp(prefix=f".{task.digest[:12]}-", dir=ready.parent))
    try:
        make_git_folder(making / ".git")
        if task.file.base.folder:
            write_files(list_folder_files(task.base_folder), making)
        else:
            _check_out(task, making)
        _commit(task, making)
        with suppress(OSError):  # another worker was faster
            making.rename(ready)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return ready


def make_git_folder(folder: Path) -> None:
    """Make an empty git folder, without a process."""
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(_CONFIG)


def run_git(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    extra: dict[str, str] | None = None,
    scratch: tuple[Path, ...] = (),
) -> bytes:
    """Run git in a folder of ours, without the user's settings. Raises UserError. scratch: other files it may use"""
    environment = {**strip_git_variables(_NO_VARIABLE), **ENVIRONMENT}
    done = GitRunner(folder, environment, workspace=folder).run(
        *arguments, stdin=stdin, extra=extra or {}, scratch=scratch
    )
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UserError(Fault.CONFIGURATION, f"git {arguments[0]}: {words[0]}")
    return done.stdout


def _check_out(task: Task, making: Path) -> None:
    """Write the files of a commit; its history, and what follows it, stay behind."""
    base = task.file.base
    assert base.commit is not None
    with tempfile.TemporaryDirectory(dir=making.parent, prefix=".bundle-") as name:
        objects = _unpack_bundle(task, Path(name)) if base.bundle else _find_objects(task)
        borrowed = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects)}
        try:
            run_git(making, "read-tree", base.commit, extra=borrowed)
            run_git(making, "checkout-index", "--all", "--force", "--quiet", extra=borrowed)
        except UserError as error:
            raise UserError(
                Fault.CONFIGURATION, f"{task.folder / 'task.toml'}: base.commit: {error.message}"
            ) from None
    (making / ".git" / "index").unlink()


def _unpack_bundle(task: Task, folder: Path) -> Path:
    make_git_folder(folder / ".git")
    place = (task.folder / task.file.base.bundle).resolve()
    try:
        run_git(folder, "bundle", "unbundle", str(place), scratch=(place,))
    except UserError as error:
        raise UserError(
            Fault.CONFIGURATION, f"{task.folder / 'task.toml'}: base.bundle: {error.message}"
        ) from None
    return folder / ".git" / "objects"


def _find_objects(task: Task) -> Path:
    named = find_repository(task)
    found = find_git_folders(named) if named.is_dir() else None
    folder = found[1] if found is not None else named
    if not (folder / "objects").is_dir():
        raise UserError(
            Fault.CONFIGURATION,
            f"{task.folder / 'task.toml'}: base.repository: no git repository in {str(named)!r}",
        )
    return folder.resolve() / "objects"


def find_repository(task: Task) -> Path:
    """Return the folder that `base.repository` names."""
    return (task.folder / task.file.base.repository).resolve()


def _commit(task: Task, making: Path) -> None:
    if task.file.base.patch:
        content = read_workspace_file(task.folder, task.file.base.patch, SOURCE) or b""
        try:
            run_git(making, "apply", "--whitespace=nowarn", "-", stdin=content)
        except UserError as error:
            raise UserError(
                Fault.CONFIGURATION, f"{task.folder / 'task.toml'}: base.patch: {error.message}"
            ) from None
    run_git(making, "add", "--all", "--force", "--", ".")
    run_git(making, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", "Base")
    # Each trial copies one pack in place of a file for each object; there is nothing to compress against.
    run_git(making, "repack", "-a", "-d", "-q", "--window=0")
