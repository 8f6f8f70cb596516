/* The system call table of every sandbox: each call, what is decided about it, and why.
 *
 * One row is a group of calls that share a decision and its reason. tools/gen-seccomp.c turns the
 * rows into the filters and into docs/SYSCALLS.md, and fails when a call is in no row or in two, so
 * that nothing is decided by forgetting it.
 *
 * Tests of arguments look at the low 32 bits: every argument tested here is an `int`, an `unsigned
 * int` or a mode, so the kernel does not look at more either.
 */
#pragma once

#include <stdint.h>

enum verdict {
    ALLOW,
    REFUSE,       /* EPERM: the call exists and is forbidden */
    MISSING,      /* ENOSYS: libraries then fall back to an older call */
    IGNORE,       /* 0: as if it had been done, for what is a wish only */
    NOTIFY,       /* the caller waits for the write broker's answer */
    ABSENT,       /* EAFNOSUPPORT: as on a host without that family of addresses */
    TELL,         /* as REFUSE, and the result of the run names it under `denials` */
    TELL_MISSING, /* as MISSING, and the result names it */
    KILL,         /* ends the process; not for rows */
    VERDICTS,
};

/* (argument & mask) == value. A mask of 0 ends the list. */
struct test {
    uint8_t arg;
    uint32_t mask;
    uint32_t value;
};

#define TESTS_MAX 3

/* All tests of a clause must hold; the first clause that holds decides. No tests: end of the list.
 */
struct clause {
    struct test tests[TESTS_MAX];
    enum verdict verdict; /* ALLOW: that of the row */
};

struct row {
    const char *names; /* separated by spaces */
    enum verdict verdict;
    const struct clause *when; /* NULL: always */
    enum verdict otherwise;    /* when no clause holds */
    const char *condition;     /* the clauses in words */
    const char *reason;
    const char *how; /* of a TELL that depends on arguments: what was refused, behind the name of
                         the call */
};

/* A clause that says nothing of its verdict has that of its row. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* clang-format off */
#define WORD           UINT32_C(0xffffffff)
#define IS(arg, value) {arg, WORD, (uint32_t)(value)}
#define NOT(arg, bits) {arg, (uint32_t)(bits), 0}
#define HAS(arg, bits) {arg, (uint32_t)(bits), (uint32_t)(bits)}
#define ONE(test)      {{test}}
#define WHEN(...)      (const struct clause[]){__VA_ARGS__, {{{0}}}}

/* CLONE_NEW*: user, mount, pid, network, ipc, uts, cgroup. CLONE_NEWTIME shares its bit with clone()'s exit signal and
 * so counts for unshare() only. */
#define CLONE_NEW_ANY   UINT32_C(0x7e020000)
#define UNSHARE_NEW_ANY (CLONE_NEW_ANY | UINT32_C(0x80))

/* The descriptor at which an interactive Bash keeps its terminal. */
#define BASH_TERMINAL 255

#define SET_ID_BITS     (S_ISUID | S_ISGID)
#define MAKES_A_FILE    (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define MODE(arg)       NOT(arg, SET_ID_BITS)
#define KIND(arg, type) {arg, S_IFMT | SET_ID_BITS, type}

#define TYPE(value) {1, ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK), value}

/* The flags of a futex operation may stand with any of them. */
#define FUTEX(value) {1, ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME), value}

#define OPTION(level, name) {{IS(1, level), IS(2, name)}}

/* Flags that send or receive out of band, or lend pages of the process to the network. */
#define MESSAGE(arg) NOT(arg, MSG_OOB | MSG_ZEROCOPY)

#define MAP_KIND(value) {3, MAP_TYPE, value}
#define MAP_REFUSED (MAP_GROWSDOWN | MAP_HUGETLB)

/* Of linux headers that do not go together with those of the C library. */
#define SCAN_PAGES            UINT32_C(0xc0606610) /* PAGEMAP_SCAN */
#define ADVICE_MERGEABLE      12                   /* MADV_MERGEABLE */
#define MEMFD_HUGE            UINT32_C(4)          /* MFD_HUGETLB */
#define SHARED_HUGE           UINT32_C(04000)      /* SHM_HUGETLB */
#define RECEIVE_ZEROCOPY      35                   /* TCP_ZEROCOPY_RECEIVE */
#define MAP_DROPPABLE_KIND    8                    /* MAP_DROPPABLE, Linux 6.11 */

#define POLICY(value) {1, ~(uint32_t)SCHED_RESET_ON_FORK, value}

#define FILTER_FLAGS ((uint32_t)(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_LOG))

#define OPTION_GET_MDWE 66         /* Linux 6.3 */
#define OPTION_GET_AUXV 0x41555856 /* Linux 6.4 */

