"""Effects of sed and awk scripts other than reading and printing text."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_ADDRESS = compile_lazily(r"[0-9]+(?:~[0-9]+)?|\$")
_ADDRESS_FLAGS = compile_lazily(r"[IM]*")
_SECOND = compile_lazily(r"[ \t]*,[ \t]*(?:[+~][0-9]+|(?P<other>))")
_FLAGS = compile_lazily(r"[gpiIMm0-9]*")
_LABEL = compile_lazily(r"[ \t]*[A-Za-z0-9_]*[ \t]*(?=[;\n}]|\Z)")
_NUMBER = compile_lazily(r"[ \t]*[0-9]*")
_AFTER = compile_lazily(r"[ \t]*(?:[;\n]|(?=\})|\Z|(?=#))")
_PLAIN_COMMANDS = frozenset("=dDgGhHnNpPxzF")
_AWK_SUSPECT = compile_lazily(r"system|getline|@|\||>|close|fflush|ENVIRON|PROCINFO|ARG[CV]|extension|\\\n")
_AWK_HARMLESS = compile_lazily(r"\|\||>=")


def explain_sed_risk(script: str) -> str:
    """Return why a sed script may do more than print, "" if it surely does not."""
    return _SedReader(script).find_problem()


def explain_awk_risk(program: str) -> str:
    """Return why an awk program may do more than print, "" if it surely does not.

    Strings and regular expressions are not distinguished from code: an apparent string may be the text
    between two regular expressions with a quote each.
    """
    match = _AWK_SUSPECT.search(_AWK_HARMLESS.sub(" ", program))
    return f"its program may run commands or write files ({match[0]!r})" if match else ""


class _SedReader:
    """Reader of one sed command after the other; it gives up at the first that is not surely understood."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._at = 0

    def find_problem(self) -> str:
        if "\0" in self._script or "\r" in self._script:
            return "its script is not understood"
        while True:
            self._take_match(re.compile(r"[\s;{}]*"))
            if self._at >= len(self._script):
                return ""
            if reason := self._read_command():
                return reason

    def _read_command(self) -> str:
        if self._peek() == "#":
            end = self._script.find("\n", self._at)
            self._at = end if end >= 0 else len(self._script)
            return ""
        if not self._read_addresses():
            return "an address in its script is not understood"
        self._take_match(re.compile(r"[ \t!]*"))
        name = self._peek()
        self._at += 1
        if name == "{":
            return ""
        if name in _PLAIN_COMMANDS and name:
            return self._check_end()
        if name in ("q", "Q", "l", "L") and name:
            self._take_match(_NUMBER)
            return self._check_end()
        if name in (":", "b", "t", "T") and name:
            return (
                self._check_end()
                if self._take_match(_LABEL) is not None
                else "a label in its script is not understood"
            )
        if name in ("s", "y") and name:
            return self._read_substitution(name)
        if name in ("a", "i", "c") and name:
            return self._read_text()
        if name in ("w", "W", "e", "r", "R", "v") and name:
            return f"its script has the command {name!r}"
        return "its script is not understood"

    def _peek(self) -> str:
        return self._script[self._at : self._at + 1]

    def _take_match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._script, self._at)
        if not match:
            return None
        self._at = match.end()
        return match[0]

    def _check_end(self) -> str:
        return "" if self._take_match(_AFTER) is not None else "its script is not understood"

    def _read_addresses(self) -> bool:
        if not self._read_address():
            return self._peek() not in ("/", "\\", "$", ",") and not self._peek().isdigit()
        match = _SECOND.match(self._script, self._at)
        if not match:
            return True
        self._at = match.end()
        return match["other"] is None or self._read_address()

    def _read_address(self) -> bool:
        if self._take_match(_ADDRESS):
            return True
        if self._peek() == "/":
            self._at += 1
            found = self._skip_until("/")
        elif self._peek() == "\\" and self._script[self._at + 1 : self._at + 2] not in ("", "\n", "\\"):
            delimiter = self._script[self._at + 1]
            self._at += 2
            found = self._skip_until(delimiter)
        else:
            return False
        self._take_match(_ADDRESS_FLAGS)
        return found

    def _skip_until(self, delimiter: str) -> bool:
        """Skip a part and its delimiter. Implementations of sed differ on delimiters in brackets."""
        start = self._at
        while (char := self._peek()) != "":
            if char == "\\":
                self._at += 2
            elif char == delimiter:
                part = self._script[start : self._at].replace("\\[", "")
                self._at += 1
                return "[" not in part or "]" in part[part.rindex("[") :]
            elif char == "\n":
                return False
            else:
                self._at += 1
        return False

    def _read_substitution(self, name: str) -> str:
        delimiter = self._peek()
        self._at += 1
        if delimiter in ("", "\\", "\n", " ", ";", "[", "]") or delimiter.isalnum():
            return "its script is not understood"
        if not self._skip_until(delimiter) or not self._skip_until(delimiter):
            return "its script is not understood"
        if name == "s":
            self._take_match(_FLAGS)
            if self._peek() in ("e", "w"):
                return f"its script has the flag {self._peek()!r}, which runs or writes"
        return self._check_end()

    def _read_text(self) -> str:
        r"""Read the text of `a`, `i` and `c`: the rest of the line, and further lines after a backslash each."""
        while True:
            end = self._script.find("\n", self._at)
            line = self._script[self._at : end if end >= 0 else len(self._script)]
            self._at = end + 1 if end >= 0 else len(self._script)
            if end < 0:
                return ""
            if not line.endswith("\\"):
                return ""
            if line.endswith("\\\\"):
                return "its script is not understood"
