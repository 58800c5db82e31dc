"""Gitea's REST API, and Forgejo's: https://docs.gitea.com/api. Issues and requests have GitHub's fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli.hosting.github_host import GitHub, read_github_issue, read_request
from cli.hosting.host import (
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
class Gitea(GitHub):
    """A repository at a Gitea server. name: "owner/repository". Implements `Host`."""

    def find_pull_request(self, branch: str) -> PullRequest | None:
        found = read_pages(self.client, f"/repos/{self.name}/pulls?state=open")
        own = (each for each in found if get_text(each, "head", "ref") == branch)
        first = next(own, None)
        return read_request(first) if first else None

    def open_pull_request(self, draft: Draft) -> PullRequest:
        title = f"WIP: {draft.title}" if draft.is_draft else draft.title  # Gitea's sign of a draft
        fields = {"title": title, "body": draft.body, "head": draft.head, "base": draft.base}
        return read_request(self.client.request("POST", f"/repos/{self.name}/pulls", fields))

    def list_review_comments(self, number: int) -> Sequence[ReviewComment]:
        place = f"/repos/{self.name}/pulls/{number}/reviews"
        found: list[ReviewComment] = []
        for review in read_pages(self.client, place):
            if get_text(review, "body").strip():
                found.append(_read_comment(review))
            if review.get("comments_count"):
                comments = self.client.request("GET", f"{place}/{int(review['id'])}/comments")
                found += [_read_comment(each) for each in comments if not each.get("resolver")]
        return found

    def reply(self, number: int, thread: str, text: str) -> None:
        self.client.request("POST", f"/repos/{self.name}/issues/{number}/comments", {"body": text})

    def read_issue(self, number: int) -> Issue:
        found = self.client.request("GET", f"/repos/{self.name}/issues/{number}")
        comments = self.client.request("GET", f"/repos/{self.name}/issues/{number}/comments")
        return read_github_issue(found, comments)


def _read_comment(fields: Any) -> ReviewComment:
    return ReviewComment(
        thread="",
        author=get_text(fields, "user", "login"),
        text=get_text(fields, "body"),
        place=format_place(fields.get("path"), fields.get("position")),
    )
