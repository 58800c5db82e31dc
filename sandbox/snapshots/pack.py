"""Packs: many objects in one file, in git's own format (gitformat-pack(5)), so that git can read the store.

Objects are never written as deltas: a user waits while a pack is written.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sandbox.fs.private_files import open_private, write_private_file

KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
"""Numbers of the kinds of objects in a pack."""

_HEADER = struct.Struct(">4sII")
_VERSION = 2
_INDEX = b"\377tOc\0\0\0\2"
_FAN = 256
_ID = 20
# Offsets from here on need the second table of an index, which is not written: a workspace's files are smaller.
_LARGEST = 1 << 31
# A folder that changed so shortly before it was listed may change again without its time changing.
_CLOCK_TICK_NS = 20_000_000


class PackWriter:
    """Writer of a pack. It is invisible before `finish`; a kill leaves files that pruning removes."""

    def __init__(self, folder: Path, compression: int) -> None:
        self._folder = folder
        self._compression = compression
        # Another snapshot may be written at the same time, in a container even under the same process id.
        self._temporary = folder / f"tmp-{os.getpid()}-{os.urandom(4).hex()}"
        self._index = self._temporary.with_name(f"{self._temporary.name}-index")
        self._file: BinaryIO = open(self._temporary, "wb", opener=open_private)  # noqa: SIM115 - closed by `finish`
        self._file.write(_HEADER.pack(b"PACK", _VERSION, 0))
        self._offset = _HEADER.size
        self._found: dict[str, tuple[int, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def __len__(self) -> int:
        return len(self._found)

    @property
    def is_full(self) -> bool:
        """Whether no more may be added: the rest belongs in another one."""
        return self._offset > _LARGEST // 2

    def add(self, name: str, kind: str, content: bytes) -> None:
        """Add an object whose id is `name`."""
        self.add_raw(
            name, _encode_object_header(KINDS[kind], len(content)) + zlib.compress(content, self._compression)
        )

    def add_raw(self, name: str, data: bytes) -> None:
        """Add an object in its encoded form, as from another pack."""
        self._found[name] = self._offset, zlib.crc32(data)
        self._file.write(data)
        self._offset += len(data)

    def finish(self) -> None:
        """Make the pack visible: the pack first, then its index, by which readers find it."""
        self._file.close()
        if not self._found:
            self._temporary.unlink()
            return
        with self._temporary.open("r+b") as file:
            file.write(_HEADER.pack(b"PACK", _VERSION, len(self._found)))
            file.seek(0)
            checksum = hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).digest()
            file.seek(0, os.SEEK_END)
            file.write(checksum)
        write_private_file(self._index, _build_index(self._found, checksum))
        name = f"pack-{checksum.hex()}"
        self._temporary.replace(self._folder / f"{name}.pack")
        self._index.replace(self._folder / f"{name}.idx")

    def abort(self) -> None:
        """Remove the temporary files."""
        with suppress(OSError):  # a full disk rejects the buffered rest as well
            self._file.close()
        self._temporary.unlink(missing_ok=True)
        self._index.unlink(missing_ok=True)


class Pack:
    """Reader of a pack. Raises OSError, ValueError or struct.error where one of its two files is incomplete.

    No file stays open: a store may have more packs than a process may have open files.

    index: the path of the index; the pack is in the same folder
    """

    def __init__(self, index: Path) -> None:
        self.index = index
        self.file = index.with_suffix(".pack")
        data = index.read_bytes()
        if data[: len(_INDEX)] != _INDEX:
            raise ValueError(f"no index of a pack: {str(index)!r}")
        self._data = data
        self._fan = struct.unpack_from(f">{_FAN}I", data, len(_INDEX))
        self._names = len(_INDEX) + 4 * _FAN
        self._offsets = self._names + (_ID + 4) * len(self)
        checksum = data[self._offsets + 4 * len(self) : -_ID]
        with self.file.open("rb") as file:
            self._end = file.seek(-_ID, os.SEEK_END)
            if file.read() != checksum:  # truncated by a power failure
                raise ValueError(f"not the pack of its index: {str(index)!r}")

    def __len__(self) -> int:
        return int(self._fan[-1])

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self)):
            yield self._read_name(number).hex()

    def find_offset(self, name: str) -> int | None:
        """Return the offset of an object, None if it is not in here."""
        wanted = bytes.fromhex(name)
        low, high = (self._fan[wanted[0] - 1] if wanted[0] else 0), self._fan[wanted[0]]
        while low < high:
            middle = (low + high) // 2
            found = self._read_name(middle)
            if found == wanted:
                return int(struct.unpack_from(">I", self._data, self._offsets + 4 * middle)[0])
            low, high = (middle + 1, high) if found < wanted else (low, middle)
        return None

    def read(self, offset: int) -> bytes:
        """Return the content of the object at an offset. Raises OSError, and zlib.error when it is damaged."""
        with self.file.open("rb", buffering=0) as file:
            head = os.pread(file.fileno(), _LONGEST_HEAD, offset)
            size, start = _parse_object_header(head)
            # Upper bound of its stored size (zlib's compressBound): the bytes after it belong to another
            # object.
            stored = os.pread(file.fileno(), size + size // 1000 + 64, offset + start)
        reader = zlib.decompressobj()
        content = reader.decompress(stored)
        if not reader.eof or len(content) != size:
            raise zlib.error("the object is not whole")
        return content

    def can_read(self, name: str) -> bool:
        """Return whether an object is in here and can be read."""
        try:
            return (offset := self.find_offset(name)) is not None and self.read(offset) is not None
        except (OSError, zlib.error):
            return False

    def copy_objects(self, keep: Collection[str], to: PackWriter) -> None:
        """Copy those objects to another pack, in encoded form."""
        places = sorted((offset, name) for name in self if (offset := self.find_offset(name)) is not None)
        ends = [offset for offset, _ in places[1:]] + [self._end]
        with self.file.open("rb") as file:
            for (start, name), end in zip(places, ends, strict=True):
                if name in keep and name not in to:
                    file.seek(start)
                    to.add_raw(name, file.read(end - start))

    def _read_name(self, number: int) -> bytes:
        start = self._names + _ID * number
        return self._data[start : start + _ID]


class Packs:
    """The packs of one store, discovered when needed. Other processes may add some."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen = -1
        self._packs: list[Pack] = []

    def find(self, name: str) -> tuple[Pack, int] | None:
        """Return the pack that holds an object, and its offset."""
        self._refresh()
        for pack in self._packs:
            if (offset := pack.find_offset(name)) is not None:
                return pack, offset
        return None

    def prune(self, keep: Collection[str], compression: int) -> int:
        """Delete packs of which nothing is kept, and rewrite those of which most is not. Returns the
        number of objects deleted."""
        self._refresh()
        removed = 0
        for pack in self._packs:
            kept = {name for name in pack if name in keep}
            if 2 * len(kept) >= len(pack):
                continue
            removed += self._shrink_pack(pack, kept, compression)
        self.close()
        known = {path.stem for path in self.folder.glob("*.idx")}
        for path in self.folder.glob("*"):  # left behind by a kill
            if path.stem not in known:
                path.unlink()
        return removed

    def drop_damaged(self, compression: int) -> int:
        """Drop the unreadable objects; the others stay. Returns the number dropped."""
        self._refresh()
        removed = 0
        for pack in self._packs:
            whole = {name for name in pack if pack.can_read(name)}
            if len(whole) < len(pack):
                removed += self._shrink_pack(pack, whole, compression)
        self.close()
        return removed

    def _shrink_pack(self, pack: Pack, kept: Collection[str], compression: int) -> int:
        """Replace a pack by one with those objects alone, if any. Returns the number of objects dropped."""
        if kept:
            writer = PackWriter(self.folder, compression)
            pack.copy_objects(kept, writer)
            writer.finish()
        pack.index.unlink()
        pack.file.unlink()
        return len(pack) - len(kept)

    def close(self) -> None:
        """Forget the packs found so far."""
        self._packs, self._seen = [], -1

    def _refresh(self) -> None:
        try:
            now = self.folder.stat().st_mtime_ns
        except FileNotFoundError:  # nothing was ever packed
            return
        if now == self._seen:
            return
        known = {pack.index: pack for pack in self._packs}
        packs = []
        for index in sorted(self.folder.glob("*.idx")):
            with suppress(OSError, ValueError, struct.error):  # damaged: its objects count as missing
                packs.append(known.get(index) or Pack(index))
        self._packs = packs  # atomically: another thread may be searching for an object
        self._seen = now if time.time_ns() - now > _CLOCK_TICK_NS else -1


