#!/usr/bin/python3
"""listener.py BEFORE AFTER [--rounds N]: two builds of `belljar serve` side by side, over connections that are kept.

BEFORE and AFTER are the programs (`belljar`). Both servers run at once and are asked in turns, so that the load of the machine
meets both. Printed are the medians of GET /health, POST /v1/run and an upload of 10 MB into a session, their difference and
their ratio. Nothing fails by time: the machine decides what the figures are worth.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import server

UPLOAD = os.urandom(10 << 20)


class Server(server.Server):
    def __init__(self, program, home):
        super().__init__(program, home, pool_size=16)
        self.connection = self.connect()
        self.session = json.loads(self.ask("POST", "/v1/sessions", b"{}"))["session_id"]
        self.ask("POST", f"/v1/sessions/{self.session}/execute", b'{"code":"1"}')

    def ask(self, method, path, body=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {self.token}"}
        self.connection.request(method, path, body, {**headers, "Content-Type": kind} if body else headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text[:300]}")
        return text

    def stop(self):
        self.connection.close()
        return super().stop()


JOBS = {
    "GET /health": (10, lambda s: s.ask("GET", "/health")),
    "POST /v1/run": (1, lambda s: s.ask("POST", "/v1/run", b'{"code":"1"}')),
    "PUT 10 MB": (0.1, lambda s: s.ask("PUT", f"/v1/sessions/{s.session}/files/large", UPLOAD, "application/octet-stream")),
}


def measure(servers, job, rounds):
    times = [[], []]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            job(servers[which])
            times[which].append(time.perf_counter() - start)
    return [statistics.median(t) * 1000 for t in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=300)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        servers = []
        for name, program in (("before", args.before), ("after", args.after)):
            os.mkdir(os.path.join(base, name), mode=0o700)
            servers.append(Server(program, os.path.join(base, name)))
        try:
            print(f"{'':14} {'before ms':>10} {'after ms':>10} {'more ms':>9} {'ratio':>6}")
            for name, (factor, job) in JOBS.items():
                rounds = max(5, int(args.rounds * factor))
                measure(servers, job, max(2, rounds // 10))
                before, after = measure(servers, job, rounds)
                print(f"{name:14} {before:10.3f} {after:10.3f} {after - before:9.3f} {after / before:6.2f}")
        finally:
            for one in servers:
                one.stop()


if __name__ == "__main__":
    main()
