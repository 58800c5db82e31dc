"""Patterns that are compiled late behave as compiled ones, and cost nothing until they are used."""

from __future__ import annotations

import re

import pytest

from sandbox.lazy_pattern import compile_lazily

TEXT = "Ada 1815, alan 1912"


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "findall", "split"])
@pytest.mark.parametrize(
    ("pattern", "flags"), [(r"a\w+", 0), (r"a\w+", re.IGNORECASE), (r"(?P<year>\d+)", 0), (r"", 0)]
)
def test_methods_answer_as_those_of_the_original(method: str, pattern: str, flags: int) -> None:
    late, real = compile_lazily(pattern, flags), re.compile(pattern, flags)
    for _ in range(2):  # the second call takes the kept method
        assert str(getattr(late, method)(TEXT)) == str(getattr(real, method)(TEXT))
    assert [m.span() for m in late.finditer(TEXT)] == [m.span() for m in real.finditer(TEXT)]
    assert late.sub("x", TEXT) == real.sub("x", TEXT)
    assert (late.pattern, late.flags, late.groups, dict(late.groupindex)) == (
        real.pattern,
        real.flags,
        real.groups,
        dict(real.groupindex),
    )
    assert repr(late) == repr(real)


def test_bytes_are_matched() -> None:
    assert compile_lazily(rb"\d+").findall(b"a1b22") == [b"1", b"22"]


def test_nothing_is_compiled_until_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda *arguments: compiled.append(arguments) or real(*arguments))
    late = compile_lazily(r"[a-z]+")
    assert (late.pattern, compiled) == (r"[a-z]+", [])
    assert late.findall("ab c") == ["ab", "c"]
    assert late.search("x")
    assert len(compiled) == 1


def test_a_malformed_pattern_is_an_error_at_its_first_use() -> None:
    late = compile_lazily("(")
    with pytest.raises(re.error):
        late.search("x")


def test_an_unknown_attribute_is_an_error() -> None:
    assert not hasattr(compile_lazily("a"), "unknown")
