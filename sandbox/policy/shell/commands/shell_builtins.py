"""Shells, builtins and `env`: commands that set variables, change folders or run a script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.shell.commands.command_call import Call, Special
from sandbox.policy.shell.commands.options import ParsedArguments, Spec
from sandbox.policy.shell.commands.variables import PLAIN_NAME, changes_execution, is_harmless_variable
from sandbox.policy.shell.parsing.expansion import Arg, make_static_arg
from sandbox.policy.shell.parsing.syntax import parse_word_set

# ── Tests and output ─────────────────────────────────────────────────────────────────────────────────

_BINARY = parse_word_set("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o ] )")
_NUMBER = compile_lazily(r'"?(?:\$[?#$!]|\$\{#\w+\})"?')


def _judge_test(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge `[` and `test`: a word that expands to `-v` would evaluate the subscript in the next one."""
    call.add_effect(Effect(kind="read"))
    operands = list(args[1:])
    for place, arg in enumerate(operands):
        following = operands[place + 1].text if place + 1 < len(operands) else "]"
        if arg.text in ("-v", "-R") and not (following and PLAIN_NAME.fullmatch(following)):
            call.add_unknown(f"`{arg.text}` of a test can run code")
        elif arg.text is None and not _NUMBER.fullmatch(arg.source) and not arg.prefix:
            if arg.shape != "one":
                call.add_unknown(f"{arg.source} in a test may become several words: quote it")
            elif following not in _BINARY:
                call.add_unknown(f"{arg.source} may become an operator of the test")


