"""The table of rewrites, and all of them for a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from packages.improve.rewrites import (
    bisections,
    caches,
    containers,
    growth,
    idioms,
    lookups,
    loops,
    repetitions,
)
from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, iter_scopes
from packages.offline.repair.templates.support.source_tree import Source

TABLE: tuple[Callable[[RewriteScope], Iterator[Rewrite]], ...] = (
    containers.use_set_for_membership, containers.keep_set_beside_list, containers.keep_places_beside_list,
    containers.count_once, containers.index_once, containers.pop_from_deque, lookups.index_by_key,
    lookups.search_values_once, lookups.remove_in_one_pass, lookups.divide_to_root, caches.remember_results,
    caches.remember_inner_results, caches.remember_by_value, idioms.keep_heap, idioms.take_least_by_heap,
    idioms.insert_sorted, idioms.find_place_by_bisection, bisections.bisect_by_library,
    bisections.take_next_by_bisection, idioms.take_least_directly, idioms.combine_by_product,
    repetitions.keep_running_prefix, repetitions.sink_last_value, repetitions.scan_without_copy,
    repetitions.compare_in_place, repetitions.take_first, repetitions.split_once, loops.accumulate_prefixes,
    loops.sum_by_prefixes, idioms.flatten_in_one_pass, loops.hoist_invariant, loops.share_results,
    growth.grow_in_place, containers.append_then_reverse, growth.join_parts, loops.leave_early,
    loops.count_by_counter, loops.build_by_comprehension, idioms.compile_pattern,
    containers.search_keys_directly, containers.use_set_of_constants, loops.iterate_directly,
    loops.bind_locally,
)  # fmt: skip
"""Those that change the order of the work come first: they are tried while there is time."""


def list_rewrites(text: str, functions: Collection[str]) -> list[Rewrite]:
    """Return the rewrites of the named functions. Raises SyntaxError for a text that is not Python."""
    source = Source("", text)
    scopes = [each for each in iter_scopes(source) if each.name in functions]
    return [rewrite for generate in TABLE for scope in scopes for rewrite in generate(scope)]
