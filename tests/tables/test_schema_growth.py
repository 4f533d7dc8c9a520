"""Growth of an encoding: later tables append inputs, and earlier inputs do not change."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refusal
from tests.tables.test_tables import TABLES, fuzzed, write

from qufur.tables import Batch, Encoding, Growth, read
from qufur.tables.categorical import Categorical
from qufur.tables.columns import Missing, Numeric
from qufur.tables.number_formats import Amount

PRICE = Amount("price", (3.0,), (0.0,), unit="€", example="€ 3")
FIRST = Batch({"wind": [1, 3], "sky": ["fog", "storm"], "height": [7, 7]}, 1, "first.csv")


def grown(encoding, *batches, **options):
    """Return the growth after a pass over these batches."""
    growth = Growth(encoding, **options)
    for batch in batches:
        growth.add(batch)
    return growth


def later(rows=2, **columns):
    """Return a table with the given columns; the others are constant at a value of the first table."""
    default = {name: [column[1]] * rows for name, column in FIRST.columns.items()}
    return Batch(
        {name: cells for name, cells in (default | columns).items() if cells is not None}, 1, "t.csv"
    )


CASES = {
    "nothing": (later(), {}, []),
    "a category": (later(sky=["hail", "fog"]), {}, [Categorical("sky", ("hail",))]),
    "categories": (later(3, sky=["rain", "hail", "rain"]), {}, [Categorical("sky", ("hail", "rain"))]),
    "an empty number": (later(wind=[None, 2]), {"impute": True}, [Missing("wind", numeric=True)]),
    "an empty category": (later(sky=["fog", None]), {"impute": True}, [Missing("sky", numeric=False)]),
    "no number": (later(wind=["n/a", "2"]), {"impute": True}, [Missing("wind", numeric=True)]),
    "a column less": (later(wind=None), {"impute": True}, [Missing("wind", numeric=True)]),
    "a column": (
        later(gate=[2, 4]),
        {"add": ["gate"]},
        [Numeric("gate", (3.0,), (1.0,), scaled=True, added=True)],
    ),
    "a column with empty cells": (
        later(3, gate=[2, None, 4]),
        {"add": ["gate"], "impute": True},
        [Numeric("gate", (3.0,), (1.0,), scaled=True, added=True)],
    ),
    "a column of codes": (
        later(gate=[2, 4]),
        {"add": ["gate", "gate"], "categorical": ["gate"]},
        [Categorical("gate", ("2", "4"))],
    ),
    "a list": (
        later(radar=["[1, 2]", "[1, 4]"]),
        {"add": ["radar"], "embedding": "radar"},
        [Numeric("radar", (1.0, 3.0), (0.0, 1.0), vector=True, added=True)],
    ),
    "begins to vary": (later(height=[7, 10]), {}, [Numeric("height", (7.0,), (4.5**0.5,))]),
    "is another constant": (later(height=[9, 9]), {}, [Numeric("height", (7.0,), (2.0,))]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scale", [True, False], ids=["scaled", "raw"])
def test_grown_columns_are_appended_and_constant_for_earlier_rows(case, scale):
    table, options, expected = CASES[case]
    expected = [entry for entry in expected if scale or "height" not in entry.name]
    for j, entry in enumerate(expected):
        if isinstance(entry, Numeric) and not scale:
            expected[j] = dataclasses.replace(entry, scaled=False)
    encoding = Encoding.of([FIRST], scale=scale)
    growth = grown(encoding, table, scale=scale, **options)
    new = growth.grown
    assert list(new.columns[:3]) == list(encoding.columns)
    assert list(new.columns[3:]) == expected
    assert new.encode(table).shape == (len(table), new.dim)
    # A column that the first table lacks is encoded like missing cells.
    X = Encoding(new.columns, impute=True).encode(FIRST)
    np.testing.assert_array_equal(X[:, : encoding.dim], encoding.encode(FIRST))
    np.testing.assert_array_equal(X[:, encoding.dim :], np.tile(growth.before, (2, 1)))
    assert Encoding.from_state(json.loads(json.dumps(new.state()))) == new


def test_second_pass_over_a_table_adds_nothing():
    encoding = Encoding.of([FIRST])
    for table, options, _ in CASES.values():
        encoding = grown(encoding, table, **options).grown
    # After the first table with an empty cell, empty cells are allowed.
    for table, options, _ in CASES.values():
        again = grown(encoding, table, **options)
        assert (again.grown, again.before, again.added, again.offered) == (encoding, [], [], [])


def test_grown_encoding_encodes_missing_cells_and_new_columns():
    table = later(3, wind=["n/a", None, "5"], sky=["fog", "hail", None], gate=[2, 4, None])
    growth = grown(Encoding.of([FIRST], scale=False), table, add=["gate"], impute=True, scale=False)
    assert growth.grown.names[4:] == ["wind missing", "sky missing", "sky=hail", "gate", "gate known"]
    np.testing.assert_array_equal(
        growth.grown.encode(table),
        [
            [2, 1, 0, 7, 1, 0, 0, 2, 1],
            [2, 0, 0, 7, 1, 0, 1, 4, 1],
            [5, 0, 0, 7, 0, 1, 0, 3, 0],
        ],
    )
    assert growth.before == [0, 0, 0, 3, 0]


def test_growth_reports_new_columns():
    batches = later(wind=["n/a", "1"], gate=[1, 2]), later(wind=["1", "inf"], gate=[3, 4])
    growth = grown(Encoding.of([FIRST], skip=["height"]), *batches, impute=True, aside=["gate"])
    wind, sky = growth.columns
    assert (wind.outliers, wind.first_missing, sky.first_missing) == ((1, "n/a", 2), True, False)
    assert growth.offered == []
    assert grown(Encoding.of([FIRST], skip=["height"]), *batches).offered == ["gate"]
    assert grown(Encoding.of([FIRST], skip=["height"]), later(), add=["height"]).grown.names[3:] == [
        "height",
        "height known",
    ]


def test_growth_offers_no_columns_when_an_older_file_lacks_the_ignored_ones():
    state = Encoding.of([FIRST]).state()
    del state["aside"]
    assert grown(Encoding.from_state(state), later(gate=[1, 2])).offered == []


def test_categories_of_all_tables_are_limited_to_100():
    encoding = Encoding.of([Batch({"a": [f"n{j}" for j in range(98)]})])
    growth = grown(encoding, Batch({"a": ["z", "n3", "y"]}), Batch({"a": ["x", "w", "z"]}))
    assert growth.columns[0].categories == {"z", "y"}  # in the order of their rows
    assert growth.columns[0].too_many
    assert growth.grown.names[98:] == ["a=y", "a=z"]
    full = grown(growth.grown, Batch({"a": ["w"]}))
    assert (full.columns[0].too_many, full.before) == (True, [])


def test_shifted_column_is_rescaled_when_it_varies():
    encoding = Encoding.of([FIRST])
    table = later(height=[300, 302])
    new = grown(encoding, table).grown
    assert new.columns[4] == Numeric("height", (301.0,), (1.0,))
    np.testing.assert_allclose(new.encode(table)[:, 4:], [[293 / 294, -1], [295 / 294, 1]], rtol=1e-4)
    # In one table the column has another constant value, and in the next it varies.
    still = grown(encoding, later(height=[300, 300])).grown
    assert still.encode(later(height=[300, 300]))[:, 4:].tolist() == [[1], [1]]
    assert grown(still, table).grown.columns[4] == Numeric("height", (301.0,), (1.0,))
    assert encoding.constant == ["height"]
    assert still.constant == []


def test_constant_list_elements_get_inputs_when_they_vary():
    first = Batch({"X": np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 0.0]])})
    encoding = Encoding.of([first])
    table = Batch({"X": np.array([[1.0, 5.0, 0.0], [2.0, 8.0, 0.0]])})
    growth = grown(encoding, table)
    new = growth.grown
    assert new.names == ["X[0]", "X[1]", "X[2]", "X[1]"]
    np.testing.assert_allclose(new.encode(table)[:, 3], [0, 2**0.5])
    np.testing.assert_array_equal(new.encode(first)[:, 3:], [growth.before] * 2)
    assert Encoding.from_state(json.loads(json.dumps(new.state()))) == new
    assert grown(new, table).before == []
    assert grown(new, Batch({"X": [[1, 5, 2], None]}), impute=True).grown.names[4:] == ["X missing", "X[2]"]
    assert grown(Encoding.of([first], scale=False), table, scale=False).before == []
    assert "lists of 3 finite numbers" in refusal(lambda: new.columns[1].encode(Batch({"X": [[1]]}), True))


def test_growth_is_equal_for_text_lists_and_arrays(tmp_path):
    constant = "a,b\n" + "".join(f"{j},5\n" for j in range(9))
    table = "a,b\n" + "".join(f"{j},{j * j}\n" for j in range(99))
    encoding = Encoding.of(read(write(tmp_path, constant)))
    texts = list(read(write(tmp_path, table), 10))
    lists = [Batch(dict(batch.columns), batch.first, batch.file) for batch in texts]
    arrays = [Batch({k: np.array(v, float) for k, v in batch.columns.items()}) for batch in lists]
    for impute in (True, False):
        first, *others = (
            grown(encoding, *batches, impute=impute).grown for batches in (texts, lists, arrays)
        )
        assert others == [first, first]
        assert first.dim == 3


REFUSED = [
    (
        later(wind=None),
        {},
        "column 'wind' of t.csv must be one of 'sky', 'height', got no such column. "
        "`impute=True` treats a missing column as empty cells.",
    ),
    (
        later(wind=None, widn=[1, 2]),
        {},
        "column 'wind' of t.csv must be one of 'sky', 'height', 'widn', got no such column. "
        "Did you mean 'widn'? `impute=True` treats a missing column as empty cells.",
    ),
    (
        later(),
        {"add": ["gaet"]},
        "column 'gaet' of t.csv must be one of 'wind', 'sky', 'height', got no such column.",
    ),
    (
        later(gate=[None, 1]),
        {"add": ["gate"]},
        "column 'gate' of t.csv must be without missing cells, got an empty cell in row 1. "
        "Fill it, drop the row, leave out `add=['gate']`, or give `impute=True`.",
    ),
    (
        later(gate=[None, None]),
        {"add": ["gate"], "impute": True},
        "column 'gate' of t.csv must be of some value, got missing cells only. "
        "It cannot be an input yet: leave out `add=['gate']`.",
    ),
    (
        later(gate=[1, 2]),
        {"add": ["gate"], "aside": ["gate"]},
        "column to add of Growth must be neither of ids nor of labels, got 'gate'.",
    ),
]


@pytest.mark.parametrize(("table", "options", "message"), REFUSED)
def test_growth_errors_have_a_remedy(table, options, message):
    assert refusal(lambda: grown(Encoding.of([FIRST]), table, **options).grown) == message


@settings(max_examples=60, derandomize=True, deadline=None)
@given(tables=st.lists(TABLES, min_size=2, max_size=4), impute=st.booleans(), scale=st.booleans())
def test_growth_keeps_old_inputs_for_arbitrary_tables(tmp_path_factory, tables, impute, scale):
    folder = tmp_path_factory.mktemp("fuzz")
    paths = [
        fuzzed(folder / f"{j}.csv", [f"c{k}" for k in range(len(rows[0]))], rows)
        for j, rows in enumerate(tables)
    ]
    try:
        encoding = Encoding.of(read(paths[0], 3), impute=impute, scale=scale)
        encoded = []
        for path in paths:
            growth = grown(encoding, *read(path, 3), add=["c1"] if len(encoded) > 2 else [], scale=scale)
            new = growth.grown
            assert new.columns[: len(encoding.columns)] == encoding.columns
            assert len(growth.before) == new.dim - encoding.dim
            assert scale <= (not any(growth.before))
            for batch, X in encoded:
                np.testing.assert_array_equal(new.encode(batch)[:, : X.shape[1]], X)
            encoded += [(batch, new.encode(batch)) for batch in read(path, 3)]
            assert all(np.isfinite(X).all() for _, X in encoded)
            encoding = new
    except ValueError as error:
        assert "\n" not in str(error)
        assert " must be " in str(error)


@pytest.mark.parametrize(
    ("cells", "impute", "expected"),
    [
        (["€ 3", "€ 3"], False, []),
        (["€ 5", "1"], False, [("price", (3.0,), (2.0,))]),
        (["€ 5", "€ 5", None], True, [Missing("price", numeric=False), ("price", (3.0,), (2.0,))]),
        (["€ 9,000", "€ 9,001"], False, [("price", (3.0,), None), ("price", (9000.5,), (0.5,))]),
    ],
)
def test_constant_amount_gets_an_input_when_it_varies(cells, impute, expected):
    encoding = Encoding.of([Batch({"price": ["€ 3", "€ 3"]})])
    assert (encoding.columns, encoding.constant) == ((PRICE,), ["price"])
    table = Batch({"price": cells})
    new = grown(encoding, table, impute=impute).grown
    added = new.columns[1:]
    assert [entry if isinstance(entry, Missing) else (entry.name, entry.mean) for entry in added] == [
        entry if isinstance(entry, Missing) else entry[:2] for entry in expected
    ]
    for entry, expected_entry in zip(added, expected, strict=True):
        if isinstance(entry, Amount) and expected_entry[2]:
            assert entry.deviation == expected_entry[2]
    assert Encoding.from_state(json.loads(json.dumps(new.state()))) == new
    X = new.encode(table)
    assert X.shape == (len(cells), 1 + len(expected))
    assert (np.abs(X) < 100).all()
    assert np.isfinite(X).all()


def test_erased_category_keeps_its_input_and_counts_towards_the_limit():
    names = [f"n{index:02}" for index in range(99)]
    full = Encoding.of([Batch({"name": names})])
    erased = dataclasses.replace(full, columns=(full.columns[0].only([index > 0 for index in range(99)]),))
    assert Encoding.from_state(erased.state()) == erased
    assert erased.names[:2] == ["name (erased)", "name=n01"]
    assert erased.encode(Batch({"name": ["n00", "n01"]})).nonzero()[1].tolist() == [1]
    more = grown(erased, Batch({"name": ["n00", "n99"]}))
    assert more.grown.names[99:] == ["name=n00"]
