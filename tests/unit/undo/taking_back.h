/* Undos of the runs of a scene, programs to undo, and what is expected of a report. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "undo/undo.h"

extern struct undo_report report; /* of the latest undo */
extern const char *lock;          /* of the write brokers */

/* For setup and teardown of a test. */
int undo_enter(void **state);
int undo_leave(void **state);

#define UNDO_TEST(name) TEST_WITH(name, undo_enter, undo_leave)

/* Undoes a run, with a journal of its own under the name `as`. */
void undo(const char *run, const char *as);
void undo_with(const char *run, struct journal *own, int64_t ended_ns);
void rehearse(const char *run);

/* As if no undo of this run had been made yet; none at all. */
void forget_steps(void);
void number_was_of_another(const char *path);
void forget_undos(void);

void assert_as(const char *expected); /* a snapshot() */
void assert_no_conflict(void);
void assert_conflict(const char *path, const char *part);
const struct undo_item *item(const char *path);

/* There, back, there again and back again; a rehearsal says the same and touches nothing. */
void round_trip(void (*program)(void));

/* A moment, so that times differ. */
void later(void);

/* --- programs --- */

void fill_grant(void); /* what was there before */

void write_and_append(void);
void create_all_kinds(void);
void remove_all_kinds(void);
void rename_all_kinds(void);
void change_attributes(void);
void save_as_editors_do(void);
void swap_places(void);
void replace_kinds(void);
void pass_through(void);
void hard_links(void);
void hard_links_that_go(void);
void closed_files(void);
void same_names_again(void);
void odd_names(void);

/* All of them but the last. */
extern void (*const programs[])(void);
extern const size_t n_programs;
