"""Which small fixes the templates make at all: `python -m benchmarks.templates.coverage mine|report`.

Nothing is run: told the file and the line, is what the author wrote among the first candidates for it? That is what
search can come to at best, and says of hundreds of fixes what running can say of dozens. Tests' messages are not there,
so templates that live on them say nothing; the words of the tests are.
"""

from __future__ import annotations

import argparse
import ast
import json
import posixpath
import re
import statistics
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeGuard

from benchmarks.templates.commit_files import read_program
from benchmarks.templates.history import Fix, changes, load_fixes, small_fixes
from benchmarks.templates.kinds import kind_of
from packages.offline.repair.engine.candidates.candidate_generation import (
    GROUPS_FITTED,
    generate_at_statement,
    identify_change,
    identify_statement,
)
from packages.offline.repair.engine.candidates.likelihood import Traits
from packages.offline.repair.localize.statement_ranking import create_suspect, get_own_lines
from packages.offline.repair.templates import Change, Hints, ProjectSources, Site, Source

# Candidates of a line that are kept to fit on, when the right one is among them.
MOST = 3000
# A statement that is longer than this when it is written on one line is a table.
WIDEST = 300
# Files of the same folder that lend their ways, so many and not larger.
MOST_NEAR, LARGEST_NEAR = 8, 60_000
# Lines around a change that are compared before whole programs are.
_AROUND = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One edit of a fix, looked up among the candidates for its line.

    place: how many candidates come before it; None when it is not among them
    made: how many come before it, or there are at all, counted before those that say the same are left out
    shown: the edit as a person reads it
    """

    project: str
    commit: str
    fold: int
    edits: int
    kind: str
    template: str | None
    place: int | None
    made: int
    shown: str
    tried: Sequence[tuple[str, Traits]] = ()


def look_up(fix: Fix, *, near: bool = True, keep: bool = False) -> Iterator[Made]:
    """Each edit of a fix on its own. `near`: with other files of its folder; `keep`: the candidates, to fit on."""
    before, after = fix.programs()
    source = Source(fix.path, before)
    around = _neighbours(fix) if near else {}
    hints = Hints(test_words=fix.told())
    old, new = before.split("\n"), after.split("\n")
    for a, b, c, d in changes(before, after):
        if any(len(line) > WIDEST for line in (*old[a:b], *new[c:d])):
            continue
        wanted = [*old[:a], *new[c:d], *old[b:]]
        template, place, tried = _first_alike(source, around, hints, (a, b), wanted, keep)
        shown = "\n".join([*(f"- {line}" for line in old[a:b]), *(f"+ {line}" for line in new[c:d])])
        yield Made(
            project=fix.project, commit=fix.commit, fold=fix.fold, edits=fix.edits, shown=shown,
            kind=kind_of(old[a:b], new[c:d]), template=template, place=place, made=len(tried),
            tried=tried if keep and place is not None and place < MOST else (),
        )  # fmt: skip


def _first_alike(
    source: Source, around: Mapping[str, Source], hints: Hints, span: tuple[int, int], wanted: Sequence[str],
    keep: bool,
) -> tuple[str | None, int | None, list[tuple[str, Traits]]]:  # fmt: skip
    """(template, place) of the first candidate that comes to the wanted lines, and (template, traits) of all.

    keep: those after it too, `MOST` in all
    """
    first, end = span
    # What is put between two statements may be made at either of them.
    lines = set(range(first + 1, end + 1)) if end > first else {first, first + 1}
    package = ProjectSources([source, *around.values()])
    places = [
        (create_suspect(source, each, 1.0), Site(source=source, statement=each, around=package, hints=hints))
        for each in source.statements
        if lines & {*_lines_of(each)}
    ]
    seen: set[str] = set()
    every = [
        (-priority, number, order, suspect, name, change, known)
        for group in GROUPS_FITTED
        for number, (suspect, site) in enumerate(places)
        for order, (priority, name, change, known) in enumerate(
            generate_at_statement(suspect, site, group, seen, True)
        )
    ]
    every.sort(key=lambda each: each[:3])
    alike = _Alike(source, span, wanted)
    right = next((place for place, each in enumerate(every) if alike(each[-2])), None)
    written = [(name, tuple(round(each, 3) for each in known)) for _, _, _, _, name, _, known in every]
    if right is None or right >= MOST:
        return (None if right is None else every[right][4]), right, written
    # Only now those that are no Python, or that say the same once more, need be told from the others.
    meant = {None, *(identify_statement(source, suspect.statement) for suspect, _ in places)}
    tried: list[tuple[str, Traits]] = []
    place = 0
    for number, (_, _, _, suspect, _, change, _) in enumerate(every[: MOST if keep else right + 1]):
        meaning = identify_change(source, suspect.statement, change)
        if number == right:
            place = len(tried)
        elif meaning in meant:
            continue
        meant.add(meaning)
        tried.append(written[number])
    return written[right][0], place, tried


class _Alike:
    """Whether a change of a source comes to the wanted lines: compared around the span first, then as a whole."""

    def __init__(self, source: Source, span: tuple[int, int], wanted: Sequence[str]) -> None:
        top = max(1, span[0] + 1 - _AROUND)
        bottom = min(span[1] + 1 + _AROUND, source.text.count("\n") + 1)
        self.source, self.goal = source, "\n".join(wanted)
        self.start, self.stop = source.get_line_start(top), source.get_line_start(bottom)
        below = source.text.count("\n", self.stop)
        self.window = _squashed("\n".join(wanted[top - 1 : len(wanted) - 1 - below]))

    def __call__(self, change: Change) -> bool:
        if change.start < self.start or self.stop < change.end:
            return False
        text = self.source.text
        window = text[self.start : change.start] + change.text + text[change.end : self.stop]
        if _squashed(window) != self.window:
            return False
        return _same(text[: self.start] + window + text[self.stop :], self.goal)


def _lines_of(statement: ast.stmt) -> Iterator[int]:
    """Where a statement itself stands; its handlers and `else` are changed as part of it."""
    yield from get_own_lines(statement)
    if isinstance(statement, ast.Try):
        yield from (each.lineno for each in statement.handlers)
    if isinstance(statement, ast.If) and statement.orelse:
        yield from range((statement.body[-1].end_lineno or 0) + 1, statement.orelse[0].lineno)


def _same(text: str, goal: str) -> bool:
    """The same program, in whichever order operands of `and` and `or`, keyword arguments and entries are written."""
    try:
        return ast.dump(_Ordered().visit(ast.parse(text))) == ast.dump(_Ordered().visit(ast.parse(goal)))
    except SyntaxError:
        return False


class _Ordered(ast.NodeTransformer):
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        inner = [each.values if _is_alike(each, node) else [each] for each in node.values]
        node.values = sorted((each for values in inner for each in values), key=ast.dump)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords.sort(key=lambda each: each.arg or "~")
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        if all(isinstance(each, ast.Constant) for each in node.keys):
            pairs = sorted(
                zip(node.keys, node.values, strict=True), key=lambda each: ast.dump(each[0] or each[1])
            )
            node.keys, node.values = [key for key, _ in pairs], [value for _, value in pairs]
        return node


def _is_alike(node: ast.expr, above: ast.BoolOp) -> TypeGuard[ast.BoolOp]:
    return isinstance(node, ast.BoolOp) and type(node.op) is type(above.op)


def _squashed(text: str) -> str:
    """The signs of a text but for blanks, parentheses, commas and quotes, which may be written otherwise; in order."""
    return "".join(sorted(re.sub(r"""[\s(),"'\\]""", "", text)))


