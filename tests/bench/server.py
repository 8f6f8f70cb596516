"""`belljar serve` for a benchmark: started on a free port with settings of its own, and asked over HTTP."""
import http.client
import json
import os
import re
import subprocess


class Server:
    def __init__(self, belljar, folder, **settings):
        self.belljar = belljar
        self.env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder, "BELLJAR_PRELOAD": "",
                    "BELLJAR_LOG_LEVEL": "error", **{f"BELLJAR_{k.upper()}": str(v) for k, v in settings.items()}}  # fmt: skip
        self.process = subprocess.Popen(
            [belljar, "serve", "--listen", "127.0.0.1:0", "--socket", "none"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = ""
        while not (found := re.search(r"the token is in (.*)", said)):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"the server ended: {said}")
            said += line
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", said)[1])
        with open(found[1], encoding="ascii") as file:
            self.token = file.read().strip()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def call(self, c, method, path, body=None, token=None):
        headers = {"Authorization": f"Bearer {token or self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        c.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = c.getresponse()
        return answer.status, answer.read()

    def resident_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)
