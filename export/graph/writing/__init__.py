"""Building one graph and writing its folder: nodes, initializers, streamed weights, the checked model."""

from .graph_builder import FLOAT, GraphBuilder
from .graph_folder import IR_VERSION, OPSET, GraphFolder, check_graph, graph_folder
from .weights_writer import WeightsWriter

__all__ = [
    "FLOAT",
    "IR_VERSION",
    "OPSET",
    "GraphBuilder",
    "GraphFolder",
    "WeightsWriter",
    "check_graph",
    "graph_folder",
]
