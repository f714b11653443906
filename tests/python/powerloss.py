# SPDX-License-Identifier: BSD-3-Clause
"""What a disk may hold after the power failed, from a log of tests/faults/record.c.

Everything that a sync made durable is there. Of the rest:

- data: of each write nothing, everything, or some of its sectors of 512 bytes. A sector is written as it is in memory at
  some time, so that it never has a later write without the earlier ones.
- sizes of one file: changed in order, up to some change; where the size came but not the data, there are zeros. A file
  that was cut shorter has nothing new beyond the cut unless the cut itself is there.
- names: in order within each folder, up to some change; a move between two folders happens in both or in neither.

Three models:

    posix   a sync of a file brings its data and size, a sync of a folder its names, and nothing else
    ext4    names of all folders are one journal, in order, which any sync brings up to date
    kill    the machine runs on: everything is there, only the program has gone
"""

import os
import struct
from pathlib import Path

ENTRY = struct.Struct("<IIQqqIIQ")
KINDS = ("", "create", "write", "truncate", "allocate", "mkdir", "rename", "link", "remove", "sync", "sync_all")
SECTOR = 512
KEEP_SIZE, ZEROS = 1, 2 | 16  # modes of fallocate: no new size; a hole, or a range of zeros
EXCHANGE = 2  # of renameat2
MODELS = ("posix", "ext4", "kill")


class Folder:
    def __init__(self, entries=None):
        self.before = dict(entries or {})  # when the log begins


class File:
    def __init__(self, data=b""):
        self.before = data
        self.changes = []  # (index in the log, kind, place, bytes or length, flags)


class Entry:
    def __init__(self, kind, flags, inode, at, n, path, to, data):
        self.kind, self.flags, self.inode, self.at, self.n = kind, flags, inode, at, n
        self.path, self.to, self.data = path, to, data

    def __str__(self):
        where = self.path + (f" -> {self.to}" if self.to else "") if self.path else f"inode {self.inode}"
        return f"{self.kind} {where} at {self.at}, {self.n} bytes"


def read_log(path):
    log, entries, place = Path(path).read_bytes(), [], 0
    while place < len(log):
        kind, flags, inode, at, n, n_path, n_to, n_data = ENTRY.unpack_from(log, place)
        place += ENTRY.size
        parts = []
        for length in (n_path, n_to, n_data):
            parts.append(log[place:place + length])
            place += length
        entries.append(Entry(KINDS[kind], flags, inode, at, n, parts[0].decode(), parts[1].decode(), parts[2]))
    assert place == len(log), "the log is cut short"
    return entries


def resized(data, n):
    """Cut, or filled with zeros."""
    if n < len(data):
        del data[n:]
    else:
        data.extend(bytes(n - len(data)))


class Snapshot:
    """A folder as it is before a program starts: all of it is on disk."""

    def __init__(self, path):
        self.inodes = {}
        self.root = self.take(Path(path))

    def take(self, path):
        if path.is_dir():
            thing = Folder({p.name: self.take(p) for p in path.iterdir()})
        else:
            thing = self.inodes.get(path.stat().st_ino) or File(path.read_bytes())
        self.inodes[path.stat().st_ino] = thing
        return thing


