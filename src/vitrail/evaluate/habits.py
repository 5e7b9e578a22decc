"""What each head and each hidden unit of a model usually does, measured over many sentences.

The model reads each sentence and its own translation of it. A habit is a set of keys that each query could look at; its
share is the weight that a head puts there, averaged over the queries for which there is such a key. Where two habits
mean the same key (the word before the second word is also the first), neither counts it.

Self-attention: `previous`, `itself` and `next` token; `same_word`: other pieces of the query's word, and the same token
elsewhere; `first` and `last` token of the sentence; `eos`. In the decoder, `first` is `<bos>`.
Encoder-decoder attention: `translation`: the source token whose translation comes next; `written`: the one whose
translation was written last (both by an alignment learnt from the same sentences: IBM model 1); `same_place`; `first`,
`last`, `eos`.

A head has the habit with the largest share if that is at least `CLEAR`. Otherwise it is `spread` if its weights are
nearly even, or `mixed`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitrail.data import encoded, lexicon
from vitrail.decode import batches
from vitrail.errors import DataError
from vitrail.evaluate.resampling import RESAMPLES, SEED
from vitrail.model import Tap, Transformer
from vitrail.sentences import cut_row
from vitrail.text import EOS, Tokenizers
from vitrail.text.special import BOS, PAD
from vitrail.trace.format import encode_array
from vitrail.trace.habits import MIXED_HABIT, SPREAD_HABIT, AttentionHabits, Habits, HeadHabit, UnitHabits
from vitrail.trace.words import word_numbers
from vitrail.translator import Translator

CLEAR = 0.4  # the least share of a habit that names a head
EVEN = 0.8  # the least evenness of a head that spreads its weight
KEPT = 5  # tokens to name for a hidden unit
FEWEST = 20  # sentences
LIKELY = 0.1  # the least probability of a target token, given the source token that it is aligned with
BATCH_TOKENS = 1024

SELF = ("previous", "itself", "next", "same_word", "first", "last", "eos")
CROSS = ("translation", "written", "same_place", "first", "last", "eos")

Masks = NDArray[np.bool_]  # [habit, query, key]
Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation as rows of ids, with what the habits need to know about them."""

    source: list[int]
    target: list[int]
    masks: Mapping[str, Masks]  # by kind of attention: encoder.self_attention, …


def measure_habits(
    translator: Translator, sources: Sequence[str], *, to: str | None, report: Report | None = None
) -> Habits:
    """Translate the sentences, listen to the model, and say what its heads and hidden units usually do."""
    done = translator.translate(list(sources), to=to, on_unknown="skip", report=report)
    texts = [(one.source, one.text) for one in done if one.text.strip() and not one.unchanged]
    if len(texts) < FEWEST:
        raise DataError(
            f"only {len(texts)} sentences could be translated",
            where="the sentences to measure on",
            fix=f"give at least {FEWEST}, better hundreds",
        )
    pairs = _pairs(translator, texts, to)
    heads, units = Heads(), Units()
    for number, chosen in enumerate(groups := batches([len(p.source) + len(p.target) for p in pairs], BATCH_TOKENS)):
        _listen(translator.model, [pairs[index] for index in chosen], heads, units)
        if report is not None:
            report("listening", number + 1, len(groups))
    return Habits(sentences=len(pairs), heads=heads.habits(), units=units.habits(translator.tokenizers))


def pair_of(tokenizers: Tokenizers, source: Sequence[int], target: Sequence[int], aligned: Sequence[int]) -> Pair:
    """The keys that each habit means. `aligned` has the source position of each target token, or -1."""
    languages, inputs = len(tokenizers.languages), [BOS, *target[:-1]]
    encoder = _self_masks(source, word_numbers(tokenizers.source, source, languages))
    decoder = _self_masks(inputs, word_numbers(tokenizers.target, inputs, languages))
    decoder[[SELF.index("next"), SELF.index("last"), SELF.index("eos")]] = False  # nobody looks ahead
    decoder &= np.tri(len(inputs), dtype=bool)
    cross = np.zeros((len(CROSS), len(target), len(source)), dtype=bool)
    last_written = -1
    for query, place in enumerate(aligned):
        if place >= 0:
            cross[CROSS.index("translation"), query, place] = True
        if last_written >= 0:
            cross[CROSS.index("written"), query, last_written] = True
        last_written = place
        same = query + (1 if languages else 0)
        if same < len(source) - 1:
            cross[CROSS.index("same_place"), query, same] = True
    _ends(cross, CROSS, source)
    return Pair(
        list(source),
        list(target),
        {
            "encoder.self_attention": _unambiguous(encoder),
            "decoder.self_attention": _unambiguous(decoder),
            "decoder.cross_attention": _unambiguous(cross),
        },
    )


