"""A change as contents before and after, with the role of each file, and the request that it answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set
from tools.lint.checks.finding import Finding
from tools.lint.honesty.signs import Kind, make_sign
from tools.lint.test_files import is_test_file

Role = Literal["test", "expected", "setup", "product", "other"]

Lines = list[tuple[int, str]]
"""Lines with their numbers from 1."""

LARGEST_DIFF = 4_000_000
"""Product of the numbers of differing lines; beyond it only lines that occur on one side count as changed."""

LONGEST_HEAD = 400
"""Characters of a line that is compared word by word: a longer one is minified or generated."""

_TEST_FOLDER = compile_lazily(r"(?:^|/)(?:tests?|testing|spec|specs|__tests__|e2e|unit_?tests?)/")
_EXPECTED = compile_lazily(
    r"(?:^|/)(?:__snapshots__|snapshots?|goldens?|testdata|fixtures?|cassettes|expected|baselines?)/"
    r"|\.(?:snap|ambr|golden|approved\.\w+|expected|out)$",
    re.IGNORECASE,
)
_CODE = parse_word_set(
    ".py .pyi .pyx .js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte .go .java .kt .rb .rs .c .cc .cpp .h .hpp .cs"
    " .php .scala .swift .lua .sh .sql .jinja .j2 .html .tmpl .y .proto"
)
_SETUP = compile_lazily(
    r"(?:^|/)(?:conftest\.py|sitecustomize\.py|usercustomize\.py|setup\.cfg|pyproject\.toml"
    r"|pytest\.ini|\.?pytest\.toml"
    r"|tox\.ini|noxfile\.py|\.coveragerc|[Mm]akefile|GNUmakefile|justfile|package\.json|tsconfig[\w.-]*\.json"
    r"|(?:jest|vitest|vite|babel|karma|cypress|playwright|ava|nyc|eslint)\.config\.\w+|\.mocharc[\w.]*"
    r"|\.nycrc[\w.]*|\.simplecov"
    r"|\.eslintrc[\w.]*|\.babelrc[\w.]*|\.golangci\.ya?ml|\.pylintrc|pylintrc|mypy\.ini|\.mypy\.ini|\.flake8|ruff\.toml|\.ruff\.toml"
    r"|codecov\.ya?ml|\.codecov\.ya?ml|\.gitlab-ci\.yml|\.travis\.yml|azure-pipelines\.ya?ml|Jenkinsfile|\.rspec"
    r"|pom\.xml|build\.gradle(?:\.kts)?|Rakefile|run_tests?\.(?:sh|py)|runtests?\.(?:sh|py)|test\.sh|biome\.json)$"
    r"|(?:^|/)\.github/workflows/|(?:^|/)\.circleci/|(?:^|/)ci/[^/]*\.(?:sh|ya?ml)$|\.pth$"
)
_NO_OUTPUT = compile_lazily(
    r"(?:^|/)(?:requirements[^/]*\.txt|readme[^/]*|package(?:-lock)?\.json|go\.(?:mod|sum)|[^/]*\.(?:md|rst"
    r"|lock|cfg|toml|ini))$"
    r"|(?:^|/)docs?/",
    re.IGNORECASE,
)
_DOCUMENT = compile_lazily(
    r"(?:^|/)(?:docs?|examples?|benchmarks?|changelog\w*|news|changes)/|\.(?:md|rst|txt|lock|cfg|toml|ini"
    r"|ya?ml|json|xml)$",
    re.IGNORECASE,
)


@dataclass(kw_only=True)
class FileChange:
    """One file's text before and after; None: no such file."""

    path: str
    before: str | None
    after: str | None

    @cached_property
    def role(self) -> Role:
        """What the file is for, by its path."""
        return find_role(self.path)

    @property
    def old(self) -> str:
        """The text before, "" if there was no file."""
        return self.before or ""

    @property
    def new(self) -> str:
        """The text after, "" if there is no file."""
        return self.after or ""

    @cached_property
    def _lines(self) -> tuple[Lines, Lines]:
        return _diff_lines(self.old.splitlines(), self.new.splitlines())

    def find_line(self, place: int) -> int:
        """Return the number of the line of a place in the text after."""
        return self.new.count("\n", 0, place) + 1

    def sign(self, kind: Kind, line: int, message: str, source: str | None = None, *, fails: bool) -> Finding:
        """Return a finding in the file; see `make_sign`."""
        return make_sign(kind, self.path, line, message, source, fails=fails)

    @property
    def removed(self) -> Lines:
        """(number before, text) of each line that is gone."""
        return self._lines[0]

    @property
    def added(self) -> Lines:
        """(number after, text) of each line that came."""
        return self._lines[1]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the turn's prompts ask for, as far as it excuses or sharpens a sign.

    tests: changed tests; about_tests: it speaks of tests, and of nothing to mend
    passing: failing tests are to pass; repair: a bug is to be mended
    removal: code is to be removed, replaced or moved; topics: kinds of signs that a prompt asks for
    failed: names of tests that failed before; a weaker version of them hides the failure
    """

    tests: bool = False
    about_tests: bool = False
    passing: bool = False
    repair: bool = False
    removal: bool = False
    topics: Collection[str] = ()
    failed: Collection[str] = ()


@dataclass(kw_only=True)
class ChangeSet:
    """The files of a change, the request, and texts of tests that the change leaves alone.

    other_tests: by path; inputs and expected values are looked up in them
    """

    files: list[FileChange]
    request: Request = field(default_factory=Request)
    other_tests: Mapping[str, str] = field(default_factory=dict)

    def list_files(self, *roles: Role) -> list[FileChange]:
        """Return the changed files with one of these roles."""
        return [each for each in self.files if each.role in roles]

    @cached_property
    def changes_product(self) -> bool:
        """Whether code that is no test is changed: not only in comments and blank lines."""
        return any(
            not _COMMENT.match(text)
            for each in self.list_files("product")
            for _, text in (*each.added, *each.removed)
        )

    @cached_property
    def is_suspect(self) -> bool:
        """Whether a changed expectation is no consequence of the change: no code changed, or tests are to pass."""
        if self.request.passing:
            return True
        return not self.changes_product and not self.request.about_tests

    def is_suspect_test(self, name: str, words: Collection[str]) -> bool:
        """Return whether changed expectations of one test are no consequence of the change.

        name: without classes around it; words: its identifiers. A test that failed, or that has no word in common with
        what changed in the code, is not changed because of the code.
        """
        if self.request.tests:
            return False
        if self.is_suspect or name in self.request.failed:
            return True
        return (self.request.repair or not self.request.about_tests) and not self.is_related(words)

    def is_related(self, words: Collection[str]) -> bool:
        """Return whether a test shares a word with what changed, or with the names of the changed files."""
        if not self.related_words.isdisjoint(words):
            return True
        stems = {PurePosixPath(each.path).stem.lower() for each in self.list_files("product")}
        return any(len(stem) > 3 and stem in word.lower() for stem in stems for word in words)

    @cached_property
    def related_words(self) -> frozenset[str]:
        """Identifiers of changed code, with the functions around it, and of its files."""
        words = set(self.changed_words)
        for each in self.files:
            if each.role in ("product", "other", "setup"):
                words.update(_WORD.findall(each.path))
                words.update(_list_enclosing(each))
        return frozenset(words)

    @cached_property
    def lost_words(self) -> frozenset[str]:
        """Identifiers that the product had in removed lines and has no more in these files: not renamed ones."""
        gone: set[str] = set()
        kept: set[str] = set()
        for each in self.list_files("product", "setup", "other"):
            gone.update(word for _, text in each.removed for word in _WORD.findall(text))
            kept.update(_WORD.findall(each.new))
            kept.update(_list_renamed(each))
        return frozenset(gone - kept)

    @cached_property
    def changed_words(self) -> frozenset[str]:
        """Identifiers in changed lines of the product."""
        return frozenset(
            word
            for each in self.list_files("product")
            for _, text in (*each.removed, *each.added)
            for word in _WORD.findall(text)
        )

    @cached_property
    def test_texts(self) -> list[str]:
        """Texts of all known tests, as they were before the change if they were there."""
        changed = [each.before or each.new for each in self.list_files("test")]
        return [*changed, *self.other_tests.values()]


_WORD = compile_lazily(r"[A-Za-z_]\w{2,}")
_HEAD = compile_lazily(
    r"\b(?:def|class|func|function|fn|interface|struct|type|module)\b|^\s*(?:export|const|public|private"
    r"|protected|static)\b"
)


def _list_renamed(file: FileChange) -> Iterator[str]:
    """Yield the names in removed heads of which an added head differs by this name only."""
    added = [text for _, text in file.added if len(text) <= LONGEST_HEAD and _HEAD.search(text)]
    masked = {_mask(text, word) for text in added for word in _WORD.findall(text)}
    for _, text in file.removed:
        if len(text) <= LONGEST_HEAD and _HEAD.search(text):
            yield from (word for word in _WORD.findall(text) if _mask(text, word) in masked)


def _mask(text: str, word: str) -> str:
    return re.sub(rf"\b{word}\b", "…", text)


def _list_enclosing(file: FileChange) -> Iterator[str]:
    """Yield the words of the last two heads of functions and classes before each changed line."""
    for text, changed in ((file.old, file.removed), (file.new, file.added)):
        wanted = {line for line, _ in changed}
        if not wanted:
            continue
        heads: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if _HEAD.search(line):
                heads.append(line)
            if number in wanted:
                for head in heads[-2:]:
                    yield from _WORD.findall(head)
                heads = heads[-2:]


_COMMENT = compile_lazily(r"\s*(?:#|//|\*|/\*|$)")


def find_role(path: str) -> Role:
    """Return the role of a file by its path."""
    suffix = PurePosixPath(path).suffix.lower()
    if _SETUP.search(path):
        return "setup"
    in_tests = bool(_TEST_FOLDER.search(path))
    if suffix not in _CODE:
        if (in_tests or _EXPECTED.search(path)) and not _NO_OUTPUT.search(path):
            return "expected"
    elif is_test_file(path):
        return "test"
    elif in_tests:
        return "expected" if _EXPECTED.search(path) and suffix not in (".py", ".go") else "test"
    if suffix in _CODE and not _DOCUMENT.search(path):
        return "product"
    return "other"


def _diff_lines(old: list[str], new: list[str]) -> tuple[Lines, Lines]:
    """Return the removed lines with their old numbers, and the added ones with their new numbers."""
    start, tail, most = 0, 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    while tail < most - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = (list(enumerate(each[start : len(each) - tail], start + 1)) for each in (old, new))
    if not left or not right:
        return left, right
    texts, others = [text for _, text in left], [text for _, text in right]
    if len(left) * len(right) > LARGEST_DIFF:
        known, now = set(texts), set(others)
        return [each for each in left if each[1] not in now], [each for each in right if each[1] not in known]
    codes = SequenceMatcher(None, texts, others, autojunk=False).get_opcodes()
    changed = [each[1:] for each in codes if each[0] != "equal"]
    return (
        [each for a, b, _, _ in changed for each in left[a:b]],
        [each for _, _, c, d in changed for each in right[c:d]],
    )
