"""The model types of Hugging Face configs, one file each; `FAMILIES` is the registry."""

from redraft.export.config.family import Family

from . import gemma3, llama, mistral, qwen2, qwen3

FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (llama.FAMILY, mistral.FAMILY, qwen2.FAMILY, qwen3.FAMILY, gemma3.FAMILY)
}

__all__ = ["FAMILIES"]
