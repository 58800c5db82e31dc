"""A worker on copies of real files: clean work, and looks that can be repeated exactly or nearly.

What it reads, finds and compares is what stands in the files, so that outputs overlap as those of real sessions do:
pages of one file, searches in it, the place of an edit read once more, tests that fail alike before and after a change.
"""

from __future__ import annotations

import difflib
import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.signals.steps import Step

PAGE = 60
"""Lines of a reading."""

LEAST_LINES = 5
"""Lines of a result that another action can be known to have brought again."""

Form = Callable[[str, int, int], tuple[str, dict[str, object], bool]]
"""From path, first line and count: tool, arguments, and whether its output has line numbers."""

_READINGS: Sequence[Form] = (
    lambda path, start, count: ("read", {"path": path, "start": start, "limit": count}, True),
    lambda path, start, count: ("shell", {"command": f"sed -n '{start},{start + count - 1}p' {path}"}, False),
    lambda path, start, count: (
        "shell",
        {"command": f"head -n {start + count - 1} {path} | tail -{count}"},
        False,
    ),
    lambda path, start, count: ("shell", {"command": f"cat -n {path} | sed -n {start}~1p"}, True),
    lambda path, start, count: (
        "shell",
        {"command": f"python3 -c \"print(*open('{path}').readlines()[{start - 1}:][:{count}])\""},
        False,
    ),
    lambda path, start, count: (
        "shell",
        {"command": f"awk 'NR>={start} && NR<{start + count}' ./{path}"},
        False,
    ),
)
_SEARCHES: Sequence[Callable[[str], tuple[str, dict[str, object]]]] = (
    lambda word: ("search", {"pattern": word}),
    lambda word: ("shell", {"command": f"grep -rn {word} ."}),
    lambda word: ("shell", {"command": f"rg --line-number '{word}'"}),
    lambda word: ("shell", {"command": f"git grep -n -e {word}"}),
    lambda word: ("search", {"pattern": rf"\b{word}\b", "glob": "*.py"}),
    lambda word: ("shell", {"command": f"find . -name '*.py' | xargs grep -n {word} /dev/null"}),
)
_RUNS: Sequence[tuple[str, dict[str, object]]] = (
    ("run_tests", {}),
    ("shell", {"command": "pytest"}),
    ("shell", {"command": "python -m pytest 2>&1"}),
    ("shell", {"command": "make test"}),
    ("run_tests", {"targets": ["tests"]}),
    ("shell", {"command": "python3 -m pytest tests | tail -40"}),
)

Look = Callable[[str], Step]
"""A look that can be taken again: "" as at first, "near" with hardly any difference, "other" by another action."""


