"""The values that recallite hands out: frozen, typed, without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Source = Literal["memory", "sessions"]
"""Where a text comes from: an agent's notes or its transcripts."""

Mode = Literal["hybrid", "keyword", "vector", "none"]
"""How a search was answered."""

Health = Literal["ok", "degraded", "stale", "empty", "failed"]
"""`degraded`: some input failed, lacks its vector or could not be looked at; `stale`: files or settings changed
since it was indexed; `empty`: nothing is indexed yet; `failed`: the index cannot be used. The later the worse."""


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Why a hit has its score. All scores lie in 0..1 except `cosine` and `bm25`.

    The score is `lifted`, where it is given, else `merged`, times `decay` times `gave_way`.
    """

    keyword: float
    """Keyword score: share of the query's terms in the chunk, weighted by rarity."""
    vector: float
    """Cosine after the model's calibration; 0 for unrelated text."""
    cosine: float | None = None
    bm25: float | None = None
    """FTS5's rank: negative, lower is better."""
    exact: bool = False
    """Whether the chunk holds every term of the query."""
    likeness: int = 0
    """With every term: 4 the query stands in it as asked, 2 each word does, 3 and 1 the same in other capitals."""
    keyword_rank: int | None = None
    """Place among the keyword candidates, from 1; None where it is no candidate of that side."""
    vector_rank: int | None = None
    """Place among the candidates by cosine, from 1."""
    merged: float = 0.0
    """The two sides joined, before an exact hit is lifted above the others and before decay."""
    text_weight: float = 0.0
    """What the keyword side weighed in it, out of 1; with weighted fusion `merged` is the sum by these weights."""
    lifted: float | None = None
    """With every term: what `merged` became, to stand above the best hit less like the query; None without such."""
    age_days: int | None = None
    """With temporal decay: the age that counted; None for what never ages."""
    decay: float = 1.0
    """What age multiplied the score with."""
    gave_way: float = 1.0
    """What a further chunk of one transcript was multiplied with, to leave room for other files."""
    similarity: float | None = None
    """With MMR: greatest similarity to the hits picked before this one, 0..1."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer: a part of one file. `snippet` has at most 700 characters and is verbatim."""

    path: str
    start_line: int
    end_line: int
    score: float
    """0..1, higher is better."""
    snippet: str
    source: Source
    chunk_id: int
    stale: bool = False
    """The file changed or vanished since it was indexed."""
    parts: ScoreParts | None = None
    """Only with `explain=True`."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """Another provider answers than the configured one."""

    from_provider: str
    """The configured provider, which fails."""
    reason: str


@dataclass(frozen=True, slots=True)
class SearchReply:
    """Hits, best first, and how they were found."""

    hits: tuple[Hit, ...]
    mode: Mode
    reason: str | None = None
    """Why the mode is not `hybrid`, when it is not."""
    provider: str | None = None
    model: str | None = None
    fallback: Fallback | None = None
    """Why `provider` is not the configured one, when it is not."""
    pending_files: int = 0
    """Files known to have changed and not yet indexed."""
    pending_vectors: int = 0
    """Chunks found by keyword only, since their vectors are still to come."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text of a note as `memory_get` returns it; empty for a file that is not there."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class WrittenNote:
    """Where a text was appended: the note, and the first and last line of the text in it."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A note that a session begins with."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What a session begins with. `problems`: notes that are there and could not be read, and why."""

    files: tuple[ContextFile, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlushTurn:
    """The silent turn that saves notes before a session is compacted."""

    due: bool
    reason: str
    """Why it is due, or why not."""
    prompt: str
    system_prompt: str
    note: str
    """The note that the prompts name: today's log."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One input that could not be indexed, and why."""

    path: str
    reason: str
    permanent: bool = True
    """False when a later run may succeed without a change to the file."""
    start_line: int | None = None
    """First line of the chunk, when one chunk failed and not the file."""


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line of a transcript that could not be read; the lines around it are indexed."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class SourceCount:
    """Numbers of one source."""

    source: Source
    files_on_disk: int
    files_indexed: int
    chunks: int
    files_kept: int = 0
    """Those of the indexed ones that cannot be read now."""


@dataclass(frozen=True, slots=True)
class VectorState:
    """Whether vectors can be searched, and through what."""

    state: Literal["ready", "missing", "disabled", "none"]
    """`missing`: no extension, vectors go to a plain table; `none`: nothing embedded yet."""
    reason: str | None = None
    dims: int | None = None
    indexed: int = 0
    pending: int = 0
    failed: int = 0
    engine: Literal["sqlite-vec", "numpy"] | None = None
    """Whose table new vectors are written to: that of sqlite-vec, or a plain one. Both are read with numpy."""


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A job of a provider's batch service. Moments are seconds since the epoch."""

    id: int
    provider_id: str | None
    """The provider's name for it, once it is submitted."""
    state: str
    """planned, uploaded, creating, running; or done, failed, expired, cancelled."""
    texts: int
    delivered: int
    tokens: int
    """Estimated."""
    created: float
    submitted: float | None
    finished: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class BatchState:
    """An agent's batch jobs."""

    jobs: tuple[BatchJob, ...] = ()
    """Open ones first, then the newest that are over."""
    waiting: int = 0
    """Texts whose vectors a job shall bring."""
    off_reason: str | None = None
    """Why texts are embedded by ordinary requests for now, after jobs failed."""

    @property
    def open_jobs(self) -> int:
        return sum(job.finished is None for job in self.jobs)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What is true of one agent's index, from the data itself."""

    agent: str
    health: Health
    """What the worst of `problems` makes of it."""
    problems: tuple[str, ...]
    """One line each, with the remedy; what is merely worth knowing among them leaves the health at `ok`."""
    workspace: str
    index_path: str
    requested_provider: str
    provider: str | None
    model: str | None
    provider_reason: str | None
    fallback: Fallback | None
    """Why `provider` is not the configured one, when it is not."""
    sources: tuple[SourceCount, ...]
    files_on_disk: int
    files_indexed: int
    chunks: int
    unindexed: tuple[str, ...]
    """Files on disk that are new or changed since they were indexed."""
    vanished: tuple[str, ...]
    """Files in the index that are no longer on disk."""
    skipped: tuple[Failure, ...]
    """Files that are left out, with the reason (symlinks, binaries, …)."""
    failures: tuple[Failure, ...]
    vectors: VectorState
    fts: str
    rebuild: str | None
    """Progress of a rebuild under way, such as `120/400 chunks`."""
    cache_entries: int
    cache_max_entries: int
    last_success: float | None
    """Seconds since the epoch."""
    queue_live: int
    """Changed files that wait to be indexed, as far as the queue knows."""
    queue_backfill: int
    writer: str | None
    """Who holds the agent's lease now."""
    watcher: str | None
    """What watches for changes, and how; None when nothing does."""
    last_scan: float | None
    """When all files were last compared with the index on the watcher's word; seconds since the epoch."""
    batch: BatchState
    workers: tuple[str, ...]
    """Living Celery workers; empty in the embedded mode."""
    below_threshold: tuple[str, ...] = ()
    """Transcripts with new text that is not worth an update yet (`sync.sessions`)."""
    bad_line_count: int = 0
    bad_lines: tuple[SkippedLine, ...] = ()
    """The first of them, of each transcript."""
    unfinished: tuple[SkippedLine, ...] = ()
    """Last lines of transcripts that have no end yet: waited for."""
    without_text: int = 0
    """Indexed transcripts in which neither user nor assistant says anything."""
    rewritten: tuple[str, ...] = ()
    """Transcripts that were cut or written anew after they were first indexed."""
    files_kept: int = 0
    """Indexed files that cannot be read now: what is indexed of them stays."""
    notes: tuple[str, ...] = field(default=())
