"""Context windows and prices by model name, from litellm's data file; litellm is not imported.

The file is 3 MB of JSON and takes 40 ms to parse; an extract is kept as lines of text in the cache folder,
where one model is found in under a millisecond.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.model.protocol import Usage
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

DEFAULT_WINDOW = 128_000
"""Tokens assumed for an unknown model: almost every current model with tools accepts that many."""

_KINDS = frozenset({"chat", "responses", "completion"})
_FORMAT = "3"
"""Version of the extract's lines, part of their stamp. Raised when they change."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, for requests whose input is longer than `above` tokens.

    written: for tokens written to the provider's cache; None: as `input`
    """

    above: int
    input: float
    output: float
    cached: float
    written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Known properties of a model.

    window, output: tokens, 0 if not known; prices: by rising `above`, empty if not known
    tools, images: False if the model is known to accept none
    tiers: prices that differ from these: of "flex" and "priority" service, of a cache that is kept for "1h"
    """

    window: int
    prices: tuple[Price, ...]
    output: int = 0
    tools: bool = True
    images: bool = True
    tiers: Mapping[str, tuple[Price, ...]] = field(default_factory=dict)

    def compute_cost(self, usage: Usage, tier: str = "") -> float | None:
        """Return the cost of a call, None without a price. tier: see `tiers`; one that is not known costs as usual"""
        fitting = [price for price in self.tiers.get(tier, self.prices) if usage.input >= price.above]
        if not fitting:
            return None
        price = fitting[-1]
        fresh = max(0, usage.input - usage.cached - usage.written)
        written = usage.written * (price.input if price.written is None else price.written)
        return fresh * price.input + usage.cached * price.cached + written + usage.output * price.output


FREE = Listing(window=0, prices=(Price(0, 0.0, 0.0, 0.0),))
"""Entry of a model that runs on this machine."""


class Catalog:
    """Catalog of models. Nothing is read before the first lookup.

    cache: folder for the extract; created when needed, not used if it can't be written
    own: the user's entries by model name, which take precedence
    """

    def __init__(self, cache: Path, own: Mapping[str, Listing] | None = None) -> None:
        self._cache = cache
        self._own = own or {}
        self._lines: str | None = None

    def find(self, names: Sequence[str]) -> Listing | None:
        """Return the first known of `names` (the same model has several spellings)."""
        if own := self._find_user_listing(names):
            return own
        if self._lines is None:
            self._lines = self._read_extract(make=True) or "\n"
        return _find_listing(self._lines, names)

    def find_cached(self, names: Sequence[str]) -> Listing | None:
        """Return the same, but only if the extract exists already: for use before a first request."""
        if own := self._find_user_listing(names):
            return own
        lines = self._lines or self._read_extract(make=False)
        return _find_listing(lines, names) if lines else None

    def iter_tool_models(self) -> Iterator[tuple[str, int]]:
        """Yield all models with tool support, as the catalog spells them, with their windows in tokens."""
        if self._lines is None:
            self._lines = self._read_extract(make=True) or "\n"
        for line in self._lines.split("\n"):
            name, _, rest = line.partition("\t")
            window, _, rest = rest.partition("\t")
            if name and "t" in rest.split("\t")[1]:
                yield name, int(window)

    def _find_user_listing(self, names: Sequence[str]) -> Listing | None:
        return next((self._own[name] for name in names if name in self._own), None)

    def _read_extract(self, *, make: bool) -> str | None:
        source = _locate_price_file()
        if source is None:
            return None
        extract = self._cache / "models.tsv"
        status = source.stat()
        stamp = f"{_FORMAT} {status.st_size} {status.st_mtime_ns}"
        try:
            found, _, lines = extract.read_text(encoding="utf-8").partition("\n")
            if found == stamp and lines.endswith("\n"):  # else the file is truncated
                return "\n" + lines
        except (OSError, ValueError):  # missing, unreadable, or another file: rebuilt
            pass
        if not make:
            return None
        lines = _extract_lines(source)
        _write_extract(extract, f"{stamp}\n{lines}")
        return "\n" + lines


