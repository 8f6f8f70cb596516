#include "sandbox/seccomp.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "child.h"
#include "sandbox/seccomp_refusal.h"
#include "wire/fds.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BAD           ((long)1) /* no address a process has */
#define UPPER         (1L << 32)

/* Numbers that Debian 12's headers do not have. */
#define NR_cachestat        451
#define NR_fchmodat2        452
#define NR_mseal            462
#define NR_the_last_x32     547
#define NR_of_nothing       1000
#define NR_memfd_secret     447
#define NR_process_mrelease 448
#define NR_quotactl_fd      443
#define NR_set_mempolicy_hn 450

/* --- one call, with and without the filter --- */

struct call {
    const char *name;
    long number;
    long args[6];
    bool needs_root; /* only root gets past the kernel's own EPERM, so that the filter's can be told
                        apart */
};

static long run_call(const struct call *call)
{
    const long *a = call->args;

    return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
}

/* Nobody's terminal, parent or output is in reach of what the calls do. */
static void step_aside(void)
{
    (void)setsid();
    (void)signal(SIGPIPE, SIG_IGN);
}

static int call_plainly(const void *user)
{
    step_aside();
    return (int)run_call(user);
}

static void load(enum seccomp_filter filter)
{
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(seccomp_load(filter, NULL) == 0);
}

static int call_filtered(const void *user)
{
    step_aside();
    load(SECCOMP_BASE);
    return (int)run_call(user);
}

static void assert_refused(const struct call *call, int expected)
{
    int plain = in_child(call_plainly, call);
    int filtered = in_child(call_filtered, call);

    if (filtered != expected)
        fail_msg("%s: %d (%s) instead of %d", call->name, filtered, strerror(filtered), expected);
    if (plain == expected && plain == ENOSYS)
        print_message("# %s: this kernel does not have the call\n", call->name);
    else if (plain == expected && call->needs_root && geteuid() != 0)
        print_message("# %s: only root sees the filter and not a missing capability\n", call->name);
    else if (plain == expected)
        fail_msg("%s: %d (%s) without the filter too: the call does not show it", call->name, plain,
                 strerror(plain));
}

/* clang-format off */
#define CALL(name, ...)      {#name, SYS_##name, {__VA_ARGS__}, false}
#define ROOT(name, ...)      {#name, SYS_##name, {__VA_ARGS__}, true}
#define NUMBER(name, ...)    {#name, NR_##name, {__VA_ARGS__}, false}

