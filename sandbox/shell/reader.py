"""Read bash source into the commands that it can run. What is not surely understood stops the reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sandbox.shell.syntax import Assignment, Misread, Reading, Redirect, Simple, Word, wordset
from sandbox.shell.tokens import TokenReader

RESERVED = wordset("if then elif else fi for while until do done case esac in select function { } ! [[")
"""Words that are no commands where a command may begin. (`time` and `coproc` are read on their own.)"""

_FUNCTION = re.compile(r"([^\s|&;()<>'\"\\$`=]+)[ \t]*\([ \t]*\)")
_REDIRECT = re.compile(
    r"(?:[0-9]+|\{(?P<variable>[A-Za-z_][A-Za-z0-9_]*)\})?(?P<operator><<<|<<-?|<>|<&|<(?!\()|>>|>\||>&|>(?!\())"
    r"|(?P<both>&>>?)"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?\+?=")
_SUBSCRIPTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_LOOP_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=[\s;]|\Z)")
_CALCULATES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_OPERAND = re.compile(
    r"\"?(?:-?[0-9]+|\$\{#[A-Za-z_][A-Za-z0-9_]*\}|\$[?#]|\$?(?P<name>[A-Za-z_][A-Za-z0-9_]*))\"?"
)


def read(source: str) -> Reading:
    """Read a source (see `syntax.as_source`). Problems are in the result; nothing is raised."""
    reading = Reading(source=source)
    reader = _Reader(reading)
    try:
        reader.script("")
    except Misread as trouble:
        reader.problem(str(trouble))
    return reading


class _Reader(TokenReader):
    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._repeating = 0
        self._optional = 0  # above 0: what is read now may not be run
        self._compounds: Mapping[str, Callable[[], None]] = {
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "{": self._group,
            "[[": self._test,
            "function": self._function,
        }

    def script(self, closer: str) -> None:
        outer, self._pending = self._pending, []
        self._list((closer,) if closer else ())
        if self._pending:
            raise Misread("a here-document has no end")
        if closer:
            self._expect(closer)
        elif self.at < self.end:
            raise Misread(f"{self.char()!r} is not expected here")
        self._pending = outer

    # ── Lists and pipelines ──────────────────────────────────────────────────────────────────────

    def _list(self, stops: tuple[str, ...]) -> None:
        """Commands up to one of the words or operators in `stops`, which is left unread."""
        while True:
            self._newlines()
            if self.at >= self.end or self._token() in stops or self._operator(stops):
                return
            self._pipeline()
            while self._take("&&") or self._take("||"):
                self._newlines()
                self._optional += 1
                self._pipeline()
                self._optional -= 1
            if self._operator(stops):
                return
            if not (self._take("&") or self._take(";") or self.char() in ("\n", "")):
                raise Misread(f"{self.char()!r} is not expected here")

    def _operator(self, stops: tuple[str, ...]) -> bool:
        return self.char() in (")", ";") and any(self.source.startswith(each, self.at) for each in stops)

    def _pipeline(self) -> None:
        self._prefixes()
        self._command()
        while self.char() == "|" and self.char(1) != "|":
            self.at += 2 if self.char(1) == "&" else 1
            self._newlines()
            self._optional += 1
            self._prefixes()
            self._command()
            self._optional -= 1

    def _prefixes(self) -> None:
        """`!` and `time`, which say nothing about what runs."""
        while (token := self._token()) in ("!", "time"):
            self.at += len(token)
            self._blank()
            if token == "time":
                if self._token() == "-p":
                    self.at += 2
                    self._blank()
                if self.char() in ("-", "\n", ";", "&", "|", ")", ""):
                    raise Misread("`time` with options")

    def _command(self) -> None:
        self.deeper()
        token = self._token()
        start = self.at
        if token in self._compounds:
            self.at += len(token)
            self._compounds[token]()
            self._compound_end(start)
        elif token in RESERVED or token == "coproc":
            raise Misread(f"{token!r} is not expected here")
        elif self.source.startswith("((", self.at):
            self.at += 2
            self.arithmetic()
            self._compound_end(start)
        elif self.char() == "(":
            self.at += 1
            self._list((")",))
            self._expect(")")
            self._compound_end(start)
        elif match := _FUNCTION.match(self.source, self.at, self.end):
            self.at = match.end()
            self._defined(match[1])
        else:
            self._simple()
        self.depth -= 1

    def _compound_end(self, start: int) -> None:
        """Redirections after a compound command."""
        rest = Simple(start=start, repeated=self._repeating > 0)
        self._blank()
        while self._redirect(rest):
            self._blank()
        if rest.redirects:
            rest.start, rest.end = rest.redirects[0].start, rest.redirects[-1].end
            self.reading.commands.append(rest)

    # ── Simple commands ──────────────────────────────────────────────────────────────────────────

    def _simple(self) -> None:
        command = Simple(start=self.at, end=self.at, repeated=self._repeating > 0)
        place = len(self.reading.commands)
        while self.at < self.end:
            if self._redirect(command) or (not command.words and self._assignment(command)):
                pass
            else:
                word = self.word()
                if word.end == word.start:
                    break
                command.words.append(word)
            command.end = self.at
            self._blank()
        if command.end == command.start:
            raise Misread(f"{self.char()!r} is not expected here" if self.char() else "a command is missing")
        # before what its substitutions run: the order of the text, for whoever reads the list
        self.reading.commands.insert(place, command)

    def _assignment(self, command: Simple) -> bool:
        match = _ASSIGNMENT.match(self.source, self.at, self.end)
        if not match:
            if _SUBSCRIPTED.match(self.source, self.at, self.end):
                raise Misread("a subscript can run code")
            return False
        if match[2] and not match[2][1:-1].isdigit():
            raise Misread("a subscript can run code")
        start, name = self.at, match[1]
        self.at = match.end()
        value: Word | None = None
        if self.char() == "(":
            self.at += 1
            self._array()
        else:
            value = self.word()
        command.assignments.append(Assignment(name=name, value=value, start=start, end=self.at))
        return True

    def _array(self) -> None:
        while True:
            self._newlines()
            if self.char() == ")":
                self.at += 1
                return
            word = self.word()
            if word.start == word.end or self.source[word.start] == "[":
                raise Misread("an array that is not a plain list of words")

    def _redirect(self, command: Simple) -> bool:
        match = _REDIRECT.match(self.source, self.at, self.end)
        if not match:
            return False
        operator = match["operator"] or match["both"]
        redirect = Redirect(operator=operator, start=self.at, end=0, variable=match["variable"] or "")
        self.at = match.end()
        self._blank()
        if operator in ("<<", "<<-"):
            self._delimiter(redirect, strip=operator == "<<-")
        else:
            redirect.target = self.word()
            if redirect.target.start == redirect.target.end:
                raise Misread("a redirection leads nowhere")
        redirect.end = self.at
        command.redirects.append(redirect)
        return True

    # ── Compound commands ────────────────────────────────────────────────────────────────────────

    def _if(self) -> None:
        self._list(("then",))
        self._expect("then")
        self._list(("elif", "else", "fi"))
        while self._word_is("elif"):
            self._list(("then",))
            self._expect("then")
            self._list(("elif", "else", "fi"))
        if self._word_is("else"):
            self._list(("fi",))
        self._expect("fi")

    def _while(self) -> None:
        self._repeating += 1
        self._list(("do",))
        self._body_of_loop()

    def _body_of_loop(self) -> None:
        self._expect("do")
        self._list(("done",))
        self._expect("done")
        self._repeating -= 1

    def _for(self) -> None:
        self._repeating += 1
        self._blank()
        if self.source.startswith("((", self.at):
            self.at += 2
            for closer in (";", ";", "))"):
                self.arithmetic(closer)
        else:
            match = _LOOP_NAME.match(self.source, self.at, self.end)
            if not match:
                raise Misread("a loop without a plain variable")
            self.reading.bound.add(match[0])
            self.at = match.end()
            self._newlines()
            if self._word_is("in"):
                self._blank()
                while (word := self.word()).end > word.start:
                    self._blank()
        self._blank()
        self._take(";")
        self._newlines()
        self._body_of_loop()

    def _case(self) -> None:
        self._blank()
        self.word()
        self._newlines()
        self._expect("in")
        while True:
            self._newlines()
            if self._word_is("esac"):
                return
            if self.char() == "(":
                self.at += 1
                self._blank()
            while True:
                word = self.word()
                if word.end == word.start:
                    raise Misread("a case without a pattern")
                self._blank()
                if self.char() == ")":
                    self.at += 1
                    break
                self._expect("|")
                self._blank()
            self._list((";;", ";&", "esac"))
            if not (self._take(";;&") or self._take(";;") or self._take(";&")):
                self._expect("esac")
                return

    def _group(self) -> None:
        self._list(("}",))
        self._expect("}")

    def _function(self) -> None:
        self._blank()
        name = self._token()
        if not name:
            raise Misread("a function without a plain name")
        self.at += len(name)
        self._blank()
        if self._take("("):
            self._blank()
            self._expect(")")
        self._defined(name)

    def _defined(self, name: str) -> None:
        """The body of a function."""
        sure = self.depth == 1 and not self._optional and name not in self.reading.functions
        self._repeating += 1
        self._newlines()
        if self._token() not in self._compounds and self.char() != "(":
            raise Misread("a function without a body")
        self._command()
        self._repeating -= 1
        sure = sure and self.char() in ("\n", ";", "")
        self.reading.functions[name] = self.at if sure else -1

    def _test(self) -> None:
        """`[[ … ]]`: only its substitutions run, unless it calculates or looks into a subscript."""
        previous = calculating = ""
        while True:
            self._newlines()
            if self._word_is("]]"):
                return
            if (
                self._take("&&")
                or self._take("||")
                or (self.char() in tuple("()<>") and self._take(self.char()))
            ):
                continue
            word = self.word()
            text = self.source[word.start : word.end]
            if word.end == word.start:
                raise Misread("the closing ]] is missing")
            if text in _CALCULATES:
                self._operand(previous)
            elif calculating:
                self._operand(text)
            elif previous in ("-v", "-R") and not _LOOP_NAME.fullmatch(text):
                raise Misread(f"[[ {previous} … ]] can run code")
            elif text == "=~":
                self._blank()
                self._regex()
            previous, calculating = text, text if text in _CALCULATES else ""

    def _operand(self, text: str) -> None:
        """One side of `-eq` and its like, which is evaluated as arithmetic."""
        match = _OPERAND.fullmatch(text)
        if not match:
            raise Misread("[[ … ]] with arithmetic that can run code")
        if match["name"]:
            self.reading.calculated.add(match["name"])

    def _regex(self) -> None:
        """The right side of `=~`, where parentheses and bars belong to the word."""
        open_parentheses, scrap = 0, Word(start=self.at)
        while self.at < self.end:
            char = self.source[self.at]
            if char in " \t\n" and not open_parentheses:
                return
            open_parentheses += {"(": 1, ")": -1}.get(char, 0)
            if open_parentheses < 0 or char in "<>&;":
                raise Misread("a regular expression that is not understood")
            if char in "\\'\"$`" and not (char == "$" and self.char(1) in " \t\n)|"):
                self._special(scrap, char)
            else:
                self.at += 1
