"""Checkpoint -> canonical ONNX graphs."""
