from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.model.protocol import Usage
from agent.model.providers.model_catalog import Catalog, Listing, Price


def test_a_known_model_has_a_window_and_prices(tmp_path: Path) -> None:
    listing = Catalog(tmp_path).find(["no/such-model", "gpt-4o"])
    assert listing is not None
    assert listing.window == 128_000
    assert listing.compute_cost(Usage(input=1000, cached=0, output=0)) == pytest.approx(
        1000 * listing.prices[0].input
    )
    assert 0 < listing.prices[0].cached < listing.prices[0].input < listing.prices[0].output


def test_an_unknown_model_is_unknown(tmp_path: Path) -> None:
    assert Catalog(tmp_path).find(["my/own-model"]) is None


def test_the_extract_says_the_same_as_the_file_it_was_made_from(tmp_path: Path) -> None:
    first, second = Catalog(tmp_path), Catalog(tmp_path)
    name = ["gemini/gemini-2.5-pro"]
    assert first.find_cached(name) is None  # nothing is read in a hurry
    made = first.find(name)
    assert second.find_cached(name) == made
    assert made is not None
    assert len(made.prices) == 2


@pytest.mark.slow
def test_an_extract_that_is_stale_or_damaged_is_made_again(tmp_path: Path) -> None:
    made = Catalog(tmp_path).find(["gpt-4o"])
    extract = tmp_path / "models.tsv"
    for damage in (b"", b"old stamp\ngpt-4o\t1\n", b"\xff\xfe"):
        extract.write_bytes(damage)
        assert Catalog(tmp_path).find_cached(["gpt-4o"]) is None
        assert Catalog(tmp_path).find(["gpt-4o"]) == made


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert Catalog(blocked / "cache").find(["gpt-4o"]) is not None
    assert os.listdir(tmp_path) == ["file"]


def test_the_price_of_long_requests_applies_to_all_of_their_tokens() -> None:
    listing = Listing(window=0, prices=(Price(0, 1.0, 2.0, 0.1), Price(200_000, 10.0, 20.0, 1.0)))
    assert listing.compute_cost(Usage(input=100, cached=50, output=10)) == 50 * 1.0 + 50 * 0.1 + 10 * 2.0
    assert listing.compute_cost(Usage(input=200_000, output=1)) == 200_000 * 10.0 + 20.0


def test_without_prices_the_cost_is_unknown() -> None:
    assert Listing(window=8, prices=()).compute_cost(Usage(input=1)) is None


@pytest.mark.slow
def test_litellm_is_found_without_being_imported(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from agent.model.providers.model_catalog import Catalog
print(Catalog(Path({str(tmp_path)!r})).find(["gpt-4o"]).window, "litellm" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["128000", "False"]


@pytest.mark.slow
def test_tiers_of_service_and_a_long_cache_have_their_own_prices(tmp_path: Path) -> None:
    known = Catalog(tmp_path).find(["gpt-5.5"])
    assert known is not None
    usage = Usage(input=1000, cached=500, output=100)
    usual, flex, priority = (known.compute_cost(usage, tier) for tier in ("", "flex", "priority"))
    assert usual is not None
    assert flex == pytest.approx(usual / 2)
    assert priority == pytest.approx(usual * 2.5)
    assert known.compute_cost(usage, "1h") == known.compute_cost(usage, "default") == usual
    assert len(known.tiers["flex"]) == len(known.prices), "a price for long requests, too"
    claude = Catalog(tmp_path).find_cached(["claude-sonnet-5"])
    assert claude is not None
    assert claude.compute_cost(Usage(input=1000, written=1000), "1h") == pytest.approx(
        2 * 1000 * claude.prices[0].input
    )
