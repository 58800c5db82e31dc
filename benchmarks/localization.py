"""From the text of real issues to the files and functions that their real fixes changed, without a model.

Needs SWE-bench-style instances (JSON lines with instance_id, repo, base_commit, problem_statement, gold_files, patch)
and their repositories as git folders, named OWNER+NAME or OWNER+OWNER__NAME, each itself or a folder `repo` in it:

    PATCHWRIGHT_INSTANCES=swebench_lite_dev.jsonl PATCHWRIGHT_REPOSITORIES=mirrors python benchmarks/localization.py

PATCHWRIGHT_PAST chooses what of the past counts: `commits` before the base (as the product does), `none`, or `cases`,
besides them the texts and files of those instances of the repository that are older, as cases of a memory.

Each base commit is indexed once and kept under PATCHWRIGHT_BENCH_CACHE (~25 MB an instance, by the index's version), so
that a run that was ended goes on where it was; ranks are told on standard error as they come. Accuracy as in LocAgent
(arXiv:2503.09089): all files (functions) of the fix are among the first k.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


@dataclass(frozen=True, kw_only=True)
class Instance:
    id: str
    repo: str
    commit: str
    text: str
    files: frozenset[str]
    patch: str


def instances(path: Path) -> list[Instance]:
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Instance(
            id=row["instance_id"],
            repo=row["repo"],
            commit=row["base_commit"],
            text=row["problem_statement"],
            files=frozenset(row["gold_files"]),
            patch=row["patch"],
        )
        for row in rows
    ]


def git_folder(mirrors: Path, repo: str) -> Path | None:
    owner, name = repo.split("/")
    for folder in (f"{owner}+{name}", f"swe-bench+{owner}__{name}", f"{owner}+{owner}__{name}"):
        for inner in ("repo", "."):
            if (mirrors / folder / inner / "objects").is_dir():
                return (mirrors / folder / inner).resolve()
    return None


def git(folder: Path, *arguments: str, **env: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={folder}", *arguments],
        env={**os.environ, **env}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return done.stdout


class Blobs:
    """Contents out of a git folder, by one process. None for what a partial clone lacks."""

    def __init__(self, folder: Path) -> None:
        argv = ["git", f"--git-dir={folder}", "cat-file", "--batch"]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, name: str) -> bytes | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(name.encode() + b"\n")
        self._process.stdin.flush()
        head = self._process.stdout.readline().split()
        if len(head) != 3:
            return None
        return self._process.stdout.read(int(head[2]) + 1)[:-1]

    def close(self) -> None:
        self._process.communicate()


def check_out(folder: Path, blobs: Blobs, commit: str, tree: Path, there: dict[str, str]) -> dict[str, str]:
    """Make a folder hold a commit's files in languages that are indexed; `there` says what it holds now."""
    from tools.code.index.file_listing import filter_indexed

    listed = git(folder, "ls-tree", "-r", "-z", commit).split("\0")
    files = {path: head.split()[2] for head, _, path in (line.partition("\t") for line in listed if line)}
    wanted = {path: files[path] for path, _ in filter_indexed(files)}
    for path in there.keys() - wanted.keys():
        (tree / path).unlink(missing_ok=True)
    for path, blob in wanted.items():
        if there.get(path) != blob and (data := blobs.read(blob)) is not None:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)
    return wanted


def prepare(folder: Path, wanted: list[Instance], cache: Path) -> None:
    """Index each base commit, the oldest first, in one work tree: what stays the same is not read again."""
    from tools.code.index.code_index import Index

    missing = [each for each in wanted if not (cache / f"{each.id}.sqlite").exists()]
    if not missing:
        return
    dates = {each.id: int(git(folder, "show", "-s", "--format=%ct", each.commit)) for each in missing}
    blobs = Blobs(folder)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        tree, database = Path(scratch) / "tree", Path(scratch) / "index.sqlite"
        tree.mkdir()
        there: dict[str, str] = {}
        for each in sorted(missing, key=lambda each: dates[each.id]):
            there = check_out(folder, blobs, each.commit, tree, there)
            with Index(tree, database) as index:
                read = index.refresh()
                index.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copy(database, cache / "part")
            (cache / "part").rename(cache / f"{each.id}.sqlite")
            print(f"{each.id}: {read} files read", file=sys.stderr, flush=True)
    blobs.close()


@dataclass(frozen=True, kw_only=True)
class Result:
    """Ranks of the last gold file and function, from 1; function is None where the fix is in none."""

    instance: Instance
    file: float
    function: float | None
    seconds: float
    named: str


def measure(folder: Path, wanted: list[Instance], cache: Path) -> list[Result]:
    """Ask about each instance at its base commit; sources and history come from the git folder."""
    from tools.code.index.code_index import Index
    from tools.code.localization import commit_history, function_ranking, localize_text

    blobs = Blobs(folder)
    results = []
    kind = os.environ.get("PATCHWRIGHT_PAST", "commits")
    dates = {each.id: int(git(folder, "show", "-s", "--format=%ct", each.commit)) for each in wanted}

    class AtCommit(Index):
        def read_source(self, path: str) -> str:
            return (blobs.read(f"{each.commit}:{path}") or b"").decode("utf-8", "replace")

    for each in wanted:
        arguments = ["log", f"--max-count={commit_history.MOST_COMMITS}", "--no-merges", "--no-renames"]
        past = commit_history.parse_log(
            git(folder, *arguments, "--format=%x01%B%x02", "--name-only", each.commit)
        )
        if kind != "commits":
            older = [one for one in wanted if dates[one.id] < dates[each.id]]
            past = [*map(make_case, older), *past] if kind == "cases" else []
        with AtCommit(Path("/nonexistent"), cache / f"{each.id}.sqlite") as index:
            with patched(commit_history, past):
                started = time.process_time()
                found = localize_text(index, each.text, files=200, functions=400)
                seconds = time.process_time() - started
            gold = gold_functions(index, each.patch, function_ranking._select_functions)
        order = [one.path for one in found.files]
        inner = [(one.path, one.symbol.name) for one in found.functions]
        result = Result(
            instance=each,
            file=max(rank(order, path) for path in each.files),
            function=max(rank(inner, one) for one in gold) if gold else None,
            seconds=seconds,
            named=how_named(each),
        )
        print(f"{each.id}: file {result.file}, function {result.function}", file=sys.stderr, flush=True)
        results.append(result)
    blobs.close()
    return results


