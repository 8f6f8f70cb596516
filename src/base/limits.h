/* Every fixed ceiling of the program, each with its reason. What a request may ask for is in
 * the table of base/run_limits.h; these are the bounds nobody may pass.
 */
#pragma once

#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

/* Source text. A model writes a few kB; a megabyte is generous and still parses in well under a
 * second. */
#define LIMIT_CODE_BYTES MIB

/* Kept per stream of one run in memory, head and tail together: the most an answer carries. */
#define LIMIT_OUTPUT_BYTES_MAX (16 * MIB)

/* The JSON form of a result that is still read. The guest cuts its texts at a megabyte
 * (guest/report.h); a longer one is left out of the answer. */
#define LIMIT_RESULT_BYTES (4 * MIB)

/* Ports of one session: a program has a few servers, and each is a bit of a word. */
#define LIMIT_PORTS 16

/* Displays of one run: pictures for a model, for which a few hundred would be a flood. The bytes
 * are kept until the answer is written. */
#define LIMIT_DISPLAYS      100
#define LIMIT_DISPLAY_BYTES (16 * MIB)

/* Standard input handed to a run. */
#define LIMIT_STDIN_BYTES (64 * MIB)

/* A seed: as far as every reader of JSON counts. */
#define LIMIT_SEED ((UINT64_C(1) << 53) - 1)

/* Variables of --env: number, and bytes of one "NAME=value". */
#define LIMIT_ENV_COUNT 128
#define LIMIT_ENV_BYTES (32 * KIB)

/* Arguments of a program: number, and bytes of all together. */
#define LIMIT_ARGS_COUNT 128
#define LIMIT_ARGS_BYTES (128 * KIB)

/* Words of a command, and their bytes together: what a shell makes of `*` in a large directory. As
 * a line of a shell it is longer where words are quoted. */
#define LIMIT_COMMAND_WORDS 16384
#define LIMIT_COMMAND_BYTES MIB
#define LIMIT_COMMAND_LINE  (4 * MIB)

/* Directories of --allow: each is a mount of its own in the sandbox. */
#define LIMIT_GRANTS 32

/* Changes of one run in granted directories that are recorded for undo: a build of a large project,
 * or all files of a large repository. The broker keeps about 100 bytes for each. */
#define LIMIT_UNDO_ENTRIES 1500000

/* Text of one journal, which an undo reads as a whole. The record of an undo may need more than the
 * one it follows: something that was removed is made in two lines. The seal adds to both, a short
 * line for each change at most, within what is read. */
#define LIMIT_UNDO_TEXT      (256 * MIB)
#define LIMIT_UNDO_TEXT_OWN  (1024 * MIB)
#define LIMIT_UNDO_TEXT_READ (2048 * MIB)

/* Runs in one list of those that can be undone. */
#define LIMIT_UNDO_LISTED 1000

/* Copy-on-write ones among them: each is a file system of its own in the sandbox, and two
 * descriptors here. */
#define LIMIT_COW_GRANTS 8

/* Snapshots of sessions that one token has. Their bytes have a share, too (session_kept_mb); each
 * keeps up to a dozen descriptors open, and an interpreter alive. */
#define LIMIT_SNAPSHOTS 16

/* Violations listed for one refused program: enough to mend it in one go, not enough to flood a
 * model. */
#define LIMIT_VIOLATIONS 100

/* A profile or configuration file. */
#define LIMIT_CONFIG_BYTES MIB

/* Sandboxes alive at once in one supervisor: descriptors (about eight each) are the scarce thing.
 */
#define LIMIT_SANDBOXES 16384

/* Time limits for making one sandbox, and for starting a zygote with all its imports. Both take
 * milliseconds to seconds on any machine; an emulated one is a hundred times slower. */
#define LIMIT_MAKING_MS 120000
#define LIMIT_ZYGOTE_MS 300000

/* Files in a sandbox, seen from outside. A walk looks at so many names, goes so deep and keeps so
 * many bytes of paths; what is beyond is said to be missing. Twenty thousand names are more than
 * the default disk has room for and take some ten ms, for which everything else waits. */
#define LIMIT_FILES_WALK  20000
#define LIMIT_FILES_DEPTH 64
#define LIMIT_FILES_PATHS (4 * MIB)

