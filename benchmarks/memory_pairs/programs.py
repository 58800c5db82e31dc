"""Small programs, right as they stand, and twenty pairs of tasks in them.

Written for this benchmark, and fixed: a pair is never exchanged because of how it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["named", "told", "place", "wish", "change"]
"""What the first session has that the second one needs.

named: `--tests` names the command that runs the tests; told: the first prompt says it; no runner is found by itself
place: the first prompt names the file; wish: the person says in an editor what they always want
change: the engine mends a fault of the same kind
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A change that is wanted: in `path`, `wrong` is to become `right`, or what `check` accepts.

    check: Python that is run in the repository; it fails before, and passes after a right change
    """

    prompt: str
    path: str
    right: str
    wrong: str
    check: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two tasks in one repository. tests: what `--tests` or the first prompt says; wish: sentence of the person"""

    name: str
    kind: Kind
    program: str
    first: Task
    second: Task
    tests: str = ""
    wish: str = ""


SHOP: Mapping[str, str] = {
    "shop/__init__.py": "",
    "shop/rates.py": (
        '"""Rates in percent."""\n\nTAX = 19\nREDUCED = 7\n\n\n'
        "def choose_rate(kind):\n"
        '    """Return the tax of a kind of goods."""\n'
        '    return REDUCED if kind in ("book", "food") else TAX\n\n\n'
        "def choose_discount(total):\n"
        '    """Return the discount: 5 from 100 on, 10 from 500 on."""\n'
        "    if total >= 500:\n        return 10\n    if total >= 100:\n        return 5\n    return 0\n"
    ),
    "shop/cart.py": (
        '"""Sum of a cart."""\n\nfrom shop.rates import choose_discount, choose_rate\n\n\n'
        "def sum_items(items):\n"
        '    """Return the sum of (kind, price, count), with tax."""\n'
        "    total = 0\n    for kind, price, count in items:\n"
        "        total += price * count * (100 + choose_rate(kind)) / 100\n    return total\n\n\n"
        "def compute_price(items):\n"
        '    """Return what is to be paid."""\n'
        "    total = sum_items(items)\n    return round(total - total * choose_discount(total) / 100, 2)\n"
    ),
    "shop/stock.py": (
        '"""What is in stock."""\n\n\n'
        "def list_missing(stock, least):\n"
        '    """Return the names of which fewer than `least` are there, sorted."""\n'
        "    return sorted(name for name, count in stock.items() if count < least)\n\n\n"
        "def take(stock, name, count):\n"
        '    """Take goods; raise ValueError if too few are there."""\n'
        "    if stock.get(name, 0) < count:\n        raise ValueError(name)\n"
        "    stock[name] = stock[name] - count\n    return stock\n"
    ),
    "shop/labels.py": (
        '"""Texts for people."""\n\n\n'
        "def format_price(cents):\n"
        '    """Return a price such as 12.05."""\n'
        '    return f"{cents // 100}.{cents % 100:02}"\n\n\n'
        "def shorten(text, most):\n"
        '    """Return at most `most` characters."""\n'
        '    return text if len(text) <= most else text[: most - 1] + "."\n'
    ),
}
_SHOP_TESTS = (
    "from shop.cart import compute_price\nfrom shop.labels import format_price, shorten\n"
    "from shop.rates import choose_discount, choose_rate\nfrom shop.stock import list_missing, take\n\n\n"
    "def test_rates():\n"
    '    assert choose_rate("food") == 7\n    assert choose_rate("tool") == 19\n\n\n'
    "def test_discounts():\n"
    "    assert [choose_discount(each) for each in (99, 100, 499, 500)] == [0, 5, 5, 10]\n\n\n"
    "def test_cart():\n"
    '    assert compute_price([("tool", 10, 2), ("food", 100, 1)]) == 124.26\n\n\n'
    "def test_stock():\n"
    '    assert list_missing({"a": 1, "b": 3, "c": 2}, 3) == ["a", "c"]\n'
    '    assert take({"a": 3}, "a", 3) == {"a": 0}\n\n\n'
    "def test_labels():\n"
    '    assert format_price(1250) == "12.50"\n    assert shorten("abcd", 4) == "abcd"\n'
    '    assert shorten("abcde", 4) == "abc."\n'
)

