"""Programs whose arguments are a language of their own: searches, text languages, archives, copies."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.shell.commands.command_call import Call, Special
from sandbox.policy.shell.commands.options import ParsedArguments, Spec
from sandbox.policy.shell.commands.sed_awk_scripts import explain_awk_risk, explain_sed_risk
from sandbox.policy.shell.parsing.expansion import UNKNOWN_ARGS, Arg, make_static_arg
from sandbox.policy.shell.parsing.syntax import parse_word_set

# ── Searching ────────────────────────────────────────────────────────────────────────────────────────

_FIND_PLAIN = parse_word_set("""
    ! ( ) , -a -o -and -or -not -true -false -depth -d -mount -xdev -noleaf -daystart -follow -warn -nowarn -empty
    -executable -readable -writable -nouser -nogroup -print -print0 -ls -prune -quit -H -L -P -O0 -O1 -O2 -O3 -E -x
    -ignore_readdir_race -noignore_readdir_race -help --help -version --version
    """)
_FIND_VALUE = parse_word_set("""
    -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size -mtime
    -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -user -group -uid -gid -perm -links -inum -samefile -fstype
    -maxdepth -mindepth -printf -used -context -D -newermt -newerat -newerct -newermm
    """)
_FIND_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}


def _judge_find(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    call.add_effect(Effect(kind="read"))
    words = list(args[1:])
    place = 0
    while place < len(words):
        text = words[place].text
        place += 1
        if text is None:
            arg = words[place - 1]
            if arg.shape == "many" or arg.may_be_option or arg.prefix[:1] in ("(", "!", ",", ""):
                call.add_unknown(f"{arg.source} may become an action of find")
            continue
        if text in _FIND_PLAIN:
            continue
        if text in _FIND_VALUE or text in _FIND_WRITES:
            place = _judge_find_value(call, text, words, place)
        elif text in ("-exec", "-execdir", "-ok", "-okdir"):
            place = _judge_find_command(call, words, place)
        elif text == "-delete":
            call.add_effect_of_kind("destructive", "removes what it finds")
        elif text == "-files0-from" or text.startswith("-"):
            call.add_unknown(f"find's {text!r} is not known")
            place += 1
        else:
            call.add_read(words[place - 1])


def _judge_find_value(call: Call, text: str, words: Sequence[Arg], place: int) -> int:
    if place < len(words) and words[place].shape == "many":
        call.add_unknown(f"{words[place].source} may become an action of find")
    if text in _FIND_WRITES and place < len(words):
        call.add_write(words[place])
    return place + _FIND_WRITES.get(text, 1)


def _judge_find_command(call: Call, words: Sequence[Arg], place: int) -> int:
    inner: list[Arg] = []
    while place < len(words):
        arg = words[place]
        place += 1
        if arg.text == ";" or (arg.text == "+" and inner and inner[-1] is UNKNOWN_ARGS):
            break
        inner.append(UNKNOWN_ARGS if arg.text is not None and "{}" in arg.text else arg)
    else:
        call.add_unknown("find's command has no end")
    call.judge_command(inner)
    return place


def _judge_xargs(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge xargs: its options end at the command, and the arguments that it adds are unknown."""
    words, place = list(args[1:]), 0
    while place < len(words) and words[place].may_be_option:
        text = words[place].text
        place += 1
        if text is None:
            return
        if text == "--":
            break
        place += text in _XARGS_SEPARATE
    inner = words[place:]
    mark = next((value.text for _, does, value in use.done if does == "replace" and value), None)
    replaces = any(does == "replace" for _, does, _ in use.done)
    if replaces:
        mark = mark or "{}"
        call.judge_command([UNKNOWN_ARGS if arg.text is None or mark in arg.text else arg for arg in inner])
    else:
        call.judge_command([*(inner or [make_static_arg("echo")]), UNKNOWN_ARGS])


_XARGS_SEPARATE = parse_word_set(
    "-n -L -P -s -d -a -E -I --max-args --max-procs --max-chars --delimiter --arg-file"
)
"""Options that take the next word if written separately. (In clusters, as `-0n`, they are not listed: the
next word is then taken for the command, and a number is not a known one.)"""


# ── Text languages ───────────────────────────────────────────────────────────────────────────────────

_SUFFIX = compile_lazily(r"[A-Za-z0-9._~-]*")


