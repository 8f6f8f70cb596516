"""Durable jobs on bad days: an accepted job ends, once for its clients, whichever machine dies."""
import json
import time

from bus import Bus
from machines import wait_until

# Nodes look at the stream of the copies every five seconds.
LOOK_SECONDS = 7

OVER = ("done", "failed", "lost", "cancelled")


def submit(machine, key, code, **fields):
    """The id. A client repeats under its key what was not answered."""
    label = fields.pop("on", None)
    headers = {"Idempotency-Key": key, **({"Belljar-Node-Label": label} if label else {})}

    def accepted():
        try:
            reply = machine.call("POST", "/v1/jobs", {"code": code, **fields}, headers)
        except OSError:
            return None
        assert reply.status in (202, 429, 502, 503), reply
        return reply.json["id"] if reply.status == 202 else None

    return wait_until(accepted, f"{key} is accepted", seconds=180)


def end_of(machine, job):
    def ended():
        reply = machine.call("GET", f"/v1/jobs/{job}?wait_s=5")
        assert reply.status in (200, 502, 503), reply
        return reply.json if reply.status == 200 and reply.json["state"] in OVER else None

    return wait_until(ended, f"{job} is over", seconds=180)


def a_machine_dies_with_its_jobs(cluster):
    """Of those that any gateway accepted before, while and after it died, none is lost, and each has its result."""
    a1, a2, a3 = cluster.machines
    mark = f"{time.time():.0f}"
    code = {n: f"import time; time.sleep(1); print({n})" if n < 8 else f"print({n})" for n in range(12)}
    jobs = {}
    for n in range(8):
        jobs[n] = submit(a1, f"{mark}-{n}", code[n], on=("a2", None)[n % 2])
    a2.kill("server", "engine", "node", "gateway")
    for n in range(8, 12):
        jobs[n] = submit(a3, f"{mark}-{n}", code[n])
    for n, job in jobs.items():
        shown = end_of(a1, job)
        assert shown["state"] == "done", shown
        reply = wait_until(lambda j=job: (r := a3.call("GET", f"/v1/jobs/{j}/result")).status == 200 and r, "its result")
        assert reply.json["stdout"] == f"{n}\n", reply
        assert submit(a3, f"{mark}-{n}", code[n]) == job, "its key is that of another"
    a2.start("server", "engine", "node", "gateway")
    cluster.wait_ready()

    def listed():
        found = [j["id"] for j in a2.call("GET", "/v1/jobs").json["jobs"] if j["id"] in jobs.values()]
        return sorted(found) == sorted(jobs.values())

    wait_until(listed, "each is listed once")


def a_machine_that_was_cut_off_gives_its_jobs_up(cluster):
    a1, a2, a3 = cluster.machines
    job = submit(a1, f"cut-{time.time():.0f}", "import time; time.sleep(600)", on="a2")
    wait_until(lambda: a1.call("GET", f"/v1/jobs/{job}").json.get("state") == "running", "it runs")
    a2.link_down()
    try:
        wait_until(lambda: (r := a3.call("GET", f"/v1/jobs/{job}")).status == 200 and r.json["attempts"] == 2, "another machine has it")
    finally:
        a2.link_up()
    cluster.wait_ready()

    def is_one():
        own = [j["attempts"] for j in a2.call("GET", "/v1/jobs").json["jobs"] if j["id"] == job]
        return own == [2] and a2.call("GET", f"/v1/jobs/{job}").json.get("attempts") == 2

    wait_until(is_one, "its own has gone")
    assert a2.call("POST", f"/v1/jobs/{job}/cancel", {}).json == {"cancelled": True}
    assert end_of(a1, job)["state"] == "cancelled"


def put_and_remove(machine, subject):
    """A message in the stream of the copies, for as long as all nodes need to see it."""
    place = f"belljar.v1.jobs.node.{machine.name}"
    with Bus(machine, "node") as bus:
        bus.subscribe(f"{place}.*")

        def ask(question, data):
            bus.publish(question, data, f"{place}.{1 << 60}")

            def answer():
                bus.flush()
                found = [json.loads(data) for subject, data in bus.messages if subject.endswith(f".{1 << 60}")]
                bus.messages.clear()
                return found and found[0]

            return wait_until(answer, f"{question} is answered", seconds=10)

        sequence = ask(subject, b"an end")["seq"]
        time.sleep(LOOK_SECONDS)
        assert ask("$JS.API.STREAM.MSG.DELETE.belljar_jobs", json.dumps({"seq": sequence}).encode()).get("success") is True


