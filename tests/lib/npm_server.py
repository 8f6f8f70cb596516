"""`belljar serve` for programs that come from npm: started by hand, without pytest."""
import os
import subprocess

SECONDS = 120


class Server:
    """`belljar serve` in a home of its own."""

    def __init__(self, build, home):
        self.env = {
            "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "2",
            "BELLJAR_POOL_HOT": "0", "BELLJAR_PROFILE": "open",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [os.path.join(build, "belljar"), "serve", "--listen", "127.0.0.1:0"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = ""
        while "token is in" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server does not start: {said}")
            said += line
        self.url = next(word for word in said.split() if word.startswith("http://"))
        self.token_file = said.partition("token is in ")[2].strip()

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode
