"""Test frameworks: collect the tests of a project, and run any of them in a given order."""

from __future__ import annotations

import copy
import importlib.util
import os
import sys
import tempfile
import traceback
import types
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..process.json_lines import MESSAGE
from .assertion_texts import find_differing_texts, find_unittest_texts
from .doctests import format_example_failure, get_first_failure, is_doctest, preserve_namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..process.json_lines import Json


class Suite(ABC):
    """Collected tests. `run` executes some of them in the given order and reports each as it ends.

    files: the file of each; empty if that is no test file, as for examples in docstrings
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.files: list[str] = []
        self.errors: list[Json] = []

    @abstractmethod
    def run(
        self, indexes: Sequence[int], before: Callable[[int], None], after: Callable[[int, Json], None]
    ) -> None:
        """Run tests; call `before` with an index when a test starts, `after` with its outcome when it has ended."""

    def can_skip_hooks(self, index: int) -> bool:
        """Return whether `run_once` omits the framework's hooks, which few tests need."""
        return False

    def run_once(self, index: int, *, hooks: bool = False) -> Json:
        """Run one test and return its outcome, as quickly as the framework allows, or with its hooks."""
        found: Json = {}
        self.run([index], lambda _: None, lambda _, record: found.update(record))
        return found


class Framework(ABC):
    """Collection of a project's tests. `problem` is the reason why a session never reached its tests."""

    name = ""

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments
        self.problem = ""

    def prepare(self) -> None:  # noqa: B027 - most frameworks are imported already
        """Import modules that every session imports, but none of the project."""

    @abstractmethod
    def run_session(self, take_over: Callable[[Suite], None]) -> None:
        """Collect, hand over the tests, and clean up when `take_over` returns."""

    @staticmethod
    def choose_framework(arguments: list[str]) -> Framework:
        if importlib.util.find_spec("pytest"):
            return Pytest(arguments)
        return Unittest(arguments)


# pytest's exit code for a usage error.
UNKNOWN_OPTION = 4


class StderrCapture:
    """Standard error until the tests are collected: usually the reason why they cannot be."""

    def __init__(self) -> None:
        self._kept, self._file = os.dup(2), tempfile.TemporaryFile()  # noqa: SIM115 - open until all is collected
        os.dup2(self._file.fileno(), 2)

    def restore_stderr(self) -> str:
        """Return the end of it; from now on standard error is not captured."""
        if self._file.closed:
            return ""
        os.dup2(self._kept, 2)
        os.close(self._kept)
        with self._file as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - MESSAGE))
            return file.read().decode("utf-8", "replace").strip()


