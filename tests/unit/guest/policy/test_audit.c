/* The profile at run time: what is refused, with which words, and what goes on working. */
#include "unit.h"

#include <stdio.h>

#include "guest/program.h"

static int start(void **state)
{
    static const char *const modules[] = {"json",  "random", "asyncio",
                                          "numpy", "pandas", "tempfile"};

    (void)state;
    return program_start(modules, sizeof(modules) / sizeof(modules[0]));
}

static void assert_raises(const char *profile, const char *source, const char *part)
{
    struct program_result result = program_run(profile, source);

    if (result.end != PROGRAM_RAISED || !strstr(result.output, part))
        fail_msg("ended as %d without `%s`:\n%s", (int)result.end, part, result.output);
    program_result_done(&result);
}

static void assert_prints(const char *profile, const char *source, const char *expected)
{
    struct program_result result = program_run(profile, source);

    if (result.end != PROGRAM_RAN || strcmp(result.output, expected) != 0)
        fail_msg("ended as %d, expected `%s`:\n%s", (int)result.end, expected, result.output);
    program_result_done(&result);
}

/* A way to modules that the tree does not show. */
#define SMUGGLE "import random\nm = random\no = m._os\n"

TEST(refusals_name_the_profile_and_the_alternative)
{
    assert_raises("strict", "g = globals()\nb = g['__built' + f'{chr(105)}ns__']\nb['eval']('1')\n",
                  "PermissionError: [Errno 1] blocked by profile `strict`: the builtin `eval`; use "
                  "ast.literal_eval()");
    assert_raises("strict",
                  "g = globals()\nb = g['__built' + f'{chr(105)}ns__']\n"
                  "b['__imp' + 'ort__']('subprocess')\n",
                  "ModuleNotFoundError: blocked by profile `strict`: importing module "
                  "`subprocess`; no program");
    assert_raises(
        "strict", "n = '__class__'\ngetattr(1, n)\n",
        "AttributeError: blocked by profile `strict`: attribute `__class__`; use type(x)");
    assert_raises(
        "strict", "t = '{0.__class__}'\nt.format(1)\n",
        "PermissionError: [Errno 1] blocked by profile `strict`: a format field that reads");
}

TEST(getattr_keeps_its_manners)
{
    assert_prints("strict", "n = '__class__'\nprint(getattr(1, n, 'default'), hasattr(1, n))\n",
                  "default False\n");
    assert_prints("strict",
                  "print(getattr(1, 'real'), hasattr(1, 'imag'), getattr(1, 'x', None))\n",
                  "1 True None\n");
    assert_raises("strict", "getattr(1, 'nothing')\n", "'int' object has no attribute 'nothing'");
    assert_raises("strict", "getattr(1, 5)\n", "TypeError: attribute name must be string");
    assert_raises("strict", "getattr()\n",
                  "TypeError: getattr expected at least 2 arguments, got 0");
}

TEST(processes_start_for_nobody_under_strict)
{
    assert_raises("strict", SMUGGLE "o.system('true')\n", "`os.system`");
    assert_raises("strict", SMUGGLE "o.popen('true')\n", "`os.popen`");
    assert_raises("strict", SMUGGLE "o.fork()\n", "`os.fork`");
    assert_raises("strict",
                  SMUGGLE "import threading\n"
                          "def f(): o.kill(1, 0)\n"
                          "f()\n",
                  "`os.kill`");
}

TEST(files_are_out_of_reach_under_strict)
{
    assert_raises("strict", SMUGGLE "o.listdir('/')\n", "os.listdir of `/`");
    assert_raises("strict", "open('/etc/passwd')\n", "open of `/etc/passwd`");
    assert_raises("strict", SMUGGLE "o.mkdir('/var/tmp/x')\n", "os.mkdir of `/var/tmp/x`");
    assert_raises("strict", "import pandas as pd\npd.read_csv('/usr/share/../../etc/passwd')\n",
                  "open of");
    assert_raises("strict", "import numpy as np\nnp.save('/var/tmp/x.npy', [1])\n", "open of");
    assert_raises("pyrunner", "import numpy as np\nnp.save('/tmp/x.npy', [1])\n", "open of");
}

