"""The mutation benchmark says what is meant, and nothing that nobody could tell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from benchmarks.edit_mutations import twins, whitespace, wording
from benchmarks.edit_mutations.catalogue import NAMES, Case, cases
from benchmarks.edit_mutations.draft import Draft, Source, Text, new_lines, old_lines, texts
from benchmarks.edit_mutations.histories import clone, hunks
from benchmarks.edit_mutations.judge import Tally, judged
from benchmarks.edit_mutations.matchers import Answer, Strict
from benchmarks.edit_mutations.oracle import Verdict, verdict
from benchmarks.edit_mutations.record import Record
from tools.edit.edit_model import Line, Op

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261121"))

FILE = """\
class Cart:
    def add(self, item, count=1):
        # keep the order in which they came
        self.items.append((item, count))

        self.changed = True

    def total(self):
        result = 0
        for item, count in self.items:
            result += item.price * count
        return result

    def clear(self):
        self.items.clear()
        self.changed = True
"""

SOURCE = Source(repository="shop", commit="0" * 40, path="cart.py", newline="\n", final_newline=True, bom=b"")


def draft(marked: str, file: str = FILE) -> Draft:
    """The hunk whose lines begin with their op, at the first place where its old lines stand."""
    ops: dict[str, Op] = {" ": " ", "-": "-", "+": "+"}
    truth = tuple(Line(ops[line[0]], line[1:]) for line in marked.splitlines())
    lines, old = tuple(file.splitlines()), old_lines(truth)
    start = next(index for index in range(len(lines)) if lines[index : index + len(old)] == old)
    return Draft(source=SOURCE, text=Text(lines), start=start, truth=truth, given=truth)


TOTAL = """\
         result = 0
         for item, count in self.items:
-            result += item.price * count
+            result += item.price * max(count, 0)
         return result