def _self_masks(ids: Sequence[int], words: Sequence[int]) -> Masks:
    size = len(ids)
    masks = np.zeros((len(SELF), size, size), dtype=bool)
    masks[SELF.index("previous")] = np.eye(size, k=-1, dtype=bool)
    masks[SELF.index("itself")] = np.eye(size, dtype=bool)
    masks[SELF.index("next")] = np.eye(size, k=1, dtype=bool)
    word, token = np.array(words), np.array(ids)
    alike = ((word[:, None] == word) & (word >= 0)) | (token[:, None] == token)
    masks[SELF.index("same_word")] = alike & ~np.eye(size, dtype=bool)
    _ends(masks, SELF, ids)
    return masks


def _ends(masks: Masks, names: Sequence[str], ids: Sequence[int]) -> None:
    masks[names.index("first"), :, 0] = True
    if ids[-1] == EOS:
        masks[names.index("eos"), :, -1] = True
        if len(ids) > 2:
            masks[names.index("last"), :, -2] = True


def _unambiguous(masks: Masks) -> Masks:
    only: Masks = masks & (masks.sum(axis=0) == 1)
    return only


def _pairs(translator: Translator, texts: Sequence[tuple[str, str]], to: str | None) -> list[Pair]:
    """The rows of each pair, and where each target token comes from."""
    tokenizers, limit = translator.tokenizers, translator.runtime.position_limit
    sources = [cut_row(tokenizers.encode_source(source, to), limit) for source, _ in texts]
    targets = [cut_row(tokenizers.encode_target(target), limit) for _, target in texts]
    with encoded([source for source, _ in texts], [target for _, target in texts], tokenizers, to=to) as shard:
        known = lexicon.learn([shard])
    keys = known.source * tokenizers.target.size + known.target
    first = 1 if tokenizers.languages else 0
    pairs = []
    for source, target in zip(sources, targets, strict=True):
        wanted = np.array(source)[:, None] * tokenizers.target.size + np.array(target)
        places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        chance_ST = np.where(keys[places] == wanted, known.chance[places], 0)
        best_T, chance_T = chance_ST.argmax(axis=0), chance_ST.max(axis=0)
        is_word_T = (best_T >= first) & (best_T < len(source) - 1) & (chance_T >= LIKELY)
        pairs.append(pair_of(tokenizers, source, target, np.where(is_word_T, best_T, -1).tolist()))
    return pairs


def _listen(model: Transformer, pairs: Sequence[Pair], heads: Heads, units: Units) -> None:
    """Pass some pairs through the model, and note what its heads and hidden units do."""
    longest = max(len(pair.source) for pair in pairs), max(len(pair.target) for pair in pairs)
    source_BS = torch.tensor([pair.source + [PAD] * (longest[0] - len(pair.source)) for pair in pairs])
    inputs = [[BOS, *pair.target[:-1]] for pair in pairs]
    input_BT = torch.tensor([row + [PAD] * (longest[1] - len(row)) for row in inputs])

    def listener(name: str, value: Tensor) -> None:
        part, _, what = name.rpartition(".")
        stack, layer, _ = (*part.split("."), "", "")[:3]
        if what == "weights":
            heads.add(part, [pair.masks[_kind(part)] for pair in pairs], value.float().cpu().numpy())
        elif what == "hidden":
            rows = [pair.source for pair in pairs] if stack == "encoder" else inputs
            units.add(f"{stack}.{layer}", rows, value.float().cpu().numpy())

    device = next(model.parameters()).device
    with torch.inference_mode():
        memory = model.encode(source_BS.to(device), tap=Tap(listener))
        model.decode(input_BT.to(device), memory, tap=Tap(listener))


def _kind(attention: str) -> str:
    stack, _, kind = attention.split(".")
    return f"{stack}.{kind}"


class Heads:
    """For every sentence and head, the weight on the keys of each habit, and the number of queries that have one."""

    def __init__(self) -> None:
        self._weights: dict[str, list[NDArray[np.float64]]] = defaultdict(list)  # [head, habit], "evenness" last
        self._counts: dict[str, list[NDArray[np.float64]]] = defaultdict(list)  # [habit]
        self._even: dict[str, list[NDArray[np.float64]]] = defaultdict(list)  # [habit]

    def add(self, attention: str, masks: Sequence[Masks], weights_BHTS: NDArray[np.float32]) -> None:
        """Note one batch; a mask has the real lengths, the weights are padded."""
        for mask, padded in zip(masks, weights_BHTS, strict=True):
            self._add_one(attention, mask, padded[:, : mask.shape[1], : mask.shape[2]].astype(np.float64))

    def _add_one(self, attention: str, mask: Masks, weights_HTS: NDArray[np.float64]) -> None:
        seen_T = _seen(attention, mask)
        wide_T = seen_T >= 2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(weights_HTS > 0, -weights_HTS * np.log(weights_HTS), 0)
        evenness_H = (terms.sum(-1)[:, wide_T] / np.log(seen_T[wide_T])).sum(-1)
        on_habits = np.einsum("hts,nts->hn", weights_HTS, mask)
        self._weights[attention].append(np.concatenate([on_habits, evenness_H[:, None]], axis=1))
        self._counts[attention].append(np.append(mask.any(-1).sum(-1), wide_T.sum()).astype(float))
        self._even[attention].append((mask / seen_T[:, None]).sum((1, 2)))

    def habits(self) -> dict[str, AttentionHabits]:
        """The shares, and how much they vary between samples of the sentences."""
        sentences = len(next(iter(self._counts.values())))
        draws = np.random.default_rng(SEED).multinomial(sentences, [1 / sentences] * sentences, size=RESAMPLES)
        found = {}
        for attention, parts in self._weights.items():
            names = CROSS if _kind(attention).endswith("cross_attention") else SELF
            counts, weights = (
                np.stack(self._counts[attention]),
                np.stack(parts),
            )  # [sentence, habit], with heads between
            chosen = np.flatnonzero(counts[:, :-1].sum(0))  # habits that some query could have
            total = counts.sum(0)
            shares = weights.sum(0) / np.maximum(total, 1)
            resampled = np.einsum("rs,shn->rhn", draws, weights) / np.maximum(draws @ counts, 1)[:, None]
            even = np.stack(self._even[attention]).sum(0) / np.maximum(total[:-1], 1)
            found[attention] = AttentionHabits(
                even={names[n]: _share(even[n]) for n in chosen},
                heads=[
                    _head(shares[h], resampled[:, h], [names[n] for n in chosen], chosen) for h in range(len(shares))
                ],
            )
        return found


