/* SPDX-License-Identifier: BSD-3-Clause */
/* arrays.c - arrays: opened, described, in memory, to be created. */
#include "core.h"

#include <stdlib.h>

/* ---- Capsules ------------------------------------------------------------------------------ */

/* The context of a capsule is what an array in memory is a view of, if it is one. */
static void end_array(PyObject *capsule)
{
    Py_buffer *view = PyCapsule_GetContext(capsule);
    resplit_array_close(PyCapsule_GetPointer(capsule, CORE_ARRAY));
    if (view != NULL) {
        PyBuffer_Release(view);
        free(view);
    }
}

PyObject *core_array_capsule(resplit_array *array)
{
    PyObject *capsule = PyCapsule_New(array, CORE_ARRAY, end_array);
    if (capsule == NULL) {
        resplit_array_close(array);
    }
    return capsule;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static char order_of(const char *order)
{
    return order != NULL ? order[0] : '\0';
}

/* (path or None, format, dtype, order, shape, chunks, pattern, skip): opened, or, without a path, only described. */
static PyObject *array_open(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    const char *order = NULL;
    core_list shape;
    core_chunks chunks = {.count = -1};
    resplit_spec spec = {0};
    resplit_array *array = NULL;
    resplit_error err;
    resplit_status rc;
    long long skip = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&zzzO&O&zL", core_take_path, &path, &spec.format, &spec.dtype, &order, core_take_list,
                          &shape, core_take_chunks, &chunks, &spec.pattern, &skip)) {
        Py_XDECREF(path);
        return NULL;
    }
    spec.order = order_of(order);
    spec.shape = core_list_or_null(&shape);
    spec.chunks = chunks.count >= 0 ? chunks.axis : NULL;
    spec.ndim = shape.count >= 0 ? shape.count : chunks.count >= 0 ? chunks.count : 0;
    spec.skip = skip;
    const char *place = core_path(path);
    Py_BEGIN_ALLOW_THREADS rc =
        place != NULL ? resplit_array_open(place, &spec, &array, &err) : resplit_array_describe(&spec, &array, &err);
    Py_END_ALLOW_THREADS core_chunks_release(&chunks);
    Py_XDECREF(path);
    return rc == RESPLIT_OK ? core_array_capsule(array) : core_raise(&err);
}

/* The library's view of a buffer, which stays until the array ends. */
static resplit_status wrap(const Py_buffer *view, const char *dtype, const char *order, resplit_array **array,
                           resplit_error *err)
{
    int64_t shape[RESPLIT_MAX_NDIM] = {0}, strides[RESPLIT_MAX_NDIM] = {0};
    resplit_spec spec = {.dtype = dtype, .order = order_of(order), .ndim = view->ndim, .shape = shape};
    for (int d = 0; d < view->ndim; d++) {
        shape[d] = view->shape[d];
        strides[d] = view->strides[d];
    }
    return resplit_array_wrap(view->buf, strides, &spec, array, err);
}

/* (object with a buffer, dtype, order) */
static PyObject *array_wrap(PyObject *self, PyObject *args)
{
    PyObject *object;
    const char *dtype, *order;
    resplit_array *array = NULL;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "Oss", &object, &dtype, &order)) {
        return NULL;
    }
    Py_buffer *view = calloc(1, sizeof *view);
    if (view == NULL) {
        return PyErr_NoMemory();
    }
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES) != 0) {
        free(view);
        return NULL;
    }
    PyObject *capsule = NULL;
    if (view->ndim > RESPLIT_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "the array has %d axes; at most %d are handled", view->ndim, RESPLIT_MAX_NDIM);
    } else if (wrap(view, dtype, order, &array, &err) != RESPLIT_OK) {
        (void)core_raise(&err);
    } else if (resplit_array_info(array)->itemsize != view->itemsize) {
        PyErr_Format(PyExc_ValueError, "elements of type %s have %lld bytes, those of the buffer %zd", dtype,
                     (long long)resplit_array_info(array)->itemsize, view->itemsize);
        resplit_array_close(array);
    } else {
        capsule = core_array_capsule(array);
    }
    if (capsule == NULL || PyCapsule_SetContext(capsule, view) != 0) {
        Py_CLEAR(capsule);
        PyBuffer_Release(view);
        free(view);
    }
    return capsule;
}

/* (path or None, source, format, chunks, start, stop, pattern, folder, overwrite, codec, shards, order,
   dtype, write_empty, whole) */
