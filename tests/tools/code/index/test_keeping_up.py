"""Whatever happens to the files, the next answer is what a fresh index of them would say."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import CHECKOUT, environment, git
from tests.tools.workspaces import put
from tools.code.index import code_index as indexing
from tools.code.index import index_store
from tools.code.index.code_index import Index, ask_index
from tools.code.index.symbol_queries import find_definitions, find_references

pytestmark = pytest.mark.timeout(300)  # a busy machine is no finding

SHOP = {
    "shop/cart.py": """
        from shop.item import Item

        class Cart:
            def add(self, item: Item):
                return price(item)
        """,
    "shop/item.py": "class Item:\n    pass\n\n\ndef price(item):\n    return 1\n",
}


def says(index: Index) -> dict[str, Any]:
    """Everything that an index says of its files, without the numbers of texts."""
    names: dict[str, list[tuple[str, int, int, int]]] = {}
    words: dict[str, list[tuple[str, int, int, int]]] = {}
    for term in index.store.find_terms("", 10**6):
        if term.startswith("="):
            if found := index.find_files_with_name(term[1:]):
                names[term] = found
        elif found := [
            (path, *counts) for text, *counts in index.find_word(term) for path in index.by_text[text]
        ]:
            words[term] = sorted(found)
    paths = index.paths
    return {
        "paths": paths,
        "names": names,
        "words": words,
        "outlines": index.outlines(paths),
        "uses": {path: index.find_uses(path) for path in paths},
    }


def check(index: Index) -> None:
    """What it says is what a fresh index says."""
    with Index(index.root, None) as fresh:
        fresh.refresh()
        assert says(index) == says(fresh)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    put(folder, SHOP)
    return folder


@pytest.mark.slow
def test_an_edit_of_the_same_length_at_the_same_time_is_seen(root: Path, database: Path) -> None:
    path = root / "shop/item.py"
    os.utime(path, ns=(10**18, 10**18))
    with Index(root, database) as index:
        index.refresh()
        for name in ("prize", "pride", "prime"):
            text = path.read_text()
            path.write_text(text[: text.index("def ")] + f"def {name}(item):\n    return 1\n")
            os.utime(path, ns=(10**18, 10**18))
            index.refresh()
            assert [each.path for each in find_definitions(index, name)] == ["shop/item.py"]
            check(index)


def test_files_that_are_renamed_removed_ignored_and_linked(root: Path, database: Path) -> None:
    with Index(root, database) as index:
        index.refresh()
        (root / "shop/item.py").rename(root / "shop/thing.py")
        index.refresh()
        assert [each.path for each in find_definitions(index, "price")] == ["shop/thing.py"]
        (root / ".gitignore").write_text("thing.py\n")
        index.refresh()
        assert find_definitions(index, "price") == []
        (root / ".gitignore").unlink()
        (root / "shop/cart.py").unlink()
        (root / "shop/cart.py").symlink_to(root / "shop/thing.py")
        index.refresh()
        assert index.paths == ["shop/thing.py"]
        check(index)


@pytest.mark.slow
def test_the_same_content_twice_and_odd_files(root: Path, database: Path) -> None:
    put(
        root,
        {
            "a/__init__.py": "",
            "b/__init__.py": "",
            "copy.py": SHOP["shop/item.py"],
            "latin.py": "name = 'caf\xe9'\n".encode("latin-1"),
            "binary.py": b"\0\1\2def f(): pass",
            "broken.py": "def (:\n  class\n\x0c" + "(" * 500,
            "crlf.py": b"def windows():\r\n    return 1\r\n",
            "bom.py": b"\xef\xbb\xbfdef marked():\n    return 1\n",
            "minified.js": "function f(){}" * 3000,
            "naïve.py": "def ünïcode(): pass\n",
            "new\tline.py": "def tab(): pass\n",
        },
    )
    with Index(root, database) as index:
        index.refresh()
        assert [each.path for each in find_definitions(index, "price")] == ["copy.py", "shop/item.py"]
        for name in ("windows", "marked", "ünïcode", "tab"):
            assert len(find_definitions(index, name)) == 1, name
        assert find_definitions(index, "f") == []
        (root / "copy.py").unlink()
        index.refresh()
        assert [each.path for each in find_definitions(index, "price")] == ["shop/item.py"]
        check(index)


@pytest.mark.slow
def test_branches_go_back_and_forth_without_reading_again(root: Path, database: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "checkout", "-qb", "other")
    for number in range(1000):
        (root / f"many{number}.py").write_text(f"def only_there_{number}(): pass\n")
    put(root, {"shop/item.py": "def worth(item): pass\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "two")
    with Index(root, database) as index:
        assert index.refresh() == 1002
        git(root, "checkout", "-q", "main")
        assert index.refresh() == 1001
        assert find_definitions(index, "worth") == []
        assert [each.path for each in find_definitions(index, "price")] == ["shop/item.py"]
        check(index)
        before = index.store.next_number()
        git(root, "checkout", "-q", "other")
        assert index.refresh() == 1001
        assert index.store.next_number() == before, "texts that were known were read again"
        assert find_definitions(index, "only_there_999")
        check(index)


@pytest.mark.slow
def test_many_changes_leave_few_segments_and_no_dead_texts(
    root: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_store, "MANY", 3)
    monkeypatch.setattr(index_store, "SPARE", 3)
    monkeypatch.setattr(indexing, "SELDOM", 2)
    draw = random.Random(7)
    with Index(root, database) as index:
        for step in range(30):
            name = f"m{draw.randrange(6)}.py"
            if draw.random() < 0.2:
                (root / name).unlink(missing_ok=True)
            else:
                text = "".join(
                    f"def f{draw.randrange(9)}():\n    return g{draw.randrange(9)}()\n" for _ in range(3)
                )
                (root / name).write_text(text + f"# {step}\n")
            index.refresh([name] if draw.random() < 0.5 else None)
        index.refresh()
        check(index)
        [(segments,)] = index.store._connection.execute("SELECT count(DISTINCT segment) FROM texts")
        assert segments <= 3 + 1 + 2  # one more in each round until it is tidied
        assert index.store.next_number() - 1 > len(index.counts), "no dead text was dropped"


@pytest.mark.slow
def test_a_database_that_is_damaged_or_of_another_version_is_made_again(root: Path, database: Path) -> None:
    with Index(root, database) as index:
        index.refresh()
        index.store._connection.execute("PRAGMA user_version = 1")
    with Index(root, database) as index:
        assert index.refresh() == 2
    for damage in (b"not a database at all" * 100, b""):
        index_store.delete_database(database)
        database.write_bytes(damage)
        with Index(root, database) as index:
            assert index.refresh() == 2
            check(index)


@pytest.mark.slow
def test_a_database_that_breaks_while_it_is_asked_is_made_again(root: Path, tmp_path: Path) -> None:
    put(root, {f"more{number}.py": f"def more_{number}(): pass\n" * 50 for number in range(40)})

    def names(index: Index) -> list[str]:
        return sorted(
            each.path
            for term in index.store.find_terms("=", 10**6)
            for each in find_definitions(index, term[1:])
        )

    first = ask_index(root, tmp_path, (), names)
    [database] = (tmp_path / "index").glob("*.sqlite")
    storing_wal = database.with_name(database.name + "-wal")
    storing_wal.unlink(missing_ok=True)
    content = bytearray(database.read_bytes())
    for at in range(4096, len(content), 4096):  # every page but the first
        content[at : at + 64] = b"\xff" * 64
    database.write_bytes(bytes(content))
    assert ask_index(root, tmp_path, (), names) == first


def test_without_a_place_to_write_the_index_is_in_memory(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert ask_index(root, tmp_path / "file", (), lambda index: len(index.paths)) == 2


INDEXING = """
import sys
from pathlib import Path
from tools.code.index.code_index import Index
from tools.code.index import worker_pool

