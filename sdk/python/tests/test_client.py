"""The client against a server that runs: BELLJAR_TEST_URL, BELLJAR_TEST_TOKEN and BELLJAR_TEST_SOCKET say where."""
import io
import os
import socket
import threading
import time
import unittest

import belljar
from belljar import Client

URL = os.environ["BELLJAR_TEST_URL"]
TOKEN = os.environ["BELLJAR_TEST_TOKEN"]
SOCKET = os.environ["BELLJAR_TEST_SOCKET"]


class Cutting:
    """Passes bytes on to the server, and cuts each connection after so many from there; 0: it never does."""

    def __init__(self, *cuts):
        self.cuts = list(cuts)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.accepted = 0
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            cut = self.cuts.pop(0) if self.cuts else 0
            server = socket.create_connection(("127.0.0.1", int(URL.rsplit(":", 1)[1])))
            self.sockets += [client, server]
            threading.Thread(target=self.pass_on, args=(client, server, 0), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, cut), daemon=True).start()

    def pass_on(self, source, target, cut):
        passed = 0
        try:
            while data := source.recv(4096):
                if cut and passed + len(data) > cut:
                    target.sendall(data[: cut - passed])
                    break
                target.sendall(data)
                passed += len(data)
        except OSError:
            pass
        for s in (source, target):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        for s in self.sockets:
            s.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.client = Client(URL, token=TOKEN)
        self.addCleanup(self.client.close)


