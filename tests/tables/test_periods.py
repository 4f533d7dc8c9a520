"""Calendar periods in local time, late rows and rows without a date."""

import calendar
import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.refusals import refusal

from qufur.tables import Batch
from qufur.tables.periods import DATED, UNITS, PeriodCounts, Periods, PeriodSurvey, periods_in

WRITTEN = {
    "yyyy-mm-dd": "%Y-%m-%d %H:%M:%S",
    "yyyy/mm/dd": "%Y/%m/%d %H:%M",
    "dd.mm.yyyy": "%d.%m.%Y %H:%M",
    "mm/dd/yyyy": "%m/%d/%Y %H:%M",
    "dd/mm/yyyy": "%d/%m/%Y %H:%M",
}
BEGIN = {
    "hour": lambda time: time.strftime("%Y-%m-%d %H:00"),
    "day": lambda time: time.strftime("%Y-%m-%d"),
    "week": lambda time: (time - timedelta(days=time.weekday())).strftime("%Y-%m-%d"),
    "month": lambda time: time.strftime("%Y-%m"),
}


def test_tests_cover_every_date_format():
    assert set(WRITTEN) == set(DATED)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("format", DATED)
def test_periods_match_the_calendar(unit, format):
    minutes = np.random.default_rng(1).integers(-40_000_000, 40_000_000, 300).tolist()
    times = [datetime(1999, 12, 31) + timedelta(minutes=each) for each in [0, 1440, *minutes]]
    periods = periods_in([time.strftime(WRITTEN[format]) for time in times], format, unit)
    calendar_periods = Periods(unit, "day", format, "")
    assert [calendar_periods.begin(int(period)) for period in periods] == [
        BEGIN[unit](time) for time in times
    ]
    order = np.argsort(np.array(times))
    assert (np.diff(periods[order]) >= 0).all()


def test_periods_ignore_time_zones_and_keep_leap_seconds_in_their_hour():
    cells = ["2024-01-07T23:59:60Z", "2024-01-07T23:30:00+05:00", None]
    periods = periods_in(cells, "yyyy-mm-dd", "hour")
    assert periods[0] == periods[1]
    assert math.isnan(periods[2])


@pytest.mark.parametrize("cells", [["soon"], [1.5], ["06:30"], np.array([1.0]), np.ones((1, 2)), [[1, 2]]])
def test_invalid_date_raises(cells):
    assert periods_in(cells, "yyyy-mm-dd", "week") is None
    periods = Periods("week", "when", "yyyy-mm-dd", "2024-01-01")
    message = refusal(lambda: periods.of(Batch({"when": cells}, 5, "days.csv")))
    assert message.startswith("column 'when' of days.csv must be dates such as '2024-01-01', got ")
    assert "in row 5" in message


@pytest.mark.parametrize("running", [math.nan, 3.0])
def test_period_counts_assign_late_and_undated_rows_to_the_current_period(running):
    rng = np.random.default_rng(2)
    for _ in range(50):
        periods = np.sort(rng.integers(0, 9, 40)).astype(float)
        periods[rng.random(40) < 0.3] = math.nan
        periods[rng.random(40) < 0.2] -= 2
        counts = PeriodCounts(running)
        for part in np.split(periods, sorted(rng.integers(1, 39, 3))):
            if len(part):
                counts.add(part)
        now, before, late, slow = running, 0, 0, {}
        for period in periods:
            late += period < now
            now = period if math.isnan(now) or period > now else now
            if math.isnan(now):
                before += 1
            else:
                slow[now] = slow.get(now, 0) + 1
        slow[min(slow)] += before
        assert counts.rows == slow
        assert counts.untimed == np.isnan(periods).sum()
        assert counts.late == late


def surveyed(columns, column=None, cut=1):
    survey = PeriodSurvey("week", column, {"label"})
    rows = len(next(iter(columns.values())))
    for start in range(0, rows, cut):
        part = {name: cells[start : start + cut] for name, cells in columns.items()}
        survey.add(Batch(part, start + 1, "days.csv"))
    periods, counts = survey.settle()
    return periods, counts.rows


DAYS = ["2024-01-07", "2024-01-08", "2024-01-09"]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_period_survey_infers_the_only_column_of_dates(cut):
    columns = {
        "n": ["1", "2", "3"],
        "clock": ["06:30"] * 3,
        "empty": [None] * 3,
        "unclear": ["01/02/2024"] * 3,
        "label": DAYS,
        "when": [None, *DAYS[1:]],
        "lists": np.ones((3, 2)),
    }
    periods, rows = surveyed(columns, cut=cut)
    assert periods == Periods("week", "when", "yyyy-mm-dd", "2024-01-08")
    assert list(rows.values()) == [3]
    assert surveyed({"day": ["13/01/2024", "01/02/2024"]}, cut=cut)[0].format == "dd/mm/yyyy"


@pytest.mark.parametrize(
    ("columns", "column", "message"),
    [
        ({"n": ["1"]}, None, "time of PeriodSurvey must be given unless one column of days.csv has dates"),
        ({"from": DAYS, "to": DAYS}, None, "got dates in 'from' and 'to'."),
        ({"n": ["1"]}, "n", "column 'n' of days.csv must be dates, all written in the same way, got '1' in"),
        ({"n": [*DAYS, "1.2.2024"]}, "n", "got '1.2.2024' in row 4. Write dates as 2024-02-29"),
        ({"n": ["06:30"]}, "n", "got '06:30' in row 1"),
        ({"n": [None]}, "n", "column 'n' of days.csv must be of dates, got empty cells only"),
        ({"n": ["01/02/2024"]}, "n", "got '01/02/2024' and others, which are mm/dd/yyyy or dd/mm/yyyy."),
        ({"when": DAYS}, "whem", "Did you mean 'when'?"),
    ],
)
def test_period_survey_raises_when_dates_are_missing_or_ambiguous(columns, column, message):
    for cut in (1, 4):
        assert message in refusal(lambda cut=cut: surveyed(columns, column, cut))


def test_periods_reject_an_unknown_unit():
    assert "unit and format of Periods" in refusal(lambda: Periods("century", "when", DATED[0], ""))
    assert calendar.day_name[datetime(1970, 1, 1).weekday()] == "Thursday"
