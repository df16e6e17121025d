"""A byte-level BPE tokenizer of 290 tokens with ChatML turns, as a Hugging Face folder would hold it."""

from __future__ import annotations

import json
from pathlib import Path

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = tuple(
    merge.replace("_", "Ġ")
    for merge in (
        *("_ t", "h e", "i n", "_ a", "o n", "r e", "e r", "_t he", "a t", "_ o", "e n", "o r", "_ s", "i s"),
        *("in g", "_ c", "a n", "e s", "_ w", "e d", "_a n", "l l", "o u", "i t", "_an d", "_ f", "_ b"),
        *("_ p", "a r", "_o f", "Ã ©"),
    )
)
SIZE = len(SPECIAL_TOKENS) + 256 + len(MERGES)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def byte_characters() -> list[str]:
    """The 256 characters of byte-level BPE, by byte (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [table[byte] for byte in range(256)]


def tiny_vocabulary() -> dict[str, int]:
    """token -> id: specials, bytes, merges."""
    tokens = [*SPECIAL_TOKENS, *byte_characters(), *(merge.replace(" ", "") for merge in MERGES)]
    return {token: index for index, token in enumerate(tokens)}


def write_tiny_tokenizer(folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    merges = [(left, right) for left, right in (merge.split(" ") for merge in MERGES)]
    tokenizer = Tokenizer(models.BPE(vocab=tiny_vocabulary(), merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|endoftext|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "add_bos_token": False,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))