static PyObject *array_create(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    resplit_array *source, *array = NULL;
    const char *order = NULL;
    core_chunks chunks = {.count = -1};
    core_list start, stop, shards;
    resplit_target target = {0};
    resplit_error err;
    resplit_status rc;
    int folder, overwrite, write_empty, whole;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&zO&O&O&zppzO&zzpp", core_take_path, &path, core_take_array, &source,
                          &target.format, core_take_chunks, &chunks, core_take_list, &start, core_take_list, &stop,
                          &target.pattern, &folder, &overwrite, &target.codec, core_take_list, &shards, &order,
                          &target.dtype, &write_empty, &whole)) {
        Py_XDECREF(path);
        return NULL;
    }
    target.chunks = chunks.count >= 0 ? chunks.axis : NULL;
    target.roi_start = core_list_or_null(&start);
    target.roi_stop = core_list_or_null(&stop);
    target.shards = core_list_or_null(&shards);
    target.ndim = chunks.count >= 0   ? chunks.count
                  : start.count >= 0  ? start.count
                  : shards.count >= 0 ? shards.count
                                      : 0;
    target.folder = folder;
    target.overwrite = overwrite;
    target.order = order_of(order);
    target.write_empty = write_empty;
    target.whole = whole;
    const char *place = core_path(path);
    Py_BEGIN_ALLOW_THREADS rc = resplit_array_create(place, source, &target, &array, &err);
    Py_END_ALLOW_THREADS core_chunks_release(&chunks);
    Py_XDECREF(path);
    return rc == RESPLIT_OK ? core_array_capsule(array) : core_raise(&err);
}

/* ---- What is known ------------------------------------------------------------------------- */

static int set_numbers(PyObject *dict, const resplit_info *info)
{
    return core_set(dict, "itemsize", PyLong_FromLongLong(info->itemsize))
           && core_set(dict, "n_blocks", PyLong_FromLongLong(info->n_blocks))
           && core_set(dict, "n_elements", PyLong_FromLongLong(info->n_elements))
           && core_set(dict, "bytes", PyLong_FromLongLong(info->bytes))
           && core_set(dict, "n_stored", PyLong_FromLongLong(info->n_stored))
           && core_set(dict, "stored_bytes", PyLong_FromLongLong(info->stored_bytes))
           && core_set(dict, "fingerprint", PyLong_FromUnsignedLongLong(info->fingerprint))
           && core_set(dict, "folder", PyBool_FromLong(info->folder));
}

static int set_texts(PyObject *dict, const resplit_info *info)
{
    const char order[2] = {info->order, '\0'};
    return core_set(dict, "path", core_path_text(info->path)) && core_set(dict, "format", core_text(info->format))
           && core_set(dict, "dtype", core_text(info->dtype))
           && core_set(dict, "order", core_text(info->order != '\0' ? order : NULL))
           && core_set(dict, "pattern", core_text(info->pattern)) && core_set(dict, "codec", core_text(info->codec))
           && core_set(dict, "dataset", core_path_text(info->dataset))
           && core_set(dict, "header", core_path_text(info->header))
           && core_set(dict, "notes", core_path_text(info->notes));
}

/* (array) -> dict */
static PyObject *array_info(PyObject *self, PyObject *args)
{
    resplit_array *array;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_array, &array)) {
        return NULL;
    }
    const resplit_info *info = resplit_array_info(array);
    PyObject *dict = PyDict_New();
    if (dict == NULL || !set_numbers(dict, info) || !set_texts(dict, info)
        || !core_set(dict, "shape", core_tuple(info->ndim, info->shape))
        || !core_set(dict, "origin", core_tuple(info->ndim, info->origin))
        || !core_set(dict, "chunks", core_chunks_tuple(info->ndim, info->chunks))
        || !core_set(dict, "shards",
                     info->shards != NULL ? core_tuple(info->ndim, info->shards) : Py_NewRef(Py_None))) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* (array) -> JSON */
static PyObject *array_attributes(PyObject *self, PyObject *args)
{
    resplit_array *array;
    char *text = NULL;
    resplit_error err;
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_array, &array)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = resplit_array_attributes(array, &text, &err);
    Py_END_ALLOW_THREADS PyObject *out = rc == RESPLIT_OK ? core_text(text) : core_raise(&err);
    free(text);
    return out;
}

static PyObject *array_overwrite(PyObject *self, PyObject *args)
{
    resplit_array *array;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_array, &array)) {
        return NULL;
    }
    resplit_array_overwrite(array);
    Py_RETURN_NONE;
}

PyMethodDef core_array_methods[] = {
    {"array_open", array_open, METH_VARARGS, NULL},
    {"array_wrap", array_wrap, METH_VARARGS, NULL},
    {"array_create", array_create, METH_VARARGS, NULL},
    {"array_info", array_info, METH_VARARGS, NULL},
    {"array_attributes", array_attributes, METH_VARARGS, NULL},
    {"array_overwrite", array_overwrite, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
