/* Turns tools/seccomp-table.h into classic BPF programs and into documentation, at build time.
 *
 *     gen-seccomp                  the filters as a C header
 *     gen-seccomp --refused        the calls whose refusal is reported, as a C header
 *     gen-seccomp --markdown       docs/SYSCALLS.md
 *     gen-seccomp --check FILE     fails when FILE is not that documentation
 *
 * libseccomp knows the number of each call; the program is laid out here. Its own compiler has no
 * ranges of numbers, no "all but these" for an argument, and makes a program several times as long,
 * and loading a filter is a large part of making a sandbox: the kernel runs it once for each call
 * number to learn which are always allowed (Linux 5.11). Here the numbers become a search tree over
 * ranges, with the tests of arguments in its leaves.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <seccomp.h>

#include "seccomp-table.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CALLS_MAX     1024
#define PROGRAM_MAX   4096 /* BPF_MAXINSNS */
#define ROWS_MAX      128
#define X32_BIT       UINT32_C(0x40000000)

struct filter {
    const char *name;
    const char *title;
    const struct row *rows;
    size_t n_rows;
    enum verdict otherwise; /* a call without a row */
    bool tells;             /* hands the refusals to a listener, which reports them */
};

/* clang-format off */
static const struct filter filters[] = {
    {"seccomp_base",     "Every sandbox",                           base_rows,     ARRAY_SIZE(base_rows),     REFUSE},
    {"seccomp_no_dump",  "Every kernel, on top",                    no_dump_rows,  ARRAY_SIZE(no_dump_rows),  ALLOW },
    {"seccomp_no_exec",  "Profiles without new processes, on top",  no_exec_rows,  ARRAY_SIZE(no_exec_rows),  ALLOW },
    {"seccomp_no_memfd", "Hosts without cgroups, on top",           no_memfd_rows, ARRAY_SIZE(no_memfd_rows), ALLOW },
    {"seccomp_no_drop",  "Zygotes and what they start, on top",     no_drop_rows,  ARRAY_SIZE(no_drop_rows),  ALLOW },
    {"seccomp_no_unix",  "Granted directories, on top",             no_unix_rows,  ARRAY_SIZE(no_unix_rows),  ALLOW },
    {"seccomp_process",  "The level `process`, on top",             process_rows,  ARRAY_SIZE(process_rows),  ALLOW },
    {"seccomp_broker",   "Directories granted for writing, on top", broker_rows,   ARRAY_SIZE(broker_rows),   ALLOW },
    {"seccomp_hold",     "The holder of a kernel's memory",         hold_rows,     ARRAY_SIZE(hold_rows),     REFUSE},
    {"seccomp_listener", "The listener of `belljar serve`",         listener_rows, ARRAY_SIZE(listener_rows), REFUSE},
    /* The first one once more, for sandboxes with a listener: not in the documentation. */
    {"seccomp_report",   NULL,                                      base_rows,     ARRAY_SIZE(base_rows),     REFUSE, .tells = true},
};
/* clang-format on */

/* The outcome for one call number. */
struct decision {
    enum verdict verdict;
    const struct row *row; /* set when it depends on arguments */
};

struct range {
    uint32_t first;
    struct decision decision;
};

/* Written from the end to the beginning, so that whatever is jumped to is already there: jumps only
 * go forward. An address is an index into this reversed program. */
