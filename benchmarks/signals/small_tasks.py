"""Small tasks for a small model with tools, of different difficulty, each judged by code.

A family is one kind of task, in three variants that differ by names and values. Families, not tasks, are divided into
halves, so that nothing learnt of a kind of task is known of the other half: within each difficulty every second one is
held apart. This was written, and divided, before any of them was run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.local_model.tasks import read_humaneval_fix

FIXES = 16
"""Faults of HumanEvalFix among the tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallTask:
    """One task in a project of its own.

    files: texts by path; answer: pattern that the final answer has to match, "" if it does not matter
    check: Python code that raises in the project's folder afterwards if the work is not right, "" for none
    hidden: files that are written before `check` runs
    """

    id: str
    half: str
    level: str
    prompt: str
    files: Mapping[str, str]
    answer: str = ""
    check: str = ""
    hidden: Mapping[str, str] = field(default_factory=dict)


HINTS: Mapping[str, str] = {
    "value-of-constant": "Call read with the path settings.py first.",
    "name-of-file": "Call search with the pattern shout first.",
    "new-file": "Call write with path and content.",
    "changed-constant": "Call read with the path settings.py, then edit with path, old and new.",
    "output-of-command": "Call shell with the command python app.py.",
    "first-line": "Call read with the path README.md first.",
    "new-function": "Call write with path and content.",
    "mended-word": "Call read with the path README.md, then edit with path, old and new.",
    "added-line": "Call read with the path settings.py, then edit with path, old and new.",
    "count-of-lines": "Call read with the path names.csv first.",
    "json-version": "Call read with the path package.json, then edit with path, old and new.",
    "renamed-in-file": "Call read with the path work.py, then write with the path and the whole new content.",
    "removed-function": "Call read with the path text.py, then edit with path, old and new.",
    "greater-of-two": "Call read with the path one.py, then read with the path two.py.",
    "where-it-fails": "Call shell with the command python crash.py.",
}
"""What is said in addition, by family: a small model often answers without a call where no tool is named."""

_NAMES = ("alpha", "river", "stone")
_NUMBERS = (17, 42, 305)


def list_hinted_tasks() -> list[SmallTask]:
    """Return the easy and medium tasks, with a word on the tools to use."""
    found = []
    for task in list_tasks(None):
        family, _, number = task.id.partition("/")
        if family in HINTS:
            prompt = f"{task.prompt} {HINTS[family]}"
            found.append(
                replace(task, id=f"{family}-hinted/{number}", level=f"{task.level}, hinted", prompt=prompt)
            )
    return found


def list_tasks(humaneval_fix: Path | None) -> list[SmallTask]:
    """Return all tasks; those of HumanEvalFix (its development half) if its file is given."""
    tasks = []
    for level, families in (("easy", _EASY), ("medium", _MEDIUM), ("hard", _HARD)):
        for place, family in enumerate(families):
            half = ("development", "held")[place % 2]
            for number in range(len(_NAMES)):
                parts = family(_NAMES[number], _NUMBERS[number])
                name = family.__name__.strip("_").replace("_", "-")
                tasks.append(SmallTask(id=f"{name}/{number}", half=half, level=level, **parts))
    if humaneval_fix is not None:
        for place, fix in enumerate(read_humaneval_fix(humaneval_fix)[:FIXES]):
            tasks.append(
                SmallTask(
                    id=f"humaneval-fix/{fix.id.rpartition('/')[2]}",
                    half=("development", "held")[place % 2],
                    level="hard",
                    prompt="The tests in test_solution.py fail. Find the fault in solution.py and mend it.",
                    files={**fix.files, fix.program: fix.text},
                    check="exec(open('solution.py').read() + open('hidden.py').read())",
                    hidden=fix.hidden,
                )
            )
    return tasks


def _app(name: str, number: int) -> dict[str, str]:
    """Return a small project that most tasks are about."""
    return {
        "settings.py": f'"""Settings."""\n\nPORT = {number}\nLIMIT = {number + 3}\nNAME = "{name}"\n',
        "app.py": "from settings import LIMIT, NAME\nfrom text import slug\n\n\n"
        "def start():\n    return f'{slug(NAME)} {LIMIT}'\n\n\nif __name__ == '__main__':\n    print(start())\n",
        "text.py": '"""Texts."""\n\n\ndef slug(title):\n    return title.strip().lower().replace(" ", "-")\n\n\n'
        "def shout(title):\n    return title.upper() + '!'\n",
        "README.md": f"# {name.title()}\n\nA small program. Start it wiht `python app.py`.\n",
    }


