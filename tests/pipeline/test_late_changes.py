"""Files that go while their vectors are made."""

from __future__ import annotations

import pytest

from recallite.testing.embedder import DeterministicEmbedder


class DeletingEmbedder(DeterministicEmbedder):
    """Deletes a note at the moment in which texts are embedded."""

    def __init__(self, note) -> None:
        super().__init__(dims=64)
        self.note = note

    def embed(self, texts, *, kind):
        self.note.unlink(missing_ok=True)
        return super().embed(texts, kind=kind)


def _index_while_a_note_goes(lab) -> None:
    note = lab.note("memory/a.md", "a passing thought")
    lab.note("memory/b.md", "a lasting thought")
    embedder = DeletingEmbedder(note)
    lab.index(embedders=lambda settings: (embedder, None))
    assert not note.exists()


def _counts(lab) -> tuple[int, int, int]:
    status = lab.memory().status()
    return status.files_indexed, status.chunks, status.vectors.indexed


def test_a_file_deleted_while_its_text_is_embedded_does_not_come_back(lab) -> None:
    _index_while_a_note_goes(lab)
    lab.index()

    assert _counts(lab) == (1, 1, 1)


def test_a_file_that_goes_while_vectors_are_made_is_gone_when_the_run_ends(
    lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recallite_worker.executor.RESCAN_SECONDS", 0.0)

    _index_while_a_note_goes(lab)

    assert _counts(lab) == (1, 1, 1)
