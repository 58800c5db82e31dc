"""Data flow of a command line: what each of its commands reads and writes, and whose output it is given.

Pipes, substitutions, variables, loops and redirections connect commands. Where the source does not show
which commands a redirection belongs to, all before it are meant: flows are rather too many than too few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.shell.commands.command_call import Call
from sandbox.policy.shell.commands.path_effects import PathClassifier, create_classifier
from sandbox.policy.shell.judgement import MAX_LENGTH, MAX_SCRIPTS, SPECIALS
from sandbox.policy.shell.parsing.expansion import Arg, expand_arguments, expand_word
from sandbox.policy.shell.parsing.parser import parse_source
from sandbox.policy.shell.parsing.syntax import (
    ParsedSource,
    SimpleCommand,
    Word,
    decode_source,
    encode_source,
)

MAX_COMMANDS = 200
"""Commands of a line that are followed."""

MAX_FLOWS = 1_000
"""Flows of a line with all the scripts inside it."""

MAX_VALUES = 16
"""Values of a variable that are tried, such as the words of a loop."""

_NAME = compile_lazily(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*)")
_PIPED = compile_lazily(r"[\s);}]*(?:(?:done|fi|esac)\b[\s);}]*)?\|(?!\|)")
_PLAIN_PIPE = compile_lazily(r"[ \t]*\|&?\s*\Z")
_ASSIGNED = compile_lazily(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_CONNECTIONS = ("/dev/tcp/", "/dev/udp/")
_READERS = frozenset(("read", "mapfile", "readarray"))
_SOURCES = frozenset(("source", "."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One command, or one statement of a program, as a station of data.

    text: as written; program: the innermost, without wrappers such as `timeout`; "" for redirections alone
    args: its arguments, as far as known; settings: variables set for it alone
    reads, writes: paths, relative to the workspace or absolute; hosts: as named
    sources: places, in the same list, of the flows whose output it is given
    network: it may use the network; fed: the text on its input, if that is known
    called: the program's name as written; folder: the absolute folder in which it runs, the last if there are several
    """

    text: str
    program: str = ""
    args: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    sources: frozenset[int] = frozenset()
    network: bool = False
    fed: str = ""
    called: str = ""
    folder: str = ""


def trace_command_line(
    command: str, *, root: Path, known: Mapping[str, str] | None = None, level: int = 0
) -> list[Flow]:
    """Return the flows of a line for `bash -c`, in the order of the text; scripts inside it are included.

    known: values of variables at its start
    """
    if len(command) > MAX_LENGTH or level > MAX_SCRIPTS or "\0" in command:
        return []
    try:
        source = encode_source(command)
    except UnicodeEncodeError:  # a lone surrogate: nothing that runs
        return []
    return _Tracer(parse_source(source), create_classifier(root, None), root, known or {}, level).trace()


class _InnermostCall(Call):
    """A call that remembers the arguments of the innermost command."""

    innermost: tuple[Arg, ...] = ()

    def judge_command(self, args: Sequence[Arg]) -> None:
        self.innermost = tuple(args)
        super().judge_command(args)


@dataclass(slots=True)
class _Found:
    """Effects of one command, over all values of its variables."""

    program: str = ""
    called: str = ""
    args: dict[str, None] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)


