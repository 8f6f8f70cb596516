#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PATIENT_MS 60000
#define SHORT_MS   150

/* clang-format off */
const struct cell cells[] = {
    {"count", RUN_PYTHON, "n = globals().get('n', 0) + 1; print(n)", PATIENT_MS, RUN_SUCCESS, 0, COUNTS, COUNTER, NULL, NULL, 20},
    {"count in bash", RUN_BASH, "n=$((n + 1)); echo $n", PATIENT_MS, RUN_SUCCESS, 0, COUNTS, COUNTER, NULL, NULL, 12},
    {"value", RUN_PYTHON, "6 * 7", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, TEXT, "", "42", 8},
    {"import", RUN_PYTHON, "import math, json; print(json.dumps([math.factorial(20), math.pi]))", PATIENT_MS, RUN_SUCCESS, 0,
     LEAVES, TEXT, "[2432902008176640000, 3.141592653589793]\n", NULL, 6},
    {"function", RUN_PYTHON, "def fib(k):\n    a, b = 0, 1\n    for _ in range(k): a, b = b, a + b\n    return a\nprint(fib(90))",
     PATIENT_MS, RUN_SUCCESS, 0, LEAVES, TEXT, "2880067194370816120\n", NULL, 6},
    {"write", RUN_PYTHON, "with open('/workspace/file', 'w') as f: f.write('%ld')", PATIENT_MS, RUN_SUCCESS, 0, WRITES, TEXT, "",
     NULL, 6},
    {"write in bash", RUN_BASH, "printf %ld > /workspace/file", PATIENT_MS, RUN_SUCCESS, 0, WRITES, TEXT, "", NULL, 4},
    {"read", RUN_PYTHON, "import os; print(open('/workspace/file').read() if os.path.exists('/workspace/file') else 0)", PATIENT_MS,
     RUN_SUCCESS, 0, LEAVES, CONTENT, NULL, NULL, 6},
    {"read in bash", RUN_BASH, "if [ -e /workspace/file ]; then cat /workspace/file; echo; else echo 0; fi", PATIENT_MS, RUN_SUCCESS,
     0, LEAVES, CONTENT, NULL, NULL, 4},
    {"say in bash", RUN_BASH, "echo cell %ld", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, NUMBER, NULL, NULL, 6},
    {"say through a pipe", RUN_BASH, "/bin/echo cell %ld | cat", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, NUMBER, NULL, NULL, 2},
    {"say much in bash", RUN_BASH, "for i in {1..500}; do echo cell %ld; done", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, NUMBER, NULL, NULL,
     2},
    {"exception", RUN_PYTHON, "1 / 0", PATIENT_MS, RUN_ERROR, 1, LEAVES, TEXT, "", NULL, 4},
    {"status of bash", RUN_BASH, "f() { return 3; }; echo 5; f", PATIENT_MS, RUN_ERROR, 3, LEAVES, TEXT, "5\n", NULL, 4},
    {"child", RUN_PYTHON, "import subprocess; print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout, end='')",
     PATIENT_MS, RUN_SUCCESS, 0, LEAVES, TEXT, "child\n", NULL, 3},
    {"await", RUN_PYTHON, "import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, TEXT,
     "awaited\n", NULL, 3},
    {"sleep", RUN_PYTHON, "import time; time.sleep(0.1); print('slept')", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, TEXT, "slept\n", NULL, 8},
    {"sleep in bash", RUN_BASH, "sleep 0.1; echo slept", PATIENT_MS, RUN_SUCCESS, 0, LEAVES, TEXT, "slept\n", NULL, 5},
    {"loop", RUN_PYTHON, "while True: pass", SHORT_MS, RUN_TIMEOUT, 124, LEAVES, TEXT, "", NULL, 2},
    {"loop in bash", RUN_BASH, "sleep 60", SHORT_MS, RUN_TIMEOUT, 124, LEAVES, TEXT, "", NULL, 2},
    {"deaf", RUN_PYTHON, "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", SHORT_MS, RUN_TIMEOUT, 124,
     LOSES, TEXT, "", NULL, 1},
    {"exit", RUN_PYTHON, "import os; os._exit(3)", PATIENT_MS, RUN_ERROR, 3, LOSES, TEXT, "", NULL, 2},
    {"exit of a cell of bash", RUN_BASH, "exit 4", PATIENT_MS, RUN_ERROR, 4, LEAVES, TEXT, "", NULL, 2},
    {"exit of bash", RUN_BASH, "builtin exit 4", PATIENT_MS, RUN_ERROR, 4, LOSES, TEXT, "", NULL, 2},
    {"crash", RUN_PYTHON, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", PATIENT_MS, RUN_ERROR, 139, LOSES, TEXT, "", NULL,
     1},
};
/* clang-format on */

