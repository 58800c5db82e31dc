"""Search engines: the request to each, and the form of its answer."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from sandbox.lazy_dataclass import dataclass
from tools.web.page_request import PageRequest, RequestFailed, name_host, parse_address
from tools.web.web_settings import WebSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEngine:
    """url: its address, "" where the user has to name one; key: variable with its key, "" for none

    path: keys to the list of results; text: key of a result's text; posts: whether the query is sent by POST
    """

    url: str
    key: str
    path: tuple[str, ...]
    text: str
    posts: bool = False


ENGINES: Mapping[str, SearchEngine] = {
    "searxng": SearchEngine(url="", key="", path=("results",), text="content"),
    "brave": SearchEngine(
        url="https://api.search.brave.com/res/v1/web/search",
        key="BRAVE_API_KEY",
        path=("web", "results"),
        text="description",
    ),
    "tavily": SearchEngine(
        url="https://api.tavily.com/search",
        key="TAVILY_API_KEY",
        path=("results",),
        text="content",
        posts=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result of a search."""

    title: str
    address: str
    text: str


def find_search_host(settings: WebSettings) -> str:
    """Return the host that searches ask, "" for none."""
    engine = ENGINES.get(settings.search)
    address = settings.search_url or (engine.url if engine is not None else "")
    parts = urlsplit(address)
    return name_host(parts) if engine is not None and parts.scheme in ("http", "https") else ""


async def search_web(settings: WebSettings, query: str, most: int) -> Sequence[SearchResult]:
    """Return the results of a search. Raises RequestFailed. The engine's address is the user's: it may be private."""
    request = build_request(settings, query, most)
    answer = await request.send()
    if answer.status != 200:
        raise RequestFailed(f"{settings.search} answers with status {answer.status}")
    try:
        found = json.loads(answer.content)
    except (ValueError, RecursionError):
        hint = " (its settings must allow the format json)" if settings.search == "searxng" else ""
        raise RequestFailed(f"{settings.search} answers with something that is no JSON{hint}") from None
    return _read_results(ENGINES[settings.search], found)[:most]


def build_request(settings: WebSettings, query: str, most: int) -> PageRequest:
    """Return the request of a search, with the user's key. Raises RequestFailed if there is none."""
    engine = ENGINES[settings.search]
    key = os.environ.get(engine.key, "") if engine.key else ""
    if engine.key and not key:
        raise RequestFailed(f"{settings.search} needs a key: the user has to set {engine.key}")
    address = settings.search_url or engine.url
    parse_address(address)
    if engine.posts:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = json.dumps({"query": query, "max_results": most}).encode()
        return PageRequest(address=address, may_be_private=True, headers=headers, body=body)
    if settings.search == "searxng":
        address = f"{address.rstrip('/').removesuffix('/search')}/search?{urlencode({'q': query, 'format': 'json'})}"
        return PageRequest(address=address, may_be_private=True, headers={"Accept": "application/json"})
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    address = f"{address}?{urlencode({'q': query, 'count': most})}"
    return PageRequest(address=address, may_be_private=True, headers=headers)


def _read_results(engine: SearchEngine, found: Any) -> list[SearchResult]:
    for key in engine.path:
        found = found.get(key) if isinstance(found, dict) else None
    return [
        SearchResult(
            title=_read_line(each, "title"),
            address=_read_line(each, "url"),
            text=_read_line(each, engine.text),
        )
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict) and each.get("url")
    ]


def _read_line(result: Mapping[str, Any], key: str) -> str:
    return " ".join(str(result.get(key) or "").split())[:500]
