"""A repository at a hosting service, as commands use it; one implementation for each service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull or merge request that is open. number: as its page shows it"""

    number: int
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """A comment of a review that is not resolved, as far as the service says so.

    thread: id of its thread, for a reply; place: "path:line", "" for one on the whole
    """

    thread: str
    author: str
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue with its comments as (author, text)."""

    number: int
    title: str
    author: str
    text: str
    url: str
    comments: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A pull request that is to be opened. head, base: branches; is_draft: not ready for review yet"""

    title: str
    body: str
    head: str
    base: str
    is_draft: bool = False


class Client(Protocol):
    """Sender of requests to a service's API. Its errors are UserErrors without the token."""

    def request(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return the parsed JSON. path: below the API's address, with its query"""
        ...


class Host(Protocol):
    """One repository at a service."""

    def find_pull_request(self, branch: str) -> PullRequest | None:
        """Return the open pull request of a branch of this repository."""
        ...

    def open_pull_request(self, draft: Draft) -> PullRequest:
        """Open a pull request."""
        ...

    def update_pull_request(self, number: int, title: str, body: str) -> PullRequest:
        """Replace title and description."""
        ...

    def list_review_comments(self, number: int) -> Sequence[ReviewComment]:
        """Return the comments of all reviews, oldest first."""
        ...

    def reply(self, number: int, thread: str, text: str) -> None:
        """Answer in a thread; where the service has no threads, or for "", on the whole request."""
        ...

    def read_issue(self, number: int) -> Issue:
        """Return an issue with its comments."""
        ...


PAGE = 100
"""Entries of one page, as many as the services give."""

MOST_PAGES = 10
"""Pages that are read: a thousand comments are more than a model can take in."""


def read_pages(client: Client, path: str) -> list[Any]:
    """Return the entries of all pages of a list."""
    mark = "&" if "?" in path else "?"
    found: list[Any] = []
    for page in range(1, MOST_PAGES + 1):
        entries = client.request("GET", f"{path}{mark}per_page={PAGE}&limit={PAGE}&page={page}")
        found += entries
        if len(entries) < PAGE:
            break
    return found


def get_text(fields: Mapping[str, Any], *names: str) -> str:
    """Return a text that may be missing or null, by the names on the way to it."""
    value: Any = fields
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def format_place(path: object, line: object) -> str:
    """Return "path:line", the path alone, or ""."""
    return f"{path}:{line}" if path and line else str(path or "")
