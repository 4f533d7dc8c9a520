"""Simulated disk that loses unsynced writes in a power cut, completely or by sectors.

Files are real, so that SQLite's shared memory works. The disk also records the durable content of each file.
"""

import os
import random

import apsw

SECTOR = 512
JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


class DurableFile:
    """Durable state of a file: its content at the last sync, and the writes since then.

    Attributes
    ----------
    content
        Content at the last sync; None if the file did not exist.
    named
        Whether the synced folder contains the file.
    since
        Unsynced operations: (offset, data) of a write, size of a truncation, or None for a deletion.
    """

    def __init__(self, content=None):
        self.content, self.named, self.since = content, content is not None, []


class Disk(apsw.VFS):
    """Virtual file system for SQLite that can lose power at a given write or sync.

    Parameters
    ----------
    name
        Name of the file system in SQLite.
    seed
        Seed of the draws that select lost writes.

    Attributes
    ----------
    left
        Writes and syncs until the power is cut; None for no cut.
    trouble
        Exception that writes raise, such as a full disk.
    """

    def __init__(self, name, seed):
        super().__init__(name, "")
        self.name, self.draws, self.files = name, random.Random(seed), {}
        self.left = self.trouble = None

    def operate(self):
        """Count a write or a sync; raise an exception once the power is cut."""
        if self.trouble is not None:
            raise self.trouble
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise apsw.IOError("no power")

    def durable(self, path):
        """Return the durable state of a file."""
        if path not in self.files:
            content = None
            if os.path.exists(path):
                with open(path, "rb") as file:
                    content = file.read()
            self.files[path] = DurableFile(content)
        return self.files[path]

    def xOpen(self, name, flags):
        if name is None:  # a temporary file: its content need not survive
            return apsw.VFSFile("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.durable(path)
        return File(self, path, name, flags)

    def xDelete(self, path, sync):
        self.operate()
        super().xDelete(path, sync)
        self.durable(path).since.append(None)
        if sync:
            self.sync_folder()

    def sync_folder(self):
        for path, file in self.files.items():
            file.named = os.path.exists(path)
            if not file.named:
                file.content, file.since = None, []

    def restore_power(self):
        """Replace each file by the content that survived, and allow writes again."""
        for path, durable in self.files.items():
            content = self.surviving_content(durable)
            for name in (path, f"{path}-shm"):
                if os.path.exists(name):
                    os.remove(name)
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)
        self.files, self.left = {}, None

    def surviving_content(self, file):
        """Return the synced content of a file, with none, a prefix or a random part of the later writes."""
        if not file.named:
            return None
        share = self.draws.choice([0.0, 0.5, 0.9, 1.0])
        since = file.since
        if self.draws.random() < 0.5:
            since, share = since[: self.draws.randint(0, len(since))], 1.0
        content = bytearray(file.content or b"")
        for operation in since:
            if isinstance(operation, tuple):
                for start, sector in sectors(*operation):
                    if self.draws.random() < share:
                        write(content, start, sector)
            elif isinstance(operation, int) and self.draws.random() < share:
                del content[operation:]
        return bytes(content)


class File(apsw.VFSFile):
    """Open file on a `Disk`."""

    def __init__(self, disk, path, name, flags):
        self.disk, self.path = disk, path
        self.new = not os.path.exists(path) and bool(flags[0] & JOURNALS)
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        self.disk.operate()
        super().xWrite(data, offset)
        self.disk.durable(self.path).since.append((offset, bytes(data)))

    def xTruncate(self, size):
        self.disk.operate()
        super().xTruncate(size)
        self.disk.durable(self.path).since.append(size)

    def xSync(self, flags):
        self.disk.operate()
        durable = self.disk.durable(self.path)
        content = bytearray(durable.content or b"")
        for operation in durable.since:
            if isinstance(operation, tuple):
                write(content, *operation)
            elif isinstance(operation, int):
                del content[operation:]
            else:
                content = bytearray()
        durable.content, durable.since = bytes(content), []
        if self.new:  # as on Unix, SQLite syncs the folder of a new journal
            self.disk.sync_folder()
            self.new = False


def sectors(offset, data):
    """Split a write into sectors, each of which is written completely or not at all."""
    start = 0
    while start < len(data):
        end = min(len(data), start + SECTOR - (offset + start) % SECTOR)
        yield offset + start, data[start:end]
        start = end


def write(content, offset, data):
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
