"""Inputs for a function, drawn near those of its tests, from its annotations and from literals of the code."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from sandbox.extensions import load_extension
from sandbox.lazy_dataclass import dataclass

Call = tuple[list[Any], dict[str, Any]]

NUMBERS = (0, 1, 2, 3, -1, 5, 7, 10, 12, 100, -5)
FLOATS = (0.0, 0.5, 1.0, -1.5, 2.5, 3.14)
TEXTS = ("", "a", "abc", "Hello World", "aba", " ", "A1b2", "x,y z")
"""Boundary values, and ordinary ones."""

LONGEST_LIST, LONGEST_TEXT = 8, 12
MOST_TEXT = 400
"""Characters of an input: longer ones say nothing more and cannot be read."""

ANNOTATED: Mapping[str, Sequence[Any]] = {
    "int": NUMBERS,
    "float": FLOATS,
    "str": TEXTS,
    "bool": (True, False),
    "list": ([], [1], [3, 1, 2], [1, 1, 2], [5, -4, 0, 3], ["b", "a"]),
    "dict": ({}, {"a": 1}, {"b": 2, "a": 1}),
    "tuple": ((), (1,), (2, 1)),
    "set": (set(), {1}, {1, 2, 3}),
    "bytes": (b"", b"a", b"abc"),
}
_ELEMENTS: Mapping[str, Sequence[Any]] = {
    "int": ([], [1], [3, 1, 2], [1, 1, 2], [5, -4, 0, 3], [10, 2, 33, 4, 5]),
    "float": ([], [1.0], [2.5, 1.5, 3.0], [1.0, 2.0, 2.05], [-1.5, 0.0]),
    "str": ([], ["a"], ["b", "a", "ab"], ["", "x", "x"], ["Hello", "world"]),
    "bool": ([], [True], [False, True]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPlan:
    """Material for inputs.

    given: calls of tests; literals: constants of texts and code; seed: of the draw
    keep_rows: rows of a list keep the keys, or the length, that rows of this argument were seen with
    """

    given: Sequence[str]
    literals: Sequence[Any] = ()
    most: int = 60
    seed: int = 0
    keep_rows: bool = False


def generate_inputs(plan: InputPlan, signature: ast.arguments | None = None) -> list[str]:
    """Return calls as text of a literal: none of the given ones, each once.

    They come from what is near a given call, from combinations of given arguments, and from random values of the same
    shape, in turn; from the annotations where no call is given.
    """
    given = _select_usual_shape([ast.literal_eval(each) for each in plan.given])
    ways: list[Iterator[Call]]
    draw = Random(plan.seed)
    if given:
        near = (_iter_nearby_calls(call, plan.literals) for call in given)
        ways = [_interleave(list(near)), _iter_random_calls(given, plan, draw)]
        ways.append(_iter_combined_calls(given, draw))
    elif signature is not None:
        ways = [_iter_annotated_calls(signature, draw)]
    else:
        return []
    found: dict[str, None] = {}
    known, longest = set(plan.given), MOST_TEXT * (4 if plan.keep_rows else 1)
    rows = (
        [_list_row_shapes(each) for each in zip(*(call[0] for call in given), strict=True)]
        if plan.keep_rows
        else []
    )
    for call in itertools.islice(_interleave(ways), 20 * plan.most):
        text = repr(call)
        if any(not _list_row_shapes([value]) <= shapes for value, shapes in zip(call[0], rows, strict=False)):
            continue
        if text not in known and text not in found and len(text) <= longest and _is_literal(text):
            found[text] = None
        if len(found) == plan.most:
            break
    return list(found)


def iter_smaller_calls(text: str) -> Iterator[str]:
    """Yield simplifications of a call, the smallest first, to shrink an input that tells programs apart."""
    positional, named = ast.literal_eval(text)
    smaller: list[str] = []
    for place, value in enumerate(positional):
        for each in _iter_smaller_values(value):
            smaller.append(repr(([*positional[:place], each, *positional[place + 1 :]], named)))
    for name, value in named.items():
        smaller += [repr((positional, {**named, name: each})) for each in _iter_smaller_values(value)]
    return iter(sorted(dict.fromkeys(smaller), key=lambda each: (len(each), each)))


def collect_literals(sources: Sequence[str]) -> list[Any]:
    """Return short numbers and texts that occur in Python sources, the most frequent first."""
    counts: Counter[Any] = Counter()
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, MemoryError, RecursionError):  # a candidate that does not parse
            continue
        values = {
            each.value
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and type(each.value) in (int, str)
        }
        counts.update(each for each in values if not isinstance(each, str) or 0 < len(each) <= 10)
    return [value for value, _ in sorted(counts.items(), key=lambda pair: (-pair[1], repr(pair[0])))][:12]


def find_signature(sources: Sequence[str], function: str) -> ast.arguments | None:
    """Return the parameters of a function in the first source that defines it."""
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
                return node.args
    return None


def measure_unread(source: str, function: str) -> float:
    """Return the share of a function's parameters that its body never mentions; 0 if it cannot be found."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return 0.0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            given = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            read = {each.id for part in node.body for each in ast.walk(part) if isinstance(each, ast.Name)}
            return sum(name not in read for name in given) / len(given) if given else 0.0
    return 0.0


