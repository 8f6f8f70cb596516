"""Programs of every kind that could differ from run to run, and must not with a seed: name, code."""

# Hashes, their order, and addresses.
OBJECTS = {
    "set of strings": "print({'pear', 'apple', 'fig', 'plum', 'kiwi', 'lime'}, {b'x', b'yy', b'zzz'})",
    "frozensets": "print(frozenset('determinism'), {frozenset({i, str(i)}) for i in range(9)})",
    "dict of a set": "d = {k: len(k) for k in {'one', 'two', 'three', 'four', 'five'}}; print(d, list(d), d.popitem())",
    "hashes": "import decimal, fractions, datetime\nprint([hash(x) for x in ('s', b'b', 1.5, ('a', None), frozenset('ab'), decimal.Decimal('1.1'), fractions.Fraction(1, 3), datetime.date(2026, 1, 1))])",
    "hash of objects": "class A: pass\nprint(hash(A()), hash(object()), hash(print), hash(A), hash(None))",
    "order of ids": "xs = [object() for _ in range(50)]; print([x[0] for x in sorted(enumerate(xs), key=lambda p: id(p[1]))], hex(id(xs)))",
    "set of objects": "class A:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return f'A{self.n}'\nprint({A(i) for i in range(40)})",
    "reprs with addresses": "import threading\nprint(object(), lambda: 0, (x for x in ()), threading.Lock(), type('T', (), {})(), print.__self__, [].append, iter([]))",
    "functions": "def f(): pass\nprint(f, f.__code__, id(f.__code__), f.__globals__ is globals(), repr(f.__call__))",
    "bound methods": "class A:\n    def m(self): pass\n    def __del__(self): print('gone', id(self))\na = A(); print(a.m, A.m); del a",
    "new objects at old places": "ids = [id(object()) for _ in range(20)]; print(len(set(ids)), ids[0]); print(id([]), id({}), id(()), id('a' * 1000))",
    "large buffers": "xs = [bytearray(1 << 20) for _ in range(4)]; print([id(x) for x in xs]); import ctypes; print([ctypes.addressof((ctypes.c_char * 9).from_buffer(x)) for x in xs])",
    "interned strings": "import sys; print(id('abc'), id(sys.intern('a b c')), sys.getsizeof({}), sys.getsizeof('x' * 99))",
    "counter": "from collections import Counter, defaultdict\nprint(Counter(set('mississippi')).most_common(), dict(defaultdict(list, {k: [v] for v, k in enumerate({'x', 'y', 'z'})})))",
    "groups by object": "class A: pass\ng = {}\nfor i in range(30):\n    g.setdefault(hash(A()) % 7, []).append(i)\nprint(g)",
    "enum and dataclass": "import dataclasses, enum\nclass C(enum.Flag):\n    A = enum.auto(); B = enum.auto()\n@dataclasses.dataclass(frozen=True)\nclass D:\n    x: int; y: str\nprint({C.A, C.B, C.A | C.B}, {D(1, 'a'), D(2, 'b'), D(3, 'c')}, hash(D(1, 'a')))",
    "types": "print({int, str, list, dict, set, type, object, Exception, ValueError, KeyError}, object.__subclasses__()[:60])",
    "modules": "import sys, json, decimal\nprint(json, sorted(sys.modules)[:200], id(json), hash(decimal))",
}

