"""TextGeneration: one request from tokens to text, a round at a time."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from .decoding import Decoder, GenerationRequest, RandomSource
from .request_output import CompletionOutput, FinishReason, RequestOutput, TextDelta, Usage
from .sampling_params import SamplingParams
from .text import StopStrings, TextTokenizer


class TextGeneration:
    """Drives a `Generation` and turns its rounds into text; after a stop string no engine runs."""

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: TextTokenizer,
        prompt_ids: Sequence[int],
        params: SamplingParams,
        *,
        prompt: str | None = None,
        speculative: bool = True,
    ) -> None:
        """Begin the request. RequestError where the prompt does not fit."""
        self.finish_reason: FinishReason | None = None
        self._prompt, self._prompt_ids = prompt, list(prompt_ids)
        source = RandomSource(params.seed)
        self._seed = source.seed
        request = request_of(prompt_ids, params, tokenizer)
        self._stop_ids = request.stop_ids
        self._generation = decoder.generation(request, source, speculative=speculative)
        self._detokenizer = tokenizer.detokenizer(prompt_ids, skip_special_tokens=params.skip_special_tokens)
        self._stops = StopStrings(params.stop_strings, include=params.include_stop_str_in_output)
        self._text = ""
        self._token_ids: list[int] = []
        self._stop_reason: int | str | None = None

    def step(self) -> TextDelta:
        """Run one round; what became certain of the text. The last delta has a `finish_reason`."""
        token_ids = self._generation.step()
        start = perf_counter()
        text = ""
        taken: list[int] = []
        for token in token_ids:
            taken.append(token)
            if token in self._stop_ids:
                self._stop_reason = token
                break
            text += self._stops.push(self._detokenizer.push(token))
            if self._stops.matched is not None:
                self._stop_reason = self._stops.matched
                break
        self._token_ids += taken
        self.finish_reason = self._reason()
        if self.finish_reason is not None:
            text += self._stops.flush()
        self._text += text
        self._generation.stats.seconds["detokenize"] += perf_counter() - start
        output = self.output(self.finish_reason) if self.finish_reason is not None else None
        return TextDelta(text, taken, self.finish_reason, output)

    def output(self, finish_reason: FinishReason) -> RequestOutput:
        """The request's output so far."""
        stats = self._generation.stats
        accepted = self._generation.num_accepted_of(len(self._token_ids))
        completion = CompletionOutput(0, self._text, list(self._token_ids), finish_reason, self._stop_reason)
        return RequestOutput(
            prompt=self._prompt,
            prompt_token_ids=self._prompt_ids,
            outputs=[completion],
            usage=Usage(len(self._prompt_ids), len(self._token_ids), accepted, stats.drafted - accepted),
            stats=stats,
            seed=self._seed,
        )

    def _reason(self) -> FinishReason | None:
        if self._stop_reason is not None or self._generation.finish_reason == "stop":
            return "stop"
        return "length" if self._generation.finish_reason == "length" else None


def request_of(
    prompt_ids: Sequence[int], params: SamplingParams, tokenizer: TextTokenizer
) -> GenerationRequest:
    """What the loop needs of a request."""
    stop_ids = set(params.stop_token_ids or ())
    if not params.ignore_eos:
        stop_ids.update(tokenizer.info.stop_ids)
    return GenerationRequest(tuple(prompt_ids), params.warp, params.max_tokens, frozenset(stop_ids))
