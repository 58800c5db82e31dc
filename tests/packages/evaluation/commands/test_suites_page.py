"""docs/evaluation-suites.md: its commands run as they are written, and its tables name what there is."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from packages.evaluation.mining.vary_tasks import VARIATIONS
from packages.evaluation.suites.programs.polyglot import LANGUAGES
from packages.evaluation.suites.suite_table import SUITES
from tests.support.cli import CHECKOUT, Result, run
from tests.support.evaluation_tasks import write_tree

PAGE = (CHECKOUT / "docs/evaluation-suites.md").read_text("utf-8")

BEFORE = {
    "cart.py": "def total(prices):\n    return sum(prices) - 1\n",
    "tax.py": "def tax(price):\n    if price < 0:\n        return 0\n    return price * 20 / 100\n",
    "test_cart.py": "from cart import total\n\n\ndef test_empty():\n    assert total([1]) == 0\n",
    "test_tax.py": "from tax import tax\n\n\ndef test_tax():\n    assert tax(10) == 2\n    assert tax(-1) == 0\n",
    ".gitignore": "QuixBugs/\nsuites/\nmined/\ninjected/\nchains/\nmasked/\nreworded/\n",
}
AFTER = {
    "cart.py": "def total(prices):\n    return sum(prices)\n",
    "test_cart.py": "from cart import total\n\n\ndef test_total():\n"
    "    assert total([1]) == 1\n    assert total([2, 3]) == 5\n",
}


def make_project(folder: Path) -> None:
    """Write a project with a fix in its history, and a QuixBugs of one program of the development half."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for message, files in (("Begin", BEFORE), ("Fix the total, which was too low", AFTER)):
        write_tree(folder, files)
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", message]):
            subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)
    text = "def bitcount(n):\n    return bin(n).count({})\n"
    write_tree(folder / "QuixBugs", {
        "python_programs/gcd.py": "def gcd(a, b):\n    return gcd(a % b, b) if b else a\n",
        "correct_python_programs/gcd.py": "def gcd(a, b):\n    return gcd(b, a % b) if b else a\n",
        "python_programs/bitcount.py": text.format("'0'"),
        "correct_python_programs/bitcount.py": text.format("'1'"),
        "python_programs/kth.py": "def kth(arr, k):\n    return arr[k]\n",
        "correct_python_programs/kth.py": "def kth(arr, k):\n    return sorted(arr)[k]\n",
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_page_makes_suites_and_measures_on_them(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    make_project(folder)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    done: dict[str, Result] = {}
    for line in lines:
        words = shlex.split(line)
        done[line] = run(*words[1:], cwd=folder, timeout=200)
        assert done[line].code == 0, (line, done[line])
    told = [each.out for each in done.values()]
    assert len(told) == 10
    assert "refactorbench: " in told[0]
    assert re.search(r"suites/quixbugs: [123] tasks? written", told[1])
    assert re.search(r"(\d) of \1 tasks admitted", told[2])
    assert told[3].startswith("mined: 1 new tasks of 1 fixes that were tried")
    assert told[4] == "1 of 1 tasks admitted\n"
    assert "offline" in told[5]
    assert told[6].startswith("injected: 2 tasks written")
    assert "tasks of 2 parts written" in told[7]
    assert told[8].startswith("masked: 2 tasks written")
    assert told[9].startswith("reworded: 2 tasks written")


def test_reports_of_the_official_harness_have_a_line_each(tmp_path: Path) -> None:
    report = {
        "submitted_ids": ["a", "b", "c"],
        "resolved_ids": ["a"],
        "unresolved_ids": ["b"],
        "error_ids": ["c"],
    }
    (tmp_path / "run.json").write_text(json.dumps(report))
    told = run("eval", "official", "run.json", cwd=tmp_path)
    assert told.out == "run.json: resolved 1/3, 33.3% (6–79); 1 unresolved, 1 error\n"
    assert (
        json.loads(run("eval", "official", "run.json", "--json", cwd=tmp_path).out)["run.json"]["c"]
        == "error"
    )
    broken = run("eval", "official", "none.json", cwd=tmp_path)
    assert (broken.code, "none.json: no report" in broken.err) == (6, True)


def test_a_suite_that_is_not_named_is_asked_for(tmp_path: Path) -> None:
    for arguments, words in (
        ((), "no suite"),
        (("quixbugs",), "--from is needed"),
        (("x", "--from", "."), "no suite 'x'"),
    ):
        told = run("eval", "build", *arguments, cwd=tmp_path)
        assert told.code == 2
        assert words in told.err


def test_the_page_names_every_suite_and_every_kind_of_variant() -> None:
    assert [name for name in SUITES if f"| `{name}` | {SUITES[name].address.split(' ')[0]}" not in PAGE
            and f"| `{name}` |" not in PAGE] == []  # fmt: skip
    assert [name for name in VARIATIONS if f"`vary --kind {name}`" not in PAGE] == []
    shown = {
        "python": "Python",
        "javascript": "JavaScript",
        "go": "Go",
        "rust": "Rust",
        "java": "Java",
        "cpp": "C++",
    }
    assert [name for name in LANGUAGES if shown[name] not in PAGE] == []
