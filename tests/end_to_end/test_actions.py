"""The same tasks by calls of tools, by code, and by both: the same outcome, in how many replies of the model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

Turns = Sequence[Mapping[str, Any]]

USERS = 12
RECORDS = 80
BATCH = 20
"""Calls in one reply: more than models send."""


CASE = "import importlib, json, pathlib, unittest\n\n\nclass Test(unittest.TestCase):\n    def test(self):\n"
"""The beginning of a test that needs nothing but the library: it starts in a tenth of a second."""


def users(repo: Repo) -> None:
    """A function that is used all over."""
    repo.write("shop/__init__.py", "")
    repo.write("shop/prices.py", "def total_of(items):\n    return sum(items)\n")
    for number in range(USERS):
        repo.write(
            f"shop/user{number}.py",
            f"from shop.prices import total_of\n\n\ndef use():\n    return total_of([{number}])\n",
        )
    names = [f"shop.user{number}" for number in range(USERS)]
    repo.write(
        "test_users.py",
        f"{CASE}        total = sum(importlib.import_module(name).use() for name in {names!r})\n"
        f"        self.assertEqual(total, {sum(range(USERS))})\n",
    )


def renamed(repo: Repo) -> bool:
    files = [repo.read("shop/prices.py"), *(repo.read(f"shop/user{number}.py") for number in range(USERS))]
    return all("sum_of" in each and "total_of" not in each for each in files)


def _user_edits(number: int) -> list[dict[str, Any]]:
    path = f"shop/user{number}.py"
    return [
        call("edit", path=path, old="import total_of", new="import sum_of"),
        call("edit", path=path, old=f"total_of([{number}])", new=f"sum_of([{number}])"),
    ]


RENAME = """\
for path in sorted({match.path for match in search(r"\\btotal_of\\b")}):
    write(path, read(path).replace("total_of", "sum_of"))
report = run_tests()
print(report.outcome)
"""

BY_TOOLS_RENAME = [
    {"calls": [call("search", pattern=r"\btotal_of\b")]},
    {
        "calls": [call("read", path=f"shop/user{number}.py") for number in range(USERS)],
        "expect": ["shop/user11.py"],
    },
    {
        "calls": [
            call("edit", path="shop/prices.py", old="def total_of", new="def sum_of"),
            *(each for number in range(USERS) for each in _user_edits(number)),
        ]
    },
    {"calls": [call("run_tests")]},
    {"calls": [call("finish", summary="Renamed.")], "expect": ["passed"]},
]


def records(repo: Repo) -> None:
    """Many files that write dates and names in two ways."""
    for number in range(RECORDS):
        record = {"id": number, "date": f"{number % 28 + 1:02}/03/2026", "name": f"  Person {number} "}
        repo.write(f"data/r{number:03}.json", json.dumps(record) + "\n")
    repo.write(
        "test_records.py",
        f"{CASE}        for path in pathlib.Path('data').glob('*.json'):\n"
        "            record = json.loads(path.read_text())\n"
        "            self.assertRegex(record['date'], '^2026-03-')\n"
        "            self.assertEqual(record['name'], record['name'].strip())\n",
    )


def cleaned(number: int) -> str:
    date = f"2026-03-{number % 28 + 1:02}"
    return json.dumps({"id": number, "date": date, "name": f"Person {number}"}) + "\n"


def clean(repo: Repo) -> bool:
    return all(repo.read(f"data/r{number:03}.json") == cleaned(number) for number in range(RECORDS))


CLEAN = """\
import json
for path in list_files("data"):
    record = json.loads(read(path))
    day, month, year = record["date"].split("/")
    record |= {"date": f"{year}-{month}-{day}", "name": record["name"].strip()}
    write(path, json.dumps(record) + "\\n")
