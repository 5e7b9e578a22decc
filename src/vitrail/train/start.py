"""Start from an existing model (`train.start_from`): its weights, its vocabulary, its shape and how it searches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitrail.box import model_path
from vitrail.config import Config, ModelConfig, parse_config
from vitrail.data import Prepared
from vitrail.documents import Document
from vitrail.errors import ConfigError, FolderError, TrainingError
from vitrail.folder import ORIGIN, WEIGHTS, ModelFolder, refuse_other_shapes
from vitrail.model import Transformer
from vitrail.storage import checksum, read_text, write_text
from vitrail.text import FIRST_LANGUAGE, Tokenizers
from vitrail.train.freeze import frozen_names
from vitrail.weights import read_weights

DROPOUTS = {"dropout", "attention_dropout", "activation_dropout"}  # they have no weights, so they may differ
DEPTHS = {"encoder_layers", "decoder_layers"}  # there may be fewer than the model has
OF_THE_VOCABULARY = ("vocabulary", "vocabulary_size", "joint")


class Origin(Document):
    """The contents of origin.json: the model that a run started from."""

    model: str  # as the user named it
    weights: str  # the checksum of its file
    vocabulary: str  # an identifier: ModelFolder.vocabulary


@dataclass(frozen=True)
class Start:
    """The model that a run starts from."""

    folder: ModelFolder
    origin: Origin

    @classmethod
    def of(cls, config: Config) -> Start | None:
        """The model that the settings name, complete and undamaged; None if they name none."""
        name = config.train.start_from
        if name is None:
            return None
        folder = ModelFolder.open(model_path(name))
        folder.refuse_without_weights()
        refuse_other_shapes(folder.shapes(), folder.path / WEIGHTS)
        names = _names(inherit(config, folder.config), folder.tokenizers)
        frozen_names(names, config.train.freeze)  # refuses parts that the run does not have
        return cls(folder, Origin(model=name, weights=checksum(folder.path / WEIGHTS), vocabulary=folder.vocabulary))

    @property
    def vocabulary(self) -> Path:
        """The folder of its vocabulary."""
        return self.folder.tokenizer_path

    def refuse_other_vocabulary(self, prepared: Prepared, config: Config) -> list[str]:
        """The languages whose symbols are new. A different vocabulary, or new symbols in frozen tables, are refused."""
        had, has = self.folder.tokenizers, prepared.tokenizers
        if not _extends(has, had):
            raise ConfigError(
                f"the prepared data has another vocabulary than '{self.origin.model}', which the run starts from",
                where=str(prepared.path),
                fix=f"prepare it with --set train.start_from={self.origin.model}, which encodes it with that model's",
            )
        new = [language for language in has.languages if language not in had.languages]
        tables = {name for name in frozen_names(_names(config, has), config.train.freeze) if _has_words(name)}
        if new and tables:
            raise ConfigError(
                f"the model has no symbol for {', '.join(new)} yet, and would not learn it with {min(tables)} frozen",
                where="train.freeze",
                fix="freeze 'encoder' or 'decoder', but not 'embeddings'",
            )
        return new

    def load_into(self, model: Transformer, tokenizers: Tokenizers) -> None:
        """Give a new model these weights. Rows of new language symbols keep the random values that it began with."""
        place = FIRST_LANGUAGE + len(self.folder.tokenizers.languages)
        new = len(tokenizers.languages) - len(self.folder.tokenizers.languages)
        held, found = model.state_dict(), read_weights(self.folder.path / WEIGHTS)
        found = _with_fewer_layers(found, held, self.folder.config.model)
        for name, value in found.items():
            if new and _has_words(name):
                found[name] = _with_rows(value, held[name][place : place + new], place)
        model.load_state_dict(found)


def inherit(config: Config, model: Config) -> Config:
    """The settings of a run that starts from a model with the settings `model`.

    Its shape and its vocabulary are fixed, but the run may have fewer layers; its dropouts and how it searches hold
    unless the run's settings say more.
    """
    table = config.model_dump(mode="json", exclude_none=True)
    taken = {
        "model": type(config.model).model_fields.keys(),
        "data": OF_THE_VOCABULARY,
        "decode": type(config.decode).model_fields.keys(),
    }
    held = model.model_dump(mode="json", exclude_none=True)
    for section, names in taken.items():
        for name in names:
            given = name in getattr(config, section).model_fields_set
            if given and section != "decode" and name not in DROPOUTS:
                _refuse_another(config, section, name, table[section].get(name), held[section].get(name))
            if not given and name in held[section]:
                table[section][name] = held[section][name]
    if table["model"]["decoder_layers"] < held["model"]["decoder_layers"] and not _gives(config, "alignment_heads"):
        table["decode"].pop("alignment_heads", None)  # it names heads of layers that are gone, or that others follow
    return parse_config(table, where=f"the settings, with those of {config.train.start_from}")


def _refuse_another(config: Config, section: str, name: str, given: Any, held: Any) -> None:
    if given == held or (name in DEPTHS and given < held):
        return
    raise ConfigError(
        f"{section}.{name} = {given!r} cannot go with train.start_from = '{config.train.start_from}', "
        f"which has {held!r}",
        where=f"{section}.{name}",
        fix=f"at most {held}: there are no weights for more layers"
        if name in DEPTHS
        else "remove it: the model to start from has its own shape and vocabulary",
    )


def _gives(config: Config, name: str) -> bool:
    return name in config.decode.model_fields_set


def layers_to_keep(had: int, has: int) -> list[int]:
    """Which of `had` layers a model with `has` layers starts from: spread over all, beginning with the first.

    Shleifer and Rush 2020, "Pre-trained Summarization Distillation", call it shrink and fine-tune.
    """
    return [round(number * (had - 1) / max(has - 1, 1)) for number in range(has)]


def write_origin(run: Path, origin: Origin | None) -> None:
    """Record in a new run what it starts from."""
    if origin is None:
        (run / ORIGIN).unlink(missing_ok=True)  # of a run that ended before its first checkpoint
    else:
        write_text(run / ORIGIN, origin.model_dump_json(indent=1) + "\n")


def read_origin(run: Path) -> Origin | None:
    """What a run started from; None if it began with random weights."""
    try:
        return Origin.parse(read_text(run / ORIGIN)) if (run / ORIGIN).exists() else None
    except (OSError, ValueError) as error:
        raise FolderError(
            f"{ORIGIN} is damaged: {error}", where=str(run / ORIGIN), fix="remove it: the model works without it"
        ) from None


def refuse_another_start(start: Start, run: Path) -> None:
    """For processes that open the model after the leader has recorded it: it must still be the same."""
    if start.origin != read_origin(run):
        raise TrainingError(
            "the model to start from changed while the run was starting", where=start.origin.model, fix="start again"
        )


def _extends(found: Tokenizers, model: Tokenizers) -> bool:
    """Whether a vocabulary is the model's, perhaps with further language symbols."""
    if found.joint != model.joint or found.languages[: len(model.languages)] != model.languages:
        return False
    wanted = model.with_languages(found.languages)
    return all(
        (one.kind, one.size) == (other.kind, other.size)
        and all(one.token(number) == other.token(number) for number in range(one.size))
        for one, other in ((found.source, wanted.source), (found.target, wanted.target))
    )


