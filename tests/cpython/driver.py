# Runs one module of CPython's tests in this very interpreter and prints what became of each test. The same text runs inside
# of a sandbox, as the user's program, and outside; run.py puts MODULE and ONLY in front.
import importlib
import io
import os
import sys
import unittest

out = os.dup(1)


def say(kind, name, text=""):
    line = "\x1e".join(("", kind, name, " ".join(text.split())[:300])) + "\n"
    os.write(out, line.encode("utf-8", "replace"))


def last_line(error):
    kind, value, _ = error
    return f"{kind.__name__}: {value}"


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def set(self, test, outcome, text=""):
        # A part of a test counts for the whole; the first bad outcome stays.
        name = getattr(test, "test_case", test).id()
        if self.outcomes.get(name, ("ok",))[0] in ("ok", "skip"):
            self.outcomes[name] = (outcome, text)

    def startTest(self, test):
        super().startTest(test)
        say("start", test.id())

    def stopTest(self, test):
        super().stopTest(test)
        outcome, text = self.outcomes.get(test.id(), ("ok", ""))
        say(outcome, test.id(), text)
        self.outcomes[test.id()] = ("ok", "")

    def addSuccess(self, test):
        pass

    def addError(self, test, error):
        self.set(test, "error", last_line(error))
        if not isinstance(test, unittest.TestCase):  # set-up of a class or a module
            say("error", test.id(), last_line(error))

    def addFailure(self, test, error):
        self.set(test, "fail", last_line(error))

    def addSubTest(self, test, subtest, error):
        if error:
            self.set(test, "fail" if issubclass(error[0], test.failureException) else "error", last_line(error))

    def addSkip(self, test, reason):
        self.set(test, "skip", reason)
        if not isinstance(test, unittest.TestCase):
            say("skip", test.id(), reason)

    def addExpectedFailure(self, test, error):
        self.set(test, "ok")

    def addUnexpectedSuccess(self, test):
        self.set(test, "fail", "succeeded unexpectedly")


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    from test import support
    from test.support import os_helper

    # A sandbox writes no bytecode unless asked; many tests of imports would then have nothing to test.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    support.use_resources = []
    support.verbose = 0
    # The output of tests is not needed.
    sys.stdout = io.TextIOWrapper(open(os.devnull, "wb"), encoding="utf-8", write_through=True)
    sys.argv = ["regrtest"]
    result = Result()

    def run(suite):
        if ONLY:
            suite = unittest.TestSuite(test for test in flatten(suite) if test.id() in ONLY)
        suite.run(result)

    support._run_suite = run
    with os_helper.temp_cwd("work"):
        try:
            module = importlib.import_module("test." + MODULE)
            # As regrtest does it: a module with a main function of its own knows which of its classes are tests.
            if hasattr(module, "test_main"):
                module.test_main()
            else:
                run(unittest.defaultTestLoader.loadTestsFromModule(module))
        except unittest.SkipTest as reason:
            say("skip", MODULE, str(reason))
        support.reap_children()
    say("end", MODULE)


if __name__ == "__main__":
    main()
    # Threads a test left behind are not waited for.
    os._exit(0)
