"""Parse a command's options as the command itself does: clusters, attached values, abbreviations, `--`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.shell.commands.command_table import COMMANDS
from sandbox.policy.shell.commands.git_table import GLOBAL_OPTIONS, SUBCOMMANDS
from sandbox.policy.shell.parsing.expansion import Arg


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option.

    takes: an argument never, always (also as the next word) or only attached; does: see `command_table`
    """

    takes: Literal["no", "yes", "attached"]
    does: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Specification of a command: one line of the table.

    kinds: usually one
    tolerant: options that are not listed are harmless
    """

    name: str
    kinds: tuple[str, ...]
    roles: tuple[str, ...]
    options: Mapping[str, Option]
    tolerant: bool

    @property
    def has_inner_command(self) -> bool:
        """Whether options end where an inner command or script begins."""
        return "command" in self.roles or "script" in self.roles

    @property
    def has_only_harmless_options(self) -> bool:
        """Whether no option changes the effect of the command."""
        return self.tolerant and all(option.does in _READING for option in self.options.values())

    @property
    def can_only_remove(self) -> bool:
        """Whether the worst effect of any option (or of a file name that looks like one) is to remove folders too."""
        return self.roles == ("entry",) and all(
            option.does in ("", "recursive", "destructive") for option in self.options.values()
        )


_READING = frozenset(("", "read", "names", "walks"))


@dataclass(slots=True, kw_only=True)
class ParsedArguments:
    """Parsed arguments of a command.

    done: effects of its options, each with the option's argument (None: it has none)
    inner: from the inner command on, for commands that run another
    problem: the part that was not understood, "" if none
    """

    operands: list[Arg] = field(default_factory=list)
    done: list[tuple[str, str, Arg | None]] = field(default_factory=list)
    inner: list[Arg] = field(default_factory=list)
    problem: str = ""


def find_spec(name: str) -> Spec | None:
    """Return the specification of a program or builtin, None if unknown."""
    return _look_up_spec(name, "commands")


def find_git_subcommand(name: str) -> Spec | None:
    return _look_up_spec(name, "git")


def parse_git_spec() -> Spec:
    return _parse_line(GLOBAL_OPTIONS.strip().replace("\n    ", " "))


def parse_arguments(spec: Spec, args: Sequence[Arg]) -> ParsedArguments:
    """Sort arguments into options and operands."""
    return _Parser(spec, args).parse()


_TABLES = {"commands": COMMANDS, "git": SUBCOMMANDS}


@cache
def index_lines(table: str) -> dict[str, str]:
    """Return the line of each name in a table ("commands" or "git")."""
    found: dict[str, str] = {}
    for line in _TABLES[table].strip().replace("\n    ", " ").splitlines():
        for name in line.partition(" | ")[0].split():
            found[name] = line
    return found


@cache
def _look_up_spec(name: str, table: str) -> Spec | None:
    line = index_lines(table).get(name)
    return _parse_line(line, name if table == "commands" else f"git {name}") if line else None


@cache
def _parse_line(line: str, name: str = "") -> Spec:
    names, kinds, roles, options = (each.strip() for each in f"{line} ".split(" | "))
    words = options.split()
    return Spec(
        name=name or names,
        kinds=tuple(kinds.split()),
        roles=tuple(roles.split(",")),
        options={key: option for word in words if word != "*" for key, option in _parse_option_word(word)},
        tolerant="*" in words,
    )


def _parse_option_word(word: str) -> Iterator[tuple[str, Option]]:
    name, _, does = word.partition(">")
    if name.startswith("--"):
        takes: Literal["no", "yes", "attached"] = (
            "attached" if name.endswith("=?") else "yes" if name.endswith("=") else "no"
        )
        yield name.rstrip("=?"), Option(takes=takes, does=does)
        return
    for place, letter in enumerate(name[1:], 1):
        if letter not in ":?":
            following = name[place + 1 : place + 2]
            takes = "yes" if following == ":" else "attached" if following == "?" else "no"
            yield f"-{letter}", Option(takes=takes, does=does)


class _Parser:
    def __init__(self, spec: Spec, args: Sequence[Arg]) -> None:
        self._spec = spec
        self._args = list(args)
        self._at = 0
        self._use = ParsedArguments()
        self._ended = False

    def parse(self) -> ParsedArguments:
        while self._at < len(self._args):
            arg = self._args[self._at]
            self._at += 1
            if not self._ended and arg.may_be_option:
                self._parse_option(arg)
                continue
            if self._spec.has_inner_command and self._is_inner():
                self._use.inner = self._args[self._at - 1 :]
                break
            self._use.operands.append(arg)
        return self._use

    def _is_inner(self) -> bool:
        """Whether the current operand begins the inner command: operands before it have roles of their own."""
        return self._spec.roles[min(len(self._use.operands), len(self._spec.roles) - 1)] in (
            "command",
            "script",
        )

    def _parse_option(self, arg: Arg) -> None:
        text = arg.text
        if text == "--":
            # An incomplete table may not know that an option took this word as its value.
            self._ended = not (self._spec.tolerant and not self._spec.has_only_harmless_options)
        elif text is not None and text.startswith("--"):
            self._parse_long_option(arg, text)
        elif text is not None:
            self._parse_cluster(text)
        elif self._spec.has_only_harmless_options:
            self._use.operands.append(arg)
        elif arg.shape == "glob" and not arg.prefix and self._spec.can_only_remove:
            self._use.operands.append(arg)
            self._use.done.append((arg.source, "recursive", None))
        elif arg.prefix.startswith("--") and "=" in arg.prefix and arg.shape == "one":
            self._parse_long_option(arg, arg.prefix)
        else:
            self._note_problem(f"{arg.source} may become an option")

    def _parse_long_option(self, arg: Arg, text: str) -> None:
        name, equals, attached = text.partition("=")
        candidates = (
            [name]
            if name in self._spec.options
            else [each for each in self._spec.options if each.startswith(name)]
        )
        if not candidates:
            if not self._spec.tolerant:
                self._note_problem(f"the option {name} is not known")
            return
        takes_next = False
        for each in candidates:
            option = self._spec.options[each]
            takes_next = takes_next or (option.takes == "yes" and not equals)
        value = _build_attached_arg(arg, attached) if equals else self._take_next() if takes_next else None
        for each in candidates:
            self._record_option(each, self._spec.options[each], value)

    def _parse_cluster(self, text: str) -> None:
        for place, letter in enumerate(text[1:], 1):
            option = self._spec.options.get(f"-{letter}")
            if option is None:
                if not self._spec.tolerant:
                    self._note_problem(f"the option -{letter} is not known")
                    return
                continue
            rest = text[place + 1 :]
            if option.takes == "no":
                self._record_option(f"-{letter}", option, None)
                continue
            if rest:
                value: Arg | None = Arg(text=rest, prefix=rest, source=rest)
            else:
                value = self._take_next() if option.takes == "yes" else None
            self._record_option(f"-{letter}", option, value)
            return

    def _record_option(self, name: str, option: Option, value: Arg | None) -> None:
        if option.does:
            self._use.done.append((name, option.does, value))

    def _take_next(self) -> Arg | None:
        if self._at >= len(self._args):
            return None
        arg = self._args[self._at]
        self._at += 1
        if arg.shape != "one" and not self._spec.has_only_harmless_options:
            self._note_problem(f"{arg.source} may become more than one argument")
        return arg

    def _note_problem(self, problem: str) -> None:
        self._use.problem = self._use.problem or problem


def _build_attached_arg(arg: Arg, text: str) -> Arg:
    if arg.text is not None:
        return Arg(text=text, prefix=text, source=text)
    return Arg(text=None, prefix=text, shape=arg.shape, source=arg.source)