TEST(files_of_the_run_are_there_under_strict)
{
    assert_prints("strict",
                  "import os, tempfile, shutil\n"
                  "d = tempfile.mkdtemp()\n"
                  "os.makedirs(d + '/a/b')\n"
                  "with open(d + '/a/x.txt', 'w') as f: f.write('hello')\n"
                  "os.rename(d + '/a/x.txt', d + '/y.txt')\n"
                  "print(open(d + '/y.txt').read(), sorted(os.listdir(d)))\n"
                  "shutil.rmtree(d)\nprint(os.path.exists(d))\n",
                  "hello ['a', 'y.txt']\nFalse\n");
}

/* The code that reads a module decides which names it has. */
TEST(a_module_in_part_is_whole_for_libraries)
{
    assert_prints("strict",
                  SMUGGLE
                  "import glob, sys\n"
                  "print(o is sys.modules['os'], hasattr(o, 'system'), hasattr(o, 'path'))\n"
                  "print(len(glob.glob('/tmp')), getattr(o, 'fork', None))\n"
                  "print(sys.modules['subprocess' if 0 else 'posix'].__name__)\n",
                  "True False True\n1 None\nposix\n");
    assert_raises("strict", SMUGGLE "o.system = print\n", "`os.system`");
    assert_raises("strict", "import json\njson.dumps = 1\nm = json\nm.codecs.builtins.eval\n",
                  "`codecs.builtins`");
}

TEST(files_are_there_under_standard)
{
    assert_prints(
        "standard",
        "from pathlib import Path\nimport tempfile, os.path, glob, shutil\n"
        "with tempfile.TemporaryDirectory() as d:\n"
        "    p = Path(d) / 'a.txt'\n"
        "    p.write_text('hello')\n"
        "    with open(p) as f:\n"
        "        print(f.read(), os.path.basename(p))\n"
        "    shutil.copy(p, Path(d) / 'b.txt')\n"
        "    print(len(glob.glob(d + '/*.txt')), sorted(x.name for x in Path(d).iterdir()))\n",
        "hello a.txt\n2 ['a.txt', 'b.txt']\n");
}

TEST(standard_still_refuses_what_is_not_its_own)
{
    assert_raises("standard", SMUGGLE "o.system('true')\n", "`os.system`");
    assert_raises("standard", SMUGGLE "o.popen('true')\n", "`os.popen`");
    assert_raises("standard", "import json\nm = json\nm.codecs.builtins.exec('1')\n",
                  "`codecs.builtins`");
    assert_raises("standard",
                  "import inspect\nn = '_getframe'\nm = inspect\nf = [v for k, v in "
                  "m.sys.modules.items() if k == 'sys'][0]\n"
                  "d = {k: x for k, x in m.getmembers(f)}\nd[n]()\n",
                  "KeyError: '_getframe'");
    assert_raises("standard",
                  SMUGGLE "import inspect\n"
                          "d = dict(inspect.getmembers(o.sys.modules['builtins']))\n"
                          "d['__imp' + 'ort__']('ctypes')\n",
                  "KeyError: '__import__'");
}

TEST(a_function_given_to_a_library_counts_as_the_programs)
{
    static const char *const calls[] = {"pandas.Series(['true']).apply(f)",
                                        "numpy.vectorize(f)(['true'])"};
    char source[256];

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        (void)snprintf(source, sizeof(source),
                       "import inspect, numpy, os, pandas\n"
                       "f = inspect.getattr_static(os, 'system')\n%s\n",
                       calls[i]);
        assert_raises("standard", source, "`os.system`");
    }
    assert_raises("standard",
                  "import importlib, inspect\n"
                  "m = importlib.import_module('_posix' + 'subprocess')\n"
                  "inspect.getattr_static(m, 'fork_exec')()\n",
                  "`os.fork`");
}