/* Refusals that are reported: those of calls that no ordinary program makes. Calls that libraries
 * only try in ordinary work are not reported: every result would name them. `seccomp` is not
 * reported either: refusing a program its own listener must not depend on anybody's answer. */
static const struct row base_rows[] = {
    /* --- what a program is made of --- */
    {"read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 lseek close close_range dup dup2 dup3 "
     "pipe pipe2 flock ftruncate truncate fallocate fadvise64 readahead sendfile copy_file_range fsync "
     "fdatasync sync_file_range",
     ALLOW, .reason = "work on descriptors the sandbox was given or opened itself"},
    {"fcntl", ALLOW,
     WHEN(ONE(IS(1, F_GETFL)), ONE(IS(1, F_SETFL)), ONE(IS(1, F_GETFD)), ONE(IS(1, F_SETFD)),
          ONE(IS(1, F_DUPFD_CLOEXEC)), ONE(IS(1, F_DUPFD)), ONE(IS(1, F_SETLK)), ONE(IS(1, F_SETLKW)),
          ONE(IS(1, F_GETLK)), ONE(IS(1, F_OFD_SETLK)), ONE(IS(1, F_OFD_SETLKW)), ONE(IS(1, F_OFD_GETLK)),
          ONE(IS(1, F_ADD_SEALS)), ONE(IS(1, F_GET_SEALS)), ONE(IS(1, F_SETPIPE_SZ)), ONE(IS(1, F_GETPIPE_SZ))),
     TELL, "flags, copies, locks, seals, and the size of a pipe",
     "a lease (`F_SETLEASE`) on a file of a granted directory holds up whoever opens it on the host, and `F_NOTIFY` and "
     "signals to owners are obsolete",
     .how = "for a lease or another refused command"},
    {"splice", MISSING, .reason = "it hands pages of files to pipes and sockets, by which bugs elsewhere became writes into "
                                  "files that can only be read; libraries fall back to `sendfile` or `read`"},
    {"tee vmsplice", TELL, .reason = "they lend pages between pipes and processes: a frequent part of kernel exploits "
                                       "that no ordinary program uses"},
    {"stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents "
     "getdents64 getcwd chdir fchdir umask getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr",
     ALLOW, .reason = "look at files: the private root and Landlock decide which"},
    {"mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat utime utimes "
     "futimesat utimensat chown fchown lchown fchownat setxattr lsetxattr fsetxattr removexattr lremovexattr "
     "fremovexattr",
     ALLOW, .reason = "change files: the private root and Landlock decide which; without capabilities an owner can be "
                      "set to oneself only"},
    {"open", ALLOW, WHEN(ONE(NOT(1, MAKES_A_FILE)), ONE(MODE(2))), TELL,
     "unless it creates a file with a set-user-id or set-group-id bit",
     "such a file in a writable directory of the host would lend its owner's rights to whoever runs it there",
     .how = "to set a set-user-id or set-group-id bit"},
    {"openat", ALLOW, WHEN(ONE(NOT(2, MAKES_A_FILE)), ONE(MODE(3))), TELL,
     "unless it creates a file with a set-user-id or set-group-id bit", "as `open`",
     .how = "to set a set-user-id or set-group-id bit"},
    {"creat chmod fchmod", ALLOW, WHEN(ONE(MODE(1))), TELL,
     "without set-user-id and set-group-id bits", "as `open`",
     .how = "to set a set-user-id or set-group-id bit"},
    {"fchmodat fchmodat2", ALLOW, WHEN(ONE(MODE(2))), TELL,
     "without set-user-id and set-group-id bits", "as `open`",
     .how = "to set a set-user-id or set-group-id bit"},
    {"mknod", ALLOW, WHEN(ONE(KIND(1, 0)), ONE(KIND(1, S_IFREG)), ONE(KIND(1, S_IFIFO)), ONE(KIND(1, S_IFSOCK))), TELL,
     "regular files, FIFOs and sockets, without set-id bits", "a device node is a door to the kernel's drivers",
     .how = "to make a device node or to set a set-id bit"},
    {"mknodat", ALLOW, WHEN(ONE(KIND(2, 0)), ONE(KIND(2, S_IFREG)), ONE(KIND(2, S_IFIFO)), ONE(KIND(2, S_IFSOCK))),
     TELL, "regular files, FIFOs and sockets, without set-id bits", "as `mknod`",
     .how = "to make a device node or to set a set-id bit"},
    {"ioctl", ALLOW,
     WHEN({{IS(0, BASH_TERMINAL), IS(1, TCSETSW)}, IGNORE},
          ONE(IS(1, TCGETS)), ONE(IS(1, FIONREAD)), ONE(IS(1, FIONBIO)), ONE(IS(1, FIOCLEX)), ONE(IS(1, FIONCLEX)),
          ONE(IS(1, TIOCGWINSZ)), ONE(IS(1, TIOCSWINSZ)), ONE(IS(1, TCSETS)), ONE(IS(1, TCSETSW)), ONE(IS(1, TCSETSF)),
          ONE(IS(1, TIOCGPGRP)), ONE(IS(1, TIOCSPGRP)), ONE(IS(1, TIOCGSID)), ONE(IS(1, TIOCOUTQ)), ONE(IS(1, TCSBRK)),
          ONE(IS(1, TCFLSH)), ONE(IS(1, SIOCGIFCONF)), ONE(IS(1, SIOCGIFNAME)), ONE(IS(1, SIOCGIFINDEX)),
          ONE(IS(1, SIOCGIFFLAGS)), ONE(IS(1, SIOCGIFADDR)), ONE(IS(1, SIOCGIFNETMASK)), ONE(IS(1, SIOCGIFBRDADDR)),
          ONE(IS(1, SIOCGIFHWADDR)), ONE(IS(1, SIOCGIFMTU)), ONE(IS(1, SCAN_PAGES))),
     REFUSE,
     "of descriptors (`FIONREAD`, `FIONBIO`, `FIOCLEX`, `FIONCLEX`), the settings and size of a terminal, questions about "
     "network interfaces, and `PAGEMAP_SCAN`, which sessions are copied with. `TCSETSW` of descriptor 255 does nothing: an "
     "interactive Bash has its terminal there, and complains of its absence whenever a signal ends a command",
     "every other command is a door to a driver, a file system or a terminal that may be shared with the host"},
    {"poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd "
     "eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime inotify_init inotify_init1 "
     "inotify_add_watch inotify_rm_watch",
     ALLOW, .reason = "wait for events"},
    {"munmap mremap mprotect brk msync mincore mlock mlock2 munlock mlockall munlockall pkey_alloc pkey_free "
     "pkey_mprotect membarrier get_mempolicy",
     ALLOW, .reason = "memory of the process itself; cgroup and rlimits bound it"},
    {"mmap", ALLOW, WHEN(ONE(NOT(3, MAP_REFUSED))), REFUSE, "without `MAP_HUGETLB` and `MAP_GROWSDOWN`",
     "huge pages are set aside for the whole host, and memory that grows downwards is the stack's, which is there"},
    {"memfd_create", ALLOW, WHEN(ONE(NOT(1, MEMFD_HUGE))), REFUSE, "without `MFD_HUGETLB`", "as `mmap`"},
    {"madvise", REFUSE, WHEN(ONE(IS(2, ADVICE_MERGEABLE))), ALLOW, "only `MADV_MERGEABLE`",
     "pages that are merged with those of others tell, by time, what others have"},
    {"futex", ALLOW,
     WHEN(ONE(FUTEX(FUTEX_WAIT_BITSET)), ONE(FUTEX(FUTEX_WAIT)), ONE(FUTEX(FUTEX_WAKE)), ONE(FUTEX(FUTEX_WAKE_BITSET)),
          ONE(FUTEX(FUTEX_CMP_REQUEUE)), ONE(FUTEX(FUTEX_WAKE_OP)), ONE(FUTEX(FUTEX_REQUEUE))),
     TELL_MISSING, "without priority inheritance, which is answered with `ENOSYS`",
     "the code behind `FUTEX_LOCK_PI` and its relatives has been broken again and again, and no ordinary program uses it; "
     "`pthread_mutex_init` then says that the protocol is not supported",
     .how = "with priority inheritance"},
    {"futex_waitv", MISSING, .reason = "for emulators of other systems; libraries fall back to `futex`"},
    {"set_robust_list set_tid_address rseq arch_prctl sched_yield getcpu restart_syscall", ALLOW, .reason = "threads"},
    {"fork vfork execve execveat exit exit_group wait4 waitid",
     ALLOW, .reason = "processes; profiles without new processes add a filter of their own"},
    {"clone", ALLOW, WHEN(ONE(NOT(0, CLONE_NEW_ANY))), TELL, "without `CLONE_NEW*` flags",
     "a nested user namespace opens much of the kernel that only root reaches otherwise",
     .how = "to make namespaces"},
    {"unshare", ALLOW, WHEN(ONE(NOT(0, UNSHARE_NEW_ANY))), TELL, "without `CLONE_NEW*` flags", "as `clone`",
     .how = "to make namespaces"},
    {"clone3", MISSING, .reason = "its flags are in memory, where a filter cannot look; libraries fall back to `clone`"},
    {"openat2", MISSING, .reason = "its mode is in memory, where a filter cannot look; libraries fall back to `openat`"},
    {"kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo "
     "rt_tgsigqueueinfo rt_sigsuspend sigaltstack pause pidfd_open pidfd_send_signal",
     ALLOW, .reason = "signals: the pid namespace holds nothing but the sandbox"},
    {"getpid getppid gettid getpgrp getpgid setpgid getsid setsid getuid geteuid getgid getegid getresuid getresgid "
     "getgroups uname sysinfo times getrusage capget",
     ALLOW, .reason = "ask who and where one is; process groups and sessions"},
    {"setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid capset",
     ALLOW, .reason = "without capabilities they can only give up what is left; shells and test suites call them with "
                      "their own ids and treat a refusal as fatal"},
    {"nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time alarm getitimer setitimer "
     "timer_settime timer_gettime timer_getoverrun timer_delete",
     ALLOW, .reason = "read clocks and use timers"},
    {"timer_create", ALLOW,
     WHEN(ONE(IS(0, CLOCK_REALTIME)), ONE(IS(0, CLOCK_MONOTONIC)), ONE(IS(0, CLOCK_BOOTTIME))), TELL,
     "`CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`",
     "timers on the CPU time of a process race with its end in the kernel; `setitimer` has them for profilers",
     .how = "on the CPU time of a process"},
    {"getrlimit setrlimit getpriority setpriority ioprio_get ioprio_set sched_getaffinity sched_setaffinity "
     "sched_getparam sched_setparam sched_getscheduler sched_getattr sched_get_priority_max sched_get_priority_min "
     "sched_rr_get_interval",
     ALLOW, .reason = "limits and priorities: without capabilities they can only be lowered"},
    {"prlimit64", ALLOW, WHEN(ONE(IS(0, 0))), TELL, "of the calling process (pid 0)",
     "no process sets the limits of another",
     .how = "for another process"},
    {"sched_setscheduler", ALLOW,
     WHEN(ONE(POLICY(SCHED_OTHER)), ONE(POLICY(SCHED_BATCH)), ONE(POLICY(SCHED_IDLE))), TELL,
     "`SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`", "a real-time task can take a core from the host",
     .how = "with a real-time policy"},
    {"sched_setattr", TELL, .reason = "the policy is in memory, where a filter cannot look: see `sched_setscheduler`"},
    {"prctl", ALLOW,
     WHEN(ONE(IS(0, PR_SET_NAME)), ONE(IS(0, PR_GET_NAME)), ONE(IS(0, PR_SET_PDEATHSIG)),
          ONE(IS(0, PR_GET_PDEATHSIG)), ONE(IS(0, PR_GET_DUMPABLE)), ONE(IS(0, PR_GET_KEEPCAPS)),
          ONE(IS(0, PR_GET_TIMING)), ONE(IS(0, PR_GET_SECCOMP)), ONE(IS(0, PR_CAPBSET_READ)), ONE(IS(0, PR_GET_TSC)),
          ONE(IS(0, PR_GET_SECUREBITS)), ONE(IS(0, PR_SET_TIMERSLACK)), ONE(IS(0, PR_GET_TIMERSLACK)),
          ONE(IS(0, PR_MCE_KILL_GET)), ONE(IS(0, PR_SET_CHILD_SUBREAPER)), ONE(IS(0, PR_GET_CHILD_SUBREAPER)),
          ONE(IS(0, PR_SET_NO_NEW_PRIVS)), ONE(IS(0, PR_GET_NO_NEW_PRIVS)), ONE(IS(0, PR_GET_TID_ADDRESS)),
          ONE(IS(0, PR_SET_THP_DISABLE)), ONE(IS(0, PR_GET_THP_DISABLE)), ONE(IS(0, PR_GET_SPECULATION_CTRL)),
          ONE(IS(0, OPTION_GET_MDWE)), ONE(IS(0, PR_SET_VMA)), ONE(IS(0, OPTION_GET_AUXV)),
          ONE(IS(0, PR_SET_DUMPABLE)), {{IS(0, PR_CAP_AMBIENT), IS(1, PR_CAP_AMBIENT_IS_SET)}}),
     REFUSE,
     "the `PR_GET_*` queries, `PR_SET_NAME`, `PR_SET_PDEATHSIG`, `PR_SET_TIMERSLACK`, `PR_SET_CHILD_SUBREAPER`, "
     "`PR_SET_NO_NEW_PRIVS`, `PR_SET_THP_DISABLE`, `PR_SET_VMA`, `PR_CAPBSET_READ`, `PR_SET_DUMPABLE`",
     "the others rearrange memory maps, tracing, privileges or filters of the process"},
    {"personality", ALLOW, WHEN(ONE(IS(0, 0)), ONE(IS(0, WORD))), TELL, "0, or the query 0xffffffff",
     "other personalities switch off address randomisation or change how pages are mapped",
     .how = "to change how memory is laid out"},
    {"getrandom", ALLOW, .reason = "random numbers"},
    {"landlock_create_ruleset landlock_add_rule landlock_restrict_self",
     ALLOW, .reason = "a program may fence itself in further"},

    /* --- talking --- */
    {"socket", ALLOW,
     WHEN({{IS(0, AF_UNIX), TYPE(SOCK_STREAM)}}, {{IS(0, AF_UNIX), TYPE(SOCK_DGRAM)}},
          {{IS(0, AF_UNIX), TYPE(SOCK_SEQPACKET)}},
          {{IS(0, AF_INET), TYPE(SOCK_STREAM), IS(2, 0)}}, {{IS(0, AF_INET), TYPE(SOCK_STREAM), IS(2, IPPROTO_TCP)}},
          {{IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, 0)}}, {{IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, IPPROTO_UDP)}},
          {{IS(0, AF_INET6), TYPE(SOCK_STREAM)}, ABSENT}, {{IS(0, AF_INET6), TYPE(SOCK_DGRAM)}, ABSENT},
          {{IS(0, AF_NETLINK)}, REFUSE}), /* the C library asks for interfaces in ordinary work */
     TELL, "Unix sockets, and TCP and UDP over IPv4; IPv6 is answered with `EAFNOSUPPORT`, as on a host without it",
     "they are for processes of the sandbox among themselves and for the gate to granted hosts, which listens on "
     "127.0.0.1: nothing in there needs IPv6. Raw, packet, netlink, vsock, crypto and exotic protocols are kernel surface; "
     "vsock also crosses network namespaces, and a protocol nobody uses may load a kernel module",
     .how = "of a refused family, type or protocol"},
    {"socketpair", ALLOW,
     WHEN({{IS(0, AF_UNIX), TYPE(SOCK_STREAM)}}, {{IS(0, AF_UNIX), TYPE(SOCK_DGRAM)}},
          {{IS(0, AF_UNIX), TYPE(SOCK_SEQPACKET)}}),
     TELL, "Unix only", "as `socket`",
     .how = "of a refused family or type"},
    {"bind connect listen accept accept4 getsockname getpeername shutdown",
     ALLOW, .reason = "use sockets: the network namespace is empty"},
    {"sendmsg recvmsg", ALLOW, WHEN(ONE(MESSAGE(2))), TELL, "without `MSG_OOB` and `MSG_ZEROCOPY`",
     "out-of-band data of Unix sockets was a way from a sandbox into the kernel, and nobody uses it",
     .how = "with `MSG_OOB` or `MSG_ZEROCOPY`"},
    {"sendto recvfrom sendmmsg recvmmsg", ALLOW, WHEN(ONE(MESSAGE(3))), TELL, "without `MSG_OOB` and `MSG_ZEROCOPY`",
     "as `sendmsg`",
     .how = "with `MSG_OOB` or `MSG_ZEROCOPY`"},
    {"setsockopt", ALLOW,
     WHEN(OPTION(SOL_SOCKET, SO_REUSEADDR), OPTION(SOL_SOCKET, SO_KEEPALIVE), OPTION(SOL_SOCKET, SO_SNDBUF),
          OPTION(SOL_SOCKET, SO_RCVBUF), OPTION(SOL_SOCKET, SO_LINGER), OPTION(SOL_SOCKET, SO_REUSEPORT),
          OPTION(SOL_SOCKET, SO_BROADCAST), OPTION(SOL_SOCKET, SO_OOBINLINE), OPTION(SOL_SOCKET, SO_PASSCRED),
          OPTION(SOL_SOCKET, SO_RCVLOWAT), OPTION(SOL_SOCKET, SO_RCVTIMEO), OPTION(SOL_SOCKET, SO_SNDTIMEO),
          OPTION(SOL_SOCKET, SO_DONTROUTE), OPTION(SOL_SOCKET, SO_PRIORITY), OPTION(SOL_SOCKET, SO_TIMESTAMP),
          OPTION(IPPROTO_TCP, TCP_NODELAY), OPTION(IPPROTO_TCP, TCP_CORK), OPTION(IPPROTO_TCP, TCP_KEEPIDLE),
          OPTION(IPPROTO_TCP, TCP_KEEPINTVL), OPTION(IPPROTO_TCP, TCP_KEEPCNT), OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT),
          OPTION(IPPROTO_TCP, TCP_QUICKACK), OPTION(IPPROTO_TCP, TCP_MAXSEG), OPTION(IPPROTO_TCP, TCP_SYNCNT),
          OPTION(IPPROTO_TCP, TCP_LINGER2), OPTION(IPPROTO_TCP, TCP_DEFER_ACCEPT), OPTION(IPPROTO_TCP, TCP_WINDOW_CLAMP),
          OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT), OPTION(IPPROTO_TCP, TCP_FASTOPEN), OPTION(IPPROTO_IP, IP_TOS),
          OPTION(IPPROTO_IP, IP_TTL), OPTION(IPPROTO_IP, IP_RECVERR), OPTION(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT),
          OPTION(IPPROTO_IP, IP_MULTICAST_TTL), OPTION(IPPROTO_IP, IP_MULTICAST_LOOP)),
     REFUSE, "the usual options of sockets, TCP and IP: buffers, timeouts, addresses, keep-alive, delays",
     "others attach filters, put ciphers or tunnels on a socket, join groups, or replace tables of the network"},
    {"getsockopt", REFUSE, WHEN(OPTION(IPPROTO_TCP, RECEIVE_ZEROCOPY)), ALLOW, "only `TCP_ZEROCOPY_RECEIVE`",
     "it maps pages of the network into the process"},
    {"shmget", ALLOW, WHEN(ONE(NOT(2, SHARED_HUGE))), REFUSE, "without `SHM_HUGETLB`", "as `mmap`"},
    {"shmat shmctl shmdt semget semop semctl semtimedop",
     ALLOW, .reason = "System V memory and semaphores: the IPC namespace is the sandbox's own"},
    {"msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
     TELL, .reason = "message queues: memory of the kernel with a content and a size of one's choice, which exploits "
                       "fill it with; programs have pipes and sockets"},

    /* --- refused --- */
    {"ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise process_mrelease",
     TELL, .reason = "no process looks into or acts on the memory or descriptors of another"},
    {"seccomp", ALLOW, WHEN({{IS(0, SECCOMP_SET_MODE_FILTER), NOT(1, ~FILTER_FLAGS)}}), REFUSE,
     "to add a filter to oneself, without a listener and with speculation left guarded",
     "profiles add filters when they are handed their code, and a filter only ever takes away; a listener would let one "
     "process answer for another"},
    {"setns pivot_root chroot setgroups", TELL, .reason = "the walls around the sandbox"},
    {"mount umount2 fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr swapon swapoff",
     TELL, .reason = "the mount table: inside a user namespace these are reachable, and a frequent source of kernel "
                       "bugs"},
    {"name_to_handle_at open_by_handle_at", TELL, .reason = "file handles pass by paths and mounts"},
    {"keyctl add_key request_key", TELL, .reason = "kernel keyrings are not namespaced: they join sandboxes"},
    {"bpf perf_event_open userfaultfd io_uring_enter io_uring_register fanotify_init fanotify_mark memfd_secret",
     TELL, .reason = "large kernel surface with a history of exploits; io_uring also passes by this filter, and secret "
                       "memory by the accounting"},
    {"io_uring_setup", REFUSE, .reason = "as above; node tries it at each start, so it is not named"},
    {"io_setup io_submit io_getevents io_destroy io_cancel io_pgetevents",
     TELL, .reason = "the number of AIO contexts is limited for the whole host: one sandbox could take them all"},
    {"mbind set_mempolicy set_mempolicy_home_node move_pages migrate_pages",
     REFUSE, .reason = "placing memory on NUMA nodes can take a node's memory from the host"},
    {"sync syncfs", TELL, .reason = "they flush file systems of the whole host: a loop of them stalls everybody's disk"},
    {"kexec_load kexec_file_load init_module finit_module delete_module create_module get_kernel_syms query_module "
     "reboot",
     TELL, .reason = "the running kernel"},
    {"settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname",
     TELL, .reason = "clock and name of the host"},
    {"iopl ioperm modify_ldt", TELL, .reason = "x86 hardware access and segment tables"},
    {"acct quotactl quotactl_fd syslog vhangup lookup_dcookie",
     TELL, .reason = "administration; the kernel's log tells addresses"},
    {"get_robust_list", REFUSE, .reason = "it looks into another thread, for programs that freeze others"},
    {"uprobe uretprobe", REFUSE, .reason = "only the kernel's own probes make them"},
    {"nfsservctl uselib ustat sysfs _sysctl remap_file_pages epoll_ctl_old epoll_wait_old get_thread_area "
     "set_thread_area getpmsg putpmsg afs_syscall tuxcall security vserver",
     REFUSE, .reason = "obsolete, or never implemented"},
};

