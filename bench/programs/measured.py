"""What a command of assay costs, with all that it starts: engines that are killed with their launcher, too, as this process takes
over whoever loses its parent."""
import ctypes
import os
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Measured:
    """What it said and its exit status, the CPU seconds of all processes, the MiB of the largest of these, and the seconds it took."""

    def __init__(self, *command):
        self.cpu = self.memory = 0
        with tempfile.TemporaryFile() as out:
            begun = time.monotonic()
            child = os.posix_spawn(command[0], command, os.environ,
                                   file_actions=((os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)))
            while self.take(child):
                pass
            self.wall = time.monotonic() - begun
            out.seek(0)
            self.said = out.read().decode()

    def take(self, child):
        """Waits for one process; false when there is none."""
        try:
            ended, status, used = os.wait4(-1, 0)
        except ChildProcessError:
            return False
        if ended == child:
            self.status = os.waitstatus_to_exitcode(status)
        self.cpu += used.ru_utime + used.ru_stime
        self.memory = max(self.memory, used.ru_maxrss / 1024)
        return True
