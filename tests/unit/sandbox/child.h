/* Layers cannot be taken off again, so each is put on in a child that tells what it saw by its exit
 * code. */
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* 200 and more: the child itself got into trouble, at this line of its preparation. */
#define CHILD_BROKEN 200

/* Leaves the child when a step of its preparation fails. */
#define child_need(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "# line %d: %s: %s\n", __LINE__, #condition, strerror(errno));              \
            _exit(CHILD_BROKEN);                                                                   \
        }                                                                                          \
    } while (0)

/* Exit code of `body` in a child, or -n when signal n ended it. */
static inline int in_child(int (*body)(const void *user), const void *user)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        /* A test that ends by a signal is no reason for a core file. */
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        _exit(body(user));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        return -WTERMSIG(status);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), CHILD_BROKEN);
    return WEXITSTATUS(status);
}

/* From now on this call fails with `error` in the calling process. */
static inline void deny_call(unsigned number, unsigned error)
{
    struct sock_filter insns[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(insns) / sizeof(insns[0]), insns};

    child_need(geteuid() == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

/* An ordinary user, whoever started the test. */
static inline void become_nobody(void)
{
    if (geteuid() != 0)
        return;
    child_need(syscall(SYS_setgroups, 0, NULL) == 0);
    child_need(syscall(SYS_setresgid, 65534, 65534, 65534) == 0);
    child_need(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
}
