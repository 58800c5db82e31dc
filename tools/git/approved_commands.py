"""Git commands of the model that write git's data: run outside the sandbox once allowed, and covered by undo."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from sandbox.helpers.git_runner import NO_HOOKS
from sandbox.policy.decision import Mode
from tools.core.action import Observation, ToolFailure
from tools.core.text import join_names
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.git_state import compare_states, read_git_state
from tools.git.repository_programs import format_warning

_NETWORK = frozenset(("fetch", "pull", "push"))

_NAMES_PROGRAMS = re.compile(
    r"merge\..+\.driver|diff\.(external|.+\.(command|textconv))|core\.(sshcommand|askpass|gitproxy)|sequence\.editor"
    r"|credential\..+|url\..+|protocol\..+|remote\..+\.(uploadpack|receivepack|vcs)"
)
"""The repository's own settings by which these commands would start a program, or ask another server."""

_GUARDS = {"pre-push": ("push",), "pre-rebase": ("rebase", "pull"), "pre-merge-commit": ("merge", "pull")}
"""Hooks that may refuse these commands, and that trust does not cover."""

BUDGET = 16_000
"""Characters of output shown, about 4k tokens."""


def find_git_commands(line: str, root: Path) -> tuple[tuple[str, ...], ...]:
    """Return the git commands of a line that is to be run here instead of in the sandbox; () for any other line."""
    if not line.lstrip().startswith("git "):
        return ()
    from sandbox.policy.shell import judge_command_line
    from sandbox.policy.shell.git_lines import read_git_line

    return read_git_line(line, judge_command_line(line, root=root))


def may_run_git(at: Workspace) -> bool:
    """Return whether commands cannot write git's data themselves, and the mode lets it be written."""
    return at.sandbox.name != "unconfined" and at.mode is not Mode.READ_ONLY


async def run_git_commands(at: Workspace, commands: Sequence[Sequence[str]]) -> Observation:
    """Run git commands one after the other, until one fails; hooks run if the user trusts the repository."""
    broker = Broker.from_path(at.root, at.trusts)
    return await broker.run_in_thread(lambda: _run_blocking(at, broker, commands))


def _run_blocking(at: Workspace, broker: Broker, commands: Sequence[Sequence[str]]) -> Observation:
    started = time.monotonic()
    if names := [key for key in broker.list_own_settings() if _NAMES_PROGRAMS.fullmatch(key)]:
        raise ToolFailure(
            f"git: not run: this repository's own settings name programs or servers ({join_names(names, 3)}); "
            "the user runs this command"
        )
    hooks = broker.list_unverified_hooks()
    broker.refuse_changed_definitions()
    for argv in commands:
        if guard := next((name for name in hooks if argv[1] in _GUARDS.get(name, ())), ""):
            raise ToolFailure(
                f"git {argv[1]}: not run: the hook {guard} may refuse it; the user runs this command"
            )
    options = (*(NO_HOOKS if hooks else ()), *_place_options(at, broker))
    starts_programs = broker.has_filters() or (broker.runs_hooks() and not hooks)
    before = read_git_state(broker)
    texts: list[str] = []
    sent: list[str] = []
    code = 0
    for argv in commands:
        is_confined = argv[1] not in _NETWORK and not starts_programs
        output = broker.run_trusted(*options, *argv[1:], confined=is_confined)
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


def _place_options(at: Workspace, broker: Broker) -> tuple[str, ...]:
    """Return the option by which git works in the workspace's folder, as the line would in a shell."""
    return () if at.root.resolve() == broker.root.resolve() else ("-C", str(at.root))
