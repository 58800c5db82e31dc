from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from agent.model.http.http_model import HttpModel, ModelAddress
from agent.model.protocol import ReasoningDelta, Reply, Request, TextDelta, Usage
from agent.model.providers.model_catalog import Listing, Price
from agent.model.wire_formats.chat_assembler import ChatAssembler
from agent.model.wire_formats.chat_completions import ChatDialect, ChatWire
from sandbox.errors import Fault, UserError
from tests.support.asking import READ, answered, ask, deltas, reply, user
from tests.support.formats import chat_at
from tests.support.loopback import Loopback, Trouble


def chat(
    server: Loopback, dialect: ChatDialect | None = None, key_variable: str = "", **options: Any
) -> HttpModel:
    place = ModelAddress(
        name="openai/tiny", model="tiny", base=server.url, key="sk-secret", key_variable=key_variable
    )
    return HttpModel(place, wire=ChatWire("tiny", dialect), **options)


def sent(server: Loopback, place: int = -1) -> Mapping[str, Any]:
    return server.requests[place].body


def test_a_call_in_the_form_before_tool_calls_is_one() -> None:
    assembler = ChatAssembler()
    for delta in ({"name": "read", "arguments": ""}, {"arguments": '{"path": '}, {"arguments": '"a.py"}'}):
        list(assembler.feed({"choices": [{"delta": {"function_call": delta}, "finish_reason": None}]}))
    list(assembler.feed({"choices": [{"delta": {}, "finish_reason": "function_call"}]}))
    [action] = assembler.build_reply(Usage()).actions
    assert (action.tool, action.arguments) == ("read", {"path": "a.py"})


def test_text_and_reasoning_stream_before_the_reply_that_holds_them_whole() -> None:
    with Loopback([{"reasoning": "two and two", "text": "It is four.\n"}]) as server:
        items = asyncio.run(deltas(chat(server), Request(system="", messages=[user("2+2?")])))
    # How much of it comes at a time is the network's business.
    assert "".join(item.text for item in items if isinstance(item, ReasoningDelta)) == "two and two"
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "It is four.\n"
    kinds = [kind for kind, _ in groupby(items, type)]
    assert kinds == [ReasoningDelta, TextDelta, Reply]
    assert items[-1] == Reply(text="It is four.\n", reasoning="two and two", stop="end")
    assert sum(isinstance(item, Reply) for item in items) == 1


def test_parallel_calls_are_put_together_from_their_fragments() -> None:
    calls = [
        {"tool": "read", "arguments": {"path": "a/very/long/path/that/is/cut/into/several/fragments.py"}},
        {"tool": "search", "arguments": {"pattern": 'naïve \\d+ "quoted"\n'}},
    ]
    with Loopback([{"calls": calls}]) as server:
        got = ask(chat(server), [user("go")])
    assert [(action.tool, action.arguments) for action in got.actions] == [
        (call["tool"], call["arguments"]) for call in calls
    ]
    assert len({action.id for action in got.actions}) == 2
    assert got.stop == "actions"