/* Each with arguments for which the kernel has another answer than EPERM. */
static const struct call refused[] = {
    CALL(keyctl, 0, -3, 0), CALL(add_key, BAD), CALL(request_key, BAD),
    CALL(bpf, 0xffff, 0, 0), CALL(perf_event_open, BAD), CALL(userfaultfd, 1),
    CALL(io_uring_setup, 1, BAD), CALL(io_uring_enter, -1), CALL(io_uring_register, -1),
    ROOT(fanotify_init, -1), CALL(fanotify_mark, -1, -1), NUMBER(memfd_secret, -1),
    CALL(io_setup, 0, BAD), CALL(io_submit, 0, 0, 0), CALL(io_getevents, 0, 0, 0, 0, 0), CALL(io_destroy, 0),
    CALL(io_cancel, 0, BAD, BAD), CALL(io_pgetevents, 0, 0, 0, 0, 0, 0),
    ROOT(kexec_load, 0, 0, 0, 0xff00), ROOT(kexec_file_load, -1, -1, 0, 0, 0xff00),
    ROOT(init_module, BAD, 0, BAD), ROOT(finit_module, -1, BAD, -1), ROOT(delete_module, BAD, 0),
    CALL(create_module, BAD), CALL(get_kernel_syms, BAD), CALL(query_module, BAD), ROOT(reboot, 0, 0, 0, 0),
    CALL(mount, BAD, BAD, BAD, 0, 0), CALL(umount2, BAD, 0), ROOT(pivot_root, BAD, BAD), CALL(chroot, BAD),
    ROOT(fsopen, BAD, 0), CALL(fsconfig, -1), ROOT(fsmount, -1, 0, 0), ROOT(fspick, -1, BAD, 0),
    CALL(open_tree, -1, BAD, 0), ROOT(move_mount, -1, BAD, -1, BAD, 0), CALL(mount_setattr, -1, BAD, 0, BAD, 0),
    ROOT(swapon, BAD, 0), ROOT(swapoff, BAD),
    CALL(setns, -1, 0), ROOT(setgroups, 0, 0),
    {"unshare of a user namespace", SYS_unshare, {CLONE_NEWUSER}, false},
    {"unshare of a mount namespace", SYS_unshare, {CLONE_NEWNS}, true},
    {"unshare of a pid namespace", SYS_unshare, {CLONE_NEWPID}, true},
    {"unshare of a network namespace", SYS_unshare, {CLONE_NEWNET}, true},
    {"unshare of an ipc namespace", SYS_unshare, {CLONE_NEWIPC}, true},
    {"unshare of a uts namespace", SYS_unshare, {CLONE_NEWUTS}, true},
    {"unshare of a cgroup namespace", SYS_unshare, {CLONE_NEWCGROUP}, true},
    {"unshare of a time namespace", SYS_unshare, {CLONE_NEWTIME}, true},
    {"unshare with more", SYS_unshare, {CLONE_NEWUSER | CLONE_FS | UPPER}, false},
    CALL(ptrace, 0, 0, 0, 0), CALL(process_vm_readv, 0, BAD, 0, BAD, 0, 0),
    CALL(process_vm_writev, 0, BAD, 0, BAD, 0, 0), CALL(pidfd_getfd, -1, 0, 0), CALL(process_madvise, -1, 0, 0, 0, 0),
    NUMBER(process_mrelease, -1, 0), CALL(kcmp, 0, 0, 0, 0, 0),
    CALL(name_to_handle_at, AT_FDCWD, BAD, BAD, BAD, 0), ROOT(open_by_handle_at, -1, BAD, 0),
    ROOT(acct, BAD), CALL(quotactl, -1, 0, 0, 0), NUMBER(quotactl_fd, -1, 0, 0, 0), ROOT(syslog, 10, 0, 0),
    ROOT(settimeofday, 0, 0), CALL(clock_settime, 0, BAD), CALL(clock_adjtime, 0, BAD), CALL(adjtimex, BAD),
    ROOT(sethostname, BAD, 5), ROOT(setdomainname, BAD, 5),
    CALL(iopl, 0), CALL(ioperm, 0, 1, 0), CALL(modify_ldt, 0, BAD, 0), ROOT(vhangup, 0),
    ROOT(lookup_dcookie, 0, BAD, 0), CALL(nfsservctl, 0), CALL(uselib, BAD), CALL(ustat, 0, BAD), CALL(sysfs, 3),
    CALL(_sysctl, BAD), CALL(remap_file_pages, 0, 0, 1, 0, 0),
    CALL(mbind, 0, 0, 0, 0, 0, 0), CALL(move_pages, 0, 0, 0, 0, 0, 0), CALL(migrate_pages, 0, 0, 0, 0),
    CALL(set_mempolicy, 0, 0, 0), NUMBER(set_mempolicy_hn, BAD, 0, 0, 0),
    {"seccomp with a listener", SYS_seccomp, {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, BAD}, false},
    {"seccomp without guards", SYS_seccomp, {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, BAD}, false},
    {"seccomp that asks", SYS_seccomp, {SECCOMP_GET_ACTION_AVAIL, 0, BAD}, false}, CALL(sync, 0), CALL(syncfs, -1),
    {"personality without random addresses", SYS_personality, {0x0040000}, false},
    {"personality that reads as executable", SYS_personality, {0x0400000 | UPPER}, false},

    {"ioctl TIOCSTI", SYS_ioctl, {-1, TIOCSTI}, false},
    {"ioctl TIOCSTI with upper bits", SYS_ioctl, {-1, TIOCSTI | UPPER}, false},
    {"ioctl TIOCLINUX", SYS_ioctl, {-1, TIOCLINUX}, false},
    {"ioctl TIOCLINUX with upper bits", SYS_ioctl, {-1, TIOCLINUX | (UPPER << 31)}, false},
    {"ioctl TIOCSETD", SYS_ioctl, {-1, TIOCSETD}, false},

    {"ioctl FIOASYNC", SYS_ioctl, {-1, FIOASYNC}, false},
    {"ioctl FICLONE", SYS_ioctl, {-1, 0x40049409}, false},
    {"ioctl FS_IOC_SETFLAGS", SYS_ioctl, {-1, 0x40086602}, false},
    {"ioctl NS_GET_PARENT", SYS_ioctl, {-1, 0xb702}, false},
    {"ioctl TCGETS's neighbour", SYS_ioctl, {-1, TCGETS - 1}, false},
    {"ioctl SIOCSIFFLAGS", SYS_ioctl, {-1, 0x8914}, false},

    {"fcntl F_SETLEASE", SYS_fcntl, {-1, F_SETLEASE, F_WRLCK}, false},
    {"fcntl F_SETLEASE with upper bits", SYS_fcntl, {-1, F_SETLEASE | UPPER, F_RDLCK}, false},
    {"fcntl F_GETLEASE", SYS_fcntl, {-1, F_GETLEASE}, false},
    {"fcntl F_NOTIFY", SYS_fcntl, {-1, F_NOTIFY, DN_MODIFY}, false},
    {"fcntl F_SETOWN", SYS_fcntl, {-1, F_SETOWN, 0}, false},
    {"fcntl F_SETSIG", SYS_fcntl, {-1, F_SETSIG, 0}, false},
    {"fcntl F_SETOWN_EX", SYS_fcntl, {-1, F_SETOWN_EX, BAD}, false},
    {"fcntl of nothing", SYS_fcntl, {-1, 12345, 0}, false},
    CALL(tee, -1, -1, 1, 0), CALL(vmsplice, -1, BAD, 1, 0), CALL(get_robust_list, -1, BAD, BAD),

    {"mmap of huge pages", SYS_mmap, {0, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0}, false},
    {"mmap that grows", SYS_mmap, {0, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0}, false},
    {"memfd_create of huge pages", SYS_memfd_create, {BAD, MFD_HUGETLB}, false},
    {"shmget of huge pages", SYS_shmget, {0, 0, SHM_HUGETLB | 0600}, false},
    {"madvise MADV_MERGEABLE", SYS_madvise, {1, 4096, MADV_MERGEABLE}, false},
    {"timer_create on CPU time", SYS_timer_create, {CLOCK_PROCESS_CPUTIME_ID, 0, BAD}, false},
    {"timer_create on CPU time of a thread", SYS_timer_create, {CLOCK_THREAD_CPUTIME_ID, 0, BAD}, false},
    {"timer_create on CPU time of another", SYS_timer_create, {-6, 0, BAD}, false},

    {"prctl PR_SET_SECCOMP", SYS_prctl, {PR_SET_SECCOMP, 0}, false},
    {"prctl PR_SET_MM", SYS_prctl, {PR_SET_MM, -1, -1, -1, -1}, true},
    {"prctl PR_SET_PTRACER", SYS_prctl, {PR_SET_PTRACER, 0}, false},
    {"prctl PR_SET_SECUREBITS", SYS_prctl, {PR_SET_SECUREBITS, 0}, true},
    {"prctl PR_SET_KEEPCAPS", SYS_prctl, {PR_SET_KEEPCAPS, 0}, false},
    {"prctl PR_CAP_AMBIENT raise", SYS_prctl, {PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL}, false},
    {"prctl PR_SET_NAME's neighbour", SYS_prctl, {PR_SET_NAME - 1, 0}, false},

    {"socket netlink", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, false},
    {"socket vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, false},
    {"socket alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, false},
    {"socket packet", SYS_socket, {AF_PACKET, SOCK_DGRAM, 0}, true},
    {"socket bluetooth", SYS_socket, {AF_BLUETOOTH, SOCK_STREAM, 0}, false},
    {"socket can", SYS_socket, {AF_CAN, SOCK_DGRAM, 0}, false},
    {"socket with no family", SYS_socket, {0, SOCK_STREAM, 0}, false},
    {"socket raw", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_UDP}, true},
    {"socket raw, hidden by flags", SYS_socket, {AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP}, true},
    {"socket raw, hidden by upper bits", SYS_socket, {AF_INET | UPPER, SOCK_RAW | UPPER, IPPROTO_UDP}, true},
    {"socket SOCK_PACKET", SYS_socket, {AF_INET, SOCK_PACKET, 0}, true},
    {"socket sctp", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, false},
    {"socket mptcp", SYS_socket, {AF_INET, SOCK_STREAM, 262}, false},
    {"socket ping", SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, false},
    {"socket udp-lite", SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE}, false},
    {"socket unix raw", SYS_socket, {AF_UNIX, SOCK_RAW, 0}, false},
    {"socketpair not unix", SYS_socketpair, {AF_INET, SOCK_STREAM, 0, BAD}, false},
    {"socketpair tipc", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0, BAD}, false},
    {"socketpair raw", SYS_socketpair, {AF_UNIX, SOCK_RAW, 0, BAD}, false},
    {"send out of band", SYS_sendto, {-1, BAD, 1, MSG_OOB, 0, 0}, false},
    {"send out of band and more", SYS_sendmsg, {-1, BAD, MSG_OOB | MSG_DONTWAIT}, false},
    {"send many out of band", SYS_sendmmsg, {-1, BAD, 1, MSG_OOB}, false},
    {"receive out of band", SYS_recvfrom, {-1, BAD, 1, MSG_OOB | MSG_PEEK, 0, 0}, false},
    {"receive a message out of band", SYS_recvmsg, {-1, BAD, MSG_OOB}, false},
    {"receive many out of band", SYS_recvmmsg, {-1, BAD, 1, MSG_OOB, 0}, false},
    {"send without copying", SYS_sendto, {-1, BAD, 1, MSG_ZEROCOPY, 0, 0}, false},
    {"setsockopt SO_ATTACH_FILTER", SYS_setsockopt, {-1, SOL_SOCKET, SO_ATTACH_FILTER, BAD, 16}, false},
    {"setsockopt SO_ATTACH_BPF", SYS_setsockopt, {-1, SOL_SOCKET, SO_ATTACH_BPF, BAD, 4}, false},
    {"setsockopt SO_ZEROCOPY", SYS_setsockopt, {-1, SOL_SOCKET, SO_ZEROCOPY, BAD, 4}, false},
    {"setsockopt TCP_ULP", SYS_setsockopt, {-1, IPPROTO_TCP, TCP_ULP, BAD, 3}, false},
    {"setsockopt TCP_REPAIR", SYS_setsockopt, {-1, IPPROTO_TCP, TCP_REPAIR, BAD, 4}, false},
    {"setsockopt UDP_ENCAP", SYS_setsockopt, {-1, IPPROTO_UDP, 100, BAD, 4}, false},
    {"setsockopt IP_ADD_MEMBERSHIP", SYS_setsockopt, {-1, IPPROTO_IP, IP_ADD_MEMBERSHIP, BAD, 8}, false},
    {"setsockopt IPT_SO_SET_REPLACE", SYS_setsockopt, {-1, IPPROTO_IP, 64, BAD, 8}, false},
    {"setsockopt SO_KEEPALIVE of IP", SYS_setsockopt, {-1, IPPROTO_IP, SO_KEEPALIVE, BAD, 4}, false},
    {"setsockopt TCP_FASTOPEN of sockets", SYS_setsockopt, {-1, SOL_SOCKET, TCP_FASTOPEN, BAD, 4}, false},
    {"setsockopt IP_MULTICAST_TTL of TCP", SYS_setsockopt, {-1, IPPROTO_TCP, IP_MULTICAST_TTL, BAD, 4}, false},
    {"setsockopt TCP_MAXSEG of IPv6", SYS_setsockopt, {-1, IPPROTO_IPV6, TCP_MAXSEG, BAD, 4}, false},
    {"setsockopt of TLS", SYS_setsockopt, {-1, 282, 1, BAD, 8}, false},
    {"setsockopt of ALG", SYS_setsockopt, {-1, 279, 1, BAD, 8}, false},
    {"getsockopt TCP_ZEROCOPY_RECEIVE", SYS_getsockopt, {-1, IPPROTO_TCP, 35, BAD, BAD}, false},
    CALL(msgget, 0, 0600), CALL(msgsnd, -1, BAD, 1, 0), CALL(msgrcv, -1, BAD, 1, 0, 0), CALL(msgctl, -1, 0, 0),
    CALL(mq_open, BAD, 0), CALL(mq_unlink, BAD), CALL(mq_timedsend, -1, BAD, 0, 0, 0), CALL(mq_notify, -1, 0),
    CALL(mq_timedreceive, -1, BAD, 0, 0, 0), CALL(mq_getsetattr, -1, 0, 0),

    {"chmod setuid", SYS_chmod, {BAD, S_ISUID | 0755}, false},
    {"chmod setgid", SYS_chmod, {BAD, S_ISGID | 0755}, false},
    {"fchmod setuid", SYS_fchmod, {-1, S_ISUID | 0755}, false},
    {"fchmodat setuid", SYS_fchmodat, {AT_FDCWD, BAD, S_ISUID | 0755}, false},
    {"fchmodat2 setuid", NR_fchmodat2, {AT_FDCWD, BAD, S_ISGID | 0755, 0}, false},
    {"creat setuid", SYS_creat, {BAD, S_ISUID | 0755}, false},
    {"open that makes a setuid file", SYS_open, {BAD, O_CREAT | O_WRONLY, S_ISUID | 0755}, false},
    {"openat that makes a setgid file", SYS_openat, {AT_FDCWD, BAD, O_CREAT | O_WRONLY, S_ISGID | 0755}, false},
    {"openat that makes a nameless setuid file", SYS_openat, {AT_FDCWD, BAD, O_TMPFILE | O_RDWR, S_ISUID}, false},
    {"mknod of a device", SYS_mknod, {BAD, S_IFCHR | 0666, 0x0103}, true},
    {"mknod of a disk", SYS_mknod, {BAD, S_IFBLK | 0666, 0x0800}, true},
    {"mknod setuid", SYS_mknod, {BAD, S_IFREG | S_ISUID | 0755, 0}, false},
    {"mknodat of a device", SYS_mknodat, {AT_FDCWD, BAD, S_IFCHR | 0666, 0x0103}, true},
    {"mknodat setgid", SYS_mknodat, {AT_FDCWD, BAD, S_IFIFO | S_ISGID, 0}, false},

    {"sched_setscheduler fifo", SYS_sched_setscheduler, {0, SCHED_FIFO, BAD}, false},
    {"sched_setscheduler rr, reset on fork", SYS_sched_setscheduler, {0, SCHED_RR | SCHED_RESET_ON_FORK, BAD}, false},
    CALL(sched_setattr, 0, BAD, 0),
    {"prlimit64 of another", SYS_prlimit64, {1, 7, 0, BAD}, true},
};

