"""What rules on imports and commands find by parsing, and the sizes of diffs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.rules.command_scan import CommandReader, find_forbidden
from agent.rules.import_scan import COMPUTED, find_forbidden_imports
from agent.rules.rule_state import count_changed_lines

FORBIDDEN = {
    "import requests": ["requests"],
    "import requests as r": ["requests"],
    "def f():\n    from requests.adapters import X": ["requests.adapters", "requests.adapters.X"],
    "import importlib\nimportlib.import_module('requests')": ["requests"],
    "__import__('requ' + 'ests')": ["requests"],
    "__import__(f'requests')": ["requests"],
    "__import__(name)": [COMPUTED],
    "from importlib import import_module as f\nf('requests')": [COMPUTED],
    "load = __import__\nload('requests')": [COMPUTED],
    "getattr(builtins, '__import__')('requests')": [COMPUTED],
    "exec('import requests')": ["requests"],
    "exec(code)": [COMPUTED],
    "import sys\nsys.modules['requests']": ["requests"],
    "import runpy\nrunpy.run_module('requests')": ["requests"],
}
HARMLESS = [
    "import requestsx",
    "from . import requests",
    "# import requests",
    "text = 'import requests'",
    "eval('1 + 1')",
    "import json, re\nre.compile('a')",
    "this does not parse: import requests",
]


@pytest.mark.parametrize("text", FORBIDDEN)
def test_an_import_is_found_however_it_is_written(text: str) -> None:
    assert find_forbidden_imports("", text, ["requests"]) == FORBIDDEN[text]
    assert find_forbidden_imports(text, f"{text}\nx = 1", ["requests"]) == [], "it was there before"


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_is_no_import(text: str) -> None:
    assert find_forbidden_imports("", text, ["requests"]) == []


SCRIPTS = {
    "x.sh": "git push\n",
    "run": "#!/bin/sh\ngit push\n",
    "p.py": "import subprocess as s\ns.run(['git', 'push'])\n",
    "ok.sh": "echo hello\n",
}
READER = CommandReader(root=Path("/"), load_script=SCRIPTS.get)

LINES = [
    "git push origin main",
    "sh -c 'git push'",
    "git -C sub push",
    "env A=1 git push",
    "/usr/bin/git push",
    'git p""ush',
    "eval 'git push'",
    "c=push; git $c",
    "G=git; $G push",
    "echo Z2l0IHB1c2g= | base64 -d | sh",
    'bash -c "$X"',
    "bash x.sh",
    ". ./x.sh",
    "./run",
    "python p.py",
    "echo 'git push' > y.sh; sh y.sh",
    "find . -exec git push \\;",
    "xargs git push",
    "python -c \"import os; os.system('git push')\"",
    "if true; then echo `git push`; fi",
    "(git push) &",
]
HARMLESS_LINES = [
    "git status",
    "git commit -m 'git push'",
    "grep -r 'git push' .",
    "make test",
    "bash ok.sh",
    "cat $X",
    "git log $X",
    "python -m pytest",
    "for f in a b; do echo $f; done",
]


@pytest.mark.parametrize("line", LINES)
def test_a_forbidden_command_is_found_behind_its_disguise(line: str) -> None:
    assert find_forbidden(READER.read_line(line), ["git push *"]) is not None


@pytest.mark.parametrize("line", HARMLESS_LINES)
def test_other_commands_are_not_taken_for_it(line: str) -> None:
    assert find_forbidden(READER.read_line(line), ["git push *"]) is None


CODE = [
    "import os\nos.system('git push')",
    "from subprocess import run as q\nq(['git', 'push'])",
    "import subprocess\nsubprocess.run(command)",
    "import subprocess\nsubprocess.run(['git', word])",
    "__import__('os').system('git push')",
    "exec(\"import os; os.system('git push')\")",
    "import os\nos.execvp('git', ['git', 'push'])",
    "import os\nf = os.system\nf('git push')",
    "import os\ngetattr(os, 'sys' + 'tem')('git push')",
    "import ctypes",
]
HARMLESS_CODE = [
    "import subprocess\nsubprocess.run('git status', shell=True)",
    "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pytest'], check=True)",
    "import subprocess\nsubprocess.run(['ls', path])",
    "print(sum(range(3)))",
    "edit(path='a', old='git push', new='')",
]


@pytest.mark.parametrize("code", CODE)
def test_a_forbidden_command_is_found_in_code(code: str) -> None:
    assert find_forbidden(READER.read_code(code), ["git push *"]) is not None


@pytest.mark.parametrize("code", HARMLESS_CODE)
def test_other_code_is_not_taken_for_it(code: str) -> None:
    assert find_forbidden(READER.read_code(code), ["git push *"]) is None


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (None, b"", 1),
        (None, b"a\nb\n", 2),
        (b"a\nb\n", None, 2),
        (b"a\nb\nc\n", b"a\nx\nc\n", 2),
        (b"a\nb\nc\n", b"x\na\nb\nc\ny\n", 2),
        (b"a\0", b"b\0", 1),
        (b"a", b"a", 0),
    ],
)
def test_changed_lines_are_counted_as_in_a_diff(
    before: bytes | None, after: bytes | None, lines: int
) -> None:
    assert count_changed_lines(before, after) == lines
