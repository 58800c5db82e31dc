"""The live region: activity, plan, queued texts and question above the prompt, and the footer below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, is_done
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import AnyContainer, ConditionalContainer, FormattedTextControl, Window
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.styles import Attrs, Style

from cli.output.style.paint import get_mark
from cli.output.style.terminal import Terminal, truncate_text
from cli.output.style.theme import get_sgr_parameters, get_theme, has_colours
from cli.tui.frontend import Styled
from cli.tui.questions.waiting_time import WaitingTime
from cli.tui.screen.working_line import WorkingLine
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.questions.question_prompt import QuestionPrompt

QUEUED_ROWS = 3

ASKED_ROWS = 3
"""Maximum rows of the prompt while a question stands above it."""


def make_style() -> Style:
    """Return the style of the live region, in the colours of the theme; the same object until another is chosen."""
    return _make_style(get_theme())


@cache
def _make_style(theme: str) -> Style:
    dim = _translate_style("dim")
    return Style.from_dict(
        {
            "prompt": f"{_translate_style('cyan')} bold",
            "dim": dim,
            "busy": _translate_style("yellow"),
            "plan": _translate_style("cyan"),
            "question": f"{_translate_style('yellow')} bold",
            "frame": _translate_style("yellow"),
            "asked": "bold",
            "key": f"{_translate_style('cyan')} bold",
            "current": "bold",
            "added": _translate_style("green"),
            "removed": _translate_style("red"),
            "rule": dim,
            "placeholder": dim,
            "mode": f"{_translate_style('cyan')} bold",
            "alarm": _translate_style("yellow"),
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


LOW = 18
"""Rows of a window below which the prompt has no rules around it."""

TALL = 30
"""Rows of a window in which what is not final stays above a question."""

FOOTED = 9
"""Rows of a window from which on there is a footer."""


@dataclass(slots=True, kw_only=True)
class LiveRegion:
    """State of the live region.

    draw: returns the unfinished end of the answer; tail: the last line of a command's output
    held: whether keys do not answer the question yet
    footer: returns the footer for a number of columns; purpose: what an empty prompt is for
    count_typed: returns the rows of the prompt
    """

    terminal: Callable[[], Terminal]
    held: Callable[[], bool]
    waiting: WaitingTime
    count_typed: Callable[[], int] = lambda: 1
    footer: Callable[[int], Styled] = lambda columns: ()
    purpose: Callable[[], str] = str
    draw: Callable[[], str] | None = None
    working: WorkingLine = field(init=False)
    tail: str = ""
    plan: Sequence[tuple[str, str]] = ()
    queued: Sequence[str] = ()
    asking: QuestionPrompt | None = None
    drawn: str = field(default="", init=False)
    _upper_rule: AnyContainer | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.working = WorkingLine(waiting=self.waiting)

    def build_upper_parts(self) -> list[ConditionalContainer]:
        """Build the parts above the prompt, each as high as its text."""
        upper_rule = self.build_rule()
        self._upper_rule = upper_rule.content
        return [
            make_part(self._format_answer, lambda: bool(self.drawn)),
            make_part(lambda: "", lambda: self._is_working_shown() and self.terminal().rows >= LOW),
            make_part(self._format_activity, self._is_working_shown),
            make_part(self._format_queued, lambda: bool(self.queued)),
            make_part(lambda: "", lambda: self.asking is None or self.terminal().rows >= LOW),
            make_part(self._format_question, lambda: bool(self.asking)),
            upper_rule,
        ]

    def _is_working_shown(self) -> bool:
        return bool(self.working.doing) and self.asking is None

    def build_rule(self) -> ConditionalContainer:
        """Build a rule above or below the prompt, left out in a low window."""
        return make_part(self._format_rule, lambda: self.terminal().rows >= LOW)

    def build_footer(self) -> ConditionalContainer:
        """Build the footer, left out in a window of very few rows."""
        return make_part(self._format_footer, lambda: self.terminal().rows >= FOOTED)

    def format_prefix(self, line: int, wrap_count: int) -> StyleAndTextTuples:
        """Return the prefix of a line of the prompt."""
        sign = get_mark("you", unicode=self.terminal().unicode)
        return [("class:prompt", f"{sign} " if line == wrap_count == 0 else "  ")]

    def format_placeholder(self) -> StyleAndTextTuples:
        """Return what stands in the empty prompt."""
        if self.asking is not None:
            return []
        return [("class:placeholder", truncate_text(self.purpose(), self.terminal().columns - 4))]

    def refresh(self) -> None:
        """Take the present end of the output, before the region is measured and drawn."""
        # a question needs the rows of a small window; nothing is streamed meanwhile
        is_hidden = self.asking is not None and self.terminal().rows < TALL
        self.drawn = self.draw() if self.draw and not is_hidden else ""

    def find_fixed_row(self, drawn: Screen | None) -> int:
        """Return the row of the region, as it was drawn, from which on it seldom changes; 0 if it is not known."""
        places = drawn.visible_windows_to_write_positions if drawn is not None else {}
        return max(places[self._upper_rule].ypos - 1, 0) if self._upper_rule in places else 0

    def _format_answer(self) -> AnyFormattedText:
        return ANSI(self.drawn)

    def _format_activity(self) -> StyleAndTextTuples:
        terminal = self.terminal()
        columns = terminal.columns
        lines: StyleAndTextTuples = list(self.working.format(columns - 1, unicode=terminal.unicode))
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

    def count_question_rows(self) -> int:
        """Return the rows that a question may take: what the prompt, its rules, the footer and queued texts leave."""
        rows = self.terminal().rows
        others = min(self.count_typed(), ASKED_ROWS) + 3 * (rows >= LOW) + (rows >= FOOTED)
        return rows - others - min(len(self.queued), QUEUED_ROWS)

    def _format_question(self) -> StyleAndTextTuples:
        if self.asking is None:
            return []
        rows = self.count_question_rows()
        frame = self.asking.make_frame(self.terminal(), rows=rows, held=self.held())
        parts: StyleAndTextTuples = []
        for row in frame.format_rows():
            parts += [*([("", "\n")] if parts else []), *row]
        return parts

    def _format_rule(self) -> StyleAndTextTuples:
        terminal = self.terminal()
        return [("class:rule", ("─" if terminal.unicode else "-") * terminal.columns)]

    def _format_queued(self) -> StyleAndTextTuples:
        columns = self.terminal().columns
        first = [sanitize_text(text).partition("\n")[0] for text in self.queued[-QUEUED_ROWS:]]
        hint = "  (↑ edits)" if columns >= 60 else ""
        lines = [truncate_text(f"queued: {text}", columns - 1 - len(hint)) for text in first]
        lines[-1] += hint
        return [("class:dim", "\n".join(lines))]

    def _format_footer(self) -> StyleAndTextTuples:
        return list(self.footer(self.terminal().columns - 1))


def make_part(text: Callable[[], AnyFormattedText], shown: Callable[[], bool]) -> ConditionalContainer:
    """Build a window as high as its text."""
    window = Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=True)
    return ConditionalContainer(window, filter=Condition(shown) & ~is_done)
