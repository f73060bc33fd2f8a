"""Search an agent's memory."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from recallite.cli.output import add_agent, add_json, fallback_json, fraction, positive_int, print_json, visible

if TYPE_CHECKING:
    from recallite.types import SearchReply


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="QUERY", help="what to look for")
    parser.add_argument("--query", metavar="TEXT", help="what to look for, as one argument")
    add_agent(parser)
    parser.add_argument("-n", "--max-results", type=positive_int, metavar="N", help="most results (1 to 200)")
    parser.add_argument("--min-score", type=fraction, metavar="S", help="least score, 0 to 1")
    parser.add_argument("--source", action="append", choices=["memory", "sessions"], help="only this source")
    parser.add_argument("--folder", metavar="PATH", help="only this folder, such as memory/projects")
    parser.add_argument("--explain", action="store_true", help="show what each score is made of")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from recallite.client import MemorySearch

    query = args.query if args.query is not None else " ".join(args.words)
    if args.query is None and not args.words:
        print("recallite: no query: recallite search WORDS, or --query TEXT", file=sys.stderr)
        return 2
    query = query.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
    with MemorySearch(args.agent, config=args.config) as memory:
        waiting = memory.waiting_changes()  # before the search, which may itself ask for a scan
        reply = memory.search(
            query,
            max_results=args.max_results,
            min_score=args.min_score,
            sources=args.source,
            folder=args.folder,
            explain=args.explain or args.json,
        )
    reply = replace(reply, pending_files=waiting)
    if args.json:
        print_json({"results": [asdict(hit) for hit in reply.hits], **_about(reply)})
    else:
        _print(reply, explain=args.explain)
    return 0


def _about(reply: SearchReply) -> dict[str, object]:
    about = asdict(reply)
    del about["hits"]
    about["fallback"] = fallback_json(reply.fallback)
    return about


def _print(reply: SearchReply, *, explain: bool) -> None:
    if not reply.hits:
        print("No matches.")
    for hit in reply.hits:
        mark = "  (changed since it was indexed)" if hit.stale else ""
        print(f"{hit.score:.3f} {visible(hit.path)}:{hit.start_line}-{hit.end_line}{mark}")
        if explain and hit.parts is not None:
            parts = hit.parts
            cosine = "none" if parts.cosine is None else f"{parts.cosine:.3f}"
            rank = "none" if parts.bm25 is None else f"{parts.bm25:.2f}"
            exact = ", every term" if parts.exact else ""
            print(
                f"      keyword {parts.keyword:.3f} (bm25 {rank}{exact}), vector {parts.vector:.3f} (cosine {cosine})"
            )
        print(visible(hit.snippet, keep="\n\t"))
        print()
    if reply.fallback is not None:
        instead = f"{reply.provider} answers instead of {reply.fallback.from_provider}: {reply.fallback.reason}"
        print(f"[{visible(instead)}]", file=sys.stderr)
    if reply.reason and reply.mode != "vector":
        by = "by keyword only: " if reply.mode == "keyword" and reply.hits else ""
        print(f"[{by}{visible(reply.reason)}]", file=sys.stderr)
    if reply.pending_files:
        print(f"[{reply.pending_files} changes wait to be indexed: recallite index]", file=sys.stderr)
    if reply.pending_vectors:
        print(f"[{reply.pending_vectors} chunks still wait for their vectors]", file=sys.stderr)