TEST(text_that_a_library_evaluates_meets_the_rules)
{
    assert_prints("standard", "import timeit\ntimeit.timeit('print(1 + 1)', number=1)\n", "2\n");
    assert_raises("standard", "import timeit\ntimeit.timeit('import pty', number=1)\n",
                  "evaluating text: profile `standard` does not allow importing module `pty`");
    assert_raises("standard",
                  "import timeit\ntimeit.timeit('getattr(1, n)', 'n = \"x\"', number=1)\n",
                  "reading by a computed name");
    assert_raises("standard", "import timeit\ntimeit.timeit('eval(\"1\")', number=1)\n",
                  "the builtin `eval`");
    assert_raises("strict", "import ast\nast.parse('1', '/usr/lib/python3/dist-packages/x.py')\n",
                  "in the name of `/usr/lib/python3/dist-packages/x.py`");
    assert_raises("strict", "import ast\nast.parse('1', '<frozen x>')\n", "in the name of");
    assert_prints("strict", "import ast\nprint(ast.parse('1', 'x.py').body[0].value.value)\n",
                  "1\n");
}

TEST(open_restricts_nothing)
{
    assert_prints("open",
                  "import os, sys, ctypes, subprocess, gc\n"
                  "print(eval('1 + 1'), ().__class__.__base__, '{0.__class__}'.format(1))\n"
                  "print(subprocess.run(['echo', 'x'], capture_output=True).stdout, "
                  "len(gc.get_objects()) > 0)\n"
                  "print(getattr(__builtins__, 'exec') is exec, sys._getframe().f_lineno)\n",
                  "2 <class 'object'> <class 'int'>\nb'x\\n' True\nTrue 4\n");
}

/* The function of such a thread is called by C, with no Python frame above it. A lock says when it
 * is over: the thread reports its exception through the hook that releases it. */
TEST(a_thread_without_a_frame_is_not_trusted)
{
    struct program_result result =
        program_run("standard", SMUGGLE "import threading\n"
                                        "t = threading\n"
                                        "over = t.Lock()\n"
                                        "over.acquire()\n"
                                        "def hook(args):\n"
                                        "    print(args.exc_value)\n"
                                        "    over.release()\n"
                                        "import functools, operator, sys\n"
                                        "sys.unraisablehook = hook\n"
                                        "f = functools.partial(operator.attrgetter('system'), o)\n"
                                        "if sys.version_info < (3, 13):\n"
                                        "    t._start_new_thread(f, ())\n"
                                        "else:\n"
                                        "    t._start_joinable_thread(f)\n"
                                        "over.acquire()\n");

    assert_int_equal(result.end, PROGRAM_RAN);
    assert_contains(result.output, "blocked by profile `standard`: `os.system`");
    assert_null(strstr(result.output, "ESCAPED"));
    program_result_done(&result);
}

static struct span named(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* Code in a file of the library is trusted with more. This test is the last: the name stays. */
TEST(the_name_of_a_program_is_never_one_of_the_library)
{
    static const char *const refused[] = {
        "",
        "/usr/lib/python3.11/ast.py",
        "<frozen os>",
        "x<frozen importlib._bootstrap>.py",
        "a/b",
        "../ast.py",
        "a b",
        "\xc3\xbc.py",
        "a\nb",
    };
    char longest[200];

    memset(longest, 'a', sizeof(longest));
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_int_equal(policy_set_filename(named(refused[i])), -1);
    assert_int_equal(policy_set_filename((struct span){longest, sizeof(longest)}), -1);
    assert_int_equal(policy_set_filename((struct span){"a\0b", 3}), -1);
    assert_string_equal(policy_filename(), "<code>");

    /* The names of files that may do more, where they lie in the library. */
    assert_int_equal(policy_set_filename(named("dataclasses.py")), 0);
    assert_string_equal(policy_filename(), "dataclasses.py");
    assert_raises("strict", SMUGGLE "o.system('true')\n", "`os.system`");
    assert_raises("strict", "g = globals()\nb = g['__built' + f'{chr(105)}ns__']\nb['eval']('1')\n",
                  "eval");
    assert_prints("strict", "print(1)\n", "1\n");
}

UNIT_MAIN_WITH(start, NULL)
