"""Comparison of a changed function with the original, for inputs of tests and others near them.

A right change alters little that worked before; one that only fits the tests often alters much that no test
checks. Inputs near those of the tests distinguish such changes (DiffTGen, Xin and Reiss 2017; boundary values
and constants of the function itself, as generators of property tests draw them). The tests run with the
original program; at each call the function is also run separately, on copies, in its old form and in its new
one.
"""

from __future__ import annotations

import copy
import dis
import itertools
import time
import types
from typing import TYPE_CHECKING

from .function_compiler import Fuel, Outside
from .nearby_values import iter_nearby_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# Limits, the same in every run: different calls of a test, inputs near each of them, loop iterations and
# calls of the function for one, objects in its arguments.
MOST_CALLS, MOST_NEAR, FUEL, MOST_OBJECTS = 6, 16, 5_000, 1_000
# CPU seconds for the inputs of one test, which hardly any takes.
SECONDS = 2.0
# Depth of compared values, and maximum size.
DEEPEST, MOST_ITEMS, LONGEST = 4, 30, 2000
_GENERATOR, _COROUTINE, _VARARGS, _VARKEYWORDS = 0x20, 0x80 | 0x200, 0x04, 0x08
_RAISE = dis.opmap["RAISE_VARARGS"]
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Call:
    """The arguments of one call: positional and keyword ones."""

    def __init__(self, positional: Sequence[Any], named: dict[str, Any]) -> None:
        self.positional, self.named = list(positional), dict(named)

    def iter_nearby_calls(self, constants: Sequence[Any]) -> Iterator[Call]:
        """Yield calls that differ in one argument each; the object of a method is unchanged."""
        ways = [
            [self._replace_argument(place, each) for each in iter_nearby_values(value, constants)]
            for place, value in enumerate(self.positional)
        ]
        ways += [
            [
                Call(self.positional, {**self.named, name: each})
                for each in iter_nearby_values(value, constants)
            ]
            for name, value in self.named.items()
        ]
        for row in itertools.zip_longest(*ways):
            yield from (each for each in row if each is not None)

    def _replace_argument(self, place: int, value: Any) -> Call:
        return Call([*self.positional[:place], value, *self.positional[place + 1 :]], self.named)


class InputComparison:
    """Counts, for one test after the other, the inputs for which the function worked and now behaves differently.

    function: a live one, whose globals, defaults and closure both forms share. Raises Outside if unsuitable
    """

    def __init__(self, function: types.FunctionType, old: types.CodeType, new: types.CodeType) -> None:
        self._code = function.__code__
        if self._code.co_flags & _COROUTINE or not (
            old.co_freevars == new.co_freevars == self._code.co_freevars
            and _describe_signature(old) == _describe_signature(new)
        ):
            raise Outside
        self._forms = [self._create_form(function, code) for code in (old, new)]
        self._constants = _collect_constants(old) + [
            each for each in _collect_constants(new) if each not in _collect_constants(old)
        ]
        self._fuel = Fuel(FUEL)
        self.start_test()

    def start_test(self) -> None:
        """Start the next test."""
        self._seen: set[str] = set()
        self._counts = [0, 0]
        self._until = time.process_time() + SECONDS

    @property
    def counts(self) -> list[int]:
        """Return the number of inputs for which the function worked before, and of those with another result."""
        return self._counts

    def profile_call(self, frame: types.FrameType, event: str, argument: object) -> None:
        """Profile function for `sys.setprofile`."""
        wanted = event == "call" and frame.f_code is self._code and len(self._seen) < MOST_CALLS
        if wanted and time.process_time() < self._until:
            self._compare_call(_read_call(frame))

    def _compare_call(self, call: Call) -> None:
        objects: dict[int, Any] = {}
        try:
            said = describe_value((call.positional, call.named))
            if said in self._seen:
                return
            copy.deepcopy((call.positional, call.named), objects)
        except Exception:  # values that cannot be copied cannot be compared
            return
        if len(objects) > MOST_OBJECTS:
            return
        self._seen.add(said)
        for each in itertools.chain(
            [call], itertools.islice(call.iter_nearby_calls(self._constants), MOST_NEAR)
        ):
            if time.process_time() > self._until:
                return
            before = self._run_form(0, each)
            if before is not None:
                after = self._run_form(1, each)
                self._counts[0] += 1
                self._counts[1] += after != before

    def _run_form(self, form: int, call: Call) -> str | None:
        """Return the result with the arguments afterwards, or a raised exception; None if it does not work."""
        self._fuel.refill()
        try:
            positional, named = copy.deepcopy((call.positional, call.named))
            result = self._forms[form](*positional, **named)
            if self._code.co_flags & _GENERATOR:
                result = list(itertools.islice(result, MOST_ITEMS))
            return None if self._fuel.is_used_up else describe_value((result, positional, named))
        except BaseException as error:  # any exception of the project's code, also SystemExit
            return (
                f"raises {type(error).__name__}"
                if _is_raised_on_purpose(error) and not self._fuel.is_used_up
                else None
            )

    @staticmethod
    def _create_form(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
        made = types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
        made.__kwdefaults__ = function.__kwdefaults__
        return made


def _is_raised_on_purpose(error: BaseException) -> bool:
    """Return whether the exception comes from a `raise` statement of Python code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


def _read_call(frame: types.FrameType) -> Call:
    code, values = frame.f_code, frame.f_locals
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    positional = [values.get(name) for name in names[: code.co_argcount]]
    named = {name: values.get(name) for name in names[code.co_argcount :]}
    rest = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & _VARARGS:
        positional += values.get(code.co_varnames[rest], ())
        rest += 1
    if code.co_flags & _VARKEYWORDS:
        named.update(values.get(code.co_varnames[rest], {}))
    return Call(positional, named)


def _describe_signature(code: types.CodeType) -> tuple[Any, ...]:
    number = code.co_argcount + code.co_kwonlyargcount
    return code.co_argcount, code.co_varnames[:number], code.co_flags & (_VARARGS | _VARKEYWORDS | _GENERATOR)


def _collect_constants(code: types.CodeType) -> list[Any]:
    """Return short texts and numbers among the function's constants."""
    found: list[Any] = []
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            found += _collect_constants(each)
        elif isinstance(each, tuple):
            found += [part for part in each if type(part) in (int, str)]
        elif type(each) in (int, str):
            found.append(each)
    return [each for each in dict.fromkeys(found) if type(each) is int or 0 < len(each) <= 10]


def describe_value(value: Any, depth: int = DEEPEST) -> str:
    """Return a description of a value, the same for equal values."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)[:LONGEST]
    if depth == 0:
        return kind.__name__
    if isinstance(value, (list, tuple)):
        inside = [describe_value(each, depth - 1) for each in value[:MOST_ITEMS]]
    elif isinstance(value, (set, frozenset)):
        inside = sorted(describe_value(each, depth - 1) for each in itertools.islice(value, MOST_ITEMS))
    elif isinstance(value, dict):
        pairs = itertools.islice(value.items(), MOST_ITEMS)
        inside = [
            f"{describe_value(key, depth - 1)}: {describe_value(each, depth - 1)}" for key, each in pairs
        ]
    else:
        own = getattr(value, "__dict__", None)
        inside = (
            [describe_value(own, depth - 1)] if isinstance(own, dict) and not isinstance(value, type) else []
        )
        if isinstance(value, (type, types.FunctionType)):
            inside = [value.__qualname__]
    size = len(value) if isinstance(value, (list, tuple, set, frozenset, dict)) else ""
    return f"{kind.__name__}{size}({', '.join(inside)})"
