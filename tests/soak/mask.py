"""mask.py [GIGABYTES]: a long stream through the masker, alone and through a run; memory stays as it is.

The text has ordinary lines, secrets, colours, titles of terminals and no ends of lines for a while. What is measured is the memory of
`belljar` at every tenth of the way; more than a few megabytes between the first tenth and the end are a failure.
"""
import os
import subprocess
import sys
from pathlib import Path

BELLJAR = os.environ.get("BELLJAR", Path(__file__).parents[2] / "build" / "belljar")
GROWTH_MAX_KB = 4096

# One megabyte or so; written once here and once, as code, for the run.
BLOCK = """
lines = ["%06d an ordinary line of a program's output, and some more of it to read" % i for i in range(9000)]
lines[::500] = ["password = 'falcon_%05daj86cC!'" % i for i in range(18)]
lines[7::500] = ["\\x1b[32mgreen\\x1b[0m \\x1b]0;a title\\a and \\x1b]8;;http://a.example/\\x1b\\\\a link\\x1b]8;;\\x1b\\\\" for _ in range(18)]
block = ("\\n".join(lines) + "\\n" + "no end " * 40000 + "\\n").encode()
"""


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def conclude(name, gigabytes, samples):
    growth = max(samples[1:]) - samples[0]
    print(f"{name}: {gigabytes:g} GB, {samples[0]} kB after a tenth, {samples[-1]} kB at the end, at most {growth:+d} kB")
    return growth <= GROWTH_MAX_KB


def through_the_filter(gigabytes):
    scope = {}
    exec(BLOCK, scope)
    times = int(gigabytes * 1e9 / len(scope["block"])) // 10
    process = subprocess.Popen([BELLJAR, "mask"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    samples = []
    for _ in range(10):
        for _ in range(times):
            process.stdin.write(scope["block"])
        process.stdin.flush()
        samples.append(memory_kb(process.pid))
    process.stdin.close()
    return process.wait() == 0 and conclude("belljar mask", gigabytes, samples)


def through_a_run(gigabytes):
    """The program says on stderr, which is kept, how far it is; stdout goes past."""
    code = BLOCK + f"""
import os
times = int({gigabytes} * 1e9 / len(block)) // 10
for i in range(10):
    for _ in range(times):
        left = memoryview(block)
        while left: left = left[os.write(1, left):]
    os.write(2, b"a tenth\\n")
"""
    process = subprocess.Popen([BELLJAR, "run", "--profile", "open", "--timeout", "7200", "-c", code],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "BELLJAR_MAX_TIMEOUT_S": "7200"})
    samples = [memory_kb(process.pid) for line in process.stderr if "a tenth" in line]
    return process.wait() == 0 and len(samples) == 10 and conclude("belljar run", gigabytes, samples)


if __name__ == "__main__":
    amount = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    sys.exit(0 if through_the_filter(amount) & through_a_run(amount) else 1)