def _value_of_constant(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "What is the value of LIMIT in settings.py? Answer with the number.",
        "files": _app(name, number),
        "answer": rf"\b{number + 3}\b",
    }


def _name_of_file(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Which file defines the function shout? Answer with its name.",
        "files": _app(name, number),
        "answer": r"\btext\.py\b",
    }


def _new_file(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": f"Create a file {name}.txt with the content: {name} {number}",
        "files": _app(name, number),
        "check": f"assert open('{name}.txt').read().strip() == '{name} {number}'",
    }


def _changed_constant(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": f"Change PORT in settings.py from {number} to {number * 2}.",
        "files": _app(name, number),
        "check": f"import settings; assert (settings.PORT, settings.LIMIT) == ({number * 2}, {number + 3})",
    }


def _output_of_command(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Run `python app.py` and tell me what it prints.",
        "files": _app(name, number),
        "answer": rf"{name} {number + 3}\b",
    }


def _mended_word(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": 'README.md has the misspelled word "wiht". Correct it.',
        "files": _app(name, number),
        "check": "text = open('README.md').read(); assert 'wiht' not in text and 'it with `python' in text",
    }


def _first_line(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "What is the heading of README.md?",
        "files": _app(name, number),
        "answer": name.title(),
    }


def _new_function(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": f"Write a file numbers_{name}.py with a function add_{name}(x) that returns x + {number}.",
        "files": _app(name, number),
        "check": f"from numbers_{name} import add_{name}; assert add_{name}(5) == {number + 5}",
    }


def _added_line(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": f'Add the setting COLOR = "{name}" at the end of settings.py. Keep the others.',
        "files": _app(name, number),
        "check": f"import settings as s; assert (s.COLOR, s.PORT, s.NAME) == ('{name}', {number}, '{name}')",
    }


def _count_of_lines(name: str, number: int) -> dict[str, Any]:
    rows = number % 13 + 9
    return {
        "prompt": "How many lines of names.csv contain the word red? Answer with the number.",
        "files": {
            "names.csv": "".join(f"{name}{row},{'red' if row % 3 else 'blue'}\n" for row in range(rows))
        },
        "answer": rf"\b{sum(row % 3 > 0 for row in range(rows))}\b",
    }


def _json_version(name: str, number: int) -> dict[str, Any]:
    old = {"name": name, "version": f"1.0.{number}", "scripts": {"test": "node test.js"}}
    return {
        "prompt": "Set the version in package.json to 2.0.0.",
        "files": {"package.json": json.dumps(old, indent=2) + "\n"},
        "check": "import json; found = json.load(open('package.json'));"
        f"assert found == { ({**old, 'version': '2.0.0'})!r}",
    }


def _renamed_in_file(name: str, number: int) -> dict[str, Any]:
    text = f"def calc(x):\n    return x * {number}\n\n\ndef {name}(y):\n    return calc(y) + calc(1)\n"
    return {
        "prompt": "Rename the function calc in work.py to multiply.",
        "files": {"work.py": text},
        "check": f"import work; assert not hasattr(work, 'calc'); assert work.multiply(2) == {number * 2};"
        f"assert work.{name}(1) == {number * 2}",
    }


def _removed_function(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Nobody uses the function shout in text.py. Remove it.",
        "files": _app(name, number),
        "check": "import text; assert not hasattr(text, 'shout'); assert text.slug('A B') == 'a-b'",
    }


def _greater_of_two(name: str, number: int) -> dict[str, Any]:
    first, second = number * 3 + 1, number * 4 - 11
    return {
        "prompt": "Which is greater: SIZE in one.py or SIZE in two.py? Answer with the file's name and the value.",
        "files": {"one.py": f"SIZE = {first}\n", "two.py": f"SIZE = {second}\n", "notes.md": f"{name}\n"},
        "answer": (rf"one\.py[\s\S]*\b{first}\b" if first > second else rf"two\.py[\s\S]*\b{second}\b"),
    }


