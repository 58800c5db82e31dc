"""Reading a task folder: `task.toml`, prompt, patches and checker files, with a digest of all that it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from packages.evaluation.tasks.folder_files import FolderFile, list_folder_files
from packages.evaluation.tasks.task_file import TaskFile
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS, SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_toml

TASK_FILE = "task.toml"
PROMPT_FILE = "prompt.md"
REFERENCE_FILE = "reference.patch"
FAILURES_FOLDER = "failures"
CHECK_FOLDER = "check"

BASE_PATCH_FILE = "base.patch"
"""Usual name of the file that `base.patch` names."""

_FORMAT = b"patchwright task 1\0"
"""Begins the digest: another format of tasks has other digests."""

Table = TypeVar("Table", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task.

    name: of its folder; folder: resolved; digest: SHA-256 of its content in hex, the commit's id for what is in git
    reference: patch that solves it, None without one; failures: patches that do not, by file name
    """

    name: str
    folder: Path
    file: TaskFile
    prompt: str
    digest: str
    reference: bytes | None = None
    failures: Mapping[str, bytes]

    def list_checker_files(self) -> list[FolderFile]:
        """Return the files that are laid over the worktree after the agent has ended. Raises UserError."""
        folder = self.folder / CHECK_FOLDER
        return list_folder_files(folder) if folder.is_dir() and not folder.is_symlink() else []

    @property
    def base_folder(self) -> Path:
        """Folder of the base files where `base.folder` names one."""
        return self.folder / self.file.base.folder


def load_task(folder: Path) -> Task:
    """Read a task folder. Raises UserError of one line, with the path and the field."""
    folder = folder.resolve()
    place = folder / TASK_FILE
    content = read_workspace_file(folder, TASK_FILE, SETTINGS)
    if content is None:
        raise UserError(Fault.CONFIGURATION, f"no task: {str(place)!r} does not exist")
    file = parse_table(TaskFile, content, place)
    if file.base.folder and not _is_plain_folder(folder, file.base.folder):
        raise UserError(Fault.CONFIGURATION, f"{place}: base.folder: there is no folder {file.base.folder!r}")
    if file.base.bundle and not (folder / file.base.bundle).is_file():
        raise UserError(Fault.CONFIGURATION, f"{place}: base.bundle: there is no file {file.base.bundle!r}")
    if file.base.patch and read_workspace_file(folder, file.base.patch, SOURCE) is None:
        raise UserError(Fault.CONFIGURATION, f"{place}: base.patch: there is no file {file.base.patch!r}")
    return Task(
        name=folder.name,
        folder=folder,
        file=file,
        prompt=_read_prompt(folder, file, place),
        digest=_compute_digest(folder, file),
        reference=read_workspace_file(folder, REFERENCE_FILE, SOURCE),
        failures=_read_failures(folder),
    )


def parse_table(kind: type[Table], content: bytes, place: Path) -> Table:
    """Return a TOML file as a model. Raises UserError: one line with the path, the field and the value."""
    from pydantic import ValidationError

    try:
        values = parse_toml(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except ValueError as error:
        raise UserError(Fault.CONFIGURATION, f"{place}: no TOML: {error}") from None
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        raise UserError(
            Fault.CONFIGURATION,
            f"{place}: {field}: unknown field",
            f"Fields: {', '.join(kind.model_fields)}; see docs/evaluation.md.",
        )
    got = "" if first["type"] in ("missing", "value_error") else f" (got {repr(first.get('input'))[:80]})"
    message = first["msg"].removeprefix("Value error, ")
    raise UserError(Fault.CONFIGURATION, f"{place}: {f'{field}: ' if field else ''}{message}{got}")


def _read_prompt(folder: Path, file: TaskFile, place: Path) -> str:
    content = read_workspace_file(folder, PROMPT_FILE, SETTINGS)
    if bool(file.prompt.strip()) is (content is not None):
        both = (
            "give only one of prompt and prompt.md" if content is not None else "no prompt, and no prompt.md"
        )
        raise UserError(Fault.CONFIGURATION, f"{place}: prompt: {both}")
    if content is None:
        return file.prompt.strip()
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UserError(
            Fault.CONFIGURATION, f"{folder / PROMPT_FILE}: no UTF-8 text: {error.reason}"
        ) from None
    if not text:
        raise UserError(Fault.CONFIGURATION, f"{folder / PROMPT_FILE}: the prompt is empty")
    return text


def _read_failures(folder: Path) -> Mapping[str, bytes]:
    if not _is_plain_folder(folder, FAILURES_FOLDER):
        return {}
    names = sorted(each.path for each in list_folder_files(folder / FAILURES_FOLDER))
    found: dict[str, bytes] = {}
    for name in names:
        if name.endswith(".patch"):
            content = read_workspace_file(folder, f"{FAILURES_FOLDER}/{name}", SOURCE)
            found[name] = content or b""
    return found


def _compute_digest(folder: Path, file: TaskFile) -> str:
    """Return the digest of all files; a bundle is left out: the commit's id says which files it holds."""
    digest = hashlib.sha256(_FORMAT)
    for each in list_folder_files(folder, skip=frozenset((file.base.bundle,))):
        content = each.read()
        digest.update(f"{each.kind} {len(content)} {each.path}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def _is_plain_folder(folder: Path, inner: str) -> bool:
    """Whether a path inside a folder is a folder, with no link on the way."""
    place = folder
    for part in inner.split("/"):
        place = place / part
        if place.is_symlink() or not place.is_dir():
            return False
    return True
