"""Encoding of a text: by what the text itself declares, by what its repository declares, or guessed from its bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

UTF8 = "utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEncoding:
    """Encoding of some bytes.

    name: of Python's codec
    has_odd_bytes: some bytes are not in the encoding, and are kept as lone surrogates (PEP 383)
    doubt: why the encoding is not certain, as a sentence; "" if it is
    """

    name: str = UTF8
    has_odd_bytes: bool = False
    doubt: str = ""


def find_encoding(content: bytes, declared: Sequence[str] = ()) -> FoundEncoding:
    """Return the encoding of bytes without a byte-order mark and without NUL.

    declared: codecs that the repository declares for the file, the nearest first
    """
    own = find_own_declaration(content)
    names = [name for name in (own, *declared) if name]
    if content.isascii():
        return FoundEncoding(name=next((name for name in names if _reads_ascii(content, name)), UTF8))
    if _can_decode(content, UTF8):
        other = names[0] if names else UTF8
        doubt = "" if other == UTF8 else f"the file is declared to be {other}, and its bytes are UTF-8"
        return FoundEncoding(doubt=doubt)
    fitting = next((name for name in names if name != UTF8 and _can_decode(content, name)), "")
    if fitting:
        return FoundEncoding(name=fitting)
    if _is_mostly_utf8(content):
        return FoundEncoding(has_odd_bytes=True)
    if UTF8 in names[:1]:
        return FoundEncoding(has_odd_bytes=True, doubt="the file is declared to be UTF-8, and mostly is not")
    name = _guess(_select_sample(content))
    if not _can_decode(content, name):
        name = "latin-1"  # maps every byte to a character and back
    return FoundEncoding(name=name, doubt=f"the file's encoding is not declared, and {name} is a guess")


def find_own_declaration(content: bytes) -> str:
    """Return the codec that a text names in its head (PEP 263, XML, HTML, CSS, TeX, gettext); "" for none."""
    head = content[:_HEAD]
    for declaration in _DECLARATIONS:
        if match := declaration.pattern.match(head):
            name = match[1].decode("ascii").lower()
            return find_codec(_OF_THE_WEB.get(name, name) if declaration.is_web else name)
    return ""


def find_codec(name: str) -> str:
    """Return the name of the text codec that Python has for an encoding; "" if it has none."""
    name = re.sub(r"-(unix|dos|mac|bom)$", "", name.strip().lower())  # Emacs and git add these
    try:
        found = codecs.lookup(_ALIASES.get(name, name))
    except (LookupError, ValueError):
        return ""
    if not found._is_text_encoding or found.name in _NO_ENCODINGS:
        return ""
    return UTF8 if found.name == "utf-8-sig" else found.name


class _Declaration(NamedTuple):
    """How a text declares its encoding. is_web: a browser's names apply, where Latin-1 means Windows-1252"""

    pattern: re.Pattern[bytes]
    is_web: bool = False


_HEAD = 2048
"""Bytes in which a declaration is looked for; browsers look at 1024."""

_NAME = rb"([-\w.]+)"

_DECLARATIONS = (
    # Python and Ruby, and what Emacs and Vim read in the first two lines of other languages
    _Declaration(compile_lazily(rb"(?:[ \t\f]*(?:#[^\n]*)?\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*" + _NAME)),
    _Declaration(compile_lazily(rb"(?:[^\n]*\n)?[^\n]*-\*-[^\n]*\bcoding:[ \t]*" + _NAME)),
    _Declaration(compile_lazily(rb"(?:[^\n]*\n)?[^\n]*\bvim?:[^\n]*\b(?:fileencoding|fenc)=" + _NAME)),
    _Declaration(compile_lazily(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*["']""" + _NAME)),
    _Declaration(
        compile_lazily(rb"""(?is)\s*(?=<).*?<meta\b[^>]*?\bcharset\s*=\s*["']?""" + _NAME), is_web=True
    ),
    _Declaration(compile_lazily(rb'@charset "' + _NAME + rb'";'), is_web=True),
    _Declaration(compile_lazily(rb"(?s)\s*(?=[%\\]).*?\\usepackage\[" + _NAME + rb"\]\{inputenc\}")),
    _Declaration(
        compile_lazily(rb'(?s)(?:#[^\n]*\n|\s)*msgid "".*?"Content-Type: text/plain; charset=' + _NAME)
    ),
)

_OF_THE_WEB = {
    **dict.fromkeys(("iso-8859-1", "latin1", "l1", "ascii", "us-ascii"), "cp1252"),
    "iso-8859-9": "cp1254",
    "gb2312": "gbk",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
}
"""Names that mean another encoding in HTML and CSS (encoding.spec.whatwg.org)."""

_ALIASES = {
    "windows-31j": "cp932",
    "x-gbk": "gbk",
    "utf8x": "utf-8",
    "latin9": "iso8859-15",
    "ansinew": "cp1252",
}

_NO_ENCODINGS = frozenset(
    ("idna", "punycode", "raw_unicode_escape", "unicode_escape", "utf-7", "undefined", "mbcs")
)
"""Python's codecs that no file is written in."""


def _can_decode(content: bytes, name: str) -> bool:
    """Return whether bytes can be decoded and encoded again without loss."""
    try:
        return content.decode(name).encode(name) == content
    except UnicodeError:
        return False


def _reads_ascii(content: bytes, name: str) -> bool:
    """Return whether ASCII bytes are text in this encoding: the same text, or one with escapes (ISO-2022-JP)."""
    return _can_decode(content, name) and (
        content.decode(name) == content.decode("ascii") or (b"\x1b" in content and name.startswith("iso2022"))
    )


_ODD = compile_lazily("[\udc80-\udcff]")
_NOT_ASCII = compile_lazily("[^\0-\x7f]")


def _is_mostly_utf8(content: bytes) -> bool:
    """Return whether most of what is not ASCII is UTF-8: text of another encoding hardly ever looks so."""
    text = content.decode(UTF8, "surrogateescape")
    odd = len(_ODD.findall(text))
    return 2 * odd <= len(_NOT_ASCII.findall(text)) - odd


_SAMPLE = 32 << 10
"""Bytes by which an encoding is guessed: more change nothing, and cost tenths of seconds."""


def _select_sample(content: bytes) -> bytes:
    """Return the lines that are not ASCII, up to a limit."""
    return b"\n".join(line for line in content.splitlines() if not line.isascii())[:_SAMPLE]


@lru_cache(maxsize=32)
def _guess(sample: bytes) -> str:
    """Return the most probable encoding; Windows-1252 where nothing speaks for another."""
    from charset_normalizer import from_bytes

    if sum(byte > 0x7F for byte in sample) < _FEW:
        return "cp1252"
    found = from_bytes(sample, cp_isolation=list(_COMMON)).best()
    return (find_codec(found.encoding) if found is not None else "") or "cp1252"


_COMMON = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "iso8859_15", "koi8_r", "cp866", "mac_roman"),
    *("big5", "cp932", "cp949", "euc_jp", "gb18030", "gbk"),
)
"""Encodings that people's files are in: rare ones fit the same bytes, and show other letters."""

_FEW = 8
"""Bytes that are not ASCII, below which statistics know nothing."""
