"""Exit functions of a program run, in a warm interpreter whose modules have registered some of their own."""
import pytest

PROGRAMS = {
    "a function of its own": "import atexit\natexit.register(print, 'end')\n",
    "a handler that holds back": (
        "import logging, logging.handlers, sys\n"
        "target = logging.StreamHandler(sys.stdout)\n"
        "logging.getLogger().addHandler(logging.handlers.MemoryHandler(100, target=target))\n"
        "logging.getLogger().warning('end')\n"
    ),
    "a finalizer": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'end')\n",
    "a finalizer of processes": (
        "import multiprocessing.util\n"
        "multiprocessing.util.Finalize(None, print, args=('end',), exitpriority=1)\n"
    ),
    "a child": (
        "import multiprocessing, time\n"
        "def work():\n"
        "    time.sleep(0.3)\n"
        "    print('end', flush=True)\n"
        "multiprocessing.get_context('fork').Process(target=work).start()\n"
    ),
    "a thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('end'))).start()\n"
    ),
    "what waits for a thread": (
        "import threading\nthreading._register_atexit(print, 'end')\n"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_left_for_the_end_is_done(server, name):
    result = server.run(PROGRAMS[name] + "print('begin')\n", profile="open")
    assert (result["status"], result["stdout"]) == ("success", "begin\nend\n"), result


def test_a_failing_exit_function_is_told(server):
    result = server.run("import atexit\natexit.register(lambda: 1 / 0)\n", profile="open")
    assert "ZeroDivisionError" in result["stderr"], result
