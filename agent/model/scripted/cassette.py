"""Replay of a recorded conversation: `--model cassette:FILE`, for tests and bug reports without a network.

FILE has a JSON object a line, one for each call: `keep`, the number of messages of the previous call that
stay; `messages`, those that follow them; `reply`. `patchwright replay ID --cassette FILE` writes one for any
session. Each request has to equal the recorded one; else the difference is shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.model.protocol import (
    AssistantMessage,
    Delta,
    Message,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    Usage,
)
from agent.model.providers.model_catalog import DEFAULT_WINDOW
from sandbox.errors import Fault, UserError
from sandbox.parsed_data import parse_json
from tools.core.action import Action

Json = dict[str, Any]

_SHOWN = 60
"""Lines of a difference that are shown."""


class Cassette:
    """A model that replays a file. Raises UserError if the file cannot be read."""

    def __init__(self, path: Path) -> None:
        self.name = f"cassette:{path}"
        self.window = DEFAULT_WINDOW
        self._calls = _read_cassette(path)
        self._next = 0

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. Raises UserError with the difference if another request was recorded."""
        messages = [message_to_json(message) for message in request.messages]
        order = [
            *range(self._next, len(self._calls)),
            *range(self._next),
        ]  # a resumed session continues in its middle
        place = next((number for number in order if self._calls[number][0] == messages), None)
        if place is None:
            raise self._build_mismatch_error(messages)
        self._next = place + 1
        reply = parse_reply(self._calls[place][1])
        if reply.reasoning:
            yield ReasoningDelta(text=reply.reasoning)
        if reply.text:
            yield TextDelta(text=reply.text)
        yield reply

    async def close(self) -> None:
        """See `Model.close`."""

    def _build_mismatch_error(self, messages: Sequence[Json]) -> UserError:
        if self._next >= len(self._calls):
            message = f"{self.name!r} has ended: it holds {len(self._calls)} calls, and another is asked for"
            return UserError(Fault.CONFIGURATION, message, "Record the session again")
        recorded = self._calls[self._next][0]
        lines = list(
            difflib.unified_diff(
                _format_messages(recorded), _format_messages(messages), "recorded", "asked", lineterm="", n=1
            )
        )
        more = f"\n[… {len(lines) - _SHOWN} more lines …]" if len(lines) > _SHOWN else ""
        message = (
            f"call {self._next + 1} of {self.name!r} is another one:\n" + "\n".join(lines[:_SHOWN]) + more
        )
        return UserError(Fault.CONFIGURATION, message, "Record the session again if the change is meant")


def write_cassette(path: Path, calls: Iterable[tuple[Sequence[Message], Reply]]) -> int:
    """Record calls (messages sent, reply); return their number. Raises UserError."""
    lines, before = list[str](), list[Json]()
    for sent, reply in calls:
        messages = [message_to_json(message) for message in sent]
        keep = next((i for i, (a, b) in enumerate(zip(before, messages, strict=False)) if a != b), None)
        keep = min(len(before), len(messages)) if keep is None else keep
        call = {"keep": keep, "messages": messages[keep:], "reply": reply_to_json(reply)}
        lines.append(json.dumps(call, ensure_ascii=False))
        before = messages
    try:
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8", errors="surrogatepass")
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot write {str(path)!r}: {error.strerror}") from None
    return len(lines)


def message_to_json(message: Message) -> Json:
    """Return one message as provider-neutral JSON."""
    match message:
        case ToolMessage():
            return {"role": "tool", "call": message.call, "text": message.text, "failed": message.failed}
        case AssistantMessage():
            actions = [_action_to_json(action) for action in message.actions]
            return {"role": "assistant", "text": message.text, "actions": actions}
        case _:
            return {"role": "user", "text": message.text}


def reply_to_json(reply: Reply) -> Json:
    """Return a reply as cassette JSON."""
    usage = {
        name: getattr(reply.usage, name)
        for name in ("input", "cached", "written", "output", "reasoning", "cost")
    }
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "actions": [_action_to_json(action) for action in reply.actions],
        "stop": reply.stop,
        "usage": {name: value for name, value in usage.items() if value},
    }


def parse_reply(given: Mapping[str, Any]) -> Reply:
    """Parse a reply from cassette JSON."""
    return Reply(
        text=given["text"],
        reasoning=given.get("reasoning", ""),
        actions=tuple(Action(**each) for each in given.get("actions", ())),
        stop=given.get("stop", "end"),
        usage=Usage(**given.get("usage", {})),
    )


def _action_to_json(action: Action) -> Json:
    found: Json = {"id": action.id, "tool": action.tool, "arguments": dict(action.arguments)}
    return found | {"raw": action.raw, "problem": action.problem} if action.problem else found


def _read_cassette(path: Path) -> list[tuple[list[Json], Json]]:
    calls = list[tuple[list[Json], Json]]()
    before = list[Json]()
    try:
        # Split at newlines only: JSON strings may contain other characters at which `splitlines` splits.
        for line in filter(None, path.read_text("utf-8", errors="surrogatepass").split("\n")):
            call = parse_json(line)
            before = [*before[: call["keep"]], *call["messages"]]
            parse_reply(call["reply"])
            calls.append((before, call["reply"]))
    except OSError as error:
        message = f"the cassette {str(path)!r} cannot be read: {error.strerror or error}"
        raise UserError(Fault.CONFIGURATION, message, "Give --model cassette:FILE") from None
    except (ValueError, KeyError, TypeError) as error:
        message = f"line {len(calls) + 1} of the cassette {str(path)!r} is none: {error!r}"
        raise UserError(Fault.CONFIGURATION, message, "Record the session again") from None
    return calls


def _format_messages(messages: Sequence[Json]) -> list[str]:
    found = list[str]()
    for message in messages:
        found.append(f"── {message['role']}")
        found += str(message["text"]).splitlines()
        found += [f"→ {each['tool']} {json.dumps(each['arguments'])}" for each in message.get("actions", ())]
    return found
