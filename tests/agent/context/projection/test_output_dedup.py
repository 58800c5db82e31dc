"""How outputs enter a request: each line once, long files outlined, and no reference to what is not there."""

from __future__ import annotations

import random
import re

import pytest

from agent.context.projection.file_views import find_elidable_lines, parse_lines
from agent.context.projection.output_dedup import OutputDeduplicator
from agent.context.projection.projection import Projection
from agent.events import (
    AskedAction,
    Compaction,
    Event,
    Fold,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
)
from agent.model.protocol import AssistantMessage
from tools.core.action import Action

AS_ABOVE = re.compile(r"^\[… (\d+)–(\d+) as above")


def act(tool: str = "read", **arguments: object) -> Action:
    return Action(id="c", tool=tool, arguments=arguments)


def numbered(lines: list[str], first: int = 1) -> str:
    return "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, first))


CODE = [f"    total += weigh(item_{n}, scale)" for n in range(60)]


def test_lines_that_stand_in_the_request_are_referred_to() -> None:
    entering = OutputDeduplicator("once")
    first = numbered(CODE[:40])
    assert entering.reduce_output(first, act(start=1), {}, "e1") == first
    again = entering.reduce_output(numbered(CODE[20:60], 21), act(start=21), {}, "e2")
    assert again.splitlines()[0] == '[… 21–40 as above, from "total += weigh(item_20, " …]'
    assert again.splitlines()[1:] == numbered(CODE[40:60], 41).splitlines()


def test_lines_that_an_edit_moved_say_where_they_stood() -> None:
    entering = OutputDeduplicator("once")
    entering.reduce_output(numbered(CODE[:40]), act(start=1), {}, "e1")
    moved = entering.reduce_output(numbered(["new = 1", *CODE[:40]]), act(start=2), {}, "e2")
    assert moved == '1\tnew = 1\n[… 2–41 as above (there 1–40), from "total += weigh(item_0, s" …]'


def test_what_the_model_wrote_itself_is_not_shown_to_it_again() -> None:
    entering = OutputDeduplicator("once")
    entering.add_message(
        AssistantMessage(text="I write it.", actions=(act("write", content="\n".join(CODE[:9])),))
    )
    sent = entering.reduce_output(numbered(CODE[:9]), act("write"), {}, "e3")
    assert sent == '[… 1–9 as above, from "total += weigh(item_0, s" …]'


def test_asked_again_it_comes_whole() -> None:
    """Whoever asks for the same once more wants to see it, and is not told twice that it was shown."""
    entering = OutputDeduplicator("once")
    text = numbered(CODE)
    assert entering.reduce_output(text, act(start=1), {}, "e1") == text
    assert entering.reduce_output(text, act(start=1), {}, "e2") != text
    assert entering.reduce_output(text, act(start=1), {}, "e3") == text
    assert entering.reduce_output(text, act("recall", ref="e2"), {}, "e4") == text


def test_an_end_that_every_output_has_is_sent_once() -> None:
    entering = OutputDeduplicator("once")
    end = "\n(Open file: /repository/src/package/module.py)\n(Current directory: /repository)\n$"
    assert entering.reduce_output(f"one{end}", act(n=1), {}, "e1").endswith(end)
    assert entering.reduce_output(f"two{end}", act(n=2), {}, "e2") == "two\n[… ends as before …]"
    assert entering.reduce_output("three", act(n=3), {}, "e3") == "three"
    again = entering.reduce_output(f"four{end}", act(n=4), {}, "e4")
    assert again == 'four\n[… 3 lines as above: "(Open file: /repository/" …]', "not as the one before it"


DOCUMENTED = [
    "import os",
    "",
    *(f"LIMIT_{n} = {n}" for n in range(30)),
    "",
    "def first_one(value):",
    '    """Say what it does.',
    *(f"    Long words about quantity_{n}." for n in range(20)),
    '    """',
    "    return value + 1",
    "",
    "def second_one(value):",
    *(f"    value = change_{n}(value)" for n in range(90)),
    "    return value",
    "",
    "def third_one(value):",
    "    return third_helper(value)",
    *(f"    # {n}" for n in range(20)),
]