def _judge_sed(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    scripts: list[Arg] = []
    operands: list[Arg] = []
    in_place = False
    words, place = list(args[1:]), 0
    while place < len(words):
        arg = words[place]
        text = arg.text
        place += 1
        if not arg.may_be_option:
            operands.append(arg)
        elif text is None:
            call.add_unknown(f"{arg.source} may become an option")
        elif text in ("-e", "--expression", "-ne", "-Ee", "-nEe", "-re", "-nre"):
            scripts += words[place : place + 1]
            place += 1
        elif text.startswith("--expression="):
            scripts.append(make_static_arg(text.partition("=")[2]))
        elif match := re.fullmatch(r"-[nErsuz]*i(.*)|--in-place(?:=(.*))?", text, re.DOTALL):
            in_place = True
            if not _SUFFIX.fullmatch(match[1] or match[2] or ""):
                call.add_unknown("the backup of sed -i has a name that is not understood")
        elif not re.fullmatch(
            r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|null-data|separate|sandbox|unbuffered|posix|debug"
            r"|help|version)|-l|--line-length=.*",
            text,
        ):
            call.add_unknown(f"sed's option {text!r} is not known to be harmless")
    if not scripts and operands:
        scripts.append(operands.pop(0))
    _judge_program(call, scripts, explain_sed_risk, "sed")
    for arg in operands:
        (call.add_entry_change if in_place else call.add_read)(arg)
    call.add_effect(Effect(kind="read"))


def _judge_program(call: Call, scripts: Sequence[Arg], trouble: Callable[[str], str], name: str) -> None:
    if any(arg.text is None for arg in scripts):
        call.add_unknown(f"the {name} program is not known before it runs")
        return
    text = "\n".join(arg.text or "" for arg in scripts)
    if reason := trouble(text):
        call.add_effect_of_kind("execute", f"{name}: {reason}")


def _judge_awk(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    call.add_effect(Effect(kind="read"))
    words, place = list(args[1:]), 0
    while place < len(words) and words[place].may_be_option:
        text = words[place].text or ""
        place += 1
        if text == "--":
            break
        if text in ("-F", "-v"):
            place += 1
        elif not re.fullmatch(r"-[Fv].+", text, re.DOTALL):
            call.add_unknown(f"awk's option {text!r} is not known to be harmless")
    for arg in words[:place]:
        vague = arg.text is None and (arg.shape != "one" or not arg.prefix)
        if vague and arg.may_be_option and not arg.source.startswith('"'):
            call.add_unknown(f"{arg.source} may become an option")
    _judge_program(call, words[place : place + 1], explain_awk_risk, "awk")
    for arg in words[place + 1 :]:
        call.add_read(arg)  # no word after the program is an option


# ── Archives and copies ──────────────────────────────────────────────────────────────────────────────

_TAR_LETTERS = frozenset("xtcrufzjJvkpmaOhSwC")
_TAR_LONG = parse_word_set("""
    --extract --get --list --create --append --update --gzip --bzip2 --xz --zstd --verbose --file
    --directory --to-stdout --keep-old-files --strip-components --exclude --wildcards --no-same-owner
    --no-same-permissions --auto-compress --exclude-vcs --numeric-owner --owner --group --mtime --sort
    --one-top-level --skip-old-files --transform-none
    """)
_TAR_TAKES = frozenset("fC")
_TAR_LONG_TAKES = parse_word_set(
    "--file --directory --strip-components --exclude --owner --group --mtime --sort"
)


def _judge_tar(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    letters, values, operands = _sort_tar_words(call, list(args[1:]))
    modes = letters & set("xtcru")
    if len(modes) != 1:
        call.add_unknown("tar is told to do nothing that is understood")
        return
    mode = modes.pop()
    for name, value in values:
        if name == "f":
            if value.text is None or ":" in value.text:
                call.add_unknown(f"the archive {value.source} may be on another machine")
            (call.add_read if mode in "xt" else call.add_write)(value)
        elif mode == "x":
            call.add_write(value)
        else:
            if value.text is None or not call.places.is_inside_workspace(value.text):
                call.add_read(value)
            call.enter_folder(value)
    if mode == "x" and "O" not in letters:
        call.add_unknown("writes files whose names stand in the archive, through links that lie in their way")
    call.add_effect(Effect(kind="read"))
    if mode in "cru":
        for arg in operands:
            call.add_read(arg)


def _sort_tar_words(call: Call, words: list[Arg]) -> tuple[set[str], list[tuple[str, Arg]], list[Arg]]:
    letters: set[str] = set()
    values: list[tuple[str, Arg]] = []
    operands: list[Arg] = []
    place = 0
    while place < len(words):
        arg, text = words[place], words[place].text
        place += 1
        if text is None and (arg.may_be_option or arg.shape == "many" or place == 1):
            call.add_unknown(f"{arg.source} may become an option")
        elif text and text.startswith("--"):
            name, equals, value = text.partition("=")
            if name not in _TAR_LONG:
                call.add_unknown(f"tar's option {name!r} is not known to be harmless")
            if name in _TAR_LONG_TAKES:
                taken = make_static_arg(value) if equals else words[place] if place < len(words) else None
                place += not equals
                if name in ("--file", "--directory") and taken:
                    values.append(("f" if name == "--file" else "C", taken))
            letters |= {{"--extract": "x", "--get": "x", "--list": "t", "--create": "c", "--append": "r",
                         "--update": "u", "--to-stdout": "O"}.get(name, "v")}  # fmt: skip
        elif text and (text.startswith("-") or place == 1) and text != "-":
            bundle = text.lstrip("-")
            for position, letter in enumerate(bundle):
                if letter not in _TAR_LETTERS:
                    call.add_unknown(f"tar's option -{letter} is not known to be harmless")
                letters.add(letter)
                if letter in _TAR_TAKES:
                    if text.startswith("-") and position + 1 < len(bundle):
                        values.append((letter, make_static_arg(bundle[position + 1 :])))
                        break
                    values += [(letter, each) for each in words[place : place + 1]]
                    place += 1
        else:
            operands.append(arg)
    return letters, values, operands


def _judge_unzip(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    words, place = list(args[1:]), 0
    target, lists = make_static_arg("."), False
    while place < len(words):
        arg, text = words[place], words[place].text
        place += 1
        if arg.may_be_option and (text is None or not re.fullmatch(r"-[lvtpcqonjd]+", text)):
            call.add_unknown(f"unzip's option {arg.source} is not known to be harmless")
        elif arg.may_be_option and text is not None:
            lists = lists or bool(set(text) & set("lvtpc"))
            if "d" in text:
                if not text.endswith("d") or place >= len(words):
                    call.add_unknown("the folder of unzip -d is not understood")
                    return
                target = words[place]
                place += 1
        else:
            call.add_read(arg)
    if not lists:
        call.add_write(target)
        call.add_unknown("writes files whose names stand in the archive, through links that lie in their way")


def _judge_dd(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    for arg in args[1:]:
        text = arg.text if arg.text is not None else arg.prefix
        name, equals, value = text.partition("=")
        if not equals or arg.shape != "one":
            call.add_unknown(f"the operand {arg.source} of dd is not known")
        elif name == "of":
            call.add_write(make_static_arg(value) if arg.text is not None else arg)
        elif name == "if":
            call.add_read(make_static_arg(value) if arg.text is not None else arg)
    call.add_effect(Effect(kind="read"))


def _judge_mktemp(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge mktemp: without a template it uses the folder for temporary files, which is private to the sandbox."""
    for arg in use.operands:
        call.add_write(arg)
    if any(name == "--tmpdir" for name, _, _ in use.done) or any(
        arg.text is not None and arg.text.startswith(("-t", "--t")) for arg in args[1:]
    ):
        call.add_unknown("mktemp writes into a folder that is not understood")


def _judge_patch(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge patch: its targets are named in the patch. It rejects names that lead outside, but follows links."""
    call.add_unknown("writes files whose names stand in its input")


def _judge_less(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    call.add_effect(Effect(kind="read"))
    for arg in use.operands:
        if arg.prefix.startswith("+") or (arg.text is None and not arg.prefix):
            call.add_unknown(f"{arg.source} may become a command of the pager")
        else:
            call.add_read(arg)


_PS_TAKES = frozenset("oOptUkqN")
"""Letters of ps without a dash whose value is the next word."""


def _judge_ps(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge ps: `e` without a dash, or the column `environ`, shows the variables of processes, keys among them."""
    call.add_effect(Effect(kind="read"))
    is_value = False
    if any("environ" in arg.to_display() for arg in args):
        call.add_effect(Effect(kind="read", reason="what belongs to a process", is_vague=True))
    for arg in use.operands:
        letters = "" if is_value else (arg.text or arg.prefix)
        is_value = not is_value and not _PS_TAKES.isdisjoint(letters[-1:])
        if arg.text is None or ("e" in letters and letters.isalpha()):
            call.add_effect(Effect(kind="read", reason="what belongs to a process", is_vague=True))


UTILITIES: Mapping[str, Special] = {
    "find": _judge_find,
    "xargs": _judge_xargs,
    **dict.fromkeys(("sed", "gsed"), _judge_sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _judge_awk),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _judge_tar),
    "unzip": _judge_unzip,
    "dd": _judge_dd,
    "mktemp": _judge_mktemp,
    "patch": _judge_patch,
    **dict.fromkeys(("less", "more", "most"), _judge_less),
    "ps": _judge_ps,
}
