#!/usr/bin/python3
"""run.py [--seconds T] [--seed N] [--only WORD] [BUILD]: tests of `belljar cluster` on three machines, which are network namespaces.

First the bad days of an operator, one by one (bad_days.py, name_days.py, lost_jobs.py), then T seconds of load and faults at random (soak.py). The seed of
both is printed. Without nats-server or network namespaces it is skipped, and says why.
"""
import argparse
import os
import secrets
import sys
import time
import traceback

import bad_days
import lost_jobs
import machines
import name_days
import soak


def run_bad_days(seed, only):
    """The number of tests that passed, and the names of those that failed."""
    passed, failed = 0, []
    tests = [test for test in bad_days.TESTS + name_days.TESTS + lost_jobs.TESTS if not only or only in test.__name__]
    if not tests:
        return 0, []
    with machines.Cluster(clock=True) as cluster:
        cluster.seed = seed
        for number, test in enumerate(tests, 1):
            began = time.monotonic()
            try:
                test(cluster)
                cluster.wait_ready()
                passed += 1
            except Exception:  # noqa: the next one may still pass
                traceback.print_exc(file=sys.stdout)
                failed.append(test.__name__)
                cluster.print_logs()
                try:
                    cluster.wait_ready()  # for the next one
                except AssertionError as mistake:
                    print(f"it is not as before: {mistake}")
            print(f"{number}/{len(tests)} {test.__name__}: {'FAILED' if failed[-1:] == [test.__name__] else 'passed'}, {time.monotonic() - began:.1f} s", flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=120, help="of load and faults; 0: none")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", help="bad days whose name has this word, and no load")
    parser.add_argument("build", nargs="?", default="build")
    arguments = parser.parse_args()
    os.environ.setdefault("BELLJAR", str((machines.ROOT / arguments.build / "belljar").resolve()))
    reason = machines.missing()
    if not reason and not os.access(os.path.join(os.path.dirname(os.environ["BELLJAR"]), "belljar-cluster"), os.X_OK):
        reason = "belljar-cluster was not built: libnats-dev is missing"
    if reason:
        print(f"skipped: {reason}")
        return 77
    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(1 << 31)
    print(f"seed {seed}", flush=True)
    passed, failed = run_bad_days(seed, arguments.only)
    if arguments.seconds > 0 and not arguments.only:
        problems = soak.soak(arguments.seconds, seed)
        print(*problems, sep="\n")
        passed += not problems
        failed += ["soak"] * bool(problems)
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