def _select_usual_shape(calls: Sequence[Call]) -> list[Call]:
    """Return the calls with the most frequent types of arguments."""
    shapes = [tuple(_describe_shape(each) for each in call[0]) + tuple(sorted(call[1])) for call in calls]
    if not shapes:
        return []
    usual = Counter(shapes).most_common(1)[0][0]
    return [call for call, shape in zip(calls, shapes, strict=True) if shape == usual]


def _describe_shape(value: Any) -> str:
    kind = type(value).__name__
    return "number" if kind in ("int", "float") else kind


def _interleave(ways: Sequence[Iterator[Call]]) -> Iterator[Call]:
    left = list(ways)
    while left:
        for way in list(left):
            try:
                yield next(way)
            except StopIteration:
                left.remove(way)


def _iter_nearby_calls(call: Call, literals: Sequence[Any]) -> Iterator[Call]:
    positional, named = call
    ways = [
        _replace_each(positional, place, load_extension("inputs", "nearby_values")(value, literals), named)
        for place, value in enumerate(positional)
    ]
    return _interleave(ways)


def _replace_each(
    positional: Sequence[Any], place: int, others: Iterator[Any], named: dict[str, Any]
) -> Iterator[Call]:
    for each in others:
        yield [*positional[:place], each, *positional[place + 1 :]], named


def _iter_combined_calls(calls: Sequence[Call], draw: Random) -> Iterator[Call]:
    width = len(calls[0][0])
    while width > 1:
        yield [draw.choice(calls)[0][place] for place in range(width)], draw.choice(calls)[1]


def _list_row_shapes(values: Sequence[Any]) -> set[Any]:
    """Return the keys or lengths of the records in these lists."""
    rows = [row for value in values if isinstance(value, list) for row in value]
    return {
        tuple(sorted(map(repr, row))) if isinstance(row, dict) else len(row) for row in rows if _is_row(row)
    }


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple | dict)


def _iter_random_calls(calls: Sequence[Call], plan: InputPlan, draw: Random) -> Iterator[Call]:
    while True:
        model = draw.choice(calls)
        pool = [value for call in calls for value in call[0]]
        if plan.keep_rows:
            yield [_draw_rows(value, pool, plan.literals, draw) for value in model[0]], model[1]
        else:
            yield [_draw_like(value, pool, plan.literals, draw) for value in model[0]], model[1]


def _draw_rows(value: Any, pool: Sequence[Any], literals: Sequence[Any], draw: Random) -> Any:
    """Return a random value of the same shape; a list of records has records with the same fields."""
    if not (isinstance(value, list) and value and all(map(_is_row, value))):
        return _draw_like(value, pool, literals, draw)
    return [
        _draw_row(draw.choice(value), value, literals, draw) for _ in range(draw.randint(0, LONGEST_LIST))
    ]


def _draw_row(row: Any, rows: Sequence[Any], literals: Sequence[Any], draw: Random) -> Any:
    """Return a record: each field is often one of the same field, so that fields of two records meet."""
    places = list(row) if isinstance(row, dict) else list(range(len(row)))
    made = {}
    for place in places:
        same = [each[place] for each in rows if type(each) is type(row) and _has_place(each, place)]
        chosen = draw.choice(same)
        made[place] = _draw_like(chosen, same, literals, draw) if draw.random() < 0.3 else chosen
    return made if isinstance(row, dict) else tuple(made.values())


def _has_place(row: Any, place: Any) -> bool:
    return place in row if isinstance(row, dict) else place < len(row)


