"""Rules for commit messages that a project states: what they say, and where a message breaks them."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

CONVENTIONAL_TYPES = (
    "build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test",
)  # fmt: skip
"""Types of @commitlint/config-conventional and conventional-pre-commit."""

BODY_WIDTH = 72
"""Columns at which a body is wrapped: what `git log` indents then fits into 80."""

_HEADER = compile_lazily(
    r"(?P<type>[\w-]+)(?:\((?P<scope>[^()]*)\))?(?P<breaking>!)?: (?P<subject>.*)", re.DOTALL
)
_TRAILER = compile_lazily(r"[A-Za-z][\w-]*(?:: | #)\S.*|BREAKING CHANGE: .*")
_SIGNED = compile_lazily(r"^Signed-off-by: .+<.+>$", re.MULTILINE)
_URL = compile_lazily(r"https?://\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRules:
    """Rules of a project; what is empty or 0 is not ruled.

    sources: files that state them
    is_conventional: the header is `type(scope): subject`
    types, scopes: the allowed ones; needs_scope, has_no_scope: a scope is required, or forbidden
    header_length, body_length, footer_length: characters of a line; header_shortest: least of the header
    refused_cases, wanted_cases: case of the subject after the type, by commitlint's names
    stop: character with which the subject must not end
    needs_body: there is one, of body_shortest characters
    header_patterns, message_patterns: what the header, or all of the message, matches from its start
    trailers: their names, which the message must have
    is_signed: a sign-off is required
    """

    sources: tuple[str, ...] = ()
    is_conventional: bool = False
    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    needs_scope: bool = False
    has_no_scope: bool = False
    header_length: int = 0
    header_shortest: int = 0
    body_length: int = 0
    footer_length: int = 0
    refused_cases: tuple[str, ...] = ()
    wanted_cases: tuple[str, ...] = ()
    stop: str = ""
    needs_body: bool = False
    body_shortest: int = 0
    header_patterns: tuple[str, ...] = ()
    message_patterns: tuple[str, ...] = ()
    trailers: tuple[str, ...] = ()
    is_signed: bool = False

    def describe(self) -> list[str]:
        """Return the rules in words, for who writes a message."""
        found = []
        if self.is_conventional:
            scope = "(scope)" if self.needs_scope else "" if self.has_no_scope else "[(scope)]"
            found.append(f"Conventional Commits: `type{scope}: subject`.")
        if self.types:
            found.append(f"Types: {', '.join(self.types[:30])}.")
        if self.scopes:
            found.append(f"Scopes: {', '.join(self.scopes[:40])}.")
        if self.header_length:
            found.append(f"First line: at most {self.header_length} characters.")
        if self.wanted_cases:
            found.append(f"Case of the subject after the type: {' or '.join(self.wanted_cases)}.")
        if self.refused_cases:
            found.append(f"The subject after the type is not in {', '.join(self.refused_cases)}.")
        if self.stop:
            found.append(f"The first line ends with none of `{self.stop}`.")
        if self.needs_body:
            found.append(
                f"A body is required{f', of {self.body_shortest} characters' if self.body_shortest else ''}."
            )
        if self.body_length:
            found.append(f"Lines of the body: at most {self.body_length} characters.")
        found += [f"The first line matches `{each}`." for each in self.header_patterns]
        found += [f"The message matches `{each}`." for each in self.message_patterns]
        if self.trailers:
            found.append(f"Trailers: {', '.join(self.trailers)}.")
        return found

    def check(self, message: str) -> list[str]:
        """Return what a message breaks, in words."""
        header, _, rest = message.strip().partition("\n")
        body, footer = split_footer(rest.strip("\n"))
        found = self._check_header(header)
        if self.needs_body and not body.strip():
            found.append("a body is required")
        elif self.needs_body and len(body.strip()) < self.body_shortest:
            found.append(f"the body has fewer than {self.body_shortest} characters")
        for name, text, length in (("body", body, self.body_length), ("footer", footer, self.footer_length)):
            if length and any(len(line) > length and not _URL.search(line) for line in text.split("\n")):
                found.append(f"a line of the {name} has more than {length} characters")
        found += [
            f"the first line does not match `{each}`"
            for each in self.header_patterns
            if not _fits(each, header)
        ]
        found += [
            f"the message does not match `{each}`"
            for each in self.message_patterns
            if not _fits(each, message.strip())
        ]
        found += [f"the trailer {each} is missing" for each in self.trailers if f"\n{each}" not in message]
        return found

    def _check_header(self, header: str) -> list[str]:
        found = []
        if self.header_length and len(header) > self.header_length:
            found.append(f"the first line has {len(header)} characters, more than {self.header_length}")
        if len(header) < self.header_shortest:
            found.append(f"the first line has fewer than {self.header_shortest} characters")
        if self.stop and header.endswith(tuple(self.stop)):
            found.append(f"the first line ends with {header[-1]!r}")
        match = _HEADER.fullmatch(header)
        if match is None:
            return [*found, "the first line is not `type: subject`"] if self.is_conventional else found
        if not self.is_conventional:
            return found
        if self.types and match["type"] not in self.types:
            found.append(f"the type {match['type']!r} is none of {', '.join(self.types[:30])}")
        if self.needs_scope and not match["scope"]:
            found.append("a scope is required")
        if match["scope"] and self.has_no_scope:
            found.append("no scope is allowed")
        if match["scope"] and self.scopes:
            others = [each for each in re.split(r"[/\\,]\s?", match["scope"]) if each not in self.scopes]
            found += [f"the scope {each!r} is none of {', '.join(self.scopes[:40])}" for each in others[:1]]
        subject = match["subject"]
        if not subject.strip():
            found.append("the subject is empty")
        found += [f"the subject is in {each}" for each in self.refused_cases if has_case(subject, each)][:1]
        if self.wanted_cases and not any(has_case(subject, each) for each in self.wanted_cases):
            found.append(f"the subject is not in {' or '.join(self.wanted_cases)}")
        return found


NO_RULES = MessageRules()

_QUOTED = compile_lazily(r"`[^`]*`|\"[^\"]*\"|'[^']*'")


def has_case(text: str, name: str) -> bool:
    """Return whether a text is in a case, by commitlint's names, without what is quoted in it."""
    text = _QUOTED.sub("", text).strip()
    if not re.match(r"[^\W\d_]", text) or (text.lower() == text.upper()):
        return False
    words = text.split()
    match name:
        case "lower-case" | "lowerCase" | "lowercase":
            return text == text.lower()
        case "upper-case" | "uppercase":
            return text == text.upper()
        case "sentence-case" | "sentencecase":
            return text[0].isupper()  # of the rest it says nothing
        case "start-case":
            return all(word[0].isupper() for word in words if word[0].isalpha())
        case "pascal-case":
            return len(words) == 1 and text[0].isupper() and text.isalnum()
        case "camel-case":
            return len(words) == 1 and text[0].islower() and text.isalnum()
        case "kebab-case":
            return len(words) == 1 and re.fullmatch(r"[a-z\d]+(?:-[a-z\d]+)*", text) is not None
        case "snake-case":
            return len(words) == 1 and re.fullmatch(r"[a-z\d]+(?:_[a-z\d]+)*", text) is not None
    return False


