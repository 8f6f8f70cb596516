"""Requests at fixed times, whether or not the ones before have been answered.

The time of a request counts from when it was due, not from when a connection was free for it: a server that stops for a second
makes everybody wait who came in that second, and that shows here.
"""
import http.client
import threading
import time


def run(server, body, rate, seconds, connections=64):
    """Sorted times in ms, and how many were not answered with 200."""
    count = max(1, int(rate * seconds))
    lock = threading.Lock()
    state = {"next": 0, "failed": 0}
    times = []
    started = time.perf_counter() + 0.2

    def is_answered(c):
        try:
            return server.call(c, "POST", "/v1/run", body)[0] == 200
        except (OSError, http.client.HTTPException):
            c.close()  # the next request connects again
            return False

    def client():
        c = server.connect()
        while True:
            with lock:
                number = state["next"]
                state["next"] += 1
            if number >= count:
                break
            due = started + number / rate
            if (wait := due - time.perf_counter()) > 0:
                time.sleep(wait)
            answered = is_answered(c)
            taken = (time.perf_counter() - due) * 1000
            with lock:
                times.append(taken)
                state["failed"] += not answered
        c.close()

    threads = [threading.Thread(target=client) for _ in range(connections)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sorted(times), state["failed"]


def share(times, part):
    """In words; too few requests have no such share."""
    return f"{times[int(len(times) * part)]:.2f}" if len(times) * (1 - part) >= 1 else "-"


def table(server, body, capacity, seconds):
    """Lines for half and nine tenths of what the server can do."""
    lines = [f"{'open loop':24} {'per second':>11} {'requests':>9} {'p50 ms':>9} {'p99 ms':>9} {'p99.9 ms':>9} {'failed':>7}"]
    for name, part in (("half of capacity", 0.5), ("nine tenths of capacity", 0.9)):
        times, failed = run(server, body, capacity * part, seconds)
        lines.append(f"{name:24} {capacity * part:>11.0f} {len(times):>9} {share(times, 0.5):>9} {share(times, 0.99):>9} {share(times, 0.999):>9} {failed:>7}")
    return lines
