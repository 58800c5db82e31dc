"""How each runner is told to run single tests: one table, by the program that runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from sandbox.lazy_dataclass import dataclass

INSIDE = " › "
"""Between a file and the full name of a test in it, in the targets of runners that select by both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How a runner selects tests.

    name: option that precedes a name, with "=" at its end if both are one word; "" if names cannot be selected
    form: writes the names for that option, one word for each, or one for all
    file: option that precedes a file of such a name; "" if files are arguments without an option
    """

    name: str = ""
    form: Callable[[Sequence[str]], Sequence[str]] = tuple
    file: str = ""

    def format_arguments(self, targets: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments that select the targets: files, folders, and names in files."""
        if not self.name:
            return tuple(dict.fromkeys(target.partition(INSIDE)[0] for target in targets))
        files: dict[str, None] = {}
        names: dict[str, None] = {}
        for target in targets:
            file, inside, name = target.partition(INSIDE)
            if not inside and not is_path(file):
                file, name = "", target
            if file:
                files[file] = None
            if name:
                names[name] = None
        options = (self.file,) if self.file and names and files else ()
        return (*self._format_names(tuple(names)), *options, *files)

    def _format_names(self, names: Sequence[str]) -> Iterable[str]:
        for word in self.form(names) if names else ():
            if self.name.endswith("="):
                yield f"{self.name}{word}"
            else:
                yield from (self.name, word)


def is_path(word: str) -> bool:
    """Return whether a target looks like a file or folder, perhaps with a line."""
    return "/" in word or re.search(r"\.\w+(?::\d+)*$", word) is not None


def _match_whole(names: Sequence[str], joint: str = " ") -> tuple[str, ...]:
    """Return one regular expression of JavaScript that matches each name as a whole. joint: between suites and test"""
    escaped = [re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", name).replace(INSIDE, joint) for name in names]
    return (f"^{escaped[0]}$" if len(escaped) == 1 else f"^({'|'.join(escaped)})$",)


def _match_with_arrows(names: Sequence[str]) -> tuple[str, ...]:
    return _match_whole(names, "( | > )")  # a blank before version 5 of vitest


def _match_module(names: Sequence[str]) -> tuple[str, ...]:
    """Match tests of QUnit, whose full name is that of the module, which may be empty, a colon and their own."""
    parts = [name.rpartition(" > ") for name in names]
    return _match_in_slashes([f"{module}: {test}" for module, _, test in parts])


def _match_hooked(names: Sequence[str]) -> tuple[str, ...]:
    """Match tests as a whole; where a hook failed, the test before which it ran."""
    return _match_whole(
        [re.sub(r'"(?:before|after) (?:all|each)" hook.* for "(.*)"$', r"\1", name) for name in names]
    )


def _match_in_slashes(names: Sequence[str]) -> tuple[str, ...]:
    return (f"/{_match_whole(names)[0]}/",)


def _escape_glob(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(re.sub(r"[*?[]", r"[\g<0>]", name) for name in names)


def _escape_ere(names: Sequence[str]) -> tuple[str, ...]:
    escaped = [re.sub(r"[\\^$.*+?()[{}|]", r"\\\g<0>", name) for name in names]
    return (f"^({'|'.join(escaped)})$",)


SELECTIONS: Mapping[str, Selection] = {
    "jest": Selection(name="-t", form=_match_whole, file="--runTestsByPath"),
    "vitest": Selection(name="-t", form=_match_with_arrows),
    "mocha": Selection(name="-g", form=_match_hooked),
    "lab": Selection(name="-g", form=_match_whole),
    "node": Selection(name="--test-name-pattern=", form=_match_whole),
    "bun": Selection(name="-t", form=_match_whole),
    "deno": Selection(name="--filter", form=_match_in_slashes),
    "ava": Selection(name="--match="),
    "jasmine": Selection(name="--filter=", form=_match_whole),
    "qunit": Selection(name="--filter", form=_match_module),
    "robot": Selection(name="--test", form=_escape_glob),
    "tclsh": Selection(name="-match", form=_escape_glob),
    "phpunit": Selection(name="--filter", form=_match_in_slashes),
    "bats": Selection(name="-f", form=_escape_ere),
    **dict.fromkeys(("playwright", "cucumber-js", "behave", "prove", "rspec", "tap"), Selection()),
}
"""By program. Sources: the runners' own help and documentation at the releases in tests/runners."""


def split_recipe(text: str) -> tuple[str, ...]:
    """Return the words of a command line that any shell would run as these words, () for others."""
    if re.search(r"[|&;<>$`*?()\[\]{}~\n#]", text):
        return ()
    try:
        words = tuple(shlex.split(text))
    except ValueError:  # an open quote
        return ()
    return () if not words or "=" in words[0] else words


def find_program(words: Sequence[str]) -> str:
    """Return the runner that a command starts, as the table calls it; "" for another program."""
    names = [Path(word).name for word in words[:3]]
    if len(names) == 3 and re.fullmatch(r"python[\d.]*", names[0]) and names[1] == "-m":
        names = names[2:]
    return names[0] if names and names[0] in SELECTIONS else ""
