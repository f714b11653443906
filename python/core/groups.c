/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c - Zarr groups. */
#include "core.h"

#include <stdlib.h>

/* A group that is being made locks its place, which has to end before what holds the capsule does: a traceback may. */
typedef struct holder {
    resplit_group *group; /* NULL: closed */
} holder;

static void end_group(PyObject *capsule)
{
    holder *held = PyCapsule_GetPointer(capsule, CORE_GROUP);
    resplit_group_close(held->group);
    free(held);
}

static PyObject *group_capsule(resplit_group *group)
{
    holder *held = malloc(sizeof *held);
    PyObject *capsule = held != NULL ? PyCapsule_New(held, CORE_GROUP, end_group) : PyErr_NoMemory();
    if (capsule == NULL) {
        resplit_group_close(group);
        free(held);
        return NULL;
    }
    held->group = group;
    return capsule;
}

static int take_group(PyObject *object, void *group)
{
    holder *held = PyCapsule_GetPointer(object, CORE_GROUP);
    if (held != NULL && held->group == NULL) {
        PyErr_SetString(PyExc_ValueError, "the group is closed");
    }
    *(resplit_group **)group = held != NULL ? held->group : NULL;
    return held != NULL && held->group != NULL;
}

/* (group) */
static PyObject *group_close(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    (void)self;
    if (!PyArg_ParseTuple(args, "O", &capsule)) {
        return NULL;
    }
    holder *held = PyCapsule_GetPointer(capsule, CORE_GROUP);
    if (held == NULL) {
        return NULL;
    }
    resplit_group_close(held->group);
    held->group = NULL;
    Py_RETURN_NONE;
}

/* (path) */
static PyObject *is_group(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_path, &path)) {
        return NULL;
    }
    bool is = resplit_is_group(core_path(path));
    Py_XDECREF(path);
    return PyBool_FromLong(is);
}

/* (path) */
static PyObject *group_open(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    resplit_group *group = NULL;
    resplit_error err;
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_path, &path)) {
        return NULL;
    }
    const char *place = core_path(path);
    Py_BEGIN_ALLOW_THREADS rc = resplit_group_open(place, &group, &err);
    Py_END_ALLOW_THREADS Py_XDECREF(path);
    return rc == RESPLIT_OK ? group_capsule(group) : core_raise(&err);
}

/* (path, source, format, overwrite) */
static PyObject *group_create(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    resplit_group *source, *group = NULL;
    const char *format;
    resplit_error err;
    int overwrite;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&zp", core_take_path, &path, take_group, &source, &format, &overwrite)) {
        return NULL;
    }
    resplit_status rc = resplit_group_create(core_path(path), source, format, overwrite, &group, &err);
    Py_XDECREF(path);
    return rc == RESPLIT_OK ? group_capsule(group) : core_raise(&err);
}

/* (group) -> [(name, place, format, is_level)] */
static PyObject *group_list(PyObject *self, PyObject *args)
{
    resplit_group *group;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", take_group, &group)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list != NULL && i < resplit_group_count(group); i++) {
        PyObject *item = Py_BuildValue("(NNsN)", core_path_text(resplit_group_name(group, i)),
                                       core_path_text(resplit_group_place(group, i)), resplit_group_format(group, i),
                                       PyBool_FromLong(resplit_group_is_level(group, i)));
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

/* (group) -> JSON */
static PyObject *group_attributes(PyObject *self, PyObject *args)
{
    resplit_group *group;
    char *text = NULL;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", take_group, &group)) {
        return NULL;
    }
    resplit_status rc = resplit_group_attributes(group, &text, &err);
    PyObject *out = rc == RESPLIT_OK ? core_text(text) : core_raise(&err);
    free(text);
    return out;
}

/* (group) */
static PyObject *group_levels(PyObject *self, PyObject *args)
{
    resplit_group *group;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", take_group, &group)) {
        return NULL;
    }
    return resplit_group_levels(group, &err) == RESPLIT_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

/* (group, source array, target array) */
static PyObject *group_expect(PyObject *self, PyObject *args)
{
    resplit_group *group;
    resplit_array *source, *target;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&O&", take_group, &group, core_take_array, &source, core_take_array, &target)) {
        return NULL;
    }
    return resplit_group_expect(group, source, target, &err) == RESPLIT_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

/* (group, options) -> arrays that are complete */
static PyObject *group_begin(PyObject *self, PyObject *args)
{
    resplit_group *group;
    core_options options;
    int64_t n_done = 0;
    resplit_error err = {.resumable = false};
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&", take_group, &group, core_take_options, &options)) {
        return NULL;
    }
    CORE_WORK(&options, rc = resplit_group_begin(group, &options.run, &n_done, &err));
    return rc == RESPLIT_OK ? PyLong_FromLongLong(n_done) : core_raise_of(&options, &err);
}

static PyObject *call_on_group(PyObject *args, resplit_status (*call)(resplit_group *, resplit_error *))
{
    resplit_group *group;
    resplit_error err;
    resplit_status rc;
    if (!PyArg_ParseTuple(args, "O&", take_group, &group)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = call(group, &err);
    Py_END_ALLOW_THREADS return rc == RESPLIT_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

/* (group): the next array is complete */
static PyObject *group_done(PyObject *self, PyObject *args)
{
    (void)self;
    return call_on_group(args, resplit_group_done);
}

/* (group): all are */
static PyObject *group_finish(PyObject *self, PyObject *args)
{
    (void)self;
    return call_on_group(args, resplit_group_finish);
}

PyMethodDef core_group_methods[] = {
    {"is_group", is_group, METH_VARARGS, NULL},
    {"group_open", group_open, METH_VARARGS, NULL},
    {"group_create", group_create, METH_VARARGS, NULL},
    {"group_list", group_list, METH_VARARGS, NULL},
    {"group_attributes", group_attributes, METH_VARARGS, NULL},
    {"group_levels", group_levels, METH_VARARGS, NULL},
    {"group_expect", group_expect, METH_VARARGS, NULL},
    {"group_begin", group_begin, METH_VARARGS, NULL},
    {"group_done", group_done, METH_VARARGS, NULL},
    {"group_finish", group_finish, METH_VARARGS, NULL},
    {"group_close", group_close, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
