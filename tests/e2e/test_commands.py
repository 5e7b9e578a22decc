"""Every command as a user types it, and its output."""

import gzip
import json
import math
import os
import shutil
import subprocess
import sys

import pytest
import torch
from door import command, settings, vitrail
from safetensors.torch import load_file

import vitrail as package
from vitrail.config import DecodeConfig
from vitrail.data.phrasebook import held_out

STRANGE = [
    "merci",
    "",
    "<eos>",
    "<2fr> <pad> <unk>",
    "a\u2028b\u0085c\x0bd",
    "😀 👩‍👩‍👧 ñ",
    "\x07\x00\x1b[31m",
    "   ",
    "▁",
]


@pytest.fixture(scope="module")
def sentences(phrases, tmp_path_factory):
    """Sentences whose words the phrases model knows, and their translations."""
    folder, words = tmp_path_factory.mktemp("sentences"), package.load(phrases).tokenizers.source
    pairs = [pair for pair in held_out(400, seed=5) if pair.target_language == "en"]
    pairs = [pair for pair in pairs if not words.unknown(f"{pair.source} {pair.target}")][:30]
    assert len(pairs) == 30
    (folder / "test.fr").write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    (folder / "test.en").write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    return folder / "test.fr", folder / "test.en"


def lines(text):
    """Only line feeds end lines."""
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


# translate


def test_standard_input_gives_as_many_lines_and_empty_ones_stay_empty(trained):
    done = vitrail("translate", trained, "--sample", input="\n".join(STRANGE))
    found = lines(done.stdout)
    assert len(found) == len(STRANGE)
    assert [found[number] for number, text in enumerate(STRANGE) if not text.strip()] == ["", ""]
    assert all("\r" not in line for line in found)


def test_text_a_line_a_file_and_python_give_the_same(trained, tmp_path):
    texts = [text for text in STRANGE if "\n" not in text]
    plain, packed, out = tmp_path / "in", tmp_path / "in.gz", tmp_path / "new" / "out"
    plain.write_bytes("".join(f"{text}\n" for text in texts).encode())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    options = ("--sample", "--seed", 7)
    python = package.load(trained).translate(texts, decode=DecodeConfig(sample=True, seed=7))
    expected = [translation.text for translation in python]
    assert any(expected)
    assert lines(command("translate", trained, *options, input=plain.read_bytes()).stdout) == expected
    for file in (plain, packed):
        assert command("translate", trained, *options, "--input", file, "--output", out).stdout == ""
        assert lines(out.read_text(encoding="utf-8")) == expected
    one_by_one = [command("translate", trained, *options, "--", text).stdout for text in texts]
    assert one_by_one == [f"{text}\n" for text in expected]


def test_a_mark_before_the_first_line_is_no_text(trained):
    bare = command("translate", trained, "--sample", input="merci\n")
    assert command("translate", trained, "--sample", input="\ufeffmerci\n").stdout == bare.stdout


def test_json_has_every_field_on_one_line(phrases, sentences):
    first = lines(sentences[0].read_text(encoding="utf-8"))[:5]
    asked = ("--to", "en", "--beam-size", 3, "--top-beams", 2, "--format", "json")
    found = [json.loads(line) for line in lines(command("translate", phrases, *asked, input="\n".join(first)).stdout)]
    assert [each["source"] for each in found] == first
    python = package.load(phrases).translate(first, to="en", beam_size=3, top_beams=2)
    for each, translation in zip(found, python, strict=True):
        assert each == translation.to_dict()
        assert len(each["alternatives"]) == 2
        best, second = each["alternatives"]
        assert (best["text"], best["score"], best["tokens"]) == (each["text"], each["score"], each["tokens"])
        assert best["score"] >= second["score"]
        assert best["tokens"] != second["tokens"]


def test_several_translations_of_a_text_are_a_line_each_with_its_score(phrases):
    asked = ("merci", "--to", "en", "--beam-size", 4)
    best = command("translate", phrases, *asked)
    several = [line.split("\t") for line in lines(command("translate", phrases, *asked, "--top-beams", 3).stdout)]
    assert len(several) == 3
    assert several[0][1] == best.stdout.rstrip("\n")
    assert sorted((float(score) for score, _ in several), reverse=True) == [float(score) for score, _ in several]


