"""Streaming detokenisation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.text_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

from redraft.runtime.text import Detokenizer, TextTokenizer

TEXTS = (
    "naïve café",
    "日本語のテキスト",
    "emoji 👩‍👩‍👧‍👦 and 🇪🇺",
    "mixed\n\ttabs é ü 中 😀!",
    "\u0928\u092e\u0938\u094d\u0924\u0947",
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    return byte_level_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def pieces(detokenizer: Detokenizer, token_ids: list[int]) -> list[str]:
    return [detokenizer.push(token) for token in token_ids]


@pytest.mark.parametrize("text", TEXTS)
def test_characters_split_over_tokens_come_out_whole(tokenizer: TextTokenizer, text: str) -> None:
    got = pieces(tokenizer.detokenizer(()), tokenizer.encode(text))
    assert "".join(got) == text
    assert not any("\ufffd" in piece for piece in got)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\ufffd"), max_size=30))
def test_any_text_comes_out_as_it_went_in(tokenizer: TextTokenizer, text: str) -> None:
    got = pieces(tokenizer.detokenizer(tokenizer.encode("Prompt: ")), tokenizer.encode(text))
    assert "".join(got) == text
    assert not any("\ufffd" in piece for piece in got)


def test_an_unfinished_character_at_the_end_is_never_emitted(tokenizer: TextTokenizer) -> None:
    ids = tokenizer.encode("ok 😀")
    assert "".join(pieces(tokenizer.detokenizer(()), ids[:-1])) == "ok "


def test_special_tokens_are_skipped_or_kept_as_asked(tokenizer: TextTokenizer) -> None:
    ids = [1, *tokenizer.encode("hi"), 2]
    assert "".join(pieces(tokenizer.detokenizer(()), ids)) == "hi"
    kept = tokenizer.detokenizer((), skip_special_tokens=False)
    assert "".join(pieces(kept, ids)) == "<|im_start|>hi<|im_end|>"


def test_the_first_word_after_a_prompt_keeps_its_leading_space() -> None:
    tokenizer = sentencepiece_tokenizer()
    hello, world = tokenizer.token_to_id("▁Hello"), tokenizer.token_to_id("▁world")
    assert tokenizer.decode([world]) == "world"
    assert "".join(pieces(Detokenizer(tokenizer, [hello]), [world, world])) == " world world"


def test_the_leading_space_survives_a_prompt_that_ends_in_special_tokens() -> None:
    tokenizer = sentencepiece_tokenizer()
    hello, world = tokenizer.token_to_id("▁Hello"), tokenizer.token_to_id("▁world")
    prompt = [0, hello, *[1] * 20]
    assert "".join(pieces(Detokenizer(tokenizer, prompt), [world])) == " world"


def test_byte_fallback_tokens_wait_for_the_whole_character() -> None:
    tokenizer = sentencepiece_tokenizer()
    hello = tokenizer.token_to_id("▁Hello")
    byte_ids = [tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in "😀".encode()]
    got = pieces(Detokenizer(tokenizer, [hello]), [*byte_ids, tokenizer.token_to_id("b")])
    assert "".join(got) == "😀b"
    assert not any("\ufffd" in piece for piece in got)


def test_a_prompt_that_ends_within_a_character_does_not_leak_into_the_output() -> None:
    tokenizer = sentencepiece_tokenizer()
    hello, b = tokenizer.token_to_id("▁Hello"), tokenizer.token_to_id("b")
    half = [tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in "é".encode()]
    got = pieces(Detokenizer(tokenizer, [hello, half[0]]), [half[1], b])
    assert "".join(got) == "éb"
