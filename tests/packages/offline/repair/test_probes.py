"""Probes tell the same of what runs as a tracer, and what they cannot be put into is left to one."""

from __future__ import annotations

import ast
import asyncio
import builtins
import sys
import types
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from packages.offline.repair.engine.repair_engine import localize_faults
from packages.offline.repair.engine.validation import worker_process
from packages.offline.repair.localize.coverage_spectrum import Spectrum
from packages.offline.repair.patchwright_worker.live_code.line_probes import ProbedFile
from tests.tools.workspaces import workspace

PROGRAMS = {
    "branches": """
        def f(a):
            "What it does."
            if a > 3:
                return 1
            elif a > 2:
                b = 2
            else:
                b = 3
                while b < 6:
                    b += 1
                    if b == 5:
                        break
                else:
                    b = 9
            for each in range(a):
                continue
            else:
                b += 1
            return b

        def main():
            return [f(n) for n in (1, 3, 7)]
        """,
    "exceptions": """
        class Lost(Exception):
            pass

        def f(a):
            try:
                if a == 1:
                    raise Lost
                value = {"a": 1}[a]
            except Lost:
                value = 3
            except (
                KeyError
            ) as error:
                value = str(error)
                raise
            except ValueError:
                value = 5
            else:
                value += 1
            finally:
                a = 0
            return value

        def main():
            found = [f(1), f("a")]
            try:
                f("b")
            except LookupError:
                found.append(0)
            return found
        """,
    "what is defined inside": """
        import contextlib
        import functools

        double = lambda a: a * 2
        never = lambda a: (
            a
        )

        def once(function):
            @functools.wraps(function)
            def wrapper(*args):
                nonlocal count
                count += 1
                return function(*args)
            count = 0
            return wrapper

        @contextlib.contextmanager
        def opened():
            yield 1
            never_after_an_exception = 2

        class Box:
            "A box."
            size = 3
            def __init__(self, *items):
                super().__init__()
                self.__items = items
            @property
            def items(self):
                return sorted(
                    each
                    for each in self.__items
                )
            def unused(self):
                return None

        def main():
            class Inner(Box):
                other = 4
                def late(self): return self.other
            @once
            def doubled(a):
                global LAST
                LAST = double(a)
                return LAST
            with contextlib.suppress(ValueError), opened() as one:
                raise ValueError(one)
            return doubled(2), Box(3, 1).items, Inner().late(), (lambda: 7)()
        """,
    "what waits": """
        import asyncio

        def numbers():
            yield 1
            try:
                yield 2
                yield 3
            finally:
                done = True

        async def later(a):
            async with asyncio.Lock():
                await asyncio.sleep(0)
            return [each async for each in ticks(a)]

        async def ticks(a):
            for each in range(a):
                yield each

        def main():
            first = numbers()
            next(first); next(first)
            first.close()
            return asyncio.run(later(2))
        """,
    "patterns": """
        def f(a):
            match a:
                case []:
                    return 0
                case [x] if x > 1:
                    return 1
                case 5 | 6:
                    return 5
                case {"k": y}:
                    return y
                case _:
                    pass
            return 9

        def main():
            return f([]), f([2]), f([1]), f({"k": 4})
        """,
}


def run(code: types.CodeType, record: Callable[[], None] = lambda: None) -> object:
    module = types.ModuleType("program")
    exec(code, module.__dict__)
    record()
    return module.main()


def traced(text: str) -> tuple[object, set[int]]:
    """What the program gives, and the lines that ran by the interpreter's own word."""
    lines: set[int] = set()

    def tracer(frame: types.FrameType, event: str, argument: object) -> object:
        if frame.f_code.co_filename != "program.py":
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return tracer

    before = sys.gettrace()
    try:
        return run(compile(text, "program.py", "exec"), lambda: sys.settrace(tracer)), lines  # type: ignore[arg-type]
    finally:
        sys.settrace(before)


