#!/usr/bin/python3
"""soak.py [--seconds T] [--seed N] [--only WORD]: load on three machines while things break at random, and what must hold anyway.

Checked from outside, by clients and by the audit trails:

  - every request is answered, or its connection ends, within a bound
  - every accepted run ends once: no idempotency key was run twice unless its node was lost, and none that was refused was run
  - no part of an answer is missing, or comes twice
  - a session has one owner; its variable and its files are as the last answer left them
  - a name has one session at a time on a node, and at the end all gateways find the same one
  - nobody notices a fault of a machine that the request did not need
  - no job that was accepted is lost: every gateway finds it, it ends once, and has its result (soak_jobs.py)
  - at the end nothing is under way, the trails verify, and no process is left

The seed decides the load and the faults, not how they meet.
"""
import argparse
import collections
import datetime
import hashlib
import http.client
import json
import random
import secrets
import signal
import subprocess
import sys
import threading
import time

from machines import HANG_SECONDS, Cluster, missing, wait_until
from soak_jobs import Jobs

# A request feels a fault from a little before it is noticed here until the cluster has recovered.
BEFORE_S, AFTER_S = 0.5, 8.0

# Named sessions that stay open until the end: gateways have to agree then on who has them.
NAMES_KEPT = 20

# Words of the cluster and of the engine for what a client may have to live with.
REFUSED = {429: {"busy"}, 503: {"unavailable", "busy"}}  # it has not run
UNKNOWN = {502: {"node_lost", "engine_lost", "protocol"}, 410: {"node_lost"}}  # it may have run
LOST = {410: {"session_lost"}, 404: {"not_found"}}  # of sessions


KINDS = (
    "kill server", "kill engine", "kill node", "kill gateway", "kill machine", "stop node", "stop server", "link down", "lame duck", "drain",
    "clock", "restart node", "restart gateway", "restart engine",
)  # fmt: skip

# Most faults are shorter than `jobs_after_s`; these are not always, so jobs move.
JOBS_AFTER_S = 2


class Faults:
    """The faults and their times. A part is "node a1", "gateway a1", "session a1" (its engine ended)."""

    def __init__(self):
        self.lock = threading.Lock()
        self.times = collections.defaultdict(list)  # part: [[begin, end or None]]
        self.counts = collections.Counter()

    def begin(self, *parts):
        with self.lock:
            for part in parts:
                self.times[part].append([time.monotonic(), None])

    def end(self, *parts):
        with self.lock:
            for part in parts:
                self.times[part][-1][1] = time.monotonic()

    def met(self, begin, end, *parts):
        with self.lock:
            return any(
                at - BEFORE_S <= end and (until is None or begin <= until + AFTER_S)
                for part in parts for at, until in self.times[part]
            )  # fmt: skip

    def ever(self, part, since):
        return self.met(since, time.monotonic(), part)