static const struct call missing[] = {
    CALL(clone3, BAD, 88), CALL(openat2, AT_FDCWD, BAD, BAD, 24),
    NUMBER(cachestat, -1, BAD, BAD, 0), NUMBER(mseal, 0, 0, 1),
    {"futex FUTEX_LOCK_PI", SYS_futex, {BAD, FUTEX_LOCK_PI, 0, 0, 0, 0}, false},
    {"futex FUTEX_LOCK_PI, private", SYS_futex, {BAD, FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0}, false},
    {"futex FUTEX_LOCK_PI, with upper bits", SYS_futex, {BAD, FUTEX_LOCK_PI | UPPER, 0, 0, 0, 0}, false},
    {"futex FUTEX_LOCK_PI2", SYS_futex, {BAD, FUTEX_LOCK_PI2, 0, 0, 0, 0}, false},
    {"futex FUTEX_LOCK_PI2 by the clock", SYS_futex, {BAD, FUTEX_LOCK_PI2 | FUTEX_CLOCK_REALTIME, 0, 0, 0, 0}, false},
    {"futex FUTEX_TRYLOCK_PI", SYS_futex, {BAD, FUTEX_TRYLOCK_PI_PRIVATE, 0, 0, 0, 0}, false},
    {"futex FUTEX_UNLOCK_PI", SYS_futex, {BAD, FUTEX_UNLOCK_PI, 0, 0, 0, 0}, false},
    {"futex FUTEX_CMP_REQUEUE_PI", SYS_futex, {BAD, FUTEX_CMP_REQUEUE_PI, 1, 0, BAD, 0}, false},
    {"futex FUTEX_WAIT_REQUEUE_PI", SYS_futex,
     {BAD, FUTEX_WAIT_REQUEUE_PI | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0, 0, BAD, 0}, false},
    CALL(splice, -1, 0, -1, 0, 0, 0),
    {"futex_waitv", SYS_futex_waitv, {BAD, 0, 1, 0, 0}, false},
};

