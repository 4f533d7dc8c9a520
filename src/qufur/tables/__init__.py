"""Tables of mixed columns: readers, encodings, ids and labels."""

from qufur.tables.batch import Batch
from qufur.tables.encoding import Encoding
from qufur.tables.labels import ids, labels
from qufur.tables.schema_growth import Growth
from qufur.tables.source import open_table, read

__all__ = ["Batch", "Encoding", "Growth", "ids", "labels", "open_table", "read"]
__dir__ = __all__.copy
