"""The twenty pairs of tasks, in an order in which every kind comes early."""

from __future__ import annotations

from benchmarks.memory_pairs.programs import Kind, Pair, Task

_FAULTS = {
    "discount": ("shop/rates.py", "total >= 500", "total > 500", "The discount is wrong: 500 has to give 10 percent."),
    "rate": ("shop/rates.py", "in (", "not in (", "The tax is wrong: food has to be taxed with 7 percent."),
    "cart": ("shop/cart.py", "(100 + ", "(100 - ", "The price of a cart is wrong: tax has to be added."),
    "paid": ("shop/cart.py", "total - total", "total + total", "The price of a cart rises with the discount."),
    "missing": ("shop/stock.py", "if count < least", "if count > least", "The wrong goods are reported as missing."),
    "take": ("shop/stock.py", "stock[name] - count", "stock[name] + count", "Taking goods makes the stock grow."),
    "cents": ("shop/labels.py", "% 100", "% 10", "A price of 1250 cents has to be shown as 12.50."),
    "shorten": ("shop/labels.py", "len(text) <= most", "len(text) < most", "A text of just the allowed length is cut."),
    "fahrenheit": ("weather/units.py", "+ 32", "- 32", "Degrees Fahrenheit are wrong: 100 Celsius are 212."),
    "knots": ("weather/units.py", "kmh / 1.852", "kmh * 1.852", "Knots are wrong: 18.52 km/h are 10."),
    "strip": ("weather/readings.py", "name.strip()", "name", "Names of stations keep their blanks.",),
    "mean": ("weather/readings.py", "/ len(values)", "/ (len(values) + 1)", "The mean of readings is too low."),
    "warmest": ("weather/readings.py", "max(", "min(", "The coldest station is given as the warmest one."),
    "storm": ("weather/alarms.py", "kmh >= STORM", "kmh > STORM", "There is no warning at 75 km/h."),
    "frost": ("weather/alarms.py", "each[1] < FROST", "each[1] > FROST", "Frost is reported where it is warm."),
    "order": (
        "weather/alarms.py", "key=lambda each: each[1])]", "key=lambda each: each[0])]",
        "Frost: the coldest station has to come first.",
    ),
    "rank": ("weather/report.py", ", reverse=True", "", "The ranking begins with the coldest station."),
}  # fmt: skip
"""Path, right and wrong text, and what a person says, by the name of a fault."""

_WANTS = {
    "tax": (
        "shop/rates.py", "Raise the full tax to 21 percent.",
        "from shop.rates import *\nassert choose_rate('tool') == 21 and choose_rate('food') == 7",
    ),
    "reduced": (
        "shop/rates.py", "Lower the reduced tax to 5 percent.",
        "from shop.rates import *\nassert choose_rate('food') == 5 and choose_rate('tool') == 19",
    ),
    "gale": (
        "weather/alarms.py", "Warn of a storm from 80 km/h on.",
        "from weather.alarms import *\nassert is_storm(80) and not is_storm(79)",
    ),
    "freeze": (
        "weather/alarms.py", "Report frost below 2 degrees already.",
        "from weather.alarms import *\nassert list_frost([('a', 1), ('b', 2)]) == ['a']",
    ),
    "dearer": (
        "shop/rates.py", "Give the discount of 10 percent from 400 on.",
        "from shop.rates import *\nassert choose_discount(400) == 10 and choose_discount(399) == 5",
    ),
    "books": (
        "shop/rates.py", "Medicine has the reduced tax, too: kind medicine.",
        "from shop.rates import *\nassert choose_rate('medicine') == 7 and choose_rate('food') == 7",
    ),
    "decimals": (
        "weather/report.py", "Show the mean in the daily report with two decimals.",
        "from weather.report import *\nassert describe([('a', 1.0)]).endswith('mean 1.00')",
    ),
    "headline": (
        "weather/report.py", "In the daily report write Warmest in place of warmest.",
        "from weather.report import *\nassert describe([('a', 1.0)]).startswith('Warmest: a')",
    ),
}  # fmt: skip
"""Path, wish and check of a change that no test shows."""

