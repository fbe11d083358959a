"""Whether a folder stays as it is: a hash of every file in it, and inotify while programs run."""
import ctypes
import hashlib
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
MODIFY, ACCESS, ATTRIB, CLOSE_WRITE, OPEN = 0x2, 0x1, 0x4, 0x8, 0x20
MOVED, CREATE, DELETE, DELETE_SELF, MOVE_SELF, OVERFLOW = 0x40 | 0x80, 0x100, 0x200, 0x400, 0x800, 0x4000
CHANGES = MODIFY | ATTRIB | CLOSE_WRITE | MOVED | CREATE | DELETE | DELETE_SELF | MOVE_SELF
NO_LINK = 0x02000000
WORDS = {MODIFY: "written", ACCESS: "read", ATTRIB: "attributes", CLOSE_WRITE: "opened for writing", OPEN: "opened", 0x40: "moved",
         0x80: "moved", CREATE: "made", DELETE: "removed", DELETE_SELF: "removed", MOVE_SELF: "moved", OVERFLOW: "too much happens"}


class Watch:
    """Tells what happens to the files and folders below some folders, and who opens the secrets among them."""

    def __init__(self, folders, secrets):
        self.descriptor = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self.names = {}
        for top in folders:
            self._add(top, CHANGES)
            for folder, folders_in, files in os.walk(top):
                for name in folders_in + files:
                    path = os.path.join(folder, name)
                    self._add(path, CHANGES | ((OPEN | ACCESS) if path in secrets else 0))

    def _add(self, path, mask):
        number = LIBC.inotify_add_watch(self.descriptor, os.fsencode(path), mask | NO_LINK)
        if number < 0:
            raise OSError(ctypes.get_errno(), f"inotify: {path}")
        self.names[number] = path

    def events(self):
        """What has happened since the last call, as (path, word)."""
        said = []
        while True:
            try:
                data = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return said
            while data:
                number, mask, _, length = struct.unpack_from("iIII", data)
                name = data[16:16 + length].rstrip(b"\0")
                path = os.path.join(self.names.get(number, "?"), os.fsdecode(name)) if name else self.names.get(number, "?")
                said += [(path, word) for bit, word in WORDS.items() if mask & bit]
                data = data[16 + length:]

    def close(self):
        os.close(self.descriptor)


def state(top):
    """What every file and folder below is: {path: type, mode, owner and content}."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            content = ""
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            found[path] = (about.st_mode, about.st_uid, about.st_gid, content)
    return found
