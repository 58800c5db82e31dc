"""Lines of ours in hook files of the work tree, which others get: shell scripts, and lefthook's local configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cli.hooks.contract import NAMES
from cli.hooks.hook_script import build_lefthook_lines, build_shell_lines, remove_lines
from cli.hooks.managers import find_husky_folder
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_start
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

LEFTHOOK_LOCAL = "lefthook-local.yml"
"""Configuration of one clone, which lefthook merges with that of the project."""

_HEAD = "#!/bin/sh\n"
_SHELL = compile_lazily(r"#!.*\b(ba|da|k|z)?sh\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """File of the work tree that can hold lines of ours for one hook."""

    root: Path
    path: Path
    name: str
    is_lefthook: bool = False
    needs_shebang: bool = False
    """Whether git starts the file itself; husky hands it to a shell."""

    @property
    def relative(self) -> str:
        """Path of the file relative to the work tree."""
        return str(self.path.relative_to(self.root))

    def read(self) -> str | None:
        """Return the text, byte for byte; None if there is no file. Raises UserError if it may not be read."""
        content = read_workspace_file(self.root, self.relative, SETTINGS)
        return None if content is None else content.decode("utf-8", "surrogateescape")

    @property
    def is_ours(self) -> bool:
        """Whether the file holds lines of ours."""
        with suppress(UserError):  # a file that may not be read has none of ours
            return remove_lines(self.read() or "", self.name) is not None
        return False

    def is_called(self, hooks: Path) -> bool:
        """Return whether git's folder of hooks leads to the file: by itself, by husky's launchers, or by lefthook's."""
        if self.is_lefthook:
            return b"call_lefthook" in (read_start(hooks / self.name, SETTINGS) or b"")
        return self.path.parent in (hooks.resolve(), hooks.resolve().parent)

    @property
    def uncalled(self) -> str:
        """Text for a file to which git's folder of hooks does not lead."""
        return f"called once `{'lefthook install' if self.is_lefthook else 'npx husky'}` has installed its own hook"

    def can_hold_lines(self) -> bool:
        """Return whether lines can be added: a shell script that is started, or a local configuration of ours alone."""
        if self.path.is_symlink() or self.path.is_dir():
            return False
        text = self.read()
        if text is None:
            return not self.is_lefthook or not any(self.root.glob("*lefthook-local.*"))
        if self.is_lefthook:
            return not _remove_all(text).strip()
        return not self.needs_shebang or bool(_SHELL.match(text) and self.path.stat().st_mode & 0o111)

    def add_lines(self, options: Sequence[str], missing: str) -> None:
        """Write the lines, in place of earlier ones; after the first line of a script, and before all that it does."""
        text = self.read()
        removed = remove_lines(text or "", self.name)
        kept, added = removed or (text or "", text is None)
        if self.is_lefthook:
            self._write(kept + build_lefthook_lines(self.name, options, missing))
            return
        lines = build_shell_lines(self.name, options, missing, added=added)
        first = re.match(r"#!.*\n", kept)
        head = first[0] if first else _HEAD if text is None else ""
        self._write(head + lines + kept[first.end() if first else 0 :])

    def remove_lines(self) -> None:
        """Remove the lines, and the file if nothing else is left of what was added."""
        kept, added = remove_lines(self.read() or "", self.name) or ("", False)
        if (added and kept == _HEAD) or (self.is_lefthook and not kept):
            self.path.unlink()
        else:
            self._write(kept)

    def _write(self, text: str) -> None:
        mode = (
            self.path.stat().st_mode & 0o777 if self.path.exists() else (0o644 if self.is_lefthook else 0o755)
        )
        new = self.path.with_name(f".{self.path.name}.patchwright")
        new.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(text.encode("utf-8", "surrogateescape"))
            new.chmod(mode)
            new.replace(self.path)
        finally:
            with suppress(OSError):  # already moved, or never created
                new.unlink()


def build_lefthook_file(root: Path, name: str) -> SharedFile:
    """Return lefthook's local configuration."""
    return SharedFile(root=root, path=root / LEFTHOOK_LOCAL, name=name, is_lefthook=True)


def build_script_file(root: Path, folder: Path, name: str, *, is_husky: bool) -> SharedFile | None:
    """Return the script of a folder in the work tree, None if the folder is elsewhere."""
    root, folder = root.resolve(), folder.resolve()
    if not folder.is_relative_to(root):
        return None
    return SharedFile(root=root, path=folder / name, name=name, needs_shebang=not is_husky)


def list_shared_files(root: Path, folder: Path, name: str) -> Iterator[SharedFile]:
    """Yield each file of ours for a hook, whichever manager is in use now. folder: git's folder of hooks."""
    husky = find_husky_folder(root, folder)
    folders = {folder: False, **({husky: True} if husky else {})}
    for each, is_husky in folders.items():
        script = build_script_file(root, each, name, is_husky=is_husky)
        if script is not None and script.is_ours:
            yield script
    lefthook = build_lefthook_file(root, name)
    if lefthook.is_ours:
        yield lefthook


def _remove_all(text: str) -> str:
    """Return the text without the lines of any hook."""
    for name in NAMES:
        removed = remove_lines(text, name)
        text = removed[0] if removed else text
    return text
