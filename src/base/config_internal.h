/* Shared by the files of base/config. */
#pragma once

#include "base/config.h"

/* The source of a value. */
struct config_source {
    enum config_origin origin;
    const char *file; /* of struct config.files */
    int line;
    const char *name; /* of the flag, or of the environment variable; there NULL stands for
                         BELLJAR_<NAME> */
};

/* Takes a value, unless a stronger source has already given one. */
int config_set_text(struct config *config, const struct config_option *option,
                    const struct config_source *source, const char *text, struct error *err);
int config_set_json(struct config *config, const struct config_option *option,
                    const struct config_source *source, const json_t *value, struct error *err);

/* Fails when a value passes the ceiling another option holds; a default is lowered to it instead.
 */
int config_check_ceiling(struct config *config, const struct config_option *option,
                         struct error *err);

/* "<subject>: read `…`, expected …", E_INVALID. */
int config_mistake(const struct config *config, const struct config_option *option,
                   const struct config_source *source, const char *read, struct error *err);

/* A host of a list, in a file: text, or a table {host, methods, header, private}. The text of it,
 * checked, which the caller frees. NULL: *err says why. */
char *config_net_text(const json_t *item, struct error *err);

/* Puts the limits of config_follow_machine() where nobody has set others. */
void config_apply_machine(struct config *config);

/* The default of an option as the help of that command shows it. */
const char *config_own_fallback(const struct config_option *option, const char *command);

/* Sets one that is a number, in range or not. */
void config_put_number(const struct config *config, const struct config_option *option,
                       double number);

/* The value of an option that is a number. */
double config_number(const struct config *config, const struct config_option *option);

/* The option that holds the most a limit may be set to, or NULL. */
const struct config_option *config_ceiling(const struct config_option *option);

struct config_source *config_source_of(const struct config *config,
                                       const struct config_option *option);
void *config_field(const struct config *config, const struct config_option *option);
