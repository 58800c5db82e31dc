"""Memory in a running session: recalls at the start of a turn and at a failure, and answers commands that fail here."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent.app_dirs import Home
from agent.events import Event, MessageEvent, ObservationEvent, PlanEvent, Prompt, SessionStart
from agent.extension.extension_files import SHARED_LESSONS
from agent.memory.command_purposes import find_cause
from agent.memory.engine_facts import add_engine_facts
from agent.memory.lesson_checks import holds
from agent.memory.memory_key import find_store_path
from agent.memory.memory_store import MemoryStore
from agent.memory.recall_text import Recalled, estimate_tokens, format_recalled, recall_lesson
from agent.memory.records import Lesson
from agent.memory.retrieval import find_remedy, list_trusted, recall_cases, recall_for_prompt
from agent.monitor.answers import GO_ON, ActionAnswer, Refuse, RequestAnswer, TellModel, TellPerson
from agent.monitor.monitor import Monitor
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.extensions import load_extension
from tools.core.action_guard import BegunAction
from tools.core.workspace import Workspace

FAILURES = 3
"""Times in a row that a command failed in the same way before it is answered instead of run."""


class SessionMemory(Monitor):
    """Recalls what earlier sessions found out, where this one needs it. It never lets pass what would not pass without.

    budget: tokens of one turn
    """

    def __init__(self, store: MemoryStore, workspace: Workspace, budget: int) -> None:
        self._store = store
        self._workspace = workspace
        self._budget = budget
        self._left = budget
        self._known = ""
        self._prompt: str | None = None
        self._items: list[str] = []
        self._begun_items: set[str] = set()
        self._failed: list[str] = []
        self._lines: dict[str, str] = {}
        self._shown: set[str] = set()
        self._answered: set[str] = set()
        self._reported = False

    def handle_event(self, event: Event) -> None:
        """See `Monitor.handle_event`."""
        match event:
            case SessionStart():
                self._known = event.system
            case Prompt():
                self._prompt, self._left = event.text, self._budget
                for each in (
                    self._items,
                    self._begun_items,
                    self._failed,
                    self._lines,
                    self._shown,
                    self._answered,
                ):
                    each.clear()
            case PlanEvent():
                begun = {text for text, status in event.items if status == "in_progress"}
                self._items += sorted(begun - self._begun_items)
                self._begun_items |= begun
            case MessageEvent():
                for action in event.actions:
                    if action.tool == "shell":
                        self._lines[action.id] = " ".join(str(action.arguments.get("command", "")).split())
            case ObservationEvent() if event.call in self._lines:
                line = self._lines.pop(event.call)
                if event.failed and find_cause(event.text).is_wrong:
                    self._failed.append(line)
            case _:
                pass

    async def before_request(self) -> Sequence[RequestAnswer]:
        """See `Monitor.before_request`."""
        if self._prompt is None and not self._failed and not self._items:
            return ()
        prompt, self._prompt = self._prompt, None
        failed, self._failed = self._failed, []
        items, self._items = self._items, []
        try:
            return self._recall(prompt, failed, items)
        except (UserError, sqlite3.Error, OSError) as problem:
            if self._reported:
                return ()
            self._reported = True
            return [TellPerson(text=f"nothing is recalled: {problem}", name="memory")]

    def _recall(
        self, prompt: str | None, failed: Sequence[str], items: Sequence[str]
    ) -> Sequence[RequestAnswer]:
        if not self._store.exists or self._left <= 0:
            return self._take_notices()
        lessons = list_trusted(self._store)
        wanted: list[Recalled] = []
        for line in failed:
            if (remedy := find_remedy(lessons, line)) is not None:
                wanted.append(recall_lesson(remedy, "that command failed"))
        if prompt is not None:
            known = f"{self._known}\n{self._workspace.settings.tests.command}"  # the session has it already
            wanted += recall_for_prompt(lessons, self._store, prompt, known, self._workspace.root)
        for item in items:
            wanted += recall_cases(self._store, item, self._workspace.root)
        by_id = {each.id: each for each in lessons}
        wanted = [each for each in dict.fromkeys(wanted) if (each.lesson or each.text) not in self._shown]
        root = self._workspace.root
        fitting = [each for each in wanted if not each.lesson or holds(by_id[each.lesson], root)]
        text, taken = format_recalled(fitting, self._left)
        notices = self._take_notices()
        if not taken:
            return notices
        self._left -= estimate_tokens(text)
        self._shown.update(each.lesson or each.text for each in taken)
        names = ", ".join(each.lesson or "a similar case" for each in taken)
        return [*notices, TellModel(text=text), TellPerson(text=f"recalled {names}", name="memory")]

    def _take_notices(self) -> list[TellPerson]:
        notices = [TellPerson(text=each, name="memory") for each in self._store.notices]
        self._store.notices.clear()
        return notices

    async def before_action(self, begun: BegunAction) -> ActionAnswer:
        """Answer a command that keeps failing here, once a turn, with what worked in its place."""
        action = begun.action
        if action.tool != "shell" or begun.is_harness or not self._store.exists:
            return GO_ON
        line = " ".join(str(action.arguments.get("command", "")).split())
        if line in self._answered:
            return GO_ON
        try:
            _, count = self._store.list_failures(FAILURES).get(line, ("", 0))
            seen = [each for each in list_trusted(self._store) if each.origin == "code"] if count else []
            remedy = find_remedy(seen, line)
        except (UserError, sqlite3.Error, OSError):  # reported at the next request
            return GO_ON
        if remedy is None or not holds(remedy, self._workspace.root):
            return GO_ON
        self._answered.add(line)
        return Refuse(_describe_remedy(count, remedy))


def _describe_remedy(count: int, remedy: Lesson) -> str:
    return (
        f"in this repository that command failed the last {count} times in the same way; `{remedy.use}` worked "
        f"({remedy.id}). Send it again if it is to run all the same."
    )


def attach_memory(runtime: Runtime, home: Home) -> None:
    """Let a session recall what earlier ones remembered. The offline engine reads no texts: it is given facts."""
    root = runtime.workspace.root
    store = MemoryStore(find_store_path(home, root))
    if (root / SHARED_LESSONS).is_dir():
        try:
            store.notices += load_extension("memory", "adopt_shared")(store, home, root)
        except (UserError, sqlite3.Error, OSError) as problem:
            store.notices.append(f"the lessons of {SHARED_LESSONS} are not read: {problem}")
    if store.exists:
        add_engine_facts(store, runtime.workspace)
    if runtime.model.name == "offline" or not (store.exists or store.notices):
        return
    monitor = SessionMemory(store, runtime.workspace, runtime.settings.memory.budget)
    for start in runtime.session.replayed.select_events(SessionStart):
        monitor.handle_event(start)
    runtime.loop.monitors.add_monitor(monitor)