class History:
    """What a program did to a folder, call by call."""

    def __init__(self, snapshot, log):
        self.root = snapshot.root
        self.log = read_log(log)
        self.names = []  # (index, [(folder, name, what it is now, or None)])
        self.syncs = []  # (index, file, folder, or None for everything)
        self.inodes = dict(snapshot.inodes)
        self.live = {}
        for thing in snapshot.inodes.values():
            if isinstance(thing, Folder):
                self.live[thing] = dict(thing.before)
        for index, entry in enumerate(self.log):
            getattr(self, "do_" + entry.kind)(index, entry)

    def __len__(self):
        return len(self.log)

    def find(self, path):
        """The folder that a name is in, and the name."""
        *folders, name = path.split("/")
        place = self.root
        for folder in folders:
            place = self.live[place][folder]
        return place, name

    def edit(self, index, *edits):
        self.names.append((index, edits))
        for folder, name, thing in edits:
            if thing is None:
                del self.live[folder][name]
            else:
                self.live[folder][name] = thing

    def do_create(self, index, entry):
        self.inodes[entry.inode] = File()
        if entry.path:
            self.edit(index, (*self.find(entry.path), self.inodes[entry.inode]))

    def do_mkdir(self, index, entry):
        folder = self.inodes[entry.inode] = Folder()
        self.live[folder] = {}
        self.edit(index, (*self.find(entry.path), folder))

    def do_link(self, index, entry):
        self.edit(index, (*self.find(entry.path), self.inodes[entry.inode]))

    def do_remove(self, index, entry):
        folder, name = self.find(entry.path)
        thing = self.live[folder][name]
        if isinstance(thing, File):
            size = len(content(thing, index, index, None, "kill"))
            assert size == entry.n, f"'{entry.path}' has {entry.n} bytes and the log explains {size}"
        self.edit(index, (*self.find(entry.path), None))

    def do_rename(self, index, entry):
        (folder, name), (to_folder, to_name) = self.find(entry.path), self.find(entry.to)
        thing, other = self.live[folder][name], self.live[to_folder].get(to_name)
        if thing is other:  # two names of one file: nothing happens
            return
        stays = other if entry.flags & EXCHANGE else None
        self.edit(index, (folder, name, stays), (to_folder, to_name, thing))

    def change(self, index, entry, what):
        self.inodes[entry.inode].changes.append((index, entry.kind, entry.at, what, entry.flags))

    def do_write(self, index, entry):
        self.change(index, entry, entry.data)

    def do_truncate(self, index, entry):
        self.change(index, entry, entry.n)

    def do_allocate(self, index, entry):
        self.change(index, entry, entry.n)

    def do_sync(self, index, entry):
        self.syncs.append((index, self.inodes[entry.inode]))

    def do_sync_all(self, index, _):
        self.syncs.append((index, None))

    def describe(self, k):
        lines = [f"{'>' if i == k else ' '} {i} {e}" for i, e in enumerate(self.log)]
        return "\n".join(lines[max(0, k - 8):k + 4])

    def crash_point(self, rnd):
        """How many calls happen before a crash: often beside one that syncs or names something."""
        if rnd.random() < 0.5:
            return rnd.randint(0, len(self.log))
        if rnd.random() < 0.5 and self.syncs:
            return rnd.choice(self.syncs)[0] + rnd.choice([0, 1])
        return rnd.choice(self.names)[0] + rnd.choice([0, 1])

    def crash(self, k, rnd, model):
        """The root after the first k calls and a crash: {name: bytes, or such a folder}."""
        entries = self.kept_names(k, rnd, model)

        def tree(thing):
            if isinstance(thing, File):
                return content(thing, k, self.synced(thing, k), rnd, model)
            return {name: tree(child) for name, child in sorted(entries[thing].items())}

        return tree(self.root)

    def synced(self, file, k):
        return max((i for i, thing in self.syncs if i < k and thing in (None, file)), default=-1)

    def kept_names(self, k, rnd, model):
        names = [(i, edits) for i, edits in self.names if i < k]
        kept = [True] * len(names) if model == "kill" else self.kept(names, k, rnd, model)
        entries = {folder: dict(folder.before) for folder in self.live}
        for keep, (_, edits) in zip(kept, names):
            for folder, name, thing in edits if keep else ():
                if thing is None:
                    del entries[folder][name]
                else:
                    entries[folder][name] = thing
        return entries

    def kept(self, names, k, rnd, model):
        """For each change of names: is it on disk?"""

        def places(edits):
            return [None] if model == "ext4" else [folder for folder, _, _ in edits]

        need = {}  # place -> changes before this index are on disk
        everything = -1
        for i, thing in self.syncs:
            if i < k and (thing is None or model == "ext4"):
                everything = i
            elif i < k:
                need[thing] = i
        must = [False] * len(names)
        for j in reversed(range(len(names))):  # what comes before, in any folder that it touches, is there too
            i, edits = names[j]
            must[j] = i < everything or any(i < need.get(place, -1) for place in places(edits))
            for place in places(edits) if must[j] else ():
                need[place] = max(need.get(place, -1), i + 1)
        stopped, result = set(), []
        chance = rnd.choice([0, 0.5, 0.8, 0.95, 1])
        for (_, edits), is_there in zip(names, must):
            keep = is_there or (not stopped.intersection(places(edits)) and rnd.random() < chance)
            if not keep:
                stopped.update(places(edits))
            result.append(keep)
        return result