WEATHER: Mapping[str, str] = {
    "weather/__init__.py": "",
    "weather/units.py": (
        '"""Units of measurement."""\n\n\n'
        "def to_fahrenheit(celsius):\n"
        '    """Return degrees Fahrenheit."""\n'
        "    return celsius * 9 / 5 + 32\n\n\n"
        "def to_knots(kmh):\n"
        '    """Return knots, rounded to tenths."""\n'
        "    return round(kmh / 1.852, 1)\n"
    ),
    "weather/readings.py": (
        '"""Readings of a station."""\n\n\n'
        "def parse_line(line):\n"
        '    """Return (station, value) of a line such as "oslo; 3.5"."""\n'
        '    name, value = line.split(";")\n    return name.strip(), float(value)\n\n\n'
        "def average(values):\n"
        '    """Return the mean, 0 of nothing."""\n'
        "    return sum(values) / len(values) if values else 0\n\n\n"
        "def find_warmest(readings):\n"
        '    """Return the station with the highest value."""\n'
        "    return max(readings, key=lambda each: each[1])[0]\n"
    ),
    "weather/alarms.py": (
        '"""Warnings."""\n\nSTORM = 75\nFROST = 0\n\n\n'
        "def is_storm(kmh):\n"
        '    """Whether a wind is a storm: from 75 km/h on."""\n'
        "    return kmh >= STORM\n\n\n"
        "def list_frost(readings):\n"
        '    """Return the stations below zero, the coldest first."""\n'
        "    cold = [each for each in readings if each[1] < FROST]\n"
        "    return [name for name, _ in sorted(cold, key=lambda each: each[1])]\n"
    ),
    "weather/report.py": (
        '"""The daily report."""\n\nfrom weather.readings import average, find_warmest\n\n\n'
        "def describe(readings):\n"
        '    """Return one line of the report."""\n'
        "    mean = average([value for _, value in readings])\n"
        '    return f"warmest: {find_warmest(readings)}, mean {mean:.1f}"\n\n\n'
        "def rank(readings):\n"
        '    """Return the readings, the warmest first."""\n'
        "    return sorted(readings, key=lambda each: each[1], reverse=True)\n"
    ),
}
_WEATHER_TESTS = (
    "from weather.alarms import is_storm, list_frost\nfrom weather.readings import average, find_warmest, parse_line\n"
    "from weather.report import describe, rank\nfrom weather.units import to_fahrenheit, to_knots\n\n"
    'DAY = [("oslo", -5.0), ("rome", 15.0), ("bern", -3.0)]\n\n\n'
    "def test_units():\n    assert to_fahrenheit(100) == 212\n    assert to_knots(18.52) == 10\n\n\n"
    "def test_readings():\n"
    '    assert parse_line("oslo ; 3.5") == ("oslo", 3.5)\n    assert average([1, 2, 6]) == 3\n'
    '    assert average([]) == 0\n    assert find_warmest(DAY) == "rome"\n\n\n'
    "def test_alarms():\n    assert is_storm(75)\n    assert not is_storm(74)\n"
    '    assert list_frost(DAY) == ["oslo", "bern"]\n\n\n'
    "def test_report():\n"
    '    assert describe(DAY) == "warmest: rome, mean 2.3"\n'
    '    assert [name for name, _ in rank(DAY)] == ["rome", "bern", "oslo"]\n'
)

PROGRAMS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "shop": (SHOP, _SHOP_TESTS),
    "weather": (WEATHER, _WEATHER_TESTS),
}
"""Files by program, and its tests."""
