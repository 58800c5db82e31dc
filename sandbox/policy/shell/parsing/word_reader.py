"""Read words as bash does: quotes, escapes, expansions, substitutions, arithmetic."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import ParsedSource, PartKind, UnsupportedSyntax, Word

MAX_DEPTH = 40
"""No user nests deeper, and each level costs a few Python frames."""

_PLAIN = compile_lazily(r"[^\s|&;()<>\\'\"`$]+")
_PLAIN_IN_DOUBLE = compile_lazily(r"[^\\\"`$]+")
_PLAIN_IN_BODY = compile_lazily(r"[^\\`$]+")
_PLAIN_IN_BRACES = compile_lazily(r"[^\\'\"`${}]+")
_META = frozenset(" \t\n|&;()<>")

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SIMPLE_PARAMETER = compile_lazily(rf"\$({_NAME}|[0-9@*#?$!\-])")
_BRACED = compile_lazily(rf"\$\{{(#?)({_NAME}|[0-9]+|[@*#?$!\-])(\[(?:[@*]|[0-9]+)\])?")
_SLICE = compile_lazily(r":\s*-?[0-9]+\s*(?::\s*-?[0-9]+\s*)?\}|: +-[0-9]+\}")
_OPERATORS = compile_lazily(r":?[-=?+]|##?|%%?|//?[#%]?|\^\^?|,,?")
_NUMERIC = frozenset("?#$!")

_ARITHMETIC = compile_lazily(
    rf"\s+|0[xX][0-9a-fA-F]+|[0-9]+(?:#[0-9a-zA-Z@_]+)?|(?P<name>\$?{_NAME})|\$\{{(?P<braced>{_NAME})\}}"
    r"|\$[?#$]|[-+*/%=<>!~&|^?:,]+"
)

_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPES |= {"v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_ANSI = compile_lazily(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))"
)


class WordReader(ABC):
    """Reader from position `at` up to `end`; it advances `at`."""

    def __init__(self, reading: ParsedSource) -> None:
        self.reading = reading
        self.source = reading.source
        self.at = 0
        self.end = len(self.source)
        self.depth = 0

    @abstractmethod
    def read_script(self, closer: str) -> None:
        """Read commands up to a closing parenthesis (or the end, if `closer` is "") and skip it."""

    def note_problem(self, text: str) -> None:
        """Record something that is not understood, and read on."""
        if text not in self.reading.problems:
            self.reading.problems.append(text)

    def enter_level(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnsupportedSyntax("it is nested too deeply")

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.source[place] if place < self.end else ""

    def read_word(self) -> Word:
        """Read a word, which is empty if the next character cannot begin one."""
        word = Word(start=self.at)
        while self.at < self.end:
            if match := _PLAIN.match(self.source, self.at, self.end):
                word.parts.append(("text", match[0]))
                self.at = match.end()
                continue
            char = self.source[self.at]
            if char in _META:
                if char in "<>" and self.peek(1) == "(":
                    self._read_process_substitution(word)
                    continue
                break
            self._read_special(word, char)
        word.end = self.at
        return word

    def _read_special(self, word: Word, char: str) -> None:
        if char == "\\":
            following = self.peek(1)
            if following in ("\n", ""):
                raise UnsupportedSyntax("a line is continued inside a word")
            word.parts.append(("quoted", following))
            self.at += 2
        elif char == "'":
            close = self._find_closing("'", self.at + 1)
            word.parts.append(("quoted", self.source[self.at + 1 : close]))
            self.at = close + 1
        elif char == '"':
            self.at += 1
            word.parts.append(("quoted", ""))
            self._read_double_quotes(word, self.end)
        elif char == "$":
            self._read_dollar(word, quoted=False)
        elif char == "`":
            self._read_backticks(word, "split")
        else:
            raise UnsupportedSyntax(f"the character {char!r} is not expected here")

    def _find_closing(self, what: str, start: int) -> int:
        place = self.source.find(what, start, self.end)
        if place < 0:
            raise UnsupportedSyntax(f"the closing {what} is missing")
        return place

    def _read_double_quotes(self, word: Word, end: int) -> None:
        """Read the inside of double quotes, and the closing one."""
        while self.at < end:
            if match := _PLAIN_IN_DOUBLE.match(self.source, self.at, end):
                word.parts.append(("quoted", match[0]))
                self.at = match.end()
            elif self.source[self.at] == '"':
                self.at += 1
                return
            else:
                self._read_in_double(word, '$`"\\')
        raise UnsupportedSyntax('the closing " is missing')

    def read_expanded_body(self, end: int) -> Word:
        """Read the lines of a here-document with expansions."""
        word, outer = Word(start=self.at), self.end
        self.end = end
        while self.at < end:
            if match := _PLAIN_IN_BODY.match(self.source, self.at, end):
                word.parts.append(("quoted", match[0]))
                self.at = match.end()
            else:
                self._read_in_double(word, "$`\\")
        self.end = outer
        word.end = self.at
        return word

    def _read_in_double(self, word: Word, escapable: str) -> None:
        char = self.source[self.at]
        if char == "\\":
            following = self.peek(1)
            if following == "\n":
                self.at += 2
            elif following and following in escapable:
                word.parts.append(("quoted", following))
                self.at += 2
            else:
                word.parts.append(("quoted", "\\"))
                self.at += 1
        elif char == "$":
            self._read_dollar(word, quoted=True)
        else:
            self._read_backticks(word, "value")

    def _read_dollar(self, word: Word, *, quoted: bool) -> None:
        unknown: PartKind = "value" if quoted else "split"
        if match := _SIMPLE_PARAMETER.match(self.source, self.at, self.end):
            self.at = match.end()
            name = match[1]
            kind: PartKind = "number" if name in _NUMERIC else unknown
            word.parts.append(("list" if name == "@" and quoted else kind, match[0]))
            return
        following, start = self.peek(1), self.at
        if following == "(":
            if self.peek(2) == "(":
                self.at += 3
                self.read_arithmetic()
                unknown = "number"
            else:
                self.at += 2
                self._read_nested(")")
            word.parts.append((unknown, self.source[start : self.at]))
        elif following == "{":
            word.parts.append(
                (self._read_braced_parameter(unknown, quoted=quoted), self.source[start : self.at])
            )
        elif following == "'" and not quoted:
            self._read_ansi_quotes(word)
        elif (following == '"' and not quoted) or following in ("[", "\\", "\n"):
            raise UnsupportedSyntax(f"${following} is not expected here")
        else:
            word.parts.append(("quoted", "$"))
            self.at += 1

    def _read_nested(self, closer: str) -> None:
        self.enter_level()
        self.read_script(closer)
        self.depth -= 1

    def _read_process_substitution(self, word: Word) -> None:
        if word.parts:
            raise UnsupportedSyntax("a process substitution inside a word")
        start = self.at
        self.at += 2
        self._read_nested(")")
        if self.at < self.end and self.source[self.at] not in _META:
            raise UnsupportedSyntax("a process substitution inside a word")
        word.parts += [("quoted", "/dev/fd/"), ("number", self.source[start : self.at])]

    def _read_backticks(self, word: Word, kind: PartKind) -> None:
        start, outer = self.at, self.end
        close = self._find_closing("`", start + 1)
        if "\\" in self.source[start:close]:
            raise UnsupportedSyntax("a backslash between backticks")
        self.at, self.end = start + 1, close
        self._read_nested("")
        self.at, self.end = close + 1, outer
        word.parts.append((kind, self.source[start : self.at]))

    def _read_ansi_quotes(self, word: Word) -> None:
        r"""Read `$'…'`."""
        start = place = self.at + 2
        while self.source[place : place + 1] not in ("'", "") and place < self.end:
            place += 2 if self.source[place] == "\\" else 1
        if place >= self.end:
            raise UnsupportedSyntax("the closing ' is missing")
        value = _ANSI.sub(_decode_escape, self.source[start:place])
        if "\0" in value or "\\c" in self.source[start:place] or "\\x{" in self.source[start:place]:
            raise UnsupportedSyntax("a control character between $' and '")
        word.parts.append(("quoted", value))
        self.at = place + 1

    def _read_braced_parameter(self, unknown: PartKind, *, quoted: bool) -> PartKind:
        r"""Read `${…}`; return the kind of its part."""
        match = _BRACED.match(self.source, self.at, self.end)
        if not match:
            raise UnsupportedSyntax("${…} in a form that can run code")
        length, name, subscript = match[1], match[2], match[3] or ""
        self.at = match.end()
        if length or name in _NUMERIC:
            if self.peek() == "}":
                self.at += 1
                return "number"
            raise UnsupportedSyntax("${…} in a form that is not understood")
        kind: PartKind = "list" if quoted and "@" in (name, subscript[1:2]) else unknown
        if self.peek() == "}":
            self.at += 1
        elif match := _SLICE.match(self.source, self.at, self.end):
            self.at = match.end()
        elif match := _OPERATORS.match(self.source, self.at, self.end):
            self.at = match.end()
            if "=" in match[0]:
                self.reading.bound.add(name)
            self.enter_level()
            self._skip_alternative(quoted=quoted)
            self.depth -= 1
        else:
            raise UnsupportedSyntax("${…} in a form that can run code")
        return kind

    def _skip_alternative(self, *, quoted: bool) -> None:
        """Read the word after an operator in `${…}`, up to the brace. Its value is unknown, its commands count."""
        inner = Word(start=self.at)
        while self.at < self.end:
            if match := _PLAIN_IN_BRACES.match(self.source, self.at, self.end):
                self.at = match.end()
                continue
            char = self.source[self.at]
            if char == "}":
                self.at += 1
                return
            if char == "{" or (quoted and char in "'\""):
                raise UnsupportedSyntax(f"{char} between ${{ and }}")
            self._read_special(inner, char)
        raise UnsupportedSyntax("the closing } is missing")

    def read_arithmetic(self, closer: str = "))") -> None:
        """Read arithmetic up to its closer (`))` or, between the parts of a for loop, `;`), and skip it."""
        open_parentheses = 0
        while self.at < self.end:
            if match := _ARITHMETIC.match(self.source, self.at, self.end):
                self.at = match.end()
                if name := match["name"] or match["braced"]:
                    self.reading.calculated.add(name.lstrip("$"))
                continue
            char = self.source[self.at]
            if char == "(":
                open_parentheses += 1
                self.at += 1
            elif open_parentheses and char == ")":
                open_parentheses -= 1
                self.at += 1
            elif self.source.startswith(closer, self.at):
                self.at += len(closer)
                return
            else:
                raise UnsupportedSyntax("arithmetic that can run code")
        raise UnsupportedSyntax(f"the closing {closer} is missing")


def _decode_escape(match: re.Match[str]) -> str:
    escape, octal, byte, short, long = match.groups()
    if escape:
        return _ESCAPES[escape]
    if octal or byte:
        return chr(int(octal, 8) & 0xFF if octal else int(byte, 16))
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return "\0"  # bash's result is irrelevant: rejected together with NUL
    return chr(code).encode().decode("latin-1")
