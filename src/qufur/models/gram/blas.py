"""SciPy's BLAS and LAPACK routines by name, imported when the first is called.

`scipy.linalg` takes longer to import than all the rest of the library and NumPy together.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Look up a routine once and store it as a module attribute."""
    if name.startswith("_"):
        raise AttributeError(name)
    from scipy.linalg import blas, lapack

    routine = getattr(blas if hasattr(blas, name) else lapack, name)
    globals()[name] = routine
    return routine
