"""Templates for what newer versions of Python and of NumPy call otherwise, or have moved to another module.

From the "removed" and "porting" sections of "What's New in Python" 3.0 to 3.13 and of NumPy's 1.24 and 2.0 notes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.precedence import ATOM, COMPARISON

_COLLECTIONS = (
    "Awaitable", "Callable", "Collection", "Container", "Coroutine", "Generator", "Hashable", "ItemsView", "Iterable",
    "Iterator", "KeysView", "Mapping", "MappingView", "MutableMapping", "MutableSequence", "MutableSet", "Reversible",
    "Sequence", "Set", "Sized", "ValuesView",
)  # fmt: skip
# (module, name) → (module, name) of today.
MOVED = {
    **{("collections", name): ("collections.abc", name) for name in _COLLECTIONS},
    ("fractions", "gcd"): ("math", "gcd"),
    ("cgi", "escape"): ("html", "escape"),
    ("cgi", "parse_qs"): ("urllib.parse", "parse_qs"),
    ("cgi", "parse_qsl"): ("urllib.parse", "parse_qsl"),
    ("base64", "encodestring"): ("base64", "encodebytes"),
    ("base64", "decodestring"): ("base64", "decodebytes"),
    ("inspect", "getargspec"): ("inspect", "getfullargspec"),
    ("time", "clock"): ("time", "perf_counter"),
    ("os", "getcwdu"): ("os", "getcwd"),
    ("sys", "maxint"): ("sys", "maxsize"),
    ("string", "letters"): ("string", "ascii_letters"),
    ("string", "lowercase"): ("string", "ascii_lowercase"),
    ("string", "uppercase"): ("string", "ascii_uppercase"),
    ("itertools", "izip_longest"): ("itertools", "zip_longest"),
    ("itertools", "ifilterfalse"): ("itertools", "filterfalse"),
    ("asyncio", "async"): ("asyncio", "ensure_future"),
    ("configparser", "SafeConfigParser"): ("configparser", "ConfigParser"),
    ("importlib", "find_loader"): ("importlib.util", "find_spec"),
    ("locale", "format"): ("locale", "format_string"),
    ("types", "StringType"): ("builtins", "str"),
    ("urllib", "quote"): ("urllib.parse", "quote"),
    ("urllib", "unquote"): ("urllib.parse", "unquote"),
    ("urllib", "urlencode"): ("urllib.parse", "urlencode"),
    ("urllib", "urlopen"): ("urllib.request", "urlopen"),
    ("numpy", "float"): ("builtins", "float"),
    ("numpy", "int"): ("builtins", "int"),
    ("numpy", "bool"): ("builtins", "bool"),
    ("numpy", "object"): ("builtins", "object"),
    ("numpy", "str"): ("builtins", "str"),
    ("numpy", "complex"): ("builtins", "complex"),
    ("numpy", "float_"): ("numpy", "float64"),
    ("numpy", "unicode_"): ("numpy", "str_"),
    ("numpy", "Inf"): ("numpy", "inf"),
    ("numpy", "NaN"): ("numpy", "nan"),
    ("numpy", "product"): ("numpy", "prod"),
    ("numpy", "cumproduct"): ("numpy", "cumprod"),
    ("numpy", "alltrue"): ("numpy", "all"),
    ("numpy", "sometrue"): ("numpy", "any"),
    ("numpy", "in1d"): ("numpy", "isin"),
    ("numpy", "row_stack"): ("numpy", "vstack"),
    ("numpy", "trapz"): ("numpy", "trapezoid"),
}
# Methods and attributes of objects.
_METHODS = {
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "viewitems": "items", "viewkeys": "keys",
    "viewvalues": "values", "isAlive": "is_alive", "func_name": "__name__", "func_code": "__code__",
    "func_defaults": "__defaults__", "func_doc": "__doc__", "func_globals": "__globals__", "im_func": "__func__",
    "im_self": "__self__", "tostring": "tobytes", "fromstring": "frombytes", "getiterator": "iter",
    "readfp": "read_file",
}  # fmt: skip
_BUILTINS = {
    "unicode": "str", "basestring": "str", "long": "int", "xrange": "range", "raw_input": "input", "unichr": "chr",
    "file": "open",
}  # fmt: skip
_WHY = "`{}` is no longer there: `{}` is meant"


@template(prior=3.0, precision=0.98)
def renamed_in_python(site: Site) -> Iterator[Change]:
    """A name that newer versions lack: `base64.encodestring` → `base64.encodebytes` (PyTER; AttributeError)."""
    for node in site.nodes:
        if isinstance(node, ast.Attribute) and node.attr in site.hints.missing_attributes:
            yield from _attribute(site, node)
        elif isinstance(node, ast.Name) and node.id in site.hints.missing_names and node.id in _BUILTINS:
            yield site.replace(node, _BUILTINS[node.id], _WHY.format(node.id, _BUILTINS[node.id]))


@template(prior=3.0, precision=0.98)
def moved_in_python(site: Site) -> Iterator[Change]:
    """An import of what newer versions have in another module: `from collections import Mapping` (ImportError)."""
    statement = site.statement
    if not isinstance(statement, ast.ImportFrom) or statement.level or not site.alone_on_lines:
        return
    module = statement.module or ""
    gone = [each for each in statement.names if (module, each.name) in MOVED]
    if not any(each.name in site.hints.missing_names for each in gone):
        return
    kept = [each for each in statement.names if each not in gone]
    lines = [f"from {module} import {', '.join(map(ast.unparse, kept))}"] if kept else []
    for each in gone:
        there, name = MOVED[module, each.name]
        bound = each.asname or each.name
        if there == "builtins":
            lines += [f"{bound} = {name}"] if bound != name else []
        else:
            lines.append(f"from {there} import {name}" + (f" as {bound}" if bound != name else ""))
    margin = " " * statement.col_offset
    names = ", ".join(each.name for each in gone)
    yield site.rewrite(f"\n{margin}".join(lines), f"`{module}` has no `{names}` any more")


def _attribute(site: Site, node: ast.Attribute) -> Iterator[Change]:
    owner, above = site.text(node.value), site.source.parents.get(node)
    here = "numpy" if owner == "np" else owner
    if (here, node.attr) in MOVED:
        there, name = MOVED[here, node.attr]
        module = owner if there == here else there
        text = name if there == "builtins" else f"{module}.{name}"
        yield site.replace(node, text, _WHY.format(f"{owner}.{node.attr}", text))
        return
    called = isinstance(above, ast.Call) and above.func is node
    if node.attr in _METHODS:
        text = f"{site.operand(node.value, ATOM)}.{_METHODS[node.attr]}"
        yield site.replace(node, text, _WHY.format(f".{node.attr}", f".{_METHODS[node.attr]}"))
    elif node.attr == "next" and isinstance(above, ast.Call) and called and not above.args:
        yield site.replace(above, f"next({owner})", _WHY.format(".next()", f"next({owner})"))
    elif node.attr == "has_key" and isinstance(above, ast.Call) and called and len(above.args) == 1:
        text = f"{site.operand(above.args[0], COMPARISON + 1)} in {site.operand(node.value, COMPARISON + 1)}"
        yield site.replace(above, text, _WHY.format(".has_key()", text))
