"""`patchwright select`: programs and patches, as text and as JSON, with and without a model."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT, run
from tests.support.confined import needs_confinement
from tests.support.loopback import Loopback

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

MEDIAN = """\
def median(xs):
    xs = sorted(xs)
    n = len(xs)
    return xs[n // 2] if n % 2 else (xs[n // 2 - 1] + xs[n // 2]) / 2
"""
LIBRARY = "import statistics\n\n\ndef median(xs):\n    return statistics.median(xs)\n"
UNSORTED = "def median(xs):\n    return xs[len(xs) // 2]\n"
GENERATED = "assert median([3, 1, 2]) == 2\nassert median([1, 2, 3, 4]) == 2.5\nassert median([1, 2]) == 2\n"

CART = "def total(items):\n    return sum(items[1:])\n"
TESTS = """\
from cart import total


def test_total():
    assert total([1, 2]) == 3


def test_empty():
    assert total([]) == 0
"""


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def patch(path: str, old: str, new: str, line: int = 2) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -{line} +{line} @@\n-{old}\n+{new}\n"


def test_programs_are_chosen_by_behaviour_and_the_difference_is_shown(tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    put(tmp_path, a__py=MEDIAN, b__py=UNSORTED, c__py=LIBRARY, g__txt=GENERATED)
    names = ("a.py", "b.py", "c.py", "--function", "median")
    done = run("select", *names, "--generated", "g.txt", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["chosen"] in ("a.py", "c.py")
    assert found["ranking"][-1] == "b.py"
    assert found["levels"][0]["details"]["b.py"] == "1 of 3 behave alike, passes 1 of 3 generated tests"
    assert found["difference"]["other"] == "b.py"
    assert len(found["difference"]["call"]) <= len("([1, 2, 3])")
    told = run("select", *names, "--checks", "g.txt", cwd=tmp_path)
    assert told.code == 1
    assert "abstained: no candidate passes the executed checks" in told.out
    assert "a.py: 2 of 3 checks hold" in told.out


def test_a_model_is_asked_only_about_equals(tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    put(tmp_path, a__py=MEDIAN, b__py=UNSORTED, c__py=LIBRARY, g__txt=GENERATED)
    options = ("--function", "median", "--generated", "g.txt", "--task", "The middle value.", "--json")
    with Loopback([{"text": "B", "repeat": 2}]) as server:
        told = ("--model", "openai/test", "--api-base", server.url)
        key = {"OPENAI_API_KEY": "k"}
        done = run("select", "a.py", "b.py", "c.py", *options, *told, cwd=tmp_path, env=key)
    asked = [json.dumps(each.body) for each in server.requests]
    assert len(asked) == 2
    assert all("The middle value." in each and "statistics" in each for each in asked)
    assert not any("xs[len(xs) // 2]" in each for each in asked)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    opinions = found["levels"][1]
    assert (opinions["name"], opinions["evidence"]) == ("opinions", "opinion")
    assert opinions["note"] == "1 of 1 answers followed the order and were dropped"
    assert (found["chosen"], found["decided_by"]) == ("a.py", "size")


def test_patches_are_tried_in_copies_and_tests_that_one_weakens_still_count(tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    shop = tmp_path / "shop"
    shop.mkdir()
    put(shop, cart__py=CART, test_cart__py=TESTS)
    put(tmp_path, right__diff=patch("cart.py", "    return sum(items[1:])", "    return sum(items)"))
    put(tmp_path, again__diff=patch("cart.py", "    return sum(items[1:])", "    return sum(list(items))"))
    put(tmp_path, literal__diff=patch("cart.py", "    return sum(items[1:])", "    return 3 if items else 0"))
    put(
        tmp_path,
        cheat__diff=patch("test_cart.py", "    assert total([1, 2]) == 3", "    assert True", line=5),
    )
    put(tmp_path, other__diff=patch("cart.py", "    return sum(items[2:])", "    return sum(items)"))
    names = [f"../{each}.diff" for each in ("literal", "cheat", "again", "other", "right")]
    done = run("select", *names, "--json", cwd=shop)
    assert done.code == 0, done.out + done.err
    found = json.loads(done.out)
    suite, *_ = found["levels"]
    assert suite["left"] == ["../literal.diff", "../again.diff", "../right.diff"]
    assert "fail without the patch" in suite["details"]["../cheat.diff"]
    assert suite["details"]["../other.diff"].startswith("it does not apply")
    assert (shop / "cart.py").read_text() == CART
    done = run("select", *[names[each] for each in (0, 2, 4)], cwd=shop)
    assert done.code == 0, done.out + done.err
    assert "behaviour, executed" in done.out
    assert "../literal.diff: 1 of 3 behave alike" in done.out
    assert "chosen: ../literal.diff" not in done.out
    assert {each.name for each in shop.iterdir()} <= {"cart.py", "test_cart.py"}


def test_mended_and_broken_tests_count_by_name_and_a_suite_that_cannot_run_is_said_first(
    tmp_path: Path,
) -> None:
    needs_confinement(tmp_path)
    shop = tmp_path / "shop"
    shop.mkdir()
    two = TESTS.replace("assert total([]) == 0", "assert total([]) == 9")
    put(shop, cart__py=CART, test_cart__py=two)
    half = patch("cart.py", "    return sum(items[1:])", "    return sum(items)")
    none = patch("cart.py", "    return sum(items[1:])", "    return sum(items[2:])")
    put(tmp_path, half__diff=half, none__diff=none)
    done = run("select", "../none.diff", "../half.diff", "--json", cwd=shop)
    found = json.loads(done.out)
    assert (found["ranking"][0], found["decided_by"]) == ("../half.diff", "suite"), done.out
    details = found["levels"][0]["details"]
    assert details["../half.diff"].startswith("mends test_cart.py::test_total; 1 passed, 1 failed")
    (shop / "test_cart.py").unlink()
    told = run("select", "../none.diff", "../half.diff", "--confidence", "0", cwd=shop)
    first, _, confidence, *_ = told.out.splitlines()
    assert first.startswith("the suite did not run: no-"), told.out
    assert float(confidence.removeprefix("confidence: ")) < 0.5


KEYED = {
    "a table": "    return {(1, 2): 3, (4, 5, 6): 15}.get(tuple(items), sum(items[1:]))",
    "hashes": "    return {hash((1, 2)): 3, hash((4, 5, 6)): 15}.get(hash(tuple(items)), sum(items[1:]))",
    "texts": "    return {'[1, 2]': 3, '[4, 5, 6]': 15}.get(str(items), sum(items[1:]))",
}


@pytest.mark.parametrize("way", KEYED)
def test_a_patch_that_knows_the_inputs_of_tests_only_fails(tmp_path: Path, way: str) -> None:
    needs_confinement(tmp_path)
    old = "    return sum(items[1:])"
    more = f"{TESTS}\n\ndef test_more():\n    assert total([4, 5, 6]) == 15\n"
    shop = tmp_path / "shop"
    shop.mkdir()
    put(shop, cart__py=CART, test_cart__py=more)
    right = patch("cart.py", old, "    return sum(items)")
    put(tmp_path, keyed__diff=patch("cart.py", old, KEYED[way]), right__diff=right)
    done = run("select", "../keyed.diff", "../right.diff", "--json", "--confidence", "0", cwd=shop)
    found = json.loads(done.out)
    suite = next(each for each in found["levels"] if each["name"] == "suite")
    assert (found["chosen"], suite["left"]) == ("../right.diff", ["../right.diff"]), done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.py",), "nothing to choose"),
        (("a.py", "b.py", "--checks", "g.txt"), "are for programs"),
        (("a.py", "none.py", "--function", "median"), "no such file: 'none.py'"),
        (("a.py", "b.py", "--function", "median", "--checks", "a.py"), "has no assertion or example"),
    ],
)
def test_a_wrong_call_says_what_is_missing(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    put(tmp_path, a__py=MEDIAN, b__py=UNSORTED, g__txt=GENERATED)
    done = run("select", *arguments, cwd=tmp_path)
    assert (done.code, message in done.err) == (2, True), done.err


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    page = (CHECKOUT / "docs/selection.md").read_text("utf-8")
    for name, text in re.findall(r"^```python\n# (\S+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text)
    [line] = re.findall(r"^```sh\n(.*?)\n```", page, re.DOTALL | re.MULTILINE)
    done = run(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.code == 0, done.err
    [head] = re.findall(r"^```\n(chosen: .*?\n)```", page, re.MULTILINE)
    assert done.out.startswith(head)
    assert re.search(r"median\(.+\) → .+ by three.py, .+ by one.py", done.out)
