"""Models as ONNX graphs, traced by torch's own exporter from modules in which no length is fixed."""

from regard.convert.onnx.library import runtime
from regard.convert.onnx.transformer import expresses
from regard.convert.onnx.writing import DESCRIPTION, Kind, write

__all__ = ["DESCRIPTION", "Kind", "expresses", "runtime", "write"]
