"""When the history is shortened, and that whatever fills the window, the next request fits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from agent.context.compression.cache_economics import select_paying_masks
from agent.context.compression.compressor import Compressor
from agent.context.compression.summary import complete_summary, find_references_in_use
from agent.context.compression.token_budget import Budget
from agent.context.ledger.session_facts import Facts
from agent.context.projection.message_slots import FoldMessage, NoteMessage, Slot
from agent.context.projection.projection import Projection
from agent.events import AskedAction, Compaction, Event, MessageEvent, ObservationEvent, Prompt, Steer
from agent.model.protocol import AssistantMessage, ToolMessage, UserMessage
from tests.support.invariants import check_messages

ORDER = "You must never touch vendor/ in this session."


class Session:
    """A projection, facts and a compressor that follow the same events, as those of a session do."""

    def __init__(self, window: int, **given: Any) -> None:
        self.projection, self.facts = Projection([]), Facts()
        self.compressor = Compressor(
            projection=self.projection, facts=self.facts, window=lambda: window, **given
        )
        self.made: list[Compaction] = []
        self.number = 0

    def add(self, *events: Event) -> None:
        for event in events:
            self.number += 1
            event.id = f"e{self.number}"
            self.projection.add_event(event)
            self.facts.handle_event(event)

    def step(self, tool: str, text: str, data: dict[str, Any] | None = None, **arguments: object) -> None:
        call = f"c{self.number}"
        asked = AskedAction(id=call, tool=tool, arguments=arguments)
        self.add(
            MessageEvent(text=f"Now {tool}.", actions=[asked]),
            ObservationEvent(call=call, tool=tool, text=text, data=data or {}, ref=f"out:{self.number}"),
        )

    def due(self) -> list[str]:
        """Do what is due before the next request; the stages."""

        async def all_of_it() -> list[Compaction]:
            found = []
            async for event in self.compressor.compact_if_due():
                self.add(event)
                found.append(event)
            return found

        made = asyncio.run(all_of_it())
        self.made += made
        return [event.stage for event in made]


# ── Giants ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_log_far_longer_than_the_window_is_summed_up_at_once() -> None:
    """One that was imported, say: nothing of it was ever shortened."""
    it = Session(64_000)
    it.add(Prompt(text=ORDER))
    for part in range(300):
        it.step("read", f"KNOB_{part} = 1\n" + "x" * 15_000, path=f"m{part}.py")
    assert it.due() == ["summary"]
    assert it.compressor.total_tokens < 16_000
    text = "\n".join(message.text for message in it.projection.messages)
    assert ORDER in text
    assert "KNOB_299" in text
    assert "recall(find=" in text
    assert check_messages(it.projection.messages) == []
    assert it.due() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a.py", "content": "x = 1\n" * 40_000},
        {"edits": [{"old": "y" * 900, "new": "z" * 900} for _ in range(200)]},
        {"command": "ä" * 90_000},
    ],
)
def test_a_last_action_whose_arguments_exceed_the_window_fits(arguments: dict[str, object]) -> None:
    it = Session(16_000)
    it.add(Prompt(text=f"Write it. {ORDER}"))
    it.step("write", "written", **arguments)
    assert it.compressor.total_tokens > 16_000
    it.due()
    assert it.compressor.total_tokens <= Budget(window=16_000).hard_limit
    assert check_messages(it.projection.messages) == []
    asked = next(m for m in it.projection.messages if isinstance(m, AssistantMessage))
    assert 'recall(ref="e2") shows all' in repr(asked.actions[0].arguments)
    assert set(asked.actions[0].arguments) == set(arguments), "it is still the same call"
    assert it.made[-1].tokens_after < it.made[-1].tokens_before
    assert it.made[-1].tokens_after <= Budget(window=16_000).hard_limit


@pytest.mark.slow
def test_a_giant_last_prompt_keeps_its_beginning_and_end_as_far_as_there_is_room() -> None:
    it = Session(16_000)
    pasted = "line of a long log\n" * 20_000
    it.add(Prompt(text=f"Fix this. {ORDER}\n{pasted}And do it in cart.py."))
    it.due()
    assert it.compressor.total_tokens <= Budget(window=16_000).hard_limit
    [said] = it.projection.messages
    assert isinstance(said, UserMessage)
    assert said.text.startswith(f"Fix this. {ORDER}")
    assert said.text.endswith("And do it in cart.py.")
    assert 'recall(ref="e1") shows all' in said.text
    assert len(said.text) > 20_000, "what room there is, is used"
    assert ORDER in it.compressor.render_state()


@pytest.mark.slow
def test_what_needs_little_room_leaves_it_to_what_needs_more() -> None:
    it = Session(16_000)
    it.add(Prompt(text="p" * 3_000), Prompt(text="q" * 400_000))
    it.due()
    first, second = (m.text for m in it.projection.messages)
    assert len(first) < 3_000, "it is an old prompt"
    assert 30_000 < len(second) < 60_000


# ── The soft trigger ──────────────────────────────────────────────────────────────────────────────


def slots(*sizes: int) -> list[Slot]:
    return [
        Slot(ToolMessage(call="c", name="read", text="x" * each), number, number, each)
        for number, each in enumerate(sizes, 1)
    ]


def test_masking_pays_for_what_is_large_and_stands_near_the_end() -> None:
    history = slots(2_000, 20_000, 30_000, 1_000)
    short = {"e1": "", "e3": ""}
    assert select_paying_masks(history, short, steps=20, cold=False) == {"e3": ""}, (
        "before e1 stands too much that is cached"
    )
    assert select_paying_masks(history, short, steps=0.3, cold=False) == {}, (
        "soon all of it will be folded anyhow"
    )
    assert select_paying_masks(history, short, steps=20, cold=True) == short, (
        "nothing is cached, so nothing is lost"
    )
    assert select_paying_masks(history, {}, steps=20, cold=True) == {}


def changing(number: int) -> str:
    return "\n".join(f"{n}\tvalue_{number}_{n} = compute(row_{number}, {n})" for n in range(1, 90))


def read_twice(it: Session) -> None:
    it.add(Prompt(text="Look."))
    for number in range(2):
        data = {"path": "a.py", "first": 1, "last": 89}
        it.step("read", changing(number), data, path="a.py", part=number)


def test_a_view_that_a_later_one_replaces_is_masked_when_the_cache_is_lost_anyhow() -> None:
    it = Session(128_000)
    read_twice(it)
    assert it.due() == [], "its cache is worth more"
    it.compressor.cold = True
    assert it.due() == ["masking"]
    [old, new] = [m for m in it.projection.messages if isinstance(m, ToolMessage)]
    assert "superseded by e5" in old.text
    assert new.text == changing(1)
    assert it.made[0].tokens_before - it.made[0].tokens_after > 500
    assert it.due() == [], "and once is enough"


def test_an_output_to_which_later_ones_refer_is_not_masked_for_nothing() -> None:
    """It would come back whole in their place."""
    from agent.events import SessionStart

    it = Session(128_000)
    it.add(SessionStart(session="s", project="/p", model="m", mode="full", version="0", outputs="once"))
    it.add(Prompt(text="Look."))
    for _ in range(2):
        data = {"path": "a.py", "first": 1, "last": 89}
        it.step("read", changing(0), data, path="a.py")
    it.compressor.cold = True
    assert it.due() == []


# ── Notes of the program ──────────────────────────────────────────────────────────────────────────


def test_notes_of_the_program_are_folded_as_steps_and_words_of_people_never() -> None:
    it = Session(128_000)
    it.add(Prompt(text=f"Go. {ORDER}"))
    for number in range(40):
        it.step("read", f"def handle_{number}(): pass\n" * 60, part=number)
        it.add(Steer(text=f"[file a{number}.py was changed outside]", by="harness"))
        if number % 10 == 0:
            it.add(Steer(text=f"also part {number}", by="person"))
        it.due()
    said = [m.text for m in it.projection.messages if isinstance(m, UserMessage)]
    notes = [m for m in it.projection.messages if isinstance(m, NoteMessage)]
    assert [f"also part {number}" for number in (0, 10, 20, 30)] == [t for t in said if t.startswith("also")]
    assert len(notes) < 20
    assert "told: [file a0.py was changed outside]" in "\n".join(
        m.text for m in it.projection.messages if isinstance(m, FoldMessage)
    )
    assert check_messages(it.projection.messages) == []


# ── Summaries ─────────────────────────────────────────────────────────────────────────────────────


def writer(asked: list[str], answer: str = "## Goal\nGo.") -> Callable[[str], Awaitable[str]]:
    async def write(prompt: str) -> str:
        asked.append(prompt)
        return answer

    return write


def sum_up(it: Session) -> Compaction:
    it.add(Prompt(text=f"Go. {ORDER}"))
    for number in range(4):
        it.step("read", f"def handle_{number}(): pass\n" * 20)
    return asyncio.run(it.compressor.summarise_past("asked for", recent=0))


def test_a_summary_is_asked_where_the_cache_holds_the_record() -> None:
    here: list[str] = []
    apart: list[str] = []
    it = Session(64_000, summarise=writer(apart), summarise_here=lambda: writer(here))
    event = sum_up(it)
    assert apart == []
    assert "The record is the conversation above." in here[0]
    assert "handle_1" not in here[0], "it is not sent once more"
    assert "## Constraints" in here[0]
    assert ORDER in event.folds[0].text, "and it is checked as any other"


def test_a_model_for_summaries_gets_the_record() -> None:
    apart: list[str] = []
    sum_up(Session(64_000, summarise=writer(apart)))
    assert "  | def handle_1(): pass" in apart[0]


def test_a_summary_is_not_asked_where_there_is_no_room_for_the_question() -> None:
    here: list[str] = []
    apart: list[str] = []
    sum_up(Session(1_000, summarise=writer(apart), summarise_here=lambda: writer(here)))
    assert (len(here), len(apart)) == (0, 1)


def test_references_that_were_used_later_are_kept_by_the_check() -> None:
    it = Session(64_000)
    it.add(Prompt(text="Look at the cart."))
    it.step("search", "src/deep/place.py:3: def odd_name(): pass\nsrc/other.py:9: unused_thing()")
    it.step("read", "def odd_name(): pass", path="src/deep/place.py")
    it.step("search", "nothing", pattern="odd_name")
    used = find_references_in_use(it.projection.slots, {})
    assert set(used) == {"src/deep/place.py", "odd_name"}
    event = asyncio.run(it.compressor.summarise_past("asked for", recent=0))
    assert "References in use" in event.folds[0].text
    it.add(event)
    assert it.facts.used == used
    bare = complete_summary("## Goal\nLook.", it.facts)
    assert "- reference in use: odd_name (e6)" in bare
    again = Facts()
    again.load(event.state)
    assert again.used == used, "a session that is taken up again knows them, too"


def test_what_was_used_before_an_earlier_summary_stays_while_it_is_among_the_latest() -> None:
    def asks(words: Sequence[str]) -> list[Slot]:
        shown = ToolMessage(call="c", name="list", text=" ".join(words))
        from tools.core.action import Action

        action = Action(id="d", tool="read", arguments={"names": " ".join(words)})
        return [Slot(shown, 1, 1, 9), Slot(AssistantMessage(text="", actions=(action,)), 2, 2, 9)]

    first = find_references_in_use(asks(["old_name"]), {})
    assert find_references_in_use(asks(["new_name"]), first) == {"old_name": "e2", "new_name": "e2"}
    many = find_references_in_use(asks([f"name_{n}" for n in range(40)]), first)
    assert len(many) == 30
    assert "old_name" not in many