/* The kernel's answer must come through, whatever it is, as long as it is not the filter's. */
static const struct call allowed[] = {
    CALL(open, BAD, O_RDONLY, S_ISUID), CALL(open, BAD, O_CREAT | O_WRONLY, 0644),
    CALL(openat, AT_FDCWD, BAD, O_RDONLY | O_DIRECTORY, S_ISUID), CALL(openat, AT_FDCWD, BAD, O_TMPFILE | O_RDWR, 0600),
    CALL(chmod, BAD, 01777), CALL(fchmodat, AT_FDCWD, BAD, 0755), NUMBER(fchmodat2, AT_FDCWD, BAD, 0755, 0),
    CALL(creat, BAD, 0644), CALL(mknod, BAD, S_IFIFO | 0600, 0), CALL(mknod, BAD, S_IFSOCK | 0600, 0),
    CALL(mknod, BAD, 0600, 0), CALL(mknodat, AT_FDCWD, BAD, S_IFREG | 0600, 0),
    CALL(socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), CALL(socket, AF_UNIX, SOCK_DGRAM, 0),
    CALL(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0), CALL(socket, AF_INET, SOCK_STREAM, 0),
    CALL(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP),
    CALL(socket, AF_INET, SOCK_DGRAM, IPPROTO_UDP), CALL(socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, BAD),
    CALL(ioctl, 0, TCGETS, BAD), CALL(ioctl, 0, FIONREAD, BAD), CALL(ioctl, -1, TIOCGWINSZ, BAD),
    CALL(unshare, 0), CALL(unshare, CLONE_FS | CLONE_FILES),
    CALL(personality, 0), CALL(personality, 0xffffffff), CALL(personality, -1),
    CALL(prctl, PR_SET_NAME, BAD), CALL(prctl, PR_GET_DUMPABLE), CALL(prctl, PR_SET_DUMPABLE, 0),
    CALL(prctl, PR_SET_PDEATHSIG, 0), CALL(prctl, PR_CAPBSET_READ, 0), CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    CALL(prctl, PR_SET_VMA, 0, 4096, 4096, 0), CALL(prctl, PR_SET_CHILD_SUBREAPER, 1),
    CALL(sched_setscheduler, 0, SCHED_OTHER, BAD), CALL(sched_setscheduler, 0, SCHED_IDLE | SCHED_RESET_ON_FORK, BAD),
    CALL(sched_setscheduler, 0, SCHED_BATCH, BAD), CALL(setpriority, PRIO_PROCESS, 0, 19),
    CALL(prlimit64, 0, 7, 0, BAD), CALL(setrlimit, 7, BAD), CALL(getpriority, PRIO_PROCESS, 0),
    CALL(memfd_create, BAD, 0), CALL(mlock, 0, 0), CALL(munlockall), CALL(get_mempolicy, 0, 0, 0, 0, 0),
    CALL(membarrier, 0, 0, 0), CALL(rseq, 0, 0, 0, 0), CALL(getrandom, BAD, 1, 0), CALL(futex, BAD, 1, 0),
    CALL(futex, BAD, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0, 0, 0, 1),
    CALL(futex, BAD, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, BAD, 0), CALL(futex, BAD, FUTEX_WAKE_OP, 0, 0, BAD, 0),
    CALL(shmget, 0, 4096, 0600), CALL(semget, 0, 1, 0600), CALL(fcntl, -1, F_GETFL), CALL(fcntl, -1, F_SETLKW, BAD),
    CALL(fcntl, -1, F_OFD_SETLK, BAD), CALL(fcntl, -1, F_DUPFD_CLOEXEC, 0), CALL(fcntl, -1, F_SETPIPE_SZ, 4096),
    CALL(setsockopt, -1, SOL_SOCKET, SO_REUSEADDR, BAD, 4), CALL(setsockopt, -1, IPPROTO_TCP, TCP_NODELAY, BAD, 4),
    CALL(setsockopt, -1, IPPROTO_IP, IP_TOS, BAD, 4), CALL(getsockopt, -1, SOL_SOCKET, SO_ERROR, BAD, BAD),
    CALL(sendto, -1, BAD, 1, MSG_NOSIGNAL, 0, 0), CALL(recvmsg, -1, BAD, MSG_CMSG_CLOEXEC), CALL(sendmsg, -1, BAD, 0),
    CALL(recvmmsg, -1, BAD, 1, MSG_DONTWAIT, 0), CALL(mmap, 0, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
    CALL(madvise, 1, 4096, MADV_DONTNEED), CALL(ioctl, -1, FIONBIO, BAD), CALL(ioctl, -1, 0x8912, BAD),
    CALL(pidfd_open, -1, 0), CALL(pidfd_send_signal, -1, 0, 0, 0), CALL(kill, -1000000, 0),
    CALL(epoll_create1, 0), CALL(eventfd2, 0, 0), CALL(timerfd_create, 1, 0), CALL(inotify_init1, 0),
    CALL(signalfd4, -1, BAD, 8, 0), CALL(copy_file_range, -1, 0, -1, 0, 0, 0),
    CALL(statx, AT_FDCWD, BAD, 0, 0, BAD),
    CALL(fsync, -1), CALL(fdatasync, -1), CALL(sync_file_range, -1, 0, 0, 0), CALL(setuid, -1), CALL(getsid, 0),
    CALL(landlock_create_ruleset, 0, 0, 1), CALL(landlock_add_rule, -1, 0, BAD, 0), CALL(close_range, 1000, 1001, 0),
    CALL(faccessat2, AT_FDCWD, BAD, 0, 0), CALL(epoll_pwait2, -1, BAD, 1, 0, 0, 0),
    CALL(getxattr, BAD, BAD, 0, 0), CALL(setxattr, BAD, BAD, 0, 0, 0), CALL(fallocate, -1, 0, 0, 1),
    CALL(timer_create, 1, 0, BAD), CALL(sigaltstack, 0, 0), CALL(getcpu, 0, 0, 0), CALL(capset, BAD, BAD),
};
/* clang-format on */

TEST(forbidden_calls_are_refused)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        assert_refused(&refused[i], EPERM);
}

