"""The terminal: time to the prompt, from a key to its echo, a long answer streamed, a long session opened again.

CPU time is of the program's own process, read from the kernel: on a shared machine that is what can be compared.
The floor is `python -c pass` for starting, and `cat` on the same kind of terminal for a key.
"""

from __future__ import annotations

import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
from _measure import CHECKOUT, COMMAND, milliseconds, repository, server

sys.path.insert(0, str(CHECKOUT))

TARGETS = """targets: the prompt ready in 200 ms; a key echoed in 5 ms with 10,000 steps loaded; 2 MB streamed with
5 s of CPU, within 110 MB, at most 3 KB written for each KB; a log of 40 MB opened to the prompt in 500 ms;
a completion in 30 ms"""

PATIENCE = 600.0
TICKS = os.sysconf("SC_CLK_TCK")


class Terminal:
    """The program on a pseudo-terminal; what it writes is searched, not drawn."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        self.started = time.monotonic()
        self.process = pexpect.spawn(
            argv[0], list(argv[1:]), cwd=str(cwd), env={**env, "TERM": "xterm-256color"},
            dimensions=(40, 120), timeout=PATIENCE,
        )  # fmt: skip
        self.process.delaybeforesend = None
        self._seen = b""
        self.written = 0

    def until(self, text: str) -> float:
        """Read until a text comes; returns seconds since the start. What came after it is looked through next.

        Not by pexpect's own search: that looks at the end of what has come, and passes by what a large read holds.
        """
        wanted, until = text.encode(), time.monotonic() + PATIENCE
        while (found := self._seen.find(wanted)) < 0:
            read = self.process.read_nonblocking(1 << 16, PATIENCE)
            self.written += len(read)
            self._seen = self._seen[-len(wanted) :] + read
            if time.monotonic() > until:
                raise TimeoutError(f"waited for {text!r}; last came {self._seen[-200:]!r}")
        self._seen = self._seen[found + len(wanted) :]
        return time.monotonic() - self.started

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory(self) -> float:
        """The largest resident size so far, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def close(self) -> None:
        """End it."""
        try:
            self.process.close(force=True)
        except pexpect.ExceptionPexpect:  # killed, and on a busy machine not gone yet
            self.process.wait()


@contextmanager
def opened(argv: Sequence[str], cwd: Path, env: dict[str, str]) -> Iterator[Terminal]:
    """A terminal that is closed afterwards."""
    terminal = Terminal(argv, cwd, env)
    try:
        yield terminal
    finally:
        terminal.close()


@dataclass(slots=True)
class Starts:
    """Seconds of each start; MB at most."""

    prompts: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    echoes: list[float] = field(default_factory=list)
    sessions: list[float] = field(default_factory=list)
    cpus_open: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    memory: float = 0.0

    def show(self, what: str) -> None:
        """Print them: the prompt takes keys, its session is open."""
        print(
            f"{what}\n  to the prompt       {milliseconds(self.prompts)}; CPU {milliseconds(self.cpus)}"
            f"\n  first key to echo   {milliseconds(self.echoes)}"
            f"\n  to the open session {milliseconds(self.sessions)}; CPU {milliseconds(self.cpus_open)}; "
            f"{self.memory:.0f} MB of memory"
            f"\n  python alone        {milliseconds(self.floors)}"
        )


def starts(argv: Sequence[str], times: int, root: Path, env: dict[str, str], opened_by: str) -> Starts:
    """Start it so many times: to the prompt that takes what is typed, to its first echo, to the open session."""
    found = Starts()
    for _ in range(times):
        with opened([sys.executable, "-c", "print('ready')"], root, env) as terminal:
            found.floors.append(terminal.until("ready"))
        with opened(argv, root, env) as terminal:
            found.prompts.append(terminal.until("opening"))
            found.cpus.append(terminal.cpu)
            terminal.process.send("q")
            found.echoes.append(terminal.until("q") - found.prompts[-1])
            found.sessions.append(terminal.until(opened_by))
            found.cpus_open.append(terminal.cpu)
            found.memory = max(found.memory, terminal.memory)
    return found


