"""Arguments of the functions in `histories.txt`, by which each takes some milliseconds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

_DRAW = random.Random(5)
_WORDS = [f"w{_DRAW.randrange(400)}" for _ in range(1500)]
_DOMAINS = [{"domain": f"d{n % 700}", "path": "/"} for n in range(1400)]
_RANGES = [(n * 40, n * 40 + 9, n % 3) for n in range(300)]

HISTORIES: Mapping[str, tuple[Any, ...]] = {
    "list_domains": (_DOMAINS,),
    "has_repeated_domain": (_DOMAINS[:700],),
    "list_file_names": (["a/bc/d/ef/g/h.py" * 3] * 2000,),
    "escape_text": ("ab\tcd\n" * 1500, {"\t": "\\t", "\n": "\\n", **{chr(n): f"\\u{n:04x}" for n in range(1, 9)}}),
    "number_footnotes": (_WORDS, sorted(set(_WORDS))[:300]),
    "find_following": (["a", " ", "b", " ", "a", "c"] * 300, "a"),
    "group_comments": ((["--", "\n"] * 300),),
    "break_list": ([f"name{n}" for n in range(1500)], 40),
    "measure_offsets": (["ab", " ", "\n", "cd"] * 150,),
    "extend_group": ([f"token{n}" for n in range(800)],),
    "read_weekdays": (["Mon", "tuesday", "x"] * 300, {f"day{n}": n for n in range(40)}),
    "merge_occurrences": ([sorted(_DRAW.randrange(9999) for _ in range(30)) for _ in range(40)],),
    "find_actions": ([(f"t{n}", n) for n in range(200)], [f"t{n % 260}" for n in range(1500)]),
    "combine_alternatives": ([["a", "b", "c"]] * 8,),
    "collect_first": ([[f"s{n}" for n in range(120)]] * 4, [f"s{n}" for n in range(100)], {"s3": ["x"], "s9": ["y"]}),
    "measure_cells": ("".join(chr(_DRAW.randrange(32, 2000)) for _ in range(60)) * 50, _RANGES),
    "locate_spans": (list(range(0, 9000, 3)), [(n * 7 % 9000, n) for n in range(1500)]),
    "list_unique_rows": ([[n % 300, "x"] for n in range(1200)],),
    "count_items": (_WORDS * 4,),
    "get_header_values": ([(f"Name-{n}", n) for n in range(200)], [f"name-{n % 250}" for n in range(150)]),
    "split_lines": ("some words of a line\n" * 200,),
    "choose_codecs": (["utf-8", "gb18030", "latin", "windows-1254", "ascii"] * 1000,),
    "expand_tags": (
        ".".join(f"cp{n}" for n in range(8)), ".".join(f"abi{n}" for n in range(12)),
        ".".join(f"linux{n}" for n in range(30)),
    ),
    "check_wheel_names": (["name_of_it", "a-b", "x.y", "a__b"] * 800,),
    "evaluate_markers": ([f"3.{n % 14}.{n % 5}" for n in range(150)], [f"3.{n}" for n in range(14)]),
    "discard_all": (list(range(1500)), list(range(0, 1500, 3))),
    "replace_matches": (
        [{f"group{n}": "x" if n == k % 25 else None for n in range(25)} for k in range(500)],
        {f"group{n}": f"r{n}" for n in range(25)},
    ),
    "round_up": (list(range(0, 3000, 7)), [n % 2900 for n in range(300)]),
    "dispatch_nodes": ([f"h{n % 90}" for n in range(200)], [f"h{n}_sql" for n in range(90)]),
    "find_boundary": (["some data of a chunk " * 10] * 400, "--boundary"),
}  # fmt: skip
