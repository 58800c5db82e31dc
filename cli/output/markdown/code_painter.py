"""Line-by-line syntax highlighting: each line once, however long the code is that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from cli.output.style.terminal import measure_columns
from cli.output.style.theme import apply_style
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.output.markdown.line_lexer import LineLexer

LONGEST_LINE = 2_000
"""Maximum characters of a highlighted line: lexers are not made for minified files."""

TAB_STOP = 8
"""Columns of a tab on a terminal. A tab that is printed as such is copied as one from terminals that keep it."""

OF_NO_LANGUAGE = "cyan"
"""Style of code whose language is not known, as of code within a line: nothing else tells it from prose."""


class CodePainter:
    """Highlighter for the lines of one piece of code, in order.

    language: as named by a fence; without colour the text is unchanged
    unknown: style of text without a known lexer
    """

    def __init__(self, language: str, *, colour: bool, unknown: str = "") -> None:
        self._lexer = _find_lexer(language) if colour and language else None
        self._unknown = unknown if colour else ""

    def paint_line(self, text: str, width: int = 0) -> str:
        """Return the line, safe and coloured, broken at exactly `width` columns if one is given; then without tabs."""
        parts = self.tokenize_line(expand_tabs(text) if width else text)
        if not width or (text.isascii() and sum([len(part) for _, part in parts]) <= width):
            return _join_parts(parts)
        return "\n".join(break_rows(parts, width))

    def preview_line(self, text: str, width: int) -> str:
        """Return an incomplete line like `paint_line`, without changing the lexer's state."""
        if self._lexer is None:
            return self.paint_line(text, width)
        stack = self._lexer.stack
        shown = self.paint_line(text, width)
        self._lexer.stack = stack
        return shown

    def tokenize_line(self, text: str) -> list[tuple[str, str]]:
        """Return (style, text) of the parts of a line, safe; neighbours have different styles."""
        text = sanitize_text(text)
        if self._lexer is None or len(text) > LONGEST_LINE:
            return [(self._unknown, text)]
        parts: list[tuple[str, str]] = []
        last, run = "", ""
        for kind, value in self._lexer.lex_line(text + "\n"):
            style = _STYLES.get(kind)
            if style is None:
                style = _find_style(kind)
            if style == last:
                run += value
            else:
                if run:
                    parts.append((last, run))
                last, run = style, value
        if run := run.rstrip("\n"):
            parts.append((last, run))
        return parts


def expand_tabs(text: str) -> str:
    """Return a line with blanks in place of tabs, as wide as a terminal draws them."""
    return text.expandtabs(TAB_STOP)


def break_rows(parts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return the coloured rows of a line, broken at exactly `width` columns."""
    if sum(measure_columns(text) for _, text in parts) <= width:
        return [_join_parts(parts)]
    rows, row, taken = [], "", 0
    for style, text in parts:
        while text:
            room = max(width, 2) - taken
            part = text if measure_columns(text) <= room else _cut_prefix(text, room)
            if not part and taken:
                rows.append(row)
                row, taken = "", 0
                continue
            part = part or text[0]
            row += apply_style(part, style)
            taken += measure_columns(part)
            text = text[len(part) :]
    return [*rows, row]


def _join_parts(parts: Sequence[tuple[str, str]]) -> str:
    return "".join([apply_style(text, style) if style else text for style, text in parts])


def _cut_prefix(text: str, room: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += measure_columns(character)
        if taken > room:
            return text[:index]
    return text


def _find_lexer(language: str) -> LineLexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    from cli.output.markdown.line_lexer import LineLexer

    try:
        return LineLexer(get_lexer_by_name(language, ensurenl=False, stripnl=False))
    except (ClassNotFound, ImportError):
        return None


@cache
def find_language(path: str) -> str:
    """Return the name of the lexer for a file's name, "" if there is none."""
    if (common := _COMMON.get(path[path.rfind(".") :])) is not None:
        return common
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(path) if path else None
    return str(found.aliases[0]) if found is not None and found.aliases else ""


_COMMON = {
    ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".css": "css", ".go": "go", ".h": "c", ".html": "html",
    ".java": "java", ".js": "javascript", ".json": "json", ".jsx": "jsx", ".kt": "kotlin", ".md": "markdown",
    ".php": "php", ".py": "python", ".rb": "ruby", ".rs": "rust", ".sh": "bash", ".sql": "sql", ".toml": "toml",
    ".ts": "typescript", ".tsx": "tsx", ".txt": "", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
"""Names of lexers by suffix: pygments compiles 900 patterns to find one, for a tenth of a second."""


def _find_style(kind: Any) -> str:
    """Return the style of a token kind, or of its nearest ancestor; cached."""
    if kind not in _STYLES:
        found, each = "", kind
        while each is not None and not (found := _BY_NAME.get(str(each), "")):
            each = each.parent
        _STYLES[kind] = found
    return _STYLES[kind]


_STYLES: dict[Any, str] = {}

_BY_NAME = {
    "Token.Comment": "code.comment",
    "Token.Comment.Preproc": "code.keyword",
    "Token.Keyword": "code.keyword",
    "Token.Keyword.Type": "code.type",
    "Token.Operator.Word": "code.keyword",
    "Token.Name.Builtin": "code.builtin",
    "Token.Name.Function": "code.function",
    "Token.Name.Class": "code.function",
    "Token.Name.Decorator": "code.builtin",
    "Token.Name.Exception": "code.builtin",
    "Token.Name.Tag": "code.keyword",
    "Token.Name.Attribute": "code.builtin",
    "Token.Literal.String": "code.string",
    "Token.Literal.Number": "code.number",
    "Token.Generic.Deleted": "red",
    "Token.Generic.Inserted": "green",
    "Token.Generic.Heading": "bold",
    "Token.Generic.Subheading": "cyan",
}
