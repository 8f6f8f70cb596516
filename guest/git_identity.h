/* Settings of git that say who commits, made of two variables of the program (wire/message.h). */
#pragma once

/* Writes WIRE_GIT_CONFIG if the variables are there and git is told to read it. Failing is no
 * error: git then says that it does not know who commits. */
void git_identity_write(void);
