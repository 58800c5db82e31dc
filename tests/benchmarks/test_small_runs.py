"""The small tasks for a small model: their judges, their halves, and a run with a scripted model."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks.local_model.__main__ import write_files
from benchmarks.signals.small_runs import iterate_runs, judge, run_task
from benchmarks.signals.small_tasks import SmallTask, list_hinted_tasks, list_tasks
from tests.support.loopback import Loopback

TEXT = '"""Texts."""\n\n\ndef slug(title, separator="-"):\n    return title.strip().lower().replace(" ", separator)\n'
SHOUT = "\n\ndef shout(title):\n    return title.upper() + '!'\n"
SETTINGS = 'PORT = 17\nLIMIT = 20\nNAME = "alpha"\n'
APP = "from settings import LIMIT, NAME\nfrom text import slug\n\n\ndef start():\n    return f'{slug(NAME)} {LIMIT}'\n"

RIGHT: dict[str, tuple[str, dict[str, str]]] = {
    "value-of-constant": ("It is 20.", {}),
    "name-of-file": ("`text.py`", {}),
    "new-file": ("", {"alpha.txt": "alpha 17\n"}),
    "changed-constant": ("", {"settings.py": SETTINGS.replace("17", "34")}),
    "output-of-command": ("It prints `alpha 20`.", {}),
    "first-line": ("The heading is “Alpha”.", {}),
    "new-function": ("", {"numbers_alpha.py": "def add_alpha(x):\n    return x + 17\n"}),
    "mended-word": ("", {"README.md": "# Alpha\n\nStart it with `python app.py`.\n"}),
    "added-line": ("", {"settings.py": SETTINGS + 'COLOR = "alpha"\n'}),
    "count-of-lines": ("8", {}),
    "json-version": (
        "",
        {"package.json": '{"name": "alpha", "version": "2.0.0", "scripts": {"test": "node test.js"}}'},
    ),
    "renamed-in-file": (
        "",
        {"work.py": "def multiply(x):\n    return x * 17\n\ndef alpha(y):\n    return multiply(y) + multiply(1)\n"},
    ),
    "removed-function": ("", {"text.py": TEXT}),
    "greater-of-two": ("two.py, with 57", {}),
    "where-it-fails": ("a ZeroDivisionError", {}),
    "new-option": ("", {"text.py": TEXT + SHOUT}),
    "constant-in-two-files": (
        "",
        {"settings.py": SETTINGS.replace("LIMIT", "MAXIMUM"), "app.py": APP.replace("LIMIT", "MAXIMUM")},
    ),
    "moved-function": ("", {"text.py": TEXT, "loud.py": SHOUT}),
    "mended-edge": ("", {"mean.py": "def mean(values):\n    return sum(values) / len(values) if values else 0\n"}),
    "written-test": (
        "",
        {
            "test_text.py": "from text import *\n\n\ndef test_text():\n    assert slug('A b') == 'a-b'\n"
            "    assert shout('a') == 'A!'\n"
        },
    ),
    "class-with-method": (
        "",
        {
            "account.py": "class Account:\n    def __init__(self, balance=17):\n        self.balance = balance\n"
            "    def deposit(self, amount):\n        self.balance += amount\n"
            "    def withdraw(self, amount):\n        if amount > self.balance:\n            raise ValueError\n"
            "        self.balance -= amount\n"
        },
    ),
    "command-line": (
        "",
        {
            "app.py": APP
            + "\nif __name__ == '__main__':\n    import sys, settings\n"
            + "    print(settings.PORT if '--port' in sys.argv else start())\n"
        },
    ),
}  # fmt: skip


def list_first_variants() -> list[SmallTask]:
    return [each for each in list_tasks(None) if each.id.endswith("/0")]


@pytest.mark.parametrize("task", list_first_variants(), ids=lambda task: task.id)
def test_the_judge_accepts_the_right_work_and_nothing_less(task: SmallTask, tmp_path: Path) -> None:
    write_files(tmp_path, task.files)
    answer, files = RIGHT[task.id.partition("/")[0]]
    assert not judge(task, tmp_path, "I am done.")
    write_files(tmp_path, files)
    assert judge(task, tmp_path, answer)


def test_a_kind_of_task_is_in_one_half() -> None:
    halves: defaultdict[str, set[str]] = defaultdict(set)
    for task in list_tasks(None):
        halves[task.id.partition("/")[0]].add(task.half)
    assert all(len(each) == 1 for each in halves.values())
    assert {half for each in halves.values() for half in each} == {"development", "held"}


def test_hinted_tasks_are_judged_like_the_others() -> None:
    plain = {each.id: each for each in list_tasks(None)}
    hinted = list_hinted_tasks()
    assert hinted
    for task in hinted:
        same = plain[task.id.replace("-hinted", "")]
        assert task.prompt.startswith(f"{same.prompt} Call ")
        assert (task.files, task.answer, task.check, task.half) == (
            same.files,
            same.answer,
            same.check,
            same.half,
        )


def test_each_task_is_run_once_before_any_is_run_again() -> None:
    tasks = list_tasks(None)
    runs = [run for run, _ in iterate_runs(tasks, len(tasks) + 2, 1)]
    assert len(set(runs)) == len(runs)
    assert [each.rpartition("-")[2] for each in runs[-3:]] == ["1", "2", "2"]


@pytest.mark.slow
def test_a_run_keeps_its_session(tmp_path: Path) -> None:
    [task] = [each for each in list_tasks(None) if each.id == "value-of-constant/0"]
    turns = [
        {"calls": [{"tool": "read", "arguments": {"path": "settings.py"}}]},
        {"text": "LIMIT is 20."},
    ]
    with Loopback(turns) as server:
        options = Namespace(
            model="openai/qwen2.5-coder-1.5b",
            api_base=server.url,
            temperature=0.7,
            max_steps=12,
            max_time=60.0,
        )
        entry = run_task(task, tmp_path / "run", options)
    assert (entry["right"], entry["code"], entry["steps"]) == (True, 0, 2)
    [log] = (tmp_path / "run/home").glob(
        f".local/share/patchwright/projects/*/sessions/{entry['session']}/log.jsonl"
    )
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds.count("message") == 2