const size_t n_cells = ARRAY_SIZE(cells);

void model_lose(struct model *m, enum run_language language)
{
    m->counters[language] = (struct counter){0};
}

/* A kernel that does not heed its limits may take the other one with it. */
static void lose_by_force(struct model *m, enum run_language language)
{
    model_may_lose(m);
    model_lose(m, language);
}

void model_may_lose(struct model *m)
{
    for (size_t i = 0; i < ARRAY_SIZE(m->counters); i++)
        m->counters[i].may_be_lost = true;
}

struct model model_copy(const struct model *m)
{
    struct model copy = *m;

    for (size_t i = 0; i < ARRAY_SIZE(copy.counters); i++)
        if (copy.counters[i].may_be_lost)
            copy.counters[i].low = 0;
    return copy;
}

/* It did not come to its end: how far is not known. */
static void leave_half_done(struct model *m, const struct cell *cell, const struct run *run)
{
    if (run->result.state == RUN_STATE_LOST)
        lose_by_force(m, cell->language);
    else if (cell->effect == COUNTS)
        m->counters[cell->language].high++;
    if (cell->effect == WRITES)
        m->is_file_known = false;
}

static const char *judge_counter(struct counter *counter, const char *out)
{
    char *end;
    long value = strtol(out, &end, 10);

    if (end == out || strcmp(end, "\n") != 0)
        return "what was printed is no counter";
    /* A loss is said, with RUN_STATE_LOST or RUN_STATE_FRESH. */
    if (value < counter->low + 1 || value > counter->high + 1)
        return "the counter is another";
    *counter = (struct counter){value, value, false};
    return NULL;
}

static const char *judge_lines(const char *out, long number)
{
    char line[64];
    size_t len = (size_t)snprintf(line, sizeof(line), "cell %ld\n", number);

    if (!*out)
        return "it printed nothing";
    for (; *out; out += len)
        if (strncmp(out, line, len) != 0)
            return "it printed bytes that are not its own";
    return NULL;
}

static const char *judge_output(struct model *m, const struct cell *cell, long number,
                                const struct run *run)
{
    const char *out = buf_str(&run->result.out.head);

    switch (cell->printed) {
    case NUMBER:
        return judge_lines(out, number);
    case COUNTER:
        return judge_counter(&m->counters[cell->language], out);
    case CONTENT:
        return m->is_file_known && strtol(out, NULL, 10) != m->file ? "the file is another" : NULL;
    case TEXT:
    default:
        return strcmp(out, cell->text) != 0 ? "it printed something else" : NULL;
    }
}

static const char *judge_answer(struct model *m, const struct cell *cell, long number,
                                const struct run *run)
{
    const char *result = run->result.value_text ? run->result.value_text : "";
    /* On a busy machine a loop may not hear the interrupt in time, and one that would not hear it
     * may not have begun. */
    bool may_lose = cell->effect == LOSES || cell->status == RUN_TIMEOUT;

    if (run->result.status != cell->status)
        return "the status is another";
    if (run->result.exit_code != cell->exit_code)
        return "the exit code is another";
    if (run->result.state == RUN_STATE_NONE || (run->result.state == RUN_STATE_LOST && !may_lose))
        return "its variables are lost";
    if (cell->effect == LOSES && cell->status != RUN_TIMEOUT && run->result.state != RUN_STATE_LOST)
        return "its variables are said to be kept";
    if (strcmp(result, cell->result ? cell->result : "") != 0)
        return "the value is another";
    if (run->result.state == RUN_STATE_LOST && cell->status == RUN_TIMEOUT)
        lose_by_force(m, cell->language);
    else if (run->result.state == RUN_STATE_LOST)
        model_lose(m, cell->language);
    if (cell->effect == WRITES) {
        m->file = number;
        m->is_file_known = true;
    }
    return judge_output(m, cell, number, run);
}

const char *model_judge(struct model *m, const struct cell *cell, long number,
                        const struct run *run, unsigned harms)
{
    if (run->result.error.code != E_NONE)
        return harms & HARM_END ? NULL : "an error, and nobody ended the session";
    if (run->result.state == RUN_STATE_FRESH) {
        if (!m->counters[cell->language].may_be_lost)
            return "its kernel is fresh, and nobody killed one";
        model_lose(m, cell->language);
    }
    if (run->result.status == RUN_CANCELLED && (harms & (HARM_INTERRUPT | HARM_END))) {
        leave_half_done(m, cell, run);
        return NULL;
    }
    if (run->result.state == RUN_STATE_LOST && run->result.signal == 9 &&
        run->result.status == RUN_ERROR && (harms & HARM_KILL)) {
        leave_half_done(m, cell, run);
        return NULL;
    }
    return judge_answer(m, cell, number, run);
}
