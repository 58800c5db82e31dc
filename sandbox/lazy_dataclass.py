"""`dataclass` with the methods made when they are first called: a start imports hundreds of classes and uses a third.

The standard library compiles up to six methods of every class at its import. Here `__init__` is compiled at the first
instance, the other methods are closures over the fields' names, and `__dataclass_fields__` is made when `fields`,
`replace`, `asdict` or pydantic asks for it. Rare options (`order`, `unsafe_hash`, `InitVar`) are left to the original.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """Return the class with the methods of a dataclass, each made when it is first needed."""
        if cls is None:
            return lambda decorated: _decorate(decorated, options)
        return _decorate(cls, options)


_MADE: list[type] = []
_original: Any = dataclasses.dataclass
_MISSING: Any = dataclasses.MISSING
_FIELD: Any = dataclasses._FIELD  # type: ignore[attr-defined]
_SPECIFICATION, _FROZEN = "__lazy_fields__", "__lazy_frozen__"
_KNOWN_OPTIONS = {"frozen", "slots", "kw_only", "eq", "repr", "weakref_slot"}
_NOT_FIELDS = ("ClassVar", "typing.ClassVar", "Final[ClassVar")
_LEFT_TO_ORIGINAL = ("InitVar", "dataclasses.InitVar", "KW_ONLY", "dataclasses.KW_ONLY")


class _Declaration:
    """One field as its class declares it; `default` and `factory` are `MISSING` where there is none."""

    __slots__ = (
        "annotation",
        "default",
        "factory",
        "in_eq",
        "in_init",
        "in_repr",
        "kw_only",
        "metadata",
        "name",
    )

    def __init__(self, name: str, annotation: Any, default: Any, *, kw_only: bool) -> None:
        self.name, self.annotation, self.kw_only = name, annotation, kw_only
        self.default: Any = default
        self.factory: Any = _MISSING
        self.in_init = self.in_repr = self.in_eq = True
        self.metadata: Any = None
        if isinstance(default, dataclasses.Field):
            self.take_options(default)

    def take_options(self, declared: dataclasses.Field[Any]) -> None:
        """Take over what `field(…)` or a dataclass of the standard library says."""
        self.default, self.factory = declared.default, declared.default_factory
        self.in_init, self.in_repr = declared.init, declared.repr
        self.in_eq = bool(declared.compare)
        self.metadata = declared.metadata
        kw_only: Any = declared.kw_only
        self.kw_only = self.kw_only if kw_only is _MISSING else kw_only

    def build_field(self) -> Any:
        """Return the standard library's description of the field."""
        default = {"default": self.default} if self.factory is _MISSING else {"default_factory": self.factory}
        return dataclasses.field(
            **default, init=self.in_init, repr=self.in_repr, compare=self.in_eq, metadata=self.metadata,
            kw_only=self.kw_only,
        )  # fmt: skip


def _decorate(cls: Any, options: dict[str, Any]) -> Any:
    annotations = inspect.get_annotations(cls)
    if options.keys() - _KNOWN_OPTIONS or any(
        isinstance(value, str) and value.startswith(_LEFT_TO_ORIGINAL) for value in annotations.values()
    ):
        return _original(**options)(cls)
    declared = _collect_inherited(cls)
    kw_only = options.get("kw_only", False)
    for name, annotation in annotations.items():
        if not str(annotation).startswith(_NOT_FIELDS):
            declared[name] = _Declaration(name, annotation, cls.__dict__.get(name, _MISSING), kw_only=kw_only)
    _refuse_wrong_defaults(declared)
    if options.get("slots"):
        cls = _recreate_with_slots(cls, declared, weak=options.get("weakref_slot", False))
    else:
        _replace_field_objects(cls, declared)
    _add_methods(cls, declared, options)
    setattr(cls, _SPECIFICATION, declared)
    setattr(cls, _FROZEN, options.get("frozen", False))
    cls.__dataclass_fields__ = _LazyFields()
    cls.__dataclass_params__ = _LazyParameters(frozen=options.get("frozen", False))
    _MADE.append(cls)
    return cls


def _collect_inherited(cls: type) -> dict[str, _Declaration]:
    declared: dict[str, _Declaration] = {}
    for base in reversed(cls.__mro__[1:]):
        if (lazy := base.__dict__.get(_SPECIFICATION)) is not None:
            declared |= lazy
        elif "__dataclass_fields__" in base.__dict__:
            for each in dataclasses.fields(base):
                declared[each.name] = _Declaration(each.name, each.type, each, kw_only=bool(each.kw_only))
    return declared


