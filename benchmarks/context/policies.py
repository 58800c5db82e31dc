"""Ways to keep a history within bounds: ours, through the real projection and compressor, and those of others."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.context.compression import summary
from agent.context.compression.compressor import Compressor
from agent.context.ledger.session_facts import Facts
from agent.context.projection.masking import render_message
from agent.context.projection.message_slots import FoldMessage, count_bytes
from agent.context.projection.projection import BYTES_PER_TOKEN, Projection
from agent.events import Event, MessageEvent, ObservationEvent, Prompt, SessionStart
from agent.model.protocol import AssistantMessage
from agent.session_settings import ContextSettings
from tools.core.action import Action


class Policy(ABC):
    """Takes the events in, one by one; `request` is what the model would be sent."""

    compactions = 0

    @abstractmethod
    def add(self, event: Event) -> None: ...

    @abstractmethod
    def request(self) -> list[str]:
        """The texts of the next request, in order, the system prompt first."""

    def reachable(self, places: Sequence[int]) -> bool:
        """Whether a reference to one of these events stands in the request."""
        return False


class Ours(Policy):
    """The product: projection, facts and compressor as a session has them, the state ledger included."""

    def __init__(self, window: int, settings: ContextSettings) -> None:
        self.projection = Projection([])
        self.facts = Facts()
        self.compressor = Compressor(
            projection=self.projection, facts=self.facts, window=lambda: window, settings=settings
        )
        self._made = 10**9

    def add(self, event: Event) -> None:
        self.projection.add_event(event)
        self.facts.handle_event(event)

    def request(self) -> list[str]:
        asyncio.run(self._compress())
        texts = [self.projection.system]
        for slot in self.projection.slots:
            message = slot.message
            texts.append(render_message(message) if isinstance(message, AssistantMessage) else message.text)
        return [*texts, self.compressor.render_state()]

    def reachable(self, places: Sequence[int]) -> bool:
        for slot in self.projection.slots:
            inside = [place for place in places if slot.first <= place <= slot.last]
            if inside and not isinstance(slot.message, FoldMessage):
                return True  # its own reference, or the whole
            if inside and "recall(find=" in slot.message.text:
                return True  # a summary: all that it covers can be searched
            named = {int(each) for each in re.findall(r"^e(\d+) ", slot.message.text, re.MULTILINE)}
            if any(place - 1 in named or place in named for place in inside):
                return True
        return False

    async def _compress(self) -> None:
        async for event in self.compressor.compact_if_due():
            self._made += 1
            event.id = f"e{self._made}"
            self.projection.add_event(event)
            self.compactions += 1


@dataclass(slots=True)
class Entry:
    """One message: who it is from ("system", "user", "model", "output") and its text."""

    kind: str
    text: str


class Listed(Policy):
    """Policies of others: a list of entries, and a rule that says what is sent of it."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.facts = Facts()

    def add(self, event: Event) -> None:
        self.facts.handle_event(event)
        match event:
            case SessionStart():
                self.entries.append(Entry("system", event.system))
            case Prompt():
                self.entries.append(Entry("user", event.text))
            case MessageEvent():
                actions = (Action(id=a.id, tool=a.tool, arguments=a.arguments) for a in event.actions)
                message = AssistantMessage(text=event.text, actions=tuple(actions))
                self.entries.append(Entry("model", render_message(message)))
            case ObservationEvent():
                self.entries.append(Entry("output", event.text))

    def request(self) -> list[str]:
        return [entry.text for entry in self.entries]

    def tokens(self) -> int:
        return int(sum(count_bytes(entry.text) for entry in self.entries) / BYTES_PER_TOKEN)

    def standin(self, entries: Sequence[Entry], tokens: int) -> str:
        """In place of a model's summary: our facts at the length that a model would be allowed, unchecked."""
        text = "\n".join(summary.build_sections(self.facts))
        return text[: int(tokens * BYTES_PER_TOKEN)]


class LastOutputs(Listed):
    """All outputs but the last `keep` are one line each (SWE-agent with 5; "The Complexity Trap" with 10)."""

    def __init__(self, keep: int) -> None:
        super().__init__()
        self.keep = keep

    def request(self) -> list[str]:
        outputs = [i for i, entry in enumerate(self.entries) if entry.kind == "output"]
        old = set(outputs[: -self.keep])
        self.compactions = len(old)
        return [
            f"Old environment output: ({e.text.count(chr(10)) + 1} lines omitted)" if i in old else e.text
            for i, e in enumerate(self.entries)
        ]


class UserAndSummary(Listed):
    """Codex: at nine tenths of the window, the user's messages (20k tokens) and a summary take the place of all."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def request(self) -> list[str]:
        if self.tokens() > self.window * 9 // 10:
            said = [entry for entry in self.entries if entry.kind in ("system", "user")]
            room = 20_000 * BYTES_PER_TOKEN
            kept: list[Entry] = []
            for entry in reversed(said):
                room -= count_bytes(entry.text)
                kept += [entry] if room > 0 or entry.kind == "system" else []
            self.entries = [*reversed(kept), Entry("output", self.standin(self.entries, 2_000))]
            self.compactions += 1
        return super().request()


class Condenser(Listed):
    """OpenHands: over 80 events, the first 4 stay, and the newest up to half; a summary stands between."""

    def request(self) -> list[str]:
        if len(self.entries) > 80:
            gone = self.entries[4:-36]
            self.entries = [
                *self.entries[:4],
                Entry("output", self.standin(gone, 1_000)),
                *self.entries[-36:],
            ]
            self.compactions += 1
        return super().request()


class Summarised(Listed):
    """A plain summary of all but the newest steps whenever the history passes a budget, at our summary's length."""

    def __init__(self, budget: int) -> None:
        super().__init__()
        self.budget = budget

    def request(self) -> list[str]:
        if self.tokens() > self.budget:
            said = [entry for entry in self.entries[:-6] if entry.kind in ("system", "user")]
            tail = self.entries[-6:]
            self.entries = [*said, Entry("output", self.standin(self.entries[:-6], 2_000)), *tail]
            self.compactions += 1
        return super().request()


def policies(window: int, settings: ContextSettings) -> dict[str, Callable[[], Policy]]:
    """Each policy by its name, made anew for each session."""
    budget = settings.recent + settings.batch
    return {
        "none": Listed,
        "ours": lambda: Ours(window, settings),
        "last 5 outputs (SWE-agent)": lambda: LastOutputs(5),
        "mask all but 10 (Complexity Trap)": lambda: LastOutputs(10),
        "user messages and summary (Codex)": lambda: UserAndSummary(window),
        "condenser, 80 events (OpenHands)": Condenser,
        "plain summary at our budget": lambda: Summarised(2 * budget),
    }