def _neighbours(fix: Fix) -> dict[str, Source]:
    folder = posixpath.dirname(fix.path)
    listed = subprocess.run(
        ["git", "-C", fix.clone, "ls-tree", "-l", f"{fix.commit}^", f"{folder}/" if folder else "."],
        capture_output=True, check=False, encoding="utf-8",
    ).stdout  # fmt: skip
    files = [line.split(None, 4) for line in listed.splitlines() if line.endswith(".py")]
    sized = {path: int(size) for _, _, _, size, path in files if size.isdigit() and path != fix.path}
    found: dict[str, Source] = {}
    for path in sorted(path for path, size in sized.items() if size <= LARGEST_NEAR)[:MOST_NEAR]:
        try:
            found[path] = Source(path, read_program(fix.clone, f"{fix.commit}^", path))
        except (SyntaxError, ValueError):
            continue
    return found


def table(found: Sequence[Made], first: int) -> str:
    """By kind of change: edits, how many are made, among the first so many, and at which place."""
    kinds: dict[str, list[Made]] = defaultdict(list)
    for each in found:
        kinds[each.kind].append(each)
    lines = [f"{'kind of change':34} edits  made          first {first}     median place"]
    for kind, row in [*sorted(kinds.items(), key=lambda item: -len(item[1])), ("all edits", list(found))]:
        places = [each.place for each in row if each.place is not None]
        early = [place for place in places if place < first]
        middle = f"{statistics.median(places):.0f}" if places else "–"
        lines.append(
            f"{kind:34} {len(row):5}  {len(places):4} {_share(len(places), len(row)):>5}  "
            f"{len(early):4} {_share(len(early), len(row)):>5}  {middle:>8}"
        )
    return "\n".join(lines)


