/* belljar audit: shared by its parts. */
#pragma once

#include <stdbool.h>

#include "audit/index.h"
#include "audit/when.h"
#include "base/buf.h"
#include "base/config.h"
#include "base/error.h"
#include "cli/server.h"

/* The words of the command line beside those of struct audit. */
struct audit_cluster {
    bool is_asked;
    const char *config; /* cluster.toml */
    struct server_place place;
};

struct audit {
    struct config *config;
    const char *config_path;
    const char *key_path; /* of a public key, instead of our own */
    const char *against;  /* a receipt or a head that is kept elsewhere */
    char *dir;
    struct index_filter filter;
    char since[40], until[40];
    bool is_json;
    bool has_limit;
    struct audit_cluster cluster;
};

/* --- audit_list.c --- */

int audit_list(struct audit *audit, char **words, struct error *err);
int audit_export(struct audit *audit, char **words, struct error *err);
int audit_follow(struct audit *audit, char **words, struct error *err);

/* --- audit_show.c --- */

int audit_show(struct audit *audit, char **words, struct error *err);

/* --- audit_replay.c; 1: something differs, and has been said --- */

int audit_replay(struct audit *audit, char **words, struct error *err);

/* --- audit_check.c; 1: something is wrong, and has been said --- */

int audit_verify(struct audit *audit, char **words, struct error *err);
int audit_check_receipt(struct audit *audit, char **words, struct error *err);
int audit_key(struct audit *audit, char **words, struct error *err);
int audit_head(struct audit *audit, char **words, struct error *err);

/* --- audit_cluster.c: the trails of all machines --- */

/* 1: something is wrong, and has been said. */
int audit_verify_cluster(struct audit *audit, struct error *err);

/* All of stdout, in one piece. */
int audit_print(const struct buf *text, struct error *err);
