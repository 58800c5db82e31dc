"""How outputs enter a request: each line once, long files outlined, and no reference to what is not there."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

from agent.context.projection.definitions import find_definitions, find_lists
from agent.context.projection.file_views import find_elidable_lines, parse_lines
from agent.context.projection.message_slots import NoteMessage
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
from agent.model.protocol import AssistantMessage, Message, UserMessage
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


LIBRARY = [
    "from django.db.backends.ddl_references import (",
    *(f"    Reference_{n}," for n in range(14)),
    ")",
    "",
    "class Schema(Base):",
    '    """Say what the class is for.',
    *(f"    More words about part {n}." for n in range(20)),
    '    """',
    "",
    "    def quote_name(self,",
    "        name,",
    "        *,",
    "        raw=False,",
    "    ):",
    *(f"        name = quote_{n}(name)" for n in range(40)),
    "",
    "    @cached",
    "    def drop_index(self, name):",
    '        """Drop it.',
    *(f"        Words about dropping {n}." for n in range(9)),
    '        """',
    *(f"        self.execute_{n}(name)" for n in range(20)),
    "",
    "    def short(self):",
    "        return drop(self)",
    "",
    "    def last(self):",
    *(f"        self.end_{n}()" for n in range(40)),
]
PLACE = {"path": "db/schema.py", "first": 1, "last": len(LIBRARY), "lines": 900}
DROP = [line for line in numbered(LIBRARY).splitlines() if "dropping" in line or "execute_" in line]

GO_ON = [AssistantMessage(text="On.")] * 4


def view_library(*before: Message, asked: int | None = None, output: tuple[str, str] = ("", "")) -> str:
    entering = OutputDeduplicator("outlined")
    for message in before:
        entering.add_message(message)
    if output[0]:
        data = {"search": {"places": [["db/schema.py", 105]]}}.get(output[0], {})
        failed = output[0] in ("shell", "run_tests")
        entering.reduce_output(output[1], act(output[0]), data, "e6", failed=failed)
    data = PLACE if asked is None else {**PLACE, "asked": [asked, asked]}
    return entering.reduce_output(numbered(LIBRARY), act(path="db/schema.py"), data, "e7")


def item(text: str, status: str = "open") -> dict[str, str]:
    return {"text": text, "status": status}


@pytest.mark.parametrize(
    "sent",
    [
        {"before": UserMessage(text="drop_index forgets the second name.")},
        {"before": AssistantMessage(text="I look at `Schema.drop_index` next.")},
        {"before": AssistantMessage(text="", actions=(act("plan", items=[item("Change drop_index")]),))},
        {"before": NoteMessage(text="The tests fail: test_drop: AttributeError in drop_index")},
        {"output": ("run_tests", 'File "/p/db/schema.py", line 105, in run\n    KeyError: 3')},
        {"output": ("shell", "db/schema.py:105: error: Too many arguments")},
        {"output": ("search", "db/schema.py\n  105: self.execute")},
        {"output": ("code", "1. db/schema.py Schema.drop_index")},
    ],
    ids=["task", "reasoning", "plan", "failed tests", "traceback", "compiler", "search", "localiser"],
)
def test_the_definition_that_is_pointed_at_is_whole(sent: dict[str, Any]) -> None:
    text = view_library(*[each for each in [sent.get("before")] if each], output=sent.get("output", ("", "")))
    assert [line for line in DROP if line not in text.splitlines()] == []
    assert "self.end_20()" not in text, "nothing points there"


@pytest.mark.parametrize(
    "before",
    [
        (),
        (UserMessage(text="drop_index is slow"), UserMessage(text="Something else now.")),
        (AssistantMessage(text="", actions=(act("plan", items=[item("drop_index", "done")]),)), *GO_ON),
        [AssistantMessage(text="`drop_index`"), *GO_ON],
        (UserMessage(text="Drop the index and end it."),),
    ],
    ids=["nothing", "an older task", "a finished item", "an older step", "words that are no code"],
)  # fmt: skip
def test_what_is_not_pointed_at_any_more_is_outlined(before: Sequence[Message]) -> None:
    text = view_library(*before).splitlines()
    assert not set(DROP) & set(text)


def test_a_search_with_many_hits_points_at_nothing() -> None:
    entering = OutputDeduplicator("outlined")
    hits = {"places": [["db/schema.py", n] for n in range(1, 100)]}
    entering.reduce_output("many", act("search"), hits, "e6")
    text = entering.reduce_output(numbered(LIBRARY), act(path="db/schema.py"), PLACE, "e7").splitlines()
    assert not set(DROP) & set(text)


def test_imports_and_signatures_are_not_cut_within_their_list() -> None:
    whole = numbered(LIBRARY).splitlines()
    text = view_library().splitlines()
    assert set(whole[:16]) <= set(text), "the import to its bracket"
    first = next(i for i, line in enumerate(LIBRARY) if "quote_name" in line)
    assert set(whole[first : first + 5]) <= set(text), "the signature to its bracket"
    assert whole[first + 10] not in text


def test_the_definition_around_the_requested_line_keeps_its_docstring_and_short_ones_stay() -> None:
    at = next(i for i, line in enumerate(LIBRARY) if "execute_3" in line) + 1
    text = view_library(asked=at)
    assert [line for line in DROP if line not in text.splitlines()] == []
    assert "return drop(self)" in text
    assert "More words about part 9." not in text
    assert "self.end_20()" not in text


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["func (r *Reader) Read(p []byte) (int, error) {", "\treturn 0, nil", "}", "type Row struct {", "}"],
         ["Read", "Row"]),
        (["export class Cart {", "}", "async function load() {", "  return 1", "}"], ["Cart", "load"]),
        (["pub fn parse(s: &str) -> Row {", "}", "impl Row {", "    fn size(&self) -> u8 {", "    }", "}"],
         ["parse", "Row", "size"]),
    ],
    ids=["go", "javascript", "rust"],
)  # fmt: skip
def test_definitions_of_other_languages_have_their_names(lines: list[str], names: list[str]) -> None:
    assert [each.name for each in find_definitions(lines)] == names


def test_lists_end_at_their_bracket() -> None:
    lines = [
        "import {",
        "  a,",
        "  b",
        "} from 'x'",
        "function f(",
        "  a,",
        ") {",
        "  g(",
        "}",
        "from x import y",
    ]
    assert list(find_lists(lines)) == [range(4), range(4, 7)]
    assert list(find_lists(["import (", *["x"] * 90])) == [], "one without an end in the view is no list"
