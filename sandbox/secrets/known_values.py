"""Find the values of our own secret variables in text, also encoded, reversed, or in pieces.

A command that may read a key can print it in any form; these are the forms that tools produce without effort. Text
encrypted or compressed by a program is out of reach.
"""

from __future__ import annotations

import os
import string
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from sandbox.secrets.secret_patterns import Span

_SHORTEST_SECRET = 12
"""A shorter value ("test", "1234") would match all over harmless text."""

_SECRET_NAME = compile_lazily(
    r"(?i)(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIALS?|_PAT|_PWD|_AUTH|JWT|DSN)(?:_\d+)?$"
)

_PASSWORD = compile_lazily(r"://[^\s/:@]*:([^\s/@{}$<>]{8,})@")


def register_secrets(variables: Mapping[str, str]) -> None:
    """Redact the secret ones of these variables, too, for the life of this process: keys of the user's settings."""
    # pairs: two servers have a header of one name, and neither replaces the user's variable of that name
    _Cache.registered |= dict.fromkeys(pair for pair in variables.items() if _is_secret(*pair))
    _Cache.environment = {}


def find_own_secrets(text: str) -> Iterator[Span]:
    """Yield start, end and kind of each occurrence, in no order; they may overlap."""
    known = _get_known_values()
    for value, name in known.exact.items():
        start = text.find(value)
        while start >= 0:
            yield start, start + len(value), f"value of {name}"
            start = text.find(value, start + len(value))
    if known.pieces:
        yield from _find_encoded(text, known)


def find_unfinished(text: str) -> int:
    """Return the offset from which the text's end may be the beginning of a secret; its length if none is."""
    known = _get_known_values()
    size = end = len(text)
    for value in known.exact:
        if any(each.isspace() for each in value):
            end = min(end, size - _measure_overlap(text, value))
    first = max(0, size - _TAIL)
    tail = _reduce(text[first:])
    if len(tail) >= _HELD and any(tail[-_HELD:] in each for each in known.forms):
        held = max(_measure_held(tail, each) for each in known.forms)
        kept = [at for at, each in enumerate(text[first:]) if each in _ALPHANUMERIC]
        end = min(end, first + kept[-held])
    return end


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownValues:
    """Secret values as they are searched for.

    exact: text → variable that holds it
    forms: encoded values, reduced to lower-case letters and digits, → variable
    pieces: part of such a form → the form and its offset there
    """

    exact: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[bytes, str] = field(default_factory=dict)
    pieces: Mapping[bytes, tuple[bytes, int]] = field(default_factory=dict)


class _Cache:
    """The last environment seen and its secrets: they are requested with every word that streams."""

    environment: ClassVar[Mapping[Any, Any]] = {}
    registered: ClassVar[dict[tuple[str, str], None]] = {}
    known: ClassVar[_KnownValues] = _KnownValues()


def _get_known_values() -> _KnownValues:
    # the bytes: a hundredth of the time of decoding them all
    now = dict(getattr(os.environ, "_data", os.environ))
    if now != _Cache.environment:
        variables = dict.fromkeys(pair for pair in os.environ.items() if _is_secret(*pair))
        _Cache.environment = now
        _Cache.known = _encode_values(tuple(variables | _Cache.registered))
    return _Cache.known


def _is_secret(name: str, value: str) -> bool:
    return len(value) >= _SHORTEST_SECRET and bool("://" in value or _SECRET_NAME.search(name))


@lru_cache(maxsize=8)
def _encode_values(variables: tuple[tuple[str, str], ...]) -> _KnownValues:
    exact: dict[str, str] = {}
    forms: dict[bytes, str] = {}
    pieces: dict[bytes, tuple[bytes, int]] = {}
    for name, value in variables:
        if not _SECRET_NAME.search(name):  # a URL is not secret, the password in it is
            match = _PASSWORD.search(value)
            value = match[1] if match else ""
        # The name of a file with a key is not secret. (`Path.exists` fails on a token that is too long for a name.)
        if not value or os.path.exists(value):  # noqa: PTH110
            continue
        for text in _list_exact_forms(value):
            exact.setdefault(text, name)
        if len(_reduce(value)) < _SHORTEST_SECRET:
            continue
        for encoded in _list_encoded_forms(value):
            form = _reduce(encoded)
            forms.setdefault(form, name)
            for start, end in _choose_pieces(encoded):
                pieces.setdefault(form[start:end], (form, start))
    by_length = dict(sorted(exact.items(), key=lambda item: -len(item[0])))
    return _KnownValues(exact=by_length, forms=forms, pieces=pieces)


def _list_exact_forms(value: str) -> set[str]:
    import json
    from urllib.parse import quote, quote_plus

    raw = os.fsencode(value)
    return {
        *(value, quote(raw), quote(raw, safe=""), quote_plus(raw), json.dumps(value)[1:-1]),
        *(raw.hex(), *_encode_base64(raw)),
    }


