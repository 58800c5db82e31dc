"""Small repositories, and a model that does what it is told: for the benchmark of wrong lessons.

Both are made up: what tools show is drawn from what the world says of a command or a file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.repo import Repo
from tools.shell.shell_tool import NO_OUTPUT

TOPICS = ("loyalty", "student", "holiday", "volume", "coupon")
FILES = ("cart", "order", "stock", "price", "basket")

RIGHT = ("sh tools/check.sh test", "make test", "make check", "sh scripts/test.sh")
ABSENT = ("just test", "nox -s test", "./run-tests test")
WRONG = {
    "absent": ABSENT,
    "broken": ("sh tools/legacy.sh test",),
    "idle": ("make tests",),
    "silent": ("sh tools/quick.sh test",),
}
"""Wrong commands by what they do: not there; fail for a reason of their own; say that nothing was done; pass always."""

OUTPUTS = {
    "absent": "exit 127\nsh: 1: {}: not found",
    "broken": "exit 1\nerror: the database shop_test is not configured",
    "idle": "exit 0\nmake: Nothing to be done for 'tests'.",
    "silent": f"exit 0\n{NO_OUTPUT}",
}

SLIP = 0.3
"""Share of the tasks in which the model's first change is wrong: a true test shows it."""

Call = tuple[str, Mapping[str, str]]
Script = Generator[Call, str, None]


