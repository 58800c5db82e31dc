"""Lossless decoding of text files (encoding, byte-order mark, line endings); content fingerprints."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

UTF8 = "utf-8"

Ending = Literal["\n", "\r\n", "\r"]


class BinaryFile(ValueError):
    """The content is not text, or not losslessly decodable; the message is for the model."""


class NotInEncoding(ValueError):
    """New text has characters that the file's encoding lacks, or that would get wrong bytes; the message is for the
    model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A file's text and its encoding, byte-order mark and line endings.

    text: with "\\n" for every line ending
    bom: byte-order mark before the text, if any
    newline: line ending of most lines, and of new ones
    exceptions: line endings of the other lines, by line number from 0
    has_odd_bytes: bytes that are not in the encoding are lone surrogates in the text
    doubt: why the encoding is not certain, "" if it is
    """

    text: str
    encoding: str = UTF8
    has_odd_bytes: bool = False
    doubt: str = ""
    bom: bytes = b""
    newline: Ending = "\n"
    exceptions: Mapping[int, Ending] = field(default_factory=dict)


def decode_text(content: bytes, declared: Sequence[str] = ()) -> TextFile:
    """Decode bytes to text that `encode_text` encodes to the same bytes. Raises BinaryFile.

    declared: codecs that the repository declares for the file (`Tree.decode` finds them)
    """
    for bom, encoding in _MARKS:
        if content.startswith(bom):
            try:
                return _normalize_line_endings(content[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError as error:
                if encoding != UTF8:
                    raise BinaryFile(f"not text: it starts as {encoding} but does not go on so") from error
    if b"\0" in content[:_SNIFFED]:
        return _decode_unmarked_utf16(content)
    from sandbox.fs.text_encoding import find_encoding

    found = find_encoding(content, declared)
    text = content.decode(found.name, "surrogateescape" if found.has_odd_bytes else "strict")
    file = _normalize_line_endings(text, found.name, b"")
    if found.has_odd_bytes or found.doubt:
        return replace(file, has_odd_bytes=found.has_odd_bytes, doubt=found.doubt)
    return file


def decode_bytes(content: bytes) -> TextFile:
    """Decode bytes as UTF-8, with all others kept as lone surrogates: to compare a file with a diff that has its raw
    bytes, whatever their encoding is. Raises BinaryFile."""
    if b"\0" in content[:_SNIFFED]:
        return decode_text(content)
    file = _normalize_line_endings(content.decode(UTF8, "surrogateescape"), UTF8, b"")
    return replace(file, has_odd_bytes=True)


def build_new_format(text: str, declared: Sequence[str] = (), *, needs_mark: bool = False) -> TextFile:
    """Return the format of a new file: the encoding that its text or its repository declares, UTF-8 without any."""
    from sandbox.fs.text_encoding import find_own_declaration

    own = find_own_declaration(text[:_SNIFFED].encode("utf-8", "replace"))
    encoding = next((name for name in (own, *declared) if name), UTF8)
    bom = (
        next((bom for bom, name in _MARKS if name == _BY_MARK.get(encoding, encoding)), b"")
        if needs_mark
        else b""
    )
    return TextFile(text="", encoding=_BY_MARK.get(encoding, encoding) if bom else encoding, bom=bom)


def show_odd_bytes(text: str) -> str:
    """Return text to print: what stands for bytes outside the encoding becomes U+FFFD, as in other programs."""
    return _SURROGATE.sub("\ufffd", text)


def encode_text(text: str, like: TextFile | None, origins: Sequence[int | None] | None = None) -> bytes:
    """Encode text in the format of the file that it came from: unchanged lines keep their bytes.

    origins: for each line of `text`, the file's line (from 0) whose ending it keeps, None for a new line;
    without origins the two texts are compared. Raises NotInEncoding.
    """
    like = like or TextFile(text="")
    _refuse_doubtful_characters(text, like)
    try:
        restored = _restore_line_endings(text, like, origins)
        return like.bom + restored.encode(
            like.encoding, "surrogateescape" if like.has_odd_bytes else "strict"
        )
    except UnicodeEncodeError as error:
        missing = str(error.object)[error.start]
        raise NotInEncoding(
            f"the file is encoded as {like.encoding}, which has no {missing!r}; use other characters"
        ) from None


def _refuse_doubtful_characters(text: str, like: TextFile) -> None:
    """Raise NotInEncoding for new characters whose bytes are not certain, and for a new declaration that is wrong."""
    if text.isascii():
        return
    if like.doubt and (new := sorted({each for each in text if each > "\x7f"} - {*like.text})):
        raise NotInEncoding(
            f"{like.doubt}: {new[0]!r} could get wrong bytes; use ASCII characters, or declare it first"
        )
    if like.has_odd_bytes and text.count("\ufffd") > like.text.count("\ufffd"):
        raise NotInEncoding("U+FFFD is shown for bytes that are not UTF-8: leave their lines out of the edit")
    from sandbox.fs.text_encoding import find_own_declaration

    heads = [each[:_SNIFFED].encode("utf-8", "replace") for each in (like.text, text)]
    old, new_name = map(find_own_declaration, heads)
    if like.text and new_name not in ("", old, like.encoding) and not like.bom:
        raise NotInEncoding(
            f"the file is encoded as {like.encoding}, and would declare {new_name}: convert it first, with iconv"
        )


def compute_fingerprint(content: bytes) -> str:
    """Return the fingerprint of a file's content: equal for equal bytes."""
    import hashlib

    return hashlib.sha256(content).hexdigest()[:_FINGERPRINT_DIGITS]


