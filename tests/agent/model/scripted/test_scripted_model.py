from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.model.protocol import AssistantMessage, Message, ToolMessage, ToolSpec, Usage
from agent.model.scripted.scripted_model import Counts, Matcher, ScriptedModel, Turn, split_into_pieces
from sandbox.errors import Fault, UserError
from tests.support.asking import answered, ask, user

DOCUMENTATION = Path(__file__).parents[4] / "docs" / "scripted.md"


def script(folder: Path, turns: object, name: str = "script.json") -> ScriptedModel:
    path = folder / name
    path.write_text(json.dumps(turns))
    return ScriptedModel(path)


def test_the_example_of_the_documentation_plays(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", DOCUMENTATION.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "fix.yaml"
    path.write_text(blocks[0], "utf-8")
    model = ScriptedModel(path)
    tools = [tool("read"), tool("edit"), tool("run_tests")]
    history: list[Message] = [user("make the tests pass")]
    first = ask(model, history, tools)
    history += answered(first, "9: return sum(items[1:])")
    second = ask(model, history, tools)
    history += answered(second, "cart.py: 1 place changed", "3 passed")
    last = ask(model, history, tools)
    assert first.reasoning == "I should look at the file first."
    assert [action.tool for action in second.actions] == ["edit", "run_tests"]
    assert second.usage == Usage(input=1200, cached=900, output=85, cost=0.004)
    assert (last.text, last.stop) == ("Done. All tests pass.", "end")


def tool(name: str) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={"type": "object", "properties": {}})


def test_text_is_streamed_in_words_that_add_up(tmp_path: Path) -> None:
    text = "  Two words,\n\nand  four more here.\n"
    assert list(split_into_pieces(text))[:3] == ["  Two", " words,", "\n\nand"]
    assert "".join(split_into_pieces(text)) == text
    assert ask(script(tmp_path, [{"text": text}]), [user("hi")]).text == text


CALL = {"calls": [{"tool": "read", "arguments": {"path": "a"}}]}


def test_a_new_process_goes_on_where_the_script_stood(tmp_path: Path) -> None:
    turns = [CALL, {"text": "aside"}, CALL, {"text": "last"}]
    history: list[Message] = [user("go")]
    said: list[str] = []
    for _ in turns:
        got = ask(script(tmp_path, turns), history)  # each request is the first of its process
        said.append(got.text or got.actions[0].tool)
        history += [*answered(got, *("ok" for _ in got.actions)), user("more")]
    assert said == ["read", "aside", "read", "last"]


def test_compression_may_take_messages_away(tmp_path: Path) -> None:
    turns = [CALL, CALL, CALL, {"text": "last"}]
    model = script(tmp_path, turns)
    history: list[Message] = [user("go")]
    for _ in range(3):
        history += answered(ask(model, history), "ok")
    summary: list[Message] = [user("go"), user("summary of it all"), *history[-2:]]
    assert ask(model, summary).text == "last"
    assert ask(script(tmp_path, turns), summary).text == "last"
    only_the_result: list[Message] = [user("summary"), history[-1]]
    assert ask(script(tmp_path, turns), only_the_result).text == "last"


def test_compression_of_a_conversation_without_calls_loses_no_turn(tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": f"turn {n}"} for n in range(5)])
    history: list[Message] = []
    for _ in range(4):
        history.append(user("more"))
        history += answered(ask(model, history))
    assert ask(model, [user("summary"), user("more")]).text == "turn 4"


def test_the_same_request_gets_the_same_turn_again(tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "one"}, {"text": "two"}])
    assert [ask(model, [user("go")]).text for _ in range(2)] == ["one", "one"]


def test_a_script_that_takes_over_from_another_begins_at_its_start(tmp_path: Path) -> None:
    first = script(tmp_path, [CALL, {"text": "done"}], "first.json")
    history: list[Message] = [user("go")]
    history += answered(ask(first, history), "ok")
    history += [*answered(ask(first, history)), user("now this")]
    second = script(tmp_path, [{"text": "begins"}, {"text": "goes on"}], "second.json")
    got = ask(second, history)
    assert got.text == "begins"
    assert ask(second, [*history, *answered(got), user("and")]).text == "goes on"


def test_a_turn_is_repeated_with_ids_that_differ(tmp_path: Path) -> None:
    model = script(tmp_path, [CALL | {"repeat": 3}, {"text": "last"}])
    history: list[Message] = [user("go")]
    ids: set[str] = set()
    for _ in range(3):
        got = ask(model, history)
        ids.add(got.actions[0].id)
        history += answered(got, "ok")
    assert len(ids) == 3
    assert ask(model, history).text == "last"


