"""Judge a command line: every command that it can run, with its effects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.shell.commands.command_call import Call, ScriptReader
from sandbox.policy.shell.commands.git_commands import GIT_SPECIALS
from sandbox.policy.shell.commands.path_effects import PathClassifier, create_classifier
from sandbox.policy.shell.commands.shell_builtins import BUILTINS
from sandbox.policy.shell.commands.utilities import UTILITIES
from sandbox.policy.shell.commands.variables import changes_execution, is_harmless_variable
from sandbox.policy.shell.parsing.cross_check import explain_disagreement
from sandbox.policy.shell.parsing.expansion import Arg, expand_arguments, expand_word
from sandbox.policy.shell.parsing.parser import parse_source
from sandbox.policy.shell.parsing.syntax import (
    Assignment,
    ParsedSource,
    Redirect,
    SimpleCommand,
    decode_source,
    encode_source,
    parse_word_set,
)
from sandbox.policy.shell.rule_suggestion import suggest_pattern

MAX_LENGTH = 100_000
"""Characters. The longest legitimate lines write a file by a here-document; parsing takes 2 µs a character."""

MAX_SEGMENTS = 2_000
"""Commands, redirections and assignments in one line; more cannot be shown to a user who is asked."""

MAX_SCRIPTS = 4
"""Levels of `bash -c 'bash -c …'`."""

SPECIALS = {**BUILTINS, **UTILITIES, **GIT_SPECIALS}
"""Commands that code judges, by name."""

_UNPRINTABLE = compile_lazily(r"[\x00-\x08\x0b-\x1f\x7f]")
_INVISIBLE = compile_lazily(
    r"[\x80-\x9f\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\U000e0000-\U000e0fff]"
)
_NOT_POSIX = compile_lazily(
    r"\$['\"\[]|&>|>&\s*[^\s0-9-]|[<>]\(|\[\[|\(\(|\bfunction\b|(?<!\$)\{(?![\s}])|;;?&|\|&|<<<|\bcoproc\b|\btime\b"
    r"|\+=|=\(|\bselect\b|~[+-]|\$\{!"
)
"""Syntax that other shells interpret differently from bash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One command of a line, or one redirection or assignment that matters by itself.

    text: as written in the source
    argv: its arguments, if they are known exactly; () if it is no command
    why: reason for the user
    forms: spellings for rules that ask or deny: quoting undone, wrappers removed
    trusted_forms: spellings for rules that allow: only parts that change nothing were removed
    elsewhere: it runs, or may run, outside of the workspace, or with variables that may change what it does
    """

    text: str
    argv: tuple[str, ...] | None
    effects: tuple[Effect, ...]
    why: str
    forms: tuple[str, ...] = ()
    trusted_forms: tuple[str, ...] = ()
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All possible effects of a command line. `problems`: parts that were not understood; () if none"""

    segments: tuple[Segment, ...]
    problems: tuple[str, ...] = ()

    @property
    def effects(self) -> tuple[Effect, ...]:
        found = [effect for segment in self.segments for effect in segment.effects]
        return tuple(dict.fromkeys(found)) or (Effect(kind="none"),)


def judge_command_line(command: str, *, root: Path, cwd: Path | None = None) -> Judgement:
    """Judge a line for `bash -c`, run in `cwd` (the workspace's root if None)."""
    if trouble := _explain_unfit(command):
        return _judge_unreadable(command, trouble)
    start = create_classifier(root, cwd)
    line = _Line(command, start)
    found, after = line.run()
    if line.jumps and set(after.folders) != set(start.folders):
        # Loops and functions jump back: the working directories at the end are possible everywhere.
        line = _Line(command, replace(start, folders=after.folders))
        found, again = line.run()
        if set(again.folders) != set(after.folders):
            line = _Line(command, replace(start, folders=(*again.folders, None)))
            found, _ = line.run()
    problems = tuple(line.problems)
    if problems:
        found.append(_build_segment(command, None, [_build_unknown_effect("; ".join(problems))]))
    return Judgement(segments=tuple(_mark_reshaped_writes(found, line.reshaping)), problems=problems)


def suggest_rule(segment: Segment) -> str | None:
    """Return the pattern that "always allow" stores for a segment, None if only the exact line is safe."""
    plain = segment.argv is not None and len(segment.forms) == 1
    return suggest_pattern(segment.argv or (), segment.effects, plain=plain)


def is_harmless_effect(effect: Effect) -> bool:
    """Return whether an effect only reads, or writes inside the workspace."""
    return effect.kind in ("none", "read") or (effect.kind == "write" and not effect.outside)


def _build_unknown_effect(reason: str) -> Effect:
    return Effect(kind="unknown", reason=reason)


def _explain_unfit(command: str) -> str:
    if len(command) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH} characters"
    try:
        command.encode()
    except UnicodeEncodeError:  # a lone surrogate: its bytes are unknown
        return "it holds bytes that are no text"
    if _UNPRINTABLE.search(command):
        return "it holds a control character"
    if not command.isascii() and _INVISIBLE.search(command):
        return "it holds an invisible character, or a space that is none"
    return ""