def make_case(instance: Instance) -> Any:
    """A task of the past as what it would be, had a commit said the same and changed these files."""
    from tools.code.index.parsing.identifier_words import count_words
    from tools.code.localization.commit_history import MOST_MESSAGE, Commit

    words = " ".join(count_words(instance.text[:MOST_MESSAGE]).elements())
    return Commit(words=words, files=sorted(instance.files))


@contextmanager
def patched(history: Any, past: list[Any]) -> Iterator[None]:
    """The commits before the base, in place of those that a work tree's HEAD would tell."""
    from tools.code.localization import file_ranking

    before = file_ranking.load_commits
    file_ranking.load_commits = lambda index: past
    try:
        yield
    finally:
        file_ranking.load_commits = before


def rank(order: list[Any], wanted: Any) -> float:
    return order.index(wanted) + 1 if wanted in order else float("inf")


def gold_functions(index: Any, patch: str, units: Any) -> set[tuple[str, str]]:
    """The functions whose lines a patch changes, as the files were before."""
    found, path, old = set(), "", 0
    for line in patch.split("\n"):
        if line.startswith("--- a/"):
            path = line[6:]
        elif head := re.match(r"@@ -(\d+)", line):
            old = int(head[1]) - 1
        elif line[:1] in (" ", "-", "+") and not line.startswith(("---", "+++")):
            old += line[0] != "+"
            inside = [each for each in units(index.outline(path).symbols) if each.first <= old <= each.last]
            if line[0] != " " and inside:
                found.add((path, inside[0].name))
    return found


def how_named(instance: Instance) -> str:
    """How the issue names the place: by a stack frame, the path or module, the file's word, or not at all."""
    path = next(iter(instance.files))
    stem = path.rpartition("/")[2].removesuffix(".py")
    dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if re.search(rf'File "[^"]*{re.escape(path.rpartition("/")[2])}"', instance.text):
        return "stack trace"
    if path in instance.text or dotted in instance.text:
        return "path or module"
    return "word" if re.search(rf"\b{re.escape(stem)}\b", instance.text, re.IGNORECASE) else "nothing"


def report(results: list[Result]) -> None:
    """Accuracy at 1, 3, 5, 10: of all, of the repository that weights were tuned on, and of the others."""
    tuned = "django/django"
    groups: dict[str, list[Result]] = {
        "all": results,
        "tuned on: django": [each for each in results if each.instance.repo == tuned],
        "others": [each for each in results if each.instance.repo != tuned],
    }
    for way in ("stack trace", "path or module", "word", "nothing"):
        groups[f"named by: {way}"] = [each for each in results if each.named == way]
    print(f"{'':26} {'n':>4}   files @1    @3    @5   @10   functions @5   @10")
    for name, group in groups.items():
        if group:
            files = "".join(f"{share([each.file for each in group], k):6.1f}" for k in (1, 3, 5, 10))
            ranks = [each.function for each in group if each.function is not None]
            inner = "".join(f"{share(ranks, k):6.1f}" for k in (5, 10)) if ranks else ""
            print(f"{name:26} {len(group):4}     {files}        {inner}")
    seconds = sorted(each.seconds for each in results)
    if seconds:
        print(
            f"CPU a question: median {statistics.median(seconds):.2f} s, most {seconds[-1]:.2f} s (index warm)"
        )


def share(ranks: list[float], k: int) -> float:
    return 100 * sum(each <= k for each in ranks) / len(ranks)


def by_repository(every: list[Instance]) -> Iterator[tuple[str, list[Instance]]]:
    for repo in sorted(
        {each.repo for each in every}, key=lambda repo: -sum(each.repo == repo for each in every)
    ):
        yield repo, [each for each in every if each.repo == repo]


def main() -> None:
    data, mirrors = os.environ.get("PATCHWRIGHT_INSTANCES"), os.environ.get("PATCHWRIGHT_REPOSITORIES")
    if not (data and mirrors):
        print("skipped: set PATCHWRIGHT_INSTANCES and PATCHWRIGHT_REPOSITORIES (see the top of the file)")
        return
    from tools.code.index.index_store import VERSION

    named = os.environ.get("PATCHWRIGHT_BENCH_CACHE")
    cache = Path(named or Path.home() / ".cache/patchwright-bench/localization") / f"v{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for repo, group in by_repository(instances(Path(data))):
        folder = git_folder(Path(mirrors), repo)
        if folder is None:
            print(f"{repo}: no git folder under {mirrors}, {len(group)} instances left out")
            continue
        prepare(folder, group, cache)
        results += measure(folder, group, cache)
    report(results)


if __name__ == "__main__":
    main()
