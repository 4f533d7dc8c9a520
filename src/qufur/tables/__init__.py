"""Users' tables of mixed columns: rows in batches, inputs, ids and labels."""

from qufur.tables.batch import Batch
from qufur.tables.encoding import Encoding
from qufur.tables.files import open_table, read
from qufur.tables.growth import Growth
from qufur.tables.ids_and_labels import ids, labels

__all__ = ["Batch", "Encoding", "Growth", "ids", "labels", "open_table", "read"]