/* Calls newer than the oldest libseccomp we build with; from number 424 on all architectures share numbers. */
#ifdef __x86_64__
#define URETPROBE 335
#define UPROBE    336
#else
#define URETPROBE (-1) /* only x86-64 has them */
#define UPROBE    (-1)
#endif
static const struct { const char *name; int number; } newer_calls[] = {
    {"fchmodat2", 452},
    {"uretprobe", URETPROBE},
    {"uprobe", UPROBE},
};

/* Everything from here on that has no row is MISSING: calls nobody has thought about yet. 450 is
 * set_mempolicy_home_node, the last one of Linux 5.17. */
#define FIRST_UNKNOWN_CALL 451

/* On top of the base filter, for profiles that start no processes. */
static const struct row no_exec_rows[] = {
    {"execve execveat fork vfork", REFUSE, .reason = "the profile starts no processes"},
    {"clone", ALLOW, WHEN(ONE(HAS(0, CLONE_THREAD))), REFUSE, "threads only",
     "the profile starts no processes"},
    {"clone3", MISSING, .reason = "libraries fall back to `clone`"},
};

/* On top of the base filter in every kernel. Pid 1 keeps the right for the kernels it starts, who use it once: the
 * view of one's own page tables opens for dumpable processes only. */
static const struct row no_dump_rows[] = {
    {"prctl", REFUSE, WHEN({{IS(0, PR_SET_DUMPABLE), HAS(1, 1)}}), ALLOW, "only `PR_SET_DUMPABLE` to 1",
     "a process that is not dumpable cannot be looked into by others of the sandbox, and its files in `/proc` are not "
     "its own"},
};

