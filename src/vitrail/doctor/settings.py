"""What is wrong with the settings, for this data and this machine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from vitrail.doctor.case import Case, Finding
from vitrail.errors import VitrailError
from vitrail.model import Transformer
from vitrail.train.budget import batch_tokens_for, free_memory
from vitrail.train.peers import ALONE

TOKENS_PER_WORD = 1.5  # a guess, before there is a vocabulary
SELDOM = 10  # times that a token occurs in an epoch, below which there is little to learn about it
LOOKED_AT = 20_000_000  # tokens of a corpus
TOO_SMALL = 1000  # tokens


def pairs_above_max_length(case: Case) -> Iterator[Finding]:
    """Pairs that are skipped because they are long."""
    limit = case.config.data.max_length
    lengths = [
        max(len((one.source or "").split()), len((one.target or "").split())) * TOKENS_PER_WORD
        for text in case.training
        for one in text.pairs
    ]
    long = sum(length > limit for length in lengths)
    if lengths and long / len(lengths) > 0.01:
        enough = int(np.quantile(lengths, 0.995)) + 1
        yield Finding(
            f"about {long / len(lengths):.0%} of the pairs are longer than data.max_length = {limit} and are skipped "
            f"(words times {TOKENS_PER_WORD})",
            f"set data.max_length = {enough}, or split these lines into sentences",
            "Popel and Bojar 2018 (section on maximum sentence length): a model that never saw long sentences "
            "translates them badly, so do not go lower than memory demands",
        )


def vocabulary_too_large(case: Case) -> Iterator[Finding]:
    """Tokens that occur so seldom that their rows of the embedding stay nearly random."""
    prepared = case.prepared
    if prepared is not None:
        vocabulary = prepared.tokenizers.target.size
        counts = np.zeros(max(vocabulary, prepared.tokenizers.source.size), dtype=np.int64)
        for shard in prepared.train:
            tokens = shard.tokens[:LOOKED_AT]
            counts += np.bincount(tokens[tokens < len(counts)], minlength=len(counts))
        seldom = int((counts < SELDOM).sum())
        if seldom / len(counts) > 0.25:
            smaller = max(1000, round((len(counts) - seldom) / 1000) * 1000)
            yield Finding(
                f"{seldom / len(counts):.0%} of the {len(counts):,} tokens occur fewer than {SELDOM} times in the "
                "training data",
                f"set data.vocabulary_size = {smaller}",
                "Sennrich and Zhang 2019: with little data, smaller subword vocabularies translate better",
            )
        return
    pairs = sum(len(text.pairs) for text in case.training)
    if pairs and pairs < 2 * case.config.data.vocabulary_size and all(text.is_whole for text in case.training):
        yield Finding(
            f"{pairs:,} pairs for a vocabulary of {case.config.data.vocabulary_size:,}: most tokens occur a few times",
            f"set data.vocabulary_size = {max(1000, pairs // 3)}",
            "Sennrich and Zhang 2019: with little data, smaller subword vocabularies translate better",
        )


def batch_that_does_not_fit(case: Case) -> Iterator[Finding]:
    """A batch that needs more memory than is free."""
    asked = case.config.train.batch_tokens
    if asked == "auto":
        return
    size = case.prepared.tokenizers.target.size if case.prepared is not None else case.config.data.vocabulary_size
    try:
        with torch.device("meta"):
            parameters = sum(one.numel() for one in Transformer(case.config.model, size, size).parameters())
    except VitrailError:
        return  # training says why
    device = torch.device("cpu")
    fitting = batch_tokens_for(
        case.config, parameters=parameters, vocabulary=size, free=free_memory(device), peers=ALONE
    )
    if asked > 2 * fitting:
        yield Finding(
            f"batches of {asked:,} tokens need more than the free memory of this machine, which is enough for about "
            f"{fitting:,}",
            f"set train.batch_tokens = {fitting} and train.accumulate = {-(-asked // fitting)}, which learns the same",
            "Popel and Bojar 2018: as large as fits, with a reserve, since the largest batch may come after days",
        )


def batch_too_small(case: Case) -> Iterator[Finding]:
    """A batch whose gradient is mostly noise."""
    train = case.config.train
    if train.batch_tokens != "auto" and train.batch_tokens * train.accumulate < TOO_SMALL:
        yield Finding(
            f"a step learns from at most {train.batch_tokens * train.accumulate:,} tokens",
            "set train.batch_tokens = 2048 or more, or raise train.accumulate; `--probe` tries it on your data",
            "Popel and Bojar 2018: larger batches converge faster (from 1,000 to 6,000 tokens a GPU was 1.3 times as "
            "fast per token alone); on small data here 2,048 to 3,072 were best",
        )


def warm_up_too_long(case: Case) -> Iterator[Finding]:
    """A rate that rises for most of the run."""
    train = case.config.train
    if train.warmup_steps > 0.3 * train.max_steps:
        yield Finding(
            f"the learning rate rises for {train.warmup_steps:,} of {train.max_steps:,} steps",
            f"set train.warmup_steps = {max(1, train.max_steps // 10)}, or train longer",
            "Vaswani et al. 2017: 4,000 of 100,000 steps",
        )


def no_validation(case: Case) -> Iterator[Finding]:
    """Nothing to see by whether the model gets better."""
    data = case.config.data
    has_sets = bool(case.prepared.validation) if case.prepared is not None else False
    only_phrasebook = {corpus.builtin for corpus in data.training_corpora()} == {"phrasebook"}
    if not (data.validation_corpora() or data.hold_out or has_sets or only_phrasebook):
        yield Finding(
            "there is no validation data, so nobody will know when the model stops getting better",
            "give --validation-source and --validation-target, or set data.hold_out = 1000",
        )
