"""Commands of a line that take their program from their standard input, such as `bash` without a script."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from sandbox.policy.shell.data_flow import Flow

_INTERPRETERS = """
bash sh dash ash zsh ksh mksh oksh lksh pdksh yash rbash posh osh ysh fish csh tcsh nu elvish xonsh | c --command \
| oO --rcfile --init-file | s --stdin | 1
su runuser script newgrp | c --command | sgGu | | 9
unshare nsenter fakeroot linux32 linux64 | | tSG --target | | 1
chroot setarch sg | c | | | 2
nix-shell | --run --command | pAI | | 9
pwsh powershell | --command --file --encodedcommand -Command -File -EncodedCommand -c -f -e | |  | 1
python python2 python3 pypy pypy3 ipython bpython ptpython | cm | WX --check-hash-based-pycs | i | 1
perl raku | eE | | | 1
ruby | e | rIEC | | 1
node nodejs ts-node tsx | ep --eval --print | rC --require --import --loader --env-file | i --interactive | 1
deno bun | e | | | 1
php | rfBRF --run --file | cdzE --define | a --interactive | 1
lua luajit | e | l | i | 1
julia | eE --eval --print | LJtp --project | i | 1
R | ef --file | | | 9
Rscript osascript | e | l | i | 1
tclsh wish expect guile racket scala groovy clojure swipl octave elixir ocaml utop swift coffee gforth gnuplot m4 \
csi clisp groovysh runghc | ce --eval | | i | 1
vim vi nvim view | cS | | | 9
emacs | --script --eval --load --batch -batch -l | | | 9
at batch | f | q | | 9
crontab | elr | u | | 1
parallel redis-cli mongosh mongo | | | | 1
irb iex ghci jshell erl sbcl dc ed ex gdb lldb | | | | 9
sqlite3 duckdb | | | | 2
psql mysql mariadb | cef --command --file --execute | hpUdPv --host --port --username --dbname | | 9
ssh | | bcDEeFIiJLlmOopQRSWw | | 2
sudo doas | | ugChpRTU | si --shell --login | 0
make gmake awk gawk mawk nawk sed gsed | f --file --makefile | | | 0
source . | | | | 1
uv | | | | 0
"""
"""Interpreters: `names | options that give the program | options with another value | options that read standard
input all the same | operands that hold the program`. Letters are short options; 9: no operand is a program, 0: it
reads no program unless an option names one."""

_CARRIERS = frozenset(
    (
        *("uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "conda", "mamba", "npx", "pnpm", "yarn", "bunx"),
        *(
            "bundle",
            "pyenv",
            "rbenv",
            "asdf",
            "mise",
            "direnv",
            "nix",
            "nix-shell",
            "docker",
            "podman",
            "nerdctl",
        ),
        *(
            "kubectl",
            "chrt",
            "taskset",
            "numactl",
            "unshare",
            "nsenter",
            "chroot",
            "setarch",
            "linux32",
            "linux64",
        ),
        *(
            "fakeroot",
            "script",
            "su",
            "runuser",
            "sg",
            "ssh",
            "bwrap",
            "firejail",
            "systemd-run",
            "flatpak-spawn",
        ),
        *("parallel", "socat", "coproc", "docker-compose", "toolbox", "distrobox", "heroku", "entr"),
    )
)
"""Programs that start another one: each interpreter among their words is looked at."""

_PROMPTS = frozenset(("code", "pdb", "asyncio", "IPython", "idlelib", "bpython", "ptpython"))
"""Modules of Python that read statements from standard input."""

_STANDARD_INPUT = compile_lazily(r"-|/dev/(?:stdin|fd/\d+)|/proc/[^/]+/fd/\d+")
_WHOLE_INPUT = compile_lazily(
    r"""["']?(?:[$<]\(|`)\s*(?:cat\s*(?:-|/dev/stdin)?|<\s*/dev/stdin)\s*[)`]["']?"""
)
"""A substitution that is all of standard input."""

_START_FILES = compile_lazily(
    r"""\b(?:BASH_ENV|ENV|PYTHONSTARTUP)=["']?(?:/dev/|/proc/)[\w/$]*(?:stdin|fd/\d+)"""
)
_OWN_SHELL = compile_lazily(
    r""""?\$\{?(?:SHELL|BASH)\}?"?(?!\w)|(?:(?<=exec )|(?<![^;&|(]))"?\$\{?0\}?"?(?=\s|\Z)"""
)
_LOOKED_UP = compile_lazily(r"""(?:\$\(|`)\s*(?:which|type -P|command -v)\s+([\w.-]+)\s*[)`]""")
_VERSIONED = compile_lazily(r"(python|pypy|ruby|perl|php|lua|node|tclsh|wish|guile)[0-9][0-9.]*")
_MAYBE_NOTHING = compile_lazily(r"""\$(?:\w+|\{\w+(?::?[-+][^}]*)?\}|[@*])|"\$@"|\$\([^()]*\)|`[^`]*`""")
"""An unquoted variable or substitution: where it is empty, it is no argument at all."""

