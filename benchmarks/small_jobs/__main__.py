"""Questions about public repositories, answered by a small model: places and facts that code checks.

    python -m benchmarks.small_jobs FOLDER [--half development|held] [--retrieval]
        [--model openai/NAME --api-base URL] [--most N] [--out FILE]

FOLDER has the clones, `owner+name`. An answer is right if it has the fact; whether it cites the place is counted by
itself. `--retrieval` asks no model: whether the excerpts that it would get have the lines of the answer.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from packages.offline.jobs.found_code import find_excerpts
from packages.offline.model.intent.question_topics import read_question
from tools.code.index.code_index import ask_index

QUESTIONS = Path(__file__).with_name("questions.jsonl")
_PLACE = re.compile(r"\b((?:[\w.-]+/)*[\w-]+\.(?:py|go|md|toml)):(\d+)\b")


def check_retrieval(root: Path, cache: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the excerpts for a question have the lines of its answer, and how large they are."""
    question = read_question(row["question"])
    assert question is not None, row["question"]
    found = ask_index(root, cache, (), lambda index: find_excerpts(index, question.text, question.names))
    has_code = [
        place
        for place, each in enumerate(found, 1)
        if each.path == row["path"] and re.search(row["code"], each.source)
    ]
    return {"rank": min(has_code, default=0), "characters": sum(len(each.source) for each in found)}


def ask(root: Path, row: Mapping[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """Return what a session answers, and how it is judged."""
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", "patchwright", "run", row["question"], "--mode", "read-only", *options],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    invented = [
        f"{path}:{line}"
        for path, line in _PLACE.findall(ran.stdout)
        if not (root / path).is_file() or int(line) > len((root / path).read_text("utf-8").splitlines())
    ]
    said = re.sub(r"(?s)The likeliest places:.*", "", ran.stdout)
    return {
        "right": ran.returncode == 0 and re.search(row["fact"], said) is not None,
        "cites": row["path"] in ran.stdout,
        "answered": ran.returncode == 0,
        "invented": invented,
        "seconds": round(time.monotonic() - began, 1),
        "answer": ran.stdout,
    }


def main() -> None:
    """Run the questions, one line each, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=["development", "held"])
    parser.add_argument("--retrieval", action="store_true")
    parser.add_argument("--model", default="openai/qwen2.5-coder-1.5b")
    parser.add_argument("--api-base", default="http://127.0.0.1:8791/v1")
    parser.add_argument("--most", type=int, default=1_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    rows = [each for each in rows if options.half in (None, each["half"])][: options.most]
    found = []
    for row in rows:
        root = (options.folder / row["repository"].replace("/", "+")).resolve()
        if options.retrieval:
            result = check_retrieval(root, options.folder.resolve() / "cache" / root.name, row)
        else:
            result = ask(root, row, ["--model", options.model, "--api-base", options.api_base])
        found.append({**row, **result})
        print(json.dumps(found[-1]), flush=True)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found[-1]) + "\n")
    for half in ("development", "held"):
        part = [each for each in found if each["half"] == half]
        if part and options.retrieval:
            print(f"{half}: {sum(each['rank'] > 0 for each in part)} of {len(part)} found")
        elif part:
            print(
                f"{half}: {sum(each['right'] for each in part)} of {len(part)} right, "
                f"{sum(each['cites'] for each in part)} cite the file, "
                f"{sum(len(each['invented']) for each in part)} places that do not exist"
            )


if __name__ == "__main__":
    main()