/* On top of the base filter where no cgroup counts memory. */
static const struct row no_memfd_rows[] = {
    {"memfd_create", MISSING, .reason = "its memory belongs to no process, so that only a cgroup can bound it"},
    {"shmget semget", REFUSE, .reason = "its memory outlives the process, so that only a cgroup can bound it"},
    {"mmap", REFUSE, WHEN(ONE(HAS(3, MAP_SHARED | MAP_ANONYMOUS))), ALLOW, "only shared memory without a file",
     "its pages stay after the last process has unmapped them, so that only a cgroup can bound it"},
    {"setsockopt", IGNORE, WHEN(OPTION(SOL_SOCKET, SO_SNDBUF), OPTION(SOL_SOCKET, SO_RCVBUF)), ALLOW,
     "only `SO_SNDBUF` and `SO_RCVBUF`",
     "buffers of sockets are memory of the kernel, which only a cgroup can count: their number bounds them, since they "
     "have one size"},
    {"fcntl", REFUSE, WHEN(ONE(IS(1, F_SETPIPE_SZ))), ALLOW, "only `F_SETPIPE_SZ`",
     "what is in a pipe is memory of the kernel, which only a cgroup can count"},
};

/* On top of the base filter in everything that is made of the zygote. Since glibc 2.41 getrandom(2) is a generator in
 * the process's memory, of the kind that the kernel empties in a child. The zygote's memory becomes a file's, and
 * a copy of a session gets its source's: all of them would have the same random numbers. Without such memory the C
 * library asks the kernel each time. */
