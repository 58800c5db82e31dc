"""The store: shared by sessions at once, safe against kills and damage, and without a trace of what was forgotten."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.memory import memory_store
from agent.memory.case_search import find_similar_places
from agent.memory.memory_key import find_memory_key
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case, FailedCommand, KnownCommand, Lesson, Use
from agent.memory.store_schema import MIGRATIONS
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT
from tests.support.repo import Repo


def make_case(number: int, task: str = "mend the parser") -> Case:
    return Case(
        session="s",
        event=f"e{number}",
        time=float(number),
        task=task,
        places=("src/parser.py",),
        commands=(KnownCommand(line="uv run pytest -q", purpose="test"),),
        failures=(FailedCommand(line="pytest -q", cause="pytest: not found", purpose="test"),),
    )


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory/c-1.sqlite")


def test_a_case_comes_back_as_it_was_stored(store: MemoryStore) -> None:
    number = store.add_case(make_case(1))
    found = store.get_case(number)
    assert found is not None
    assert (found.places, found.commands, found.failures) == (
        make_case(1).places,
        make_case(1).commands,
        make_case(1).failures,
    )
    assert [case.id for case, _ in store.search_cases(["parsers"])] == [number], "stems count"
    assert store.path.stat().st_mode & 0o077 == 0


def test_a_turn_has_one_case_however_often_it_is_stored(store: MemoryStore) -> None:
    first = store.add_case(make_case(1))
    assert store.add_case(make_case(1, "mend the lexer")) == first
    assert store.count_cases() == 1
    assert not store.search_cases(["parser", "mending"]) or store.search_cases(["lexer"])
    assert [case.task for case, _ in store.search_cases(["lexer"])] == ["mend the lexer"]


def test_reading_an_absent_store_makes_no_file(store: MemoryStore) -> None:
    assert store.list_lessons() == []
    assert store.search_cases(["parser"]) == []
    assert not store.path.exists()


def test_secrets_are_redacted(store: MemoryStore) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    store.add_case(
        Case(
            session="s", event="e", time=1.0, task=f"push with {secret}",
            commands=(KnownCommand(line=f"curl -H 'Authorization: {secret}' x"),),
        )
    )  # fmt: skip
    store.put_lessons([Lesson(id="L1", kind="note", claim=f"the token is {secret}")])
    assert secret.encode() not in read_all_bytes(store)


def read_all_bytes(store: MemoryStore) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(store.path.parent.iterdir()))


def test_what_was_forgotten_is_in_no_byte(store: MemoryStore) -> None:
    word = "zanzibarquux"
    kept = store.add_cases([make_case(number) for number in range(300)])
    gone = store.add_case(
        Case(
            session="s", event="gone", time=1.0, task=f"rename {word}", places=(f"src/{word}.py",),
            failures=(FailedCommand(line=f"run-{word}", cause=f"{word}: not found"),),
        )
    )  # fmt: skip
    store.count_failure(f"run-{word}", f"{word}: not found")
    store.put_lessons(
        [Lesson(id="L1", kind="contrast", claim=f"{word} works", use=f"uv run {word}", avoid=word)]
    )
    store.add_uses([Use(lesson="L1", session="s", time=1.0, why=f"the prompt names {word}")])
    store.path.with_name(f"{store.path.name}.damaged-1").write_text(word)
    reader = sqlite3.connect(store.path)  # as long as it is open, SQLite keeps the log of writes
    reader.execute("select count(*) from cases").fetchone()
    assert word.encode() in read_all_bytes(store)
    assert store.forget(lessons=["L1"], cases=[gone]) == 2
    assert word.encode() not in read_all_bytes(store)
    assert word[:8].encode() not in read_all_bytes(store), "nor in the index, which shortens words"
    reader.close()
    assert store.count_cases() == len(kept)
    assert store.search_cases(["parser"], limit=1)


def test_sessions_write_at_once(store: MemoryStore) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        from agent.memory.memory_store import MemoryStore
        from agent.memory.records import Case
        store = MemoryStore(Path(sys.argv[2]))
        for number in range(20):
            store.add_case(Case(session=sys.argv[3], event=str(number), time=1.0, task="t"))
            store.count_failure("make", "no rule")
        """
    )
    words = [sys.executable, "-I", "-c", program, str(CHECKOUT), str(store.path)]
    writers = [subprocess.Popen([*words, str(number)]) for number in range(4)]
    assert [each.wait(60) for each in writers] == [0] * 4
    assert store.count_cases() == 80
    assert store.list_failures(3) == {"make": ("no rule", 80)}


