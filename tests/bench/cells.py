"""Cells in a live interpreter: Jupyter's ipykernel through jupyter_client, and the floor (floor.c).

An ipykernel's cell is timed twice: to its output, which is when a person sees it, and to its reply and the word that the kernel
is idle, which is when the next one may follow. Belljar's answer comes after both.
"""
import json
import subprocess
import time

# Cells, and what comes out of them.
CELLS = {
    "expression": ("1+1", "2"),
    "print": ("print(1)", "1\n"),
    "pandas": ("import numpy, pandas; print(pandas.DataFrame({'a':[1,2,3]}).sum().a)", "6\n"),
}

WAIT_S = 60


class Floor:
    def __init__(self, program):
        self.program = program

    def times(self, code, expect, runs):
        """[ms…], and how many answers were wrong."""
        done = subprocess.run([self.program, str(runs), code, expect], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=True)  # fmt: skip
        answer = json.loads(done.stdout)
        return answer["ms"], answer["failed"]


class Jupyter:
    """One kernel, as `jupyter` would start it, and a client of it."""

    def __init__(self):
        import jupyter_client  # pylint: disable=import-outside-toplevel  # a peer that may be absent

        self.manager, self.client = jupyter_client.manager.start_new_kernel(
            kernel_name="python3", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def cell(self, code):
        """ms to its output, ms to its end, and what came out."""
        begin = time.perf_counter()
        number = self.client.execute(code)
        output, seen = "", None
        while True:
            message = self.client.get_iopub_msg(timeout=WAIT_S)
            if message["parent_header"].get("msg_id") != number:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                output += content["text"]
            elif message["msg_type"] == "execute_result":
                output += content["data"]["text/plain"]
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                break
            else:
                continue
            seen = time.perf_counter()
        self.client.get_shell_msg(timeout=WAIT_S)
        end = time.perf_counter()
        return ((seen or end) - begin) * 1e3, (end - begin) * 1e3, output

    def times(self, code, expect, runs):
        """[[ms to output, ms to end]…], and how many answers were wrong."""
        for _ in range(2):  # imports, first calls
            self.cell(code)
        rows = [self.cell(code) for _ in range(runs)]
        return [row[:2] for row in rows], sum(output != expect for _, _, output in rows)
