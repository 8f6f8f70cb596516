/* Looks for inputs that keep a fuzz target busy. It changes inputs of a corpus at random and keeps
 * those that cost most for each byte: the cost is the feedback, where libFuzzer has coverage.
 *
 * The cost is counted in instructions, which do not depend on what else the host does; where the
 * kernel does not count them, it is CPU time.
 */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

typedef int target_fn(const uint8_t *data, size_t len);

/* Searches for so long, and leaves the most expensive inputs in the directory `out`. Returns 1 when
 * an input takes more CPU time than a turn of the server's loop may, each of three times: it is in
 * `out`, too. */
int slow_search(target_fn *target, DIR *corpus, uint64_t seconds, const char *out, uint64_t seed);
