"""Doctests, which pytest runs as tests: they are in the files that they test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_doctest(item: Any) -> bool:
    """Return whether pytest's item is the doctest of a docstring or of a text file."""
    return getattr(item, "dtest", None) is not None


@contextmanager
def preserve_namespace(item: Any) -> Iterator[None]:
    """Keep the namespace of a doctest that will run again: pytest clears it after a run."""
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
    """Return the first of several examples' failures, or the exception that an example raised."""
    first = next(iter(getattr(error, "failures", ())), error)
    raised = getattr(first, "exc_info", None)
    return raised[1] if raised else first


def format_example_failure(error: BaseException) -> str | None:
    """Return an example's actual and expected output, worded as an assertion; None for another failure."""
    example, got = getattr(error, "example", None), getattr(error, "got", None)
    if example is None or got is None:
        return None
    return (
        f"`{example.source.strip()}` gives {_quote_text(got.strip())} != {_quote_text(example.want.strip())}"
    )


def _quote_text(text: str) -> str:
    """Return it as a Python literal, the usual output format of a text."""
    return text if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else repr(text)
