"""ONNX graph -> something that runs: lowering, backends, bundles, cache."""
