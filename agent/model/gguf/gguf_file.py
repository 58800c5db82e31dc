"""Header of a GGUF file (ggml's docs/gguf.md, versions 2 and 3), which is not trusted."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

MAGIC = b"GGUF"

_LARGEST_HEADER = 64 << 20
"""Bytes that are read of a header: a vocabulary takes a few million."""

_MOST_ENTRIES, _LONGEST_KEY = 10_000, 1 << 16

_NUMBERS: Mapping[int, str] = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""Types of values by their number, as `struct` calls them."""

_TEXT, _ARRAY = 8, 9

_SHOWN_ARRAY = 1_000
"""Elements of an array that are kept: those by layer are short, vocabularies are not needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFacts:
    """A model's size. bytes: of the file; window: tokens that it was trained on; cache: bytes for a token in it"""

    bytes: int
    window: int
    cache: int


def read_gguf(path: Path) -> GgufFacts:
    """Return what the file's header tells. Raises UserError if there is no such file, or it is no GGUF of a model."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _build_error(path, "is no file")
            if file.read(4) != MAGIC:
                raise _build_error(path, "is not a GGUF file")
            values = _Header(file).read_values()
    except OSError as error:
        raise _build_error(path, f"cannot be read: {error.strerror}") from None
    except (struct.error, ValueError, OverflowError, MemoryError):  # cut off, or lengths that cannot be
        raise _build_error(path, "is a damaged GGUF file") from None
    kind = str(values.get("general.architecture", ""))
    layers = _read_count(values, f"{kind}.block_count")
    if not layers:
        raise _build_error(path, "holds no language model")
    return GgufFacts(
        bytes=found.st_size,
        window=_read_count(values, f"{kind}.context_length"),
        cache=_compute_cache(values, kind, layers),
    )


def _compute_cache(values: Mapping[str, Any], kind: str, layers: int) -> int:
    """Return the bytes of keys and values of one token in all layers, in half precision."""
    heads = _read_count(values, f"{kind}.attention.head_count") or 1
    shared = _read_count(values, f"{kind}.attention.head_count_kv") or heads
    length = _read_count(values, f"{kind}.embedding_length") // heads
    key = _read_count(values, f"{kind}.attention.key_length") or length
    value = _read_count(values, f"{kind}.attention.value_length") or length
    return 2 * layers * shared * (key + value)


def _read_count(values: Mapping[str, Any], name: str) -> int:
    """Return a count, of one that is told by layer the largest; 0 where it is missing or no count."""
    found = values.get(name)
    counts = found if isinstance(found, list) else [found]
    return max((each for each in counts if isinstance(each, int) and each > 0), default=0)


class _Header:
    """The key-value pairs at the beginning of a file."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._left = _LARGEST_HEADER

    def read_values(self) -> dict[str, Any]:
        """Return the pairs. Raises ValueError, struct.error."""
        version, _, count = self._unpack("IQQ")
        if not 2 <= version <= 3 or count > _MOST_ENTRIES:
            raise ValueError("an unknown version")
        values: dict[str, Any] = {}
        for _ in range(count):
            key = self._read_text(_LONGEST_KEY)
            if key.startswith("tokenizer.") and any(each.endswith(".block_count") for each in values):
                break  # vocabularies come last, and are long
            (kind,) = self._unpack("I")
            values[key] = self._read_value(kind)
        return values

    def _read_value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._read_text(_LARGEST_HEADER)
        if kind != _ARRAY:
            return self._unpack(_NUMBERS[kind] if kind in _NUMBERS else _refuse())[0]
        inner, count = self._unpack("IQ")
        if inner == _TEXT:
            for _ in range(count):
                self._read_text(_LARGEST_HEADER)
            return None
        form = _NUMBERS[inner] if inner in _NUMBERS else _refuse()
        content = self._take(count * struct.calcsize(form))
        return list(struct.unpack(f"<{count}{form}", content)) if count <= _SHOWN_ARRAY else None

    def _read_text(self, most: int) -> str:
        (length,) = self._unpack("Q")
        if length > most:
            raise ValueError("a text that is too long")
        return self._take(length).decode("utf-8", "replace")

    def _unpack(self, form: str) -> tuple[Any, ...]:
        form = f"<{form}"
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _take(self, size: int) -> bytes:
        if size > self._left:
            raise ValueError("a header that is too long")
        self._left -= size
        content = self._file.read(size)
        if len(content) != size:
            raise ValueError("a header that is cut off")
        return content


def _refuse() -> str:
    raise ValueError("an unknown type")


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe in its place does not block."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _build_error(path: Path, what: str) -> UserError:
    hint = "Give the path of a model's file, such as --model gguf:~/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    return UserError(Fault.CONFIGURATION, f"{str(path)!r} {what}", hint)
