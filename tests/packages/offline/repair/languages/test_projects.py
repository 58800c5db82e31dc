"""Repair in other languages: small real projects, each with its own tool chain, nothing written to the workspace."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from packages.offline.repair.engine.repair_engine import localize_faults, repair
from packages.offline.repair.result import Outcome, RepairResult
from tests.tools.workspaces import workspace

# Each builds and tests a project some five times, which a busy machine may make slow. The faults are such that the
# likeliest changes mend them, and the functions so small that little else is as likely.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

GO = {
    "go.mod": """\
module example.com/cart

go 1.18
""",
    "cart.go": """\
package cart

// Cheaper says whether so many of one kind are a tenth cheaper: as many as are asked for, and more.
func Cheaper(count int, least int) bool {
	return count > least
}

func Largest(prices []int) int {
	best := 0
	for i, price := range prices {
		if price > prices[best] {
			best = i
		}
	}
	return best
}
""",
    "cart_test.go": """\
package cart

import "testing"

func TestTenAreCheaper(t *testing.T) {
	if !Cheaper(10, 10) || !Cheaper(11, 10) {
		t.Errorf("they are not")
	}
}

func TestNineAreNot(t *testing.T) {
	if Cheaper(9, 10) {
		t.Errorf("they are")
	}
}

func TestLargest(t *testing.T) {
	if got := Largest([]int{1, 7, 3}); got != 1 {
		t.Errorf("got %d", got)
	}
}
""",
}
NODE = {
    "package.json": """\
{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test test/"}}
""",
    "boxes.js": """\
function area(width, height) {
  return width * height;
}

function fits(size, most) {
  return size < most;
}

module.exports = { area, fits };
""",
    "test/boxes.test.js": """\
const test = require("node:test");
const assert = require("node:assert");
const { area, fits } = require("../boxes");

test("an area is a product", () => {
  assert.strictEqual(area(4, 5), 20);
});
test("what is as large fits", () => {
  assert.ok(fits(4, 4) && fits(3, 4));
});
test("what is larger does not", () => {
  assert.ok(!fits(5, 4));
});
test("what is much larger does not", () => {
  assert.ok(!fits(50, 4));
});
""",
}
C = {
    "Makefile": """\
test: run
	./run
run: range.c range.h test_range.c
	$(CC) -o run range.c test_range.c
""",
    "range.h": """\
int index_of(const int *values, int length, int wanted);
int within(int value, int low, int high);
""",
    "range.c": """\
#include "range.h"

int index_of(const int *values, int length, int wanted)
{
    for (int i = 0; i < length; i++)
        if (values[i] == wanted)
            return i;
    return -1;
}

int within(int value, int low, int high)
{
    return low <= value || value <= high;
}
""",
    "test_range.c": """\
#include <assert.h>
#include "range.h"

int main(void)
{
    int values[] = {1, 3, 5};
    assert(index_of(values, 3, 5) == 2);
    assert(index_of(values, 3, 4) == -1);
    assert(within(5, 2, 5) && within(2, 2, 5) && within(3, 2, 5));
    assert(!within(6, 2, 5) && !within(1, 2, 5));
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
/// Whether a text is no longer than that.
pub fn fits(text: &str, most: usize) -> bool {
    text.len() < most
}

pub fn count(text: &str) -> usize {
    text.split(' ').filter(|word| !word.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_long_fits() {
        assert!(fits("house", 5) && fits("sea", 5));
    }

    #[test]
    fn what_is_longer_does_not() {
        assert!(!fits("houses", 5));
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
	javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -d classes Range.java RangeTest.java
	java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -ea -cp classes RangeTest
""",
    "Range.java": """\
class Range {
    private final int high;

    Range(int high) {
        this.high = high;
    }

    /** The end is included. */
    boolean holds(int value) {
        return value < high;
    }
}
""",
    "RangeTest.java": """\
class RangeTest {
    public static void main(String[] arguments) {
        assert new Range(5).holds(5);
        assert new Range(5).holds(1);
        assert !new Range(5).holds(6);
    }
}
""",
}


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


@pytest.mark.parametrize(
    ("files", "path", "old", "new"),
    [
        pytest.param(GO, "cart.go", "count > least", "count >= least", marks=needs("go"), id="go"),
        pytest.param(NODE, "boxes.js", "size < most", "size <= most", marks=needs("npm"), id="javascript"),
        pytest.param(C, "range.c", "||", "&&", marks=needs("cc"), id="c"),
        pytest.param(RUST, "src/lib.rs", "< most", "<= most", marks=needs("cargo"), id="rust"),
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
    find_tool_chains(monkeypatch)
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
    files = {each: text for each, text in NODE.items() if each != "package.json"}
    # Not by npm, which takes longer to start than all else.
    files["Makefile"] = ".PHONY: test\ntest:\n\tnode test/boxes.test.js\n"
    files["boxes.js"] = NODE["boxes.js"].replace("width * height", "width + height")
    result = mended(tmp_path, files)
    assert result.outcome == Outcome.FIXED, result.reason
    text = files["boxes.js"]
    for fix in result.fixes:
        assert text.count(fix.old) == 1
        text = text.replace(fix.old, fix.new)
    assert "width * height" in text
    assert "size <= most" in text


@needs("npm")
def test_the_functions_at_fault_are_ranked(tmp_path: Path) -> None:
    result, _ = asyncio.run(localize_faults(workspace(tmp_path, NODE), (), 120.0))
    assert [(each.path, each.function) for each in result.suspects][:1] == [("boxes.js", "fits")]
    assert len(result.left) == 1


@needs("npm")
@pytest.mark.parametrize(
    ("files", "outcome"),
    [
        ({"boxes.js": NODE["boxes.js"].replace("<", "<=")}, Outcome.ALL_PASS),
        ({"test/boxes.test.js": "require('../nowhere');\n"}, Outcome.IMPORT_ERROR),
        (
            {
                "test/boxes.test.js": "const test = require('node:test');\n"
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


def find_tool_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """rustup keeps its tool chains in the real home, which tests do not see."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return
    home = Path(cargo).parent.parent
    monkeypatch.setenv("CARGO_HOME", str(home))
    if (home.parent / ".rustup").exists():
        monkeypatch.setenv("RUSTUP_HOME", str(home.parent / ".rustup"))