def test_arguments_that_are_not_json_become_an_action_that_says_so() -> None:
    with Loopback([{"calls": [{"tool": "read", "raw": '{"path": "a'}]}, {"text": "sorry"}]) as server:
        model = chat(server)
        got = ask(model, [user("go")])
        assert "not JSON" in got.actions[0].problem
        assert got.actions[0].raw == '{"path": "a'
        ask(model, [user("go"), *answered(got, "the arguments are not JSON")])
        assert sent(server)["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_usage_counts_cached_and_reasoning_tokens_and_is_priced() -> None:
    listing = Listing(window=5000, prices=(Price(0, 1.0, 10.0, 0.5),))
    usage = {"input": 100, "cached": 40, "output": 7, "reasoning": 3}
    with Loopback([{"text": "ok", "usage": usage}]) as server:
        model = chat(server, listing=lambda: listing)
        got = ask(model, [user("hi")])
    assert (got.usage.input, got.usage.cached, got.usage.output, got.usage.reasoning) == (100, 40, 7, 3)
    assert got.usage.cost == 60 * 1.0 + 40 * 0.5 + 7 * 10.0
    assert model.window == 5000


def test_cost_is_unknown_rather_than_zero_without_a_price_or_a_count() -> None:
    priced = Listing(window=1, prices=(Price(0, 1.0, 1.0, 1.0),))
    with Loopback(
        [{"text": "ok", "usage": {"input": 5}, "repeat": 2}], troubles=[None, Trouble(no_usage=True)]
    ) as s:
        assert ask(chat(s), [user("hi")]).usage.cost is None
        assert ask(chat(s, listing=lambda: priced), [user("hi")]).usage.cost is None


def test_the_price_is_looked_up_after_the_answer_and_once() -> None:
    looked_up_after: list[int] = []
    with Loopback() as server:
        model = chat(server, listing=lambda: looked_up_after.append(len(server.requests)))
        ask(model, [user("hi")])
        ask(model, [user("hi")])
    assert looked_up_after == [1]


def test_a_server_that_does_not_stream_is_understood() -> None:
    turn = {"text": "hi", "reasoning": "hm", "calls": [{"tool": "read", "arguments": {"path": "x"}}]}
    with Loopback([turn | {"usage": {"input": 3}}], troubles=[Trouble(whole=True)]) as server:
        got = ask(chat(server), [user("hi")])
    assert (got.text, got.reasoning, got.usage.input) == ("hi", "hm", 3)
    assert got.actions[0].arguments == {"path": "x"}


def test_one_connection_serves_all_steps() -> None:
    async def steps(model: HttpModel) -> None:
        for _ in range(4):
            await reply(model, Request(system="", messages=[user("hi")]))

    with Loopback([{"text": "ok", "repeat": 9}]) as server:
        model = chat(server)
        asyncio.run(steps(model))
        asyncio.run(steps(model))  # and outlives the event loop
        assert len({request.connection for request in server.requests}) == 1
        asyncio.run(model.close())
        asyncio.run(model.close())


def test_a_connection_that_the_server_closed_meanwhile_is_opened_again_unnoticed() -> None:
    notices: list[str] = []
    with Loopback([{"text": "ok", "repeat": 2}], troubles=[Trouble(drop_after=True)]) as server:
        model = chat(server, on_notice=notices.append)
        ask_twice = [asyncio.run(reply(model, Request(system="", messages=[user("hi")]))) for _ in range(2)]
        asyncio.run(model.close())
    assert [got.text for got in ask_twice] == ["ok", "ok"]
    assert notices == []


def test_a_request_keeps_the_bytes_of_the_one_before_and_each_message_is_encoded_once() -> None:
    with Loopback([{"calls": [{"tool": "read", "arguments": {"path": "ä"}}]}, {"text": "ok"}]) as server:
        model = chat(server)
        messages = [user("first")]
        got = ask(model, messages)
        encoded = messages[0].wire["openai-chat"]
        ask(model, [*messages, *answered(got, "content")])
        first, second = (request.raw for request in server.requests)
    assert second.startswith(first.removesuffix(b"]}"))
    assert messages[0].wire["openai-chat"] is encoded
    assert json.loads(second)["messages"][-1] == {
        "role": "tool",
        "tool_call_id": got.actions[0].id,
        "content": "content",
    }


def test_arguments_are_encoded_alike_whether_they_were_just_received_or_read_from_a_log() -> None:
    with Loopback(
        [{"calls": [{"tool": "read", "raw": '{ "path":"a" }'}]}, {"text": "", "repeat": 2}]
    ) as server:
        model = chat(server)
        live = ask(model, [user("go")])
        logged = [
            action.__class__(id=action.id, tool=action.tool, arguments=action.arguments)
            for action in live.actions
        ]
        ask(model, [user("go"), *answered(live, "ok")])
        ask(model, [user("go"), *answered(Reply(text=live.text, actions=tuple(logged)), "ok")])
        assert server.requests[1].raw == server.requests[2].raw


def test_text_that_is_no_unicode_still_makes_a_body_that_servers_accept() -> None:
    with Loopback() as server:
        ask(chat(server), [user("bad name: \udcff")])
        assert sent(server)["messages"][1]["content"] == "bad name: ?"


def test_the_system_prompt_tools_and_output_limit_are_sent() -> None:
    with Loopback() as server:
        model = chat(server, dialect=ChatDialect(limit="max_completion_tokens"))
        request = Request(system="Be brief.", messages=[user("hi")], tools=[READ], max_output=99)
        asyncio.run(reply(model, request))
        body = sent(server)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["tools"][0]["function"]["name"] == "read"
    assert body["max_completion_tokens"] == 99
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_passing_failure_is_tried_again_with_a_notice(status: int) -> None:
    trouble, notices = Trouble(status=status, retry_after="0"), list[str]()
    with Loopback([{"text": "there"}], troubles=[trouble, trouble]) as server:
        assert ask(chat(server, on_notice=notices.append), [user("hi")]).text == "there"
        assert len(server.requests) == 3
    assert [str(status) in notice for notice in notices] == [True, False]
    assert notices[1].startswith("the same again; ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [Trouble(refuse=True), Trouble(cut_after=30), Trouble(garbage=True)],
    ids=["refused", "cut", "garbage"],
)
def test_an_answer_that_breaks_off_before_any_text_is_asked_for_again(trouble: Trouble) -> None:
    notices: list[str] = []
    with Loopback([{"text": "there"}], troubles=[trouble]) as server:
        assert ask(chat(server, on_notice=notices.append), [user("hi")]).text == "there"
    assert len(notices) == 1


def test_an_answer_that_breaks_off_in_the_middle_of_text_is_not_said_twice() -> None:
    words = "word " * 200
    with Loopback([{"text": words}], troubles=[Trouble(cut_after=2000)]) as server:
        with pytest.raises(UserError, match="in the middle of a reply") as caught:
            ask(chat(server), [user("hi")])
        assert len(server.requests) == 1
    assert caught.value.fault is Fault.MODEL_UNREACHABLE


def test_an_outage_ends_after_four_tries() -> None:
    with Loopback(troubles=[Trouble(status=503, retry_after="0")] * 9) as server:
        with pytest.raises(UserError, match=r"503.*tried 4 times") as caught:
            ask(chat(server), [user("hi")])
        assert len(server.requests) == 4
    assert caught.value.fault is Fault.MODEL_UNREACHABLE


def test_a_server_that_asks_for_more_patience_than_we_have_is_told_at_once() -> None:
    with Loopback(troubles=[Trouble(status=429, retry_after="3600")]) as server:
        with pytest.raises(UserError) as caught:
            ask(chat(server), [user("hi")])
        assert len(server.requests) == 1
    assert "3600 s" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, Fault.CONFIGURATION),
        (401, Fault.CREDENTIALS),
        (403, Fault.CREDENTIALS),
        (404, Fault.CONFIGURATION),
        (422, Fault.CONFIGURATION),
    ],
)
def test_a_lasting_refusal_is_told_at_once_in_one_line(status: int, fault: Fault) -> None:
    body = json.dumps({"error": {"message": "no \x1b[31mred\n lines with sk-secret"}})
    with Loopback(troubles=[Trouble(status=status, body=body)]) as server:
        with pytest.raises(UserError) as caught:
            ask(chat(server, key_variable="OPENAI_API_KEY"), [user("hi")])
        assert len(server.requests) == 1
    assert caught.value.fault is fault
    assert caught.value.hint
    assert "no [31mred lines with …" in caught.value.message
    assert server.url in caught.value.message
    if fault is Fault.CREDENTIALS:
        assert "OPENAI_API_KEY" in caught.value.hint