class _Tracer:
    def __init__(
        self,
        reading: ParsedSource,
        places: PathClassifier,
        root: Path,
        known: Mapping[str, str],
        level: int,
    ) -> None:
        self._reading = reading
        self._places = places
        self._root = root
        self._level = level
        self._commands = sorted(reading.commands, key=lambda each: (each.start, -each.end))[:MAX_COMMANDS]
        self._values = {name: [value] for name, value in {"HOME": places.home, **known}.items()}
        self._givers: dict[str, set[int]] = {}  # variable → flows that it may hold output of
        self._flows: list[Flow] = []
        self._places_of: dict[int, int] = {}  # command → its flow

    def trace(self) -> list[Flow]:
        self._collect_values()
        for place, command in enumerate(self._commands):
            self._trace_command(place, command)
        self._connect_substitutions()
        return self._flows

    def _collect_values(self) -> None:
        for command in self._commands:
            for assignment in command.assignments:
                if assignment.value is not None:
                    self._add_value(assignment.name, assignment.value)
        for name, words in self._reading.loops.items():
            for word in words[:MAX_VALUES]:
                self._add_value(name, word)

    def _add_value(self, name: str, word: Word) -> None:
        known = {key: values[0] for key, values in self._values.items()}
        for arg in expand_word(word, self._reading.source, known):
            if arg.text is not None:
                values = self._values.setdefault(decode_source(name), [])
                if len(values) < MAX_VALUES:
                    values.append(encode_source(arg.text))

    # ── One command ──────────────────────────────────────────────────────────────────────────────

    def _trace_command(self, place: int, command: SimpleCommand) -> None:
        folder = self._places.folders[-1] or self._places.root
        found = self._judge(command)
        number = len(self._flows)
        self._places_of[place] = number
        reads, writes = _collect_paths(found.effects)
        hosts: list[str] = []
        for redirect in command.redirects:
            if redirect.target is None or redirect.operator == "<<<":
                continue
            for arg in self._expand(redirect.target):
                if arg.prefix.startswith(_CONNECTIONS):
                    hosts += arg.prefix.split("/")[3:4] or ["a connection"]
                    continue
                is_input = redirect.operator in ("<", "<&")
                classify = self._places.classify_read if is_input else self._places.classify_write
                (reads if is_input else writes).update(classify(arg).paths)
        start, end = command.start, command.end
        flow = Flow(
            text=decode_source(self._reading.source[start:end]),
            program=found.program,
            args=tuple(found.args),
            settings=tuple(decode_source(each.name) for each in command.assignments),
            reads=frozenset(reads),
            writes=frozenset(writes),
            hosts=tuple(dict.fromkeys((*hosts, *(host for each in found.effects for host in each.hosts)))),
            sources=frozenset(self._find_sources(place, command)),
            network=bool(hosts) or any(each.kind == "network" for each in found.effects),
            fed=self._find_fed_text(command),
            called=found.called,
            folder=folder,
        )
        self._flows.append(flow)
        self._bind_variables(number, command, flow)
        for script in found.scripts:
            self._append_script(script, flow)
        if flow.fed and flow.program in ("bash", "sh", "dash", "zsh"):
            self._append_script(flow.fed, flow)

    def _judge(self, command: SimpleCommand) -> _Found:
        found = _Found()
        if not command.words:
            return found
        for known in self._list_variants(command):
            call = _InnermostCall(
                self._places, functions=(), surely=(), specials=SPECIALS, fed=self._find_fed_text(command)
            )
            call.judge_command(expand_arguments(command.words, self._reading.source, known))
            self._places = replace(self._places, folders=call.folders[-1:])  # each `cd` is taken to succeed
            found.program = call.program.partition(" ")[0] or _get_base_name(call.innermost)
            found.called = (call.innermost[0].text or "") if call.innermost else ""
            found.args.update(dict.fromkeys(each.to_display() for each in call.innermost[1:]))
            found.effects += call.effects
            found.scripts += [script for script, _ in call.scripts if script not in found.scripts]
        return found

    def _list_variants(self, command: SimpleCommand) -> Iterator[dict[str, str]]:
        """Yield values of the variables: the first of each, then the others of those that the command uses."""
        first = {name: values[0] for name, values in self._values.items()}
        yield first
        used = [name for name in _list_names(command) if len(self._values.get(name, ())) > 1]
        for index in range(1, max((len(self._values[name]) for name in used), default=0)):
            yield {**first, **{n: self._values[n][min(index, len(self._values[n]) - 1)] for n in used}}

    def _expand(self, word: Word) -> Iterator[Arg]:
        names = set(_list_part_names(word))
        first = {name: values[0] for name, values in self._values.items()}
        yield from expand_word(word, self._reading.source, first)
        for name in names:
            for value in self._values.get(name, ())[1:]:
                yield from expand_word(word, self._reading.source, {**first, name: value})

    def _find_fed_text(self, command: SimpleCommand) -> str:
        for redirect in command.redirects:
            word = redirect.body or (redirect.target if redirect.operator == "<<<" else None)
            if word is not None and (literal := word.to_literal()) is not None:
                return decode_source(literal)
        return ""

    # ── Connections ──────────────────────────────────────────────────────────────────────────────

    def _find_sources(self, place: int, command: SimpleCommand) -> Iterator[int]:
        """Yield the flows whose output a command is given by a pipe, its variables, or a redirection of a group."""
        for name in _list_names(command):
            yield from self._givers.get(name, ())
            if name not in self._values:
                yield from self._givers.get("*", ())
        earlier = [at for at in range(place) if self._commands[at].end <= command.start]
        if not earlier:
            return
        if not command.words and not command.assignments:  # the redirections of a group
            yield from (self._places_of[at] for at in earlier)
            return
        last = max(earlier, key=lambda at: self._commands[at].end)
        gap = self._reading.source[self._commands[last].end : command.start]
        if _PLAIN_PIPE.match(gap):
            yield self._places_of[last]
        elif _PIPED.match(gap):
            yield from (self._places_of[at] for at in earlier)

    def _bind_variables(self, number: int, command: SimpleCommand, flow: Flow) -> None:
        names: list[str] = []
        if not command.words:
            names = [decode_source(each.name) for each in command.assignments]
        if flow.program in _READERS:
            names += [each for each in flow.args if not each.startswith("-")]
        if flow.program in ("export", "declare", "local", "typeset", "readonly"):
            names += [match[1] for each in flow.args if (match := _ASSIGNED.match(each))]
        if flow.program in _SOURCES:
            names.append("*")
        for name in names:
            self._givers.setdefault(name, set()).add(number)

    def _connect_substitutions(self) -> None:
        """Give each command the output of the commands inside it, and a group's input to the commands of the group."""
        for inner, command in enumerate(self._commands):
            outer = self._find_container(inner)
            if outer is not None:
                self._add_sources(self._places_of[outer], {self._places_of[inner]})
            if not command.words and not command.assignments:
                flow = self._flows[self._places_of[inner]]
                if flow.reads:
                    for at in range(inner):
                        self._add_sources(self._places_of[at], {self._places_of[inner]})

    def _find_container(self, inner: int) -> int | None:
        command = self._commands[inner]
        around = [
            at
            for at in range(inner)
            if self._commands[at].start <= command.start and command.end <= self._commands[at].end
        ]
        return around[-1] if around else None

    def _add_sources(self, number: int, sources: set[int]) -> None:
        flow = self._flows[number]
        self._flows[number] = replace(flow, sources=flow.sources | (sources - {number}))

    def _append_script(self, script: str, flow: Flow) -> None:
        known = {name: decode_source(values[0]) for name, values in self._values.items()}
        inner = trace_command_line(script, root=self._root, known=known, level=self._level + 1)
        base = len(self._flows)
        for each in inner[: max(MAX_FLOWS - base, 0)]:
            moved = frozenset(base + source for source in each.sources)
            self._flows.append(replace(each, sources=moved | flow.sources))


def _collect_paths(effects: Sequence[Effect]) -> tuple[set[str], set[str]]:
    reads = {path for each in effects if each.kind == "read" for path in each.paths}
    writes = {path for each in effects if each.kind == "write" for path in each.paths}
    return reads, writes


def _list_names(command: SimpleCommand) -> Iterator[str]:
    """Yield the variables that a command uses."""
    words = [*command.words, *(each.value for each in command.assignments if each.value)]
    for redirect in command.redirects:
        words += [each for each in (redirect.target, redirect.body) if each is not None]
    for word in words:
        yield from _list_part_names(word)


def _list_part_names(word: Word) -> Iterator[str]:
    for kind, text in word.parts:
        if kind in ("value", "split", "list") and (match := _NAME.match(text)):
            yield decode_source(match[1])


def _get_base_name(args: Sequence[Arg]) -> str:
    return (args[0].text or "").rpartition("/")[2] if args else ""
