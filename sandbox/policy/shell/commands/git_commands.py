"""Effects of git commands: global options, and subcommands with several effects."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from sandbox.policy.effects import Effect
from sandbox.policy.shell.commands import options
from sandbox.policy.shell.commands.command_call import Call, Special
from sandbox.policy.shell.commands.git_table import (
    CONFIG_READS,
    CONFIG_SHOWS,
    HARMLESS_CONFIG,
    HARMLESS_SETTINGS,
    LISTING,
    LISTING_WITH_VALUE,
    LOSING,
    NOUNS,
)
from sandbox.policy.shell.commands.options import ParsedArguments, Spec
from sandbox.policy.shell.parsing.expansion import Arg


def _judge_git(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    use = options.parse_arguments(options.parse_git_spec(), args[1:])
    honest = _judge_global_options(call, use)
    call.apply_options(use)
    if use.problem:
        call.add_unknown(use.problem)
    if not use.inner:
        call.add_effect(Effect(kind="read"))
        return
    name = use.inner[0].text
    call.add_form(["git", *(arg.to_display() for arg in use.inner)], honest=honest)
    subcommand = options.find_git_subcommand(name) if name else None
    if subcommand is None:
        call.add_effect_of_kind(
            "execute", f"git {use.inner[0].to_display()} may be an alias, which runs anything", *args
        )
        return
    call.program = f"git {name}"
    if reason := call.places.explain_other_repository():
        call.add_unknown(reason)
    for arg in use.inner[1:]:
        if arg.text == "--help":
            call.add_effect_of_kind("execute", "shows a manual page by another program")
        elif "%G" in arg.to_display() or (arg.text is None and "%" in arg.prefix):
            call.add_effect_of_kind("execute", "verifies signatures by another program")
        elif arg.prefix.startswith(("ext::", "fd::")):
            call.add_effect_of_kind("execute", f"{arg.to_display()!r} names a program")
    _judge_refspecs(call, name or "", use.inner[1:])
    call.apply_spec(subcommand, use.inner)


def _judge_global_options(call: Call, use: ParsedArguments) -> bool:
    """Judge options before the subcommand; return whether they may be omitted from a spelling for rules."""
    honest = not use.problem
    for _, does, value in use.done:
        if does == "config":
            text = value.text if value else None
            key = (text or "").partition("=")[0].lower()
            if text is None or (key not in HARMLESS_CONFIG and text.lower() not in HARMLESS_SETTINGS):
                call.add_unknown(f"git -c {text!r} may name a program to run")
                honest = False
        elif does == "folder":
            honest = False
            text = value.text if value else None
            if text is None or not call.places.is_inside_workspace(text) or _is_other_repository(call, text):
                call.add_unknown(f"git -C {text!r} works in another repository")
            elif value is not None:
                call.enter_folder(value)
        elif does != "reading":
            honest = False
    return honest


def _is_other_repository(call: Call, text: str) -> bool:
    moved = type(call.places)(
        root=call.places.root, folders=call.places.list_folders_after_cd(text), home=call.places.home
    )
    return bool(moved.explain_other_repository())


def _judge_refspecs(call: Call, name: str, args: Sequence[Arg]) -> None:
    if name not in ("push", "fetch", "pull"):
        return
    for arg in args:
        if arg.prefix.startswith(("+", ":")) or (arg.text is None and not arg.prefix):
            call.add_effect_of_kind("destructive", f"{arg.to_display()!r} overwrites or deletes a branch")


def _judge_noun(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge subcommands with a second verb, such as `git stash drop`."""
    noun = spec.name.removeprefix("git ")
    verb = args[1] if len(args) > 1 else Arg(text="")
    text = verb.text
    for kind, verbs in NOUNS[noun].items():
        if text is not None and text in (verbs.split(" ") if verbs.startswith(" ") else verbs.split()):
            if kind == "network":
                call.add_effect_of_kind("git")
            call.add_effect_of_kind(kind, "", *args) if kind != "read" else call.add_effect(
                Effect(kind="read")
            )
            break
    else:
        if noun == "stash" and text is not None and text.startswith("-"):
            call.add_effect_of_kind("git")
        elif noun == "remote" and text in ("-v", "--verbose") and len(args) == 2:
            call.add_effect(Effect(kind="read"))
        else:
            call.add_unknown(f"git {noun} {verb.to_display()} is not known")
    _judge_noun_flags(call, noun, args[2:])