static const struct row no_drop_rows[] = {
    {"mmap", REFUSE, WHEN(ONE(MAP_KIND(MAP_DROPPABLE_KIND))), ALLOW, "only `MAP_DROPPABLE`",
     "it holds the state of the C library's random numbers, which no two sandboxes may share"},
};

/* On top of the base filter where directories of the host were granted. */
static const struct row no_unix_rows[] = {
    {"socket", REFUSE, WHEN(ONE(IS(0, AF_UNIX))), ALLOW, "only Unix sockets",
     "a socket in a granted directory is a door to the service of the host that listens there"},
    {"socketpair", ALLOW, WHEN({{TYPE(SOCK_STREAM)}}, {{TYPE(SOCK_SEQPACKET)}}), REFUSE,
     "streams and sequenced packets; datagrams are refused",
     "each end of a datagram pair can send to any socket that has a path, so also to one of the host; the ends of the "
     "others are connected to each other for good"},
};

/* On top of the base filter at the level `process`: what namespaces keep apart otherwise, and what Landlock does not
 * know. The user of a program is that of others, so the rights of an owner over files and processes have to end here. */
static const struct row process_rows[] = {
    {"socket", REFUSE, .reason = "the network and its services are the host's, and so are the sockets in its directories"},
    {"socketpair", ALLOW, WHEN({{TYPE(SOCK_STREAM)}}, {{TYPE(SOCK_SEQPACKET)}}), REFUSE,
     "streams and sequenced packets; datagrams are refused", "each end of a datagram pair can send to any socket that has a path"},
    {"bind connect listen accept accept4", REFUSE, .reason = "as `socket`"},
    {"shmget shmat shmctl shmdt semget semop semctl semtimedop", REFUSE,
     .reason = "System V memory and semaphores are those of all processes of the host"},
    {"chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat setxattr lsetxattr "
     "fsetxattr removexattr lremovexattr fremovexattr", REFUSE,
     .reason = "Landlock does not know them: modes, owners, times and attributes of every file of the user could be set"},
    {"inotify_init inotify_init1 inotify_add_watch", REFUSE,
     .reason = "Landlock does not know them: a watch tells what happens in directories that cannot be read"},
    {"setpriority", ALLOW, WHEN({{IS(0, PRIO_PROCESS), IS(1, 0)}}), REFUSE, "of the calling process",
     "the other processes of the user are not the sandbox's"},
    {"ioprio_set", ALLOW, WHEN({{IS(0, 1), IS(1, 0)}}), REFUSE, "of the calling process", "as `setpriority`"},
    {"sched_setaffinity sched_setparam sched_setscheduler", ALLOW, WHEN(ONE(IS(0, 0))), REFUSE,
     "of the calling process", "as `setpriority`"},
};

