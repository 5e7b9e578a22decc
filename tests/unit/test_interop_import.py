"""`vitrail import`: what cannot be imported is refused with the reason, and a stranger's folder can do no harm."""

import copy
import json
import os
import random
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_hostile_run import TEXTS, edits_of_bytes, edits_of_values, little_memory, sign, some_edits

from vitrail.cli import app
from vitrail.errors import FolderError, VitrailError
from vitrail.folder import ModelFolder
from vitrail.interop import import_model
from vitrail.text import BOS, EOS, PAD
from vitrail.text.charsmap import check_charsmap
from vitrail.translator import load

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def marian(tmp_path_factory) -> Path:
    from marian_folders import write_marian

    return write_marian(tmp_path_factory.mktemp("theirs") / "marian", languages=("fra", "deu"))


@pytest.fixture
def copied(marian, tmp_path) -> Path:
    return Path(shutil.copytree(marian, tmp_path / "theirs"))


def changed_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (["model.bin", "shared_vocabulary.json", "config.json"], "this is a CTranslate2 model: its weights are packed"),
        (["model.bin", "source_vocabulary.txt", "target_vocabulary.txt"], "this is a CTranslate2 model"),
        (["checkpoint_best.pt", "dict.en.txt"], "OpenNMT-py or fairseq is a pickle"),
        (["model.npz", "vocab.yml"], "Marian's own format"),
        (["config.toml"], "a Vitrail model already"),
        (["readme.txt"], "no config.json"),
    ],
)
def test_other_formats_are_refused_by_name(tmp_path, files, what):
    for name in files:
        (tmp_path / name).write_text("{}")
    with pytest.raises(FolderError, match=what) as caught:
        import_model(tmp_path, tmp_path / "out")
    assert caught.value.fix
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "what"), [("nmt.pt", "a pickle"), ("x.npz", "own format"), ("x", "this is a file")])
def test_files_are_refused_by_name(tmp_path, name, what):
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(FolderError, match=what):
        import_model(tmp_path / name, tmp_path / "out")
    with pytest.raises(FolderError, match="no such folder"):
        import_model(tmp_path / "nowhere", tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model_type": "m2m_100"}, "a model of type 'm2m_100'"),
        ({"activation_function": "quick_gelu"}, "no activation 'quick_gelu'"),
        ({"encoder_ffn_dim": 7}, "encoder_ffn_dim = 7 and decoder_ffn_dim = 24 differ"),
        ({"decoder_attention_heads": 4}, "decoder_attention_heads = 4 differ"),
        ({"normalize_before": True}, "normalize_before = true, which transformers ignores"),
        ({"static_position_embeddings": False}, "static_position_embeddings = false"),
        ({"vocab_size": 20}, "but config.json says 20"),
        ({"pad_token_id": 5000}, "no token with the id of its pad symbol, 5000"),
        ({"eos_token_id": 3}, "'</s>' has the id 0, but config.json says 3"),
        ({"d_model": 32}, "has shape"),
        ({"d_model": 60_000, "encoder_ffn_dim": 1 << 20, "decoder_ffn_dim": 1 << 20}, "has shape"),
        ({"encoder_layers": 3}, "the weights lack 'model.encoder.layers.2"),
        ({"encoder_layers": 1}, "the weights have 'model.encoder.layers.1"),
        ({"encoder_layers": 100_000}, "less than or equal to 1000"),
        ({"dropout": "0.1"}, "dropout"),
        ({"tie_word_embeddings": False}, "the weights lack 'lm_head.weight'"),
    ],
)
def test_settings_that_we_or_the_weights_do_not_have_are_refused(copied, tmp_path, changes, what):
    changed_config(copied, **changes)
    with little_memory(), pytest.raises(VitrailError, match=what):
        import_model(copied, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_has_something_in_it_is_left_alone(marian, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(FolderError, match="something here already"):
        import_model(marian, tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_the_command_says_what_it_brought(marian, tmp_path, capsys):
    app(["import", str(marian), "--out", str(tmp_path / "out")], standalone_mode=False)
    said = capsys.readouterr().out
    assert "2+2 layers, d_model 16" in said
    assert "target languages (--to): " in said
    translator = load(tmp_path / "out", threads=1)
    assert set(translator.languages) == {"fra", "deu"}
    assert translator.translate("hello", to="deu").tokens


def test_a_model_of_two_languages_says_which_and_keeps_its_card(copied, tmp_path):
    vocabulary = json.loads((copied / "vocab.json").read_text())
    renamed = {token.strip("<>"): number for token, number in vocabulary.items() if token.startswith(">>")}
    kept = {token: number for token, number in vocabulary.items() if not token.startswith(">>")}
    (copied / "vocab.json").write_text(json.dumps({**kept, **renamed}))
    (copied / "README.md").write_text("CC BY 4.0")
    folder = import_model(copied, tmp_path / "out")
    assert folder.config.data.directions() == (("en", "fr"),)
    assert (folder.path / "README.md").read_text() == "CC BY 4.0"
    translator = load(folder.path, threads=1)
    assert (translator.languages, translator.target_language) == ((), "fr")
    assert translator.translate("hello", to="fr").text == translator.translate("hello").text
    with pytest.raises(VitrailError, match="cannot translate by itself"):
        folder.tokenizers.source.table()


class Reckless:
    def __reduce__(self):
        return (os.mkdir, ("hacked",))


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_pickle_that_runs_something_is_refused(copied, tmp_path, monkeypatch, is_zip):
    monkeypatch.chdir(tmp_path)
    (copied / "model.safetensors").unlink()
    torch.save({"a": Reckless()}, copied / "pytorch_model.bin", _use_new_zipfile_serialization=is_zip)
    with pytest.raises(FolderError, match="cannot read these weights"):
        import_model(copied, tmp_path / "out")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_pickle_of_weights_is_read(copied, tmp_path, is_zip):
    wanted = import_model(copied, tmp_path / "one").model().state_dict()
    weights = load_file(copied / "model.safetensors")
    (copied / "model.safetensors").unlink()
    table = weights["model.shared.weight"]  # older versions write it under each of its names
    weights |= dict.fromkeys(
        ["lm_head.weight", *(f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder"))], table
    )
    torch.save(weights, copied / "pytorch_model.bin", _use_new_zipfile_serialization=is_zip)
    found = import_model(copied, tmp_path / "two").model().state_dict()
    assert all(torch.equal(found[name], value) for name, value in wanted.items())


def without_a_file(name):
    return lambda folder: (folder / name).unlink()


def a_pipe(name):
    def damage(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def a_terabyte(name):
    def damage(folder):
        with (folder / name).open("ab") as file:
            file.truncate(1 << 40)

    return damage


def endless(name):
    def damage(folder):
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")

    return damage


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"])
@pytest.mark.parametrize("damage", [without_a_file, a_pipe, a_terabyte, endless])
def test_what_is_no_file_or_no_such_file_is_refused_before_it_is_read(copied, tmp_path, name, damage):
    damage(name)(copied)
    what = "expected here" if damage is a_terabyte else ""
    with little_memory(), pytest.raises(VitrailError, match=what):
        import_model(copied, tmp_path / "out")


def stretched(weights):
    """A tensor of many numbers in little room."""
    name = "model.encoder.layers.0.fc1.weight"
    return {**weights, name: torch.zeros(1).expand(1 << 20, 1 << 20)}


def compressed(path):
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def test_tensors_that_are_larger_than_their_file_are_refused(copied, tmp_path):
    weights = load_file(copied / "model.safetensors")
    (copied / "model.safetensors").unlink()
    path = copied / "pytorch_model.bin"
    torch.save(stretched(weights), path)
    with little_memory(), pytest.raises(FolderError, match="larger than its part of the file"):
        import_model(copied, tmp_path / "out")
    torch.save(weights, path)
    compressed(path)
    with pytest.raises(FolderError, match="compressed"):
        import_model(copied, tmp_path / "out")
    torch.save({**weights, "x": 3}, path)
    with pytest.raises(FolderError, match="'x' is not a weight"):
        import_model(copied, tmp_path / "out")


def test_weights_that_are_no_numbers_and_odd_positions_are_refused(copied, tmp_path):
    path = copied / "model.safetensors"
    weights = load_file(path)
    broken = copy.deepcopy(weights)
    broken["model.encoder.layers.0.fc1.bias"][3] = torch.nan
    save_file(broken, path)
    with pytest.raises(FolderError, match=r"fc1.bias' has values that are not numbers"):
        import_model(copied, tmp_path / "out")
    save_file({**weights, "model.encoder.embed_positions.weight": torch.randn(64, 16)}, path)
    with pytest.raises(FolderError, match="not Marian's table of sinusoids"):
        import_model(copied, tmp_path / "out")
    save_file({**weights, "model.encoder.embed_positions.weight": torch.randn(0)}, path)
    with pytest.raises(FolderError, match="has shape"):
        import_model(copied, tmp_path / "out")


def test_whatever_a_file_says_is_read_or_refused(marian, tmp_path):
    """And what was read can be translated with, and has files that are refused or read in the same way."""
    dice, ended = random.Random(1), []
    with little_memory():
        for name in ("config.json", "vocab.json", "tokenizer_config.json", "generation_config.json", "source.spm"):
            content = (marian / name).read_bytes()
            edits = dice.sample(edits_of_bytes(content, name), 6)
            if name.endswith(".json"):
                values = json.loads(content)
                edits += [
                    lambda edit=edit: json.dumps(edit()).encode() for edit in dice.sample(edits_of_values(values), 14)
                ]
            for number, edit in enumerate([*edits, *(lambda text=text: text for text in dice.sample(TEXTS, 2))]):
                folder, out = tmp_path / "theirs", tmp_path / f"{name}-{number}"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(marian, folder)
                (folder / name).write_bytes(edit())
                try:
                    import_model(folder, out).tokenizers.encode_source("hello (world) ﬁ", "fra")
                    ended.append("read")
                except VitrailError as error:
                    assert error.what and str(error)
                    ended.append("refused")
    assert ended.count("refused") > len(ended) / 4


def test_whatever_the_vocabulary_of_an_imported_model_says_is_read_or_refused(marian, tmp_path):
    original, ended = import_model(marian, tmp_path / "original").path, []
    with little_memory():
        for name in ("source.marian.json", "target.marian.json", "source.marian.spm", "tokenizer.json"):
            for content in some_edits(original / "tokenizer" / name, 5):
                run = tmp_path / "run"
                shutil.rmtree(run, ignore_errors=True)
                shutil.copytree(original, run)
                (run / "tokenizer" / name).write_bytes(content)
                sign(run, f"tokenizer/{name}")
                try:
                    words = ModelFolder.open(run).tokenizers
                    words.decode(
                        words.encode_source("“hello” (world) ﬁ", words.languages[0] if words.languages else None)
                    )
                    ended.append("read")
                except VitrailError as error:
                    assert error.what and str(error)
                    ended.append("refused")
    assert ended.count("refused") > len(ended) / 4


def test_a_table_that_rewrites_text_is_followed_only_if_it_leads_nowhere_else(marian):
    model = (marian / "source.spm").read_bytes()
    check_charsmap(model)
    at = model.index(b"nmt_nfkc") + len("nmt_nfkc")
    place = model.index(b"\x12", at)  # field 2 of the normaliser
    dice, refused = random.Random(1), 0
    for _ in range(200):
        damaged = bytearray(model)
        spot = dice.randrange(place + 20, place + 200_000)
        damaged[spot : spot + 4] = dice.randbytes(4)
        try:
            check_charsmap(bytes(damaged))
        except ValueError:
            refused += 1
    assert refused > 100


def test_typed_text_never_becomes_a_symbol(marian, tmp_path):
    words = import_model(marian, tmp_path / "out").tokenizers
    for text in ("</s>", "<pad> <s>", ">>fra<<", ">>deu<< hello", "<2fra>", "<bos> <eos> ▁ </s>"):
        ids = words.source.encode(text) + words.target.encode(text)
        assert not {PAD, BOS, EOS, *map(words.language_id, words.languages)}.intersection(ids), text
