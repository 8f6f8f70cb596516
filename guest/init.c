#include "guest/init.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/frame.h"
#include "wire/message.h"

static uint64_t microseconds(const struct timeval *tv)
{
    return (uint64_t)tv->tv_sec * 1000000u + (uint64_t)tv->tv_usec;
}

static void report_exit(int control, int status, const struct rusage *usage)
{
    struct pack p;

    pack_init(&p, 64);
    wire_pack_exited(&p,
                     &(struct wire_exited){
                         .status = (uint32_t)status,
                         .cpu_us = microseconds(&usage->ru_utime) + microseconds(&usage->ru_stime),
                         .max_rss_kb = (uint64_t)usage->ru_maxrss,
                     });
    if (frame_send(control, WIRE_EXITED, &p, NULL, 0) < 0)
        _exit(1);
    pack_done(&p);
}

void init_main(int control, pid_t kernel)
{
    struct pollfd end = {.fd = control};

    for (;;) {
        struct rusage usage;
        int status;
        pid_t pid = wait4(-1, &status, 0, &usage);

        if (pid == kernel)
            report_exit(control, status, &usage);
        if (pid < 0 && errno == ECHILD)
            break;
    }
    /* Nothing is left to wait for but the supervisor, who ends us by closing this. */
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    _exit(0);
}