def _judge_printf(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge `printf`: `-v NAME` sets a variable, and evaluates a subscript in its name."""
    if len(args) > 1 and (args[1].may_be_option and args[1].text != "--"):
        name = args[2].text if len(args) > 2 else None
        if args[1].text == "-v" and name and PLAIN_NAME.fullmatch(name):
            call.bound.append(name)
        else:
            call.add_unknown(f"{args[1].source} of printf can set a variable")


# ── Shells and the environment ───────────────────────────────────────────────────────────────────────

_SHELL_FLAGS = compile_lazily(r"-[eulxvnfbC]*(c?)[eulxvn]*")
_SHELL_LONG = parse_word_set("--norc --noprofile --login --posix --noediting")


def _judge_shell(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    words, place, takes_script = list(args[1:]), 0, False
    while place < len(words) and words[place].prefix[:1] in ("-", "+"):
        text = words[place].text or ""
        place += 1
        if text in ("-o", "+o"):
            option = words[place].text if place < len(words) else None
            if option not in ("pipefail", "errexit", "nounset", "xtrace", "noglob", "verbose"):
                call.add_unknown("the option -o of a shell is not known")
            place += 1
        elif text == "--":
            break
        elif (match := _SHELL_FLAGS.fullmatch(text)) and text != "-":
            takes_script = takes_script or bool(match[1])
        elif text not in _SHELL_LONG and text != "-":
            call.add_unknown(f"a shell with the option {text!r}")
    rest = words[place:]
    if any(arg.text is None and arg.may_be_option for arg in rest[:1]):
        call.add_unknown(f"{rest[0].source} may become an option of a shell")
        call.add_effect_of_kind("execute", "runs a script", *args)
    elif takes_script:
        call.add_script(rest[:1], reader="bash" if spec.name == "bash" else "sh")
        if not rest:
            call.add_unknown("a shell without its script")
    elif rest:
        call.add_effect_of_kind("execute", f"runs the script {rest[0].to_display()!r}", *args)
    elif call.fed is not None:
        call.add_script([make_static_arg(call.fed)], reader="bash" if spec.name == "bash" else "sh")
    else:
        call.add_effect_of_kind("execute", "runs what it reads", *args)


def _judge_env(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    words, place = list(args[1:]), 0
    while place < len(words):
        arg, text = words[place], words[place].text
        if text is not None and text.startswith("-") and text != "-":
            place += 1 + (text in ("-u", "--unset", "-S", "--split-string", "-C", "--chdir"))
            if text == "--":
                break
        elif text == "-":
            place += 1
        elif "=" in arg.prefix:
            name = arg.prefix.partition("=")[0]
            if arg.shape == "many" or not is_harmless_variable(name):
                call.add_unknown(f"sets {name} for a command")
            place += 1
        else:
            break
    if any(does == "env-string" for _, does, _ in use.done):
        call.add_unknown("env splits a string into a command")
    while place < len(words) and "=" in words[place].prefix:  # after `--`
        if not is_harmless_variable(words[place].prefix.partition("=")[0]):
            call.add_unknown(f"sets {words[place].prefix} for a command")
        place += 1
    if place < len(words):
        call.judge_command(words[place:])
    else:
        call.add_effect(Effect(kind="read", reason="shows the environment"))


def _judge_cd(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    operands = [arg for arg in args[1:] if arg.text is None or not re.fullmatch(r"-[LPe@]*|--", arg.text)]
    if any(arg.text == "-" for arg in args[1:]) or spec.name != "cd":
        call.folders = (*call.places.folders, None)
    elif not operands:
        call.folders = call.places.list_folders_after_cd(call.places.home)
    elif len(operands) > 1 or operands[0].text is None or operands[0].text.startswith(("-", "+")):
        call.folders = (*call.places.folders, None)
    else:
        call.folders = call.places.list_folders_after_cd(operands[0].text)


def _judge_trap(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    operands = [arg for arg in args[1:] if arg.text not in ("--", "-l", "-p")]
    if len(operands) > 1 and operands[0].text not in ("-", ""):
        call.add_script(operands[:1], reader="itself")
    elif any(arg.text is None for arg in operands):
        call.add_unknown("a trap that is not known")


def _judge_read(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge `read` and `mapfile`, which give variables unknown values."""
    words, place = list(args[1:]), 0
    takes = "dnNtpaiu" if spec.name == "read" else "dnOsu"
    while place < len(words) and words[place].may_be_option:
        text = words[place].text
        place += 1
        if text == "--":
            break
        if text is None or not re.fullmatch(r"-[rse]*[rse" + takes + r"t][^\[]*", text):
            call.add_unknown(f"{words[place - 1].source} is not an option that is known")
        elif len(text.rstrip()) >= 2 and text[-1] in takes:
            value = words[place].text if place < len(words) else ""
            if text[-1] == "a":
                _bind_variable(call, value)
            place += 1
        elif "a" in text:
            call.add_unknown("an array that is not understood")
    for arg in words[place:]:
        _bind_variable(call, arg.text)


def _bind_variable(call: Call, name: str | None) -> None:
    if name is None or not PLAIN_NAME.fullmatch(name):
        call.add_unknown("sets a variable whose name can run code")
    else:
        call.bound.append(name)


def _judge_declare(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge builtins that take names or assignments; most of their options change the meaning of a name."""
    exported = spec.name == "export"
    for arg in args[1:]:
        name, equals, _ = arg.prefix.partition("=")
        if arg.text in _DECLARE_OPTIONS.get(spec.name, ()):
            continue
        if not PLAIN_NAME.fullmatch(name) or (arg.text is None and not equals) or arg.shape != "one":
            call.add_unknown(f"{spec.name} of {arg.source} can run code")
        elif changes_execution(name) or (exported and not is_harmless_variable(name)):
            call.add_unknown(f"sets {name}, which changes what commands do")
        elif equals:
            call.bound.append(name)


_DECLARE_OPTIONS = {
    "local": ("-r", "-a", "-A"),
    "declare": ("-r", "-a", "-A", "-p", "-g"),
    "typeset": ("-r", "-a", "-A", "-p"),
    "readonly": ("-p", "-a"),
    "export": ("-p",),
    "unset": ("-v",),
}


def _judge_set(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    words, place = list(args[1:]), 0
    while place < len(words):
        arg, text = words[place], words[place].text
        place += 1
        if text in ("--", "-"):
            return
        if text in ("-o", "+o", "-eo", "-euo", "-ueo", "-eou", "-uo", "-euxo", "-exo", "-eux", "-exuo"):
            value = words[place].text if place < len(words) and text.endswith("o") else "pipefail"
            place += text.endswith("o")
            if value not in ("pipefail", "errexit", "nounset", "xtrace", "verbose"):
                call.add_unknown(f"the option {value!r} of set is not known")
        elif text is None or not re.fullmatch(r"[-+][euxvf]+", text):
            call.add_unknown(f"{arg.source} may change how bash reads what follows")


def _judge_let(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    call.add_unknown(f"{spec.name} evaluates arithmetic, which can run code")


BUILTINS: Mapping[str, Special] = {
    **dict.fromkeys(("test", "["), _judge_test),
    "printf": _judge_printf,
    **dict.fromkeys(("bash", "sh", "dash", "ash"), _judge_shell),
    "env": _judge_env,
    **dict.fromkeys(("cd", "pushd", "popd"), _judge_cd),
    "trap": _judge_trap,
    **dict.fromkeys(("read", "mapfile", "readarray"), _judge_read),
    **dict.fromkeys(("export", "readonly", "local", "declare", "typeset", "unset"), _judge_declare),
    "set": _judge_set,
    **dict.fromkeys(("let", "getopts"), _judge_let),
}