struct program {
    struct sock_filter insns[PROGRAM_MAX];
    size_t len;
    size_t returns[VERDICTS]; /* the latest return of each kind, plus one */
    struct {
        const struct row *row;
        size_t entry;
    } rows[ROWS_MAX]; /* whose tests are there */
    size_t n_rows;
    bool tells;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("gen-seccomp: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* Negative: this architecture does not have the call. */
static int call_number(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);

    if (number != __NR_SCMP_ERROR)
        return number;
    for (size_t i = 0; i < ARRAY_SIZE(newer_calls); i++)
        if (strcmp(name, newer_calls[i].name) == 0)
            return newer_calls[i].number;
    die("no system call is called `%s`", name);
}

/* Calls `use` for each name of the row. */
static void each_name(const struct row *row, void (*use)(const char *name, void *user), void *user)
{
    char name[64];
    const char *at = row->names;

    while (*at) {
        size_t len = strcspn(at, " ");

        if (len == 0 || len >= sizeof(name))
            die("bad list of names: `%s`", row->names);
        memcpy(name, at, len);
        name[len] = '\0';
        use(name, user);
        at += len;
        at += strspn(at, " ");
    }
}

struct numbering {
    const struct row *row;
    const struct row *owner[CALLS_MAX];
};

static void number_name(const char *name, void *user)
{
    struct numbering *numbering = user;
    int number = call_number(name);

    if (number < 0)
        return;
    if (number >= CALLS_MAX)
        die("`%s` has number %d", name, number);
    if (numbering->owner[number])
        die("`%s` has two rows", name);
    numbering->owner[number] = numbering->row;
}

static void number_rows(const struct filter *filter, struct numbering *ret)
{
    *ret = (struct numbering){0};
    for (size_t i = 0; i < filter->n_rows; i++) {
        ret->row = &filter->rows[i];
        each_name(ret->row, number_name, ret);
    }
    /* Of the first filter every call has to be thought about. */
    if (filter != filters)
        return;

    for (int number = 0; number < FIRST_UNKNOWN_CALL; number++) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

        if (name && !ret->owner[number])
            die("`%s` has no row", name);
        free(name);
    }
}

static struct decision decide(const struct filter *filter, const struct row *row, uint32_t number)
{
    struct decision decision = {.verdict = filter->otherwise};

    if (row) {
        decision.verdict = row->verdict;
        decision.row = row->when ? row : NULL;
    } else if (filter->otherwise == REFUSE && number >= FIRST_UNKNOWN_CALL) {
        decision.verdict = MISSING;
    }
    return decision;
}

/* Neighbours with the same decision become one range; the last one reaches to the end of all
 * numbers. */
static size_t make_ranges(const struct filter *filter, struct range ranges[CALLS_MAX])
{
    static struct numbering numbering;
    size_t count = 0;

    number_rows(filter, &numbering);
    for (uint32_t number = 0; number < CALLS_MAX; number++) {
        struct decision decision = decide(filter, numbering.owner[number], number);
        struct decision *last = count ? &ranges[count - 1].decision : NULL;

        if (last && last->verdict == decision.verdict && last->row == decision.row)
            continue;
        ranges[count++] = (struct range){number, decision};
    }
    return count;
}

static size_t emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
    if (p->len == PROGRAM_MAX)
        die("the program is too long");
    p->insns[p->len] = (struct sock_filter){code, jt, jf, k};
    return p->len++;
}

/* The number of instructions that the next one would have to jump over. */
static size_t distance(const struct program *p, size_t target)
{
    return p->len - target - 1;
}

/* A return that is near enough to jump to, with some room for what comes in between. */
static size_t emit_return(struct program *p, enum verdict verdict)
{
    static const uint32_t values[VERDICTS] = {
        [ALLOW] = SECCOMP_RET_ALLOW,
        [REFUSE] = SECCOMP_RET_ERRNO | EPERM,
        [MISSING] = SECCOMP_RET_ERRNO | ENOSYS,
        [IGNORE] = SECCOMP_RET_ERRNO | 0,
        [NOTIFY] = SECCOMP_RET_USER_NOTIF,
        [ABSENT] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
        [TELL] = SECCOMP_RET_ERRNO | EPERM,
        [TELL_MISSING] = SECCOMP_RET_ERRNO | ENOSYS,
        [KILL] = SECCOMP_RET_KILL_PROCESS,
    };
    bool is_reported = p->tells && (verdict == TELL || verdict == TELL_MISSING);
    size_t *latest = &p->returns[verdict];

    if (*latest == 0 || distance(p, *latest - 1) > UINT8_MAX - 16)
        *latest = emit(p, BPF_RET | BPF_K, values[is_reported ? NOTIFY : verdict], 0, 0) + 1;
    return *latest - 1;
}

