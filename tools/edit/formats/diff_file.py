"""One file of a unified diff: its names without prefixes, and the change that its headers and hunks describe."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import Create, Delete, FileChange, Hunk, Update
from tools.edit.formats.parse_errors import DIFF_EXAMPLE, build_malformed_edit, quote_line
from tools.edit.formats.parse_result import merge_updates
from tools.edit.formats.path_syntax import NO_FILE, strip_prefixes, unquote_git_path

MODES: dict[str, int | None] = {"100644": None, "100755": 0o755, "100664": None, "100600": 0o600}
"""Modes of new files; None: the default. Those missing are no plain files: links (120000), submodules
(160000).
"""

NEW_FILE_EXAMPLE = """\
--- /dev/null
+++ b/src/cart.py
@@ -0,0 +1,2 @@
+def total():
+    return 0"""

_EMPTY_BLOBS = ("e69de29", "473a0f4")
"""Beginnings of the object names of an empty file: SHA-1, SHA-256."""

_STAMP = compile_lazily(r"\t(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.0+)? ([+-]\d{4})\s*\Z")


@dataclass(slots=True, kw_only=True)
class DiffFile:
    """The parsed headers of one file, and its hunks.

    old, new: its names without prefixes, "" until they are known
    git_names: those of the line `diff --git`
    has_own_prefixes: that line had prefixes other than git's
    given: those of the lines `---` and `+++`, as written
    is_indexed: a line `Index:` precedes them (svn, CVS, quilt)
    has_missing_stamp: instead of a time, the new name has the mark of a file that does not exist
    has_properties: a block of svn properties follows in place of hunks
    patch: number of the patch, in a series of them
    """

    number: int
    old: str = ""
    new: str = ""
    git: bool = False
    git_names: tuple[str, str] | None = None
    has_own_prefixes: bool = False
    given: tuple[str, str] | None = None
    is_indexed: bool = False
    has_missing_stamp: bool = False
    has_properties: bool = False
    patch: int = 0
    extended: dict[str, str] = field(default_factory=dict)
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        return self.old in NO_FILE or "new file mode" in self.extended or self._is_sole_hunk(adds=True)

    @property
    def is_deleted(self) -> bool:
        return (
            self.new in NO_FILE
            or "deleted file mode" in self.extended
            or (self.has_missing_stamp and self._is_sole_hunk(adds=False))
        )

    @property
    def is_counted(self) -> bool:
        """Whether the hunks have right numbers, as those that a program writes."""
        return bool(self.hunks) and all(each.counted for each in self.hunks)

    def set_git_names(self, names: tuple[str, str] | None) -> None:
        """Set the names of the line `diff --git`. Whatever prefixes they have, one folder of each is removed."""
        if names is None:
            return
        prefixes = _find_prefixes(*names)
        self.has_own_prefixes = bool(prefixes)
        self.old, self.new = self.git_names = (
            (_cut_folder(names[0]), _cut_folder(names[1])) if prefixes else names
        )

    def set_names(self, old: str, new: str) -> None:
        """Set the names of the lines `---` and `+++`. Where one is no file, git's line has the prefix of the other."""
        self.given = old, new
        path = self.git_names[0] if self.git_names else ""
        if path and self.git_names == (path, path) and _is_one_missing(old, new):
            real = new if old in NO_FILE else old
            if real == path or real.endswith(f"/{path}"):
                self.old, self.new = (old, path) if old in NO_FILE else (path, new)
                return
        self.old, self.new = strip_prefixes(old, new)

    def _is_sole_hunk(self, *, adds: bool) -> bool:
        """Return whether the only hunk is a whole file: `@@ -0,0 +1,9 @@`, or `@@ -1,9 +0,0 @@` if it does not add."""
        if len(self.hunks) != 1 or not self.is_counted:
            return False
        [hunk] = self.hunks
        return hunk.start == 1 and not (hunk.old if adds else hunk.new)


