/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c - arrays that are made in partitions. */
#include "core.h"

/* (source, target, memory, strategy, minimize, temp, part, n_parts) -> plan of one partition */
static PyObject *part_plan(PyObject *self, PyObject *args)
{
    resplit_array *source, *target;
    resplit_plan_options options = {0};
    resplit_plan *plan = NULL;
    PyObject *temp = NULL;
    resplit_error err;
    resplit_status rc;
    long long memory, part, n_parts;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LzzO&LL", core_take_array, &source, core_take_array, &target, &memory,
                          &options.strategy, &options.minimize, core_take_path, &temp, &part, &n_parts)) {
        return NULL;
    }
    options.memory = memory;
    options.temp = core_path(temp);
    options.part = part;
    options.n_parts = n_parts;
    Py_BEGIN_ALLOW_THREADS rc = resplit_plan_make(source, target, &options, &plan, &err);
    Py_END_ALLOW_THREADS Py_XDECREF(temp);
    return rc == RESPLIT_OK ? core_plan_capsule(plan) : core_raise(&err);
}

/* (source, target, part, n_parts) -> plan that its earlier run had, or None */
static PyObject *part_resume(PyObject *self, PyObject *args)
{
    resplit_array *source, *target;
    resplit_plan *plan = NULL;
    resplit_error err;
    resplit_status rc;
    long long part, n_parts;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LL", core_take_array, &source, core_take_array, &target, &part, &n_parts)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = resplit_plan_resume_part(source, target, part, n_parts, &plan, &err);
    Py_END_ALLOW_THREADS if (rc != RESPLIT_OK)
    {
        return core_raise(&err);
    }
    return plan != NULL ? core_plan_capsule(plan) : Py_NewRef(Py_None);
}

/* (source, target, part, n_parts) -> dict */
static PyObject *part_info(PyObject *self, PyObject *args)
{
    resplit_array *source, *target;
    resplit_partition found;
    resplit_error err;
    resplit_status rc;
    long long part, n_parts;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LL", core_take_array, &source, core_take_array, &target, &part, &n_parts)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = resplit_partition_info(source, target, part, n_parts, &found, &err);
    Py_END_ALLOW_THREADS if (rc != RESPLIT_OK)
    {
        return core_raise(&err);
    }
    int ndim = resplit_array_info(target)->ndim;
    return Py_BuildValue("{sNsNsLsLsLsN}", "start", core_tuple(ndim, found.start), "stop", core_tuple(ndim, found.stop),
                         "n_blocks", (long long)found.n_blocks, "bytes", (long long)found.bytes, "bytes_read",
                         (long long)found.bytes_read, "done", PyBool_FromLong(found.done));
}

/* (path) -> in how many partitions the array is being made */
static PyObject *parts_found(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    int64_t n_parts = 0;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_path, &path)) {
        return NULL;
    }
    resplit_status rc = resplit_parts_found(core_path(path), &n_parts, &err);
    Py_XDECREF(path);
    return rc == RESPLIT_OK ? PyLong_FromLongLong(n_parts) : core_raise(&err);
}

/* (source, target, n_parts, options) -> dict, as of a run */
static PyObject *finish(PyObject *self, PyObject *args)
{
    resplit_array *source, *target;
    core_options options;
    resplit_result result;
    resplit_error err = {.resumable = false};
    resplit_status rc;
    long long n_parts;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LO&", core_take_array, &source, core_take_array, &target, &n_parts,
                          core_take_options, &options)) {
        return NULL;
    }
    CORE_WORK(&options, rc = resplit_finish(source, target, n_parts, &options.run, &result, &err));
    return rc == RESPLIT_OK ? core_result(&result) : core_raise_of(&options, &err);
}

PyMethodDef core_part_methods[] = {
    {"part_plan", part_plan, METH_VARARGS, NULL}, {"part_resume", part_resume, METH_VARARGS, NULL},
    {"part_info", part_info, METH_VARARGS, NULL}, {"parts_found", parts_found, METH_VARARGS, NULL},
    {"finish", finish, METH_VARARGS, NULL},       {NULL, NULL, 0, NULL},
};
