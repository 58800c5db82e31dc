"""Events that are read without parsing give the same texts as parsed ones, whatever a server sends."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.model.wire_formats.chat_assembler import ChatAssembler
from agent.model.wire_formats.repeated_events import RepeatedEvents

HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 17, "model": "m"}


def make_event(delta: dict[str, Any], *, ascii: bool = True, **fields: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return json.dumps({**HEAD, "choices": [choice], "usage": None, **fields}, ensure_ascii=ascii)


def read_all(events: list[str], *, quickly: bool) -> tuple[str, str, Any, int]:
    """Text, reasoning, usage, and how many events were parsed."""
    assembler, parsed, place = ChatAssembler(), 0, 0
    while place < len(events):
        if quickly:
            _, place = assembler.take_texts(events, place)
        if place < len(events):
            list(assembler.feed(json.loads(events[place])))
            place, parsed = place + 1, parsed + 1
    reply = assembler.build_reply(assembler.usage)
    return reply.text, reply.reasoning, reply.usage, parsed


WORDS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ['say "no"', "back\\slash", "\n", "é", "\U0001f600", "m", "c1", '","role":"x', "\\", '"', "}]}"]
    ),
)
DELTAS = st.one_of(
    WORDS.map(lambda text: {"content": text}),
    WORDS.map(lambda text: {"reasoning_content": text}),
    WORDS.map(lambda text: {"content": text, "role": "assistant"}),
)
EVENTS = st.builds(
    lambda delta, ascii, more: make_event(delta, ascii=ascii, **more),
    DELTAS,
    st.booleans(),
    st.sampled_from([{}, {}, {}, {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}, {"created": 18}]),
)


@given(st.lists(EVENTS, max_size=30))
def test_the_reply_is_that_of_parsed_events(events: list[str]) -> None:
    assert read_all(events, quickly=True)[:3] == read_all(events, quickly=False)[:3]


def test_hardly_any_event_of_a_long_answer_is_parsed() -> None:
    words = [f"word{number} " for number in range(500)] + [
        '"quoted"',
        "new\nline",
        "ümlaut",
        "back\\slash",
    ] * 20
    events = [
        make_event({"role": "assistant", "content": ""}),
        *(make_event({"content": each}) for each in words),
    ]
    text, _, _, parsed = read_all(events, quickly=True)
    assert text == "".join(words)
    assert parsed == 2  # the first, and the one that is the pattern


def test_a_text_that_also_stands_elsewhere_is_no_pattern() -> None:
    repeated = RepeatedEvents()
    repeated.learn(make_event({"content": "m"}), "m")
    assert repeated.take_texts([make_event({"content": "x"})], 0) == ([], 0)
    repeated.learn(make_event({"content": "one"}), "one")
    assert repeated.take_texts([make_event({"content": "x"}), "{}"], 0) == (["x"], 1)


def test_an_event_that_breaks_out_of_its_text_is_parsed() -> None:
    repeated = RepeatedEvents()
    repeated.learn(make_event({"content": "one"}), "one")
    before, after = make_event({"content": "SPLIT"}).split("SPLIT")
    for text in ('a","role":"b', "a\\", "a\nb", ""):
        assert repeated.take_texts([f"{before}{text}{after}"], 0) == ([], 0)
