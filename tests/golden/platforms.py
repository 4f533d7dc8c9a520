"""Processor and numerical libraries, which decide the last bits of computed numbers."""

import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import sklearn
import threadpoolctl


def libraries():
    """Return the versions of the libraries that grow trees and fit estimators."""
    return {"sklearn": sklearn.__version__, "numpy": np.__version__}


def fingerprint():
    """Return everything that the last bit of a matrix product may depend on."""
    np.eye(2) @ np.eye(2)
    blas = sorted(
        f"{library['internal_api']} {library.get('version')} {library.get('architecture')}"
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    )
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "blas": sorted(set(blas)),
        **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