def is_missing_stamp(line: str) -> bool:
    """Return whether a `---` or `+++` line says, in place of a time, that there is no such file.

    svn writes "(nonexistent)"; GNU diff the beginning of 1970, in local time.
    """
    if "\t(nonexistent)" in line:
        return True
    stamp = _STAMP.search(line)
    if stamp is None:
        return False
    from datetime import datetime

    return datetime.strptime(f"{stamp[1]} {stamp[2]}", "%Y-%m-%d %H:%M:%S %z").timestamp() == 0


def build_changes(files: Sequence[DiffFile]) -> list[FileChange]:
    """Return the changes of all files, in an order in which they can be made. Raises MalformedEdit."""
    _strip_lone_names(files)
    changes: list[tuple[int, FileChange]] = []
    moved = {(file.patch, _get_source(file)) for file in files if "rename from" in file.extended}
    for file in files:
        if (
            file.has_properties
            and not file.hunks
            and not file.extended.keys() & {"new mode", "rename to", "copy to"}
        ):
            continue
        change = _build_change(file)
        if isinstance(change, Delete) and (file.patch, change.path) in moved:
            continue  # svn writes a move as a rename, and the removal of the old path once more
        at = len(changes)
        if isinstance(change, Update) and change.copies:  # a copy is made of the file before the patch
            same = (
                n
                for n, (patch, each) in enumerate(changes)
                if patch == file.patch and each.path == change.path
            )
            at = next(same, at)
        changes.insert(at, (file.patch, change))
    if files and not changes:
        raise build_malformed_edit(
            files[0].number,
            "only properties of svn change, no content of a file: nothing to apply",
            DIFF_EXAMPLE,
        )
    return merge_updates(change for _, change in changes)


def _get_source(file: DiffFile) -> str:
    return unquote_git_path(file.extended["rename from"])


def _is_one_missing(old: str, new: str) -> bool:
    return (old in NO_FILE) != (new in NO_FILE)


def _strip_lone_names(files: Sequence[DiffFile]) -> None:
    """Strip the prefix of names beside `/dev/null`, of which the other headers of the text know the prefixes."""
    prefixes: set[str] = set()
    plain: set[str] = set()
    for file in files:
        if file.given is None or set(file.given) & NO_FILE:
            continue
        # after git's own prefixes come the folders that `--no-index` compares
        found = _find_prefixes(*file.given)
        if file.git and (not found or found <= _LETTERS):
            found = _find_prefixes(file.old, file.new)
        if found:
            prefixes |= found
        else:
            plain |= {name.partition("/")[0] for name in (file.old, file.new)}
    for file in files:
        if file.given is not None and _is_one_missing(*file.given) and not file.has_own_prefixes:
            names = (file.old, file.new) if file.git else file.given
            file.old, file.new = (_strip_lone_name(file, name, prefixes, plain) for name in names)


def _find_prefixes(old: str, new: str) -> set[str]:
    """Return the first folders of two names that are equal behind them, none if they are not."""
    (first, _, old_rest), (second, _, new_rest) = old.partition("/"), new.partition("/")
    return {first, second} if old_rest and old_rest == new_rest and first != second else set()


def _cut_folder(name: str) -> str:
    return name.partition("/")[2]


def _strip_lone_name(file: DiffFile, name: str, prefixes: Collection[str], plain: Collection[str]) -> str:
    first, _, rest = name.partition("/")
    if name in NO_FILE or not rest or first in plain:
        return name
    if first in prefixes:
        return rest
    if file.git and file.git_names is not None:
        return name
    if first in _LETTERS or first.endswith(".orig"):
        return rest
    if file.is_indexed and not plain:
        raise build_malformed_edit(
            file.number,
            f"{name!r}: nothing shows whether {first + '/'!r} is a folder or a prefix of all names. Name the file "
            f"'a/{rest}' or 'a/{name}'",
            NEW_FILE_EXAMPLE,
        )
    return name


_LETTERS = frozenset("abciow")
"""Prefixes of git, in both directions, and with `diff.mnemonicPrefix`."""


