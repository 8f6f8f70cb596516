/* Removes what a program has left, with everything in it. Nobody may work on it any more. */
#pragma once

/* `name` in the directory `parent`, whatever it is and however deep. Links are removed, not
 * followed. Returns 0, or -1 with errno where something is left. */
int remove_tree(int parent, const char *name);
