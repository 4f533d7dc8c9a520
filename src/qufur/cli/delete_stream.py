"""`qufur delete-stream`: remove a stream from a store."""

from __future__ import annotations

from qufur._internal.counts import counted
from qufur.cli._store import DEFAULT, StoreOption, StreamArgument, open_store


def delete_stream(stream: StreamArgument, store: StoreOption = DEFAULT) -> None:
    """Delete a stream with its rows, labels and model. It cannot be restored, except from a backup.

    The log keeps one event: the name, when the stream was deleted and by whom, how many events it had and the
    last hash. Keys of this stream alone are revoked, and the name can be used again. No server may use the
    store meanwhile; a running server deletes with DELETE /v1/streams/STREAM.

    Example:
      qufur delete-stream prices --store sqlite:///labels.db
    """
    with open_store(store, writing=True) as opened:
        from qufur.service.erasure import delete_stream as delete
        from qufur.service.service import Service

        events, keys = delete(Service(opened), stream, "qufur delete-stream")
    revoked = f" {counted(keys, 'key of this stream is', 'keys of this stream are')} revoked." if keys else ""
    print(f"Stream {stream} is deleted, with {counted(events, 'event')}.{revoked}")
