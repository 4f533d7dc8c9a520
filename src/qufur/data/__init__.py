"""Files of public datasets: search, verification and download."""

from qufur.data.dataset import Copy, Dataset, Edition
from qufur.data.fetch import fetch, find
from qufur.data.files import File, Found, MissingDataError

__all__ = ["Copy", "Dataset", "Edition", "File", "Found", "MissingDataError", "fetch", "find"]
__dir__ = __all__.copy
