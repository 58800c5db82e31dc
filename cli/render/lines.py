"""The plain view of a session: each event as a line or a few, in order, never redrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from agent.events import (
    Compaction,
    End,
    ErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    Signal,
    Steer,
    Verification,
)
from agent.model.base import Delta, TextDelta
from cli.render.actions import Actions, failures, fixes, result, suspects
from cli.render.diffs import painted
from cli.render.paint import MARKS, Style, painter
from cli.render.summary import Tests, summary
from cli.render.terminal import cells, fit
from sandbox.inert import quote_name as one_name
from sandbox.inert import sanitize_text

Texts = Literal["steps", "all", "none"]
"""Which of the model's texts are written: those said before it acts, the answers as well, or neither."""

DIFF_LINES = 60
"""Lines of one edit's diff: what is read in passing; a rewritten file would push all else off the screen."""

FAILURES = 5
SUSPECTS = 5
"""Rows under a test run and a localisation: the first few are looked at, the rest is in the log."""

OUTPUT_LINES = 3
"""Last lines of a failed command's output: enough to recognise the error."""

LEAST = 8
"""Columns of an action's target that stay, however long its result is: enough to tell two of them apart."""

_SILENT = {"plan", "finish", "propose"}
"""Tools that have a view of their own: the plan is shown as a plan, what ends a turn as its summary."""