/* As on a host without IPv6, which every program knows how to do without. */
TEST(ipv6_is_absent)
{
    static const struct call calls[] = {
        {"socket ipv6 udp", SYS_socket, {AF_INET6, SOCK_DGRAM, 0}, false},
        {"with flags", SYS_socket, {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP}, false},
        {"socket ipv6 tcp", SYS_socket, {AF_INET6, SOCK_STREAM, IPPROTO_TCP}, false},
        {"with upper bits", SYS_socket, {AF_INET6 | UPPER, SOCK_STREAM | SOCK_NONBLOCK, 0}, false},
        {"socket ipv6 sctp", SYS_socket, {AF_INET6, SOCK_STREAM, IPPROTO_SCTP}, false},
        {"socket ipv6 lite", SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDPLITE}, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        assert_int_equal(in_child(call_filtered, &calls[i]), EAFNOSUPPORT);
}

TEST(calls_with_a_fallback_are_missing)
{
    for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
        assert_refused(&missing[i], ENOSYS);
}

TEST(ordinary_calls_reach_the_kernel)
{
    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        int plain = in_child(call_plainly, &allowed[i]);
        int filtered = in_child(call_filtered, &allowed[i]);

        if (plain == ENOSYS && filtered == ENOSYS)
            print_message("# %s: this kernel does not have the call\n", allowed[i].name);
        else if (plain != filtered || filtered == ENOSYS || filtered == EPERM)
            fail_msg("%s: %d with the filter, %d without", allowed[i].name, filtered, plain);
    }
}

