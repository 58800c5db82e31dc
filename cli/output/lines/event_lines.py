"""Plain view of a session: each event as one or a few lines, in order, never redrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from agent.events import (
    LEAD,
    AttemptEvent,
    CandidateEvent,
    ChoiceEvent,
    Compaction,
    DecisionEvent,
    End,
    ErrorEvent,
    Event,
    GoalEvent,
    GuidanceEvent,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    RequirementsEvent,
    RubricEvent,
    Signal,
    SpecCheckEvent,
    Steer,
    StopAttemptEvent,
    VerdictEvent,
    Verification,
)
from agent.model.protocol import Delta, TextDelta
from agent.model.routing.planner_executor import RECHECK
from cli.output.diff.diff_layout import DiffLayout
from cli.output.lines.action_descriptions import (
    ActionTracker,
    iterate_failures,
    iterate_fixes,
    iterate_suspects,
)
from cli.output.lines.action_heading import HeadingStyle, count_folded_lines, format_fold, format_heading
from cli.output.lines.decisive_lines import select_decisive_lines
from cli.output.lines.turn_summary import FailureTally, format_summary
from cli.output.style.paint import Style, get_mark, make_painter
from cli.output.style.terminal import truncate_text, wrap_hanging
from sandbox.sanitize import quote_name, sanitize_text

Texts = Literal["steps", "all", "none"]
"""Which of the model's texts are written: those before its actions, the answers as well, or none."""

DIFF_LINES = 40
"""Maximum diff lines of one edit: a rewritten file would push everything else off the screen."""

FAILURES = 5
SUSPECTS = 5
"""Maximum rows under a test run and a fault localization; the rest is in the log."""

REASON_LINES = 3
"""Lines below a failure that ends in a colon, or of a failed command's output; and the rows that one of them takes."""

_SILENT = {"plan", "finish", "propose"}
"""Tools with their own view: the plan, and the summary that ends a turn."""