print(run_tests().outcome)
"""

BATCHES = [range(start, start + BATCH) for start in range(0, RECORDS, BATCH)]

BY_TOOLS_CLEAN = [
    {"calls": [call("list", path="data")]},
    *({"calls": [call("read", path=f"data/r{number:03}.json") for number in batch]} for batch in BATCHES),
    *(
        {
            "calls": [
                call("write", path=f"data/r{number:03}.json", content=cleaned(number)) for number in batch
            ]
        }
        for batch in BATCHES
    ),
    {"calls": [call("run_tests")]},
    {"calls": [call("finish", summary="Cleaned.")], "expect": ["passed"]},
]


def broken(repo: Repo) -> None:
    """Two bugs, of which the second shows only when the first is mended."""
    repo.write("steps.py", "def first():\n    return 1\n\n\ndef second():\n    return first() + 2\n")
    repo.write(
        "test_steps.py",
        f"{CASE}        from steps import first, second\n"
        "        self.assertEqual(first(), 2)\n"
        "        self.assertEqual(second(), 3)\n",
    )


def green(repo: Repo) -> bool:
    return repo.read("steps.py") == "def first():\n    return 2\n\n\ndef second():\n    return first() + 1\n"


GREEN = """\
for old, new in [("return 1", "return 2"), ("first() + 2", "first() + 1")]:
    report = run_tests()
    if report.outcome == "passed":
        break
    print(report.outcome)
    edit(path="steps.py", old=old, new=new)
print(run_tests().outcome)
"""

BY_TOOLS_GREEN = [
    {"calls": [call("run_tests")]},
    {"calls": [call("edit", path="steps.py", old="return 1", new="return 2")], "expect": ["fail"]},
    {"calls": [call("run_tests")]},
    {"calls": [call("edit", path="steps.py", old="first() + 2", new="first() + 1")], "expect": ["fail"]},
    {"calls": [call("run_tests")]},
    {"calls": [call("finish", summary="Green.")], "expect": ["passed"]},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """files: makes the repository; solved: looks at it; program: solves it in one block; third: code needs so little"""

    files: Callable[[Repo], None]
    solved: Callable[[Repo], bool]
    program: str
    by_tools: Turns
    third: bool = True

    def turns(self, mode: str) -> Turns:
        """A script for each way of acting; all of them check what they see before they finish."""
        if mode == "tools":
            return self.by_tools
        if mode == "code":
            block = f"{self.program}if report_is_good():\n    finish('Done.')\n"
            head = "def report_is_good():\n    return run_tests().outcome == 'passed'\n"
            return [{"text": f"All in one program.\n\n```python\n{head}{block}```\n"}]
        return [
            {"calls": [call("python", code=self.program)]},
            {"calls": [call("finish", summary="Done.")], "expect": ["passed"]},
        ]


TASKS = {
    "rename": Task(files=users, solved=renamed, program=RENAME, by_tools=BY_TOOLS_RENAME),
    "clean-up": Task(files=records, solved=clean, program=CLEAN, by_tools=BY_TOOLS_CLEAN),
    "until-green": Task(files=broken, solved=green, program=GREEN, by_tools=BY_TOOLS_GREEN, third=False),
}


def solve(task: Task, mode: str, folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """(replies of the model, all events) of a run that solves the task."""
    repo = Repo(folder / "shop")
    task.files(repo)
    repo.commit_all()
    model = script(folder, task.turns(mode))
    options = ("--actions", mode, "--tests", f"{sys.executable} -m unittest", "--output", "stream-json")
    result = run("run", "Do it.", "--model", model, *options, cwd=repo.root)
    assert result.code == 0, result.out[-3000:] + result.err
    assert task.solved(repo)
    assert repo.git("status", "--porcelain") == ""  # committed
    return sum(event["kind"] == "message" for event in result.events), result.events


@pytest.fixture(autouse=True)
def confined(tmp_path: Path) -> None:
    needs_confinement(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", TASKS)
def test_the_same_task_is_solved_in_every_mode(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    replies = {mode: solve(task, mode, tmp_path / mode)[0] for mode in ("tools", "code", "hybrid")}
    assert replies["code"] <= replies["hybrid"] < replies["tools"]
    if task.third:
        assert replies["code"] * 3 <= replies["tools"]


@pytest.mark.slow
def test_code_mode_offers_functions_and_no_calls(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("notes.txt", "first\n")
    repo.commit_all()
    turns: Turns = [
        {
            "text": "```python\nlines = read('notes.txt').split()\n1 / 0\n```",
            "expect": [{"anywhere": "read(path, start=1"}],
        },
        {"text": "```bash\necho from the shell\n```", "expect": ["ZeroDivisionError"]},
        {
            "text": "```python\nprint(lines)\n```",
            "expect": ["from the shell", {"not_contains": "ZeroDivision"}],
        },
        {"text": "It says: first.\n\n```text\nnot run\n```", "expect": ["['first']"]},
    ]
    result = run(
        "run", "What does it say?", "--model", script(tmp_path, turns), "--actions", "code", cwd=repo.root
    )
    assert result.code == 0, result.err
    assert result.out.startswith("It says: first.")
