"""Durable jobs in the soak: whichever machine dies, a job that was accepted is found by every gateway, ends once and has its result."""
import json
import random
import secrets
import threading
import time

from lost_jobs import ask_stream
from machines import wait_until
from name_days import ask_engine

OVER = ("done", "failed", "lost", "cancelled")


def shown(told):
    """A job in a line."""
    history = [f"{run['number']} {run['run_id'][-2:]} {run['started_at'][11:23]} to {(run['ended_at'] or '')[11:23]} {run['outcome']}" for run in told["history"]]
    return f"{told['state']} by {told['attempts']} ({', '.join(history)})"


class Job:
    def __init__(self, kind, key, value):
        self.kind, self.key, self.value = kind, key, value
        self.id = None  # once it was accepted
        self.end = None  # what was told of it when it was over
        self.is_cancelled = False  # somebody has asked for it

    @property
    def body(self):
        body = {"code": f"print({self.value} * 2)", "correlation_id": self.key}
        if self.kind == "once":
            body |= {"repeatable": False, "code": "import time\ntime.sleep(0.5)\n" + body["code"]}
        else:
            body["max_attempts"] = 20
        if self.kind in ("slow", "cancelled"):
            body["code"] = f"import time\ntime.sleep({1 + self.value % 5})\n" + body["code"]
        elif self.kind == "delayed":
            body["delay_s"] = 1 + self.value % 4
        elif self.kind == "long":
            body |= {"code": f"print('{self.value:06}' * 50_000)", "output_bytes": 1 << 20}
        return body

    @property
    def expected(self):
        return f"{self.value:06}" * 50_000 + "\n" if self.kind == "long" else f"{self.value * 2}\n"

    def states(self):
        """Ends that it may have."""
        states = {"done"}
        if self.kind == "once":
            states.add("lost")
        if self.is_cancelled:
            states.add("cancelled")
        return states