def whole(found: Sequence[Made], first: int) -> str:
    """How many fixes have all their edits made, among the first so many at each line."""
    fixes: dict[str, list[Made]] = defaultdict(list)
    for each in found:
        fixes[each.commit].append(each)
    made = sum(all(e.place is not None for e in edits) for edits in fixes.values())
    early = sum(all(e.place is not None and e.place < first for e in edits) for edits in fixes.values())
    number = len(fixes)
    return (
        f"{number} fixes, {made} ({_share(made, number)}) made whole, "
        f"{early} ({_share(early, number)}) among the first {first} at each line"
    )


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.0f} %" if of else "–"


def main() -> None:
    options = _parser().parse_args()
    if options.command == "mine":
        with options.fixes.open("a", encoding="utf-8") as file:
            for clone in options.clones:
                found = 0
                for fix in small_fixes(clone.resolve(), options.newest):
                    file.write(fix.as_line())
                    found += 1
                print(f"{clone}: {found}", flush=True)
        return
    every = load_fixes(options.fixes)
    chosen = [each for each in every if options.fold in (None, each.fold)][options.skip :: options.every]
    found = []
    for fix in chosen:
        try:
            looked = list(look_up(fix, near=not options.alone, keep=options.keep is not None))
        except (SyntaxError, ValueError, RecursionError):
            continue
        found += looked
        for each in looked:
            if options.misses and each.place is None and not each.fold:  # of the others, counts alone
                print(
                    f"{each.project} {each.commit[:10]} [{each.kind}] {each.made}\n{each.shown}\n", flush=True
                )
    if options.keep:
        options.keep.write_text("".join(json.dumps(asdict(each)) + "\n" for each in found), "utf-8")
    for fold in sorted({each.fold for each in found}):
        row = [each for each in found if each.fold == fold]
        print(f"\nprojects of fold {fold}: {whole(row, options.first)}\n{table(row, options.first)}")
        won = Counter(each.template for each in row if each.template)
        print("made by: " + ", ".join(f"{name} {number}" for name, number in won.most_common()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.templates.coverage", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine", help="find small fixes in the history of clones")
    mining.add_argument("fixes", type=Path, help="file of JSON lines, one a fix, that is added to")
    mining.add_argument("clones", type=Path, nargs="+")
    mining.add_argument("--newest", type=int, default=6000, help="commits of each clone that are looked at")
    told = commands.add_parser("report", help="what the templates make of them")
    told.add_argument("fixes", type=Path)
    told.add_argument(
        "--first", type=int, default=300, help="candidates that are thought to be tried at a line"
    )
    told.add_argument("--fold", type=int, choices=(0, 1), help="only projects of this fold")
    told.add_argument("--every", type=int, default=1, help="only each so-manieth fix")
    told.add_argument("--skip", type=int, default=0, help="that many first ones")
    told.add_argument("--alone", action="store_true", help="without other files of the folder")
    told.add_argument("--misses", action="store_true", help="print what is not made, of fold 0")
    told.add_argument("--keep", type=Path, help="file of JSON lines for what was found, with the candidates")
    return parser


if __name__ == "__main__":
    main()