/* Bytes of paths in one page of a listing: an odd character becomes several in the answer. */
#define LIMIT_FILES_PAGE (512 * KIB)

/* New and changed files named in one answer, and files that are gone: a model reads a list of this
 * length, and the file listing has the rest. */
#define LIMIT_FILES_NAMED 100

/* Patterns of one request to collect files; files that an answer carries, and their bytes together:
 * more is fetched one by one. */
#define LIMIT_FILES_PATTERNS  32
#define LIMIT_FILES_COLLECTED 100
#define LIMIT_COLLECTED_BYTES (16 * MIB)

/* Changes in copy-on-write grants. A file of which a diff is made; bytes of all diffs in one
 * answer, which a person or a model reads; and bytes of files that are compared line by line for
 * one. */
#define LIMIT_DIFF_FILE  (256 * KIB)
#define LIMIT_DIFF_BYTES MIB
#define LIMIT_DIFF_READ  (32 * MIB)

/* Files that come with one request. Each is a few system calls, for which everything else waits;
 * their bytes are bounded by the request's. */
#define LIMIT_FILES_GIVEN 100

/* The whole output of a stream, on disk: sixty-four times what is kept in memory by default. All
 * streams of a server together, until the operator says otherwise. */
#define LIMIT_SPOOL_BYTES (64 * MIB)
#define LIMIT_SPOOL_TOTAL (1024 * MIB)

/* Commands beside the cells of sessions. What all that run may come to hold in memory: the kept
 * output of both streams, and for each its pipes, masks and lists. Runs and cells are bounded by
 * their number, and a session has many commands. */
#define LIMIT_COMMANDS_TOTAL (1024 * MIB)
#define LIMIT_COMMAND_COST   (256 * KIB)

/* Read of it in one call; and the longest line that is searched in one piece. */
#define LIMIT_SPOOL_PAGE MIB
#define LIMIT_SPOOL_LINE (64 * KIB)

/* Memory for the values of one JSON text, beside their bytes: some forty thousand objects, or a
 * hundred and thirty thousand numbers. Reading that much is two hundredths of a second for which
 * everything else waits. And the longest number: no double has more digits. */
#define LIMIT_JSON_MEMORY (8 * MIB)
#define LIMIT_JSON_NUMBER 1100

/* The id of an MCP request, and its progress token: both are repeated in every message about it. */
#define LIMIT_MCP_ID_BYTES 256

/* A regular expression of a client, and the memory of the machine it becomes. */
#define LIMIT_PATTERN_BYTES  KIB
#define LIMIT_PATTERN_MEMORY (256 * KIB)

/* Calls that a program may make in one run, each of which is a record of the trail; and the bytes
 * of answers that are kept for a program that does not read them. */
#define LIMIT_CALLS         10000
#define LIMIT_REPLIES_BYTES (8 * MIB)

/* One skill that is a module, the versions of it that can be gone back to, and skills of one owner,
 * in number and in bytes with all versions. */
#define LIMIT_SKILL_BYTES    (256 * KIB)
#define LIMIT_SKILL_VERSIONS 10
#define LIMIT_SKILLS         64
#define LIMIT_SKILLS_BYTES   (64 * MIB)
#define LIMIT_SKILL_HISTORY  (8 * MIB) /* of one, its last two versions apart */

/* One that is a folder: the largest that people share have some sixty files and two MiB. Its ZIP
 * file is no larger, directories in it included; what shrinks to less than a two-hundredth is a
 * bomb. Skills for everybody in one directory; and files that all skills of one program have. */
#define LIMIT_FOLDER_FILES   100
#define LIMIT_FOLDER_BYTES   (4 * MIB)
#define LIMIT_FOLDER_ENTRIES 400
#define LIMIT_FOLDER_RATIO   200
#define LIMIT_SHELF          256
#define LIMIT_SKILLS_GIVEN   200

/* Data kept between runs. One state: room for a list of thousands of files with what was done to
 * each, which a model has to read. Earlier saves of one name, by number and by bytes; names of one
 * owner, bytes of all states of an owner; and the whole file, for all owners. */
