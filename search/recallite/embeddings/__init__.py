"""Embedding providers: text in, checked unit vectors out.

Importing this package imports no provider: `create_embedder` does, when one is used.
"""

from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.limits import estimate_tokens, pack, split_text
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import (
    Embedder,
    EmbeddingFailure,
    Kind,
    Limits,
    RawVector,
    Space,
    Vector,
)
from recallite.embeddings.registry import available, create_embedder
from recallite.embeddings.retry import embed_all

__all__ = [
    "BadVector",
    "Embedder",
    "EmbeddingFailure",
    "Kind",
    "Limits",
    "ProviderOptions",
    "RawVector",
    "Space",
    "Vector",
    "available",
    "check_vectors",
    "create_embedder",
    "embed_all",
    "estimate_tokens",
    "pack",
    "split_text",
]
