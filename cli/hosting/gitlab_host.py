"""GitLab's REST API (v4): https://docs.gitlab.com/api. A pull request is a merge request there."""

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
class GitLab:
    """A project at GitLab. name: its path, "group/subgroup/project". Implements `Host`."""

    client: Client
    name: str

    @property
    def _project(self) -> str:
        return f"/projects/{quote(self.name, safe='')}"

    def find_pull_request(self, branch: str) -> PullRequest | None:
        query = f"state=opened&source_branch={quote(branch, safe='')}"
        found = self.client.request("GET", f"{self._project}/merge_requests?{query}")
        return _read_request(found[0]) if found else None

    def open_pull_request(self, draft: Draft) -> PullRequest:
        fields = {
            "title": f"Draft: {draft.title}" if draft.is_draft else draft.title,
            "description": draft.body,
            "source_branch": draft.head,
            "target_branch": draft.base,
        }
        return _read_request(self.client.request("POST", f"{self._project}/merge_requests", fields))

    def update_pull_request(self, number: int, title: str, body: str) -> PullRequest:
        fields = {"title": title, "description": body}
        return _read_request(self.client.request("PUT", f"{self._project}/merge_requests/{number}", fields))

    def list_review_comments(self, number: int) -> Sequence[ReviewComment]:
        threads = read_pages(self.client, f"{self._project}/merge_requests/{number}/discussions")
        return [
            _read_note(str(thread["id"]), note)
            for thread in threads
            for note in thread.get("notes", ())
            if not note.get("system") and not note.get("resolved")
        ]

    def reply(self, number: int, thread: str, text: str) -> None:
        place = f"discussions/{quote(thread, safe='')}/notes" if thread else "notes"
        self.client.request("POST", f"{self._project}/merge_requests/{number}/{place}", {"body": text})

    def read_issue(self, number: int) -> Issue:
        found = self.client.request("GET", f"{self._project}/issues/{number}")
        notes = read_pages(self.client, f"{self._project}/issues/{number}/notes?sort=asc")
        return Issue(
            number=int(found["iid"]),
            title=get_text(found, "title"),
            author=get_text(found, "author", "username"),
            text=get_text(found, "description"),
            url=get_text(found, "web_url"),
            comments=[
                (get_text(each, "author", "username"), get_text(each, "body"))
                for each in notes
                if not each.get("system")
            ],
        )


def _read_request(fields: Any) -> PullRequest:
    return PullRequest(
        number=int(fields["iid"]), title=get_text(fields, "title"), url=get_text(fields, "web_url")
    )


def _read_note(thread: str, note: Any) -> ReviewComment:
    position = note.get("position") or {}
    return ReviewComment(
        thread=thread,
        author=get_text(note, "author", "username"),
        text=get_text(note, "body"),
        place=format_place(position.get("new_path"), position.get("new_line")),
    )
