"""A Marian model of Hugging Face (one of OPUS-MT, for instance) as a Vitrail model, with the same predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vitrail.errors import FolderError
from vitrail.folder import ModelFolder
from vitrail.interop.files import sized
from vitrail.interop.layout import Layout
from vitrail.interop.marian import MarianFolder
from vitrail.interop.names import BIAS, OUTPUT, POSITIONS, SHARED, SOURCE, TABLES, TARGET, their_name
from vitrail.interop.recognise import refuse_other_formats
from vitrail.interop.tensors import Stored
from vitrail.storage import new_folder
from vitrail.weights import Shape

if TYPE_CHECKING:
    from torch import Tensor

_EXACT = 2e-3  # how far stored positions may be off: some are stored in half precision
_CARDS = ("README.md", "LICENSE")  # who made the model, and what may be done with it
_OTHER = "import a model that transformers' own class has written"


def import_model(source: Path, out: Path, *, punctuation: bool = True) -> ModelFolder:
    """Write the Marian model in the folder `source` as a Vitrail model into the new folder `out`.

    `punctuation` normalises the punctuation of every text, as in OPUS-MT's training data.
    """
    refuse_other_formats(source)
    refuse_occupied(out)
    marian = MarianFolder.read(source)
    config, tokenizers = marian.config(), marian.tokenizers(punctuation=punctuation)
    stored = Stored.of(source)
    with new_folder(out) as partial:
        folder = ModelFolder.create(partial, config, tokenizers)
        names = _names(folder.shapes(), stored, marian)
        folder.write_weights(_weights(names, stored.read(), marian, stored.path))
        for card in _CARDS:
            if (source / card).exists():
                (partial / card).write_bytes(sized(source / card).read_bytes())
    return ModelFolder.open(out)


def refuse_occupied(out: Path) -> None:
    """Raise an error if there is something where a new folder should be."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise FolderError("there is something here already", where=str(out), fix="choose another folder, or remove it")


def _names(ours: dict[str, Shape], stored: Stored, marian: MarianFolder) -> dict[str, str]:
    """The name of each of our weights in their file. What is there must have the right shape, and nothing may be left.

    The tables of embeddings are stored once or several times under several names, depending on who wrote the file.
    """
    (sources, targets), width = marian.sizes, marian.settings.d_model
    tables = {SHARED: targets, SOURCE: sources, TARGET: targets, OUTPUT: targets}
    known: dict[str, Shape] = {name: (size, width) for name, size in tables.items()}
    known[BIAS] = (1, targets)
    names: dict[str, str] = {}
    for name, shape in ours.items():
        candidates = _of_tables(marian)[name] if name in TABLES else (their_name(name),)
        found = next((one for one in candidates if one in stored.shapes), None)
        if found is not None:
            names[name] = found
        elif name != "output_bias":  # a file without one has zeros
            raise _refusal(stored, f"the weights lack '{candidates[0]}'")
        known.setdefault(candidates[0], shape)
    for name, shape in stored.shapes.items():
        wanted = (shape[0], width) if name in POSITIONS and shape else known.get(name)
        if wanted is None:
            raise _refusal(stored, f"the weights have '{name[:100]}', which such a model does not")
        if shape != wanted:
            raise _refusal(stored, f"'{name}' has shape {shape}, but the settings require {wanted}")
    return names


def _of_tables(marian: MarianFolder) -> dict[str, tuple[str, ...]]:
    """Under which names each of our tables may be stored, the one that transformers would take first."""
    settings = marian.settings
    shared, other = ((SHARED,), (SOURCE, TARGET)) if settings.share_encoder_decoder_embeddings else ((), ())
    if settings.tie_word_embeddings:
        source, target = (*shared, SOURCE, *other), (*shared, TARGET, OUTPUT, *other)
    else:  # recent versions then leave the shared table unused, and tie nothing at all
        source, target = (SOURCE, *shared, *other), (TARGET, *shared, *other)
    return {
        "embeddings.shared": (SHARED, SOURCE, TARGET, OUTPUT),
        "embeddings.source": source,
        "embeddings.target": target,
        "embeddings.output": (OUTPUT,),
        "output_bias": (BIAS,),
    }


def _weights(names: dict[str, str], theirs: dict[str, Tensor], marian: MarianFolder, path: Path) -> dict[str, Tensor]:
    """Our weights: theirs, with vocabularies in our order."""
    import torch

    _check_positions(theirs, path)
    layouts: dict[str, Layout] = dict.fromkeys(TABLES, marian.target) | {"embeddings.source": marian.source}
    bias = theirs.get(BIAS, torch.zeros(1, marian.sizes[1]))[0]
    ours = {
        name: layouts[name].rearranged(theirs[found]) if name in TABLES else theirs[found].clone()
        for name, found in names.items()
        if name != "output_bias"
    }
    for name, value in ours.items():
        if not value.isfinite().all():
            raise FolderError(f"'{names[name]}' has values that are not numbers", where=str(path), fix=_OTHER)
    return ours | {"output_bias": marian.target.bias(bias)}


def _check_positions(theirs: dict[str, Tensor], path: Path) -> None:
    """Some files hold the table of positions: it must be the one that everybody computes."""
    import torch

    from vitrail.model.sinusoids import halved_sinusoids

    for name in POSITIONS:
        if name in theirs:
            count, width = theirs[name].shape
            if not torch.allclose(theirs[name], halved_sinusoids(width, count).float(), atol=_EXACT, rtol=0):
                raise FolderError(f"'{name}' is not Marian's table of sinusoids", where=str(path), fix=_OTHER)


def _refusal(stored: Stored, what: str) -> FolderError:
    return FolderError(what, where=str(stored.path), fix="the files belong together: download the whole folder again")