def an_end_that_was_removed_counts_no_more(cluster):
    """A home that finds that the job has moved removes the end that it had just written. Others may have seen it."""
    a1, a2, a3 = cluster.machines
    job = submit(a1, f"late-{time.time():.0f}", "import time; time.sleep(600)", on="a3")
    wait_until(lambda: a1.call("GET", f"/v1/jobs/{job}").json.get("state") == "running", "it runs")
    put_and_remove(a1, f"belljar.v1.job.{job}.e.1.{int(time.time()) + 3600}")
    a3.kill("server", "engine", "node", "gateway")
    try:
        wait_until(lambda: (r := a1.call("GET", f"/v1/jobs/{job}")).status == 200 and r.json["attempts"] == 2, "another machine has it")
        assert a1.call("POST", f"/v1/jobs/{job}/cancel", {}).status == 200
    finally:
        a3.start("server", "engine", "node", "gateway")
    cluster.wait_ready()
    assert end_of(a3, job)["state"] == "cancelled"


def ask_stream(machine, **question):
    """STREAM.INFO of the copies, or None while nobody can tell."""
    with Bus(machine, "node") as bus:
        bus.subscribe(f"belljar.v1.jobs.node.{machine.name}.*")
        bus.publish("$JS.API.STREAM.INFO.belljar_jobs", json.dumps(question).encode(), f"belljar.v1.jobs.node.{machine.name}.{1 << 60}")
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            bus.flush()
            for subject, data in bus.messages:
                if subject.endswith(f".{1 << 60}"):
                    answer = json.loads(data)
                    return answer if "state" in answer else None
            bus.messages.clear()
            time.sleep(0.05)
    return None


def copies_of(machine, jobs):
    def told():
        answer = ask_stream(machine, subjects_filter="belljar.v1.job.*.h.*.*")
        return answer and {subject for subject in answer["state"].get("subjects") or () if subject.split(".")[3] in jobs}

    return wait_until(told, "the stream of the copies can be asked")


def current_leader(machine):
    """Of the stream, once all servers have all of it."""
    answer = ask_stream(machine)
    cluster = answer["cluster"] if answer else {}
    is_current = len(cluster.get("replicas") or ()) == 2 and all(r.get("current") and not r.get("offline") for r in cluster["replicas"])
    return cluster.get("leader") if is_current else None


def servers_die_one_after_the_other(cluster):
    """Each time the one that leads the stream, so that one leads in the end that was restarted. No copy of a job is lost, and copies
    of jobs that are over are removed meanwhile."""
    mark = f"{time.time():.0f}"
    jobs = {submit(cluster.machines[n % 3], f"servers-{mark}-{n}", f"print({n})"): n for n in range(12)}
    for job in jobs:
        assert end_of(cluster.machines[0], job)["state"] == "done"
    others = cluster.machines
    for round_ in range(3):
        leader = wait_until(lambda: current_leader(others[0]), "all servers have all copies", seconds=120)
        machine = cluster.by_name[leader]
        others = [m for m in cluster.machines if m is not machine]
        machine.kill("server")
        cancelled = submit(others[0], f"servers-{mark}-cancelled-{round_}", "1", delay_s=3600)
        assert wait_until(lambda c=cancelled: others[0].call("POST", f"/v1/jobs/{c}/cancel", {}).status == 200, "it is cancelled")
        machine.start("server")
        cluster.wait_ready()
        assert {subject.split(".")[3] for subject in copies_of(others[0], jobs)} == set(jobs), "copies are lost"
    for job, n in jobs.items():
        assert cluster.machines[2].call("GET", f"/v1/jobs/{job}/result").json["stdout"] == f"{n}\n"


TESTS = [
    servers_die_one_after_the_other, a_machine_dies_with_its_jobs, a_machine_that_was_cut_off_gives_its_jobs_up,
    an_end_that_was_removed_counts_no_more,
]  # fmt: skip
