"""Many runs: rules by parameters by seeds, in parallel, kept in files, compared at equal labels."""

from qufur.sweep.grid import sweep

__all__ = ["sweep"]
