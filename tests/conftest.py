"""What the tests share: small models with distinct sizes, and a watch over the shape suffixes."""

from __future__ import annotations

import ast
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import settings

import vitrail

# A shell starts what runs in the background deaf to Ctrl-C, and so would be the commands that tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test depends on the clock: a busy machine is no failure.
settings.register_profile("vitrail", deadline=None)
settings.load_profile("vitrail")

_PACKAGE = Path(vitrail.__file__).parent


def _letters() -> str:
    """The axes of the legend, one letter each. Digits are axes of that size."""
    legend = ast.get_docstring(ast.parse((_PACKAGE / "model" / "__init__.py").read_text(encoding="utf-8"))) or ""
    letters = "".join(re.findall(r"^ {4}([A-Z])  \S", legend, re.MULTILINE))
    assert {"B", "S", "T", "D"} <= set(letters), "the legend in model/__init__.py is written in another way"
    return letters


_SUFFIX = re.compile(rf"_([{_letters()}1-9]+)$")


@pytest.fixture(autouse=True, scope="session")
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests leave the user's cache alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


class SuffixWatch:
    """Compares the suffixes of local variables (`q_BHTK`) with their real shapes whenever a function of ours returns.

    An axis called 1 has size 1, and 2 size 2. A letter stands for one size throughout a function, and for the size
    given in `sizes` if there is one; 1 may stand in for any letter, since it broadcasts. The fields of a dataclass are
    looked at when it is made: they are the variables of its `__init__`.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.found: list[str] = []
        self.checked: set[str] = set()
        # Each function's variables to look at, by the id of its code: comparing code itself would take long.
        self._suffixed: dict[int, list[tuple[str, str]]] = {}
        self._codes: list[CodeType] = []  # kept, so that no id is given twice
        self._raised: set[int] = set()  # functions that an exception went through

    @contextmanager
    def watching(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._on_call)
        threading.settrace(self._on_call)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]

    def lies(self, names: Mapping[str, Any]) -> list[str]:
        """What is wrong with the suffixes of these names."""
        return self._lies(names, [(name, suffix[1]) for name in names if (suffix := _SUFFIX.search(name))])

    def _lies(self, values: Mapping[str, Any], suffixed: Iterable[tuple[str, str]]) -> list[str]:
        sizes, lies = dict(self.sizes), []
        for name, suffix in suffixed:
            shape = getattr(values.get(name), "shape", None)
            if shape is None:
                continue
            self.checked.add(name)
            if len(suffix) != len(shape):
                lies.append(f"{name} has shape {tuple(shape)}")
                continue
            for letter, size in zip(suffix, shape, strict=True):
                expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size) if size != 1 else size
                if size != expected:
                    lies.append(f"{name} has shape {tuple(shape)}, but {letter} is {expected}")
        return lies

    def _on_call(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        """Go along with a function that has suffixed variables: Python then reports its return."""
        code = frame.f_code
        suffixed = self._suffixed.get(id(code))
        if suffixed is None:
            suffixed = self._learn(code)
        if not suffixed:
            return None
        frame.f_trace_lines = False
        return self._on_event

    def _learn(self, code: CodeType) -> list[tuple[str, str]]:
        is_ours = code.co_filename.startswith(str(_PACKAGE)) or code.co_filename == "<string>"  # a dataclass
        names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars) if is_ours else ()
        suffixed = [(name, suffix[1]) for name in names if (suffix := _SUFFIX.search(name))]
        self._suffixed[id(code)] = suffixed
        self._codes.append(code)
        return suffixed

    def _on_event(self, frame: FrameType, event: str, value: object) -> Callable[..., Any]:
        if event == "exception":
            self._raised.add(id(frame))
        if event == "return":
            # Left by an exception, a loop holds variables of two turns, which may differ in size.
            was_left_early = value is None and id(frame) in self._raised
            self._raised.discard(id(frame))
            if not was_left_early:
                code = frame.f_code
                lies = self._lies(frame.f_locals, self._suffixed[id(code)])
                self.found += [f"{Path(code.co_filename).name}:{code.co_name}: {lie}" for lie in lies]
        return self._on_event


_WATCH = SuffixWatch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Watch the suffixes while fixtures run."""
    _WATCH.found.clear()
    with _WATCH.watching():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test if a shape suffix in Vitrail's code lied while it ran, or while its fixtures did."""
    with _WATCH.watching():
        result = yield
    assert not _WATCH.found, "\n".join(sorted(set(_WATCH.found)))
    return result


@pytest.fixture(scope="module")
def true_suffixes() -> Iterator[SuffixWatch]:
    """The watch over the shape suffixes, to tell it sizes, or to see what it saw."""
    yield _WATCH
    _WATCH.sizes = {}


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
