"""The settings: one typed section for each part. Unknown keys, wrong types and impossible combinations are errors.

A setting that names a kind (of position, schedule, optimiser …) takes its values from that kind's table, in a file of
its own beside this one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationInfo,
    model_validator,
)

from vitrail.config.checks import SettingError, one_of
from vitrail.config.kinds import ACTIVATIONS, ENGINES, NORMS, OPTIMIZERS, PRECISIONS, TIES, VOCABULARIES
from vitrail.config.positions import POSITIONS
from vitrail.config.presets import PRESETS
from vitrail.config.schedules import SCHEDULES

Positive = Annotated[int, Field(ge=1)]
# Settings may come with a stranger's model, so sizes have limits, far above any that are in use.
Width = Annotated[int, Field(ge=1, le=1 << 16)]
Length = Annotated[int, Field(ge=1, le=1 << 20)]
Layers = Annotated[int, Field(ge=1, le=1000)]
Extra = Annotated[int, Field(ge=0, le=10_000)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]  # the largest that torch accepts
# A language's name becomes part of a symbol, `<2fr>`, so it must be one short word.
Language = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,15}$")]


MOST_BEAMS = 1000


def _affordable(beams: int, setting: ValidationInfo) -> int:
    if beams > MOST_BEAMS:
        raise SettingError(
            f"{setting.field_name} = {beams} is more than {MOST_BEAMS}",
            fix=f"choose {MOST_BEAMS} or fewer: each partial translation needs its own keys, values and probabilities "
            "for all words, so memory and time grow with their number; 4 to 10 is usual",
        )
    return beams


Beams = Annotated[int, Field(ge=1), AfterValidator(_affordable)]


def _nameable(text: str) -> str:
    # A name that is not UTF-8 contains lone surrogates in Python, and cannot be written to config.toml.
    if not text or "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise SettingError(f"{text!r} cannot be the name of a file", fix="give a path, in UTF-8")
    return text


File = Annotated[str, AfterValidator(_nameable)]


def _budget(value: object) -> object:
    if value == "auto" or _is_positive(value):
        return value
    raise SettingError(f"'batch_tokens' is {value!r}", fix='give a number of tokens, 1 or more, or "auto"')


Budget = Annotated[int | Literal["auto"], BeforeValidator(_budget)]


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Section(BaseModel):
    """A part of the settings: immutable, complete, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class ModelConfig(Section):
    """The shape of the Transformer. Defaults are the paper's base model; `preset` fills in a size."""

    preset: Annotated[str, one_of(PRESETS)] = "base"
    d_model: Width = 512
    heads: Width = 8
    kv_heads: Width = 8  # heads: multi-head; 1: multi-query; between: grouped. Unset: heads
    d_k: Width = 64  # width of a head. Unset: d_model / heads
    d_ff: Length = 2048
    encoder_layers: Layers = 6
    decoder_layers: Layers = 6
    norm: Annotated[str, one_of(NORMS)] = "post"
    positions: Annotated[str, one_of(POSITIONS)] = "sinusoidal"
    max_positions: Length = 512  # the length limit of kinds that have one: the rows of the learned table
    max_distance: Length = 16  # Shaw's k: relative distances are clipped to it
    activation: Annotated[str, one_of(ACTIVATIONS)] = "relu"
    dropout: Share = 0.1
    attention_dropout: Share = 0.0  # on the attention weights; the paper has none
    activation_dropout: Share = 0.0  # on the feed-forward network's hidden values; the paper has none
    bias: bool = True
    output_bias: bool = False
    embedding_scale: bool = True  # multiply embeddings by √d_model
    tie_embeddings: Annotated[str, one_of(TIES)] = "all"  # all: source, target and output; target: the last two

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_the_preset(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return handler(given)
        filled = {**PRESETS["base"], **PRESETS.get(str(given.get("preset", "base")), {}), **given}
        heads, d_model = filled["heads"], filled["d_model"]
        filled.setdefault("kv_heads", heads)
        if "d_k" not in filled and _is_positive(heads) and _is_positive(d_model):
            if d_model % heads:
                raise SettingError(
                    f"heads = {heads} do not divide d_model = {d_model}",
                    fix=f"choose heads that divide {d_model}, or set d_k, the width of a head, yourself",
                )
            filled["d_k"] = d_model // heads
        made = handler(filled)
        made.model_fields_set.intersection_update(given)  # the preset's values were not given
        return made

    @model_validator(mode="after")
    def _refuse_impossible_pairs(self) -> Self:
        if self.heads % self.kv_heads:
            raise SettingError(
                f"kv_heads = {self.kv_heads} do not divide heads = {self.heads}",
                fix=f"every key-value head serves the same number of heads: choose a divisor of {self.heads}",
            )
        POSITIONS[self.positions].check(self)
        return self

    @property
    def position_limit(self) -> int | None:
        """How many positions there are; None if there is no limit."""
        return self.max_positions if POSITIONS[self.positions].has_limit else None


class CorpusConfig(Section):
    """One corpus: a pair of files, one file of pairs (TSV or JSON lines), or the built-in phrasebook."""

    source: File | None = None
    target: File | None = None
    pairs: File | None = None  # .tsv or .jsonl, plain, .gz or .xz
    builtin: Literal["phrasebook"] | None = None
    source_language: Language | None = None
    target_language: Language | None = None
    source_field: str | None = None  # TSV: a column, counted from 1; JSON lines: a key, with dots for nested ones
    target_field: str | None = None
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0  # how often each pair is seen in an epoch

    @model_validator(mode="after")
    def _exactly_one_kind(self) -> Self:
        files = self.source is not None or self.target is not None
        if files and (self.source is None or self.target is None):
            raise SettingError("a corpus has 'source' but no 'target', or the other way round", fix="give both files")
        if [files, self.pairs is not None, self.builtin is not None].count(True) != 1:
            raise SettingError(
                "a corpus needs 'source' and 'target', or 'pairs', or 'builtin'", fix="give exactly one of these three"
            )
        if self.builtin is None and (self.source_language is None) != (self.target_language is None):
            raise SettingError("a corpus names one of its languages but not the other", fix="give both, or neither")
        return self


class DataConfig(Section):
    """What to learn from: the corpora, their vocabulary, and which pairs to skip."""

    source: File | None = None
    target: File | None = None
    pairs: File | None = None
    source_language: Language | None = None
    target_language: Language | None = None
    validation_source: File | None = None
    validation_target: File | None = None
    validation_pairs: File | None = None
    corpora: tuple[CorpusConfig, ...] = Field(default=(), strict=False)  # several, instead of source and target
    validation: tuple[CorpusConfig, ...] = Field(default=(), strict=False)
    hold_out: Annotated[int, Field(ge=0, le=10_000)] = 0  # validation pairs from each corpus, without files
    prepared: File | None = None  # a folder that `vitrail prepare` wrote
    vocabulary: Annotated[str, one_of(VOCABULARIES)] = "bpe"
    vocabulary_size: Annotated[int, Field(ge=1, le=1_000_000)] = 8000
    joint: bool = True  # one vocabulary for both sides
    max_length: Positive = 200  # tokens; longer pairs are skipped
    max_ratio: Rate = 4.0  # longer side / shorter side, if the longer has 10 tokens or more
    drop_identical: bool = True
    drop_duplicates: bool = True
    strict: bool = False  # any pair that would be skipped is an error

    @model_validator(mode="after")
    def _one_way_to_name_the_data(self) -> Self:
        short = self.source or self.target or self.pairs
        if short and self.corpora:
            raise SettingError("'source'/'target'/'pairs' and 'corpora' are both given", fix="name the data one way")
        if (self.validation_source or self.validation_target or self.validation_pairs) and self.validation:
            raise SettingError("'validation_…' and 'validation' are both given", fix="name the validation data one way")
        self.training_corpora()
        self.validation_corpora()
        if not self.joint and len(self.directions()) > 1:
            raise SettingError(
                "joint = false cannot go with several directions",
                fix="a separate source vocabulary allows only one source language: set joint = true",
            )
        return self

    def training_corpora(self) -> tuple[CorpusConfig, ...]:
        """The corpora to train on, from whichever keys name them."""
        return self.corpora or self._short("source", "target", "pairs")

    def validation_corpora(self) -> tuple[CorpusConfig, ...]:
        """The corpora to validate on; may be empty."""
        return self.validation or self._short("validation_source", "validation_target", "validation_pairs")

    def directions(self) -> tuple[tuple[str, str], ...]:
        """The (source, target) languages that the corpora name, in order; empty if they name none.

        An imported model has no corpora, but may have languages.
        """
        found: dict[tuple[str, str], None] = {}
        for corpus in self.training_corpora():
            if corpus.builtin == "phrasebook":
                found |= {("fr", "en"): None, ("en", "fr"): None}
            elif corpus.source_language and corpus.target_language:
                found[corpus.source_language, corpus.target_language] = None
        if not self.training_corpora() and self.source_language and self.target_language:
            found[self.source_language, self.target_language] = None
        return tuple(found)

    def _short(self, source: str, target: str, pairs: str) -> tuple[CorpusConfig, ...]:
        values = {"source": getattr(self, source), "target": getattr(self, target), "pairs": getattr(self, pairs)}
        given = {key: value for key, value in values.items() if value is not None}
        if not given:
            return ()
        if ("source" in given) != ("target" in given):
            there, missing = (source, target) if "source" in given else (target, source)
            raise SettingError(f"there is '{there}', but no '{missing}'", fix="give both files")
        languages = {"source_language": self.source_language, "target_language": self.target_language}
        return (CorpusConfig.model_validate({**given, **languages}),)


class ProbeConfig(Section):
    """A sentence to follow during training, with its correct translation if you know it."""

    source: str
    reference: str | None = None
    to: Language | None = None  # the target language, if the model has several

    @model_validator(mode="before")
    @classmethod
    def _bare_text_is_a_source(cls, given: Any) -> Any:
        return {"source": given} if isinstance(given, str) else given


class TrainConfig(Section):
    """How to learn. Defaults are the paper's (section 5), except the batch size, which is for a laptop."""

    start_from: File | None = None  # a model folder or `builtin`: begin with its weights and vocabulary
    freeze: tuple[str, ...] = Field(default=(), strict=False)  # parts that keep the weights they start from
    minutes: Annotated[float, Field(ge=0.5, le=1e6)] | None = None  # a time budget that other settings follow from
    max_steps: Positive = 100_000
    max_epochs: Positive | None = None
    batch_tokens: Budget = 4096  # target or source tokens of a batch, padding included; "auto": as memory allows
    accumulate: Positive = 1  # batches per step
    optimizer: Annotated[str, one_of(OPTIMIZERS)] = "adam"
    schedule: Annotated[str, one_of(SCHEDULES)] = "paper"
    peak_rate: Rate | None = None  # required by every schedule except the paper's, whose rate follows from d_model
    warmup_steps: Count = 4000
    fall_steps: Count = 0  # the rate falls to zero over this many steps at the end; cosine always falls
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip_norm: Rate | None = None
    label_smoothing: Share = 0.1
    r_drop: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # weight of two dropout passes' agreement
    r_drop_after: Count = 0  # steps before it starts: it doubles the time of a step, and helps late
    subword_dropout: Share = 0.0  # BPE-dropout: skip this share of merges, so words split differently every epoch
    checkpoint_every: Positive = 500
    checkpoint_minutes: Annotated[float, Field(gt=0)] = 5.0  # the longest time without a checkpoint
    validate_every: Positive = 500
    keep_checkpoints: Positive = 5
    use: Literal["average", "best", "last", "ema"] = "average"  # which weights become model.safetensors
    average: Positive = 5  # how many of the newest checkpoints are averaged
    ema: Annotated[float, Field(gt=0, lt=1)] | None = None  # decay of a moving average of the weights; unset: none
    patience: Positive | None = None  # stop after this many validations without a better loss
    samples: Count = 3  # validation sentences to translate and show
    loss_sentences: Positive = 5000  # validation sentences to measure the loss on, over all sets
    bleu_sentences: Count = 200  # validation sentences to translate for BLEU; 0: only the loss
    probes: Annotated[int, Field(ge=0, le=20)] = 3  # sentences to follow from untrained to trained; 0: none
    probe_sentences: tuple[ProbeConfig, ...] = Field(default=(), strict=False, max_length=20)  # unset: validation's
    probe_every: Positive | None = None  # steps; unset: 0, 1, 2, 3, 5, 7, 10, 20, … and the last
    log_every: Positive = 50
    seed: Seed = 1
    threads: Positive | None = None  # of each process; unset: torch's choice
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU if there is one
    precision: Literal["float32", "bf16", "fp16"] = "float32"  # of both passes; the weights stay float32

    @model_validator(mode="after")
    def _refuse_impossible_pairs(self) -> Self:
        SCHEDULES[self.schedule].check(self)
        if self.weight_decay and not OPTIMIZERS[self.optimizer].decays:
            raise SettingError(
                f"weight_decay cannot go with optimizer = '{self.optimizer}'",
                fix="set optimizer = 'adamw', which has a weight decay",
            )
        if self.r_drop_after and not self.r_drop:
            raise SettingError(f"r_drop_after = {self.r_drop_after} needs r_drop", fix="for example r_drop = 5.0")
        if self.freeze and self.start_from is None:
            raise SettingError(
                f"freeze = {list(self.freeze)} needs start_from: untrained weights would stay random",
                fix="name the model to start from (--from), or remove freeze",
            )
        if self.use == "ema" and self.ema is None:
            raise SettingError("use = 'ema' needs ema", fix="for example ema = 0.999, or use = 'average'")
        if self.use == "average" and self.average > self.keep_checkpoints:
            raise SettingError(
                f"average = {self.average} needs that many checkpoints, but keep_checkpoints = {self.keep_checkpoints}",
                fix=f"set keep_checkpoints = {self.average} or more",
            )
        return self

    @property
    def ends_at_zero(self) -> bool:
        """Whether the rate is zero at max_steps, so that another max_steps would be another run."""
        return SCHEDULES[self.schedule].ends_at_zero or self.fall_steps > 0


class DecodeConfig(Section):
    """How to search for a translation."""

    beam_size: Beams = 4
    top_beams: Beams = 1
    alpha: Annotated[float, Field(ge=0, le=10)] = 1.0  # the length penalty's exponent
    penalty: Literal["length", "gnmt"] = "length"
    coverage: Annotated[float, Field(ge=0, le=10)] = 0.0  # weight of the coverage penalty (GNMT's beta); 0: none
    alignment_heads: Annotated[str, Field(pattern=r"^(all|\d{1,3}(\.\d{1,3})?(,\d{1,3}(\.\d{1,3})?)*)\z")] = "all"
    max_extra: Extra = 50  # how many tokens a translation may be longer than its source
    sample: bool = False  # draw instead of search
    temperature: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    top_k: Count = 0  # draw from the k most likely words; 0: from all
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0  # draw from the smallest set of words with this total probability
    seed: Seed = 1
    engine: Annotated[str, one_of(ENGINES)] = "auto"  # auto: the fastest one that can do the search
    precision: Annotated[str, one_of(PRECISIONS)] = "float32"  # int8: faster, nearly as good, ctranslate2 only
    shortlist: bool = False  # only predict the ids that the source's own lead to; `vitrail shortlist` learns which

    @model_validator(mode="after")
    def _refuse_impossible_pairs(self) -> Self:
        if self.engine == "torch" and self.precision == "int8":
            raise SettingError(
                "engine = 'torch' cannot compute with precision = 'int8'",
                fix="leave the engine out, or set precision = 'float32'",
            )
        if not self.sample and self.top_beams > self.beam_size:
            raise SettingError(
                f"top_beams = {self.top_beams} cannot be more than beam_size = {self.beam_size}",
                fix=f"set beam_size to {self.top_beams} or more",
            )
        return self


class Config(Section):
    """Every setting of a run or a model."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()

    @model_validator(mode="after")
    def _refuse_impossible_pairs(self) -> Self:
        if TIES[self.model.tie_embeddings].needs_joint and not self.data.joint:
            raise SettingError(
                f"model.tie_embeddings = '{self.model.tie_embeddings}' cannot go with data.joint = false",
                fix="two vocabularies cannot share one table: set model.tie_embeddings = 'target' or 'none'",
            )
        if self.train.r_drop and not (
            self.model.dropout or self.model.attention_dropout or self.model.activation_dropout
        ):
            raise SettingError(
                f"train.r_drop = {self.train.r_drop} cannot go with model.dropout = 0",
                fix="it compares two passes that dropout makes different: set model.dropout, or train.r_drop = 0",
            )
        if self.train.subword_dropout and not VOCABULARIES[self.data.vocabulary].has_merges:
            raise SettingError(
                f"train.subword_dropout = {self.train.subword_dropout} cannot go with "
                f"data.vocabulary = '{self.data.vocabulary}'",
                fix="it skips merges, and this kind has none: set data.vocabulary = 'bpe'",
            )
        longest, limit = self.data.max_length + 2, self.model.position_limit  # a row has a language symbol and <eos>
        if limit is not None and longest > limit:
            raise SettingError(
                f"model.max_positions = {limit} cannot go with data.max_length = {self.data.max_length}",
                fix=f"set model.max_positions = {longest} or more, or a smaller data.max_length",
            )
        return self
