"""Precision: the stored and computed number formats of a graph, per part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redraft._core.errors import UsageError

Format = Literal["fp32", "fp16", "bf16", "int8", "int4", "source-exact"]
FORMATS: tuple[str, ...] = ("fp32", "fp16", "bf16", "int8", "int4", "source-exact")
COMPUTE: tuple[str, ...] = ("fp32", "fp16", "bf16")
BLOCK = 32
"""Weights per block of int8 and int4, along the input axis."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Formats of the body's matrices, the embedding table and the head; `compute` is the activations' dtype.

    int8 / int4: weight-only, blocks of 32, asymmetric with integer zero points. source-exact: a quantised
    file's own blocks (4-bit stays 4-bit, 5 to 8 bits become int8, each with the file's float scale and
    minimum), no loss against the file. A part stored as fp32 is multiplied in float32 whatever `compute`
    is; fp16 and bf16 parts are multiplied in `compute`.
    """

    body: Format = "fp32"
    embedding: Format = "fp32"
    head: Format = "fp32"
    compute: Literal["fp32", "fp16", "bf16"] = "fp32"

    def __post_init__(self) -> None:
        for part, known in (
            ("body", FORMATS),
            ("embedding", FORMATS),
            ("head", FORMATS),
            ("compute", COMPUTE),
        ):
            if getattr(self, part) not in known:
                raise UsageError(
                    f"precision of {part}: expected one of {', '.join(known)}, got '{getattr(self, part)}'"
                )

    @property
    def label(self) -> str:
        """The folder name: one word where all parts agree, else e.g. `int4-embedding_int8-head_int4`."""
        if self.body == self.embedding == self.head:
            usual = self.body if self.body in COMPUTE else "fp32"
            return self.body if self.compute == usual else f"{self.body}-{self.compute}"
        parts = f"{self.body}-embedding_{self.embedding}-head_{self.head}"
        return parts if self.compute == "fp32" else f"{parts}-{self.compute}"

    @staticmethod
    def parse(text: str) -> Precision:
        """`int4`, or `body=int4,embedding=int8,head=int4,compute=fp32`; UsageError names what is wrong."""
        if "=" not in text:
            if text not in FORMATS:
                raise UsageError(
                    f"precision: expected one of {', '.join(FORMATS)} or body=…,head=…, got '{text}'"
                )
            compute = text if text in ("fp16", "bf16") else "fp32"
            return Precision(body=text, embedding=text, head=text, compute=compute)  # type: ignore[arg-type]
        fields: dict[str, str] = {}
        for item in text.split(","):
            key, _, value = item.strip().partition("=")
            if key not in ("body", "embedding", "head", "compute"):
                raise UsageError(f"precision: expected body, embedding, head or compute, got '{key}'")
            fields[key] = value
        return Precision(**fields)  # type: ignore[arg-type]
