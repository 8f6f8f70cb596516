/* Points in time as people and other programs write them: RFC 3339, UTC. */
#pragma once

#include <stdint.h>
#include <time.h>

#define DATE_SIZE 32

/* 2026-01-31T12:00:00Z */
void date_seconds(time_t at, char text[DATE_SIZE]);

/* 2026-01-31T12:00:00.000Z */
void date_millis(const struct timespec *at, char text[DATE_SIZE]);
void date_millis_now(char text[DATE_SIZE]);

/* Milliseconds of the wall clock since 1970. */
int64_t date_now_ms(void);

/* Reads a date as date_millis() writes it: milliseconds since 1970. -1: it is none. */
int64_t date_read_millis(const char *text);