def _where_it_fails(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "`python crash.py` ends with an error. What is the type of the error? Change nothing.",
        "files": {
            "crash.py": f"VALUES = [{number}, 1, 0]\n\n\ndef {name}(values):\n"
            "    return sum(values[0] // each for each in values)\n\n\n" + f"print({name}(VALUES))\n"
        },
        "answer": r"ZeroDivisionError|[Dd]ivision by zero",
    }


def _new_option(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Give the function slug in text.py a second parameter, separator, with the default '-', and use it.",
        "files": _app(name, number),
        "check": "from text import slug; assert slug('A b') == 'a-b'; assert slug('A b', '_') == 'a_b';"
        "assert slug('A b', separator='.') == 'a.b'",
    }


def _constant_in_two_files(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Rename the constant LIMIT to MAXIMUM, in settings.py and in app.py.",
        "files": _app(name, number),
        "check": "import settings, app; assert not hasattr(settings, 'LIMIT');"
        f"assert settings.MAXIMUM == {number + 3}; assert app.start() == '{name} {number + 3}'",
    }


def _moved_function(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Move the function shout from text.py into a new file loud.py.",
        "files": _app(name, number),
        "check": "import text, loud; assert not hasattr(text, 'shout'); assert loud.shout('a') == 'A!'",
    }


def _mended_edge(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "The tests fail. Find the fault in mean.py and mend it.",
        "files": {
            "mean.py": f'"""{name.title()}."""\n\n\ndef mean(values):\n    return sum(values) / len(values)\n',
            "test_mean.py": "from mean import mean\n\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n\n\n"
            "def test_empty():\n    assert mean([]) == 0\n\n\n"
            f"def test_one():\n    assert mean([{number}]) == {number}\n",
        },
        "check": "from mean import mean; assert mean([]) == 0; assert mean([1, 2]) == 1.5;"
        f"assert mean([{number}]) == {number}",
    }


def _written_test(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Write a test file test_text.py for the functions slug and shout in text.py. Its tests have to pass.",
        "files": _app(name, number),
        "check": "import subprocess, sys; source = open('text.py').read()\n"
        "run = lambda: subprocess.run([sys.executable, '-m', 'pytest', '-q', 'test_text.py']).returncode\n"
        "assert run() == 0\n"
        "open('text.py', 'w').write(source.replace('-', '+').replace('!', '?'))\n"
        "assert run() == 1",
    }


def _class_with_method(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "Add a method withdraw(amount) to the class Account in account.py."
        " It takes the amount off the balance, and raises ValueError if there is less.",
        "files": {
            "account.py": f"class Account:\n    owner = '{name}'\n\n    def __init__(self, balance={number}):\n"
            "        self.balance = balance\n\n    def deposit(self, amount):\n        self.balance += amount\n"
        },
        "check": "from account import Account\na = Account(10)\na.withdraw(4)\nassert a.balance == 6\n"
        "try: a.withdraw(7)\nexcept ValueError: pass\nelse: raise AssertionError\n"
        "assert a.balance == 6\na.deposit(1)\nassert a.balance == 7",
    }


def _command_line(name: str, number: int) -> dict[str, Any]:
    return {
        "prompt": "`python app.py --port` should print the PORT of settings.py, and nothing else."
        " Without it, all stays as it is.",
        "files": _app(name, number),
        "check": "import subprocess, sys\n"
        "run = lambda *words: subprocess.check_output([sys.executable, 'app.py', *words], text=True)\n"
        f"assert run('--port').strip() == '{number}'\nassert run().strip() == '{name} {number + 3}'",
    }


_Family = Callable[[str, int], dict[str, Any]]
_EASY: tuple[_Family, ...] = (
    _value_of_constant,
    _name_of_file,
    _new_file,
    _changed_constant,
    _output_of_command,
    _first_line,
    _new_function,
    _mended_word,
)
_MEDIUM: tuple[_Family, ...] = (
    _added_line,
    _count_of_lines,
    _json_version,
    _renamed_in_file,
    _removed_function,
    _greater_of_two,
    _where_it_fails,
)
_HARD: tuple[_Family, ...] = (
    _new_option,
    _constant_in_two_files,
    _moved_function,
    _mended_edge,
    _written_test,
    _class_with_method,
    _command_line,
)