LONGEST_PATTERN = 400
LONGEST_TEXT = 2_000
MOST_REPETITIONS, FEW = 5, 9
"""Repetitions of more than a few in one pattern: the time grows with the text's length to their power."""


def _fits(pattern: str, text: str) -> bool:
    """Return whether a text matches a project's pattern from its start; also if that cannot be told."""
    if len(pattern) > LONGEST_PATTERN or len(text) > LONGEST_TEXT:
        return True
    try:
        return not _is_bounded(pattern) or re.match(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):  # of another dialect
        return True


def _is_bounded(pattern: str) -> bool:
    """Return whether a stranger's pattern is matched in time: nothing is repeated that itself varies or branches.

    Raises re.error for what is no pattern.
    """
    repetitions = 0

    def walk(items: object, *, repeated: bool) -> bool:
        nonlocal repetitions
        if not isinstance(items, list | tuple | parser.SubPattern):
            return True
        for item in items:
            if isinstance(item, tuple) and item and item[0] in _REPEATS:
                low, high, inner = item[1]
                if repeated and low != high:
                    return False
                repetitions += low != high and high > FEW
                if not walk(inner, repeated=repeated or high > 1):
                    return False
            elif isinstance(item, tuple) and item and item[0] is parser.BRANCH:
                if repeated or not all(walk(each, repeated=False) for each in item[1][1]):
                    return False
            elif not walk(item, repeated=repeated):
                return False
        return True

    parser: Any = import_module("re._parser")  # the library's own reading of a pattern
    return walk(parser.parse(pattern), repeated=False) and repetitions <= MOST_REPETITIONS


_REPEATS = frozenset(
    getattr(import_module("re._constants"), name)
    for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
)


def split_footer(text: str) -> tuple[str, str]:
    """Return the body and the trailers at its end."""
    body, _, last = text.rpartition("\n\n")
    is_footer = bool(last.strip()) and all(
        _TRAILER.match(line) or (number and line[:1].isspace())
        for number, line in enumerate(last.strip().split("\n"))
    )
    return (body, last.strip()) if is_footer else (text, "")


def wrap_body(message: str, width: int = BODY_WIDTH) -> str:
    """Return a message whose body's prose and lists are wrapped; code, tables, trailers and long words stay."""
    import textwrap

    header, _, rest = message.strip().partition("\n")
    body, footer = split_footer(rest.strip("\n"))
    lines: list[str] = []
    is_code = False
    for line in body.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_code ^= is_fence
        mark = re.match(r"\s{0,3}(?:[-*•+]|\d+[.)])\s+", line)
        is_kept = is_code or is_fence or (line.startswith(("    ", "\t", "|", ">", "#")) and not mark)
        if len(line) <= width or is_kept or len(line.split()) == 1:
            lines.append(line)
            continue
        indent = " " * len(mark[0]) if mark else ""
        lines += textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    parts = (header, "\n".join(lines).strip("\n"), footer)
    return "\n\n".join(each for each in parts if each)


def add_sign_off(message: str, person: str) -> str:
    """Return a message with the sign-off of a person, `Name <address>`, in its last paragraph of trailers."""
    line = f"Signed-off-by: {person}"
    if _SIGNED.search(message):
        return message
    _, footer = split_footer(message.strip().partition("\n")[2].strip("\n"))
    return f"{message.strip()}\n{line}" if footer else f"{message.strip()}\n\n{line}"