/* Conditional jumps reach 255 instructions, others reach everything. */
static size_t within_reach(struct program *p, size_t target)
{
    if (distance(p, target) < UINT8_MAX)
        return target;
    return emit(p, BPF_JMP | BPF_JA, (uint32_t)distance(p, target), 0, 0);
}

static size_t emit_branch(struct program *p, uint16_t test, uint32_t k, size_t yes, size_t no)
{
    yes = within_reach(p, yes);
    no = within_reach(p, no);
    return emit(p, BPF_JMP | test | BPF_K, k, (uint8_t)distance(p, yes), (uint8_t)distance(p, no));
}

static size_t emit_load(struct program *p, size_t offset)
{
    return emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static size_t count_tests(const struct clause *clause)
{
    size_t count = 0;

    while (count < TESTS_MAX && clause->tests[count].mask)
        count++;
    return count;
}

static size_t count_clauses(const struct clause *clauses)
{
    size_t count = 0;

    while (count_tests(&clauses[count]))
        count++;
    return count;
}

/* The clause before this one has left the same masked argument in the accumulator, by whichever way
 * it failed. */
static bool is_loaded(const struct clause *clauses, size_t index)
{
    const struct test *now = &clauses[index].tests[0];
    const struct test *before = index ? &clauses[index - 1].tests[0] : NULL;

    return before && count_tests(&clauses[index - 1]) == 1 && before->arg == now->arg &&
           before->mask == now->mask;
}

static bool is_same_argument(const struct test *a, const struct test *b)
{
    return a->arg == b->arg && a->mask == b->mask;
}

/* Clauses of two tests that differ in the value of the second one share the first, and what is
 * loaded for the second: all levels and options of setsockopt(2) would be tested one by one.
 * Returns the first clause of those that end with `last`. */
static size_t find_group(const struct clause *clauses, size_t last)
{
    const struct test *first = clauses[last].tests;

    while (last && count_tests(&clauses[last]) == 2 && count_tests(&clauses[last - 1]) == 2 &&
           is_same_argument(&clauses[last - 1].tests[0], &first[0]) &&
           clauses[last - 1].tests[0].value == first[0].value &&
           is_same_argument(&clauses[last - 1].tests[1], &first[1]))
        last--;
    return last;
}

static size_t emit_argument(struct program *p, const struct test *test)
{
    if (test->mask != WORD)
        (void)emit(p, BPF_ALU | BPF_AND | BPF_K, test->mask, 0, 0);
    return emit_load(p, offsetof(struct seccomp_data, args) + sizeof(uint64_t) * test->arg);
}

static size_t emit_arguments(struct program *p, const struct row *row)
{
    size_t entry = emit_return(p, row->otherwise);

    for (size_t end = count_clauses(row->when), first; end > 0; end = first) {
        size_t fails = entry, tests = count_tests(&row->when[end - 1]);

        first = find_group(row->when, end - 1);
        for (size_t c = end; c-- > first;) {
            const struct clause *clause = &row->when[c];
            size_t holds = emit_return(p, clause->verdict ? clause->verdict : row->verdict);

            entry = emit_branch(p, BPF_JEQ, clause->tests[tests - 1].value, holds, entry);
        }
        for (size_t t = tests; t-- > 0;) {
            const struct test *test = &row->when[first].tests[t];

            if (t + 1 < tests)
                entry = emit_branch(p, BPF_JEQ, test->value, entry, fails);
            if (t > 0 || !is_loaded(row->when, first))
                entry = emit_argument(p, test);
        }
    }
    return entry;
}

/* The tests of a row are there once, however far apart its calls are. */
static size_t emit_row(struct program *p, const struct row *row)
{
    size_t at = 0;

    while (at < p->n_rows && p->rows[at].row != row)
        at++;
    if (at == ROWS_MAX)
        die("there are too many rows with tests");
    if (at == p->n_rows) {
        p->rows[at].row = row;
        p->rows[at].entry = emit_arguments(p, row);
        p->n_rows++;
    }
    return p->rows[at].entry;
}

/* The accumulator holds the call number. */
static size_t emit_tree(struct program *p, const struct range *ranges, size_t count)
{
    size_t middle = count / 2;
    size_t below, above;

    if (count == 1 && ranges->decision.row)
        return emit_row(p, ranges->decision.row);
    if (count == 1)
        return emit_return(p, ranges->decision.verdict);

    above = emit_tree(p, ranges + middle, count - middle);
    below = emit_tree(p, ranges, middle);
    return emit_branch(p, BPF_JGE, ranges[middle].first, above, below);
}

static void make_program(const struct filter *filter, struct program *p)
{
    static struct range ranges[CALLS_MAX];
    size_t count = make_ranges(filter, ranges);
    size_t entry;

    *p = (struct program){.tells = filter->tells};
    entry = emit_tree(p, ranges, count);
    /* x32 calls have the same architecture and a bit in the number. */
    if (seccomp_arch_native() == SCMP_ARCH_X86_64)
        entry = emit_branch(p, BPF_JSET, X32_BIT, emit_return(p, KILL), entry);
    else
        entry = emit_branch(p, BPF_JGE, 0, entry, entry);
    entry = emit_load(p, offsetof(struct seccomp_data, nr));
    (void)emit_branch(p, BPF_JEQ, seccomp_arch_native(), entry, emit_return(p, KILL));
    (void)emit_load(p, offsetof(struct seccomp_data, arch));
}

static void print_header(FILE *out)
{
    static struct program program;

    fputs("/* Generated by tools/gen-seccomp.c from tools/seccomp-table.h. */\n#pragma once\n\n"
          "#include <linux/filter.h>\n",
          out);
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        make_program(&filters[i], &program);
        fprintf(out, "\nstatic const struct sock_filter %s[] = {\n", filters[i].name);
        for (size_t n = program.len; n-- > 0;) {
            const struct sock_filter *insn = &program.insns[n];

            fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", insn->code, insn->jt, insn->jf,
                    insn->k);
        }
        fputs("};\n", out);
    }
}

