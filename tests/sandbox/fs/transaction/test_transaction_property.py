"""Random changes of random trees: the tree is as a model says, or, when it says no, as it was."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.transactions import Remove, Write
from tests.sandbox.trees import Image, Place, image
from tests.support.stress import count_cases

EXAMPLES = count_cases(150)

# Few names, so that changes often meet: what is a file here is a folder there.
NAMES = ("a", "b", "a/x", "a/x/deep", "b/c", "d/e/f", "d/e/g", "ü \n", "-r")
CONTENTS = (b"", b"one\n", b"two\r\n", b"\0\xff")

TREES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(CONTENTS), max_size=6)

# Of each change also what it believes to be there: most often the truth ("now"), now and then something else.
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.one_of(st.none(), st.sampled_from(CONTENTS)),  # None: to be removed
        st.sampled_from(("now", "now", "now", "now", "now", "now", "nothing", "other")),
        st.sampled_from((None, None, 0o600, 0o755)),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda change: change[0],
)

Wanted = tuple[str, bytes | None, str, int | None]


def below(path: str, other: str) -> bool:
    return path.startswith(f"{other}/")


def build(folder: Path, files: dict[str, bytes]) -> Place:
    """A tree of those files that have room: one that would lie in another is left out."""
    room = {path: c for path, c in files.items() if not any(below(path, other) for other in files)}
    return Place.make(folder, room)


def change(place: Place, wanted: Wanted) -> Write | Remove:
    path, content, belief, mode = wanted
    target = place.root / path
    now = compute_fingerprint(target.read_bytes()) if target.is_file() else None
    before = {"now": now, "nothing": None, "other": compute_fingerprint(b"other")}[belief]
    if content is None:
        return Remove(path=path, before=before or compute_fingerprint(b"nothing"))
    return Write(path=path, content=content, before=before, mode=mode)


def possible(place: Place, wanted: list[Wanted]) -> bool:
    """Said in other words than the code: by looking at the tree as anybody would."""
    written = [path for path, content, _, _ in wanted if content is not None]
    for path, content, belief, _ in wanted:
        target = place.root / path
        if target.is_dir() or any((place.root / parent).is_file() for parent in Path(path).parents):
            return False
        there = target.is_file()
        if belief == "other" or (there and belief == "nothing") or (content is None and not there):
            return False
    return not any(below(path, other) for path in written for other in written)


def model(before: Image, wanted: list[Wanted]) -> dict[str, bytes]:
    files = {path: content for path, (mode, content) in before.items() if mode & 0o100000 == 0o100000}
    for path, content, _, _ in wanted:
        if content is None:
            del files[path]
        else:
            files[path] = content
    return files


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES)
@given(files=TREES, wanted=CHANGES)
def test_changes_are_made_as_the_model_says_or_not_at_all(
    files: dict[str, bytes], wanted: list[Wanted]
) -> None:
    with TemporaryDirectory() as folder:
        place = build(Path(folder), files)
        before = place.image()
        changes = [change(place, each) for each in wanted]
        if not possible(place, wanted):
            with pytest.raises(ValueError):  # noqa: PT011 - which one depends on the first hindrance
                place.commit(*changes)
            assert place.image() == before
        else:
            place.commit(*changes)
            found = image(place.root)
            assert {p: c for p, (mode, c) in found.items() if mode & 0o100000 == 0o100000} == model(
                before, wanted
            )
            for each in changes:
                if isinstance(each, Write) and (each.mode or each.path in before):
                    mode = each.mode if each.mode is not None else before[each.path][0] & 0o7777
                    assert found[each.path][0] & 0o7777 == mode
        assert place.records() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES)
@given(
    files=TREES,
    wanted=CHANGES,
    hindrance=st.integers(0, 5),
    kind=st.sampled_from(("folder in its place", "file in place of its folder")),
)
def test_a_hindrance_at_any_change_leaves_the_tree_as_it_was(
    files: dict[str, bytes], wanted: list[Wanted], hindrance: int, kind: str
) -> None:
    with TemporaryDirectory() as folder:
        place = build(Path(folder), files)
        honest = [(path, content, "now", mode) for path, content, _, mode in wanted]
        if not possible(place, honest):
            return
        changes = [change(place, each) for each in honest]
        path = place.root / changes[hindrance % len(changes)].path
        if kind == "folder in its place":
            path.unlink(missing_ok=True)
            path.mkdir(parents=True)
        elif path.parent == place.root or path.parent.exists():
            return
        else:
            path.parent.parent.mkdir(parents=True, exist_ok=True)
            path.parent.write_bytes(b"in the way")
        before = place.image()
        with pytest.raises(ValueError):  # noqa: PT011 - as above
            place.commit(*changes)
        assert place.image() == before
        assert place.records() == []