worker_pool.CHUNK = 2000
worker_pool.ALONE = 0
with Index(Path(sys.argv[1]), Path(sys.argv[2])) as index:
    print("open", flush=True)
    index.refresh()
    print(len(index.paths), flush=True)
"""


def started(root: Path, database: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", INDEXING, str(root), str(database)],
        env=environment(), cwd=CHECKOUT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def many(root: Path, count: int = 120) -> None:
    for number in range(count):
        text = "".join(f"def f{number}_{at}(x):\n    return shared_{at}(x)\n\n" for at in range(8))
        (root / f"part{number}.py").write_text(text)


@pytest.mark.slow
def test_killed_while_it_indexes_it_goes_on_the_next_time(root: Path, database: Path) -> None:
    many(root)
    for texts in (1, 20, 60):  # killed when so many texts are written
        with started(root, database) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            with Index(root, database) as watcher:
                while watcher.store.next_number() <= texts and process.poll() is None:
                    pass
            process.send_signal(signal.SIGKILL)
    with Index(root, database) as index:
        index.refresh()
        assert len(index.paths) == 122
        check(index)


@pytest.mark.slow
def test_sessions_that_index_at_once_do_not_double_anything(root: Path, database: Path) -> None:
    many(root, 60)
    crew = [started(root, database) for _ in range(3)]
    for each in crew:
        out, _ = each.communicate(timeout=240)
        assert (each.returncode, out) == (0, "open\n62\n")
    with Index(root, database) as index:
        assert index.refresh() == 0
        check(index)
        assert len(list(find_references(index, "shared_1", calls=True))) == 60


@pytest.mark.slow
def test_a_grammar_that_takes_its_process_along_costs_one_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tools.code.index import worker_pool

    monkeypatch.setattr(worker_pool, "ALONE", 0)
    dying = worker_pool._START.replace(
        "main(sys", "import os, tools.code.index.parse_worker as w; real = w.decode_text; "
        "w.decode_text = lambda data: os._exit(1) if b'poison' in data else real(data); main(sys",
    )  # fmt: skip
    monkeypatch.setattr(worker_pool, "_START", dying)
    many(root, 10)
    (root / "bad.py").write_text("def poison(): pass\n")
    with Index(root, None) as index:
        index.refresh()
        assert "bad.py" in index
        assert index.outline("bad.py").symbols == ()
        assert len(find_definitions(index, "f9_7")) == 1
        assert find_definitions(index, "price")