def outline(**data: object) -> str:
    facts = {"path": "a.py", "first": 1, "last": len(DOCUMENTED), "lines": 900, **data}
    return OutputDeduplicator("outlined").reduce_output(numbered(DOCUMENTED), act(path="a.py"), facts, "e7")


def test_a_long_file_from_its_top_comes_as_an_outline() -> None:
    text = outline()
    assert all(f"\tdef {name}(value):" in text for name in ("first_one", "second_one", "third_one"))
    assert "1\timport os" in text
    assert "value = change_50" not in text
    assert "change_5 " in text, "names of what is left out stay in sight"
    first, *others = re.findall(r"^\[… .*", text, re.MULTILINE)
    assert re.match(r"\[… (\d+)–(\d+) left out, read\(start=\1, end=\2\)", first), "how to have it back"
    assert others
    assert all(re.match(r"\[… \d+–\d+(: | …)", each) for each in others), "which is said once"
    assert len(text) < len(numbered(DOCUMENTED)) / 2


def test_the_lines_asked_for_come_whole_with_the_definition_around_them() -> None:
    whole = numbered(DOCUMENTED).splitlines()
    text = outline(asked=[100, 100]).splitlines()
    assert set(whole[58:118]) <= set(text), "from the heading of second_one on"
    assert whole[40] not in text
    exact = outline(asked=[1, len(DOCUMENTED)])
    assert exact == "\n".join(whole), "an explicit range is what was asked for"


def test_a_short_file_and_what_is_no_file_come_whole() -> None:
    assert outline(lines=120) == numbered(DOCUMENTED)
    lines = parse_lines("\n".join(f"{n} passed, warning" for n in range(90)))
    assert find_elidable_lines(lines, {"first": 1}) == set()


def test_what_only_looks_like_comments_stays() -> None:
    """A list in Markdown, definitions of a preprocessor; a block of comments in between goes."""
    lists = parse_lines(numbered([f"* point {n}" for n in range(90)], 1))
    assert find_elidable_lines(lists, {"first": 1, "path": "notes.md"}) == set()
    assert find_elidable_lines(lists, {"first": 1, "path": "notes"}) == set()
    block = ["/* What it is for:", *(f" * words {n}" for n in range(20)), " */"]
    header = [*(f"#define SIZE_{n} {n}" for n in range(40)), *block, *(f"int x{n};" for n in range(40))]
    assert find_elidable_lines(parse_lines(numbered(header)), {"first": 1, "path": "a.h"}) == set(
        range(42, 62)
    )


def test_a_view_that_begins_within_a_docstring_is_not_taken_inside_out() -> None:
    inside = [*(f"Words about part {n}." for n in range(12)), '"""', *CODE[:30], "'''x'''", *CODE[30:]]
    left_out = find_elidable_lines(parse_lines(numbered(inside, 300)), {"first": 300, "asked": [330, 330]})
    assert left_out
    assert max(left_out) < 12
    code = [*CODE[:30], '"""', "return value", *CODE[30:]]
    quiet = find_elidable_lines(
        parse_lines(numbered(["x = 1", *code], 300)), {"first": 300, "asked": [330, 330]}
    )
    assert quiet == set()


def story(seed: int, outputs: str) -> list[Event]:
    """Reads of a file that changes, with compactions in between."""
    choose = random.Random(seed)
    file = [f"    value_{n} = compute_{choose.randrange(30)}(value)" for n in range(120)]
    made: list[Event] = [
        SessionStart(session="s", project="/p", model="m", mode="workspace", version="0", outputs=outputs)  # type: ignore[arg-type]
    ]
    made.append(Prompt(text="go"))
    for call in range(40):
        first = choose.randrange(80)
        if choose.random() < 0.3:
            file.insert(choose.randrange(120), f"    inserted_{call} = value")
        arguments: dict[str, object] = {"start": first}
        action = AskedAction(id=f"c{call}", tool="read", arguments=arguments)
        text = numbered(file[first : first + 40], first + 1)
        made.append(MessageEvent(text=f"Look {call}", actions=[action]))
        made.append(ObservationEvent(call=f"c{call}", tool="read", text=text, data={"first": first + 1}))
        if choose.random() < 0.15:
            last = choose.randrange(2, len(made))
            fold = Fold(first="e3", last=f"e{last}", text="[steps]")
            made.append(
                Compaction(stage="folding", folds=[fold], tokens_before=2, tokens_after=1, reason="x")
            )
    for number, event in enumerate(made, 1):
        event.id = f"e{number}"
    return made


