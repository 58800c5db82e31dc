"""In other languages, too, a local model fills in lines where no template helps; the project's own tests judge them."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.model.infill.fill_forms import Filling, Gap
from packages.offline.infill.filled_lines import (
    STEP,
    find_gap_before,
    find_line_gap,
    find_value_gap,
    iterate_filled_candidates,
    list_places,
    read_failing_test,
)
from packages.offline.infill.filler import FILLER
from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.languages import language_engine
from packages.offline.repair.languages.call_reach import SuspectFunction
from packages.offline.repair.languages.parsed_source import ParsedFile
from packages.offline.repair.result import Outcome, RepairResult
from tests.packages.offline.repair.languages.test_projects import find_tool_chains
from tests.support.cli import run
from tests.support.loopback import Loopback
from tests.support.repo import Repo
from tests.tools.workspaces import workspace
from tools.code.languages import detect_languages


class Knowing:
    """A model that knows one thing: what is written after a text."""

    works, is_resting = True, False

    def __init__(self, write: Callable[[Gap], str]) -> None:
        self.write = write
        self.asked: list[Gap] = []

    async def fill(self, gap: Gap) -> Filling | None:
        self.asked.append(gap)
        await asyncio.sleep(0)
        text = self.write(gap)
        return Filling(text=text) if text else None

    async def tells_probabilities(self) -> bool:
        return False


CODE = """\
// Words of a title.
function slug(text) {
  const words = text.split(" ");
  if (words.length === 0) {
    return "";
  }
  return words;
}

module.exports = { slug };
"""
NODE = {
    "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test test/"}}\n',
    "titles.js": CODE,
    "test/titles.test.js": """\
const test = require("node:test");
const assert = require("node:assert");
const { slug } = require("../titles");

test("a title becomes a slug", () => {
  assert.strictEqual(slug("A Fine Day"), "a-fine-day");
});
test("one word stays", () => {
  assert.strictEqual(String(slug("x")), "x");
});
""",
}
RUST = {
    "Cargo.toml": '[package]\nname = "titles"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """\
pub fn slug(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    words.concat()
}
""",
    "tests/titles.rs": """\
use titles::slug;

#[test]
fn a_title_becomes_a_slug() {
    assert_eq!(slug("A Fine Day"), "a-fine-day");
}
""",
}

C = {
    "Makefile": "test: run\n\t./run\nrun: tally.c test_tally.c\n\t$(CC) -o run tally.c test_tally.c\n",
    "tally.c": """\
int tally(const int *values, int length)
{
    int total = 0;
    for (int i = 0; i < length; i++)
        total += values[i];
    return total;
}
""",
    "test_tally.c": """\
#include <assert.h>
int tally(const int *values, int length);

