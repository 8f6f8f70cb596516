/* Findings of the walk: rule, name, place, words. */
#include "unit.h"

#include <stdio.h>

#include "guest/policy/internal.h"
#include "guest/program.h"

static int start(void **state)
{
    static const char *const modules[] = {"json", "collections", "datetime", "random", "asyncio"};

    (void)state;
    return program_start(modules, sizeof(modules) / sizeof(modules[0]));
}

/* "import:os@1:8 builtin:eval@2:1": every finding of the program. */
static void assert_findings(const char *profile, const char *source, const char *expected)
{
    struct policy *policy = program_policy(profile);
    struct policy_report report = {0};
    char found[4096] = "";
    size_t len = 0;

    if (program_check(policy, source, &report) < 0)
        fail_msg("the check failed on: %s", source);
    for (size_t i = 0; i < report.count; i++) {
        const struct policy_violation *item = &report.items[i];

        len += (size_t)snprintf(found + len, sizeof(found) - len, "%s%s:%s@%u:%u", i ? " " : "",
                                item->rule, item->name, item->line, item->column);
        assert_true(len < sizeof(found));
        assert_contains(item->message, profile);
    }
    if (strcmp(found, expected) != 0)
        fail_msg("%s\nfound    %s\nexpected %s", source, found, expected);
    policy_report_done(&report);
    policy_free(policy);
}

TEST(every_finding_is_told_with_its_place)
{
    assert_findings("strict",
                    "import pty, math, socket as s\n"
                    "x = [eval]\n"
                    "if x:\n"
                    "    y = {1}.__class__.__globals__\n",
                    "import:pty@1:8 import:socket@1:19 builtin:eval@2:6 attribute:__class__@4:13 "
                    "attribute:__globals__@4:23");
}

TEST(columns_are_characters)
{
    assert_findings("strict", "é = '€𝄞'; eval\n", "builtin:eval@1:11");
    assert_findings("strict", "\xef\xbb\xbf# é\nx = 'é'.__class__\n", "attribute:__class__@2:9");
    assert_findings("strict", "a = 1\r\nb = 2\rx = 'é' + eval\n", "builtin:eval@3:11");
}

TEST(identifiers_are_judged_as_python_reads_them)
{
    assert_findings("strict", "ｅｖａｌ('1')\n", "builtin:eval@1:1");
    assert_findings("strict", "import ｐｔｙ\n", "import:pty@1:8");
    /* The place of an attribute is counted back from its end by the name as Python reads it. */
    assert_findings("strict", "{1}.__ｃlass__\n", "attribute:__class__@1:7");
}

TEST(imports_are_judged)
{
    assert_findings("strict", "import collections.abc, numpy.linalg as l\n", "");
    assert_findings("strict", "import _io\n", "import:_io@1:8");
    assert_findings("strict", "from . import x\nfrom .a import b\n", "import:.@1:1 import:.@2:1");
    assert_findings("strict", "from io import StringIO, FileIO\n", "import:io.FileIO@1:26");
    assert_findings("strict", "from io import *\n", "import:io@1:16");
    assert_findings("pyrunner", "import io\n", "import:io@1:8");
    assert_findings("strict", "from collections import Counter, _sys\nfrom os import path\n", "");
    assert_findings("pyrunner", "from collections import Counter, _sys\n",
                    "import:collections._sys@1:34");
    assert_findings("pyrunner", "from os import path\n", "import:os.path@1:16");
    /* Nobody has it but perhaps the program, in a file of its own. */
    assert_findings("strict", "import no_such_module\nfrom no_such_package.part import x\n", "");
    assert_findings("pyrunner", "import no_such_module\n", "import:no_such_module@1:8");
    assert_findings("strict", "from datetime import time\nfrom math import *\n", "");
    assert_findings("strict", "from json import __builtins__\n", "attribute:__builtins__@1:18");
    assert_findings("strict", "import urllib.parse\nurllib.parse.quote('x')\n", "");
    assert_findings("strict", "import urllib.request\n", "import:urllib.request@1:8");
    assert_findings("strict", "from __future__ import annotations\n", "");
}

