"""Words of a shell hook that name what its commands look at, not what they run.

A hook that checks the files of a commit names them (`git diff --cached --name-only -- '*.py'`). They are no part of
it: otherwise each change of one would take the trust from the hook, and commits would be made without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.commands.sed_awk_scripts import explain_sed_risk
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

_SHELL = compile_lazily(r"#!\s*\S*(?:/|env\s+(?:-S\s+)?)(?:ba|da)?sh\b")
_SILENT = parse_word_set("test [ echo printf touch true false : exit return")
"""Commands whose output holds nothing of a file that they name."""
_NAMING_GIT = parse_word_set("add ls-files status rev-parse update-index")
_PRINTING = parse_word_set("grep egrep fgrep wc cat head tail ls stat")
_PRINTING_GIT = parse_word_set("grep diff show diff-index diff-files")
_INTERPRETERS = parse_word_set(
    "sh bash dash zsh ksh fish python python3 node deno bun perl ruby php npx . source"
)
"""Programs that run their first operand, or their input if they have none."""
_RUNNERS = parse_word_set("eval builtin find awk parallel sudo")
"""Programs that may run what they are given in other ways."""
_WRAPPERS = {
    "env": parse_word_set("-u --unset -C --chdir"),
    "xargs": parse_word_set("-n -I -P -L -d -E -s"),
    "command": frozenset[str](),
    "exec": parse_word_set("-a"),
    "nohup": frozenset[str](),
    "nice": parse_word_set("-n"),
    "time": parse_word_set("-f -o"),
    "timeout": parse_word_set("-s -k"),
}
"""Programs that run the rest of their words, with their options that take a word."""
_UNKNOWN_OPTIONS = ("-S", "--split-string", "-a", "--arg-file")
"""Options of a wrapper by which it takes its words from elsewhere."""
_SED_OPTIONS = parse_word_set("-n -E -r -nE -nr -En -rn --quiet --silent --regexp-extended")


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
    if any(map(_may_run_given, reading.commands)):  # a name or a text that another command prints
        return
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
        elif (literal in _PRINTING or git in _PRINTING_GIT or _is_printing_sed(literal, words)) and not (
            _keeps_output(command, reading) or any(map(_opens_files, words))
        ):
            yield from words


def _may_run_given(command: SimpleCommand) -> bool:
    """Return whether a command may run a file or a text that it does not name itself: a variable's, or its input."""
    words = [word.to_literal() for word in command.words]
    takes_input = False
    while words and words[0] is not None and (options := _WRAPPERS.get(_get_base(words[0]))) is not None:
        takes_input = takes_input or _get_base(words[0]) == "xargs"
        is_timed, words = _get_base(words[0]) == "timeout", words[1:]
        while words and words[0] is not None and (words[0].startswith("-") or "=" in words[0]):
            if words[0].startswith(_UNKNOWN_OPTIONS) and words[0] not in options:
                return True
            words = words[2:] if words[0] in options else words[1:]
        words = words[1:] if is_timed else words
        if not words and takes_input and _get_base(str(command.words[-1].to_literal())) != "xargs":
            return True
    if not words or words[0] in RESERVED:
        return False
    name, *rest = words
    if name is None:
        return True
    base = _get_base(name)
    return base in _RUNNERS or (
        base in _INTERPRETERS and _runs_given_operand(base, rest, takes_input=takes_input)
    )


def _runs_given_operand(base: str, words: list[str | None], *, takes_input: bool) -> bool:
    """Return whether an interpreter may run more than a file or a module that its own words name."""
    for word in words:
        if word is None:
            return True
        if word == "-m" and base.startswith("python"):
            return False
        if word in ("-c", "-e", "--eval", "-") or (base == "npx" and takes_input):
            return True
        if not word.startswith(("-", "+")):
            return False
    return True


def _get_base(name: str) -> str:
    return name.rpartition("/")[2]


def _is_printing_sed(name: str, words: Sequence[Word]) -> bool:
    """Return whether a command is a sed that surely does no more than print."""
    literals = [word.to_literal() for word in words]
    scripts = [after for before, after in pairwise(literals) if before == "-e"]
    rest = [
        word
        for before, word in pairwise([None, *literals])
        if word not in _SED_OPTIONS and "-e" not in (before, word)
    ]
    scripts = scripts or rest[:1]
    if name != "sed" or not scripts or any(word is None or word.startswith("-") for word in rest):
        return False
    return not any(script is None or explain_sed_risk(script) for script in scripts)


def _opens_files(word: Word) -> bool:
    """Return whether it is git's option to open what is found in a program, or may be."""
    literal = word.to_literal()
    return literal is None or literal.startswith(("-O", "--open", "--ext-diff"))


def _keeps_output(command: SimpleCommand, reading: ParsedSource) -> bool:
    """Return whether the output goes to a file, from which it might be run."""
    found = [each.target for each in command.redirects if each.target is not None]
    targets = [reading.source[each.start : each.end] for each in found]
    return any(not (target.isdigit() or target == "/dev/null") for target in targets)
