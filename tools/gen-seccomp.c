/* Turns tools/seccomp-table.h into classic BPF programs and into documentation, at build time.
 *
 *     gen-seccomp                  the filters as a C header
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
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <seccomp.h>

#include "seccomp-table.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CALLS_MAX     1024
#define PROGRAM_MAX   4096 /* BPF_MAXINSNS */
#define X32_BIT       UINT32_C(0x40000000)

struct filter {
    const char *name;
    const char *title;
    const struct row *rows;
    size_t n_rows;
    enum verdict otherwise; /* a call without a row */
};

static const struct filter filters[] = {
    {"seccomp_base",     "Every sandbox",                          base_rows,     ARRAY_SIZE(base_rows),     REFUSE},
    {"seccomp_no_exec",  "Profiles without new processes, on top", no_exec_rows,
     ARRAY_SIZE(no_exec_rows),                                                                               ALLOW },
    {"seccomp_no_memfd", "Hosts without cgroups, on top",          no_memfd_rows, ARRAY_SIZE(no_memfd_rows),
     ALLOW                                                                                                         },
};

/* What happens to one call number. */
struct decision {
    enum verdict verdict;
    const struct row *row; /* set when it depends on arguments */
};

struct range {
    uint32_t first;
    struct decision decision;
};

struct program {
    struct sock_filter insns[PROGRAM_MAX];
    size_t len;
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
    if (filter->otherwise != REFUSE)
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

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
    if (p->len == PROGRAM_MAX)
        die("the program is too long");
    p->insns[p->len++] = (struct sock_filter){code, jt, jf, k};
}

static void emit_return(struct program *p, enum verdict verdict)
{
    static const uint32_t values[] = {
        [ALLOW] = SECCOMP_RET_ALLOW,
        [REFUSE] = SECCOMP_RET_ERRNO | EPERM,
        [MISSING] = SECCOMP_RET_ERRNO | ENOSYS,
    };

    emit(p, BPF_RET | BPF_K, values[verdict], 0, 0);
}

static size_t count_clauses(const struct clause *clauses)
{
    size_t count = 0;

    while (clauses[count].tests[0].mask)
        if (++count > CLAUSES_MAX)
            die("too many clauses");
    return count;
}

/* Where a comparison goes is known only when everything behind it is laid out. */
struct jump {
    size_t at;
    bool is_last;  /* of its clause: holding means the verdict */
    size_t clause; /* failing means the one after this */
};

static uint8_t distance(size_t from, size_t to)
{
    if (to - from - 1 > UINT8_MAX)
        die("a jump is too long");
    return (uint8_t)(to - from - 1);
}

static void emit_arguments(struct program *p, const struct row *row)
{
    size_t count = count_clauses(row->when);
    struct jump jumps[CLAUSES_MAX * TESTS_MAX];
    size_t starts[CLAUSES_MAX + 1];
    size_t n_jumps = 0;
    struct test held = {0}; /* what the accumulator has when the clause begins */

    for (size_t c = 0; c < count; c++) {
        const struct test *tests = row->when[c].tests;

        starts[c] = p->len;
        for (size_t t = 0; t < TESTS_MAX && tests[t].mask; t++) {
            bool is_last = t + 1 == TESTS_MAX || !tests[t + 1].mask;

            if (t > 0 || held.mask != tests[t].mask || held.arg != tests[t].arg) {
                emit(p, BPF_LD | BPF_W | BPF_ABS,
                     (uint32_t)(offsetof(struct seccomp_data, args) + 8 * tests[t].arg), 0, 0);
                if (tests[t].mask != WORD)
                    emit(p, BPF_ALU | BPF_AND | BPF_K, tests[t].mask, 0, 0);
            }
            jumps[n_jumps++] = (struct jump){p->len, is_last, c};
            emit(p, BPF_JMP | BPF_JEQ | BPF_K, tests[t].value, 0, 0);
            /* A later clause may be reached from any test of this one. */
            held = is_last && t == 0 ? tests[t] : (struct test){0};
        }
    }
    starts[count] = p->len;
    emit_return(p, row->otherwise);
    emit_return(p, row->verdict);

    for (size_t i = 0; i < n_jumps; i++) {
        const struct jump *j = &jumps[i];

        p->insns[j->at].jt = j->is_last ? distance(j->at, p->len - 1) : 0;
        p->insns[j->at].jf = distance(j->at, starts[j->clause + 1]);
    }
}

/* The accumulator holds the call number. */
static void emit_tree(struct program *p, const struct range *ranges, size_t count)
{
    size_t middle = count / 2;
    size_t jump, left;

    if (count == 1) {
        if (ranges->decision.row)
            emit_arguments(p, ranges->decision.row);
        else
            emit_return(p, ranges->decision.verdict);
        return;
    }

    jump = p->len;
    emit(p, BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first, 0, 1);
    emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
    left = p->len;
    emit_tree(p, ranges, middle);
    if (p->len - left <= UINT8_MAX) {
        /* Near enough for the comparison itself: take the long jump out again. */
        memmove(&p->insns[left - 1], &p->insns[left], (p->len - left) * sizeof(p->insns[0]));
        p->len--;
        p->insns[jump].jt = (uint8_t)(p->len - left + 1);
        p->insns[jump].jf = 0;
    } else {
        p->insns[jump + 1].k = (uint32_t)(p->len - left);
    }
    emit_tree(p, ranges + middle, count - middle);
}

static void make_program(const struct filter *filter, struct program *p)
{
    static struct range ranges[CALLS_MAX];
    size_t count = make_ranges(filter, ranges);

    p->len = 0;
    emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0);
    emit(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    if (seccomp_arch_native() == SCMP_ARCH_X86_64) {
        emit(p, BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1);
        emit(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    }
    emit_tree(p, ranges, count);
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
        for (size_t n = 0; n < program.len; n++) {
            const struct sock_filter *insn = &program.insns[n];

            fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", insn->code, insn->jt, insn->jf,
                    insn->k);
        }
        fputs("};\n", out);
    }
}

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
    static const char *const words[] = {
        [ALLOW] = "allowed",
        [REFUSE] = "refused",
        [MISSING] = "`ENOSYS`",
    };
    struct listing listing = {.out = out};

    fputs("| ", out);
    each_name(row, print_name, &listing);
    fprintf(out, " | %s%s%s | %s |\n", words[row->verdict], row->condition ? ": " : "",
            row->condition ? row->condition : "", row->reason);
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
        "added to.\n",
        out);
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
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
    else if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        print_markdown(stdout);
    else if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check_markdown(argv[2]);
    else
        die("usage: gen-seccomp [--markdown | --check FILE]");
    return fflush(stdout) == 0 ? 0 : 1;
}
