"""The live region: activity, plan, queued texts and question above the prompt, and the footer below it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, is_done
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, Window
from prompt_toolkit.styles import Attrs, Style

from cli.output.amounts import format_duration
from cli.output.style.terminal import Terminal, truncate_text
from cli.output.style.theme import get_sgr_parameters, has_colours
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.input.question_prompt import QuestionPrompt

SPINNER = "◐◓◑◒"
"""One step a second: shows progress without flicker."""

QUEUED_ROWS = 3


def make_style() -> Style:
    """Return the style of the live region, in the colours of the theme."""
    dim = _translate_style("dim")
    return Style.from_dict(
        {
            "prompt": f"{_translate_style('cyan')} bold",
            "dim": dim,
            "busy": _translate_style("yellow"),
            "plan": _translate_style("cyan"),
            "question": f"{_translate_style('yellow')} bold",
            "key": f"{_translate_style('cyan')} bold",
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


def _translate_style(name: str) -> str:
    """Translate a style of the theme into prompt_toolkit's style syntax."""
    if name == "dim" and not has_colours():
        return "dim" if "dim" in Attrs._fields else ""
    return " ".join(filter(None, (_WORDS.get(each, "") for each in get_sgr_parameters(name).split(";"))))


_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray")

_WORDS = {
    "1": "bold",
    "2": "ansibrightblack",  # faint text is unreadable on some terminals
    "4": "underline",
    **{f"3{number}": f"ansi{hue}" for number, hue in enumerate(_HUES)},
    **{f"9{number}": f"ansibright{hue}" for number, hue in enumerate(_HUES[:-1])},
    "90": "ansibrightblack",
}


@dataclass(slots=True, kw_only=True)
class LiveRegion:
    """State of the live region.

    draw: returns the unfinished end of the answer; tail: the last line of a command's output
    held: whether keys do not answer the question yet
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
    asking: QuestionPrompt | None = None
    drawn: str = field(default="", init=False)

    def build_upper_parts(self) -> list[ConditionalContainer]:
        """Build the parts above the prompt, each as high as its text."""
        return [
            make_part(self._format_answer, self._draw_answer),
            make_part(self._format_activity, lambda: bool(self.doing) and self.asking is None),
            make_part(self._format_queued, lambda: bool(self.queued)),
            make_part(self._format_question, lambda: bool(self.asking)),
            make_part(lambda: "", lambda: True),  # a blank line sets the prompt off
        ]

    def build_footer(self) -> ConditionalContainer:
        """Build the footer, shown only in a window of more than 8 rows."""
        return make_part(self._format_footer, lambda: self.terminal().rows > 8)

    def format_prefix(self, line: int, wrap_count: int) -> StyleAndTextTuples:
        """Return the prefix of a line of the prompt."""
        return [("class:prompt", "> " if line == wrap_count == 0 else "  ")]

    def _draw_answer(self) -> bool:
        self.drawn = self.draw() if self.draw else ""
        return bool(self.drawn)

    def _format_answer(self) -> AnyFormattedText:
        return ANSI(self.drawn)

    def _format_activity(self) -> StyleAndTextTuples:
        passed = time.monotonic() - self.since
        sign = SPINNER[int(passed) % len(SPINNER)] if self.terminal().unicode else "*"
        time_ = f" · {format_duration(int(passed)).replace('.0', '')}" if passed >= 1 else ""
        columns = self.terminal().columns
        lines: StyleAndTextTuples = [
            ("class:busy", f"{sign} " + truncate_text(self.doing, columns - len(time_) - 3)),
            ("class:dim", time_),
        ]
        if self.tail:
            lines.append(("class:dim", "\n  " + truncate_text(self.tail, columns - 4)))
        if self.plan:
            done = sum(status == "done" for _, status in self.plan)
            now = next((text for text, status in self.plan if status == "doing"), "")
            words = f"plan {done}/{len(self.plan)}" + (f": {now}" if now else "")
            lines.append(
                ("class:plan", "\n  " + truncate_text(sanitize_text(words).replace("\n", " "), columns - 4))
            )
        return lines

    def _format_question(self) -> StyleAndTextTuples:
        return self.asking.format_lines(self.terminal(), held=self.held()) if self.asking else []

    def _format_queued(self) -> StyleAndTextTuples:
        columns = self.terminal().columns
        first = [sanitize_text(text).partition("\n")[0] for text in self.queued[-QUEUED_ROWS:]]
        hint = "  (↑ edits)" if columns >= 60 else ""
        lines = [truncate_text(f"queued: {text}", columns - 1 - len(hint)) for text in first]
        lines[-1] += hint
        return [("class:dim", "\n".join(lines))]

    def _format_footer(self) -> StyleAndTextTuples:
        return [("class:dim", truncate_text(self.footer(), self.terminal().columns - 1))]


def make_part(text: Callable[[], AnyFormattedText], shown: Callable[[], bool]) -> ConditionalContainer:
    """Build a window as high as its text."""
    window = Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=True)
    return ConditionalContainer(window, filter=Condition(shown) & ~is_done)