TEST(a_module_is_a_way_to_the_part_that_is_allowed)
{
    assert_findings("standard", "import os.path\nprint(os.path.join('a', 'b'))\n", "");
    assert_findings("standard", "from os import path\nimport os.path as p\np.exists('x')\n", "");
    assert_findings("standard", "from os import environ, getenv\nprint(environ['A'])\n", "");
    assert_findings("standard", "from os import environ, system, popen\n",
                    "import:os.system@1:25 import:os.popen@1:33");
    assert_findings("marketplace", "import os\nos.system('x')\n", "import:os@1:8");
    assert_findings("pyrunner", "from os import environ\n", "import:os.environ@1:16");
    assert_findings("standard", "import os.path\nos.system('x')\n", "import:os.system@2:4");
    assert_findings("marketplace", "import os.path\nx = os\nf(os)\n",
                    "import:os@2:5 import:os@3:3");
    assert_findings("marketplace", "import os.path as p\np.os.system('x')\n", "import:os@2:3");
    assert_findings("standard", "import os.path as p\np.os.system('x')\n", "import:os.system@2:6");
    assert_findings("standard", "from sys import argv, exit\nimport sys\nsys.exit(1)\n", "");
    assert_findings("pyrunner", "import sys\n", "import:sys@1:8");
}

TEST(a_module_in_part_has_the_names_that_are_listed)
{
    assert_findings("strict", "import os, sys, io\nos.path.join('a')\nsys.exit(io.StringIO())\n",
                    "");
    assert_findings("standard", "import os\nos.makedirs('a')\nos.environ['B'] = 'c'\n", "");
    assert_findings("standard", "import os\nos.fork()\nos.execv('a', [])\n",
                    "import:os.fork@2:4 import:os.execv@3:4");
    assert_findings("strict", "import os as o\no.open('x', 0)\n", "import:os.open@2:3");
    assert_findings("strict", "import sys\nsys.meta_path\nsys.settrace(f)\n",
                    "import:sys.meta_path@2:5 import:sys.settrace@3:5");
    assert_findings("strict", "import random\nrandom._os.getpid()\nrandom._os.fork()\n",
                    "import:os.fork@3:12");
}

TEST(an_import_that_is_caught_is_judged_when_it_runs)
{
    assert_findings("strict", "try:\n    import subprocess\nexcept ImportError:\n    pass\n", "");
    assert_findings("strict",
                    "try:\n    from pty import spawn\nexcept (OSError, ModuleNotFoundError) as e:\n"
                    "    pass\n",
                    "");
    assert_findings("strict", "try:\n    if x:\n        import pty\nexcept:\n    pass\n", "");
    assert_findings("strict", "try:\n    import pty\nexcept ValueError:\n    pass\n",
                    "import:pty@2:12");
    assert_findings("strict", "try:\n    pass\nexcept ImportError:\n    import pty\n",
                    "import:pty@4:12");
    assert_findings("strict", "try:\n    import pty\nfinally:\n    pass\n", "import:pty@2:12");
}

TEST(members_that_are_modules_are_imports)
{
    assert_findings("pyrunner", "import json\njson.codecs.builtins.exec('1')\n",
                    "import:codecs@2:6 import:builtins@2:13");
    assert_findings("strict", "import json\njson.codecs.builtins.exec('1')\n",
                    "import:builtins@2:13");
    assert_findings("strict", "import asyncio as a\na.sleep(1)\na.events\na.sys.meta_path\n",
                    "import:sys.meta_path@4:7");
    assert_findings("pyrunner", "import random\nrandom._os.getcwd()\n", "import:os@2:8");
    assert_findings("strict", "from json import decoder as d\nd.scanner\nd.re\n", "");
    /* Not loaded, and so not known: the names that give the most away. */
    assert_findings("strict", "import graphlib\ngraphlib._ctypes\ngraphlib.TopologicalSorter\n",
                    "import:ctypes@2:10");
    assert_findings("strict", "import scipy as s\ns.io\ns.signal\nx.os\n", "");
    /* A refused name is not reported again for each use. */
    assert_findings("strict", "import pty\npty.spawn('a')\npty.os\n", "import:pty@1:8");
}

