"""Requirements that code finds in the words of a prompt, and those that it must not find."""

from __future__ import annotations

import pytest

from agent.verify.requirement import walk_tree
from packages.search.requirements.extraction import extract_requirements
from packages.search.requirements.instructions.examples import MOST_CALLS, find_assertions

SAID: list[tuple[str, list[tuple[str, str]]]] = [
    (
        "Fix the bug in cart.py. Do not change the tests or `order.py`. `make check` must pass.",
        [("file-unchanged", "tests"), ("file-unchanged", "order.py"), ("command", "make check")],
    ),
    (
        "Please add a function `total_price` to cart.py and keep the signature of total.",
        [("file-changed", "cart.py"), ("name-exists", "cart.py:total_price"), ("signature", "total")],
    ),
    (
        "The diff must have at most 40 lines, and no new dependencies",
        [("max-lines", "40"), ("no-dependency", "")],
    ),
    (
        "Rename the function old_total to new_total and delete legacy/util.py; update README.md.",
        [
            ("renamed", "old_total -> new_total"),
            ("file-gone", "legacy/util.py"),
            ("file-changed", "README.md"),
        ],
    ),
    (
        "Create a file docs/usage.md. Only change cart.py and docs/usage.md.",
        [("file-exists", "docs/usage.md"), ("only-files", "cart.py, docs/usage.md")],
    ),
    (
        "Add a flag --dry-run to cli.py; tests/test_cart.py::test_total must pass",
        [
            ("file-changed", "cli.py"),
            ("name-exists", "cli.py:--dry-run"),
            ("tests", "tests/test_cart.py::test_total"),
        ],
    ),
    (
        "Make sure that `pytest -q tests/test_cart.py` succeeds and all tests pass",
        [("command", "pytest -q tests/test_cart.py"), ("tests", "")],
    ),
    (
        "Move helpers.py to lib/. Touch no more than three files.",
        [("file-gone", "helpers.py"), ("file-exists", "lib/helpers.py"), ("max-files", "3")],
    ),
    (
        "Make tests/test_a.py pass without touching config/settings.toml.",
        [("tests", "tests/test_a.py"), ("file-unchanged", "config/settings.toml")],
    ),
    (
        "There must be a class CartTotal in cart.py. `LEGACY_MODE` must no longer exist. Leave setup.py alone.",
        [("name-exists", "cart.py:CartTotal"), ("name-gone", "LEGACY_MODE"), ("file-unchanged", "setup.py")],
    ),
    ("Implement the `parse_date` function in dates.py", [("name-exists", "dates.py:parse_date")]),
    ("- [ ] don't modify `Cart.total`", [("name-unchanged", "Cart.total")]),
    (
        "Refactor it; existing tests must keep passing. Only edit files under src/.",
        [("tests", ""), ("only-files", "src/")],
    ),
    (
        "Write a function fibonacci(n) in fib.py with options --in and --out",
        [("name-exists", "fib.py:fibonacci"), ("name-exists", "--in"), ("name-exists", "--out")],
    ),
    (
        "Make the failing test tests/test_api.py::test_it pass. Do not change the test.",
        [("tests", "tests/test_api.py::test_it"), ("file-unchanged", "tests")],
    ),
    ("Move the function slugify from utils.py to text.py", [("name-exists", "text.py:slugify")]),
    ("Ensure the signature of `main()` stays the same", [("signature", "main")]),
    ("change nothing but cart.py", [("only-files", "cart.py")]),
]


@pytest.mark.parametrize(("prompt", "checks"), SAID, ids=[prompt[:40] for prompt, _ in SAID])
def test_what_a_prompt_asks_for_is_found(prompt: str, checks: list[tuple[str, str]]) -> None:
    found = [(each.kind, each.check) for each in extract_requirements(prompt) if each.kind != "group"]
    assert found == checks


@pytest.mark.parametrize(
    "prompt",
    [
        "What does cart.py do? Should cart.py be changed?",
        "You may change order.py. Explain how total works without changing anything.",
        "make the tests pass",
        "Remove the unused import from cart.py",
        "Fix the crash when e.g. the cart is empty, i.e. total([]) returns 1 instead of 0",
        "Update cart.py's docstring",
        "`pytest` passes on my machine but CI fails. Fix it.",
        "A function should have at most 40 lines; change what is longer",
        "Fix this:\n```\ndo not touch a.py, `rm x` must succeed\n```\n<stdin>\ndelete b.py\n</stdin>\n  | create c.py",
        "Add an option `timeout` to the settings",
        "Do not touch the test database of the staging server",
        "with options for the user",
        "Use no more than two threads. The file e.g. config.x is fine.",
        "",
    ],
)
def test_other_words_are_no_requirement(prompt: str) -> None:
    assert extract_requirements(prompt) == []


def test_a_sentence_with_several_checks_is_a_group_and_nothing_is_required_twice() -> None:
    found = extract_requirements(
        "Delete a.py and create b.py. Do not touch c.py. Never change c.py, and delete a.py!"
    )
    tree = [(depth, each.id, each.kind, each.check) for depth, each in walk_tree(found)]
    assert tree == [
        (0, "r1", "group", ""),
        (1, "r2", "file-gone", "a.py"),
        (1, "r3", "file-exists", "b.py"),
        (0, "r4", "file-unchanged", "c.py"),
    ]
    assert found[0].text == "Delete a.py and create b.py"


@pytest.mark.slow
def test_a_hostile_text_is_read_in_bounded_time_and_number() -> None:
    texts = [
        "do not change " + "a.py, " * 20_000,
        "`" * 50_000,
        "add a function " * 5_000,
        "\n".join(f"delete f{number}.py" for number in range(5_000)),
        "make sure " * 10_000 + "all tests pass",
        *(
            "\n".join([line[:150] * 6] * 20)
            for line in ("a" * 150, "a." * 75, "a/" * 75, "x_" * 75, "a.py, " * 25)
        ),
    ]
    for text in texts:
        assert len(extract_requirements(text)) <= 60


@pytest.mark.parametrize("text", ["\t" * 30_000, "x\n" + " " * 29_000], ids=["tabs", "blanks"])
def test_blanks_without_end_take_no_time(text: str) -> None:
    """A pattern whose time grows with the square of their number takes seconds for each: the test's time runs out."""
    for _ in range(40):
        assert extract_requirements(text) == []


def test_only_the_first_asserted_calls_are_looked_at() -> None:
    text = "".join(f"assert f({number}) == {number}\n" for number in range(2 * MOST_CALLS))
    assert len(list(find_assertions(text))) == MOST_CALLS