class Jobs:
    KINDS = ("quick", "quick", "slow", "slow", "once", "delayed", "cancelled", "long")

    def __init__(self, soak):
        self.soak, self.all, self.lock = soak, [], threading.Lock()
        self.strange = set()  # ids of jobs with a problem

    # --- load ---

    def submit_job(self, rng, machine):
        """And again under its key, by another gateway: that is the same job."""
        job = Job(rng.choice(self.KINDS), f"job-{secrets.token_hex(8)}", rng.randrange(10**6))
        for through in (machine, rng.choice(self.soak.cluster.machines)):
            reply, word, began = self.soak.ask(through, "POST", "/v1/jobs", job.body, {"Idempotency-Key": job.key})
            self.soak.count(f"jobs {word}")
            if word == "success":
                if job.id not in (None, reply.json["id"]):
                    self.soak.problem(f"the key {job.key} has two jobs: {job.id} and {reply.json['id']}")
                job.id = reply.json["id"]
            elif word != "refused":
                self.soak.may_fail(began, f"a job ({reply})", through, *self.soak.cluster.by_name)
        with self.lock:
            self.all.append(job)
        if job.kind == "cancelled" and job.id:
            time.sleep(rng.random() * 2)
            self.cancel(job, rng.choice(self.soak.cluster.machines))
        time.sleep(0.3)

    def cancel(self, job, machine):
        job.is_cancelled = True  # also without an answer it may be
        reply, word, began = self.soak.ask(machine, "POST", f"/v1/jobs/{job.id}/cancel", {})
        self.soak.count(f"cancels {word}")
        self.judge(job, reply, word, began, machine, "cancelling")

    def look_at_job(self, rng, machine):
        with self.lock:
            accepted = [job for job in self.all[-200:] if job.id]
        if not accepted:
            time.sleep(0.2)
            return
        job = rng.choice(accepted)
        if rng.random() < 0.3:
            self.submit_again(job, machine)
            return
        reply, word, began = self.soak.ask(machine, "GET", f"/v1/jobs/{job.id}")
        self.soak.count(f"jobs looked at {word}")
        if word == "success":
            self.note(job, reply.json)
        else:
            self.judge(job, reply, word, began, machine, "looking at")
        time.sleep(0.1)

    def submit_again(self, job, machine):
        """However long ago it was accepted, and wherever it is now."""
        reply, word, began = self.soak.ask(machine, "POST", "/v1/jobs", job.body, {"Idempotency-Key": job.key})
        self.soak.count(f"jobs submitted again {word}")
        if word == "success" and reply.json["id"] != job.id:
            self.soak.problem(f"the key {job.key} has two jobs: {job.id} and {reply.json['id']}")
        elif word != "refused":
            self.judge(job, reply, word, began, machine, "submitting again")

    def judge(self, job, reply, word, began, machine, what):
        if word == "success":
            return
        self.soak.may_fail(began, f"{what} {job.id} ({reply})", machine, *self.soak.cluster.by_name)
        if reply is not None and reply.status in (404, 410):
            self.soak.problem(f"{what} {job.id}, which was accepted: {reply}")

    def note(self, job, told):
        """A job that is over stays as it was."""
        if told["state"] not in OVER:
            if job.end:
                self.soak.problem(f"{job.id} was {job.end['state']} and is {told['state']}")
            return
        if job.end and (job.end["state"], job.end["attempts"]) != (told["state"], told["attempts"]):
            self.soak.problem(f"{job.id} has ended twice: {shown(job.end)} and {shown(told)}")
            self.strange.add(job.id)
        job.end = told

    # --- the end ---

    def check(self):
        for job in self.all:
            try:
                if not job.id:
                    self.find(job)
                if job.id:
                    self.check_job(job)
            except AssertionError as mistake:
                self.soak.problem(str(mistake))
        self.check_lists()
        for ident in sorted(self.strange):
            answer = wait_until(lambda i=ident: ask_stream(self.soak.cluster.machines[0], subjects_filter=f"belljar.v1.job.{i}.>"), "the stream answers")
            print(f"    {ident}: on the bus {sorted(answer['state'].get('subjects') or ())}")
            for machine in self.soak.cluster.machines:
                reply = ask_engine(machine, "GET", f"/v1/jobs/{ident}")
                print(f"    {ident}: at {machine.name} {shown(reply.json) if reply.status == 200 else reply.status}")
                print(*(f"    {machine.name}: {line}" for line in machine.log("node").splitlines() if ident in line), sep="\n")

    def find(self, job):
        """Nobody has said whether it was accepted."""
        machine = random.choice(self.soak.cluster.machines)
        reply = wait_until(lambda: (r := machine.call("GET", f"/v1/jobs/key:{job.key}")).status != 503 and r, f"whether {job.key} was accepted")
        self.soak.count(f"jobs without an answer {'found' if reply.status == 200 else 'not accepted'}")
        if reply.status == 200:
            job.id = reply.json["id"]

    def check_job(self, job):
        def ended(machine):
            reply = machine.call("GET", f"/v1/jobs/{job.id}?wait_s=5")
            return reply.status == 200 and reply.json["state"] in OVER and reply.json

        for machine in self.soak.cluster.machines:
            try:
                told = wait_until(lambda machine=machine: ended(machine), f"the end of {job.id} by {machine.name}")
            except AssertionError as mistake:
                self.soak.problem(f"{mistake}: {machine.call('GET', f'/v1/jobs/{job.id}')}")
                self.strange.add(job.id)
                return
            self.note(job, told)
        self.soak.count(f"{job.kind} jobs {job.end['state']}")
        if job.end["state"] not in job.states():
            self.soak.problem(f"an accepted job is {job.end['state']}: {job.end}")
        elif job.end["state"] == "done":
            result = machine.call("GET", f"/v1/jobs/{job.id}/result")
            if result.status != 200 or result.json.get("stdout") != job.expected:
                self.soak.problem(f"the result of {job.id} is another one: {result}")
        homes = len({run["run_id"].rpartition("-")[2] for run in job.end.get("history", []) if run.get("run_id")})
        self.soak.count("jobs that have moved" if homes > 1 or job.end["attempts"] > 1 else "jobs of one attempt")

    def check_lists(self):
        """Each is listed once, by every gateway."""
        for machine in self.soak.cluster.machines:
            listed = self.listed_by(machine)
            ours = {job.id for job in self.all if job.id}
            for ident in ours:
                if listed.count(ident) != 1:
                    self.soak.problem(f"{machine.name} lists {ident} {listed.count(ident)} times")

    def listed_by(self, machine):
        listed, before = [], ""
        while True:
            reply = machine.call("GET", f"/v1/jobs?limit=100{before}")
            assert reply.status == 200, reply
            ids = [job["id"] for job in reply.json["jobs"]]
            listed += ids
            if len(ids) < 100:
                return listed
            before = f"&before={ids[-1]}"

    def check_starts(self, starts):
        """`starts`: for each correlation id the machines on which it began."""
        for job in self.all:
            where = starts.get(job.key, [])
            if job.kind == "once" and len(where) > 1:
                self.soak.problem(f"{job.id} is to begin once, and began on {where}: {json.dumps(job.end)}")
            if job.end and job.end["state"] == "done" and not where:
                self.soak.problem(f"{job.id} is done, and no trail has its beginning")
