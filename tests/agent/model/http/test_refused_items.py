"""An item that a provider refuses is replaced by words; the session goes on, also after it is resumed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.model.protocol import AssistantMessage, Image, Message, ToolMessage, UserMessage
from sandbox.errors import UserError
from tests.support.asking import ask, user
from tests.support.formats import KINDS, model
from tests.support.hostile_endpoint import SHAPES, draw_words
from tests.support.pictures import make_png
from tests.support.raw_endpoint import Json, RawAnswer, RawEndpoint, build_refusal
from tools.core.action import Action

every_format = pytest.mark.parametrize("kind", KINDS)


def picture(shade: int) -> Image:
    return Image(media="image/png", data=base64.b64encode(make_png(shade)).decode())


def says(kind: str, text: str = "I see.") -> RawAnswer:
    return RawAnswer(pieces=[SHAPES[kind].begin(), SHAPES[kind].text(text), b"data: [DONE]\n\n"])


def refuse(kind: str, bad: list[Image], answer: RawAnswer | None = None) -> Callable[[Json, int], RawAnswer]:
    """An endpoint that refuses requests with one of some pictures, and names no place."""
    refusal = answer or build_refusal("Could not process image")

    def decide(body: Json, before: int) -> RawAnswer:
        text = json.dumps(body)
        return refusal if any(each.data in text for each in bad) else says(kind)

    return decide


def count_pictures(body: Json, pictures: list[Image]) -> list[int]:
    text = json.dumps(body)
    return [place for place, each in enumerate(pictures) if each.data in text]


@every_format
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Could not process image"),
        (422, "Bad Request"),
        (413, "Payload Too Large"),
        (500, "failed to process image"),
    ],
)
def test_the_one_picture_that_is_refused_is_left_out_and_the_others_are_not(
    kind: str, place: int, status: int, said: str
) -> None:
    pictures = [picture(n) for n in range(3)]
    prompt = UserMessage(text="compare", images=tuple(pictures))
    with RawEndpoint(refuse(kind, [pictures[place]], build_refusal(said, status))) as server:
        asked = model(kind, server)
        assert ask(asked, [prompt]).text == "I see."
        first = server.requests[-1]
        tried = len(server.requests)
        assert ask(asked, [prompt, AssistantMessage(text="I see."), user("and?")]).text == "I see."
        assert len(server.requests) == tried + 1, "it is not sent again"
    left = [n for n in range(3) if n != place]
    assert count_pictures(first, pictures) == count_pictures(server.requests[-1], pictures) == left
    assert "an image of this message left out" in json.dumps(first)


@every_format
def test_a_resumed_session_finds_it_again(kind: str) -> None:
    good, bad = picture(1), picture(2)
    history: list[Message] = [
        UserMessage(text="a", images=(good,)),
        AssistantMessage(text="b"),
        UserMessage(text="c", images=(bad,)),
        AssistantMessage(text="d"),
        user("e"),
    ]
    with RawEndpoint(refuse(kind, [bad])) as server:
        for _ in range(2):  # as a program that was started anew
            assert ask(model(kind, server), history).text == "I see."
            assert count_pictures(server.requests[-1], [good, bad]) == [0]


@every_format
def test_several_refused_pictures_end_no_session_either(kind: str) -> None:
    pictures = [picture(n) for n in range(12)]
    with RawEndpoint(refuse(kind, [pictures[2], pictures[10]])) as server:
        assert (
            ask(model(kind, server), [UserMessage(text="compare", images=tuple(pictures))]).text == "I see."
        )


PLACES: dict[str, str] = {
    "chat": "Invalid image at messages[{message}].content[{part}].image_url",
    "responses": "Invalid 'input[{message}].content[{part}].image_url'",
    "anthropic": "messages.{message}.content.{part}.image.source.base64: image exceeds 5 MB maximum",
}


@every_format
def test_a_named_picture_is_left_out_at_once(kind: str) -> None:
    pictures = [picture(n) for n in range(6)]
    part = 3 if kind == "anthropic" else 4  # the text comes first, or last
    said = PLACES[kind].format(message=1 if kind == "chat" else 0, part=part)
    with RawEndpoint(refuse(kind, [pictures[3]], build_refusal(said))) as server:
        assert (
            ask(model(kind, server), [UserMessage(text="compare", images=tuple(pictures))]).text == "I see."
        )
        assert len(server.requests) == 2
        assert count_pictures(server.requests[1], pictures) == [0, 1, 2, 4, 5]


TOO_LONG: dict[str, str] = {
    "chat": "Invalid 'messages[3].content': string too long. Expected a string with maximum length 100000",
    "responses": "Invalid 'input[2].output': string too long. Expected a string with maximum length 100000",
    "anthropic": "messages.2.content.0: text is too long, maximum length is 100000",
}


@every_format
def test_a_text_that_is_too_long_for_the_provider_is_cut(kind: str) -> None:
    long = draw_words(300_000)
    action = Action(id="c1", tool="read", arguments={"path": "a"})
    history: list[Message] = [
        user("go"),
        AssistantMessage(text="", actions=(action,)),
        ToolMessage(call="c1", name="read", text=long),
    ]

    def decide(body: Json, before: int) -> RawAnswer:
        return build_refusal(TOO_LONG[kind]) if len(json.dumps(body)) > 150_000 else says(kind)

    with RawEndpoint(decide) as server:
        assert ask(model(kind, server), history).text == "I see."
        assert len(server.requests) == 2
        sent = json.dumps(server.requests[1], ensure_ascii=False)
    assert f"refused a text of {len(long):,} characters" in sent
    assert long[:1000] in sent


@every_format
def test_a_refusal_that_is_no_item_s_fault_is_told_as_it_is(kind: str) -> None:
    old, new = picture(1), picture(2)
    answers: dict[str, Any] = {"refuse": False}

    def decide(body: Json, before: int) -> RawAnswer:
        return build_refusal("no such option") if answers["refuse"] else says(kind)

    with RawEndpoint(decide) as server:
        asked = model(kind, server)
        ask(asked, [UserMessage(text="a", images=(old,))])
        answers["refuse"] = True
        with pytest.raises(UserError, match="no such option"):
            ask(asked, [UserMessage(text="a", images=(old,))])
        assert len(server.requests) == 2, "its picture was accepted before"
        with pytest.raises(UserError, match="no such option"):
            ask(asked, [UserMessage(text="a", images=(old, new))])
        assert len(server.requests) == 4