class Pytest(Framework):
    name = "pytest"
    # Plugins that interfere: other processes, other orders, other tracers.
    NEUTRAL = (
        ("xdist", ("-n0",)),
        ("pytest_cov", ("--no-cov",)),
        ("pytest_randomly", ("-p", "no:randomly")),
        ("pytest_random_order", ("-p", "no:random_order")),
    )

    # Environment variables that name plugins of the project.
    SETTINGS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        import pytest

        self._main = pytest.main

    def prepare(self) -> None:
        # Asking for all versions loads the plugins; without conftest and settings none of them is the
        # project's.
        kept = {name: os.environ.pop(name) for name in self.SETTINGS if name in os.environ}
        try:
            self._main(["-VV", "--noconftest", "-c", os.devnull, "-p", "no:cacheprovider"])
        finally:
            os.environ.update(kept)

    def run_session(self, take_over: Callable[[Suite], None]) -> None:
        # The shortest tracebacks: no user reads them, and the others cost more than most tests do.
        options = ["-q", "-s", "--tb=native", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
        options.append("--rootdir=" + os.getcwd())  # the same names, whichever files are collected
        neutral = [
            flag for module, flags in self.NEUTRAL if importlib.util.find_spec(module) for flag in flags
        ]
        # A plugin that is installed and not loaded knows no options.
        if self._run_pytest([*options, *neutral], take_over) == UNKNOWN_OPTION and neutral:
            self._run_pytest(options, take_over)

    def _run_pytest(self, options: list[str], take_over: Callable[[Suite], None]) -> int:
        said = StderrCapture()

        def hand_over(suite: Suite) -> None:
            said.restore_stderr()
            take_over(suite)

        plugin = _create_pytest_plugin(hand_over)
        try:
            status = self._main([*options, *self.arguments], plugins=[plugin])
        except SystemExit as stop:  # a conftest that gives up
            status = stop.code if isinstance(stop.code, int) else 1
        stopped = "pytest stopped with status %d before any test ran" % int(status)
        self.problem = plugin.problem or "\n".join(filter(None, [stopped, said.restore_stderr()]))
        return int(status)


def _create_pytest_plugin(take_over: Callable[[Suite], None]) -> Any:
    import pytest

    class Plugin(Suite):
        def __init__(self) -> None:
            super().__init__()
            self.problem = ""
            self._items: list[Any] = []
            self._now: Json = {}
            self._texts: list[list[str]] = []

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                self.errors.append({"where": report.nodeid, "message": str(report.longrepr)[-MESSAGE:]})

        def pytest_internalerror(self, excrepr: Any) -> None:
            self.problem = str(excrepr)[-MESSAGE:]

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: Any) -> bool:
            self._items = session.items
            self.ids = [item.nodeid for item in session.items]
            # As Hypothesis' own option does, for which each session would import it, whether it is used or
            # not.
            if "hypothesis.core" in sys.modules:
                sys.modules["hypothesis.core"].global_force_seed = 0  # type: ignore[attr-defined]
            self.files = ["" if is_doctest(item) else str(item.fspath) for item in session.items]
            take_over(self)
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
            # The exception of a unittest.TestCase is stored, for a hook that comes after this one.
            raised = call.excinfo or next(iter(getattr(item, "_excinfo", None) or ()), None)
            if raised is not None:
                self._now.update(describe_failure(raised.value, raised.tb))
                if self._texts and isinstance(raised.value, AssertionError):
                    self._now["texts"] = self._texts

        @pytest.hookimpl(tryfirst=True)
        def pytest_assertrepr_compare(self, op: str, left: Any, right: Any) -> None:
            self._texts = find_differing_texts(left, right) if op == "==" else []

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                self._now["outcome"] = "failed"
                self._now.setdefault("message", str(report.longrepr)[-MESSAGE:])
            elif self._now["outcome"] != "failed" and (report.skipped or hasattr(report, "wasxfail")):
                self._now["outcome"] = "skipped"  # or expected to fail, whether it did or not

        def run(
            self, indexes: Sequence[int], before: Callable[[int], None], after: Callable[[int, Json], None]
        ) -> None:
            for position, index in enumerate(indexes):
                item = self._items[index]
                following = self._items[indexes[position + 1]] if position + 1 < len(indexes) else None
                self._now, self._texts = {"outcome": "passed"}, []
                before(index)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                after(index, self._now)

        def can_skip_hooks(self, index: int) -> bool:
            item = self._items[index]
            known = getattr(item, "_initrequest", None) and hasattr(item.session._setupstate, "setup")
            # A hook holds the log for `caplog`, and hooks know whether a failure is expected.
            logged = "caplog" in getattr(item, "fixturenames", ())
            return bool(known) and not logged and not list(item.iter_markers("xfail"))

        def run_once(self, index: int, *, hooks: bool = False) -> Json:
            short = not hooks and self.can_skip_hooks(index)
            return _run_without_hooks(self._items[index]) if short else super().run_once(index)

    return Plugin()


def _run_without_hooks(item: Any) -> Json:
    """Run one test as pytest does, without reports: set up, run, tear down (pytest 7 and later)."""
    import pytest

    state, error = item.session._setupstate, None
    state.stack.clear()  # left over from an interrupted run
    item._initrequest()
    item.__dict__.pop("_excinfo", None)
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    kept = dict(parameters)
    parameters.update(_copy_parameters(kept))
    try:
        with preserve_namespace(item):
            state.setup(item)
            item.runtest()
    except (Exception, SystemExit, KeyboardInterrupt, pytest.fail.Exception, pytest.skip.Exception) as raised:
        error = raised
    finally:
        try:
            state.teardown_exact(None)
        except Exception as raised:  # a fixture's end is part of the test
            error = error or raised
        item._request, item.funcargs = False, None
        parameters.update(kept)
    noted = item.__dict__.pop("_excinfo", None)  # where a unittest.TestCase's failures are put
    if error is None and noted:
        error = noted[0].value
    if error is None or isinstance(error, pytest.skip.Exception):
        return {"outcome": "skipped" if error else "passed"}
    return {"outcome": "failed", **describe_failure(error, None)}


_PLAIN = (int, float, str, bytes, bool, type(None), complex)


