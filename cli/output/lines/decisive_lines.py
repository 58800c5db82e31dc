"""Lines of a failed command's output that say why it failed, for tools that are known."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily

_DECISIVE = compile_lazily(
    # git: push, pull, merge, rebase, and what a server's hooks say
    r"^\s*! \[(?:remote )?rejected\]|^CONFLICT \(|^(?:Automatic merge failed|Pull is not possible)"
    r"|^(?:remote: )?(?:error|fatal|ERROR|FATAL|GitLab)\b:?"
    # npm, pnpm, yarn
    r"|^npm (?:ERR!|error) (?!A complete log|code\b)\S+ +\S|^\s*ERR_PNPM_\w+|^error \S"
    # pip, uv
    r"|^\s*(?:ERROR|[×x]): |^\s*× "
    # pytest
    r"|^(?:FAILED|ERROR) \S+|^E {3,}\S|^=+ .*\b(?:failed|errors?)\b.* =+$|^\d+ failed\b"
    # cargo, rustc, gcc, clang, tsc, go, make
    r"|^error(?:\[E\d+\])?: |: (?:fatal )?error(?: TS\d+)?: |^make(?:\[\d+\])?: \*\*\* |^--- FAIL: |^panic: "
)
"""First words of the lines in which these tools state the reason; hints and progress stand around them."""

_SUM = compile_lazily(
    r"failed to push|Automatic merge failed|could not compile|^=+ .* =+$|^\d+ failed|^make(?:\[\d+\])?: "
)
"""Parts of last lines that sum up what failed."""


_SEARCHED = 1_000
"""Characters of a line that are searched: a line may be a whole file, and a pattern's time grows with its square."""


def select_decisive_lines(lines: Sequence[str], most: int) -> list[str]:
    """Return at most `most` lines of an output: those that state the reason, if any do, else the last ones.

    Of more, the first ones, since a compiler's first errors cause the later ones, and the last if it sums them up.
    """
    found = list(dict.fromkeys(line for line in lines if _DECISIVE.search(line[:_SEARCHED])))
    if not found:
        return list(lines[-most:])
    if len(found) <= most:
        return found
    return [*found[: most - 1], found[-1]] if _SUM.search(found[-1][:_SEARCHED]) else found[:most]
