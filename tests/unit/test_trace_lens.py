"""What each layer would say, and what a translation's chances are without a word of its source."""

import numpy as np
import pytest

from vitrail.config import DecodeConfig
from vitrail.trace import left_out as module
from vitrail.trace.left_out import left_out


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("options", [{}, {"output_bias": True, "tie_embeddings": "none"}])
def test_a_layers_words_follow_from_its_output(small_translator, norm, options):
    translator = small_translator(norm=norm, decoder_layers=3, **options)
    trace = translator.trace("w1 w2 w3", to="fr")
    weights = {name: value.double().numpy() for name, value in translator.model.state_dict().items()}
    table = weights["embeddings.output" if options else "embeddings.shared"]
    bias = weights.get("output_bias", 0.0)
    ids = trace.document["target"]["ids"]
    found = trace.document["lens"]
    assert list(found) == ["target.sum", *(f"decoder.{layer}.output" for layer in range(3))]
    for name, said in found.items():
        x = trace[name].astype(float)
        if norm == "pre":
            x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
            x = x * weights["decoder.final_norm.weight"] + weights["decoder.final_norm.bias"]
        log_probs = log_softmax(x @ table.T + bias)
        assert np.abs(np.take_along_axis(log_probs, np.array(said["ids"]), 1) - said["log_probs"]).max() < 1e-4
        assert np.allclose(said["log_probs"][:, 0], log_probs.max(-1), atol=1e-4)
        chosen = log_probs[np.arange(len(ids)), ids]
        assert np.allclose(said["chosen"], chosen, atol=1e-4)
        assert said["rank"] == (log_probs > chosen[:, None] + 1e-9).sum(-1).tolist()
    assert np.allclose(found["decoder.2.output"]["chosen"], trace["log_probs"][np.arange(len(ids)), ids], atol=1e-5)


def test_a_word_left_out_is_as_if_it_had_never_been_there(small_translator):
    translator = small_translator(decode=DecodeConfig(max_extra=0), output_bias=True)
    translator.model.output_bias.data[2:4] += 3.0  # let it end
    words = ["w1", "w2", "w3", "w2"]
    trace = translator.trace(" ".join(words), to="fr")
    found = trace.document["left_out"]
    assert found["places"] == [[1], [2], [3], [4]], "position 0 is the language"
    row = trace.document["target"]["ids"]
    for number in range(len(words)):
        fewer = " ".join(words[:number] + words[number + 1 :])
        alone = translator.search(fewer, to="fr")[0]
        from vitrail.trace.record import listen

        log_probs = listen(translator.model, alone, row)["log_probs"]
        assert np.allclose(found["log_probs"][number], log_probs[np.arange(len(row)), row], atol=1e-5)
        assert found["best"][number] == log_probs.argmax(-1).tolist()


def test_pieces_of_a_word_are_left_out_together(small_translator):
    model = small_translator().model
    found = left_out(model, [5, 8, 9, 10, 3], [-1, 0, 0, 1, -1], [7, 3])
    assert found["places"] == [[1, 2], [3]]
    assert found["log_probs"].shape == (2, 2)
    assert left_out(model, [5, 3], [-1, -1], [7, 3]) is None, "there is no word"


def test_what_would_take_long_is_not_measured(small_translator, monkeypatch):
    monkeypatch.setattr(module, "MOST_WORK", 1e4)
    assert small_translator().trace("w1 w2", to="fr").document["left_out"] is None
