"""Canonical ONNX graphs (ai.onnx opset 24), built with onnx-ir from a DecoderConfig and a Checkpoint.

What a lowering pass finds:

* Nodes are called `layers.{i}.{q,k,v,o,gate,up,down}` (MatMul), `layers.{i}.attention` (Attention),
  `layers.{i}.key_cache` and `.value_cache` (TensorScatter), `layers.{i}.q/rotary` and `.k/rotary`
  (RotaryEmbedding), `layers.{i}.*_norm` and `final_norm` (RMSNormalization), `embed` (Gather), `head`
  (MatMul), `rdk` (redraft::RdkRedistribute). A value is called like its node; graph outputs have their own
  names.
* MatMul nodes of linear layers, Gather and Attention carry `redraft.role` (linear, embedding, attention) in
  their metadata; a linear also `redraft.format`.
* A linear layer is MatMul(x, Transpose(W)), an embedding Gather(W, ids), with W [out, in] in one of the forms
  that `parts.stored_matrix` documents: an initializer, or a blocked DequantizeLinear of initializers. A tied
  head of the embedding's format uses the same W value as the embedding.
* Rotary tables are `rope.{j}.cos` and `.sin` [max_positions, Hd / 2] float32, one pair for every distinct
  rule;
  a pass may cut them to the cache's capacity.
* Attention reads [B, H, S, Hd] queries and the whole cache [B, G, N, Hd]; what a row may see is in
  `attention_bias` (and `attention_bias_local` for sliding layers) alone.
"""

from .drafter_body import drafter_body_digest, head_rows
from .export_drafter import DrafterVariant, export_drafter
from .export_target import export_target
from .writing import IR_VERSION, OPSET

__all__ = [
    "IR_VERSION",
    "OPSET",
    "DrafterVariant",
    "drafter_body_digest",
    "export_drafter",
    "export_target",
    "head_rows",
]
