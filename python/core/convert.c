/* SPDX-License-Identifier: BSD-3-Clause */
/* convert.c - values between Python and the library. */
#include "core.h"

#include <stdlib.h>

/* ---- Errors -------------------------------------------------------------------------------- */

PyObject *core_raise(const resplit_error *err)
{
    PyObject *module = PyImport_ImportModule("resplit._errors");
    PyObject *message = PyUnicode_DecodeFSDefault(err->message), *raised = NULL;
    if (module != NULL && message != NULL) {
        raised = PyObject_CallMethod(module, "from_core", "sOiLO", resplit_status_name(err->code), message,
                                     err->sys_errno, (long long)err->needed_bytes, err->resumable ? Py_True : Py_False);
    }
    if (raised != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    }
    Py_XDECREF(raised);
    Py_XDECREF(message);
    Py_XDECREF(module);
    return NULL;
}

/* ---- From Python --------------------------------------------------------------------------- */

/* At most `most` integers of a sequence; -1: it raised. */
static Py_ssize_t take_integers(PyObject *object, Py_ssize_t most, int64_t *out)
{
    Py_ssize_t n = PySequence_Size(object);
    if (n > most) {
        PyErr_Format(PyExc_ValueError, "%zd axes were given; at most %d are handled", n, RESPLIT_MAX_NDIM);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        out[i] = item != NULL ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred() != NULL) {
            return -1;
        }
    }
    return n;
}

int core_take_list(PyObject *object, void *list)
{
    core_list *out = list;
    out->count = -1;
    if (object == Py_None) {
        return 1;
    }
    Py_ssize_t n = take_integers(object, RESPLIT_MAX_NDIM, out->value);
    out->count = (int)n;
    return n >= 0;
}

void core_chunks_release(core_chunks *chunks)
{
    for (int d = 0; d < RESPLIT_MAX_NDIM; d++) {
        free(chunks->lengths[d]);
        chunks->lengths[d] = NULL;
    }
}

/* One axis: an integer, or a list of them. */
static int take_axis(PyObject *item, int d, core_chunks *out)
{
    if (PyLong_Check(item)) {
        out->axis[d] = (resplit_chunks){.length = PyLong_AsLongLong(item)};
        return PyErr_Occurred() == NULL;
    }
    Py_ssize_t n = PySequence_Size(item);
    if (n < 0) {
        return 0;
    }
    out->lengths[d] = calloc((size_t)n + 1, sizeof *out->lengths[d]);
    if (out->lengths[d] == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    out->axis[d] = (resplit_chunks){.count = n, .lengths = out->lengths[d]};
    return take_integers(item, n, out->lengths[d]) >= 0;
}

int core_take_chunks(PyObject *object, void *chunks)
{
    core_chunks *out = chunks;
    if (object == NULL) { /* another argument was wrong */
        core_chunks_release(out);
        return 1;
    }
    *out = (core_chunks){.count = -1};
    if (object == Py_None) {
        return 1;
    }
    Py_ssize_t n = PySequence_Size(object);
    if (n > RESPLIT_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "chunks were given for %zd axes; at most %d are handled", n, RESPLIT_MAX_NDIM);
        return 0;
    }
    for (int d = 0; d < (int)n; d++) {
        PyObject *item = PySequence_GetItem(object, d);
        int done = item != NULL && take_axis(item, d, out);
        Py_XDECREF(item);
        if (!done) {
            core_chunks_release(out);
            return 0;
        }
    }
    out->count = (int)n;
    return n >= 0 ? Py_CLEANUP_SUPPORTED : 0;
}

int core_take_path(PyObject *object, void *bytes)
{
    PyObject **out = bytes;
    if (object == Py_None) {
        *out = NULL;
        return 1;
    }
    return PyUnicode_FSConverter(object, out);
}

static int take_capsule(PyObject *object, const char *name, void **out)
{
    *out = PyCapsule_GetPointer(object, name);
    return *out != NULL;
}

int core_take_array(PyObject *object, void *array)
{
    return take_capsule(object, CORE_ARRAY, array);
}

int core_take_plan(PyObject *object, void *plan)
{
    return take_capsule(object, CORE_PLAN, plan);
}

/* ---- To Python ----------------------------------------------------------------------------- */

int core_set(PyObject *dict, const char *key, PyObject *value)
{
    int done = value != NULL && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return done;
}

PyObject *core_text(const char *text)
{
    return text != NULL ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

PyObject *core_path_text(const char *path)
{
    return path != NULL ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
}

static PyObject *tuple_of(int64_t n, const int64_t *values)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (value == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

PyObject *core_tuple(int n, const int64_t *values)
{
    return tuple_of(n, values);
}

PyObject *core_chunks_tuple(int ndim, const resplit_chunks *chunks)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int d = 0; tuple != NULL && d < ndim; d++) {
        PyObject *axis =
            chunks[d].count > 0 ? tuple_of(chunks[d].count, chunks[d].lengths) : PyLong_FromLongLong(chunks[d].length);
        if (axis == NULL || PyTuple_SetItem(tuple, d, axis) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

PyObject *core_cost(const resplit_cost *cost)
{
    return Py_BuildValue("{sLsLsLsLsLsLsL}", "read_seeks", (long long)cost->read_seeks, "write_seeks",
                         (long long)cost->write_seeks, "bytes_read", (long long)cost->bytes_read, "bytes_written",
                         (long long)cost->bytes_written, "held_bytes", (long long)cost->held_bytes, "peak_bytes",
                         (long long)cost->peak_bytes, "temp_bytes", (long long)cost->temp_bytes);
}
