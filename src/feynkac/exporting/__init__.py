"""A solution for other programs: ONNX, `torch.export`, a C header, weights as JSON."""
