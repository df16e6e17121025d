"""GGUF metadata as decoder descriptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.tiny_gguf import tiny_gguf

from redraft._core.errors import RedraftError, UnsupportedError
from redraft.export.checkpoint import open_checkpoint
from redraft.export.config import GgufTensors, RopeConfig, decoder_from_gguf, decoder_from_hf
from redraft.export.config.from_gguf import llama3_divisors

METADATA: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.context_length": 256,
    "llama.embedding_length": 64,
    "llama.block_count": 2,
    "llama.feed_forward_length": 96,
    "llama.attention.head_count": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-6,
}
TENSORS = GgufTensors(frozenset({"token_embd.weight"}), 304, None)
VARIANTS = ("llama", "llama-tied", "llama-biased", "llama-linear", "llama-yarn", "qwen2", "qwen3", "mistral")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_converted_model_has_the_description_of_its_source(
    variant: str, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_folder(variant)
    config = open_checkpoint(str(tiny_gguf(folder, tmp_path / "tiny.gguf"))).config
    expected = decoder_from_hf(json.loads((folder / "config.json").read_text()))[1]
    expected = replace(expected, family="llama") if variant == "mistral" else expected
    assert replace(config, norm_eps=expected.norm_eps) == expected
    assert config.norm_eps == pytest.approx(expected.norm_eps, rel=1e-6)  # the file holds a float32


def test_gemma_takes_its_pattern_and_local_positions(
    tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    config = open_checkpoint(str(tiny_gguf(tiny_folder("gemma3_text"), tmp_path / "tiny.gguf"))).config
    assert [layer.window for layer in config.layers] == [6, None, 6]
    assert config.layers[0].rope == RopeConfig(10000.0)
    assert config.layers[1].rope == RopeConfig(1000000.0, "linear", factor=8.0)
    assert (config.sandwich_norms, config.qk_norm, config.tied_head) == (True, True, True)
    assert config.embedding_scale == 8.0


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"general.architecture": "phi3"}, "architecture 'phi3' is not supported"),
        ({"llama.expert_count": 8}, "mixtures of experts"),
        ({"llama.logit_scale": 2.0}, "unknown field 'logit_scale' = 2.0"),
        ({"llama.rope.dimension_count": 8}, "'rope.dimension_count' = 8 is not supported"),
        ({"llama.attention.value_length": 8}, "'attention.value_length' = 8 is not supported"),
        ({"llama.rope.scaling.type": "longrope"}, "rope scaling 'longrope'"),
        ({"llama.rope.scaling.type": "yarn", "llama.rope.scaling.attn_factor": 0.5}, "with attn_factor 0.5"),
        ({"llama.embedding_length": None}, "the field 'embedding_length' is missing"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(changes: dict[str, Any], phrase: str) -> None:
    with pytest.raises(RedraftError) as caught:
        decoder_from_gguf({**METADATA, **changes}, TENSORS, "x.gguf")
    assert phrase in caught.value.message


def test_qwen_files_with_a_window_are_refused() -> None:
    metadata = {key.replace("llama", "qwen2"): value for key, value in METADATA.items()}
    metadata |= {"general.architecture": "qwen2", "qwen2.attention.sliding_window": 64}
    with pytest.raises(UnsupportedError, match=r"'attention\.sliding_window' = 64 is not"):
        decoder_from_gguf(metadata, TENSORS, "x.gguf")


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_scaling_is_recovered_from_the_divisors_that_the_file_stores(factor: float) -> None:
    rope = RopeConfig(
        500000.0,
        "llama3",
        factor=factor,
        original_max_positions=8192,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
    )
    divisors = oracle_divisors(rope, 128)
    tensors = replace(TENSORS, rope_freqs=divisors)
    metadata = {**METADATA, "llama.rope.freq_base": 500000.0, "llama.attention.key_length": 128}
    assert decoder_from_gguf(metadata, tensors, "x.gguf").layers[0].rope == rope
    np.testing.assert_allclose(llama3_divisors(rope, 128), divisors, rtol=1e-5)


def test_other_divisors_are_refused() -> None:
    tensors = replace(TENSORS, rope_freqs=np.linspace(1, 8, 8, dtype=np.float32))
    with pytest.raises(UnsupportedError, match="does not hold Llama 3's scaling"):
        decoder_from_gguf(METADATA, tensors, "x.gguf")


def oracle_divisors(rope: RopeConfig, head_size: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What transformers divides the frequencies by."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters = {
        "rope_type": "llama3",
        "rope_theta": rope.theta,
        "factor": rope.factor,
        "low_freq_factor": rope.low_freq_factor,
        "high_freq_factor": rope.high_freq_factor,
        "original_max_position_embeddings": rope.original_max_positions,
    }
    config = LlamaConfig(head_dim=head_size, rope_parameters=parameters)
    scaled = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")[0].numpy()
    plain = rope.theta ** (-np.arange(0, head_size, 2) / head_size)
    return (plain / scaled).astype(np.float32)
