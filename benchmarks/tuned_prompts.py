"""`patchwright tune` on prompts of a small model's jobs, with the model itself.

    python -m benchmarks.tuned_prompts FOLDER --data humanevalpack.jsonl --job test|name [--tasks N]
        [--model openai/NAME --api-base URL]

FOLDER gets the suite, a repository, and the store of results, so that the same command goes on where it was
interrupted; `FOLDER/JOB/result.json` is what `tune run --json` says. Tasks are functions of HumanEvalPack's development
half, drawn by the hash of their ids; `tune` chooses by one half of them and decides by the other.

test: "Write a test for NAME" of the right function, without the examples of its docstring; solved if the test passes
on it and fails on the version that the data set's authors broke.
name: "Give do_it a better name" of the function under that name, without its docstring; solved if at least half of the
new name's words are words of the true name or of the first sentence of its description, by their first four letters.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]

PLAIN = "do_it"
"""Name of each function that is to get a better one."""

_TEST = (
    "You write one pytest test function for a Python function. Reply with that test function in one ```python block, "
    "and nothing else: {} No fixtures, no mocks, no files, no network."
)
_NAME = "You find a better name for a Python function or class. {} Reply with the new name alone."

PARTS: Mapping[str, Sequence[str]] = {
    "test": [
        # Code drops assertions that do not hold, so that a further one costs nothing but tokens.
        _TEST.format(
            "six to ten assertions with literal inputs and results, each on one line, no two of them alike. "
            "Work out each result from the code."
        ),
        _TEST.format(
            "three to five assertions with literal inputs and results, each on one line. Choose inputs that make each "
            "condition of the code true once and false once. Work out each result from the code."
        ),
        _TEST.format(
            "four to six assertions with literal inputs and results, each on one line: an ordinary input, an empty or "
            "zero one, one with a single item, one with repeated items, and one at the limit of a comparison in the "
            "code. Work out each result from the code."
        ),
        _TEST.format(
            "four assertions with literal inputs and results. Before each one write a comment that works out its "
            "result from the code, step by step."
        ),
        "Write one pytest test function with five asserts, like `assert add(2, 3) == 5`, for the function you are "
        "shown. Use short inputs whose results are certain. Reply with the function in one ```python block.",
    ],
    "name": [
        _NAME.format("It says what the function returns or does: a verb and an object, two to four words."),
        _NAME.format(
            "It is a verb and its object, like count_vowels, find_largest_item, is_sorted or remove_duplicates."
        ),
        _NAME.format("It says the purpose, not the steps: what a caller gets."),
        "You read a Python function, find out what it computes, and name it. Reply with one name in the style of "
        "snake_case, of two to five words that tell the result, and nothing else.",
        _NAME.format("Use the words of the code's own variables and operations."),
    ],
}
"""Prompts to choose from, beside the built-in one. Written before any was run."""

CHECK_TEST = """
import os, subprocess, sys
from pathlib import Path

def passes():
    words = [os.environ["PYTHON"], "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_solution.py"]
    try:
        return subprocess.run(words, timeout=30).returncode
    except subprocess.TimeoutExpired:
        return 1

if not Path("test_solution.py").exists() or passes() != 0:
    sys.exit("no test that passes")
Path("solution.py").write_text(BROKEN)
sys.exit(0 if passes() == 1 else "the broken function is not noticed")
"""

CHECK_NAME = """
import ast, re, sys
from pathlib import Path

