"""Repair in other languages: small real projects, each with its own tool chain, nothing written to the workspace."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools.workspaces import workspace
from tools.repair.engine import repair, trace
from tools.repair.result import Outcome, RepairResult

# Each builds and tests a project some twenty times, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

GO = {
    "go.mod": """\
module example.com/cart

go 1.18
""",
    "cart.go": """\
package cart

type Item struct {
	Price int
	Count int
}

// Total adds up the items; ten and more of one kind are a tenth cheaper.
func Total(items []Item) int {
	sum := 0
	for _, item := range items {
		price := item.Price * item.Count
		if item.Count > 10 {
			price -= price / 10
		}
		sum += price
	}
	return sum
}

func Largest(items []Item) int {
	best := 0
	for i, item := range items {
		if item.Price > items[best].Price {
			best = i
		}
	}
	return best
}
""",
    "cart_test.go": """\
package cart

import "testing"

func TestTotal(t *testing.T) {
	if got := Total([]Item{{Price: 5, Count: 2}, {Price: 1, Count: 3}}); got != 13 {
		t.Errorf("got %d", got)
	}
}

func TestTenAreCheaper(t *testing.T) {
	if got := Total([]Item{{Price: 10, Count: 10}}); got != 90 {
		t.Errorf("got %d, wanted 90", got)
	}
}

func TestNineAreNot(t *testing.T) {
	if got := Total([]Item{{Price: 10, Count: 9}}); got != 90 {
		t.Errorf("got %d, wanted 90", got)
	}
}

