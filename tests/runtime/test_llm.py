"""LLM over fake engines: texts, streams, limits, threads, lifecycle."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_engines import FakeEngine, LogitsOf, random_table
from tests.support.text_tokenizers import byte_level_tokenizer
from tests.support.tiny_tokenizer import SIZE

from redraft._core.errors import RedraftError, RequestError, UsageError
from redraft.runtime import LLM, SamplingParams
from redraft.runtime.decoding import Decoder
from redraft.runtime.text import TextTokenizer

GREEDY = SamplingParams(temperature=0)
STOP = 2


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    return byte_level_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def writer(tokenizer: TextTokenizer, text: str, prompt_len: int, *, wrong_every: int = 0) -> LogitsOf:
    """A model that writes `text` and then the stop token, with another token at every n-th place."""
    from tests.support.fake_engines import scripted_table

    ids = tokenizer.encode(text)
    if wrong_every:
        ids = [5 if index % wrong_every == 0 else token for index, token in enumerate(ids)]
    return scripted_table(ids, SIZE, prompt_len, otherwise=STOP)


def llm_of(target: LogitsOf, draft: LogitsOf, tokenizer: TextTokenizer, **options: Any) -> LLM:
    decoder = Decoder(
        FakeEngine(target, SIZE, max_positions=200),
        FakeEngine(draft, SIZE, drafter=True, max_positions=200),
        num_tokens=tokenizer.info.size,
        **options,
    )
    return LLM.from_decoder(decoder, tokenizer)


PROMPT = "Say it: "
TEXT = "The café is in 東京 😀, and the cat sat."


@pytest.fixture
def llm(tokenizer: TextTokenizer) -> Iterator[LLM]:
    length = len(tokenizer.encode(PROMPT))
    with llm_of(
        writer(tokenizer, TEXT, length), writer(tokenizer, TEXT, length, wrong_every=4), tokenizer
    ) as llm:
        yield llm


@pytest.mark.parametrize("speculative", [True, False])
def test_a_text_ends_at_the_models_stop_token_which_is_not_part_of_it(llm: LLM, speculative: bool) -> None:
    (output,) = llm.generate(PROMPT, GREEDY, speculative=speculative)
    completion = output.outputs[0]
    assert completion.text == TEXT
    assert completion.finish_reason == "stop"
    assert completion.stop_reason == STOP
    assert completion.token_ids[-1] == STOP
    assert output.prompt == PROMPT
    assert output.usage.prompt_tokens == len(output.prompt_token_ids)
    assert output.usage.completion_tokens == len(completion.token_ids)


def test_usage_tells_accepted_from_rejected_drafts(llm: LLM) -> None:
    output = llm.generate(PROMPT, GREEDY)[0]
    usage, stats = output.usage, output.stats
    assert 0 < usage.accepted_prediction_tokens < usage.completion_tokens
    assert usage.accepted_prediction_tokens + usage.rejected_prediction_tokens == stats.drafted
    plain = llm.generate(PROMPT, GREEDY, speculative=False)[0]
    assert plain.usage.accepted_prediction_tokens == plain.usage.rejected_prediction_tokens == 0


def test_a_stream_adds_up_to_the_text_and_never_shows_half_a_character(llm: LLM) -> None:
    deltas = list(llm.stream(PROMPT, GREEDY))
    assert "".join(delta.text for delta in deltas) == TEXT
    assert not any("\ufffd" in delta.text for delta in deltas)
    assert [delta.finish_reason for delta in deltas[:-1]] == [None] * (len(deltas) - 1)
    assert deltas[-1].output is not None
    assert deltas[-1].output.outputs[0].text == TEXT
    assert len(deltas) > 5


@pytest.mark.parametrize(
    ("stop", "expected"),
    [("in 東", "The café is "), (["zzz", " and"], TEXT[: TEXT.index(" and")]), ("é", "The caf")],
)
def test_a_stop_string_across_tokens_ends_the_text_before_it(llm: LLM, stop: Any, expected: str) -> None:
    params = SamplingParams(temperature=0, stop=stop)
    completion = llm.generate(PROMPT, params)[0].outputs[0]
    assert completion.text == expected
    assert completion.finish_reason == "stop"
    assert completion.stop_reason in ([stop] if isinstance(stop, str) else stop)
    streamed = [delta.text for delta in llm.stream(PROMPT, params)]
    assert "".join(streamed) == expected


def test_a_stop_string_may_be_part_of_the_text(llm: LLM) -> None:
    params = SamplingParams(temperature=0, stop="in 東", include_stop_str_in_output=True)
    assert llm.generate(PROMPT, params)[0].outputs[0].text == "The café is in 東"


def test_usage_counts_only_tokens_up_to_the_stop_string(llm: LLM, tokenizer: TextTokenizer) -> None:
    output = llm.generate(PROMPT, SamplingParams(temperature=0, stop="café"))[0]
    needed = next(n for n in range(1, 40) if "café" in tokenizer.decode(tokenizer.encode(TEXT)[:n]))
    assert output.usage.completion_tokens == len(output.outputs[0].token_ids) == needed


def test_no_engine_runs_after_a_stop_string(llm: LLM) -> None:
    engine = llm.decoder.target.engine
    output = llm.generate(PROMPT, SamplingParams(temperature=0, stop="The"))[0]
    assert output.stats.rounds == 2
    assert len(engine.calls) == 3  # type: ignore[attr-defined]  # prefill and two rounds


def test_max_tokens_ends_the_text_within_a_character_without_showing_half_of_it(llm: LLM) -> None:
    for limit in range(1, 30):
        completion = llm.generate(PROMPT, SamplingParams(temperature=0, max_tokens=limit))[0].outputs[0]
        assert len(completion.token_ids) == limit
        assert completion.finish_reason == "length"
        assert TEXT.startswith(completion.text)


def test_further_stop_tokens_and_ignoring_the_models_own(llm: LLM, tokenizer: TextTokenizer) -> None:
    comma = tokenizer.encode(",")[0]
    completion = llm.generate(PROMPT, SamplingParams(temperature=0, stop_token_ids=[comma]))[0].outputs[0]
    assert (completion.text, completion.stop_reason) == (TEXT[: TEXT.index(",")], comma)
    endless = llm.generate(PROMPT, SamplingParams(temperature=0, ignore_eos=True, max_tokens=60))[0]
    assert endless.outputs[0].finish_reason == "length"
    assert len(endless.outputs[0].token_ids) == 60


def test_several_prompts_are_answered_in_order(tokenizer: TextTokenizer) -> None:
    llm = llm_of(random_table(1, SIZE), random_table(2, SIZE), tokenizer)
    params = SamplingParams(seed=1, max_tokens=8)
    together = llm.generate(["one", "two", [5, 6, 7]], params)
    apart = [llm.generate(prompt, params)[0] for prompt in ("one", "two", [5, 6, 7])]
    assert [o.outputs for o in together] == [o.outputs for o in apart]
    assert [o.prompt for o in together] == ["one", "two", None]


def test_a_seed_repeats_a_text_and_a_fresh_one_is_reported(tokenizer: TextTokenizer) -> None:
    llm = llm_of(random_table(1, SIZE), random_table(2, SIZE), tokenizer)
    first = llm.generate("x", SamplingParams(max_tokens=12))[0]
    again = llm.generate("x", SamplingParams(max_tokens=12, seed=first.seed))[0]
    assert again.outputs == first.outputs
    assert llm.generate("x", SamplingParams(max_tokens=12))[0].seed != first.seed


def test_chat_goes_through_the_template(tokenizer: TextTokenizer) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    length = len(tokenizer.encode_chat(messages))
    llm = llm_of(writer(tokenizer, "Hello!", length), writer(tokenizer, "Hello!", length), tokenizer)
    assert llm.chat(messages, GREEDY)[0].outputs[0].text == "Hello!"
    assert [o.outputs[0].text for o in llm.chat([messages, messages], GREEDY)] == ["Hello!"] * 2
    with pytest.raises(RequestError, match="at least one message"):
        llm.chat([], GREEDY)


@pytest.mark.parametrize(
    ("prompt", "phrase"),
    [
        ("", "the prompt is empty"),
        ([], "the prompt is empty"),
        ("x" * 500, "leaves no room"),
        ([999], "999 is outside"),
    ],
)
def test_a_bad_prompt_is_refused_before_anything_runs(llm: LLM, prompt: Any, phrase: str) -> None:
    with pytest.raises(RequestError, match=phrase):
        llm.generate(["fine", prompt], GREEDY)
    with pytest.raises(RequestError, match=phrase):
        llm.stream(prompt, GREEDY)
    assert llm.decoder.target.engine.calls == []  # type: ignore[attr-defined]


def test_closing_a_stream_cancels_and_lets_the_next_request_in(llm: LLM) -> None:
    stream = llm.stream(PROMPT, GREEDY)
    next(stream)
    calls = len(llm.decoder.target.engine.calls)  # type: ignore[attr-defined]
    stream.close()
    stream.close()
    assert list(stream) == []
    assert len(llm.decoder.target.engine.calls) == calls  # type: ignore[attr-defined]
    assert stream.output is not None
    assert stream.output.outputs[0].finish_reason == "abort"
    assert TEXT.startswith(stream.output.outputs[0].text)
    assert llm.generate(PROMPT, GREEDY)[0].outputs[0].text == TEXT


def test_a_dropped_stream_frees_the_engines(llm: LLM) -> None:
    next(llm.stream(PROMPT, GREEDY))
    gc.collect()
    assert llm.generate(PROMPT, GREEDY)[0].outputs[0].text == TEXT


def test_a_request_under_an_open_stream_of_the_same_thread_is_refused_instead_of_hanging(llm: LLM) -> None:
    with llm.stream(PROMPT, GREEDY) as stream:
        next(stream)
        with pytest.raises(RedraftError, match="still open in this thread"):
            llm.generate(PROMPT, GREEDY)
    assert llm.generate(PROMPT, GREEDY)[0].outputs[0].text == TEXT


def test_threads_take_turns_and_get_their_own_texts(tokenizer: TextTokenizer) -> None:
    llm = llm_of(random_table(1, SIZE), random_table(2, SIZE), tokenizer)
    prompts = [f"prompt {n}" for n in range(6)]
    params = SamplingParams(seed=4, max_tokens=10)
    expected = [llm.generate(prompt, params)[0].outputs[0].text for prompt in prompts]
    got: dict[int, str] = {}

    def work(n: int) -> None:
        streamed = "".join(delta.text for delta in llm.stream(prompts[n], params))
        assert streamed == llm.generate(prompts[n], params)[0].outputs[0].text
        got[n] = streamed

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [got[n] for n in range(6)] == expected


def test_an_engine_error_passes_on_and_the_next_request_works(llm: LLM) -> None:
    engine = llm.decoder.target.engine
    good = engine.logits_of  # type: ignore[attr-defined]

    def broken(context: tuple[int, ...]) -> Any:
        raise RedraftError("the engine broke")

    engine.logits_of = broken  # type: ignore[attr-defined]
    with pytest.raises(RedraftError, match="the engine broke"):
        llm.generate(PROMPT, GREEDY)
    engine.logits_of = good  # type: ignore[attr-defined]
    assert llm.generate(PROMPT, GREEDY)[0].outputs[0].text == TEXT


def test_closing_closes_the_engines_and_further_use_is_refused(llm: LLM) -> None:
    engines = [llm.decoder.target.engine, llm.decoder.drafter.model.engine]  # type: ignore[union-attr]
    llm.close()
    llm.close()
    assert all(engine.closed for engine in engines)  # type: ignore[attr-defined]
    with pytest.raises(RedraftError, match="closed"):
        llm.generate(PROMPT)


def test_an_unknown_option_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(
        UsageError, match="no option 'num_speculative_token'; did you mean 'num_speculative_tokens'"
    ):
        LLM("bundle", num_speculative_token=3)  # type: ignore[call-arg]


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RedraftError, match="manifest"):
        LLM(tmp_path)
