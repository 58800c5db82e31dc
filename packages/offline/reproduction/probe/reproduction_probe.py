"""Runs the statements of a reproduction in the sandbox and writes what each of them did: `probe.py JOB RESULT`.

It runs under the project's own Python, from 3.8 on, and imports nothing of Patchwright.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import json
import os
import sys
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

MOST_TEXT = 6000
MOST_CALLS = 4000
ALIASES = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "mpl": "matplotlib",
    "xr": "xarray",
    "sns": "seaborn",
    "nx": "networkx",
    "sp": "sympy",
    "sy": "sympy",
    "sm": "sympy",
    "tf": "tensorflow",
    "dt": "datetime",
}
"""Names under which modules are imported by habit."""

STANDARD = set(getattr(sys, "stdlib_module_names", ())) or {
    "os", "sys", "re", "json", "math", "time", "datetime", "decimal", "functools", "itertools", "collections",
    "random", "string", "pickle", "copy", "io", "inspect", "typing", "uuid", "threading", "operator", "warnings",
    "logging", "pathlib", "tempfile", "textwrap", "enum", "contextlib", "fractions", "traceback", "unittest",
}  # fmt: skip
DISPLAYS = (("sympy", "sympy.printing.pretty", "pretty"), ("sympy", "sympy.printing.latex", "latex"))
"""Package whose values an interactive session shows differently; module and function that show them."""


def main(job_path: str, result_path: str) -> None:
    with open(job_path, encoding="utf-8") as file:
        job = json.load(file)
    os.chdir(tempfile.mkdtemp())
    warnings.simplefilter("ignore")
    sys.path[:0] = job["paths"]
    sys.argv = ["reproduction.py"]
    if job.get("mutant"):
        install_mutant(job["mutant"]["path"], job["mutant"]["text"])
    result = Runner(job).run()
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump(result, file)
    sys.stdout.flush()
    os._exit(0)  # threads and exit handlers of the snippet do not delay the end


def install_mutant(path: str, text: str) -> None:
    """Make the import of one file compile another text."""
    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: Any, fullname: str) -> types.CodeType | None:
        if os.path.realpath(loader.get_filename(fullname)) == path:
            return compile(text, loader.path, "exec", dont_inherit=True)
        return plain(loader, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def explain_assertion(node: ast.stmt) -> list[ast.stmt]:
    """Return an assertion with the values in its message: a run with other values has another result."""
    if not isinstance(node, ast.Assert) or node.msg is not None:
        return [node]
    test = node.test
    parts: list[ast.expr] = [test]
    check: ast.expr = ast.Name("seen_1", ast.Load())
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        parts = [test.left, test.comparators[0]]
        check = ast.Compare(check, test.ops, [ast.Name("seen_2", ast.Load())])
    names = ["seen_%d" % number for number in range(1, len(parts) + 1)]
    message = ast.parse("repr((%s,))[:2000]" % ", ".join(names), mode="eval").body
    made: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], part) for name, part in zip(names, parts)
    ]
    made.append(ast.Assert(check, message))
    return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in made]


class Runner:
    """Runs the statements of one job in a module of their own."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.root = os.path.realpath(job["root"]) + os.sep
        self.module = types.ModuleType("reproduction")
        self.module.__file__ = os.path.join(os.getcwd(), "reproduction.py")
        self.module.__dict__["__builtins__"] = builtins
        sys.modules["reproduction"] = self.module
        self.names = self.module.__dict__

    def run(self) -> dict[str, Any]:
        """Return what each statement did."""
        result: dict[str, Any] = {"imports": [], "missing": [], "setup_error": None, "steps": []}
        for source in self.job["setup"]:
            step = self.run_statement(source)
            if step["error"]:
                result["setup_error"] = step["error"]
                return result
        for name in self.job["names"]:
            line = self.resolve(name)
            if line is None:
                result["missing"].append(name)
            elif line:
                result["imports"].append(line)
        for source in self.job["statements"]:
            result["steps"].append(self.run_statement(source))
        return result

    # -- names ------------------------------------------------------------------------------------

    def resolve(self, name: str) -> str | None:
        """Return the line that defines a name, "" if it is defined, None if nothing defines it."""
        if name in self.names or hasattr(builtins, name) or self.is_in_star_import(name):
            return ""
        for line in self.suggest(name):
            try:
                exec(compile(line, "<import>", "exec", dont_inherit=True), self.names)
            except BaseException:  # a suggestion that does not hold
                self.names.pop(name, None)
                continue
            if name in self.names:
                return line
        return None

    def suggest(self, name: str) -> Iterator[str]:
        """Yield lines that may define a name, the likeliest first."""
        known = self.job["known"].get(name)
        if known:
            yield str(known)
        for package in self.job["packages"]:
            if name == package:
                yield "import " + package
            yield "from %s import %s" % (package, name)
        if name in ALIASES:
            yield "import %s as %s" % (ALIASES[name], name)
        for module in self.job["places"].get(name, ()):
            parts = module.split(".")
            for size in range(1, len(parts) + 1):
                yield "from %s import %s" % (".".join(parts[:size]), name)
        if name in STANDARD:
            yield "import " + name
        if name in self.job["letters"]:
            yield str(self.job["letters"][name])
        if len(name) > 2 and importlib.util.find_spec(name) is not None:  # installed: pytest, numpy
            yield "import " + name

    def is_in_star_import(self, name: str) -> bool:
        """Return whether a star import of the statements brings the name."""
        for module in self.job["stars"]:
            try:
                found = importlib.import_module(module)
            except BaseException:  # a module that cannot be imported, or that exits, brings no names
                continue
            if name in getattr(found, "__all__", ()) or (
                not hasattr(found, "__all__") and hasattr(found, name)
            ):
                return True
        return False

    # -- statements -------------------------------------------------------------------------------

    def run_statement(self, source: str) -> dict[str, Any]:
        """Run one statement and return what it did."""
        step: dict[str, Any] = {"stdout": "", "shows": {}, "error": None, "calls": []}
        calls: set[tuple[str, int, str]] = set()
        out, before = io.StringIO(), (sys.stdout, sys.stderr)
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            step["error"] = self.describe_error(error)
            step["error"]["syntax"] = True
            return step
        sys.stdout = sys.stderr = out
        sys.setprofile(self.make_recorder(calls))
        try:
            self.execute(tree, step)
        except BaseException as error:
            sys.setprofile(None)
            step["error"] = self.describe_error(error)
        finally:
            sys.setprofile(None)
            sys.stdout, sys.stderr = before
        step["stdout"] = out.getvalue()[:MOST_TEXT]
        step["calls"] = sorted(calls)[:MOST_CALLS]
        return step

    def execute(self, tree: ast.Module, step: dict[str, Any]) -> None:
        """Run a statement; record its value as a session would show it."""
        tree.body = [each for node in tree.body for each in explain_assertion(node)]
        body = tree.body
        last: ast.Expression | None = None
        if body and isinstance(body[-1], ast.Expr):
            last = ast.Expression(body[-1].value)
            tree.body = body[:-1]
        exec(compile(tree, "<reproduction>", "exec", dont_inherit=True), self.names)
        if last is None:
            return
        value = eval(compile(last, "<reproduction>", "eval", dont_inherit=True), self.names)
        if value is None:
            return
        self.names["_"] = value
        step["shows"]["repr"] = repr(value)[:MOST_TEXT]
        try:
            step["shows"]["str"] = str(value)[:MOST_TEXT]
            if type(value).__name__ in ("str", "bytes"):
                return
            for package, module, function in DISPLAYS:
                if package in self.job["packages"]:
                    step["shows"][function] = getattr(importlib.import_module(module), function)(value)[
                        :MOST_TEXT
                    ]
        except Exception:  # only one of several ways to show it
            pass

    def make_recorder(self, calls: set[tuple[str, int, str]]) -> Callable[[types.FrameType, str, Any], None]:
        """Return a profile function that records the project's functions as they are called."""
        seen: set[types.CodeType] = set()
        root = self.root

        def record(frame: types.FrameType, event: str, argument: Any) -> None:
            if event != "call":
                return
            code = frame.f_code
            if code in seen:
                return
            seen.add(code)
            path = os.path.realpath(code.co_filename)
            if path.startswith(root) and code.co_flags & inspect.CO_OPTIMIZED:  # no module, no class body
                calls.add((path[len(root) :], code.co_firstlineno, code.co_name))

        return record

    def describe_error(self, error: BaseException) -> dict[str, Any]:
        """Return the fields of an exception."""
        frames = []
        for frame in traceback.extract_tb(error.__traceback__)[-60:]:
            path = os.path.realpath(frame.filename) if os.sep in frame.filename else frame.filename
            inside = path.startswith(self.root)
            frames.append([path[len(self.root) :] if inside else path, frame.lineno or 0, frame.name, inside])
        try:
            message = str(error)
        except Exception:  # __str__ is code of the project, and may raise
            message = "(cannot be shown)"
        return {
            "type": type(error).__name__,
            "types": [each.__name__ for each in type(error).__mro__],
            "message": message[:MOST_TEXT],
            "frames": [each for each in frames if each[0] != os.path.realpath(__file__)],
            "syntax": False,
        }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
