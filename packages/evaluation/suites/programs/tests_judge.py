"""Checker that runs published tests, in the sandbox, as a script without imports of ours, for Python 3.8 and later.

    tests_judge.py functions MODULE     each function `test_…` of a module
    tests_judge.py script FILE          a program that asserts
    tests_judge.py unittest FILE…       unittest's tests
    tests_judge.py arguments ARGUMENT…  tests of `python -m unittest ARGUMENT…`

The program under test shares a process with its tests, and may end it: `os._exit(0)` is no success. The tests run in a
child; only after the last of them it gets a random word, and its report counts by that word alone. The verdict is the
parent's, which imports nothing of the worktree. Started with -I: the worktree's modules do not replace Python's.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from contextlib import suppress

READY = b"ready\n"


def judge(arguments: list[str]) -> int:
    """Run the tests in a child. Returns the exit code: 0 if some ran, and all of them passed."""
    here, there = os.pipe()
    command = [sys.executable, "-I", "-B", os.path.abspath(__file__), "child", str(there), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(there,)) as child:
        os.close(there)
        word = secrets.token_hex(16).encode()
        report = b""
        with os.fdopen(here, "rb") as answers:
            if answers.readline() == READY and child.stdin is not None:
                with suppress(OSError):  # it has died meanwhile
                    child.stdin.write(word + b"\n")
                    child.stdin.flush()
                report = answers.readline()
        child.kill()
    said, _, counts = report.partition(b" ")
    ran, _, failed = counts.strip().partition(b" ")
    if said != word or not (ran.isdigit() and failed.isdigit()):
        print("the tests did not come to their end")
        return 1
    print("%d tests, %d failed" % (int(ran), int(failed)))
    return 0 if int(ran) and not int(failed) else 1


def run_tests(report: int, kind: str, names: list[str]) -> None:
    """Run the tests, and report them by the word that comes after the last one."""
    sys.path.append(os.getcwd())
    ran, failed = KINDS[kind](names)
    os.write(report, READY)
    word = sys.stdin.readline().strip()
    os.write(report, ("%s %d %d\n" % (word, ran, failed)).encode())


def run_functions(names: list[str]) -> tuple[int, int]:
    """Return how many functions there are, and how many fail."""
    import importlib

    module = importlib.import_module(names[0])
    tests = [value for name, value in sorted(vars(module).items()) if name.startswith("test_")]
    failed = 0
    for test in tests:
        try:
            test()
        except BaseException as error:  # an exit is a failure, too
            print(test.__name__, type(error).__name__)
            failed += 1
    return len(tests), failed


def run_script(names: list[str]) -> tuple[int, int]:
    """Return 1, and 0 if the script comes to its end, else 1."""
    with open(names[0], encoding="utf-8") as file:
        text = file.read()
    try:
        exec(compile(text, names[0], "exec"), {"__name__": "__main__"})
    except BaseException as error:  # an exit is a failure, too
        print(type(error).__name__, error)
        return 1, 1
    return 1, 0


def run_unittest(names: list[str]) -> tuple[int, int]:
    """Return how many tests ran, and how many did not pass."""
    import unittest

    modules = [name[:-3].replace("/", ".") for name in names]
    suite = unittest.defaultTestLoader.loadTestsFromNames(modules)
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    problems = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    return result.testsRun, problems


def run_unittest_arguments(arguments: list[str]) -> tuple[int, int]:
    """Return how many tests ran that were not skipped, and how many did not pass."""
    import unittest

    sys.path.insert(0, os.getcwd())  # before an installed package of that name, as with -m
    runner = unittest.TextTestRunner(stream=sys.stdout)
    program = unittest.main(module=None, argv=["unittest", *arguments], testRunner=runner, exit=False)
    result = program.result
    problems = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    return result.testsRun - len(result.skipped), problems


KINDS = {
    "functions": run_functions,
    "script": run_script,
    "unittest": run_unittest,
    "arguments": run_unittest_arguments,
}


if __name__ == "__main__":
    if sys.argv[1] == "child":
        run_tests(int(sys.argv[2]), sys.argv[3], sys.argv[4:])
    else:
        sys.exit(judge(sys.argv[1:]))