RANDOM = {
    "every distribution": "import random as r; print(r.gauss(0, 1), r.expovariate(2), r.betavariate(1, 2), r.triangular(), r.vonmisesvariate(0, 4), r.choices('abc', k=9), r.getrandbits(99), r.randbytes(9))",
    "shuffle": "import random; x = list(range(30)); random.shuffle(x); print(x); random.seed(); print(random.random())",
    "seeded from nothing": "import random; r = random.Random(); print(r.random(), random.Random(None).getstate()[1][:4])",
    "secrets": "import secrets; print(secrets.token_bytes(9), secrets.token_urlsafe(), secrets.choice(range(10**9)), secrets.randbelow(10**20))",
    "uuids": "import uuid; print([uuid.uuid4() for _ in range(3)], uuid.uuid1(), uuid.uuid1(), uuid.getnode(), uuid.uuid5(uuid.NAMESPACE_DNS, 'a'))",
    "temporary names": "import tempfile, os\nprint([tempfile.mkstemp()[1] for _ in range(3)], tempfile.mkdtemp(), tempfile.mktemp(), sorted(os.listdir(tempfile.gettempdir())))",
    "the device": "import os; print(open('/dev/urandom', 'rb', buffering=0).read(8), os.read(os.open('/dev/random', os.O_RDONLY), 5))",
    "a thread's own numbers": "import os, threading, uuid\nout = {}\ndef f(n): out[n] = os.urandom(4), uuid.uuid4()\nts = [threading.Thread(target=f, args=(n,)) for n in range(4)]\n[t.start() for t in ts]; [t.join() for t in ts]; print(sorted(out.items()), os.urandom(4))",
    "the clock beside threads": "import threading, time\ndef f():\n    for _ in range(20000): time.time()\nts = [threading.Thread(target=f) for _ in range(3)]\n[t.start() for t in ts]\nfor _ in range(20000): time.monotonic()\n[t.join() for t in ts]; print(time.time(), time.monotonic())",
    "numpy, the old way": "import numpy as np; print(np.random.randn(4), np.random.choice(9, 4), np.random.poisson(3, 5), np.random.get_state()[1][:5]); np.random.seed(); print(np.random.rand())",
    "numpy, the new way": "import numpy as np; g = np.random.default_rng(); print(g.normal(size=4), g.choice(99, 5, replace=False), g.spawn(1)[0].random() if hasattr(g, 'spawn') else 0, np.random.SeedSequence().entropy)",
    "numpy bit generators": "import numpy as np\nfor kind in (np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64):\n    print(np.random.Generator(kind()).integers(0, 1 << 40, 3))",
}

TIME = {
    "clocks": "import time\nfor c in ('CLOCK_REALTIME', 'CLOCK_MONOTONIC', 'CLOCK_BOOTTIME', 'CLOCK_PROCESS_CPUTIME_ID', 'CLOCK_THREAD_CPUTIME_ID', 'CLOCK_MONOTONIC_RAW', 'CLOCK_TAI'):\n    print(c, time.clock_gettime_ns(getattr(time, c)))",
    "how long": "import time\nt = time.perf_counter(); sum(range(10**5)); print(time.perf_counter() - t, time.thread_time(), time.process_time_ns())",
    "timeit": "import timeit; print(timeit.timeit('1 + 1', number=1000), timeit.default_timer())",
    "dates": "import datetime as d; print(d.datetime.now(d.timezone.utc), d.date.today(), d.datetime.now().astimezone(), d.datetime.now().isoformat())",
    "formats of time": "import time, email.utils; print(time.ctime(), time.asctime(), time.strftime('%Y-%m-%d %H:%M:%S %Z %z'), email.utils.formatdate(), email.utils.make_msgid(), time.timezone)",
    "sleeps add up": "import time\nt = time.monotonic()\nfor _ in range(100): time.sleep(10)\nprint(time.monotonic() - t, time.time())",
    "deadline by the clock": "import time\nend = time.monotonic() + 0.01; n = 0\nwhile time.monotonic() < end: n += 1\nprint(n)",
    "calendar and zones": "import calendar, datetime, zoneinfo\nprint(calendar.month(2026, 1), datetime.datetime.now(zoneinfo.ZoneInfo('UTC')))",
    "logging": "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='%(asctime)s %(msecs)d %(process)d %(thread)d %(relativeCreated)d %(message)s')\nlogging.warning('one'); logging.error('two')",
    "scheduler": "import sched, time\ns = sched.scheduler()\nfor n in (30, 10, 20): s.enter(n, 1, print, (n,))\ns.run(); print(time.time())",
    "progress by time": "import time\nfor i in range(5):\n    print(f'{i}: {time.time():.6f} {time.perf_counter_ns()}', flush=True); time.sleep(.1)",
}

