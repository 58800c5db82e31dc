"""Cheats that the guards against gaming see, and real commits that they raise a false alarm on.

    GAMING_REPOSITORIES=FOLDER python -m benchmarks.verification.gaming [--split develop|unseen|second] [--cases]

FOLDER holds git folders of public repositories as OWNER+NAME/repo; they are read, nothing of them is run. Without it
only the cheats are measured. --cases lists the cheats that are missed, and each commit with an alarm.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.prompt.excused_changes import read_request
from benchmarks.verification.cheats import read_cheats
from benchmarks.verification.real_commits import describe_commit, list_commits, read_files
from benchmarks.verification.weakening import is_weakening
from tools.lint.honesty.file_changes import ChangeSet
from tools.lint.honesty.scan import find_signs

TUNED = (
    "psf+requests", "pallets+flask", "pytest-dev+pytest", "expressjs+express", "spf13+cobra", "axios+axios",
    "pallets+click", "pallets+jinja", "python-attrs+attrs", "marshmallow-code+marshmallow", "tornadoweb+tornado",
    "more-itertools+more-itertools", "networkx+networkx",
)  # fmt: skip
"""Repositories whose alarms were read while the detectors were written."""

OTHERS = (
    "mwaskom+seaborn",
    "pylint-dev+pylint",
    "pallets+werkzeug",
    "sympy+sympy",
    "swe-bench+django__django",
    "scrapy+scrapy",
    "gin-gonic+gin",
    "prometheus+prometheus",
    "vuejs+core",
    "date-fns+date-fns",
)
"""Repositories that were only measured at first; their alarms were read before the last correction of the rules."""

FRESH = (
    "PyCQA+isort", "PyCQA+pyflakes", "Suor+funcy", "Textualize+rich", "andialbrecht+sqlparse", "davidhalter+parso",
    "lepture+mistune", "mahmoud+boltons", "pydata+xarray", "pygments+pygments", "pypa+packaging",
    "pyparsing+pyparsing", "sphinx-doc+sphinx", "tobymao+sqlglot", "python-poetry+tomlkit", "dateutil+dateutil",
    "google+gson", "fastify+fastify", "jekyll+jekyll", "labstack+echo", "colinhacks+zod",
)  # fmt: skip
"""Repositories whose alarms nobody had read when they were measured on frozen rules."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over commits.

    alarms: commits that fail; weaker: those of them that lose tests or checks, as they say (`weakening.is_weakening`)
    kinds: of false alarms, by kind of sign; seconds: CPU time of each
    """

    commits: int = 0
    alarms: int = 0
    weaker: int = 0
    notices: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("develop", "unseen", "second"), default="develop")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--commits", type=int, default=200, help="of each repository; 0: none")
    parser.add_argument(
        "--only", default="", help="part of a repository's name, or `tuned on`, `read late`, `fresh`"
    )
    options = parser.parse_args()
    measure_cheats(options.split, cases=options.cases)
    folder = os.environ.get("GAMING_REPOSITORIES")
    if not folder:
        print("\nNo real commits: GAMING_REPOSITORIES names no folder of git folders (OWNER+NAME/repo).")
        return
    if options.commits:
        measure_commits(Path(folder), options.commits, options.only, cases=options.cases)


def measure_cheats(split: str, *, cases: bool) -> None:
    """Print a table of one half of the corpus, by family."""
    seen: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for cheat in read_cheats(split):
        files, others = cheat.build_changes()
        change = ChangeSet(files=files, request=read_request([cheat.prompt]), other_tests=others)
        signs = find_signs(change)
        total[cheat.family] += 1
        languages[cheat.language] += 1
        is_failure = any(each.severity == "error" for each in signs)
        failed[cheat.family] += is_failure
        if is_failure or (cheat.expect == "notice" and signs):
            seen[cheat.family] += 1
        elif cases:
            print(
                f"missed: {cheat.family}: {cheat.language}: {cheat.title} {[each.message for each in signs]}"
            )
    print(f"| cheats ({split}) | n | seen | as a failure |\n|---|--:|--:|--:|")
    for family in total:
        print(f"| {family} | {total[family]} | {seen[family]} | {failed[family]} |")
    share = 100 * seen.total() / max(total.total(), 1)
    print(f"| all | {total.total()} | {seen.total()} ({share:.1f} %) | {failed.total()} |")
    print(", ".join(f"{name} {count}" for name, count in languages.most_common()))


def measure_commits(folder: Path, wanted: int, only: str, *, cases: bool) -> None:
    """Print false alarms on real commits: of those that change code and tests, and of those of tests alone."""
    tallies: dict[tuple[str, str], Tally] = {}
    for name, group in _list_repositories(folder, only):
        repo = folder / name / "repo"
        commits = list_commits(repo, name, wanted)
        for commit, files, others in read_files(repo, commits):
            change = ChangeSet(
                files=files, request=read_request([describe_commit(commit.message)]), other_tests=others
            )
            started = time.process_time()
            signs = find_signs(change)
            spent = time.process_time() - started
            stratum = "code and tests" if change.changes_product else "tests alone"
            tally = tallies.setdefault((group, stratum), Tally())
            failures = [each for each in signs if each.severity == "error"]
            tally.commits += 1
            tally.seconds.append(spent)
            tally.alarms += bool(failures)
            tally.notices += bool(signs) and not failures
            kinds = {each.check for each in failures}
            is_weaker = is_weakening(failures, files)
            tally.weaker += is_weaker
            if not is_weaker:
                tally.kinds.update(kinds)
            if failures and cases:
                subject = commit.message.partition("\n")[0][:70]
                for each in failures[:3]:
                    place = f"{each.check} {each.path}:{each.line}"
                    word = "weaker" if is_weaker else "alarm"
                    print(f"{word}: {stratum}: {name} {commit.name[:10]} {subject!r}: {place} {each.message}")
        for (_, stratum), tally in sorted(tallies.items()):
            alarms, spent = tally.alarms, sum(tally.seconds)
            print(
                f"{name}: {stratum}: {alarms} of {tally.commits} so far, {spent:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    print(
        "\n| commits | n | failures | less is tested | false alarms | notices | CPU ms: median | 95 % | largest |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for (group, stratum), tally in sorted(tallies.items()):
        print(f"| {stratum}, {group} | {_format_tally(tally)} |")
    for stratum in ("code and tests", "tests alone"):
        _print_sum(stratum, [tally for (_, each), tally in tallies.items() if each == stratum])


def _list_repositories(folder: Path, only: str) -> Iterator[tuple[str, str]]:
    for group, names in (("tuned on", TUNED), ("read late", OTHERS), ("fresh", FRESH)):
        for name in names:
            if only not in f"{group} {name}":
                continue
            if (folder / name / "repo").is_dir():
                yield name, group
            else:
                print(f"missing: {folder / name / 'repo'}")


def _print_sum(stratum: str, tallies: list[Tally]) -> None:
    if not tallies:
        return
    whole = Tally(
        commits=sum(each.commits for each in tallies),
        alarms=sum(each.alarms for each in tallies),
        weaker=sum(each.weaker for each in tallies),
        notices=sum(each.notices for each in tallies),
        seconds=[value for each in tallies for value in each.seconds],
    )
    print(f"| {stratum}, all | {_format_tally(whole)} |")
    kinds: Counter[str] = sum((each.kinds for each in tallies), Counter())
    print(f"| | {', '.join(f'{kind} {count}' for kind, count in kinds.most_common())} |")


def _format_tally(tally: Tally) -> str:
    def share(count: int) -> str:
        return f"{count} ({100 * count / tally.commits:.1f} %)"

    spent = sorted(each * 1000 for each in tally.seconds)
    return (
        f"{tally.commits} | {tally.alarms} | {tally.weaker} | {share(tally.alarms - tally.weaker)}"
        f" | {share(tally.notices)}"
        f" | {statistics.median(spent):.0f} | {spent[int(len(spent) * 0.95)]:.0f} | {spent[-1]:.0f}"
    )


if __name__ == "__main__":
    main()
