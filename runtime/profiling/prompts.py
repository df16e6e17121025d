"""The prompts of a benchmark."""

from __future__ import annotations

from redraft.runtime.text import TextTokenizer

BENCH_PROMPTS: tuple[str, ...] = (
    "Explain in a few sentences why the sky is blue.",
    "Write a Python function that counts the vowels in a string.",
    "Write a polite letter that asks a library to extend a loan.",
    "List ten things to pack for a week in the mountains.",
    "Tell a short story about a lighthouse keeper and a whale.",
    "What caused the French Revolution?",
    "Give me a recipe for lentil soup.",
    "Describe the difference between a virus and a bacterium.",
    "Write a dialogue between a baker and a customer about a late order.",
    "A shirt costs 40 dollars and is reduced by 15 percent. What is the new price? Explain each step.",
)
"""Ten prompts of different kinds."""


def encode_prompt(tokenizer: TextTokenizer, prompt: str) -> list[int]:
    """Target ids of a prompt, asked through the model's chat template where it has one."""
    if tokenizer.chat_template is None:
        return tokenizer.encode(prompt)
    return tokenizer.encode_chat([{"role": "user", "content": prompt}])
