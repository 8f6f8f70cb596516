/* Packages that a session has installed for its user, as pip does without a virtual environment.
 *
 * Python looks for their directory when it starts, when there is none yet. A notebook installs a
 * package in one line and imports it in the next, so the directory is looked for again.
 */
#pragma once

/* From now on, for programs that may import what they like. */
void user_packages_begin(void);

/* Before a cell, and after a command of one. Once the directory is there, it is in sys.path where
 * Python would have put it, and its .pth files have been read. */
void user_packages_look(void);