def content(file, k, synced, rnd, model):
    """The bytes of a file whose changes up to `synced` are on disk."""
    memory = bytearray(file.before)
    changes = [c for c in file.changes if c[0] < k]
    n_certain = len(changes) if model == "kill" else sum(c[0] < synced for c in changes)
    for change in changes[:n_certain]:
        apply(memory, change)
    if n_certain == len(changes):
        return bytes(memory)
    disk, size = bytearray(memory), len(memory)
    lost_cut = None  # beyond it nothing new can be there: the file was cut here, and that is not on disk
    sizes_stopped = False
    chance = rnd.choice([0, 0.3, 0.7, 1])
    size_chance = rnd.choice([0, 0.5, 0.9, 1])
    for change in changes[n_certain:]:
        _, kind, at, what, flags = change
        before = len(memory)
        apply(memory, change)
        certain = kind == "write" and flags == 1
        torn = not certain and rnd.random() < 0.2
        if kind == "write" or (kind == "allocate" and flags & ZEROS):
            end = min(at + (len(what) if kind == "write" else what), len(memory))
            limit = end if lost_cut is None else min(end, lost_cut)
            keep = certain or rnd.random() < chance
            for start in range(at // SECTOR * SECTOR, limit, SECTOR):
                if keep and not (torn and rnd.random() < 0.5):
                    stop = min(start + SECTOR, len(memory))
                    resized(disk, max(len(disk), stop))
                    disk[start:stop] = memory[start:stop]
        if len(memory) != before:
            is_new = certain or (not sizes_stopped and rnd.random() < size_chance)
            if is_new:
                size = len(memory)
                if torn and size > before:  # it grew sector by sector
                    size = rnd.randrange(before, size) // SECTOR * SECTOR
                    size = max(size, before)
                    sizes_stopped = True
                if len(memory) < before:
                    del disk[len(memory):]
            else:
                sizes_stopped = True
                if len(memory) < before:
                    lost_cut = len(memory) if lost_cut is None else min(lost_cut, len(memory))
    resized(disk, size)
    return bytes(disk)


def apply(data, change):
    """Does to `data` what a call did to a file."""
    _, kind, at, what, flags = change
    if kind == "truncate":
        resized(data, what)
    elif kind == "write":
        resized(data, max(len(data), at + len(what)))
        data[at:at + len(what)] = what
    else:
        if not flags & KEEP_SIZE:
            resized(data, max(len(data), at + what))
        if flags & ZEROS:
            end = min(at + what, len(data))
            data[at:end] = bytes(max(0, end - at))


LONG_AGO = 1_600_000_000


def tree_of(path):
    """A real folder, as crash() returns them."""
    return {p.name: tree_of(p) if p.is_dir() else p.read_bytes() for p in sorted(Path(path).iterdir())}


def materialise(tree, path):
    os.makedirs(path)
    for name, thing in tree.items():
        place = Path(path) / name
        if isinstance(thing, dict):
            materialise(thing, place)
        else:
            place.write_bytes(thing)
            os.utime(place, (LONG_AGO, LONG_AGO))  # a source is still the same after a crash, by its times too
