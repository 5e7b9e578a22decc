"""The watch over the shape suffixes watches: it is on in every test, and sees what it is there to see."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

import vitrail
import vitrail.model

INSIDE = str(Path(vitrail.__file__).parent / "made_up.py")


@pytest.fixture
def watch(true_suffixes: Any) -> Any:
    """A watch of one's own, whose findings fail no test."""
    return type(true_suffixes)()


def made_up(code: str, file: str = INSIDE) -> dict[str, Any]:
    """What some code defines, as if it stood in a file of the package."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile(code, file, "exec"), names)
    return names


def test_it_is_on_in_this_test_and_in_its_threads(true_suffixes: Any) -> None:
    assert sys.gettrace().__self__ is true_suffixes  # type: ignore[union-attr]
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(sys.gettrace()))
    thread.start()
    thread.join()
    assert found[0].__self__ is true_suffixes


def test_every_letter_of_the_legend_counts(watch: Any) -> None:
    legend = vitrail.model.__doc__ or ""
    letters = [line.split()[0] for line in legend.splitlines() if line.startswith("    ") and line[5:7] == "  "]
    assert {"B", "C", "I", "O", "V", "1"} <= set(letters)
    for letter in letters:
        assert watch.lies({f"x_{letter}": torch.zeros(2, 3)}) == [f"x_{letter} has shape (2, 3)"]


@pytest.mark.parametrize(
    ("code", "lie"),
    [
        ("def f(): x_BT = torch.zeros(2, 3, 4)", "x_BT has shape (2, 3, 4)"),
        ("def f(): x_BC, y_CB = torch.zeros(2, 3), torch.zeros(2, 3)", "y_CB has shape (2, 3), but C is 3"),
        ("def f(): x_IO, y_O = torch.zeros(2, 3), torch.zeros(2)", "y_O has shape (2,), but O is 3"),
        ("def f(): x_B1 = torch.zeros(2, 3)", "x_B1 has shape (2, 3), but 1 is 1"),
        ("def f(): x_2N = torch.zeros(3, 4)", "x_2N has shape (3, 4), but 2 is 2"),
        ("def f():\n x_B = torch.zeros(2, 2)\n return lambda: x_B", "x_B has shape (2, 2)"),
        ("def f(): list(g())\ndef g():\n x_B = torch.zeros(2, 2)\n yield x_B", "x_B has shape (2, 2)"),
    ],
)
def test_a_lie_is_found_when_a_function_returns(watch: Any, code: str, lie: str) -> None:
    function = made_up(code)["f"]
    with watch.watching():
        function()
    assert [found.partition(": ")[2] for found in watch.found][:1] == [lie]


def test_a_dataclass_lies_when_it_is_made(watch: Any) -> None:
    code = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Live:\n ids_BW: object\n sums_B: object"
    live = made_up(code)["Live"]
    with watch.watching():
        live(torch.zeros(2, 3), torch.zeros(2))
        assert not watch.found
        live(torch.zeros(2, 3), torch.zeros(3))
    assert [found.partition(": ")[2] for found in watch.found] == ["sums_B has shape (3,), but B is 2"]


def test_what_is_true_broadcast_unfinished_or_not_ours_is_no_lie(watch: Any) -> None:
    true = made_up("def f(): x_BT, y_BT, z_2B = torch.zeros(2, 3), torch.zeros(1, 3), torch.zeros(2, 2)")["f"]
    unfinished = made_up("def f():\n x_B, y_B = torch.zeros(2), torch.zeros(3)\n raise KeyError")["f"]
    others = made_up("def f(): x_B = torch.zeros(2, 3)", file="/somewhere/else.py")["f"]
    with watch.watching():
        true()
        others()
        with pytest.raises(KeyError):
            unfinished()
    assert watch.found == []
    assert watch.checked == {"x_BT", "y_BT", "z_2B"}
