"""Questions to an index of a small project, through the tool that a model calls and through the command."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.policy.rules import Rules, parse_rule
from tests.support.cli import run
from tests.tools.workspaces import call, put, refused, workspace
from tools.code import languages
from tools.code.code_tool import code
from tools.code.index.code_index import Index
from tools.code.index.module_resolution import Modules
from tools.code.index.symbol_queries import find_importers, is_test
from tools.edit.edit_tools import edit, edit_symbol

pytestmark = pytest.mark.timeout(300)  # a busy machine is no finding

SHOP = {
    "shop/__init__.py": "",
    "shop/cart.py": '''
        from shop.item import Item, price

        class Cart:
            """What is bought."""

            def add(self, item: Item):
                return price(item) + self.total()

            def total(self):
                return 0
        ''',
    "shop/item.py": "class Item:\n    pass\n\n\ndef price(item):\n    return 1\n",
    "shop/order.py": "from . import cart\n\n\nclass Order:\n    def total(self):\n        return cart.Cart().total()\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_add():\n    assert Cart().add(None)\n",
    "web/app.js": 'import {view} from "./view.js";\nexport function total() { return view(1); }\n',
    "web/view.js": "export function view(x) { return x; }\n",
}


@pytest.mark.slow
def test_each_question_has_its_answer(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)

    def ask(action: str, target: str) -> list[str]:
        return call(code, at, action=action, target=target).text.split("\n")

    assert ask("find", "Cart.total") == [
        "Cart.total: 1 definition",
        "  shop/cart.py:10: def total(self)  (Cart.total)",
    ]
    assert ask("find", "shop.cart.Cart") == [
        "shop.cart.Cart: 1 definition",
        "  shop/cart.py:4: class Cart  (Cart)  # What is bought.",
    ]
    assert ask("find", "total")[0] == "total: 3 definitions"
    assert ask("show", "price") == ["shop/item.py:5–6: price", "5\tdef price(item):", "6\t    return 1"]
    assert ask("callers", "price") == [
        "price: 1 call of that name in 1 file",
        "  shop/cart.py",
        "    8: return price(item) + self.total()  (in Cart.add)",
    ]
    assert ask("references", "Cart")[0] == "Cart: 3 uses of that name in 2 files"
    assert ask("callees", "Cart.add") == [
        "shop/cart.py:7: Cart.add calls 2 names defined here",
        "  8: price → shop/item.py:5 price",
        "  8: total → shop/cart.py:10 Cart.total and 2 more",
    ]
    assert ask("imports", "shop/cart.py") == [
        "shop/cart.py imports",
        "  2: shop.item → shop/item.py",
        "imported by 2 files",
        "  shop/order.py",
        "  tests/test_cart.py",
    ]
    assert ask("outline", "shop/cart.py")[1:] == [
        "  4–11: class Cart",
        "  7–8:   def add(self, item: Item)",
        "  10–11:   def total(self)",
    ]
    assert ask("outline", "shop")[1:3] == ["  shop/__init__.py", "  shop/cart.py  Cart"]
    assert ask("tests", "shop/cart.py")[1].startswith("  tests/test_cart.py  (imports shop/cart.py; names ")
    assert ask("similar", "the price of an item")[1].endswith("shop/item.py")
    assert ask("find", "Crat") == ["Crat: nothing of that name is defined here"]
    assert ask("find", "Cartt") == ["Cartt: nothing of that name is defined here. Nearest: Cart"]


def test_an_edit_of_the_same_step_is_in_the_answer(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)
    call(code, at, action="find", target="price")
    put(at.root, {"shop/item.py": "\n\ndef price(item):\n    return 1\n"})
    assert "shop/item.py:3:" in call(code, at, action="find", target="price").text


def test_what_a_rule_keeps_from_the_model_is_not_told(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)
    assert "shop/item.py" in call(code, at, action="find", target="price").text
    at.rules = Rules((parse_rule("read(shop/item.py)", "deny"),))
    assert "nothing of that name" in call(code, at, action="find", target="price").text
    assert "return 1" not in call(code, at, action="references", target="price").text


def test_a_wrong_target_is_told_in_one_line(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)
    assert refused(code, at, action="outline", target="shop/crat.py") == (
        "code: no indexed file or folder 'shop/crat.py'. Nearest: shop/cart.py, shop/item.py, shop/order.py"
    )
    assert (
        refused(code, at, action="find", target=" ") == "code: find: no target. Give a name, a path or a text"
    )


PATHS = """
main.py src/shop/__init__.py src/shop/cart.py src/shop/item.py src/shop/deep/x.py web/app.ts
web/util/index.ts java/com/shop/Cart.java java/com/shop/Item.java go/main.go go/store/a.go
go/store/b.go c/a.c c/near.h c/lib/far.h rust/src/main.rs rust/src/cart.rs rust/src/near/mod.rs
other/os.go
"""


@pytest.mark.parametrize(
    ("module", "names", "origin", "wanted"),
    [
        ("shop.cart", ("Cart",), "main.py", "src/shop/cart.py"),
        ("shop", ("cart",), "main.py", "src/shop/cart.py"),
        (".", ("cart",), "src/shop/item.py", "src/shop/cart.py"),
        ("..cart", (), "src/shop/deep/x.py", "src/shop/cart.py"),
        ("cart", (), "main.py", ""),
        ("os", (), "main.py", ""),
        ("./util", (), "web/app.ts", "web/util/index.ts"),
        ("../app", (), "web/deep/a.ts", "web/app.ts"),
        ("react", (), "web/app.ts", ""),
        ("com.shop.Cart", ("Cart",), "java/com/shop/Item.java", "java/com/shop/Cart.java"),
        ("example.org/go/store", (), "go/main.go", "go/store/a.go go/store/b.go"),
        ("near.h", (), "c/a.c", "c/near.h"),
        ("lib/far.h", (), "c/a.c", "c/lib/far.h"),
        ("crate::cart", ("Cart",), "rust/src/main.rs", "rust/src/cart.rs"),
        ("./near", (), "rust/src/main.rs", "rust/src/near/mod.rs"),
    ],
)
def test_imports_lead_to_files(module: str, names: tuple[str, ...], origin: str, wanted: str) -> None:
    assert Modules(PATHS.split()).resolve(module, names, origin) == wanted.split()


def test_importers_are_found_across_kinds_of_import(tmp_path: Path) -> None:
    put(tmp_path, SHOP)
    with Index(tmp_path, None) as index:
        index.refresh()
        assert find_importers(index, "web/view.js") == ["web/app.js"]
        assert find_importers(index, "shop/cart.py") == ["shop/order.py", "tests/test_cart.py"]


def test_tests_are_told_by_their_names() -> None:
    tests = "tests/a.py test_a.py a_test.go web/a.spec.ts src/test/java/A.java pkg/CartTest.java conftest.py"
    others = "contest.py attest/a.py src/latest.py shop/testament.py"
    assert [each for each in tests.split() if not is_test(each)] == []
    assert [each for each in others.split() if is_test(each)] == []


@pytest.mark.slow
def test_the_command_answers_as_text_and_as_json(tmp_path: Path) -> None:
    put(tmp_path, SHOP)
    found = run("symbols", "find", "price", "--json", cwd=tmp_path)
    assert (found.code, [each["path"] for each in json.loads(found.out)]) == (0, ["shop/item.py"])
    assert run("symbols", "find", "nobody", cwd=tmp_path).code == 3
    wrong = run("symbols", "fnid", "price", cwd=tmp_path)
    assert wrong.code == 2
    assert wrong.err.splitlines()[0].startswith("patchwright: no action 'fnid'")


COVERAGE = """
    CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT, UNIQUE (path));
    CREATE TABLE context (id INTEGER PRIMARY KEY, context TEXT, UNIQUE (context));
    CREATE TABLE line_bits (file_id INTEGER, context_id INTEGER, numbits BLOB, UNIQUE (file_id, context_id));
