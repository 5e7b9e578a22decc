"""What a distillation consists of: sentences to translate, files for the translations, settings of the student.

`RUN/distilled/job.json` says whose translations are in RUN, and of what. Whoever continues must mean the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vitrail.config import Config, CorpusConfig, DecodeConfig
from vitrail.data import Corpus, count_lines
from vitrail.documents import Document
from vitrail.errors import ConfigError, DataError, FolderError, StorageError
from vitrail.folder import DISTILLED, WEIGHTS
from vitrail.storage import checksum, read_text, write_text
from vitrail.translation import Translation
from vitrail.translator import Translator

JOB = "job.json"
_PHRASEBOOK = CorpusConfig(builtin="phrasebook")


@dataclass(frozen=True)
class Part:
    """The source side of a corpus, in one direction, and the file for it and its translations: JSON lines."""

    corpus: Corpus
    to: str | None  # the target language, if the corpus names it
    file: Path

    def sources(self) -> Iterator[str]:
        """The sentences. Those that are not UTF-8 are empty, so that lines keep their numbers."""
        return (pair.source or "" for pair in self.corpus.pairs() if pair.to == self.to)

    def total(self) -> int | None:
        """How many sentences there are, if that is quick to find out."""
        return count_lines(self.corpus.files()[0]) if self.corpus.files() else None

    def as_corpus(self) -> CorpusConfig:
        """The file as a corpus to train on."""
        config = self.corpus.config
        source = config.source_language
        if config.builtin == "phrasebook":
            source = "fr" if self.to == "en" else "en"
        return CorpusConfig(pairs=str(self.file), source_language=source, target_language=self.to, weight=config.weight)

    def describe(self) -> dict[str, Any]:
        """What identifies the sentences: by the contents of their files, wherever those are."""
        config = self.corpus.config
        files = [config.source] if config.source else [config.pairs] if config.pairs else []
        sums = [checksum(Path(file)) for file in files] or self.corpus.stamps()
        return {"name": self.corpus.name, "field": config.source_field, "to": self.to, "contents": sums}


class Job(Document):
    """What the translations in a folder are."""

    teacher: str  # its name when it was asked
    weights: str
    decode: dict[str, Any]
    parts: list[dict[str, Any]]


@dataclass(frozen=True)
class Plan:
    """A distillation into the folder `out`."""

    out: Path
    config: Config  # the student's, with the corpora whose source side is translated
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, config: Config, out: Path) -> Plan:
        """Refuse what cannot work, before anything is translated."""
        if config.data.prepared is not None:
            raise ConfigError(
                "the teacher translates text, and prepared data has none",
                where="data.prepared",
                fix="name the corpora instead",
            )
        corpora = [Corpus(one, config.train.seed) for one in config.data.training_corpora()]
        if not corpora:
            raise DataError(
                "there is nothing to translate",
                where="the command line",
                fix="give --source, or a recipe with corpora",
            )
        parts = [(corpus, to) for corpus in corpora for to in corpus.targets() or (None,)]
        files = [f"{number}-{to}.jsonl" if to else f"{number}.jsonl" for number, (_, to) in enumerate(parts, start=1)]
        plan = cls(
            out,
            config,
            tuple(Part(corpus, to, out / DISTILLED / file) for (corpus, to), file in zip(parts, files, strict=True)),
        )
        for part in plan.parts:
            next(part.sources())  # a missing or empty file is found now
        for one in plan.validation():
            next(Corpus(one, config.train.seed, held_out=True).pairs())
        return plan

    def validation(self) -> tuple[CorpusConfig, ...]:
        """The validation corpora, with translations that people made: a teacher's would not show what is lost."""
        named = self.config.data.validation_corpora()
        if not named and {part.corpus.config.builtin for part in self.parts} == {"phrasebook"}:
            return (_PHRASEBOOK,)
        if not named:
            raise DataError(
                "there is no validation data to compare the student and its teacher on",
                where="[data]",
                fix="give --validation-source and --validation-target, or name validation corpora in the recipe",
            )
        return named

    def asked(self, teacher: Translator, to: str | None) -> list[str | None]:
        """What to ask the teacher for in each part; `to` is for parts that name no language."""
        languages = {part.to for part in self.parts}
        if teacher.languages or teacher.target_language is not None:
            return [teacher.asked_language(part.to or to) for part in self.parts]
        if len(languages) > 1:
            raise ConfigError(
                f"the teacher has one target language, but the corpora have {', '.join(sorted(map(str, languages)))}",
                where="[data] corpora",
                fix="keep the corpora that the teacher can translate",
            )
        return [None] * len(self.parts)  # it has no name for its language, whatever the corpora call it

    def student(self, *, keep_original: bool) -> Config:
        """The student's settings: trained on the translations, validated on the real references."""
        data = self.config.data
        originals = data.training_corpora() if keep_original else ()
        short = ("source", "target", "pairs", "source_language", "target_language")
        unset = (*short, "validation_source", "validation_target", "validation_pairs")
        changed = data.model_copy(
            update={
                **dict.fromkeys(unset),
                "corpora": (*(part.as_corpus() for part in self.parts), *originals),
                "validation": self.validation(),
                "hold_out": 0,
            }
        )
        return self.config.model_copy(update={"data": changed})

    def claim(self, teacher: Translator, name: str, decode: DecodeConfig) -> None:
        """Record the job in the folder. If it holds another one, or anything else, refuse it."""
        assert teacher.folder is not None
        job = Job(
            teacher=name,
            weights=checksum(teacher.folder.path / WEIGHTS),
            decode=decode.model_dump(),
            parts=[part.describe() for part in self.parts],
        )
        file = self.out / DISTILLED / JOB
        if not file.exists():
            self._refuse_other_folders()
            write_text(file, json.dumps(job.model_dump(), indent=1, ensure_ascii=False) + "\n")
            return
        try:
            earlier = Job.parse(read_text(file))
        except (OSError, ValueError) as error:
            raise FolderError(
                f"{JOB} is damaged: {error}", where=str(file), fix=f"delete {file.parent} to start over"
            ) from None
        change = next(_changes(earlier, job), None)
        if change is not None:
            raise StorageError(
                f"this folder holds another distillation: {change}",
                where=str(file),
                fix="repeat the first command, or choose another --out",
            )

    def _refuse_other_folders(self) -> None:
        if self.out.is_file():
            raise FolderError("this is a file", where=str(self.out), fix="give a folder as --out")
        names = sorted(path.name for path in self.out.iterdir()) if self.out.is_dir() else []
        if names:
            raise FolderError(
                f"this folder holds other files ({', '.join(names[:3])}), but no distillation",
                where=str(self.out),
                fix="choose another --out, or empty it",
            )


