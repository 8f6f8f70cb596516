/* deny-syscall RULE[,RULE...] -- COMMAND [ARGUMENT...]
 *
 * Runs a command for which some system calls fail: to take a layer away, and to inject faults.
 *
 *     NAME=ERRNO              fails always                          landlock_create_ruleset=ENOSYS
 *     NAME:ARG&BITS=ERRNO     fails when all these bits are set     unshare:0&0x10000000=EPERM
 *     NAME:ARG==VALUE=ERRNO   fails when the argument is this       prctl:0==38=EINVAL
 *
 * NAME may be a number, for calls that libseccomp does not know yet; ERRNO may be one too. Only the
 * low 32 bits of an argument count. The command and everything it starts are under these rules;
 * execve must stay possible.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <seccomp.h>

#define EXIT_USAGE 125

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("deny-syscall: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_USAGE);
}

static unsigned long parse_number(const char *text, char **end)
{
    errno = 0;
    return strtoul(text, end, 0);
}

static int parse_errno(const char *text)
{
    char *end;
    unsigned long number = parse_number(text, &end);

    if (end != text && !*end && number < 4096)
        return (int)number;
    for (int n = 1; n < 256; n++) {
        const char *name = strerrorname_np(n);

        if (name && strcmp(name, text) == 0)
            return n;
    }
    die("`%s` is no errno", text);
}

static int parse_call(const char *text)
{
    char *end;
    unsigned long number = parse_number(text, &end);
    int call;

    if (end != text && !*end)
        return (int)number;
    call = seccomp_syscall_resolve_name(text);
    if (call == __NR_SCMP_ERROR)
        die("`%s` is no system call", text);
    return call;
}

/* "0&0x10000000" or "0==38" */
static struct scmp_arg_cmp parse_test(const char *text)
{
    struct scmp_arg_cmp test = {.op = SCMP_CMP_MASKED_EQ};
    char *end;

    test.arg = (unsigned)parse_number(text, &end);
    if (end == text || test.arg > 5)
        die("`%s` does not begin with the number of an argument", text);
    if (*end == '&') {
        text = end + 1;
        test.datum_a = test.datum_b = parse_number(text, &end) & 0xffffffff;
    } else if (end[0] == '=' && end[1] == '=') {
        text = end + 2;
        test.datum_a = 0xffffffff;
        test.datum_b = parse_number(text, &end) & 0xffffffff;
    } else {
        die("expected `&` or `==` in `%s`", text);
    }
    if (end == text || *end)
        die("expected a number, got `%s`", text);
    return test;
}

static void add_rule(scmp_filter_ctx filter, char *rule)
{
    char *value = strrchr(rule, '=');
    char *test = strchr(rule, ':');
    struct scmp_arg_cmp tests[1];
    int call, r;

    if (!value)
        die("`%s` has no `=ERRNO`", rule);
    *value++ = '\0';
    if (test) {
        *test++ = '\0';
        tests[0] = parse_test(test);
    }
    call = parse_call(rule);
    r = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((unsigned)parse_errno(value)), call,
                               test ? 1 : 0, tests);
    if (r < 0)
        die("rule for `%s`: %s", rule, strerror(-r));
}

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    char *rules, *rule;
    int r;

    if (argc < 4 || strcmp(argv[2], "--") != 0)
        die("usage: deny-syscall NAME[:ARG&BITS|:ARG==VALUE]=ERRNO[,...] -- COMMAND [ARGUMENT...]");
    if (!filter)
        die("out of memory");
    (void)seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
    rules = argv[1];
    while ((rule = strsep(&rules, ",")))
        add_rule(filter, rule);

    /* Root needs no no_new_privs, and the command should not find it set when nobody asked for it.
     */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
    r = seccomp_load(filter);
    if (r == -EACCES || r == -EPERM ||
        r == -ECANCELED) { /* libseccomp's word for the kernel's no */
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1);
        r = seccomp_load(filter);
    }
    if (r < 0)
        die("load the filter: %s", strerror(-r));
    seccomp_release(filter);

    execvp(argv[3], argv + 3);
    fprintf(stderr, "deny-syscall: run `%s`: %s\n", argv[3], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