def probed(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[object, set[int]]:
    file, tree = ProbedFile("program.py", "__patchwright_ran_t__"), ast.parse(text)
    file.instrument_tree(tree)
    monkeypatch.setattr(builtins, file.variable, file.ran, raising=False)
    found = run(compile(tree, "program.py", "exec", dont_inherit=True), lambda: file.take_lines() and None)
    return found, set(file.take_lines())


def statements(text: str) -> list[int]:
    """First lines of what is inside functions, but for texts and declarations, which nothing is run for."""
    return sorted(
        node.lineno
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in (ast.walk(function) if not isinstance(function, ast.Lambda) else [function.body])
        if node is not function
        and isinstance(node, ast.stmt | ast.expr)
        and not isinstance(node, ast.Global | ast.Nonlocal)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and (isinstance(node, ast.stmt) or isinstance(function, ast.Lambda))
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_probes_tell_the_same_of_every_statement_as_a_tracer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = dedent(PROGRAMS[name])
    plain, by_tracer = traced(text)
    found, by_probes = probed(text, monkeypatch)
    assert found == plain
    every = statements(text)
    assert [line for line in every if line in by_probes] == [line for line in every if line in by_tracer]
    assert {line for line in every if line in by_tracer} < set(every), "some statement is never run"


def test_what_ran_is_told_once_and_then_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    file, tree = (
        ProbedFile("a.py", "__patchwright_ran_t__"),
        ast.parse("def f(a):\n    if a:\n        return 1\n    return 2\n"),
    )
    file.instrument_tree(tree)
    monkeypatch.setattr(builtins, file.variable, file.ran, raising=False)
    space: dict[str, Callable[[int], int]] = {}
    exec(compile(tree, "a.py", "exec"), space)
    file.take_lines()
    assert space["f"](1) == 1
    assert file.take_lines() == [2, 3]
    assert file.take_lines() == []
    assert space["f"](0) == 2
    assert file.take_lines() == [2, 4]
    assert space["f"](1) == 1
    assert file.take_lines() == [2, 3]


def spectrum(folder: Path, files: dict[str, str]) -> Spectrum:
    folder.mkdir(exist_ok=True)
    return asyncio.run(localize_faults(workspace(folder, files), (), 100))[1]


TEST = "from low import low\n\n\ndef test_low():\n    assert low(3) == 4\n\n\ndef test_none():\n    assert True\n"


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("what", "files"),
    [
        ("objects that the tests have put out of the collector's sight", {
            "low.py": "def low(a):\n    return a + 1\n", "test_low.py": TEST,
            "conftest.py": "import gc\n\n\ndef pytest_collection_finish(session):\n    gc.freeze()\n",
        }),
        ("functions that a decorator has made of others' code", {
            "low.py": "import types\n\n\ndef anew(f):\n    code = f.__code__.replace(co_name='x')\n"
            "    return types.FunctionType(code, globals())\n\n\n@anew\ndef low(a):\n    return a + 1\n",
            "test_low.py": TEST,
        }),
        ("a module that a test imports", {
            "low.py": "def low(a):\n    return a + 1\n",
            "test_low.py": "def test_low():\n    from low import low\n\n    assert low(3) == 4\n\n\n"
            "def test_none():\n    assert True\n",
        }),
        ("a module that a test imports anew", {
            "low.py": "def low(a):\n    return a + 1\n",
            "test_low.py": "import importlib\n\nimport low\n\n\ndef test_low():\n    assert low.low(3) == 4\n"
            "    importlib.reload(low)\n    assert low.low(1) == 2\n\n\ndef test_none():\n    assert True\n",
        }),
    ],
)  # fmt: skip
def test_what_tests_run_is_known_of(what: str, files: dict[str, str], tmp_path: Path) -> None:
    found = spectrum(tmp_path, files)
    low, none = found.tests
    assert [test.standing for test in found.tests] == ["passed", "passed"], what
    line = files["low.py"][: files["low.py"].index("return a + 1")].count("\n") + 1
    assert line in low.lines["low.py"]
    assert line not in none.lines.get("low.py", ())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_test_that_takes_as_long_as_all_before_it_is_slow_and_not_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All times are a third of those of real projects: the limit, too."""
    monkeypatch.setattr(worker_process, "SLOW", worker_process.SLOW / 3)
    burn = "import time\n\n\ndef burn(seconds):\n    until = time.process_time() + seconds\n"
    burn += "    while time.process_time() < until:\n        pass\n"
    head, long = "import pytest\nfrom burn import burn\n\n\n", "def test_long():\n    burn(0.6)\n\n\n"
    some = "@pytest.mark.parametrize('n', range(5))\ndef test_some(n):\n    burn(0.13)\n\n\n"
    found = spectrum(tmp_path / "after", {"burn.py": burn, "test_burn.py": head + some + long})
    assert {test.standing for test in found.tests} == {"passed"}
    quick = some.replace("some", "quick").replace("0.13", "0.01")
    found = spectrum(tmp_path / "before", {"burn.py": burn, "test_burn.py": head + quick + long + some})
    assert {test.standing for test in found.tests} == {"passed"}