/* --- the calls whose refusal is reported --- */

static bool is_reported(enum verdict verdict)
{
    return verdict == TELL || verdict == TELL_MISSING;
}

/* The answer to a reported refusal of this row; ALLOW: none is reported. */
static enum verdict reported_verdict(const struct row *row)
{
    enum verdict found = is_reported(row->verdict) ? row->verdict : ALLOW;

    if (!row->when)
        return found;
    if (found != ALLOW || !row->how != !is_reported(row->otherwise))
        die("`%s`: a reported refusal that depends on arguments is the row's last word, and has "
            "words",
            row->names);
    return is_reported(row->otherwise) ? row->otherwise : ALLOW;
}

struct telling {
    FILE *out;
    const struct row *row;
};

static void print_refused_name(const char *name, void *user)
{
    const struct telling *telling = user;
    const struct row *row = telling->row;

    if (call_number(name) >= 0)
        fprintf(telling->out, "    {%d, %d, \"%s\", \"%s\"},\n", call_number(name),
                reported_verdict(row) == TELL ? EPERM : ENOSYS, name, row->how ? row->how : "");
}

static void print_refused_calls(FILE *out)
{
    fputs("/* Generated by tools/gen-seccomp.c from tools/seccomp-table.h. */\n#pragma once\n\n"
          "static const struct {\n    int number;\n    int errnum;\n    const char *name;\n"
          "    const char *how;\n} refused_calls[] = {\n",
          out);
    for (size_t i = 0; i < ARRAY_SIZE(base_rows); i++)
        if (reported_verdict(&base_rows[i]) != ALLOW)
            each_name(&base_rows[i], print_refused_name, &(struct telling){out, &base_rows[i]});
    fputs("};\n", out);
}

