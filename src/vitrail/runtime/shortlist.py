"""A lexical shortlist: the target ids that each source id may lead to. A search then predicts these only.

Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural Machine Translation", section 3.3. A sentence's list
is the union over its ids. Log-probabilities are normalised over the list: that is all that is computed.

The file `shortlist.safetensors` of a model folder has the lists one after the other (`ids`) and where each begins
(`starts`). Its metadata names the format and the vocabulary. It may come from a stranger: everything is checked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitrail.data.lexicon import Lexicon, Report, learn
from vitrail.data.shards import Shard
from vitrail.errors import DecodeError, FolderError
from vitrail.folder import ModelFolder
from vitrail.storage import new_file, regular
from vitrail.text import Tokenizers
from vitrail.text.special import BOS, EOS, FIRST_LANGUAGE, UNK

FORMAT = 1
FILE = "shortlist.safetensors"
ALWAYS = (UNK, BOS, EOS)  # in every list, as CTranslate2 has it; a search may forbid some of them
SIZE, FREQUENT, LEAST = 50, 3500, 0.001  # chosen on validation data: docs/decoding.md
_TYPES = ("U16", "U32")
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Shortlist:
    """The lists of all source ids: that of id s is `ids[starts[s]:starts[s + 1]]`."""

    starts: Ids
    ids: Ids

    @classmethod
    def of_lists(cls, lists: Iterable[Iterable[int]]) -> Shortlist:
        """The list of each source id, in order."""
        ordered = [sorted(set(one)) for one in lists]
        starts = np.cumsum([0, *map(len, ordered)])
        return cls(starts, np.array([number for one in ordered for number in one], dtype=np.int64))

    @classmethod
    def learn(
        cls,
        shards: Sequence[Shard],
        tokenizers: Tokenizers,
        *,
        size: int = SIZE,
        frequent: int = FREQUENT,
        report: Report | None = None,
    ) -> Shortlist:
        """A shortlist from pairs of every direction."""
        return cls.of_lexicon(learn(shards, report=report), tokenizers, size=size, frequent=frequent)

    @classmethod
    def of_lexicon(cls, lexicon: Lexicon, tokenizers: Tokenizers, *, size: int, frequent: int) -> Shortlist:
        """The most probable target ids of each source id.

        The language symbol or else `<eos>`, which is in every source, gets a longer list: the frequent target ids of
        the language. They are the same for a whole batch, so they cost little. Every id also gets the one that is
        spelled the same, for names; a byte gets all bytes, which spell what is unknown.
        """
        first = FIRST_LANGUAGE + len(tokenizers.languages)  # the first id that stands for text
        most, least = np.full(tokenizers.source.size, size), np.full(tokenizers.source.size, LEAST)
        in_every_source = slice(FIRST_LANGUAGE, first) if tokenizers.languages else EOS
        most[in_every_source], least[in_every_source] = frequent, 0
        lists: list[set[int]] = [set() for _ in range(tokenizers.source.size)]
        for source, target in zip(*(column.tolist() for column in lexicon.best(most, least)), strict=True):
            lists[source].add(target)
        spelled = {tokenizers.target.token(number): number for number in range(tokenizers.target.size)}
        of_bytes = {number for token, number in spelled.items() if _BYTE.fullmatch(token)}
        for source in range(first, tokenizers.source.size):
            token = tokenizers.source.token(source)
            lists[source] |= of_bytes if _BYTE.fullmatch(token) else {spelled[token]} if token in spelled else set()
        return cls.of_lists(lists)

    def of(self, rows: Iterable[Sequence[int]]) -> Ids:
        """The target ids that sources may lead to, in order."""
        sources = {number for row in rows for number in row}
        return np.unique(
            np.concatenate(
                [np.array(ALWAYS), *(self.ids[self.starts[source] : self.starts[source + 1]] for source in sources)]
            )
        )

    def vocabulary_map(self, common: int) -> bytes:
        """The same for CTranslate2, whose tokens are named by their ids: a source token, a tab, target tokens.

        It looks up every token of a batch, one by one, which can take longer than is saved. So the list of `common`,
        an id that all sentences have, stands under the empty token, which is looked up once, and in no other list.
        """
        ids, starts = self.ids.tolist(), self.starts.tolist()
        lists = [ids[start:end] for start, end in pairwise(starts)]
        always = set(lists[common])
        lines = {"": lists[common]}
        for source, targets in enumerate(lists):
            if further := [number for number in targets if number not in always]:
                lines[str(source)] = further
        return "".join(f"{source}\t{' '.join(map(str, targets))}\n" for source, targets in lines.items()).encode(
            "ascii"
        )

    def save(self, path: Path, *, vocabulary: str) -> None:
        """Write a file for models with this vocabulary."""
        from safetensors.numpy import save

        kind = np.uint16 if self.ids.max(initial=0) < 1 << 16 else np.uint32
        arrays: dict[str, Any] = {"starts": self.starts.astype(np.uint32), "ids": self.ids.astype(kind)}
        known = {"format": str(FORMAT), "vocabulary": vocabulary, "sha256": _checksum(self.starts, self.ids)}
        with new_file(path) as partial:
            partial.write_bytes(save(arrays, known))

    @classmethod
    def load(cls, folder: ModelFolder) -> Shortlist:
        """The shortlist of a model folder. If there is none, or it belongs to another vocabulary, this is an error."""
        path = folder.path / FILE
        if not path.exists():
            raise DecodeError("this model has no shortlist", where=str(path), fix=_learn(folder))
        try:
            metadata, arrays = _read(path)
            if not metadata.get("format", "").isdecimal():
                raise ValueError("it does not name its format")
            if int(metadata["format"]) > FORMAT:
                raise FolderError(
                    "this shortlist was written by a newer version of vitrail", where=str(path), fix="upgrade vitrail"
                )
            if metadata.get("vocabulary") != folder.vocabulary:
                raise FolderError("this shortlist belongs to another vocabulary", where=str(path), fix=_learn(folder))
            if metadata.get("sha256", found := _checksum(arrays["starts"], arrays["ids"])) != found:
                raise ValueError("its checksum does not match")  # files written before have none
            sizes = folder.tokenizers.source.size, folder.tokenizers.target.size
            return cls(*_checked(arrays["starts"], arrays["ids"], *sizes))
        except OSError as error:
            raise FolderError(
                f"cannot read it: {error.strerror or error}", where=str(path), fix="check its permissions"
            ) from None
        except ValueError as error:
            raise FolderError(f"the shortlist is damaged: {error}", where=str(path), fix=_learn(folder)) from None


def _checksum(starts: Ids, ids: Ids) -> str:
    return hashlib.sha256(starts.astype("<i8").tobytes() + ids.astype("<i8").tobytes()).hexdigest()


def _learn(folder: ModelFolder) -> str:
    return f"learn one: `vitrail shortlist {folder.path}`"


def _read(path: Path) -> tuple[dict[str, str], dict[str, Ids]]:
    """The metadata and the arrays of a file. A ValueError says what is wrong with it."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(regular(path), framework="numpy") as file:
            arrays = {}
            for name in ("starts", "ids"):
                if name not in file.keys():  # noqa: SIM118  (not a dictionary)
                    raise ValueError(f"it lacks '{name}'")
                kind, shape = str(file.get_slice(name).get_dtype()), file.get_slice(name).get_shape()
                if kind not in _TYPES or len(shape) != 1:
                    raise ValueError(f"'{name}' is not a list of whole numbers")
                arrays[name] = file.get_tensor(name).astype(np.int64)
            return file.metadata() or {}, arrays
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def _checked(starts: Ids, ids: Ids, sources: int, targets: int) -> tuple[Ids, Ids]:
    if len(starts) != sources + 1:
        raise ValueError(f"it has {len(starts) - 1:,} lists, but the source vocabulary has {sources:,} entries")
    if starts[0] != 0 or starts[-1] != len(ids) or (np.diff(starts) < 0).any():
        raise ValueError("its lists overlap, or do not fit into the file")
    if len(ids) and int(ids.max()) >= targets:
        raise ValueError(f"it has the id {int(ids.max()):,}, but the target vocabulary has {targets:,} entries")
    return starts, ids
