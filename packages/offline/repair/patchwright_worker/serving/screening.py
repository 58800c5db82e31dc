"""Screening: many candidates in one child, each judged by one failing test.

Most are rejected after a millisecond. If the test passes, a few tests that passed before are run as well: a
child for that alone costs as much as dozens.

For those that fail, the message is reported if it differs from the unchanged program's: such a change has an
effect, and may be one of two needed changes.

Candidates that pass are judged again from fresh state (see `request_server`), so a wrong pass costs little. A
wrong failure would lose a patch: candidates share the child's state, and one may leave it changed. So the
unchanged program runs at the beginning and at the end; if it does not fail the same way both times, no
verdict holds.
"""

from __future__ import annotations

import os
import re
import signal
import time
import types
from typing import TYPE_CHECKING

from ..live_code.code_patching import NeedsImport, exchange_code
from ..live_code.function_compiler import Fuel, OuterFunction, Outside, Program
from ..live_code.statement_execution import InPlaceChange, NotPlaceable
from ..tracing.line_recorder import get_code_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ..frameworks.framework_runners import Suite
    from ..live_code.code_patching import Swapper
    from ..process.child_process import Child
    from ..process.json_lines import Json, Send

# Verdict for a candidate with which the test passes, and another fails that passed before.
BREAKS = "breaks"
# Characters of a failure's message that are enough to distinguish it.
WORDS = 300
# Wall seconds beyond the CPU limit before a candidate counts as hung.
WALL_SLACK = 5.0
# A program that swallows the exception that ends it is interrupted again: number of times, and delay.
INSISTENCE, AGAIN = 3, 0.05


class OutOfTime(BaseException):
    """Time limit of a test; not an Exception, so that few programs catch it."""


class Timer:
    """Interrupts code that exceeds its CPU time. `over` records that it happened, whoever caught it."""

    def __init__(self) -> None:
        self.over = 0
        signal.signal(signal.SIGPROF, self._interrupt)

    def start(self, seconds: float) -> None:
        self.over = 0
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _interrupt(self, number: int, frame: types.FrameType | None) -> None:
        self.over += 1
        if self.over > INSISTENCE:
            os._exit(0)
        raise OutOfTime