def fingerprint_descriptor(descriptor: int) -> str:
    """Return the fingerprint of a freshly opened file's content."""
    import hashlib

    digest = hashlib.sha256()
    while piece := os.read(descriptor, _PIECE):
        digest.update(piece)
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


_FINGERPRINT_DIGITS = 32
"""128 bits: collisions do not occur by chance, and it is short enough to keep for every file read. SHA-256,
for which processors have instructions: every edit of a long file hashes it several times."""

_PIECE = 1 << 20
"""Bytes read at once, so that files of any size need little memory."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its prefix
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_BY_MARK = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Byte order in which new files are written where a mark tells it."""

_SURROGATE = compile_lazily("[\ud800-\udfff]")

_SNIFFED = 8 << 10
"""Bytes searched for NUL; git checks as many before it calls a file binary."""


def _decode_unmarked_utf16(content: bytes) -> TextFile:
    """Decode UTF-16 without a mark: mostly Latin text has NUL at every second byte and nowhere else."""
    even, odd = content[:_SNIFFED:2], content[1:_SNIFFED:2]
    for encoding, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if b"\0" not in others and zeros.count(0) * 2 > len(zeros) and len(content) % 2 == 0:
            try:
                return _normalize_line_endings(content.decode(encoding), encoding, b"")
            except UnicodeDecodeError:
                continue
    raise BinaryFile("not text: it holds NUL bytes")


def _normalize_line_endings(raw: str, encoding: str, bom: bytes) -> TextFile:
    """Replace line endings by "\\n" and record them."""
    if "\r" not in raw:
        return TextFile(text=raw, encoding=encoding, bom=bom)
    if "\n" not in raw:
        return TextFile(text=raw.replace("\r", "\n"), encoding=encoding, bom=bom, newline="\r")
    pieces = raw.split("\n")
    paired = [piece.endswith("\r") for piece in pieces[:-1]]
    newline: Ending = "\r\n" if sum(paired) * 2 > len(paired) else "\n"
    other: Ending = "\n" if newline == "\r\n" else "\r\n"
    exceptions = {number: other for number, pair in enumerate(paired) if pair != (newline == "\r\n")}
    bare = [piece[:-1] if pair else piece for piece, pair in zip(pieces, [*paired, False], strict=True)]
    return TextFile(text="\n".join(bare), encoding=encoding, bom=bom, newline=newline, exceptions=exceptions)


def _restore_line_endings(text: str, like: TextFile, known: Sequence[int | None] | None) -> str:
    """Restore line endings: the file's own on kept and replaced lines, `newline` on others."""
    if like.newline == "\n" and not like.exceptions:
        return text
    if not like.exceptions and "\r" not in like.text:
        return text.replace("\r\n", "\n").replace("\n", like.newline)
    new = text.split("\n")
    old = like.text.split("\n")
    if known is None:
        compared = {now: before for before, now in pair_lines(old, new)}
        known = [compared.get(number) for number in range(len(new))]
    last = len(new) - 1
    pieces = []
    for number, (line, before) in enumerate(zip(new, known, strict=True)):
        if before is None or old[before] != line:
            line = line.removesuffix("\r")  # the author meant the line ending, not an extra character
        ending = like.newline if before is None else like.exceptions.get(before, like.newline)
        pieces.append(line if number == last else line + ending)
    return "".join(pieces)


def pair_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (old index, new index) of lines that are unchanged, and of lines that replaced one another."""
    shortest = min(len(old), len(new))
    start = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    rest = shortest - start
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    yield from ((i, i) for i in range(start))
    yield from ((len(old) - i, len(new) - i) for i in range(1, end + 1))
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if middle_old and middle_new:
        from sandbox.fs.line_diff import compute_opcodes

        for _, a, b, c, d in compute_opcodes(middle_old, middle_new):
            yield from ((start + a + i, start + c + i) for i in range(min(b - a, d - c)))
