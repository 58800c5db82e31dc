"""Monitor of cumulative intent: it follows effects over a session and asks before an action completes a chain.

Each action of a chain may be harmless: a secret is read, encoded, and sent; a hook is removed, and a commit goes
past it. Sequential monitors judge the whole so far instead of the last step ("Monitoring Decomposition Attacks
in LLMs with Lightweight Sequential Monitors", arXiv 2506.10949); here without a model, on parsed effects, so
that the same session always gives the same answer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from agent.context.ledger.session_facts import Facts
from agent.events import ChainEvent, DecisionEvent, Event, MessageEvent, ObservationEvent, Prompt, Steer
from agent.monitor.answers import GO_ON, ActionAnswer, Ask, TellPerson
from agent.monitor.intent.trail import Chain, Change, Link, Trail
from agent.monitor.monitor import Monitor
from agent.prompt.hook_wishes import asks_to_skip_hooks
from agent.session.branch_history import History
from agent.session_settings import Chains
from tools.core.action_guard import BegunAction
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.monitor.intent.assessment import Assessor

LONG_LINE = 2_000
"""Characters of a command from which on it is assessed in a thread: shorter ones take less than a millisecond."""

SHORTEST_VALUE = 12
"""Characters of a value that is looked for in texts: shorter ones stand there by chance."""

MOST_SECRETS = 16
"""Secrets whose values are looked for: the last that were read."""


class CumulativeIntent(Monitor):
    """Asks once per chain; an approved chain stays approved.

    append: logs an event; is_child: the prompts are another session's, whose model wishes nothing for a person
    """

    is_security = True

    def __init__(
        self,
        workspace: Workspace,
        level: Chains,
        append: Callable[[Event], object],
        *,
        is_child: bool = False,
    ) -> None:
        self.trail = Trail()
        self._workspace = workspace
        self._level = level
        self._append = append
        self._root = os.path.realpath(workspace.root)
        self._steps = 0  # replies so far
        self._may_skip_hooks = False
        self._is_child = is_child
        self._pending: dict[str, list[Change]] = {}  # by action: what it adds if it runs
        self._asked: dict[str, list[Chain]] = {}  # by action: what a person is asked about

    def restore(self, history: History, facts: Facts) -> None:
        """Restore the trail from its events. The numbers of steps come from the log, too."""
        self._steps = history.count_marked("message")
        for event in history.select_events(ChainEvent):
            self._apply_event(event)

    def handle_event(self, event: Event) -> None:
        """Record what an action that ran has added, and what a person approved."""
        match event:
            case MessageEvent():
                self._steps += 1
            case Prompt() if not self._is_child:
                self._may_skip_hooks = asks_to_skip_hooks(event.text)
            case Steer() if event.by == "person":
                self._may_skip_hooks = self._may_skip_hooks or asks_to_skip_hooks(event.text)
            case DecisionEvent() if event.call in self._asked:
                chains = self._asked.pop(event.call)
                if event.verdict == "allow" and event.by == "person":
                    self._approve(chains)
            case ObservationEvent() if event.call in self._pending:
                self._asked.pop(event.call, None)
                changes = self._pending.pop(event.call)
                if not (event.data.get("denied") or event.data.get("out_of_order")):
                    for change in changes:
                        self._record(change)

    async def before_action(self, begun: BegunAction) -> ActionAnswer:
        """Ask about an action that completes a chain that nobody approved."""
        if begun.effect.kind == "none":
            return GO_ON
        if sum(map(len, begun.effect.argv)) > LONG_LINE:
            assessor = await asyncio.to_thread(self._assess, begun)
        else:
            assessor = self._assess(begun)
        if assessor is None:
            return GO_ON
        if assessor.changes:
            self._pending[begun.call] = assessor.changes
        if (
            not assessor.chains or begun.is_harness
        ):  # the user's own commits, and those of a turn that was verified
            return GO_ON
        told = "; ".join(chain.describe() for chain in assessor.chains)
        if self._level == "notice":
            self._approve(assessor.chains)
            return TellPerson(text=told, name="chain")
        self._asked[begun.call] = assessor.chains
        hints = dict.fromkeys(chain.hint for chain in assessor.chains)
        return Ask(question=f"it completes a chain: {told}", hint="; ".join(hints))

    def _assess(self, begun: BegunAction) -> Assessor | None:
        from agent.monitor.intent.action_flows import trace_action
        from agent.monitor.intent.assessment import Assessor

        follows = {path for known in self.trail.labels.values() for path in known}
        fetched = self.trail.labels["download"]
        flows = trace_action(begun, self._workspace, follows=follows, fetched=fetched)
        if not flows:
            return None
        assessor = Assessor(
            trail=self.trail,
            root=self._root,
            step=self._steps,
            is_present=self._is_present,
            list_own_changes=lambda: list(self._workspace.changes.originals),
            find_quoted=partial(self._find_quoted, {}),
            may_skip_hooks=self._may_skip_hooks,
        )
        assessor.assess(flows)
        return assessor if assessor.chains or assessor.changes else None

    def _is_present(self, path: str) -> bool:
        """Return whether a file or folder is there, and was not made by the session itself."""
        if path.startswith("/"):
            return os.path.lexists(path)
        if self._workspace.changes.originals.get(path, b"") is None:
            return False
        return self._workspace.files.has_file(path, or_folder=True)

    def _find_quoted(self, known: dict[str, frozenset[str]], text: str) -> Link | None:
        """Return the link of a secret whose value, plain or encoded, stands in a text that the model wrote.

        known: values of the files read so far for this action
        """
        if len(text) < SHORTEST_VALUE:
            return None
        from agent.monitor.intent.secret_values import read_values

        read = [(path, link) for path, link in self.trail.labels["secret"].items() if link.previous is None]
        for path, link in read[-MOST_SECRETS:]:
            if path not in known:
                known[path] = read_values(path, self._workspace)
            if any(value in text for value in known[path]):
                return link
        return None

    # ── The trail and its events ─────────────────────────────────────────────────────────────────

    def _record(self, change: Change) -> None:
        self.trail.apply_change(change)
        self._append(
            ChainEvent(
                links=[(each.number, each.step, each.text) for each in change.link.list_links()],
                label=change.label or "",
                paths=list(change.paths),
                mark=change.mark or "",
            )
        )

    def _approve(self, chains: list[Chain]) -> None:
        for chain in chains:
            self.trail.approve(chain.key)
            self._append(ChainEvent(approved=chain.key))

    def _apply_event(self, event: ChainEvent) -> None:
        if event.approved:
            self.trail.approve(event.approved)
        link: Link | None = None
        for number, step, text in event.links:
            link = Link(number=number, step=step, text=text, previous=link)
        if link is not None:
            self.trail.restore_change(link, event.label, event.paths, event.mark)
