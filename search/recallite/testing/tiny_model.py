"""A real GGUF model of 48 KB: llama.cpp loads it and embeds with it, in a moment. Its weights are random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMS = 32
CONTEXT_TOKENS = 128
_INNER, _HEADS = 64, 2
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def make_tiny_model(path: Path, *, seed: int = 0, architecture: str = "bert") -> Path:
    """Write a BERT of one layer with a vocabulary of single characters. Needs the package `gguf`."""
    import gguf

    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(str(path), architecture)
    _write_head(writer, gguf)

    def normal(*shape: int) -> NDArray[np.float32]:
        return (random.standard_normal(shape) * 0.3).astype(np.float32)

    ones, zeros = np.ones(DIMS, np.float32), np.zeros(DIMS, np.float32)
    writer.add_tensor("token_embd.weight", normal(len(_tokens()), DIMS).astype(np.float16))
    writer.add_tensor("position_embd.weight", normal(CONTEXT_TOKENS, DIMS) * np.float32(0.1))
    writer.add_tensor("token_types.weight", normal(2, DIMS) * np.float32(0.1))
    layers = (("attn_q", DIMS, DIMS), ("attn_k", DIMS, DIMS), ("attn_v", DIMS, DIMS), ("attn_output", DIMS, DIMS))
    for name, columns, rows in (*layers, ("ffn_up", DIMS, _INNER), ("ffn_down", _INNER, DIMS)):
        writer.add_tensor(f"blk.0.{name}.weight", normal(rows, columns).astype(np.float16))
        writer.add_tensor(f"blk.0.{name}.bias", np.zeros(rows, np.float32))
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        writer.add_tensor(f"{name}.weight", ones)
        writer.add_tensor(f"{name}.bias", zeros)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tokens() -> list[str]:
    characters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    return [*_SPECIAL, *("\u2581" + one for one in characters), *characters]


def _write_head(writer: object, gguf: object) -> None:
    """Any: the library has no types."""
    add, names = _untyped(writer), _untyped(gguf)
    tokens = _tokens()
    add.add_name("tiny-random")
    add.add_context_length(CONTEXT_TOKENS)
    add.add_embedding_length(DIMS)
    add.add_block_count(1)
    add.add_feed_forward_length(_INNER)
    add.add_head_count(_HEADS)
    add.add_layer_norm_eps(1e-12)
    add.add_causal_attention(False)
    add.add_pooling_type(names.PoolingType.MEAN)
    add.add_file_type(names.LlamaFileType.MOSTLY_F16)
    add.add_tokenizer_model("bert")
    add.add_tokenizer_pre("default")
    add.add_token_list(tokens)
    control, normal = names.TokenType.CONTROL, names.TokenType.NORMAL
    add.add_token_types([control] * len(_SPECIAL) + [normal] * (len(tokens) - len(_SPECIAL)))
    add.add_token_type_count(2)
    add.add_bos_token_id(2)
    add.add_eos_token_id(3)
    add.add_unk_token_id(1)
    add.add_sep_token_id(3)
    add.add_pad_token_id(0)
    add.add_uint32("tokenizer.ggml.cls_token_id", 2)
    add.add_uint32("tokenizer.ggml.mask_token_id", 4)


def _untyped(value: object) -> Any:
    return value
