"""Evidence from git history: commits with similar messages, and the files that they changed.

The newest commits are read once and stored with the index; later only new ones are read.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from tools.code.index.code_index import Index
from tools.code.index.module_resolution import get_module_parts
from tools.code.index.parsing.identifier_words import count_words, split_identifier
from tools.code.index.symbol_queries import is_test

MOST_COMMITS = 3000
"""The newest ones: older ones describe a program that has changed since."""

MOST_FILES = 30
"""Commits that change more files have no single subject."""

MOST_MESSAGE = 1000
"""Characters of a message that are read."""

LIKE, GIVEN = 60, 80
"""Commits considered similar, for `score_by_messages` and `score_by_history_share`."""

_KEY = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """words: of its message, split, with spaces between; files: changed by it"""

    words: str
    files: Sequence[str]


def load_commits(index: Index) -> list[Commit]:
    """Return the newest commits of the workspace's repository, the newest first; empty without a repository."""
    from sandbox.errors import UserError
    from sandbox.fs.repository import read_head_commit
    from tools.core.action import ToolFailure

    now = read_head_commit(index.root)
    if not now:
        return []
    before, known = _load_saved_commits(index)
    if before == now:
        return known
    try:
        fresh = _read_log(index.root, f"{before}..{now}" if before else now)
    except ToolFailure:  # the stored commits are no longer in the history
        before, known = "", []
        try:
            fresh = _read_log(index.root, now)
        except (ToolFailure, UserError):  # git refuses the repository: no history is used
            return []
    except UserError:
        return []
    found = [*fresh, *known][:MOST_COMMITS]
    data = json.dumps([now, [[each.words, list(each.files)] for each in found]], separators=(",", ":"))
    index.store.save_computed(_KEY, 0, zlib.compress(data.encode(), 1))
    return found


def _load_saved_commits(index: Index) -> tuple[str, list[Commit]]:
    kept = index.store.load_computed(_KEY)
    if kept is None:
        return "", []
    before, rows = json.loads(zlib.decompress(kept[1]))
    return before, [Commit(words=words, files=files) for words, files in rows]


def _read_log(root: Path, revisions: str) -> list[Commit]:
    from tools.git.broker import Broker

    output = Broker(root).run(
        "log", f"--max-count={MOST_COMMITS}", "--no-merges", "--no-renames", "--no-show-signature",
        "--format=%x01%B%x02", "--name-only", revisions, "--",
    )  # fmt: skip
    return parse_log(output.stdout.decode("utf-8", "replace"))


def parse_log(log: str) -> list[Commit]:
    """Parse git's log into commits: \\x01, the message, \\x02, and a line per file."""
    found = []
    for entry in log.split("\x01")[1:]:
        message, _, names = entry.partition("\x02")
        files = [name for name in names.split("\n") if name]
        if 0 < len(files) <= MOST_FILES:
            words = " ".join(count_words(message[:MOST_MESSAGE]).elements())
            found.append(Commit(words=words, files=files))
    return found


def score_by_messages(index: Index, past: Sequence[Commit], words: Mapping[str, float]) -> dict[str, float]:
    """Score files, from 0 to 1, by the similarity of the messages of commits that changed them."""
    documents = [Counter(each.words.split(" ")) for each in past]
    rarity = _compute_rarity(documents, words)
    likeness = []
    for number, document in enumerate(documents):
        value = sum(
            words[word] * rarity[word] * 2.2 * count / (count + 1.2)
            for word, count in document.items()
            if word in rarity
        )
        if value:
            likeness.append((value / math.sqrt(5 + document.total()), number))
    scores: dict[str, float] = {}
    for value, number in sorted(likeness, key=lambda each: (-each[0], each[1]))[:LIKE]:
        files = _select_source_files(index, past[number])
        for path in files:
            scores[path] = scores.get(path, 0.0) + value**2 / len(files)
    most = max(scores.values(), default=1.0)
    return {path: math.sqrt(value / most) for path, value in scores.items()}


def score_by_history_share(
    index: Index, past: Sequence[Commit], words: Mapping[str, float]
) -> dict[str, float]:
    """Score files, from 0 to 1, by the share of similar commits among all commits that changed them.

    A file that every second commit changes says little about a subject; one that only commits of this subject
    change is closely related to it. The names of the changed files count as words of the message.
    """
    documents = [Counter(each.words.split(" ")) for each in past]
    changes: Counter[str] = Counter()
    for document, commit in zip(documents, past, strict=True):
        document.update(
            {
                word
                for path in commit.files
                for part in get_module_parts(path)[-2:]
                for word in split_identifier(part)
            }
        )
        changes.update(commit.files)
    rarity = _compute_rarity(documents, words)
    average = sum(each.total() for each in documents) / len(documents) if documents else 1.0
    likeness = []
    for number, document in enumerate(documents):
        flat = 1.2 * (0.5 + 0.5 * document.total() / average)
        value = sum(
            words[word] * rarity[word] * 2.2 * document[word] / (document[word] + flat)
            for word in sorted(document.keys() & rarity.keys())
        )
        if value:
            likeness.append((value, number))
    scores: dict[str, float] = {}
    for value, number in sorted(likeness, key=lambda each: (-each[0], each[1]))[:GIVEN]:
        files = _select_source_files(index, past[number])
        for path in files:
            scores[path] = scores.get(path, 0.0) + value**3 / len(files)
    rates = {path: value ** (1 / 3) / math.log(2 + changes[path]) for path, value in scores.items()}
    most = max(rates.values(), default=1.0)
    return {path: rate / most for path, rate in rates.items()}


def _compute_rarity(documents: Sequence[Counter[str]], words: Mapping[str, float]) -> dict[str, float]:
    having: Counter[str] = Counter()
    for document in documents:
        having.update(document.keys())
    return {word: math.log(1 + len(documents) / having[word]) for word in words if having[word]}


def _select_source_files(index: Index, commit: Commit) -> list[str]:
    """Return the commit's changed files that still exist, without tests."""
    return [path for path in commit.files if path in index and not is_test(path)]
