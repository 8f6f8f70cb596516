/* Work of one server that is done in processes of its own, and is not over yet. */
#pragma once

struct changes_jobs { /* changes.h */
    struct changes_job *first;
};

struct events;

struct undo_jobs { /* undo.h */
    struct undo_job *first;
    struct events *events; /* told of what was undone; or NULL */
};