def _judge_unreadable(command: str, trouble: str) -> Judgement:
    return Judgement(
        segments=(_build_segment(command, None, [_build_unknown_effect(trouble)]),), problems=(trouble,)
    )


def _build_segment(
    text: str, argv: tuple[str, ...] | None, effects: list[Effect], call: Call | None = None
) -> Segment:
    reasons = [effect.reason or f"{effect.kind}s" for effect in effects if not is_harmless_effect(effect)]
    why = "; ".join(dict.fromkeys(reasons)) or _describe_harmless(effects)
    return Segment(
        text=text,
        argv=argv,
        effects=tuple(effects) or (Effect(kind="none"),),
        why=why,
        forms=tuple(call.forms) if call else (),
        trusted_forms=tuple(call.trusted) if call else (),
    )


def _describe_harmless(effects: list[Effect]) -> str:
    kinds = {effect.kind for effect in effects}
    return (
        "writes inside the workspace"
        if "write" in kinds
        else "only reads"
        if "read" in kinds
        else "changes nothing"
    )


def _mark_reshaped_writes(found: list[Segment], reshaping: list[int]) -> Iterator[Segment]:
    """Mark writes as unknown if another command of the line may have put a link into their paths."""
    for place, segment in enumerate(found):
        if any(each != place for each in reshaping) and any(
            effect.kind == "write" for effect in segment.effects
        ):
            reason = "another command of the line may have put a link into the path that this one writes"
            yield replace(segment, effects=(*segment.effects, _build_unknown_effect(reason)), why=reason)
        else:
            yield segment


class _Line:
    """One source and the scripts that it runs. Working directories change from command to command."""

    def __init__(
        self, command: str, start: PathClassifier, *, level: int = 0, functions: frozenset[str] = frozenset()
    ) -> None:
        self._command = command
        self._places = start
        self._level = level
        self._inherited = functions
        self.segments: list[Segment] = []
        self.problems: list[str] = []
        self.reshaping: list[int] = []
        self.jumps = False

    def run(self) -> tuple[list[Segment], PathClassifier]:
        reading = parse_source(encode_source(self._command))
        self.problems += reading.problems
        too_many = (
            sum(1 + len(each.redirects) + len(each.assignments) for each in reading.commands) > MAX_SEGMENTS
        )
        if too_many:
            self.problems.append(f"it has more than {MAX_SEGMENTS} parts")
        elif not reading.problems and (reason := explain_disagreement(reading)):
            self.problems.append(reason)
        self._functions = self._inherited | frozenset(map(decode_source, reading.functions))
        self.calculated = set(reading.calculated)
        self._known = _collect_known_variables(reading, self._places)
        self._bound: set[str] = reading.bound | _find_noninteger_names(reading)
        self.jumps = bool(reading.functions) or any(command.repeated for command in reading.commands)
        for command in () if too_many else reading.commands:
            self._judge_simple(reading, command)
        self._check_variables(reading)
        return self.segments, self._places

    # ── One command ──────────────────────────────────────────────────────────────────────────────

    def _judge_simple(self, reading: ParsedSource, command: SimpleCommand) -> None:
        args = expand_arguments(command.words, reading.source, self._known)
        names = [assignment.name for assignment in command.assignments]
        if command.words:
            self._judge_call(reading, command, args, names)
        for assignment in command.assignments:
            self._judge_assignment(reading, assignment, args)
        for redirect in command.redirects:
            self._judge_redirect(reading, redirect)

    def _judge_call(
        self, reading: ParsedSource, command: SimpleCommand, args: list[Arg], names: list[str]
    ) -> None:
        surely = {
            decode_source(name) for name, place in reading.functions.items() if 0 <= place < command.start
        }
        call = Call(
            self._places,
            functions=self._functions,
            surely=surely,
            specials=SPECIALS,
            fed=_find_input_text(reading, command),
        )
        call.judge_command(args)
        self._bound.update(call.bound)
        foreign = [name for name in names if not is_harmless_variable(name) and not changes_execution(name)]
        if (
            foreign
            and call.program not in _BUILTINS
            and all(is_harmless_effect(effect) for effect in call.effects)
        ):
            call.add_unknown(f"sets {foreign[0]} for a command, which may change what it does")
        known = all(arg.text is not None for arg in args)
        argv = tuple(arg.text or "" for arg in args) if known else None
        first, last = command.words[0].start, command.words[-1].end
        text = decode_source(reading.source[first:last])
        if call.reshapes:
            self.reshaping.append(len(self.segments))
        if call.scripts and not call.effects:
            call.effects.append(Effect(kind="none", reason="runs the script that is judged with it"))
        elsewhere = bool(foreign) or not self._places.is_inside_workspace(".")
        self.segments.append(replace(_build_segment(text, argv, call.effects, call), elsewhere=elsewhere))
        self._places = replace(self._places, folders=call.folders)
        for script, reader in call.scripts:
            self._judge_script(script, reader)

    def _judge_script(self, script: str, reader: ScriptReader) -> None:
        """Judge source that a command runs in the same way as the line itself."""
        trouble = _explain_unfit(script)
        if not trouble and self._level >= MAX_SCRIPTS:
            trouble = "scripts run scripts run scripts"
        if not trouble and reader == "sh" and _NOT_POSIX.search(script):
            trouble = "a shell that is not bash may read its script otherwise"
        if trouble:
            self.problems.append(trouble)
            return
        inner = _Line(
            script,
            self._places,
            level=self._level + 1,
            functions=self._functions if reader == "itself" else frozenset(),
        )
        _, self._places = inner.run()
        self.reshaping += [len(self.segments) + place for place in inner.reshaping]
        self.segments += inner.segments
        self.problems += [problem for problem in inner.problems if problem not in self.problems]
        self._bound |= inner._bound
        self.calculated |= inner.calculated
        if reader == "itself":
            self._functions |= inner._functions
        self.jumps = self.jumps or inner.jumps

    def _judge_assignment(self, reading: ParsedSource, assignment: Assignment, args: list[Arg]) -> None:
        name = decode_source(assignment.name)
        if not changes_execution(name) or (name == "IFS" and args and args[0].text == "read"):
            return
        text = decode_source(reading.source[assignment.start : assignment.end])
        self.segments.append(
            _build_segment(text, (), [_build_unknown_effect(f"sets {name}, which changes what commands do")])
        )

    def _judge_redirect(self, reading: ParsedSource, redirect: Redirect) -> None:
        if redirect.variable and changes_execution(redirect.variable):
            self.problems.append(f"a redirection sets {redirect.variable}")
        self._bound.add(redirect.variable)
        if redirect.target is None or redirect.operator == "<<<":
            return
        text = decode_source(reading.source[redirect.start : redirect.end])
        found = expand_word(redirect.target, reading.source, self._known)
        target = found[0] if len(found) == 1 else Arg(text=None, shape="many", source=text)
        if (
            redirect.operator in (">&", "<&")
            and target.text is not None
            and _DESCRIPTOR.fullmatch(target.text)
        ):
            return
        if target.prefix.startswith(("/dev/tcp/", "/dev/udp/")):
            host = target.prefix.split("/")[3:4]
            effect = Effect(kind="network", hosts=tuple(host), reason="bash opens a connection for this name")
        elif target.prefix == "/dev/fd/" and target.source[:2] in ("<(", ">("):
            return
        elif redirect.operator not in ("<", "<&"):
            effect = self._places.classify_write(target)
        elif target.text is None and (not target.prefix or target.prefix.startswith("/")):
            effect = _build_unknown_effect(f"reads {target.source}, which may name a connection")
        else:
            effect = self._places.classify_read(target)
        if effect.kind != "none":
            self.segments.append(_build_segment(text, (), [effect]))

    # ── Variables ────────────────────────────────────────────────────────────────────────────────

    def _check_variables(self, reading: ParsedSource) -> None:
        """Check variables: arithmetic evaluates the variables it uses; some variables must never be set."""
        assigned = {assignment.name for command in reading.commands for assignment in command.assignments}
        for name in sorted((self._bound - assigned) | self.calculated):
            if name and changes_execution(decode_source(name)):
                self.problems.append(f"sets or calculates with {name}, which changes what commands do")
        suspect = sorted(self.calculated & self._bound)
        if suspect:
            self.problems.append(f"calculates with {suspect[0]}, whose value may be code")


