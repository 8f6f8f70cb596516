/* belljar-cluster: many machines, any gateway, any node, over NATS.
 *
 *     client -- HTTP --> gateway -- NATS --> node -- Unix socket --> belljar serve
 *
 * A machine has a name, NAME, which is that of the setting `node` of its engine: up to 12 lowercase
 * letters and digits, a letter first (base/id.h). A gateway and a node of one machine share it.
 *
 * Subjects. The server checks them, with a user for each role (a line is all that it may do):
 *
 *   subject                            published by        subscribed by    carries
 *   belljar.v1.node.NODE.GATE          gateway GATE        node NODE        frames of requests
 *   belljar.v1.gate.GATE.NODE          node NODE           gateway GATE     frames of answers
 *   belljar.v1.alive.node.NODE         node NODE           gateways, nodes  heartbeat (JSON)
 *   belljar.v1.alive.gate.GATE         gateway GATE        nodes            heartbeat (JSON)
 *   belljar.v1.order.NODE              operators           node NODE        "drain", "resume"
 *   belljar.v1.tokens.changed          operators           nodes            nothing
 *   belljar.v1.tokens.node.NODE        the server          node NODE        the list of tokens
 *   belljar.v1.job.>                   nodes               the stream       copies of jobs, sealed
 *   belljar.v1.jobs.node.NODE.N        the server          node NODE        answers about them
 *   belljar.v1.trail.NODE              node NODE           the server       heads of its trail
 *   belljar.v1.trails.node.NODE        the server          node NODE        whether they are kept
 *   belljar.v1.store.>                 nodes               the stream       skills, states, sealed
 *   belljar.v1.stores.node.NODE.N      the server          node NODE        answers about them
 *
 *   gateway NAME  publish   belljar.v1.node.*.NAME, belljar.v1.alive.gate.NAME
 *                 subscribe belljar.v1.gate.NAME.*, belljar.v1.alive.node.*
 *   node NAME     publish   belljar.v1.gate.*.NAME, belljar.v1.alive.node.NAME,
 *                           belljar.v1.trail.NAME
 *                 subscribe belljar.v1.node.NAME.*, belljar.v1.alive.*.*, belljar.v1.order.NAME,
 *                           belljar.v1.tokens.changed, belljar.v1.tokens.node.NAME,
 *                           belljar.v1.jobs.node.NAME.*, belljar.v1.trails.node.NAME,
 *                           belljar.v1.stores.node.NAME.*
 *   operator      publish   belljar.v1.order.*, belljar.v1.tokens.changed
 *                 subscribe belljar.v1.alive.*.*, _INBOX.>
 *
 * An order is a request: the node answers it on the reply subject, so a node also may publish to
 * _INBOX.> (allow_responses). The last token of a subject is who sent it; since the server lets
 * nobody else publish there, it is the only thing that is believed of a frame.
 *
 * Names of sessions and idempotency keys are buckets of JetStream, `belljar_names` and
 * `belljar_keys` (cluster/keep.h). For them a gateway may also publish $KV.belljar_names.> and
 * $KV.belljar_keys.>, subscribe $KV.belljar_names.> and _INBOX.>, and publish $JS.API.INFO and,
 * below $JS.API.STREAM, INFO, CREATE, UPDATE and MSG.GET, each of KV_belljar_names and
 * KV_belljar_keys.
 *
 * The list of tokens is in the bucket `belljar_tokens` (cluster/token_list.h). An operator may
 * publish $KV.belljar_tokens.all, $JS.API.INFO and, below $JS.API.STREAM, INFO, CREATE and MSG.GET
 * of KV_belljar_tokens; a node MSG.GET alone, whose answer it has sent to
 * belljar.v1.tokens.node.NAME.
 *
 * Copies of durable jobs are the stream `belljar_jobs` (cluster/job_table.h). For it a node may
 * also publish belljar.v1.job.> and, below $JS.API.STREAM, INFO, CREATE, MSG.GET and MSG.DELETE of
 * belljar_jobs.
 * Skills and states are the stream `belljar_store` (cluster/store_link.h). For it a node may also
 * publish belljar.v1.store.> and, below $JS.API.STREAM, INFO, CREATE, MSG.GET and MSG.DELETE of
 * belljar_store; an operator all but CREATE, for what removed tokens have left.
 * Signed heads of the nodes' trails are in the stream `belljar_trails` (cluster/trail_ship.h),
 * which a node may make ($JS.API.STREAM.CREATE) and an operator read ($JS.API.STREAM.MSG.GET).
 *
 * Frames. 32 bytes, little endian, then the payload, at most 64 KiB. cluster/frame.c is the one
 * place that reads them. A message is one or more of them, one behind the other, of any exchanges
 * (cluster/outbox.h).
 *
 *    0  u8   version, 1
 *    1  u8   type
 *    2  u8   flags: 1 = the last numbered frame of its direction
 *    3  u8   0
 *    4  u32  bytes of the payload: all that follows
 *    8  u64  instance of the gateway's process: random
 *   16  u64  exchange: a number of that process, never used twice
 *   24  u64  number
 *
 *   type     from     number        payload
 *   OPEN     gateway  0             u32 flags (1: fresh work, wait for GO), then the head of the
 *                                   request: "METHOD TARGET HTTP/1.1" and its headers
 *   GO       gateway  its own       none: the node may begin fresh work
 *   HEAD     node     0             the head of the answer
 *   DATA     both     its own       bytes of the body, without its framing
 *   VERDICT  node     0             u32: in its low 8 bits 1 accepted, 2 no room, 3 draining, 4 the
 *                                   engine is away; above them the room of the node now
 *   ACK      both     the next one  none: all before it has been used and need not be kept
 *   AGAIN    both     the next one  none: frames from it on are missing; send them again
 *   STATE    both     the next one  none: what the sender would send next; answered by ACK, AGAIN
 *                                   or, by whoever does not know the exchange, RESET
 *   RESET    both     0             u32 reason: the exchange is over, what was begun is cancelled
 *
 * OPEN, GO, HEAD and DATA are numbered, each direction from 0. A sender keeps what was not
 * acknowledged, at most CLUSTER_WINDOW bytes, and then waits: so a slow client stops the program. A
 * gap is asked for again; where it cannot be filled, the exchange is reset, and the client told.
 *
 * Fresh work, which any node may do, begins with GO, and GO is sent to one node only, after it has
 * said that it accepts. So a node that was asked and is silent has not begun anything.
 *
 * What comes after a gap in the heartbeats of its gateway may be older than the gateway's patience:
 * the node says STATE, and begins it when that is answered by ACK.
 *
 * Heartbeats, every CLUSTER_BEAT_MS, are JSON (cluster/beat.h). Who is silent for CLUSTER_LOST_MS
 * is gone. Its clock is reported, never used.
 *
 * Nothing that a frame says is believed beyond what a client could say: the node gives the request
 * to a socket of the engine on which every request needs a token (`cluster_socket`).
 */
#pragma once

#include <stdint.h>

#include "base/limits.h"

#define CLUSTER_SUBJECTS    "belljar.v1"
#define CLUSTER_SUBJECT_MAX 80

#define CLUSTER_PAYLOAD_MAX (64 * KIB)
#define CLUSTER_WINDOW      (256 * KIB)

#define CLUSTER_BEAT_MS 300
#define CLUSTER_LOST_MS 1000

/* A node that was asked for fresh work and has said nothing. */
#define CLUSTER_SILENT_MS 250

/* Nodes, and gateways, that are known at a time. */
#define CLUSTER_NAMES_MAX 256
