"""A table that rewrites text: each rule about its offsets, on tables made by hand."""

from __future__ import annotations

import struct

import pytest

from vitrail.text.charsmap import check_charsmap, has_charsmap
from vitrail.text.wire import bytes_field, number_field

LEAF, FAR, VALUE = 1 << 8, 1 << 9, 1 << 31  # flags of a unit: it has a value; its offset counts 256ths; it is a value
TEXTS = "é\0fi\0".encode()


def offset(places: int) -> int:
    return places << 10


def model_of(table: bytes, *, normalizer: int = 3, field: int = 2) -> bytes:
    """A message with a table among other things."""
    return bytes_field(1, b"piece") + bytes_field(normalizer, bytes_field(1, b"nfkc") + bytes_field(field, table))


def table_of(units: dict[int, int], *, count: int = 256, texts: bytes = TEXTS) -> bytes:
    trie = struct.pack(f"<{count}I", *(units.get(place, 0) for place in range(count)))
    return struct.pack("<I", len(trie)) + trie + texts


def leaf_to(place: int) -> dict[int, int]:
    """A unit whose value is a place in the texts."""
    return {7: LEAF | offset(2), 7 ^ 2: VALUE | place}


FINE = [
    table_of({}),
    table_of({}, texts=b"\0"),
    table_of({}, texts=b"x" * 256 + b"\0"),
    *(table_of(leaf_to(place)) for place in (0, 2, 3, len(TEXTS) - 1)),
    table_of({0: offset(255), 255: offset(255)}),
    table_of({0: offset(256)}, count=512),
    table_of({255: FAR | offset(1)}, count=512),
    table_of({9: VALUE | offset(1 << 20)}),  # a value is looked up, not followed
    table_of({9: VALUE | LEAF | offset(1 << 20)}),
    table_of({7: offset(2), 7 ^ 2: VALUE | 999}),  # no leaf: nobody asks for the value
    table_of({7: LEAF | FAR | offset(1), 7 ^ 256: VALUE | 3}, count=512),
    table_of(dict.fromkeys(range(256), VALUE | 999)),
]
REFUSED = [
    (b"", "incomplete"),
    (b"\1\0", "incomplete"),
    (struct.pack("<I", 0) + TEXTS, "incomplete"),
    (table_of({})[:-1], "incomplete"),
    (table_of({}, texts=b""), "incomplete"),
    (table_of({})[:900], "incomplete"),
    (struct.pack("<I", 1022) + bytes(1022) + TEXTS, "incomplete"),
    (struct.pack("<I", 2048) + bytes(1024) + TEXTS, "incomplete"),
    (table_of({}, texts=b"x" * 257 + b"\0"), "long texts"),
    (table_of({}, texts=b"fi\0" + b"x" * 300 + b"\0"), "long texts"),
    (table_of({}, texts=b"\xff\0"), "utf-8"),
    (table_of({}, count=255), "leads out"),
    (table_of({}, count=64), "leads out"),
    (table_of({0: offset(256)}), "leads out"),
    (table_of({100: FAR | offset(1)}), "leads out"),
    (table_of({100: FAR | offset(2)}, count=512), "leads out"),
    (table_of({3: offset((1 << 21) - 1)}), "leads out"),
    (table_of(leaf_to(len(TEXTS))), "not the place of a text"),
    (table_of(leaf_to(1)), "not the place of a text"),  # within é
    (table_of(leaf_to(1 << 30)), "not the place of a text"),
    (table_of({7: LEAF | FAR | offset(1), 7 ^ 256: VALUE | 1}, count=512), "not the place of a text"),
]


@pytest.mark.parametrize("table", FINE)
@pytest.mark.parametrize("normalizer", [3, 5])
def test_a_table_whose_offsets_stay_inside_is_accepted(table, normalizer):
    model = model_of(table, normalizer=normalizer)
    assert has_charsmap(model)
    check_charsmap(model)


@pytest.mark.parametrize(("table", "what"), [one for one in REFUSED if one[0]])
@pytest.mark.parametrize("normalizer", [3, 5])
def test_a_table_that_leads_elsewhere_is_refused(table, what, normalizer):
    with pytest.raises(ValueError, match=what):
        check_charsmap(model_of(table, normalizer=normalizer))
    with pytest.raises(ValueError, match=what):  # the second normaliser's is checked as well
        check_charsmap(model_of(FINE[0]) + model_of(table, normalizer=normalizer))


def test_only_a_normalisers_table_is_one():
    broken = REFUSED[1][0]
    for model in (model_of(broken, normalizer=4), model_of(broken, field=3), model_of(b""), b"", number_field(3, 9)):
        assert not has_charsmap(model)
        check_charsmap(model)
    for function in (has_charsmap, check_charsmap):
        with pytest.raises(ValueError, match="protobuf"):
            function(b"\7")