TEST(numbers_nobody_knows_are_missing)
{
    static const struct call calls[] = {
        {"the first", 463, {0}, false},
        {"the last of x32", NR_the_last_x32, {0}, false},
        {"far away", NR_of_nothing, {0}, false},
        {"further", 0x3fffffff, {0}, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        assert_int_equal(in_child(call_filtered, &calls[i]), ENOSYS);
}

/* --- clone: its flags share a register with the exit signal, and a child comes out of it --- */

struct cloning {
    enum seccomp_filter filter;
    unsigned long flags;
};

static int clone_filtered(const void *user)
{
    const struct cloning *cloning = user;
    long pid;

    load(SECCOMP_BASE);
    if (cloning->filter != SECCOMP_BASE)
        load(cloning->filter);
    pid = syscall(SYS_clone, cloning->flags, 0, 0, 0, 0);
    if (pid < 0)
        return errno;
    if (pid == 0)
        _exit(0);
    child_need(waitpid((pid_t)pid, NULL, __WALL) == pid);
    return 0;
}

TEST(clone_makes_processes_but_no_namespaces)
{
    static const unsigned long spaces[] = {CLONE_NEWUSER,   CLONE_NEWNS,          CLONE_NEWPID,
                                           CLONE_NEWNET,    CLONE_NEWIPC,         CLONE_NEWUTS,
                                           CLONE_NEWCGROUP, CLONE_NEWUSER | UPPER};
    struct cloning cloning = {SECCOMP_BASE, SIGCHLD};

    assert_int_equal(in_child(clone_filtered, &cloning), 0);
    for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
        cloning.flags = SIGCHLD | spaces[i];
        assert_int_equal(in_child(clone_filtered, &cloning), EPERM);
    }
}

/* --- other ways into the kernel --- */

#ifdef __x86_64__
static int call_ia32(const void *user)
{
    long number = 20; /* getpid */

    if (user)
        load(SECCOMP_BASE);
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    return number > 0 ? 1 : 2;
}

TEST(the_ia32_entry_ends_the_process)
{
    assert_int_not_equal(in_child(call_ia32, NULL), -SIGSYS);
    assert_int_equal(in_child(call_ia32, ""), -SIGSYS);
}

static int call_x32(const void *user)
{
    if (user)
        load(SECCOMP_BASE);
    return syscall(0x40000000L | SYS_getpid) < 0 ? errno : 0;
}

TEST(the_x32_numbers_end_the_process)
{
    assert_int_not_equal(in_child(call_x32, NULL), -SIGSYS);
    assert_int_equal(in_child(call_x32, ""), -SIGSYS);
}
#endif

/* --- programs --- */

static int run_program(const void *user)
{
    load(SECCOMP_BASE);
    execl("/bin/sh", "sh", "-ec", user, NULL);
    return CHILD_BROKEN;
}

TEST(ordinary_programs_run)
{
    static const char *const programs[] = {
        "x=$(echo a | tr a b); [ $x = b ]; (exit 3) || [ $? = 3 ]",
        "d=$(mktemp -d); cd $d; echo x >a; cp -p a b; mv b c; ln -s c e; chmod 755 c; mkfifo p; rm "
        "-r $d",
        "/usr/bin/python3 -c 'import threading, subprocess, asyncio, tempfile, socket, mmap\n"
        "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
        "assert subprocess.run([\"true\"]).returncode == 0\n"
        "asyncio.run(asyncio.sleep(0))\n"
        "socket.socketpair(); socket.socket(); mmap.mmap(-1, 4096); tempfile.TemporaryFile()'",
    };

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        assert_int_equal(in_child(run_program, programs[i]), 0);
}

/* --- the filters on top --- */

static void *do_nothing(void *arg)
{
    return arg;
}

static int start_thread(const void *user)
{
    pthread_t thread;

    (void)user;
    load(SECCOMP_BASE);
    load(SECCOMP_NO_EXEC);
    if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
        return 1;
    return pthread_join(thread, NULL);
}

static int exec_something(const void *user)
{
    load(SECCOMP_BASE);
    load(SECCOMP_NO_EXEC);
    if (user)
        (void)syscall(SYS_execveat, AT_FDCWD, "/bin/true", (char *[]){"true", NULL}, environ, 0);
    else
        execl("/bin/true", "true", NULL);
    return errno;
}

static int fork_something(const void *user)
{
    load(SECCOMP_NO_EXEC);
    return syscall(*(const long *)user) < 0 ? errno : 0;
}

TEST(no_exec_starts_nothing_but_threads)
{
    static const long forks[] = {SYS_fork, SYS_vfork};
    struct cloning process = {SECCOMP_NO_EXEC, SIGCHLD};
    struct cloning spawn = {SECCOMP_NO_EXEC, CLONE_VM | CLONE_VFORK | SIGCHLD};

    assert_int_equal(in_child(start_thread, NULL), 0);
    assert_int_equal(in_child(exec_something, NULL), EPERM);
    assert_int_equal(in_child(exec_something, ""), EPERM);
    assert_int_equal(in_child(fork_something, &forks[0]), EPERM);
    assert_int_equal(in_child(fork_something, &forks[1]), EPERM);
    assert_int_equal(in_child(clone_filtered, &process), EPERM);
    assert_int_equal(in_child(clone_filtered, &spawn), EPERM);
}

static int be_dumpable(const void *user)
{
    load(SECCOMP_BASE);
    if (user)
        load(SECCOMP_NO_DUMP);
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NAME, "name") < 0)
        return 1;
    return prctl(PR_SET_DUMPABLE, 1) < 0 ? errno : 0;
}

