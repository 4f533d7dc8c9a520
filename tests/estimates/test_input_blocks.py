"""Sums over blocks of inputs: bounded, and independent of how rows are batched."""

import numpy as np
import pytest

from qufur.estimates.input_blocks import BASE, MAX_BLOCKS, InputBlocks

RNG = np.random.default_rng(3)


def blocks_of(X, cuts=()):
    blocks = InputBlocks()
    for part in np.split(X, cuts):
        blocks.update(part)
    return blocks


def saved(blocks):
    values, arrays = blocks.save()
    return values, {name: array.tolist() for name, array in arrays.items()}


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_blocks_do_not_depend_on_batches(dim):
    X = RNG.normal(size=(3000, dim)) * 1e3
    for cuts in ([7], range(1, 3000), sorted(RNG.integers(0, 3000, 20))):
        assert saved(blocks_of(X, cuts)) == saved(blocks_of(X))


def test_block_sums_equal_sums_of_rows():
    X = RNG.normal(size=(MAX_BLOCKS * BASE + 5 * BASE, 3))
    blocks = blocks_of(X)
    anchor = X[:BASE].mean(axis=0)
    assert blocks.block == 2 * BASE
    away = (X[: len(blocks.sums) * blocks.block] - anchor).reshape(-1, blocks.block, 3)
    np.testing.assert_allclose(blocks.sums[:, 0], away.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(blocks.sums[:, 1], abs(away).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(blocks.squares, ((X - anchor) ** 2).mean(axis=0))


def test_block_memory_is_bounded():
    blocks = blocks_of(RNG.normal(size=(100_000, 1)))
    assert MAX_BLOCKS / 2 <= len(blocks.sums) <= MAX_BLOCKS
    assert blocks.block * len(blocks.sums) <= 100_000 < blocks.block * (len(blocks.sums) + 1)


@pytest.mark.parametrize("rows", [0, 3, 8, 100, 5000])
def test_restored_blocks_continue(rows):
    X = RNG.normal(size=(6000, 2))
    values, arrays = blocks_of(X[:rows]).save()
    again = InputBlocks.restored(values, arrays)
    again.update(X[rows:])
    assert saved(again) == saved(blocks_of(X))


@pytest.mark.parametrize("rows", [0, 5, 100])
def test_new_column_has_its_constant_from_the_start(rows):
    X = RNG.normal(size=(200, 3))
    X[:rows, 2] = 7.0
    blocks = blocks_of(X[:rows, :2]) if rows else InputBlocks()
    blocks.widen(np.array([7.0]))
    blocks.update(X[rows:])
    np.testing.assert_allclose(blocks.sums, blocks_of(X).sums, atol=1e-12)


def test_wrong_shapes_are_rejected():
    values, arrays = blocks_of(RNG.normal(size=(100, 2))).save()
    for wrong in ({"sums": arrays["sums"][1:]}, {"anchor": np.zeros(3)}):
        with pytest.raises(ValueError, match="sums of the file must be of 12 blocks"):
            InputBlocks.restored(values, arrays | wrong)