def _judge_noun_flags(call: Call, noun: str, args: Sequence[Arg]) -> None:
    for arg in args:
        if arg.text is None and arg.may_be_option:
            call.add_unknown(f"{arg.source} may become an option")
        elif arg.prefix.startswith(
            ("--output", "--ext", "--outp", "--out", "--ou", "--o", "--textc", "--e", "--te")
        ):
            call.add_unknown(f"{arg.to_display()} writes a file or runs a program")
        elif noun in ("worktree", "notes", "bisect") and arg.text in ("-f", "--force", "-B", "-C", "-F"):
            call.add_effect_of_kind("destructive")


def _judge_branch(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge `git branch` and `git tag`: without a name they list, with one they create, move or delete."""
    noun = spec.name.removeprefix("git ")
    words = [arg.to_display() for arg in args[1:]]
    lists = (
        bool({"-l", "--list", "--show-current", "-a", "-r", "--all", "--remotes"} & set(words)) or not words
    )
    names = [arg for arg in args[1:] if not arg.prefix.startswith("-")]
    for arg in args[1:]:
        text = arg.text
        if text is None and (arg.may_be_option or arg.shape == "many"):
            call.add_unknown(f"{arg.source} may become an option")
        elif text is not None and text.startswith("-") and text in LOSING[noun]:
            call.add_effect_of_kind("destructive", f"git {noun} {text} may lose history")
        elif text is not None and text.startswith("-"):
            name = text.partition("=")[0]
            harmless = text in LISTING[noun] or f"{name}=" in LISTING_WITH_VALUE
            lists = lists or name in _FILTERS
            if not harmless:
                call.add_effect_of_kind(
                    "git" if text in ("-m", "-u", "-c", "-a", "-s", "-f", "-t") else "unknown",
                    f"git {noun} {text}",
                )
    if names and not lists:
        call.add_effect_of_kind("git", f"makes a {noun}")
    call.add_effect(Effect(kind="read"))


_FILTERS = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
"""Options with which a name is a filter of the list."""


def _judge_config(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    """Judge `git config`: reading is harmless; writing can set programs that git runs later."""
    words = [arg.text for arg in args[1:]]
    reads = [word for word in words if word in CONFIG_READS]
    rest = [word for word in words if word not in CONFIG_READS | CONFIG_SHOWS]
    if None in words or any(word is not None and word.startswith("-") for word in rest):
        call.add_unknown("git config with options that are not known")
    elif reads or len(rest) <= 1:
        call.add_effect(Effect(kind="read"))
    else:
        call.add_unknown("changes git's configuration, which can name programs to run")


def _judge_checkout(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    call.add_effect_of_kind("git")
    operands = use.operands
    if (
        "--" in [arg.text for arg in args]
        or len(operands) > 1
        or any(_is_existing_path(call, arg) for arg in operands)
    ):
        new = any(arg.text in ("-b", "-B", "--orphan", "-t", "--track") for arg in args)
        if not new or "--" in [arg.text for arg in args]:
            call.add_effect_of_kind("destructive", "puts back files, with the changes in them lost")


def _is_existing_path(call: Call, arg: Arg) -> bool:
    if arg.text is None:
        return True
    folders = [folder for folder in call.places.folders if folder is not None]
    return arg.text in (".", "..", "*") or any(
        posixpath.lexists(posixpath.join(folder, arg.text)) for folder in folders
    )


def _judge_restore(call: Call, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
    words = [arg.to_display() for arg in args[1:]]
    if ("--staged" in words or "-S" in words) and not any(
        word.startswith(("--w", "-W", "-S", "-s")) and word != "-S" for word in words
    ):
        call.add_effect_of_kind("git")
    else:
        call.add_effect_of_kind("destructive", "puts back files, with the changes in them lost")


GIT_SPECIALS: Mapping[str, Special] = {
    "git": _judge_git,
    **{f"git {noun}": _judge_noun for noun in NOUNS},
    "git branch": _judge_branch,
    "git tag": _judge_branch,
    "git config": _judge_config,
    "git checkout": _judge_checkout,
    "git restore": _judge_restore,
}
