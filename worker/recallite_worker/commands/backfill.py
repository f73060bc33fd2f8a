"""Queue an agent's whole memory for indexing behind fresh edits, or tell what that would take.

With a broker the workers of the backfill lane do it; without one, `recallite up` or `recallite index`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.config import AgentSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: the default agent)")
    parser.add_argument("--estimate", action="store_true", help="only count what would be embedded")
    parser.add_argument("--broker", metavar="URL", help="redis://… (default: RECALLITE_BROKER_URL)")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.transcripts.names import ALL_TRANSCRIPTS
    from recallite.work import SCAN
    from recallite.work.connect import broker_url, open_dispatch, open_queue
    from recallite_worker.estimate import estimate

    settings = load_settings(args.config)
    agent = settings.agent(args.agent)
    expected = estimate(agent)
    print(
        f"{agent.agent}: {counted(expected.files, 'file')} to read, {counted(expected.chunks, 'chunk')}, "
        f"{counted(expected.texts, 'text')} to embed "
        f"(about {counted(expected.tokens, 'token')}{_price(agent, expected.tokens)}), "
        f"{counted(expected.cached, 'vector is', 'vectors are')} in the cache"
    )
    if args.estimate:
        return 0
    url = broker_url(args.broker)
    if url is None:
        queue = open_queue(settings, None)
        queue.mark(agent.agent, [SCAN, ALL_TRANSCRIPTS], lane="backfill")
        queue.close()
        print("queued: a running `recallite up` does it; else run `recallite index`")
    else:
        dispatch = open_dispatch(settings, url, agents=settings.agent_ids)
        dispatch.dirty(agent.agent, [SCAN, ALL_TRANSCRIPTS], lane="backfill")
        dispatch.close()
        print("queued for the workers of the backfill lane")
    return 0


def _price(agent: AgentSettings, tokens: int) -> str:
    """What it costs by the price in the settings, which are for ordinary requests."""
    price = agent.search.remote.price_per_million_tokens
    return "" if price is None else f", {tokens * price / 1e6:.2f} at {price:g} a million"