def _refuse_wrong_defaults(declared: dict[str, _Declaration]) -> None:
    has_default = ""
    for each in declared.values():
        if each.default is not _MISSING and type(each.default).__hash__ is None:
            raise ValueError(f"mutable default {type(each.default)} for field {each.name} is not allowed")
        if each.in_init and not each.kw_only:
            if each.default is not _MISSING or each.factory is not _MISSING:
                has_default = each.name
            elif has_default:
                raise TypeError(
                    f"non-default argument {each.name!r} follows default argument {has_default!r}"
                )


def _recreate_with_slots(cls: Any, declared: dict[str, _Declaration], *, weak: bool) -> Any:
    """Slots can only be given when a class is made: make it again."""
    inherited: set[str] = set()
    for base in cls.__mro__[1:-1]:
        slots = base.__dict__.get("__slots__", ())
        inherited.update((slots,) if isinstance(slots, str) else slots)
    content = dict(cls.__dict__)
    for name in declared:
        content.pop(name, None)
    for name in ("__dict__", "__weakref__"):
        content.pop(name, None)
    content["__slots__"] = tuple(
        name for name in (*declared, *(("__weakref__",) if weak else ())) if name not in inherited
    )
    made = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _replace_field_objects(cls: type, declared: dict[str, _Declaration]) -> None:
    """Leave the default, or nothing, where the class body says `field(…)`."""
    for name, each in declared.items():
        if isinstance(cls.__dict__.get(name), dataclasses.Field):
            if each.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, each.default)


def _add_methods(cls: Any, declared: dict[str, _Declaration], options: dict[str, Any]) -> None:
    """Add what stands for each method until its first call."""
    own = cls.__dict__
    frozen, has_eq = options.get("frozen", False), options.get("eq", True)
    methods: dict[str, Any] = {"__init__": _late_init}
    if options.get("repr", True):
        methods["__repr__"] = _late_repr
    methods["__match_args__"] = tuple(
        [each.name for each in declared.values() if each.in_init and not each.kw_only]
    )
    methods["__replace__"] = dataclasses.replace
    # A class that defines __eq__ alone has __hash__ = None, which is not a hash of its own.
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    if has_eq:
        methods["__eq__"] = _late_eq
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _late_setattr, _late_delattr
        if options.get("slots"):
            methods["__getstate__"], methods["__setstate__"] = _late_getstate, _late_setstate
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    if has_eq and not has_hash:
        cls.__hash__ = _late_hash if frozen else None


def _late_init(self: Any, *arguments: Any, **options: Any) -> None:
    _install(self, "__init__")(self, *arguments, **options)


def _late_repr(self: Any) -> Any:
    return _install(self, "__repr__")(self)


def _late_eq(self: Any, other: Any) -> Any:
    return _install(self, "__eq__")(self, other)


def _late_hash(self: Any) -> Any:
    return _install(self, "__hash__")(self)


def _late_setattr(self: Any, name: str, value: object) -> None:
    _install(self, "__setattr__")(self, name, value)


def _late_delattr(self: Any, name: str) -> None:
    _install(self, "__delattr__")(self, name)


def _late_getstate(self: Any) -> Any:
    return _install(self, "__getstate__")(self)


def _late_setstate(self: Any, state: list[Any]) -> None:
    _install(self, "__setstate__")(self, state)


def _install(instance: object, name: str) -> Callable[..., Any]:
    """Make a method of the class that an instance has it from, in place of what stood for it; return it."""
    cls = next(each for each in type(instance).__mro__ if each.__dict__.get(name) is _LATE[name])
    return _make_method(cls, name)


def list_with_init() -> list[int]:
    """Return the numbers of the classes that have had an instance, in the order of their declarations."""
    return [number for number, cls in enumerate(_MADE) if cls.__dict__.get("__init__") is not _late_init]


def make_init_of(numbers: Iterable[int]) -> None:
    """Make `__init__` ahead of its use, by the classes' numbers; those that are not declared here are passed over."""
    for cls in (_MADE[number] for number in numbers if number < len(_MADE)):
        if cls.__dict__.get("__init__") is _late_init:
            _make_method(cls, "__init__")


def _make_method(cls: type, name: str) -> Callable[..., Any]:
    method = _BUILDERS[name](cls, cls.__dict__[_SPECIFICATION])
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    type.__setattr__(cls, name, method)
    return method


def _build_getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda _: ()
    getter = attrgetter(*names)
    return getter if len(names) > 1 else lambda instance: (getter(instance),)


def _get_compared(declared: dict[str, _Declaration]) -> Callable[[Any], tuple[Any, ...]]:
    return _build_getter([each.name for each in declared.values() if each.in_eq])