_DESCRIPTOR = compile_lazily(r"[0-9]+-?|-")

_BUILTINS = parse_word_set(
    "echo printf true false : test [ cd pwd read exit return break continue shift wait set unset export local"
    " declare readonly typeset mapfile readarray type hash umask"
)
"""Builtins that ignore assignments before them."""


def _find_input_text(reading: ParsedSource, command: SimpleCommand) -> str | None:
    """Return the text on a command's input, if it is known."""
    for redirect in reversed(command.redirects):
        word = redirect.body or (redirect.target if redirect.operator == "<<<" else None)
        if reading.source[redirect.start] != "<":
            return None  # another descriptor, or all of the input from elsewhere
        if redirect.operator in ("<<", "<<<") and word is not None:
            literal = word.to_literal()
            return None if literal is None else decode_source(literal)
        if redirect.operator in ("<", "<>", "<&", "<<-"):
            return None
    return None


def _collect_known_variables(reading: ParsedSource, start: PathClassifier) -> Mapping[str, str]:
    """Return variables with a known value: those from the environment that the source does not change."""
    touched = {assignment.name for command in reading.commands for assignment in command.assignments}
    known = {"HOME": start.home}
    return {name: value for name, value in known.items() if name not in touched | reading.bound}


def _find_noninteger_names(reading: ParsedSource) -> set[str]:
    """Return the names to which the source assigns other values than an integer."""
    found: set[str] = set()
    for command in reading.commands:
        for assignment in command.assignments:
            value = assignment.value
            literal = value.to_literal() if value else None
            calculated = value is not None and all(kind == "number" for kind, _ in value.parts)
            if not (calculated or (literal is not None and re.fullmatch(r"-?[0-9]*", literal))):
                found.add(assignment.name)
    return found
