"""Progress of a test run, parsed from the runner's output while it runs."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily


class TestProgress:
    """Counts from lines like `collected 40 items`, `....F..  [ 42%]`, `ok 12`, `--- FAIL: TestX`."""

    __test__ = False  # not a test class for pytest to collect

    def __init__(self) -> None:
        self._total = self._done = self._failed = 0
        self._share = ""
        self._seen = ""

    def count_line(self, line: str) -> str:
        """Count the last line of the output, as far as it is new; return the counts so far, "" before the first.

        Lines between two that are seen are missed: a share of all that the runner names is preferred.
        """
        if line != self._seen:
            is_longer = bool(self._seen) and line.startswith(self._seen)
            new = line.removeprefix(self._seen) if is_longer else line
            letters = _MORE.match(new) if is_longer else _DOTS.search(new)
            self._seen = line
            self._failed += _count_failures(new, letters)
            self._done += len(letters[1]) if letters else bool(_TAP.search(new))
            if share := _SHARE.search(line):
                self._share = f"{share[1]} %"
            if total := _TOTAL.search(line):
                self._total = int(total[1] or total[2])
        done = self._share
        if self._total and self._share:
            done = f"{self._total * int(self._share.removesuffix(' %')) // 100}/{self._total}"
        elif self._total and self._done:
            done = f"{min(self._done, self._total)}/{self._total}"
        counts = [done, f"{self._failed} failed so far" if self._failed else ""]
        return " · ".join(part for part in counts if part)


def _count_failures(line: str, letters: re.Match[str] | None) -> int:
    if letters:
        return letters[1].count("F") + letters[1].count("E")
    return int(bool(_FAILED.search(line)))


_SHARE = compile_lazily(r"\[\s*(\d{1,3})%\]")
_DOTS = compile_lazily(r"(?:^|\s)([.FEsxX]{2,})(?:\s|$)")
_MORE = compile_lazily(r"([.FEsxX]+)(?:\s|$)")
"""What a line of letters is continued by."""
_FAILED = compile_lazily(r"\bFAILED\b|^not ok\b|^--- FAIL|\.\.\. FAIL(?:ED)?\b")
_TOTAL = compile_lazily(r"^collected (\d+) items?|^1\.\.(\d+)\s*$")
_TAP = compile_lazily(r"^(?:not )?ok\b")
