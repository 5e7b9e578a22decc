"""What heads and hidden units usually do: which keys a habit means, how shares are counted, what is kept and read."""

import json

import numpy as np
import pytest
import torch

import vitrail
from vitrail.box import model_path
from vitrail.cli.heads import heads as command
from vitrail.cli.heads import table
from vitrail.config import DecodeConfig, ModelConfig
from vitrail.errors import DataError
from vitrail.evaluate.habits import CROSS, SELF, Heads, Units, measure_habits, pair_of
from vitrail.folder import ModelFolder
from vitrail.model import Transformer
from vitrail.text import EOS, Tokenizers, WordVocabulary
from vitrail.trace.format import decode_array
from vitrail.trace.habits import HABITS, read_habits, write_habits
from vitrail.translator import Translator

WORDS = Tokenizers(WordVocabulary(list("abcdef"), []), WordVocabulary(list("abcdef"), []))


def keys(pair, kind, habit, query):
    names = CROSS if kind.endswith("cross_attention") else SELF
    return np.flatnonzero(pair.masks[kind][names.index(habit), query]).tolist()


def test_the_keys_that_habits_mean():
    source, target = WORDS.encode_source("a b c b d"), WORDS.encode_target("f e d c")
    pair = pair_of(WORDS, source, target, [4, 2, -1, 0, -1])
    encoder, cross = "encoder.self_attention", "decoder.cross_attention"
    assert keys(pair, encoder, "previous", 2) == [1] and keys(pair, encoder, "next", 2) == [3]
    assert keys(pair, encoder, "itself", 2) == [2]
    assert keys(pair, encoder, "same_word", 1) == [3], "the other b"
    assert keys(pair, encoder, "first", 3) == [0] and keys(pair, encoder, "eos", 2) == [5]
    assert keys(pair, encoder, "last", 1) == [4]
    assert keys(pair, encoder, "previous", 1) == keys(pair, encoder, "first", 1) == [], "both mean a: neither counts"
    assert keys(pair, cross, "translation", 1) == [2] and keys(pair, cross, "written", 1) == [], "4 is also the last"
    assert keys(pair, cross, "written", 2) == [], "2 is also the same place"
    assert keys(pair, cross, "translation", 2) == [], "aligned with nothing"
    decoder = "decoder.self_attention"
    assert keys(pair, decoder, "previous", 3) == [2] and keys(pair, decoder, "first", 3) == [0]
    assert not pair.masks[decoder][SELF.index("next")].any()
    assert not np.triu(pair.masks[decoder].any(0), 1).any(), "nobody looks ahead"


def planted(length: int, share: float) -> np.ndarray:
    """Weights of two heads: one puts this share on the previous token, the other spreads evenly."""
    previous = np.full((length, length), (1 - share) / (length - 1))
    previous[np.arange(1, length), np.arange(length - 1)] = share
    return np.stack([previous, np.full((length, length), 1 / length)]).astype(np.float32)


def test_planted_habits_are_found_whatever_the_padding():
    heads, draw = Heads(), np.random.default_rng(1)
    for _ in range(40):
        length = int(draw.integers(6, 12))
        row = [*draw.integers(5, 11, length - 1).tolist(), EOS]
        pair = pair_of(WORDS, row, row, [-1] * length)
        padded = np.full((1, 2, 14, 13), 9.0, dtype=np.float32)  # what is behind a row must not count
        padded[0, :, :length, :length] = planted(length, 0.7)
        heads.add("encoder.0.self_attention", [pair.masks["encoder.self_attention"]], padded)
    found = heads.habits()["encoder.0.self_attention"]
    looks_back, spread = found.heads
    assert (looks_back.habit, looks_back.sure) == ("previous", 1.0)
    assert looks_back.low <= looks_back.share <= looks_back.high
    assert looks_back.share == pytest.approx(0.7, abs=1e-4)
    assert (spread.habit, spread.share) == ("spread", pytest.approx(1.0, abs=1e-4))
    assert spread.shares == pytest.approx(found.even, abs=1e-4)


def test_units_name_the_tokens_at_which_they_are_largest():
    units = Units()
    a, b, c = (WORDS.source.encode(letter)[0] for letter in "abc")
    hidden = np.zeros((1, 5, 2), dtype=np.float32)
    hidden[0, :, 0] = [1.0, 3.0, 2.0, 5.0, 9.0]  # the last one is padding
    units.add("encoder.0", [[a, b, a, c]], hidden)
    found = units.habits(WORDS)["encoder.0"]
    names = [[found.names[int(place)] for place in row if place >= 0] for row in decode_array(found.tokens, "")]
    assert names == [["c", "b", "a"], []]
    assert decode_array(found.fires, "").tolist() == [1.0, 0.0]
    assert decode_array(found.peak, "").tolist() == [5.0, 0.0]


