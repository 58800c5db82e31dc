"""Where symbols are defined, in each language."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest

from tools.code.macros import blank_macros
from tools.code.symbols import Definition, list_definitions

SOURCES: dict[str, tuple[str, list[str]]] = {
    "a.py": (
        """\
        @final
        class Cart:
            @property
            def total(self):
                def add(x): return x
                return 0

            async def clear(self): pass

        def f(): pass
        """,
        ["class Cart 1-8", "method Cart.total 3-6", "function Cart.total.add 5-5", "method Cart.clear 8-8",
         "function f 10-10"],
    ),
    "a.js": (
        """\
        export default class Cart {
          total() {}
          add = () => 1;
        }
        export const f = async () => {
          return 1;
        };
        Cart.prototype.clear = function () {};
        module.exports.g = function () {};
        const api = {
          get: () => 1,
          set() {},
        };
        function* h() {}
        """,
        ["class Cart 1-4", "method Cart.total 2-2", "method Cart.add 3-3", "function f 5-7",
         "function Cart.clear 8-8", "function g 9-9", "object api 10-13", "method api.get 11-11",
         "method api.set 12-12", "function h 14-14"],
    ),
    "a.ts": (
        """\
        @Component({})
        export abstract class Cart<T> {
          @Input()
          total(): number { return 0; }
          abstract clear(): void;
        }
        export interface Item { price(): number }
        type Id = string;
        enum Kind { A }
        namespace N {
          export function f() {}
        }
        """,
        ["class Cart 1-6", "method Cart.total 3-4", "method Cart.clear 5-5", "interface Item 7-7",
         "method Item.price 7-7", "type Id 8-8", "enum Kind 9-9", "namespace N 10-12", "function N.f 11-11"],
    ),
    "a.go": (
        """\
        package a

        // Cart holds items.
        type Cart[T any] struct {
            items []T
        }

        func (c *Cart[T]) Total() int {
            return 0
        }

        type (
            A int
            B interface {
                F()
            }
        )

        func f() {}
        """,
        ["type Cart 4-6", "method Cart.Total 8-10", "type A 13-13", "type B 14-16", "method B.F 15-15",
         "function f 19-19"],
    ),
    "a.rs": (
        """\
        /// A cart.
        #[derive(Debug)]
        pub struct Cart<T>(T);

        impl<T> Display for Cart<T> {
            #[inline]
            fn fmt(&self) {}
        }

        trait Priced {
            fn price(&self);
        }

        mod inner {
            pub fn f() {}
        }

        macro_rules! twice { () => {} }
        """,
        ["struct Cart 2-3", "method Cart.fmt 6-7", "trait Priced 10-12", "method Priced.price 11-11",
         "module inner 14-16", "function inner.f 15-15", "macro twice 18-18"],
    ),
    "Cart.java": (
        """\
        package shop.core;

        @Entity
        public class Cart {
          Cart() {}
          @Override
          public int total() { return 0; }
          enum Kind { A }
          record Item(int price) {}
          @interface Until { double value(); }
        }
        """,
        ["class Cart 3-11", "method Cart.Cart 5-5", "method Cart.total 6-7", "enum Cart.Kind 8-8",
         "class Cart.Item 9-9", "interface Cart.Until 10-10", "method Cart.Until.value 10-10"],
    ),
    "a.c": (
        """\
        static int *f(int a)
        {
            return 0;
        }
        struct cart { int n; };
        typedef struct { int q; } item;
        #define MAX(a, b) ((a) > (b) ? (a) : (b))
        int declared(void);
        void (*g(int x))(int) { return 0; }
        """,
        ["function f 1-4", "struct cart 5-5", "type item 6-6", "macro MAX 7-7", "function g 9-9"],
    ),
    "a.cpp": (
        """\
        namespace shop {
        class Cart {
         public:
          ~Cart() {}
          bool operator==(const Cart& o) const { return true; }
        };
        }
        template <typename T>
        int shop::Box<T>::total() const {
          return 1;
        }
        """,
        ["namespace shop 1-7", "class shop.Cart 2-6", "method shop.Cart.~Cart 4-4",
         "method shop.Cart.operator== 5-5", "function shop.Box.total 8-11"],
    ),
    "a.rb": (
        """\
        module Shop
          class Cart < Base
            def self.build; end
            def empty?
              true
            end
            private def add(x); end
          end
        end
        """,
        ["module Shop 1-9", "class Shop.Cart 2-8", "method Shop.Cart.build 3-3", "method Shop.Cart.empty? 4-6",
         "method Shop.Cart.add 7-7"],
    ),
    "a.cs": (
        """\
        namespace Shop.Core
        {
            [Serializable]
            public class Cart<T>
            {
                public int Total { get; set; }
                [Pure]
                public int Sum() => 1;
            }
        }
        """,
        ["namespace Shop.Core 1-10", "class Shop.Core.Cart 3-9", "property Shop.Core.Cart.Total 6-6",
         "method Shop.Core.Cart.Sum 7-8"],
    ),
    "a.php": (
        """\
        <?php
        namespace Shop;
        #[Entity]
        final class Cart {
            public function total(): int { return 0; }
        }
        function f() {}
        """,
        ["class Cart 3-6", "method Cart.total 5-5", "function f 7-7"],
    ),
    "a.kt": (
        """\
        package shop

        @Serializable
        class Cart(val n: Int) {
            @JvmName("t")
            fun total(): Int = 1
        }

        object Shop {
            fun open() {}
        }

        fun String.twice() = this + this
        """,
        ["class Cart 3-7", "method Cart.total 5-6", "object Shop 9-11", "method Shop.open 10-10",
         "function twice 13-13"],
    ),
    "a.swift": (
        """\
        /// A cart.
        @objc
        public class Cart<T> {
            @discardableResult
            func add(_ x: Int) -> Int { 1 }
            deinit {}
            subscript(i: Int) -> Int { 1 }
            static func + (a: Cart, b: Cart) -> Cart { a }
        }
        extension Cart where T: Item {
            var total: Int { 1 }
        }
        protocol Priced { func price() -> Int }
        typealias Id = String
        """,
        ["class Cart 2-9", "method Cart.add 4-5", "method Cart.deinit 6-6", "method Cart.subscript 7-7",
         "property Cart.total 11-11", "interface Priced 13-13", "method Priced.price 13-13", "type Id 14-14"],
    ),
    "a.scala": (
        """\
        package shop

        @deprecated
        case class Cart(n: Int) {
          def total: Int = 1
        }
        object Cart { def apply() = 1 }
        enum Kind:
          case A
        given ord: Ordering[Int] = ???
        extension (s: String)
          def shout = s
        """,
        ["class Cart 3-6", "method Cart.total 5-5", "object Cart 7-7", "method Cart.apply 7-7", "enum Kind 8-9",
         "given ord 10-10", "function shout 12-12"],
    ),
    "a.lua": (
        """\
        local M = {}
        -- Adds.
        function M.add(x)
          local inner = {}
          return x
        end
        function M:run() end
        M.clear = function() end
        local f = function() end
        return M
        """,
        ["object M 1-1", "function M.add 3-6", "function M.run 7-7", "function M.clear 8-8", "function f 9-9"],
    ),
    "a.sh": ("f() {\n  a\n}\nfunction g { b; }\n", ["function f 1-3", "function g 4-4"]),
}  # fmt: skip


def shown(definition: Definition) -> str:
    return f"{definition.kind} {definition.name} {definition.first}-{definition.last}"


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_are_found_with_their_names_and_lines(path: str) -> None:
    source, expected = SOURCES[path]
    assert [shown(each) for each in list_definitions(path, dedent(source))] == expected


def only(path: str, source: str) -> Definition:
    (found,) = list_definitions(path, dedent(source))
    return found


def test_the_comment_above_belongs_to_a_definition_and_stands_outside_of_it() -> None:
    found = only("a.rs", "use x;\n\n/// Adds.\n/// Twice.\n#[inline]\n#[must_use]\nfn f() {\n}\n")
    assert (found.head_first, found.first, found.own_first, found.last) == (3, 5, 7, 8)
    assert found.decorators == (5, 6)


def test_a_comment_that_stands_apart_belongs_to_nothing() -> None:
    found = only("a.go", "package a\n\n// License.\n\nfunc f() {}\n")
    assert (found.head_first, found.first) == (5, 5)
    found = only("a.py", "x = 1  # one\ndef f(): pass\n")
    assert found.head_first == 2


def test_the_first_comment_of_a_class_belongs_to_its_first_method() -> None:
    source = "class A:\n    # Adds.\n    @cached\n    def f(self):\n        pass\n    # Next.\n    def g(self): pass\n"
    _, first, second = list_definitions("a.py", source)
    assert (first.head_first, first.first, first.own_first, first.body_first, first.last) == (2, 3, 4, 5, 5)
    assert (second.head_first, second.first) == (6, 7)


def test_other_code_on_the_lines_of_a_definition_is_told() -> None:
    found = list_definitions("a.js", "class A { f() {} g() {} }\n")
    assert [(each.lead, each.tail) for each in found[1:]] == [
        ("class A {", "g() {} }"),
        ("class A { f() {}", "}"),
    ]
    assert only("a.c", "struct s {\n  int a;\n};\n").tail == ";"


def test_a_package_is_known_and_no_part_of_a_name() -> None:
    found = list_definitions("a.php", "<?php\nnamespace Shop\\Core;\nclass A {}\n")
    assert [(each.name, each.package) for each in found] == [("A", "Shop.Core")]


def test_columns_are_counted_in_characters_where_the_text_is_not_ascii() -> None:
    found = only("a.js", 'const größe = () => "é";  // größe\n')
    assert (found.name, found.tail) == ("größe", "// größe")


def test_a_header_is_read_as_the_language_that_fits() -> None:
    assert [each.name for each in list_definitions("a.h", "namespace n {\nclass A {\n};\n}\n")] == [
        "n",
        "n.A",
    ]


def test_there_are_none_where_the_language_is_unknown_or_has_none() -> None:
    assert list_definitions("a.txt", "def f(): pass\n") == []
    assert list_definitions("a.json", "{}\n") == []


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("a.cpp", "class SHOP_API Cart : public Base {\npublic:\n  int total() const { return 0; }\n};\n",
         ["class Cart 1-4", "method Cart.total 3-3"]),
        ("a.cpp", "class SHOP_API(2) Cart final {\n  virtual bool\tempty()\t{ return true; }\n};\n",
         ["class Cart 1-3", "method Cart.empty 2-2"]),
        ("a.cpp", "char *SHOP_CALL\nname(int x)\n{\n  return 0;\n}\n", ["function name 1-5"]),
        ("a.c", "int SHOP_MAIN main(void)\n{\n  return 0;\n}\n", ["function main 1-4"]),
        ("a.c", "SHOP_EXPORT void SHOP_NOTHROW *\nSHOP_ATTR(malloc) SHOP_SIZE(1)\nget(int size) {\n  return 0;\n}\n",
         ["function get 1-5"]),
        ("a.cpp", "shop_inline SHOP_CONST20 result_t<UC>\nread(span<int> x) noexcept {\n  return x;\n}\n",
         ["function read 1-4"]),
        ("a.c", "static LONG go(LONG x) { return x; }\nstruct POINT { int x; };\nstruct POINT p;\n",
         ["function go 1-1", "struct POINT 2-2"]),
    ],
)  # fmt: skip
def test_a_word_that_only_the_preprocessor_knows_hides_no_definition(
    path: str, text: str, wanted: list[str]
) -> None:
    assert [
        f"{each.kind} {each.name} {each.first}-{each.last}" for each in list_definitions(path, text)
    ] == wanted


def test_macros_are_looked_for_in_time_that_grows_with_the_text() -> None:
    texts = [
        b"class A B : ",
        b"static\n",
        b"int AB\n",
        b"class AB(((",
        b"class A B<",
        b"class AA" + b" " * 90,
    ]
    for text in texts:
        started = time.process_time()
        repeated = text * 4_000
        assert len(blank_macros(repeated)) == len(repeated)
        assert time.process_time() - started < 2  # a hundredth of a second where it is linear


def test_a_large_file_with_errors_and_declarations_is_read_at_once() -> None:
    declared = "".join(f"struct s{number};\n" for number in range(200))
    functions = "".join(f"int f{number}(int a) {{ return a; }}\n\n" for number in range(4000))
    started = time.monotonic()
    found = list_definitions("a.c", f"FOO(bar) struct x {{{{{{\n{declared}{functions}")
    assert len(found) >= 4000
    assert time.monotonic() - started < 20
