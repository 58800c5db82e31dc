"""Templates for a value of the wrong type, by the failure's message: convert it, or exclude None.

PyTER (Oh and Oh 2022) compares the types of passing and failing runs; here a TypeError's own message names
the actual type, and often the expected one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from packages.offline.repair.templates.extra_checks import list_truth_tests
from packages.offline.repair.templates.library_idioms import is_reference
from packages.offline.repair.templates.support.precedence import AND, ATOM
from packages.offline.repair.templates.support.template_site import Change, Site, template
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_ITERATORS = "generator|map|filter|zip|enumerate|dict_keys|dict_values|dict_items|odict_keys|odict_values|set"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRule:
    """Conversions for one message of a TypeError.

    message_pattern: prefix or part of the message
    is_affected: whether an expression may be the value that the message is about
    forms: replacements, `{x}` being its text, `{o}` the same as an operand
    """

    message_pattern: re.Pattern[str]
    is_affected: Callable[[Site, ast.expr], bool]
    forms: tuple[str, ...]


@template(prior=1.6, precision=0.9)
def converted_as_said(site: Site) -> Iterator[Change]:
    """Convert a value of the type in a TypeError to the expected one: `"a" + n` → `"a" + str(n)`."""
    rules = [rule for rule in RULES if any(map(rule.message_pattern.search, site.hints.type_error_messages))]
    for node in site.nodes:
        for rule in rules:
            if rule.is_affected(site, node):
                for form in rule.forms:
                    text = form.format(x=site.get_text(node), o=site.format_operand(node, ATOM))
                    yield site.replace_node(
                        node, text, f"`{site.get_text(node)}` is of the wrong type: `{text}` is meant"
                    )


@template(prior=1.2, precision=0.88)
def none_kept_out(site: Site) -> Iterator[Change]:
    """Exclude None from comparisons and sums: `x < y` → `x is not None and x < y`, `x or 0` (PyTER, None guard)."""
    if not any(_NONE.search(each) for each in site.hints.type_error_messages):
        return
    conditions = list(list_truth_tests(site))
    for node in site.nodes:
        above = site.source.parents.get(node)
        if not (is_reference(node) and isinstance(above, ast.Compare | ast.BinOp | ast.AugAssign)):
            continue
        text = site.get_text(node)
        why = f"`{text}` may be None"
        for test in conditions:
            if any(each is node for each in ast.walk(test)):
                yield site.replace_node(test, f"{text} is not None and {site.format_operand(test, AND)}", why)
        if not isinstance(above, ast.Compare):
            yield site.replace_node(node, f"{text} or 0", why)


def _is_value(node: ast.expr) -> bool:
    return is_reference(node) or isinstance(node, ast.Call | ast.Constant | ast.JoinedStr | ast.BinOp)


def _is_summand(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    added = isinstance(above, ast.BinOp | ast.AugAssign) and isinstance(above.op, ast.Add)
    return added and _is_value(node)


def _is_handed_on(site: Site, node: ast.expr) -> bool:
    """Return whether it is passed, an operand, an index, returned or stored; not called or accessed by attribute."""
    above = site.source.parents.get(node)
    return _is_value(node) and (
        (isinstance(above, ast.Call) and node is not above.func)
        or isinstance(above, ast.BinOp | ast.Compare | ast.keyword | ast.Return | ast.Tuple | ast.List)
        or (isinstance(above, ast.Assign | ast.AugAssign) and node is above.value)
        or (isinstance(above, ast.Subscript) and node is above.slice)
    )


def _is_iterated_over(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    return _is_value(node) and (
        (isinstance(above, ast.For | ast.AsyncFor | ast.comprehension) and node is above.iter)
        or (isinstance(above, ast.Call) and node is not above.func)
        or isinstance(above, ast.Starred)
        or (isinstance(above, ast.Compare) and node in above.comparators)
        or (isinstance(above, ast.Subscript) and node is above.value)
    )


def _is_index(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    return (isinstance(above, ast.Subscript) and node is above.slice) or isinstance(above, ast.Slice)


def _is_counted(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    argument = isinstance(above, ast.Call) and node in above.args
    return argument or _is_index(site, node)


def _is_format_argument(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    return isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mod) and node is above.right


def _is_join_argument(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    called = above.func if isinstance(above, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == "join" and not isinstance(node, ast.Attribute)


def _rule(said: str, place: Callable[[Site, ast.expr], bool], *forms: str) -> ConversionRule:
    return ConversionRule(message_pattern=re.compile(said), is_affected=place, forms=forms)


# Python 3.11 to 3.13 and before, with another wording.
RULES = (
    _rule(
        r"can only concatenate str \(not \"(?!bytes|NoneType)|must be str, not (?!bytes|NoneType)"
        r"|for \+=?: '(?:str' and '(?!NoneType)\w+|(?!NoneType)\w+' and 'str)'",
        _is_summand, "str({x})",
    ),
    _rule(r"can only concatenate str \(not \"NoneType\"|for \+=?: 'NoneType' and 'str'", _is_summand, '{o} or ""'),
    _rule(r"can only concatenate list|for \+=?: '\w+' and 'list'", _is_summand, "list({x})", "[{x}]"),
    _rule(r"can only concatenate tuple|for \+=?: '\w+' and 'tuple'", _is_summand, "tuple({x})", "({x},)"),
    _rule(
        r"bytes-like object is required, not 'str'|can't concat str to bytes|a bytes pattern on a string"
        r"|bytes-like object, not '?str|expected bytes, (?:got )?str|bytes, not str",
        _is_handed_on, "{o}.encode()",
    ),
    _rule(
        r"\(not \"bytes\"\) to str|a string pattern on a bytes|must be str, not bytes|str, not '?bytes"
        r"|requires string as left operand, not bytes|expected str, (?:got )?bytes",
        _is_handed_on, "{o}.decode()",
    ),
    _rule(r"'NoneType'(?: object)? is not (?:iterable|a container)|'NoneType' object is not subscriptable",
          _is_iterated_over, "{o} or ()", "{o} or {{}}"),
    _rule(r"'(?!NoneType)\w+' object is not iterable", _is_iterated_over, "[{x}]", "({x},)"),
    _rule(rf"object of type '(?:{_ITERATORS})' has no len|'(?:{_ITERATORS})' object is not (?:subscriptable|reversible)"
          rf"|JSON serializable", _is_iterated_over, "list({x})"),
    _rule(r"'float' object cannot be interpreted as an integer|must be integers or slices, not float"
          r"|must be integers or None", _is_counted, "int({x})"),
    _rule(r"indices must be integers(?: or slices)?, not '?str", _is_index, "int({x})"),
    _rule(r"unhashable type: 'list'|cannot use 'list'", _is_handed_on, "tuple({x})"),
    _rule(r"unhashable type: 'set'|cannot use 'set'", _is_handed_on, "frozenset({x})"),
    _rule(r"unhashable type: 'dict'|cannot use 'dict'", _is_handed_on, "tuple({o}.items())", "id({x})", "repr({x})"),
    _rule(r"not all arguments converted|not enough arguments for format", _is_format_argument, "({x},)", "tuple({x})"),
    _rule(r"expected str instance, (?!bytes)\w+ found", _is_join_argument, "map(str, {x})"),
    _rule(
        r"expected string or bytes-like object|expected str, bytes or os\.PathLike object"
        r"|requires string as left operand, not (?!bytes)|argument must be a string",
        _is_handed_on, "str({x})", '{o} or ""',
    ),
)  # fmt: skip
_NONE = compile_lazily(
    r"not supported between instances of .*'NoneType'|unsupported operand type\(s\).*'NoneType'"
)
