"""From a text to files and functions: what in the text counts, on a small project whose answers are plain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import git, run
from tests.tools.workspaces import call, put, workspace
from tools.code.code_tool import code
from tools.code.index.code_index import Index
from tools.code.localization import LocalizationResult, localize_text
from tools.code.localization.text_evidence import extract_evidence

pytestmark = pytest.mark.timeout(300)  # a busy machine is no finding

FILLER = "".join(f"def step_{n}(value):\n    return value + {n}\n\n\n" for n in range(6))

SHOP = {
    "shop/__init__.py": "from shop.cart import Cart\nfrom shop.money import rounded\n",
    "shop/cart.py": """
        from shop.money import rounded

        class Cart:
            def total(self):
                return rounded(sum(self.prices))

            def discount(self, code):
                raise ValueError("this coupon has expired already: %s" % code)
        """,
    "shop/money.py": "def rounded(amount):\n    # half a cent goes up\n    return amount\n\n\n" + FILLER,
    "shop/mail.py": "class Mailer:\n    def send_receipt(self, address):\n        return address\n\n\n"
    + FILLER,
    "shop/deletion.py": "def collect(objects):\n    return list(objects)\n",
    "tests/test_cart.py": "from shop import Cart\n\n\ndef test_total_and_discount_of_coupon():\n    Cart().total()\n",
    "docs/coupon.md": "# Coupons\n\nThe coupon and discount of the cart.\n",
}

TRACE = """\
It fails.

Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/shop/mail.py", line 3, in send_receipt
    return address
  File "/usr/lib/python3/site-packages/shop/money.py", line 3, in rounded
    return amount
TypeError: nothing
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, SHOP)
    return tmp_path


def located(root: Path, text: str) -> LocalizationResult:
    with Index(root, None) as index:
        index.refresh()
        return localize_text(index, text)


@pytest.mark.parametrize(
    ("text", "path", "function"),
    [
        ("Receipts are sent to the wrong address", "shop/mail.py", "Mailer.send_receipt"),
        ("Mailer.send_receipt ignores the name", "shop/mail.py", "Mailer.send_receipt"),
        ("half a cent goes down", "shop/money.py", "rounded"),
        ("Wrong message\n\nIt says 'this coupon has expired already: X1'.", "shop/cart.py", "Cart.discount"),
        ("Crash\n\nSee shop/deletion.py:1 for the reason.", "shop/deletion.py", "collect"),
        ("Crash in shop.deletion on empty input", "shop/deletion.py", "collect"),
        (TRACE, "shop/money.py", "rounded"),
    ],
)
def test_each_kind_of_hint_leads_to_its_place(root: Path, text: str, path: str, function: str) -> None:
    found = located(root, text)
    assert found.files[0].path == path, found.text
    assert (found.functions[0].path, found.functions[0].symbol.name) == (path, function), found.text


def test_the_code_of_a_message_leads_to_who_gives_it(root: Path) -> None:
    checks = "def first(cart):\n    return 'shop.E0421'\n\n\ndef second(cart):\n    return 'shop.E042'\n"
    put(root, {"shop/checks.py": checks + FILLER})
    found = located(
        root, "A coupon gives no discount of the cart's total\n\nIt only says (shop.E042) and expired."
    )
    assert found.files[0].path == "shop/checks.py"
    assert "holds E042" in found.files[0].reasons
    inside = [each.symbol.name for each in found.functions if each.path == "shop/checks.py"]
    assert inside[0] == "second", found.text
    assert located(root, "Discount\n\nexpired E04").files[0].path == "shop/cart.py"


def test_reasons_say_what_in_the_text_counted(root: Path) -> None:
    found = located(root, TRACE)
    assert "it is in the stack trace" in found.files[0].reasons
    quoted = located(root, "Wrong message\n\nIt says 'this coupon has expired already: X1'.")
    assert "holds the words 'this coupon has expired already:'" in quoted.files[0].reasons


