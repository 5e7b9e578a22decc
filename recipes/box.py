"""Make a finished French-English run the built-in model, `builtin` in every command, and write its model card.

    python recipes/box.py runs/tatoeba-fr-en --receipt recipes/tatoeba-fr-en.receipt.json --precision int8

The script packs the weights and measures the loss of quality on the run's validation set. It learns a shortlist from
the run's training data. It fills in the card, box.card.md, from the receipt: scores, data, training. The receipt must
be for exactly these weights. Models over 10 MB are refused.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any, get_args

from vitrail.box import PLACE
from vitrail.config import Config, change_settings, parse_config
from vitrail.data import Prepared
from vitrail.errors import DataError, FolderError, VitrailError
from vitrail.evaluate import measure
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.runtime.shortlist import FILE, Shortlist
from vitrail.storage import checksum, new_folder, write_text
from vitrail.translator import Translator, load
from vitrail.weights import Precision, pack

MOST = 10_000_000  # bytes
CARD, RECEIPT = "README.md", "receipt.json"
BLANK_CARD = Path(__file__).with_name("box.card.md")
DIRECTIONS = {"en": "French → English", "fr": "English → French"}
FILES = ("source", "target", "pairs", "validation_source", "validation_target", "validation_pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run, with its data")
    parser.add_argument("--receipt", type=Path, required=True, help="receipt of the run, from recipes/receipt.py")
    parser.add_argument("--precision", choices=get_args(Precision), default="int8")
    parser.add_argument("--out", type=Path, default=PLACE, help="folder to write instead of the built-in model")
    options = parser.parse_args()
    try:
        size = fill(options.run, options.receipt, options.precision, options.out)
    except VitrailError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(f"{options.out} ({size / 1e6:.1f} MB)")


def fill(run: Path, receipt_file: Path, precision: Precision, out: Path) -> int:
    """Write the folder, whole or not at all, and return its size in bytes."""
    if out.exists() and out != PLACE:
        raise FolderError("this path already exists", where=str(out), fix="choose another --out")
    folder = ModelFolder.open(run)
    model = folder.model()
    prepared = Prepared.open(folder.data)
    if not prepared.validation:
        raise DataError(
            "this run has no validation data to measure the packing on",
            where=str(prepared.path),
            fix="train with [[data.validation]]",
        )
    receipt = read_receipt(receipt_file)
    tests = tests_of(receipt, folder, receipt_file)
    with new_folder(out) as partial:
        made = ModelFolder.create(partial, without_this_machine(folder.config), folder.tokenizers)
        made.write_weights(pack(model.state_dict(), precision))
        Shortlist.learn(prepared.train, folder.tokenizers).save(partial / FILE, vocabulary=made.vocabulary)
        shutil.copyfile(receipt_file, partial / RECEIPT)
        refuse_large(partial, out)  # before measuring, which takes minutes
        costs = measure_packing(load(run), load(partial), prepared)
        pairs = sum(len(shard) for shard in prepared.train)
        card = write_card(folder, receipt, tests=tests, costs=costs, precision=precision, pairs=pairs)
        write_text(partial / CARD, card)
        return refuse_large(partial, out)


def read_receipt(path: Path) -> dict[str, Any]:
    try:
        receipt: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = {"recipe", "data", "versions", "machine", "training", "tests"} - receipt.keys()
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            f"cannot read the receipt: {error}", where=str(path), fix="write it with `make receipt`"
        ) from None
    if missing:
        raise DataError(
            f"the receipt lacks {', '.join(sorted(missing))}", where=str(path), fix="write it with `make receipt`"
        )
    return receipt


def tests_of(receipt: dict[str, Any], folder: ModelFolder, where: Path) -> dict[str | None, dict[str, Any]]:
    """The newest test of exactly these weights, in each of the model's directions."""
    weights = checksum(folder.path / WEIGHTS)
    found = {test.get("to"): test for test in receipt["tests"] if test["weights"] == weights}
    asked: tuple[str | None, ...] = folder.tokenizers.languages or (None,)
    for to in asked:
        if to not in found:
            raise DataError(
                f"the receipt has no test of these weights{f' into {to}' if to else ''}",
                where=str(where),
                fix="add the test set to recipes/tests.toml and run recipes/receipt.py again; it then only evaluates",
            )
    return {to: found[to] for to in asked}


