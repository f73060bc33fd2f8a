"""Search an agent's memory."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from recallite.cli.output import add_agent, add_json, fallback_json, fraction, print_json, result_count, visible
from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.types import ScoreParts, SearchReply


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="QUERY", help="what to look for")
    parser.add_argument("--query", metavar="TEXT", help="what to look for, as one argument")
    add_agent(parser)
    parser.add_argument("-n", "--max-results", type=result_count, metavar="N", help="most results (1 to 200)")
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
        reply = memory.search(
            query,
            max_results=args.max_results,
            min_score=args.min_score,
            sources=args.source,
            folder=args.folder,
            explain=args.explain or args.json,
        )
    if args.json:
        print_json({"results": [asdict(hit) for hit in reply.hits], **_about(reply)})
    else:
        _print(reply, explain=args.explain)
    return 0


_LIKENESS = (
    ", every term, one in another spelling",
    ", every term, one in other capitals",
    ", every term",
    ", every term, as it was asked in other capitals",
    ", every term, as it was asked",
)


def _explained(parts: ScoreParts) -> str:
    """The score's parts in the order in which they came about; what had no effect is left out."""
    keyword = f"keyword {parts.keyword:.3f}"
    if parts.bm25 is not None:
        place = f"#{parts.keyword_rank}, " if parts.keyword_rank is not None else ""
        keyword += f" ({place}bm25 {parts.bm25:.2f}{_LIKENESS[parts.likeness] if parts.exact else ''})"
    vector = f"vector {parts.vector:.3f}"
    if parts.cosine is not None:
        place = f"#{parts.vector_rank}, " if parts.vector_rank is not None else ""
        vector += f" ({place}cosine {parts.cosine:.3f})"
    steps = [keyword, vector, f"merged {parts.merged:.3f} (words weigh {parts.text_weight:.2f})"]
    if parts.lifted is not None:
        steps.append(f"lifted above those less like the query {parts.lifted:.3f}")
    if parts.age_days is not None:
        steps.append(f"{counted(parts.age_days, 'day')} old: × {parts.decay:.2f}")
    if parts.gave_way < 1:
        steps.append(f"a further part of its session: × {parts.gave_way:.2f}")
    if parts.similarity is not None:
        steps.append(f"likeness to those above {parts.similarity:.2f}")
    return ", ".join(steps)


def _about(reply: SearchReply) -> dict[str, object]:
    about = asdict(reply)
    del about["hits"]
    about["fallback"] = fallback_json(reply.fallback)
    return about


def _print(reply: SearchReply, *, explain: bool) -> None:
    if not reply.hits:
        print("No matches.")
    for hit in reply.hits:
        mark = "  (changed since it was indexed, or cannot be read now)" if hit.stale else ""
        print(f"{hit.score:.3f} {visible(hit.path)}:{hit.start_line}-{hit.end_line}{mark}")
        if explain and hit.parts is not None:
            print(f"      {_explained(hit.parts)}")
        lines = hit.snippet.replace("\r\n", "\n").replace("\r", "\n")  # a note may have line ends of another system
        print(visible(lines, keep="\n\t"))
        print()
    if reply.fallback is not None:
        instead = f"{reply.provider} answers instead of {reply.fallback.from_provider}: {reply.fallback.reason}"
        print(f"[{visible(instead)}]", file=sys.stderr)
    if reply.reason and reply.mode != "vector":
        by = "by keyword only: " if reply.mode == "keyword" and reply.hits else ""
        print(f"[{by}{visible(reply.reason)}]", file=sys.stderr)
    if reply.pending_files:
        print(
            f"[{counted(reply.pending_files, 'change waits', 'changes wait')} to be indexed: recallite index]",
            file=sys.stderr,
        )
    if reply.pending_vectors:
        waiting = counted(
            reply.pending_vectors, "chunk still waits for its vector", "chunks still wait for their vectors"
        )
        print(f"[{waiting}]", file=sys.stderr)
