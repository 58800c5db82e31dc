"""Files with tests, by their names, in any language."""

from __future__ import annotations

from sandbox.lazy_pattern import compile_lazily

_TEST_FILE = compile_lazily(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*_spec|[^/]*[.-](?:test|spec)|[^/]*Tests?)\.[a-zA-Z]+$"
    r"|(?:^|/)tests\.py$|(?:^|/)__tests__/"
)


def is_test_file(path: str) -> bool:
    """Return whether files of this name contain tests."""
    return bool(_TEST_FILE.search(path))
