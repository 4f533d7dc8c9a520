"""A disk that loses power: what was not synced is gone, wholly or in part, in sectors.

Files are real, so that SQLite's shared memory works; beside each is kept what of it would survive.
"""

import os
import random

import apsw

SECTOR = 512
JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


class Kept:
    """What of a file survives: its content at the last sync, and what was written since.

    Attributes
    ----------
    content
        None where there was no file.
    named
        Whether the folder would still have it.
    """

    def __init__(self, content=None):
        self.content, self.named, self.since = content, content is not None, []


class Disk(apsw.VFS):
    """A file system for SQLite on which power can be cut at a given write or sync.

    Parameters
    ----------
    name
        Under which SQLite knows it.
    seed
        Of what is lost.

    Attributes
    ----------
    left
        Writes and syncs until power is cut; None for never.
    trouble
        What is raised instead of writing, such as that there is no space.
    """

    def __init__(self, name, seed):
        super().__init__(name, "")
        self.name, self.draws, self.files = name, random.Random(seed), {}
        self.left = self.trouble = None

    def operate(self):
        """Count a write or a sync; from the one at which power is cut nothing works."""
        if self.trouble is not None:
            raise self.trouble
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise apsw.IOError("there is no power")

    def kept(self, path):
        if path not in self.files:
            content = None
            if os.path.exists(path):
                with open(path, "rb") as file:
                    content = file.read()
            self.files[path] = Kept(content)
        return self.files[path]

    def xOpen(self, name, flags):
        if name is None:  # a temporary file, which nobody will look for
            return apsw.VFSFile("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.kept(path)
        return File(self, path, name, flags)

    def xDelete(self, path, sync):
        self.operate()
        super().xDelete(path, sync)
        self.kept(path).since.append(None)
        if sync:
            self.sync_folder()

    def sync_folder(self):
        for path, kept in self.files.items():
            kept.named = os.path.exists(path)
            if not kept.named:
                self.files[path].content, self.files[path].since = None, []

    def lose(self):
        """Leave of each file what survived; power is back then."""
        for path, kept in self.files.items():
            content = self.survivor(kept)
            for gone in (path, f"{path}-shm"):
                if os.path.exists(gone):
                    os.remove(gone)
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)
        self.files, self.left = {}, None

    def survivor(self, kept):
        """Return what is left of a file: everything synced, and none, a beginning or any part of the rest."""
        if not kept.named:
            return None
        share = self.draws.choice([0.0, 0.5, 0.9, 1.0])
        since = kept.since
        if self.draws.random() < 0.5:
            since, share = since[: self.draws.randint(0, len(since))], 1.0
        content = bytearray(kept.content or b"")
        for one in since:
            if isinstance(one, tuple):
                for start, sector in sectors(*one):
                    if self.draws.random() < share:
                        write(content, start, sector)
            elif isinstance(one, int) and self.draws.random() < share:
                del content[one:]
        return bytes(content)


class File(apsw.VFSFile):
    """A file on such a disk."""

    def __init__(self, disk, path, name, flags):
        self.disk, self.path = disk, path
        self.new = not os.path.exists(path) and bool(flags[0] & JOURNALS)
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        self.disk.operate()
        super().xWrite(data, offset)
        self.disk.kept(self.path).since.append((offset, bytes(data)))

    def xTruncate(self, size):
        self.disk.operate()
        super().xTruncate(size)
        self.disk.kept(self.path).since.append(size)

    def xSync(self, flags):
        self.disk.operate()
        kept = self.disk.kept(self.path)
        content = bytearray(kept.content or b"")
        for one in kept.since:
            if isinstance(one, tuple):
                write(content, *one)
            elif isinstance(one, int):
                del content[one:]
            else:
                content = bytearray()
        kept.content, kept.since = bytes(content), []
        if self.new:  # as SQLite does on Unix: the folder of a new journal is synced with it
            self.disk.sync_folder()
            self.new = False


def sectors(offset, data):
    """Yield a write in pieces that are written wholly or not at all."""
    start = 0
    while start < len(data):
        end = min(len(data), start + SECTOR - (offset + start) % SECTOR)
        yield offset + start, data[start:end]
        start = end


def write(content, offset, data):
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
