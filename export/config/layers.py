"""Which layers slide, from `layer_types` or a family's rule, and the LayerConfigs that follow."""

from __future__ import annotations

from collections.abc import Callable

from redraft._core.errors import InputFileError, UnsupportedError

from .decoder_config import LayerConfig, RopeConfig
from .fields import ConfigFields
from .rope import FULL, LAYER_TYPES, SLIDING


def layer_types(fields: ConfigFields, num_layers: int, slides: Callable[[int], bool]) -> list[str]:
    """The attention type of every layer: `layer_types` where the config has it, else by the family's rule
    `slides`.
    """
    given = fields.get("layer_types")
    if given is None:
        return [SLIDING if slides(index) else FULL for index in range(num_layers)]
    if not isinstance(given, list) or len(given) != num_layers:
        raise InputFileError(f"{fields.where}: 'layer_types': expected a list of {num_layers} names")
    for name in given:
        if name not in LAYER_TYPES:
            raise UnsupportedError(
                f"{fields.where}: layer type '{name}' is not supported (supported: {', '.join(LAYER_TYPES)})"
            )
    return given


def layer_configs(
    types: list[str], window: int | None, ropes: dict[str, RopeConfig]
) -> tuple[LayerConfig, ...]:
    """One LayerConfig a layer; `window` (a query sees that many keys, itself among them) goes to the sliding
    ones.
    """
    if window is None and SLIDING in types:
        raise InputFileError("config: layers of type 'sliding_attention' need 'sliding_window'")
    return tuple(LayerConfig(window if kind == SLIDING else None, ropes[kind]) for kind in types)
