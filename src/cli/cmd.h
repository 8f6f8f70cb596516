/* The subcommands, one file each, and what they share: how a mistake is told and with which code
 * one leaves. */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"

/* Each gets its own name as argv[0] and returns the exit code of the program. */
int cmd_audit(int argc, char **argv);
int cmd_batch(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_cluster(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_environment(int argc, char **argv);
int cmd_mask(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_fetch(int argc, char **argv);   /* not for people: upstream/host.c */
int cmd_resolve(int argc, char **argv); /* not for people: base/resolve.h */
int cmd_jobs(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_machine(int argc, char **argv);
int cmd_console(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_session(int argc, char **argv);
int cmd_setup(int argc, char **argv);
int cmd_shell(int argc, char **argv);
int cmd_skills(int argc, char **argv);
int cmd_state(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_undo(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Belljar's own failure in `belljar run` and `belljar exec`, as `env` and `timeout` have it. */
#define CMD_EXIT_OWN 125

/* Before anything else: what hints have to know. */
void cmd_prepare(void);

/* Prints `belljar: message` and `hint: …` to stderr, in visible form; returns the exit code of the
 * table and empties the error. Says nothing if the reader of standard output went away, which wants
 * no more: the exit code is that of SIGPIPE. */
int cmd_fail(struct error *err);

/* Whether standard output is a pipe or socket that nobody reads any more, as of `belljar audit list
 * | head`. */
bool cmd_has_no_reader(void);

/* For `belljar run`, whose exit code is otherwise the program's: errors that the caller can fix
 * keep the code of the table; failures of Belljar or of this host (system, internal, protocol,
 * unsupported) become CMD_EXIT_OWN. */
int cmd_fail_run(struct error *err);

/* To stdout, for machines. NULL is one that could not be made for lack of memory. */
int cmd_print_json(const json_t *value, struct error *err);

/* `belljar: text` on stderr, in visible form; for struct trail_options. */
void cmd_note(void *user, const char *text);

/* An option that asks for no more than to be written down: its word, or that it was said. */
struct cmd_place {
    int answer; /* of cmd_getopt() */
    const char **word;
    bool *flag;
};

/* False: this answer has no place among them. */
bool cmd_put(const struct cmd_place *places, size_t count, int answer);

/* getopt_long() without abbreviations: `--allo` is not `--allow`, now or when a later version has
 * another option that begins like it. Begin `letters` with ':', or with "+:" where a program and
 * its arguments follow the options: then the first word that is not an option ends them.
 * `ret_index` may be NULL. */
int cmd_getopt(int argc, char **argv, const char *letters, const struct option *options,
               int *ret_index);

/* --help of a command lists the options that most people need; all of them with --help=all. */
extern bool cmd_help_is_whole;

/* Reads options all of which have a place, and -h. Returns 0, or the exit code + 1 when there is
 * nothing more to do. */
int cmd_read_options(int argc, char **argv, const struct option *options,
                     const struct cmd_place *places, size_t count, int (*help)(void));

/* Reads options with short forms of their own: `letters` as cmd_getopt() takes them. */
int cmd_read_letters(int argc, char **argv, const char *letters, const struct option *options,
                     const struct cmd_place *places, size_t count, int (*help)(void));

/* Reports an option for which cmd_getopt() returned '?' or ':' (set opterr to 0, begin the short
 * options with ':'), in one line with the nearest option. `answer` is that character, `command`
 * argv[0]. Returns the exit code. */
int cmd_bad_option(const char *command, int answer, char **argv, const struct option *options);

/* "list, show or rm" */
void cmd_list_words(const char *const *words, size_t count, char *text, size_t size);

/* The row whose name is `word`, of a table in which each row begins with its name. NULL: it is none
 * of them, or not given; *err says which there are, or the nearest. */
#define CMD_FIND_ACTION(command, word, actions, err)                                               \
    cmd_find_action(command, word, actions, ARRAY_SIZE(actions), sizeof((actions)[0]), err)
const void *cmd_find_action(const char *command, const char *word, const void *actions,
                            size_t count, size_t row_bytes, struct error *err);

/* "belljar COMMAND takes no argument `word`". */
int cmd_bad_argument(const char *command, const char *word);
