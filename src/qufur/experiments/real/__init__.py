"""`Experts` with `Steady` on real tables, against labels at random; not in the paper."""

from qufur.experiments.real import classes, coverage, curves, numbers, three_lines

REAL = (
    numbers.EXPERIMENT,
    classes.EXPERIMENT,
    three_lines.EXPERIMENT,
    coverage.EXPERIMENT,
    curves.EXPERIMENT,
)
