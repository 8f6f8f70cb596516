/* A body that came as a form: its fields as the JSON object they stand for, and its files.
 *
 * A part named `files` is a file, under its file name. One named `request` is the JSON object
 * itself. Any other is a field of the route's body, written as text.
 */
#pragma once

#include "http/request.h"

/* Fills request->json and request->parts. */
int form_read(struct request *request, struct error *err);