@pytest.fixture(scope="module")
def translator():
    torch.manual_seed(3)
    words = Tokenizers.train(["a b c d e f"], ["a b c d e f"], kind="word", size=100, joint=True, languages=["x", "y"])
    shape = ModelConfig(d_model=16, heads=2, d_ff=12, encoder_layers=1, decoder_layers=2, dropout=0.0)
    model = Transformer(shape, words.source.size, words.target.size).eval()
    return Translator(model, words, DecodeConfig(beam_size=2, max_extra=2))


SENTENCES = [" ".join("abcdef"[(n + k * k) % 6] for k in range(3 + n % 4)) for n in range(24)]


def test_shares_are_the_means_of_the_weights_in_traces(translator):
    """Measured in padded batches, they equal what the recorded weights of each sentence give."""
    found = measure_habits(translator, SENTENCES, to="y")
    on_previous, queries, fired, tokens = np.zeros(2), 0, np.zeros(12), 0
    for sentence in SENTENCES:
        trace = translator.trace(sentence, to="y")
        weights = trace["encoder.0.self_attention.weights"]
        ids = trace.document["source"]["ids"]
        for query in range(2, len(ids)):
            # Where a habit of another name means the same key, the query does not count.
            if ids[query] != ids[query - 1] and query - 1 != len(ids) - 2:
                on_previous += weights[:, query, query - 1]
                queries += 1
        fired += (trace["encoder.0.feed_forward.hidden"] > 0).sum(0)
        tokens += len(ids)
    shares = [head.shares["previous"] for head in found.heads["encoder.0.self_attention"].heads]
    assert shares == pytest.approx((on_previous / queries).tolist(), abs=1e-5)
    assert decode_array(found.units["encoder.0"].fires, "") == pytest.approx(fired / tokens)
    assert set(found.heads) == {
        "encoder.0.self_attention",
        *(f"decoder.{layer}.{kind}_attention" for layer in (0, 1) for kind in ("self", "cross")),
    }
    assert "written" in found.heads["decoder.1.cross_attention"].even
    assert len(table(found).split("\n")) == 1 + 2 * 5 + 3


def test_too_few_sentences_are_refused(translator):
    with pytest.raises(DataError, match="only 3 sentences"):
        measure_habits(translator, SENTENCES[:3], to="y")


@pytest.fixture
def kept(translator, tmp_path):
    folder = ModelFolder.open(model_path("builtin"))
    shape = folder.config.model.model_copy(update=translator.model.config.model_dump())
    config = folder.config.model_copy(update={"model": shape})
    made = ModelFolder.create(tmp_path / "model", config, translator.tokenizers)
    made.write_weights(translator.model.state_dict())
    return made


def test_habits_are_kept_with_the_model_and_go_into_its_traces(kept, tmp_path, capsys):
    (tmp_path / "sentences").write_text("\n".join(SENTENCES))
    command(str(kept.path), source=tmp_path / "sentences", to="y", sentences=22, threads=1, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    found = read_habits(kept)["y"]
    assert found.sentences == 22
    assert (
        printed["decoder.1.self_attention"]["heads"][1] == found.heads["decoder.1.self_attention"].heads[1].model_dump()
    )
    translator = vitrail.load(kept.path)
    assert translator.trace("a b c", to="y").document["habits"] == found.model_dump()
    assert translator.trace("a b c", to="x").document["habits"] is None, "measured for the other language only"

    weights = kept.model().state_dict()
    weights["embeddings.shared"][0] += 1
    kept.write_weights(weights)
    assert read_habits(kept) == {}, "the habits of other weights"


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file["languages"]["y"]["heads"]["encoder.0.self_attention"]["heads"].pop(),
        lambda file: file["languages"]["y"]["units"]["encoder.0"].update(fires={"shape": [1], "data": "AAAAAA=="}),
        lambda file: file["languages"]["y"]["units"]["encoder.0"].update(fires={"shape": [2**40], "data": ""}),
        lambda file: file["languages"]["y"]["units"]["encoder.0"].update(names=[]),
        lambda file: file["languages"]["y"].update(sentences="many"),
        lambda file: file.update(format=2),
    ],
)
def test_a_damaged_file_is_as_good_as_none(translator, kept, damage):
    path = write_habits(kept, {"y": measure_habits(translator, SENTENCES, to="y")})
    assert read_habits(kept)
    file = json.loads(path.read_text())
    damage(file)
    path.write_text(json.dumps(file))
    assert read_habits(kept) == {}
    path.write_text("[" * 1000)
    assert read_habits(kept) == {}


def test_the_built_in_model_is_only_measured(tmp_path, capsys):
    before = sorted(model_path("builtin").iterdir())
    (tmp_path / "sentences").write_text("\n".join(f"I have {n} cats." for n in range(2, 26)))
    command("builtin", source=tmp_path / "sentences", to="fr", sentences=24, threads=1)
    assert "encoder.3.self_attention" in capsys.readouterr().out
    assert sorted(model_path("builtin").iterdir()) == before


def test_the_built_in_model_comes_with_its_habits():
    found = read_habits(ModelFolder.open(model_path("builtin")))
    assert set(found) == {"en", "fr"}
    assert all(each.sentences >= 900 for each in found.values())
    assert HABITS in [path.name for path in model_path("builtin").iterdir()]