def test_every_translation_begins_with_the_prefix(phrases, sentences):
    source = sentences[0].read_bytes()
    found = lines(command("translate", phrases, "--to", "en", "--prefix", "i am", input=source).stdout)
    assert len(found) == len(lines(source.decode())) > 1
    assert all(line.split()[:2] == ["i", "am"] for line in found)


def test_samples_follow_from_the_seed(phrases, sentences):
    def drawn(seed):
        asked = ("--to", "en", "--sample", "--seed", seed, "--temperature", 2)
        return command("translate", phrases, *asked, "--input", sentences[0]).stdout

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_a_line_that_is_too_long_is_cut_with_a_warning_that_names_it(trained):
    many = "\n" * 1030  # the next line is not in the first chunk
    done = command("translate", trained, "--beam-size", 1, input=many + "je " * 3000 + "\nmerci\n")
    assert len(lines(done.stdout)) == 1032
    assert [line for line in done.stderr.split("\n") if "line 1031 is too long" in line]


def test_a_word_that_the_model_does_not_know_is_named_and_its_line_left_empty(phrases):
    done = command("translate", phrases, "--to", "en", input="merci\nabracadabra merci\n")
    assert lines(done.stdout)[1] == ""
    assert "line 2" in done.stderr
    assert "'abracadabra'" in done.stderr


def test_output_is_utf_8_whatever_the_terminal_speaks(trained):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "vitrail", "translate", str(trained), "merci", "--prefix", "été 😀"]
    done = subprocess.run(run, capture_output=True, check=True, env=environment)
    assert done.stdout.decode("utf-8").startswith("été 😀")