_LONGEST_HEAD = 10
"""Bytes: kind and size of an object with a 64-bit length."""


def _parse_object_header(head: bytes) -> tuple[int, int]:
    """Return the length of an object's content, and of the header that states it. Raises zlib.error."""
    size, shift = head[0] & 0xF if head else 0, 4
    for place, byte in enumerate(head):
        if place:
            size |= (byte & 0x7F) << shift
            shift += 7
        if not byte & 0x80:
            return size, place + 1
    raise zlib.error("the object has no head")


def _encode_object_header(kind: int, size: int) -> bytes:
    """Encode kind and size: four bits of the size, then seven in each following byte, the lowest first."""
    byte, size = kind << 4 | size & 0xF, size >> 4
    found = bytearray()
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    found.append(byte)
    return bytes(found)


def _build_index(found: dict[str, tuple[int, int]], checksum: bytes) -> bytes:
    """Build version 2 of git's index: ids in order, how many begin with each byte, checksums, offsets."""
    entries = sorted((bytes.fromhex(name), *place) for name, place in found.items())
    counts = [0] * _FAN
    for name, _, _ in entries:
        counts[name[0]] += 1
    fan, total = [], 0
    for count in counts:
        total += count
        fan.append(total)
    body = b"".join(
        (
            _INDEX,
            struct.pack(f">{_FAN}I", *fan),
            b"".join(name for name, _, _ in entries),
            struct.pack(f">{total}I", *(checked for _, _, checked in entries)),
            struct.pack(f">{total}I", *(offset for _, offset, _ in entries)),
            checksum,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
