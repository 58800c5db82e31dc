"""Dataclasses whose methods are made late behave as those of the standard library, in all that the project uses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
import weakref
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import TypeAdapter, ValidationError

from sandbox import lazy_dataclass

Decorate = Callable[..., Any]
T = TypeVar("T")

OPTIONS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq}
    for frozen, slots, kw_only, eq in itertools.product((False, True), repeat=4)
]


def declare(dataclass: Decorate, options: dict[str, bool]) -> list[Any]:
    """The same classes by either decorator: defaults, factories, inheritance, generics, methods of their own."""

    @dataclass(**options)
    class Point:
        x: int
        y: int = 2
        kind: ClassVar[str] = "point"
        notes: list[str] = field(default_factory=list)
        cached: int = field(default=7, compare=False, repr=False)
        made: int = field(default=0, init=False)

        def total(self) -> int:
            return self.x + self.y

    @dataclass(**options)
    class Named(Point):
        name: str = "n"
        y: int = 5

    @dataclass(**options)
    class Checked:
        """A class with methods of its own."""

        value: int = 0

        def __post_init__(self) -> None:
            if self.value < 0:
                raise ValueError("negative")

        def __repr__(self) -> str:
            return f"<{self.value}>"

    @dataclass(**options)
    class Box(Generic[T]):
        content: T

    @dataclass(**options)
    class Empty:
        pass

    return [Point, Named, Checked, Box, Empty]


CALLS: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = [
    (0, (), {"x": 1}),
    (0, (), {"x": 1, "y": 3, "notes": ["a"], "cached": 9}),
    (0, (1,), {}),
    (0, (1, 2), {}),
    (0, (), {}),
    (0, (), {"x": 1, "made": 3}),
    (0, (), {"x": 1, "unknown": 3}),
    (1, (), {"x": 1}),
    (1, (), {"x": 1, "name": "b"}),
    (1, (4, 5, [], 6, "c"), {}),
    (2, (), {}),
    (2, (), {"value": 3}),
    (2, (), {"value": -1}),
    (3, (), {"content": [1]}),
    (4, (), {}),
]


def make(cls: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """An instance, or the kind of the error."""
    try:
        return cls(*arguments, **options)
    except (TypeError, ValueError) as error:
        return type(error)


def outcome(function: Callable[[], Any]) -> Any:
    """Result of a call, or the kind of its error."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001: the kind is what is compared
        return type(error)


def describe(made: Any, other: Any) -> Iterator[Any]:
    """What a user of an instance can see."""
    if isinstance(made, type):
        yield made
        return
    yield repr(made).rpartition("<locals>.")[2]
    yield made == other
    yield made != other
    yield made.__eq__(3)
    yield outcome(lambda: hash(made)) == outcome(lambda: hash(other))
    yield isinstance(outcome(lambda: hash(made)), int)
    yield outcome(lambda: dataclasses.asdict(made))
    yield [
        (each.name, each.type, each.init, each.repr, each.compare, each.kw_only)
        for each in dataclasses.fields(made)
    ]
    yield dataclasses.is_dataclass(made)
    yield type(made).__match_args__
    yield hasattr(made, "__dict__")
    yield sorted(getattr(type(made), "__slots__", ()))
    yield repr(outcome(lambda: copy.copy(made))).rpartition("<locals>.")[2]
    yield repr(outcome(lambda: copy.deepcopy(made))).rpartition("<locals>.")[2]
    if fields := dataclasses.fields(made):
        name = fields[0].name
        yield repr(outcome(lambda: dataclasses.replace(made, **{name: 11}))).rpartition("<locals>.")[2]
        yield outcome(lambda: setattr(made, name, 12))
        yield outcome(lambda: delattr(made, name))
    # Which error a frozen class with slots raises here differs between the versions of Python.
    yield isinstance(outcome(lambda: setattr(made, "not_a_field", 1)), type)


def name_options(options: dict[str, bool]) -> str:
    return "+".join(name for name, is_on in options.items() if is_on) or "plain"


@pytest.mark.parametrize("options", OPTIONS, ids=name_options)
def test_classes_behave_as_those_of_the_standard_library(options: dict[str, bool]) -> None:
    real = outcome(lambda: declare(dataclasses.dataclass, options))
    lazy = outcome(lambda: declare(lazy_dataclass.dataclass, options))
    assert isinstance(real, list) == isinstance(lazy, list), "one declaration is refused"
    if not isinstance(real, list):
        assert real == lazy
        return
    for index, arguments, values in CALLS:
        seen = [list(describe(make(classes[index], arguments, values), make(classes[index], arguments, values)))
                for classes in (real, lazy)]  # fmt: skip
        assert seen[0] == seen[1], (index, arguments, values)


def test_signatures_are_the_same_once_an_instance_was_made() -> None:
    for options in OPTIONS:
        for real, lazy in zip(
            declare(dataclasses.dataclass, options), declare(lazy_dataclass.dataclass, options), strict=True
        ):
            made = make(lazy, (), {"x": 1} if "x" in str(inspect.get_annotations(lazy)) else {})
            if not isinstance(made, type):
                assert list(inspect.signature(lazy).parameters) == list(inspect.signature(real).parameters)


@lazy_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    a: int
    b: tuple[str, ...] = ()


@lazy_dataclass.dataclass(slots=True, weakref_slot=True)
class Open:
    a: int = 1


def test_instances_are_pickled_and_referenced_weakly() -> None:
    frozen = Frozen(a=1, b=("x",))
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert pickle.loads(pickle.dumps(Open(3))) == Open(3)
    assert weakref.ref(made := Open())() is made


def test_pydantic_checks_them() -> None:
    adapter = TypeAdapter(Frozen)
    assert adapter.validate_python({"a": "3", "b": ["x"]}) == Frozen(a=3, b=("x",))
    with pytest.raises(ValidationError):
        adapter.validate_python({"b": []})


def test_a_dataclass_of_the_standard_library_inherits_from_a_late_one_and_the_other_way_round() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Below(Frozen):
        c: int = 3

    @lazy_dataclass.dataclass(frozen=True, kw_only=True)
    class Lowest(Below):
        d: int = field(default=4)

    assert repr(Lowest(a=1)).endswith("Lowest(a=1, b=(), c=3, d=4)")
    assert [each.name for each in dataclasses.fields(Lowest)] == ["a", "b", "c", "d"]
    with pytest.raises(FrozenInstanceError):
        Lowest(a=1).a = 2  # type: ignore[misc]


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @lazy_dataclass.dataclass
        class _Wrong:
            values: list[int] = []  # noqa: RUF012


def test_a_required_field_behind_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="non-default argument 'b' follows default argument"):

        @lazy_dataclass.dataclass
        class _Wrong:
            a: int = 1
            b: int  # type: ignore[misc]


def test_declaring_a_class_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    real = lazy_dataclass._compile_init
    monkeypatch.setitem(lazy_dataclass._BUILDERS, "__init__", lambda *a: compiled.append(a) or real(*a))
    [point, *_] = declare(lazy_dataclass.dataclass, {"frozen": True, "slots": True, "kw_only": True})
    assert not compiled
    point(x=1)
    point(x=2)
    assert len(compiled) == 1
