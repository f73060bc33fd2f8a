"""An agent's session transcripts: which files they are, what is said in them, and when that is worth indexing."""

from recallite.transcripts.files import find_archive, find_transcript, scan_transcripts
from recallite.transcripts.names import ALL_TRANSCRIPTS, is_archive, is_transcript, transcript_name, transcript_path
from recallite.transcripts.pending import Thresholds, Verdict, judge
from recallite.transcripts.progress import TranscriptProgress, fingerprint
from recallite.transcripts.reader import MAX_LINE_BYTES, BadLine, Message, TranscriptReader
from recallite.transcripts.redaction import redact

__all__ = [
    "ALL_TRANSCRIPTS",
    "MAX_LINE_BYTES",
    "BadLine",
    "Message",
    "Thresholds",
    "TranscriptProgress",
    "TranscriptReader",
    "Verdict",
    "find_archive",
    "find_transcript",
    "fingerprint",
    "is_archive",
    "is_transcript",
    "judge",
    "redact",
    "scan_transcripts",
    "transcript_name",
    "transcript_path",
]