class LineView:
    """Writes each event it is given; `delta` streams the model's text, which then is not written again.

    facts: more for the summary of a turn, asked for when it ends
    wraps: lines of a diff are broken to fit; else the terminal does that, where there is one
    brief: of an action only the heading and the failures of tests; somebody else shows the rest
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        colour: bool,
        width: int,
        unicode: bool = True,
        texts: Texts = "steps",
        facts: Callable[[], Sequence[str]] = tuple,
        brief: bool = False,
        wraps: bool = False,
    ) -> None:
        self.width = width
        self.actions = Actions()
        self._write = write
        self._paint = painter(colour=colour)
        self._unicode = unicode
        self._texts = texts
        self._facts = facts
        self._brief = brief
        self._wraps = wraps
        self._tests = Tests()
        self._streamed = ""
        self._plan: list[tuple[str, str]] = []
        self._started = 0.0
        self._unpriced = False

    def delta(self, delta: Delta) -> None:
        """Write a piece of the model's text as it comes."""
        if isinstance(delta, TextDelta) and delta.text:
            self._streamed = (self._streamed + delta.text)[-1:]
            self._write(sanitize_text(delta.text))

    def event(self, event: Event) -> None:
        """Write what a person should know of an event."""
        lines = self._lines(event)
        self.actions.see(event)
        if text := "".join(f"{line}\n" for line in lines):
            self._write(text)

    def _lines(self, event: Event) -> list[str]:
        match event:
            case Prompt():
                self._started, self._unpriced = event.time, False
                self._tests = Tests()
                return []
            case MessageEvent():
                return list(self._message(event))
            case ObservationEvent():
                return list(self._observation(event))
            case PlanEvent():
                return list(self._changed_plan(event))
            case Steer():
                return [self._line("said", "dim", event.text.partition("\n")[0])]
            case Verification():
                return list(self._verification(event))
            case Compaction():
                before, after = f"{event.tokens_before / 1000:.1f}k", f"{event.tokens_after / 1000:.1f}k"
                words = f"context: {event.stage}, {before} to {after} tokens (/context diff {event.id})"
                return [self._line("quiet", "dim", words)]
            case Signal(name="weakened-tests"):  # one-shot runs say it in their answer
                rows = sanitize_text(event.detail).splitlines() if self._texts != "steps" else []
                return [self._paint(row, "yellow") for row in rows]
            case Signal():
                return [self._line("quiet", "dim", event.detail or event.name)]
            case ErrorEvent():
                hint = [f"  {sanitize_text(event.hint)}"] if event.hint else []
                return [self._paint(f"patchwright: {sanitize_text(event.message)}", "red"), *hint]
            case End():
                seconds = event.time - self._started if self._started else 0.0
                return summary(
                    event,
                    seconds=seconds,
                    unpriced=self._unpriced,
                    width=self.width,
                    paint=self._paint,
                    unicode=self._unicode,
                    more=[self._tests.words(unicode=self._unicode), *self._facts()],
                )
        return []

    def _line(self, name: str, style: Style, text: str) -> str:
        """A mark and one line of untrusted text, cut to the width."""
        sign = self._mark(name)
        return self._paint(
            fit(f"{sign} {sanitize_text(text)}", self.width, ellipsis=self._mark("ellipsis")), style
        )

    def _mark(self, name: str) -> str:
        return MARKS[name][0 if self._unicode else 1]

    def _message(self, event: MessageEvent) -> Iterator[str]:
        usage = event.usage
        self._unpriced |= usage.cost is None and usage.input + usage.output > 0
        streamed, self._streamed = self._streamed, ""
        if streamed:
            if streamed != "\n":
                self._write("\n")
            return
        wanted = self._texts == "all" or (self._texts == "steps" and event.actions)
        if wanted and event.text.strip():
            yield sanitize_text(event.text.strip())

    def _observation(self, event: ObservationEvent) -> Iterator[str]:
        if event.tool in _SILENT and not event.failed:
            said = event.data.get("summary")
            if self._texts == "all" and said:
                yield sanitize_text(str(said))
            return
        yield self._heading(event)
        report = event.data.get("report")
        if self._brief:
            return
        if "exit" in event.data:
            yield from self._output(event)
        elif event.failed and not isinstance(report, Mapping):
            yield from self._failure(event)
        if isinstance(report, Mapping):
            self._tests.see(report)
            yield from self._failures(report)
        if diff := event.data.get("diff"):
            yield from painted(
                str(diff), self._paint, limit=DIFF_LINES, width=self.width if self._wraps else 0, indent="  "
            )
        if isinstance(files := event.data.get("files"), list | tuple) and files:
            yield self._under(", ".join(one_name(str(each)) for each in files))
        if untrusted := event.data.get("untrusted"):  # whole: it ends with what to do
            yield self._paint(f"  {sanitize_text(str(untrusted))}", "yellow")
        for where, code, score in suspects(event.data, SUSPECTS):
            yield self._paint(self._under(f"{score:.2f}  {where}  {code}"), "yellow")
        for where, why in fixes(event.data):
            yield self._paint(self._under(f"{self._mark('good')} {where}  {why}"), "green")

    def _heading(self, event: ObservationEvent) -> str:
        """`● tool target  result (time)`: when it is too long, the target gives way."""
        came, quick = result(event.data), event.seconds < 1 and "exit" not in event.data
        if not self._unicode:
            came = came.replace(*MARKS["minus"])
        time = "" if quick else f"({event.seconds:.1f} s)"
        tail = " ".join(part for part in (sanitize_text(came), time) if part)
        tail = f"{':' if came else ''} {tail}" if tail else ""
        about = sanitize_text(self.actions.target(event.call)).replace("\n", " ").replace("\t", " ")
        report = event.data.get("report")
        red = isinstance(report, Mapping) and report.get("outcome") != "passed"
        bad = red or bool(event.data.get("exit"))
        sign = self._mark("bad" if event.failed else "action")
        tool = fit(one_name(event.tool), self.width // 2, ellipsis=self._mark("ellipsis"))
        dots, room = self._mark("ellipsis"), self.width - cells(f"{sign} {tool}")
        about = f" {fit(about, max(room - cells(tail) - 1, LEAST), ellipsis=dots)}" if about else ""
        tail = fit(tail, max(room - cells(about), 0), ellipsis=dots) if room > cells(about) else ""
        style: Style = "red" if event.failed else "yellow" if bad else "green"
        return f"{self._paint(sign, style)} {self._paint(tool, 'bold')}{about}{self._paint(tail, 'dim')}"

    def _failure(self, event: ObservationEvent) -> Iterator[str]:
        first = next((line for line in event.text.splitlines() if line.strip()), "failed")
        first = first.removeprefix(f"{event.tool}: ")
        yield self._paint(self._under(first), "red")

    def _output(self, event: ObservationEvent) -> Iterator[str]:
        if not event.data["exit"]:
            return
        lines = [line for line in event.text.splitlines()[1:] if line.strip()]
        for line in lines[-OUTPUT_LINES:]:
            yield self._paint(self._under(line), "dim")

    def _failures(self, report: Mapping[str, object]) -> Iterator[str]:
        listed = list(failures(report, FAILURES))
        for test, message in listed:
            yield self._paint(self._under(test), "red")
            if message:
                yield self._paint(self._under(f"  {message}"), "dim")
        every = report.get("failures")
        if isinstance(every, list | tuple) and len(every) > len(listed):
            yield self._paint(self._under(f"and {len(every) - len(listed)} more"), "dim")
        if note := report.get("note"):
            yield self._paint(self._under(str(note)), "yellow")

    def _under(self, text: str) -> str:
        """One line of detail below an action."""
        line = sanitize_text(text).replace("\n", " ").replace("\t", " ")
        return fit(f"  {line}", self.width, ellipsis=self._mark("ellipsis"))

    def _changed_plan(self, event: PlanEvent) -> Iterator[str]:
        """The whole plan when it is new, only what changed when its items were ticked off."""
        before, self._plan = self._plan, list(event.items)
        same = [text for text, _ in before] == [text for text, _ in event.items]
        if not same:
            yield self._paint("plan", "bold")
        for index, (text, status) in enumerate(event.items):
            if not same or before[index][1] != status:
                name = status if status in ("open", "doing", "done") else "open"
                style: Style | None = {"doing": "cyan", "done": "green"}.get(name)  # type: ignore[assignment]
                line = self._under(f"{self._mark(name)} {text}")
                yield self._paint(line, style) if style else line

    def _verification(self, event: Verification) -> Iterator[str]:
        if event.outcome != "not-needed":
            name, style, words = _VERIFIED[event.outcome]
            yield self._line(name, style, f"{words}: {event.detail}")


_VERIFIED: dict[str, tuple[str, Style, str]] = {
    "passed": ("good", "green", "checked"),
    "failed": ("bad", "red", "tests fail"),
    "unverified": ("warn", "yellow", "not checked"),
}