/* On top of the base filter where a directory was granted for writing. Its mount is read-only: what the broker lets
 * continue meets that, and so does everything by a path that has no row here. */
#define OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
static const struct row broker_rows[] = {
    {"open", ALLOW, WHEN(ONE(NOT(1, OPEN_CHANGES))), NOTIFY, "for reading; else the broker decides",
     "the write broker opens files for writing on a mount of its own, after it has judged where the path leads"},
    {"openat", ALLOW, WHEN(ONE(NOT(2, OPEN_CHANGES))), NOTIFY, "for reading; else the broker decides", "as `open`"},
    {"creat truncate mkdir mkdirat rmdir mknod mknodat unlink unlinkat rename renameat renameat2 link linkat symlink "
     "symlinkat chmod fchmodat fchmodat2 chown lchown fchownat utime utimes futimesat",
     NOTIFY, .reason = "as `open`"},
    {"setxattr lsetxattr removexattr lremovexattr", NOTIFY, .reason = "as `open`"},
    {"fchmod fchown utimensat fsetxattr fremovexattr", NOTIFY,
     .reason = "as `open`; a descriptor that was opened for reading, and each one of a directory, is on the read-only mount"},
    {"access", ALLOW, WHEN(ONE(NOT(1, W_OK))), NOTIFY, "not about writing; else the broker decides",
     "on the read-only mount the kernel says that nothing can be written; the broker says what a write would get"},
    {"faccessat faccessat2", ALLOW, WHEN(ONE(NOT(2, W_OK))), NOTIFY, "not about writing; else the broker decides", "as `access`"},
    {"landlock_create_ruleset landlock_add_rule landlock_restrict_self", MISSING,
     .reason = "the broker's writes would not be bound by rules that a program makes for itself: it is told that there are none"},
    {"umask", NOTIFY, .reason = "the broker makes files with the caller's mask, and learns here that it may differ"},
};

