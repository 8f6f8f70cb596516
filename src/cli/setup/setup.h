/* The parts of `belljar setup`: the known clients and how a server is added to each, their files,
 * the diff, and the check by the client itself. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/limits.h"

/* A client's file. Claude Code keeps its history in the same one, which grows to some megabytes. */
#define SETUP_FILE_BYTES (64 * MIB)

/* --- clients --- */

enum setup_format { SETUP_JSON, SETUP_TOML };

struct setup_client {
    const char *name;
    const char *title;
    const char *home_variable; /* of the environment: replaces `dir` where it is set; or NULL */
    const char *dir;           /* from the home directory; "~config": from $XDG_CONFIG_HOME */
    const char *file;          /* from there */
    const char *project_file;  /* from a project's directory; NULL: it has no file for projects */
    enum setup_format format;
    const char *section; /* the key its servers stand under */
    bool has_type;       /* its entries say that they are programs */
    const char *program; /* that lists its servers with `mcp list`; NULL: there is none */
    const char *after;   /* what is left to do */
};

extern const struct setup_client setup_clients[];
extern const size_t setup_clients_count;

const struct setup_client *setup_client_find(const char *name, struct error *err);

/* The client's file, which need not be there. The caller frees it. */
char *setup_client_path(const struct setup_client *client, struct error *err);

/* Its settings, or the folder that they are in, are there. */
bool setup_client_is_here(const struct setup_client *client);

/* The path for the project in the current directory. */
char *setup_client_project_path(const struct setup_client *client, struct error *err);

/* The entry for this client, which the caller owns. `args` is an array. */
json_t *setup_client_entry(const struct setup_client *client, const char *command, json_t *args,
                           struct error *err);

/* The entry of that name in the text of its file, as cli/setup/jsonc.h and cli/setup/toml_edit.h do
 * it. */
int setup_client_get(const struct setup_client *client, const struct buf *text, const char *name,
                     json_t **ret_entry, struct error *err);
int setup_client_put(const struct setup_client *client, const struct buf *text, const char *name,
                     const json_t *entry, struct buf *out, struct error *err);
int setup_client_remove(const struct setup_client *client, const struct buf *text, const char *name,
                        struct buf *out, struct error *err);

/* --- files --- */

struct setup_file {
    char *path;   /* links followed */
    char *backup; /* the file beside it that holds what was there before us */
    bool is_there;
    struct stat before;
    struct buf text;
};

/* A file that is not there is empty. */
int setup_file_read(struct setup_file *file, const char *path, struct error *err);
void setup_file_done(struct setup_file *file);

/* Puts the text in its place at once, with the mode and owner that it had. E_BUSY: somebody has
 * written it since it was read. */
int setup_file_write(const struct setup_file *file, const struct buf *text, struct error *err);
int setup_file_delete(const struct setup_file *file, struct error *err);

/* The path of the backup. */
int setup_file_write_backup(const struct setup_file *file, struct error *err);
bool setup_file_read_backup(const struct setup_file *file, struct buf *text);

/* --- the rest --- */

/* The change as a unified diff, for people: one hunk, long lines cut. */
int setup_diff(const char *path, const struct buf *before, const struct buf *after, struct buf *out,
               struct error *err);

enum setup_verdict { SETUP_CONNECTS, SETUP_IS_LISTED, SETUP_FAILS, SETUP_NOT_INSTALLED };

/* Asks the client. *line is what it says about the entry, or "". */
int setup_verify(const struct setup_client *client, const char *name,
                 enum setup_verdict *ret_verdict, struct buf *line, struct error *err);