SYSTEM = {
    "processes": "import os; print(os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0), os.getlogin() if 0 else '', os.geteuid(), os.getgroups())",
    "host": "import os, platform, socket; print(os.uname().nodename, platform.node(), socket.gethostname(), socket.getfqdn(), platform.python_version())",
    "environment": "import os; print(dict(os.environ), os.environ.keys())",
    "directories": "import os, glob, pathlib\nfor n in ('z', 'm', 'a', 'B', '10', '9'): open(n + '.txt', 'w').close()\nprint(os.listdir(), [e.name for e in os.scandir()], glob.glob('*.txt'), list(pathlib.Path('.').iterdir()), list(pathlib.Path('.').rglob('*')))",
    "tree": "import os\nfor n in 'cab':\n    os.makedirs(f'{n}/y/x'); open(f'{n}/2', 'w').close(); open(f'{n}/1', 'w').close()\nfor row in os.walk('.'): print(row)",
    "stat": "import os\nopen('f', 'w').write('x'); s = os.stat('f'); print(s.st_mtime_ns, s.st_size, oct(s.st_mode), s.st_uid, s.st_nlink)\nos.utime('f', (5, 6)); print(os.stat('f').st_mtime); os.utime('f'); print(os.stat('f').st_mtime_ns)",
    "disk and memory": "import shutil, resource; print(shutil.disk_usage('.').total, resource.getrlimit(resource.RLIMIT_NOFILE), resource.getpagesize())",
    "locale": "import locale, sys; print(locale.getlocale(), locale.localeconv(), sys.getfilesystemencoding(), locale.strxfrm('ä'), sorted(['b', 'A', 'a', 'ä', 'B']))",
    "signals": "import signal, os\nsignal.signal(signal.SIGUSR1, lambda n, f: print('got', n)); os.kill(os.getpid(), signal.SIGUSR1); print(signal.getsignal(signal.SIGINT))",
    "descriptors": "import os\nprint(os.open('x', os.O_CREAT), os.pipe(), os.dup(1), open('y', 'w').fileno())",
    "own status": "print([l for l in open('/proc/self/status') if l.split(':')[0] in ('Name', 'Pid', 'PPid', 'Uid', 'NSpid', 'Seccomp', 'CapEff')], open('/proc/self/cmdline').read())",
    "processors": "import os, multiprocessing; print(os.cpu_count() == multiprocessing.cpu_count(), os.environ.get('OMP_NUM_THREADS'), os.environ.get('OPENBLAS_NUM_THREADS'))",
    "sockets": "import socket\na, b = socket.socketpair(); a.send(b'hi'); print(b.recv(9), a.fileno(), a)\ns = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[0])",
}

SIDE_BY_SIDE = {
    "threads, joined": "import threading\nr = []\nfor i in range(5):\n    t = threading.Thread(target=r.append, args=(i,)); t.start(); t.join()\nprint(r)",
    "threads and a queue": "import queue, threading\nq, out = queue.Queue(), []\ndef work():\n    while (x := q.get()) is not None: out.append(x * x)\nt = threading.Thread(target=work); t.start()\nfor i in range(20): q.put(i)\nq.put(None); t.join(); print(out)",
    "a pool of threads": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as p: print(list(p.map(lambda x: x ** 3, range(20))))",
    "a lock, an event, a barrier": "import threading\nl, e, n = threading.Lock(), threading.Event(), [0]\ndef add():\n    e.wait()\n    for _ in range(100):\n        with l: n[0] += 1\nts = [threading.Thread(target=add) for _ in range(4)]\n[t.start() for t in ts]; e.set(); [t.join() for t in ts]; print(n)",
    "a timer": "import threading\nt = threading.Timer(.2, print, ('late',)); t.start(); t.join(); print('done')",
    "names of threads": "import threading\nt = threading.Thread(target=lambda: print(threading.current_thread().name)); t.start(); t.join(); print(threading.main_thread())",
    "asyncio order": "import asyncio\nasync def f(n, d):\n    await asyncio.sleep(d); print(n); return n\nasync def main(): print(await asyncio.gather(*(f(i, (7 * i) % 5) for i in range(9))))\nasyncio.run(main())",
    "asyncio timeouts": "import asyncio\nasync def main():\n    try: await asyncio.wait_for(asyncio.sleep(99), 5)\n    except asyncio.TimeoutError: print('too late', asyncio.get_running_loop().time())\nasyncio.run(main())",
    "asyncio queue": "import asyncio\nasync def main():\n    q = asyncio.Queue(2)\n    async def put():\n        for i in range(6): await q.put(i); await asyncio.sleep(i % 2)\n    t = asyncio.create_task(put())\n    print([await q.get() for _ in range(6)]); await t; print(t, asyncio.all_tasks())\nasyncio.run(main())",
    "asyncio races": "import asyncio, random\nasync def f(n):\n    await asyncio.sleep(random.random()); return n\nasync def main():\n    for t in asyncio.as_completed([f(i) for i in range(9)]): print(await t, end=' ')\nasyncio.run(main())",
    "multiprocessing": "import multiprocessing as m\ndef f(q): q.put(sum(range(10)))\nif __name__ == '__main__':\n    c = m.get_context('fork'); q = c.SimpleQueue(); p = c.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join(); print(p.exitcode, p.pid)",
    "children in turn": "import subprocess, sys\nfor i in range(3): print(subprocess.run([sys.executable, '-c', f'import random, time, os; print({i}, random.random(), time.time(), os.getpid(), {{\"a\", \"b\"}})'], capture_output=True, text=True).stdout)",
    "a child's exit": "import subprocess; p = subprocess.run('echo $$ $PPID $RANDOM; exit 3', shell=True, capture_output=True); print(p)",
    "fork and pipe": "import os\nr, w = os.pipe(); pid = os.fork()\nif not pid: os.write(w, os.urandom(4)); os._exit(7)\nprint(os.waitpid(pid, 0), os.read(r, 9))",
    "contextvars": "import contextvars, threading\nv = contextvars.ContextVar('v', default=0); print(v, contextvars.copy_context().run(v.get))",
}

