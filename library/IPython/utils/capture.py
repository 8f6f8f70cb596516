"""`with capture_output() as captured:` as in IPython, and what `%%capture` keeps."""

import sys
from _io import StringIO


def _is_binary(mime):
    return mime == "application/pdf" or (mime.startswith(("image/", "audio/", "video/")) and not mime.endswith("+xml"))


class RichOutput:
    """One thing that was not shown: all its forms."""

    def __init__(self, data=None, metadata=None, transient=None, update=False):
        self.data, self.metadata, self.transient, self.update = data or {}, metadata or {}, transient or {}, update

    @classmethod
    def of(cls, forms):
        """{mime: bytes}"""
        from json import loads

        data = {}
        for mime, content in forms.items():
            is_json = mime == "application/json" or mime.endswith("+json")
            data[mime] = content if _is_binary(mime) else loads(content) if is_json else content.decode("utf-8", "replace")
        return cls(data)

    def display(self):
        display(self.data, raw=True)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata

    def __repr__(self):
        return self.data.get("text/plain", "<RichOutput>")


class CapturedIO:
    def __init__(self, stdout, stderr, outputs=None):
        self._stdout, self._stderr, self._outputs = stdout, stderr, outputs if outputs is not None else []

    @property
    def stdout(self):
        return self._stdout.getvalue() if self._stdout else ""

    @property
    def stderr(self):
        return self._stderr.getvalue() if self._stderr else ""

    @property
    def outputs(self):
        return self._outputs

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self._outputs:
            output.display()

    __call__ = show

    def __str__(self):
        return self.stdout


class capture_output:
    def __init__(self, stdout=True, stderr=True, display=True):
        self._wanted, self._keeps = (stdout, stderr), display

    def __enter__(self):
        self._before = sys.stdout, sys.stderr
        streams = [StringIO() if wanted else None for wanted in self._wanted]
        captured = CapturedIO(*streams)
        self._shown = _notebook("displays", captured.outputs) if self._keeps else None
        sys.stdout, sys.stderr = (new or old for new, old in zip(streams, self._before))
        return captured

    def __exit__(self, *error):
        sys.stdout, sys.stderr = self._before
        if self._keeps:
            _notebook("displays", self._shown)
