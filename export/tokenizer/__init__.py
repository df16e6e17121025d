"""Tokenizers: from a Hugging Face folder or a GGUF file to the `tokenizer/` folder of a bundle."""

from .gguf import write_gguf_tokenizer
from .hf import write_hf_tokenizer

__all__ = ["write_gguf_tokenizer", "write_hf_tokenizer"]