class Soak:
    def __init__(self, cluster, seed, only=None):
        self.cluster, self.seed = cluster, seed
        self.kinds = [kind for kind in KINDS if not only or only in kind]
        self.faults = Faults()
        self.is_over = threading.Event()
        self.lock = threading.Lock()
        self.problems = []
        self.counts = collections.Counter()
        self.keys = {}  # correlation id: "success", "refused", "unknown"
        self.jobs = Jobs(self)
        self.gone = set()  # sessions that ended without a reason that is known here
        self.names = []  # of sessions that are left open
        self.engine_ends = collections.defaultdict(list)  # machine: when, by its clock

    def problem(self, text):
        with self.lock:
            self.problems.append(f"{time.monotonic() - self.began:.1f} s: {text}")
        print(f"    PROBLEM {text}", flush=True)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    # --- one request ---

    def ask(self, machine, method, path, body=None, headers=None):
        """A reply, or None and why there was none; and when it began. Every mistake of the cluster is a problem."""
        began = time.monotonic()
        try:
            reply = machine.call(method, path, body, headers)
        except TimeoutError:
            self.problem(f"{method} {path} through {machine.name}: no answer within {HANG_SECONDS} s")
            return None, "hangs", began
        except (OSError, http.client.HTTPException) as mistake:
            if not self.faults.met(began, time.monotonic(), f"gateway {machine.name}"):
                self.problem(f"{method} {path} through {machine.name}, to which nothing was done: {mistake!r}")
            return None, "unknown", began
        return reply, self.judge(reply), began

    def judge(self, reply):
        if reply.status in (200, 201, 202, 204, 206):
            return "success"
        try:
            code = reply.json["error"]["code"]
        except (ValueError, KeyError, TypeError):
            self.problem(f"an answer without an error: {reply}")
            return "unknown"
        for table, word in ((REFUSED, "refused"), (UNKNOWN, "unknown"), (LOST, "lost")):
            if code in table.get(reply.status, ()):
                return word
        if reply.status == 400 and "a session of that name" in reply.json["error"]["message"]:
            return "taken"
        self.problem(f"an answer that nobody expects: {reply}")
        return "unknown"

    def may_fail(self, began, what, machine, *nodes):
        """A request through this gateway to these nodes has failed: something must have been broken there."""
        parts = [f"gateway {machine.name}", *(f"node {name}" for name in nodes)]
        if not self.faults.met(began, time.monotonic(), *parts):
            self.problem(f"{what} failed, and nothing was done to {', '.join(parts)}")

    # --- load ---

    def client(self, number, work):
        rng = random.Random(f"{self.seed} {work.__name__} {number}")
        while not self.is_over.is_set():
            try:
                work(rng, rng.choice(self.cluster.machines))
            except Exception as mistake:  # noqa: a mistake here must not end the load unseen
                self.problem(f"{work.__name__}: {mistake!r}")
                raise
            time.sleep(rng.random() * 0.05)

    def run_program(self, rng, machine):
        key = f"soak-{secrets.token_hex(8)}"
        value = rng.randrange(10**6)
        pause = rng.choice((0, 0, 0, 0.05, 0.5))
        body = {"code": f"import time\ntime.sleep({pause})\nprint({value} + 1)", "correlation_id": key}
        reply, word, began = self.ask(machine, "POST", "/v1/run", body, {"Idempotency-Key": key})
        self.count(f"runs {word}")
        with self.lock:
            self.keys[key] = word
        if word == "success":
            if reply.json["status"] != "success" or reply.json["stdout"] != f"{value + 1}\n":
                self.problem(f"a run with another result: {reply}")
        elif word in ("unknown", "lost"):
            self.may_fail(began, f"a run ({reply})", machine, *self.cluster.by_name)

    def run_batch(self, rng, machine):
        """Each run is answered once, also when nodes are lost meanwhile: then others run it."""
        count, base = rng.randrange(2, 60), rng.randrange(10**6)
        body = {"code": f"import time\ntime.sleep({rng.choice((0, 0, 0.02, 0.1))})\nprint(int(input()) + 1)",
                "runs": [{"id": f"run {n}", "stdin": str(base + n), "expected_output": str(base + n + 1)} for n in range(count)]}  # fmt: skip
        reply, word, began = self.ask(machine, "POST", "/v1/batch", body)
        self.count(f"batches {word}")
        if word in ("unknown", "lost"):
            self.may_fail(began, f"a batch ({reply})", machine, *self.cluster.by_name)
        if word != "success":
            return
        runs, summary = reply.json["runs"], reply.json["summary"]
        if sorted(r["index"] for r in runs) != list(range(count)) or summary["total"] != count or sum(summary["verdicts"].values()) != count:
            self.problem(f"a batch of {count} runs has {len(runs)} answers: {sorted(r['index'] for r in runs)}, {summary}")
        for run in runs:
            if run["id"] != f"run {run['index']}" or run["verdict"] not in ("accepted", "failed", "cancelled"):
                self.problem(f"a run of a batch with another result: {run}")
            elif run["verdict"] != "accepted":
                self.count(f"runs of batches {run['verdict']}")
                self.may_fail(began, f"a run of a batch ({run})", machine, *self.cluster.by_name)
        nodes = {r["result"]["id"].rpartition("-")[2] for r in runs if r["verdict"] == "accepted"}
        self.count(f"batches on {len(nodes)} nodes")

    def stream_output(self, rng, machine):
        """Numbered lines as events: what comes is what was printed, from the first on."""
        lines = rng.choice((10, 1000, 5000))
        body = {"code": f"for i in range({lines}):\n    print(f'{{i:06}}' * 8)", "output_bytes": 1 << 20}
        expected = "".join(f"{i:06}" * 8 + "\n" for i in range(lines))
        began, got, is_over = time.monotonic(), [], False
        connection = machine.connect()
        try:
            connection.request("POST", "/v1/run", json.dumps(body), {
                "Authorization": f"Bearer {self.cluster.token}", "Accept": "text/event-stream", "Content-Type": "application/json",
            })  # fmt: skip
            response = connection.getresponse()
            if response.status != 200:
                word = self.judge(type("R", (), {"status": response.status, "json": json.loads(response.read())}))
                self.count(f"streams {word}")
                return
            name = None
            for line in response:
                if not line.endswith(b"\n"):
                    break  # cut off
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    name = text[7:]
                elif text.startswith("data: ") and name == "stdout":
                    got.append(json.loads(text[6:])["text"])
                elif text.startswith("data: ") and name == "result":
                    is_over = json.loads(text[6:])["status"] == "success"
        except TimeoutError:
            self.problem(f"a stream through {machine.name} stands still")
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        text = "".join(got)
        if is_over and text != expected:
            self.problem(f"a stream of {len(expected)} bytes has {len(text)}: it breaks at {common(text, expected)}")
        elif not expected.startswith(text):
            self.problem(f"a stream that was cut off is no beginning of its output: it breaks at {common(text, expected)} of {len(text)}")
        if not is_over:
            self.may_fail(began, "a stream", machine, *self.cluster.by_name)
        self.count("streams success" if is_over else "streams cut off")

    def use_session(self, rng, machine):
        reply, word, opened = self.ask(machine, "POST", "/v1/sessions", {})
        if word != "success":
            if word != "refused":
                self.may_fail(opened, f"a new session ({reply})", machine, *self.cluster.by_name)
            return
        session = reply.json["session_id"]
        node = session.rpartition("-")[2]
        if node not in self.cluster.by_name:
            self.problem(f"a session of no node: {session}")
            return
        self.count("sessions opened")
        least = most = 0
        blob = None
        for _ in range(rng.randrange(3, 25)):
            if self.is_over.is_set():
                break
            through = rng.choice(self.cluster.machines)
            if rng.random() < 0.2:
                blob, is_alive = self.use_file(rng, through, session, node, blob, opened)
            else:
                least, most, is_alive = self.use_cell(through, session, node, least, most, opened)
            if not is_alive:
                self.count("sessions lost")
                return
            time.sleep(rng.random() * 0.1)
        self.ask(rng.choice(self.cluster.machines), "DELETE", f"/v1/sessions/{session}")

    def race_for_name(self, rng, machine):
        """All gateways at once are asked for a session of one name: one of them may open it."""
        name = f"race-{secrets.token_hex(6)}"
        answers = []

        def ask(through):
            answers.append((through, *self.ask(through, "POST", "/v1/sessions", {"name": name})))

        threads = [threading.Thread(target=ask, args=(m,)) for m in self.cluster.machines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        opened = {reply.json["session_id"]: began for _, reply, word, began in answers if word == "success"}
        for through, reply, word, began in answers:
            self.count(f"names {word}")
            if word in ("unknown", "lost"):
                self.may_fail(began, f"the name {name} ({reply})", through, *self.cluster.by_name)
        by_node = collections.defaultdict(list)
        for session, began in opened.items():
            by_node[session.rpartition("-")[2]].append(began)
        for node, began in by_node.items():
            # An engine that ended has lost the first one: the name was free again. The trail says whether they met.
            if len(began) > 1:
                self.count("names opened again after their engine ended")
            if len(began) > 1 and not self.faults.met(min(began), time.monotonic(), f"session {node}"):
                self.problem(f"the name {name} has {len(began)} sessions on {node}, whose engine never ended: {opened}")
        if len(by_node) > 1:
            # A node that was silent for a second has lost its names, though it may live: they are taken over.
            lost = [line for m in self.cluster.machines for line in m.log("gateway").splitlines()
                    if "the node is lost" in line and any(f"node={n} " in line for n in by_node) and is_recent(line, 10)]  # fmt: skip
            self.count("names taken over from a silent node")
            if not lost:
                self.problem(f"the name {name} has two owners, and nobody was silent: {opened}")
        with self.lock:
            is_kept = bool(opened) and len(self.names) < NAMES_KEPT
            self.names += [name] * is_kept
            some = rng.choice(self.names) if self.names else name
        if not is_kept:
            for session in opened:
                self.ask(machine, "DELETE", f"/v1/sessions/{session}")
        _, word, _ = self.ask(machine, "GET", f"/v1/sessions/{some}")  # so that gateways learn who has it
        self.count(f"names looked up {word}")
        time.sleep(0.3)

    def failed(self, word, reply, began, through, session, node, opened, what):
        """Of a request to a session. Whether the session lives still."""
        if word == "refused":
            self.count("session requests refused")
            if reply.status == 503:
                self.may_fail(began, f"{what} ({reply})", through, node)
            return True
        self.may_fail(began, f"{what} of {session} ({reply})", through, node)
        if word == "lost" and reply.status == 404 and not self.faults.ever(f"session {node}", opened):
            self.gone.add(session)
            self.problem(f"{what}: {session} is unknown, and its engine never ended: {reply}")
        # The words "session_lost" are also true of a node that cannot be reached now.
        return word != "lost" or not self.faults.ever(f"session {node}", opened)

    def use_cell(self, through, session, node, least, most, opened):
        code = "n = globals().get('n', 0) + 1\nprint(n)"
        reply, word, began = self.ask(through, "POST", f"/v1/sessions/{session}/execute", {"code": code})
        self.count(f"cells {word}")
        if word == "success":
            value = int(reply.json["stdout"] or -1) if reply.json["status"] == "success" else -1
            if not least < value <= most + 1:
                self.problem(f"session {session}: n is {value}, expected {least + 1} to {most + 1}: {reply}")
            return value, value, True
        # One that got no answer may have run.
        return least, most + (word != "refused"), self.failed(word, reply, began, through, session, node, opened, "a cell")

    def use_file(self, rng, through, session, node, blob, opened):
        path = f"/v1/sessions/{session}/files/data/blob"
        if blob is None or rng.random() < 0.5:
            new = rng.randbytes(rng.choice((10, 70_000, 300_000)))
            reply, word, began = self.ask(through, "PUT", path, new)
            self.count(f"files written {word}")
            if word == "success":
                return [new], True
            return [*(blob or [None]), new], self.failed(word, reply, began, through, session, node, opened, "writing a file")
        reply, word, began = self.ask(through, "GET", path)
        self.count(f"files read {word}")
        if word == "success" and reply.body not in blob:
            self.problem(f"session {session}: a file of {len(reply.body)} bytes ({hashlib.sha256(reply.body).hexdigest()[:8]}) that nobody wrote")
        if word == "lost" and None in blob and not self.faults.ever(f"session {node}", opened):
            return blob, True  # the file was perhaps never written
        return blob, word == "success" or self.failed(word, reply, began, through, session, node, opened, "reading a file")

    # --- what breaks ---

    def break_something(self, rng):
        machine = rng.choice(self.cluster.machines)
        kind = rng.choice(self.kinds)
        pause = rng.uniform(0.3, 5.0)
        self.faults.counts[kind] += 1
        print(f"    {time.monotonic() - self.began:5.1f} s  {kind} {machine.name} for {pause:.1f} s", flush=True)
        getattr(self, "fault_" + kind.replace(" ", "_"))(machine, pause)

    def parts_of_server(self, machine):
        """A server takes along what is connected to it: of its own machine, and of those whose own server was away before."""
        parts = {f"node {machine.name}", f"gateway {machine.name}"}
        for other in self.cluster.machines:
            guests = {f"{which} {other.name}" for which in other.connected_to(machine) if which in ("node", "gateway")}
            if other is not machine and guests:
                self.count("neighbours that felt a server's end")
                parts |= guests
        return tuple(sorted(parts))

    def kill(self, machine, which, pause, *parts):
        self.faults.begin(*parts)
        machine.kill(which)
        time.sleep(pause)
        machine.start(which)
        self.recover(machine)
        self.faults.end(*parts)

    def recover(self, machine):
        """Until the machine's node and gateway are heard again and take work."""
        self.cluster.wait_ready(sees=self.cluster.machines[0])

    def fault_kill_server(self, machine, pause):
        self.kill(machine, "server", pause, *self.parts_of_server(machine))

    def fault_kill_engine(self, machine, pause):
        self.end_engine(machine, pause, lambda: machine.kill("engine"), ["engine"], f"node {machine.name}")

    def fault_restart_engine(self, machine, pause):
        """It tells clients that it stops, and its sessions end."""
        self.end_engine(machine, pause, lambda: machine.stop("engine"), ["engine"], f"node {machine.name}")

    def fault_kill_machine(self, machine, pause):
        which = ["server", "engine", "node", "gateway"]
        self.end_engine(machine, pause, lambda: machine.kill(*which), which, *self.parts_of_server(machine))

    def end_engine(self, machine, pause, end, which, *parts):
        parts = (*parts, f"session {machine.name}")
        self.faults.begin(*parts)
        end()
        self.engine_ends[machine.name].append(datetime.datetime.now(datetime.timezone.utc))
        time.sleep(pause)
        machine.start(*which)
        self.recover(machine)
        self.faults.end(*parts)

    def fault_stop_server(self, machine, pause):
        """It holds its connections, and answers nothing."""
        parts = self.parts_of_server(machine)
        self.faults.begin(*parts)
        machine.signal("server", signal.SIGSTOP)
        time.sleep(pause)
        machine.signal("server", signal.SIGCONT)
        self.recover(machine)
        self.faults.end(*parts)

    def fault_kill_node(self, machine, pause):
        self.kill(machine, "node", pause, f"node {machine.name}")

    def fault_kill_gateway(self, machine, pause):
        self.kill(machine, "gateway", pause, f"gateway {machine.name}")

    def fault_stop_node(self, machine, pause):
        self.faults.begin(f"node {machine.name}")
        machine.signal("node", signal.SIGSTOP)
        time.sleep(pause)
        machine.signal("node", signal.SIGCONT)
        self.recover(machine)
        self.faults.end(f"node {machine.name}")

    def fault_link_down(self, machine, pause):
        parts = self.parts_of_server(machine)
        self.faults.begin(*parts)
        machine.link_down()
        time.sleep(pause)
        machine.link_up()
        self.recover(machine)
        self.faults.end(*parts)

    def fault_lame_duck(self, machine, pause):
        """The server sends its clients away, and is killed before it would end by itself, which takes half a minute."""
        parts = self.parts_of_server(machine)
        self.faults.begin(*parts)
        machine.signal("server", signal.SIGUSR2)
        time.sleep(2 + pause)
        machine.kill("server")
        machine.start("server")
        self.recover(machine)
        self.faults.end(*parts)

    def fault_drain(self, machine, pause):
        """Nothing may be lost, so nothing is noted as broken."""
        for word in ("drain", "undrain"):
            answer = machine.call_cluster(word, machine.name)
            if answer.returncode != 0:
                self.problem(f"{word} {machine.name}: {answer}")
            time.sleep(pause if word == "drain" else 0)

    def fault_clock(self, machine, pause):
        """The clock of node and gateway jumps an hour ahead, and back. Nobody may notice."""
        machine.clock.write_text("3600")
        time.sleep(pause)
        machine.clock.write_text("-3600")
        time.sleep(pause)
        machine.clock.write_text("0")

    def fault_restart_node(self, machine, pause):
        self.restart(machine, "node", f"node {machine.name}")

    def fault_restart_gateway(self, machine, pause):
        self.restart(machine, "gateway", f"gateway {machine.name}")

    def restart(self, machine, which, part):
        self.faults.begin(part)
        if machine.stop(which) != [0]:
            self.problem(f"{which} {machine.name} ended with {machine.processes[which].returncode}")
        machine.start(which)
        self.recover(machine)
        self.faults.end(part)

    # --- the whole ---

    def load(self, seconds):
        self.began = time.monotonic()
        rng = random.Random(f"{self.seed} faults")
        work = [self.run_program] * 3 + [self.use_session] * 3 + [self.stream_output, self.run_batch, self.race_for_name]
        work += [self.jobs.submit_job, self.jobs.submit_job, self.jobs.look_at_job]
        threads = [threading.Thread(target=self.client, args=(n, w), daemon=True) for n, w in enumerate(work)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        while time.monotonic() - self.began < seconds:
            self.break_something(rng)
            time.sleep(rng.uniform(0.2, 2.0))
        self.is_over.set()
        for thread in threads:
            thread.join(2 * HANG_SECONDS)
            if thread.is_alive():
                self.problem("a client hangs")

    def restart_damaged_servers(self):
        """nats-server 2.9 may lose its part of a stream when it is killed, says so, and does not repair it: the guide tells to restart it."""
        for machine in self.cluster.machines:
            if "Resetting stream cluster state" in machine.log("server"):
                print(f"    the server of {machine.name} has lost its part of a stream: restarted")
                self.count("damaged servers restarted")
                machine.stop("server")
                machine.start("server")
                self.cluster.wait_ready()

    def check_names(self):
        """All gateways find the same session, or none of them any."""
        def answers(name):
            found = set()
            for machine in self.cluster.machines:
                reply = machine.call("GET", f"/v1/sessions/{name}")
                if reply.status == 503:
                    return None  # the servers of the bus find each other still
                found.add(reply.json["session_id"] if reply.status == 200 else reply.status)
            return found

        for name in self.names:
            found = wait_until(lambda name=name: answers(name), f"who has {name}")
            if len(found) > 1:
                self.problem(f"gateways do not agree on who has {name}: {found}")
            self.count("names agreed on")

    def check_idle(self):
        def is_idle():
            told = self.cluster.machines[0].status()
            nodes = [m for m in told.values() if m["role"] == "node"]
            return len(nodes) == len(self.cluster.machines) and not any(n["running"] + n["waiting"] + n["relays"] for n in nodes)

        try:
            wait_until(is_idle, "nothing is under way", 30, 0.5)
        except AssertionError as mistake:
            self.problem(f"{mistake}: {self.cluster.machines[0].status()}")

    def trail_of(self, machine, *words):
        return subprocess.run([str(self.cluster.belljar), "audit", *words, "--config", str(machine.dir / "config.toml")],
                              env=machine.environment("engine"), capture_output=True, text=True, timeout=10 * HANG_SECONDS)  # fmt: skip

    def note_session(self, lives, machine, record):
        if record["id"] in self.gone:
            print(f"    the trail of {machine}: {record}", flush=True)
        at = datetime.datetime.fromisoformat(record["time"].replace("Z", "+00:00"))
        if record["event"] == "open":
            ended = [end for end in self.engine_ends[machine] if end >= at]
            lives[record["name"]].append([machine, record["id"], at, min(ended) if ended else None])
        elif record["event"] == "end":
            for life in lives[record["name"]]:
                if life[1] == record["id"]:
                    life[3] = min(filter(None, (life[3], at)))

    def check_lives(self, name, sessions):
        """No engine had two of that name at a time."""
        for i, (machine, session, began, until) in enumerate(sessions):
            for other, second, later, _ in sessions[i + 1 :]:
                if other == machine and later >= began and (until is None or later < until):
                    self.problem(f"{machine} had two sessions of the name {name} at a time: {session} and {second}")

    def check_trails(self):
        """Looks up in the trails where each key was run, and how often."""
        starts, ends = collections.defaultdict(list), collections.Counter()
        lives = collections.defaultdict(list)  # name: of its sessions [machine, id, from, until or None]
        for machine in self.cluster.machines:
            verified = self.trail_of(machine, "verify")
            if verified.returncode != 0:
                self.problem(f"the trail of {machine.name}: {verified.stdout[-300:]} {verified.stderr[-300:]}")
            told = self.trail_of(machine, "export")
            for line in told.stdout.splitlines():
                record = json.loads(line)
                if record.get("kind") == "start":
                    starts[record.get("correlation_id")].append(machine.name)
                elif record.get("kind") == "end":
                    ends[record.get("id")] += 1
                elif record.get("kind") == "session" and record.get("status") == "success":
                    self.note_session(lives, machine.name, record)
        for name, sessions in lives.items():
            self.check_lives(name, sessions)
        if self.keys and not starts:
            self.problem("the trails have no starts of runs")
        for key, word in self.keys.items():
            where = starts.get(key, [])
            if word == "success" and not where:
                self.problem(f"{key} was answered, and no trail has it")
            if word == "refused" and where:
                self.problem(f"{key} was refused, and ran on {where}")
            if len(where) > 1 and not any(self.faults.times[f"node {name}"] for name in where[:-1]):
                self.problem(f"{key} ran on {where}, and none of them was lost")
        self.jobs.check_starts(starts)
        for run, count in ends.items():
            if count > 1:
                self.problem(f"{run} ended {count} times")
        self.counts["runs in the trails"] = sum(map(len, starts.values()))


def is_recent(line, seconds):
    """Of a line of a log, by its time."""
    try:
        at = datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00"))
    except (ValueError, IndexError):
        return False
    return abs((datetime.datetime.now(datetime.timezone.utc) - at).total_seconds()) < seconds


def common(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def soak(seconds, seed, only=None):
    """The problems, after printing what happened."""
    print(f"    seed {seed}, {seconds} s", flush=True)
    with Cluster(clock=True, jobs_after_s=JOBS_AFTER_S) as cluster:
        test = Soak(cluster, seed, only)
        test.load(seconds)
        cluster.wait_ready()
        test.restart_damaged_servers()
        test.check_names()
        test.jobs.check()
        test.check_idle()
        statuses = [machine.stop("gateway", "node", "engine") for machine in cluster.machines]
        if any(map(any, statuses)):
            test.problem(f"processes ended with {statuses}")
        test.check_trails()
        for machine in cluster.machines:
            machine.stop("server")
        left = cluster.processes_left()
        if left:
            test.problem(f"processes are left: {left}")
        if test.problems:
            cluster.print_logs()
    print("    faults: " + ", ".join(f"{n} {what}" for what, n in sorted(test.faults.counts.items())))
    print("    load: " + ", ".join(f"{n} {what}" for what, n in sorted(test.counts.items())), flush=True)
    return test.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", help="faults that have this word")
    arguments = parser.parse_args()
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 77
    problems = soak(arguments.seconds, arguments.seed if arguments.seed is not None else secrets.randbelow(1 << 31), arguments.only)
    print(*problems, f"{len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
