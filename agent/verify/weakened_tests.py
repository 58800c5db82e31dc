"""Guard against false success: uncommitted changes that make tests pass without mending the code.

A model that cannot make a test pass may weaken the test, its data or its runner, or answer its input with a literal
(reward hacking: METR 2025, "Recent Frontier Models Are Reward Hacking"). It is reported to the model once; the rest
is the user's decision. The signs are found in `tools/lint/honesty`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.events import ActionEvent, Event, ObservationEvent, Prompt, Steer
from agent.monitor.answers import GO_ON, GoOn, Refuse
from agent.monitor.monitor import Monitor
from agent.verify.gaming.turn_trace import TurnTrace
from agent.verify.suite_evidence import list_modified_files, read_current_content
from agent.verify.verdict import Claim, Verdict
from sandbox.lazy_dataclass import dataclass
from tools.core.action_guard import BegunAction
from tools.core.untrusted_output import remove_foreign_text
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.prompt.prompt_intent import PromptIntent
    from tools.lint.checks.finding import Finding

LARGEST = 1_000_000
"""Bytes. Larger files are data, or generated."""

OWN_WORK = "own-work"
"""Name of the check that finds work of the user taken back."""

MOST_SHOWN = 8
"""Findings that are named: the first few show the kind of change."""


Sides = dict[str, tuple[bytes | None, bytes | None]]
"""(content before, content after) of changed files."""


class WeakenedTests:
    """Finder of signs of gaming among a session's uncommitted changes; it keeps the model from committing them.

    A turn is judged against the files at its start: changes requested in an earlier turn do not count, those left to
    the user still do. prompts: words of the person in this turn; trace: what the events of the turn show
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.prompts: list[str] = []
        self._commits: set[str] = set()
        self._at_start: dict[str, bytes | None] = {}
        self._left_to_person: set[str] = set()
        self._told_model: set[Finding] = set()
        self._told_person: set[Finding] = set()
        self._known: tuple[Sides, list[str], list[Finding]] = ({}, [], [])
        self.trace = TurnTrace()

    def begin_turn(self) -> None:
        """Remember the changed files at the start of a turn."""
        self._at_start = {
            path: read_current_content(self._workspace, path) for path in list_modified_files(self._workspace)
        }

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged, or one of a resumed turn."""
        self.trace.handle_event(event)
        match event:
            case Prompt():
                self.prompts = [remove_foreign_text(event.text)]
            case Steer() if event.by == "person":
                self.prompts.append(remove_foreign_text(event.text))
            case ActionEvent() if event.effect == "git":
                self._commits.add(event.call)
            case ObservationEvent():
                self._commits.discard(event.call)

    def is_commit(self, call: str) -> bool:
        """Return whether a begun action is a commit by the model."""
        return call in self._commits and not call.startswith("harness-")

    def has_changes(self) -> bool:
        """Return whether files differ from their state before the session's first uncommitted change."""
        return bool(list_modified_files(self._workspace))

    def has_turn_changes(self) -> bool:
        """Return whether files differ from their state at the start of the turn."""
        modified = set(list_modified_files(self._workspace))
        return bool(modified - self._at_start.keys()) or any(
            read_current_content(self._workspace, path) != content for path, content in self._at_start.items()
        )

    def read_intent(self) -> PromptIntent:
        """Return what the prompt of the turn wants, with what the person typed since."""
        from agent.prompt.prompt_reader import read_intents

        return read_intents(self.prompts)

    def has_changed_test_files(self) -> bool:
        """Return whether test files are among them."""
        return bool(self._list_changed_test_files())

    def has_requested_changes(self) -> bool:
        """Return whether test files were changed, and a prompt of the turn asks for that."""
        if not self._list_changed_test_files():
            return False
        return self.read_intent().wants_changed_tests

    def may_have_left_out_tests(self, *, has_skipped: bool) -> bool:
        """Return whether the turn's changes could have left tests out, and no prompt asks for that.

        has_skipped: some tests are skipped now, which a prompt that wants tests to pass makes worth a look
        """
        sides = self._read_sides()
        if not sides:
            return False
        from agent.prompt.excused_changes import read_request
        from agent.verify.collected_tests import decides_tests

        request = read_request(self.prompts)
        if request.tests or {"selection", "runner"} & set(request.topics):
            return False
        return decides_tests(sides) or (has_skipped and request.passing)

    def is_removed_by_request(self, test: str) -> bool:
        """Return whether the file of a test is gone, and a prompt asks for a removal."""
        from agent.prompt.excused_changes import read_request

        path = test.partition("::")[0]
        gone = path in self._workspace.changes and read_current_content(self._workspace, path) is None
        return gone and read_request(self.prompts).removal

    def read_changed_texts(self) -> dict[str, tuple[str | None, str | None]]:
        """Return the texts of the turn's changed files before and after, by path; None for no file."""
        sides = self._read_sides()
        return {path: (_decode(before), _decode(after)) for path, (before, after) in sides.items()}

    def read_contents_before(self) -> dict[str, bytes | None]:
        """Return the contents of the turn's changed files before it, by path; None for no file."""
        return {path: before for path, (before, _) in self._read_sides().items()}

    def find_weakened_tests(self) -> list[Finding]:
        """Return the signs that change an outcome, [] if the turn's prompts ask for what they show."""
        return [each for each in self.find_signs() if each.severity == "error"]

    def find_signs(self) -> list[Finding]:
        """Return all signs, those that are only told included."""
        sides = self._read_sides()
        if not sides:
            return []
        if self.has_requested_changes():
            self._left_to_person.clear()
            sides = self._read_sides()
        known_sides, known_prompts, found = self._known
        if known_sides == sides and known_prompts == self.prompts:
            return found
        found = [*self._find_own_work(sides), *self._detect(sides)]
        self._known = sides, list(self.prompts), found
        return found

    def _read_sides(self) -> Sides:
        sides = {
            path: (self._get_original_content(path), read_current_content(self._workspace, path))
            for path in list_modified_files(self._workspace)
        }
        return {path: (before, after) for path, (before, after) in sides.items() if before != after}

    def _detect(self, sides: Sides) -> list[Finding]:
        from dataclasses import replace

        from agent.prompt.excused_changes import read_request
        from tools.lint.honesty.file_changes import ChangeSet, FileChange
        from tools.lint.honesty.scan import find_signs, read_related_tests

        request = read_request(self.prompts)
        failed = self.trace.failed if request.repair else self.trace.failed_before
        files = [
            FileChange(path=path, before=_decode(before), after=_decode(after))
            for path, (before, after) in sides.items()
            if max(len(before or b""), len(after or b"")) <= LARGEST
        ]
        return find_signs(
            ChangeSet(
                files=files,
                request=replace(request, failed=frozenset(failed)),
                other_tests=read_related_tests(self._workspace.root, sides),
            )
        )

    def _find_own_work(self, sides: Sides) -> list[Finding]:
        """Return the places where the turn took uncommitted work of the user back, unless a prompt asks for that:
        their lines are gone, those of the last commit are back, and they were not moved."""
        originals = self._workspace.changes.originals
        texts = {path: (_decode(originals[path]), _decode(after)) for path, (_, after) in sides.items()}
        changed = {
            path: (before, after) for path, (before, after) in texts.items() if before and after is not None
        }
        if not changed or self.read_intent().wants_restoration:
            return []
        from tools.git.fresh_work import list_restored_lines, read_committed_texts
        from tools.lint.checks.finding import Finding

        kept = {line.strip() for _, after in texts.values() if after for line in after.splitlines()}
        message = "takes back what the user had changed here and not committed"
        found = []
        for path, committed in read_committed_texts(self._workspace.root, changed).items():
            before, after = changed[path]
            lines = ["", *before.splitlines(), ""]
            places = list_restored_lines(before, after, committed) if committed != before else ()
            found += [
                Finding(check=OWN_WORK, path=path, line=line, message=message)
                for line in places
                if lines[line].strip() not in kept
            ]
        return found

    def report_to_model(self) -> str:
        """Return a report of weakened tests for the model; "" if there are none, or all were reported before."""
        findings = [each for each in self.find_weakened_tests() if each not in self._told_model]
        if not findings:
            return ""
        self._told_model.update(findings)
        if all(each.check == OWN_WORK for each in findings):
            return (
                f"your changes take the user's own uncommitted work back:\n{describe_findings(findings)}\n"
                "Put it back. If it is the cause, say so and leave it: the user decides."
            )
        return (
            f"your changes weaken tests, which nobody asked for:\n{describe_findings(findings)}\n"
            "Restore these checks and mend the code. If a test is wrong itself, leave it and say why: a person decides."
            if _concern_tests(findings)
            else f"your changes make tests pass without mending the code:\n{describe_findings(findings)}\n"
            "Take them back and mend the code. If that cannot be done, say why: a person decides."
        )

    def report_to_person(self, *, commits: bool) -> str:
        """Return why nothing is committed and how to proceed, "" if no test is weakened.

        commits: the turn's changes would be committed now; if not, earlier findings are not repeated
        """
        findings = self.find_weakened_tests()
        if not findings or not (commits or set(findings) - self._told_person):
            return ""
        self._told_person.update(findings)
        self._left_to_person.update(each.path for each in findings)
        return (
            f"{_name_cause(findings)}, so nothing was committed:\n{describe_findings(findings)}\n"
            "The changes are in your files. Look at `git diff`; to keep them: `git commit -a` (in a conversation:"
            " /commit); to take them back: `patchwright undo`."
        )

    def _get_original_content(self, path: str) -> bytes | None:
        if path in self._at_start and path not in self._left_to_person:
            return self._at_start[path]
        return self._workspace.changes.originals[path]

    def _list_changed_test_files(self) -> list[str]:
        changed = list_modified_files(self._workspace)
        if not changed:
            return []
        from tools.lint.test_files import is_test_file

        return [path for path in changed if is_test_file(path)]