def _draw_like(value: Any, pool: Sequence[Any], literals: Sequence[Any], draw: Random) -> Any:
    """Return a random value of the same shape; its parts come from the pool as often as from boundary values."""
    kind = type(value)
    if kind is bool:
        return draw.random() < 0.5
    if kind is int:
        numbers = [each for each in _flatten(pool) if type(each) is int]
        near = draw.choice(numbers) + draw.choice((-1, 0, 1, 2))
        return draw.choice((near, near, draw.choice(NUMBERS), draw.randint(0, max(10, *map(abs, numbers)))))
    if kind is float:
        fractions = [each for each in _flatten(pool) if type(each) is float]
        return draw.choice((draw.choice(fractions), draw.choice(FLOATS), round(draw.uniform(-10, 10), 2)))
    if kind is str:
        return _draw_text(pool, literals, draw)
    if kind in (list, tuple):
        items = [part for each in pool if type(each) is kind for part in each] or [0, 1, 2]
        parts = [draw.choice(items) for _ in range(draw.randint(0, LONGEST_LIST))]
        return kind(
            _draw_like(each, items, literals, draw) if draw.random() < 0.4 else each for each in parts
        )
    if kind is dict and value:
        keys = draw.sample(list(value), draw.randint(0, len(value)))
        return {key: _draw_like(value[key], list(value.values()), literals, draw) for key in keys}
    return value


def _draw_text(pool: Sequence[Any], literals: Sequence[Any], draw: Random) -> str:
    texts = [each for each in _flatten(pool) if isinstance(each, str) and each]
    words = sorted({word for text in texts for word in text.split()})
    letters = sorted({letter for text in texts for letter in text}) or list("abA 1,")
    way = draw.randrange(3)
    if way == 0 and any(" " in each for each in texts):
        return " ".join(draw.choice(words) for _ in range(draw.randint(1, 5)))
    if way == 1 and texts:
        text = draw.choice(texts)
        place = draw.randint(0, len(text))
        return draw.choice(
            (text[:place] + draw.choice(letters) + text[place:], text[:place], text[::-1], text * 2)
        )
    return "".join(draw.choice(letters) for _ in range(draw.randint(1, LONGEST_TEXT)))


def _flatten(values: Sequence[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, list | tuple | set):
            yield from _flatten(list(each))
        elif isinstance(each, dict):
            yield from _flatten([*each.keys(), *each.values()])
        else:
            yield each


def _iter_annotated_calls(signature: ast.arguments, draw: Random) -> Iterator[Call]:
    places = [*signature.posonlyargs, *signature.args]
    pools = [_list_annotated_values(each.annotation) for each in places]
    if not pools:
        yield [], {}
        return
    for row in itertools.islice(itertools.zip_longest(*pools), 20):
        yield [pools[place][0] if each is None else each for place, each in enumerate(row)], {}
    while True:
        yield [draw.choice(pool) for pool in pools], {}


def _list_annotated_values(annotation: ast.expr | None) -> Sequence[Any]:
    """Return values for a parameter; numbers, texts and lists for one without a known annotation."""
    text = ast.unparse(annotation).replace("typing.", "") if annotation is not None else ""
    outer, _, inner = text.partition("[")
    inner = inner.rstrip("]")
    if outer in ("Optional", "Union"):
        return (*_list_annotated_values(ast.parse(inner.split(",")[0] or "int", mode="eval").body), None)
    name = outer.lower()
    if name in ("list", "sequence", "iterable", "collection") and inner in _ELEMENTS:
        return _ELEMENTS[inner]
    if name in ("sequence", "iterable", "collection"):
        name = "list"
    return ANNOTATED.get(name) or (*NUMBERS[:4], *TEXTS[:4], *_ELEMENTS["int"][:4])


def _iter_smaller_values(value: Any) -> Iterator[Any]:
    kind = type(value)
    if kind in (list, tuple, str, bytes):
        yield kind()
        if len(value) > 3:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
        for place in range(min(len(value), 12)):
            yield value[:place] + value[place + 1 :]
        if kind in (list, tuple):
            for place, part in enumerate(value[:6]):
                for each in itertools.islice(_iter_smaller_values(part), 4):
                    yield kind([*value[:place], each, *value[place + 1 :]])
    elif kind is int and value not in (0, 1):
        yield from (0, 1, value // 2) if value > 0 else (0, -value)
    elif kind is float and value not in (0.0, 1.0):
        yield from (0.0, 1.0, float(round(value)))
    elif kind is dict:
        for key in list(value)[:8]:
            yield {name: each for name, each in value.items() if name != key}


def _is_literal(text: str) -> bool:
    """Return whether the text can be read back: `inf` and `nan` cannot."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