@pytest.mark.parametrize("seed", range(20))
def test_every_reference_points_at_what_is_there(seed: int) -> None:
    projection = Projection([])
    references = 0
    for event in story(seed, "once"):
        projection.add_event(event)
        above: set[str] = set()
        for slot in projection.slots:
            whole = {line.number: line.text for line in parse_lines(slot.text)}
            for line in parse_lines(slot.message.text):
                if found := AS_ABOVE.match(line.raw):
                    references += 1
                    assert all(whole[n] in above for n in range(int(found[1]), int(found[2]) + 1))
                above.add(line.text)
    assert references > 100


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outputs", ["once", "outlined"])
def test_a_log_taken_in_at_once_is_sent_as_it_was_step_by_step(seed: int, outputs: str) -> None:
    events = story(seed, outputs)
    live, at_once = Projection([]), Projection([])
    for event in events:
        live.add_event(event)
    at_once.load_events(events)
    assert [m.text for m in at_once.messages] == [m.text for m in live.messages]
    more = story(seed + 1, outputs)[2:9]
    for event in more:
        event.id = f"e{int(event.id[1:]) + len(events)}"
        live.add_event(event)
        at_once.add_event(event)
    assert [m.text for m in at_once.messages] == [m.text for m in live.messages]


def test_what_was_sent_does_not_change_without_a_compaction() -> None:
    projection = Projection([])
    before: list[str] = []
    for event in story(3, "outlined"):
        projection.add_event(event)
        now = [message.text for message in projection.messages]
        if not isinstance(event, Compaction):
            assert now[: len(before)] == before
        before = now


def test_logs_that_do_not_say_how_are_sent_whole() -> None:
    projection = Projection([])
    for event in story(1, "whole"):
        projection.add_event(event)
    assert not any(slot.whole for slot in projection.slots)


def test_lines_of_the_same_file_are_named_by_their_numbers_alone() -> None:
    entering = OutputDeduplicator("once")
    facts = {"path": "a.py", "first": 1}
    entering.reduce_output(numbered(CODE[:20]), act(start=1), facts, "e1")
    entering.reduce_output(numbered([*CODE[20:40], ""], 21), act(start=21), facts, "e2")
    both = entering.reduce_output(numbered(CODE[:45]), act(start=1, end=45), facts, "e3")
    assert both.splitlines()[0] == "[… 1–40 as above …]", "although they stand in two outputs"
    elsewhere = entering.reduce_output(
        numbered(CODE[:20]), act("read", path="b.py"), {"path": "b.py", "first": 1}, "e4"
    )
    assert elsewhere == '[… 1–20 as above, from "total += weigh(item_0, s" …]', (
        "numbers of another file tell nothing"
    )


def test_an_edit_shows_what_is_around_the_change() -> None:
    facts = {"path": "a.py", "first": 1, "asked": [100, 100], "diff": "changed", "lines": 900}
    text = (
        OutputDeduplicator("outlined")
        .reduce_output(numbered(DOCUMENTED), act("edit"), facts, "e7")
        .splitlines()
    )
    assert [line for line in text if not line.startswith("[…")] == numbered(DOCUMENTED).splitlines()[94:105]


def test_a_failing_call_made_again_shows_nothing_new() -> None:
    """Whoever repeats a failing edit does not ask to see its answer whole."""
    entering = OutputDeduplicator("once")
    text = numbered(CODE)
    assert entering.reduce_output(text, act("edit"), {}, "e1", failed=True) == text
    for again in ("e2", "e3", "e4"):
        assert entering.reduce_output(text, act("edit"), {}, again, failed=True) != text