def _build_change(file: DiffFile) -> FileChange:
    extended = file.extended
    _refuse_modes(file)
    if file.is_new and file.is_deleted:
        raise build_malformed_edit(file.number, "both names are /dev/null: no file is named", DIFF_EXAMPLE)
    path, to = _resolve_paths(file)
    if file.is_new and not to:
        return Create(
            path=path,
            content=_extract_content(file, path),
            mode=MODES[extended.get("new file mode", "100644")],
            new=True,
        )
    if file.is_deleted and not to:
        _refuse_kept_lines(file, path)
        return Delete(path=path, hunks=tuple(file.hunks))
    mode = int(extended["new mode"][-3:], 8) if "new mode" in extended else None
    if not file.hunks and not to and mode is None:
        raise build_malformed_edit(file.number, f"no hunk follows on the header of {path!r}", DIFF_EXAMPLE)
    return Update(path=path, edits=tuple(file.hunks), to=to, mode=mode, copies="copy to" in extended)


def _refuse_modes(file: DiffFile) -> None:
    """Raise MalformedEdit for what is no plain file, and for a removal whose content was left out."""
    extended = file.extended
    blobs, _, mode = extended.get("index", "").partition(" ")
    modes = {key: extended[key] for key in ("new file mode", "new mode") if key in extended}
    for key, value in (modes | ({"mode": mode} if mode else {})).items():
        if value not in MODES:
            raise build_malformed_edit(
                file.number, f"{key} {value}: only plain files (100644, 100755) can be made", DIFF_EXAMPLE
            )
    if "deleted file mode" in extended and blobs and not file.hunks and not blobs.startswith(_EMPTY_BLOBS):
        raise build_malformed_edit(
            file.number,
            "the lines of the removed file are left out (git diff -D), so that nothing shows whether it is still "
            "that file: give them",
            DIFF_EXAMPLE,
        )


def _resolve_paths(file: DiffFile) -> tuple[str, str]:
    """Return the file's path, and its new path ("" if it does not move). Raises MalformedEdit."""
    for verb in ("rename", "copy"):
        if f"{verb} from" in file.extended and f"{verb} to" in file.extended:
            source, target = (unquote_git_path(file.extended[f"{verb} {end}"]) for end in ("from", "to"))
            return source, target if target != source else ""
    old, new = file.old, file.new
    if not old or not new:
        raise build_malformed_edit(
            file.number, "the header names no file, or two that can't be told apart", DIFF_EXAMPLE
        )
    if old == new or new in NO_FILE:
        return old, ""
    if old in NO_FILE:
        return new, ""
    if old in (new + ".orig", new + ".bak", new + ".old", new + "~"):
        return new, ""
    if file.is_counted and _find_prefixes(old, new):
        return _cut_folder(old), ""  # two folders, compared by a program
    if "new file mode" in file.extended or "deleted file mode" in file.extended:
        return (new if "new file mode" in file.extended else old), ""
    raise build_malformed_edit(
        file.number,
        f"the header names two files, {old!r} and {new!r}. To change one, name it twice; to move it, write it as git",
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py",
    )


def _extract_content(file: DiffFile, path: str) -> str:
    """Return the content of a new file. Empty lines may have lost their mark."""
    if not file.hunks and "new file mode" not in file.extended:
        raise build_malformed_edit(
            file.number, f"no hunk follows on the header of the new file {path!r}", NEW_FILE_EXAMPLE
        )
    lines: list[str] = []
    for each in file.hunks:
        for op, text in each.lines:
            if op == "-" or (op == " " and text.strip()):
                raise build_malformed_edit(
                    file.number,
                    f"{path!r} is new, so every line of it begins with '+'; found {quote_line(text)}",
                    NEW_FILE_EXAMPLE,
                )
            lines.append(text if op == "+" else "")
    ended = not file.hunks or file.hunks[-1].no_newline not in ("+", " ")
    return "\n".join(lines) + ("\n" if lines and ended else "")


def _refuse_kept_lines(file: DiffFile, path: str) -> None:
    for each in file.hunks:
        kept = next((text for op, text in each.lines if op == "+" or (op == " " and text.strip())), None)
        if kept is not None:
            raise build_malformed_edit(
                file.number,
                f"{path!r} is removed, so every line of it begins with '-'; found {quote_line(kept)}",
                DIFF_EXAMPLE,
            )
