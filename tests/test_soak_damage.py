"""Damaged files, many of them: each is refused, or what it says is what was saved."""

import json

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from qufur import FisherSoftmax, FixedBudget, KernelRidge, Learner, Paced, Ridge, Uniform

from .soak import times
from .test_snapshot import X, same

KINDS = [
    (Ridge(2), Paced(20, 30)),
    (KernelRidge(RBF(0.5)), FixedBudget(40, 30)),
    (FisherSoftmax(2, 2), Uniform(0.5)),
    (Ridge(2, half_life=20), Uniform(0.5, budget=6)),
]


def flip_bits(rng, raw):
    for place in rng.integers(0, len(raw), rng.integers(1, 5)):
        raw[place] ^= 1 << rng.integers(8)


def cut_off(rng, raw):
    del raw[rng.integers(len(raw)) :]


def swap_blocks(rng, raw):
    size = int(rng.integers(1, 400))
    a, b = rng.integers(0, len(raw) - size, 2)
    raw[a : a + size], raw[b : b + size] = raw[b : b + size], raw[a : a + size]


def insert(rng, raw):
    place = rng.integers(len(raw) + 1)
    raw[place:place] = rng.bytes(rng.integers(1, 20))


def remove(rng, raw):
    place = rng.integers(len(raw))
    del raw[place : place + rng.integers(1, 20)]


def blank(rng, raw):
    place = rng.integers(len(raw))
    raw[place : place + 64] = bytes(len(raw[place : place + 64]))


def edit_header(rng, raw):
    """Change one character of the header for another that is in it."""
    end = header_end(raw)
    raw[rng.integers(8, end)] = raw[rng.integers(8, end)]


def edit_values(rng, raw):
    """Change one number or word of the values, and keep the header whole."""
    header = json.loads(raw[8 : header_end(raw)])
    text = header["__metadata__"]["qufur"]
    place = int(rng.integers(len(text)))
    header["__metadata__"]["qufur"] = (
        text[:place] + str(rng.choice(list("0123456789ae.- "))) + text[place + 1 :]
    )
    rewrite(raw, header)


def move_arrays(rng, raw):
    """Give an array the name, the place, the type or the shape of another, or list them in another order."""
    header = json.loads(raw[8 : header_end(raw)])
    one, other = rng.choice(sorted(header.keys() - {"__metadata__"}), 2)
    part = rng.choice(["data_offsets", "dtype", "shape", "order"])
    if part == "order":
        header = {name: header[name] for name in rng.permutation(sorted(header)).tolist()}
    else:
        header[one][part], header[other][part] = header[other][part], header[one][part]
    rewrite(raw, header)


def header_end(raw):
    return 8 + int.from_bytes(raw[:8], "little")


def rewrite(raw, header):
    end, text = header_end(raw), json.dumps(header).encode()
    raw[:end] = len(text).to_bytes(8, "little") + text


def damaged(rng, whole, damage):
    """Return the bytes with this damage; blocks of zeros swapped for another are none."""
    raw = bytearray(whole)
    while raw == whole:
        damage(rng, raw)
    return raw


DAMAGES = (flip_bits, cut_off, swap_blocks, insert, remove, blank, edit_header, edit_values, move_arrays)


@pytest.mark.parametrize(("model", "rule"), KINDS, ids=repr)
def test_damaged_files(tmp_path, model, rule):
    rng, file = np.random.default_rng(6), tmp_path / "learner"
    learner = Learner(model, rule, seed=1)
    learner.ask_many(X[:12])
    learner.tell(learner.outstanding[0], 1.0)
    learner.save(file)
    whole, refused, equal = file.read_bytes(), 0, 0
    for i in range(times(100_000 // len(KINDS))):
        file.write_bytes(damaged(rng, whole, DAMAGES[i % len(DAMAGES)]))
        try:
            loaded = Learner.load(file)
        except ValueError as error:
            assert str(error).startswith(
                f"path of Learner.load must be a file that Learner.save wrote, got '{file}'"
            )
            assert "\n" not in str(error)
            refused += 1
        else:
            assert same(loaded, learner)
            equal += 1
    print(f"{refused} damaged files refused, {equal} equal")
    assert refused > equal > 0