"""
"""As coverage.py documents its database."""


@pytest.mark.parametrize(
    "context", ["tests/test_end.py::test_all|run", "tests.test_end.EndTest.test_all", "test_end.test_all"]
)
def test_a_test_that_is_known_to_have_run_a_file_comes_first(tmp_path: Path, context: str) -> None:
    at = workspace(
        tmp_path, {**SHOP, "tests/test_end.py": "import subprocess\n\n\ndef test_all():\n    pass\n"}
    )

    def tests() -> list[str]:
        return [each["path"] for each in call(code, at, action="tests", target="shop/item.py").data["code"]]

    assert "tests/test_end.py" not in tests()
    with closing(sqlite3.connect(at.root / ".coverage")) as database:
        database.executescript(COVERAGE)
        database.execute("INSERT INTO file VALUES (1, ?)", (str(at.root / "shop/item.py"),))
        database.execute("INSERT INTO context VALUES (1, ''), (2, ?)", (context,))
        database.executemany("INSERT INTO line_bits VALUES (1, ?, x'ff')", [(1,), (2,)])
        database.commit()
    assert tests()[0] == "tests/test_end.py"
    (at.root / ".coverage").write_bytes(b"no database, but of that name")
    assert "tests/test_end.py" not in tests()


def test_a_grammar_that_is_not_installed_costs_its_own_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = [
        replace(each, package="tree_sitter_of_nowhere") if each.name == "ruby" else each
        for each in languages.LANGUAGES
    ]
    monkeypatch.setattr(languages, "LANGUAGES", tuple(without))
    at = workspace(tmp_path, {**SHOP, "tax.rb": "def tax(amount)\n  amount\nend\n"})
    assert "shop/item.py:5" in call(code, at, action="find", target="price").text
    assert "nothing of that name" in call(code, at, action="find", target="tax").text
    call(edit, at, path="tax.rb", old="  amount", new="  amount * 2")
    assert (at.root / "tax.rb").read_text() == "def tax(amount)\n  amount * 2\nend\n"
    assert "tax.rb" in refused(edit_symbol, at, path="tax.rb", name="tax", new="def tax(a)\n  a\nend\n")
