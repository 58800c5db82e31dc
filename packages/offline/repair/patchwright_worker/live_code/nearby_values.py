"""Values near a given one: boundary values, and constants of the code, as generators of property tests draw them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


def iter_nearby_values(value: Any, constants: Sequence[Any]) -> Iterator[Any]:
    """Yield values near one, of the same type; none for objects of unknown types."""
    kind = type(value)
    if kind is bool:
        yield not value
    elif kind is int:
        numbers = [each for each in constants if type(each) is int]
        yield from dict.fromkeys((value + 1, value - 1, 0, -value, *numbers))
    elif kind is float:
        yield from (0.0, -value, value * 2)
    elif kind is str or kind is bytes:
        yield from (value[:-1], value + value[-1:], kind(), value[1:])
        if kind is str:
            texts = [each for each in constants if type(each) is str]
            yield from (
                value.swapcase(),
                *(value + each for each in texts),
                *(each + value for each in texts),
            )
    elif kind in (list, tuple):
        yield from (value[:-1], value + value[-1:], kind(), value[::-1])
        for place, each in enumerate(value[:3]):
            for other in itertools.islice(iter_nearby_values(each, constants), 3):
                yield kind([*value[:place], other, *value[place + 1 :]])
    elif kind is dict:
        yield {}
        for key in list(value)[:3]:
            yield {name: each for name, each in value.items() if name != key}
            yield from (
                {**value, key: other}
                for other in itertools.islice(iter_nearby_values(value[key], constants), 3)
            )
    elif kind is set:
        yield from (set(), set(list(value)[1:]))