class Screener:
    """In a child: exchanges the code of one function at a time and runs the test."""

    def __init__(self, suite: Suite, swapper: Swapper, imported: Callable[[str], set[int]]) -> None:
        self._suite, self._swapper, self._imported = suite, swapper, imported
        self._programs: dict[str, Program] = {}

    def parse_programs(self, texts: dict[str, str], paths: Iterable[str]) -> None:
        """Parse the files that candidates will change, before the children that share them are forked."""
        for path in paths:
            known = self._programs.get(path)
            if known is None or known.text != texts[path]:
                self._programs[path] = Program(path, texts[path])

    def compile_forms(
        self, edits: Sequence[Sequence[Any]]
    ) -> tuple[types.FunctionType, types.CodeType, types.CodeType]:
        """Return the one changed function, live; its old and its new code, both with fuel.

        Raises Outside or NeedsImport if there is no such function, SyntaxError or ValueError if the code is
        invalid.
        """
        (program, outer, new), *others = self._compile_functions(edits)
        if others:
            raise Outside
        function = self._find_live_functions(program, outer, new)[0][0]
        return function, program.compile_original(outer, fuelled=True), new

    def run(self, request: Json, done: int, send: Send) -> None:
        self._timer, self._fuel = Timer(), Fuel(request["fuel"])
        self._seconds = request["seconds"]
        tests, self._wordless = request["screen"], set(request["wordless"])
        self._hooked, self._settled = set(request["hooked"]), set(request["settled"])
        steady = [test for test in dict.fromkeys(tests) if test not in request["endless"]]
        # A candidate that has a child to itself spoils only its own state: the messages are known from
        # others.
        alone: bool = request["alone"]
        before = dict(request["before"]) if alone else {test: self._run_canary(test, send) for test in steady}
        known: Json = {}
        for place in range(done, len(tests)):
            # With the previous verdict: every message wakes up the server.
            send({"kind": "start", "place": place, "wall": self._seconds * 4 + WALL_SLACK, **known})
            self._test, self._said = tests[place], ""
            self._near: Sequence[int] = request["near"][place]
            self._others: Sequence[int] = request["others"][place]
            verdict = self._judge_candidate(request["candidates"][place])
            said = self._said if verdict != BREAKS and self._said != before.get(self._test, "") else ""
            known = {"of": place, "verdict": verdict, "said": said}
        send({"kind": "screened", **known})
        if before and not alone:
            same = all(self._run_canary(test, send) == said for test, said in before.items())
            hooked = sorted(self._hooked)
            send({"kind": "canary", "same": same, "before": list(before.items()), "hooked": hooked})

    def _run_canary(self, test: int, send: Send) -> str:
        """Return a test's outcome with the unchanged program; the first time also with the framework's hooks."""
        send({"kind": "start", "place": -1, "wall": 60.0})
        found = self._suite.run_once(test, hooks=test in self._hooked)
        if test not in self._settled | self._hooked and self._suite.can_skip_hooks(test):
            self._settled.add(test)
            whole = self._suite.run_once(test, hooks=True)
            # The first line: hooks add details to some assertions.
            if (
                self._describe_outcome(test, found).split("\n")[0]
                != self._describe_outcome(test, whole).split("\n")[0]
            ):
                self._hooked.add(test)
                found = whole
        return self._describe_outcome(test, found)

    def _describe_outcome(self, test: int, found: Json) -> str:
        """Return a test's outcome in words that are the same each time."""
        if found["outcome"] != "failed":
            return str(found["outcome"])
        message = "" if test in self._wordless else found.get("message", "")
        words = "%s: %s" % (found.get("type"), message)
        return re.sub(r"0[xX][0-9a-fA-F]+", "0x", words)[:WORDS]

    def _judge_candidate(self, edits: Sequence[Sequence[Any]]) -> str:
        self._stored = False  # whether the changed code ran at import, so that results of it may be stored
        try:
            exchanged = [
                pair
                for function in self._compile_functions(edits)
                for pair in self._find_live_functions(*function)
            ]
        except Outside:
            return self._judge_in_place(edits)
        except NeedsImport:
            return "module"
        except (SyntaxError, ValueError):  # not valid Python
            return "invalid"
        before = [(each, each.__code__) for each, _ in exchanged]
        try:
            for each, code in exchanged:
                exchange_code(each, code)
            outcome = self._run_test(self._test)
            said = self._said
            if outcome == "failed" and not self._stored and self._helps_another():
                outcome = "passed"
            if outcome == "passed" and not self._stored and self._breaks_passing_test():
                outcome = BREAKS
            self._said = said
        except NeedsImport:
            return "module"
        finally:
            for each, old in before:
                each.__code__ = old
        return self._weaken_outcome(outcome) if self._stored else outcome

    def _judge_in_place(self, edits: Sequence[Sequence[Any]]) -> str:
        """Judge a change outside functions by executing the changed statement alone in its live module."""
        try:
            (path,) = {edit[0] for edit in edits}
            placed = InPlaceChange(self._programs[path], [edit[1:] for edit in edits])
        except (NotPlaceable, Outside, ValueError):  # ValueError: in more than one file
            return "module"
        except SyntaxError:
            return "invalid"
        try:
            with placed:
                return self._weaken_outcome(self._run_test(self._test))
        except NotPlaceable:
            return "module"

    @staticmethod
    def _weaken_outcome(outcome: str) -> str:
        """Values computed from the old text during imports are still there: no more than a guess."""
        return {"passed": "placed", "failed": "unplaced"}.get(outcome, outcome)

    def _compile_functions(
        self, edits: Sequence[Sequence[Any]]
    ) -> Iterable[tuple[Program, OuterFunction, types.CodeType]]:
        """Yield the changed functions, each compiled with all its edits."""
        of: dict[tuple[str, int], list[Sequence[Any]]] = {}
        for path, *edit in edits:
            of.setdefault((path, self._programs[path].find_outer(edit[0], edit[1]).begin), []).append(edit)
        for (path, _), changes in of.items():
            program = self._programs[path]
            outer = program.find_outer(changes[0][0], changes[0][1])
            yield program, outer, program.compile_changed(outer, changes, fuelled=True)

    def _find_live_functions(
        self, program: Program, outer: OuterFunction, code: types.CodeType
    ) -> list[tuple[types.FunctionType, types.CodeType]]:
        """Return the function objects to exchange. Raises NeedsImport if an exchange is not enough."""
        live = self._swapper.find_functions(program.path, *outer.key)
        ran = self._imported(program.path)
        if not live:
            raise NeedsImport("nothing refers to it")
        if any(line in ran for line in get_code_lines(live[0].__code__) - {outer.first_line}):
            self._stored = True
        return [(each, code) for each in live]

    def _helps_another(self) -> bool:
        """Return whether a failing test passes that fails in another way than the judging one."""
        return any(self._run_test(test) == "passed" for test in self._others)

    def _breaks_passing_test(self) -> bool:
        """Return whether a passing test of the changed code now fails. One that takes long does not count as
        failing."""
        return any(map(self._is_failing, self._near))

    def _is_failing(self, test: int) -> bool:
        if self._run_test(test) != "failed":
            return False
        if test in self._hooked or not self._suite.can_skip_hooks(test):
            return True
        self._hooked.add(test)  # does it need the hooks?
        if self._run_test(test) != "failed":
            return False
        self._hooked.discard(test)
        return True

    def _run_test(self, test: int) -> str:
        self._fuel.refill()
        outcome = "failed"
        try:
            self._timer.start(self._seconds)
            found = self._suite.run_once(test, hooks=test in self._hooked)
            self._timer.stop()
            outcome, self._said = found["outcome"], self._describe_outcome(test, found)
            if outcome == "skipped":  # useless even as one of two changes
                self._said = ""
        except OutOfTime:  # recorded in the timer
            self._timer.stop()
        finally:
            over = self._timer.over or self._fuel.is_used_up
        if over and outcome != "passed":
            return "timeout"
        return "passed" if outcome == "passed" else "failed"


