"""The keeper: a small process that starts the broker's JVM and sees to it that it ends.

It ends the JVM when it is told to (SIGTERM, SIGINT), when the broker's time is up, and, if it has an owner, when the
owner's end of its stdin pipe is closed, which the system does even for an owner that is killed. It holds a lock for as
long as it lives, and hands a second one down to the JVM: whoever can take a lock knows that its process is gone, and no
reused process id can deceive it. Each lock file has the id of the process that holds it.

Run as `python -m groupspec.conformance.real_broker.keeper DIRECTORY LIFETIME_S owned|free COMMAND…`.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Final

STOP_LIMIT_S: Final = 20
"""How long the JVM may take for its clean stop before it is killed."""
_LOCK_ATTEMPTS: Final = 100


def main(arguments: list[str]) -> int:
    """Keep one JVM; the exit code is its own."""
    directory, lifetime_s, owned = Path(arguments[0]), float(arguments[1]), arguments[2] == "owned"
    mine, jvms = (_lock(directory / name) for name in ("keeper.lock", "jvm.lock"))
    if mine is None or jvms is None:
        print("another keeper is at work here", file=sys.stderr)
        return 3
    with mine, jvms:
        _write_pid(mine, os.getpid())
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        with (directory / "jvm.out").open("wb") as output:
            jvm = subprocess.Popen(
                arguments[3:], stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=(jvms.fileno(),)
            )
        _write_pid(jvms, jvm.pid)
        threading.Thread(target=_tell_when_gone, args=(jvm, waker), daemon=True).start()
        watched = [wake, sys.stdin.fileno()] if owned else [wake]
        select.select(watched, [], [], lifetime_s)
        return _end(jvm)


def _lock(file: Path) -> IO[str] | None:
    handle = file.open("a+")
    for _ in range(_LOCK_ATTEMPTS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # mostly somebody who looks whether it is held
            time.sleep(0.02)
        else:
            return handle
    handle.close()
    return None


def _write_pid(lock: IO[str], pid: int) -> None:
    lock.truncate(0)
    lock.write(f"{pid}\n")
    lock.flush()


def _tell_when_gone(jvm: subprocess.Popen[bytes], waker: int) -> None:
    jvm.wait()
    os.write(waker, b"\0")


def _end(jvm: subprocess.Popen[bytes]) -> int:
    if jvm.poll() is None:
        jvm.terminate()
    try:
        return jvm.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        return jvm.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
