/* The protocol of belljar-machine and the process that starts it: packets on a socket
 * (SOCK_SEQPACKET) that is descriptor MACHINE_CONTROL.
 *
 *   to the machine    MACHINE_CONNECT and a descriptor: one more connection to the engine in the
 *                     machine. Where there is no room, it is closed
 *   from the machine  MACHINE_READY: connections may come
 *                     MACHINE_FAILED, then a line, and behind a newline perhaps a hint: the last
 *                     packet
 *
 * Each ends with the other. Nothing that the machine does is in a packet but its last words, which
 * are bytes of a stranger. So is its log: what the guest's console, QEMU and virtiofsd have
 * written. With `--log`, descriptor MACHINE_LOG is a file in memory that the process that starts it
 * reads at any time, also after the end.
 */
#pragma once

#include <stdint.h>

/* With `--check` it says what a machine needs, and starts none: a line for each part, "NAME, THERE
 * or MISSING, where or why not, what to do", with tabs between them. It ends with 1 if one is
 * missing. */
#define MACHINE_THERE   "there"
#define MACHINE_MISSING "missing"

#define MACHINE_CONTROL 3

#define MACHINE_CONNECT 'c'
#define MACHINE_READY   'r'
#define MACHINE_FAILED  'f'

#define MACHINE_PACKET_MAX 1024

#define MACHINE_LOG       5
#define MACHINE_LOG_BYTES 65536

/* The last bytes: the one that was written as the n-th is at n % MACHINE_LOG_BYTES. */
struct machine_log {
    uint64_t total; /* bytes so far; counted when they are there */
    char ring[MACHINE_LOG_BYTES];
};

/* Directories of the host that programs may be granted (`--grant FD=PATH`: a detached mount), and
 * places in them that are not shown (`--hide PATH`). Their descriptors begin here. */
#define MACHINE_GRANTS     6
#define MACHINE_GRANTS_MAX 32
#define MACHINE_HIDDEN_MAX 255

/* In the machine: who owns the files of granted directories, and whose processes all sandboxes are
 * if there are any. */
#define MACHINE_OWNER 65537

/* Inside, the command's: one end of a pair of sockets (SOCK_SEQPACKET) that the first process of
 * the machine has made. Linux says of it who made it. */
#define MACHINE_PROOF 3

/* The serial port of the link, as the guest sees it. */
#define MACHINE_PORT "belljar.link"

/* Of the engine inside, in the machine. */
#define MACHINE_SOCKET "/run/belljar.sock"