def test_after_the_last_turn_comes_an_error_that_says_so(tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "only"}])
    with pytest.raises(UserError, match="has ended: it plays 1 turn") as caught:
        ask(model, [user("go"), AssistantMessage(text="only"), user("more")])
    assert caught.value.fault is Fault.CONFIGURATION


HISTORY: Sequence[Message] = (
    user("old words"),
    AssistantMessage(text="earlier"),
    ToolMessage(call="c", name="read", text="line 1\nline 2"),
    user("steer me"),
)

FITTING = [
    "line 2",
    {"contains": "steer"},
    {"not_contains": "old words"},
    {"regex": "^line [0-9]$"},
    {"anywhere": "old words"},
    {"anywhere": "Be brief."},
    {"anywhere": "Read a file."},
    {"tools": ["read"]},
]
FAILING = [
    "old words",
    {"contains": "earlier"},
    {"not_contains": "line 1"},
    {"regex": "^2$"},
    {"anywhere": "never said"},
    {"tools": ["read", "fly"]},
]


@pytest.mark.parametrize("expected", FITTING, ids=str)
def test_an_expectation_that_holds_lets_the_turn_play(tmp_path: Path, expected: object) -> None:
    assert ask(script(tmp_path, [{"expect": [expected], "text": "ok"}]), HISTORY).text == "ok"


@pytest.mark.parametrize("expected", FAILING, ids=str)
def test_an_expectation_that_fails_shows_both_sides(tmp_path: Path, expected: object) -> None:
    with pytest.raises(UserError, match="turn 1 of the script") as caught:
        ask(script(tmp_path, [{"expect": [expected]}]), HISTORY)
    assert caught.value.fault is Fault.CONFIGURATION
    wanted = expected if isinstance(expected, str) else str(*expected.values())  # type: ignore[attr-defined]
    assert wanted.replace("'", '"') in caught.value.message
    assert "line 2" in caught.value.message or "tools: read" in caught.value.message


def test_a_long_request_is_cut_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\[… [0-9]+ characters …\]") as caught:
        ask(script(tmp_path, [{"expect": ["other"]}]), [user("word " * 100_000)])
    assert len(caught.value.message) < 5000


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        ("credentials", "the script says so", ""),
        ({"fault": "credentials", "message": "no key", "hint": "get one"}, "no key", "get one"),
    ],
)
def test_a_turn_may_be_a_fault(tmp_path: Path, error: object, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        ask(script(tmp_path, [{"error": error}]), [user("go")])
    assert (caught.value.fault, caught.value.message, caught.value.hint) == (Fault.CREDENTIALS, message, hint)


def test_arguments_may_be_text_that_is_not_json(tmp_path: Path) -> None:
    got = ask(script(tmp_path, [{"calls": [{"tool": "read", "raw": "{oops"}]}]), [user("go")])
    assert got.actions[0].raw == "{oops"
    assert "not JSON" in got.actions[0].problem


def test_the_window_and_the_reason_to_stop_may_be_set(tmp_path: Path) -> None:
    model = script(tmp_path, {"window": 900, "turns": [{"text": "cut", "stop": "length"}]})
    assert model.window == 900
    assert ask(model, [user("go")]).stop == "length"


@pytest.mark.parametrize(
    ("content", "name", "what"),
    [
        ('[{"txet": "typo"}]', "s.json", "turn 1: txet: extra inputs are not permitted"),
        ('[{}, {"repeat": 0}]', "s.json", "turn 2: repeat: input should be greater than or equal to 1"),
        ("- error: no-such-fault", "s.yaml", "turn 1: error"),
        ("just words", "s.yaml", "does not fit the format"),
        ("[{", "s.json", "is not JSON"),
        ("a: [", "s.yaml", "is not YAML"),
    ],
)
def test_a_script_with_a_mistake_is_refused_with_its_place(
    tmp_path: Path, content: str, name: str, what: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        ScriptedModel(path)
    assert caught.value.fault is Fault.CONFIGURATION
    assert what in caught.value.message
    assert repr(str(path)) in caught.value.message


def test_a_script_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml' cannot be read: No such file"):
        ScriptedModel(tmp_path / "none.yaml")


def test_the_documentation_names_every_key_of_the_format() -> None:
    text = DOCUMENTATION.read_text("utf-8")
    for model in (Turn, Matcher, Counts):
        for name in model.model_fields:
            assert re.search(rf"\b{name}\b", text), name
