"""Words of a shell hook that name what its commands look at, not what they run.

A hook that checks the files of a commit names them (`git diff --cached --name-only -- '*.py'`). They are no part of
it: otherwise each change of one would take the trust from the hook, and commits would be made without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.cross_check import explain_disagreement
from sandbox.policy.shell.parsing.parser import RESERVED, parse_source
from sandbox.policy.shell.parsing.syntax import (
    ParsedSource,
    SimpleCommand,
    Word,
    decode_source,
    encode_source,
    parse_word_set,
)

_SHELL = compile_lazily(r"#!\s*\S*(?:/|env\s+)(?:ba|da)?sh\b")
_SILENT = parse_word_set("test [ echo printf touch true false : exit return")
"""Commands whose output holds nothing of a file that they name."""
_NAMING_GIT = parse_word_set("add ls-files status rev-parse update-index")
_PRINTING = parse_word_set("grep egrep fgrep wc cat head tail ls stat")
_PRINTING_GIT = parse_word_set("grep diff show diff-index diff-files")
_RUNNERS = parse_word_set(
    "eval source . sh bash dash zsh ksh fish env exec xargs command builtin find awk parallel sudo nohup time timeout"
    " python python3 node deno bun perl ruby php npx"
)
"""Programs that may run what they are given."""


def drop_inspected_words(text: str) -> str:
    """Return the text of a hook without the words that name files which it only looks at.

    Text that is no shell script, or that two parsers do not read in the same way, is returned as it is.
    """
    if not _SHELL.match(text):
        return text
    try:
        reading = parse_source(encode_source(text))
    except UnicodeEncodeError:
        return text
    if reading.problems or explain_disagreement(reading):
        return text
    source = reading.source
    for word in _list_inspected(reading):
        source = source[: word.start] + " " * (word.end - word.start) + source[word.end :]
    return decode_source(source)


def _list_inspected(reading: ParsedSource) -> Iterator[Word]:
    runs_text = any(map(_may_run_text, reading.commands))
    for command in reading.commands:
        words = command.words[1:]
        literal = command.words[0].to_literal() if command.words else None
        if literal is None or literal in reading.functions:
            continue
        git = words[0].to_literal() if literal == "git" and words else None
        names_only = git == "diff" and any(word.to_literal() == "--name-only" for word in words)
        if literal in _SILENT or git in _NAMING_GIT or names_only:
            yield from words
            yield from (each.target for each in command.redirects if each.target is not None)
        elif (literal in _PRINTING or git in _PRINTING_GIT) and not (
            runs_text or _keeps_output(command, reading) or any(map(_opens_files, words))
        ):
            yield from words


def _may_run_text(command: SimpleCommand) -> bool:
    """Return whether a command may run what another one printed."""
    if not command.words:
        return False
    name = command.words[0].to_literal()
    return name is None or (name.rpartition("/")[2] in _RUNNERS and name not in RESERVED)


def _opens_files(word: Word) -> bool:
    """Return whether it is git's option to open what is found in a program, or may be."""
    literal = word.to_literal()
    return literal is None or literal.startswith(("-O", "--open", "--ext-diff"))


def _keeps_output(command: SimpleCommand, reading: ParsedSource) -> bool:
    """Return whether the output goes to a file, from which it might be run."""
    found = [each.target for each in command.redirects if each.target is not None]
    targets = [reading.source[each.start : each.end] for each in found]
    return any(not (target.isdigit() or target == "/dev/null") for target in targets)
