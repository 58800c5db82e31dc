"""Files that git has already: a snapshot of a large repository names git's blobs instead of copying the files."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sandbox.fs.regular_file import (
    SETTINGS,
    UnsafeFileError,
    read_regular_file,
    read_regular_text,
    read_start,
)
from sandbox.fs.repository import find_git_folders, find_root
from sandbox.helpers.git_runner import GitOutput, GitRunner
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.coverage.folder_walk import Signature
from sandbox.snapshots.coverage.ignore_rules import read_core_settings

_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
"""Of git's index (gitformat-index(5)): times, device, inode, mode, owner, group, size, id, flags."""

_LARGEST = 1 << 30
"""Bytes of an index: of ten million files."""

_EXTENDED, _STAGE = 0x4000, 0x3000

_CONVERSIONS = frozenset(("text", "eol", "crlf", "filter", "ident", "working-tree-encoding"))
"""Attributes by which a file's bytes may differ from its blob."""

_OPAQUE = frozenset(("filter", "working-tree-encoding"))
"""Those of them after which the size may be the same; the others change it if they change anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFiles:
    """Blobs of the tracked files of a workspace, by path relative to it.

    clean: of files that are certainly unchanged since git looked at them; their bytes are the blob's
    others: of the other tracked files: the content decides
    """

    clean: Mapping[str, str]
    others: Mapping[str, str]


NOTHING = TrackedFiles(clean={}, others={})


class GitObjects:
    """The repository around a workspace, as far as snapshots read it. root: the workspace"""

    def __init__(self, root: Path) -> None:
        self._root = root

    def count_tracked(self) -> int:
        """Return the number of entries of the index, 0 without one."""
        folders = find_git_folders(self._root)
        if folders is None:
            return 0
        head = read_start(folders[0] / "index", _HEADER.size) or b""
        if len(head) < _HEADER.size:  # nothing was ever added
            return 0
        mark, version, number = _HEADER.unpack(head)
        return int(number) if mark == b"DIRC" and version in (2, 3, 4) else 0

    def read_tracked(self, files: Mapping[str, Signature]) -> TrackedFiles:
        """Return the blobs of these files. Nothing where the index is of a kind that is not read here."""
        folders, repository = find_git_folders(self._root), find_root(self._root)
        if folders is None or repository is None:
            return NOTHING
        place = folders[0] / "index"
        try:
            written = place.stat().st_mtime_ns  # before it is read: a newer one makes fewer files certain
            content = read_regular_file(place, _LARGEST) or b""
        except (OSError, UnsafeFileError):  # there is none, or one of over a gigabyte
            return NOTHING
        settings = read_core_settings(self._root, folders[1])
        if settings.get("extensions.objectformat", "sha1") != "sha1":  # ids of another length
            return NOTHING
        inner = os.path.relpath(os.path.realpath(self._root), os.path.realpath(repository))
        prefix = b"" if inner == "." else os.fsencode(inner) + b"/"
        clean: dict[str, str] = {}
        others: dict[str, str] = {}
        try:
            entries = _list_entries(content)
        except (struct.error, ValueError, IndexError):  # damaged: git says so elsewhere
            return NOTHING
        for name, entry, blob in entries:
            path = os.fsdecode(name[len(prefix) :])
            signature = files.get(path) if name.startswith(prefix) else None
            if signature is None or stat.S_IFMT(signature[0]) != stat.S_IFMT(entry[6]):
                continue
            is_same = _is_same(entry, signature) and signature[2] < written
            (clean if is_same else others)[path] = blob.hex()
        words = self._find_conversions(repository, folders[1], settings, files)
        if words:
            sizes = {} if words & _OPAQUE else self._read_sizes(clean.values())
            differing = [path for path, blob in clean.items() if sizes.get(blob) != files[path][1]]
            others |= {path: clean.pop(path) for path in differing}
        return TrackedFiles(clean=clean, others=others)

    def read_blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of git's blobs by id; those that git does not have are left out."""
        if not names or find_root(self._root) is None:
            return {}
        output = self._ask_git("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        found, start = {}, 0
        for name in names:
            end = output.find(b"\n", start)
            if end < 0:  # git refuses to read the repository
                break
            head = output[start:end].split(b" ")
            start = end + 1
            if len(head) == 3:
                size = int(head[2])
                found[name] = output[start : start + size]
                start += size + 1
        return found

    def _read_sizes(self, names: Iterable[str]) -> dict[str, int]:
        asked = "".join(f"{name}\n" for name in names).encode()
        lines = self._ask_git("cat-file", "--batch-check", stdin=asked).decode().splitlines()
        parts = (line.split(" ") for line in lines)
        return {each[0]: int(each[2]) for each in parts if len(each) == 3}

    def _find_conversions(
        self, repository: Path, shared: Path, settings: Mapping[str, str], files: Iterable[str]
    ) -> set[str]:
        """Return the names of the conversions between blobs and files that may apply to some file."""
        root = Path(os.path.realpath(self._root))
        places = [self._root / path for path in files if path.endswith(_ATTRIBUTES)]
        places += [each / _ATTRIBUTES for each in root.parents if each.is_relative_to(repository.resolve())]
        places += [shared / "info" / "attributes", Path("/etc/gitattributes")]
        places.append(Path(settings["core.attributesfile"]))
        words = (
            {"crlf"}
            if settings.get("core.autocrlf", "false").lower() not in ("false", "no", "off", "0")
            else set()
        )
        for place in places:
            for line in (read_regular_text(place, SETTINGS) or "").splitlines():
                words |= _CONVERSIONS & {word.partition("=")[0] for word in line.split()[1:]}
        return words

    def _ask_git(self, *arguments: str, stdin: bytes) -> bytes:
        done: GitOutput = GitRunner(self._root, {**os.environ, "LC_ALL": "C"}, workspace=self._root).run(
            *arguments, stdin=stdin
        )
        return done.stdout if done.returncode == 0 else b""


_ATTRIBUTES = ".gitattributes"


def _list_entries(content: bytes) -> list[tuple[bytes, tuple[int, ...], bytes]]:
    """Return name, facts and blob of each plain entry of an index; none for one that is split or of a newer kind."""
    if len(content) < _HEADER.size:
        return []
    mark, version, number = _HEADER.unpack_from(content)
    if mark != b"DIRC" or version not in (2, 3, 4):
        return []
    at, name = _HEADER.size, b""
    unpack, size, find = _ENTRY.unpack_from, _ENTRY.size, content.index
    found = []
    for _ in range(number):
        *facts, blob, flags = unpack(content, at)
        start = at + size + (2 if flags & _EXTENDED else 0)
        if version == 4:
            cut, start = _read_number(content, start)
            end = find(b"\0", start)
            name = name[: len(name) - cut] + content[start:end]
            at = end + 1
        else:
            end = find(b"\0", start)
            name = content[start:end]
            at += (end - at) // 8 * 8 + 8  # NUL bytes up to a multiple of eight
        if not flags & _STAGE and facts[6] != _FOLDER:
            found.append((name, tuple(facts), blob))
    # Of a split index, the rest of the entries is in another file.
    return [] if content[at : at + 4] == b"link" else found


_FOLDER = 0o40000
"""Mode of a folder in a sparse index."""


def _read_number(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of git's variable width (as in packs, "offset encoding"), and the position after it."""
    byte = content[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = content[at]
        value = (value + 1 << 7) | (byte & 0x7F)
    return value, at + 1


def _is_same(entry: tuple[int, ...], signature: Signature) -> bool:
    """Return whether a file is as git last saw it, by its times, inode and size."""
    mode, size, mtime, ctime, inode = signature
    changed, changed_ns, modified, modified_ns, _, known_inode = entry[:6]
    return (
        modified * 1_000_000_000 + modified_ns == mtime
        and changed * 1_000_000_000 + changed_ns == ctime
        and known_inode == inode & 0xFFFFFFFF
        and entry[9] == size & 0xFFFFFFFF
        and bool(entry[6] & 0o100) == bool(mode & 0o100 and stat.S_ISREG(mode))
    )
