"""The engine onnx."""

from regard.engines.onnx.making import by_onnx

__all__ = ["by_onnx"]
