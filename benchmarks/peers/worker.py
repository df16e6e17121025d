"""A worker process: one contestant, loaded once, that decodes greedily whatever it is sent.

Reads one JSON object a line, {"prompt_ids", "max_tokens"}, and answers {"token_ids", "times"}: the seconds
since the request's start at which so many tokens were there. Stop tokens do not stop it.

    python -m benchmarks.peers.worker KIND ARGUMENTS_JSON THREADS
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

Decode = Callable[[list[int], int], Iterator[list[int]]]
"""Prompt ids, number of tokens -> the new tokens of each step."""
_CONTEXT = 1024


def redraft_decoder(arguments: dict[str, Any], threads: int) -> Decode:
    """Plain decoding on a target's engine."""
    from pathlib import Path

    from redraft.engines import LoadOptions, get_backend
    from redraft.runtime.decoding import Decoder, GenerationRequest, WarpParams

    engine = get_backend("ort-cpu").load(Path(arguments["engine"]), LoadOptions(threads=threads))
    decoder = Decoder(engine, context=_CONTEXT)

    def decode(prompt_ids: list[int], max_tokens: int) -> Iterator[list[int]]:
        request = GenerationRequest(tuple(prompt_ids), WarpParams(temperature=0), max_tokens)
        return decoder.decode(request, speculative=False)

    return decode


def bundle_decoder(arguments: dict[str, Any], threads: int) -> Decode:
    """Speculative decoding with a bundle."""
    from redraft.runtime import LLM
    from redraft.runtime.decoding import GenerationRequest, WarpParams

    llm = LLM(arguments["bundle"], threads=threads, context=_CONTEXT)

    def decode(prompt_ids: list[int], max_tokens: int) -> Iterator[list[int]]:
        request = GenerationRequest(tuple(prompt_ids), WarpParams(temperature=0), max_tokens)
        return llm.decoder.decode(request)

    return decode


def genai_decoder(arguments: dict[str, Any], threads: int) -> Decode:
    """onnxruntime-genai's own loop."""
    import onnxruntime_genai as og

    config = og.Config(arguments["folder"])
    options = {"intra_op_num_threads": threads, "inter_op_num_threads": 1}
    config.overlay(json.dumps({"model": {"decoder": {"session_options": options}}}))
    model = og.Model(config)

    def decode(prompt_ids: list[int], max_tokens: int) -> Iterator[list[int]]:
        length = len(prompt_ids) + max_tokens
        params = og.GeneratorParams(model)
        # min_length keeps it from ending at a stop token.
        params.set_search_options(do_sample=False, max_length=length, min_length=length, batch_size=1)
        generator = og.Generator(model, params)
        generator.append_tokens([prompt_ids])
        for _ in range(max_tokens):
            generator.generate_next_token()
            yield [int(generator.get_next_tokens()[0])]

    return decode


def transformers_decoder(arguments: dict[str, Any], threads: int) -> Decode:
    """A bare greedy loop over the model with its cache: less work than `generate` does."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(arguments["folder"], dtype=torch.float32).eval()

    def decode(prompt_ids: list[int], max_tokens: int) -> Iterator[list[int]]:
        cache, ids = None, torch.tensor([prompt_ids])
        for _ in range(max_tokens):
            with torch.inference_mode():
                out = model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache = out.past_key_values
            ids = out.logits[:, -1:].argmax(-1)
            yield [int(ids)]

    return decode


def llama_cpp_decoder(arguments: dict[str, Any], threads: int) -> Decode:
    """llama-cpp-python's token generator at temperature 0."""
    from itertools import islice

    from llama_cpp import Llama

    model = Llama(
        arguments["file"], n_ctx=_CONTEXT, n_threads=threads, n_threads_batch=threads, seed=0, verbose=False
    )

    def decode(prompt_ids: list[int], max_tokens: int) -> Iterator[list[int]]:
        model.reset()
        tokens = model.generate(prompt_ids, top_k=1, temp=0.0, repeat_penalty=1.0, reset=True)
        return ([int(token)] for token in islice(tokens, max_tokens))

    return decode


WORKERS: dict[str, Callable[[dict[str, Any], int], Decode]] = {
    "redraft": redraft_decoder,
    "bundle": bundle_decoder,
    "genai": genai_decoder,
    "transformers": transformers_decoder,
    "llama_cpp": llama_cpp_decoder,
}


def main() -> None:
    """Load, say that it is ready, then answer until stdin ends."""
    kind, arguments, threads = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    # What a library prints on stdout must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    decode = WORKERS[kind](arguments, threads)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        start = perf_counter()
        token_ids: list[int] = []
        times: list[tuple[float, int]] = []
        for new in decode(request["prompt_ids"], request["max_tokens"]):
            token_ids += new
            times.append((perf_counter() - start, len(token_ids)))
        print(json.dumps({"token_ids": token_ids, "times": times}), file=answers, flush=True)


if __name__ == "__main__":
    main()