def _locate_price_file() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("litellm")  # finds the package without running it
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("model_prices_and_context_window_backup.json")
    return path if path.is_file() else None


def _extract_lines(source: Path) -> str:
    import json

    models = json.loads(source.read_bytes())
    lines = [_format_line(name, model) for name, model in models.items() if model.get("mode") in _KINDS]
    return "".join(lines)


def _format_line(name: str, model: Mapping[str, Any]) -> str:
    window = model.get("max_input_tokens") or model.get("max_tokens") or 0
    output = model.get("max_output_tokens") or 0
    flags = "t" * (model.get("supports_function_calling") is not False)
    flags += "i" * (model.get("supports_vision") is not False)
    cells = [name, *(str(each if isinstance(each, int) else 0) for each in (window, output)), flags or "-"]
    for tier in ("", *TIERS):
        if tier and not any(key.endswith(TIERS[tier]) for key in model):
            continue
        cells += [
            f"{tier}:{p.above} {p.input!r} {p.output!r} {p.cached!r} {p.written!r}"
            for p in _parse_prices(model, tier)
        ]
    return "\t".join(cells) + "\n"


TIERS: Mapping[str, str] = {"flex": "_flex", "priority": "_priority", "1h": "_above_1hr"}
"""Ends of the names of a tier's prices in the data file, by the tier."""

_STEP = compile_lazily(r"^input_cost_per_token_above_([0-9]+)k_tokens$")


def _parse_prices(model: Mapping[str, Any], tier: str) -> list[Price]:
    """Return the prices of a tier; those that it does not have are the usual ones."""
    steps = sorted(int(match[1]) for key in model if (match := _STEP.match(key)))
    prices: list[Price] = []

    def find_price(name: str, step: str) -> Any:
        usual = model.get(f"{name}{step}")
        if tier == "1h":
            return model.get(f"{name}_above_1hr{step}", usual)
        return model.get(f"{name}{step}{TIERS.get(tier, '')}", usual)

    for step in (0, *steps):
        suffix = f"_above_{step}k_tokens" if step else ""
        paid = find_price("input_cost_per_token", suffix)
        got = find_price("output_cost_per_token", suffix)
        got = prices[0].output if got is None and prices else got
        if paid is None or got is None:
            continue
        cached = find_price("cache_read_input_token_cost", suffix)
        written = find_price("cache_creation_input_token_cost", suffix)
        prices.append(
            Price(
                step * 1000,
                float(paid),
                float(got),
                float(paid if cached is None else cached),
                float(paid if written is None else written),
            )
        )
    return prices


def _find_listing(lines: str, names: Sequence[str]) -> Listing | None:
    for name in names:
        start = lines.find(f"\n{name}\t")
        if start >= 0:
            _, window, output, flags, *cells = lines[start + 1 : lines.index("\n", start + 1)].split("\t")
            tiers: dict[str, tuple[Price, ...]] = {}
            for cell in cells:
                tier, _, price = cell.partition(":")
                tiers[tier] = (*tiers.get(tier, ()), _parse_price(price))
            return Listing(
                window=int(window),
                prices=tiers.pop("", ()),
                tiers=tiers,
                output=int(output),
                tools="t" in flags,
                images="i" in flags,
            )
    return None


def _parse_price(cell: str) -> Price:
    above, *dollars = cell.split(" ")
    paid, got, cached, written = map(float, dollars)
    return Price(int(above), paid, got, cached, written)


def _write_extract(extract: Path, text: str) -> None:
    draft = extract.with_name(f"{extract.name}.{os.getpid()}")
    try:
        create_private_folder(extract.parent)
        write_private_file(draft, text.encode())
        draft.replace(extract)
    except OSError:  # a full or read-only disk: the next lookup parses the big file again
        with suppress(OSError):  # never created
            draft.unlink()