def _copy_parameters(parameters: Json) -> Json:
    """Copy lists and similar values, which a program may change in place: the next run must start from the same."""
    return {name: copy.deepcopy(value) for name, value in parameters.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    """Return whether it consists of built-in values only, so that a copy is equivalent."""
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(each) for key, each in value.items())
    if type(value) in (list, tuple, set):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def describe_failure(error: BaseException, trace: types.TracebackType | None) -> Json:
    first = get_first_failure(error)
    if first is not error:
        error, trace = first, first.__traceback__ if trace else None
    frames = [[f.filename, f.lineno, f.name] for f in traceback.extract_tb(trace, limit=-60)] if trace else []
    try:
        message = format_example_failure(error) or str(error)
    except Exception as broken:  # an exception of the project whose text cannot be made
        message = "(no text: %r)" % type(broken).__name__
    texts = find_unittest_texts(trace)
    return {"type": type(error).__name__, "message": message[:MESSAGE], "frames": frames, "texts": texts}


class Unittest(Framework):
    name = "unittest"

    def run_session(self, take_over: Callable[[Suite], None]) -> None:
        import unittest

        loader = unittest.TestLoader()
        tests: list[Any] = []
        for start in self.arguments or _list_unittest_folders(os.getcwd()):
            folder, name = (start, "test*.py") if os.path.isdir(start) else os.path.split(start)
            top = os.getcwd() if os.path.exists(os.path.join(folder, "__init__.py")) else None
            tests.extend(_iter_tests(loader.discover(folder or ".", pattern=name, top_level_dir=top)))
        suite = UnittestSuite([t for t in tests if type(t).__name__ != "_FailedTest"])
        suite.errors = [{"where": "", "message": str(text)[-MESSAGE:]} for text in loader.errors]
        take_over(suite)


def _list_unittest_folders(root: str) -> list[str]:
    return [root] + [os.path.join(root, f) for f in ("tests", "test") if os.path.isdir(os.path.join(root, f))]


def _iter_tests(suite: Any) -> Iterator[Any]:
    for each in suite:
        if hasattr(each, "__iter__"):
            yield from _iter_tests(each)
        else:
            yield each


class UnittestSuite(Suite):
    def __init__(self, tests: list[Any]) -> None:
        super().__init__()
        distinct = {test.id(): test for test in tests}
        self.ids = list(distinct)
        self._tests = list(distinct.values())
        self.files = [
            getattr(sys.modules.get(type(t).__module__), "__file__", None) or "" for t in self._tests
        ]

    def run(
        self, indexes: Sequence[int], before: Callable[[int], None], after: Callable[[int, Json], None]
    ) -> None:
        import unittest

        places = {self.ids[index]: index for index in indexes}
        waiting = dict.fromkeys(indexes)
        skipped: set[str] = set()  # classes and modules whose set-up skips all their tests

        class Result(unittest.TestResult):
            def __init__(self) -> None:
                super().__init__()
                self.now: Json = {"outcome": "passed"}

            def startTest(self, test: Any) -> None:
                super().startTest(test)
                self.now = {"outcome": "passed"}
                before(places[test.id()])

            def stopTest(self, test: Any) -> None:
                super().stopTest(test)
                waiting.pop(places[test.id()], None)
                after(places[test.id()], self.now)

            def _record_failure(self, error: Any) -> None:
                self.now.update({"outcome": "failed", **describe_failure(error[1], error[2])})

            def addError(self, test: Any, err: Any) -> None:
                self._record_failure(err)

            def addFailure(self, test: Any, err: Any) -> None:
                self._record_failure(err)

            def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
                if err is not None:
                    self._record_failure(err)

            def addSkip(self, test: Any, reason: str) -> None:
                if not isinstance(test, unittest.TestCase):
                    skipped.add(test.id())
                elif self.now["outcome"] != "failed":
                    self.now["outcome"] = "skipped"

            def addExpectedFailure(self, test: Any, err: Any) -> None:
                self.now["outcome"] = "skipped"

            def addUnexpectedSuccess(self, test: Any) -> None:
                self.now["outcome"] = "failed"

        tests = [self._tests[index] for index in indexes]
        unittest.TestSuite(tests).run(Result())
        for index in list(waiting):  # a class or module fixture failed, so its tests never started
            before(index)
            if skipped & _list_fixture_names(self._tests[index]):
                after(index, {"outcome": "skipped"})
            else:
                after(index, {"outcome": "failed", "message": "set-up of the class or module failed"})


def _list_fixture_names(test: Any) -> set[str]:
    """Return unittest's names for the fixtures of a test's class and module."""
    kind = type(test)
    return {
        "setUpClass (%s.%s)" % (kind.__module__, kind.__qualname__),
        "setUpModule (%s)" % kind.__module__,
    }