@pytest.mark.slow
def test_commits_that_spoke_of_the_same_point_to_what_they_changed(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Start")
    (root / "shop/deletion.py").write_text("def collect(objects):\n    return list(objects)  # all\n")
    git(root, "commit", "-qam", "Keep invoices of vanished customers")
    with Index(root, None) as index:
        index.refresh()
        for _ in range(2):  # from git, then as it was kept
            found = localize_text(index, "invoices of customers that vanished are lost")
            assert found.files[0].path == "shop/deletion.py"
            assert "commits that changed it speak of the same" in found.files[0].reasons
        (root / "shop/mail.py").write_text("# warehouse\n" + SHOP["shop/mail.py"])
        git(root, "commit", "-qam", "Tell the zeppelin")
        index.refresh()
        assert localize_text(index, "where is the zeppelin").files[0].path == "shop/mail.py"
        git(root, "reset", "-q", "--hard", "HEAD~1")
        git(root, "commit", "--amend", "-qm", "Other words")
        git(root, "reflog", "expire", "--expire=now", "--all")
        git(root, "gc", "-q", "--prune=now")
        index.refresh()
        assert localize_text(index, "where is the zeppelin").files == []


@pytest.mark.slow
def test_a_file_of_one_subject_comes_before_one_that_every_subject_changes(tmp_path: Path) -> None:
    put(
        tmp_path, {f"{name}.py": f"def {name}_step():\n    return 1\n" for name in ("alpha", "busy", "quiet")}
    )
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Begin")

    def changes(message: str, *names: str) -> None:
        for name in names:
            with (tmp_path / f"{name}.py").open("a") as file:
                file.write("# more\n")
        git(tmp_path, "commit", "-qam", message)

    for number in range(6):
        changes(f"Tidy the warehouse {number}", "busy", "alpha")
    for number in range(3):
        changes(f"Ship the zeppelin {number}", "busy", "quiet")
    with Index(tmp_path, None) as index:
        index.refresh()
        found = localize_text(index, "where is the zeppelin")
    assert [each.path for each in found.files][:2] == ["quiet.py", "busy.py"]
    assert "its past is of commits that speak of the same" in found.files[0].reasons


def test_the_same_question_has_the_same_answer(root: Path) -> None:
    assert located(root, TRACE + SHOP["shop/cart.py"]) == located(root, TRACE + SHOP["shop/cart.py"])


def test_a_text_is_taken_apart() -> None:
    found = extract_evidence(
        "Model.save() breaks\n\nSee https://github.com/o/r/blob/abc/pkg/a.py#L12 and `get_it`.\n"
        "    at shop.Cart.total(Cart.java:42)\n"
    )
    assert {"model", "save", "breaks"} <= found.title
    assert found.paths["pkg/a.py"] == 12
    assert found.names["get_it"] > found.names["breaks"]
    assert [(each.path, each.line, each.function) for each in found.frames] == [("Cart.java", 42, "total")]
    assert extract_evidence("") == extract_evidence("\n")
    assert extract_evidence(
        "W1: CS0246, (models.E028), no ticket https://x.org/AB123, no a12 or UTF8"
    ).codes == [
        "CS0246",
        "E028",
    ]


@pytest.mark.parametrize(
    "text", ["", "\0", "((((", "\\" * 5000, "é" * 3000, "a." * 3000, "'" * 3000, 'File "' * 2000]
)
def test_odd_texts_are_no_trouble(root: Path, text: str) -> None:
    located(root, text)


@pytest.mark.slow
def test_the_command_and_the_tool_answer_alike(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (root / "issue.txt").write_text(TRACE)
    found = run("localize", "--issue", "issue.txt", "--json", cwd=root)
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert data["files"][0]["path"] == "shop/money.py"
    at = workspace(tmp_path_factory.mktemp("other"), {**SHOP, "issue.txt": TRACE})
    assert call(code, at, action="locate", target=TRACE).data["code"] == data
    piped = run("localize", "-", cwd=root, stdin=TRACE)
    assert piped.out.splitlines()[1].split()[1] == "shop/money.py"
    for wrong in (
        ("localize",),
        ("localize", " "),
        ("localize", "x", "--issue", "issue.txt"),
        ("localize", "--issue", "no"),
    ):
        refused = run(*wrong, cwd=root)
        assert (refused.code, refused.out) == (2, ""), wrong
        assert refused.err.startswith("patchwright: "), refused.err


def test_the_rest_of_an_endless_line_is_data_and_not_read() -> None:
    found = extract_evidence("a title\n" + "-" * 59_000 + " shop/far.py\nand shop/near.py breaks\n")
    assert list(found.paths) == ["shop/near.py"]


def test_a_short_function_of_a_class_that_is_spoken_of_comes_before_a_long_one_that_says_the_same(
    root: Path,
) -> None:
    padding = "".join(f"        step_{n} = journal.other_{n}(value_{n})\n" for n in range(80))
    put(
        root,
        {
            "shop/stock.py": "class Ledger:\n    def everything(self, journal):\n"
            f"        # the parcel label is missing\n{padding}\n\n"
            "class ParcelLabel:\n    def write(self, text):\n        missing = not text\n        return missing\n"
        },
    )
    found = located(root, "The label of a parcel is missing")
    names = [each.symbol.name for each in found.functions]
    assert names.index("ParcelLabel.write") < names.index("Ledger.everything")


CROWD = {
    f"shop/ship{n}.py": f"def parcel_{n}(label):\n    # the parcel\n    return label\n" for n in range(12)
}


def test_what_the_likeliest_function_calls_comes_right_behind_its_file(root: Path) -> None:
    put(
        root,
        {
            **CROWD,
            "shop/parcels.py": "from shop.lower import fold_twice\n\n\ndef print_parcel_label(label):\n"
            "    # a parcel's label is printed without its street\n    return fold_twice(label)\n",
            "shop/lower.py": f"# of a label\n{FILLER}def fold_twice(text):\n    return text\n",
        },
    )
    text = "print_parcel_label forgets the street\n\nThe label of the parcel is printed without it."
    found = located(root, text)
    order = [each.path for each in found.files]
    assert order[0] == "shop/parcels.py"
    assert "shop/lower.py" in order[1:5], found.text
    assert "print_parcel_label calls what it defines" in found.files[order.index("shop/lower.py")].reasons
    scores = [each.score for each in found.files]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
def test_the_last_place_goes_to_what_the_past_speaks_for(root: Path) -> None:
    put(root, {**CROWD, "shop/quiet.py": "def nothing(value):\n    return value  # label\n" + FILLER})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Start")
    with (root / "shop/quiet.py").open("a") as file:
        file.write("# more\n")
    git(root, "commit", "-qam", "Keep what is odd")
    text = "parcel label of shipping\n\nThe parcel_1 and parcel_2 are odd."
    with Index(root, None) as index:
        index.refresh()
        found = localize_text(index, text)
        fewer = localize_text(index, text, files=9)
    assert found.files[9].path == "shop/quiet.py", found.text
    assert found.files[:9] == fewer.files


def test_a_package_that_defines_something_is_weighed_like_any_file(root: Path) -> None:
    from tools.code.localization.file_ranking import score_files

    put(root, {"shop/tax/__init__.py": "".join(f"def rate_{n}():\n    return {n}\n" for n in range(3))})
    with Index(root, None) as index:
        index.refresh()
        files = score_files(index, extract_evidence("the rate of the cart's tax is rounded")).gathered.files
    assert "package" in files["shop/__init__.py"].values
    assert "package" not in files["shop/tax/__init__.py"].values


@pytest.mark.parametrize(
    "line",
    ["order = parcel.label(1)", "parcel.label(1)", '\t"parcel.label",', "@parcel.label", "if parcel(label):"],
)
def test_code_between_the_prose_counts_as_code_without_a_fence(line: str) -> None:
    pasted, told = (
        extract_evidence(f"It breaks\n\nIt is so:\n{line}\n"),
        extract_evidence("It breaks\n\nIt is so: the parcel label\n"),
    )
    assert pasted.words["parcel"] < told.words["parcel"], line
