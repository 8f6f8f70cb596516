"""Processes that a test run has started end with it, even when it is killed."""
import os
import signal
import subprocess
import sys
from pathlib import Path

from serving import wait_until

LIB = Path(__file__).parents[1] / "lib"

RUN = f"""
import sys
sys.path.insert(0, {str(LIB)!r})
import belljar, serving
server = serving.Server(belljar.make_callers(sys.argv[1])["user"])
print(server.process.pid, flush=True)
sys.stdin.read()
"""


def has_ended(pid):
    """As the reaper of orphans, this process has to take what is left of it."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
    return not os.path.exists(f"/proc/{pid}")


def test_the_server_of_a_killed_test_run_ends(base):
    run = subprocess.Popen([sys.executable, "-c", RUN, base], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(run.stdout.readline())
    run.send_signal(signal.SIGKILL)
    run.communicate()
    wait_until(lambda: has_ended(pid), "the server has ended")
