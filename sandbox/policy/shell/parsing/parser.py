"""Parser of bash source into the commands that it can run. It stops at syntax that it does not surely understand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import (
    Assignment,
    ParsedSource,
    Redirect,
    SimpleCommand,
    UnsupportedSyntax,
    Word,
    parse_word_set,
)
from sandbox.policy.shell.parsing.token_reader import TokenReader

RESERVED = parse_word_set(
    "if then elif else fi for while until do done case esac in select function { } ! [["
)
"""Words that are no commands at the start of a command. (`time` and `coproc` are handled separately.)"""

_FUNCTION = compile_lazily(r"([^\s|&;()<>'\"\\$`=]+)[ \t]*\([ \t]*\)")
_REDIRECT = compile_lazily(
    r"(?:[0-9]+|\{(?P<variable>[A-Za-z_][A-Za-z0-9_]*)\})?(?P<operator><<<|<<-?|<>|<&|<(?!\()|>>|>\||>&|>(?!\())"
    r"|(?P<both>&>>?)"
)
_ASSIGNMENT = compile_lazily(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?\+?=")
_SUBSCRIPTED = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*\[")
_LOOP_NAME = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*(?=[\s;]|\Z)")
_CALCULATES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_OPERAND = compile_lazily(
    r"\"?(?:-?[0-9]+|\$\{#[A-Za-z_][A-Za-z0-9_]*\}|\$[?#]|\$?(?P<name>[A-Za-z_][A-Za-z0-9_]*))\"?"
)


def parse_source(source: str) -> ParsedSource:
    """Parse a source (see `syntax.encode_source`). Problems are in the result; nothing is raised."""
    reading = ParsedSource(source=source)
    reader = _Reader(reading)
    try:
        reader.read_script("")
    except UnsupportedSyntax as trouble:
        reader.note_problem(str(trouble))
    return reading


class _Reader(TokenReader):
    def __init__(self, reading: ParsedSource) -> None:
        super().__init__(reading)
        self._repeating = 0
        self._optional = 0  # above 0: the code being read may not be run
        self._compounds: Mapping[str, Callable[[], None]] = {
            "if": self._read_if,
            "while": self._read_while,
            "until": self._read_while,
            "for": self._read_for,
            "select": self._read_for,
            "case": self._read_case,
            "{": self._read_group,
            "[[": self._read_test,
            "function": self._read_function,
        }

    def read_script(self, closer: str) -> None:
        outer, self._pending = self._pending, []
        self._read_list((closer,) if closer else ())
        if self._pending:
            raise UnsupportedSyntax("a here-document has no end")
        if closer:
            self._expect(closer)
        elif self.at < self.end:
            raise UnsupportedSyntax(f"{self.peek()!r} is not expected here")
        self._pending = outer

    # ── Lists and pipelines ──────────────────────────────────────────────────────────────────────

    def _read_list(self, stops: tuple[str, ...]) -> None:
        """Read commands up to one of the words or operators in `stops`, which is left unread."""
        while True:
            self._skip_newlines()
            if self.at >= self.end or self._peek_token() in stops or self._is_at_operator(stops):
                return
            self._read_pipeline()
            while self._take_operator("&&") or self._take_operator("||"):
                self._skip_newlines()
                self._optional += 1
                self._read_pipeline()
                self._optional -= 1
            if self._is_at_operator(stops):
                return
            if not (self._take_operator("&") or self._take_operator(";") or self.peek() in ("\n", "")):
                raise UnsupportedSyntax(f"{self.peek()!r} is not expected here")

    def _is_at_operator(self, stops: tuple[str, ...]) -> bool:
        return self.peek() in (")", ";") and any(self.source.startswith(each, self.at) for each in stops)

    def _read_pipeline(self) -> None:
        self._skip_prefixes()
        self._read_command()
        while self.peek() == "|" and self.peek(1) != "|":
            self.at += 2 if self.peek(1) == "&" else 1
            self._skip_newlines()
            self._optional += 1
            self._skip_prefixes()
            self._read_command()
            self._optional -= 1

    def _skip_prefixes(self) -> None:
        """Skip `!` and `time`, which do not affect the commands run."""
        while (token := self._peek_token()) in ("!", "time"):
            self.at += len(token)
            self._skip_blanks()
            if token == "time":
                if self._peek_token() == "-p":
                    self.at += 2
                    self._skip_blanks()
                if self.peek() in ("-", "\n", ";", "&", "|", ")", ""):
                    raise UnsupportedSyntax("`time` with options")

    def _read_command(self) -> None:
        self.enter_level()
        token = self._peek_token()
        start = self.at
        if token in self._compounds:
            self.at += len(token)
            self._compounds[token]()
            self._read_compound_redirects(start)
        elif token in RESERVED or token == "coproc":
            raise UnsupportedSyntax(f"{token!r} is not expected here")
        elif self.source.startswith("((", self.at):
            self.at += 2
            self.read_arithmetic()
            self._read_compound_redirects(start)
        elif self.peek() == "(":
            self.at += 1
            self._read_list((")",))
            self._expect(")")
            self._read_compound_redirects(start)
        elif match := _FUNCTION.match(self.source, self.at, self.end):
            self.at = match.end()
            self._read_function_body(match[1])
        else:
            self._read_simple_command()
        self.depth -= 1

    def _read_compound_redirects(self, start: int) -> None:
        """Read redirections after a compound command."""
        rest = SimpleCommand(start=start, repeated=self._repeating > 0)
        self._skip_blanks()
        while self._read_redirect(rest):
            self._skip_blanks()
        if rest.redirects:
            rest.start, rest.end = rest.redirects[0].start, rest.redirects[-1].end
            self.reading.commands.append(rest)

    # ── Simple commands ──────────────────────────────────────────────────────────────────────────

    def _read_simple_command(self) -> None:
        command = SimpleCommand(start=self.at, end=self.at, repeated=self._repeating > 0)
        place = len(self.reading.commands)
        while self.at < self.end:
            if self._read_redirect(command) or (not command.words and self._read_assignment(command)):
                pass
            else:
                word = self.read_word()
                if word.end == word.start:
                    break
                command.words.append(word)
            command.end = self.at
            self._skip_blanks()
        if command.end == command.start:
            raise UnsupportedSyntax(
                f"{self.peek()!r} is not expected here" if self.peek() else "a command is missing"
            )
        # inserted before the commands of its substitutions, to keep the order of the text
        self.reading.commands.insert(place, command)

    def _read_assignment(self, command: SimpleCommand) -> bool:
        match = _ASSIGNMENT.match(self.source, self.at, self.end)
        if not match:
            if _SUBSCRIPTED.match(self.source, self.at, self.end):
                raise UnsupportedSyntax("a subscript can run code")
            return False
        if match[2] and not match[2][1:-1].isdigit():
            raise UnsupportedSyntax("a subscript can run code")
        start, name = self.at, match[1]
        self.at = match.end()
        value: Word | None = None
        if self.peek() == "(":
            self.at += 1
            self._read_array()
        else:
            value = self.read_word()
        command.assignments.append(Assignment(name=name, value=value, start=start, end=self.at))
        return True

    def _read_array(self) -> None:
        while True:
            self._skip_newlines()
            if self.peek() == ")":
                self.at += 1
                return
            word = self.read_word()
            if word.start == word.end or self.source[word.start] == "[":
                raise UnsupportedSyntax("an array that is not a plain list of words")

    def _read_redirect(self, command: SimpleCommand) -> bool:
        match = _REDIRECT.match(self.source, self.at, self.end)
        if not match:
            return False
        operator = match["operator"] or match["both"]
        redirect = Redirect(operator=operator, start=self.at, end=0, variable=match["variable"] or "")
        self.at = match.end()
        self._skip_blanks()
        if operator in ("<<", "<<-"):
            self._read_delimiter(redirect, strip=operator == "<<-")
        else:
            redirect.target = self.read_word()
            if redirect.target.start == redirect.target.end:
                raise UnsupportedSyntax("a redirection leads nowhere")
        redirect.end = self.at
        command.redirects.append(redirect)
        return True

    # ── Compound commands ────────────────────────────────────────────────────────────────────────

    def _read_if(self) -> None:
        self._read_list(("then",))
        self._expect("then")
        self._read_list(("elif", "else", "fi"))
        while self._take_word("elif"):
            self._read_list(("then",))
            self._expect("then")
            self._read_list(("elif", "else", "fi"))
        if self._take_word("else"):
            self._read_list(("fi",))
        self._expect("fi")

    def _read_while(self) -> None:
        self._repeating += 1
        self._read_list(("do",))
        self._read_loop_body()

    def _read_loop_body(self) -> None:
        self._expect("do")
        self._read_list(("done",))
        self._expect("done")
        self._repeating -= 1

    def _read_for(self) -> None:
        self._repeating += 1
        self._skip_blanks()
        if self.source.startswith("((", self.at):
            self.at += 2
            for closer in (";", ";", "))"):
                self.read_arithmetic(closer)
        else:
            match = _LOOP_NAME.match(self.source, self.at, self.end)
            if not match:
                raise UnsupportedSyntax("a loop without a plain variable")
            self.reading.bound.add(match[0])
            words = self.reading.loops.setdefault(match[0], [])
            self.at = match.end()
            self._skip_newlines()
            if self._take_word("in"):
                self._skip_blanks()
                while (word := self.read_word()).end > word.start:
                    words.append(word)
                    self._skip_blanks()
        self._skip_blanks()
        self._take_operator(";")
        self._skip_newlines()
        self._read_loop_body()

    def _read_case(self) -> None:
        self._skip_blanks()
        self.read_word()
        self._skip_newlines()
        self._expect("in")
        while True:
            self._skip_newlines()
            if self._take_word("esac"):
                return
            if self.peek() == "(":
                self.at += 1
                self._skip_blanks()
            while True:
                word = self.read_word()
                if word.end == word.start:
                    raise UnsupportedSyntax("a case without a pattern")
                self._skip_blanks()
                if self.peek() == ")":
                    self.at += 1
                    break
                self._expect("|")
                self._skip_blanks()
            self._read_list((";;", ";&", "esac"))
            if not (self._take_operator(";;&") or self._take_operator(";;") or self._take_operator(";&")):
                self._expect("esac")
                return

    def _read_group(self) -> None:
        self._read_list(("}",))
        self._expect("}")

    def _read_function(self) -> None:
        self._skip_blanks()
        name = self._peek_token()
        if not name:
            raise UnsupportedSyntax("a function without a plain name")
        self.at += len(name)
        self._skip_blanks()
        if self._take_operator("("):
            self._skip_blanks()
            self._expect(")")
        self._read_function_body(name)

    def _read_function_body(self, name: str) -> None:
        """Read the body of a function."""
        sure = self.depth == 1 and not self._optional and name not in self.reading.functions
        self._repeating += 1
        self._skip_newlines()
        if self._peek_token() not in self._compounds and self.peek() != "(":
            raise UnsupportedSyntax("a function without a body")
        self._read_command()
        self._repeating -= 1
        sure = sure and self.peek() in ("\n", ";", "")
        self.reading.functions[name] = self.at if sure else -1

    def _read_test(self) -> None:
        """Read `[[ … ]]`: only its substitutions run, unless it has arithmetic or a subscript."""
        previous = calculating = ""
        while True:
            self._skip_newlines()
            if self._take_word("]]"):
                return
            if (
                self._take_operator("&&")
                or self._take_operator("||")
                or (self.peek() in tuple("()<>") and self._take_operator(self.peek()))
            ):
                continue
            word = self.read_word()
            text = self.source[word.start : word.end]
            if word.end == word.start:
                raise UnsupportedSyntax("the closing ]] is missing")
            if text in _CALCULATES:
                self._check_operand(previous)
            elif calculating:
                self._check_operand(text)
            elif previous in ("-v", "-R") and not _LOOP_NAME.fullmatch(text):
                raise UnsupportedSyntax(f"[[ {previous} … ]] can run code")
            elif text == "=~":
                self._skip_blanks()
                self._read_regex()
            previous, calculating = text, text if text in _CALCULATES else ""

    def _check_operand(self, text: str) -> None:
        """Check one operand of `-eq` and similar operators, which is evaluated as arithmetic."""
        match = _OPERAND.fullmatch(text)
        if not match:
            raise UnsupportedSyntax("[[ … ]] with arithmetic that can run code")
        if match["name"]:
            self.reading.calculated.add(match["name"])

    def _read_regex(self) -> None:
        """Read the right side of `=~`, where parentheses and bars belong to the word."""
        open_parentheses, scrap = 0, Word(start=self.at)
        while self.at < self.end:
            char = self.source[self.at]
            if char in " \t\n" and not open_parentheses:
                return
            open_parentheses += {"(": 1, ")": -1}.get(char, 0)
            if open_parentheses < 0 or char in "<>&;":
                raise UnsupportedSyntax("a regular expression that is not understood")
            if char in "\\'\"$`" and not (char == "$" and self.peek(1) in " \t\n)|"):
                self._read_special(scrap, char)
            else:
                self.at += 1