def _names(config: Config, tokenizers: Tokenizers) -> Iterable[str]:
    """The names of the parameters of a model with these settings."""
    with torch.device("meta"):
        return Transformer(config.model, tokenizers.source.size, tokenizers.target.size).state_dict()


def _has_words(name: str) -> bool:
    """Whether a parameter has a row for every word of a vocabulary."""
    return name.startswith("embeddings.") or name == "output_bias"


def _with_rows(value: Tensor, rows: Tensor, place: int) -> Tensor:
    return torch.cat([value[:place], rows.to(value.dtype), value[place:]])


def _with_fewer_layers(found: dict[str, Tensor], held: dict[str, Tensor], model: ModelConfig) -> dict[str, Tensor]:
    """The weights for a model with the parameters `held`, whose stacks may lack some of the layers of `model`."""
    chosen: dict[str, Tensor] = {}
    for name in held:
        stack, number, rest = _place(name)
        if number is None:
            chosen[name] = found[name]
            continue
        has = 1 + max(other for of, other, _ in map(_place, held) if of == stack and other is not None)
        chosen[name] = found[f"{stack}.layers.{layers_to_keep(getattr(model, f'{stack}_layers'), has)[number]}.{rest}"]
    return chosen


def _place(name: str) -> tuple[str, int | None, str]:
    """The stack and the layer of a parameter, and its name in there: ("encoder", 0, "feed_forward.inner.bias")."""
    stack, _, inside = name.partition(".layers.")
    number, _, rest = inside.partition(".")
    return (stack, int(number), rest) if inside else (name, None, "")
