"""The two ways to try a patch: warm, from collected tests, and cold, with everything imported anew."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from .baseline import Baseline
from .children import TestClock
from .frameworks import Framework, Suite
from .patching import NeedsImport, Overlay, Swapper, apply_edits, compile_source
from .recorder import Recorder
from .screening import Screener
from .trials import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .wire import Json, Send


class Knowledge:
    """What the other side has told us: the files' texts, the tests' names and their limits in CPU seconds."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.ids: list[str] = []
        self.limits: list[float] = []

    def learn(self, message: Json) -> None:
        self.texts.update(message.get("texts", {}))
        self.ids = message.get("ids", self.ids)
        self.limits = message.get("limits", self.limits)

    def patched(self, request: Json) -> dict[str, str]:
        by_path: dict[str, list[Any]] = {}
        for path, *edit in request["edits"]:
            by_path.setdefault(path, []).append(edit)
        return {path: apply_edits(self.texts[path], edits) for path, edits in by_path.items()}

    def run(self, suite: Suite, indexes: Sequence[int], request: Json, stop: str, send: Send) -> None:
        factor: float = request.get("factor", 1.0)
        ceiling: float = request.get("ceiling", 60.0)
        floor: float = request.get("floor", 0.0)
        clock = TestClock(send, lambda index: max(floor, min(ceiling, self.limits[index] * factor)), dict)
        passed = False

        def after(index: int, record: Json) -> None:
            nonlocal passed
            spent = clock.after()
            send({"kind": "test", "test": index, "outcome": record["outcome"], **spent})
            good = record["outcome"] in ("passed", "skipped")
            passed = passed or good
            if not good and (stop == "first" or (stop == "unless-some" and not passed)):
                send({"kind": "over"})
                os._exit(0)

        suite.run(indexes, clock.before, after)


class Cold(Knowledge):
    """Children collect anew, with the patched files served by the import hook."""

    def __init__(self, framework: Framework) -> None:
        super().__init__()
        self._framework = framework

    def work(self, request: Json, stage: Json) -> Callable[[Send], None]:
        def run(send: Send) -> None:
            texts = self.patched(request)
            try:
                for path, text in texts.items():
                    compile_source(text, path)
            except (SyntaxError, ValueError):  # not a program at all
                send({"kind": "verdict", "verdict": "invalid"})
                return
            Overlay.texts.update(texts)
            self._framework.session(lambda suite: self._judge(suite, request, stage, send))

        return run

    def _judge(self, suite: Suite, request: Json, stage: Json, send: Send) -> None:
        places = {name: place for place, name in enumerate(suite.ids)}
        numbers = [index for index in stage["tests"] if self.ids[index] in places]
        if len(numbers) < len(stage["tests"]):  # the patch keeps a test module from being imported
            send({"kind": "verdict", "verdict": "failed"})
            return
        self.run(
            Renumbered(suite, {i: places[self.ids[i]] for i in numbers}),
            numbers,
            request,
            stage["stop"],
            send,
        )
        # The end of a session is for people: summaries, for which plugins import what they did not need before.
        send({"kind": "over"})
        os._exit(0)


class Renumbered(Suite):
    """A suite whose tests are called by the numbers of an earlier collection."""

    def __init__(self, suite: Suite, places: dict[int, int]) -> None:
        super().__init__()
        self._suite, self._places = suite, places
        self._back = {there: here for here, there in places.items()}

    def run(
        self, indexes: Sequence[int], before: Callable[[int], None], after: Callable[[int, Json], None]
    ) -> None:
        back = self._back
        there = [self._places[index] for index in indexes]
        self._suite.run(there, lambda i: before(back[i]), lambda i, record: after(back[i], record))


class Warm(Knowledge):
    """Children start from collected tests and imported modules; functions get new code in place."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.served = False
        self._root = root
        self._recorder = Recorder(root)
        self._recorder.start()
        self._imported: dict[str, list[int]] = {}

    def take_over(self, suite: Suite, requests: int, send: Send, config: Json) -> None:
        self.served = True
        self._imported = self._recorder.take()
        self._recorder.stop()
        self._suite = suite
        self._swapper = Swapper(self._root)
        self._screener = Screener(suite, self._swapper, self._ran_at_import)
        gc.collect()
        gc.freeze()  # children share these pages as long as no collector touches them
        files = [self._recorder.name(path) for path in suite.files]
        send({"kind": "collected", "ids": suite.ids, "files": files, "errors": suite.errors})
        Baseline(self, suite, config).run()
        send({"kind": "traced", "imported": self._imported})
        Server(requests, send, config, self).serve()

    def screen(self, request: Json, done: int) -> Callable[[Send], None]:
        """Judge many candidates by one test, one after the other in one child, from the one numbered `done` on."""
        screener = self._screener
        screener.know(self.texts, {edit[0] for edits in request["candidates"] for edit in edits})
        return lambda send: screener.run(request, done, send)

    def work(self, request: Json, stage: Json) -> Callable[[Send], None]:
        def run(send: Send) -> None:
            try:
                for path, text in self.patched(request).items():
                    self._swapper.swap(path, self.texts[path], text, self._ran_at_import(path))
            except NeedsImport as reason:
                send({"kind": "verdict", "verdict": "module", "reason": str(reason)})
                return
            except (SyntaxError, ValueError):  # not a program at all
                send({"kind": "verdict", "verdict": "invalid"})
                return
            self.run(self._suite, stage["tests"], request, stage["stop"], send)

        return run

    def trace(self, indexes: Sequence[int], limit: float, send: Send) -> None:
        """In a child: run the tests, each with its own coverage."""
        clock = TestClock(send, lambda index: limit, lambda: {"lines": self._recorder.take()})

        def before(index: int) -> None:
            self._recorder.take()
            clock.before(index)

        def after(index: int, record: Json) -> None:
            spent = clock.after()
            send({"kind": "test", "test": index, **record, **spent, "lines": self._recorder.take()})

        self._recorder.start()
        self._suite.run(indexes, before, after)

    def check(self, indexes: Sequence[int], limit: float, send: Send) -> None:
        """In a child: run tests as they are, untraced, to learn how long they take and whether they are steady."""
        clock = TestClock(send, lambda index: limit, dict)

        def after(index: int, record: Json) -> None:
            send({"kind": "test", "test": index, "outcome": record["outcome"], **clock.after()})

        self._suite.run(indexes, clock.before, after)

    def _ran_at_import(self, path: str) -> set[int]:
        return set(self._imported.get(self._recorder.name(path), ()))

    def name_frames(self, record: Json) -> None:
        frames = [[self._recorder.name(f), line, name] for f, line, name in record.get("frames", ())]
        record["frames"] = [frame for frame in frames if frame[0]]