class Runs(Case):
    def test_a_result_has_what_the_program_gave(self):
        r = self.client.run("import sys\nprint('o')\nprint('e', file=sys.stderr)\n[1, {'a': None}]", correlation_id="c-1")
        self.assertTrue(r.ok)
        self.assertEqual((r.status, r.exit_code, r.stdout, r.stderr), ("success", 0, "o\n", "e\n"))
        self.assertEqual((r.value, r.text), ([1, {"a": None}], "[1, {'a': None}]"))
        self.assertEqual(r.raw["correlation_id"], "c-1")
        self.assertGreater(r.usage.memory_peak_bytes, 0)
        self.assertEqual(self.client.result(r.id), r)

    def test_failures_of_programs_are_results(self):
        r = self.client.run("x = 1\nraise ValueError('no')")
        self.assertEqual((r.status, r.error.name, r.error.message, r.error.line), ("error", "ValueError", "no", 2))
        r = self.client.run("import socket\neval('1')", profile="strict")
        self.assertEqual(r.status, "refused")
        self.assertEqual({v.line for v in r.violations}, {1, 2})
        self.assertIsNone(r.exit_code)
        self.assertEqual(self.client.run("exit 3", language="bash", profile="open").exit_code, 3)

    def test_files_and_displays_come_back(self):
        r = self.client.run(
            "open('b.bin', 'wb').write(bytes([0, 255]))\nopen('t.txt', 'w').write(open('in').read())",
            profile="open", files=[{"path": "in", "content": "é"}], collect=["b.bin", "t.txt"],
        )  # fmt: skip
        self.assertEqual({c.path: c.content for c in r.collected}, {"b.bin": b"\0\xff", "t.txt": "é".encode()})
        r = self.client.run("from belljar import display\ndisplay({'text/html': '<b>é</b>'}, raw=True)", profile="open")
        self.assertEqual([(d.mime, d.data) for d in r.displays], [("text/html", "<b>é</b>".encode())])

    def test_errors_carry_code_status_and_hint(self):
        with self.assertRaises(belljar.InvalidError) as caught:
            self.client.run("1", tiemout_s=1)
        self.assertEqual((caught.exception.code, caught.exception.status), ("invalid", 400))
        self.assertIn("timeout_s", f"{caught.exception.hint}")
        with self.assertRaises(belljar.AuthError):
            Client(URL, token="bj_wrong").run("1")
        with self.assertRaises(belljar.NotFoundError):
            self.client.result("run_nonsense")
        with self.assertRaises(belljar.TooLargeError):
            self.client.run("1", stdin="x" * 40_000_000)

    def test_the_socket_needs_no_token(self):
        with Client(f"unix:{SOCKET}") as client:
            self.assertEqual(client.run("print(1)").stdout, "1\n")

    def test_where_there_is_no_server(self):
        for server in ("unix:/nonexistent/http.sock", "http://127.0.0.1:1"):
            with self.assertRaises(belljar.Unreachable) as caught:
                Client(server).run("1")
            self.assertIn("belljar serve", caught.exception.hint)

    def test_addresses_that_are_none(self):
        for server in ("ftp://x", "http://", "http://x/path", "nonsense", "http://user@host"):
            with self.assertRaises(belljar.InvalidError):
                Client(server)
        with self.assertRaises(belljar.InvalidError):
            Client("http://example.org:8222", token="secret")

    def test_a_token_is_in_no_text(self):
        self.assertNotIn(TOKEN, repr(self.client))
        with self.assertRaises(belljar.AuthError) as caught:
            Client(URL, token="bj_wrong").run("1")
        self.assertNotIn("bj_wrong", str(caught.exception))

    def test_several_threads_share_a_client(self):
        seen = []
        threads = [threading.Thread(target=lambda i=i: seen.append(self.client.run(f"print({i})").stdout)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(seen), [f"{i}\n" for i in range(8)])

    def test_under_a_key_a_broken_connection_is_no_loss(self):
        proxy = Cutting(20, 20)
        self.addCleanup(proxy.close)
        code = "import random\nprint(random.SystemRandom().getrandbits(64))"
        with Client(proxy.url, token=TOKEN) as client:
            r = client.run(code, profile="open", key=f"k-{time.time_ns()}")
            self.assertTrue(r.ok)
            self.assertEqual(proxy.accepted, 3)
        proxy = Cutting(20)
        self.addCleanup(proxy.close)
        with Client(proxy.url, token=TOKEN) as client:
            with self.assertRaises(belljar.Unreachable):
                client.run(code)
            self.assertEqual(proxy.accepted, 1)


class Streams(Case):
    def test_events_come_as_they_happen(self):
        begun = time.monotonic()
        kinds, first = [], None
        for event in self.client.stream("import time\nprint('a', flush=True)\ntime.sleep(1)\nprint('é')", profile="open"):
            kinds.append(event.kind)
            if event.text == "a\n":
                first = time.monotonic() - begun
        self.assertEqual((kinds[0], kinds[-1]), ("start", "result"))
        self.assertLess(first, time.monotonic() - begun - 0.5)
        self.assertEqual(event.result.stdout, "a\né\n")

    def test_a_broken_stream_goes_on(self):
        proxy = Cutting(700)
        self.addCleanup(proxy.close)
        code = "import time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.02)"
        with Client(proxy.url, token=TOKEN) as client:
            events = list(client.stream(code, profile="open"))
        self.assertEqual("".join(e.text for e in events if e.kind == "stdout"), "".join(f"{i}\n" for i in range(20)))
        self.assertEqual(events[-1].result.status, "success")
        self.assertEqual(len([e for e in events if e.kind == "start"]), 1)
        self.assertGreaterEqual(proxy.accepted, 2)

    def test_leaving_a_stream_cancels_the_run(self):
        events = self.client.stream("import time\nprint('x', flush=True)\ntime.sleep(60)", profile="open")
        run = next(events).data["id"]
        self.assertEqual(next(events).text, "x\n")
        events.close()
        deadline = time.monotonic() + 9  # by itself it would be cancelled after ten seconds
        while self.client.result(run) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.client.result(run).status, "cancelled")

    def test_an_error_in_a_stream_is_raised(self):
        with self.assertRaises(belljar.InvalidError):
            list(self.client.stream("1", nonsense=1))

    def test_a_run_is_cancelled_by_its_id(self):
        events = self.client.stream("import time\ntime.sleep(60)", profile="open")
        run = next(events).data["id"]
        self.assertTrue(self.client.cancel(run))
        self.assertEqual(list(events)[-1].result.status, "cancelled")
        self.assertFalse(self.client.cancel(run))


