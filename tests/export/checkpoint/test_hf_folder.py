"""Hugging Face folders: values, number formats, shards, and damaged files."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.tiny_checkpoints import VARIANTS, tiny_hf_folder

from redraft._core.errors import InputFileError, RedraftError, UnsupportedError
from redraft.export.checkpoint import open_checkpoint

HF_NAMES = {
    "embed.weight": "model.embed_tokens.weight",
    "layers.1.q.weight": "model.layers.1.self_attn.q_proj.weight",
    "layers.1.k.bias": "model.layers.1.self_attn.k_proj.bias",
    "layers.0.o.bias": "model.layers.0.self_attn.o_proj.bias",
    "layers.0.up.bias": "model.layers.0.mlp.up_proj.bias",
    "layers.1.down.weight": "model.layers.1.mlp.down_proj.weight",
    "layers.0.attention_norm.weight": "model.layers.0.input_layernorm.weight",
    "layers.0.q_norm.weight": "model.layers.0.self_attn.q_norm.weight",
    "final_norm.weight": "model.norm.weight",
    "head.weight": "lm_head.weight",
}
PLAIN = {"layers.1.mlp_norm.weight": "model.layers.1.post_attention_layernorm.weight"}
SANDWICH = {
    "layers.1.post_attention_norm.weight": "model.layers.1.post_attention_layernorm.weight",
    "layers.1.mlp_norm.weight": "model.layers.1.pre_feedforward_layernorm.weight",
    "layers.1.post_mlp_norm.weight": "model.layers.1.post_feedforward_layernorm.weight",
}


def stored(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return dict(load_file(folder / "model.safetensors"))


def copy_of(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_values_arrive_under_canonical_names(variant: str, tiny_folder: Callable[[str], Path]) -> None:
    folder = tiny_folder(variant)
    checkpoint, values = open_checkpoint(str(folder)), stored(folder)
    gemma = variant.startswith("gemma")
    checked = 0
    for name, hf_name in {**HF_NAMES, **(SANDWICH if gemma else PLAIN)}.items():
        assert (name in checkpoint.names()) == (hf_name in values)
        if hf_name in values:
            offset = np.float32(gemma and name.endswith("norm.weight"))
            np.testing.assert_array_equal(checkpoint.load(name), values[hf_name] + offset)
            checked += 1
    assert checked >= 6
    assert len(checkpoint.names()) == len(values)


@pytest.mark.parametrize(("dtype", "short"), [("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32")])
def test_every_number_format_is_read_exactly(dtype: str, short: str, tmp_path: Path) -> None:
    import torch

    folder = tiny_hf_folder("llama", tmp_path / "model", dtype=dtype)
    checkpoint = open_checkpoint(str(folder))
    from safetensors.torch import load_file

    expected = load_file(folder / "model.safetensors")["model.layers.0.mlp.up_proj.weight"]
    assert expected.dtype == getattr(torch, dtype)
    value = checkpoint.load("layers.0.up.weight")
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, expected.to(torch.float32).numpy())
    assert checkpoint.source.format == f"safetensors-{short}"
    assert checkpoint.source.quantized_bits is None


def test_shards_and_one_file_are_the_same_checkpoint(tmp_path: Path) -> None:
    one = open_checkpoint(str(tiny_hf_folder("qwen2", tmp_path / "one")))
    folder = tiny_hf_folder("qwen2", tmp_path / "sharded", max_shard_size="50KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    sharded = open_checkpoint(str(folder))
    assert sharded.names() == one.names()
    assert sharded.digest() == one.digest()


def test_the_digest_changes_with_one_weight(tmp_path: Path) -> None:
    digests = {
        open_checkpoint(str(tiny_hf_folder("llama", tmp_path / str(seed), seed=seed))).digest()
        for seed in (0, 1, 0)
    }
    assert len(digests) == 2


@pytest.mark.parametrize("name", ["embed.weight", "layers.0.q.weight", "layers.1.attention_norm.weight"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_rows_are_the_rows_of_the_whole_tensor(name: str, dtype: str, tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(tiny_hf_folder("gemma3_text", tmp_path / "model", dtype=dtype)))
    rows = np.array([5, 0, 63, 5], np.int64)
    np.testing.assert_array_equal(checkpoint.load_rows(name, rows), checkpoint.load(name)[rows])
    assert checkpoint.load_rows(name, rows[:0]).shape[0] == 0
    for bad in (-1, checkpoint.load(name).shape[0]):
        with pytest.raises(IndexError, match="must lie in 0"):
            checkpoint.load_rows(name, np.array([bad], np.int64))


@pytest.mark.parametrize("prefix", ["language_model.model.", "model.language_model."])
def test_a_multimodal_gemma_gives_the_same_text_model(
    prefix: str, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    from safetensors.numpy import save_file

    source = tiny_folder("gemma3_text")
    folder = copy_of(source, tmp_path)
    values = {name.replace("model.", prefix, 1): value for name, value in stored(source).items()}
    values["vision_tower.vision_model.embeddings.patch_embedding.weight"] = np.ones((2, 2), np.float32)
    values["multi_modal_projector.mm_input_projection_weight"] = np.ones((2, 2), np.float32)
    save_file(values, folder / "model.safetensors")
    text = json.loads((source / "config.json").read_text())
    config = {"model_type": "gemma3", "text_config": text, "vision_config": {}, "image_token_index": 3}
    (folder / "config.json").write_text(json.dumps(config))
    checkpoint, original = open_checkpoint(str(folder)), open_checkpoint(str(source))
    assert checkpoint.config == original.config
    assert checkpoint.digest() == original.digest()


def test_a_stored_copy_of_a_tied_head_is_ignored(tiny_folder: Callable[[str], Path], tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    folder = copy_of(tiny_folder("llama-tied"), tmp_path)
    values = stored(folder)
    save_file({**values, "lm_head.weight": values["model.embed_tokens.weight"]}, folder / "model.safetensors")
    assert "head.weight" not in open_checkpoint(str(folder)).names()


def test_licence_and_its_files_come_from_the_folder(
    tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy_of(tiny_folder("llama"), tmp_path)
    (folder / "LICENSE.txt").write_text("terms")
    (folder / "README.md").write_text("---\ntags:\n- x\nlicense: llama3.2\n---\n# Model\nlicense: other\n")
    source = open_checkpoint(str(folder)).source
    assert source.license == "llama3.2"
    assert [path.name for path in source.license_files] == ["LICENSE.txt"]
    (folder / "README.md").write_text("---\nlicense: other\nlicense_name: some-terms\n---\n")
    assert open_checkpoint(str(folder)).source.license == "some-terms"


def test_loading_holds_at_most_twice_the_largest_tensor(tmp_path: Path) -> None:
    folder = tiny_hf_folder("llama", tmp_path / "model", dtype="bfloat16", vocab_size=20000)
    checkpoint = open_checkpoint(str(folder))
    largest = 20000 * 64 * 4
    tracemalloc.start()
    for name in checkpoint.names():
        checkpoint.load(name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest <= peak <= 2 * largest


def damage(folder: Path, what: str) -> None:
    from safetensors.numpy import save_file

    weights, values = folder / "model.safetensors", stored(folder)
    if what == "truncated":
        weights.write_bytes(weights.read_bytes()[:-7])
    elif what == "truncated header":
        weights.write_bytes(weights.read_bytes()[:100])
    elif what == "empty file":
        weights.write_bytes(b"")
    elif what == "other format":
        weights.write_bytes(b"PK\x03\x04" * 100)
    elif what == "no weights":
        weights.unlink()
    elif what == "missing tensor":
        del values["model.layers.1.mlp.up_proj.weight"]
        save_file(values, weights)
    elif what == "missing norm":
        del values["model.norm.weight"]
        save_file(values, weights)
    elif what == "wrong shape":
        values["model.layers.0.self_attn.k_proj.weight"] = np.zeros((64, 64), np.float32)
        save_file(values, weights)
    elif what == "wrong dtype":
        values["model.norm.weight"] = np.ones(64, np.int8)
        save_file(values, weights)
    elif what == "extra tensor":
        save_file({**values, "model.layers.0.self_attn.q_norm.weight": np.ones(16, np.float32)}, weights)
    elif what == "missing shard":
        weight_map = dict.fromkeys(values, "model-00001-of-00002.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    elif what == "shard without tensor":
        weight_map = dict.fromkeys([*values, "model.layers.9.x"], "model.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    elif what == "shard outside":
        weight_map = dict.fromkeys(values, "../elsewhere.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    elif what == "index without map":
        (folder / "model.safetensors.index.json").write_text("{}")
    elif what == "bad config":
        (folder / "config.json").write_text("{")
    elif what == "config list":
        (folder / "config.json").write_text("[]")
    elif what == "no config":
        (folder / "config.json").unlink()
    elif what == "adapter":
        (folder / "adapter_config.json").write_text("{}")


@pytest.mark.parametrize(
    ("what", "phrase", "kind"),
    [
        ("truncated", "is truncated: expected", InputFileError),
        ("truncated header", "is truncated: its header ends outside the file", InputFileError),
        ("empty file", "is not a safetensors file", InputFileError),
        ("other format", "is not a safetensors file", InputFileError),
        ("no weights", "has neither model.safetensors nor", InputFileError),
        ("missing tensor", "the tensor 'model.layers.1.mlp.up_proj.weight' is missing", InputFileError),
        ("missing norm", "the tensor 'model.norm.weight' is missing", InputFileError),
        ("wrong shape", "k_proj.weight': expected [32, 64] from the config, got [64, 64]", InputFileError),
        ("wrong dtype", "'model.norm.weight': expected dtype F32, F16 or BF16, got I8", InputFileError),
        ("extra tensor", "has no use for 1 tensor(s): 'model.layers.0.self_attn.q_norm", UnsupportedError),
        ("missing shard", "cannot read", InputFileError),
        ("shard without tensor", "'model.layers.9.x' is missing, though the index names it", InputFileError),
        ("shard outside", "leaves the folder", InputFileError),
        ("index without map", "the field 'weight_map' is missing", InputFileError),
        ("bad config", "config.json is not valid JSON", InputFileError),
        ("config list", "expected a JSON object", InputFileError),
        ("no config", "config.json does not exist", InputFileError),
        ("adapter", "holds an adapter (adapter_config.json)", UnsupportedError),
    ],
)
def test_damage_is_one_clear_sentence(
    what: str, phrase: str, kind: type[RedraftError], tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy_of(tiny_folder("llama"), tmp_path)
    damage(folder, what)
    with pytest.raises(kind) as caught:
        open_checkpoint(str(folder)).load("final_norm.weight")
    assert phrase in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("uri", "phrase"),
    [
        ("no/such/folder/here", "there is no file or folder"),
        ("/nowhere/model", "there is no file or folder"),
        ("nothing.gguf", "cannot read nothing.gguf: No such file"),
    ],
)
def test_a_path_that_is_not_there_is_named(uri: str, phrase: str) -> None:
    with pytest.raises(InputFileError) as caught:
        open_checkpoint(uri)
    assert phrase in caught.value.message


def test_a_folder_with_only_a_gguf_file_points_to_it(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputFileError) as caught:
        open_checkpoint(str(tmp_path))
    assert "model.gguf" in str(caught.value.hint)
