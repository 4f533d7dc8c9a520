"""`qufur delete-stream`: remove a stream from a store."""

from __future__ import annotations

from qufur.cli.stores import DEFAULT, StoreOption, StreamArgument, opened
from qufur.counts import counted


def delete_stream(stream: StreamArgument, store: StoreOption = DEFAULT) -> None:
    """Delete a stream with its rows, labels and model. It cannot be restored, except from a backup.

    The log keeps one event: the name, when the stream was deleted and by whom, how many events it had and the
    last hash. Keys for this stream alone are revoked, and the name is free for another stream. No server may
    run on the store meanwhile; one that runs deletes by DELETE /v1/streams/STREAM.
    """
    with opened(store, writing=True) as found:
        from qufur.service.deletion import delete_stream as do
        from qufur.service.service import Service

        events, keys = do(Service(found), stream, "qufur delete-stream")
    revoked = f" {counted(keys, 'key for it alone is', 'keys for it alone are')} revoked." if keys else ""
    print(f"Stream {stream} is deleted, with {counted(events, 'event')}.{revoked}")