class LineView:
    """Writer of events as lines; text streamed by `show_delta` is not written again with its message.

    facts: returns more parts of a turn's summary; called when the turn ends
    wraps: wrap the lines of a diff; otherwise the terminal does, if there is one
    brief: write only the heading of an action; the caller shows the rest
    rest: how to see the folded lines of an output; "" does not mention them
    waited: seconds of the turn that questions waited for a person; they are not counted as its time
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        colour: bool,
        width: int,
        unicode: bool = True,
        texts: Texts = "steps",
        facts: Callable[[End], Sequence[str]] = lambda end: (),
        brief: bool = False,
        wraps: bool = False,
        rest: str = "",
    ) -> None:
        self.width = width
        self.actions = ActionTracker()
        self.link: Callable[[str], str] = str
        """Turns the paths of a finished line into links."""
        self._write = write
        self._colour = colour
        self._paint = make_painter(colour=colour)
        self._unicode = unicode
        self._texts = texts
        self._facts = facts
        self._brief = brief
        self._wraps = wraps
        self._rest = rest
        self._tests = FailureTally()
        self._shown: Mapping[str, object] | None = None
        self._listed: list[tuple[str, str]] = []  # failures of the turn that were listed last
        self._streamed = ""
        self._plan: list[tuple[str, str]] = []
        self._started = 0.0
        self.waited = 0.0
        self._before = 0.0  # time of the last event
        self._unpriced = False
        self.is_led = False
        """Whether the harness leads the turn: what it asks and gets is shown as proposals, and not as it is."""

    def show_delta(self, delta: Delta) -> None:
        """Write a delta of the model's text."""
        if isinstance(delta, TextDelta) and delta.text and not self.is_led:
            self._streamed = (self._streamed + delta.text)[-1:]
            self._write(sanitize_text(delta.text))

    def show_event(self, event: Event) -> None:
        """Write the lines of an event."""
        self._count_wait(event)
        lines = self._format_event(event)
        self.actions.handle_event(event)
        if text := "".join(f"{line}\n" for line in lines):
            self._write(text)

    def _count_wait(self, event: Event) -> None:
        """Count how long a person took to answer: nothing else is logged while a question waits."""
        if isinstance(event, DecisionEvent) and event.by == "person":
            self.waited += max(event.time - self._before, 0.0) if self._before else 0.0
        elif isinstance(event, ObservationEvent) and event.tool == "ask_user":
            self.waited += event.seconds
        self._before = event.time

    def _format_event(self, event: Event) -> list[str]:
        match event:
            case Prompt():
                self._started, self.waited, self._unpriced = event.time, 0.0, False
                self.is_led = False
                self._tests, self._shown, self._listed = FailureTally(), None, []
                return []
            case MessageEvent():
                return list(self._format_message(event))
            case ObservationEvent():
                return list(self._format_observation(event))
            case PlanEvent():
                return list(self._format_plan_changes(event))
            case Steer(by="harness") if self.is_led:
                return []
            case Steer() if event.by == "harness" and event.text.startswith(RECHECK):
                return [self._format_mark_line("said", "dim", "the failures were returned to the model")]
            case Steer():
                return [self._format_mark_line("said", "dim", event.text.partition("\n")[0])]
            case Verification():
                self.is_led = False  # a model that is asked to go on answers for itself
                self._tests.add_check(event)
                return list(self._format_verification(event))
            case VerdictEvent(attempt=None):
                return list(self._format_verdict(event))
            case AttemptEvent() | CandidateEvent() | ChoiceEvent() | GuidanceEvent() | StopAttemptEvent():
                return list(self._format_attempt(event))
            case RubricEvent():
                from cli.output.lines.check_lines import format_rubric

                scored = format_rubric(event.score, event.items, unicode=self._unicode)
                return [self._paint(self._format_detail(row)[2:], style) for row, style in scored]
            case SpecCheckEvent():
                from cli.output.lines.check_lines import format_findings

                return list(
                    format_findings(
                        event.findings,
                        self._paint,
                        width=self.width,
                        unicode=self._unicode,
                        colour=self._colour,
                    )
                )
            case RequirementsEvent():
                from cli.output.lines.check_lines import format_requirements

                found = format_requirements(event.stage, event.items, unicode=self._unicode)
                return [self._paint(self._format_detail(row)[2:], style) for row, style in found]
            case GoalEvent():
                from cli.output.lines.goal_lines import format_goal

                if event.stage in ("reached", "stopped"):  # the end that follows is that of all its turns
                    self._started, self.waited = event.time - event.seconds, 0.0
                return [self._format_mark_line(*format_goal(event, unicode=self._unicode))]
            case Compaction():
                before, after = f"{event.tokens_before / 1000:.1f}k", f"{event.tokens_after / 1000:.1f}k"
                words = f"context: {event.stage}, {before} to {after} tokens (/context diff {event.id})"
                return [self._format_mark_line("quiet", "dim", words)]
            case Signal(name="weakened-tests"):  # one-shot runs report it in their answer
                rows = sanitize_text(event.detail).splitlines() if self._texts != "steps" else []
                return [self._paint(row, "yellow") for row in rows]
            case Signal(name="plan-mode"):  # the terminal says more about it
                return []
            case Signal(name="model"):  # what a provider says is read to its end
                words = f"{self._get_mark('quiet')} {sanitize_text(event.detail)}"
                return [self._paint(row, "dim") for row in self._wrap_words(words, "  ")]
            case Signal():
                self.is_led |= event.name == LEAD
                return [self._format_mark_line("quiet", "dim", event.detail or event.name)]
            case ErrorEvent():
                hint = self._wrap_words(f"  {sanitize_text(event.hint)}", "  ") if event.hint else []
                rows = self._wrap_words(f"patchwright: {sanitize_text(event.message)}")
                return [*(self._paint(row, "red") for row in rows), *hint]
            case End():
                self.is_led = False
                seconds = max(event.time - self._started - self.waited, 0.0) if self._started else 0.0
                return format_summary(
                    event,
                    seconds=seconds,
                    unpriced=self._unpriced,
                    width=self.width,
                    paint=self._paint,
                    unicode=self._unicode,
                    still_failing=self._tests.excused,
                    more=[self._tests.describe_change(unicode=self._unicode), *self._facts(event)],
                )
        return []

    def _wrap_words(self, text: str, indent: str = "") -> list[str]:
        """Wrap a text between words where this view wraps lines."""
        if not self._wraps:
            return [text]
        rows = list[str]()
        for line in text.split("\n"):
            first, *others = wrap_hanging(line, self.width, indent)
            rows += [first, *(indent + each.strip() for each in others)]
        return rows

    def _format_mark_line(self, name: str, style: Style, text: str) -> str:
        """Format a mark and one line of untrusted text, truncated to the width."""
        sign = self._get_mark(name)
        return self._paint(
            truncate_text(f"{sign} {sanitize_text(text)}", self.width, ellipsis=self._get_mark("ellipsis")),
            style,
        )

    def _get_mark(self, name: str) -> str:
        return get_mark(name, unicode=self._unicode)

    def _format_message(self, event: MessageEvent) -> Iterator[str]:
        usage = event.usage
        self._unpriced |= usage.cost is None and usage.input + usage.output > 0
        streamed, self._streamed = self._streamed, ""
        if streamed:
            if streamed != "\n":
                self._write("\n")
            return
        if self.is_led:
            return
        wanted = self._texts == "all" or (self._texts == "steps" and event.actions)
        if wanted and event.text.strip():
            yield sanitize_text(event.text.strip())

    def _format_observation(self, event: ObservationEvent) -> Iterator[str]:
        if event.tool in _SILENT and not event.failed:
            said = event.data.get("summary")
            if self._texts == "all" and said:
                yield sanitize_text(str(said))
            return
        rows = [] if self._brief else list(self._format_result(event))
        target = self.actions.get_target(event.call)
        fold = format_fold(count_folded_lines(event, len(rows)), self._rest) if self._rest else ""
        style = HeadingStyle(width=self.width, paint=self._paint, unicode=self._unicode)
        yield from map(self.link, format_heading(event, target, fold, style))
        yield from rows

    def _format_result(self, event: ObservationEvent) -> Iterator[str]:
        """Yield the rows below the heading of an action."""
        from cli.output.diff.diff_view import format_diff

        report = event.data.get("report")
        if "exit" in event.data:
            yield from self._format_output(event)
        elif event.failed and not isinstance(report, Mapping):
            yield from self._format_failure(event)
        if isinstance(report, Mapping):
            self._tests.add_report(report)
            self._shown = report
            yield from self._format_failures(report)
        if diff := event.data.get("diff"):
            yield from format_diff(str(diff), self._lay_out_diff(), limit=DIFF_LINES)
        if isinstance(files := event.data.get("files"), list | tuple) and files:
            yield self.link(self._format_detail(", ".join(quote_name(str(each)) for each in files)))
        if untrusted := event.data.get("untrusted"):  # not truncated: it ends with the remedy
            yield self._paint(f"  {sanitize_text(str(untrusted))}", "yellow")
        for where, code, score in iterate_suspects(event.data, SUSPECTS):
            yield self.link(self._paint(self._format_detail(f"{score:.2f}  {where}  {code}"), "yellow"))
        for where, why in iterate_fixes(event.data):
            yield self._paint(self._format_detail(f"{self._get_mark('good')} {where}  {why}"), "green")

    def _lay_out_diff(self) -> DiffLayout:
        rest = self._rest if self._wraps else "git diff shows all"
        width = self.width if self._wraps or self._colour else 0
        return DiffLayout(colour=self._colour, width=width, indent=2, unicode=self._unicode, rest=rest)

    def _format_failure(self, event: ObservationEvent) -> Iterator[str]:
        lines = [line for line in event.text.splitlines() if line.strip()] or ["failed"]
        lines[0] = lines[0].removeprefix(f"{event.tool}: ")
        # The reason of a refusal that ends in a colon (git's, a hook's) stands below it.
        for line in lines[: 1 + REASON_LINES if lines[0].rstrip().endswith(":") else 1]:
            rows = self._wrap_words(self._format_detail(line, REASON_LINES), "  ")
            yield self._paint("\n".join(rows), "red")

    def _format_output(self, event: ObservationEvent) -> Iterator[str]:
        if not event.data["exit"]:
            return
        lines = [line for line in event.text.splitlines()[1:] if line.strip()]
        for line in select_decisive_lines(lines, REASON_LINES):
            rows = self._wrap_words(self._format_detail(line, REASON_LINES), "  ")
            yield self._paint("\n".join(rows), "dim")

    def _format_failures(self, report: Mapping[str, object]) -> Iterator[str]:
        listed = list(iterate_failures(report, FAILURES))
        if listed and listed == self._listed:
            yield self._paint(self._format_detail("the same as before"), "dim")
            return
        self._listed = listed
        for test, message in listed:
            yield self.link(self._paint(self._format_detail(test), "red"))
            if message:
                yield self._paint(self._format_detail(f"  {message}"), "dim")
        every = report.get("failures")
        if isinstance(every, list | tuple) and len(every) > len(listed):
            yield self._paint(self._format_detail(f"and {len(every) - len(listed)} more"), "dim")
        if note := report.get("note"):
            yield self._paint(self._format_detail(str(note)), "yellow")

    def _format_detail(self, text: str, rows: int = 1) -> str:
        """Format one line of detail below an action, as long as it fits into `rows` rows."""
        line = sanitize_text(text).replace("\n", " ").replace("\t", " ")
        return truncate_text(f"  {line}", self.width * rows, ellipsis=self._get_mark("ellipsis"))

    def _format_plan_changes(self, event: PlanEvent) -> Iterator[str]:
        """Yield the whole plan when its items are new, otherwise only the items whose status changed."""
        before, self._plan = self._plan, list(event.items)
        same = [text for text, _ in before] == [text for text, _ in event.items]
        if not same:
            yield self._paint("plan", "bold")
        for index, (text, status) in enumerate(event.items):
            if not same or before[index][1] != status:
                name = status if status in ("open", "doing", "done") else "open"
                style: Style | None = {"doing": "cyan", "done": "green"}.get(name)  # type: ignore[assignment]
                line = self._format_detail(f"{self._get_mark(name)} {text}")
                yield self._paint(line, style) if style else line

    def _format_verification(self, event: Verification) -> Iterator[str]:
        if event.outcome == "failed" and event.report == self._shown and ";" not in event.detail:
            return  # the test run above has shown it, and the summary will
        if event.outcome != "not-needed":
            name, style, words = _VERIFIED[event.outcome]
            yield self._format_mark_line(name, style, f"{words}: {event.detail}")

    def _format_attempt(self, event: Event) -> Iterator[str]:
        from agent.strategy.candidate import describe_candidate
        from cli.output.lines.attempt_lines import describe_choice, describe_direction, describe_variation

        match event:
            case AttemptEvent():
                if variation := describe_variation(event):
                    words = f"attempt {event.number} begins: {', '.join(variation)}"
                    yield self._format_mark_line("quiet", "dim", words)
            case CandidateEvent():
                yield self._format_detail(describe_candidate(event)).strip()
            case ChoiceEvent():
                yield self._format_mark_line("good", "green", describe_choice(event))
            case GuidanceEvent() | StopAttemptEvent():
                yield self._format_mark_line("said", "dim", describe_direction(event))

    def _format_verdict(self, event: VerdictEvent) -> Iterator[str]:
        """Yield the lines of a failing check; those of the tests are a `verification`, weakened ones a signal."""
        if event.name in ("gaming", "scope") and event.outcome == "unknown":
            for row in sanitize_text(event.detail).splitlines():
                yield self._format_mark_line("warn", "yellow", f"look at: {row.strip()}")
            return
        if event.name == "reproduction" and event.outcome == "pass":
            first, *rows = sanitize_text(event.detail).splitlines()
            yield self._format_mark_line("good", "green", f"reproduction: {first}")
            yield from (f"  {row}" for row in rows)  # a path, which is of no use if it is cut off
            return
        if event.outcome != "fail" or event.name in ("tests", "weakened-tests", "requirements", "rubric"):
            return
        first, *rows = sanitize_text(event.detail or event.name).splitlines()
        style: Style = "dim" if event.evidence == "opinion" else "red"
        yield self._format_mark_line("bad", style, first)
        yield from (self._format_detail(row.strip()) for row in rows)


_VERIFIED: dict[str, tuple[str, Style, str]] = {
    "passed": ("good", "green", "checked"),
    "failed": ("bad", "red", "tests fail"),
    "unverified": ("warn", "yellow", "not checked"),
}
