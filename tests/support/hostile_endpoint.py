"""A model's endpoint that attacks its client: endless, huge and misshapen answers, as fast as they are taken.

    with HostileEndpoint("endless arguments") as server:
        ...  # a session at server.url, by chat completions; HostileEndpoint(…, "anthropic") speaks that format

`ATTACKS` names the attacks; `server.sent` says how many bytes the client took.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count, repeat

from tests.support.raw_endpoint import Json, RawAnswer, RawEndpoint, format_event, format_events

PIECE = 65_536
"""Bytes of one part of a text: as much as a client reads at a time."""

HUGE = 48 << 20
"""Bytes of what has an end."""


def draw_words(size: int, seed: int = 1) -> str:
    """Return text that repeats no passage, so that it does not look like a reply that loops."""
    source = random.Random(seed)
    words = [
        "".join(source.choices("abcdefghijklmnoprstuvw", k=source.randint(2, 9)))
        for _ in range(size // 7 + 1)
    ]
    return " ".join(words)[:size]


class ChatShapes:
    """Parts of a streamed reply as chat completions."""

    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def text(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def thought(self, text: str) -> bytes:
        return self._chunk({"reasoning_content": text})

    def call(self, number: int) -> bytes:
        function = {"name": "read", "arguments": '{"path": "a'}
        return self._chunk({"tool_calls": [{"index": number, "id": f"c{number}", "function": function}]})

    def arguments(self, number: int, text: str) -> bytes:
        return self._chunk({"tool_calls": [{"index": number, "function": {"arguments": text}}]})

    def extra(self, text: str) -> bytes:
        return self._chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": text, "index": 0}]})

    def _chunk(self, delta: Json) -> bytes:
        return format_event({"choices": [{"index": 0, "delta": delta}]})


class ResponsesShapes:
    """Parts of a streamed reply as responses."""

    def begin(self) -> bytes:
        return format_event({"type": "response.created", "response": {}})

    def text(self, text: str) -> bytes:
        return format_event({"type": "response.output_text.delta", "delta": text})

    def thought(self, text: str) -> bytes:
        return format_event({"type": "response.reasoning_text.delta", "delta": text})

    def call(self, number: int) -> bytes:
        item = {
            "type": "function_call",
            "call_id": f"c{number}",
            "name": "read",
            "arguments": '{"path": "a"}',
        }
        return format_event({"type": "response.output_item.done", "output_index": number, "item": item})

    def arguments(self, number: int, text: str) -> bytes:
        return self._item(
            number, {"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": text}
        )

    def extra(self, text: str) -> bytes:
        return self._item(0, {"type": "reasoning", "summary": [], "encrypted_content": text})

    def _item(self, number: int, item: Json) -> bytes:
        return format_event({"type": "response.output_item.done", "output_index": number, "item": item})


class MessagesShapes:
    """Parts of a streamed reply as Anthropic's messages."""

    def begin(self) -> bytes:
        blocks = ({"type": "text", "text": ""}, {"type": "thinking", "thinking": ""})
        starts = [
            {"type": "content_block_start", "index": n, "content_block": block}
            for n, block in enumerate(blocks)
        ]
        return format_events({"type": "message_start", "message": {}}, *starts)

    def text(self, text: str) -> bytes:
        return self._delta(0, {"type": "text_delta", "text": text})

    def thought(self, text: str) -> bytes:
        return self._delta(1, {"type": "thinking_delta", "thinking": text})

    def call(self, number: int) -> bytes:
        block = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
        return format_event({"type": "content_block_start", "index": number + 2, "content_block": block})

    def arguments(self, number: int, text: str) -> bytes:
        return self._delta(number + 2, {"type": "input_json_delta", "partial_json": text})

    def extra(self, text: str) -> bytes:
        return self._delta(1, {"type": "signature_delta", "signature": text})

    def _delta(self, index: int, delta: Json) -> bytes:
        return format_event({"type": "content_block_delta", "index": index, "delta": delta})


