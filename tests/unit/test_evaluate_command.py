import pytest

from vitrail.cli.test_set import own_validation
from vitrail.config import Config, CorpusConfig, DataConfig
from vitrail.data import prepare
from vitrail.errors import DataError
from vitrail.folder import ModelFolder

PAIRS = [(f"un mot et {n} chats", f"a word and {n} cats") for n in range(60)]


@pytest.fixture
def both_ways(tmp_path):
    """A run's folder before the first step: French to English and back, a few pairs of each held out."""
    (tmp_path / "a.tsv").write_text("".join(f"{fr}\t{en}\n" for fr, en in PAIRS), encoding="utf-8")
    file = str(tmp_path / "a.tsv")
    there = CorpusConfig(pairs=file, source_language="fr", target_language="en")
    back = CorpusConfig(pairs=file, source_field="2", target_field="1", source_language="en", target_language="fr")
    data = DataConfig(corpora=(there, back), vocabulary_size=300, hold_out=4)
    prepared = prepare(data, tmp_path / "run" / "data", seed=1)
    ModelFolder.create(tmp_path / "run", Config(data=data), prepared.tokenizers)
    return tmp_path / "run"


def test_the_language_chooses_what_to_measure_on(both_ways):
    sources, references, to = own_validation(both_ways, "fr")
    assert to == "fr"
    assert len(sources) == 4
    assert {(reference, source) for source, reference in zip(sources, references, strict=True)} <= set(PAIRS)


def test_several_languages_want_a_choice(both_ways):
    with pytest.raises(DataError, match="several directions") as told:
        own_validation(both_ways, None)
    assert told.value.fix == "give --to: en, fr"


def test_a_language_that_was_not_validated_is_refused(both_ways):
    with pytest.raises(DataError, match="no validation data into 'de'"):
        own_validation(both_ways, "de")


def test_a_model_without_its_data_wants_a_test_set(both_ways):
    (both_ways / "data").rename(both_ways.parent / "elsewhere")
    with pytest.raises(DataError, match="no test set") as told:
        own_validation(both_ways, "fr")
    assert "--source and --reference" in told.value.fix


def test_data_that_others_have_put_there_since_are_not_the_models_own(both_ways):
    config = ModelFolder.open(both_ways).config
    prepare(config.data, both_ways / "data", seed=2)
    with pytest.raises(DataError, match="not the data that the model was trained on"):
        own_validation(both_ways, "fr")
