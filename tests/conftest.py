"""What the tests share: small models with distinct sizes, and a watch over the shape suffixes."""

from __future__ import annotations

import dataclasses
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import vitrail

# A shell starts what runs in the background deaf to Ctrl-C, and so would be the commands that tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)

_PACKAGE = str(Path(vitrail.__file__).parent)
_SUFFIX = re.compile(r"_([BSTDFHGKVWNRLMP1]+)$")


class SuffixWatch:
    """Compares the suffixes of local variables (`q_BHTK`) with their real shapes whenever a function of ours returns.

    An axis called 1 has size 1. A letter stands for one size throughout a function, and for the size given in `sizes`
    where there is one; 1 may stand in for any letter, since it broadcasts.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.found: list[str] = []
        self.checked: set[str] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self._on_event)
        try:
            yield
        finally:
            sys.setprofile(before)

    def lies(self, names: Mapping[str, Any]) -> list[str]:
        """What is wrong with the suffixes of these names."""
        sizes, lies = dict(self.sizes), []
        for name, value in names.items():
            suffix, shape = _SUFFIX.search(name), getattr(value, "shape", None)
            if suffix is None or shape is None:
                continue
            self.checked.add(name)
            if len(suffix[1]) != len(shape):
                lies.append(f"{name} has shape {tuple(shape)}")
                continue
            for letter, size in zip(suffix[1], shape, strict=True):
                expected = 1 if letter == "1" else sizes.setdefault(letter, size) if size != 1 else size
                if size != expected:
                    lies.append(f"{name} has shape {tuple(shape)}, but {letter} is {expected}")
        return lies

    def _on_event(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "return" or not frame.f_code.co_filename.startswith(_PACKAGE):
            return
        scopes = [frame.f_locals]
        scopes += [vars(v) for v in frame.f_locals.values() if dataclasses.is_dataclass(v) and hasattr(v, "__dict__")]
        place = f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}"
        self.found += [f"{place}: {lie}" for scope in scopes for lie in self.lies(scope)]


@pytest.fixture(scope="module")
def true_suffixes() -> Iterator[SuffixWatch]:
    """Fail the module if any shape suffix in Vitrail's code lied while its tests ran."""
    watch = SuffixWatch()
    with watch.watching():
        yield watch
    assert not watch.found, "\n".join(sorted(set(watch.found)))


@pytest.fixture(scope="session")
def small_model() -> Callable[..., Any]:
    """Build a small Transformer: every size different, every parameter random, no dropout unless asked for."""
    import torch

    from vitrail.config import ModelConfig
    from vitrail.model import Transformer

    defaults: dict[str, Any] = {"d_model": 24, "heads": 4, "d_k": 10, "d_ff": 40, "dropout": 0.0}
    defaults |= {"encoder_layers": 2, "decoder_layers": 2, "max_distance": 3, "max_positions": 64}

    def build(*, seed: int = 0, vocabulary: tuple[int, int] = (31, 31), **options: Any) -> Transformer:
        torch.manual_seed(seed)
        model = Transformer(ModelConfig(**{**defaults, **options}), *vocabulary)
        with torch.no_grad():
            for parameter in model.parameters():  # biases of 0 and gains of 1 would hide mistakes
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        return model.eval()

    return build


@pytest.fixture(scope="session")
def small_translator(small_model: Callable[..., Any]) -> Callable[..., Any]:
    """Build a small translator with random weights, from words w0 … w24 to words w0 … w24, into en and fr."""
    from vitrail.config import DecodeConfig
    from vitrail.text import Tokenizers, WordVocabulary
    from vitrail.translator import Translator

    vocabulary = WordVocabulary([f"w{number}" for number in range(25)], ["en", "fr"])

    def build(*, decode: DecodeConfig | None = None, **options: Any) -> Translator:
        model = small_model(vocabulary=(vocabulary.size, vocabulary.size), **options)
        return Translator(model, Tokenizers(vocabulary, vocabulary, ("en", "fr")), decode or DecodeConfig(max_extra=3))

    return build