def _encode_base64(raw: bytes) -> Iterator[str]:
    """Yield the part of an encoded text that depends on these bytes alone, whatever precedes and follows them."""
    import base64

    for before, unsure in ((0, 0), (1, 2), (2, 3)):
        whole = (before + len(raw)) * 8 // 6
        text = base64.b64encode(bytes(before) + raw).decode()[unsure:whole]
        yield text
        yield text.translate({ord("+"): "-", ord("/"): "_"})


def _list_encoded_forms(value: str) -> Iterator[str]:
    """Yield a value in the encodings that shells and scripts have at hand; separators do not matter here."""
    import base64
    import codecs

    raw, backwards = os.fsencode(value), os.fsencode(value[::-1])
    yield value
    yield value[::-1]
    yield raw.hex()
    yield backwards.hex()
    yield from list(_encode_base64(raw))[::2]
    for encoded in (backwards, base64.b64encode(raw)):
        yield base64.b64encode(encoded).decode().rstrip("=")[:-1]
    yield base64.b32encode(raw).decode().rstrip("=")[:-1]
    yield codecs.encode(value, "rot13")
    yield "".join(f"u{ord(each):04x}" for each in value)
    yield "".join(f"x{each:02x}" for each in raw)
    yield "".join(f"0x{each:02x}" for each in raw)
    yield "".join(f"{each:03o}" for each in raw)
    yield "".join(str(each) for each in raw)


_PIECE, _DIGITS = 8, 24
"""Characters of a part that betrays a form, and of one that has only digits."""

_PIECES = 8
"""Parts of a form that are looked for, at equal distances: the cost of a search grows with their number."""


def _choose_pieces(encoded: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the parts that are looked for, as offsets among the letters and digits.

    A part of letters alone may be an ordinary word, a short part of digits alone a number.
    """
    text = "".join(each for each in encoded if each in _ALPHANUMERIC)
    size = _DIGITS if text.isdigit() else _PIECE
    for at in range(0, len(text) - size + 1, max(size // 2, len(text) // _PIECES)):
        piece = text[at : at + size]
        turns = sum(one.islower() != two.islower() for one, two in pairwise(piece))
        mixed = not piece.isalpha() and not piece.isdigit()
        if size == _DIGITS or mixed or turns >= _LEAST_TURNS:
            yield at, at + size


_LEAST_TURNS = 3
"""Changes between small letters and capitals: an ordinary word has one or two."""

_ALPHANUMERIC = frozenset(string.ascii_letters + string.digits)
_OTHERS = bytes(each for each in range(256) if chr(each) not in _ALPHANUMERIC)
_LOWER = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())


def _reduce(text: str) -> bytes:
    """Return the ASCII letters and digits of a text, in lower case."""
    return text.encode("latin-1", "replace").translate(_LOWER, _OTHERS)


def _find_encoded(text: str, known: _KnownValues) -> Iterator[Span]:
    if len(text) < _LEAST:
        return
    reduced = _reduce(text)
    kept: list[int] = []
    done: set[tuple[int, int]] = set()
    for piece, (form, offset) in known.pieces.items():
        at = reduced.find(piece)
        while at >= 0:
            start, end = _extend_match(reduced, at, form, offset, len(piece))
            at = reduced.find(piece, max(end, at + 1))
            if end - start < min(_LEAST, len(form)) or (start, end) in done:
                continue
            done.add((start, end))
            kept = kept or [index for index, each in enumerate(text) if each in _ALPHANUMERIC]
            yield kept[start], kept[end - 1] + 1, f"value of {known.forms[form]}"


_LEAST = 10
"""Characters in a row that are no coincidence."""


def _extend_match(reduced: bytes, at: int, form: bytes, offset: int, size: int) -> tuple[int, int]:
    """Return start and end of the longest part of `form` around a found piece."""
    start, end = at, at + size
    first, last = offset, offset + size
    while start and first and reduced[start - 1] == form[first - 1]:
        start, first = start - 1, first - 1
    while end < len(reduced) and last < len(form) and reduced[end] == form[last]:
        end, last = end + 1, last + 1
    return start, end


_TAIL = 2048
"""Characters at the end of a text that are compared with the forms of a secret, separators included."""

_HELD = 6
"""Characters at the end of a text that are held back when they occur in a form: nearly always its beginning."""


def _measure_held(tail: bytes, form: bytes) -> int:
    """Return how many characters at the end of the text are a part of the form."""
    found = 0
    at = form.find(tail[-_HELD:])
    while at >= 0:
        length = _HELD
        while length < len(tail) and at and tail[-length - 1] == form[at - 1]:
            at, length = at - 1, length + 1
        found = max(found, length)
        at = form.find(tail[-_HELD:], at + length - _HELD + 1)
    return found


def _measure_overlap(text: str, value: str) -> int:
    """Return how much of the text's end is the beginning of `value`."""
    most = min(len(text), len(value) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(value[:size])), 0)
