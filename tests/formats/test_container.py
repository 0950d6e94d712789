"""Containers, stores and weights: exact round trips, every flipped bit found, and a sentence for every bad file."""

from __future__ import annotations

import json
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples
from strategies import stores

from rampion.errors import InputError, StoreError
from rampion.formats import container, store, weights
from rampion.store.candidates import Candidates
from rampion.store.features import Features, Weights
from rampion.store.text import Texts

ARRAYS = {
    "a": np.arange(7, dtype=np.int64),
    "b": np.zeros((0, 3)),
    "c": np.array([[1.5, -0.0], [np.inf, np.nan]]),
    "d": np.frombuffer(b"bytes", np.uint8),
}


def with_header(header, content=b""):
    """A file with a header of our own that has the right checksum."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw += b" " * (-(len(raw) + 16) % 64)
    return struct.pack("<7sBII", container.NAME, container.VERSION, len(raw), zlib.crc32(raw)) + raw + content


@pytest.fixture
def path(tmp_path):
    container.write(tmp_path / "x", "test", ARRAYS, {"width": 3, "ü": [1]})
    return tmp_path / "x"


def test_a_container_gives_back_what_it_got(path):
    arrays, meta = container.opened(path, "test")
    assert meta == {"width": 3, "ü": [1]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        assert (array.dtype, array.shape, array.tobytes()) == (
            ARRAYS[name].dtype,
            ARRAYS[name].shape,
            ARRAYS[name].tobytes(),
        )
        assert not array.flags.writeable
        assert array.size == 0 or array.ctypes.data % 64 == 0


def test_a_flipped_bit_in_any_byte_is_found(path):
    content = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for place, byte in enumerate(content):
            os.pwrite(file.fileno(), bytes([byte ^ 1 << place % 8]), place)
            with pytest.raises(StoreError, match="x: "):
                container.opened(path, "test")
            os.pwrite(file.fileno(), bytes([byte]), place)
    container.opened(path, "test")


@pytest.mark.parametrize("name", ["x.gz", "x.zst"])
def test_a_container_is_not_packed(tmp_path, name):
    with pytest.raises(InputError, match="is mapped into memory and cannot be packed; drop the ending"):
        container.write(tmp_path / name, "test", ARRAYS, {})


@pytest.mark.parametrize("keep", [0, 1, 15, 16, 17, 100, -64, -1])
def test_every_cut_is_found(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match=r"x: (is no|is cut off|has .* bytes, but)"):
        container.opened(path, "test")


def entry(**changes):
    return {"kind": "test", "meta": {}, "arrays": [{"name": "a", "dtype": "<f8", "shape": [1], "crc32": 0} | changes]}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"0 ||| a ||| L= 1\n", "x: is no test file of Rampion"),
        (struct.pack("<7sBII", container.NAME, 9, 0, 0), "x: has format version 9, this Rampion reads version 1"),
        (
            struct.pack("<7sBII", container.NAME, 1, 2**32 - 1, 0),
            "x: is cut off: 16 bytes, and its header alone says 4294967311",
        ),
        (struct.pack("<7sBII", container.NAME, 1, 0, 7), "x: the header is damaged"),
        (with_header(entry(shape=[2**62])), "x: has 192 bytes, but its header says 3689348814741910"),
        (with_header(entry(shape=[0] + [2**62] * 4)), "x: holds an empty array with a side longer than the file"),
        (with_header(entry(shape=[1] * 33)), "x: the header is not one that Rampion writes"),
        (with_header(entry() | {"arrays": entry()["arrays"] * 2}, bytes(128)), "two arrays of the same name"),
        (with_header(entry(shape=[-1])), "x: the header is not one that Rampion writes"),
        (with_header(entry(shape=[True])), "the header is not one that Rampion writes"),
        (with_header(entry(shape=None)), "the header is not one that Rampion writes"),
        (with_header(entry(dtype="|O")), "the header is not one that Rampion writes"),
        (with_header(entry(dtype=["<f8"])), "the header is not one that Rampion writes"),
        (with_header(entry(extra=1)), "the header is not one that Rampion writes"),
        (with_header(entry(name=3)), "the header is not one that Rampion writes"),
        (with_header([]), "the header is not one that Rampion writes"),
        (with_header(b"[" * 100_000), "the header is not one that Rampion writes"),
        (with_header(b"\xff"), "the header is not one that Rampion writes"),
        (with_header({"kind": "other", "meta": {}, "arrays": []}), "x: holds other, expected test"),
        (with_header(entry(), bytes(64)), "x: the array a is damaged"),
        (with_header(entry()), "x: has 128 bytes, but its header says 192"),
    ],
)
def test_hostile_files_are_refused_before_anything_is_mapped(tmp_path, content, sentence):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(StoreError, match=sentence):
        container.opened(tmp_path / "x", "test")


@pytest.mark.parametrize(("name", "sentence"), [("", "Is a directory"), ("none", "No such file")])
def test_what_cannot_be_opened(tmp_path, name, sentence):
    with pytest.raises(InputError, match=f"cannot be read: {sentence}"):
        container.opened(tmp_path / name, "test")


@examples(100)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
    st.sampled_from(list(entry()["arrays"][0])),
)
def test_any_header_is_refused_in_a_sentence(tmp_path_factory, value, key):
    path = tmp_path_factory.mktemp("fuzz") / "x"
    for header in (
        entry(**{key: value}),
        entry() | {"arrays": value},
        entry() | {"meta": value},
        entry() | {"kind": value},
        value,
    ):
        path.write_bytes(with_header(header, bytes(64)))
        with pytest.raises(StoreError):
            container.opened(path, "test")


@examples(40)
@given(stores())
def test_a_store_comes_back_bit_for_bit(tmp_path_factory, candidates):
    path = tmp_path_factory.mktemp("store") / "x"
    store.write(path, candidates)
    back = store.read(path)
    assert back.meta() == candidates.meta()
    assert {name: array.tobytes() for name, array in back.arrays().items()} == {
        name: array.tobytes() for name, array in candidates.arrays().items()
    }


@examples(40)
@given(stores(), st.data())
def test_a_store_whose_arrays_do_not_fit_is_refused(tmp_path_factory, candidates, data):
    """The checksums are right, the arrays are not: what a hostile writer would make."""
    path, arrays = tmp_path_factory.mktemp("store") / "x", dict(candidates.arrays())
    name = data.draw(st.sampled_from(sorted(arrays)))
    if data.draw(st.booleans()):
        del arrays[name]
    else:
        arrays[name] = np.append(arrays[name], np.array([data.draw(st.integers(0, 255))], arrays[name].dtype))
    container.write(path, "candidates", arrays, candidates.meta())
    try:
        back = store.read(path)
    except StoreError as error:
        refused = str(error)
        assert refused.startswith(f"{path}: ")
    else:
        assert isinstance(back, Candidates)


name = st.text(st.sampled_from("abé_~.,"), min_size=1, max_size=4)


@st.composite
def some_weights(draw):
    sizes = draw(st.dictionaries(name, st.integers(1, 3), max_size=4))
    dense = [n if size == 1 else f"{n}[{k}]" for n, size in sizes.items() for k in range(size)]
    names = dense + draw(st.lists(name.filter(lambda n: n not in sizes), unique=True, min_size=not dense, max_size=4))
    values = draw(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=len(names), max_size=len(names)))
    return Weights(Features(Texts.from_strings(names), len(dense)), np.array(values))


@given(some_weights(), st.sampled_from(["w", "w.gz", "w.bin"]))
def test_weights_come_back_bit_for_bit(tmp_path_factory, given_weights, file):
    path = tmp_path_factory.mktemp("weights") / file
    weights.write(path, given_weights)
    back = weights.read(path)
    assert back.features.same(given_weights.features)
    assert back.vector.tobytes() == given_weights.vector.tobytes()


def read_weights(tmp_path, text):
    (tmp_path / "w").write_text(text)
    return weights.read(tmp_path / "w")


def test_a_repeated_label_continues_its_group(tmp_path):
    found = read_weights(tmp_path, "# a comment\nTM= 0.5\nLM= -1\n\nTM= 1e-3 2\r\nWT_a~b 3\n")
    assert dict(found) == {"TM[0]": 0.5, "TM[1]": 1e-3, "TM[2]": 2.0, "LM": -1.0, "WT_a~b": 3.0}
    assert found.features.width == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("LM=\n", "w:1: 'LM=' is no weight; expected 'Name= v v v' or 'name v'"),
        ("LM= 1\nb\n", "w:2: 'b' is no weight"),
        ("= 1\n", "w:1: '= 1' is no weight"),
        ("a 1 2\n", "w:1: 'a 1 2' is no weight"),
        ("a x\n", "w:1: 'x' is not a finite number"),
        ("LM= 1 nan\n", "w:1: 'nan' is not a finite number"),
        ("LM= 1_0\n", "w:1: '1_0' is not a finite number"),
        ("a 1\na 1\n", "w:2: feature a has a weight already"),
        ("a= 1\na 1\n", "w: feature a has two weights"),
        ("T= 1 2\nT[1]= 3\n", r"w: feature T\[1\] has two weights"),
        ("# nothing\n", "w: holds no weights"),
    ],
)
def test_a_sentence_for_every_bad_weight(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_weights(tmp_path, text)


@pytest.mark.parametrize("bad", ["a b", "#a", "a=", ""])
def test_names_that_text_cannot_hold(tmp_path, bad):
    strange = Weights(Features(Texts.from_strings([bad]), 0), np.ones(1))
    with pytest.raises(InputError, match=r"cannot be written to a text file of weights; write a \.bin file"):
        weights.write(tmp_path / "w", strange)
    weights.write(tmp_path / "w.bin", strange)
    assert dict(weights.read(tmp_path / "w.bin")) == {bad: 1.0}


@pytest.mark.parametrize(
    ("changes", "meta", "sentence"),
    [
        ({"values": None}, {"width": 1}, "its array values is missing"),
        ({}, {}, "its width is None, expected a count"),
        ({}, {"width": "1"}, "its width is 1, expected a count"),
        ({}, {"width": 3}, "3 of 2 features are dense"),
        ({"blob": np.frombuffer(b"\xff\xff", np.uint8)}, {"width": 1}, "holds a string of blob that is not UTF-8"),
        ({"blob": np.frombuffer("é".encode(), np.uint8)}, {"width": 1}, "holds a string of blob that is not UTF-8"),
        ({"values": np.ones(3)}, {"width": 1}, r"has 3 numbers, expected 2 \(names\)"),
        ({"values": np.array([1.0, np.nan])}, {"width": 1}, "values holds a number that is not finite"),
        ({"values": np.ones(2, np.int64)}, {"width": 1}, "values is not of the type float64"),
        ({"bounds": np.array([0, 5, 2])}, {"width": 1}, r"bounds does not rise from 0 to 2 \(blob\)"),
        ({"bounds": np.array([0, 2**62, 2])}, {"width": 1}, "bounds does not rise from 0 to 2"),
        ({"bounds": np.zeros((0,), np.int64)}, {"width": 1}, "bounds has 0 numbers, expected 1"),
        ({"bounds": np.zeros((2, 2), np.int64)}, {"width": 1}, "bounds has 2 dimensions, expected 1"),
        ({"blob": np.frombuffer(b"aa", np.uint8)}, {"width": 1}, "a name appears twice"),
        ({"more": np.ones(1)}, {"width": 1}, "it holds an array 'more', which a weights file does not have"),
    ],
)
def test_binary_weights_that_do_not_fit(tmp_path, changes, meta, sentence):
    names = Texts.from_strings(["a", "b"])
    arrays = {"blob": names.blob, "bounds": names.bounds, "values": np.ones(2)} | changes
    container.write(tmp_path / "w", "weights", {n: a for n, a in arrays.items() if a is not None}, meta)
    with pytest.raises(StoreError, match=f"w: .*({sentence})"):
        weights.read(tmp_path / "w")
