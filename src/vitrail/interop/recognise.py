"""What a path holds that somebody wants to import, and why it may be something that cannot be."""

from __future__ import annotations

from pathlib import Path

from vitrail.errors import FolderError
from vitrail.folder import CONFIG as OUR_CONFIG

_PICKLES = (".pt", ".pth", ".ckpt")
_PACKED_VOCABULARIES = ("shared_vocabulary", "source_vocabulary", "target_vocabulary")
_GIVE = "give the folder of a Marian model of Hugging Face, such as a download of Helsinki-NLP/opus-mt-fr-en"


def refuse_other_formats(path: Path) -> None:
    """Raise an error that names what this is, unless it may be a folder of Hugging Face."""
    if not path.exists():
        raise FolderError("there is no such folder", where=str(path), fix=_GIVE)
    if not path.is_dir():
        raise _refusal_of_a_file(path)
    names = {file.name for file in path.iterdir()}
    if "model.bin" in names and any(
        f"{name}.{end}" in names for name in _PACKED_VOCABULARIES for end in ("json", "txt")
    ):
        raise FolderError(
            "this is a CTranslate2 model: its weights are packed for that library, often in few bits, and cannot be "
            "unpacked into a model to train or to look inside",
            where=str(path),
            fix="import the model that it was converted from; CTranslate2 is what Vitrail translates with anyway",
        )
    if OUR_CONFIG in names:
        raise FolderError("this is a Vitrail model already", where=str(path), fix=f"use it: `vitrail translate {path}`")
    if "config.json" not in names:
        others = sorted(name for name in names if name.endswith((*_PICKLES, ".npz")))
        if others:
            raise _refusal_of_a_file(path / others[0])
        raise FolderError("this is no model of Hugging Face: it has no config.json", where=str(path), fix=_GIVE)


def _refusal_of_a_file(path: Path) -> FolderError:
    if path.suffix in _PICKLES:
        return FolderError(
            "a checkpoint of OpenNMT-py or fairseq is a pickle: whoever made it could make reading it run any program",
            where=str(path),
            fix=_GIVE,
        )
    if path.suffix == ".npz":
        return FolderError(
            "this is a model in Marian's own format",
            where=str(path),
            fix="convert it with Hugging Face's convert_marian_to_pytorch.py, and give the folder that this writes",
        )
    return FolderError("this is a file, not the folder of a model", where=str(path), fix=_GIVE)