#define LIMIT_STATE_BYTES  MIB
#define LIMIT_WORK_HISTORY 100
#define LIMIT_WORK_BYTES   (8 * MIB)
#define LIMIT_WORKS        256
#define LIMIT_OWNER_BYTES  (64 * MIB)
#define LIMIT_STORE_BYTES  (1024 * MIB)

/* The longest time that a session may be idle, or live. */
#define LIMIT_SESSION_CLOCK_S 2592000 /* 30 days */

/* Durable jobs (store/job_record.h). The body of one: a program, its input and small files; it is
 * written to the disk in one go. The text of one result, which is written in pieces. What one owner
 * may keep before new jobs are refused, and the file, for all owners: a few hundred results of the
 * usual size for each, and room for those that are under way when an owner's is full. */
#define LIMIT_JOB_BODY         (4 * MIB)
#define LIMIT_JOB_RESULT       (32 * MIB)
#define LIMIT_JOBS_OWNER_BYTES (256 * MIB)
#define LIMIT_JOBS_BYTES       (4096 * MIB)
#define LIMIT_JOB_ATTEMPTS     20
#define LIMIT_JOB_KEEP_S       2592000 /* 30 days */
#define LIMIT_JOB_DELAY_S      604800  /* a week */

/* Other MCP servers (upstream/upstream.h). One message of theirs: what a program can take as the
 * answer of one call, and a little for what is around it. Reading it holds everything else for some
 * ten milliseconds. A line that goes on for longer than the second number has no end. */
#define LIMIT_UPSTREAM_MESSAGE (5 * MIB)
#define LIMIT_UPSTREAM_LINE    (64 * MIB)
#define LIMIT_UPSTREAM_DEPTH   64

/* Tools of one server, the pages of their list, and what is kept of one: a model reads a
 * description, nobody reads a hundred thousand characters of it. */
#define LIMIT_UPSTREAM_TOOLS       512
#define LIMIT_UPSTREAM_PAGES       64
#define LIMIT_UPSTREAM_DESCRIPTION (8 * KIB)
#define LIMIT_UPSTREAM_SCHEMA      (64 * KIB)

/* Calls of one server under way, of all sandboxes together. */
#define LIMIT_UPSTREAM_CALLS 256

/* Hosts granted to one sandbox: more are a mistake in a list, and each request looks at all. */
#define LIMIT_NET_GRANTS 128

/* The gate to granted hosts. Connections of one sandbox at once, and of all: each is two
 * descriptors and some buffers of the supervisor's. More of a sandbox wait in it; a token has a
 * share of all, and more are refused. Lookups at once: each is a process; more wait, and sandboxes
 * take turns. */
#define LIMIT_NET_OPEN         64
#define LIMIT_NET_OPEN_ALL     2048
#define LIMIT_NET_LOOKUPS      16
#define LIMIT_NET_LOOKUPS_EACH 4

/* Hosts that somebody is asked for (base/net.h): questions of one run, hosts that one sandbox
 * remembers the answers for, and the time that an answer may take. Hosts that are remembered for
 * good, in a file. */
#define LIMIT_NET_QUESTIONS  8
#define LIMIT_NET_ASKED      64
#define LIMIT_NET_QUESTION_S 300
#define LIMIT_NET_REMEMBERED 1000

/* A line of standard input that a client is asked for, and the time that it may take. */
#define LIMIT_INPUT_LINE_BYTES (64 * KIB)
#define LIMIT_INPUT_LINE_S     300

/* Of one sandbox in its life: what a crawler makes in a day, and an endless loop in minutes. */
#define LIMIT_NET_TOTAL 100000

/* Time limits of a connection: for its request, for connecting, without a byte, and in all. */
#define LIMIT_NET_ASK_S    30
#define LIMIT_NET_LOOKUP_S 20
#define LIMIT_NET_MAKE_S   60
#define LIMIT_NET_IDLE_S   300
#define LIMIT_NET_LIFE_S   3600

/* Refusals listed in the result of one program, and the bytes of one text in that list; further
 * refusals are counted. */
#define LIMIT_DENIALS      32
#define LIMIT_DENIAL_BYTES ((size_t)512)

/* Refusals that an answer lists, and connections of one sandbox that the trail has one by one;
 * those beyond are counted. */
#define LIMIT_NET_REFUSED 20
#define LIMIT_NET_RECORDS 1000
