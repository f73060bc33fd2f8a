"""A transcript's digest: every byte of what is indexed counts, and is read once."""

from __future__ import annotations

import hashlib
import io

from hypothesis import given
from hypothesis import strategies as st

from recallite.transcripts.progress import WHOLE_BYTES, PrefixDigest, TranscriptProgress


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_it_is_the_digest_of_the_beginning_in_whatever_order_it_is_asked(data: bytes, ends: list[int]) -> None:
    file, digest = io.BytesIO(data), PrefixDigest()
    file.seek(3)

    for end in ends:
        assert digest.up_to(file, end) == hashlib.sha256(data[:end]).hexdigest()
    assert file.tell() == 3


def test_what_is_added_costs_what_is_added() -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            block = super().read(size)
            self.taken += len(block)
            return block

    file, digest = Counting(b"x" * 5_000_000), PrefixDigest()
    for end in range(0, 5_000_001, 100_000):
        digest.up_to(file, end)

    assert file.taken == 5_000_000


def test_a_transcript_that_is_too_long_has_none_and_is_not_read() -> None:
    class Unread(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise AssertionError("read")

    assert PrefixDigest().up_to(Unread(), WHOLE_BYTES + 1) == ""


def test_a_row_of_before_has_no_digest() -> None:
    progress = TranscriptProgress.parse('{"inode":1,"end":5,"fingerprint":"ab"}')

    assert progress is not None and progress.digest == ""
