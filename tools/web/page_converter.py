"""Turns a page into text: a program of its own, run in the sandbox, since pages of strangers can keep a parser busy.

    python page_converter.py html|pdf ADDRESS FOLDER…

reads the page from its standard input and writes Markdown; each FOLDER holds libraries.
"""

from __future__ import annotations

import io
import sys
from urllib.parse import urljoin

_DROPPED = tuple(
    "script style noscript template svg iframe nav footer form button input select dialog".split()  # noqa: SIM905
)
"""Elements of a page that are no part of its text."""


def convert_html(content: bytes, address: str) -> str:
    """Return a page's main part as Markdown, with whole addresses."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(content, "html.parser")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    for element in page(_DROPPED):
        element.decompose()
    for element, name in [(each, "href") for each in page("a")] + [(each, "src") for each in page("img")]:
        target = str(element.get(name) or "")
        if target.startswith(("#", "data:", "javascript:")) or not target:
            del element[name]
        else:
            element[name] = urljoin(address, target)
    main = page.find("main") or page.find("article") or page.body or page
    text = MarkdownConverter(heading_style="atx", bullets="-").convert_soup(main)
    lines = [line.rstrip() for line in text.split("\n")]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    body = "\n".join(kept).strip()
    return body if not title or title in body[:500] else f"# {title}\n\n{body}"


def convert_pdf(content: bytes) -> str:
    """Return the text of a PDF file, page by page."""
    from pypdf import PdfReader

    pages = PdfReader(io.BytesIO(content)).pages
    return "\n\n".join(f"[page {number}]\n{page.extract_text()}" for number, page in enumerate(pages, 1))


def main() -> None:
    kind, address, *folders = sys.argv[1:]
    sys.path += folders
    sys.setrecursionlimit(5_000)
    content = sys.stdin.buffer.read()
    text = convert_html(content, address) if kind == "html" else convert_pdf(content)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
