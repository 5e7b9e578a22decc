"""Models of other toolkits in and out: Marian (Hugging Face), CTranslate2, ONNX, without Hugging Face's library."""

from vitrail.interop.incoming import import_model
from vitrail.interop.outgoing import TARGETS, export_model

__all__ = ["TARGETS", "export_model", "import_model"]
