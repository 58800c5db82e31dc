"""Git commands of the model that write git's data: run outside the sandbox once allowed, and covered by undo."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from sandbox.helpers.git_runner import NO_HOOKS
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Observation, ToolFailure
from tools.core.text import join_names
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.command_targets import find_guarded_operand, find_hooks_of_targets, find_planned_program
from tools.git.git_state import compare_states, read_git_state
from tools.git.repository_programs import format_warning, list_active_hooks

_NETWORK = frozenset(("fetch", "pull", "push"))

_NAMES_PROGRAMS = compile_lazily(
    r"merge\..+\.driver|diff\.(external|.+\.(command|textconv))|interactive\.difffilter|tar\..+\.command"
    r"|core\.(sshcommand|askpass|gitproxy|alternaterefscommand)|sequence\.editor|trailer\..+\.(cmd|command)"
    r"|lfs\.(.+\.)?(customtransfer\..+|standalonetransferagent|extension\..+)|include\.path|includeif\..+"
    r"|credential\..+|url\..+|protocol\..+|remote\..+\.(uploadpack|receivepack|vcs|proxy)|fetch\.bundleuri"
    r"|http\.(.+\.)?(proxy|cookiefile|savecookies)"
)
"""The repository's own settings by which these commands would start a program, ask another server or write another
file; what it includes may change with the branch."""

_WITHOUT_SUBMODULES = ("checkout", "fetch", "pull", "push", "reset", "restore", "switch")
"""Commands that may work in submodules, by the configuration of each of these, which trust does not cover."""

_RUNS_COMMIT_HOOKS = frozenset(("cherry-pick", "merge", "pull", "rebase", "revert"))

_HOOKS_OF_ANY_COMMAND = frozenset(("reference-transaction", "post-index-change"))

_GUARDS = {"pre-push": ("push",), "pre-rebase": ("rebase", "pull"), "pre-merge-commit": ("merge", "pull")}
"""Hooks that may refuse these commands, and that trust does not cover."""

_NO_SUBMODULES = (
    *("-c", "submodule.recurse=false"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "push.recurseSubmodules=no"),
    *("-c", "status.submoduleSummary=false"),
)

BUDGET = 16_000
"""Characters of output shown, about 4k tokens."""


async def run_git_commands(at: Workspace, commands: Sequence[Sequence[str]]) -> Observation:
    """Run git commands one after the other, until one fails; hooks run if the user trusts the repository."""
    broker = Broker.from_path(at.root, at.trusts)
    return await broker.run_in_thread(lambda: _run_blocking(at, broker, commands))


def _run_blocking(at: Workspace, broker: Broker, commands: Sequence[Sequence[str]]) -> Observation:
    from sandbox.policy.shell.git_lines import split_git_command

    started = time.monotonic()
    placed = [(os.path.realpath(at.root / folder), argv) for folder, argv in map(split_git_command, commands)]
    _refuse_programs(at, broker, placed)
    broker.refuse_changed_definitions()
    starts_filters = broker.has_filters()
    before = read_git_state(broker)
    texts: list[str] = []
    sent: list[str] = []
    code = 0
    for number, (folder, argv) in enumerate(placed):
        if number:  # the one before may have changed what git reads
            broker.forget_settings()
            _refuse_programs(at, broker, [(folder, argv)])
        hooks = broker.list_unverified_hooks()
        runs_hooks = broker.runs_hooks() and not hooks
        options = (*(() if runs_hooks else NO_HOOKS), *_place_options(broker, folder))
        needs_hooks = argv[1] in _RUNS_COMMIT_HOOKS or any(map(broker.has_hook, _HOOKS_OF_ANY_COMMAND))
        rest = ("--no-recurse-submodules", *argv[2:]) if argv[1] in _WITHOUT_SUBMODULES else argv[2:]
        output = broker.run_trusted(
            *(*options, *_NO_SUBMODULES),
            *(argv[1], *rest),
            confined=argv[1] not in _NETWORK and not starts_filters and not (runs_hooks and needs_hooks),
        )
        texts += [output.stdout.decode("utf-8", "replace"), output.stderr]
        code = output.returncode
        if code:
            break
        if argv[1] == "push":
            sent.append(" ".join(argv))
    change = compare_states(before, read_git_state(broker))
    if sent:
        change["sent"] = sent
    if hooks:
        texts.append(f"hooks that did not run: {join_names(hooks, 5)}")
    elif any(each.kind == "hook" for each in broker.untrusted_definitions):
        texts.append(format_warning(broker.untrusted_definitions))
    text = "\n".join(each.rstrip() for each in texts if each.strip())
    ref = at.artifacts.save(text.encode()) if len(text) > BUDGET else ""
    shown = f"{text[:BUDGET]}\n[… more: recall(ref={ref!r}) …]" if ref else text
    data: dict[str, object] = {
        "exit": code,
        "ended": "exited",
        "seconds": round(time.monotonic() - started, 3),
    }
    return Observation(
        text=f"exit {code}\n{shown or '(no output)'}",
        data=data | ({"git": change} if change else {}),
        ref=ref,
        failed=code != 0,
        value=text,
    )


def _refuse_programs(at: Workspace, broker: Broker, commands: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise ToolFailure if a command would start a program that neither the user nor trust speaks for.

    commands: each with the folder in which it works
    """
    if names := [
        key
        for key in (each.key.lower() for each in broker.list_settings() if each.own)
        if _NAMES_PROGRAMS.fullmatch(key)
    ]:
        raise ToolFailure(
            f"git: not run: this repository's own settings name programs or servers ({join_names(names, 3)}); "
            "the user runs this command"
        )
    hooks = broker.list_unverified_hooks()
    for folder, argv in commands:
        if reason := _explain_refusal(at, broker, Path(folder), argv, hooks):
            raise ToolFailure(f"git {argv[1]}: not run: {reason}; the user runs this command")


def _explain_refusal(
    at: Workspace, broker: Broker, folder: Path, argv: Sequence[str], hooks: Sequence[str]
) -> str:
    if guard := next((name for name in hooks if argv[1] in _GUARDS.get(name, ())), ""):
        return f"the hook {guard} may refuse it"
    if argv[1] in _RUNS_COMMIT_HOOKS and broker.has_lost_trust and list_active_hooks(broker):
        return "hooks of commits may refuse it, and what they run changed after the user trusted it"
    if any(each.startswith("--rec") for each in argv[2:]):
        return "it works in submodules, whose settings may name programs"
    if argv[1] == "mv" and (name := find_guarded_operand(at.root, folder, argv[2:])):
        return f"it moves {name}, which git, editors, shells, hooks or services act on"
    if argv[1] == "rebase" and (program := find_planned_program(broker.folder)):
        return f"the rebase in progress runs {program!r}"
    if argv[1] == "push" and (target := find_hooks_of_targets(broker, folder, argv[2:])):
        return f"hooks of {target} would run"
    return ""


def _place_options(broker: Broker, folder: str) -> tuple[str, ...]:
    """Return the options by which git works in a folder, as the line would in a shell, and in no repository inside."""
    if folder == os.path.realpath(broker.root):
        return ()
    return ("-C", folder, f"--git-dir={broker.folder}", f"--work-tree={broker.root}")
