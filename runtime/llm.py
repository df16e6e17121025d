"""LLM: text in, text out, from a compiled bundle."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from redraft._core.errors import RedraftError, RequestError, UsageError
from redraft.engines.base import LoadOptions
from redraft.engines.bundle import Bundle

from .decoding import Decoder
from .keywords import check_keywords
from .load_decoder import load_decoder
from .options import LLMOptions, bundle_defaults, resolve_options
from .request_output import RequestOutput
from .sampling_params import SamplingParams
from .single_use import SingleUse
from .text import Message, TextTokenizer
from .text_generation import TextGeneration
from .text_stream import TextStream

Prompt = str | Sequence[int]
"""Text, or target ids that are used as they are."""


class LLM:
    """Decodes prompts with a bundle's target, and losslessly faster with its drafter.

    Thread-safe: requests run one at a time, others wait. A stream holds the engines until it ends or is
    closed; its own thread cannot start another request before. Use as a context manager, or call `close`.
    """

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        """Refuse unknown options with the nearest known one."""
        known = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        check_keywords(keywords, known, owner=cls.__name__, error=UsageError)
        return object.__new__(cls)

    def __init__(
        self,
        bundle: str | Path | Bundle,
        *,
        backend: str | None = None,
        threads: int | None = None,
        context: int | None = None,
        cache_capacity: int | None = None,
        num_speculative_tokens: int | None = None,
        draft_policy: str | None = None,
        deterministic: bool = False,
        speculative: bool = True,
        speculative_config: Mapping[str, Any] | None = None,
    ) -> None:
        """Load a bundle. What is None comes from the bundle's recipe.

        Args:
            bundle: the folder that `redraft compile` wrote, or the opened bundle.
            backend: the engines' backend; default ort-cpu.
            threads: CPU threads of an engine; default: as many as the process may use cores.
            context: most tokens of prompt and output together; default 2048, or what the models allow.
            cache_capacity: slots of the key/value cache; default: the context and the widest decoding call.
            num_speculative_tokens: most drafts in a round; 0 decodes plainly.
            draft_policy: "fixed", or "confidence" to stop drafting at an unsure token.
            deterministic: decode at one width, so that plain and speculative greedy texts are equal token
                for token
                instead of equal up to near-ties of the target's logits.
            speculative: False decodes plainly, without loading the drafter.
            speculative_config: `method`, `model`, `num_speculative_tokens`, `policy`, as vLLM's option of
                that name.
        """
        opened = bundle if isinstance(bundle, Bundle) else Bundle.open(bundle)
        part = opened.manifest.drafter
        self.options: LLMOptions = resolve_options(
            bundle_defaults(opened.folder),
            drafter=None if part is None else (part.kind, part.source.uri),
            context=context,
            cache_capacity=cache_capacity,
            threads=threads,
            num_speculative_tokens=num_speculative_tokens,
            draft_policy=draft_policy,
            speculative=speculative,
            speculative_config=speculative_config,
        )
        tokenizer = TextTokenizer.read(opened.tokenizer_folder)
        decoder = load_decoder(
            opened,
            self.options,
            backend=backend,
            load=LoadOptions(threads=self.options.threads),
            num_tokens=tokenizer.info.size,
            deterministic=deterministic,
        )
        self._begin(decoder, tokenizer)

    @classmethod
    def from_decoder(cls, decoder: Decoder, tokenizer: TextTokenizer) -> LLM:
        """An LLM over engines that are loaded already; closing it closes them."""
        llm = object.__new__(cls)
        llm._begin(decoder, tokenizer)
        return llm

    def _begin(self, decoder: Decoder, tokenizer: TextTokenizer) -> None:
        self.tokenizer = tokenizer
        self._decoder: Decoder | None = decoder
        self._use = SingleUse()

    @property
    def decoder(self) -> Decoder:
        """The token-level decoder, for tools that bring their own lock. RedraftError after `close`."""
        if self._decoder is None:
            raise RedraftError("this LLM is closed")
        return self._decoder

    @property
    def context(self) -> int:
        """Most tokens of prompt and output together."""
        return self.decoder.context

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: SamplingParams | None = None,
        *,
        speculative: bool = True,
    ) -> list[RequestOutput]:
        """The outputs of one or more prompts, in order.

        `speculative=False` decodes plainly on the same engines. RequestError, before anything runs, where a
        prompt is empty or leaves no room in the context.
        """
        params = params or SamplingParams()
        requests = [self._encoded(prompt) for prompt in _as_list(prompts)]
        for _, ids in requests:
            self.decoder.check_prompt(ids)
        return [self._run(prompt, ids, params, speculative) for prompt, ids in requests]

    def chat(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        params: SamplingParams | None = None,
        *,
        template_variables: Mapping[str, Any] | None = None,
        speculative: bool = True,
    ) -> list[RequestOutput]:
        """The answers to one conversation, or to several, formatted by the model's chat template.

        `template_variables` (tools, enable_thinking, …) go to the template as they are.
        """
        single = bool(messages) and isinstance(messages[0], Mapping)
        conversations: Any = [messages] if single or not messages else messages
        variables = dict(template_variables or {})
        prompts = [self.tokenizer.encode_chat(conversation, **variables) for conversation in conversations]
        return self.generate(prompts, params, speculative=speculative)

    def stream(
        self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: bool = True
    ) -> TextStream:
        """An iterator of `TextDelta`; closing it cancels the request.

        The last delta carries the whole output.
        """
        text, ids = self._encoded(prompt)
        self.decoder.check_prompt(ids)
        return TextStream(
            lambda: TextGeneration(
                self.decoder,
                self.tokenizer,
                ids,
                params or SamplingParams(),
                prompt=text,
                speculative=speculative,
            ),
            self._use,
        )

    def close(self) -> None:
        """Wait for the running request, then free the engines. Idempotent."""
        with self._use:
            decoder, self._decoder = self._decoder, None
            if decoder is not None:
                decoder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(
        self, prompt: str | None, ids: list[int], params: SamplingParams, speculative: bool
    ) -> RequestOutput:
        with self._use:
            generation = TextGeneration(
                self.decoder, self.tokenizer, ids, params, prompt=prompt, speculative=speculative
            )
            while (delta := generation.step()).output is None:
                pass
            return delta.output

    def _encoded(self, prompt: Prompt) -> tuple[str | None, list[int]]:
        if isinstance(prompt, str):
            return prompt, self.tokenizer.encode(prompt) if prompt else []
        if not all(isinstance(token, int) for token in prompt):
            raise RequestError("prompt: expected text or a list of token ids", param="prompt")
        return None, list(prompt)


def _as_list(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str) or (len(prompts) > 0 and all(isinstance(item, int) for item in prompts)):
        return [prompts]  # type: ignore[list-item]
    return list(prompts)  # type: ignore[arg-type]
