"""What an action does, as rules see it: predicted from its arguments, and found in its observation."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.events import ObservationEvent
from agent.rules.command_scan import CommandReader, RunCommand
from agent.rules.event_pattern import TEST_FILE, Happening, matches_command
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect

MOST_SCRIPT = 200_000
"""Bytes of a script that is read before a command runs it."""

MOST_WORDS = 200
"""Words of a git command that are tried as paths."""

_GIT_WRITERS = frozenset(("mv", "rm", "restore", "checkout", "apply", "clean"))
"""Commands of git that change files named on their command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunFacts:
    """An action that has begun.

    within: id of the action whose code asked for it, "" for a model's; ends: it ends the turn
    commands: those that it runs, as far as they can be read
    """

    call: str
    tool: str
    effect: Effect
    within: str = ""
    ends: bool = False
    commands: tuple[RunCommand, ...] = ()
    happenings: tuple[Happening, ...] = ()

    @property
    def is_harness(self) -> bool:
        """Whether the harness, or a person through it, asked for it."""
        return self.call.startswith("harness-")

    @property
    def changed_paths(self) -> frozenset[str]:
        """Paths that it is about to change, as far as known."""
        return frozenset(path for each in self.happenings if each.name == "edit" for path in each.paths)

    @property
    def created_paths(self) -> frozenset[str]:
        """Those of files that are not there."""
        return frozenset(path for each in self.happenings if each.name == "create" for path in each.paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionReader:
    """Derives happenings from actions.

    resolve: a path as rules name it: relative to the workspace, links followed; "" for one outside
    is_file: whether there is such a file now
    ends: names of the tools that end a turn
    """

    commands: CommandReader
    resolve: Callable[[str], str]
    is_file: Callable[[str], bool]
    ends: Collection[str] = field(default_factory=frozenset)

    def read_action(self, call: str, tool: str, effect: Effect, within: str = "") -> BegunFacts:
        """Return what an action is about to do."""
        commands = tuple(self._read_commands(effect.argv))
        ends = tool in self.ends
        return BegunFacts(
            call=call,
            tool=tool,
            effect=effect,
            within=within,
            ends=ends,
            commands=commands,
            happenings=tuple(self._predict(tool, effect, commands, ends)),
        )

    def read_result(self, begun: BegunFacts, event: ObservationEvent) -> list[Happening]:
        """Return what an action has done; nothing for one that was refused or denied."""
        data = event.data
        if data.get("denied") or data.get("out_of_order"):
            return []
        found: list[Happening] = []
        if outcome := classify_suite_run(data):
            found.append(Happening(name=outcome))
        if event.failed and not begun.effect.argv:
            return found
        found += begun.happenings
        changed = data.get("changed")
        if begun.effect.kind != "write" and isinstance(changed, list):
            found += self.describe_changes(str(path) for path in changed)
        return found

    def describe_changes(self, paths: Any, *, made: bool = True) -> Iterator[Happening]:
        """Yield the happenings of changed paths. made: already, so that new files cannot be told from others"""
        known = frozenset(filter(None, map(self.resolve, paths)))
        if not known:
            return
        yield Happening(name="edit", paths=known)
        if tests := frozenset(path for path in known if TEST_FILE.search(path)):
            yield Happening(name="edit-test", paths=tests)
        if not made and (new := frozenset(path for path in known if not self.is_file(path))):
            yield Happening(name="create", paths=new)

    def _read_commands(self, argv: tuple[str, ...]) -> list[RunCommand]:
        if not argv:
            return []
        if argv[:2] == ("bash", "-c"):
            return self.commands.read_line(argv[2])
        if argv[:2] == ("python", "-c"):
            return self.commands.read_code(argv[2])
        return self.commands.read_line(shlex.join(argv))

    def _predict(
        self, tool: str, effect: Effect, commands: tuple[RunCommand, ...], ends: bool
    ) -> Iterator[Happening]:
        paths = frozenset(filter(None, map(self.resolve, effect.paths)))
        spellings = tuple(each for command in commands for each in command.spellings)
        for name in filter(None, (tool, effect.server_tool)):
            yield Happening(name=name, paths=paths, commands=spellings)
        if effect.kind == "write":
            yield from self.describe_changes(effect.paths, made=False)
        if effect.kind == "read" and tool != "read":
            yield Happening(name="read", paths=paths)
        if effect.kind == "git" and tool == "git_commit":
            yield Happening(name="commit")
        if ends and tool != "finish":
            yield Happening(name="finish")
        for command in commands:
            yield from self._predict_command(command)

    def _predict_command(self, command: RunCommand) -> Iterator[Happening]:
        yield Happening(name="shell", commands=command.spellings)
        if matches_command("git commit *", command.spellings):
            yield Happening(name="commit")
        written = [path for each in command.effects if each.kind == "write" for path in each.paths]
        written += _find_git_paths(command)
        yield from self.describe_changes(written, made=False)
        read = (path for each in command.effects if each.kind == "read" for path in each.paths)
        if known := frozenset(filter(None, map(self.resolve, read))):
            yield Happening(name="read", paths=known)


def create_reader(
    root: Path, files: Tree, ends: Collection[str], *, is_file: Callable[[str], bool] | None = None
) -> ActionReader:
    """Return a reader of actions in a workspace. is_file: whether there was a file at the time; None: whether it is"""

    def load_script(path: str) -> str | None:
        name = files.find_relative(path)
        return read_workspace_text(root, name, MOST_SCRIPT) or None if files.has_file(name) else None

    return ActionReader(
        commands=CommandReader(root=root, load_script=load_script),
        resolve=files.find_relative,
        is_file=is_file or files.has_file,
        ends=ends,
    )


def classify_suite_run(data: Mapping[str, Any]) -> str:
    """Return the event of a run of the whole suite, "" if the observation is of none."""
    report = data.get("report")
    if not isinstance(report, dict) or report.get("targets"):
        return ""
    untestable = dict.fromkeys(("no-runner", "no-tests", "unverified"), "untestable")
    word = {"passed": "tests-passed", **untestable}
    return word.get(str(report.get("outcome")), "tests-failed")


def _find_git_paths(command: RunCommand) -> list[str]:
    for spelling in command.spellings:
        words = spelling.split()[:MOST_WORDS]
        if len(words) > 2 and words[0] == "git" and words[1] in _GIT_WRITERS:
            return [word for word in words[2:] if not word.startswith("-")]
    return []
