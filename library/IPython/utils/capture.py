"""`with capture_output() as captured:` as in IPython. Displays are not captured: they are shown."""

import sys
from _io import StringIO


class CapturedIO:
    def __init__(self, stdout, stderr):
        self._stdout, self._stderr, self.outputs = stdout, stderr, []

    @property
    def stdout(self):
        return self._stdout.getvalue() if self._stdout else ""

    @property
    def stderr(self):
        return self._stderr.getvalue() if self._stderr else ""

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    __call__ = show

    def __str__(self):
        return self.stdout


class capture_output:
    def __init__(self, stdout=True, stderr=True, display=True):
        self._wanted = stdout, stderr

    def __enter__(self):
        self._before = sys.stdout, sys.stderr
        streams = [StringIO() if wanted else None for wanted in self._wanted]
        sys.stdout, sys.stderr = (new or old for new, old in zip(streams, self._before))
        return CapturedIO(*streams)

    def __exit__(self, *error):
        sys.stdout, sys.stderr = self._before
