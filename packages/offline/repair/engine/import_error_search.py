"""Errors during the import of tests: change the statements of their tracebacks until more tests run and pass.

No test distinguishes the candidates before the modules can be imported, so each needs a session of its own:
the one with which most tests pass is chosen, else the one with which most run, and tests that still fail are
searched for as usual.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.candidates.ranking import PlausiblePatch, estimate_trust
from packages.offline.repair.engine.validation.budget_clock import JOBS
from packages.offline.repair.engine.validation.worker_client import WorkerClient
from packages.offline.repair.engine.validation.worker_process import Message, Replies
from packages.offline.repair.engine.validator import FIRST
from packages.offline.repair.localize.coverage_spectrum import Test, is_test_file
from packages.offline.repair.localize.failure_analysis import extract_hints
from packages.offline.repair.localize.statement_ranking import Suspect, create_suspect, get_own_lines
from packages.offline.repair.templates import Source
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

# Number of candidates tried, each in a session; and of further ones after the first that helps. If no test
# passes with it, since there is another fault behind, more are needed to exclude a better one.
MOST, MORE, MORE_UNPROVEN = 120, 6, 24
# CPU seconds for a test there: no times are known, and the second fault may be an endless loop.
TEST_SECONDS = 5.0
# Number of files in the folders of a traceback: their definitions may be the intended ones.
MOST_FILES = 80
# Factor on the suspiciousness for each frame further up.
FURTHER_UP = 0.7
_FRAME = compile_lazily(
    r'File "(?P<native>[^"\n]+)", line (?P<line>\d+)|^(?P<short>[^\s:]+\.py):(?P<at>\d+): ', re.M
)
_ERROR = compile_lazily(r"^(?:E +)?(?:\w+\.)*(\w*(?:Error|Exception)): (.*)$", re.M)


def build_failed_tests(errors: Sequence[Message]) -> list[Test]:
    """Return the modules that cannot be imported, as tests that fail with their messages."""
    found = []
    for index, each in enumerate(errors):
        said = _ERROR.findall(each["message"])
        error, message = said[-1] if said else ("", each["message"][-200:])
        where = each["where"]
        found.append(Test(index=index, id=where, file=where, standing="failed", error=error, message=message))
    return found


def parse_frames(errors: Sequence[Message], root: Path) -> list[tuple[str, int]]:
    """Return (path, line) in sources of the project, the last of each traceback first."""
    found: dict[tuple[str, int], None] = {}
    for each in errors:
        matches = list(_FRAME.finditer(each["message"]))
        for match in reversed(matches):
            path = root / (match["native"] or match["short"])
            with suppress(ValueError):  # outside of the project
                inside = path.resolve().relative_to(root).as_posix()
                if not is_test_file(inside) and path.is_file():
                    found[inside, int(match["line"] or match["at"])] = None
    return list(found)


def list_nearby_files(places: Iterable[tuple[str, int]], root: Path) -> list[str]:
    """Return the files of a traceback, then those in the same folders."""
    own = list(dict.fromkeys(path for path, _ in places))
    folders = dict.fromkeys((root / path).parent for path in own)
    near = (path.relative_to(root).as_posix() for folder in folders for path in sorted(folder.glob("*.py")))
    return list(dict.fromkeys([*own, *(path for path in near if not is_test_file(path))]))[:MOST_FILES]


def find_suspects(places: Sequence[tuple[str, int]], sources: Mapping[str, Source]) -> Iterator[Suspect]:
    """Yield the statements of the frames, the last most suspicious."""
    for place, (path, line) in enumerate(places):
        source = sources.get(path)
        at = [each for each in source.statements if line in get_own_lines(each)] if source else []
        if source and at:
            yield create_suspect(
                source, min(at, key=lambda each: len(get_own_lines(each))), FURTHER_UP**place
            )


@dataclass(slots=True, kw_only=True)
class ImportErrorSearch:
    """Search for a change with which more tests of `files` pass (all tests if empty).

    passing: ids of tests that pass without a change; known: number that run without it, not skipped
    """

    ask: WorkerClient
    replies: Replies
    files: Sequence[str]
    passing: Sequence[str]
    known: int
    deadline: float
    on_progress: Callable[[str], None]
    tried: int = 0

    async def find_change(self, errors: Sequence[Message]) -> PlausiblePatch | None:
        """Return the first change with which most tests pass, else most run; None if none is found in time.

        `near` is the number of tests that pass thanks to it: with 0 only the import supports the change.
        """
        places = parse_frames(errors, self.ask.root)
        ranked = list(find_suspects(places, self.ask.sources))
        self.on_progress(f"searching: {len(errors)} modules cannot be imported, {len(ranked)} statements")
        await self.ask.send_context()
        waiting = itertools.islice(
            generate_candidates(ranked, self.ask.sources, extract_hints(build_failed_tests(errors))), MOST
        )
        good: list[tuple[tuple[int, int], Candidate]] = []
        without = len(self.passing), self.known
        while self.replies.clock.now() < self.deadline:
            last = MOST
            for (passed, _), each in good:
                last = min(last, each.rank + (MORE if passed > len(self.passing) else MORE_UNPROVEN))
            batch = [each for each in itertools.islice(waiting, JOBS) if each.rank <= last]
            if not batch:
                break
            good += [
                (numbers, each) for numbers, each in await self._run_sessions(batch) if numbers > without
            ]
        if not good:
            return None
        (passed, _), best = max(
            good, key=lambda each: (each[0], not _unbinds_used_name(each[1]), -each[1].rank)
        )
        kind = estimate_trust(best)
        return PlausiblePatch(candidate=best, helped=frozenset(), trust=kind, near=passed - len(self.passing))

    async def _run_sessions(self, batch: Sequence[Candidate]) -> list[tuple[tuple[int, int], Candidate]]:
        """Return the numbers of tests that pass and that run, with each of the candidates."""
        stage = {"stop": "whole", "must": list(self.passing), "skip": [], "watch": [], "tell": False}
        for each in batch:
            await self.ask.request_suite_run(
                each, self.ask.encode_edits(each), stage, FIRST, self.files, TEST_SECONDS
            )
        found = []
        while self.ask.open:
            reply = await self.replies.wait_until(self.deadline)
            if reply is None or reply["kind"] == "ended":
                self.ask.open.clear()
                break
            if reply.get("id") in self.ask.open:
                (candidate,) = self.ask.open.pop(reply["id"])
                passed, failed = len(reply["passed"]), len(reply["failed"])
                found.append(((passed, passed + failed), candidate))
        self.tried += len(found)
        return sorted(found, key=lambda each: each[1].rank)


def _unbinds_used_name(candidate: Candidate) -> bool:
    """Return whether a name of the module is still read but no longer bound: this only causes the next error."""
    change, source = candidate.change, candidate.source
    try:
        after = Source(source.path, source.text[: change.start] + change.text + source.text[change.end :])
    except (SyntaxError, ValueError):
        return True
    gone = source.module_names.keys() - after.module_names.keys()
    return any(node.id in gone for node in ast.walk(after.tree) if isinstance(node, ast.Name))