/* Pid 1 passes the right on to the kernels it starts, and they give it up. */
TEST(only_kernels_stay_undumpable)
{
    assert_int_equal(in_child(be_dumpable, NULL), 0);
    assert_int_equal(in_child(be_dumpable, ""), EPERM);
}

static int clone3_alone(const void *user)
{
    (void)user;
    load(SECCOMP_NO_EXEC);
    return syscall(SYS_clone3, BAD, 88L) < 0 ? errno : 0;
}

TEST(no_exec_alone_has_no_way_round_it)
{
    assert_int_equal(in_child(clone3_alone, NULL), ENOSYS);
}

static int make_shared_memory(const void *user)
{
    load(SECCOMP_BASE);
    if (user)
        load(SECCOMP_NO_MEMFD);
    if (memfd_create("x", MFD_CLOEXEC) < 0)
        return errno;
    return 0;
}

static int make_sysv_memory(const void *user)
{
    int id;

    load(SECCOMP_BASE);
    if (user)
        load(SECCOMP_NO_MEMFD);
    id = shmget(IPC_PRIVATE, 4096, 0600);
    if (id < 0)
        return errno;
    return shmctl(id, IPC_RMID, NULL);
}

TEST(no_memfd_gives_no_memory_without_owner)
{
    assert_int_equal(in_child(make_shared_memory, NULL), 0);
    assert_int_equal(in_child(make_shared_memory, ""), ENOSYS);
    assert_int_equal(in_child(make_sysv_memory, NULL), 0);
    assert_int_equal(in_child(make_sysv_memory, ""), EPERM);
}

/* --- loading --- */

static int load_as_nobody(const void *user)
{
    struct error err = {0};

    (void)user;
    become_nobody();
    if (seccomp_load(SECCOMP_BASE, &err) == 0)
        return 1;
    return err.code == E_SYSTEM && err.errnum == EACCES && strstr(err.message, "filter") ? 0 : 2;
}

TEST(loading_needs_no_new_privs)
{
    assert_int_equal(in_child(load_as_nobody, NULL), 0);
}

static int load_without_seccomp(const void *user)
{
    struct error err = {0};

    (void)user;
    deny_call(SYS_seccomp, ENOSYS);
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    return seccomp_load(SECCOMP_BASE, &err) < 0 && err.errnum == ENOSYS ? 0 : 1;
}

TEST(a_kernel_without_filters_is_an_error)
{
    assert_int_equal(in_child(load_without_seccomp, NULL), 0);
}

static pthread_barrier_t barrier;

static void *call_in_thread(void *arg)
{
    long *error = arg;

    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    *error = syscall(SYS_sysfs, 3) < 0 ? errno : 0;
    return NULL;
}

