"""What a Marian folder of Hugging Face says, apart from its weights: our settings and vocabularies for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vitrail.config import Config, parse_config
from vitrail.errors import FolderError, TextError
from vitrail.interop import files
from vitrail.interop.files import CONFIG, SOURCE_PIECES, TARGET_PIECES, TARGET_VOCABULARY, VOCABULARY
from vitrail.interop.layout import LANGUAGE, Layout, languages_of
from vitrail.text import ListedPieces, Tokenizers
from vitrail.text.subwords import read_model

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}  # theirs: ours


@dataclass(frozen=True)
class MarianFolder:
    """What a Marian folder says, apart from its weights."""

    path: Path
    settings: files.Settings
    generation: files.Generation
    tokenizer: files.TokenizerSettings
    source: Layout
    target: Layout
    languages: tuple[str, ...]
    sizes: tuple[int, int]  # of their vocabularies

    @classmethod
    def read(cls, path: Path) -> MarianFolder:
        """Read all settings and vocabularies."""
        settings, tokenizer = files.read_settings(path), files.read_tokenizer_settings(path)
        tokens = files.read_vocabulary(path / VOCABULARY)
        both = [tokens, tokens]
        if tokenizer.separate_vocabs:
            both[1] = files.read_vocabulary(path / TARGET_VOCABULARY)
        sizes = (settings.vocab_size, settings.decoder_vocab_size or settings.vocab_size)
        names = (VOCABULARY, TARGET_VOCABULARY if tokenizer.separate_vocabs else VOCABULARY)
        for name, side, size in zip(names, both, sizes, strict=True):
            if len(side) != size:
                raise files.unusable(path / name, f"it has {len(side):,} tokens, but {CONFIG} says {size:,}")
        languages = languages_of(tokens)
        ids = {"pad": settings.pad_token_id, "start": settings.decoder_start_token_id, "end": settings.eos_token_id}
        for name, number in ids.items():
            if number >= min(sizes):
                raise files.unusable(path / CONFIG, f"there is no token with the id of its {name} symbol, {number}")
        unknown, end = (_place(tokens, token, path) for token in ("<unk>", "</s>"))
        target_unknown = both[1].index("<unk>") if "<unk>" in both[1] else None
        target = Layout.of(both[1], languages, unknown=target_unknown, **ids)
        source = target
        if tokenizer.separate_vocabs:
            source = Layout.of(tokens, languages, unknown=unknown, pad=ids["pad"], start=None, end=end)
        elif end != ids["end"]:
            raise files.unusable(path / VOCABULARY, f"'</s>' has the id {end}, but {CONFIG} says {ids['end']}")
        return cls(path, settings, files.read_generation(path), tokenizer, source, target, languages, sizes)

    def config(self) -> Config:
        """The settings of our model."""
        theirs = self.settings
        activation = ACTIVATIONS.get(theirs.activation_function)
        if activation is None:
            raise FolderError(
                f"Vitrail has no activation '{theirs.activation_function}'",
                where=str(self.path / CONFIG),
                fix=f"import a model with one of: {', '.join(ACTIVATIONS)}",
            )
        model = {
            "d_model": theirs.d_model,
            "heads": theirs.encoder_attention_heads,
            "d_ff": theirs.encoder_ffn_dim,
            "encoder_layers": theirs.encoder_layers,
            "decoder_layers": theirs.decoder_layers,
            "positions": "sinusoidal-halves",
            "activation": activation,
            "dropout": float(theirs.dropout),
            "attention_dropout": float(theirs.attention_dropout),
            "activation_dropout": float(theirs.activation_dropout),
            "output_bias": True,
            "embedding_scale": theirs.scale_embedding,
            "tie_embeddings": self._ties(),
        }
        data = {
            "vocabulary": ListedPieces.kind,
            "vocabulary_size": len(self.target.rows),
            "joint": self.is_joint,
            **self._direction(),
        }
        decode = {"beam_size": self.generation.num_beams, "alpha": float(self.generation.length_penalty)}
        return parse_config({"model": model, "data": data, "decode": decode}, where=str(self.path / CONFIG))

    def tokenizers(self, *, punctuation: bool) -> Tokenizers:
        """Our vocabularies."""
        sides = (
            (SOURCE_PIECES, self.source, self.tokenizer.source_lang),
            (TARGET_PIECES, self.target, self.tokenizer.target_lang),
        )
        try:
            source, target = (
                ListedPieces(
                    read_model(files.sized(self.path / name)),
                    layout.pieces,
                    self.languages,
                    punctuation=(language or "") if punctuation else None,
                )
                for name, layout, language in sides
            )
        except TextError as error:
            raise FolderError(error.what, where=error.where, fix=error.fix) from error
        return Tokenizers(source, target, self.languages, same_ids=self.is_joint)

    def _direction(self) -> dict[str, str]:
        """The two languages of a model that has only these, if it names them by codes that we could use."""
        sides = {"source_language": self.tokenizer.source_lang, "target_language": self.tokenizer.target_lang}
        named = {side: code for side, code in sides.items() if code is not None and LANGUAGE.fullmatch(code)}
        return named if len(named) == 2 and not self.languages else {}

    @property
    def is_joint(self) -> bool:
        """Whether both sides have the same ids."""
        return self.source is self.target

    def _ties(self) -> str:
        if not self.settings.tie_word_embeddings:
            return "none"
        return "all" if self.settings.share_encoder_decoder_embeddings and self.is_joint else "target"


def _place(tokens: Sequence[str], token: str, path: Path) -> int:
    if token not in tokens:
        raise files.unusable(path / VOCABULARY, f"it has no '{token}'")
    return tokens.index(token)
