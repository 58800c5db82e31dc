"""A model that plays a script, for tests, demonstrations and benchmarks: `--model scripted:FILE`.

FILE is YAML or JSON: a list of turns, or a mapping with `turns` and, if wanted, `window` (tokens).
Each request is answered by the next turn. Keys of a turn, all optional:

    text: the model's text
    reasoning: its reasoning before that
    calls: list of {tool: NAME, arguments: {…}}; `raw: TEXT` in place of `arguments` sends that text
    usage: {input, cached, output, reasoning, cost}
    stop: end | actions | length | refusal | other
    delay: seconds until the answer
    error: a fault to raise instead (model-unreachable, credentials, …), or {fault, message, hint}
    repeat: play the turn this many times
    expect: list of conditions on the request; a failed one ends the run and shows both sides
        TEXT or {contains: TEXT}     occurs in the new part since the last turn
        {not_contains: TEXT}         does not occur there
        {regex: PATTERN}             matches there (a line's start and end match ^ and $)
        {anywhere: TEXT}             occurs in the whole request: system prompt, messages, tools
        {tools: [NAME, …]}           these tools are offered

The next turn is derived from the request, so that a resumed process continues the script: calls carry ids
that name the script and their turn, and each assistant message after the last of these counts as one more
turn. Without any such id, assistant messages are counted, from the first request on if calls of another model
or script precede it.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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
from agent.model.wire_formats.tool_arguments import parse_action
from sandbox.errors import Fault, UserError
from sandbox.parsed_data import parse_json
from tools.core.action import Action

_SHOWN = 4000
"""Characters of a request that a failed expectation shows: enough to see the actual text."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Strict):
    """One tool call of a turn."""

    tool: str
    arguments: dict[str, Any] = {}
    raw: str | None = None


class Counts(_Strict):
    """Token counts that a turn reports."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None


class Failure(_Strict):
    """A fault that a turn raises."""

    fault: Fault
    message: str = "the script says so"
    hint: str = ""


class Matcher(_Strict):
    """One expectation: exactly one key is set."""

    contains: str | None = None
    not_contains: str | None = None
    regex: str | None = None
    anywhere: str | None = None
    tools: list[str] | None = None


class Turn(_Strict):
    """One answer of the script; see the module's description."""

    text: str = ""
    reasoning: str = ""
    calls: list[Call] = []
    usage: Counts = Counts()
    stop: Literal["end", "actions", "length", "refusal", "other"] | None = None
    delay: float = Field(default=0.0, ge=0)
    error: Fault | Failure | None = None
    repeat: int = Field(default=1, ge=1)
    expect: list[str | Matcher] = []


class _File(_Strict):
    turns: list[Turn]
    window: int = Field(default=DEFAULT_WINDOW, gt=0)


class Script:
    """The turns of one file, and the rule that assigns a turn to a request."""

    def __init__(self, turns: Sequence[Turn], *, name: str, tag: str, window: int = DEFAULT_WINDOW) -> None:
        self.name = name
        self.window = window
        self._turns = turns
        self._length = sum(turn.repeat for turn in turns)
        self._id = re.compile(rf"^s{re.escape(tag)}-([0-9]+)-[0-9]+$")
        self._tag = tag
        self._foreign: int | None = None
        self._played = 0

    @classmethod
    def load(cls, path: Path) -> Script:
        """Read a script. Raises UserError that names the invalid turn and key."""
        try:
            content = path.read_bytes()
        except OSError as error:
            message = f"the script {str(path)!r} cannot be read: {error.strerror or error}"
            raise UserError(Fault.CONFIGURATION, message, "Give --model scripted:FILE") from None
        return cls.parse(_decode_script(path, content), name=str(path))

    @classmethod
    def parse(cls, value: object, *, name: str) -> Script:
        """Create a script from decoded YAML or JSON. Raises UserError."""
        tag = f"{zlib.crc32(json.dumps(value, sort_keys=True, default=str).encode()):08x}"
        try:
            file = _File.model_validate({"turns": value} if isinstance(value, list) else value)
        except ValidationError as error:
            hint = "docs/scripted.md describes the format"
            raise UserError(Fault.CONFIGURATION, _format_problems(name, error), hint) from None
        return cls(file.turns, name=name, tag=tag, window=file.window)

    def next_turn(self, request: Request) -> tuple[int, Turn]:
        """Return (number from 1, turn) for `request`. Raises UserError if an expectation fails or the script
        has ended."""
        index = self._find_turn_index(request.messages)
        if index >= self._length:
            plays = "1 turn" if self._length == 1 else f"{self._length} turns"
            message = f"the script {self.name!r} has ended: it plays {plays}, and another is asked for"
            raise UserError(Fault.CONFIGURATION, message, "Add a turn, or `repeat` to the last one")
        self._played = max(self._played, index + 1)
        number, place = index + 1, 0
        for turn in self._turns:
            place += turn.repeat
            if index < place:
                break
        for matcher in turn.expect:
            self._check_expectation(matcher, number, request)
        return number, turn

    def build_actions(self, number: int, turn: Turn) -> tuple[Action, ...]:
        """Return the calls of a turn, with ids that name it."""
        raws = [json.dumps(call.arguments) if call.raw is None else call.raw for call in turn.calls]
        return tuple(
            parse_action(f"s{self._tag}-{number}-{place}", call.tool, raw)
            for place, (call, raw) in enumerate(zip(turn.calls, raws, strict=True), 1)
        )

    def _find_turn_index(self, messages: Sequence[Message]) -> int:
        after = 0  # assistant messages after the last call of this script
        for message in reversed(messages):
            if match := next((m for call in _list_action_ids(message) if (m := self._id.match(call))), None):
                # The message of the call itself is not counted; compaction may have left only its result.
                return int(match[1]) + after
            after += isinstance(message, AssistantMessage)
        if self._foreign is None:
            # Calls of another model, which answered until now: the script begins here.
            self._foreign = after if any(_list_action_ids(message) for message in messages) else 0
        counted = max(0, after - self._foreign)
        # One less than played: the last turn is requested again. Even less: compaction removed messages.
        return counted if counted >= self._played - 1 else self._played

    def _check_expectation(self, matcher: str | Matcher, number: int, request: Request) -> None:
        wanted = Matcher(contains=matcher) if isinstance(matcher, str) else matcher
        new, whole = _join_new_text(request.messages), ""
        if wanted.anywhere is not None or wanted.tools is not None:
            whole = _join_request_text(request)
        offered = [tool.name for tool in request.tools]
        failed = [
            (wanted.contains is not None and wanted.contains not in new, new),
            (wanted.not_contains is not None and wanted.not_contains in new, new),
            (wanted.regex is not None and not re.search(wanted.regex, new, re.MULTILINE), new),
            (wanted.anywhere is not None and wanted.anywhere not in whole, whole),
            (not set(wanted.tools or ()) <= set(offered), f"tools: {', '.join(offered) or 'none'}"),
        ]
        for fails, seen in failed:
            if fails:
                expected = json.dumps(wanted.model_dump(exclude_none=True), ensure_ascii=False)
                got = _truncate_middle(seen)
                raise UserError(
                    Fault.CONFIGURATION,
                    f"turn {number} of the script {self.name!r} expected {expected}, but got:\n{got}",
                    "Correct the script's `expect`, or what the request is made of",
                )


