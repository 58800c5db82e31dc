"""Line-by-line syntax highlighting: the lexer's state is kept between lines, so a line costs only its own length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cli.output.style.terminal import measure_columns
from cli.output.style.theme import apply_style
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_LINE = 2_000
"""Maximum characters of a highlighted line: lexers are not made for minified files."""


class CodePainter:
    """Highlighter for the lines of one piece of code, in order.

    language: as named by a fence; without a known lexer, or without colour, the text is unchanged
    """

    def __init__(self, language: str, *, colour: bool) -> None:
        self._lexer = _find_lexer(language) if colour and language else None
        self._stack = ["root"]

    def paint_line(self, text: str, width: int) -> str:
        """Return the line, safe and coloured, broken at exactly `width` columns."""
        return "\n".join(_break_rows(self._tokenize_line(text), width))

    def preview_line(self, text: str, width: int) -> str:
        """Return an incomplete line like `paint_line`, without changing the lexer's state."""
        stack = list(self._stack)
        shown = self.paint_line(text, width)
        self._stack = stack
        return shown

    def _tokenize_line(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield (style, text) of each token of a line."""
        if self._lexer is None or len(text) > LONGEST_LINE:
            yield "", text
            return
        for kind, value in self._lex_line(text + "\n"):
            if value := value.rstrip("\n"):
                yield _find_style(kind), value

    def _lex_line(self, line: str) -> Iterable[tuple[Any, str]]:
        from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

        lexer = self._lexer
        if not isinstance(lexer, RegexLexer):
            assert lexer is not None
            return list(lexer.get_tokens(line))
        context = LexerContext(line, 0, stack=list(self._stack))
        try:  # the extended lexer's loop over any lexer's table: it leaves the stack in the context
            found = list(ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context))
        except Exception:  # a lexer that needs more context: leave the line uncoloured
            return [(None, line)]
        self._stack = context.stack or ["root"]
        return [(kind, value) for _, kind, value in found]


def _break_rows(tokens: Iterable[tuple[str, str]], width: int) -> list[str]:
    rows, row, taken = [], "", 0
    for style, text in tokens:
        text = sanitize_text(text).replace("\t", "    ")
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


def _cut_prefix(text: str, room: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += measure_columns(character)
        if taken > room:
            return text[:index]
    return text


def _find_lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, ensurenl=False, stripnl=False)
    except (ClassNotFound, ImportError):
        return None


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
