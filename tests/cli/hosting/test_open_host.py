"""Addresses of remotes, the services that they belong to, and the token's way."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.hosting.open_host import find_place, open_host, parse_remote
from cli.hosting.rest_client import RestClient
from sandbox.errors import UserError


@pytest.mark.parametrize(
    ("remote", "host", "name"),
    [
        ("git@github.com:ann/shop.git", "github.com", "ann/shop"),
        ("https://github.com/ann/shop", "github.com", "ann/shop"),
        ("ssh://git@gitlab.com:2222/group/sub/shop.git", "gitlab.com", "group/sub/shop"),
        ("https://user:word@Codeberg.org/ann/shop.git/", "codeberg.org", "ann/shop"),
        ("http://127.0.0.1:3000/ann/shop.git", "127.0.0.1:3000", "ann/shop"),
    ],
)
def test_a_remote_is_read(remote: str, host: str, name: str) -> None:
    assert parse_remote(remote) == (host, name)


@pytest.mark.parametrize(
    "remote", ["", "/srv/git/shop.git", "../shop", "https://github.com/", "git@github.com:../../x/y"]
)
def test_a_remote_elsewhere_is_refused(remote: str) -> None:
    with pytest.raises(UserError):
        parse_remote(remote)


@pytest.mark.parametrize(
    ("remote", "hosting", "api"),
    [
        ("git@github.com:a/b", {}, "https://api.github.com"),
        ("git@gitlab.com:a/b", {}, "https://gitlab.com/api/v4"),
        ("git@codeberg.org:a/b", {}, "https://codeberg.org/api/v1"),
        ("git@git.example.org:a/b", {"git.example.org": "forgejo"}, "https://git.example.org/api/v1"),
        ("git@git.example.org:a/b", {"git.example.org": "github"}, "https://git.example.org/api/v3"),
        ("git@x.org:a/b", {"x.org": "gitlab https://x.org/git/api/v4/"}, "https://x.org/git/api/v4"),
    ],
)
def test_the_service_is_the_known_one_or_the_users(remote: str, hosting: dict[str, str], api: str) -> None:
    assert find_place(remote, hosting).api == api


@pytest.mark.parametrize("hosting", [{}, {"gitlab.evil.org": "sourceforge"}])
def test_no_other_host_gets_a_token_by_its_name(hosting: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"gitlab\.evil\.org|sourceforge"):
        find_place("git@gitlab.evil.org:a/b", hosting)


OWN = {"git.example.org": "gitlab"}

OTHERS = {
    "GITHUB_TOKEN": "for-github",
    "GITLAB_TOKEN": "for-gitlab",
    "GITEA_TOKEN": "for-gitea",
    "FORGEJO_TOKEN": "for-codeberg",
}


@pytest.mark.parametrize(
    ("remote", "hosting", "env", "sent"),
    [
        ("git@gitlab.com:a/b", {}, {}, "for-gitlab"),
        ("git@codeberg.org:a/b", {}, {}, "for-codeberg"),
        ("git@gitea.com:a/b", {}, {}, "for-gitea"),
        ("git@git.example.org:a/b", OWN, {"GITLAB_HOST": "git.example.org"}, "for-gitlab"),
        ("git@git.example.org:a/b", OWN, {"CI_SERVER_URL": "https://Git.Example.org"}, "for-gitlab"),
        ("git@git.example.org:a/b", {"git.example.org": "gitea token=MINE"}, {"MINE": "mine"}, "mine"),
        ("git@git.example.org:a/b", {"git.example.org": "gitea https://x.org/a token=MINE"}, {"MINE": "m"}, "m"),
        ("git@git.example.org:a/b", {"git.example.org": "github https://x.org token=MINE"}, {"MINE": "m"}, "m"),
        # of the same kind, and another host
        ("git@git.example.org:a/b", {"git.example.org": "gitlab"}, {}, None),
        ("git@git.example.org:a/b", {"git.example.org": "gitea"}, {}, None),
        ("git@git.example.org:a/b", {"git.example.org": "gitea token=MINE"}, {}, None),
        ("git@gitlab.com:a/b", {}, {"GITLAB_HOST": "git.example.org"}, None),
        ("git@codeberg.org:a/b", {}, {"FORGEJO_SERVER_URL": "https://git.example.org"}, None),
        ("git@git.example.org:a/b", {"git.example.org": "github https://x.org"}, {}, ""),
        ("https://gitlab.com:8443/a/b", {"gitlab.com:8443": "gitlab"}, {}, None),
    ],
)  # fmt: skip
def test_a_token_is_sent_to_its_own_host_only(
    remote: str, hosting: dict[str, str], env: dict[str, str], sent: str | None, tmp_path: Path
) -> None:
    place = find_place(remote, hosting)
    if sent is None:
        with pytest.raises(UserError, match="no token for"):
            open_host(place, tmp_path, OTHERS | env)
        return
    client = open_host(place, tmp_path, OTHERS | env).client  # type: ignore[attr-defined]
    assert [each.removeprefix("token ") for each in client.headers.values()] == ([sent] if sent else [])


GHES = {"ghes.example.org": "github https://ghes.example.org/api/v3"}
CLOUD = {"github.com": "github https://api.github.com"}


@pytest.mark.parametrize(
    ("remote", "env", "sent"),
    [
        ("git@ghes.example.org:a/b", {"GH_HOST": "ghes.example.org", "GH_TOKEN": "cloud"}, []),
        ("git@ghes.example.org:a/b", {"GH_HOST": "ghes.example.org", "GITHUB_TOKEN": "cloud"}, []),
        ("git@ghes.example.org:a/b", {"GH_HOST": "ghes.example.org", "GH_ENTERPRISE_TOKEN": "own"}, ["own"]),
        (
            "git@ghes.example.org:a/b",
            {"GITHUB_SERVER_URL": "https://ghes.example.org", "GITHUB_TOKEN": "ci"},
            ["ci"],
        ),
        ("git@github.com:a/b", {"GITHUB_SERVER_URL": "https://github.com", "GH_ENTERPRISE_TOKEN": "own"}, []),
        ("git@github.com:a/b", {"GH_HOST": "ghes.example.org", "GH_TOKEN": "cloud"}, ["cloud"]),
        ("git@github.com:a/b", {"GITHUB_SERVER_URL": "https://ghes.example.org", "GITHUB_TOKEN": "ci"}, []),
    ],
)
def test_githubs_variables_are_for_the_hosts_that_gh_sends_them_to(
    remote: str, env: dict[str, str], sent: list[str], tmp_path: Path
) -> None:
    client = open_host(find_place(remote, GHES | CLOUD), tmp_path, env).client  # type: ignore[attr-defined]
    assert [each.removeprefix("token ") for each in client.headers.values()] == sent


def test_a_token_is_sent_encrypted_or_not_at_all() -> None:
    with pytest.raises(UserError, match="not encrypted"):
        RestClient(address="http://git.example.org/api/v1", headers={})
    assert "secret" not in repr(RestClient(address="https://x.org", headers={"Authorization": "secret"}))
