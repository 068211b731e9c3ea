"""What runs a model: torch, with a shortlist or without, CTranslate2 or ONNX Runtime. Tasks never know which."""

from regard.engines.engine import Engine
from regard.engines.exported import RECORD, exported, made_for
from regard.engines.making import ENGINES, engine

__all__ = ["ENGINES", "RECORD", "Engine", "engine", "exported", "made_for"]
