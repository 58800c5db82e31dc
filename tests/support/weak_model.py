"""A weak model, simulated: it knows what to do, and writes seven of ten calls wrongly. For tests and benchmarks.

`WeakScript` takes the place of a script in `tests.support.loopback.Loopback`. It goes on to its next turn when it sees
that the present one was carried out, as a model does, and tries again when it was not. Each reply is spoiled with
a probability, by a fault that is drawn with a seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.model.protocol import AssistantMessage, Request
from agent.model.scripted.scripted_model import Turn
from agent.model.wire_formats.tool_arguments import parse_action
from tests.support.small_bugs import Bug
from tools.core.action import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that the model means to make."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


FAULTS = ("malformed", "truncated", "wrong-name", "wrong-arguments", "prose", "numbers", "repeat", "in-text")


class WeakScript:
    """The replies of a model that mends one bug. Implements what `Loopback` needs of a script.

    rate: probability that a reply is spoiled; led_rate: that while the harness leads, None for the same
    faults: those that may be drawn; drawn: the faults so far
    """

    def __init__(
        self,
        bug: Bug,
        root: Path,
        seed: int,
        *,
        rate: float = 0.7,
        faults: Sequence[str] = FAULTS,
        led_rate: float | None = None,
    ) -> None:
        self._bug = bug
        self._root = root
        self._draw = random.Random(f"{bug.name} {seed}")
        self._rate = rate
        self._led_rate = rate if led_rate is None else led_rate
        self._faults = faults
        self._number = 0
        self.drawn: list[str] = []
        path = f"{bug.name}.py"
        self._calls = (
            Call(tool="read", arguments={"path": path}),
            Call(tool="edit", arguments={"path": path, "old": bug.old, "new": bug.new}),
            Call(tool="run_tests"),
        )

    def next_turn(self, request: Request) -> tuple[int, Turn]:
        """Return the next reply, perfect or spoiled."""
        self._number += 1
        if not request.tools and "<tool_call>" not in request.system:
            return self._number, self._answer_question(request)
        at = self._find_place(request)
        if at == len(self._calls):
            return self._number, Turn(text=f"{self._bug.name} is mended.")
        call = self._calls[at]
        if self._draw.random() >= self._rate:
            return self._number, _build_turn(call)
        fault = self._draw.choice([each for each in self._faults if call.tool == "edit" or each != "numbers"])
        self.drawn.append(fault)
        return self._number, self._spoil(fault, at)

    def build_actions(self, number: int, turn: Turn) -> tuple[Action, ...]:
        """Return the calls of a turn, with ids of their own."""
        raws = [json.dumps(call.arguments) if call.raw is None else call.raw for call in turn.calls]
        return tuple(
            parse_action(f"weak-{number}-{place}", call.tool, raw)
            for place, (call, raw) in enumerate(zip(turn.calls, raws, strict=True))
        )

    def _find_place(self, request: Request) -> int:
        """Return the index of the call that comes next: the model sees what was carried out."""
        if (self._root / f"{self._bug.name}.py").read_text() == self._bug.fixed_code:
            last = request.messages[-1]
            told = "" if isinstance(last, AssistantMessage) else last.text
            seen = "\n".join(each.text for each in request.messages[-3:]) + told
            return 3 if "passed in" in seen and "failed" not in seen.rpartition("pytest:")[2][:40] else 2
        texts = [each.text for each in request.messages if not isinstance(each, AssistantMessage)]
        line = self._bug.old.strip().splitlines()[0]
        return 1 if any(line in text for text in texts) else 0

    def _answer_question(self, request: Request) -> Turn:
        """Answer a question of the harness: by the function, or, spoiled, by something else."""
        if "corrected function" not in request.messages[-1].text:  # a title, a summary, a message
            return Turn(text=f"Mend {self._bug.name}")
        code = self._function()
        forms: Mapping[str, Callable[[], str]] = {
            "prose": lambda: "The function should be corrected so that the test passes.",
            "numbers": lambda: f"```python\n{_number_lines(code)}\n```",
            "truncated": lambda: f"```python\n{code[: len(code) // 2]}",
            "repeat": lambda: f"```python\n{_find_function(self._bug.code, self._bug.old)}\n```",
            "in-text": lambda: code,
        }
        if self._draw.random() >= self._led_rate:
            return Turn(text=f"```python\n{code}\n```")
        fault = self._draw.choice([each for each in forms if each in self._faults])
        self.drawn.append(fault)
        return Turn(text=forms[fault]())

    def _function(self) -> str:
        return _find_function(self._bug.fixed_code, self._bug.new)

    def _spoil(self, fault: str, at: int) -> Turn:
        call = self._calls[at]
        raw = json.dumps(call.arguments)
        spoiled: Mapping[str, Callable[[], Turn]] = {
            "malformed": lambda: _build_turn(call, raw=self._draw.choice(_MALFORM)(raw)),
            "truncated": lambda: _build_turn(call, raw=raw[: len(raw) * 2 // 3], stop="length"),
            "wrong-name": lambda: _build_turn(
                Call(tool=self._draw.choice(_NAMES[call.tool]), arguments=call.arguments)
            ),
            "wrong-arguments": lambda: _build_turn(
                Call(
                    tool=call.tool,
                    arguments={_ARGUMENTS.get(key, key): value for key, value in call.arguments.items()} or {"all": 1},
                )
            ),
            "prose": lambda: Turn(text=self._talk(call)),
            "numbers": lambda: _build_turn(
                Call(tool="edit", arguments={**call.arguments, "old": _number_lines(self._bug.old)})
            ),
            "repeat": lambda: _build_turn(self._calls[max(at - 1, 0)]),
            "in-text": lambda: Turn(text=self._draw.choice(_IN_TEXT)(call)),
        }  # fmt: skip
        return spoiled[fault]()

    def _talk(self, call: Call) -> str:
        if call.tool != "edit":
            return f"First I will use {call.tool} to look at {self._bug.name}."
        return f"The fix is this:\n\n```python\n{self._function()}\n```\n\nWith it the tests pass."


_MALFORM: Sequence[Callable[[str], str]] = (
    lambda raw: raw.replace('"', "'"),
    lambda raw: raw[:-1] + ",}",
    lambda raw: raw[:-1],
    lambda raw: f"arguments: {raw[1:]}",
    lambda raw: raw.replace("\\n", "\n"),
    lambda raw: f"```json\n{raw}\n```",
)

_NAMES: Mapping[str, Sequence[str]] = {
    "read": ("read_file", "open_the_file", "functions.read", "Read"),
    "edit": ("edit_file", "str_replace", "change_code", "Edit"),
    "run_tests": ("run_test", "pytest", "functions.run_tests", "execute_tests"),
}
_ARGUMENTS = {"path": "file_path", "old": "old_string", "new": "new_string"}

_IN_TEXT: Sequence[Callable[[Call], str]] = (
    lambda call: (
        f"<tool_call>\n{json.dumps({'name': call.tool, 'arguments': dict(call.arguments)})}\n</tool_call>"
    ),
    lambda call: f"```json\n{json.dumps({'name': call.tool, 'arguments': dict(call.arguments)})}\n```",
    lambda call: f"Action: {call.tool}\nAction Input: {json.dumps(dict(call.arguments))}",
    lambda call: f"I call {call.tool} with {json.dumps(dict(call.arguments))}",
)


def _build_turn(call: Call, raw: str | None = None, stop: Any = None) -> Turn:
    made = (
        {"tool": call.tool, "arguments": dict(call.arguments)}
        if raw is None
        else {"tool": call.tool, "raw": raw}
    )
    return Turn.model_validate({"calls": [made], "stop": stop})


def _number_lines(code: str) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(code.splitlines(), 1))


def _find_function(code: str, line: str) -> str:
    """Return the top-level function of a program that holds a line."""
    parts = code.split("\ndef ")
    found = next(part for part in parts if line.strip("\n") in part)
    return (found if found is parts[0] else f"def {found}").strip()


_LETTERS = [
    "".join(map(chr, range(start, start + 40)))
    for start in (0x61, 0x430, 0x4E00, 0xE01, 0x5D0, 0x627, 0x905, 0x10D0)
]


def draw_junk(seed: int, words: int = 300) -> str:
    """Return words whose letters are of any script, as a model with broken weights writes them."""
    draw = random.Random(seed)
    return " ".join(
        "".join(draw.choice(draw.choice(_LETTERS)) for _ in range(draw.randint(3, 9))) for _ in range(words)
    )