_WORD = compile_lazily(r"[\w./+-]+")
_SYNTAX = compile_lazily(r"[^\w\s./:=@%+,${}\"'-]|\n")
_PLAIN_WORD = compile_lazily(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_QUOTED_VARIABLE = compile_lazily(r'"\$[^"@]*"')
_NOWHERE = Path("/nowhere")
_WRAPPERS = frozenset(("sudo", "doas", "su", "make", "gmake", "source", "."))
_LINE_RUNNERS = frozenset(("script", "su", "runuser", "sg", "nix-shell"))
_ENGINES = frozenset(("docker", "docker-compose", "podman", "nerdctl", "kubectl"))
_SCRIPT = compile_lazily(r"[^-:@]\S*\.[a-z]{1,4}")
_NAMES_LINE = compile_lazily(r"-[a-z]*c|--command|--run")


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
    if _START_FILES.search(command):
        return "bash"
    line = _LOOKED_UP.sub(r"\1", _OWN_SHELL.sub("bash", command))
    named = [each for each in map(_get_name, _WORD.findall(line)) if each in _index_interpreters()]
    if not named and not _WHOLE_INPUT.search(line):
        return ""
    if len(named) == 1 and not _SYNTAX.search(
        line
    ):  # most hooks; the parser of lines takes a while to import
        words = [_QUOTED_VARIABLE.sub("x", each) for each in _PLAIN_WORD.findall(line)]
        words = [re.sub("[\"']", "", each) for each in words]
        name = _get_name(words[0])
        if name in named and name not in _WRAPPERS:
            return name if _reads_program(name, tuple(words[1:])) else ""
    from sandbox.policy.shell.data_flow import trace_command_line

    for flow in trace_command_line(line, root=_NOWHERE):
        name = _get_name(flow.called or flow.program)
        args = flow.args if flow.called else tuple(flow.text.split()[1:])  # `sudo -s` runs no command
        if inner := _find_carried(name, args):
            return inner
        if not _is_fed(flow) and _reads_program(name, args):
            return name
    return ""


def _find_carried(name: str, args: Sequence[str]) -> str:
    """Return the interpreter without a program that another program is to start; "" for none."""
    if name == "eval":
        return name if any(map(_WHOLE_INPUT.fullmatch, args)) else ""
    if name == "env":
        inner = _find_split_string(args)
        return find_stdin_interpreter(inner) if inner else ""
    if name not in _CARRIERS:
        return ""
    lines = [each for each in args if " " in each]
    if name in _LINE_RUNNERS:
        lines += [value for option, value in pairwise(args) if _NAMES_LINE.fullmatch(option)]
    found = next(filter(None, map(find_stdin_interpreter, lines)), "")
    if found or name in _LINE_RUNNERS:
        return found
    if name in _ENGINES and {"run", "exec"}.isdisjoint(args):
        return ""
    for place, arg in enumerate(args):
        inner = _get_name(arg)
        if name not in _ENGINES and _SCRIPT.fullmatch(arg) and inner not in _index_interpreters():
            return ""
        if inner not in _WRAPPERS and inner != name and _reads_program(inner, args[place + 1 :]):
            return inner
    return ""


def _get_name(program: str) -> str:
    if "/" in program and not program.startswith("/") and "bin/" not in program:
        return program
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
    files = [each for each in flow.reads if not each.isdecimal() and not _is_standard_input(each)]
    return bool(flow.fed) or bool(files)


def _is_standard_input(word: str) -> bool:
    path = posixpath.normpath(word) if word.startswith("/") else word
    return bool(_STANDARD_INPUT.fullmatch(path) or _WHOLE_INPUT.fullmatch(word))


def _reads_program(name: str, args: Sequence[str]) -> bool:
    if name in ("bun", "deno") and args[:1] == ("run",):
        args = args[1:]
    if name in ("bun", "deno") and args[:1] == ("repl",):
        return True
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
        if _is_standard_input(word) or _is_standard_input(word.partition("=")[2]):
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
            return not value or value == "…" or value in _PROMPTS or _is_standard_input(value)
        if _is_standard_input(value):
            return True
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
