"""A Hugging Face config.json as a DecoderConfig."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft._core.errors import InputFileError, UnsupportedError

from .decoder_config import DecoderConfig
from .families import FAMILIES
from .families.gemma3 import text_part
from .family import Family

_QUANTIZED = ("quantization_config", "compression_config")
_EXPERTS = (
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_intermediate_size",
    "num_experts_per_tok",
)


def decoder_from_hf(values: Mapping[str, Any], where: str = "config.json") -> tuple[Family, DecoderConfig]:
    """The family and the description.

    UnsupportedError names what is refused: an unknown model type, mixtures of experts, quantised weights,
    custom modelling code, a field or a value that is not known. InputFileError: a field is missing or
    malformed.
    """
    model_type = values.get("model_type")
    if not isinstance(model_type, str):
        raise InputFileError(
            f"{where}: the field 'model_type' is missing", hint="this must be the config of a language model"
        )
    _refuse_quantized(values, where)
    if any(values.get(name) for name in _EXPERTS) or "moe" in model_type or model_type == "mixtral":
        raise UnsupportedError(
            f"{where}: '{model_type}' is a mixture of experts, which is not supported",
            hint="choose a dense model",
        )
    if values.get("auto_map"):
        raise UnsupportedError(
            f"{where}: 'auto_map' asks for the checkpoint's own modelling code, which is not supported",
            hint="choose a checkpoint that runs on the library's own model classes",
        )
    if model_type == "gemma3":
        values = text_part(values, where)
        _refuse_quantized(values, where)
        model_type = "gemma3_text"
    if model_type not in FAMILIES:
        raise UnsupportedError(
            f"{where}: model type '{model_type}' is not supported (supported: {', '.join(FAMILIES)}, gemma3)",
            hint="docs/model-families.md says how to add a family",
        )
    family = FAMILIES[model_type]
    return family, family.decoder_config({k: v for k, v in values.items() if k != "auto_map"}, where)


def _refuse_quantized(values: Mapping[str, Any], where: str) -> None:
    for name in _QUANTIZED:
        settings = values.get(name)
        if settings:
            method = settings.get("quant_method", "unknown") if isinstance(settings, Mapping) else settings
            raise UnsupportedError(
                f"{where}: '{name}': a checkpoint quantised with {str(method).upper()} is not supported",
                hint="use the 16-bit checkpoint or a GGUF file; redraft quantises it (--precision int4)",
            )