tree = ast.parse(Path("solution.py").read_text())
[name] = [each.name for each in tree.body if isinstance(each, ast.FunctionDef) and each.name not in KNOWN]
words = [each[:4] for each in re.split(r"[\\d_]+", name.lower()) if len(each) > 2]
shared = [each for each in words if each in WORDS]
sys.exit(0 if words and 2 * len(shared) >= len(words) else name)
"""


def main() -> None:
    """Write the suite, run the tuning, and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--job", choices=list(PARTS), required=True)
    parser.add_argument("--tasks", type=int, default=28)
    parser.add_argument("--model", default="openai/qwen2.5-coder-1.5b")
    parser.add_argument("--api-base", default="http://127.0.0.1:8791/v1")
    options = parser.parse_args()
    place = options.folder.resolve() / options.job
    project = place / "project"
    project.mkdir(parents=True, exist_ok=True)
    if not (project / ".git").exists():
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    records = [json.loads(line) for line in options.data.read_text("utf-8").splitlines()]
    write_suite(place / "suite", options.job, records, options.tasks)
    values = json.dumps(PARTS[options.job], ensure_ascii=False)
    (place / "parts.toml").write_text(f"prompts.{options.job} = {values}\n", "utf-8")
    words = [
        "tune",
        "run",
        "../suite",
        "--kind",
        "prompts",
        "--rules",
        "../parts.toml",
        "--jobs",
        "1",
        "--json",
        "--store",
        "../store",
    ]
    words += ["--model", options.model, "--api-base", options.api_base]
    variables = {
        "PYTHONPATH": str(CHECKOUT),
        "PATCHWRIGHT_HOME": str(place / "home"),
        "OPENAI_API_KEY": "none",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "patchwright", *words],
        cwd=project,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    (place / "result.json").write_text(ran.stdout, "utf-8")
    print(ran.stdout)
    sys.exit(ran.returncode)


def write_suite(suite: Path, job: str, records: Sequence[Mapping[str, str]], most: int) -> None:
    """Write the tasks that are not there yet."""
    drawn = [each for each in records if compute_hash(each["task_id"]) % 2 == 0]
    for record in sorted(drawn, key=lambda each: compute_hash(f"{job}:{each['task_id']}"))[:most]:
        folder = suite / record["task_id"].replace("/", "-").lower()
        if folder.exists():
            continue
        (folder / "base").mkdir(parents=True)
        (folder / "check").mkdir()
        name = record["entry_point"]
        right, broken = (
            reword_docstring(record["prompt"] + record[key], name)
            for key in ("canonical_solution", "buggy_solution")
        )
        if job == "test":
            prompt = f"Write a test for {name}"
            check = CHECK_TEST.replace("BROKEN", repr(broken))
        else:
            prompt = f"Give {PLAIN} a better name"
            right = rename(right, name)
            told = set(re.findall("[a-z]{3,}", f"{name} {describe(record)}".lower().replace("_", " ")))
            stems = sorted({each[:4] for each in told})
            known = re.findall(r"^def (\w+)", right, re.MULTILINE)
            check = CHECK_NAME.replace("KNOWN", repr(known)).replace("WORDS", repr(stems))
        (folder / "base" / "solution.py").write_text(right, "utf-8")
        (folder / "check" / "check.py").write_text(check, "utf-8")
        (folder / "task.toml").write_text(
            f'prompt = {json.dumps(prompt)}\ncheck = \'"$PYTHON" -I -B check.py\'\n[base]\nfolder = "base"\n',
            "utf-8",
        )


def compute_hash(text: str) -> int:
    return int(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), 16)


def describe(record: Mapping[str, str]) -> str:
    """Return a function's description without its examples."""
    text = re.split(r">>>|\b(?:For )?[Ee]xamples?\b|\[input/output\]", record["docstring"])[0]
    return " ".join(text.split())


def reword_docstring(text: str, name: str) -> str:
    """Return a program whose function has a description without examples, which would be copied into tests."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and (told := ast.get_docstring(node)):
            node.body[0] = ast.Expr(ast.Constant(describe({"docstring": told}) or "Compute."))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def rename(text: str, name: str) -> str:
    """Return a program whose function has the plain name, and no docstring."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return re.sub(rf"\b{name}\b", PLAIN, ast.unparse(tree)) + "\n"


if __name__ == "__main__":
    main()
