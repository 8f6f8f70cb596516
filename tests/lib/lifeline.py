"""Ends what a test run has started when the test run itself is killed.

A helper process holds the read end of a pipe. It is told the id of each process that is started, and takes a pidfd of
it. When the pipe ends, whoever wrote to it is gone: what still runs then gets SIGTERM, and SIGKILL two seconds later.
"""
import os
import select
import signal
import subprocess
import sys
import time

_pipe = None  # the helper's, once there is one
_owner = None  # whose it is: a fork makes its own


def begin():
    """Starts the helper, unless this process has one."""
    global _pipe, _owner
    if _owner == os.getpid():
        return
    helper = subprocess.Popen([sys.executable, "-S", "-E", __file__], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              start_new_session=True)  # fmt: skip
    helper.returncode = 0  # nobody waits for it
    _pipe, _owner = helper.stdin, os.getpid()


def hold(pid):
    """From now on the process ends with this one."""
    begin()
    _pipe.write(b"%d\n" % pid)
    _pipe.flush()


def forget_ended(held):
    """A pidfd is readable when its process has ended."""
    poll = select.poll()
    for fd in held:
        poll.register(fd, select.POLLIN)
    for fd, _ in poll.poll(0):
        os.close(fd)
        held.discard(fd)


def end(held, number):
    for fd in held:
        try:
            signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            pass


def main():
    held = set()
    for line in sys.stdin.buffer:
        forget_ended(held)
        try:
            held.add(os.pidfd_open(int(line)))
        except ProcessLookupError:
            pass
    end(held, signal.SIGTERM)
    deadline = time.monotonic() + 2
    while held and time.monotonic() < deadline:
        forget_ended(held)
        time.sleep(0.02)
    end(held, signal.SIGKILL)


if __name__ == "__main__":
    main()
