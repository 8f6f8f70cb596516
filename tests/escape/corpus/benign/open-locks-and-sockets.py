# id: benign-open-locks-and-sockets
# category: benign
# profile: open
# threat: none: locks, timers, terminals, sqlite, servers and datagrams as ordinary programs use them
# expect: success
# require: all is well
# process: names /workspace
import asyncio, contextlib, fcntl, http.server, io, mmap, multiprocessing, os, signal, socket, socketserver, sqlite3, subprocess, sys, tempfile, threading, urllib.request

with tempfile.TemporaryFile() as f:
    f.write(b'x' * 100)
    f.flush()
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10)
    fcntl.fcntl(f, fcntl.F_SETFD, fcntl.fcntl(f, fcntl.F_GETFD) | fcntl.FD_CLOEXEC)
    os.set_blocking(f.fileno(), True)
    os.close(fcntl.fcntl(f, fcntl.F_DUPFD_CLOEXEC, 3))
    mmap.mmap(f.fileno(), 100).close()
assert not sys.stdout.isatty()
with contextlib.suppress(OSError):
    os.get_terminal_size()
db = sqlite3.connect('/workspace/a.db')
db.execute('pragma journal_mode=wal')
db.execute('create table t (x)')
db.executemany('insert into t values (?)', [(i,) for i in range(100)])
db.commit()
assert db.execute('select sum(x) from t').fetchone() == (4950,)

signal.signal(signal.SIGPROF, lambda *a: None)
signal.setitimer(signal.ITIMER_PROF, 0.001)
signal.setitimer(signal.ITIMER_PROF, 0)

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args): pass
with socketserver.ThreadingTCPServer(('127.0.0.1', 0), Quiet) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f'http://127.0.0.1:{server.server_address[1]}/').status == 200
    server.shutdown()

async def talk():
    async def echo(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
    server = await asyncio.start_server(echo, 'localhost', 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection('localhost', port)
    writer.write(b'hello\n')
    assert await reader.readline() == b'hello\n'
    writer.close()
    process = await asyncio.create_subprocess_exec('echo', 'x', stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b'x\n'
asyncio.run(talk())

a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
a.bind(('127.0.0.1', 0))
b.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
b.sendto(b'datagram', a.getsockname())
assert a.recv(100) == b'datagram'
c = socket.create_server(('', 0), reuse_port=True)
d = socket.create_connection(('localhost', c.getsockname()[1]))
d.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
d.settimeout(5)

with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
lock, event = multiprocessing.Lock(), threading.Event()
with lock: event.set()
assert event.wait(1)
assert subprocess.run('cp /workspace/a.db /workspace/b.db && cmp /workspace/a.db /workspace/b.db && cat /workspace/b.db | wc -c', shell=True).returncode == 0
print('all is well')
