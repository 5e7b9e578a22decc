"""The files of a Marian folder of Hugging Face. Sizes and types are checked before anything is read or allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vitrail.documents import Document, parse_json
from vitrail.errors import FolderError
from vitrail.storage import regular

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SOURCE_PIECES, TARGET_PIECES = "source.spm", "target.spm"

MOST = 1 << 26  # bytes of a vocabulary or of settings, far more than any has
_AGAIN = "download the whole folder again"

Id = Annotated[int, Field(ge=0, le=10_000_000)]
Size = Annotated[int, Field(ge=1, le=10_000_000)]
Share = Annotated[float, Field(ge=0, lt=1)]


class Settings(Document):
    """config.json. Hugging Face leaves out what has its default, so these are its defaults."""

    model_type: str
    vocab_size: Size = 58101
    decoder_vocab_size: Size | None = None
    d_model: Size = 1024
    encoder_layers: Size = 12
    decoder_layers: Size = 12
    encoder_attention_heads: Size = 16
    decoder_attention_heads: Size = 16
    encoder_ffn_dim: Size = 4096
    decoder_ffn_dim: Size = 4096
    activation_function: str = "gelu"
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    scale_embedding: bool = False
    pad_token_id: Id = 58100
    eos_token_id: Id = 0
    decoder_start_token_id: Id = 58100
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    # Of the original program's models. Hugging Face's class computes none that differ from these.
    normalize_before: bool = False
    normalize_embedding: bool = False
    add_final_layer_norm: bool = False
    static_position_embeddings: bool = True


class Generation(Document):
    """What the folder says about the search."""

    num_beams: Annotated[int, Field(ge=1, le=1000)] = 4
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0


class TokenizerSettings(Document):
    """tokenizer_config.json."""

    source_lang: str | None = None
    target_lang: str | None = None
    separate_vocabs: bool = False


def sized(path: Path) -> Path:
    """The path of a file; an error if it is missing, no file, or much larger than such a file can be."""
    try:
        with regular(path, most=MOST).open("rb"):
            return path
    except FileNotFoundError:
        raise FolderError(f"the model is incomplete: {path.name} is missing", where=str(path), fix=_AGAIN) from None
    except OSError as error:
        raise FolderError(f"cannot read it: {error.strerror}", where=str(path), fix="check its permissions") from None


def read_table(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """A JSON object; an empty one for a missing file that is not needed."""
    if not needed and not path.exists():
        return {}
    try:
        table = parse_json(sized(path).read_bytes())
    except ValueError as error:
        raise unusable(path, f"it is not JSON: {error}") from None
    if not isinstance(table, dict):
        raise unusable(path, "it is not an object")
    return table


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """The tokens of a vocabulary, each at the place that its id says."""
    table = read_table(path)
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in table.values()):
        raise unusable(path, "an id is not a number")
    tokens = sorted(table, key=table.__getitem__)
    for place, token in enumerate(tokens):
        if table[token] != place:
            raise unusable(path, f"of its {len(tokens):,} tokens none has the id {place:,}, or several have the same")
        try:
            token.encode("utf-8")
        except UnicodeEncodeError:
            raise unusable(path, "a token has half a character") from None
    return tuple(tokens)


def read_settings(folder: Path) -> Settings:
    """config.json, if it describes a Marian model that transformers can compute."""
    path = folder / CONFIG
    table = read_table(path)
    if table.get("model_type") != "marian":
        raise FolderError(
            f"this is a model of type {table.get('model_type')!r}; only 'marian' can be imported",
            where=str(path),
            fix="give the folder of a Marian model, such as one of Helsinki-NLP/opus-mt-…",
        )
    if isinstance(table.get("eos_token_id"), list) and len(table["eos_token_id"]) == 1:
        table["eos_token_id"] = table["eos_token_id"][0]
    given = {name: value for name, value in table.items() if value is not None}  # null: the default
    try:
        found = Settings.of(given)
    except ValueError as error:
        raise unusable(path, str(error)) from None
    for ours, theirs in (
        ("encoder_attention_heads", "decoder_attention_heads"),
        ("encoder_ffn_dim", "decoder_ffn_dim"),
    ):
        if getattr(found, ours) != getattr(found, theirs):
            raise _inexpressible(
                path, f"{ours} = {getattr(found, ours)} and {theirs} = {getattr(found, theirs)} differ"
            )
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "static_position_embeddings"):
        if getattr(found, name) != Settings.model_fields[name].default:
            raise _inexpressible(path, f"{name} = {str(getattr(found, name)).lower()}, which transformers ignores")
    return found


def read_generation(folder: Path) -> Generation:
    """The search settings; older folders have them in config.json."""
    path = folder / GENERATION if (folder / GENERATION).exists() else folder / CONFIG
    given = {name: value for name, value in read_table(path).items() if value is not None}
    try:
        return Generation.of(given)
    except ValueError as error:
        raise unusable(path, str(error)) from None


def read_tokenizer_settings(folder: Path) -> TokenizerSettings:
    """The tokenizer's settings; a folder may have none."""
    try:
        return TokenizerSettings.of(read_table(folder / TOKENIZER, needed=False))
    except ValueError as error:
        raise unusable(folder / TOKENIZER, str(error)) from None


def unusable(path: Path, why: str) -> FolderError:
    """The error for a file that does not say what it should."""
    return FolderError(f"{path.name} of this model cannot be used: {why}", where=str(path), fix=_AGAIN)


def _inexpressible(path: Path, why: str) -> FolderError:
    return FolderError(
        f"Vitrail has no such model: {why}",
        where=str(path),
        fix="import another model: those of OPUS-MT have no such thing",
    )