@dataclass(slots=True, kw_only=True)
class WeakenedTestsVerifier:
    """No uncommitted change weakens a test or makes it pass by other means, unless the prompt asks for that."""

    tests: WeakenedTests
    name: str = "weakened-tests"
    withholds_commit: bool = True

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`; the tests' own state follows the prompt."""

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`."""
        self.tests.handle_event(event)

    async def verify(self, claim: Claim) -> Verdict | None:
        """See `Verifier.verify`. The model is told of each finding once."""
        if not self.tests.has_changes():
            return None
        findings = self.tests.find_weakened_tests()
        if not findings:
            return (
                Verdict(outcome="pass", evidence="static", name=self.name)
                if self.tests.has_changed_test_files()
                else None
            )
        report = self.tests.report_to_model()
        return Verdict(
            outcome="fail",
            evidence="static",
            name=self.name,
            detail=describe_findings(findings),
            advice=f"Before this is done: {report}" if report else "",
        )


class CommitGuard(Monitor):
    """Refuses the model's commit of weakened tests."""

    def __init__(self, tests: WeakenedTests) -> None:
        self._tests = tests

    def before_action(self, begun: BegunAction) -> GoOn | Refuse:
        """See `Monitor.before_action`."""
        if self._tests.is_commit(begun.call) and (findings := self._tests.find_weakened_tests()):
            report = self._tests.report_to_model()
            return Refuse(report or f"these tests are still weakened:\n{describe_findings(findings)}")
        return GO_ON


def _name_cause(findings: Sequence[Finding]) -> str:
    if any(each.check == OWN_WORK for each in findings):
        return "Work of yours was taken back"
    if _concern_tests(findings):
        return "Tests were weakened"
    return "Changes make tests pass without mending the code"


def _concern_tests(findings: Sequence[Finding]) -> bool:
    """Return whether a finding is in a test file."""
    from tools.lint.honesty.file_changes import find_role

    return any(find_role(each.path) in ("test", "expected") for each in findings)


def _decode(content: bytes | None) -> str | None:
    """Return a file's text; "" for a binary one, None for none."""
    if content is None:
        return None
    return "" if b"\0" in content else content.decode("utf-8", "replace")


def describe_findings(findings: Sequence[Finding]) -> str:
    """Return a line for each of the first findings."""
    rows = [
        f"  {each.path}:{each.line}: {each.message}" if each.line else f"  {each.path}: {each.message}"
        for each in findings[:MOST_SHOWN]
    ]
    if len(findings) > MOST_SHOWN:
        rows.append(f"  and {len(findings) - MOST_SHOWN} more")
    return "\n".join(rows)
