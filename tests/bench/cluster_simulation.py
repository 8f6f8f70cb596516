#!/usr/bin/python3
"""cluster_simulation.py [--seed N] [--quick]: the dispatch of `belljar cluster`, simulated with many nodes.

This is a simulation: no engine and no NATS server runs. It follows the rules of the dispatch (two nodes drawn at random among
those that are ready, the one with more room is asked; busy, silent or gone: another one) with costs that were measured on real
ones, which stand below as constants. It answers what two cores cannot: how the load spreads over 10, 100 and 1,000 nodes, how
many first tries are refused because a heartbeat was old, and how many messages the bus has to carry.

The last part is arithmetic on the same constants: which server of the bus is full first.
"""
import argparse
import heapq
import math
import random
import sys

# Measured on nats-server 2.9.10 with libnats 3.4.1: docs/SCALE.md says how.
HOP_S = 0.000_130  # one way over a server-to-server hop: half of 260 µs
NO_RESPONDERS_S = 0.000_093  # nobody listens
HEARTBEAT_S = 0.3
EXPIRY_S = 1.0  # a node that was not heard for so long is not asked
SILENT_S = 0.25  # a node that was asked and says nothing
SERVER_MESSAGES = 260_000  # a second, in and out: 66,000 requests of four messages each
TRIES = 8  # nodes asked for one run, then the client gets 429

PLACES = 16  # runs at once of one node
GATEWAYS = 4  # up to 100 nodes; more below

# Programs: mean seconds, and the spread of a log-normal distribution around it.
MIXES = {"short programs, mean 40 ms": (0.04, 1.0), "agents' programs, mean 0.5 s": (0.5, 1.5)}


