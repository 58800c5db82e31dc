"""Commands that an action runs, judged by parsing: command lines, scripts of the workspace, and Python code.

What a program starts by itself cannot be seen here. What surely runs something that cannot be read (a shell fed by a
pipe, a command whose name is computed) counts as possibly forbidden.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent.rules.event_pattern import matches_command
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect
from sandbox.policy.shell import Judgement, Segment, judge_command_line

LoadScript = Callable[[str], str | None]
"""Returns the text of a file of the workspace, None if it cannot be read."""

MOST_DEPTH = 3
"""Levels of scripts that run scripts."""

_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "source", "."))
_PYTHONS = ("python", "python3", "pypy", "pypy3")

_STARTERS = frozenset(
    (
        *("run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"),
        *("system", "popen", "spawn", "posix_spawn", "posix_spawnp"),
        *("create_subprocess_exec", "create_subprocess_shell"),
        *(f"exec{form}" for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
        *(f"spawn{form}" for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    )
)
"""Functions of Python's modules that start a program."""

_MODULES = frozenset(("os", "subprocess", "posix", "pty", "asyncio", "commands"))
_FOREIGN = frozenset(("ctypes", "_posixsubprocess", "cffi"))
"""Modules by which code reaches the kernel in ways that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """A command that an action runs. unclear: why it cannot be judged fully, "" if it can

    spellings: quoting undone, wrappers removed; a part that is not known begins with `$`
    effects: of a command line; () for one in Python code
    """

    text: str
    spellings: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    unclear: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReader:
    """Reads the commands of an action's command line or code. root: of the workspace; load_script: of its files"""

    root: Path
    load_script: LoadScript

    def read_line(self, line: str, depth: int = 0) -> list[RunCommand]:
        """Return the commands of a bash command line."""
        judgement = judge_command_line(line, root=self.root)
        return list(self._iterate_judged(judgement, depth))

    def read_code(self, code: str, depth: int = 0) -> list[RunCommand]:
        """Return the programs that Python code starts, as far as its text shows them."""
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        return list(self._iterate_started(tree, depth))

    def _iterate_judged(self, judgement: Judgement, depth: int) -> Iterator[RunCommand]:
        written = {path for effect in judgement.effects if effect.kind == "write" for path in effect.paths}
        for segment in judgement.segments:
            unclear = ""
            if segment.argv is None and not segment.forms and _is_unknown(segment):
                unclear = segment.why
            yield RunCommand(
                text=segment.text,
                spellings=segment.forms,
                effects=segment.effects,
                unclear=unclear or _find_unread_input(segment),
            )
            yield from self._read_script(segment, written, depth)
        if judgement.problems:
            yield RunCommand(text="", unclear="; ".join(judgement.problems))

    def _read_script(self, segment: Segment, written: set[str], depth: int) -> Iterator[RunCommand]:
        """Read a script of the workspace that a command runs, or the code of `python -c`."""
        program, arguments = _find_program(segment)
        if depth >= MOST_DEPTH or not program:
            return
        if program in _PYTHONS or program.startswith("python3."):
            if "-c" in arguments[:-1]:
                yield from self.read_code(arguments[arguments.index("-c") + 1], depth + 1)
                return
            path = next((each for each in arguments if not each.startswith("-")), "")
        elif program in _SHELLS:
            path = next((each for each in arguments if not each.startswith("-")), "")
        else:
            path = program if "/" in program else ""
        if not path or "-c" in arguments:
            return
        name = path.removeprefix("./")
        if name in written:
            yield RunCommand(text=segment.text, unclear=f"it runs {path}, which the same line writes")
            return
        text = self.load_script(name)
        if text is None:
            return
        if program in _SHELLS or (text.startswith("#!") and _is_shell_script(text)):
            yield from self.read_line(text, depth + 1)
        elif path.endswith(".py") or "python" in text.partition("\n")[0]:
            yield from self.read_code(text, depth + 1)

    def _iterate_started(self, tree: ast.AST, depth: int) -> Iterator[RunCommand]:
        names = _collect_started_names(tree)
        called = {id(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call)}
        for node in ast.walk(tree):
            match node:
                case ast.Import() | ast.ImportFrom():
                    if found := _FOREIGN & set(_list_imported(node)):
                        yield RunCommand(text=ast.unparse(node), unclear=f"it uses {sorted(found)[0]}")
                case ast.Call() if _is_start(node, names):
                    yield from self._read_start(node, depth)
                case ast.Call(func=ast.Name(id="exec" | "eval" | "__import__")):
                    yield from self._read_dynamic(node, depth)
                case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=owner), *_]) if owner in names:
                    yield RunCommand(
                        text=ast.unparse(node), unclear="its code hides which programs it starts"
                    )
                case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                    id(node) not in called and name in _STARTERS and names.get(owner) in _MODULES
                ):
                    yield RunCommand(
                        text=ast.unparse(node), unclear="its code hides which programs it starts"
                    )

    def _read_start(self, node: ast.Call, depth: int) -> Iterator[RunCommand]:
        text = ast.unparse(node)
        given = [
            *node.args,
            *(each.value for each in node.keywords if each.arg in ("args", "cmd", "command")),
        ]
        words = _read_words(given)
        if words is None:
            yield RunCommand(text=text, unclear="the command that its code starts is computed")
            return
        for each in self.read_line(words, depth + 1):
            yield RunCommand(text=text, spellings=each.spellings, unclear=each.unclear)

    def _read_dynamic(self, node: ast.Call, depth: int) -> Iterator[RunCommand]:
        match node.args[:1]:
            case [ast.Constant(value=str(text))]:
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                if name != "__import__":
                    yield from self.read_code(text, depth + 1) if depth < MOST_DEPTH else ()
                elif text.partition(".")[0] in _MODULES | _FOREIGN:
                    yield RunCommand(
                        text=ast.unparse(node), unclear="its code hides which programs it starts"
                    )
            case [_]:
                yield RunCommand(text=ast.unparse(node), unclear="its code runs a computed text")