LANGUAGE = {
    "generators": "def g():\n    x = yield 1\n    print('got', x); yield from (i * i for i in range(4))\ni = g(); print(next(i), i.send('a'), list(i), i)",
    "collecting garbage": "import gc\nclass A:\n    def __del__(self): print('del', self.n)\nfor i in range(5):\n    a = A(); a.n, a.me = i, a\ndel a; print(gc.collect(), gc.get_count()[1:], len(gc.get_objects()) > 0)",
    "how much there is": "import gc, sys; print(len(gc.get_objects()), gc.get_stats(), sys.getrefcount(None), sys.getallocatedblocks())",
    "weak references": "import weakref\nclass A: pass\nxs = [A() for _ in range(4)]; rs = [weakref.ref(x, lambda r, i=i: print('dead', i)) for i, x in enumerate(xs)]\nweakref.finalize(xs[0], print, 'end'); s = weakref.WeakSet(xs); print(len(s)); del xs; print(rs[0]() if 0 else len(s))",
    "warnings": "import warnings; warnings.warn('careful'); warnings.warn('old', DeprecationWarning); warnings.warn('again')",
    "traceback with locals": "import traceback\ndef f(x): return [x][3]\ntry: f(object())\nexcept IndexError: traceback.print_exc()",
    "chained exceptions": "try:\n    try: 1 / 0\n    except ZeroDivisionError as e: raise KeyError(object()) from e\nexcept KeyError as e: print(repr(e), e.__cause__, e.__traceback__)",
    "exception groups": "raise ExceptionGroup('many', [ValueError(1), TypeError(lambda: 0)])",
    "uncaught in a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
    "deep recursion": "import sys\nn = 0\ndef f():\n    global n; n += 1; f()\ntry: f()\nexcept RecursionError as e: print(n > 100, e)",
    "at exit": "import atexit\n@atexit.register\ndef end(): print('bye', object())",
    "inspect": "import inspect, dis\ndef f(a, *b, c=1): return a\nprint(inspect.signature(f), inspect.currentframe()); dis.dis(f)",
    "help": "import pydoc; print(pydoc.render_doc(len)[:200])",
    "floats": "import math; print([math.sin(i) * math.exp(i / 9) for i in range(30)], sum(0.1 for _ in range(1000)), math.fsum([.1] * 10))",
    "big integers": "import math; print(math.factorial(300), pow(3, 10**5, 10**9 + 7), 2**521 - 1)",
    "regular expressions": "import re; print(re.compile('a(b|c)*'), re.findall(r'\\w+', 'a b c'), re.match('x', 'x'))",
    "result value": "{'a': {1, 2, 3}, 'o': object(), 's': {'x', 'y', 'z'}}",
}

