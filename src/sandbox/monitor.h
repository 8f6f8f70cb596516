/* Memory, CPU and processes of a sandbox where no cgroup counts them: by looking, through /proc.
 *
 * Slower and less exact than a cgroup: what grows and ends between two looks is not seen. `belljar
 * doctor` says so.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct monitor_usage {
    uint64_t memory_bytes;  /* sum of PSS */
    uint64_t private_bytes; /* of these, what nobody else maps */
    uint64_t shared_bytes;  /* of these, files in memory */
    uint64_t cpu_ms;
    uint32_t processes; /* and threads */
    uint32_t sockets;   /* open, of every kind */
};

/* The process behind a pidfd, as this process counts pids; -1: gone. */
pid_t monitor_pid(int pidfd);

/* Processes and threads of this user of the host, whoever started them. */
uint32_t monitor_user_processes(uid_t uid);

/* Everything below `init`, itself included. Processes that end meanwhile are passed over. */
void monitor_read(pid_t init, struct monitor_usage *ret_usage);
