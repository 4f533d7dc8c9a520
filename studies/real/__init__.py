"""Study of `Experts` with `Steady` on real tables, against random labels; not in the paper."""

from studies.real import classes, coverage, curves, numbers, three_lines

REAL = (
    numbers.EXPERIMENT,
    classes.EXPERIMENT,
    three_lines.EXPERIMENT,
    coverage.EXPERIMENT,
    curves.EXPERIMENT,
)