TEST(blocked_builtins_are_refused_as_names)
{
    assert_findings("strict", "@exec\ndef f(): pass\n", "builtin:exec@1:2");
    assert_findings("pyrunner", "match x:\n    case open(): pass\n", "builtin:open@2:10");
    assert_findings("pyrunner", "f(key=input)\n", "builtin:input@1:7");
    assert_findings("strict", "__builtins__\n__loader__\n",
                    "builtin:__builtins__@1:1 builtin:__loader__@2:1");
    assert_findings("strict", "globals()['__builtins__']\nvars()['ev' + 'al']\n",
                    "builtin:__builtins__@1:1 builtin:eval@2:1");
}

TEST(names_of_its_own_are_the_programs_affair)
{
    assert_findings("strict", "input = 1\nprint(input)\n", "");
    assert_findings("strict", "def f(open, *file, help=1, **quit): return open, file, help, quit\n",
                    "");
    assert_findings("strict", "for open in x: print(open)\ndel open\n", "");
    assert_findings("strict", "import math as input\ninput.pi\n", "");
    assert_findings("strict", "try: pass\nexcept E as input: print(input)\n", "");
    assert_findings("strict", "match x:\n    case [open, *file]: print(open, file)\n", "");
    assert_findings("strict", "class exit: pass\nexit()\n", "");
    /* But nobody calls a variable eval. */
    assert_findings("strict", "eval = 1\nprint(eval)\n", "builtin:eval@2:7");
}

TEST(classes_may_speak_of_themselves)
{
    assert_findings("strict",
                    "class A:\n"
                    "    def __repr__(self): return self.__class__.__name__\n"
                    "    def __eq__(self, other): return self.__dict__ == other.__dict__\n"
                    "    def copy(self): return self.__class__()\n"
                    "    def __add__(self, x): return super().__add__(x)\n",
                    "");
    assert_findings("strict", "f(x.__class__.__name__, x.__class__.__qualname__)\n", "");
    assert_findings("strict", "x.__class__ is y.__class__, x.__class__(), x.__dict__\n", "");
    assert_findings("strict", "x.__class__ = y\n", "attribute:__class__@1:3");
    /* A call or an index gives some object, whose type() is the same. */
    assert_findings("strict", "f().__class__ is x[0].__class__\n", "");
    assert_findings("strict", "f().__class__ = y\nx[0].__class__ = y\n",
                    "attribute:__class__@1:5 attribute:__class__@2:6");
    assert_findings("strict", "().__class__\n''.__class__\n",
                    "attribute:__class__@1:4 attribute:__class__@2:4");
    assert_findings("strict", "f().__class__.__subclasses__()\n", "attribute:__subclasses__@1:15");
    assert_findings("strict", "f.__defaults__, f.__kwdefaults__\nf.__defaults__ = ()\n",
                    "attribute:__defaults__@2:3");
    assert_findings("strict", "x.__class__.__subclasses__()\n", "attribute:__subclasses__@1:13");
    assert_findings("pyrunner", "x.__dict__\nx.mro()\n",
                    "attribute:__dict__@1:3 attribute:mro@2:3");
    assert_findings("pyrunner", "f(self.__class__.__name__)\n", "attribute:__class__@1:8");
    assert_findings("cms", "f(type(x).__name__)\n", "attribute:__name__@1:11");
}

