"""A model of one RdkRedistribute node, run by ONNX Runtime as a function or inlined."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
from numpy.typing import NDArray
from onnx import inliner

from redraft.rdk.prior import RdkPrior
from redraft.rdk.redistribution import DOMAIN, OP_TYPE, needs_state, rdk_function, rdk_node_inputs
from redraft.rdk.vocabulary import VocabMap


def node_model(prior: RdkPrior, vocab_map: VocabMap, soft_cap: float | None = None) -> onnx.ModelProto:
    """hot_logits [B, R, D] and, where needed, prior_state [B, R, r] -> draft_logits [B, R, T]."""
    identity = vocab_map.is_identity
    function = rdk_function(prior.kind, identity=identity, soft_cap=soft_cap)
    sizes = {"hot_logits": vocab_map.num_hot}
    if needs_state(prior.kind, identity=identity):
        sizes["prior_state"] = prior.rank
    inputs = [
        ir.Value(name=n, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(["B", "R", size]))
        for n, size in sizes.items()
    ]
    constants = []
    for name, array in rdk_node_inputs(prior, vocab_map).items():
        value = ir.Value(name=name, const_value=ir.tensor(array, name=name))
        constants.append(value)
    node = ir.node(OP_TYPE, [*inputs, *constants], domain=DOMAIN)
    output = node.outputs[0]
    output.name = "draft_logits"
    output.type = ir.TensorType(ir.DataType.FLOAT)
    output.shape = ir.Shape(["B", "R", vocab_map.rows])
    graph = ir.Graph(
        inputs, [output], nodes=[node], initializers=constants, opset_imports={"": 24, DOMAIN: 1}, name="node"
    )
    model = ir.Model(graph, ir_version=11, functions=[function])
    return ir.to_proto(model)


def run_node(
    prior: RdkPrior,
    vocab_map: VocabMap,
    hot_logits: NDArray[np.floating],
    hidden: NDArray[np.floating],
    *,
    soft_cap: float | None = None,
    inline: bool = False,
    optimise: bool = True,
) -> NDArray[np.float32]:
    """draft_logits [B, R, T] float32 by ONNX Runtime on the CPU."""
    model = node_model(prior, vocab_map, soft_cap)
    onnx.checker.check_model(model)
    if inline:
        model = inliner.inline_local_functions(model)
        assert not model.functions
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds: dict[str, Any] = {"hot_logits": hot_logits.astype(np.float32)}
    if needs_state(prior.kind, identity=vocab_map.is_identity):
        feeds["prior_state"] = (hidden @ prior.arrays["state"].T).astype(np.float32)
    (result,) = session.run(["draft_logits"], feeds)
    return np.asarray(result)