def find_forbidden(commands: Sequence[RunCommand], patterns: Sequence[str]) -> tuple[RunCommand, str] | None:
    """Return the first command that one of the patterns matches, or may match, and the reason; None for none."""
    for command in commands:
        for pattern in patterns:
            if matches_command(pattern, command.spellings):
                return command, ""
            if any(_may_match(pattern, each) for each in command.spellings):
                return command, f"it cannot be told whether it is {pattern!r}"
        if command.unclear:
            return command, command.unclear
    return None


def _may_match(pattern: str, spelling: str) -> bool:
    """Whether a spelling with a part that is not known could be one that the pattern matches."""
    words, wanted = spelling.split(), pattern.split()
    unknown = next((at for at, word in enumerate(words) if word[:1] in "$`…" or "$" in word), len(words))
    fixed = next((at for at, word in enumerate(wanted) if "*" in word or "?" in word), len(wanted))
    shared = min(unknown, fixed)
    return unknown < len(words) and words[:shared] == wanted[:shared] and (shared > 0 or unknown == 0)


def _is_unknown(segment: Segment) -> bool:
    return any(effect.kind == "unknown" for effect in segment.effects)


def _find_unread_input(segment: Segment) -> str:
    """Return why the script of a shell cannot be read: it comes from a pipe or is computed."""
    program, arguments = _find_program(segment)
    if program not in _SHELLS:
        return ""
    runs = [each.reason for each in segment.effects if each.kind in ("execute", "unknown")]
    names_script = "-c" not in arguments and any(not each.startswith("-") for each in arguments)
    return runs[0] if runs and not names_script else ""


def _find_program(segment: Segment) -> tuple[str, list[str]]:
    """Return the program and arguments of a command, wrappers removed, by its last spelling."""
    if segment.argv and len(segment.forms) <= 1:
        program = segment.argv[0]
        return (program.rpartition("/")[2] if not program.startswith(".") else program), list(
            segment.argv[1:]
        )
    if not segment.forms:
        return "", []
    try:
        words = shlex.split(segment.forms[-1])
    except ValueError:
        words = segment.forms[-1].split()
    return (words[0], words[1:]) if words else ("", [])


def _is_shell_script(text: str) -> bool:
    return text.partition("\n")[0].rpartition("/")[2].split(" ")[-1].strip() in _SHELLS


def _list_imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    names = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return [each.partition(".")[0] for each in names]


def _collect_started_names(tree: ast.AST) -> dict[str, str]:
    """Return what the names of modules and functions that start programs stand for in some code."""
    found = {name: name for name in _MODULES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname and each.name in _MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            found |= {
                each.asname or each.name: f"{node.module}." for each in node.names if each.name in _STARTERS
            }
    return found


def _is_start(node: ast.Call, names: dict[str, str]) -> bool:
    """Whether a call starts a program by one of the functions of the standard library."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return name in _STARTERS and names.get(owner) in _MODULES
        case ast.Name(id=name):
            return names.get(name, "").endswith(".")
        case ast.Attribute(value=ast.Call(func=ast.Name(id="__import__")), attr=name):
            return name in _STARTERS
    return False


def _read_words(given: Sequence[ast.AST]) -> str | None:
    """Return the command line that the arguments of a call are, None if computed; unknown words begin with `$`."""
    match given:
        case [ast.Constant(value=str()), ast.List(elts=words) | ast.Tuple(elts=words), *_]:
            return shlex.join(map(_read_word, words))
        case [ast.List(elts=words) | ast.Tuple(elts=words), *_]:
            return shlex.join(map(_read_word, words))
        case [ast.Constant(value=str(line)), *rest]:
            more = [
                each.value for each in rest if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            return shlex.join([line, *more]) if more else line
    return None


def _read_word(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Attribute(value=ast.Name(id="sys"), attr="executable"):
            return "python"
    return "$computed"
