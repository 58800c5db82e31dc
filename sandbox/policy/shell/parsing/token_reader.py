"""Read the text between words: operators, blanks, comments, newlines and here-documents."""

from __future__ import annotations

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import ParsedSource, Redirect, UnsupportedSyntax, Word
from sandbox.policy.shell.parsing.word_reader import WordReader

_BLANK = compile_lazily(r"(?:[ \t]+(?:\\\n)*)+")
_COMMENT = compile_lazily(r"#[^\n]*")
_TOKEN = compile_lazily(r"[^\s|&;()<>'\"\\$`]+(?=[\s|&;()<>]|\Z)")
_DELIMITER = compile_lazily(r"(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|(\\?)([A-Za-z0-9_.+\-]+))(?=[\s|&;()<>]|\Z)")

_Pending = tuple[Redirect, str, bool, bool]


class TokenReader(WordReader):
    """Reader of tokens; the here-documents announced on a line are read with its newline."""

    def __init__(self, reading: ParsedSource) -> None:
        super().__init__(reading)
        self._pending: list[_Pending] = []

    def _is_word_start(self) -> bool:
        return self.at == 0 or self.source[self.at - 1] in " \t\n|&;()<>"

    def _peek_token(self) -> str:
        """Return the word at the present position if it is unquoted: only then can it be reserved."""
        match = _TOKEN.match(self.source, self.at, self.end)
        return match[0] if match else ""

    def _take_operator(self, operator: str) -> bool:
        if not self.source.startswith(operator, self.at) or self.at + len(operator) > self.end:
            return False
        self.at += len(operator)
        return True

    def _take_word(self, token: str) -> bool:
        if self._peek_token() != token:
            return False
        self.at += len(token)
        return True

    def _expect(self, token: str) -> None:
        if not (self._take_word(token) if token[0].isalpha() or token == "}" else self._take_operator(token)):
            raise UnsupportedSyntax(f"{token!r} is missing")

    def _skip_blanks(self) -> None:
        """Skip blanks, continued lines and a comment."""
        if match := _BLANK.match(self.source, self.at, self.end):
            self.at = match.end()
        if (
            self.peek() == "#"
            and self._is_word_start()
            and (match := _COMMENT.match(self.source, self.at, self.end))
        ):
            self.at = match.end()

    def _skip_newlines(self) -> None:
        while True:
            self._skip_blanks()
            if self.peek() == "\n":
                self.at += 1
                if self._pending:
                    self._read_bodies()
            elif self.peek() == "\\" and self.peek(1) == "\n" and self._is_word_start():
                self.at += 2
            else:
                return

    # ── Here-documents ───────────────────────────────────────────────────────────────────────────

    def _read_delimiter(self, redirect: Redirect, *, strip: bool) -> None:
        match = _DELIMITER.match(self.source, self.at, self.end)
        if not match:
            raise UnsupportedSyntax("a here-document whose end is not a plain word")
        self.at = match.end()
        word = match[1] or match[2] or match[4]
        self._pending.append((redirect, word, match[4] is None or bool(match[3]), strip))

    def _read_bodies(self) -> None:
        """Read the here-documents that were announced on the line just ended."""
        pending, self._pending = self._pending, []
        for redirect, delimiter, inert, strip in pending:
            start = self.at
            while True:
                if self.at >= self.end:
                    raise UnsupportedSyntax("a here-document has no end")
                newline = self.source.find("\n", self.at, self.end)
                line_end = newline if newline >= 0 else self.end
                line = self.source[self.at : line_end]
                if (line.lstrip("\t") if strip else line) == delimiter:
                    break
                self.at = line_end + 1
            if not inert and "\\\n" in self.source[start : self.at]:
                raise UnsupportedSyntax("a here-document with a continued line, which may hide its end")
            redirect.body = self._read_body(start, self.at, inert=inert)
            self.at = min(line_end + 1, self.end)

    def _read_body(self, start: int, end: int, *, inert: bool) -> Word:
        if inert:
            return Word(start=start, end=end, parts=[("quoted", self.source[start:end])])
        self.at = start
        return self.read_expanded_body(end)
