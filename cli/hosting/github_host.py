"""GitHub's REST API (2022-11-28): https://docs.github.com/rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from cli.hosting.host import (
    Client,
    Draft,
    Issue,
    PullRequest,
    ReviewComment,
    format_place,
    get_text,
    read_pages,
)
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHub:
    """A repository at GitHub. name: "owner/repository". Implements `Host`."""

    client: Client
    name: str

    def find_pull_request(self, branch: str) -> PullRequest | None:
        owner = self.name.partition("/")[0]
        head = quote(f"{owner}:{branch}", safe=":")
        found = self.client.request("GET", f"/repos/{self.name}/pulls?state=open&head={head}")
        return read_request(found[0]) if found else None

    def open_pull_request(self, draft: Draft) -> PullRequest:
        fields = {"title": draft.title, "body": draft.body, "head": draft.head, "base": draft.base}
        made = self.client.request("POST", f"/repos/{self.name}/pulls", {**fields, "draft": draft.is_draft})
        return read_request(made)

    def update_pull_request(self, number: int, title: str, body: str) -> PullRequest:
        fields = {"title": title, "body": body}
        return read_request(self.client.request("PATCH", f"/repos/{self.name}/pulls/{number}", fields))

    def list_review_comments(self, number: int) -> Sequence[ReviewComment]:
        reviews = read_pages(self.client, f"/repos/{self.name}/pulls/{number}/reviews")
        lines = read_pages(self.client, f"/repos/{self.name}/pulls/{number}/comments")
        whole = [_read_comment(each, "") for each in reviews if get_text(each, "body").strip()]
        return [*whole, *(_read_comment(each, str(each["id"])) for each in lines if each.get("line"))]

    def reply(self, number: int, thread: str, text: str) -> None:
        place = f"pulls/{number}/comments/{thread}/replies" if thread else f"issues/{number}/comments"
        self.client.request("POST", f"/repos/{self.name}/{place}", {"body": text})

    def read_issue(self, number: int) -> Issue:
        found = self.client.request("GET", f"/repos/{self.name}/issues/{number}")
        comments = read_pages(self.client, f"/repos/{self.name}/issues/{number}/comments")
        return read_github_issue(found, comments)


def read_github_issue(found: Any, comments: Sequence[Any]) -> Issue:
    """Return an issue of an API with GitHub's fields."""
    return Issue(
        number=int(found["number"]),
        title=get_text(found, "title"),
        author=get_text(found, "user", "login"),
        text=get_text(found, "body"),
        url=get_text(found, "html_url"),
        comments=[(get_text(each, "user", "login"), get_text(each, "body")) for each in comments],
    )


def read_request(fields: Any) -> PullRequest:
    """Return a request of an API with GitHub's fields."""
    return PullRequest(
        number=int(fields["number"]), title=get_text(fields, "title"), url=get_text(fields, "html_url")
    )


def _read_comment(fields: Any, thread: str) -> ReviewComment:
    """Return a comment; one on a line that is gone (`line` is null) has been dealt with."""
    return ReviewComment(
        thread=thread,
        author=get_text(fields, "user", "login"),
        text=get_text(fields, "body"),
        place=format_place(fields.get("path"), fields.get("line")),
    )
