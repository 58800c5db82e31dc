"""Commands of a line that take their program from their standard input, such as `bash` without a script."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from sandbox.policy.shell.data_flow import Flow

_INTERPRETERS = """
bash sh dash ash zsh ksh mksh yash rbash fish csh tcsh nu su | c --command | oO --rcfile --init-file | s --stdin | 1
pwsh powershell | --command --file --encodedcommand -Command -File -EncodedCommand -c -f -e | |  | 1
python python2 python3 pypy pypy3 | cm | WX --check-hash-based-pycs | i | 1
perl | eE | | | 1
ruby | e | rIEC | | 1
node nodejs ts-node tsx | ep --eval --print | rC --require --import --loader --env-file | i --interactive | 1
deno bun | e | | | 1
php | rfBRF --run --file | cdzE --define | a --interactive | 1
lua luajit | e | l | i | 1
julia | eE --eval --print | LJtp --project | i | 1
R | ef --file | | | 9
Rscript osascript | e | l | i | 1
tclsh wish expect guile racket scala groovy clojure swipl octave elixir | ce --eval | | i | 1
irb iex ghci jshell erl sbcl dc ed ex gdb lldb | | | | 9
sqlite3 duckdb | | | | 2
psql mysql mariadb | cef --command --file --execute | hpUdPv --host --port --username --dbname | | 9
ssh | | bcDEeFIiJLlmOopQRSWw | | 2
sudo doas | | ugChpRTU | si --shell --login | 0
make gmake awk gawk mawk nawk sed gsed | f --file --makefile | | | 0
source . | | | | 1
"""
"""Interpreters: `names | options that give the program | options with another value | options that read standard
input all the same | operands that hold the program`. Letters are short options; 9: no operand is a program, 0: it
reads no program unless an option names one."""

_STANDARD_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_VERSIONED = compile_lazily(r"(python|pypy|ruby|perl|php|lua|node|tclsh|wish|guile)[0-9][0-9.]*")
_MAYBE_NOTHING = compile_lazily(r"\$(?:\w+|\{\w+\}|[@*])")
"""An unquoted variable: where it is empty, it is no argument at all."""

_WORD = compile_lazily(r"[\w./+-]+")
_SYNTAX = compile_lazily(r"[^\w\s./:=@%+,${}\"'-]|\n")
_PLAIN_WORD = compile_lazily(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_QUOTED_VARIABLE = compile_lazily(r'"\$[^"]*"')
_NOWHERE = Path("/nowhere")
_WRAPPERS = frozenset(("sudo", "doas", "su", "make", "gmake", "source", "."))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interpreter:
    given: frozenset[str]
    valued: frozenset[str]
    reading: frozenset[str]
    operands: int


@cache
def _index_interpreters() -> dict[str, _Interpreter]:
    found: dict[str, _Interpreter] = {}
    for line in _INTERPRETERS.strip().splitlines():
        names, given, valued, reading, operands = (each.strip() for each in line.split("|"))
        row = _Interpreter(
            given=_split_options(given),
            valued=_split_options(valued),
            reading=_split_options(reading),
            operands=int(operands),
        )
        found |= dict.fromkeys(names.split(), row)
    return found


def _split_options(text: str) -> frozenset[str]:
    long = [each for each in text.split() if each.startswith("-")]
    return frozenset((*long, *"".join(each for each in text.split() if not each.startswith("-"))))


@cache
def find_stdin_interpreter(command: str) -> str:
    """Return the first program of a line that would take its own program from standard input; "" if there is none.

    One that is given a program by a redirection or a here-document of its own is not meant.
    """
    if _index_interpreters().keys().isdisjoint(map(_get_name, _WORD.findall(command))):
        return ""
    if not _SYNTAX.search(command):  # most hooks; the parser of command lines takes a while to import
        words = [_QUOTED_VARIABLE.sub("…", each) for each in _PLAIN_WORD.findall(command)]
        words = [re.sub("[\"']", "", each) for each in words]
        name = _get_name(words[0])
        if name in _index_interpreters() and name not in _WRAPPERS:
            return name if _reads_program(name, tuple(words[1:])) else ""
    from sandbox.policy.shell.data_flow import trace_command_line

    for flow in trace_command_line(command, root=_NOWHERE):
        name = _get_name(flow.called or flow.program)
        args = flow.args if flow.called else tuple(flow.text.split()[1:])  # `sudo -s` runs no command
        inner = _find_split_string(args) if name == "env" else ""
        if inner and (found := find_stdin_interpreter(inner)):
            return found
        if not _is_fed(flow) and _reads_program(name, args):
            return name
    return ""


def _get_name(program: str) -> str:
    name = posixpath.basename(program)
    match = _VERSIONED.fullmatch(name)
    return match[1] if match else name


def _find_split_string(args: Sequence[str]) -> str:
    """Return the command in `env -S`, which env splits by itself."""
    for place, arg in enumerate(args):
        if arg in ("-S", "--split-string"):
            return " ".join(args[place + 1 :])
        if arg.startswith(("-S", "--split-string=")):
            return " ".join((arg.removeprefix("--split-string=").removeprefix("-S"), *args[place + 1 :]))
    return ""


def _is_fed(flow: Flow) -> bool:
    return bool(flow.fed) or bool(flow.reads - _STANDARD_INPUT)


def _reads_program(name: str, args: Sequence[str]) -> bool:
    if name in ("bun", "deno") and args[:1] == ("run",):
        args = args[1:]
    row = _index_interpreters().get(name)
    if row is None:
        return False
    operands, words = 0, [arg for arg in args if not _MAYBE_NOTHING.fullmatch(arg)]
    place = 0
    while place < len(words) and (operands < row.operands or not row.operands):
        word = words[place]
        place += 1
        if word == "--":
            continue
        if word in _STANDARD_INPUT:
            return True
        if not word.startswith(("-", "+")):
            operands += 1
            continue
        option, value = _find_special_option(word, row)
        if option in row.reading:
            return True
        if option in ("", "--help", "--version"):
            if option:
                return False
            continue
        if not value:
            value = words[place] if place < len(words) else ""
            place += 1
        if option in row.given:
            return value in _STANDARD_INPUT
    return operands < row.operands


def _find_special_option(word: str, row: _Interpreter) -> tuple[str, str]:
    """Return the first option in a word that matters, and the value attached to it; "" for none."""
    name, _, value = word.partition("=")
    if name.startswith("--") or name in row.given:
        is_special = name in row.given | row.valued | row.reading | {"--help", "--version"}
        return (name, value) if is_special else ("", "")
    for place, letter in enumerate(word[1:], 1):
        if letter in row.given | row.valued | row.reading:
            return letter, word[place + 1 :]
    return "", ""
