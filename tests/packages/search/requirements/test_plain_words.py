"""What a prompt says in plain words is checked by default: a wrong change is not done, a right one is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from packages.search.requirements.extraction import extract_late_requirements, extract_requirements
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

CART = """\
import sys


def average(items):
    return sum(items) / len(items)


def total(items):
    return sum(items) + 1


if __name__ == "__main__":
    print(total([int(each) for each in sys.argv[1:]]))
"""
USER = "from cart import average\n\nprint(average([1, 2]))\n"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("report.py", USER)
    repo.write("test_cart.py", "from cart import total\n\n\ndef test_type():\n    assert total([]) >= 0\n")
    repo.write(".gitignore", "__pycache__\n.pytest_cache\n")
    repo.commit_all("Start")
    return repo


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    """An edit of a scripted model."""
    return call("edit", path=path, old=old, new=new)


RIGHT = replace("cart.py", "sum(items) + 1", "sum(items)")
SWAPPED = replace("cart.py", "sum(items) + 1", "1 + sum(items)")
POSITIVE = replace("cart.py", "sum(items) + 1", "sum(each for each in items if each >= 0) + 1")
COMMENT = replace("cart.py", "def total(items):\n", "# The sum.\ndef total(items):\n")
ZERO = replace("cart.py", "return sum(items) + 1", "return 0")
AVERAGE = [replace("cart.py", "def average(", "def mean("),
           replace("report.py", USER, USER.replace("average", "mean"))]  # fmt: skip
TYPED = replace("cart.py", "def total(items):", "def total(items: list[int]) -> int:")
TEXT = replace("cart.py", "def total(items):\n", 'def total(items):\n    """Return the sum."""\n')
RAISES = replace("cart.py", "def total(items):\n",
                 "def total(items):\n    if min(items, default=0) < 0:\n        raise ValueError(items)\n")  # fmt: skip
WARNING = "import warnings\n\n    warnings.warn('use sum', DeprecationWarning)"
WARNS = replace("cart.py", "def total(items):\n", f"def total(items):\n    {WARNING}\n")
TESTED = replace(
    "test_cart.py", "def test_type():", "def test_one():\n    assert total([1]) > 0\n\n\ndef test_type():"
)
LAYOUT = replace("cart.py", "return sum(items) + 1", "return (\n        sum(items)\n        + 1\n    )")
REPORT = f"""Fix the sum of an empty cart

I followed the examples of the documentation, with version 2.1 and its type hints, and total([]) gave 1.
{"The same happens with other versions of Python, as far as I can tell. " * 4}
"""
START = replace(
    "cart.py",
    "def total(items):\n    return sum(items) + 1",
    "def total(items, start=0):\n    return sum(items) + start",
)
MEAN = "def average(items):\n    return sum(items) / len(items)\n\n\n"
MOVED = [call("write", path="stats.py", content=MEAN.rstrip() + "\n"), replace("cart.py", MEAN, ""),
         replace("report.py", "from cart import", "from stats import")]  # fmt: skip
SKETCH = """Make the function in cart.py what this says:

def total(items):
    '''Return the sum.

    >>> total([5])
    5
    '''