@pytest.mark.parametrize("key", ["sk-…", "sk-1\nsk-2"])
def test_a_key_that_can_not_be_one_is_refused_without_being_shown(key: str) -> None:
    place = ModelAddress(
        name="x", model="x", base="http://localhost:1/v1", key=key, key_variable="OPENAI_API_KEY"
    )
    with pytest.raises(UserError, match="OPENAI_API_KEY holds characters") as caught:
        HttpModel(place, wire=ChatWire("x"))
    assert caught.value.fault is Fault.CREDENTIALS
    assert "sk-" not in caught.value.message


def test_an_api_base_may_be_the_whole_address() -> None:
    with Loopback() as server:
        model = chat_at(server.url + "/chat/completions/")
        assert ask(model, [user("hi")]).text == "ok"


def test_an_empty_purse_is_not_waited_for() -> None:
    body = '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'
    with Loopback(troubles=[Trouble(status=429, body=body)]) as server:
        with pytest.raises(UserError) as caught:
            ask(chat(server), [user("hi")])
        assert len(server.requests) == 1
    assert caught.value.fault is Fault.CREDENTIALS


@pytest.mark.parametrize(
    ("complaint", "changed"),
    [
        ("Unrecognized request argument supplied: stream_options", {"stream_options": None}),
        ("Use 'max_completion_tokens' instead", {"max_tokens": None, "max_completion_tokens": 9}),
    ],
)
def test_a_word_that_the_server_does_not_know_is_dropped_for_good(
    complaint: str, changed: Mapping[str, object]
) -> None:
    body = json.dumps({"error": {"message": complaint}})
    with Loopback([{"text": "ok", "repeat": 2}], troubles=[Trouble(status=400, body=body)]) as server:
        model = chat(server)
        request = Request(system="", messages=[user("hi")], max_output=9)
        assert asyncio.run(reply(model, request)).text == "ok"
        assert asyncio.run(reply(model, request)).text == "ok"
        assert len(server.requests) == 3
        for request_body in (sent(server, 1), sent(server, 2)):
            assert {key: request_body.get(key) for key in changed} == changed


def test_a_word_is_dropped_once_and_not_for_ever() -> None:
    body = '{"error":{"message":"stream_options is wrong"}}'
    with Loopback(troubles=[Trouble(status=400, body=body)] * 5) as server:
        with pytest.raises(UserError, match="refuses the request"):
            ask(chat(server), [user("hi")])
        assert len(server.requests) == 2


