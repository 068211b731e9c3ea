"""What runs a model: torch itself, CTranslate2 or ONNX Runtime. One interface; tasks never know which."""

from regard.engines.engine import Engine
from regard.engines.exported import RECORD, exported, made_for
from regard.engines.making import ENGINES, engine

__all__ = ["ENGINES", "RECORD", "Engine", "engine", "exported", "made_for"]