"""


def all_cases(hunk: Draft) -> list[Case]:
    return [case for number in range(4) for case in cases(hunk, f"{SEED} {number}")]


def written(hunk: Draft) -> list[tuple[str, str, str, str, bool]]:
    return [(case.name, case.form, case.sent, case.draft.old(), case.refuse) for case in cases(hunk, "7")]


def history(at: Path) -> Path:
    """A repository in which one file was changed in two places, and once in its line endings."""
    at.mkdir()
    (at / "cart.py").write_text(FILE)
    changes = [
        FILE.replace("count=1", "count=None").replace("result = 0", "result = None"),
        FILE.replace("count=1", "count=None"),
        FILE.replace("count=1", "count=None").replace("\n", "\r\n"),
    ]
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@a", "-c", "core.autocrlf=false"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(at)}
    for words in (["init", "-q"], ["add", "cart.py"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=at, env=env, check=True)
    for text in changes:
        (at / "cart.py").write_text(text, newline="")
        subprocess.run([*git, "commit", "-qam", "next"], cwd=at, env=env, check=True)
    return at


def test_hunks_are_drawn_from_a_history_but_not_those_that_change_line_endings(tmp_path: Path) -> None:
    drawn = hunks([clone(history(tmp_path / "shop"))], 10, SEED)
    assert len(drawn) == 2
    for hunk in drawn:
        assert hunk.text.lines[hunk.start : hunk.stop] == old_lines(hunk.truth)
        assert hunk.applied() != hunk.text.lines


@pytest.mark.slow
def test_the_same_seed_gives_the_same_cases(tmp_path: Path) -> None:
    shop = history(tmp_path / "shop")
    one, other = (hunks([clone(shop)], 10, SEED) for _ in range(2))
    assert [written(hunk) for hunk in one] == [written(hunk) for hunk in other]


def test_fewer_names_give_the_same_cases() -> None:
    every = [case for case in cases(draft(TOTAL), "7") if case.name == "two at once"]
    alone = list(cases(draft(TOTAL), "7", ["two at once"]))
    assert [case.draft.given for case in alone] == [case.draft.given for case in every]


def test_the_hunk_as_it_is_gives_what_is_right() -> None:
    plain = [case for case in all_cases(draft(TOTAL)) if case.name == "none" and case.form == "block"]
    assert plain
    for case in plain:
        assert judged(case, Strict().answer(case)) == "recovered"


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.startswith(("word", "comment", "blank", "oper"))]
)
def test_added_lines_are_left_alone(name: str) -> None:
    for case in all_cases(draft(TOTAL)):
        if case.name == name:
            assert texts(case.draft.given, "+") == texts(case.draft.truth, "+")


def test_what_indents_and_what_is_indented_shift_together() -> None:
    shifted = whitespace.unindented(Random(SEED), draft(TOTAL))
    assert shifted is not None
    assert new_lines(shifted.given)[0] == "result = 0"
    assert texts(shifted.given, "+") == ("    result += item.price * max(count, 0)",)


def test_a_blank_line_next_to_an_insertion_is_not_dropped() -> None:
    beside = "         self.items.append((item, count))\n+        self.count += 1\n \n         self.changed = True\n"
    assert all(whitespace.blank_dropped(Random(seed), draft(beside)) is None for seed in range(10))


def test_a_context_line_next_to_an_insertion_is_not_left_out() -> None:
    beside = "         result = 0\n+        count = 0\n         for item, count in self.items:\n"
    assert all(wording.line_missing(Random(seed), draft(beside)) is None for seed in range(10))


def test_a_line_over_which_another_is_moved_is_not_left_out() -> None:
    """What is left would say that nothing is moved."""
    moved = (
        "-        result = 0\n         kept = 2\n-        old = 1\n+        result = 0\n+        new = 1\n"
        "         last = 3\n"
    )
    still = moved.replace("+        result = 0", "+        other = 0")
    file = "        result = 0\n        kept = 2\n        old = 1\n        last = 3\n"
    first, last = "         first = 0\n", "         end = 4\n"
    found = [
        wording.line_missing(Random(seed), draft(f"{first}{each}{last}", f"{first[1:]}{file}{last[1:]}"))
        for each in (moved, still)
        for seed in range(10)
    ]
    left = [each is None or "        kept = 2" in old_lines(each.given) for each in found]
    assert all(left[:10])
    assert not all(left[10:])


def test_two_equal_places_are_to_be_refused() -> None:
    assert verdict(draft("-        self.changed = True\n+        self.changed = None\n")) is Verdict.REFUSE
    for seed in range(10):
        twice = twins.duplicated(Random(seed), draft(TOTAL))
        assert twice is not None
        assert verdict(twice) is Verdict.REFUSE


def test_a_place_between_two_likenesses_is_to_be_refused() -> None:
    told = [twins.contested(Random(seed), draft(TOTAL)) for seed in range(10)]
    assert {verdict(each) for each in told if each} == {Verdict.REFUSE}


def test_what_a_second_slip_has_made_stand_to_the_letter_is_no_place_between_two() -> None:
    told = [twins.contested(Random(seed), draft(TOTAL)) for seed in range(10)]
    assert {verdict(each.written(each.truth)) for each in told if each} == {Verdict.DROP}


def test_two_slips_that_leave_the_old_line_as_it_is_say_another_edit() -> None:
    one = draft(" class Cart:\n+class Till:\n")
    deeper = whitespace.indented(Random(SEED), one)
    assert deeper is not None
    assert verdict(deeper) is Verdict.APPLY
    (old, new) = deeper.given
    assert verdict(deeper.written([old._replace(text=old.text.lstrip()), new])) is Verdict.DROP


def test_two_slips_of_indentation_that_look_like_one_say_what_the_one_says() -> None:
    deep = "\t\tfoo(bar);\n\t\tlast(it);\n"
    one = draft(" \t\tfoo(bar);\n+\tend\n \t\tlast(it);\n", deep)
    once = one.written([line._replace(text=line.text[1:]) for line in one.given], "unindented by 1")
    assert verdict(once) is Verdict.APPLY
    spaced = [line._replace(text=line.text.replace("\t", "        ")) for line in once.given]
    assert verdict(once.written(spaced, "tabs as 8 spaces")) is Verdict.DROP


def test_lines_that_two_slips_have_made_of_others_say_another_edit() -> None:
    file = "alpha(one);\nbeta = gamma\nbeta = gamma\nbeta = gamma\n"
    hunk = draft(" alpha(one);\n beta = gamma\n beta = gamma\n+fresh:\n", file)
    first, _, last, new = hunk.given
    missing = hunk.written([first, last, new], "a context line is missing")
    both = missing.written([first, Line(" ", "});"), last, new], "a context line is invented")
    assert verdict(both) is Verdict.DROP
    made_up = hunk.written([first, Line(" ", "});"), *hunk.given[1:]], "a context line is invented")
    drifted = made_up.written([*made_up.given[:-1], new], "the same once more")
    assert verdict(drifted) is Verdict.APPLY


def test_what_stands_only_within_a_longer_name_is_to_be_refused() -> None:
    within = twins.within_a_name(Random(SEED), draft("-        result = 0\n+        result = 1\n"))
    assert within is not None
    assert verdict(within) is Verdict.REFUSE


def test_a_near_twin_leaves_one_place_that_is_meant() -> None:
    for seed in range(10):
        near = twins.near_twin(Random(seed), draft(TOTAL))
        assert near is not None
        assert verdict(near) is Verdict.APPLY
        assert near.text.lines[near.start : near.stop] == old_lines(near.truth)


def test_lines_that_say_another_place_are_dropped() -> None:
    elsewhere = draft("-        self.items.clear()\n+        pass\n").written(
        [Line("-", "        return result"), Line("+", "        pass")]
    )
    assert verdict(elsewhere) is not Verdict.APPLY


def test_what_stands_to_the_letter_at_one_other_place_is_dropped() -> None:
    long = "compute the sum of everything that is in the cart"
    file = f"{long}\nb\n{long} again\n\n{long}\nc\n{long} again\n"
    here = draft(f" {long}\n b\n-{long} again\n", file)
    drifted = [Line(" ", long), Line(" ", "c"), Line("-", f"{long} again")]
    assert verdict(here) is Verdict.APPLY
    assert verdict(here.written(drifted)) is Verdict.DROP
    assert verdict(here.written([Line(" ", long), Line(" ", "d"), *drifted[2:]])) is Verdict.REFUSE


def test_an_answer_is_judged_by_its_bytes() -> None:
    case = next(case for case in all_cases(draft(TOTAL)) if case.name == "none")
    wrong = case.right.replace(b"max", b"min")
    answers = {
        case.right: "recovered",
        case.before: "refused",
        case.right.replace(b"\n", b"\r\n"): "endings",
        case.right.replace(b"    ", b"\t"): "white space",
        wrong: "wrong",
    }
    assert {content: judged(case, Answer(content=content)) for content in answers} == answers
    assert judged(case, Answer(content=None)) == "refused"


def test_what_is_done_of_a_run_is_kept_and_counted_once(tmp_path: Path) -> None:
    tally, matcher = Tally(), Strict()
    for case in all_cases(draft(TOTAL)):
        if case.form in matcher.forms:
            tally.add(matcher.name, case, matcher.answer(case))
    path, of = tmp_path / "record", {"seed": SEED, "forms": ("block",)}
    one, other = Record(path, of), Record(path, of)
    one.add([0, 1], tally)
    other.add([0, 1], tally)
    other.add([2], tally)
    again = Record(path, of)
    total, done = again.total()
    assert again.done == {0, 1, 2}
    assert done == 3
    assert total.counts == {key: counter + counter for key, counter in tally.counts.items()}
    assert len(total.seconds["block", matcher.name]) == 2 * len(tally.seconds["block", matcher.name])
    with pytest.raises(ValueError, match="another run"):
        Record(path, {**of, "seed": SEED + 1})


def test_a_change_that_a_slip_has_made_invisible_has_no_right_answer() -> None:
    file = "func a() {\n        b()\n\tc()\n}\n"
    made = draft(" func a() {\n-        b()\n-\tc()\n+\tb()\n+\td()\n }\n", file)
    assert verdict(made) is Verdict.APPLY
    eight = made.written([Line(line.op, line.text.replace("\t", " " * 8)) for line in made.given])
    assert verdict(eight) is Verdict.DROP
