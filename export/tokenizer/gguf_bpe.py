"""Byte-level BPE of a GGUF file, with the pre-tokenizers that the supported families use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.errors import InputFileError, UnsupportedError

from .gguf_vocabulary import GgufVocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True)
class _PreTokenizer:
    """Splits made one after the other, whether whole words are looked up before merging, and the family's
    habits.
    """

    splits: tuple[str, ...]
    ignore_merges: bool = False
    adds_bos: bool = False
    nfc: bool = False


_LLAMA3_PRE = _PreTokenizer((_LLAMA3,), ignore_merges=True, adds_bos=True)
_QWEN2_PRE = _PreTokenizer((_QWEN2,), nfc=True)
_PRE_TOKENIZERS = {
    "gpt-2": _PreTokenizer((_GPT2,)),
    "smollm": _PreTokenizer((r"\p{N}", _GPT2)),
    "llama-bpe": _LLAMA3_PRE,
    "llama3": _LLAMA3_PRE,
    "llama-v3": _LLAMA3_PRE,
    "qwen2": _QWEN2_PRE,
    "deepseek-r1-qwen": _QWEN2_PRE,
    "tekken": _PreTokenizer((_TEKKEN,), ignore_merges=True, adds_bos=True),
}
"""`tokenizer.ggml.pre` -> how text is cut before the merges. A file that names none does not say how its
merges were learned, so that it is refused and not guessed.
"""


def byte_level_bpe(vocabulary: GgufVocabulary, where: Path) -> tuple[Tokenizer, bool]:
    """The tokenizer, and whether it puts BOS before a text where the file does not say.

    UnsupportedError names a pre-tokenizer that is not known.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    if vocabulary.pre not in _PRE_TOKENIZERS:
        raise UnsupportedError(
            f"{where}: pre-tokenizer '{vocabulary.pre}' is not supported "
            f"(supported: {', '.join(_PRE_TOKENIZERS)})",
            hint="use the Hugging Face folder of this model",
        )
    pre = _PRE_TOKENIZERS[vocabulary.pre]
    merges = [tuple(merge.split(" ")) for merge in vocabulary.merges]
    if not merges or any(len(merge) != 2 for merge in merges):
        raise InputFileError(f"{where}: the tokenizer's merges are missing or malformed")
    merge_pairs: Any = merges  # the library's stub asks for a list of pairs
    try:
        model: Any = models.BPE(vocab=vocabulary.ids(), merges=merge_pairs, ignore_merges=pre.ignore_merges)
    except Exception as error:  # the library raises bare Exception
        raise InputFileError(f"{where}: the tokenizer's merges do not fit its tokens: {error}") from error
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC() if pre.nfc else None
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(split), behavior="isolated") for split in pre.splits),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, pre.adds_bos
