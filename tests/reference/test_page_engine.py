"""The model in the page is the model in Python: the same tokens, the same searches, and every number of a trace."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from page_engine import HOSTILE, Bench, strange_lines

from vitrail.config import ACTIVATIONS, POSITIONS, TIES, DecodeConfig, ModelConfig
from vitrail.data.phrasebook import training_pairs
from vitrail.model import Transformer
from vitrail.text import Tokenizers
from vitrail.translator import Translator, load

TATOEBA = Path(__file__).parents[3] / "shared" / "data" / "tatoeba-fr-en" / "train.tsv.gz"
SMALL = {"d_model": 24, "heads": 4, "d_k": 10, "d_ff": 40, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
# One model of every option; heads off, first words, references and samples turn up among them.
OPTIONS: list[dict[str, Any]] = [
    *({"positions": kind, "max_distance": 3, "max_positions": 64} for kind in POSITIONS),
    *({"positions": kind, "max_distance": 2, "norm": "pre", "kv_heads": 1} for kind in ("rope", "relative", "alibi")),
    *({"activation": kind, "bias": False, "kv_heads": 2} for kind in ACTIVATIONS),
    *({"tie_embeddings": kind, "output_bias": True, "embedding_scale": False, "norm": "pre"} for kind in TIES),
    {"positions": "alibi", "heads": 3, "d_model": 30, "d_ff": 7, "encoder_layers": 1, "decoder_layers": 3},
]
ASKS: list[dict[str, Any]] = [
    {"decode": {"beam_size": 3, "top_beams": 2}},
    {"decode": {"beam_size": 1}, "reference": "the cat is there"},
    {"heads_off": {"decoder.0.cross_attention": [0, 2], "encoder.0.self_attention": [1]}},
    {"prefix": "the cat", "decode": {"beam_size": 2, "penalty": "gnmt", "alpha": 0.6}},
    {"decode": {"sample": True, "top_beams": 3, "seed": 7, "temperature": 1.2, "top_k": 40}},
    {"decode": {"sample": True, "top_beams": 2, "top_p": 0.8}},
]

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's model")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def vocabulary() -> Callable[..., Tokenizers]:
    """Vocabularies of the phrasebook."""
    pairs = list(training_pairs(400, seed=3))
    known: dict[tuple[str, bool], Tokenizers] = {}

    def build(kind: str, *, joint: bool = True) -> Tokenizers:
        if (kind, joint) not in known:
            known[kind, joint] = Tokenizers.train(
                [pair.source for pair in pairs],
                ["the cat is there", *(pair.target for pair in pairs)],
                kind=kind,
                size=2000 if kind == "word" else 480,
                joint=joint,
                languages=["en", "fr"] if joint else [],
            )
        return known[kind, joint]

    return build


def random_translator(tokenizers: Tokenizers, seed: int = 1, **options: Any) -> Translator:
    torch.manual_seed(seed)
    model = Transformer(ModelConfig(**(SMALL | options)), tokenizers.source.size, tokenizers.target.size)
    with torch.no_grad():
        for parameter in model.parameters():  # biases of 0 and gains of 1 would hide mistakes
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return Translator(model.eval(), tokenizers, DecodeConfig(max_extra=4))


def lines_of_the_phrasebook(count: int) -> list[str]:
    return [pair.source for pair in training_pairs(count, seed=8)]


def assert_equal(report: dict[str, Any], **counts: int) -> None:
    assert not report["differences"], report["differences"][:3]
    for name, least in counts.items():
        assert report["counts"][name] >= least, report["counts"]


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram"])
@pytest.mark.parametrize("joint", [True, False], ids=["joint", "apart"])
def test_lines_have_the_same_tokens(
    bench: Bench, vocabulary: Callable[..., Tokenizers], kind: str, joint: bool
) -> None:
    translator = random_translator(vocabulary(kind, joint=joint), tie_embeddings="all" if joint else "target")
    lines = [*HOSTILE, *strange_lines(300, seed=2), *lines_of_the_phrasebook(300)]
    bench.tokens(translator, lines, "fr" if joint else None)
    assert_equal(bench.compare(), lines=600, texts=200)


def test_every_option_gives_the_same_traces(bench: Bench, vocabulary: Callable[..., Tokenizers]) -> None:
    texts = [pair.source for pair in training_pairs(400, seed=3)]  # whose words are known
    for number, options in enumerate(OPTIONS):
        separate = options.get("tie_embeddings", "all") != "all"
        translator = random_translator(vocabulary("word", joint=not separate), seed=number, **options)
        plain = number % 5 == 1  # without WebAssembly
        ask = ASKS[number % len(ASKS)]
        bench.trace(translator, texts[number], to=None if separate else "en", plain=plain, **ask)
        for ask in (ASKS[number % len(ASKS)], ASKS[(number + 1) % len(ASKS)]):
            plain = number % 5 == 1  # without WebAssembly
            bench.trace(translator, texts[number], to=None if separate else "en", plain=plain, **ask)
    assert_equal(bench.compare(), traces=len(OPTIONS), numbers=200_000)


def test_float16_and_int8_weights_are_read_as_python_reads_them(
    bench: Bench, vocabulary: Callable[..., Tokenizers]
) -> None:
    for number, precision in enumerate(("float16", "int8", "float32")):
        translator = random_translator(vocabulary("bpe"), seed=number, d_k=8)
        bench.model(translator, precision)  # type: ignore[arg-type]
        bench.trace(translator, "the cat sleeps", to="fr", reference="le chat dort")
        bench.searches(translator, lines_of_the_phrasebook(8), to="fr", decode=DecodeConfig(max_extra=3, beam_size=5))
    assert_equal(bench.compare(), traces=3, searches=24)


def test_the_built_in_model_translates_alike(bench: Bench) -> None:
    translator = load("builtin", threads=1)
    settings = translator.config.model_copy(update={"engine": "torch"})  # which need not convert the model first
    texts = ["je suis étudiant", "il fait beau, mais j'ai froid.", "L’eau est bleue !"]
    bench.tokens(translator, [*HOSTILE, *texts], "en")
    bench.searches(translator, texts, to="en", decode=settings)
    bench.searches(translator, texts, to="en", decode=settings.model_copy(update={"beam_size": 1}))
    bench.trace(translator, texts[0], to="en", reference="I'm a student.")
    assert_equal(bench.compare(), searches=6, traces=1, lines=20)


@pytest.fixture
def tatoeba() -> Iterator[Callable[[int], list[tuple[str, str]]]]:
    if not TATOEBA.exists():
        pytest.skip("needs ../shared/data/tatoeba-fr-en")

    def read(count: int) -> list[tuple[str, str]]:
        with gzip.open(TATOEBA, "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line, _ in zip(file, range(7 * count), strict=False)]
        return [(row[0], row[1]) for row in rows[::7]]

    yield read


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word", "unigram", "builtin"])
def test_ten_thousand_lines_have_the_same_tokens(
    bench: Bench, vocabulary: Callable[..., Tokenizers], tatoeba: Callable[[int], list[tuple[str, str]]], kind: str
) -> None:
    pairs = tatoeba(5000)
    translator = load("builtin") if kind == "builtin" else random_translator(vocabulary(kind))
    lines = [*HOSTILE, *strange_lines(2000, seed=5), *(text for pair in pairs for text in pair)]
    bench.tokens(translator, lines, "en")
    assert_equal(bench.compare(), lines=12_000)


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_thousand_sentences_have_the_same_translations(
    bench: Bench, tatoeba: Callable[[int], list[tuple[str, str]]], beam_size: int
) -> None:
    translator = load("builtin", threads=1)
    settings = translator.config.model_copy(update={"beam_size": beam_size})
    pairs = tatoeba(500)
    bench.searches(translator, [source for source, _ in pairs], to="en", decode=settings)
    bench.searches(translator, [target for _, target in pairs], to="fr", decode=settings)
    report = bench.compare()
    assert_equal(report, searches=1000)
    assert report["counts"]["ties"] < 10, report["counts"]