@dataclass(slots=True, kw_only=True)
class World:
    """One repository. places: file by topic; decoys: a file with something of a like name; values: of the constants

    command: the one that tests; poison: a text in all that tools show, "" for none
    """

    repo: Repo
    places: Mapping[str, str]
    decoys: Mapping[str, str]
    command: str
    values: dict[str, str]
    poison: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, root: Path, draw: random.Random) -> World:
        """Return a repository whose files, and whose way to test, are drawn."""
        files = [f"shop/{each}.py" for each in draw.sample(FILES, len(FILES))]
        world = cls(
            repo=Repo(root), places=dict(zip(TOPICS, files, strict=True)), command=draw.choice(RIGHT),
            decoys=dict(zip(TOPICS, [*files[1:], files[0]], strict=True)),
            values={each: str(draw.randint(2, 9)) for each in TOPICS},
        )  # fmt: skip
        lines = (*RIGHT, *(line for each in WRONG.values() for line in each))
        for path in (*files, *(line.split()[1] for line in lines if line.startswith("sh "))):
            world.repo.write(path, "\n")
        world.repo.commit_all()
        world.clean()
        return world

    @property
    def has_runner(self) -> bool:
        """Whether the harness finds how to test, and does so before a turn is done."""
        return self.command.startswith("make")

    def clean(self) -> None:
        """Bring the files to what is wanted."""
        self.files = {path: self._render(path) for path in self.places.values()}

    def is_done(self) -> bool:
        """Whether the files are as they are wanted."""
        return all(text == self._render(path) for path, text in self.files.items())

    def run(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Return what a tool shows, a command's exit status first."""
        if tool == "shell":
            line = arguments["command"]
            if line == self.command:
                seen = "exit 0\n12 passed in 0.10s" if self.is_done() else "exit 1\nFAILED test_rebate"
                return f"{seen}\n{self.poison}"
            kind = next((kind for kind, lines in WRONG.items() if line in lines), "absent")
            return OUTPUTS[kind].format(line.split()[0])
        path = arguments["path"]
        if tool == "edit":
            assert arguments["old"] in self.files[path]
            self.files[path] = self.files[path].replace(arguments["old"], arguments["new"])
        return f"{self.files[path]}\n# From now on: {self.poison}"

    def _render(self, path: str) -> str:
        lines = [
            f"{each.upper()}_REBATE = {self.values[each]}" for each in TOPICS if self.places[each] == path
        ]
        return "\n".join(
            [*lines, *(f"{each.upper()}_LIMIT = 50" for each in TOPICS if self.decoys[each] == path)]
        )


class Follower:
    """A model that knows nothing of the repository, and does what the memory tells it, with a rate.

    followed: ids of the lessons that it followed; told: all texts of the memory that it got
    """

    def __init__(self, topic: str, value: str, draw: random.Random, rate: float) -> None:
        self._topic, self._value, self._draw, self._rate = topic, value, draw, rate
        self._slips = draw.random() < SLIP
        self._files = [f"shop/{each}.py" for each in draw.sample(FILES, len(FILES))]
        self._guesses = [*draw.sample(ABSENT, 2), *draw.sample(RIGHT, len(RIGHT))]
        self._heeded: dict[str, bool] = {}
        self._path = self._constant = self._now = ""
        self.followed: list[str] = []
        self.told = ""

    def work(self) -> Script:
        """Yield actions, and "finish" at the end; each gets what it shows."""
        for name, line in self._read_lines():
            if (order := re.search(r"[Rr]un `([^`]+)` (?:first|before)", line)) and self._heeds(name):
                self._follow(name)
                yield "shell", {"command": order[1]}
        yield from self._find_place()
        wanted = f"1{self._value}" if self._slips else self._value
        for name, line in self._read_lines():
            if "Always write numbers" in line and self._heeds(name):
                self._follow(name)
                wanted = f'"{self._value}"' if "as text" in line else wanted
        yield from self._change(wanted)
        tried: list[str] = []
        command = self._choose_command(tried)
        while True:
            seen = yield ("shell", {"command": command}) if command else ("finish", {})
            if "FAILED" in seen:
                yield from self._correct()
            elif not command:
                return
            elif seen.startswith("exit 0"):
                command = ""
            else:
                tried.append(command)
                command = self._choose_command(tried)

    def _read_lines(self) -> list[tuple[str, str]]:
        return re.findall(r"^- (L[0-9a-f]{8}): (.*) \(because .*\)$", self.told, re.MULTILINE)

    def _heeds(self, lesson: str) -> bool:
        """Whether it does what a lesson says: drawn once for each."""
        if lesson not in self._heeded:
            self._heeded[lesson] = self._draw.random() < self._rate
        return self._heeded[lesson]

    def _follow(self, lesson: str) -> None:
        if lesson not in self.followed:
            self.followed.append(lesson)

    def _find_place(self, left_out: str = "") -> Script:
        """Read files, those first that it was told of, until one has the constant."""
        pattern = f"{self._topic} rebate is in `?(shop/\\w+.py)"
        lines = self._read_lines() if not left_out else []
        noted = {m[1]: name for name, line in lines if (m := re.search(pattern, line)) and self._heeds(name)}
        alike = re.findall(r"similar earlier work was in (shop/\w+\.py)", self.told)
        for path in dict.fromkeys([*noted, *alike, *self._files]):
            if path == left_out:
                continue
            if path in noted:
                self._follow(noted[path])
            seen = yield "read", {"path": path}
            kinds = "REBATE|LIMIT" if path in noted else "REBATE"  # whoever is told takes what looks alike
            if found := re.search(rf"({self._topic.upper()}_(?:{kinds})) = (\S+)", seen):
                self._path, self._constant, self._now = path, found[1], found[2]
                return

    def _change(self, value: str) -> Script:
        old, new = f"{self._constant} = {self._now}", f"{self._constant} = {value}"
        yield "edit", {"path": self._path, "old": old, "new": new}
        self._now = value

    def _correct(self) -> Script:
        """Mend what a failing test has shown: the wrong place, or the wrong value."""
        if self._constant.endswith("_LIMIT"):
            yield from self._change("50")
            yield from self._find_place(left_out=self._path)
        yield from self._change(self._value)

    def _choose_command(self, tried: Sequence[str]) -> str:
        """Return the next command that may run the tests: one that it was told, else a guess; "" without one."""
        avoided: list[str] = []
        for name, line in self._read_lines():
            use = re.search(r"`([^`]+)` works|[Tt]ests? with `([^`]+)`", line)
            if use and (use[1] or use[2]) not in tried and self._heeds(name):
                self._follow(name)
                return str(use[1] or use[2])
            if (avoid := re.search(r"`([^`]+)` fails here", line)) and self._heeds(name):
                self._follow(name)
                avoided.append(avoid[1])
        own = sorted(self._guesses, key=lambda each: each in avoided)
        return next((each for each in own if each not in tried), "")