def _build_eq(cls: type, declared: dict[str, _Declaration]) -> Callable[[Any, Any], bool]:
    compared = _get_compared(declared)

    def __eq__(self: Any, other: Any) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _build_hash(cls: type, declared: dict[str, _Declaration]) -> Callable[[Any], int]:
    compared = _get_compared(declared)

    def __hash__(self: Any) -> int:
        return hash(compared(self))

    return __hash__


def _build_repr(cls: type, declared: dict[str, _Declaration]) -> Callable[[Any], str]:
    from reprlib import recursive_repr

    names = [each.name for each in declared.values() if each.in_repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({fields})"

    return __repr__


def _build_setattr(cls: Any, declared: dict[str, _Declaration]) -> Callable[[Any, str, object], None]:
    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in declared:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return __setattr__


def _build_delattr(cls: Any, declared: dict[str, _Declaration]) -> Callable[[Any, str], None]:
    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in declared:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __delattr__


def _build_getstate(cls: type, declared: dict[str, _Declaration]) -> Callable[[Any], list[Any]]:
    """What copies and pickles call, since a frozen instance does not take its slots by assignment."""
    names = tuple(declared)

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    return __getstate__


def _build_setstate(cls: type, declared: dict[str, _Declaration]) -> Callable[[Any, list[Any]], None]:
    names = tuple(declared)

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return __setstate__


def _compile_init(cls: type, declared: dict[str, _Declaration]) -> Callable[..., None]:
    """Compile the initializer: keyword-only parameters last, factories called where no value was passed."""
    frozen = cls.__dict__[_FROZEN]
    space: dict[str, Any] = {"_missing": _MISSING, "_set": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    body: list[str] = []
    for name, each in declared.items():
        value = name
        if each.default is not _MISSING:
            space[f"_default_{name}"] = each.default
        if each.factory is not _MISSING:
            space[f"_factory_{name}"] = each.factory
            made = f"_factory_{name}()"
            value = f"{made} if {name} is _missing else {name}" if each.in_init else made
        if each.in_init:
            default = f"=_default_{name}" if each.default is not _MISSING else ""
            parameters[each.kw_only].append(
                f"{name}{'=_missing' if each.factory is not _MISSING else default}"
            )
        elif each.factory is _MISSING:
            if each.default is _MISSING:
                continue
            value = f"_default_{name}"
        body.append(f"_set(self,{name!r},{value})" if frozen else f"self.{name}={value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    listed = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    source = f"def __init__({','.join(listed)}):\n " + ("\n ".join(body) or "pass")
    exec(source, space)  # of names that the class declares, as the standard library does
    made_init: Callable[..., None] = space["__init__"]
    made_init.__module__ = cls.__module__
    return made_init


_BUILDERS: dict[str, Callable[[Any, dict[str, _Declaration]], Callable[..., Any]]] = {
    "__init__": _compile_init,
    "__repr__": _build_repr,
    "__eq__": _build_eq,
    "__hash__": _build_hash,
    "__setattr__": _build_setattr,
    "__delattr__": _build_delattr,
    "__getstate__": _build_getstate,
    "__setstate__": _build_setstate,
}

_LATE: dict[str, Callable[..., Any]] = {
    "__init__": _late_init,
    "__repr__": _late_repr,
    "__eq__": _late_eq,
    "__hash__": _late_hash,
    "__setattr__": _late_setattr,
    "__delattr__": _late_delattr,
    "__getstate__": _late_getstate,
    "__setstate__": _late_setstate,
}


class _LazyFields:
    """`__dataclass_fields__`, made at its first use."""

    def __get__(self, instance: object, owner: type) -> dict[str, dataclasses.Field[Any]]:
        holder = next(each for each in owner.__mro__ if each.__dict__.get("__dataclass_fields__") is self)
        declared: dict[str, _Declaration] = holder.__dict__[_SPECIFICATION]
        fields: dict[str, dataclasses.Field[Any]] = {}
        for name, each in declared.items():
            made = fields[name] = each.build_field()
            made.name, made.type, made.kw_only = name, each.annotation, bool(each.kw_only)
            made._field_type = _FIELD
        type.__setattr__(holder, "__dataclass_fields__", fields)
        return fields


class _LazyParameters:
    """`__dataclass_params__`, which the standard library asks of the bases of a dataclass."""

    def __init__(self, *, frozen: bool) -> None:
        self._frozen = frozen

    def __get__(self, instance: object, owner: type) -> Any:
        return _original(frozen=self._frozen)(type("Twin", (), {"__doc__": ""})).__dataclass_params__
