#include "guest/memory_holder.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/seccomp.h"

/* Looks for its end, tens of microseconds apart; where even that does not help, we go on. */
#define END_TIMES 10000

static const struct timespec short_while = {.tv_nsec = 20000};

enum { HOLDER_STARTING, HOLDER_SEALED, HOLDER_FAILED };

/* By the kernel's clock: in a run with a seed the C library's goes on by sleeping (guest/steady/),
 * and how long we wait here is chance. */
static void wait_a_while(void)
{
    (void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &short_while, NULL);
}

static char stack[8192] __attribute__((aligned(16)));
static atomic_int state;

/* Shares everything with the interpreter, its thread block included, and runs beside it: it must
 * touch nothing but its stack and the state. The filter comes before the program does: who can
 * write to this memory can make this process do anything the filter still allows, and it is not in
 * the thread group to which later filters apply. */
static int __attribute__((noreturn)) hold(void *unused)
{
    (void)unused;
    if (close_range(0, ~0U, 0) < 0 || seccomp_load(SECCOMP_HOLD, NULL) < 0) {
        atomic_store(&state, HOLDER_FAILED);
        _exit(1);
    }
    atomic_store(&state, HOLDER_SEALED);
    /* Not pause(3), which looks into the thread block for a cancellation (glibc 2.41). */
    for (;;)
        (void)syscall(SYS_pause);
}

pid_t memory_holder_start(void)
{
    sigset_t all, before;
    pid_t pid;

    atomic_store(&state, HOLDER_STARTING);
    (void)sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, &before) < 0)
        return -1;
    pid = clone(hold, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid > 0 ? pid : -1;
}

void memory_holder_await(pid_t holder)
{
    while (holder > 0 && atomic_load(&state) == HOLDER_STARTING && kill(holder, 0) == 0)
        wait_a_while();
}

void memory_holder_end(pid_t holder)
{
    if (holder <= 0)
        return;
    (void)kill(holder, SIGKILL);
    for (int i = 0; i < END_TIMES && kill(holder, 0) == 0; i++)
        wait_a_while();
}
