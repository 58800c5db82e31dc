"""Removal of what mail programs and terminals add to a diff: encodings, colors, a prefix of each line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import MalformedEdit

_ENCODED = compile_lazily(
    r"^Content-Transfer-Encoding:[ \t]*\"?(?:quoted-printable|base64)\b", re.IGNORECASE | re.MULTILINE
)
_MAIL_START = compile_lazily(r"^From \S+ .{1,40}\d{4}\r?\n(?=[!-9;-~]{1,60}: )", re.MULTILINE)
_COLOR = compile_lazily(r"\x1b\[([0-9;]*)([mK])")
_HEADER = compile_lazily(r"(?P<prefix>[^\n]*?\S[^\n]*?)(?:diff --git |--- (?=[^\n]*\n(?P=prefix)\+\+\+ ))")


def decode_mail(text: str) -> str | None:
    """Return the texts of mails, None where none is in quoted-printable or base64. Raises MalformedEdit."""
    if not _ENCODED.search(text):
        return None
    starts = [match.start() for match in _MAIL_START.finditer(text)]
    ends = [*starts, len(text)]
    return "".join(_decode_one_mail(text[start:end]) for start, end in zip([0, *starts], ends, strict=True))


def _decode_one_mail(text: str) -> str:
    from email import message_from_bytes
    from email.policy import default

    first, newline, rest = text.lstrip().partition("\n")
    separator = first + newline if first.startswith("From ") else ""
    mail = message_from_bytes((rest if separator else text.lstrip()).encode(), policy=default)
    parts = []
    for part in mail.walk():
        if part.get_content_maintype() != "text" or part.get_content_subtype() == "html":
            continue
        content = part.get_payload(decode=True)
        encoding = str(part.get("Content-Transfer-Encoding", "")).lower()
        charset = part.get_content_charset("utf-8") if encoding in ("quoted-printable", "base64") else "utf-8"
        try:
            parts.append(content.decode(charset) if isinstance(content, bytes) else "")
        except (LookupError, UnicodeError) as problem:
            raise MalformedEdit(f"the mail {str(mail['Subject'])!r} cannot be decoded: {problem}") from None
    return separator + "\n".join(parts)


def strip_colors(text: str) -> str | None:
    """Return a diff without the colors of `--color=always`, None for a text without any. Raises MalformedEdit.

    A color starts where none is active: others are part of the colored lines, and can't be told apart.
    """
    if "\x1b[" not in text:
        return None
    resets = {match[1] for match in _COLOR.finditer(text) if match[1] in ("", "0") and match[2] == "m"}
    plain = []
    for number, line in enumerate(text.split("\n"), 1):
        active = False
        for match in _COLOR.finditer(line):
            starts = match[1] not in ("", "0") and match[2] == "m"
            if starts and active:
                resets = {"", "0"}
                break
            active = starts or (active and match[2] == "K")
        stripped = _COLOR.sub("", line)
        if len(resets) > 1 or "\x1b" in stripped:
            raise MalformedEdit(
                f"line {number}: the colors of the terminal and those of the text can't be told apart: give the diff "
                "without colors (git diff --no-color)"
            )
        plain.append(stripped)
    return "\n".join(plain)


def strip_line_prefix(text: str) -> str | None:
    """Return a text without the prefix of all its lines, as before a diff of `--line-prefix` or in a quoted mail."""
    for prefix in _find_line_prefixes(text):
        bare = prefix.rstrip()
        lines = text.split("\n")
        if all(line.startswith(prefix) or line.rstrip() in ("", bare) for line in lines):
            return "\n".join(line[len(prefix) :] for line in lines)
    return None


def _find_line_prefixes(text: str) -> Iterator[str]:
    """Yield what precedes the first header of a file in its line."""
    match = _HEADER.search("\n" + text, 1) if "diff --git " in text or "+++ " in text else None
    if match is not None:
        yield match["prefix"].rpartition("\n")[2]