def gateways_for(nodes):
    return max(GATEWAYS, nodes // 25)


class Cluster:
    """`policy` says how a gateway judges the nodes that it drew:

    one      draws one node and asks it
    beats    two; places in use by the last heartbeat
    counted  the same, and what this gateway itself sent there since then and has not seen end
    verdicts the same, and every verdict of a node (accepted, busy) says again how many are in use: what `belljar cluster` does
    answers  the same, and the end of a run says so, too
    """

    def __init__(self, nodes, policy, seed, silent_from=None):
        self.rng, self.policy = random.Random(seed), policy
        self.nodes, self.gateways = nodes, gateways_for(nodes)
        self.running = [0] * nodes
        self.beat = [(0, 0.0)] * nodes  # places in use and when, by the last heartbeat
        self.heard = [0.0] * nodes  # when the last heartbeat was
        self.own = [{} for _ in range(self.gateways)]  # node: (when, in use by the last answer, sent since)
        self.silent_from = silent_from  # node 0 is cut off then, without a word

    def is_cut(self, node, now):
        return self.silent_from is not None and node == 0 and now >= self.silent_from

    def seen(self, gateway, node):
        used, at = self.beat[node]
        if self.policy in ("counted", "verdicts", "answers"):
            own = self.own[gateway].get(node)
            if own and own[0] >= at:
                return own[1] + own[2]
        return used

    def draw(self, gateway, tried, now):
        chosen = None
        for _ in range(1 if self.policy == "one" else 2):
            for _ in range(20):
                node = self.rng.randrange(self.nodes)
                if node not in tried and node != chosen and now - self.heard[node] <= EXPIRY_S:
                    break
            else:
                continue
            if chosen is None or self.seen(gateway, node) < self.seen(gateway, chosen):
                chosen = node
        return chosen

    def sent(self, gateway, node, now):
        """After the node took a run or refused it."""
        if self.policy in ("verdicts", "answers"):
            self.own[gateway][node] = (now, self.running[node], 0)
        elif self.policy == "counted":
            used, at = self.beat[node]
            own = self.own[gateway].get(node)
            self.own[gateway][node] = (at, used, own[2] + 1 if own and own[0] >= at else 1)

    def ended(self, gateway, node, now):
        if self.policy == "answers":
            self.own[gateway][node] = (now, self.running[node], 0)
        elif self.policy in ("counted", "verdicts"):
            used, at = self.beat[node]
            own = self.own[gateway].get(node)
            self.own[gateway][node] = (own[0], own[1], own[2] - 1) if own and own[0] >= at else (at, used, -1)


class Simulation:
    """Events are (time, kind, node, run); a run is [gateway, delay, nodes tried]."""

    BEAT, END, AGAIN = range(3)

    def __init__(self, nodes, load, mix, policy, seed, silent_from=None):
        self.mean, self.sigma = MIXES[mix]
        self.mu = math.log(self.mean) - self.sigma**2 / 2
        self.cluster = Cluster(nodes, policy, seed, silent_from)
        self.rng = self.cluster.rng
        self.rate = load * nodes * PLACES / self.mean
        self.events = [(self.rng.random() * HEARTBEAT_S, self.BEAT, node, None) for node in range(nodes)]
        heapq.heapify(self.events)
        self.since = 0.0  # runs that arrived before are not counted
        self.runs = self.first_refused = self.tries = self.failed = self.delayed = 0
        self.worst_delay = self.delay = 0.0
        self.looks = []

    def dispatch(self, run, now, counts):
        cluster = self.cluster
        gateway, _, tried = run
        taken = None
        while len(tried) < TRIES:
            node = cluster.draw(gateway, tried, now)
            if node is None:
                break
            if cluster.is_cut(node, now):
                tried.append(node)
                run[1] += SILENT_S
                heapq.heappush(self.events, (now + SILENT_S, self.AGAIN, len(tried), run))
                return
            if cluster.running[node] < PLACES:
                taken = node
                cluster.running[node] += 1
                cluster.sent(gateway, node, now)
                heapq.heappush(self.events, (now + self.rng.lognormvariate(self.mu, self.sigma), self.END, node, run))
                break
            tried.append(node)
            run[1] += 2 * HOP_S
            cluster.sent(gateway, node, now)
        if counts:
            self.runs += 1
            self.first_refused += bool(tried)
            self.tries += len(tried) + (taken is not None)
            self.failed += taken is None
            self.delayed += run[1] >= SILENT_S
            self.delay += run[1]
            self.worst_delay = max(self.worst_delay, run[1])

    def happen(self, now, kind, node, run):
        cluster = self.cluster
        if kind == self.BEAT:
            if not cluster.is_cut(node, now):
                cluster.beat[node] = (cluster.running[node], now)
                cluster.heard[node] = now
            heapq.heappush(self.events, (now + HEARTBEAT_S, self.BEAT, node, None))
        elif kind == self.END:
            cluster.running[node] -= 1
            cluster.ended(run[0], node, now)
        else:
            # The one that was silent counts as full until its next heartbeat.
            cluster.own[run[0]][run[2][-1]] = (now, PLACES, 0)
            self.dispatch(run, now, now >= self.since)

    def look(self):
        ordered = sorted(self.cluster.running)
        part = len(ordered) // 100
        self.looks.append([100 * n / PLACES for n in (ordered[part], ordered[len(ordered) // 2], ordered[-1 - part])])

    def go(self, warm, seconds):
        self.since = warm
        next_look = warm
        arrival = self.rng.expovariate(self.rate)
        while (now := min(arrival, self.events[0][0])) < warm + seconds:
            if now >= next_look:
                next_look += HEARTBEAT_S
                self.look()
            if now == arrival:
                arrival = now + self.rng.expovariate(self.rate)
                self.dispatch([self.rng.randrange(self.cluster.gateways), 0.0, []], now, now >= warm)
            else:
                self.happen(*heapq.heappop(self.events))
        return self

    def spread(self):
        return " / ".join(f"{sum(column) / len(column):.0f}" for column in zip(*self.looks))

    def row(self):
        """The columns that most tables have."""
        return (percent(self.first_refused / self.runs), percent(self.failed / self.runs), f"{self.tries / self.runs:.3f}",
                f"{self.delay / self.runs * 1e6:.0f}", self.spread())  # fmt: skip


ROW_HEAD = ("first try refused", "429", "tries a run", "delay by retries, µs", "places in use, p1 / p50 / p99 node, %")


def percent(share):
    return f"{share * 100:.2f} %"


def table(head, rows):
    rows = [head, *rows]
    widths = [max(len(str(row[n])) for row in rows) for n in range(len(head))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(str(cell).rjust(width) if n else str(cell).ljust(width) for n, (cell, width) in enumerate(zip(row, widths))) + " |")
        if number == 0:
            print("| " + " | ".join("-" * (width - 1) + (":" if n else "-") for n, width in enumerate(widths)) + " |")
    print()


def spread_tables(seed, quick):
    for mix, (mean, _) in MIXES.items():
        print(f"### {mix}: two nodes drawn, heartbeats and verdicts\n")
        rows = []
        for nodes in (10, 100) if quick else (10, 100, 1000):
            for load in (0.5, 0.8, 0.95):
                # So many simulated seconds that each size has about as many runs.
                seconds = min(60.0, max(2.0, (20_000 if quick else 300_000) * mean / (load * nodes * PLACES)))
                simulation = Simulation(nodes, load, mix, "verdicts", seed).go(max(2.0, 4 * mean), seconds)
                rows.append((nodes, f"{load * 100:.0f} %", f"{simulation.rate:,.0f}", *simulation.row()))
        table(("nodes", "load", "runs/s", *ROW_HEAD), rows)


def policy_table(seed, quick):
    nodes = 100
    print(f"### how a node is chosen: {nodes} nodes, {gateways_for(nodes)} gateways, load 80 %\n")
    choices = {
        "one": "one at random", "beats": "two, by heartbeats", "counted": "two, by heartbeats and own runs",
        "verdicts": "two, by heartbeats and verdicts",
        "answers": "two, by heartbeats, verdicts and ends",
    }  # fmt: skip
    rows = []
    for mix, (mean, _) in MIXES.items():
        for policy, words in choices.items():
            seconds = max(2.0, (20_000 if quick else 200_000) * mean / (0.8 * nodes * PLACES))
            rows.append((words, mix.split(",")[0], *Simulation(nodes, 0.8, mix, policy, seed).go(max(2.0, 4 * mean), seconds).row()))
    table(("choice", "programs", *ROW_HEAD), rows)


def silence_table(seed, quick):
    print("### one node falls silent (no word, no closed connection), load 50 %: what is felt until it counts as gone\n")
    rows = []
    for mix in MIXES:
        for nodes in (10, 100) if quick else (10, 100, 1000):
            s = Simulation(nodes, 0.5, mix, "verdicts", seed, silent_from=2.0).go(2.0, 2.0)
            rows.append((mix.split(",")[0], nodes, f"{s.runs:,}", s.delayed, percent(s.delayed / s.runs), f"{s.worst_delay * 1000:.0f} ms", percent(s.failed / s.runs)))
    table(("programs", "nodes", "runs in 2 s", "delayed", "share", "worst delay", "429"), rows)


# --- messages ---


def messages(nodes, gateways, rate, chunks, servers):
    """Of the busiest server, a second, in and out. Nodes and gateways are spread evenly; a message from one server to another
    leaves the first and enters the second."""
    beats = nodes / HEARTBEAT_S
    here = gateways / servers
    # Of its own nodes: in, to its gateways, to each other server. Of the others' nodes: in by the route, to its gateways.
    heartbeat = beats / servers * (1 + here + (servers - 1)) + beats * (servers - 1) / servers * (1 + here)
    # Request, accepted, chunks: each in and out, and with another server between the two once more in and out.
    each = 2 + chunks
    elsewhere = (servers - 1) / servers
    runs = rate / servers * each * (2 + 2 * elsewhere)
    return heartbeat, runs


def limit_table():
    print(f"### messages of the busiest server, a second; one server carries about {SERVER_MESSAGES:,}\n")
    rows = []
    for nodes in (10, 100, 1000):
        for gateways, words in ((gateways_for(nodes), "few"), (nodes, "on every node")):
            for servers in (3, 9):
                per_node = 100
                heartbeat, runs = messages(nodes, gateways, per_node * nodes, 2, servers)
                share = (heartbeat + runs) / SERVER_MESSAGES
                rows.append((nodes, f"{gateways} ({words})", servers, f"{heartbeat:,.0f}", f"{runs:,.0f}", f"{share * 100:,.0f} %", "" if share < 0.7 else "over" if share > 1 else "near"))
    table(("nodes", "gateways", "NATS servers", "heartbeats", "100 runs/s a node, 2 chunks", "of one server", ""), rows)
    print("Runs a second at which the busiest of three servers is full (heartbeats included), few gateways:\n")
    rows = []
    for nodes in (10, 100, 1000):
        row = [nodes]
        for chunks in (1, 2, 10, 100):
            heartbeat, runs = messages(nodes, gateways_for(nodes), 1, chunks, 3)
            row.append(f"{max(0, (SERVER_MESSAGES - heartbeat) / runs):,.0f}")
        rows.append(row)
    table(("nodes", "1 chunk", "2 chunks", "10 chunks", "100 chunks"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs, and at most 100 nodes")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"SIMULATION, seed {seed}: no server and no sandbox ran. Each node has {PLACES} places, heartbeats every {HEARTBEAT_S} s, up to {TRIES} tries.\n")
    spread_tables(seed, arguments.quick)
    policy_table(seed, arguments.quick)
    silence_table(seed, arguments.quick)
    limit_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
