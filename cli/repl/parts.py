"""The lines of the live region: what is done, planned, queued and asked, above the prompt, and the footer below."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, is_done
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, Window
from prompt_toolkit.styles import Attrs, Style

from cli.render.amounts import duration
from cli.render.terminal import Terminal, fit
from cli.render.theme import coloured, parameters
from sandbox.inert import sanitize_text

if TYPE_CHECKING:
    from cli.repl.asking import Asking

SPINNER = "◐◓◑◒"
"""One step a second: that time passes is seen, and nothing flickers."""

QUEUED_ROWS = 3


def style() -> Style:
    """How the live region looks: in the colours of the theme, as what is printed."""
    dim = _look("dim")
    return Style.from_dict(
        {
            "prompt": f"{_look('cyan')} bold",
            "dim": dim,
            "busy": _look("yellow"),
            "plan": _look("cyan"),
            "question": f"{_look('yellow')} bold",
            "key": f"{_look('cyan')} bold",
            "completion-menu": "noinherit",
            "completion-menu.completion": "noinherit",
            "completion-menu.completion.current": "noinherit reverse",
            "completion-menu.meta.completion": f"noinherit {dim}",
            "completion-menu.meta.completion.current": "noinherit reverse",
            "scrollbar.background": "noinherit",
            "scrollbar.button": f"noinherit {dim} reverse",
            "chosen": "reverse",
            "title": "bold",
        }
    )


def _look(name: str) -> str:
    """A style of the theme in prompt_toolkit's words."""
    if name == "dim" and not coloured():
        return "dim" if "dim" in Attrs._fields else ""
    return " ".join(filter(None, (_WORDS.get(each, "") for each in parameters(name).split(";"))))


_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray")

_WORDS = {
    "1": "bold",
    "2": "ansibrightblack",  # faint text is lost on some terminals
    "4": "underline",
    **{f"3{number}": f"ansi{hue}" for number, hue in enumerate(_HUES)},
    **{f"9{number}": f"ansibright{hue}" for number, hue in enumerate(_HUES[:-1])},
    "90": "ansibrightblack",
}


@dataclass(slots=True, kw_only=True)
class Live:
    """What the live region shows now.

    draw: the unfinished end of the answer; tail: the last line that a command wrote
    held: whether the keys are not the question's yet
    """

    terminal: Callable[[], Terminal]
    held: Callable[[], bool]
    footer: Callable[[], str] = str
    draw: Callable[[], str] | None = None
    doing: str = ""
    since: float = 0.0
    tail: str = ""
    plan: Sequence[tuple[str, str]] = ()
    queued: Sequence[str] = ()
    asking: Asking | None = None
    drawn: str = field(default="", init=False)

    def above(self) -> list[ConditionalContainer]:
        """The parts above the prompt, each as high as its text."""
        return [
            part(self._answer, self._answering),
            part(self._doing_lines, lambda: bool(self.doing) and self.asking is None),
            part(self._queued_lines, lambda: bool(self.queued)),
            part(self._question_lines, lambda: bool(self.asking)),
            part(lambda: "", lambda: True),  # a blank line sets the prompt off
        ]

    def below(self) -> ConditionalContainer:
        """The footer, where there is room for it."""
        return part(self._footer_line, lambda: self.terminal().rows > 8)

    def prefix(self, line: int, wrap_count: int) -> StyleAndTextTuples:
        """What stands before a line of the prompt."""
        return [("class:prompt", "> " if line == wrap_count == 0 else "  ")]

    def _answering(self) -> bool:
        self.drawn = self.draw() if self.draw else ""
        return bool(self.drawn)

    def _answer(self) -> AnyFormattedText:
        return ANSI(self.drawn)

    def _doing_lines(self) -> StyleAndTextTuples:
        passed = time.monotonic() - self.since
        sign = SPINNER[int(passed) % len(SPINNER)] if self.terminal().unicode else "*"
        time_ = f" · {duration(int(passed)).replace('.0', '')}" if passed >= 1 else ""
        columns = self.terminal().columns
        lines: StyleAndTextTuples = [
            ("class:busy", f"{sign} " + fit(self.doing, columns - len(time_) - 3)),
            ("class:dim", time_),
        ]
        if self.tail:
            lines.append(("class:dim", "\n  " + fit(self.tail, columns - 4)))
        if self.plan:
            done = sum(status == "done" for _, status in self.plan)
            now = next((text for text, status in self.plan if status == "doing"), "")
            words = f"plan {done}/{len(self.plan)}" + (f": {now}" if now else "")
            lines.append(("class:plan", "\n  " + fit(sanitize_text(words).replace("\n", " "), columns - 4)))
        return lines

    def _question_lines(self) -> StyleAndTextTuples:
        return self.asking.lines(self.terminal(), held=self.held()) if self.asking else []

    def _queued_lines(self) -> StyleAndTextTuples:
        columns = self.terminal().columns
        first = [sanitize_text(text).partition("\n")[0] for text in self.queued[-QUEUED_ROWS:]]
        hint = "  (↑ edits)" if columns >= 60 else ""
        lines = [fit(f"queued: {text}", columns - 1 - len(hint)) for text in first]
        lines[-1] += hint
        return [("class:dim", "\n".join(lines))]

    def _footer_line(self) -> StyleAndTextTuples:
        return [("class:dim", fit(self.footer(), self.terminal().columns - 1))]


def part(text: Callable[[], AnyFormattedText], shown: Callable[[], bool]) -> ConditionalContainer:
    """Some lines, as high as their text."""
    window = Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=True)
    return ConditionalContainer(window, filter=Condition(shown) & ~is_done)
