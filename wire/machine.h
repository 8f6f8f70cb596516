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
 * are bytes of a stranger.
 */
#pragma once

#define MACHINE_CONTROL 3

#define MACHINE_CONNECT 'c'
#define MACHINE_READY   'r'
#define MACHINE_FAILED  'f'

#define MACHINE_PACKET_MAX 1024

/* Of the engine inside, in the machine. */
#define MACHINE_SOCKET "/run/belljar.sock"
