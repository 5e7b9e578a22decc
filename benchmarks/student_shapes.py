"""How fast is a student of this shape? Untrained models translate as many tokens as trained ones would.

    python benchmarks/student_shapes.py 4+2x256x1024v10000 6+1x256x1024v10000 6+1x256x1024v4000

A shape is encoder layers + decoder layers x d_model x d_ff v vocabulary size; heads are 64 wide. The first one is the
teacher. The source sentences are those of a TSV file, and every batch is searched for as many steps as its references
have tokens. All shapes take turns, greedily and with beam 4, on one core; a figure is the median over the rounds of how
many times as fast as the teacher (with beam 4) it is in the same round. Training takes time too: `train` is the number
of multiplications per pair of tokens, relative to the teacher.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import ctranslate2

from vitrail.config import Config, DataConfig, ModelConfig
from vitrail.decode.grouping import batches
from vitrail.folder import ModelFolder
from vitrail.runtime.convert import convert
from vitrail.text import Tokenizers

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "tatoeba-fr-en"
BEAMS = (4, 1)
BATCH_TOKENS = 1024


@dataclass
class Student:
    """An untrained model, and batches of source rows with the number of steps to search for."""

    name: str
    model: ModelConfig
    vocabulary: int
    translator: ctranslate2.Translator
    groups: list[tuple[list[list[str]], int]]

    def seconds(self, beam_size: int) -> float:
        started = time.perf_counter()
        for rows, length in self.groups:
            self.translator.translate_batch(
                rows, beam_size=beam_size, max_decoding_length=length, min_decoding_length=length, max_input_length=0
            )
        return time.perf_counter() - started

    def multiplications(self) -> int:
        """Of the weights, for one source and one target token."""
        d, f, model = self.model.d_model, self.model.d_ff, self.model
        layers = model.encoder_layers * (4 * d * d + 2 * d * f) + model.decoder_layers * (8 * d * d + 2 * d * f)
        return layers + d * self.vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", help="for example 6+1x256x1024v4000")
    parser.add_argument("--pairs", type=Path, default=DATA / "val.tsv.gz")
    parser.add_argument("--train", type=Path, default=DATA / "train.tsv.gz", help="what to learn vocabularies from")
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    pairs, corpus = read(options.pairs)[: options.lines], read(options.train)
    known: dict[int, Tokenizers] = {}
    students = [student(shape, pairs, corpus, known) for shape in options.shapes]
    turns = [
        {(one.name, beam): one.seconds(beam) for one in students for beam in BEAMS} for _ in range(options.rounds + 1)
    ]
    found = turns[1:]  # the first is for warming up
    teacher = students[0]
    rows = []
    for one in students:
        speeds = {
            f"beam_{beam}": median(turn[teacher.name, BEAMS[0]] / turn[one.name, beam] for turn in found)
            for beam in BEAMS
        }
        train = one.multiplications() / teacher.multiplications()
        rows.append({"shape": one.name, **speeds, "train": train})
        print(f"{one.name:24} " + "  ".join(f"{key} {value:5.2f}" for key, value in list(rows[-1].items())[1:]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def read(path: Path) -> list[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [(fields[0], fields[1]) for fields in (line.rstrip("\n").split("\t") for line in file)]


def student(
    shape: str, pairs: list[tuple[str, str]], corpus: list[tuple[str, str]], known: dict[int, Tokenizers]
) -> Student:
    sizes = re.fullmatch(r"(\d+)\+(\d+)x(\d+)x(\d+)v(\d+)", shape)
    if sizes is None:
        raise SystemExit(f"{shape} is not a shape like 6+1x256x1024v4000")
    encoder_layers, decoder_layers, d_model, d_ff, size = map(int, sizes.groups())
    if size not in known:
        sources, targets = zip(*corpus, strict=True)
        known[size] = Tokenizers.train(sources, targets, kind="bpe", size=size, joint=True, languages=("en", "fr"))
    words = known[size]
    model = ModelConfig.model_validate(
        {
            "d_model": d_model,
            "heads": max(1, d_model // 64),
            "d_ff": d_ff,
            "encoder_layers": encoder_layers,
            "decoder_layers": decoder_layers,
            "norm": "pre",
        }
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = ModelFolder.create(Path(temporary), Config(model=model, data=DataConfig(vocabulary_size=size)), words)
        folder.write_weights(folder.new_model().state_dict())
        converted = Path(temporary) / "converted"
        converted.mkdir()
        convert(folder, precision="float32", out=converted)
        translator = ctranslate2.Translator(str(converted), inter_threads=1, intra_threads=1)
    rows = [words.encode_source(source, "en") for source, _ in pairs]
    lengths = [len(words.encode_target(target)) for _, target in pairs]
    groups = []
    for group in batches([len(row) for row in rows], BATCH_TOKENS):
        steps = round(sum(lengths[index] for index in group) / len(group))
        groups.append(([[str(number) for number in rows[index]] for index in group], steps))
    return Student(shape, model, size, translator, groups)


if __name__ == "__main__":
    main()
