"""Users' tables of mixed columns: rows in batches, inputs, ids and labels."""

from qufur.records.answers import ids, labels
from qufur.records.batch import Batch
from qufur.records.encoding import Encoding
from qufur.records.files import read

__all__ = ["Batch", "Encoding", "ids", "labels", "read"]
