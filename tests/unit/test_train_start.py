"""Starting from an existing model: what is taken over, what stays, what is new, and what is refused."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from vitrail.box import PLACE
from vitrail.config import Config, load_config
from vitrail.data import Prepared, prepare
from vitrail.data.phrasebook import training_pairs
from vitrail.errors import ConfigError, FolderError, TrainingError, VitrailError
from vitrail.folder import ModelFolder
from vitrail.storage import checksum
from vitrail.text import FIRST_LANGUAGE, Subwords
from vitrail.train import average_checkpoints, read_origin, train
from vitrail.train.checkpoint import list_steps
from vitrail.train.start import layers_to_keep
from vitrail.translator import load
from vitrail.weights import read_weights

SHAPE = {"model.d_model": 16, "model.heads": 2, "model.d_ff": 24, "model.encoder_layers": 2, "model.decoder_layers": 1}
QUICK = {
    "train.batch_tokens": 200,
    "train.max_steps": 4,
    "train.schedule": "constant",
    "train.peak_rate": 0.01,
    "train.warmup_steps": 0,
    "train.checkpoint_every": 2,
    "train.validate_every": 2,
    "train.bleu_sentences": 0,
    "train.samples": 0,
    "train.probes": 0,
    "train.threads": 1,
}
INTO_BOTH = [("fr", "en"), ("en", "fr")]


@dataclass(frozen=True)
class Desk:
    """Corpora, a model to start from, and runs."""

    folder: Path
    start: Path

    def config(self, **changes: object) -> Config:
        changed = {key.replace("__", "."): value for key, value in changes.items()}
        given = {**QUICK, "data.corpora": corpora(self.folder, [("fr", "en")]), **changed}
        return load_config(None, given={key: value for key, value in given.items() if value is not None})

    def run(self, name: str, **changes: object) -> Path:
        train(self.config(**{"train__start_from": str(self.start), **changes}), self.folder / name)
        return self.folder / name


def as_names(settings):
    return {key.replace(".", "__"): value for key, value in settings.items()}


def corpora(folder, directions):
    return [
        {"pairs": str(folder / f"{source}-{target}.tsv"), "source_language": source, "target_language": target}
        for source, target in directions
    ]


def write_corpora(folder):
    pairs = [(one.source, one.target) for one in training_pairs(500, seed=3) if one.target_language == "en"][:120]
    both = {"fr-en": pairs, "en-fr": [(two, one) for one, two in pairs]}
    both["fr-de"] = [(one, f"{two} ja") for one, two in pairs]  # a language that the model has never seen
    for name, found in both.items():
        (folder / f"{name}.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in found), encoding="utf-8")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    write_corpora(folder)
    given = {**SHAPE, **QUICK, "data.corpora": corpora(folder, INTO_BOTH), "data.vocabulary_size": 450}
    given |= {"model.dropout": 0.3, "decode.beam_size": 2, "train.use": "last"}
    train(load_config(None, given=given), folder / "model")
    return folder / "model"


@pytest.fixture
def desk(tmp_path, started):
    write_corpora(tmp_path)
    return Desk(tmp_path, started)


def weights_at(run, step, file="model.safetensors"):
    return load_file(run / "checkpoints" / f"step-{step:06d}" / file)


def test_weights_vocabulary_shape_and_search_are_those_of_the_model(desk):
    run = desk.run("run", train__peak_rate=1e-9)
    ours, theirs = ModelFolder.open(run), ModelFolder.open(desk.start)
    assert ours.vocabulary == theirs.vocabulary
    assert ours.config.model == theirs.config.model
    assert ours.config.decode == theirs.config.decode
    assert ours.config.data.vocabulary_size == 450
    before = read_weights(desk.start / "model.safetensors")
    assert all(torch.allclose(value, before[name], atol=1e-6) for name, value in weights_at(run, 2).items())
    assert load(run).translate("merci", to="en").text == load(desk.start).translate("merci", to="en").text


def test_dropout_and_search_may_differ(desk):
    run = desk.run("run", train__max_steps=1, model__dropout=0.1, decode__beam_size=3)
    config = ModelFolder.open(run).config
    assert (config.model.dropout, config.decode.beam_size, config.model.d_model) == (0.1, 3, 16)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model__d_model": 32}, "model.d_model = 32 cannot go with .*which has 16"),
        ({"model__preset": "tiny"}, "model.preset = 'tiny' cannot go with"),
        ({"model__norm": "pre"}, "model.norm = 'pre' cannot go with .*'post'"),
        ({"data__vocabulary_size": 300}, "data.vocabulary_size = 300 cannot go with .*450"),
        ({"data__joint": False, "model__tie_embeddings": "none"}, "model.tie_embeddings = 'none' cannot go with"),
        ({"train__freeze": ["encoder.7"]}, "no part 'encoder.7'"),
        ({"train__freeze": ["enc"]}, "no part 'enc'"),
        ({"train__freeze": ["embeddings", "encoder", "decoder"]}, "every part of the model is frozen"),
        ({"train__start_from": None, "train__freeze": ["encoder"]}, "needs start_from"),
    ],
)
def test_what_contradicts_the_model_is_refused_before_any_work(desk, changes, what):
    with pytest.raises(ConfigError, match=what) as caught:
        desk.run("run", **changes)
    assert caught.value.where and caught.value.fix
    assert not (desk.folder / "run").exists()


def test_the_same_shape_may_be_said_again(desk):
    assert ModelFolder.open(desk.run("run", train__max_steps=1, model__d_model=16, model__heads=2)).has_weights


def test_a_run_may_keep_fewer_layers(desk):
    deep = desk.run("deep", train__start_from=None, **{**as_names(SHAPE), "model__encoder_layers": 5})
    run = desk.run("run", train__start_from=str(deep), train__peak_rate=1e-9, model__encoder_layers=3)
    assert ModelFolder.open(run).config.model.encoder_layers == 3
    before, after = read_weights(deep / "model.safetensors"), weights_at(run, 2)
    kept = {0: 0, 1: 2, 2: 4}  # spread over all five
    for name, value in after.items():
        _, layer, inside = name.partition("encoder.layers.")
        origin = f"{layer}{kept[int(inside[0])]}{inside[1:]}" if inside else name
        assert torch.allclose(value, before[origin], atol=1e-6), name
    again = desk.run("run", train__start_from=str(deep), train__peak_rate=1e-9, model__encoder_layers=3)
    assert again == run
    with pytest.raises(ConfigError, match=r"no part 'encoder\.4'"):
        desk.run("other", train__start_from=str(deep), model__encoder_layers=3, train__freeze=["encoder.4"])
    with pytest.raises(ConfigError, match=r"encoder_layers = 6 cannot go with .*which has 5"):
        desk.run("other", train__start_from=str(deep), model__encoder_layers=6)


def test_heads_that_align_words_are_not_taken_over_with_fewer_decoder_layers(desk):
    two = desk.run(
        "two", train__start_from=None, decode__alignment_heads="1.0", **{**as_names(SHAPE), "model__decoder_layers": 2}
    )
    same = desk.run("same", train__start_from=str(two), train__max_steps=1)
    assert ModelFolder.open(same).config.decode.alignment_heads == "1.0"
    less = desk.run("less", train__start_from=str(two), train__max_steps=1, model__decoder_layers=1)
    assert ModelFolder.open(less).config.decode.alignment_heads == "all"


@pytest.mark.parametrize(
    ("had", "has", "kept"), [(2, 1, [0]), (6, 3, [0, 2, 5]), (4, 4, [0, 1, 2, 3]), (12, 2, [0, 11])]
)
def test_the_layers_that_are_kept_are_spread_over_all(had, has, kept):
    assert layers_to_keep(had, has) == kept


def test_there_must_be_a_model_with_weights(desk):
    with pytest.raises(FolderError, match="no such folder"):
        desk.run("run", train__start_from=str(desk.folder / "nowhere"))
    bare = desk.folder / "bare"
    shutil.copytree(desk.start, bare)
    folder = ModelFolder.open(bare)
    (bare / "model.safetensors").unlink()
    folder.write_config(folder.config)
    with pytest.raises(FolderError, match="no weights"):
        desk.run("run", train__start_from=str(bare))


def test_its_origin_is_recorded_and_goes_along_with_an_average(desk):
    run = desk.run("run")
    origin = read_origin(run)
    assert (origin.model, origin.weights) == (str(desk.start), checksum(desk.start / "model.safetensors"))
    mean, _ = average_checkpoints(run, last=2, out=desk.folder / "mean")
    assert read_origin(mean) == origin
    (run / "origin.json").write_text("[")
    with pytest.raises(FolderError, match=r"origin\.json is damaged"):
        read_origin(run)


SETTINGS = {
    "adam": {},
    "ema, frozen": {"train__ema": 0.9, "train__use": "ema", "train__freeze": ["embeddings", "encoder.0"]},
    "muon, bf16, decay": {
        "train__optimizer": "muon",
        "train__weight_decay": 0.1,
        "train__precision": "bf16",
        "train__freeze": ["decoder"],
    },
}


@pytest.mark.parametrize(
    "settings",
    [pytest.param(one, marks=pytest.mark.slow) if name == "adam" else one for name, one in SETTINGS.items()],
    ids=SETTINGS,
)
def test_a_resumed_run_is_the_same_and_does_not_need_the_model_any_more(desk, settings):
    whole = desk.run("whole", **settings)
    moved = desk.folder / "moved"
    shutil.copytree(desk.start, moved)
    desk.run("parts", train__max_steps=2, train__start_from=str(moved), **settings)
    shutil.rmtree(moved)
    parts = desk.run("parts", train__start_from=str(moved), **settings)
    for name in (path.name for path in (whole / "checkpoints" / "step-000004").glob("*.safetensors")):
        ours, theirs = (folder / "checkpoints" / "step-000004" / name for folder in (parts, whole))
        assert ours.read_bytes() == theirs.read_bytes(), name


def test_a_resumed_run_keeps_its_start(desk):
    desk.run("run", train__max_steps=2)
    with pytest.raises(TrainingError, match=r"train\.start_from was"):
        desk.run("run", train__start_from=None)
    with pytest.raises(ConfigError, match=r"model\.d_ff"):
        desk.run("run", model__d_ff=99)


@pytest.mark.parametrize(
    "optimizer", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("adam", "adafactor")), "adamw", "muon"]
)
def test_frozen_parts_do_not_move_by_a_bit_and_the_others_do(desk, optimizer):
    decay = 0.0 if optimizer == "adam" else 0.5
    run = desk.run(
        "run",
        train__freeze=["embeddings", "encoder.1", "decoder.0.cross_attention"],
        train__optimizer=optimizer,
        train__weight_decay=decay,
        train__clip_norm=0.5,
        train__ema=0.5,
        train__accumulate=2,
    )
    before = read_weights(desk.start / "model.safetensors")
    for file in ("model.safetensors", "ema.safetensors"):
        after = weights_at(run, 4, file)
        for name, value in after.items():
            frozen = name.startswith(("embeddings.", "encoder.layers.1.", "decoder.layers.0.cross_attention."))
            assert torch.equal(value, before[name]) == frozen, (file, name)
    used = load_file(run / "model.safetensors")  # an average of checkpoints
    assert torch.equal(used["embeddings.shared"], before["embeddings.shared"])


def test_a_new_language_gets_a_row_and_the_others_keep_theirs(desk):
    run = desk.run("run", train__peak_rate=1e-9, data__corpora=corpora(desk.folder, [("fr", "de"), ("fr", "en")]))
    ours, theirs = ModelFolder.open(run), ModelFolder.open(desk.start)
    assert ours.tokenizers.languages == ("en", "fr", "de")
    assert ours.tokenizers.target.size == theirs.tokenizers.target.size + 1
    place = FIRST_LANGUAGE + 2
    assert ours.tokenizers.target.token(place) == "<2de>"
    after = weights_at(run, 2)["embeddings.shared"]
    before = read_weights(desk.start / "model.safetensors")["embeddings.shared"]
    assert torch.allclose(torch.cat([after[:place], after[place + 1 :]]), before, atol=1e-6)
    assert 0.5 < after[place].norm() < 2  # as in a new model: N(0, 1/d_model)
    text = "le chat dort, n'est-ce pas ? €"
    row = theirs.tokenizers.encode_source(text, "en")
    assert [number + (number >= place) for number in row] == ours.tokenizers.encode_source(text, "en")
    assert ours.tokenizers.decode(ours.tokenizers.encode_target(text)) == text
    assert load(run).translate("merci", to="de").text is not None


def test_a_new_symbol_cannot_be_learnt_by_frozen_embeddings(desk):
    with pytest.raises(ConfigError, match=r"would not learn it with embeddings\.shared frozen"):
        desk.run("run", train__freeze=["embeddings"], data__corpora=corpora(desk.folder, [("fr", "de")]))


def test_a_model_with_one_language_gets_symbols_for_two(desk):
    one = desk.run("one", **as_names(SHAPE), train__start_from=None)
    both = corpora(desk.folder, [("fr", "de"), ("fr", "en")])
    run = desk.run("two", train__start_from=str(one), data__corpora=both, train__max_steps=1)
    assert ModelFolder.open(run).tokenizers.languages == ("de", "en")


def test_two_vocabularies_and_an_output_bias_are_extended_too(desk):
    tables = {"model__tie_embeddings": "none", "data__joint": False, "model__output_bias": True}
    one = desk.run("one", **as_names(SHAPE), **tables, train__start_from=None, data__vocabulary_size=400)
    config = desk.config(train__start_from=str(one))
    # Two directions need one vocabulary, so this start cannot take another target language.
    run = desk.run("two", train__start_from=str(one), train__max_steps=1)
    assert ModelFolder.open(run).config.data.joint is False
    with pytest.raises(ConfigError, match="joint = false cannot go with several directions"):
        desk.run("three", train__start_from=str(one), data__corpora=corpora(desk.folder, [("fr", "de"), ("fr", "en")]))
    assert config.data.joint is True  # untouched: settings are immutable


def test_prepared_data_must_have_the_models_vocabulary(desk):
    config = desk.config()
    prepare(config.data, desk.folder / "other", seed=1)
    with pytest.raises(ConfigError, match="has another vocabulary than"):
        desk.run("run", data__prepared=str(desk.folder / "other"))
    same = prepare(config.data, desk.folder / "same", seed=1, vocabulary=desk.start / "tokenizer")
    assert isinstance(same, Prepared)
    assert ModelFolder.open(desk.run("run", data__prepared=str(desk.folder / "same"))).has_weights


def test_a_changed_vocabulary_is_prepared_again(desk):
    config = desk.config()
    own = prepare(config.data, desk.folder / "data", seed=1)
    theirs = prepare(config.data, desk.folder / "data", seed=1, vocabulary=desk.start / "tokenizer")
    assert own.fingerprint != theirs.fingerprint
    assert theirs.tokenizers.languages == ("en", "fr")


def test_the_built_in_model_can_be_trained_further(desk):
    run = desk.run("run", train__start_from="builtin", train__max_steps=1, data__max_length=30)
    before = read_weights(PLACE / "model.safetensors")  # int8, read as float32
    after = weights_at(run, 1)
    assert after.keys() == before.keys()
    assert all((value - before[name]).abs().max() < 0.05 for name, value in after.items())


def test_a_start_that_changed_meanwhile_is_refused(desk, monkeypatch):
    from vitrail.train import run as module

    write = module.write_origin

    def change(out, origin):
        write(out, origin.model_copy(update={"weights": "0" * 64}))

    monkeypatch.setattr(module, "write_origin", change)
    with pytest.raises(TrainingError, match="changed while the run was starting"):
        desk.run("run")
    assert list_steps(desk.folder / "run") == []


def test_every_kind_of_subwords_takes_a_symbol_that_nobody_can_type():
    texts = [pair.source for pair in training_pairs(200, seed=1)]
    for kind in ("bpe", "unigram"):
        before = Subwords.train(texts, kind, 330, ["en", "fr"])
        after = before.with_languages(["en", "fr"], ["de", "x-med"])
        assert [after.token(n) for n in range(4, 8)] == ["<2en>", "<2fr>", "<2de>", "<2x-med>"]
        assert all(after.is_special(n) for n in range(4, 8))
        assert after.size == before.size + 2
        for text in [*texts[:20], "<2de> €"]:
            moved = [number + 2 * (number >= 6) for number in before.encode(text)]
            assert after.encode(text) == moved
            assert after.decode(moved) == before.decode(before.encode(text))


def test_the_log_says_how_much_is_frozen(desk):
    run = desk.run("run", train__freeze=["embeddings"], train__max_steps=1)
    first = json.loads((run / "log.jsonl").read_text().splitlines()[0])
    assert first["frozen"] == ModelFolder.open(run).shapes()["embeddings.shared"][0] * 16


def test_errors_are_errors_of_the_user(desk):
    with pytest.raises(VitrailError):
        desk.run("run", train__start_from="")


@pytest.mark.filterwarnings("ignore")
def test_an_imported_model_can_be_trained_further_and_learn_another_language(desk):
    pytest.importorskip("transformers")
    from marian_folders import write_marian
    from vitrail.interop import import_model

    theirs = write_marian(desk.folder / "marian", languages=("fra", "deu"))
    import_model(theirs, desk.folder / "imported")
    into = corpora(desk.folder, [("fr", "en")])
    into[0]["target_language"] = "eng"
    run = desk.run("run", train__start_from=str(desk.folder / "imported"), train__max_steps=1, data__corpora=into)
    ours, before = ModelFolder.open(run), ModelFolder.open(desk.folder / "imported")
    assert ours.config.model == before.config.model
    assert set(ours.tokenizers.languages) == {"fra", "deu", "eng"}
    assert ours.tokenizers.target.size == before.tokenizers.target.size + 1
    assert load(run).translate("merci", to="eng").text is not None
