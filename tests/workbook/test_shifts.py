"""Calendar columns raise no alarm, while shifts of other columns are still detected."""

from datetime import date, timedelta

import numpy as np
import pytest

from qufur import Learner, Ridge, Uniform
from qufur.estimates.input_shifts import Change, InputShift
from qufur.tables import Batch, Encoding
from qufur.workbook import Workbook
from qufur.workbook.summary import is_calendar, shift_sentences, shifts_of

START = date(2024, 1, 1)


def bookings(days, per_day, format, seed=0, price_rises_on=None):
    """Return bookings ordered by date, with a varying number per day and several calendar columns."""
    rng = np.random.default_rng(seed)
    times = [START + timedelta(day) for day in range(days) for _ in range(rng.poisson(per_day) + 1)]
    dates = [day.strftime(format) for day in times]
    late = np.array([price_rises_on is not None and day >= price_rises_on for day in times])
    return Batch(
        {
            "arrived": dates,
            "arrival_month": [day.month for day in times],
            "day_of_month": [day.day for day in times],
            "week_number": [day.isocalendar().week for day in times],
            "weekday": [day.strftime("%A") for day in times],
            "year": [day.year for day in times],
            "price": (100 + 10 * rng.normal(size=len(times)) + 60 * late).tolist(),
        }
    )


def shifts_in(batch, **options):
    encoding = Encoding.of([batch], **options)
    learner = Learner(Ridge(encoding.dim, label_range=(0, 1)), Uniform(0.1))
    workbook = Workbook(learner, encoding, None, "label")
    X = encoding.encode(batch)
    workbook.monitor.ask(X, np.zeros(len(X), dtype=bool))
    return shifts_of(workbook)


@pytest.mark.parametrize("per_day", [1, 5, 50])
@pytest.mark.parametrize("format", ["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%Y-%m-%d 12:30"])
def test_months_mondays_and_moving_dates_are_no_shifts(per_day, format):
    days = {1: 900, 5: 400, 50: 70}[per_day]
    assert shifts_in(bookings(days, per_day, format)) == []


def test_dates_declared_as_categories_are_no_shifts():
    assert shifts_in(bookings(90, 20, "%Y-%m-%d"), categorical=["arrived"]) == []


def test_price_rise_among_calendar_columns_is_detected_and_named():
    (shift,) = shifts_in(bookings(70, 50, "%Y-%m-%d", price_rises_on=date(2024, 2, 14)))
    assert shift.changes[0].column == "price"
    assert shift_sentences([shift])[0].split(": ", 1)[1].startswith("price from ")
    assert ";" not in shift_sentences([shift])[0]  # columns that hardly changed are not named


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("month", True),
        ("arrivalMonth", True),
        ("day of week", True),
        ("DOW", True),
        ("week_number", True),
        ("sales_per_month", False),
        ("price_last_year", False),
        ("Monday deliveries", False),
        ("daylight", False),
        ("", False),
    ],
)
def test_calendar_columns_are_recognised_by_the_last_word_of_their_name(name, expected):
    assert is_calendar(Encoding.of([Batch({name: [1.0, 2.0]})])).tolist() == [expected]


def test_sentences_name_the_largest_shifts_in_the_order_of_time():
    change = Change("wind", 1.0, 2.0, 3.0, False)
    shifts = [InputShift(100 * k, 8, size, 2.0, (change,)) for k, size in enumerate([1, 7, 3, 9, 8, 2, 6])]
    rows = [sentence.split(" rows")[0] for sentence in shift_sentences(shifts)]
    assert rows == ["after 100", "after 200", "after 300", "after 400", "after 600", "and 2 smaller"]
