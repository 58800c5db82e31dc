"""Progress of a test run, parsed from the runner's output while it runs."""

from __future__ import annotations

import re

from sandbox.sanitize import sanitize_text


class TestProgress:
    """Failure count and percentage from lines like `....F..  [ 42%]`, `ok 12`, `--- FAIL: TestX`."""

    __test__ = False  # not a test class for pytest to collect

    def __init__(self) -> None:
        self._failed = 0
        self._share = ""
        self._seen = ""

    def format_line(self, line: str) -> str:
        """Return a line for display, with the counts so far in front."""
        if line != self._seen:
            new = line.removeprefix(self._seen) if self._seen and line.startswith(self._seen) else line
            self._seen = line
            self._failed += _count_failures(new)
            if share := _SHARE.search(line):
                self._share = f"{share[1]} %"
        counts = [self._share, f"{self._failed} failed so far" if self._failed else ""]
        return " · ".join([part for part in counts if part] + [sanitize_text(line).replace("\t", " ")])


def _count_failures(line: str) -> int:
    dots = _DOTS.search(line)
    if dots:
        return dots[1].count("F") + dots[1].count("E")
    return int(bool(_FAILED.search(line)))


_SHARE = re.compile(r"\[\s*(\d{1,3})%\]")
_DOTS = re.compile(r"(?:^|\s)([.FEsxX]{2,})(?:\s|$)")
_FAILED = re.compile(r"\bFAILED\b|^not ok\b|^--- FAIL|\.\.\. FAIL(?:ED)?\b")
