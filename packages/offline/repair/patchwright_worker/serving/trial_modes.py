"""The two ways to try a patch: warm, from collected tests, and cold, with fresh imports."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from ..frameworks.framework_runners import Framework, Suite
from ..frameworks.stable_names import restore_earlier_names
from ..live_code.code_patching import NeedsImport, Overlay, Swapper, apply_edits, compile_source
from ..live_code.function_compiler import Outside
from ..live_code.input_comparison import InputComparison
from ..live_code.line_probes import Probes, TracerWanted
from ..process.child_process import CpuLimit, TestClock
from ..tracing.failure_slice import ExecutionTrace, compute_slice
from ..tracing.line_recorder import Recorder
from .request_server import RequestServer, measure_cpu_seconds
from .screening import Screener

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..process.json_lines import Json, Send


# Functions in which pytest and unittest format a failing assertion, by the objects' own `__repr__`.
WORDING = (
    ("_pytest.assertion.rewrite", "_saferepr"),
    ("_pytest.assertion.rewrite", "_call_reprcompare"),
    ("unittest.case", "safe_repr"),
)


class ModeContext:
    """Context sent by the client: texts of files, names of tests and their limits in CPU seconds."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.ids: list[str] = []
        self.limits: list[float] = []

    def learn(self, message: Json) -> None:
        self.texts.update(message.get("texts", {}))
        self.ids = message.get("ids", self.ids)
        self.limits = message.get("limits", self.limits)

    def build_patched_texts(self, request: Json) -> dict[str, str]:
        by_path: dict[str, list[Any]] = {}
        for path, *edit in request["edits"]:
            by_path.setdefault(path, []).append(edit)
        return {path: apply_edits(self.texts[path], edits) for path, edits in by_path.items()}

    def run_tests(self, suite: Suite, indexes: Sequence[int], request: Json, stop: str, send: Send) -> None:
        factor: float = request.get("factor", 1.0)
        ceiling: float = request.get("ceiling", 60.0)
        floor: float = request.get("floor", 0.0)
        clock = TestClock(send, lambda index: max(floor, min(ceiling, self.limits[index] * factor)), dict)
        passed = False

        def finish_test(index: int, record: Json) -> None:
            nonlocal passed
            spent = clock.stop_test()
            send({"kind": "test", "test": index, "outcome": record["outcome"], **spent})
            good, skipped = record["outcome"] == "passed", record["outcome"] == "skipped"
            passed = passed or good
            if skipped or (not good and (stop == "first" or (stop == "unless-some" and not passed))):
                send({"kind": "over"})
                os._exit(0)

        suite.run(indexes, clock.start_test, finish_test)


class Cold(ModeContext):
    """Children collect again, with the patched files served by the import hook."""

    def __init__(self, framework: Framework) -> None:
        super().__init__()
        self._framework = framework

    def work(self, request: Json, stage: Json) -> Callable[[Send], None]:
        def run(send: Send) -> None:
            texts = self.build_patched_texts(request)
            try:
                for path, text in texts.items():
                    compile_source(text, path)
            except (SyntaxError, ValueError):  # not valid Python
                send({"kind": "verdict", "verdict": "invalid"})
                return
            Overlay.texts.update(texts)
            judge = self._run_whole_suite if stage["stop"] == "whole" else self._run_stage
            self._framework.arguments = request.get("files", [])

            def take_over(suite: Suite) -> None:
                suite.ids = restore_earlier_names(suite.ids, self.ids)
                judge(suite, request, stage, send)

            self._framework.run_session(take_over)

        return run

    def _run_whole_suite(self, suite: Suite, request: Json, stage: Json, send: Send) -> None:
        """Run every test but those to `skip`, or only `those`; the first `must` that does not pass ends it.

        In the end those to `watch` are run, which may fail: one that is skipped now is not fixed.
        """
        must, skip, those = set(stage["must"]), set(stage["skip"]), stage.get("those")
        if must and not set(self.ids) <= set(suite.ids):  # the patch prevents the collection of tests
            send({"kind": "verdict", "verdict": "failed"})
            return
        if stage["tell"]:
            send({"kind": "collected", "ids": suite.ids})
        limits: dict[str, float] = {
            name: request["floor"] + limit * request["factor"] for name, limit in zip(self.ids, self.limits)
        }
        ceiling: float = request["ceiling"]
        clock = TestClock(send, lambda index: limits.get(suite.ids[index], ceiling), dict)

        def finish_test(index: int, record: Json) -> None:
            name, spent = suite.ids[index], clock.stop_test()
            send({"kind": "test", "test": name, "outcome": record["outcome"], **spent})
            if name in must and record["outcome"] != "passed":
                send({"kind": "over"})
                os._exit(0)

        wanted = [
            i for i, name in enumerate(suite.ids) if name not in skip and (those is None or name in those)
        ]
        suite.run(wanted, clock.start_test, finish_test)
        watched = set(stage["watch"])
        self._watch_skips(suite, [i for i, name in enumerate(suite.ids) if name in watched], send)
        send({"kind": "over"})
        os._exit(0)

    def _watch_skips(self, suite: Suite, indexes: Sequence[int], send: Send) -> None:
        """Run tests only to learn whether they are skipped. An endless one ends it."""

        def forward_start(message: Json) -> None:
            if message["kind"] == "start":
                send({"kind": "watch", "wall": message["wall"]})

        limits = dict(zip(self.ids, self.limits))
        clock = TestClock(forward_start, lambda index: limits[suite.ids[index]], dict)

        def finish_test(index: int, record: Json) -> None:
            clock.stop_test()
            if record["outcome"] == "skipped":
                send({"kind": "test", "test": suite.ids[index], "outcome": "skipped"})
                send({"kind": "over"})
                os._exit(0)

        if indexes:
            suite.run(indexes, clock.start_test, finish_test)

    def _run_stage(self, suite: Suite, request: Json, stage: Json, send: Send) -> None:
        places = {name: place for place, name in enumerate(suite.ids)}
        numbers = [index for index in stage["tests"] if self.ids[index] in places]
        if len(numbers) < len(stage["tests"]):  # the patch prevents the import of a test module
            send({"kind": "verdict", "verdict": "failed"})
            return
        self.run_tests(
            RenumberedSuite(suite, {i: places[self.ids[i]] for i in numbers}),
            numbers,
            request,
            stage["stop"],
            send,
        )
        # The end of a session is for the user: summaries, for which plugins import further modules.
        send({"kind": "over"})
        os._exit(0)