int main(void)
{
    int values[] = {1, -3, 5};
    assert(tally(values, 3) == 9);
    return 0;
}
""",
}


def suspect(path: str, text: str, *lines: int) -> SuspectFunction:
    code = ParsedFile(path, text, detect_languages(path)[0])
    [function] = code.functions
    return SuspectFunction(
        code=code, function=function, score=1.0, failing=1, passing=0, lines=frozenset(lines)
    )


def test_the_gaps_of_a_line() -> None:
    doubt = suspect("titles.js", CODE, 7)

    def read(find: Any, line: int) -> str | None:
        gap = find(doubt, line)
        return None if gap is None else CODE[gap.start : gap.end]

    assert [line for _, line in list_places([doubt])] == [7, 2, 3, 4, 5]
    assert [read(find_line_gap, line) for line in (2, 3, 6)] == [None, 'const words = text.split(" ");', None]
    assert [read(find_value_gap, line) for line in (3, 4, 5, 6, 7)] == [
        'text.split(" ");', "words.length === 0) {", '"";', None, "words;",
    ]  # fmt: skip
    gap = find_gap_before(doubt, 7)
    assert gap is not None
    assert CODE[: gap.start] + "x();" + gap.after + CODE[gap.end :] == CODE.replace(
        "  return words", "  x();\n  return words"
    )


def test_fillings_are_asked_round_by_round_and_tried_once() -> None:
    doubt = suspect("titles.js", CODE, 7)
    model = Knowing(lambda gap: "return words.join();" if gap.prefix.endswith(";\n  }\n  ") else "((")

    async def collect() -> list[Any]:
        fillings = iterate_filled_candidates(model, [doubt], [], lambda: 30 - len(model.asked))  # type: ignore[arg-type]
        return [each async for each in fillings]

    found = asyncio.run(collect())
    assert [(each.change.line, each.change.text, each.rank) for each in found[:1]] == [
        (7, "return words.join();", 0)
    ]
    assert len({each.after for each in found}) == len(found)
    assert [each.rank for each in found] == [STEP * number for number in range(len(found))]
    assert all("((" not in each.after for each in found)  # no syntax errors
    assert {each.temperature for each in model.asked} == {0.0, 0.8}
    assert found[0].after.encode()[found[0].change.start :].startswith(b"return words.join();\n")


def test_the_failing_test_is_shown() -> None:
    codes = [
        ParsedFile(name, text, detect_languages(name)[0])
        for name, text in NODE.items()
        if name.endswith(".js")
    ]
    failure: Any = SimpleNamespace(id="titles > one word stays", file="")
    [(path, text)] = read_failing_test(codes, failure)
    assert path == "test/titles.test.js"
    assert text.startswith('test("one word stays"')
    assert read_failing_test(codes, SimpleNamespace(id="nothing", file="")) == []  # type: ignore[arg-type]


def test_the_model_has_time_for_its_word_after_the_search(tmp_path: Path) -> None:
    """Where fillings come to the last second, a change that passes a single check is not taken on trust."""

    def measure(filler: Any) -> float:
        run = language_engine._RepairRun(
            root=tmp_path, places=(), targets=(), deadline=time.monotonic() + 100, budget=100,
            on_progress=lambda line: None, filler=filler,
        )  # fmt: skip
        return run._compute_time_left()

    assert measure(None) == pytest.approx(100, abs=5)
    assert measure(Knowing(lambda gap: "")) == pytest.approx(100 * (1 - language_engine.WEIGHING), abs=5)


def mend(folder: Path, files: Mapping[str, str], model: Knowing) -> RepairResult:
    at = workspace(folder, files)
    at.facts[FILLER] = model
    return asyncio.run(repair(at, budget=240))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize(
    ("line", "code"), [('return words.join("-").toLowerCase();', 0), ("return text;", 13)]
)
def test_a_turn_with_a_small_model_mends_javascript_or_says_that_it_did_not(
    line: str, code: int, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "shop")
    for name, text in NODE.items():
        repo.write(name, text)
    repo.commit_all()
    pages = {"/infill": {"content": line, "completion_probabilities": [{"token": line, "logprob": -0.1}]}}
    turns: list[Mapping[str, Any]] = [{"text": "1", "repeat": 10}]
    with Loopback(turns, pages=pages) as server:
        words = [
            "run",
            "The tests fail. Fix titles.js.",
            "--model",
            "openai/coder-1.5b",
            "--api-base",
            server.url,
        ]
        done = run(*words, "--max-time", "100", cwd=repo.root)
    assert done.code == code, done.err
    assert (line in repo.read("titles.js")) is (code == 0)
    if code:
        assert "No change of one place was found" in done.out
        assert (
            len(server.requests) == 0
        )  # nothing to ask a model for that only Python's functions could answer


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("program", "files", "path", "place", "line"),
    [
        ("node", NODE, "titles.js", "}\n  ", 'return words.join("-").toLowerCase();'),
        ("cargo", RUST, "src/lib.rs", "collect();\n    ", 'words.join("-").to_lowercase()'),
        ("cc", C, "tally.c", "i++)\n        ", "total += values[i] < 0 ? -values[i] : values[i];"),
    ],
)
def test_a_line_that_no_template_writes_is_filled_in(
    program: str,
    files: Mapping[str, str],
    path: str,
    place: str,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")
    find_tool_chains(monkeypatch)
    model = Knowing(lambda gap: line if gap.prefix.endswith(place) else "")
    result = mend(tmp_path, files, model)
    assert result.outcome is Outcome.FIXED, result.reason
    assert [(fix.path, fix.template) for fix in result.fixes] == [(path, "filled")]
    assert line in result.fixes[0].new
    assert (tmp_path / "work" / path).read_text() == files[path]
    if program != "cc":  # its failure is an exit code of one program
        [(name, _)] = model.asked[0].beside
        assert name in files
