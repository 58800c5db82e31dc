"""How long the program goes on after Ctrl-C, SIGTERM or the end of `--max-time`, in each of its own long works.

    python benchmarks/ends.py [--size SHARE] [WORK …]

SHARE: of the full size of trees and files, 1 by default; WORK: parts of the works' names.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.long_work import STOPS, WORKS, Work, measure_end, prepare_place


def main() -> None:
    """Print a table: median and most of the seconds until the process was gone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("works", nargs="*")
    args = parser.parse_args()
    print(f"{'':28} {'stop':10} {'median':>7} {'most':>7}")
    for name, work in WORKS.items():
        if not args.works or any(each in name for each in args.works):
            _measure(name, work, args.size)


def _measure(name: str, work: Work, size: float) -> None:
    with tempfile.TemporaryDirectory(prefix="patchwright-bench-") as folder:
        place = Path(folder) / "place"
        model = prepare_place(place, work, size)
        for stop in STOPS:
            endings = [measure_end(place, work, model, stop, delay) for delay in work.delays]
            seconds = [each.seconds for each in endings if each.was_running]
            if seconds:
                print(
                    f"{name:28} {stop:10} {statistics.median(seconds):7.2f} {max(seconds):7.2f}", flush=True
                )


if __name__ == "__main__":
    main()
