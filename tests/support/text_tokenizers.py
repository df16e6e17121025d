"""Tokenizers for the text layer: byte-level, and in SentencePiece's manner with byte fallback."""

from __future__ import annotations

from pathlib import Path

from tests.support.tiny_tokenizer import CHAT_TEMPLATE, SIZE, write_tiny_tokenizer
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from redraft.rdk.vocabulary.tokenizer_info import TokenizerInfo
from redraft.runtime.text import TextTokenizer


def info_of(size: int, **options: object) -> TokenizerInfo:
    """A TokenizerInfo with stop id 2."""
    fields = {
        "size": size,
        "digest": "0" * 64,
        "bos_id": 0,
        "add_bos": False,
        "stop_ids": (2,),
        "special_ids": (0, 1, 2),
        "byte_ids": (),
        "pad_id": 0,
        "has_chat_template": True,
    }
    return TokenizerInfo(**{**fields, **options})  # type: ignore[arg-type]


def byte_level_tokenizer(folder: Path, **options: object) -> TextTokenizer:
    """The tiny byte-level BPE tokenizer with ChatML turns: 290 tokens, stop token <|im_end|> (2)."""
    write_tiny_tokenizer(folder)
    return TextTokenizer(
        Tokenizer.from_file(str(folder / "tokenizer.json")),
        info_of(SIZE, **options),
        chat_template=CHAT_TEMPLATE,
        special_tokens={"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"},
    )


def sentencepiece_tokenizer() -> Tokenizer:
    """Words with a leading ▁, byte-fallback tokens, and a decoder that strips a text's first space."""
    words = ["<s>", "<pad>", "</s>", "▁", "▁Hello", "▁world", "▁a", "b", "c", "d", "é", "ld"]
    vocab = {word: index for index, word in enumerate([*words, *(f"<0x{byte:02X}>" for byte in range(256))])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], byte_fallback=True, unk_token=None))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in words[:3]])
    return tokenizer