class Worker:
    """Works on copies of some of these files, whose texts are lists of lines."""

    def __init__(self, rng: random.Random, files: Mapping[str, Sequence[str]]) -> None:
        self._rng = rng
        names = rng.sample(sorted(files), min(12, len(files)))
        self._before = {name: list(files[name]) for name in names}
        self._files = {name: list(lines) for name, lines in self._before.items()}
        self._failing = [f"tests/test_{rng.choice(names).split('/')[-1]}" for _ in range(rng.randrange(1, 4))]
        self._seen: set[str] = set()

    def work(self, length: int) -> list[Step]:
        """Do clean work: look, change, run the tests, until they pass; then the next piece."""
        steps: list[Step] = []
        while len(steps) < length:
            steps += self._work_on(self._rng.choice(sorted(self._files)))
        return steps[:length]

    def create_looks(self, count: int, *, least_lines: int = 0) -> list[Look]:
        """Create looks with different results, which change nothing. least_lines: lines of each result at least

        Three ways to the same result would be a loop of their own.
        """
        looks: list[Look] = []
        known: set[str] = set()
        while len(looks) < count:
            look = self._rng.choice((self._create_reading, self._create_search, self._create_run))()
            first = look("")
            told = {f"{first.tool} {first.arguments}", first.output}
            if not told & known and len(set(first.output.splitlines())) >= least_lines:
                known |= told
                looks.append(look)
        return looks

    def create_failing_look(self) -> Look:
        """Create a command that fails each time, with the same error."""
        command = f"python -m {self._choose_word()}"
        error = f"exit 1\n/usr/bin/python: No module named {command.split()[-1]}"

        def look(how: str) -> Step:
            more = {"": "", "near": self._rng.choice((" -v", " 2>&1", " --help")), "other": " || true"}[how]
            return Step("shell", {"command": command + more}, "execute", error, failed=True)

        return look

    def create_undone_edit(self) -> tuple[Look, Look]:
        """Create an edit and the one that takes it back: the same each time, however they are asked for."""
        path = self._rng.choice(sorted(self._files))
        place = self._choose_line(path)
        old = self._files[path][place]
        new = f"{old}  # {self._choose_word()}"

        def make(one: str, other: str) -> Look:
            def look(how: str) -> Step:
                self._files[path][place] = other
                return Step(
                    "edit", {"path": path, "old": one, "new": other}, "write", f"edited {path}", False, self._hash()
                )  # fmt: skip

            return look

        return make(old, new), make(new, old)

    # ── Clean work ───────────────────────────────────────────────────────────────────────────────────

    def _work_on(self, path: str) -> Iterator[Step]:
        rng = self._rng
        if rng.random() < 0.5:
            yield self._create_search()("")
        for start in range(1, min(len(self._files[path]), PAGE * rng.randrange(1, 5)), PAGE):
            yield self._read(path, start)
        if rng.random() < 0.3:
            yield self._try_out(path)
        for _ in range(rng.randrange(1, 4)):
            place = self._choose_line(path)
            if rng.random() < 0.5:
                yield self._read(path, max(1, place - 5), 20)
            yield self._edit(path, place)
            if rng.random() < 0.4:
                yield self._read(path, max(1, place - 5), 20)
            yield self._run_tests(*rng.choice(_RUNS[:3]))
            if self._failing and rng.random() < 0.5:
                self._failing.pop()
        if rng.random() < 0.4:
            yield self._compare()

    def _read(self, path: str, start: int, count: int = PAGE) -> Step:
        lines = self._files[path][start - 1 : start - 1 + count]
        text = "\n".join(f"{start + at}\t{line}" for at, line in enumerate(lines))
        return Step("read", {"path": path, "start": start, "limit": count}, "read", text)

    def _edit(self, path: str, place: int) -> Step:
        old = self._files[path][place]
        words = old.split()
        new = old.replace(words[0], f"{words[0]}_{self._choose_word()}", 1)
        self._files[path][place] = new
        text = f"edited {path}\n- {old}\n+ {new}"
        return Step("edit", {"path": path, "old": old, "new": new}, "write", text, False, self._hash())

    def _run_tests(self, tool: str, arguments: dict[str, object]) -> Step:
        rng = self._rng
        lines = [f"FAILED {name}::test_it - AssertionError: assert 3 == 4" for name in self._failing]
        lines += [f"{name[len('tests/') :]}:{rng.randrange(9)}: AssertionError" for name in self._failing]
        lines.append(f"{len(self._failing)} failed, {40 - len(self._failing)} passed in {rng.random():.2f}s")
        return Step(tool, arguments, "execute", "\n".join(lines), bool(self._failing) and tool == "shell")

    def _try_out(self, path: str) -> Step:
        command = f'python -c "import {path[:-3].replace("/", ".")} as m; print(m.{self._choose_word()})"'
        value = self._rng.choice(("True", "None", "[]", f"<function {self._choose_word()}>"))
        return Step("shell", {"command": command}, "execute", f"exit 0\n{value}")

    def _compare(self) -> Step:
        changes = [
            line
            for name, lines in self._files.items()
            if lines != self._before[name]
            for line in difflib.unified_diff(self._before[name], lines, name, name, lineterm="")
        ]
        return Step("shell", {"command": "git diff"}, "execute", "\n".join(["exit 0", *changes]))

    def _hash(self) -> str:
        whole = "\0".join(line for lines in self._files.values() for line in lines)
        return hashlib.sha1(whole.encode()).hexdigest()

    def _choose_line(self, path: str) -> int:
        places = [at for at, line in enumerate(self._files[path]) if line.strip()]
        return self._rng.choice(places)

    def _choose_word(self) -> str:
        path = self._rng.choice(sorted(self._files))
        words = [each for each in self._files[path][self._choose_line(path)].split() if each.isidentifier()]
        return self._rng.choice(words or ["work"])

    # ── Looks that are taken again ───────────────────────────────────────────────────────────────────

    def _create_reading(self) -> Look:
        rng = self._rng
        path = rng.choice(sorted(self._files))
        start = rng.randrange(1, max(2, len(self._files[path]) - PAGE))
        forms = list(_READINGS)
        rng.shuffle(forms)

        def look(how: str) -> Step:
            if how == "other":
                forms.append(forms.pop(0))
            begin, count = start, PAGE
            if how == "near":
                begin, count = start + rng.randrange(1, 4), PAGE + rng.randrange(3)
            tool, arguments, is_numbered = forms[0](path, begin, count)
            lines = self._files[path][begin - 1 : begin - 1 + count]
            text = "\n".join(
                f"{begin + at}\t{line}" if is_numbered else line for at, line in enumerate(lines)
            )
            return Step(tool, arguments, "read" if tool == "read" else "execute", text)

        return look

    def _create_search(self) -> Look:
        rng = self._rng
        word = self._choose_word()
        forms = list(_SEARCHES)
        rng.shuffle(forms)
        hits = [
            f"{name}:{place}:{line}"
            for name, lines in self._files.items()
            for place, line in enumerate(lines, 1)
            if word in line
        ]

        def look(how: str) -> Step:
            if how == "other":
                forms.append(forms.pop(0))
            tool, arguments = forms[0](word)
            if how == "near" and tool == "shell":
                arguments = {"command": f"{arguments['command']} | head -{rng.randrange(60, 80)}"}
            elif how == "near":
                arguments = {**arguments, "limit": rng.randrange(60, 80)}
            text = "\n".join(hits[:60]) or "no match"
            return Step(tool, arguments, "read" if tool == "search" else "execute", text)

        return look

    def _create_run(self) -> Look:
        forms = list(_RUNS)
        self._rng.shuffle(forms)

        def look(how: str) -> Step:
            if how == "other":
                forms.append(forms.pop(0))
            tool, arguments = forms[0]
            if how == "near" and tool == "shell":
                arguments = {
                    "command": f"{arguments['command']} {self._rng.choice(('-v', '-x', '--tb=short'))}"
                }
            elif how == "near" and arguments:
                arguments = {"targets": [self._rng.choice(("./tests", "tests/"))]}
            return self._run_tests(tool, arguments)

        return look