@pytest.mark.slow
def test_a_kill_while_it_writes_loses_at_most_the_last_case(store: MemoryStore) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        from agent.memory.memory_store import MemoryStore
        from agent.memory.records import Case
        store = MemoryStore(Path(sys.argv[2]))
        for number in range(100_000):
            store.add_case(Case(session=sys.argv[3], event=str(number), time=1.0, task="mend it " * 200))
            print(number, flush=True)
        """
    )
    for attempt in range(6):
        words = [sys.executable, "-I", "-c", program, str(CHECKOUT), str(store.path), f"s{attempt}"]
        writer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.02 * attempt)
        os.kill(writer.pid, signal.SIGKILL)
        told = writer.stdout.read().split()
        writer.stdout.close()
        writer.wait()
        stored = {int(each.event) for each in store.list_cases() if each.session == f"s{attempt}"}
        assert stored >= {0, *map(int, told)}, "each case that was reported as stored is there"
        assert store.notices == []
        assert store.search_cases(["mending"], limit=1)


@pytest.mark.parametrize("content", [b"no database " * 400, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside(store: MemoryStore, content: bytes) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    assert store.list_lessons() == []
    [notice] = store.notices
    assert "damaged" in notice
    store.add_case(make_case(1))
    assert store.count_cases() == 1
    [aside] = store.path.parent.glob("*.damaged-*")
    assert aside.read_bytes() == content


def test_cases_of_files_that_a_prompt_names_come_first(store: MemoryStore) -> None:
    texts = {
        "src/shop/cart.py": "the loyalty rebate of a basket is wrong",
        "src/shop/order.py": "an order has no date",
        "lib/cart.js": "the page has no title",
    }
    for number, (place, task) in enumerate(texts.items()):
        store.add_case(replace(make_case(number, task), places=(place,)))
    store.add_case(
        replace(make_case(9, "round it"), places=("src/shop/tax.py",), names=("def compute_levy(x)",))
    )

    def search(prompt: str) -> list[tuple[str, str]]:
        return [(place, why) for (place,), why in find_similar_places(store, prompt)]

    assert search("loyalty rebate in src/shop/order.py") == [
        ("src/shop/order.py", "the prompt names src/shop/order.py"),
        ("src/shop/cart.py", "it shares loyalty, rebate, src"),
    ]
    assert search("shop.order.Order.date fails")[0][0] == "src/shop/order.py"
    assert search("cart.js")[0][0] == "lib/cart.js"
    assert search('File "/usr/lib/python3/site-packages/shop/cart.py", line 3')[0][0] == "src/shop/cart.py"
    assert search("compute_levy is off")[0][0] == "src/shop/tax.py", "two rare words: compute and levy"
    assert search("see shop.nothing") == []
    assert search('a "quoted/name.py" and C:/x') == []


def test_a_file_of_the_first_version_takes_the_later_tables(store: MemoryStore) -> None:
    store.path.parent.mkdir()
    with sqlite3.connect(store.path) as db:
        for statement in MIGRATIONS[0]:
            db.execute(statement)
        db.execute(
            "insert into cases values (7, 's', 'e', 1.0, 'turn', 'mend', '', '', null, 0, 0, '[]', '[]', '[]')"
        )
        db.execute("pragma user_version = 1")
    db.close()
    store.put_lessons([Lesson(id="L1", kind="note", claim="c")])
    assert [each.id for each in store.list_cases()] == [7]
    assert [each.id for each, _ in store.search_cases(["mend"])] == [7]
    assert [each.id for each in store.list_lessons()] == ["L1"]


def test_a_file_of_a_later_version_is_left_as_it_is(store: MemoryStore) -> None:
    store.add_case(make_case(1))
    with sqlite3.connect(store.path) as db:
        db.execute("pragma user_version = 99")
    db.close()
    with pytest.raises(UserError, match="later version"):
        store.list_lessons()
    assert store.path.is_file()


def test_clones_and_worktrees_share_a_key(tmp_path: Path) -> None:
    home = Home(data=tmp_path / "data", config=tmp_path / "config", cache=tmp_path / "cache")
    repo = Repo(tmp_path / "repo")
    assert find_memory_key(home, repo.root).startswith("f-"), "before the first commit"
    repo.write("a.py", "x = 1\n")
    repo.commit_all()
    key = find_memory_key(home, repo.root)
    repo.git("worktree", "add", "-q", "../tree", "-b", "other")
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    assert find_memory_key(home, tmp_path / "tree") == key
    assert find_memory_key(home, tmp_path / "clone") == key
    fork = Repo(tmp_path / "fork", init=False)
    repo.git("clone", "-q", str(repo.root), str(fork.root))
    fork.git("remote", "set-url", "origin", "https://example.com/mallory/repo.git")
    assert find_memory_key(home, fork.root) != key, "the same first commit, and neither a folder nor a remote"
    same = Repo(tmp_path / "same", init=False)
    repo.git("clone", "-q", str(repo.root), str(same.root))
    same.git("remote", "set-url", "origin", "git@EXAMPLE.com:mallory/repo")
    assert find_memory_key(home, same.root) == find_memory_key(home, fork.root)
    other = Repo(tmp_path / "other")
    other.write("b.py", "")
    other.commit_all("another")
    assert find_memory_key(home, other.root) != key
    plain = tmp_path / "plain"
    plain.mkdir()
    assert find_memory_key(home, plain).startswith("f-")


def test_another_repository_at_the_same_place_has_a_memory_of_its_own(tmp_path: Path) -> None:
    home = Home(data=tmp_path / "data", config=tmp_path / "config", cache=tmp_path / "cache")
    keys = []
    for name in ("a.py", "b.py"):
        repo = Repo(tmp_path / "repo")
        repo.write(name, "x = 1\n")
        repo.commit_all(name)
        keys.append(find_memory_key(home, repo.root))
        repo.write(name, "x = 2\n")
        repo.commit_all("later")
        assert find_memory_key(home, repo.root) == keys[-1]
        shutil.rmtree(repo.root)
    assert keys[0] != keys[1]


KILLED_WRITER = """
import os, signal, sqlite3, sys
from pathlib import Path
from typing import Any
sys.path.insert(0, sys.argv[1])
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case, Lesson, Use
connect = sqlite3.connect