func TestLargest(t *testing.T) {
	if got := Largest([]Item{{Price: 1}, {Price: 7}, {Price: 3}}); got != 1 {
		t.Errorf("got %d", got)
	}
}
""",
}
NODE = {
    "package.json": """\
{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test test/"}}
""",
    "dates.js": """\
function isLeap(year) {
  return year % 4 === 0 && year % 100 !== 0 && year % 400 === 0;
}

function daysIn(month, year) {
  if (month === 2) {
    return isLeap(year) ? 29 : 28;
  }
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

module.exports = { isLeap, daysIn };
""",
    "test/dates.test.js": """\
const test = require("node:test");
const assert = require("node:assert");
const { isLeap, daysIn } = require("../dates");

test("every fourth year is one", () => {
  assert.strictEqual(isLeap(2024), true);
});
test("others are not", () => {
  assert.strictEqual(isLeap(2023), false);
});
test("every hundredth is not", () => {
  assert.strictEqual(isLeap(1900), false);
});
test("every four hundredth is one", () => {
  assert.strictEqual(isLeap(2000), true);
});
test("April has thirty days", () => {
  assert.strictEqual(daysIn(4, 2023), 30);
});
""",
}
C = {
    "Makefile": """\
test: run
	./run
run: list.c list.h test_list.c
	$(CC) -g -o run list.c test_list.c
""",
    "list.h": """\
int index_of(const int *values, int length, int wanted);
int sum(const int *values, int length);
""",
    "list.c": """\
#include "list.h"

int index_of(const int *values, int length, int wanted)
{
    int low = 0, high = length - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (values[middle] == wanted)
            return middle;
        if (values[middle] < wanted)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

int sum(const int *values, int length)
{
    int total = 0;
    for (int i = 0; i < length; i++)
        total += values[i];
    return total;
}
""",
    "test_list.c": """\
#include <assert.h>
#include "list.h"

int main(void)
{
    int values[] = {1, 3, 5, 7, 9, 11};
    assert(sum(values, 6) == 36);
    assert(index_of(values, 6, 4) == -1);
    assert(index_of(values, 6, 5) == 2);
    assert(index_of(values, 6, 11) == 5);
    assert(index_of(values, 6, 1) == 0);
    return 0;
}
""",
}
RUST = {
    "Cargo.toml": """\
[package]
name = "text"
version = "0.1.0"
edition = "2021"
""",
    "src/lib.rs": """\
/// Words of a text that are longer than `least` letters.
pub fn long_words(text: &str, least: usize) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(' ') {
        if word.len() > least || !word.is_empty() {
            found.push(word.to_string());
        }
    }
    found
}

pub fn count(text: &str) -> usize {
    text.split(' ').filter(|word| !word.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ones_are_found() {
        assert_eq!(long_words("a house by the sea", 3), vec!["house"]);
    }

    #[test]
    fn all_of_them() {
        assert_eq!(long_words("ab cd", 1), vec!["ab", "cd"]);
    }

    #[test]
    fn words_are_counted() {
        assert_eq!(count("a  b"), 2);
    }
}
""",
}
JAVA = {
    "Makefile": """\
test:
	javac -d classes *.java
	java -ea -cp classes RangeTest
""",
    "Range.java": """\
class Range {
    private final int low;
    private final int high;

    Range(int low, int high) {
        this.low = low;
        this.high = high;
    }

    /** How many whole numbers lie in it, both ends included. */
    int size() {
        return high < low ? 0 : high - low + 1;
    }

    boolean holds(int value) {
        return low <= value && value < high;
    }

    Range with(Range other) {
        return new Range(Math.min(low, other.low), Math.max(high, other.high));
    }
}
""",
    "RangeTest.java": """\
class RangeTest {
    public static void main(String[] arguments) {
        assert new Range(2, 5).holds(5);
        assert !new Range(2, 5).holds(6);
        assert !new Range(2, 5).holds(1);
        assert new Range(0, 0).holds(0);
        assert new Range(5, 2).size() == 0;
        assert new Range(2, 5).size() == 4 : new Range(2, 5).size();
        assert new Range(1, 2).with(new Range(4, 9)).holds(3);
    }
}
""",
}


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


@pytest.mark.parametrize(
    ("files", "path", "old", "new"),
    [
        pytest.param(GO, "cart.go", "item.Count > 10", "item.Count >= 10", marks=needs("go"), id="go"),
        pytest.param(
            NODE,
            "dates.js",
            "year % 100 !== 0 && year",
            "year % 100 !== 0 || year",
            marks=needs("npm"),
            id="javascript",
        ),
        pytest.param(C, "list.c", "low < high", "low <= high", marks=needs("cc"), id="c"),
        pytest.param(RUST, "src/lib.rs", "|| !word", "&& !word", marks=needs("cargo"), id="rust"),
        pytest.param(JAVA, "Range.java", "value < high", "value <= high", marks=needs("javac"), id="java"),
    ],
)
def test_a_fault_is_mended(
    files: Mapping[str, str],
    path: str,
    old: str,
    new: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _tool_chains(monkeypatch)
    result = mended(tmp_path, files)
    assert result.outcome == Outcome.FIXED, result.reason
    (fix,) = result.fixes
    assert fix.path == path
    before = files[path]
    assert before.count(fix.old) == 1
    assert _plain(before.replace(fix.old, fix.new)) == _plain(before.replace(old, new))
    assert 0.5 < fix.confidence < 1.0


@needs("npm")
def test_two_faults_are_mended_one_after_the_other(tmp_path: Path) -> None:
    files = {**NODE, "dates.js": NODE["dates.js"].replace("month === 2", "month === 1")}
    tests = files["test/dates.test.js"].replace(
        'test("April',
        'test("a leap February", () => {\n  assert.strictEqual(daysIn(2, 2024), 29);\n});\ntest("April',
    )
    result = mended(tmp_path, {**files, "test/dates.test.js": tests})
    assert result.outcome == Outcome.FIXED, result.reason
    text = files["dates.js"]
    for fix in result.fixes:
        assert text.count(fix.old) == 1
        text = text.replace(fix.old, fix.new)
    assert "month === 2" in text
    assert "year % 100 !== 0 || year" in text


@needs("npm")
def test_the_functions_at_fault_are_ranked(tmp_path: Path) -> None:
    result, _ = asyncio.run(trace(workspace(tmp_path, NODE), (), 120.0))
    assert [(each.path, each.function) for each in result.suspects][:1] == [("dates.js", "isLeap")]
    assert len(result.left) == 2


@needs("npm")
@pytest.mark.parametrize(
    ("files", "outcome"),
    [
        ({"dates.js": NODE["dates.js"].replace("0 && year % 400", "0 || year % 400")}, Outcome.ALL_PASS),
        ({"test/dates.test.js": "require('../nowhere');\n"}, Outcome.IMPORT_ERROR),
        (
            {
                "test/dates.test.js": "const test = require('node:test');\n"
                "test('once', () => { if (process.hrtime.bigint() % 2n ** 40n >= 0n) throw new Error('no'); });\n"
            },
            Outcome.NOT_COVERED,
        ),
    ],
)
def test_what_cannot_be_searched_is_told_apart(
    files: Mapping[str, str], outcome: Outcome, tmp_path: Path
) -> None:
    assert mended(tmp_path, {**NODE, **files}).outcome == outcome


def mended(folder: Path, files: Mapping[str, str]) -> RepairResult:
    at = workspace(folder, {path: text.encode() for path, text in files.items()})
    result = asyncio.run(repair(at, budget=1200.0))
    kept = {path: (at.root / path).read_text() for path in files}
    assert kept == dict(files)
    assert {each.relative_to(at.root).as_posix() for each in at.root.rglob("*") if each.is_file()} == set(
        files
    )
    assert not list((folder / "cache").glob("copies-*"))
    return result


def _plain(text: str) -> str:
    """Without blanks and parentheses, as far as these say the same."""
    return "".join(text.split()).replace("(", "").replace(")", "")


def _tool_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """rustup keeps its tool chains in the real home, which tests do not see."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return
    home = Path(cargo).parent.parent
    monkeypatch.setenv("CARGO_HOME", str(home))
    if (home.parent / ".rustup").exists():
        monkeypatch.setenv("RUSTUP_HOME", str(home.parent / ".rustup"))
