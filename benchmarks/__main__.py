"""`make bench`: run all benchmarks, or those named, and print one table each."""

from __future__ import annotations

import sys
from importlib import import_module

ALL = ("startup", "indexing", "transcripts", "embedding", "searching", "retrieval", "pipeline")


def main() -> int:
    names = sys.argv[1:] or list(ALL)
    unknown = set(names) - set(ALL)
    if unknown:
        print(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    met = True
    for name in names:
        report = import_module(f"benchmarks.{name}").run()
        print(report.table(), flush=True)
        met = met and report.all_met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
