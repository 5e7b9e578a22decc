"""What Python finds with a model, written for `tests/web/compare_engine.mjs`, which holds the page's model to it."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vitrail.config import DecodeConfig
from vitrail.explain.model_file import model_file
from vitrail.runtime import Job
from vitrail.translator import Translator, change_settings
from vitrail.weights import Precision

SCRIPT = Path(__file__).parents[1] / "web" / "compare_engine.mjs"

HOSTILE = [
    "",
    " ",
    "\t\n",
    "a",
    "A  B\tC\nD",
    "▁under▁scores▁",
    "<eos> <0x41> <2fr> <unk>",
    "no-break spaces\u202f! and\u00a0more\u2003wide",
    "\ufeffmark \u200b\u200d\u2060 joiners",
    "\x00nul\x00 \x01\x1b\x1c\x1d\x1e\x1f\x7f\x85 controls",
    "e\u0301te\u0301 \u1e9b\u0323 Å Å \u2126 ﬁ ẞ İI ıi ΑΣ ΣΑΣ. Σ",
    "Ǆ ǅ ǆ ﬀ ŉ ΐ և Ⅷ ⓐ K",
    "l'eau d’or L’ŒUVRE qu'il n’y a-t-il aujourd'hui jusqu'à presqu'île 'quoted' o'clock rock'n'roll",
    "-- a- -b c--d ''e f'' 'g' - ' ’ x'-y",
    '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~…«»“”„‘–—¡¿、。，！？：；（）「」',
    "Fin. Fin! Fin… Fin?! . ! … ..",
    "日本語のテキスト 中文 한국어 ไทย العربية עברית हिन्दी",
    "😀 👨‍👩‍👧‍👦 🇫🇷 𝒳 𐍈 \U0010ffff \ufffd \uffff",
    "a\u0300\u0301\u0302\u0303 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "the the the THE ThE étudiant ÉTUDIANT",
    "1234567890 3.14 1,000 10€ 5% 20°C x² ½",
]


def strange_lines(count: int, seed: int) -> list[str]:
    """Lines of characters from all of Unicode, blanks and marks among them."""
    draw = random.Random(seed)
    ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x2000, 0x206F), (0x3000, 0x30FF)]
    ranges += [(0x1E00, 0x1FFF), (0x2100, 0x218F), (0x4E00, 0x4FFF), (0x1F300, 0x1F6FF), (0xE000, 0xE0FF), (1, 0x1F)]
    return ["".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, 40))) for _ in range(count)]


@dataclass
class Bench:
    """A folder of models and cases."""

    folder: Path
    cases: int = 0
    models: dict[int, tuple[str, Translator]] = field(default_factory=dict)
    kept: list[Translator] = field(default_factory=list)

    def model(self, translator: Translator, precision: Precision | None = None) -> tuple[str, Translator]:
        """Write a translator's file; give its name, and the translator with the weights in it."""
        if id(translator) not in self.models:
            made = model_file(translator, precision)
            name = f"model-{len(self.models)}.safetensors"
            (self.folder / name).write_bytes(made.content)
            self.models[id(translator)] = name, made.translator
            self.kept.append(translator)  # its id must stay its own
        return self.models[id(translator)]

    def tokens(self, translator: Translator, lines: Sequence[str], to: str | None) -> None:
        """How lines split, and how rows of ids read."""
        name, exact = self.model(translator)
        tokenizers = exact.tokenizers
        draw = random.Random(len(lines))
        rows = [[draw.randrange(tokenizers.target.size) for _ in range(draw.randint(0, 12))] for _ in range(200)]
        usable = [line for line in lines if not any("\ud800" <= letter <= "\udfff" for letter in line)]
        self._write(
            name,
            kind="tokens",
            to=to,
            lines=usable,
            source=tokenizers.encode_sources(usable, [to] * len(usable)),
            target=tokenizers.encode_targets(usable),
            rows=rows,
            texts=[tokenizers.decode(row) for row in rows],
        )

    def searches(
        self,
        translator: Translator,
        texts: Sequence[str],
        *,
        to: str | None,
        decode: DecodeConfig,
        plain: bool = False,
    ) -> None:
        """The best translations of texts."""
        name, exact = self.model(translator)
        rows = [exact.tokenizers.encode_source(text, to) for text in texts]
        found = exact.runtime.begin(Job(rows, decode, exact.tokenizers.forbidden))()
        self._write(
            name,
            kind="searches",
            plain=plain,
            settings=decode.model_dump(mode="json"),
            found=[
                {
                    "row": row,
                    "hypotheses": [{"ids": list(one.row), "score": one.score} for one in hypotheses],
                }
                for row, hypotheses in zip(rows, found, strict=True)
            ],
        )

    def trace(
        self,
        translator: Translator,
        text: str,
        *,
        to: str | None,
        decode: dict[str, Any] | None = None,
        prefix: str = "",
        heads_off: dict[str, list[int]] | None = None,
        reference: str = "",
        plain: bool = False,
    ) -> None:
        """Everything about one translation."""
        name, exact = self.model(translator)
        trace = exact.trace(
            text,
            to=to,
            decode=change_settings(exact.config, decode or {}),
            prefix=prefix,
            heads_off=heads_off,
            reference=reference or None,
            layers=[],
        )
        request = {"text": text, "to": to, "decode": decode or {}, "prefix": prefix}
        request |= {"heads_off": heads_off or {}, "reference": reference}
        self._write(name, kind="trace", plain=plain, request=request, trace=trace.to_dict())

    def compare(self) -> dict[str, Any]:
        """What the page's model makes of all cases."""
        command = ["node", str(SCRIPT), str(self.folder)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def _write(self, model: str, **case: Any) -> None:
        self.cases += 1
        path = self.folder / f"case-{self.cases:04}.json"
        path.write_text(json.dumps({"plain": False, **case, "model": model}), encoding="utf-8")
