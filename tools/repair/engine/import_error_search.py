"""Errors while the tests are imported: the statements of their tracebacks, changed until more tests can run and pass.

No test tells the candidates apart before the modules can be imported, so each is judged by a session of its own: the
one with which most tests pass is taken, or at least most can run, and what then still fails is searched for as ever.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tools.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from tools.repair.engine.candidates.ranking import PlausiblePatch, estimate_trust
from tools.repair.engine.validation.budget_clock import JOBS
from tools.repair.engine.validation.worker_client import WorkerClient
from tools.repair.engine.validation.worker_process import Message, Replies
from tools.repair.engine.validator import FIRST
from tools.repair.localize.coverage_spectrum import Test, is_test_file
from tools.repair.localize.failure_analysis import extract_hints
from tools.repair.localize.statement_ranking import Suspect, create_suspect, get_own_lines
from tools.repair.templates import Source

# Candidates that are tried, each for a session; and after the first that helps, so many more for a better one. When no
# test passes with it, for there is another fault behind, it takes longer to tell that there is no better one.
MOST, MORE, MORE_UNPROVEN = 120, 6, 24
# CPU seconds that a test may take there: nothing is known of any, and the second fault may be a loop without end.
TEST_SECONDS = 5.0
# Files of the folders that a traceback leads through: what they define may be what is meant.
MOST_FILES = 80
# How much less suspicious each frame further up is.
FURTHER_UP = 0.7
_FRAME = re.compile(
    r'File "(?P<native>[^"\n]+)", line (?P<line>\d+)|^(?P<short>[^\s:]+\.py):(?P<at>\d+): ', re.M
)
_ERROR = re.compile(r"^(?:E +)?(?:\w+\.)*(\w*(?:Error|Exception)): (.*)$", re.M)


def build_failed_tests(errors: Sequence[Message]) -> list[Test]:
    """The modules that cannot be imported, as tests that fail by what they said."""
    found = []
    for index, each in enumerate(errors):
        said = _ERROR.findall(each["message"])
        error, message = said[-1] if said else ("", each["message"][-200:])
        where = each["where"]
        found.append(Test(index=index, id=where, file=where, standing="failed", error=error, message=message))
    return found


def parse_frames(errors: Sequence[Message], root: Path) -> list[tuple[str, int]]:
    """(path, line) in sources of the project, of each traceback the last first."""
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
    """The files that a traceback leads through, then those in the same folders."""
    own = list(dict.fromkeys(path for path, _ in places))
    folders = dict.fromkeys((root / path).parent for path in own)
    near = (path.relative_to(root).as_posix() for folder in folders for path in sorted(folder.glob("*.py")))
    return list(dict.fromkeys([*own, *(path for path in near if not is_test_file(path))]))[:MOST_FILES]


def find_suspects(places: Sequence[tuple[str, int]], sources: Mapping[str, Source]) -> Iterator[Suspect]:
    """The statements at which the frames stand, the last most suspicious."""
    for place, (path, line) in enumerate(places):
        source = sources.get(path)
        at = [each for each in source.statements if line in get_own_lines(each)] if source else []
        if source and at:
            yield create_suspect(
                source, min(at, key=lambda each: len(get_own_lines(each))), FURTHER_UP**place
            )


@dataclass(slots=True, kw_only=True)
class ImportErrorSearch:
    """The search for a change with which more tests pass, of all those in `files` (all if empty).

    passing: ids of tests that pass without a change; known: how many are run without it, not skipped
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
        """The first change with which most tests pass, or else most can run; None if there is none in time.

        `near` is the number of tests that pass for it: with 0 nothing but the import speaks for the change.
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
        """How many tests pass and how many are run with each of the candidates."""
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
    """A name of the module is bound no more that is still read: its next error is made, not met."""
    change, source = candidate.change, candidate.source
    try:
        after = Source(source.path, source.text[: change.start] + change.text + source.text[change.end :])
    except (SyntaxError, ValueError):
        return True
    gone = source.module_names.keys() - after.module_names.keys()
    return any(node.id in gone for node in ast.walk(after.tree) if isinstance(node, ast.Name))
