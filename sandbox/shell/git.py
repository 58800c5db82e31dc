"""What a git command does: its options before the subcommand, and the subcommands that are several in one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from sandbox.effects import Effect
from sandbox.shell import options
from sandbox.shell.call import Call, Special
from sandbox.shell.expansion import Arg
from sandbox.shell.git_table import (
    CONFIG_READS,
    CONFIG_SHOWS,
    HARMLESS_CONFIG,
    HARMLESS_SETTINGS,
    LISTING,
    LISTING_WITH_VALUE,
    LOSING,
    NOUNS,
)
from sandbox.shell.options import Spec, Use


def _git(call: Call, spec: Spec, use: Use, args: Sequence[Arg]) -> None:
    use = options.use(options.git_itself(), args[1:])
    honest = _global_options(call, use)
    call.done(use)
    if use.problem:
        call.unknown(use.problem)
    if not use.inner:
        call.add(Effect(kind="read"))
        return
    name = use.inner[0].text
    call.form(["git", *(arg.shown() for arg in use.inner)], honest=honest)
    subcommand = options.git_subcommand(name) if name else None
    if subcommand is None:
        call.does("execute", f"git {use.inner[0].shown()} may be an alias, which runs anything", *args)
        return
    call.program = f"git {name}"
    if reason := call.places.repository():
        call.unknown(reason)
    for arg in use.inner[1:]:
        if arg.text == "--help":
            call.does("execute", "shows a manual page by another program")
        elif "%G" in arg.shown() or (arg.text is None and "%" in arg.prefix):
            call.does("execute", "verifies signatures by another program")
        elif arg.prefix.startswith(("ext::", "fd::")):
            call.does("execute", f"{arg.shown()!r} names a program")
    _refspecs(call, name or "", use.inner[1:])
    call.apply(subcommand, use.inner)


def _global_options(call: Call, use: Use) -> bool:
    """Judge what stands before the subcommand; whether it may be left out of a spelling for rules."""
    honest = not use.problem
    for _, does, value in use.done:
        if does == "config":
            text = value.text if value else None
            key = (text or "").partition("=")[0].lower()
            if text is None or (key not in HARMLESS_CONFIG and text.lower() not in HARMLESS_SETTINGS):
                call.unknown(f"git -c {text!r} may name a program to run")
                honest = False
        elif does == "folder":
            honest = False
            text = value.text if value else None
            if text is None or not call.places.inside(text) or _is_repository(call, text):
                call.unknown(f"git -C {text!r} works in another repository")
        elif does != "reading":
            honest = False
    return honest


def _is_repository(call: Call, text: str) -> bool:
    moved = type(call.places)(root=call.places.root, folders=call.places.moved(text), home=call.places.home)
    return bool(moved.repository())


def _refspecs(call: Call, name: str, args: Sequence[Arg]) -> None:
    if name not in ("push", "fetch", "pull"):
        return
    for arg in args:
        if arg.prefix.startswith(("+", ":")) or (arg.text is None and not arg.prefix):
            call.does("destructive", f"{arg.shown()!r} overwrites or deletes a branch")


def _noun(call: Call, spec: Spec, use: Use, args: Sequence[Arg]) -> None:
    """`git stash drop` and its like."""
    noun = spec.name.removeprefix("git ")
    verb = args[1] if len(args) > 1 else Arg(text="")
    text = verb.text
    for kind, verbs in NOUNS[noun].items():
        if text is not None and text in (verbs.split(" ") if verbs.startswith(" ") else verbs.split()):
            if kind == "network":
                call.does("git")
            call.does(kind, "", *args) if kind != "read" else call.add(Effect(kind="read"))
            break
    else:
        if noun == "stash" and text is not None and text.startswith("-"):
            call.does("git")
        elif noun == "remote" and text in ("-v", "--verbose") and len(args) == 2:
            call.add(Effect(kind="read"))
        else:
            call.unknown(f"git {noun} {verb.shown()} is not known")
    _flags_of_noun(call, noun, args[2:])


def _flags_of_noun(call: Call, noun: str, args: Sequence[Arg]) -> None:
    for arg in args:
        if arg.text is None and arg.may_be_option:
            call.unknown(f"{arg.source} may become an option")
        elif arg.prefix.startswith(
            ("--output", "--ext", "--outp", "--out", "--ou", "--o", "--textc", "--e", "--te")
        ):
            call.unknown(f"{arg.shown()} writes a file or runs a program")
        elif noun in ("worktree", "notes", "bisect") and arg.text in ("-f", "--force", "-B", "-C", "-F"):
            call.does("destructive")


def _branch(call: Call, spec: Spec, use: Use, args: Sequence[Arg]) -> None:
    """`git branch` and `git tag`: without a name they list, with one they make, move or delete."""
    noun = spec.name.removeprefix("git ")
    words = [arg.shown() for arg in args[1:]]
    lists = (
        bool({"-l", "--list", "--show-current", "-a", "-r", "--all", "--remotes"} & set(words)) or not words
    )
    names = [arg for arg in args[1:] if not arg.prefix.startswith("-")]
    for arg in args[1:]:
        text = arg.text
        if text is None and (arg.may_be_option or arg.shape == "many"):
            call.unknown(f"{arg.source} may become an option")
        elif text is not None and text.startswith("-") and text in LOSING[noun]:
            call.does("destructive", f"git {noun} {text} may lose history")
        elif text is not None and text.startswith("-"):
            name = text.partition("=")[0]
            harmless = text in LISTING[noun] or f"{name}=" in LISTING_WITH_VALUE
            lists = lists or name in _FILTERS
            if not harmless:
                call.does(
                    "git" if text in ("-m", "-u", "-c", "-a", "-s", "-f", "-t") else "unknown",
                    f"git {noun} {text}",
                )
    if names and not lists:
        call.does("git", f"makes a {noun}")
    call.add(Effect(kind="read"))


_FILTERS = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
"""With one of these, a name says what to list."""


def _config(call: Call, spec: Spec, use: Use, args: Sequence[Arg]) -> None:
    """Reading settings is harmless; writing them can name programs that git runs later."""
    words = [arg.text for arg in args[1:]]
    reads = [word for word in words if word in CONFIG_READS]
    rest = [word for word in words if word not in CONFIG_READS | CONFIG_SHOWS]
    if None in words or any(word is not None and word.startswith("-") for word in rest):
        call.unknown("git config with options that are not known")
    elif reads or len(rest) <= 1:
        call.add(Effect(kind="read"))
    else:
        call.unknown("changes git's configuration, which can name programs to run")


def _checkout(call: Call, spec: Spec, use: Use, args: Sequence[Arg]) -> None:
    call.does("git")
    operands = use.operands
    if (
        "--" in [arg.text for arg in args]
        or len(operands) > 1
        or any(_is_path(call, arg) for arg in operands)
    ):
        new = any(arg.text in ("-b", "-B", "--orphan", "-t", "--track") for arg in args)
        if not new or "--" in [arg.text for arg in args]:
            call.does("destructive", "puts back files, with the changes in them lost")


def _is_path(call: Call, arg: Arg) -> bool:
    if arg.text is None:
        return True
    folders = [folder for folder in call.places.folders if folder is not None]
    return arg.text in (".", "..", "*") or any(
        posixpath.lexists(posixpath.join(folder, arg.text)) for folder in folders
    )


def _restore(call: Call, spec: Spec, use: Use, args: Sequence[Arg]) -> None:
    words = [arg.shown() for arg in args[1:]]
    if ("--staged" in words or "-S" in words) and not any(
        word.startswith(("--w", "-W", "-S", "-s")) and word != "-S" for word in words
    ):
        call.does("git")
    else:
        call.does("destructive", "puts back files, with the changes in them lost")


GIT_SPECIALS: Mapping[str, Special] = {
    "git": _git,
    **{f"git {noun}": _noun for noun in NOUNS},
    "git branch": _branch,
    "git tag": _branch,
    "git config": _config,
    "git checkout": _checkout,
    "git restore": _restore,
}