Shapes = ChatShapes | ResponsesShapes | MessagesShapes
SHAPES: Mapping[str, Shapes] = {
    "chat": ChatShapes(),
    "responses": ResponsesShapes(),
    "anthropic": MessagesShapes(),
}
WORDS = draw_words(PIECE)


def _stream(*parts: Iterator[bytes] | tuple[bytes, ...]) -> RawAnswer:
    return RawAnswer(pieces=chain(*parts))


def _repeat_small(event: bytes) -> Iterator[bytes]:
    """Yield an event for ever, many in one piece, as a fast connection delivers them."""
    return repeat(event * (PIECE // len(event) + 1))


def _split_huge(event: bytes) -> Iterator[bytes]:
    """Yield an event in pieces, with a huge text in place of its `@`."""
    head, _, tail = event.partition(b"@")
    return chain((head,), repeat(b"a" * PIECE, HUGE // PIECE), (tail,))


def _number_calls(shapes: Shapes) -> Iterator[bytes]:
    return (b"".join(map(shapes.call, range(n, n + 200))) for n in count(step=200))


def _send_refusal(shapes: Shapes) -> RawAnswer:
    return RawAnswer(
        pieces=chain((b'{"error": {"message": "',), repeat(WORDS.encode())),
        status=400,
        kind="application/json",
    )


def _compress(
    pieces: Iterator[bytes], *, kind: str = "text/event-stream", status: int = 200, encoding: str = "gzip"
) -> RawAnswer:
    """Return an answer of a few megabytes that are some gigabytes."""

    def pack() -> Iterator[bytes]:
        packer = zlib.compressobj(9, wbits=31)
        for piece in pieces:
            yield packer.compress(piece)
        yield packer.flush()

    return RawAnswer(pieces=pack(), status=status, kind=kind, headers={"Content-Encoding": encoding})


def _name_call(shapes: Shapes, name: str) -> bytes:
    return shapes.call(0).replace(b'"read"', b'"' + name.encode() + b'"')


ATTACKS: Mapping[str, Callable[[Shapes], RawAnswer]] = {
    "endless arguments": lambda to: _stream((to.begin(), to.call(0)), repeat(to.arguments(0, WORDS))),
    "arguments by the letter": lambda to: _stream(
        (to.begin(), to.call(0)), _repeat_small(to.arguments(0, "a"))
    ),
    "one huge event": lambda to: _stream(
        (to.begin(),), _split_huge(to.arguments(0, "@")), repeat(to.thought(WORDS))
    ),
    "an event without an end": lambda to: _stream(
        (to.begin(), b'data: {"choices": [{"delta": {"content": "'), repeat(WORDS.encode())
    ),
    "a line without an end": lambda to: _stream((to.begin(),), repeat(b"x" * PIECE)),
    "lines without an event": lambda to: _stream((to.begin(),), _repeat_small(b"data: x\n")),
    "comments": lambda to: _stream((to.begin(),), _repeat_small(b": ping\n\n")),
    "empty events": lambda to: _stream(
        (to.begin(),), _repeat_small(format_event({"choices": [{"delta": {}}]}))
    ),
    "endless text": lambda to: _stream((to.begin(),), repeat(to.text(WORDS))),
    "text by the letter": lambda to: _stream((to.begin(),), repeat(b"".join(map(to.text, WORDS[:1000])))),
    "endless thoughts": lambda to: _stream((to.begin(),), repeat(to.thought(WORDS))),
    "many calls": lambda to: _stream((to.begin(),), _number_calls(to)),
    "endless extras": lambda to: _stream((to.begin(),), repeat(to.extra(WORDS))),
    "deep JSON": lambda to: _stream((to.begin(),), repeat(b"data: " + b"[" * PIECE * 8 + b"\n\n")),
    "wide JSON": lambda to: _stream(
        (to.begin(),), repeat(format_event({"choices": [], "x": [{}] * 200_000}))
    ),
    "a whole answer without an end": lambda to: RawAnswer(
        pieces=chain((b'{"choices": [{"message": {"content": "',), repeat(WORDS.encode())),
        kind="application/json",
    ),
    "a whole answer of brackets": lambda to: RawAnswer(pieces=repeat(b"[" * PIECE), kind="application/json"),
    "a refusal without an end": _send_refusal,
    "line ends": lambda to: _stream((to.begin(),), repeat(b"\n" * PIECE)),
    "carriage returns": lambda to: _stream((to.begin(),), repeat(b"\r" * PIECE)),
    "a comment without an end": lambda to: _stream((to.begin(), b": "), repeat(b"x" * PIECE)),
    "names of events": lambda to: _stream((to.begin(),), _repeat_small(b"event: x\nid: 1\nretry: 5\n\n")),
    "a name of an event without an end": lambda to: _stream((to.begin(), b"event: "), repeat(b"x" * PIECE)),
    "whitespace for an answer": lambda to: RawAnswer(pieces=repeat(b" " * PIECE), kind="application/json"),
    "whitespace for a refusal": lambda to: RawAnswer(
        pieces=repeat(b" " * PIECE), status=500, kind="application/json"
    ),
    "thousands of choices": lambda to: _stream(
        (to.begin(),),
        repeat(format_event({"choices": [{"index": n, "delta": {"content": "a"}} for n in range(5_000)]})),
    ),
    "far indexes": lambda to: _stream(
        (to.begin(),), (to.arguments(10**9 + n * 10**6, '{"a":') for n in count())
    ),
    "odd indexes": lambda to: _stream(
        (to.begin(),), repeat(b"".join(to.arguments(n, "{}") for n in (-1, 2**70, -(2**70))))
    ),
    "a name without an end": lambda to: _stream((to.begin(),), repeat(_name_call(to, WORDS))),
    "arguments in turn": lambda to: _stream(
        (to.begin(), *map(to.call, range(100))), repeat(b"".join(to.arguments(n, "a") for n in range(100)))
    ),
    "halves of characters": lambda to: _stream((to.begin(),), _repeat_small(to.text("\ud83d"))),
    "escapes": lambda to: _stream((to.begin(),), repeat(to.text("\x1b[2J\0" * 5_000))),
    "numbers of many digits": lambda to: _stream(
        (to.begin(),),
        repeat(b'data: {"choices": [], "usage": {"prompt_tokens": ' + b"9" * 400_000 + b"}}\n\n"),
    ),
    "usage": lambda to: _stream(
        (to.begin(),),
        _repeat_small(format_event({"choices": [], "usage": {"prompt_tokens": 1, "total_tokens": 2}})),
    ),
    "ends": lambda to: _stream(
        (to.begin(),),
        _repeat_small(format_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
    ),
    "a compressed bomb of events": lambda to: _compress(
        chain((to.begin(),), repeat(to.text("a" * 1_000_000), 2_000))
    ),
    "a compressed bomb of one line": lambda to: _compress(
        chain((b"data: ",), repeat(b" " * 1_000_000, 2_000))
    ),
    "a compressed bomb for an answer": lambda to: _compress(
        repeat(b" " * 1_000_000, 2_000), kind="application/json"
    ),
    "a compressed bomb for a refusal": lambda to: _compress(repeat(b" " * 1_000_000, 2_000), status=400),
    "compressed twice": lambda to: _compress(
        iter(_compress(repeat(bytes(1_000_000), 2_000)).pieces), encoding="gzip, gzip"
    ),
    "a flood of headers": lambda to: RawAnswer(
        pieces=repeat(to.text("a")), headers={f"X-{n}": "v" * 900 for n in range(5_000)}
    ),
    "a header without an end": lambda to: RawAnswer(
        pieces=repeat(to.text("a")), headers={"X": "v" * 2_000_000}
    ),
    "half a key and more": lambda to: _stream((to.begin(),), repeat(to.text("ghp_" + "a1" * 30_000))),
}
"""By name: what is answered to each request, in any of the formats."""


class HostileEndpoint(RawEndpoint):
    """An endpoint that answers each request with an attack. kind: "chat", "responses" or "anthropic" """

    def __init__(self, attack: str, kind: str = "chat") -> None:
        super().__init__(lambda body, before: ATTACKS[attack](SHAPES[kind]))