static int load_with_threads(const void *user)
{
    pthread_t thread;
    long error = 0;

    (void)user;
    child_need(pthread_barrier_init(&barrier, NULL, 2) == 0);
    child_need(pthread_create(&thread, NULL, call_in_thread, &error) == 0);
    (void)pthread_barrier_wait(&barrier);
    load(SECCOMP_BASE);
    (void)pthread_barrier_wait(&barrier);
    child_need(pthread_join(thread, NULL) == 0);
    return (int)error;
}

TEST(other_threads_are_filtered_too)
{
    assert_int_equal(in_child(load_with_threads, NULL), EPERM);
}

/* --- refusals that are reported --- */

struct reported {
    const struct call *call;
    bool has_listener; /* somebody answers */
    struct seccomp_refusal refusal;
    bool is_reported;
};

static void send_fd(int sock, int fd)
{
    char control[FDS_SPACE(1)] = {0};
    struct iovec byte = {"", 1};
    struct msghdr msg = {.msg_iov = &byte, .msg_iovlen = 1};

    fds_put(&msg, control, &fd, 1);
    child_need(sendmsg(sock, &msg, 0) == 1);
}

static int receive_fd(int sock)
{
    char control[FDS_SPACE(1)], byte;
    struct iovec room = {&byte, 1};
    struct msghdr msg = {.msg_iov = &room,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    int fd = -1;

    assert_int_equal(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC), 1);
    assert_int_equal(fds_take(&msg, &fd, 1), 1);
    return fd;
}

static void __attribute__((noreturn)) make_refused_call(const struct reported *reported, int sock)
{
    int listener;
    struct error err = {0};

    step_aside();
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(seccomp_listen(SECCOMP_REPORT, &listener, &err) == 0);
    if (reported->has_listener)
        send_fd(sock, listener);
    child_need(close(listener) == 0);
    _exit((int)run_call(reported->call));
}

/* The error that the call got, from a supervisor as we are one. */
static int run_refused_call(struct reported *reported)
{
    int pair[2], status, listener = -1, r = 0;
    pid_t pid, done = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        make_refused_call(reported, pair[1]);
    if (reported->has_listener)
        listener = receive_fd(pair[0]);
    reported->is_reported = false;
    while (done == 0) {
        if (listener >= 0 && (r = seccomp_refuse_next(listener, &reported->refusal)) > 0)
            reported->is_reported = true;
        done = waitpid(pid, &status, listener >= 0 ? WNOHANG : 0);
        if (!done && r == 0)
            (void)usleep(50);
    }
    assert_int_equal(done, pid);
    if (listener >= 0) { /* nobody is left to answer */
        assert_int_equal(seccomp_refuse_next(listener, &(struct seccomp_refusal){0}), -1);
        (void)close(listener);
    }
    (void)close(pair[0]);
    (void)close(pair[1]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Told or not, the answers are the same. */
TEST(reported_refusals_are_refusals)
{
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct reported reported = {.call = &refused[i], .has_listener = true};

        if (run_refused_call(&reported) != EPERM)
            fail_msg("%s is not refused", refused[i].name);
        if (reported.is_reported && !*reported.refusal.name)
            fail_msg("%s is reported without a name", refused[i].name);
        count += reported.is_reported;
    }
    assert_in_range(count, 80, ARRAY_SIZE(refused));
}

TEST(what_depends_on_arguments_is_reported_with_words)
{
    /* clang-format off */
    static const struct {
        struct call call;
        const char *name, *how; /* NULL: not reported */
        int error;
    } calls[] = {
        {CALL(ptrace, 0), "ptrace", "", EPERM},
        {CALL(unshare, CLONE_NEWUSER), "unshare", "to make namespaces", EPERM},
        {CALL(unshare, 0), NULL, NULL, 0},
        {CALL(futex, BAD, FUTEX_LOCK_PI), "futex", "with priority inheritance", ENOSYS},
        {CALL(socket, AF_PACKET, SOCK_RAW), "socket", "of a refused family, type or protocol", EPERM},
        {CALL(socket, AF_NETLINK, SOCK_RAW), NULL, NULL, EPERM},
        {CALL(clone3, BAD, 88), NULL, NULL, ENOSYS},
        {CALL(mbind, 0), NULL, NULL, EPERM},
        {CALL(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER), NULL, NULL, EPERM},
    };
    /* clang-format on */

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        struct reported reported = {.call = &calls[i].call, .has_listener = true};

        assert_int_equal(run_refused_call(&reported), calls[i].error);
        assert_int_equal(reported.is_reported, calls[i].name != NULL);
        if (calls[i].name) {
            assert_string_equal(reported.refusal.name, calls[i].name);
            assert_string_equal(reported.refusal.how, calls[i].how);
        }
    }
}

/* The filter refuses by itself; nobody inside can take the listener's place. */
TEST(without_an_answer_nothing_is_permitted)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct reported reported = {.call = &refused[i]};
        int error = run_refused_call(&reported);

        if (error != ENOSYS && error != EPERM)
            fail_msg("%s: %d", refused[i].name, error);
        if (refused[i].number == SYS_seccomp)
            assert_int_equal(error, EPERM);
    }
}

TEST(length_is_that_of_the_program)
{
    assert_in_range(seccomp_length(SECCOMP_BASE), 50, 4096);
    assert_in_range(seccomp_length(SECCOMP_NO_EXEC), 10, 100);
    assert_in_range(seccomp_length(SECCOMP_NO_MEMFD), 5, 100);
}

UNIT_MAIN()