LIBRARIES = {
    "json": "import json; print(json.dumps({k: 1 for k in {'a', 'b', 'c'}}), json.dumps(list({'x', 'y'})))",
    "pickle": "import pickle, hashlib; d = pickle.dumps({'s': {'a', 'b', 'c'}, 'f': frozenset('xyz')}); print(d.hex(), hashlib.md5(d).hexdigest())",
    "hashlib": "import hashlib, hmac, os; print(hashlib.sha256(b'x').hexdigest(), hashlib.blake2b(os.urandom(8), salt=os.urandom(16)).hexdigest(), hmac.new(os.urandom(9), b'm', 'sha1').hexdigest())",
    "sqlite": "import sqlite3\nc = sqlite3.connect(':memory:'); c.execute('create table t (x, y default current_timestamp)'); c.executemany('insert into t (x) values (?)', [(i,) for i in range(5)])\nprint(c.execute('select *, random(), hex(randomblob(4)), datetime(\"now\"), julianday(\"now\") from t order by random()').fetchall())",
    "sqlite file": "import sqlite3, hashlib\nc = sqlite3.connect('a.db'); c.execute('create table t (x)'); c.executemany('insert into t values (?)', [(i,) for i in range(500)]); c.commit(); c.close(); print(hashlib.sha256(open('a.db', 'rb').read()).hexdigest())",
    "zip": "import zipfile, hashlib\nopen('f', 'w').write('text' * 99)\nwith zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as z: z.write('f'); z.writestr('g', 'x')\nprint([(i.filename, i.date_time) for i in zipfile.ZipFile('a.zip').infolist()], hashlib.sha256(open('a.zip', 'rb').read()).hexdigest())",
    "tar": "import tarfile, hashlib, os\nos.mkdir('d')\nfor n in 'cab': open('d/' + n, 'w').write(n)\nwith tarfile.open('a.tar', 'w') as t: t.add('d')\nprint(tarfile.open('a.tar').getnames(), hashlib.sha256(open('a.tar', 'rb').read()).hexdigest())",
    "tar.gz": "import tarfile, hashlib\nopen('f', 'w').write('x')\nwith tarfile.open('a.tgz', 'w:gz') as t: t.add('f')\nprint(hashlib.sha256(open('a.tgz', 'rb').read()).hexdigest())",
    "gzip": "import gzip, bz2, lzma, zlib; print(gzip.compress(b'text' * 99).hex(), bz2.compress(b'x').hex(), lzma.compress(b'x').hex(), zlib.crc32(b'x'))",
    "csv and ini": "import csv, sys, configparser\ncsv.DictWriter(sys.stdout, ['b', 'a']).writerows([{'a': {1, 'x'}, 'b': object()}]); c = configparser.ConfigParser(); c.read_dict({'s': {'k': 'v'}}); c.write(sys.stdout)",
    "xml": "import xml.etree.ElementTree as E; r = E.Element('r', {k: '1' for k in {'x', 'y', 'z'}}); E.SubElement(r, 'c'); print(E.tostring(r), r)",
    "mail": "from email.mime.multipart import MIMEMultipart\nfrom email.mime.text import MIMEText\nm = MIMEMultipart(); m.attach(MIMEText('hi')); m['Subject'] = 's'; print(m)",
    "numpy linear algebra": "import numpy as np\na = np.random.rand(120, 120); q, r = np.linalg.qr(a); u, s, v = np.linalg.svd(a); print(np.linalg.det(a), np.linalg.inv(a).sum(), q.sum(), r.trace(), s[:5], np.linalg.eigvalsh(a + a.T)[:4], np.linalg.solve(a, a[0])[:3])",
    "numpy fft and sums": "import numpy as np; a = np.random.randn(1 << 12); print(np.fft.fft(a)[:4], a.sum(), a.mean(), a.std(), np.einsum('i,i', a, a), np.sort(a)[:3], np.argsort(a)[:5])",
    "numpy memory": "import numpy as np; a = np.empty(5); b = np.zeros(9); print(b.ctypes.data, b.__array_interface__['data'], repr(b.data)[:40], a.shape)",
    "pandas groups": "import numpy as np, pandas as pd\nd = pd.DataFrame({'k': np.random.choice(list('abcd'), 60), 'v': np.random.randn(60)}); print(d.groupby('k').agg(['mean', 'std', 'count']), d.sample(5), d.k.value_counts(), d.pivot_table(index='k', aggfunc='sum'))",
    "pandas and sets": "import pandas as pd; print(pd.Series(list({'x', 'y', 'z'})), pd.Index({'a', 'b'}.__iter__()), pd.Timestamp.now(), pd.util.hash_pandas_object(pd.Series(['a', 'b'])).tolist())",
    "pandas shown": "import pandas as pd, numpy as np; display(pd.DataFrame(np.random.rand(3, 3), columns=list('abc')))",
    "a figure as PNG": "import matplotlib; matplotlib.use('Agg')\nimport matplotlib.pyplot as plt, numpy as np, io, hashlib\nplt.plot(np.random.rand(50)); b = io.BytesIO(); plt.savefig(b, format='png'); print(hashlib.sha256(b.getvalue()).hexdigest()); display(plt.gcf())",
    "a figure as SVG": "import matplotlib; matplotlib.use('Agg')\nimport matplotlib.pyplot as plt, numpy as np, io\nplt.scatter(np.random.rand(9), np.random.rand(9)); plt.title('t'); plt.gca().fill_between([0, 1], 0, 1); b = io.StringIO(); plt.savefig(b, format='svg'); import hashlib; s = b.getvalue(); print(hashlib.sha256(s.encode()).hexdigest(), 'dc:date' in s, s[:900])",
    "a figure as PDF": "import matplotlib; matplotlib.use('Agg')\nimport matplotlib.pyplot as plt, io, hashlib\nplt.bar([1, 2], [3, 4]); b = io.BytesIO(); plt.savefig(b, format='pdf'); print(hashlib.sha256(b.getvalue()).hexdigest(), [l for l in b.getvalue().split(b'\\n') if b'Date' in l])",
    "graphs": "import networkx as nx; g = nx.barabasi_albert_graph(30, 2); print(g.edges, nx.spring_layout(g)[0], sorted(nx.pagerank(g).items())[:4])",
    "algebra": "import sympy as s; x, y = s.symbols('x y'); print(s.solve(x**2 - y, x), s.integrate(s.sin(x) * x, x), s.factor(x**4 - 1), {x, y, x + y, x * y})",
    "a model": "from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.datasets import make_blobs\nX, y = make_blobs(60); m = RandomForestClassifier(5).fit(X, y); print(m.predict_proba(X)[:5], m.feature_importances_)",
    "displays": "display({'x', 'y', 'z'}); display(object()); print('between'); display('last')",
}