def without_this_machine(config: Config) -> Config:
    """The settings, with absolute paths of the training machine cut down to file names."""

    def bare(table: dict[str, Any]) -> dict[str, Any]:
        return {
            key: Path(value).name if key in FILES and Path(value).is_absolute() else value
            for key, value in table.items()
        }

    table = config.model_dump(mode="json", exclude_none=True)
    data = bare(table["data"])
    data.pop("prepared", None)
    for several in ("corpora", "validation"):
        data[several] = [bare(corpus) for corpus in data[several]]
    return parse_config({**table, "data": data}, where="the run's settings")


def refuse_large(folder: Path, out: Path) -> int:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size > MOST:
        raise FolderError(
            f"the model takes {size / 1e6:.1f} MB; the limit is {MOST / 1e6:g} MB",
            where=str(out),
            fix="use --precision int8, or train a smaller model",
        )
    return size


def measure_packing(whole: Translator, packed: Translator, prepared: Prepared) -> list[dict[str, Any]]:
    """Scores on the validation sets, with the run's weights and with the packed ones."""
    decode = change_settings(whole.config, {"engine": "torch"})  # the other engine would leave its files in the box
    found = []
    for data in prepared.validation:
        before, after = (
            [done.text for done in translator.translate(data.sources, to=data.to, decode=decode, on_unknown="skip")]
            for translator in (whole, packed)
        )
        reports = [measure(texts, data.references, resamples=0) for texts in (before, after)]
        same = sum(one == other for one, other in zip(before, after, strict=True)) / len(before)
        found.append({"to": data.to, "lines": len(before), "same": same, "reports": reports})
        whole_bleu, packed_bleu = (report["bleu"].score for report in reports)
        print(f"into {data.to}: BLEU {whole_bleu:.2f}, packed {packed_bleu:.2f}", file=sys.stderr)
    return found


def write_card(
    folder: ModelFolder,
    receipt: dict[str, Any],
    *,
    tests: dict[str | None, dict[str, Any]],
    costs: list[dict[str, Any]],
    precision: Precision,
    pairs: int,
) -> str:
    """Fill in the model card."""
    shape, training, machine = folder.config.model, receipt["training"], receipt["machine"]
    measures = [test[kind] for test in tests.values() for kind in ("bleu", "chrf")]
    signatures = dict.fromkeys(f"- `{measure['name']}|{measure['signature']}`" for measure in measures)
    return BLANK_CARD.read_text(encoding="utf-8").format(
        shape=f"{shape.encoder_layers} + {shape.decoder_layers} layers, d_model {shape.d_model}, {shape.heads} heads, "
        f"d_ff {shape.d_ff}",
        parameters=sum(parameter.numel() for parameter in folder.new_model().parameters()),
        words=folder.tokenizers.target.size,
        kind=folder.tokenizers.target.kind,
        precision=precision,
        pairs=pairs,
        files="\n".join(
            f"- `{Path(path).parent.name}/{Path(path).name}`: {sha}" for path, sha in receipt["data"].items()
        ),
        recipe=receipt["recipe"],
        steps=training["steps"],
        minutes=training["minutes"],
        machine=f"{machine['threads']} of {machine['cores']} cores ({machine['processor']}, {machine['system']})",
        versions=", ".join(f"{name} {version}" for name, version in receipt["versions"].items()),
        tests="\n".join(_test_row(to, test) for to, test in tests.items()),
        signatures="\n".join(signatures),
        costs="\n".join(_cost_row(cost) for cost in costs),
    )


def _test_row(to: str | None, test: dict[str, Any]) -> str:
    bleu, chrf = (f"{test[kind]['score']:.1f} ± {test[kind]['interval']:.1f}" for kind in ("bleu", "chrf"))
    return f"| {_direction(to)} | {test['lines']:,} | {bleu} | {chrf} | {test['date']} |"


def _cost_row(cost: dict[str, Any]) -> str:
    scores = (f"{score:.2f}" for report in cost["reports"] for score in (report["bleu"].score, report["chrf"].score))
    return f"| {_direction(cost['to'])} | {cost['lines']:,} | {' | '.join(scores)} | {cost['same']:.1%} |"


def _direction(to: str | None) -> str:
    return DIRECTIONS.get(to or "", "the model's own")


if __name__ == "__main__":
    main()