"""
ASSERTED = "Correct the function total in cart.py. It should pass these:\n\nassert total([5]) == 5\n"
VERSIONED = call("write", path="version.py", content='VERSION = "1.2.0"\n')
USAGE = call("write", path="docs/usage.md", content="Call total.\n")
REMOVED = [replace("cart.py", MEAN, ""), replace("report.py", USER, "print(1.5)\n")]
HALVED = replace("cart.py", "/ len(items)", "/ max(1, len(items))")
ZERO_IS_RIGHT = 'python3 -c "import cart; assert cart.total([]) == 0"'
DEPENDENCY = call("write", path="requirements.txt", content="httpx\n")
OTHER = replace("report.py", "print(", "print('mean', ")

STORIES: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "a result": ("change cart.py: total([5]) must return 5", [RIGHT], [ZERO]),
    "a result of a name": ("change cart.py: total should return 0 for an empty list", [RIGHT], [COMMENT]),
    "an exception": ("change cart.py: total([-1]) must raise ValueError", [RAISES], [RIGHT]),
    "an output": ("change cart.py: `python3 cart.py 2 3` must print `5`", [RIGHT], [ZERO]),
    "a new name": ("rename average to mean", AVERAGE, AVERAGE[:1]),
    "a docstring": ("add a docstring to total", [TEXT], [COMMENT]),
    "types": ("add type hints to total", [TYPED], [COMMENT]),
    "deprecation": ("deprecate the function total", [WARNS], [COMMENT]),
    "tests": ("add tests for total", [TESTED], [COMMENT]),
    "a limit of files": ("make the sum right; no file but cart.py may change", [RIGHT], [RIGHT, OTHER]),
    "a limit of lines": ("make the sum right and keep it under 4 lines", [RIGHT], [RIGHT, TEXT, OTHER]),
    "an exception of it": ("change `total` in cart.py. It must raise ValueError for [-1].", [RAISES], [RIGHT]),
    "a parameter": ("add a start parameter to the total function", [START], [RIGHT]),
    "a name in another file": ("move `average` from cart.py to a new file named stats.py", MOVED, MOVED[:1]),
    "a sketch": (SKETCH, [RIGHT], [ZERO]),
    "assertions": (ASSERTED, [RIGHT], [ZERO]),
    "a version": ("bump version to 1.2.0", [VERSIONED], [RIGHT]),
    "a new file": ("create docs/usage.md", [USAGE], [RIGHT]),
    "a name to remove": ("remove the function `average` from cart.py", REMOVED, [RIGHT]),
    "a name left alone": ("make the sum right; do not change `average`", [RIGHT], [RIGHT, HALVED]),
    "a signature": ("make the sum right and keep the signature of `total`", [RIGHT], [START]),
    "a command": (f"change total in cart.py. `{ZERO_IS_RIGHT}` must succeed", [RIGHT], [SWAPPED]),
    "a number of files": ("make the sum right and touch no more than one file", [RIGHT], [RIGHT, OTHER]),
    "dependencies": ("make the sum right, no new dependencies", [RIGHT], [RIGHT, DEPENDENCY]),
    "the same answers": ("refactor total for readability", [SWAPPED], [RIGHT]),
    "a behavior": ("make total shorter without changing its behavior", [SWAPPED], [RIGHT]),
    "a limit of inputs": ("change total to leave them out only for negative numbers", [POSITIVE], [RIGHT]),
    "a repair": ("total adds one too much, fix it", [RIGHT], [COMMENT]),
    "a report": (REPORT, [RIGHT], [COMMENT, LAYOUT]),
    "a change": ("change the function total to take no extra one", [RIGHT], [LAYOUT]),
}  # fmt: skip


UNSAID = ("a repair", "a report", "a change")


def play(repo: Repo, prompt: str, edits: list[dict[str, Any]]) -> Result:
    """Run a prompt with a model that makes these edits and says that it is done, whatever it is told."""
    turns: list[dict[str, Any]] = [{"calls": edits}, {"text": "Done.", "repeat": 6}]
    return run(
        "run", prompt, "--model", script(repo.root.parent, turns), "-o", "json", cwd=repo.root, timeout=180
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_wrong_change_is_told_and_not_committed(shop: Repo, name: str) -> None:
    prompt, _, wrong = STORIES[name]
    done = play(shop, prompt, wrong)
    assert done.code == Exit.NOT_ACHIEVED, done.err
    assert done.events[0]["reason"] == "a check objects"
    assert any(each["state"] == "not met" for each in done.events[0]["requirements"])
    assert shop.git("rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_right_change_is_done_and_committed(shop: Repo, name: str) -> None:
    prompt, right, _ = STORIES[name]
    done = play(shop, prompt, right)
    assert done.code == Exit.DONE, done.err
    said = done.events[0].get("requirements", [])
    assert all(each["state"] == "met" for each in said)
    assert bool(said) != (name in UNSAID), "that a repair changes code is said only where it does not"
    assert shop.git("rev-list", "--count", "HEAD").strip() == "2"


@pytest.mark.slow
def test_what_was_not_asked_for_is_told_and_stops_nothing(shop: Repo) -> None:
    edits = [RIGHT, replace("report.py", "average([1, 2])", "average([1, 2, 3])")]
    turns: list[dict[str, Any]] = [{"calls": edits}, {"text": "Done."}]
    model = script(shop.root.parent, turns)
    done = run("run", "fix the sum in `total`", "--model", model, cwd=shop.root, timeout=180)
    assert done.code == Exit.DONE, done.err
    assert "look at: changed, and not asked for: report.py" in done.err


@pytest.mark.slow
def test_it_can_be_switched_off_and_costs_nothing_where_nothing_is_said(shop: Repo) -> None:
    shop.write("patchwright.toml", "")
    done = run(
        "run", "add a docstring to total", "--model", script(shop.root.parent, [{"calls": [RIGHT]}, {"text": "So."}]),
        "-o", "json", cwd=shop.root, env={"PATCHWRIGHT_VERIFY__REQUIREMENTS": "off"},
    )  # fmt: skip
    assert done.code == Exit.DONE, done.err
    assert "requirements" not in done.events[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("total([5]) must return 5", [("result", "total([5]) == 5")]),
        ("`total([])` should return 0, not raise", [("result", "total([]) == 0")]),
        ("make total(1, x=2) return 3.", [("result", "total(1, x=2) == 3")]),
        ("parse('a,b') should be ['a', 'b']", [("result", "parse('a,b') == ['a', 'b']")]),
        ("make sure that f(3) == 9", [("result", "f(3) == 9")]),
        ("f(2) should be an empty list", [("result", "f(2) == []")]),
        ("parse should return an empty dict when given ''", [("result", "parse('') == {}")]),
        ("`total` should raise ValueError for -1", [("result", "total(-1) raises ValueError")]),
        ("f() returns 3 instead of 4", []),
        ("total(items) must return the sum", []),
        ("run(os.remove('x')) must return 1", []),
        ("f(x) must be called", []),
        ("rename the function average to mean everywhere", [("renamed", "average -> mean")]),
        ("rename it to something better", []),
        ("add a test helper", []),
        ("add a parser test", [("tested", "")]),
        ("add support for a unit test", []),
        ("additional parse_url test cases", [("tested", "parse_url")]),
        ("increase test coverage for getWeek", [("tested", "getWeek")]),
        ("tests: test that flags work", [("tested", "")]),
        ("mend streaming, with tests for many variants", [("tested", "")]),
        ("add docs for the total function", [("documented", "total")]),
        ("add testing for Python 3.14", []),
        ("write unit tests for the parser module", [("tested", "")]),
        ("add a test for the crash", [("tested", "crash")]),
        ("add node.js 25 to the matrix", []),
        ("ignore/types: add Makefile.*", []),
        ("nothing but cart.py and a.py should be changed", [("only-files", "cart.py, a.py")]),
        ("keep it under 10 lines", [("max-lines", "9")]),
        ("do not change the behaviour", [("behavior", "")]),
        ("refactor `total` to be shorter", [("behavior", "")]),
        ("Split it up. No functional changes.", [("behavior", "")]),
        ("preserve the existing behavior", [("behavior", "")]),
        ("raise ValueError only for negative numbers", [("behavior", "only negative")]),
        ("fix the empty list; do not change the behavior otherwise", []),
        ("refactor total to raise ValueError", []),
        ("keep the behavior for empty lists", []),
        ("document the behavior of total", []),
        ("only negative numbers are shown in the table", []),
        (
            "Rename the file named 'a.py' in the 'lib' folder to 'b.py'",
            [("file-gone", "lib/a.py"), ("file-exists", "lib/b.py")],
        ),
        ("add 'b.py' in the same directory", [("file-exists", "b.py")]),
        ("change the NotReady exception to Unready", [("renamed", "NotReady -> Unready")]),
        ("change the function get_total to static", []),
        ("replace all uses of 'old_total' with 'new_total'", [("renamed", "old_total -> new_total")]),
        (
            "take the parse_row function out of the class and put it in a file called rows.py",
            [("name-exists", "rows.py:parse_row")],
        ),
        ("remove the function `f` from a.py", [("name-gone", "a.py:f")]),
        (
            "split 'f' into two functions: one function named 'g_one' and another function named 'g_two'",
            [("name-exists", "g_one"), ("name-exists", "g_two")],
        ),
        ("change `f`. It must raise ValueError for -1", [("result", "f(-1) raises ValueError")]),
        ("compare `f` with `g`. It must raise ValueError for -1", []),
        ("Bump black from 21.10b0 to 21.11b1", [("mentioned", "21.11b1")]),
        ("add cml to the default types list", [("mentioned", "cml")]),
        (
            "Updated changelog and contributors",
            [("file-changed", "changelog"), ("file-changed", "contributors")],
        ),
        ("update the rules to ignore `yarn.lock` file", []),
        ("add an optional parameter to parse_row", []),
        ("make pytest 8.0 work", []),
        ("add tests and requirements.txt to sdist", []),
        ("add tests to known first parties in isort config (#279)", []),
        ("doc: add -U/--multiline to common options", []),
        ("added the plan() method", [("name-exists", "plan")]),
        ("test: re-added the plan() method", []),
        ("rename var in CustomRecoveryWithWriter", []),
        ("Added regression tests for both", [("tested", "")]),
        ('it leaked a message ("Stop argument for islice() must be None or an integer...")', []),
        ('it says "total([]) must return 0, not 1"', [("result", "total([]) == 0")]),
        ("Add them to the builtins list so they are known", []),
        ("Add a file mode parameter to Config.from_file()", []),
        ("Add a new encoder parameter to json_script()", [("parameter", "json_script(encoder)")]),
        ("Add a `mode` parameter to Config.from_file()", [("parameter", "Config.from_file(mode)")]),
        (
            "It is stale.\n\nSteps to reproduce:\n\n1. Run it\n2. Edit manage.py\n\nEdit cart.py",
            [("file-changed", "cart.py")],
        ),
    ],
)
def test_plain_words(text: str, found: list[tuple[str, str]]) -> None:
    assert [(each.kind, each.check) for each in extract_requirements(text) if each.kind != "group"] == found


@pytest.mark.parametrize("prompt", ["Add an explicit AI policy", "update the code of conduct for this year"])
def test_policy_is_text(prompt: str) -> None:
    assert extract_late_requirements(prompt) == []


def test_retry_policy_is_code() -> None:
    assert [each.kind for each in extract_late_requirements("Fix the retry policy of the client")] == [
        "code-changed"
    ]


SKETCHED = '''def f(x):
    """Double.

    f(2) ==> 4
    f([1,
      2]) == [2, 4]
    f(")") => 'a)'  # a remark
    f(g(1)) == 2
    """
'''
WRITTEN = '''def f(x):
    """Double.

    >>> f(2)
    4
    """
    return x + x
'''


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (SKETCHED, ["f(2) == 4", "f([1, 2]) == [2, 4]", "f(')') == 'a)'"]),
        (WRITTEN, []),
        ("f(2) is wrong:\n>>> f(2)\n5\n", []),
        ("It has to pass:\nassert f (2)==4\nassert f(x) == 1", ["f(2) == 4"]),
    ],
)
def test_examples_in_code(prompt: str, found: list[str]) -> None:
    assert [each.check for each in extract_requirements(prompt) if each.kind == "result"] == found


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("fix the crash in total", True),
        ("fix the typo in the docstring of total", False),
        ("fix the comment above total", False),
        ("what does total do?", False),
        ("add a comment to total", False),
    ],
)
def test_a_repair_has_to_change_code(prompt: str, wanted: bool) -> None:
    assert any(each.kind == "code-changed" for each in extract_late_requirements(prompt)) is wanted