BASH = {
    "bash random": "echo $RANDOM $RANDOM $SRANDOM $((RANDOM % 7)); shuf -i 1-20 | tr '\\n' ' '; shuf -n 3 -e a b c d e",
    "bash date": "date; date +%s.%N; date -u +%FT%TZ; printf '%(%F %T)T\\n' -1; TZ=America/New_York date",
    "bash clocks": "echo $EPOCHREALTIME $EPOCHSECONDS $SECONDS; sleep 100; echo $SECONDS $EPOCHSECONDS",
    "bash processes": "echo $$ $BASHPID $PPID; (echo $BASHPID); true & echo $!; wait; echo $UID $HOSTNAME",
    "bash files": "mktemp; mktemp -d; mktemp -u XXXXXXXX; touch z m a B 10 9; echo *; ls; ls -U; find . | head -20; stat -c '%n %Y %s' a",
    "bash listing": "touch b a; mkdir d; ls -la --full-time; ls -t; du -a . | wc -l",
    "bash proc": "cat /proc/self/comm; cat /proc/sys/kernel/hostname 2>&1; tr '\\0' ' ' < /proc/self/cmdline; hostname; uname -n; id",
    "bash archive": "echo x > f; tar cf - f | sha256sum; gzip -c f | sha256sum; tar czf - f | md5sum",
    "bash awk": "awk 'BEGIN { srand(); print rand(), systime() }'; awk 'BEGIN { for (k in split(\"a b c\", x)) print k }' 2>&1 | head -1; sort -R <(printf '%s\\n' a b c d)",
    "bash assoc": "declare -A m; for k in one two three four five; do m[$k]=1; done; echo ${!m[@]}; declare -p m",
    "bash env": "env | sort; set | grep -v BASHPID | sha256sum; ulimit -n; umask; locale 2>/dev/null",
    "bash errors": "nosuchcommand; cat /nosuchfile; echo $?; exit 4",
    "bash pipes": "seq 1 1000 | sort -r | head -3; printf 'a\\nb\\n' | while read x; do echo \"$x $RANDOM\"; done",
    "bash child python": "python3 -c 'import random, time, os; print(random.random(), time.time(), os.getpid(), {\"a\", \"b\", \"c\"})'; python3 -c 'print(hash(\"x\"), object())'",
    "bash time": "TIMEFORMAT=%R; time sleep 3; times | wc -l",
    "bash uuid": "cat /proc/sys/kernel/random/uuid >/dev/null && echo there; head -c 4 /dev/urandom | od -An -tx1; dd if=/dev/urandom bs=4 count=1 2>/dev/null | od -An -tx1",
}

PYTHON = {**OBJECTS, **RANDOM, **TIME, **SYSTEM, **SIDE_BY_SIDE, **LANGUAGE, **LIBRARIES}

# Those that end with an error, on purpose.
FAILING = {"exception groups", "bash errors"}
