"""Translate a file with CTranslate2 and sentencepiece, as a person would write it who knows both.

The model is the converted form of a Vitrail model, whose tokens are named by their ids.
"""

import argparse
import time

import ctranslate2
import sentencepiece

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("vocabulary")
parser.add_argument("input")
parser.add_argument("output")
parser.add_argument("--language", type=int, nargs="*", default=[], help="ids to put before each source")
parser.add_argument("--beam", type=int, default=1)
parser.add_argument("--precision", default="float32")
parser.add_argument("--replicas", type=int, default=2)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--singly", type=int, default=0, help="translate this many sentences one at a time")
EOS = 3


def main(options: argparse.Namespace) -> dict[str, object]:
    words = sentencepiece.SentencePieceProcessor(options.vocabulary)
    translator = ctranslate2.Translator(
        options.model,
        compute_type=options.precision,
        inter_threads=options.replicas,
        intra_threads=options.threads,
    )

    def translate(lines: list[str]) -> tuple[list[str], int]:
        rows = [[str(token) for token in [*options.language, *ids, EOS]] for ids in words.encode(lines)]
        longest = max(map(len, rows)) + 50
        results = translator.translate_batch(
            rows, max_batch_size=options.batch, beam_size=options.beam, max_decoding_length=longest, max_input_length=0
        )
        ids = [[int(token) for token in result.hypotheses[0]] for result in results]
        return words.decode(ids), sum(map(len, ids))

    with open(options.input, encoding="utf-8") as file:  # noqa: PTH123 - as a person would write it
        lines = file.read().splitlines()
    translate(lines[:8])  # warm up
    started = time.perf_counter()
    texts, tokens = translate(lines)
    with open(options.output, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("".join(f"{text}\n" for text in texts))
    seconds = time.perf_counter() - started
    latencies = []
    for line in lines[: options.singly]:
        started = time.perf_counter()
        translate([line])
        latencies.append(time.perf_counter() - started)
    return {"seconds": seconds, "tokens": tokens, "latencies": latencies}


if __name__ == "__main__":
    import json

    from memory_peak import peak_mb

    print(json.dumps({**main(parser.parse_args()), "peak_mb": peak_mb()}))
