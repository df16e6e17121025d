"""Tokenizers of Hugging Face folders, and the facts that go with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.tiny_tokenizer import CHAT_TEMPLATE, write_tiny_tokenizer
from tokenizers import Tokenizer

from redraft._core.errors import InputFileError
from redraft.export.tokenizer import write_hf_tokenizer
from redraft.rdk.vocabulary.tokenizer_info import TokenizerInfo


@pytest.fixture
def source(tiny_folder: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_folder("llama"), tmp_path / "source"))


def change(path: Path, **changes: Any) -> None:
    values = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**values, **changes}))


def written(source: Path, tmp_path: Path) -> TokenizerInfo:
    write_hf_tokenizer(source, tmp_path / "out")
    return TokenizerInfo.read(tmp_path / "out")


def test_tokenizer_json_is_taken_as_it_is(source: Path, tmp_path: Path) -> None:
    written(source, tmp_path)
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert (config["eos_token"], config["add_bos_token"]) == ("<|im_end|>", False)


def test_truncation_and_padding_are_taken_out(source: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(source / "tokenizer.json"))
    written(source, tmp_path)
    assert len(Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json")).encode("abcdefghij").ids) == 10


def test_transformers_converts_where_there_is_no_tokenizer_json(source: Path, tmp_path: Path) -> None:
    expected = written(source, tmp_path)
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    (source / "tokenizer.json").unlink()
    (source / "vocab.json").write_text(json.dumps(tokenizer["model"]["vocab"]))
    merges = (" ".join(merge) for merge in tokenizer["model"]["merges"])
    (source / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    change(
        source / "tokenizer_config.json",
        tokenizer_class="GPT2Tokenizer",
        additional_special_tokens=["<|im_start|>"],
    )
    assert written(source, tmp_path).digest == expected.digest


@pytest.mark.parametrize(
    ("config", "generation", "expected"),
    [
        (2, None, (2,)),
        ([2, 7], 8, (2, 7, 8)),
        (None, [5, 6], (2, 5, 6)),
        (9999, None, (2,)),
    ],
)
def test_every_end_token_stops_and_so_does_the_end_of_a_turn(
    config: Any, generation: Any, expected: tuple[int, ...], source: Path, tmp_path: Path
) -> None:
    change(source / "config.json", eos_token_id=config)
    change(source / "generation_config.json", eos_token_id=generation)
    change(source / "tokenizer_config.json", eos_token=None)
    info = written(source, tmp_path)
    assert info.stop_ids == expected  # 2 is <|im_end|>
    assert set(expected) <= set(info.special_ids)


def test_the_chat_template_is_found_wherever_it_is(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "chat_template.jinja"
    written(source, tmp_path)
    assert output.read_text() == CHAT_TEMPLATE
    named = [{"name": "tool_use", "template": "B"}, {"name": "default", "template": "A"}]
    change(source / "tokenizer_config.json", chat_template=named)
    written(source, tmp_path)
    assert output.read_text() == "A"
    change(source / "tokenizer_config.json", chat_template=None)
    change(source / "chat_template.json", chat_template="C")
    written(source, tmp_path)
    assert output.read_text() == "C"
    (source / "chat_template.jinja").write_text("D")
    assert written(source, tmp_path).has_chat_template
    assert output.read_text() == "D"


def test_without_a_chat_template_there_is_no_file(source: Path, tmp_path: Path) -> None:
    change(source / "tokenizer_config.json", chat_template=None)
    assert not written(source, tmp_path).has_chat_template
    assert not (tmp_path / "out" / "chat_template.jinja").exists()


@pytest.mark.parametrize(
    ("template_adds", "stated", "expected"),
    [(True, None, True), (False, None, False), (True, False, False), (False, True, True)],
)
def test_bos_is_what_the_config_states_or_the_tokenizer_does(
    template_adds: bool, stated: bool | None, expected: bool, source: Path, tmp_path: Path
) -> None:
    from tokenizers.processors import TemplateProcessing

    if template_adds:
        tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        bos = "<|endoftext|>"
        tokenizer.post_processor = TemplateProcessing(
            single=[bos, "$A"], pair=None, special_tokens=[(bos, 0)]
        )
        tokenizer.save(str(source / "tokenizer.json"))
    change(source / "tokenizer_config.json", add_bos_token=stated)
    info = written(source, tmp_path)
    assert (info.bos_id, info.add_bos) == (0, expected)


def test_the_digest_follows_ids_bytes_and_flags(tmp_path: Path) -> None:
    digests = {}
    for name in ("same", "as_written", "swapped", "other token", "not added"):
        folder = tmp_path / name
        folder.mkdir()
        write_tiny_tokenizer(folder)
        path = folder / "tokenizer.json"
        tokenizer = json.loads(path.read_text())
        vocab = tokenizer["model"]["vocab"]
        if name == "swapped":
            vocab["a"], vocab["b"] = vocab["b"], vocab["a"]
        elif name == "other token":
            vocab["zzz"] = vocab.pop("éĢ" if "éĢ" in vocab else "Ġof")
            tokenizer["model"]["merges"] = tokenizer["model"]["merges"][:5]
        elif name == "not added":
            tokenizer["added_tokens"] = tokenizer["added_tokens"][:2]
        path.write_text(json.dumps(tokenizer))
        digests[name] = written(folder, folder).digest
    assert digests.pop("same") == digests["as_written"]
    assert len(set(digests.values())) == 4


@pytest.mark.parametrize(
    ("name", "content", "phrase"),
    [
        ("tokenizer.json", "{", "is not a tokenizer.json, or it is damaged"),
        ("tokenizer.json", "{}", "is not a tokenizer.json, or it is damaged"),
        ("tokenizer_config.json", "{", "is not valid JSON"),
        ("generation_config.json", "[", "is not valid JSON"),
    ],
)
def test_damaged_files_are_named(name: str, content: str, phrase: str, source: Path, tmp_path: Path) -> None:
    (source / name).write_text(content)
    with pytest.raises(InputFileError) as caught:
        written(source, tmp_path)
    assert phrase in caught.value.message
    assert name in caught.value.message


def test_a_folder_without_any_tokenizer_is_one_sentence(source: Path, tmp_path: Path) -> None:
    (source / "tokenizer.json").unlink()
    with pytest.raises(InputFileError) as caught:
        written(source, tmp_path)
    assert "has no tokenizer.json" in caught.value.message
    assert "\n" not in caught.value.message