class ScriptedModel:
    """A model that plays the script in a file."""

    def __init__(self, path: Path | str) -> None:
        self.name = f"scripted:{path}"
        self._script = Script.load(Path(path))
        self.window = self._script.window

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        number, turn = self._script.next_turn(request)
        if turn.delay:
            await asyncio.sleep(turn.delay)
        if turn.error is not None:
            failure = turn.error if isinstance(turn.error, Failure) else Failure(fault=turn.error)
            raise UserError(failure.fault, failure.message, failure.hint)
        for piece in split_into_pieces(turn.reasoning):
            yield ReasoningDelta(text=piece)
        for piece in split_into_pieces(turn.text):
            yield TextDelta(text=piece)
        actions = self._script.build_actions(number, turn)
        yield Reply(
            text=turn.text,
            actions=actions,
            reasoning=turn.reasoning,
            usage=Usage(**turn.usage.model_dump()),
            stop=turn.stop or ("actions" if actions else "end"),
        )

    async def close(self) -> None:
        """See `Model.close`."""


def split_into_pieces(text: str) -> Iterator[str]:
    """Yield text in small pieces, as models stream it: a word and the space before it."""
    yield from re.findall(r"\s*\S+|\s+$", text)


def _decode_script(path: Path, content: bytes) -> object:
    if path.suffix == ".json":
        try:
            return parse_json(content)
        except ValueError as error:
            raise UserError(Fault.CONFIGURATION, f"the script {str(path)!r} is not JSON: {error}") from None
    import yaml

    try:
        return yaml.load(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        detail = " ".join(str(error).split())
        raise UserError(Fault.CONFIGURATION, f"the script {str(path)!r} is not YAML: {detail}") from None


def _format_problems(name: str, error: ValidationError) -> str:
    lines = [f"the script {name!r} does not fit the format:"]
    for problem in error.errors(include_url=False):
        path = list(problem["loc"])
        where = ".".join(str(part) for part in path) or "file"
        if len(path) > 1 and path[0] == "turns" and isinstance(path[1], int):
            where = f"turn {path[1] + 1}: " + ".".join(str(part) for part in path[2:])
        lines.append(f"  {where}: {problem['msg'].lower()}")
    return "\n".join(lines)


def _list_action_ids(message: Message) -> Sequence[str]:
    if isinstance(message, AssistantMessage):
        return [action.id for action in reversed(message.actions)]
    return [message.call] if isinstance(message, ToolMessage) else []


def _join_new_text(messages: Sequence[Message]) -> str:
    """Return the text of the messages after the last assistant message."""
    new: list[str] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            break
        new.append(message.text)
    return "\n".join(reversed(new))


def _join_request_text(request: Request) -> str:
    lines = [request.system]
    for message in request.messages:
        lines.append(message.text)
        if isinstance(message, AssistantMessage):
            lines += [f"{action.tool} {_dump_json(action.arguments)}" for action in message.actions]
    lines += [f"{tool.name}: {tool.description}\n{_dump_json(tool.parameters)}" for tool in request.tools]
    return "\n".join(lines)


def _dump_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _truncate_middle(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[… {len(text) - _SHOWN} characters …]\n{text[-half:]}"
