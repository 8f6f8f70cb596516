/* Examines a directory that is granted for writing: finds files and directories below it that are
 * protected although their own names are not.
 *
 * A link with a protected name makes its target as good as the name itself; so does a second hard
 * link, and so does a line in git's configuration. The survey walks the whole directory once,
 * without a limit of depth, and remembers these by inode and by path. It is complete or it fails: a
 * grant that cannot be surveyed is not opened for writing.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "sandbox/protected.h"

struct survey;

/* Places outside the tree that lead into it: links in home directories, and git's settings of the
 * user and of the machine. A process that gives up rights collects it before. */
struct survey_outside;
int survey_outside_new(const char *path, struct survey_outside **ret_outside, struct error *err);
void survey_outside_free(struct survey_outside *outside); /* accepts NULL */

/* `dir` is a descriptor of the directory and `path` its absolute path on the host, without links.
 * Best is a descriptor on the detached mount through which files will be written: a directory on
 * which something else is mounted hides what is below it, and ends the survey with an error.
 * Directories that the acting user can neither read nor owns are passed over. Inode numbers are
 * those that fstat() shows through `dir`. */
int survey_new(int dir, const char *path, struct survey **ret_survey, struct error *err);
int survey_new_with(int dir, const char *path, const struct survey_outside *outside,
                    struct survey **ret_survey, struct error *err);
void survey_free(struct survey *survey); /* accepts NULL */

/* Surveys a directory whose changes are reviewed: what cannot be opened, or has something else
 * mounted on it, is passed over. Nobody can have changed anything in there, and no tool of the
 * user's finds a link there. */
int survey_new_for_review(int dir, const char *path, struct survey **ret_survey, struct error *err);

/* A file or directory that is protected, whatever its name. */
const struct protected_name *survey_judge(const struct survey *survey, dev_t dev, ino_t ino);

/* Whether there is a directory among them. Then each directory on the way to a place has to be
 * judged, too. */
bool survey_has_directories(const struct survey *survey);

/* A place (relative to the grant, resolved) where nothing may come into being, or change:
 * `local/envrc` where `.envrc` is a link to it, or anything below such a place. */
const struct protected_name *survey_judge_path(const struct survey *survey,
                                               const char *relative_path);

/* As protected_judge_data(), for git directories that the survey found under other names. */
enum protected_data survey_judge_data(const struct survey *survey, const char *relative_path);

/* In addition, for something that is moved, linked or made as a link at this place: would it bring
 * a protected place along, or hide one? `dir` as in protected_judge_move(), -1 for a new link. */
const struct protected_name *survey_judge_move(const struct survey *survey, int dir,
                                               const char *relative_path);

/* A directory somewhere below which there is something protected: it cannot be renamed or removed.
 */
bool survey_holds_protected(const struct survey *survey, dev_t dev, ino_t ino);
