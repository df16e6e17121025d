"""The tokenizer of a GGUF file, rebuilt as a tokenizer.json from the file's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.errors import InputFileError, UnsupportedError

from .bundle_files import TokenizerSettings, write_bundle_files
from .gguf_bpe import byte_level_bpe
from .gguf_sentencepiece import sentencepiece_bpe
from .gguf_vocabulary import CONTROL, UNKNOWN, USER_DEFINED, GgufVocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_NAMED = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
_ENDS = ("eos_token_id", "eot_token_id")


def write_gguf_tokenizer(metadata: Mapping[str, Any], where: Path, folder: Path) -> None:
    """Write the bundle's tokenizer files from the metadata of the file `where`.

    Kinds: `gpt2` (byte-level BPE with a known pre-tokenizer) and `llama` (SentencePiece BPE); others are
    refused by name.
    """
    vocabulary = GgufVocabulary.from_metadata(metadata, where)
    if vocabulary.kind == "gpt2":
        tokenizer, adds_bos = byte_level_bpe(vocabulary, where)
    elif vocabulary.kind == "llama":
        tokenizer, adds_bos = sentencepiece_bpe(vocabulary), True
    else:
        raise UnsupportedError(
            f"{where}: tokenizer kind '{vocabulary.kind}' is not supported (supported: gpt2, llama)",
            hint="use the Hugging Face folder of this model",
        )
    _add_tokens(tokenizer, vocabulary)
    settings = _settings(metadata, vocabulary, adds_bos, where)
    _add_bos(tokenizer, settings)
    write_bundle_files(tokenizer.to_str(), settings, folder)


def _add_tokens(tokenizer: Tokenizer, vocabulary: GgufVocabulary) -> None:
    """Control and unknown tokens are special, user-defined ones are added: both are matched whole."""
    from tokenizers import AddedToken

    added = [
        AddedToken(token, special=kind != USER_DEFINED, normalized=False)
        for token, kind in vocabulary.tokens_of_kinds((CONTROL, UNKNOWN, USER_DEFINED))
    ]
    tokenizer.add_tokens(added)


def _settings(
    metadata: Mapping[str, Any], vocabulary: GgufVocabulary, adds_bos: bool, where: Path
) -> TokenizerSettings:
    named = {}
    for name, key in _NAMED.items():
        token_id = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if token_id is not None and not 0 <= token_id < len(vocabulary.tokens):
            raise InputFileError(f"{where}: '{key}_token_id' {token_id} is not a token of the file")
        named[name] = None if token_id is None else vocabulary.tokens[token_id]
    stops = (metadata.get(f"tokenizer.ggml.{key}") for key in _ENDS)
    template = metadata.get("tokenizer.chat_template")
    return TokenizerSettings(
        bos_token=named["bos"],
        eos_token=named["eos"],
        pad_token=named["pad"],
        unk_token=named["unk"],
        add_bos=bool(metadata.get("tokenizer.ggml.add_bos_token", adds_bos)),
        stop_ids=tuple(sorted({stop for stop in stops if stop is not None})),
        chat_template=template if isinstance(template, str) and template.strip() else None,
    )


def _add_bos(tokenizer: Tokenizer, settings: TokenizerSettings) -> None:
    if settings.add_bos and settings.bos_token is not None:
        from tokenizers.processors import TemplateProcessing

        bos = settings.bos_token
        token_id = tokenizer.token_to_id(bos)
        tokenizer.post_processor = TemplateProcessing(
            single=[bos, "$A"], pair=[bos, "$A", bos, "$B"], special_tokens=[(bos, token_id)]
        )