def _seen(attention: str, mask: Masks) -> NDArray[np.float64]:
    """How many keys each query sees."""
    _, queries, keys = mask.shape
    return (
        np.arange(1.0, queries + 1) if _kind(attention) == "decoder.self_attention" else np.full(queries, float(keys))
    )


def _head(
    shares: NDArray[np.float64], resampled: NDArray[np.float64], names: Sequence[str], chosen: NDArray[np.int64]
) -> HeadHabit:
    """One head's habit. The last column of both tables is the evenness."""
    on_habits, again = shares[chosen], resampled[:, chosen]
    best = habit_of(on_habits, shares[-1])
    each = np.array([habit_of(row, even) for row, even in zip(again, resampled[:, -1], strict=True)])
    column = resampled[:, -1] if best == SPREAD else again.max(-1) if best == MIXED else again[:, best]
    low, high = np.quantile(column, [0.025, 0.975])
    return HeadHabit(
        habit={SPREAD: SPREAD_HABIT, MIXED: MIXED_HABIT}.get(best) or names[best],
        share=_share(shares[-1] if best == SPREAD else on_habits.max()),
        low=_share(low),
        high=_share(high),
        sure=_share(float((each == best).mean())),
        shares={name: _share(value) for name, value in zip(names, on_habits, strict=True)},
        evenness=_share(shares[-1]),
    )


SPREAD, MIXED = -1, -2


def habit_of(shares: NDArray[np.float64], evenness: float) -> int:
    """The place of the habit that a head has, or SPREAD or MIXED."""
    best = int(shares.argmax())
    return best if shares[best] >= CLEAR else SPREAD if evenness >= EVEN else MIXED


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, float(value))), 5)


class Units:
    """For every layer and token, the largest value of each hidden unit."""

    def __init__(self) -> None:
        self._fired: dict[str, NDArray[np.int64]] = {}
        self._tokens: dict[str, int] = defaultdict(int)
        self._largest: dict[str, dict[int, NDArray[np.float32]]] = defaultdict(dict)

    def add(self, layer: str, rows: Sequence[Sequence[int]], hidden_BTF: NDArray[np.float32]) -> None:
        """Note one batch."""
        largest = self._largest[layer]
        for row, hidden_TF in zip(rows, hidden_BTF, strict=True):
            fired_F = (hidden_TF[: len(row)] > 0).sum(0)
            self._fired[layer] = self._fired[layer] + fired_F if layer in self._fired else fired_F
            self._tokens[layer] += len(row)
            for token_id, hidden_F in zip(row, hidden_TF, strict=False):
                known_F = largest.get(token_id)
                largest[token_id] = hidden_F.copy() if known_F is None else np.maximum(known_F, hidden_F)

    def habits(self, tokenizers: Tokenizers) -> dict[str, UnitHabits]:
        """How often each unit fires, how strongly, and for which tokens most strongly."""
        found = {}
        for layer, largest in self._largest.items():
            ids, values = np.array(list(largest)), np.stack(list(largest.values()))
            order = np.argsort(-values, axis=0, kind="stable")[:KEPT].T  # [unit, place]
            fires = np.take_along_axis(values.T, order, axis=1) > 0
            used = sorted({int(ids[place]) for place in order[fires]})
            places = dict(zip(used, count(), strict=False))
            tokens = [
                [places[int(ids[p])] if is_on else -1 for p, is_on in zip(*row, strict=True)]
                for row in zip(order, fires, strict=True)
            ]
            side = tokenizers.source if layer.startswith("encoder") else tokenizers.target
            found[layer] = UnitHabits(
                fires=encode_array((self._fired[layer] / self._tokens[layer]).astype(np.float32)),
                peak=encode_array(values.max(0)),
                tokens=encode_array(np.array(tokens, dtype=np.float32)),
                names=[side.token(token_id) for token_id in used],
            )
        return found
