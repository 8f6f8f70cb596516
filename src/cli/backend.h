/* The parts behind a server: `belljar serve` and `belljar mcp` open the same parts in the same
 * order, with options of their own in between, and free them in the opposite one.
 */
#pragma once

#include "api/api.h"
#include "base/config.h"
#include "base/log.h"
#include "engine/engine.h"

struct backend {
    struct config *config; /* the caller makes it, and reads it in */
    struct profiles *profiles;
    struct engine engine; /* with its sessions */
    struct spool_directory *spools;
    struct queue *queue;
    struct jobs *jobs;
    struct store *store; /* NULL: there is no place for it */
    struct metrics metrics;
    struct api api;
};

/* Opens the log on stderr as the settings say; `usual` takes the place of `info`, the default. */
void backend_open_log(const struct config *config, enum log_level usual);

/* Reads the profiles, and starts the engine. */
int backend_open_engine(struct backend *back, const struct engine_stock *stock, struct error *err);

/* From here on everything is recorded. */
int backend_open_sessions(struct backend *back, const struct recorder_options *recorder,
                          const struct sessions_options *sessions, struct error *err);

/* Fills in what `jobs` has of these parts, and the api. */
int backend_open_jobs(struct backend *back, const struct queue_options *queue,
                      struct jobs_options *jobs, struct error *err);

/* Ends every sandbox, then the queue and the jobs. Accepts what is not open. */
void backend_end_jobs(struct backend *back);

/* The rest, `config` included. */
void backend_done(struct backend *back);