/* All that is left to the process that holds a kernel's memory. */
static const struct row hold_rows[] = {
    {"pause restart_syscall exit exit_group rt_sigreturn", ALLOW, .reason = "it waits for its end"},
};

/* belljar-listener: it uses the descriptors it has, and its memory. No call here takes a path, makes a socket, a process
 * or a descriptor that leads elsewhere, or reaches another process. */
static const struct row listener_rows[] = {
    {"read write readv writev close shutdown", ALLOW, .reason = "clients and the engine"},
    {"recvmsg", ALLOW, .reason = "connections that the engine has accepted"},
    {"ioctl", ALLOW, WHEN(ONE(IS(1, FIONREAD))), REFUSE, "`FIONREAD`", "how much there is to read"},
    {"epoll_wait epoll_pwait epoll_ctl", ALLOW, .reason = "the event loop"},
    {"clock_gettime clock_getres gettimeofday time", ALLOW, .reason = "clocks"},
    {"brk munmap mremap madvise", ALLOW, .reason = "memory"},
    {"mmap mprotect", ALLOW, WHEN(ONE(NOT(2, PROT_EXEC))), REFUSE, "not executable", "memory"},
    {"getrandom getpid futex", ALLOW, .reason = "TLS"},
    {"restart_syscall exit exit_group rt_sigreturn rt_sigprocmask", ALLOW, .reason = "its end"},
};
/* clang-format on */