def test_output_goes_through_links_and_to_devices(trained, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    command("translate", trained, "merci", "--sample", "--output", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8").endswith("\n")
    command("translate", trained, "merci", "--output", "/dev/null")
    assert not os.path.isfile("/dev/null")  # noqa: PTH113


def test_a_model_of_several_languages_is_told_where_to(phrases):
    model = package.load(phrases)
    assert model.languages == ("en", "fr")
    english, french = (model.translate("merci", to=to) for to in model.languages)
    assert english.tokens != french.tokens
    assert command("translate", phrases, "merci", "--to", "fr").stdout == f"{french.text}\n"


def test_python_gives_one_for_one_and_a_list_for_a_list(phrases):
    model = package.load(str(phrases))
    one = model.translate("merci", to="en")
    assert isinstance(one, package.Translation)
    assert isinstance(model, package.Translator)
    assert model.translate(["merci"], to="en") == [one]
    assert model.translate([], to="en") == []
    assert model.translate("", to="en").text == ""


# evaluate and score


@pytest.fixture(scope="module")
def translations(phrases, sentences, tmp_path_factory):
    out = tmp_path_factory.mktemp("translations") / "out.en"
    command("translate", phrases, "--to", "en", "--input", sentences[0], "--output", out)
    return out


def test_evaluation_equals_sacrebleu_on_what_translate_writes(phrases, sentences, translations):
    source, reference = sentences
    asked = ("--source", source, "--reference", reference, "--to", "en")
    found = json.loads(command("evaluate", phrases, *asked, "--json").stdout)
    run = [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(translations), "-m", "bleu", "chrf", "ter"]
    theirs = subprocess.run([*run, "-b", "-w", "4"], capture_output=True, encoding="utf-8", check=True).stdout
    assert [round(found[name]["score"], 4) for name in ("bleu", "chrf", "ter")] == json.loads(theirs)
    printed = command("evaluate", phrases, *asked).stdout
    assert f"BLEU  {found['bleu']['score']:.1f}" in printed
    assert found["bleu"]["signature"] in printed


def test_without_a_test_set_a_run_is_measured_on_its_validation_data(trained, corpus):
    own = command("evaluate", trained)
    files = ("--source", corpus.validation_source, "--reference", corpus.validation_target)
    assert own.stdout == command("evaluate", trained, *files).stdout
    assert str(corpus.validation_source) in own.stderr


def test_a_test_set_in_one_file_is_the_same_test_set(phrases, sentences, tmp_path):
    sides = [lines(path.read_text(encoding="utf-8")) for path in sentences]
    (tmp_path / "test.tsv").write_text("".join(f"{b}\t{a}\n" for a, b in zip(*sides, strict=True)), encoding="utf-8")
    fields = ("--source-field", "2", "--reference-field", "1")
    in_one = command("evaluate", phrases, "--pairs", tmp_path / "test.tsv", *fields, "--to", "en").stdout
    source, reference = sentences
    assert in_one == command("evaluate", phrases, "--source", source, "--reference", reference, "--to", "en").stdout


def test_the_length_penalty_of_an_evaluation_is_that_of_a_translation(phrases, sentences, tmp_path):
    source, reference = sentences
    out, search = tmp_path / "out.en", ("--beam-size", "3", "--alpha", "0.2", "--to", "en")
    command("translate", phrases, *search, "--input", source, "--output", out)
    asked = ("--source", source, "--reference", reference, "--json")
    systems = json.loads(command("evaluate", phrases, *asked, *search, "--against", out).stdout)["systems"]
    assert systems[0]["measures"]["BLEU"]["score"] == systems[1]["measures"]["BLEU"]["score"]


def test_a_comparison_takes_another_model_or_a_file(phrases, sentences, translations, tmp_path):
    source, reference = sentences
    asked = ("--source", source, "--reference", reference, "--to", "en", "--json")
    with_file = json.loads(command("evaluate", phrases, *asked, "--against", translations).stdout)
    ours, theirs = (system["measures"]["BLEU"] for system in with_file["systems"])
    assert ours["score"] == theirs["score"]
    assert theirs["p_value"] == 1.0
    (tmp_path / "same").symlink_to(phrases)
    with_model = json.loads(command("evaluate", phrases, *asked, "--against", tmp_path / "same").stdout)
    assert with_model["systems"][1]["measures"]["BLEU"]["score"] == ours["score"]


def test_a_model_of_one_language_is_compared_with_one_of_several(trained, phrases, sentences):
    source, reference = sentences
    asked = ("--source", source, "--reference", reference, "--json", "--to", "en")
    there = json.loads(command("evaluate", trained, *asked, "--against", phrases).stdout)["systems"]
    back = json.loads(command("evaluate", phrases, *asked, "--against", trained).stdout)["systems"]
    assert there[0]["measures"]["BLEU"]["score"] == back[1]["measures"]["BLEU"]["score"]
    assert there[1]["measures"]["BLEU"]["score"] == back[0]["measures"]["BLEU"]["score"]
    refused = command("evaluate", trained, *asked[:-2], "--against", phrases, check=False)
    assert refused.returncode == 2 and "several languages" in refused.stderr


def test_a_score_is_the_log_probability_that_the_search_found(phrases, sentences, translations):
    source = lines(sentences[0].read_text(encoding="utf-8"))
    found = [float(line) for line in lines(_scores(phrases, sentences[0], translations))]
    model = package.load(phrases)
    targets = lines(translations.read_text(encoding="utf-8"))
    assert found == pytest.approx(model.score(source, targets, to="en"), abs=1e-5)
    for translation, log_probability in zip(model.translate(source, to="en"), found, strict=True):
        is_finished = len(translation.tokens) < model.config.max_extra
        if is_finished:
            # The length penalty with alpha 1 is the mean over the tokens, <eos> counted.
            searched = translation.score * (len(translation.tokens) + 1)
            assert math.isclose(searched, log_probability, rel_tol=1e-4, abs_tol=1e-3)


def _scores(model, source, target):
    return command("score", model, "--source", source, "--target", target, "--to", "en").stdout


# average and info


def test_an_average_is_the_mean_of_the_checkpoints_and_translates(trained, tmp_path):
    out = tmp_path / "averaged"
    done = command("average", trained, "--last", 2, "--out", out)
    steps = sorted((trained / "checkpoints").iterdir())[-2:]
    assert all(str(int(path.name.removeprefix("step-"))) in done.stdout for path in steps)
    one, other = (load_file(path / "model.safetensors") for path in steps)
    for name, weight in load_file(out / "model.safetensors").items():
        torch.testing.assert_close(weight, (one[name].double() + other[name].double()).div(2).float(), rtol=0, atol=0)
    assert command("translate", out, "merci").returncode == 0
    assert not (out / "data").exists()


def test_a_shortlist_is_learnt_measured_and_used(phrases, sentences, tmp_path):
    source, reference = sentences
    own = shutil.copytree(phrases, tmp_path / "own")
    refused = command("translate", own, "merci", "--to", "en", "--shortlist", check=False)
    assert refused.returncode == 2 and f"vitrail shortlist {own}" in refused.stderr

    first, *rest = lines(command("shortlist", own).stdout)
    assert str(own / "shortlist.safetensors") in first and rest == []  # the run has no validation data
    both_ways = command("shortlist", own, "--source", source, "--target", reference, "--to", "en", "--size", "9")
    into = [line for line in lines(both_ways.stdout) if "BLEU" in line]
    assert ["into en" in into[0], "into fr" in into[1]] == [True, True] and "times as fast" in into[0]

    command("shortlist", own, "--no-measure", "--size", "1", "--frequent", "0")
    search = ("--to", "en", "--input", source)
    usual, short = (lines(command("translate", own, *search, *option).stdout) for option in ([], ["--shortlist"]))
    assert len(usual) == len(short) == 30 and usual != short
    scored = ("--to", "en", "--source", source, "--reference", reference)
    assert command("evaluate", own, *scored).stdout != command("evaluate", own, *scored, "--shortlist").stdout


def test_pairs_that_teach_no_shortlist_are_refused(trained, phrases, sentences, tmp_path):
    source, reference = sentences
    files = ("--source", source, "--target", reference)
    (tmp_path / "few").write_text("a\n", encoding="utf-8")
    for arguments, what in (
        ((phrases, "--source", source), "incomplete"),
        ((phrases, *files), "several languages"),
        ((phrases, "--to", "en"), "--to has no effect"),
        ((phrases, "--source", tmp_path / "few", "--target", tmp_path / "few", "--to", "en"), "only 1 pairs"),
        (("builtin", *files, "--to", "en"), "nothing is written into the built-in model"),
        (("builtin", "--out", tmp_path / "list"), "training data is not here"),
    ):
        refused = command("shortlist", *arguments, check=False)
        assert refused.returncode == 2 and what in refused.stderr, (arguments, refused.stderr)


def test_the_built_in_model_has_a_shortlist():
    text = ("translate", "builtin", "Où est la gare ?", "--to", "en")
    assert command(*text, "--shortlist").stdout == command(*text).stdout


def test_info_tells_the_shape_the_vocabulary_and_the_run(trained, phrases):
    facts = json.loads(command("info", trained, "--json").stdout)
    assert (facts["d_model"], facts["heads"], facts["decoder_layers"]) == (32, 2, 2)
    weights = load_file(trained / "model.safetensors")
    assert facts["parameters"] == sum(weight.numel() for weight in weights.values())
    assert facts["checkpoints"][-1] == 40
    assert facts["best_validation"]["step"] in (20, 40)
    printed = command("info", phrases).stdout
    assert "en, fr" in printed
    words = [line.split("\t") for line in lines(command("info", phrases, "--words").stdout)]
    tokens = package.load(phrases).tokenizers
    assert words == [[str(number), tokens.target.token(number)] for number in range(tokens.target.size)]


def test_weights_can_be_read_by_whoever_may_read_the_rest(trained):
    modes = {path.name: path.stat().st_mode & 0o777 for path in trained.iterdir() if path.is_file()}
    assert len(set(modes.values())) == 1, modes


# prepare and train


def test_prepared_data_trains_the_same_run_as_the_files(corpus, trained, run_command, tmp_path):
    prepared, out = tmp_path / "prepared", tmp_path / "run"
    changes = [f"data.validation_source='{corpus.validation_source}'"]
    changes += [f"data.validation_target='{corpus.validation_target}'", "data.vocabulary_size=300"]
    files = ("--source", corpus.source, "--target", corpus.target)
    done = command("prepare", *files, "--out", prepared, *[part for change in changes for part in ("--set", change)])
    assert "pairs" in done.stdout
    assert str(prepared) in done.stdout
    command("train", "--out", out, *settings(f"data.prepared='{prepared}'"))
    assert (out / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()
    assert not (out / "data").exists()


def test_a_run_from_a_recipe_ends_says_so_again_and_goes_on_when_asked_to(corpus, tmp_path):
    recipe, out = tmp_path / "recipe.toml", tmp_path / "run"
    recipe.write_text(f"[data]\nsource = '{corpus.source}'\ntarget = '{corpus.target}'\n", encoding="utf-8")

    def train(steps):
        return command("train", recipe, "--out", out, *settings(f"train.max_steps={steps}"))

    assert f"finished at step 3 (max_steps): {out}" in train(3).stdout
    before = (out / "model.safetensors").read_bytes()
    again = train(3)
    assert "finished at step 3" in again.stdout
    assert (out / "model.safetensors").read_bytes() == before
    further = train(5)
    assert "resuming from step 3" in further.stderr
    assert "finished at step 5" in further.stdout


@pytest.mark.parametrize(
    "name", ['it\'s "here".fr', "1984", "true", "a\nb = 1.fr", "été ' # [x].fr", "-x.fr", "a\\b.fr"]
)
def test_a_file_may_have_any_name(corpus, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(corpus.source.read_bytes())
    (tmp_path / f"{name}.out").mkdir()
    files = (f"--source={name}", "--target", corpus.target, "--out", f"./{name}.out/data")
    command("prepare", *files, "--set", "data.vocabulary_size=300")
    manifest = json.loads((tmp_path / f"{name}.out" / "data" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["shards"][0]["corpus"] == name


def test_a_folder_may_be_a_link(corpus, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    files = ("--source", corpus.source, "--target", corpus.target, "--set", "data.vocabulary_size=300")
    command("prepare", *files, "--out", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "manifest.json").exists()


def test_a_reader_who_leaves_early_is_not_an_error(phrases):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for arguments in (["translate", str(phrases), "--to", "en"], ["info", str(phrases), "--words"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "vitrail", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        process.stdout.close()  # before anything is written
        _, errors = process.communicate(b"merci\n" * 10)
        assert errors == b""
        assert process.returncode == 0


def test_standard_error_may_be_closed(phrases):
    run = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "vitrail"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    well = subprocess.run([*run, "info", str(phrases)], stdout=subprocess.PIPE, check=False, env=environment)
    assert well.returncode == 0 and b"d_model" in well.stdout
    wrong = subprocess.run([*run, "info", "nosuch"], stdout=subprocess.PIPE, check=False)
    assert wrong.returncode == 2 and wrong.stdout == b""  # an error is not a result


def test_standard_output_may_be_closed(phrases):
    run = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "vitrail"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*run, "info", str(phrases)], stderr=subprocess.PIPE, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")


def test_nothing_typed_gives_help():
    assert "Usage" in command().stdout


def test_a_section_s_name_in_a_help_text_is_not_taken_for_markup():
    assert "only [data], train.seed" in command("prepare", "--help").stdout


def test_a_run_too_short_for_its_validation_says_so(run_command, tmp_path):
    short = ("train.max_steps=2", "train.validate_every=100")
    assert "before its first validation" in command(*run_command(tmp_path / "run", *short)).stderr
    usual = ("train.max_steps=2", "train.validate_every=2")
    assert "first validation" not in command(*run_command(tmp_path / "other", *usual)).stderr


def test_a_report_is_written_beside_the_scores(phrases, tmp_path):
    source, reference = tmp_path / "a.fr", tmp_path / "a.en"
    source.write_text("merci\nje suis étudiant\nle chat zzz\n", encoding="utf-8")
    reference.write_text("thanks\ni am a student\nthe cat\n", encoding="utf-8")
    asked = ["--source", source, "--reference", reference, "--to", "en"]
    plain = command("evaluate", phrases, *asked).stdout
    out = tmp_path / "report.html"
    made = command("evaluate", phrases, *asked, "--page", out, "--worst", "1")
    assert made.stdout == plain
    assert "1 of the worst sentences have a page" in made.stderr
    assert len(list((tmp_path / "report-sentences").iterdir())) == 1
    assert "://" not in out.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")

    refused = command("evaluate", phrases, *asked, "--worst", "1", check=False)
    assert refused.returncode == 2 and "no effect without --page" in refused.stderr
    nowhere = command("evaluate", phrases, *asked, "--page", tmp_path / "no" / "r.html", check=False)
    assert nowhere.returncode == 2 and "there is no such folder" in nowhere.stderr
    together = command("evaluate", phrases, *asked, "--ensemble", phrases, "--page", out, check=False)
    assert together.returncode == 2 and "looks into one model" in together.stderr
    (tmp_path / "b-sentences").write_text("")
    taken = command("evaluate", phrases, *asked, "--page", tmp_path / "b.html", check=False)
    assert taken.returncode == 2 and "need a folder of this name" in taken.stderr
