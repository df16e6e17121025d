"""GraphSpec: all that a backend or the runtime must know about a canonical graph, without reading ONNX."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from redraft._core.errors import InputFileError
from redraft._core.tensor_spec import TensorSpec

Role = Literal["target", "drafter"]
Variant = Literal["logits", "redistributed", "factored"]

GRAPH_FILE = "model.onnx"
DATA_FILE = "model.onnx.data"
SPEC_FILE = "graph.json"


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """One canonical graph. Stored as `graph.json` beside `model.onnx`.

    `sizes` binds the axis letters that are fixed for the model (T, E, L, H, G, Hd; D, C and r for a drafter).
    `windows[i]` is layer i's sliding window or None. `cache_dtype` is the dtype of past_key_values.
    """

    role: Role
    variant: Variant
    precision: dict[str, str]  # body, embedding, head, compute
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    sizes: dict[str, int]
    windows: tuple[int | None, ...]
    max_positions: int
    cache_dtype: str
    opset: int
    map_digest: str | None = None
    body_digest: str | None = None
    prior_kind: str | None = None
    prior_digest: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def num_layers(self) -> int:
        """L."""
        return self.sizes["L"]

    @property
    def mask_value(self) -> float:
        """What `attention_bias` holds where a row may not look (elsewhere 0), finite in its dtype.

        Added to a score it is still finite, and its exponential is zero beside any visible slot's.
        """
        return -30000.0 if self.cache_dtype == "float16" else -1e30

    def output(self, name: str) -> TensorSpec | None:
        """The output of that name, or None."""
        return next((spec for spec in self.outputs if spec.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {
            "role": self.role,
            "variant": self.variant,
            "precision": self.precision,
            "inputs": [spec.to_json() for spec in self.inputs],
            "outputs": [spec.to_json() for spec in self.outputs],
            "sizes": self.sizes,
            "windows": list(self.windows),
            "max_positions": self.max_positions,
            "cache_dtype": self.cache_dtype,
            "opset": self.opset,
            "map_digest": self.map_digest,
            "body_digest": self.body_digest,
            "prior_kind": self.prior_kind,
            "prior_digest": self.prior_digest,
            "extra": self.extra,
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> GraphSpec:
        """The specification that `to_json` wrote."""
        fields = dict(value)
        fields["inputs"] = tuple(TensorSpec.from_json(spec) for spec in value["inputs"])
        fields["outputs"] = tuple(TensorSpec.from_json(spec) for spec in value["outputs"])
        fields["windows"] = tuple(value["windows"])
        return GraphSpec(**fields)

    @staticmethod
    def read(folder: Path) -> GraphSpec:
        """The specification stored in `folder`; InputFileError where it is missing or damaged."""
        path = folder / SPEC_FILE
        try:
            return GraphSpec.from_json(json.loads(path.read_text()))
        except FileNotFoundError:
            raise InputFileError(
                f"{folder} holds no {SPEC_FILE}", hint="export the graph again with `redraft export`"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputFileError(
                f"{path} is damaged: {error}", hint="export the graph again with `redraft export`"
            ) from None
