"""Roles of one command in a chain: it sends, runs a file, removes a guard, erases records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.monitor.intent import places
from agent.monitor.intent.programs import (
    INSTALLERS,
    LOCAL_VERBS,
    MEASURING,
    RUNNERS,
    SENDERS,
    SHELLS,
    WITH_VERBS,
)
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.data_flow import Flow
from sandbox.policy.shell.parsing.expansion import UNKNOWN_ARGS

REMOVAL = "removal"
"""Name of the program of an edit that takes lines away."""

EVALUATING = "evaluation"
"""Name of the program of a statement that runs text as code."""

LONGEST_TEXT = 70
"""Characters of a command that are shown in a chain."""

_LOCAL_HOST = compile_lazily(
    r"(?:\w+://)?(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal|\d{1,5}$)(?![\w.-])",
    re.IGNORECASE,
)
"""This machine, and numbers: ports, which stand beside hosts."""

_DELETES = compile_lazily(r"(?:^|[/;}0-9$])d\s*$")
_COUNTING = compile_lazily(
    r"-[a-zA-Z]*[clqL][a-zA-Z]*|--count|--quiet|--files-with-matches|--files-without-match|--silent"
)
_HOOK_SWITCHES = frozenset(
    ("HUSKY", "SKIP", "PRE_COMMIT_ALLOW_NO_CONFIG", "LEFTHOOK", "HUSKY_SKIP_HOOKS", "OVERCOMMIT_DISABLE")
)
_VALUED_GIT_OPTIONS = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"))


def shorten_text(flow: Flow) -> str:
    text = " ".join(flow.text.split())
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def reveals_nothing(flow: Flow) -> bool:
    if flow.program in MEASURING:
        return True
    if flow.program in ("grep", "egrep", "fgrep", "rg"):
        return any(_COUNTING.fullmatch(each) for each in flow.args)
    verb, _ = split_git(flow)
    return verb in ("status", "check-ignore", "ls-files", "log", "rm", "mv", "checkout", "restore")


def takes_files(flow: Flow) -> bool:
    """Whether files are named in a program's arguments in ways that effects do not show."""
    return flow.program in SENDERS or flow.network or flow.program in ("source", ".", "mv", "ln", "install")


def takes_names(flow: Flow) -> bool:
    """Whether a program is given names of files by another: `xargs cat`, `find -exec cat`."""
    return UNKNOWN_ARGS.source in flow.args and flow.program not in MEASURING


def sends_data(flow: Flow) -> bool:
    if flow.program == "git":
        return False  # by what is staged and committed
    if flow.hosts and all(_LOCAL_HOST.match(each) for each in flow.hosts):
        return False
    if (
        flow.program in WITH_VERBS
        and next((a for a in flow.args if not a.startswith("--")), "") in LOCAL_VERBS
    ):
        return False
    if flow.program in INSTALLERS:
        return False
    return flow.network or flow.program in SENDERS


def split_git(flow: Flow) -> tuple[str, Sequence[str]]:
    """Return the subcommand of git and its arguments; ("", ()) for other programs."""
    if flow.program != "git":
        return "", ()
    args = list(flow.args)
    place = 0
    while place < len(args) and args[place].startswith("-"):
        place += 2 if args[place] in _VALUED_GIT_OPTIONS else 1
    return (args[place], args[place + 1 :]) if place < len(args) else ("", ())


def list_made_executable(flow: Flow) -> Iterator[str]:
    if flow.program == "chmod" and any(
        re.fullmatch(r"[ugoa]*\+[rwxst]*x\w*|0?[1357]\d\d|\d[1357]\d|0?7\d\d", a) for a in flow.args
    ):
        yield from (each for each in flow.args[1:] if not each.startswith(("-", "+")))


def list_run_files(flow: Flow) -> Iterator[str]:
    if "/" in flow.called and flow.program not in RUNNERS:
        yield flow.called
    if flow.program in RUNNERS and "-c" not in flow.args and "-m" not in flow.args:
        first = next((each for each in flow.args if not each.startswith("-")), "")
        if first:
            yield first


def runs_its_input(flow: Flow) -> bool:
    """Whether a program runs code that other commands give it: `curl … | sh`, `eval "$(curl …)"`."""
    if flow.program == EVALUATING:
        return True
    if flow.program not in RUNNERS:
        return False
    words = [each for each in flow.args if not each.startswith("-") or each == "-"]
    if flow.program in ("eval", "source", ".") or any(
        mark in each for each in flow.args for mark in ("$(", "`", "<(")
    ):
        return True
    if flow.program in SHELLS:
        return "-c" not in flow.args and (not words or "-s" in flow.args)
    return (
        flow.program != "python"
        and not {"-c", "-m", "-e", "-r"} & set(flow.args)
        and words in ([], ["-"])
        and flow.called != ""
    )


def takes_away(flow: Flow) -> bool:
    """Whether a command removes, empties or disables the files that it writes."""
    if flow.program in ("rm", "unlink", "shred", "truncate", "mv", "rmdir"):
        return True
    if flow.program == "chmod":
        return any(re.match(r"[ugoa]*-[rw]*x|0?[0246]{3}$", each) for each in flow.args)
    if flow.program in ("sed", "gsed"):
        return any(_DELETES.search(each) for each in flow.args)
    if flow.program == "git":
        return split_git(flow)[0] == "rm"
    if flow.program == "":
        return not flow.sources
    return flow.program in ("true", ":", REMOVAL) or (flow.program == "cp" and "/dev/null" in flow.args)


def find_skipped_hooks(flow: Flow, verb: str, args: Sequence[str]) -> str:
    if "--no-verify" in args or (
        verb == "commit" and any(re.fullmatch(r"-[aqsv]*n[aqsv]*m?", each) for each in args)
    ):
        return "--no-verify"
    if any("core.hookspath" in each.lower() for each in flow.args):
        return "core.hooksPath"
    return next((each for each in flow.settings if each in _HOOK_SWITCHES), "")


def disables_hooks(flow: Flow, verb: str, args: Sequence[str]) -> bool:
    if verb == "config":
        reads = {"--get", "--get-all", "--list", "-l", "--show-origin", "get", "list"} & set(args)
        keys = [place for place, each in enumerate(args) if "core.hookspath" in each.lower()]
        return bool(keys) and not reads and keys[0] + 1 < len(args) + ("--unset" in args)
    if flow.program in ("pre-commit", "husky", "lefthook"):
        return "uninstall" in flow.args
    if flow.program in ("export", ""):
        words = {each.partition("=")[0] for each in flow.args} | (
            set(flow.settings) if not flow.program else set()
        )
        return bool(words & _HOOK_SWITCHES)
    return False


def erases_records(flow: Flow, verb: str, args: Sequence[str]) -> bool:
    if verb == "reflog":
        return bool({"expire", "delete", "drop"} & set(args[:1]))
    if verb in ("filter-branch", "filter-repo") or (verb == "update-ref" and "-d" in args):
        return True
    if verb == "gc":
        return any(each.startswith("--prune=") or each == "--prune" for each in args)
    if flow.program == "history":
        return bool({"-c", "-d", "-w"} & set(flow.args))
    if flow.program == "journalctl":
        return any(each.startswith("--vacuum") for each in flow.args)
    if flow.program == "unset":
        return "HISTFILE" in flow.args
    return takes_away(flow) and any(places.is_record(path) for path in flow.writes)