TEST(attributes_in_patterns_and_strings_are_judged)
{
    assert_findings("strict", "match x:\n    case object(__class__=c, real=r): pass\n",
                    "attribute:__class__@2:10");
    assert_findings("strict", "getattr(x, '__class__')\nsetattr(x, 'f_' 'back', 1)\n",
                    "attribute:__class__@1:12 attribute:f_back@2:12");
    assert_findings("strict", "getattr(x, '__cla' + 'ss__')\nhasattr(x, f'__{\"code\"}__')\n",
                    "attribute:__class__@1:12 attribute:__code__@2:12");
    assert_findings("strict", "getattr(x, name)\ngetattr(x, f'layer{i}', 0)\nhasattr(x, 'y')\n",
                    "");
    assert_findings("strict", "attrgetter('a.__class__')\noperator.methodcaller('__init__')\n",
                    "attribute:__class__@1:12");
    assert_findings("strict",
                    "object.__setattr__(self, 'x', 1)\nobject.__setattr__(f, '__code__', c)\n",
                    "attribute:__code__@2:23");
    assert_findings("strict", "try: pass\nexcept AttributeError as e: e.obj, e.name, x.obj\n",
                    "attribute:obj@2:31");
}

TEST(format_fields_are_judged)
{
    assert_findings("strict", "'{0.__globals__}'.format(f)\n", "format:__globals__@1:1");
    assert_findings("strict", "('{0.' + '__globals__}').format(f)\n", "format:__globals__@1:1");
    assert_findings("strict", "'{x.gi_frame}'.format_map(d)\n", "format:gi_frame@1:1");
    assert_findings("strict", "Formatter().vformat('{0.__code__}', a, k)\n",
                    "format:__code__@1:21");
    assert_findings("strict", "F().get_field('0.__code__', a, k)\n", "format:__code__@1:15");
    assert_findings("strict", "'{:.2f} {0.real} {0.__class__.__name__}'.format(x)\nt.format(x)\n",
                    "");
    assert_findings("strict", "f'{x.__globals__} {y:>{x.__code__}}'\n",
                    "attribute:__globals__@1:6 attribute:__code__@1:26");
}

TEST(definitions_that_are_pointers_are_refused)
{
    assert_findings("strict", "class P:\n    __array_interface__ = {}\n",
                    "attribute:__array_interface__@2:5");
    assert_findings("strict", "class P:\n    def __array_struct__(self): pass\n",
                    "attribute:__array_struct__@2:5");
    assert_findings("strict", "class P:\n    __match_args__ = ('x', 'y')\n    __slots__ = ('z',)\n",
                    "");
    assert_findings("strict", "class P:\n    __match_args__ = ('__globals__',)\n",
                    "attribute:__match_args__@2:22");
    assert_findings("strict", "class P:\n    __match_args__ = f()\n",
                    "attribute:__match_args__@2:22");
    assert_findings("strict", "class P:\n    __globals__: int\n    x: int\n",
                    "attribute:__globals__@2:5");
}

TEST(alternatives_are_named)
{
    static const struct {
        const char *source, *hint;
    } cases[] = {
        {"import os\nos.fork()\n", "do the work in Python"},
        {"eval('1')\n", "ast.literal_eval"},
        {"import socket\n", "network"},
        {"import subprocess\n", "profile `open`"},
        {"().__class__\n", "isinstance"},
        {"import io\nio.FileIO\n", "io.open"},
        {"import sys\nsys.settrace\n", "use print()"},
        {"from logging.handlers import SysLogHandler\n", "FileHandler"},
        {"x.ctypes\n", "a.tobytes()"},
        {"print(__spec__)\n", "`__name__`"},
        {"__import__('x')\n", "import statement"},
    };

    struct policy *policy = program_policy("strict");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_report report = {0};

        assert_int_equal(program_check(policy, cases[i].source, &report), 0);
        assert_int_equal(report.count, 1);
        assert_contains(report.items[0].hint, cases[i].hint);
        policy_report_done(&report);
    }
    policy_free(policy);
}

