"""From texts to what is sent, and from the vectors of what was sent back to one vector per text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recallite.embeddings.limits import OVERHEAD_TOKENS, estimate_tokens, split_text
from recallite.embeddings.protocol import EmbeddingFailure, Kind, Limits, Vector

Outcome = Vector | EmbeddingFailure


@dataclass(slots=True)
class _Whole:
    """One distinct text: where it stands in the input, and the vectors of its parts so far."""

    owners: list[int]
    missing: int = 0
    weighted: list[tuple[int, Vector]] = field(default_factory=list)
    outcome: Outcome | None = None


class Parts:
    """The parts to send, by number, and the outcomes of the texts they come from.

    Equal texts are sent once. A text above the limit is cut into parts whose vectors are averaged by
    their length; as a query it is cut short instead. A blank text is not sent: it fails.
    """

    def __init__(self, texts: Sequence[str], *, limits: Limits, kind: Kind) -> None:
        self.texts: list[str] = []
        self._wholes: dict[str, _Whole] = {}
        self._whole_of: list[_Whole] = []
        self._count = len(texts)
        self._finished: list[_Whole] = []
        most = min(limits.max_input_tokens, limits.max_request_tokens)
        for number, text in enumerate(texts):
            known = self._wholes.get(text)
            if known is not None:
                known.owners.append(number)
                continue
            self._add(text, _Whole([number]), _cut(text, most, kind))

    def _add(self, text: str, whole: _Whole, parts: list[str]) -> None:
        self._wholes[text] = whole
        self.texts.extend(parts)
        self._whole_of.extend([whole] * len(parts))
        whole.missing = len(parts)
        if not parts:
            whole.outcome = EmbeddingFailure("the text is blank", permanent=True)

    def is_wanted(self, number: int) -> bool:
        """Whether sending this part can still help: no other part of its text has failed."""
        return self._whole_of[number].outcome is None

    def put(self, number: int, outcome: Outcome) -> None:
        """Takes the outcome of one part."""
        whole = self._whole_of[number]
        if whole.outcome is not None:
            return
        if isinstance(outcome, EmbeddingFailure):
            whole.outcome = outcome
            return
        whole.weighted.append((len(self.texts[number]), outcome))
        whole.missing -= 1
        if whole.missing == 0:
            whole.outcome = _average(whole.weighted)
            self._finished.append(whole)

    def take_finished(self) -> list[tuple[int, Vector]]:
        """The input numbers and vectors of the texts completed since the last call."""
        finished, self._finished = self._finished, []
        return [
            (owner, whole.outcome)
            for whole in finished
            if isinstance(whole.outcome, np.ndarray)
            for owner in whole.owners
        ]

    def outcomes(self, *, otherwise: EmbeddingFailure) -> list[Outcome]:
        """One outcome per input text; `otherwise` where there is none yet."""
        results: list[Outcome] = [otherwise] * self._count
        for whole in self._wholes.values():
            for owner in whole.owners:
                results[owner] = otherwise if whole.outcome is None else whole.outcome
        return results


def _cut(text: str, most: int, kind: Kind) -> list[str]:
    if not text.strip():
        return []
    short = text.isascii() and len(text) + OVERHEAD_TOKENS <= most  # no tokenizer makes more than one of a byte
    if short or estimate_tokens(text) <= most:
        return [text]
    parts = [part for part in split_text(text, most) if part.strip()]
    return parts[:1] if kind == "query" else parts


def _average(weighted: list[tuple[int, Vector]]) -> Outcome:
    if len(weighted) == 1:
        return weighted[0][1]
    total = np.sum([length * vector.astype(np.float64) for length, vector in weighted], axis=0)
    norm = float(np.linalg.norm(total))
    if norm < 1e-9 * sum(length for length, _ in weighted):
        return EmbeddingFailure("the vectors of its parts cancel each other out", permanent=True)
    vector: Vector = (total / norm).astype(np.float32)
    vector.setflags(write=False)
    return vector
