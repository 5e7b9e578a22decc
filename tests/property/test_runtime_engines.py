"""The engines give the same translations, whatever the model, the search and the batch. Ties are counted."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import vitrail
from vitrail.config import ACTIVATIONS, POSITIONS, TIES, Config, DataConfig, DecodeConfig, ModelConfig
from vitrail.decode import Hypothesis
from vitrail.errors import DecodeError
from vitrail.folder import ModelFolder
from vitrail.model import Transformer
from vitrail.model.positions import SinusoidalPositions
from vitrail.runtime import Job, Runtime
from vitrail.runtime.convert import SINUSOIDS, why_not
from vitrail.runtime.shortlist import FILE, Shortlist
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.text.special import BOS, EOS, FIRST_LANGUAGE

TIE = 1e-4
TATOEBA = Path(__file__).parents[3] / "shared" / "data" / "tatoeba-fr-en" / "val.tsv.gz"
WORDS = WordVocabulary([f"w{number}" for number in range(23)], [])
MORE = WordVocabulary([f"v{number}" for number in range(31)], [])
PLAIN = {"d_model": 24, "heads": 4, "kv_heads": 4, "d_ff": 40, "encoder_layers": 2, "decoder_layers": 2}
OPTIONS: dict[str, dict[str, Any]] = {
    **{f"positions {name}": {"positions": name} for name in POSITIONS},
    **{f"activation {name}": {"activation": name} for name in ACTIVATIONS},
    **{f"tied {name}": {"tie_embeddings": name, "output_bias": name == "none"} for name in TIES},
    "pre-norm": {"norm": "pre"},
    "pre-norm, relative": {"norm": "pre", "positions": "relative"},
    "no biases": {"bias": False, "norm": "pre"},
    "no scale": {"embedding_scale": False},
    "two kv heads": {"kv_heads": 2},
    "one kv head, rope": {"kv_heads": 1, "positions": "rope"},
    "wide heads": {"d_k": 10},
}

Make = Callable[..., ModelFolder]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    """A folder with a random model: every parameter random, and predictions far from uniform."""

    def make(seed: int = 1, **options: Any) -> ModelFolder:
        torch.manual_seed(seed)
        model = ModelConfig(**{**PLAIN, "max_distance": 3, "max_positions": 40, **options})
        joint = model.tie_embeddings == "all"
        tokenizers = Tokenizers(WORDS, WORDS if joint else MORE)
        config = Config(model=model, data=DataConfig(vocabulary="word", joint=joint, max_length=20))
        made = ModelFolder.create(tmp_path / "model", config, tokenizers)
        transformer = Transformer(model, tokenizers.source.size, tokenizers.target.size)
        with torch.no_grad():
            for parameter in transformer.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        made.write_weights(transformer.state_dict())
        return made

    return make


def rows(count: int = 12, seed: int = 3) -> list[list[int]]:
    """Random sources of 1 to 9 words."""
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 10, (count,), generator=random).tolist()
    return [[*torch.randint(FIRST_LANGUAGE, 27, (length,), generator=random).tolist(), EOS] for length in lengths]


def found_by(
    engine: str, folder: ModelFolder, sources: Sequence[Sequence[int]], **decode: Any
) -> list[list[Hypothesis]]:
    config = DecodeConfig(**{"engine": engine, "max_extra": 6, **decode})
    return Runtime.of_folder(folder, threads=2).search(Job(sources, config))


def count_ties(one: list[list[Hypothesis]], other: list[list[Hypothesis]]) -> int:
    """How many sentences differ at a tie; any other difference is an error."""
    ties = 0
    for mine, theirs in zip(one, other, strict=True):
        scores = [hypothesis.score for hypothesis in mine]
        assert scores == pytest.approx([hypothesis.score for hypothesis in theirs], abs=TIE)
        if [hypothesis.row for hypothesis in mine] != [hypothesis.row for hypothesis in theirs]:
            gaps = [first - second for first, second in pairwise(scores)]
            assert min(gaps, default=0.0) < TIE, (mine, theirs)
            ties += 1
    return ties


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_engines_agree_for_every_model(folder: Make, options: dict[str, Any], beam_size: int) -> None:
    made = folder(**options)
    if why_not(made.config.model) is not None:
        assert options in ({"d_k": 10}, {"positions": "alibi"})
        return
    search = {"beam_size": beam_size, "top_beams": beam_size}
    wanted = found_by("torch", made, rows(), **search)
    assert count_ties(found_by("ctranslate2", made, rows(), **search), wanted) <= 1


@pytest.mark.parametrize(
    "search", [{"alpha": 0.0}, {"alpha": 0.5, "top_beams": 2}, {"alpha": 2.0}, {"max_extra": 0}, {"beam_size": 9}]
)
def test_engines_agree_for_every_search(folder: Make, search: dict[str, Any]) -> None:
    made = folder()
    wanted = found_by("torch", made, rows(), **search)
    assert count_ties(found_by("ctranslate2", made, rows(), **search), wanted) <= 1


def test_ids_that_may_not_be_generated_are_not(folder: Make) -> None:
    made, sources = folder(), rows()
    usual = found_by("ctranslate2", made, sources)
    forbidden = (usual[0][0].ids[0], usual[1][0].ids[0])
    job = Job(sources, DecodeConfig(max_extra=6), forbidden=forbidden)
    found = Runtime.of_folder(made).search(job)
    assert all(set(forbidden).isdisjoint(hypothesis.ids) for one in found for hypothesis in one)
    wanted = Runtime.of_model(made.model()).search(job)
    assert count_ties(found[:2], wanted[:2]) == 0


def test_neighbours_workers_and_order_change_nothing(folder: Make) -> None:
    made, sources = folder(), [*rows(20), [EOS], [*[5] * 30, EOS]]
    together = found_by("ctranslate2", made, sources)
    assert count_ties(found_by("ctranslate2", made, sources[::-1])[::-1], together) == 0
    alone = [found_by("ctranslate2", made, [source])[0] for source in sources]
    assert count_ties(alone, together) == 0
    lengths = [len(hypothesis.row) for one in together for hypothesis in one]
    limits = [len(source) + 6 for source in sources]
    assert all(length <= limit for length, limit in zip(lengths, limits, strict=True))
    assert any(length == limit for length, limit in zip(lengths, limits, strict=True)), "no search reached its limit"


@pytest.mark.parametrize(
    ("search", "prefix"),
    [({"sample": True}, ()), ({"penalty": "gnmt", "alpha": 0.6}, ()), ({"max_extra": 3000}, ()), ({}, (5,))],
)
def test_what_one_engine_lacks_runs_on_the_other(folder: Make, search: dict[str, Any], prefix: tuple[int, ...]) -> None:
    runtime, sources = Runtime.of_folder(folder()), rows(2)
    assert runtime.engine_for(Job(sources, DecodeConfig())).name == "ctranslate2"
    assert runtime.engine_for(Job(sources, DecodeConfig(**search), prefixes=[prefix] * len(sources))).name == "torch"
    with pytest.raises(DecodeError) as raised:
        runtime.engine_for(Job(sources, DecodeConfig(**search, engine="ctranslate2"), prefixes=[prefix] * len(sources)))
    assert "ctranslate2: it " in str(raised.value)
    with pytest.raises(DecodeError) as raised:
        runtime.engine_for(Job(sources, DecodeConfig(**search, precision="int8"), prefixes=[prefix] * len(sources)))
    assert "torch: it computes in float32 only" in str(raised.value)


def test_a_model_in_memory_is_computed_as_it_is(folder: Make) -> None:
    made = folder()
    model = made.model()
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.outer.weight.zero_()
    job = Job(rows(), DecodeConfig(max_extra=6))
    runtime = Runtime.of_model(model)
    assert runtime.engine_for(job).name == "torch"
    changed = runtime.search(job)
    with torch.no_grad():
        model.load_state_dict(made.model().state_dict())
    assert runtime.search(job) != changed, "a model that is trained on is computed as it is now"
    assert count_ties(runtime.search(job), found_by("ctranslate2", made, rows())) == 0


def test_a_model_that_was_changed_after_it_was_loaded_is_computed_as_it_is(folder: Make) -> None:
    runtime, job = Runtime.of_folder(folder()), Job(rows(), DecodeConfig(max_extra=6))
    before = runtime.search(job)
    assert runtime.model is runtime.model and runtime.engine_for(job).name == "ctranslate2"
    with torch.no_grad():
        runtime.model.decoder.layers[0].feed_forward.outer.weight.zero_()
    assert runtime.engine_for(job).name == "torch"
    assert runtime.search(job) != before


def test_int8_is_close_to_float32(folder: Make) -> None:
    made = folder()
    exact, packed = (found_by("ctranslate2", made, rows(), precision=precision) for precision in ("float32", "int8"))
    differences = [abs(one[0].score - other[0].score) for one, other in zip(exact, packed, strict=True)]
    assert 0 < max(differences) < 0.5


def test_weights_that_are_no_numbers_are_refused(folder: Make) -> None:
    made = folder()
    weights = made.model().state_dict()
    weights["decoder.layers.1.add_norm_3.norm.bias"][0] = float("nan")
    made.write_weights(weights)
    with pytest.raises(DecodeError, match="not numbers"):
        found_by("auto", made, rows(2))


@pytest.mark.parametrize("name", ["sinusoidal", "sinusoidal-concat", "sinusoidal-halves"])
def test_tables_of_sinusoids_are_the_models_own(folder: Make, name: str) -> None:
    model = folder(positions=name)
    table = SINUSOIDS[name](model.config.model)
    positions = model.model().source_positions
    assert isinstance(positions, SinusoidalPositions)
    ours = positions.vectors(0, len(table), like=torch.empty(0))
    torch.testing.assert_close(torch.from_numpy(table).float(), ours, rtol=0, atol=1e-6)


def shortlisted(made: ModelFolder, *, whole: bool = False) -> ModelFolder:
    """A folder with a random shortlist: a few ids for each source id, or all of them."""
    random = torch.Generator().manual_seed(7)
    sizes = made.tokenizers.source.size, made.tokenizers.target.size
    lists = [torch.randperm(sizes[1], generator=random)[: None if whole else 4].tolist() for _ in range(sizes[0])]
    Shortlist.of_lists(lists).save(made.path / FILE, vocabulary=made.vocabulary)
    return made


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("options", [{}, {"tie_embeddings": "none", "output_bias": True}])
def test_engines_agree_on_one_sentence_with_a_shortlist(folder: Make, options: dict[str, Any], beam_size: int) -> None:
    made = shortlisted(folder(**options))
    search = {"beam_size": beam_size, "top_beams": beam_size, "shortlist": True}
    wanted = found_by("torch", made, rows(), **search)
    alone = [found_by("ctranslate2", made, [row], **search)[0] for row in rows()]
    assert count_ties(alone, wanted) <= 1
    plain = found_by("torch", made, rows(), **{**search, "shortlist": False})
    assert sum(mine != theirs for mine, theirs in zip(wanted, plain, strict=True)) > 5, "the shortlist does nothing"


def test_translations_are_from_the_shortlist_in_any_batch(folder: Make) -> None:
    made, sources = shortlisted(folder()), rows()
    shortlist = Shortlist.load(made)
    together = found_by("torch", made, sources, shortlist=True)
    for source, found in zip(sources, together, strict=True):
        assert set(found[0].row) <= set(shortlist.of([source]).tolist())
    assert count_ties([found_by("torch", made, [source], shortlist=True)[0] for source in sources], together) == 0
    union = set(shortlist.of(sources).tolist())
    assert all(set(found[0].row) <= union for found in found_by("ctranslate2", made, sources, shortlist=True))


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_shortlist_of_the_whole_vocabulary_changes_nothing(folder: Make, engine: str) -> None:
    made = shortlisted(folder(), whole=True)
    wanted = found_by(engine, made, rows(), top_beams=4)
    assert count_ties(found_by(engine, made, rows(), top_beams=4, shortlist=True), wanted) == 0


def test_a_prefix_need_not_be_in_the_shortlist(folder: Make) -> None:
    made, (source, *_) = shortlisted(folder()), rows()
    listed = set(Shortlist.load(made).of([source]).tolist())
    prefix = next(number for number in range(EOS + 1, made.tokenizers.target.size) if number not in listed)
    job = Job([source], DecodeConfig(max_extra=6, shortlist=True), prefixes=[(prefix,)])
    assert Runtime.of_folder(made).search(job)[0][0].row[0] == prefix


def test_a_model_in_memory_has_no_shortlist(folder: Make) -> None:
    with pytest.raises(DecodeError, match="no shortlist"):
        Runtime.of_model(folder().model()).search(Job(rows(1), DecodeConfig(shortlist=True)))


@pytest.mark.corpora
@pytest.mark.skipif(not TATOEBA.exists(), reason="needs ../shared/data")
def test_a_trained_model_translates_the_same_with_every_engine() -> None:
    """Greedily, with the built-in model. Where two translations part, the two ids must have the same probability."""
    with gzip.open(TATOEBA, "rt", encoding="utf-8") as file:
        texts = [line.split("\t")[0] for line in file][:250]
    translator = vitrail.load("builtin")
    sources = [translator.tokenizers.encode_source(text, "en") for text in texts]
    forbidden = translator.tokenizers.forbidden
    jobs = [Job(sources, DecodeConfig(beam_size=1, engine=engine), forbidden) for engine in ("ctranslate2", "torch")]
    pairs = zip(sources, *(translator.runtime.search(job) for job in jobs), strict=True)
    different = [(source, one[0], other[0]) for source, one, other in pairs if one[0].ids != other[0].ids]
    assert len(different) <= 2
    for source, one, other in different:
        at = next(place for place, (a, b) in enumerate(zip(one.row, other.row, strict=False)) if a != b)
        prefix = torch.tensor([[BOS, *one.row[:at]]])
        log_probs = translator.model.log_probs(torch.tensor([source]), prefix)[0, -1]
        assert abs(log_probs[one.row[at]] - log_probs[other.row[at]]) < TIE