def write(store, number):
    store.add_case(Case(session="killed", event=f"e{number}", time=9.0, task="mend the zanzibarquux"))
    store.put_lessons([Lesson(id=f"L{number}", kind="note", claim="zanzibarquux works", seen=9.0)])
    store.add_uses([Use(lesson=f"L{number}", session="killed", time=9.0, why="zanzibarquux")])
    store.count_failure("make", "no rule")
    store.forget(lessons=[f"L{number}"], cases=[])

def kill_at(last):
    left = [last]
    def count(statement):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def connect_counted(*args, **kwargs):
        db = connect(*args, **kwargs)
        db.set_trace_callback(count)
        return db
    sqlite3.connect = connect_counted

for last in range(1, 10_000):
    child = os.fork()
    if not child:
        path = Path(sys.argv[2]) / str(last) / "c-1.sqlite"
        store = MemoryStore(path)
        store.add_case(Case(session="s", event="e", time=1.0, task="mend the parser"))
        kill_at(last)
        write(store, 1)
        os._exit(0)
    if os.WIFEXITED(os.waitpid(child, 0)[1]):
        break
print(last)
"""


@pytest.mark.slow
def test_a_kill_at_any_statement_loses_at_most_what_it_wrote(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-c", KILLED_WRITER, str(CHECKOUT), str(tmp_path)]
    count = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert count > 25, "statements at which it was killed"
    for number in range(1, count):
        store = MemoryStore(tmp_path / str(number) / "c-1.sqlite")
        assert [each.session for each in store.list_cases()] in (["s"], ["killed", "s"]), number
        assert store.search_cases(["parser"], limit=1)
        store.add_case(make_case(1))
        if not store.is_scrubbed:
            store.scrub()
            store.forget(lessons=["L1"])
            assert b"zanzibarquux works" not in read_all_bytes(store), number
        assert store.notices == []


def test_what_is_forgotten_while_another_session_reads_goes_later(
    store: MemoryStore, monkeypatch: Any
) -> None:
    monkeypatch.setattr(memory_store, "PATIENCE", 0.1)
    word = b"zanzibarquux"
    number = store.add_case(make_case(1, f"mend the {word.decode()}"))
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from cases").fetchone()
    with pytest.raises(UserError, match="bytes of it are left"):
        store.forget(cases=[number])
    assert word in read_all_bytes(store)
    reader.close()
    assert not store.is_scrubbed
    store.scrub()
    assert not list(store.path.parent.glob("*.unscrubbed"))
    assert word not in read_all_bytes(store)


@pytest.mark.slow
def test_damage_anywhere_is_no_error(tmp_path: Path) -> None:
    whole = MemoryStore(tmp_path / "whole/c-1.sqlite")
    whole.add_cases([make_case(number, f"mend the parser of module{number}") for number in range(60)])
    whole.put_lessons([Lesson(id=f"L{n}", kind="note", claim=f"claim {n}", seen=1.0) for n in range(60)])
    content = whole.path.read_bytes()
    draw = random.Random(58)
    damaged = 0
    for number in range(20):
        store = MemoryStore(tmp_path / f"{number}/c-1.sqlite")
        store.path.parent.mkdir()
        broken = bytearray(content)
        begin = draw.randrange(len(content))
        broken[begin : begin + 400] = draw.randbytes(min(400, len(content) - begin))
        store.path.write_bytes(broken)
        store.list_lessons()
        store.list_cases()
        store.search_cases(["parser"])
        store.count_word_cases(["parser"], 9)
        store.add_case(make_case(100, "mend the lexer"))
        store.put_lessons([Lesson(id="L100", kind="note", claim="c")])
        store.forget(lessons=["L100"])
        assert store.search_cases(["lexer"])
        damaged += bool(store.notices)
        assert len(store.notices) <= 2
    assert damaged > 5


def test_a_record_that_does_not_fit_is_no_damage(store: MemoryStore) -> None:
    store.add_case(make_case(1))
    with pytest.raises(sqlite3.Error):
        store.put_lessons([Lesson(id="L1", kind="note", claim="c", good=object())])  # type: ignore[arg-type]
    assert store.count_cases() == 1
    assert store.notices == []


def test_a_name_that_is_no_text_is_of_no_lesson_and_no_damage(store: MemoryStore) -> None:
    store.put_lessons([Lesson(id="L1", kind="note", claim="c")])
    assert store.get_lesson("L1\udcff") is None, "as a command line in another encoding has it"
    assert [each.id for each in store.list_lessons()] == ["L1"]
    assert store.notices == []


def test_what_two_sessions_make_of_a_lesson_at_once_both_counts(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "c-1.sqlite")
    store.put_lessons([Lesson(id="L1", kind="note", claim="c")])
    both = threading.Barrier(2)

    def count_up(_: object) -> None:
        mine = MemoryStore(store.path)
        both.wait()
        for _ in range(20):
            mine.update_lessons(lambda known: [replace(each, good=each.good + 1) for each in known])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(count_up, range(2)))
    assert [each.good for each in store.list_lessons()] == [40]
