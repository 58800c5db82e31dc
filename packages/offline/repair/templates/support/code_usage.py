"""Usage patterns of a file, for templates that borrow (plastic surgery: Barr 2014): checks, members, jumps."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Protocol

# Longer statements and conditions are not borrowed, nor are longer chains of attributes.
LONGEST, LONGEST_CHAIN = 100, 40


class SyntaxSource(Protocol):
    """A parsed file, as far as counting needs it."""

    tree: ast.Module
    parents: dict[ast.AST, ast.AST]

    @property
    def module_names(self) -> Mapping[str, ast.AST]:
        """Names bound at module level, with the node that binds each."""
        ...

    def get_text(self, node: ast.expr | ast.stmt | ast.keyword | ast.excepthandler) -> str:
        """Return the source text of a node."""
        ...


class CodeUsage:
    """Counts of code patterns in a file; each computed on demand."""

    def __init__(self, source: SyntaxSource) -> None:
        self.source = source

    @cached_property
    def members_by_owner(self) -> dict[str, Counter[str]]:
        """Attributes by the last name of their owner: of `a.b.c` and `b.c` both, `c` of `b`."""
        found: dict[str, Counter[str]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                last = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                found.setdefault(last, Counter())[node.attr] += 1
        return found

    @cached_property
    def called_members(self) -> frozenset[tuple[str, str]]:
        """(last name of the owner, attribute) of each called attribute."""
        called = (n.func for n in ast.walk(self.source.tree) if isinstance(n, ast.Call))
        owned = [
            (func.value, func.attr)
            for func in called
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name | ast.Attribute)
        ]
        return frozenset((o.id if isinstance(o, ast.Name) else o.attr, name) for o, name in owned)

    @cached_property
    def chains(self) -> dict[str, Counter[str]]:
        """Attributes and elements in full, by the name that they begin with."""
        found: dict[str, Counter[str]] = {}
        for node in ast.walk(self.source.tree):
            above = self.source.parents.get(node)
            inner = isinstance(above, ast.Attribute) or (
                isinstance(above, ast.Subscript) and node is above.value
            )
            if not isinstance(node, ast.Attribute | ast.Subscript) or inner or isinstance(node.ctx, ast.Del):
                continue
            text, root = self.source.get_text(node), node.value
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            is_called = isinstance(above, ast.Call) and node is above.func
            if (
                isinstance(root, ast.Name)
                and not is_called
                and "\n" not in text
                and len(text) < LONGEST_CHAIN
            ):
                found.setdefault(root.id, Counter())[text] += 1
        return found

    @cached_property
    def truth_tests(self) -> Counter[tuple[str, str]]:
        """(a name that it reads, call or comparison) of each expression tested for truth in the file."""
        found: Counter[tuple[str, str]] = Counter()
        every = list(ast.walk(self.source.tree))
        todo = [node.test for node in every if isinstance(node, ast.If | ast.While | ast.IfExp)]
        todo += [each for node in every if isinstance(node, ast.comprehension) for each in node.ifs]
        returned = (n.value for n in every if isinstance(n, ast.Return))
        todo += [each for each in returned if isinstance(each, ast.BoolOp | ast.Compare)]
        for node in iter_operands(todo):
            if isinstance(node, ast.Call | ast.Compare):
                text = self.source.get_text(node)
                if "\n" not in text and len(text) < LONGEST:
                    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                    found.update((name, text) for name in read - self.source.module_names.keys())
        return found

    @cached_property
    def jump_guards(self) -> Counter[tuple[str, str]]:
        """(condition, jump) of each `if` whose body is a single jump, such as `return None`."""
        found: Counter[tuple[str, str]] = Counter()
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
                then = node.body[0]
                test, done = self.source.get_text(node.test), self.source.get_text(then)
                jumps = isinstance(then, ast.Return | ast.Raise | ast.Continue | ast.Break)
                if jumps and "\n" not in test + done and len(test) < LONGEST:
                    found[test, done] += 1
        return found


def iter_operands(conditions: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the operands of `and`, `or` and `not` in these conditions, the last first."""
    todo = list(conditions)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.BoolOp):
            todo.extend(node.values)
        elif isinstance(node, ast.UnaryOp):
            todo.append(node.operand)
        else:
            yield node