TEST(only_a_slip_gets_another_name)
{
    static const struct {
        const char *profile, *source, *hint;
    } cases[] = {
        {"cms", "import nump\n", "did you mean `numpy`?"},
        {"cms", "import nump.linalg\n", "allowed are "},
        {"cms", "import qqqqqqq\n", "allowed are "},
        {"strict", "import pty\n", "there is no terminal"}, /* it is there, and was meant */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy *policy = program_policy(cases[i].profile);
        struct policy_report report = {0};

        assert_int_equal(program_check(policy, cases[i].source, &report), 0);
        assert_int_equal(report.count, 1);
        assert_contains(report.items[0].hint, cases[i].hint);
        policy_report_done(&report);
        policy_free(policy);
    }
}

TEST(profiles_of_other_systems_keep_their_lists)
{
    assert_findings("cms", "import pandas, networkx, code_helpers\nimport collections.abc\n", "");
    assert_findings("cms", "import os, io, asyncio, sympy\n",
                    "import:os@1:8 import:io@1:12 import:asyncio@1:16 import:sympy@1:25");
    assert_findings("cms", "getattr(x, 'a')\nglobals()\n",
                    "builtin:getattr@1:1 builtin:globals@2:1");
    assert_findings("cms", "x.__init__()\nx.__len__()\nx.__str__()\nx.__iter__()\n",
                    "attribute:__iter__@4:3");
    assert_findings("pyrunner", "from io import BytesIO, SEEK_END\nimport sympy, sklearn\n", "");
    assert_findings("pyrunner", "import _thread\nsetattr(a, 'b', 1)\n",
                    "import:_thread@1:8 builtin:setattr@2:1");
    assert_findings("marketplace", "import api.filesystem, pathlib, io\nfrom os import path\n", "");
    assert_findings("marketplace", "import sys, numpy\nopen('x')\n",
                    "import:sys@1:8 import:numpy@1:13 builtin:open@2:1");
    assert_findings("devskyy", "import difflib, xml.etree.ElementTree, anything\n", "");
    assert_findings("devskyy", "import urllib.request, os.path, requests\n",
                    "import:urllib.request@1:8 import:os.path@1:24 import:requests@1:33");
    assert_findings("open", "import os\neval('1')\nx.__class__\nfrom . import y\n", "");
}

TEST(what_is_not_a_tree_fails_closed)
{
    struct policy *policy = program_policy("strict");
    struct policy_report report = {0};

    assert_int_equal(policy_check_tree(policy, NULL, &report), -1);
    assert_int_equal(policy_check_tree(policy, Py_None, &report), -1);
    policy_free(policy);
}

static PyObject *make(PyObject *ast, const char *kind, PyObject *a, PyObject *b)
{
    PyObject *type = PyObject_GetAttrString(ast, kind);
    PyObject *node = PyObject_CallFunctionObjArgs(type, a, b, NULL);

    Py_DECREF(type);
    assert_non_null(node);
    return node;
}

TEST(a_tree_that_is_too_deep_is_refused)
{
    struct policy *policy = program_policy("strict");
    struct policy_report report = {0};
    PyObject *ast = PyImport_ImportModule("_ast");
    PyObject *number = PyLong_FromLong(1);
    PyObject *op = make(ast, "USub", NULL, NULL);
    PyObject *node = make(ast, "Constant", number, NULL);

    for (int i = 0; i < 7000; i++) {
        PyObject *outer = make(ast, "UnaryOp", op, node);

        Py_DECREF(node);
        node = outer;
    }
    assert_int_equal(policy_check_tree(policy, node, &report), 0);
    assert_int_equal(report.count, 1);
    assert_string_equal(report.items[0].name, "depth");
    policy_report_done(&report);
    Py_DECREF(node);
    Py_DECREF(op);
    Py_DECREF(number);
    Py_DECREF(ast);
    policy_free(policy);
}

UNIT_MAIN_WITH(start, NULL)
