"""What the user trusts is kept in private, by repository, and holds for exactly what was there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.policy.trust import Definition, TrustStore, compute_digest, trust_nothing


def hook(name: str, says: str) -> Definition:
    return Definition(kind="hook", name=name, runs=f"/x/{name}", digest=says)


def test_nothing_is_trusted_before_the_user_says_so(tmp_path: Path) -> None:
    trusts = TrustStore(tmp_path / "config").create_check(tmp_path)
    assert not trusts([hook("pre-commit", "1")])
    assert not trust_nothing([hook("pre-commit", "1")])
    assert not (tmp_path / "config").exists()


def test_a_word_holds_for_what_was_there_and_not_for_a_change_or_another_folder(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "config")
    one, two = hook("pre-commit", "1"), hook("commit-msg", "2")
    store.grant(tmp_path, [one, two])
    trusts = store.create_check(tmp_path)
    assert trusts([two, one])
    for other in ([one], [one, hook("commit-msg", "3")], [one, two, hook("post-commit", "4")]):
        assert not trusts(other)
    assert not store.create_check(tmp_path / "config")([one, two])


def test_the_word_is_the_users_alone_and_can_be_taken_back(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "config")
    store.grant(tmp_path, [hook("pre-commit", "1")])
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600
    assert [path.name for path in store.file.parent.iterdir()] == ["trust.json"]
    trusts = store.create_check(tmp_path)
    assert store.revoke(tmp_path)
    assert not store.revoke(tmp_path)
    assert not trusts([hook("pre-commit", "1")])
    assert store.list_roots() == []


@pytest.mark.parametrize("content", ["", "[]", "{", "\udcff"])
def test_a_file_that_is_broken_trusts_nobody_and_is_named(tmp_path: Path, content: str) -> None:
    store = TrustStore(tmp_path)
    store.file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=r"trust\.json"):
        store.create_check(tmp_path)([hook("pre-commit", "1")])


def test_names_and_contents_cannot_be_shifted_into_each_other() -> None:
    assert compute_digest([hook("a", "b\nc")]) != compute_digest([hook("a\nb", "c")])
    assert compute_digest([hook("a", "1"), hook("b", "2")]) != compute_digest(
        [hook("a", "2"), hook("b", "1")]
    )
