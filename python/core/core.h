/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core.h - resplit.h for Python: what the files of the extension module share.
 *
 * Objects of the library are capsules, which end them when nobody holds them any more. Functions take positional
 * arguments only, and believe that the Python side has made them what they are said to be; what a user can get wrong is
 * wrong with the library's words. The interpreter is free while the library works.
 */
#ifndef CORE_H
#define CORE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000 /* 3.11: the first with buffers */
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "resplit.h"

/* ---- convert.c ---- */

/* Raises what went wrong as a class of resplit._errors. Always NULL. */
PyObject *core_raise(const resplit_error *err);

/* A list of integers, or None; count -1: None. For O& in PyArg_ParseTuple. */
typedef struct core_list {
    int count;
    int64_t value[RESPLIT_MAX_NDIM];
} core_list;
int core_take_list(PyObject *object, void *list);
static inline const int64_t *core_list_or_null(const core_list *list)
{
    return list->count >= 0 ? list->value : NULL;
}

/* How axes are cut: of each a length, or a list of lengths; or None. Cleans up after itself when parsing fails. */
typedef struct core_chunks {
    int count;
    resplit_chunks axis[RESPLIT_MAX_NDIM];
    int64_t *lengths[RESPLIT_MAX_NDIM]; /* owned */
} core_chunks;
int core_take_chunks(PyObject *object, void *chunks);
void core_chunks_release(core_chunks *chunks);

/* A path as bytes, or NULL for None. */
int core_take_path(PyObject *object, void *bytes);
static inline const char *core_path(PyObject *bytes)
{
    return bytes != NULL ? PyBytes_AsString(bytes) : NULL;
}

/* Adds to a dictionary, and drops the value. False: one of the two failed. */
int core_set(PyObject *dict, const char *key, PyObject *value);

PyObject *core_tuple(int n, const int64_t *values);
PyObject *core_text(const char *text);      /* None for NULL */
PyObject *core_path_text(const char *path); /* the same for paths, which need not be UTF-8 */
PyObject *core_chunks_tuple(int ndim, const resplit_chunks *chunks);
PyObject *core_cost(const resplit_cost *cost);

/* ---- Capsules ---- */

#define CORE_ARRAY "resplit.array"
#define CORE_PLAN "resplit.plan"
#define CORE_GROUP "resplit.group"

/* Of a capsule of this kind; raises for any other. For O&. */
int core_take_array(PyObject *object, void *array);
int core_take_plan(PyObject *object, void *plan);

/* Takes the object, also when that fails. */
PyObject *core_array_capsule(resplit_array *array);
PyObject *core_plan_capsule(resplit_plan *plan);

/* ---- run.c ---- */

/* Who is told of progress, and how the interpreter is entered for that. */
typedef struct core_progress {
    PyObject *callable; /* or None */
    PyThreadState *thread;
    PyObject *raised; /* what it, or a signal, raised; owned; else NULL */
} core_progress;

/* Options of a run as the Python side gives them: (progress, io, direct, sync, threads, resume). */
typedef struct core_options {
    core_progress progress;
    resplit_run_options run;
} core_options;
int core_take_options(PyObject *tuple, void *options);

/* Raises what stopped a call: what a callback raised, or what went wrong. */
PyObject *core_raise_of(core_options *options, const resplit_error *err);

/* What a run did, as a dictionary. */
PyObject *core_result(const resplit_result *result);

/* Without the interpreter; callbacks of these options enter it. */
#define CORE_WORK(options, call)                                                                                       \
    do {                                                                                                               \
        (options)->progress.thread = PyEval_SaveThread();                                                              \
        (call);                                                                                                        \
        PyEval_RestoreThread((options)->progress.thread);                                                              \
    } while (0)

/* ---- The functions, by file ---- */

extern PyMethodDef core_array_methods[], core_plan_methods[], core_run_methods[], core_group_methods[],
    core_part_methods[];

#endif
