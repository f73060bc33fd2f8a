"""Transcripts are passed to their own callback, once they are a source."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from recallite_producer.service import ProducerService

if TYPE_CHECKING:
    from conftest import Rig


def test_transcripts_are_watched_if_they_are_a_source_and_not_otherwise(rig: Rig) -> None:
    settings = rig.settings()
    main = settings.agent(None)
    with_sessions = dataclasses.replace(main, search=replace(main.search, sources=("memory", "sessions")))
    main.sessions_dir.mkdir(parents=True)
    seen: list[tuple[str, Path]] = []
    service = ProducerService(
        dataclasses.replace(settings, agents={"main": with_sessions}),
        rig.sender,
        session_changed=lambda agent, path: seen.append((agent, path)),
    )
    service.start()
    rig.until(lambda: service.health().state == "running")
    (main.sessions_dir / "a.jsonl").write_text("{}\n")
    rig.until(lambda: seen)
    service.stop(5.0)

    assert seen == [("main", main.sessions_dir / "a.jsonl")]
    assert rig.sender.paths() == []
    assert str(main.sessions_dir) not in [folder.path for folder in rig.start().health().folders]