def prompt_ready(times: int) -> None:
    """From the start of the process to the prompt, and to the session behind it."""
    with repository() as (root, env):
        asked = {"model": "openai/test", "api-base": "http://127.0.0.1:9/v1"}
        named = {f"PATCHWRIGHT_{name.replace('-', '_').upper()}": value for name, value in asked.items()}
        starts([COMMAND], times, root, {**env, **named}, "openai/test").show(
            "a new session, the bare command"
        )
        argv = [COMMAND, *(part for name, value in asked.items() for part in (f"--{name}", value))]
        starts(argv, times, root, env, "openai/test").show("a new session with options")


def long_session(root: Path, env: dict[str, str], steps: int, size: int) -> tuple[str, float]:
    """A session with so many steps, each with an output of `size` characters; its id and its log's MB."""
    from agent.app_dirs import Home
    from agent.events import (
        ActionEvent,
        AskedAction,
        End,
        MessageEvent,
        ObservationEvent,
        Prompt,
        SessionStart,
    )
    from agent.session.log import Session

    home = Home.from_environment(env)
    session = Session.create(home.get_project_folder(root.resolve()) / "sessions")
    session.subscribe(lambda event: None)
    session.append(
        SessionStart(
            session=session.id, project=str(root), model="openai/test", mode="workspace", version="0"
        )
    )
    session.append(Prompt(text="a long piece of work"))
    for number in range(steps):
        call = f"c{number}"
        asked = AskedAction(id=call, tool="shell", arguments={"command": f"true {number}"})
        session.append(MessageEvent(text="", actions=[asked], model="openai/test"))
        session.append(ActionEvent(call=call, tool="shell", effect="execute"))
        text = f"exit 0\n{number} " + "x" * size
        session.append(ObservationEvent(call=call, tool="shell", text=text, data={"exit": 0}))
    session.append(MessageEvent(text="All of it is done.", model="openai/test"))
    session.append(End(outcome="done", steps=steps))
    session.close()
    return session.id, (session.folder / "log.jsonl").stat().st_size / 1e6


def resumed(times: int) -> None:
    """A log of 40 MB to the prompt, and keys typed there."""
    with repository() as (root, env):
        name, size = long_session(root, env, 10_000, 3_600)
        argv = [COMMAND, "resume", name, "--model", "openai/test", "--api-base", "http://127.0.0.1:9/v1"]
        starts(argv, times, root, env, "openai/test").show(f"a session of 10,000 steps, {size:.0f} MB")
        keys = []
        with opened(argv, root, env) as terminal:
            terminal.until("openai/test")
            for _ in range(times):
                keys += echoes(terminal)
        with opened(["cat"], root, env) as terminal:
            floor = echoes(terminal)
        print(f"  key to echo         {milliseconds(keys)}; cat {milliseconds(floor)}")
        first_answers(name, root, env)


def first_answers(name: str, root: Path, env: dict[str, str]) -> None:
    """The first prompt after such a session was opened, twice: its past is shortened for it, which lasts."""
    for number in ("first", "second"):
        with server([{"text": "THE END"}]) as (url, _):
            argv = [COMMAND, "resume", name, "--model", "openai/test", "--api-base", url]
            with opened(argv, root, env) as terminal:
                terminal.until("openai/test")
                idle = terminal.cpu
                terminal.process.send("go on\r")
                terminal.until("THE END")
                terminal.until("done")
                print(
                    f"  {number} time: CPU {idle:.2f} s until it is open, {terminal.cpu - idle:.2f} s from the prompt"
                    f" to the end of its turn; {terminal.memory:.0f} MB of memory"
                )
                terminal.process.send("/quit\r")
                terminal.until("go on later")


def echoes(terminal: Terminal) -> list[float]:
    """Seconds from each key to its echo."""
    found = []
    time.sleep(0.5)  # what the start left to do is done
    for letter in "qwxzkjvy" * 3:
        started = time.monotonic()
        terminal.process.send(letter)
        terminal.until(letter)
        found.append(time.monotonic() - started)
        time.sleep(0.03)
    return found