def test_reasoning_is_sent_back_to_a_server_that_demands_it() -> None:
    body = (
        '{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}'
    )
    turns: list[dict[str, Any]] = [
        {"reasoning": "hm", "calls": [{"tool": "read", "arguments": {}}]},
        {"text": "ok"},
    ]
    with Loopback(turns, troubles=[None, Trouble(status=400, body=body)]) as server:
        model = chat(server)
        first = ask(model, [user("hi")])
        ask(model, [user("hi"), *answered(first, "x")])
        assert "reasoning_content" not in sent(server, 1)["messages"][2]
        assert sent(server, 2)["messages"][2]["reasoning_content"] == "hm"


def test_a_server_that_is_not_there_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.model.http.retry._PAUSES", (0.0, 0.0, 0.0))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    with pytest.raises(UserError, match=r"connection refused \(tried 2 times\)") as caught:
        ask(chat_at(url, "openai/x"), [user("hi")])
    assert caught.value.fault is Fault.MODEL_UNREACHABLE
    assert url in caught.value.message
    assert "--api-base" in caught.value.hint


def test_a_web_page_is_not_mistaken_for_an_answer() -> None:
    page = Trouble(status=200, body="<html>hello</html>", headers={"Content-Type": "text/html"})
    with Loopback(troubles=[page]) as server, pytest.raises(UserError, match="web page") as caught:
        ask(chat(server), [user("hi")])
    assert "/v1" in caught.value.hint


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain"])
def test_a_web_page_under_another_name_is_not_tried_again(kind: str) -> None:
    page = Trouble(status=200, body="\n<!doctype html><html>log in</html>", headers={"Content-Type": kind})
    with Loopback(troubles=[page]) as server:
        with pytest.raises(UserError, match="web page"):
            ask(chat(server), [user("hi")])
        assert len(server.requests) == 1


def test_a_redirect_names_the_new_address() -> None:
    trouble = Trouble(status=308, headers={"Location": "https://elsewhere.example/v1/chat/completions"})
    with Loopback(troubles=[trouble]) as server, pytest.raises(UserError) as caught:
        ask(chat(server), [user("hi")])
    assert "https://elsewhere.example/v1" in caught.value.hint


@pytest.mark.slow
def test_an_error_inside_the_stream_is_seen() -> None:
    events = 'data: {"error": {"message": "overloaded", "code": 503}}\n\n'
    stream = Trouble(status=200, body=events, headers={"Content-Type": "text/event-stream"})
    with Loopback([{"text": "ok"}], troubles=[stream]) as server:
        notices: list[str] = []
        assert ask(chat(server, on_notice=notices.append), [user("hi")]).text == "ok"
    assert "overloaded" in notices[0]


def test_cancelling_closes_the_connection_at_once() -> None:
    closed = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)  # the request: answered with silence
            while connection.recv(65536):
                pass
            closed.set()

    async def interrupted(url: str) -> None:
        task = asyncio.create_task(reply(chat_at(url), Request(system="", messages=[user("hi")])))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        asyncio.run(interrupted(f"http://127.0.0.1:{listener.getsockname()[1]}/v1"))
        assert closed.wait(5)
        thread.join(5)


def test_leaving_the_stream_early_closes_the_connection_and_the_next_request_gets_a_new_one() -> None:
    async def leave(model: HttpModel) -> None:
        request = Request(system="", messages=[user("hi")])
        stream = model.stream(request)
        assert await anext(stream) == TextDelta(text="one")
        await stream.aclose()  # type: ignore[attr-defined]
        assert (await reply(model, request)).text == "one two three"

    with Loopback([{"text": "one two three", "repeat": 3}], troubles=[Trouble(idle=0.5, at=2)]) as server:
        asyncio.run(leave(chat(server)))
        assert len({request.connection for request in server.requests}) == 2


@pytest.mark.slow
def test_the_smallest_path_to_a_model_imports_nothing_heavy(tmp_path: Path) -> None:
    with Loopback([{"text": "ok", "usage": {"input": 1}}]) as server:
        program = f"""
import asyncio, sys
from pathlib import Path
from agent.model.protocol import Request, UserMessage
from agent.model.model_factory import resolve_model

async def main():
    model = resolve_model("openai/unknown-model", {server.url!r}, {{}}, Path({str(tmp_path)!r}))
    async for item in model.stream(Request(system="", messages=[UserMessage(text="hi")])):
        pass
    print(item.text)

asyncio.run(main())
heavy = {{"litellm", "httpx", "aiohttp", "openai", "pydantic", "yaml", "requests", "urllib.request"}}
print(sorted(heavy & set(sys.modules)))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.split("\n")[:2] == ["ok", "[]"], done.stderr
