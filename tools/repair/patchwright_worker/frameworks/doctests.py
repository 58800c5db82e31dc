"""Examples in docstrings, which pytest runs as tests: they stand in the files that they test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_doctest(item: Any) -> bool:
    """Whether what pytest collected is the examples of a docstring or of a text file."""
    return getattr(item, "dtest", None) is not None


@contextmanager
def preserve_namespace(item: Any) -> Iterator[None]:
    """For examples that are to be run again: the names that they see are thrown away when they have been run."""
    if not is_doctest(item):
        yield
        return
    names = item.dtest.globs
    kept = dict(names)
    try:
        yield
    finally:
        names.clear()
        names.update(kept)


def get_first_failure(error: BaseException) -> BaseException:
    """Of the failures of several examples the first; what an example raised, for what tells of it."""
    first = next(iter(getattr(error, "failures", ())), error)
    raised = getattr(first, "exc_info", None)
    return raised[1] if raised else first


def format_example_failure(error: BaseException) -> str | None:
    """What an example gave and what was wanted, as an assertion would say it; None of another failure."""
    example, got = getattr(error, "example", None), getattr(error, "got", None)
    if example is None or got is None:
        return None
    return (
        f"`{example.source.strip()}` gives {_quote_text(got.strip())} != {_quote_text(example.want.strip())}"
    )


def _quote_text(text: str) -> str:
    """As a literal of Python, which what is printed of a text mostly is."""
    return text if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else repr(text)
