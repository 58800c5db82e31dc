"""Messages: the style that a log shows, and what a change does, in that style."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo
from tools.git.git_change import read_staged_change
from tools.git.git_process import Git
from tools.git.messages.message_style import check_message, find_ticket, infer_style, learn_style
from tools.git.messages.message_summary import compose_message

CONVENTIONAL = [f"feat(cart): add number {i}" for i in range(6)] + [f"fix(api): mend {i}" for i in range(6)]
TICKETS = [f"[PAY-{i}] Round amounts {i}" for i in range(12)]
GERMAN = [f"Rundung der Beträge für Konto {i} korrigiert und mit Tests" for i in range(12)]
LOWER = [f"add the number {i}." for i in range(12)]

CART = "class Cart:\n    def total(self):\n        return 1\n"


def test_a_style_is_learned_and_nothing_is_learned_from_little() -> None:
    style = infer_style(CONVENTIONAL)
    assert (style.conventional, style.types, style.scopes) == (1.0, ("feat", "fix"), ("cart", "api"))
    assert infer_style(TICKETS).ticket == "[{}] "
    assert (
        infer_style(GERMAN).language,
        infer_style(CONVENTIONAL).language,
        infer_style(LOWER).capital,
        infer_style(LOWER).stop,
    ) == (
        "de",
        "en",
        0,
        1,
    )
    assert not infer_style(CONVENTIONAL[:3]).is_known
    assert find_ticket("feature/PAY-12-round") == "PAY-12"
    assert find_ticket("main") == ""


@pytest.mark.parametrize(
    ("subjects", "message", "errors", "warnings"),
    [
        (CONVENTIONAL, "Add a thing", 1, 0),
        (CONVENTIONAL, "feat: add a thing\n\nWhy it is there.", 0, 0),
        (CONVENTIONAL, "Merge branch 'x'", 0, 0),
        (CONVENTIONAL, "fixup! feat: add", 0, 0),
        (TICKETS, "Round", 1, 0),
        (TICKETS, "[PAY-7] Round", 0, 0),
        ([], "Whatever", 0, 0),
        ([], "x" * 73 + "\nno empty line", 0, 2),
    ],
)
def test_a_message_is_compared_with_the_log(
    subjects: list[str], message: str, errors: int, warnings: int
) -> None:
    assert tuple(map(len, check_message(message, infer_style(subjects)))) == (errors, warnings)


def message(repo: Repo, subjects: list[str], ticket: str = "") -> str:
    repo.git("add", "-A")
    return compose_message(read_staged_change(Git.from_folder(repo.root)), infer_style(subjects), ticket)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "work")
    repo.write("cart.py", CART)
    repo.write("order.py", "def price():\n    return 2\n")
    repo.commit_all("Begin")
    return repo


@pytest.mark.slow
def test_what_a_change_does_is_told_by_its_symbols(repo: Repo) -> None:
    repo.write("cart.py", CART + "\n    def count(self):\n        return 0\n")
    assert message(repo, []) == "Add Cart.count\n"
    assert message(repo, CONVENTIONAL) == "feat(cart): add Cart.count\n"
    assert message(repo, TICKETS, "PAY-99") == "[PAY-99] Add Cart.count\n"
    assert message(repo, GERMAN) == "Cart.count hinzugefügt\n"
    assert message(repo, LOWER) == "add Cart.count.\n"


def test_several_files_are_listed(repo: Repo) -> None:
    repo.write("cart.py", CART.replace("return 1", "return 2"))
    repo.write("order.py", "def price():\n    return 3\n")
    repo.write("tests/test_cart.py", "def test_total():\n    assert True\n")
    assert message(repo, CONVENTIONAL) == (
        "fix(cart): change Cart.total and price\n\n"
        "- cart.py: change Cart.total\n- order.py: change price\n- tests/test_cart.py: new\n"
    )


@pytest.mark.slow
def test_renames_removals_documents_and_data(repo: Repo) -> None:
    repo.write("order.py", "def cost():\n    return 2\n")
    assert message(repo, []) == "Rename price to cost\n"
    repo.git("rm", "-qf", "order.py")
    assert message(repo, []) == "Remove price\n"
    repo.git("reset", "-q", "--hard")
    repo.write("README.md", "# Shop\n")
    assert message(repo, CONVENTIONAL) == "docs: add README.md\n"
    repo.git("reset", "-q", "--hard")
    assert message(repo, []) == ""


@pytest.mark.slow
def test_the_log_of_a_repository_is_read(repo: Repo) -> None:
    for subject in CONVENTIONAL:
        repo.git("commit", "-q", "--allow-empty", "-m", subject)
    style = learn_style(Git.from_folder(repo.root))
    assert (style.commits, style.types[0] in ("feat", "fix"), style.examples[0]) == (
        13,
        True,
        CONVENTIONAL[-1],
    )
    empty = Repo(repo.root.parent / "empty")
    assert learn_style(Git.from_folder(empty.root)).commits == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Cart.kt", "", "fun kind(x: Any) = when (x) {\n    is Int if x > 0 -> 1\n    else -> 2\n}\n"),
        ("Cart.kt", "", "context(logger: Logger)\nfun kind() { logger.log(1) }\n"),
        ("Cart.kt", "", "enum class E { A; companion object { val all = entries.filter { it == A } } }\n"),
    ],
)
def test_nothing_is_removed_that_newer_syntax_hides(
    path: str, before: str, after: str, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "shop")
    cart = "class Cart {\n    fun total(): Int {\n        return 1\n    }\n}\n\nfun count() = 1\n"
    repo.write(path, before + cart)
    repo.commit_all("Begin")
    repo.write(path, after + cart)
    repo.git("add", "-A")
    assert "emove" not in compose_message(read_staged_change(Git(repo.root)), infer_style([]))


@pytest.mark.slow
def test_nothing_is_removed_where_the_old_text_was_not_understood(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    broken = "class Cart {\n    context(x: Int) unknown fun => 3\n    fun total() = 1\n}\n"
    repo.write("Cart.kt", broken)
    repo.commit_all("Begin")
    repo.write("Cart.kt", "class Shop {\n    class Cart {\n    fun total() = 1\n    }\n}\n")
    repo.git("add", "-A")
    assert "emove" not in compose_message(read_staged_change(Git(repo.root)), infer_style([]))


def test_names_of_files_are_one_line_each(repo: Repo) -> None:
    repo.write("a.py\n\nSigned-off-by: Boss <boss@example.org>\n", "x = 1\n")
    repo.write("b\rc.py", "y = 1\n")
    lines = message(repo, []).splitlines()
    assert len(lines) == 4, lines
    assert not [each for each in lines if each.startswith("Signed-off-by")]