def sentences_corpus(file: Path, directions: Sequence[tuple[str, str]], to: str | None) -> CorpusConfig:
    """A file of sentences without translations: a corpus whose target side nobody reads.

    If the teacher's `directions` tell which language it is in, the student's one direction gets a name.
    """
    languages = [source for source, target in directions if to in (target, None)]
    named = to or (directions[0][1] if len(directions) == 1 else None)
    if named is None or len(set(languages)) != 1:
        return CorpusConfig(source=str(file), target=str(file))
    return CorpusConfig(source=str(file), target=str(file), source_language=languages[0], target_language=named)


def pair_line(translation: Translation) -> str:
    """A line of a part's file. A target that is not the whole translation is left empty, so training skips it."""
    target = "" if translation.was_cut else translation.text
    return json.dumps({"source": translation.source, "target": target}, ensure_ascii=False)


def _changes(then: Job, now: Job) -> Iterator[str]:
    if then.weights != now.weights:
        yield f"its teacher is another model, '{then.teacher}'"
    for name in {**then.decode, **now.decode}:
        if then.decode.get(name) != now.decode.get(name):
            yield f"the teacher's {name} was {then.decode.get(name)!r}, now {now.decode.get(name)!r}"
    if len(then.parts) != len(now.parts):
        yield f"it translated {len(then.parts)} sources, not {len(now.parts)}"
    for old, new in zip(then.parts, now.parts, strict=False):
        for name in ("field", "to"):
            if old.get(name) != new.get(name):
                yield f"the {name} of {new['name']} was {old.get(name)!r}, now {new.get(name)!r}"
        if old.get("contents") != new["contents"]:
            yield f"{new['name']} is not the file that was translated"