class Screening:
    """The server's side of a screening: records verdicts, and continues after a candidate that ended the child."""

    patience = 20.0

    def __init__(self, request: Json) -> None:
        self.request = request
        count = len(request["candidates"])
        self.reply: Json = {"kind": "screened", "id": request["id"], "cpu": 0.0, "steady": True}
        self.reply.update(verdicts=[""] * count, said=[""] * count)
        self.started = time.monotonic()
        self._done = 0
        self._running = -1
        self._compared: bool = request["alone"]

    def work(self, how: object) -> Callable[[Send], None]:
        work: Callable[[Send], None] = how.screen(self.request, self._done)  # type: ignore[attr-defined]
        return work

    def handle_message(self, child: Child, message: Json) -> None:
        if "of" in message:
            self.reply["verdicts"][message["of"]] = message["verdict"]
            self.reply["said"][message["of"]] = message["said"]
            self._done = message["of"] + 1
        if message["kind"] == "start":
            self._running = message["place"]
            child.extend_deadline(message["wall"])
        elif message["kind"] == "canary":
            self.reply.update(
                {"steady": message["same"], "before": message["before"], "hooked": message["hooked"]}
            )
            self._compared = True

    def handle_child_end(self, killed: bool) -> bool:
        """Return True when candidates are left to screen."""
        if self._done < len(self.request["candidates"]):
            if self._running == self._done:
                self.reply["verdicts"][self._done] = "timeout" if killed else "crashed"
            else:  # not even the unchanged program could be run: every candidate gets a child of its own
                self.reply["verdicts"] = [each or "unknown" for each in self.reply["verdicts"]]
                self._done = len(self.request["candidates"])
            self._done += 1
        elif not self._compared and set(self.request["screen"]) - set(self.request["endless"]):
            self.reply["steady"] = False  # the unchanged program, run once more, ended the child
        self.reply["seconds"] = round(time.monotonic() - self.started, 4)
        return self._done < len(self.request["candidates"])