def make_answer(size: int) -> str:
    """An answer of so many characters, a quarter prose, the rest code; no two of its lines are equal."""
    parts, written, number = [], 0, 0
    while written < size:
        prose = "".join(
            f"Sentence {number + n} with `code_{n}` and **bold** words, and one more to fill the line.\n\n"
            for n in range(20)
        )
        code = "".join(
            f"def f{number + n}(x):\n    return x + {number + n}  # one of {n}\n\n" for n in range(100)
        )
        parts.append(f"{prose}```python\n{code}```\n\n")
        written += len(parts[-1])
        number += 100
    return "".join(parts) + "THE END"


def streamed(times: int) -> None:
    """An answer of 2 MB, prose and code, as fast as a server sends it."""
    answer = make_answer(2_000_000)
    with server([{"text": answer}, {"text": "NO MORE"}]) as (url, _), repository() as (root, env):
        argv = [COMMAND, "--model", "openai/test", "--api-base", url]
        with opened(argv, root, env) as terminal:
            terminal.until("openai/test")
            idle, before = terminal.cpu, terminal.written
            started = time.monotonic()
            terminal.process.send("go\r")
            terminal.until("THE END")
            terminal.until("done")
            wall = time.monotonic() - started
            size = len(answer.encode())
            print(
                f"stream {size / 1e6:.1f} MB  {wall:7.1f} s ({size / 1e6 / wall:.2f} MB/s; "
                f"CPU {terminal.cpu - idle:.1f} s); {terminal.memory:.0f} MB of memory; "
                f"{(terminal.written - before) / size:.2f} KB written for each KB"
            )


def count_rewritten_lines(times: int) -> None:
    """How many lines of a streamed answer stand in the scrollback more than once, or not at all."""
    from tests.support.terminal import Terminal as ModelledTerminal

    answer = make_answer(60_000)
    numbered = re.compile(r"Sentence \d+ |def f\d+\(|return x \+ \d+ ")
    with server([{"text": answer}, {"text": "NO MORE"}]) as (url, _), repository() as (root, env):
        argv = [COMMAND, "--model", "openai/test", "--api-base", url]
        with ModelledTerminal(argv, cwd=root, env=env, columns=100, rows=24) as terminal:
            terminal.wait("openai/test")
            terminal.type("go\r")
            terminal.wait("THE END")
            terminal.wait("done")
            shown = Counter(numbered.findall(terminal.everything))
    expected = set(numbered.findall(answer))
    again = sum(count - 1 for count in shown.values())
    print(f"scrollback  {len(expected)} lines: {again} written again, {len(expected - shown.keys())} missing")


def complete(times: int) -> None:
    """CPU time of one completion among as many files and names as Django has: 7,000 paths, 40,000 symbols."""
    from cli.tui.input.fuzzy_match import FuzzyIndex

    chosen = random.Random(0)
    words = [
        "model",
        "field",
        "query",
        "admin",
        "test",
        "form",
        "view",
        "manager",
        "template",
        "filter",
        "auth",
    ]
    paths = ["/".join(chosen.choices(words, k=4)) + f"_{number}.py" for number in range(7_000)]
    names = ["/".join(chosen.choices(words, k=2)) + f"_{number}" for number in range(40_000)]
    files, symbols = FuzzyIndex(paths), FuzzyIndex(names)
    for query in ("qu", "query", "fltr", "modelfld", "nothing"):
        spent = []
        for _ in range(times):
            began = time.process_time()
            files.rank(query, 50)
            symbols.rank(query, 50)
            spent.append(time.process_time() - began)
        print(f"completion of @{query}: {min(spent) * 1000:.1f} ms")


def main() -> None:
    """All of them, or those that are named (ready, resume, stream, scroll, complete); a number: repetitions of each."""
    times = next((int(each) for each in sys.argv[1:] if each.isdecimal()), 5)
    named = [each for each in sys.argv[1:] if not each.isdecimal()]
    for name, measure in (
        ("ready", prompt_ready),
        ("resume", resumed),
        ("stream", streamed),
        ("scroll", count_rewritten_lines),
        ("complete", complete),
    ):
        if not named or name in named:
            measure(times)
    print(TARGETS)


if __name__ == "__main__":
    main()