class Sessions(Case):
    def test_variables_and_files_stay(self):
        with self.client.session(profile="open") as s:
            s.run("x = 41")
            r = s.run("print(x + 1)")
            self.assertEqual((r.stdout, r.session_id), ("42\n", s.id))
            s.files.write("dir/a b.bin", bytes(range(256)))
            s.files.write("text", "é")
            s.files.write("large", io.BytesIO(b"x" * 300_000))
            self.assertEqual(s.files.read("dir/a b.bin"), bytes(range(256)))
            self.assertEqual(s.files.read("dir/a b.bin", 10, 12), b"\n\x0b")
            self.assertEqual(s.files.read("dir/a b.bin", 254), b"\xfe\xff")
            self.assertEqual(s.files.read("text", 1, 1), b"")
            self.assertEqual(s.run("print(len(open('large').read()))").stdout, "300000\n")
            found = {f.path: (f.kind, f.size) for f in s.files.list(depth=2)}
            self.assertEqual(found["dir/a b.bin"], ("file", 256))
            self.assertEqual(found["text"][1], 2)
            s.files.delete("text")
            s.files.delete("dir", recursive=True)
            self.assertEqual([f.path for f in s.files.list()], ["large"])
            with self.assertRaises(belljar.NotFoundError):
                s.files.read("text")
        with self.assertRaises(belljar.NotFoundError):
            self.client.get_session(s.id)
        s.close()  # a second time is no error

    def test_a_session_by_its_name(self):
        name = f"py-{time.time_ns()}"
        with self.client.session(name, profile="open") as s:
            s.run("y = 1")
            self.assertEqual(self.client.get_session(name).run("y").value, 1)
            self.assertIn(s.id, [t.id for t in self.client.sessions()])
            self.assertEqual(s.refresh()["cells"], 2)
            self.assertEqual(list(s.stream("print(y)"))[-1].result.stdout, "1\n")

    def interrupted(self, s):
        """The result of a cell that was stopped."""
        results = []
        cell = threading.Thread(target=lambda: results.append(s.run("import time\ntime.sleep(60)")))
        cell.start()
        while not s.interrupt():
            time.sleep(0.02)
        cell.join()
        return results[0]

    def test_interrupt_and_restart(self):
        with self.client.session(profile="open") as s:
            self.assertFalse(s.interrupt())
            # On a busy machine a cell may be killed before it hears of the interrupt: then the answer says that the state is lost.
            for _ in range(10):
                s.run("z = 1")
                stopped = self.interrupted(s)
                self.assertNotEqual(stopped.status, "success")
                if stopped.raw["session_state"] == "kept":
                    break
            self.assertEqual(stopped.raw["session_state"], "kept")
            self.assertEqual(s.run("z").value, 1)
            s.restart()
            self.assertEqual(s.run("z").status, "error")

    def test_a_session_is_opened_once_under_a_key(self):
        key = f"k-{time.time_ns()}"
        with self.client.session(key=key) as a:
            self.assertEqual(self.client.session(key=key).id, a.id)


class Copies(Case):
    """Needs the memory of copies, which a checked build has not."""

    def test_checkpoint_restore_and_fork(self):
        with self.client.session(profile="open") as s:
            s.run("x = 1\nopen('f', 'w').write('1')")
            s.checkpoint("one")
            s.run("x = 2\nopen('f', 'w').write('2')")
            copies = s.fork(2)
            self.assertEqual(len(copies), 2)
            s.restore("one")
            self.assertEqual((s.run("x").value, s.files.read("f")), (1, b"1"))
            for c in copies:
                with c:
                    self.assertEqual((c.run("x").value, c.files.read("f")), (2, b"2"))


class Batches(Case):
    def test_cases_come_with_their_verdicts(self):
        runs = [{"id": str(i), "stdin": f"{i}\n", "expected_output": str(i * 2)} for i in range(20)]
        runs += [{"id": "wrong", "stdin": "1", "expected_output": "3"}, {"id": "bad", "stdin": "x"}]
        cases = {c.id: c for c in self.client.batch(runs, code="print(int(input()) * 2)")}
        self.assertEqual({cases[str(i)].verdict for i in range(20)}, {"accepted"})
        self.assertEqual((cases["wrong"].verdict, cases["wrong"].result.stdout), ("wrong_answer", "2\n"))
        self.assertEqual((cases["bad"].verdict, cases["bad"].result.error.name), ("error", "ValueError"))

    def test_a_mistake_is_raised_before_anything_runs(self):
        with self.assertRaises(belljar.InvalidError):
            list(self.client.batch([{"code": "1"}, {}]))

    def test_a_broken_batch_says_so(self):
        proxy = Cutting(3000)
        self.addCleanup(proxy.close)
        with Client(proxy.url, token=TOKEN) as client, self.assertRaises(belljar.Unreachable):
            list(client.batch([{"code": "1"}] * 20))


if __name__ == "__main__":
    unittest.main()
