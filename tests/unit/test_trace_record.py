"""What a recording holds: the sentence, the words, the weights that fit, what-ifs; and its errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitrail.config import DecodeConfig, ModelConfig, parse_config
from vitrail.data import prepare
from vitrail.errors import DecodeError, TextError, TraceError
from vitrail.folder import ModelFolder
from vitrail.model import Transformer
from vitrail.text import BOS, EOS, Subwords, Tokenizers, WordVocabulary
from vitrail.trace import Trace, layer_weights, record
from vitrail.trace.weights import parts_of
from vitrail.trace.words import word_numbers
from vitrail.translator import Translator, load

SENTENCE = "w3 w8 w1"


@pytest.fixture(scope="module")
def translator(small_translator):
    return small_translator(encoder_layers=2, decoder_layers=3)


@pytest.fixture(scope="module")
def trace(translator) -> Trace:
    return translator.trace(SENTENCE, to="fr")


def test_it_says_what_was_read_what_was_fed_and_what_came_out(translator, trace):
    document = trace.document
    source, target = document["source"], document["target"]
    assert trace.source == source["text"] == SENTENCE
    assert source["tokens"] == ["<2fr>", "w3", "w8", "w1", "<eos>"]
    assert source["ids"] == translator.tokenizers.encode_source(SENTENCE, "fr")
    assert source["words"] == [-1, 0, 1, 2, -1]
    assert target["input_ids"] == [BOS, *target["ids"][:-1]]
    assert target["input_tokens"] == translator.tokenizers.tokens(target["input_ids"])
    assert target["text"] == trace.text == translator.translate(SENTENCE, to="fr").text
    assert document["to"] == "fr"
    assert document["settings"] == translator.config.model_dump()
    assert document["vocabulary"] == [translator.tokenizers.target.token(i) for i in range(31)]
    assert document["what_if"] == {"heads_off": {}, "prefix": ""}
    assert document["reference"] is None and document["seen"] is None


def test_arrays_have_no_batch_axis(trace):
    source, target = len(trace.document["source"]["ids"]), len(trace.document["target"]["ids"])
    assert trace["source.position"].shape == trace["source.embedding"].shape == (source, 24)
    assert trace["encoder.1.self_attention.weights"].shape == (4, source, source)
    assert trace["decoder.2.cross_attention.scores"].shape == (4, target, source)
    assert trace["logits"].shape == (target, 31)
    assert all(trace[name].dtype == np.float32 for name in trace.names())


def test_a_sentence_of_one_word_and_a_translation_of_one_keep_their_axes(small_translator):
    trace = small_translator(decode=DecodeConfig(max_extra=0)).trace("w1", to="en", prefix="w2 w2 w2")
    assert len(trace.document["target"]["ids"]) == 3
    assert not trace.document["search"]["results"][0]["finished"]
    assert trace["source.position"].shape == (3, 24)


def test_parameters_are_counted_part_by_part(translator, trace):
    counted = trace.document["model"]["parameters"]
    model = translator.model
    assert counted["total"] == sum(parameter.numel() for parameter in model.parameters())
    assert counted["embeddings"] == 31 * 24
    for name, module in (
        ("encoder.1", model.encoder.layers[1]),
        ("decoder.0.cross_attention", model.decoder.layers[0].cross_attention),
        ("decoder.2.feed_forward", model.decoder.layers[2].feed_forward),
    ):
        assert counted["parts"][name] == sum(parameter.numel() for parameter in module.parameters())
    whole = [n for name, n in counted["parts"].items() if name.count(".") <= 1]
    assert sum(whole) == counted["total"]


def test_norms_and_the_embeddings_of_the_words_are_always_there(translator):
    trace = translator.trace(SENTENCE, to="fr", layers=[])
    assert trace.document["weights_of"] == []
    norms = {name for name in translator.model.state_dict() if "norm" in name}
    assert set(trace.weights) == norms
    assert trace.document["embeddings"]["source"]["ids"] == sorted(set(trace.document["source"]["ids"]))


def test_chosen_layers_are_included_whole_whatever_they_weigh(translator):
    trace = translator.trace(SENTENCE, to="fr", layers=["decoder.1", "encoder.0"], max_mb=0.000001)
    assert trace.document["weights_of"] == ["encoder.0", "decoder.1"]
    state = translator.model.state_dict()
    for part in ("encoder.layers.0.", "decoder.layers.1."):
        assert {name for name in trace.weights if name.startswith(part)} == {n for n in state if n.startswith(part)}
    assert "encoder.layers.1.self_attention.query.weight" not in trace.weights
    everything = translator.trace(SENTENCE, to="fr", layers=["all"])
    assert everything.document["weights_of"] == parts_of(translator.model)
    assert set(everything.weights) == set(state)


@pytest.mark.parametrize("layer", ["encoder.2", "decoder", "", "encoder.-1", "al"])
def test_a_layer_that_is_not_there_is_named_with_those_that_are(translator, layer):
    for ask in (
        lambda: translator.trace(SENTENCE, to="fr", layers=[layer]),
        lambda: layer_weights(translator.model, layer),
    ):
        with pytest.raises(TraceError, match=r"decoder\.2") as caught:
            ask()
        assert f"'{layer}'" in caught.value.what


def test_one_layers_weights_can_be_had_alone(translator):
    found = layer_weights(translator.model, "decoder.1")
    whole = translator.trace(SENTENCE, to="fr", layers=["decoder.1"]).weights
    assert found.keys() <= whole.keys()
    assert all(np.array_equal(whole[name], values) for name, values in found.items())
    assert layer_weights(translator.model, "output").keys() == {"embeddings.shared"}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_as_many_layers_as_fit_are_included_from_the_bottom(translator, share):
    least = len(translator.trace(SENTENCE, to="fr", layers=[]).to_json().encode())
    most = len(translator.trace(SENTENCE, to="fr", layers=["all"]).to_json().encode())
    room = least + share * (most - least) + (100 if share else -1)  # a little for the names of the layers
    trace = translator.trace(SENTENCE, to="fr", max_mb=room / 1e6)
    assert len(trace.to_json().encode()) <= max(room, least)
    included = trace.document["weights_of"]
    layers = [part for part in included if part != "output"]
    assert layers == parts_of(translator.model)[: len(layers)]
    if share == 1.0:
        assert included == parts_of(translator.model)
    if share == 0.0:
        assert included == [], "what is recorded may be larger than asked for; nothing is added to it"


def test_what_if_changes_the_recorded_pass_and_the_search(translator):
    plain = translator.trace(SENTENCE, to="fr")
    off = {"decoder.2.cross_attention": (3, 0, 0)}
    changed = translator.trace(SENTENCE, to="fr", heads_off=off, prefix="w4 w5", decode=DecodeConfig(beam_size=2))
    assert changed.document["what_if"] == {"heads_off": {"decoder.2.cross_attention": [0, 3]}, "prefix": "w4 w5"}
    assert changed.document["target"]["tokens"][:2] == ["w4", "w5"]
    assert changed.document["search"]["beam_size"] == 2
    z = changed["decoder.2.cross_attention.z"]
    assert (z[[0, 3]] == 0).all() and (z[[1, 2]] != 0).any()
    again = translator.trace(SENTENCE, to="fr")
    assert all(np.array_equal(again[name], plain[name]) for name in plain.names()), "the original was changed"
    assert all(np.array_equal(changed.weights[name], plain.weights[name]) for name in plain.weights)


def test_a_reference_is_led_through_the_model_word_by_word(translator):
    trace = translator.trace(SENTENCE, to="fr", reference="w9 w2")
    held = trace.document["reference"]
    assert held["tokens"] == ["w9", "w2", "<eos>"]
    assert held["input_tokens"] == ["<bos>", "w9", "w2"]
    assert held["logits"].shape == held["log_probs"].shape == (3, 31)
    log_probability = held["log_probs"][np.arange(3), held["ids"]].sum()
    assert log_probability == pytest.approx(translator.score([SENTENCE], ["w9 w2"], to="fr")[0], abs=1e-4)
    assert held["label_smoothing"] == 0


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_translate_is_said(translator, text):
    with pytest.raises(TextError, match="nothing to translate"):
        translator.trace(text, to="fr")


def test_words_that_are_not_known_are_named_wherever_they_stand(translator):
    for given in ({"text": "w1 zebra"}, {"text": "w1", "prefix": "zebra"}, {"text": "w1", "reference": "zebra"}):
        with pytest.raises(TextError, match="zebra"):
            translator.trace(given.pop("text"), to="fr", **given)
    with pytest.raises(TextError, match="several languages"):
        translator.trace("w1")
    with pytest.raises(DecodeError, match=r"encoder\.0"):
        translator.trace("w1", to="fr", heads_off={"encoder.0.attention": [0]})


def test_pieces_of_a_word_carry_its_number():
    text = "the animals didn't cross the street because they were tired " * 3
    pieces = Subwords.train([text], "bpe", 300, ["en", "fr"])
    row = [5, *pieces.encode("the scattered streets"), EOS]
    numbers = word_numbers(pieces, row, 2)
    assert numbers[0] == numbers[-1] == -1
    spelled = {}
    for number, token_id in zip(numbers[1:-1], row[1:-1], strict=True):
        spelled[number] = spelled.get(number, "") + pieces.token(token_id)
    assert spelled == {0: "▁the", 1: "▁scattered", 2: "▁streets"}


def test_every_word_of_a_word_vocabulary_is_one():
    words = WordVocabulary.build(["parce qu'il dort !"], 50, [])
    assert word_numbers(words, [*words.encode("qu'il dort!"), EOS], 0) == [0, 1, 2, 3, -1]


def test_two_vocabularies_and_no_languages():
    source = WordVocabulary.build(["a b c"], 50, [])
    target = WordVocabulary.build(["x y z u v"], 50, [])
    config = ModelConfig(
        d_model=8, heads=2, d_ff=8, encoder_layers=1, decoder_layers=1, dropout=0.0, tie_embeddings="none"
    )
    torch.manual_seed(0)
    model = Transformer(config, source.size, target.size).eval()
    translator = Translator(model, Tokenizers(source, target), DecodeConfig(max_extra=2), target_language="de")
    trace = translator.trace("b a", to="de", layers=["output"])
    assert trace.document["source"]["tokens"] == ["b", "a", "<eos>"]
    assert trace.document["to"] == "de"
    assert trace.document["model"]["source_vocabulary"] == 7 and len(trace.document["vocabulary"]) == 9
    assert trace.weights["embeddings.output"].shape == (9, 8)


def test_whether_a_sentence_was_trained_on_is_looked_up_where_the_data_is(tmp_path):
    lines = ["a b c", "b c d", "c d a", "d a b"] * 3
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "b.txt").write_text("".join(f"{line[::-1]}\n" for line in lines))
    config = parse_config(
        {
            "model": {"d_model": 8, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1},
            "data": {
                "source": str(tmp_path / "a.txt"),
                "target": str(tmp_path / "b.txt"),
                "vocabulary": "word",
                "drop_duplicates": False,
                "drop_identical": False,
            },
            "train": {"label_smoothing": 0.25},
        },
        where="test",
    )
    out = tmp_path / "fr-en"
    prepared = prepare(config.data, out / "data", seed=1)
    folder = ModelFolder.create(out, config, prepared.tokenizers)
    folder.write_weights(folder.new_model().state_dict())
    translator = load(out)
    assert translator.trace("b c d").document["seen"] == "training"
    assert translator.trace("b c").document["seen"] == "held out"
    assert translator.trace("d c b").document["seen"] == "held out"
    trace = record(translator, "a b c", reference="c b a")
    assert trace.document["model"]["name"] == "fr-en"
    assert trace.document["reference"]["label_smoothing"] == 0.25
    (out / "data" / "manifest.json").unlink()
    assert load(out).trace("b c d").document["seen"] is None


@pytest.mark.parametrize("positions", ["sinusoidal", "relative"])
def test_a_long_sentence_is_recorded_whole(small_translator, positions):
    translator = small_translator(positions=positions, decode=DecodeConfig(beam_size=2, max_extra=0))
    trace = translator.trace(" ".join(["w1", "w2"] * 100), to="fr")
    assert trace["encoder.0.self_attention.weights"].shape == (4, 202, 202)
