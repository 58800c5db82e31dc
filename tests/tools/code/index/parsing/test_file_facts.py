"""What is read out of one file, language by language."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from tools.code.index.parsing.file_facts import Facts, detect_language, extract_facts
from tools.code.index.parsing.identifier_words import count_words, split_identifier
from tools.code.index.parsing.name_uses import find_name_lines
from tools.code.symbols import list_definitions

pytestmark = pytest.mark.timeout(300)  # a busy machine is no finding

SAMPLES = {
    "a.py": (
        'import os.path as p\nfrom . import near\nfrom shop.cart import (Cart,  # why\n  Item as I)\nLIMIT = 3\n'
        'class A(Cart):\n    """A thing."""\n    size = 1\n\n    def go(self, x):\n        # ghost(1)\n'
        '        return f"{helper(x)} ghost()"\n',
        "LIMIT A A.size A.go", "os.path:  .:near shop.cart:Cart,Item", "helper",
    ),
    "a.js": (
        'import D, {one as o} from "./near.js";\nconst r = require("far");\n// ghost()\nexport function go(x) '
        '{ return helper(x) + `ghost() ${inner(x)}`; }\nclass A { run() {} }\nconst TOP = "ghost()";\n',
        "r go A A.run TOP", "./near.js:D,one far:", "helper inner",
    ),
    "a.ts": (
        'import type { T } from "./t";\nexport interface I { m(): void }\nenum E { A }\nfunction go(x: T): E '
        '{ return helper(x); }\n',
        "I I.m E go", "./t:T", "helper",
    ),
    "a.tsx": ('import R from "react";\nexport const View = () => <b>{helper(1)}</b>;\n', "View", "react:R", "helper"),
    "a.go": (
        'package shop\nimport (\n  "fmt"\n  c "x/y/cart"\n)\nconst Top = 1\ntype Cart struct{}\n'
        'func (c *Cart) Add(x int) { helper("ghost()") }\n',
        "Top Cart Cart.Add", "fmt: x/y/cart:", "helper",
    ),
    "a.rs": (
        'use crate::shop::{cart, item};\nmod near;\nconst TOP: u8 = 1;\nstruct A;\nimpl A { fn go(&self) '
        '{ helper("ghost()"); } }\n// ghost()\n',
        "near TOP A A.go", "crate::shop:cart,item ./near:", "helper",
    ),
    "A.java": (
        'package shop;\nimport shop.cart.Cart;\nclass A { int size = 1; /* ghost() */ '
        'void go() { helper("ghost()"); } }\n',
        "A A.size A.go", "shop.cart.Cart:Cart", "helper",
    ),
    "a.kt": (
        'package shop\nimport shop.cart.Cart\nclass A { fun go() { helper("ghost()") } } // ghost()\n',
        "A A.go", "shop.cart.Cart:Cart", "helper",
    ),
    "a.c": (
        '#include "near.h"\n#include <stdio.h>\n#define TOP 1\nstruct s { int x; };\nint go(int x) '
        '{ return helper(x); /* ghost() */ }\n',
        "TOP s go", "near.h: stdio.h:", "helper",
    ),
    "a.cpp": (
        '#include "near.hpp"\nnamespace n { class A { public: void go() { helper("ghost()"); } }; }\n',
        "n n.A n.A.go", "near.hpp:", "helper",
    ),
    "a.cs": (
        'using System.Text;\nnamespace Shop { class A { int P { get; } void Go() { Helper("ghost()"); } } }\n',
        "Shop Shop.A Shop.A.P Shop.A.Go", "System.Text:Text", "Helper",
    ),
    "a.rb": (
        'require "far"\nrequire_relative "near"\nTOP = 1\nmodule M\n  class A\n'
        '    def go(x)\n      helper(x, "ghost()")\n'
        "    end\n  end\nend\n",
        "TOP M M.A M.A.go", "far: near:", "helper",
    ),
    "a.php": (
        '<?php\nnamespace Shop;\nuse Shop\\Cart\\Item;\nrequire "near.php";\nclass A { function go() '
        "{ helper('ghost()'); } }\n",
        "A A.go", "Shop.Cart.Item:Item near.php:", "helper",
    ),
    "a.swift": (
        'import Foundation\n@testable import class Shop.Item\npublic class A<T>: Cart {\n  let size = 1\n'
        '  var area: Int { helper(size) }\n  init(x: Int) { self.x = x }\n  @objc func go() -> String '
        '{ "\\(inner(1)) ghost()" } // ghost()\n  enum Kind { case one }\n}\nextension A { func more() {} }\n'
        'protocol Priced { func price() -> Int }\nlet TOP = 1 /* ghost() */\n',
        "A A.size A.area A.init A.go A.Kind A.Kind.one A.more Priced Priced.price TOP",
        "Foundation: Shop.Item:Item", "helper inner",
    ),
    "a.scala": (
        'package shop\nimport shop.cart.{Cart, Item => I}, far.Thing\nimport util._\n'
        'case class A(x: Int) extends Cart {\n  val size = 1\n'
        '  def go(x: Int) = helper(s"ghost() ${inner(x)} ghost()") // ghost()\n}\nobject A { type T = Int }\n'
        'trait P { def price: Int }\nenum Kind { case One }\nval TOP = "ghost()" /* ghost() */\n'
        'class B:\n  def indented() =\n    1\n',
        "A A A.T A.size A.go P P.price Kind Kind.One TOP B B.indented",
        "shop.cart.Cart:Cart shop.cart.Item:Item far.Thing:Thing util:", "helper inner",
    ),
    "a.lua": (
        'local near = require("shop.near")\ndofile "far.lua"\nlocal M = {}\nTOP = 1\n-- ghost()\n'
        'function M.go(x) return helper(x, "ghost()") end\nfunction M:run() end\nlocal function own() end\n'
        'M.set = function() end\nM.api = { get = function() end }\n--[[ ghost() ]]\nlocal text = [[ ghost() ]]\n',
        "near M TOP M.go M.run own M.set M.api M.api.get text", "shop.near: far.lua:", "helper",
    ),
    "a.sql": (
        "-- ghost()\nCREATE TABLE IF NOT EXISTS shop.cart (id INT, name TEXT DEFAULT 'ghost()', PRIMARY KEY (id));\n"
        "create or replace function total(x int) returns int as $$\nbegin\n"
        "  create temp table scratch (a int);\n  return helper(x);\nend;\n$$ language plpgsql; /* ghost() */\n"
        'CREATE UNIQUE INDEX "by_name" ON shop.cart (name);\nCREATE INDEX ON shop.cart (id);\n'
        "CREATE PROC [dbo].[Go] AS BEGIN SELECT nested(1); SELECT 2; END\nGO\nCREATE VIEW v AS SELECT 1",
        "shop.cart shop.cart.id shop.cart.name total by_name dbo.Go v",
        "", "helper nested",
    ),
    "a.sh": ('source ./near.sh\nTOP=1\ngo() {\n  echo "ghost()"  # ghost()\n}\n', "TOP go", "./near.sh:", ""),
}  # fmt: skip


def read(path: str, text: str) -> Facts:
    language = detect_language(path)
    assert language is not None
    found = extract_facts(language, text)
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES)
def test_every_language_tells_its_symbols_imports_and_calls(path: str) -> None:
    text, symbols, imports, calls = SAMPLES[path]
    found = read(path, text)
    assert sorted(each.name for each in found.symbols) == sorted(symbols.split())
    told = sorted(f"{each.module}:{','.join(each.names)}" for each in found.imports)
    assert told == sorted(imports.split())
    called = {name for name, (_, often) in found.uses.items() if often}
    assert set(calls.split()) <= called
    assert "ghost" not in found.uses, "a comment or a string was taken for code"


def test_a_symbol_is_told_with_its_lines_head_and_first_sentence() -> None:
    text = '@deco\ndef go(\n    first: int,\n    second: str = "x",\n) -> int:\n'
    text += '    """Do it.\n\n    More."""\n    return 1\n'
    [symbol] = read("a.py", text).symbols
    assert (symbol.first, symbol.line, symbol.last) == (1, 2, 9)
    assert symbol.signature == 'def go(first: int, second: str = "x") -> int'
    assert symbol.doc == "Do it."
    [other] = read("a.go", "package p\n\n// Go does it.\nfunc Go() {\n}\n").symbols
    assert (other.signature, other.doc) == ("func Go()", "Go does it.")


def test_a_keyword_is_a_name_where_it_is_a_member() -> None:
    text = "if (x) { users.delete(1); }\ndelete users[1];\n"
    found = read("a.js", text)
    assert found.uses == {"x": (1, 0), "users": (2, 0), "delete": (1, 1)}
    assert find_name_lines("javascript", text, found.text_spans) == {"x": [2], "users": [2, 4], "delete": [3]}
    assert find_name_lines("javascript", text, found.text_spans, "delete") == {"delete": [3]}


@pytest.mark.slow
def test_a_dollar_is_a_letter_where_the_language_says_so() -> None:
    text = "class $Item {}\nconst it = new $Item();\n$(it);\n"
    found = read("a.ts", text)
    assert find_name_lines("typescript", text, found.text_spans) == {"$Item": [2, 5], "it": [4, 6], "$": [7]}
    assert [each.name for each in found.symbols][:1] == ["$Item"]
    assert set(read("a.php", "<?php $item = 1;\n").uses) == {"php", "item"}


def test_words_of_code_and_of_prose_meet() -> None:
    assert split_identifier("HTTPResponses_forUser2") == ("http", "response", "for", "user")
    assert count_words("get_querysets QuerySet") == {"get": 1, "queryset": 1, "query": 1, "set": 1}
    assert split_identifier("classes") == ("class",)
    assert split_identifier("x" * 1000) == ()


DOCUMENTS = {
    "a.md": (
        "# The [Cart](x)\n\ntext\n```sh\n# no heading\n```\nGetting *started*!\n-----\n### Deep ##\n# Last\n#none\n",
        ["the-cart 1-9", "the-cart.getting-started 7-9", "the-cart.getting-started.deep 9-9", "last 10-12"],
    ),
    "a.json": (
        '{\n "scripts": {"build": "x: {", "a \\"b": 1},\n "files": [{"no": 1}],\n'
        ' "deep": {"b": {"c": {"d": 1}}}\n}\n',
        ["scripts 2-2", "scripts.build 2-2",
         'scripts.a \\"b 2-2', "files 3-3", "deep 4-6", "deep.b 4-6", "deep.b.c 4-6"],
    ),
    "a.yaml": (
        'on:\n  push:\n    branches: [main]\n"run it": |\n  no: key\n'
        '# not: this\njobs:\n  - name: x\n    uses: y\nend: 1\n',
        ["on 1-3", "on.push 2-3", "on.push.branches 3-3", "run it 4-6", "jobs 7-9", "jobs.uses 9-9", "end 10-11"],
    ),
    "a.toml": (
        'top = 1\n[project]\nname = "a = b"\ndeps = [\n  "x = 1",\n]\ntext = """\n'
        'no = 1\n"""\n[[tool.x]]\n"a b".c = 1\n',
        ["top 1-1", "project 2-9", "project.name 3-3", "project.deps 4-6", "project.text 7-9", "tool.x 10-12",
         "tool.x.ab.c 11-12"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", DOCUMENTS)
def test_documents_and_data_tell_their_headings_and_upper_keys(path: str) -> None:
    text, expected = DOCUMENTS[path]
    found = read(path, text)
    assert [f"{each.name} {each.first}-{each.last}" for each in found.symbols] == expected
    assert found.uses == {}


def test_what_is_not_quite_right_in_a_document_hides_nothing_after_it() -> None:
    assert [each.name for each in read("a.md", "# One ##\n## Two #3\n### C#\n# #\n").symbols] == [
        "one",
        "one.two-3",
        "one.two-3.c",
    ]
    assert [each.name for each in read("a.json", '{"a": "open\n, "b": 1, "c": "\\\n, "d": 1}').symbols] == [
        "a",
        "b",
        "c",
        "d",
    ]
    assert [each.name for each in read("a.yaml", 'a b : 1\n"c" : 2\nd\t: 3\n').symbols] == ["a b", "c", "d"]
    assert [each.name for each in read("a.toml", "[ ]\n[ a . b ]\nc = 1\n").symbols] == ["a.b", "a.b.c"]


LINES = "\n" * 1_000
"""Without them a text of one long line is taken for data, and not read."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.sql", "CREATE FUNCTION f() AS $$ $$;\n" * 20_000),
        ("a.sql", "CREATE PROC p AS BEGIN SELECT 1;\n" * 20_000),
        ("a.sql", "CREATE TABLE t(" + "a int,\n" * 50_000),
        ("a.sql", "CREATE FUNCTION f() AS $$ -- $$\n" * 20_000),
        ("a.md", ("# " + "[" * 900 + "\n") * 200),
        ("a.json", '{"a":\n' * 20_000),
        ("a.yaml", ("  " * 90 + "a:\n") * 1_000),
        ("a.md", "# " + "a " * 20_000 + "\u00a0x " + " " * 100_000 + "x\n" + LINES),
        ("a.yaml", "a" + " " * 150_000 + "\n" + LINES),
        ("a.toml", "[" + " " * 150_000 + "\n" + LINES),
        ("a.toml", "[" + "a" * 150_000 + "\n" + LINES),
        ("a.toml", "a = [\n" + '"\\' * 70_000 + "\n]\n" + LINES),
        ("a.json", '"' + '\\"' * 70_000 + "\n" + LINES),
        ("a.json", "{\n" + "/* " * 60_000 + LINES),
    ],
)  # fmt: skip
def test_texts_made_to_take_long_take_no_longer_than_others(path: str, text: str) -> None:
    """Where time grew with the square of the length these would run into the limit of a test."""
    assert read(path, text).lines > 1


@pytest.mark.slow
def test_the_standard_library_is_read_as_pythons_own_parser_reads_it() -> None:
    """Definitions at least 99 %, and of names used at least 99 %, against `ast`."""
    names, wanted, missed, used, unused = 0, 0, 0, 0, 0
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.glob("*.py"))[::3] + sorted(folder.glob("asyncio/*.py"))
    for path in paths:
        text = path.read_text("utf-8", "replace")
        tree = ast.parse(text)
        found = read("a.py", text)
        there = {(each.short, each.line) for each in found.symbols}
        uses = find_name_lines("python", text, found.text_spans)
        assert found.uses == {name: (len(at), sum(mark & 1 for mark in at)) for name, at in uses.items()}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                wanted += 1
                missed += (node.name, node.lineno) not in there
            name = (
                node.id
                if isinstance(node, ast.Name)
                else node.attr
                if isinstance(node, ast.Attribute)
                else ""
            )
            if name and name not in ("self", "cls"):
                used += 1
                line = node.end_lineno if isinstance(node, ast.Attribute) else node.lineno  # type: ignore[attr-defined]
                unused += line not in {mark >> 1 for mark in uses.get(name, ())}
        names += 1
    assert names > 40
    assert wanted > 2000
    assert missed <= 0.01 * wanted
    assert unused <= 0.01 * used


def test_a_name_of_ruby_may_end_in_a_mark() -> None:
    text = "def empty?\n  save!(1) if a.empty? && b!=c\n  x ? y : z?1:2\nend\n"
    found = read("a.rb", text)
    assert found.uses["empty?"] == (2, 0)
    assert found.uses["save!"] == (1, 1)
    assert {"b", "x", "y"} <= found.uses.keys()
    assert not {"empty", "save", "b!"} & found.uses.keys()
    assert find_name_lines("ruby", text, found.text_spans, "empty?") == {"empty?": [2, 4]}


HIDDEN = {
    "Cart.kt": (
        "class Cart {\n    fun first(): Int = 1\n    context(x: Int) unknown fun => 3\n    fun total(): Int {\n"
        "        return 1\n    }\n}\n\nfun count() = 1\n",
        {"Cart": (1, 7), "Cart.first": (2, 2), "Cart.total": (4, 6), "count": (9, 9)},
    ),
    "cart.py": (
        "class Cart:\n    x ::= 3 ->\n\n    def total(self):\n        return 1\n\n\ndef count():\n    return 1\n",
        {"Cart.total": (4, 5), "count": (8, 9)},
    ),
    "cart.ts": (
        "const x = match (y) { when 1: 2 };\nexport class Cart {\n  total(): number {\n    return 1;\n  }\n}\n",
        {"Cart": (2, 6), "Cart.total": (3, 5)},
    ),
    "cart.rs": (
        "unknown own fn => 3;\n\nfn total() -> i32 {\n    1\n}\n\nstruct Cart {\n    x: i32,\n}\n",
        {"total": (3, 5), "Cart": (7, 9)},
    ),
    "cart.swift": (
        "macro own := 3 => {\nfunc total() -> Int {\n    return 1\n}\nclass Cart {\n    func count() {}\n}\n",
        {"total": (2, 4), "Cart": (5, 7), "Cart.count": (6, 6)},
    ),
}  # fmt: skip
"""Texts with constructs that their grammars do not know, and the symbols around them."""


@pytest.mark.parametrize("path", HIDDEN)
def test_the_map_shows_what_an_unknown_construct_hides_from_the_grammar(path: str) -> None:
    text, wanted = HIDDEN[path]
    found = {each.name: (each.line, each.last) for each in read(path, text).symbols}
    assert wanted.items() <= found.items()
    listed = {each.name: (each.own_first, each.last) for each in list_definitions(path, text)}
    assert wanted.items() <= listed.items()


def test_a_sentence_of_a_comment_or_a_string_defines_nothing() -> None:
    text = '"""\nclass Cart\ndef total(x):\n"""\n\n# class Shop:\nx ::= 3 ->\n\ndef count():\n    return 1\n'
    assert [each.name for each in read("a.py", text).symbols if each.kind != "variable"] == ["count"]