class RenumberedSuite(Suite):
    """A suite whose tests have the numbers of an earlier collection."""

    def __init__(self, suite: Suite, places: dict[int, int]) -> None:
        super().__init__()
        self.suite, self._places = suite, places
        self._back = {there: here for here, there in places.items()}

    def run(
        self, indexes: Sequence[int], before: Callable[[int], None], after: Callable[[int, Json], None]
    ) -> None:
        back = self._back
        there = [self._places[index] for index in indexes]
        self.suite.run(there, lambda i: before(back[i]), lambda i, record: after(back[i], record))


class Warm(ModeContext):
    """Children start from collected tests and imported modules; functions get new code in place."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.served = False
        self._root = root
        self._recorder = Recorder(root)
        self._recorder.start_with_own_code()
        self._coverage: Recorder | Probes = self._recorder
        self.traces_quickly = sys.version_info >= (3, 12)
        self._imported: dict[str, list[int]] = {}

    def take_over(self, suite: Suite, server: RequestServer, measure: Callable[[], None]) -> None:
        """Run `measure`, the baseline of the tests, then serve to the end. Does not return: skips pytest's summary."""
        self.served = True
        send = server.send
        self._imported = self._recorder.take_import_lines()
        self.suite = suite
        self._swapper = Swapper(self._root)
        self._screener = Screener(suite, self._swapper, self._get_import_lines)
        gc.collect()
        gc.freeze()  # children share these pages as long as the collector does not touch them
        files = [self._recorder.get_relative_path(path) for path in suite.files]
        send(
            {
                "kind": "collected",
                "ids": suite.ids,
                "files": files,
                "errors": suite.errors,
                "spent": measure_cpu_seconds(),
            }
        )
        measure()
        send({"kind": "traced", "imported": self._imported, "spent": measure_cpu_seconds()})
        server.serve()
        os._exit(0)

    def screen(self, request: Json, done: int) -> Callable[[Send], None]:
        """Judge many candidates by one test, one after the other in one child, from the one numbered `done` on."""
        screener = self._screener
        screener.parse_programs(self.texts, {edit[0] for edits in request["candidates"] for edit in edits})
        return lambda send: screener.run(request, done, send)

    def work(self, request: Json, stage: Json) -> Callable[[Send], None]:
        return self._create_swapped_work(
            request, lambda send: self.run_tests(self.suite, stage["tests"], request, stage["stop"], send)
        )

    def probe(self, request: Json, indexes: Sequence[int]) -> Callable[[Send], None]:
        """Run tests with a candidate and record lines; or compare results for their `inputs`."""
        if request.get("inputs"):
            return self._compare_inputs(request, indexes)

        def run(send: Send) -> None:
            def send_named(message: Json) -> None:
                if message["kind"] == "test":
                    self.name_frames(message)
                send(message)

            self.trace_patched(indexes, CpuLimit(request["seconds"]), send_named)

        return self._create_swapped_work(request, run)

    def _compare_inputs(self, request: Json, indexes: Sequence[int]) -> Callable[[Send], None]:
        """Compare the changed function with the original for the tests' inputs."""
        self._screener.parse_programs(self.texts, {edit[0] for edit in request["edits"]})

        def run(send: Send) -> None:
            try:
                differing = InputComparison(*self._screener.compile_forms(request["edits"]))
            except (NeedsImport, Outside, SyntaxError, ValueError):
                send({"kind": "verdict", "verdict": "module"})
                return
            clock = TestClock(send, CpuLimit(request["seconds"]).get_seconds, dict)

            def start_test(index: int) -> None:
                differing.start_test()
                clock.start_test(index)
                sys.setprofile(differing.profile_call)

            def finish_test(index: int, record: Json) -> None:
                sys.setprofile(None)
                told = {"outcome": record["outcome"], "inputs": differing.counts}
                send({"kind": "test", "test": index, **told, **clock.stop_test()})

            self.suite.run(indexes, start_test, finish_test)

        return run

    def _create_swapped_work(self, request: Json, then: Callable[[Send], None]) -> Callable[[Send], None]:
        def run(send: Send) -> None:
            try:
                for path, text in self.build_patched_texts(request).items():
                    self._swapper.swap_functions(path, self.texts[path], text, self._get_import_lines(path))
            except NeedsImport as reason:
                send({"kind": "verdict", "verdict": "module", "reason": str(reason)})
                return
            except (SyntaxError, ValueError):  # not valid Python
                send({"kind": "verdict", "verdict": "invalid"})
                return
            then(send)

        return run

    def instrument(self) -> None:
        """Compile the code with probes for tracing, if that is quicker than a tracer."""
        probes = Probes(self._recorder.get_relative_path, self._swapper)
        try:
            probes.prepare()
        except TracerWanted:
            return
        self._coverage, self.traces_quickly = probes, True

    def trace_original(self, indexes: Sequence[int], patience: CpuLimit, send: Send) -> None:
        """In a child: run the unchanged tests, each with its own coverage."""
        self._trace_tests(indexes, patience, send, self._coverage)

    def trace_patched(self, indexes: Sequence[int], patience: CpuLimit, send: Send) -> None:
        """In a child whose code may be changed: run tests, each with its own coverage."""
        self._trace_tests(indexes, patience, send, self._recorder)

    def _trace_tests(
        self, indexes: Sequence[int], patience: CpuLimit, send: Send, coverage: Recorder | Probes
    ) -> None:
        clock = TestClock(send, patience.get_seconds, lambda: {"lines": coverage.take_lines()})

        def start_test(index: int) -> None:
            coverage.take_lines()
            clock.start_test(index)

        def finish_test(index: int, record: Json) -> None:
            spent = clock.stop_test()
            patience.add_used(spent["cpu"])
            send({"kind": "test", "test": index, **record, **spent, "lines": coverage.take_lines()})

        coverage.start()
        for module, name in WORDING:
            told = getattr(sys.modules.get(module), name, None)
            if told is not None:
                setattr(sys.modules[module], name, coverage.wrap_unrecorded(told))
        self.suite.run(indexes, start_test, finish_test)

    def explain_failure(self, indexes: Sequence[int], patience: CpuLimit, send: Send) -> None:
        """In a child: run a failing test once more and send the statements behind the values at which it fails."""
        trail = ExecutionTrace(self._recorder.get_relative_path)
        clock = TestClock(send, patience.get_seconds, dict)

        def start_test(index: int) -> None:
            clock.start_test(index)
            trail.start()

        def finish_test(index: int, record: Json) -> None:
            trail.stop()
            self.name_frames(record)
            found: list[Json] = []
            if record["frames"]:
                path, line, _ = record["frames"][-1]
                found = compute_slice(trail.events, (path, line), self._read_text)
            send(
                {
                    "kind": "test",
                    "test": index,
                    "outcome": record["outcome"],
                    "steps": found,
                    **clock.stop_test(),
                }
            )

        self.suite.run(indexes, start_test, finish_test)

    def _read_text(self, path: str) -> str:
        whole = os.path.join(self._root, path)
        with open(whole, encoding="utf-8") as file:
            return Overlay.texts.get(whole) or file.read()

    def check_tests(self, indexes: Sequence[int], patience: CpuLimit, send: Send) -> None:
        """In a child: run the unchanged tests, untraced, to measure their time and whether they are steady."""
        clock = TestClock(send, patience.get_seconds, dict)

        def finish_test(index: int, record: Json) -> None:
            said = {"outcome": record["outcome"], "message": record.get("message", "")}
            spent = clock.stop_test()
            patience.add_used(spent["cpu"])
            send({"kind": "test", "test": index, **said, **spent})

        self.suite.run(indexes, clock.start_test, finish_test)

    def _get_import_lines(self, path: str) -> set[int]:
        return set(self._imported.get(self._recorder.get_relative_path(path), ()))

    def name_frames(self, record: Json) -> None:
        frames = [
            [self._recorder.get_relative_path(f), line, name] for f, line, name in record.get("frames", ())
        ]
        record["frames"] = [frame for frame in frames if frame[0]]