_ADDED = {
    "is_empty": ("weather/readings.py", "weather.readings", "is_empty(values)", "returns whether there are no values"),
    "coldest": (
        "weather/readings.py", "weather.readings", "find_coldest(readings)", "returns the station of the lowest value",
    ),
    "halve": ("shop/rates.py", "shop.rates", "halve(rate)", "returns half of a rate"),
    "count": ("shop/stock.py", "shop.stock", "count_goods(stock)", "returns the sum of all counts of a stock"),
    "upper": ("shop/labels.py", "shop.labels", "shout(text)", "returns the text in capitals"),
    "initial": ("shop/labels.py", "shop.labels", "take_initial(text)", "returns the first letter of a text"),
}  # fmt: skip
"""Path, module, signature and meaning of a function that is to be added."""

_USES = {
    "is_empty": "is_empty([]) and not is_empty([1])",
    "coldest": "find_coldest([('a', 1), ('b', -1)]) == 'b'",
    "halve": "halve(10) == 5",
    "count": "count_goods({'a': 1, 'b': 2}) == 3",
    "upper": "shout('a') == 'A'",
    "initial": "take_initial('abc') == 'a'",
}


def _fault(name: str) -> Task:
    path, right, wrong, prompt = _FAULTS[name]
    return Task(prompt=f"The tests fail. {prompt} Fix it.", path=path, right=right, wrong=wrong, check="")


def _want(name: str, *, says_path: bool = False) -> Task:
    path, prompt, check = _WANTS[name]
    where = f" It is in {path}." if says_path else ""
    return Task(prompt=prompt + where, path=path, right="", wrong="", check=check)


def _add(name: str, wish_check: str) -> Task:
    path, module, signature, meaning = _ADDED[name]
    function = signature.partition("(")[0]
    check = (
        f"import ast, {module} as m\nfrom {module} import *\nassert {_USES[name]}\n"
        f"text = open({path!r}).read()\nnode = next(each for each in ast.walk(ast.parse(text))"
        f" if isinstance(each, ast.FunctionDef) and each.name == {function!r})\n{wish_check}"
    )
    prompt = f"Add a function {signature} to {path} that {meaning}."
    return Task(prompt=prompt, path=path, right="", wrong="", check=check)


_WITH_DOC = "assert ast.get_docstring(node)"
_WITH_TYPES = "assert node.returns is not None"


def _pair(kind: Kind, first: Task, second: Task, tests: str = "", wish: str = "") -> Pair:
    program = first.path.partition("/")[0]
    return Pair(
        name=f"{kind}: {second.prompt}", kind=kind, program=program, first=first, second=second,
        tests=tests, wish=wish,
    )  # fmt: skip


_DOCS, _TYPES = (
    "Always write a docstring into each function.",
    "Always annotate arguments and results with types.",
)
_PYTEST, _SCRIPT = "python3 -m pytest -q checks/verify.py", "sh checks/all.sh"

PAIRS: tuple[Pair, ...] = (
    _pair("named", _fault("discount"), _fault("rate"), _PYTEST),
    _pair("place", _want("tax", says_path=True), _want("reduced")),
    _pair("told", _fault("cart"), _fault("paid"), _PYTEST),
    _pair("wish", _add("is_empty", _WITH_DOC), _add("coldest", _WITH_DOC), wish=_DOCS),
    _pair("change", _fault("storm"), _fault("frost")),
    _pair("named", _fault("missing"), _fault("take"), _SCRIPT),
    _pair("place", _want("gale", says_path=True), _want("freeze")),
    _pair("told", _fault("cents"), _fault("shorten"), _SCRIPT),
    _pair("wish", _add("halve", _WITH_TYPES), _add("count", _WITH_TYPES), wish=_TYPES),
    _pair("change", _fault("fahrenheit"), _fault("mean")),
    _pair("named", _fault("knots"), _fault("fahrenheit"), _PYTEST),
    _pair("place", _want("dearer", says_path=True), _want("books")),
    _pair("told", _fault("strip"), _fault("mean"), _PYTEST),
    _pair("wish", _add("upper", _WITH_DOC), _add("initial", _WITH_DOC), wish=_DOCS),
    _pair("change", _fault("rank"), _fault("order")),
    _pair("named", _fault("warmest"), _fault("storm"), _SCRIPT),
    _pair("named", _fault("frost"), _fault("order"), _PYTEST),
    _pair("place", _want("headline", says_path=True), _want("decimals")),
    _pair("told", _fault("rank"), _fault("warmest"), _PYTEST),
    _pair("change", _fault("paid"), _fault("take")),
)  # fmt: skip