/* --- documentation --- */

struct listing {
    FILE *out;
    bool has_one;
};

static void print_name(const char *name, void *user)
{
    struct listing *listing = user;

    fprintf(listing->out, "%s`%s`", listing->has_one ? ", " : "", name);
    listing->has_one = true;
}

static void print_row(FILE *out, const struct row *row)
{
    static const char *const words[VERDICTS] = {
        [ALLOW] = "allowed",
        [REFUSE] = "refused",
        [MISSING] = "`ENOSYS`",
        [IGNORE] = "ignored",
        [NOTIFY] = "the broker decides",
        [TELL] = "refused and named",
    };
    struct listing listing = {.out = out};

    fputs("| ", out);
    each_name(row, print_name, &listing);
    fprintf(out, " | %s%s%s%s | %s |\n", words[row->verdict], row->condition ? ": " : "",
            row->condition ? row->condition : "", is_reported(row->otherwise) ? " (*named*)" : "",
            row->reason);
}

static void print_markdown(FILE *out)
{
    fputs(
        "# System calls inside a sandbox\n\n"
        "<!-- Generated by `gen-seccomp --markdown` from tools/seccomp-table.h: edit that. -->\n\n"
        "The filter is an allow-list. What is refused fails with `EPERM`; the process goes on, "
        "because libraries\n"
        "probe. Calls newer than Linux 5.17 that have no row answer `ENOSYS`, so that libraries "
        "fall back to an\n"
        "older one. Calls through another architecture's entry (IA-32, x32) end the process. Where "
        "a rule depends on\n"
        "arguments, the other case gets the opposite answer. A filter cannot be taken off, only "
        "added to.\n\n"
        "*Refused and named*: the result of the run names the call under `denials`. The same holds "
        "for the refused case of\n"
        "rows marked *named*. Calls that libraries try in ordinary work are refused without a "
        "word. In a sandbox with a\n"
        "directory granted `:rw`, and where Belljar itself runs below a filter with a listener, "
        "nothing is named: Linux\n"
        "permits one listener per process.\n",
        out);
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        if (!filters[i].title)
            continue;
        fprintf(out, "\n## %s\n\n| calls | decision | because |\n|---|---|---|\n",
                filters[i].title);
        for (size_t n = 0; n < filters[i].n_rows; n++)
            print_row(out, &filters[i].rows[n]);
    }
}

static int check_markdown(const char *path)
{
    char *wanted = NULL, *found = NULL;
    size_t wanted_len = 0, size = 0;
    FILE *memory = open_memstream(&wanted, &wanted_len);
    FILE *file = fopen(path, "re");
    ssize_t len;
    bool is_same;

    if (!memory || !file)
        die("open `%s`: %s", path, strerror(errno));
    print_markdown(memory);
    fclose(memory);
    len = getdelim(&found, &size, '\0', file);
    fclose(file);
    is_same = len >= 0 && (size_t)len == wanted_len && memcmp(found, wanted, wanted_len) == 0;
    free(found);
    free(wanted);
    if (!is_same)
        die("`%s` is out of date: write it again with `gen-seccomp --markdown`", path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        print_header(stdout);
    else if (argc == 2 && strcmp(argv[1], "--refused") == 0)
        print_refused_calls(stdout);
    else if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        print_markdown(stdout);
    else if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check_markdown(argv[2]);
    else
        die("usage: gen-seccomp [--refused | --markdown | --check FILE]");
    return fflush(stdout) == 0 ? 0 : 1;
}
