/* SPDX-License-Identifier: BSD-3-Clause */
/* plans.c - plans, and the devices that they are for. */
#include "core.h"

#include <stdio.h>

static void end_plan(PyObject *capsule)
{
    resplit_plan_free(PyCapsule_GetPointer(capsule, CORE_PLAN));
}

PyObject *core_plan_capsule(resplit_plan *plan)
{
    PyObject *capsule = PyCapsule_New(plan, CORE_PLAN, end_plan);
    if (capsule == NULL) {
        resplit_plan_free(plan);
    }
    return capsule;
}

/* ---- Devices ------------------------------------------------------------------------------- */

static PyObject *device_tuple(const resplit_device *device)
{
    return Py_BuildValue("(sddddd)", device->name, device->latency, device->depth, device->read_bandwidth,
                         device->write_bandwidth, device->both_bandwidth);
}

/* (name, latency, depth, read, write, both), or None. */
static int take_device(PyObject *object, void *device)
{
    resplit_device *out = device;
    const char *name;
    *out = (resplit_device){.depth = 0};
    if (object == Py_None) {
        return 1;
    }
    if (!PyArg_ParseTuple(object, "sddddd", &name, &out->latency, &out->depth, &out->read_bandwidth,
                          &out->write_bandwidth, &out->both_bandwidth)) {
        return 0;
    }
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    return 1;
}

/* (name) */
static PyObject *device_find(PyObject *self, PyObject *args)
{
    const char *name;
    resplit_device device;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &name)) {
        return NULL;
    }
    return resplit_device_find(name, &device, &err) == RESPLIT_OK ? device_tuple(&device) : core_raise(&err);
}

/* (folder) */
static PyObject *device_measure(PyObject *self, PyObject *args)
{
    PyObject *folder = NULL;
    resplit_device device;
    resplit_error err;
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_path, &folder)) {
        return NULL;
    }
    const char *path = core_path(folder);
    Py_BEGIN_ALLOW_THREADS rc = resplit_device_measure(path != NULL ? path : ".", &device, &err);
    Py_END_ALLOW_THREADS Py_XDECREF(folder);
    return rc == RESPLIT_OK ? device_tuple(&device) : core_raise(&err);
}

/* ---- Plans --------------------------------------------------------------------------------- */

/* (source, target, memory, strategy, minimize, device, temp) */
static PyObject *plan_make(PyObject *self, PyObject *args)
{
    resplit_array *source, *target;
    resplit_plan_options options = {0};
    resplit_device device;
    resplit_plan *plan = NULL;
    PyObject *temp = NULL;
    resplit_error err;
    resplit_status rc;
    long long memory;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LzzO&O&", core_take_array, &source, core_take_array, &target, &memory,
                          &options.strategy, &options.minimize, take_device, &device, core_take_path, &temp)) {
        return NULL;
    }
    options.memory = memory;
    options.device = device.depth > 0 ? &device : NULL;
    options.temp = core_path(temp);
    Py_BEGIN_ALLOW_THREADS rc = resplit_plan_make(source, target, &options, &plan, &err);
    Py_END_ALLOW_THREADS Py_XDECREF(temp);
    return rc == RESPLIT_OK ? core_plan_capsule(plan) : core_raise(&err);
}

/* (source, target) -> plan, or None */
static PyObject *plan_resume(PyObject *self, PyObject *args)
{
    resplit_array *source, *target;
    resplit_plan *plan = NULL;
    resplit_error err;
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&", core_take_array, &source, core_take_array, &target)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = resplit_plan_resume(source, target, &plan, &err);
    Py_END_ALLOW_THREADS if (rc != RESPLIT_OK)
    {
        return core_raise(&err);
    }
    return plan != NULL ? core_plan_capsule(plan) : Py_NewRef(Py_None);
}

/* (plan) -> dict */
static PyObject *plan_info(PyObject *self, PyObject *args)
{
    resplit_plan *plan;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_plan, &plan)) {
        return NULL;
    }
    const resplit_plan_summary *info = resplit_plan_info(plan);
    int64_t loop[RESPLIT_MAX_NDIM], kept[RESPLIT_MAX_NDIM];
    for (int d = 0; d < info->ndim; d++) {
        loop[d] = info->loop_order[d];
        kept[d] = info->kept[d];
    }
    PyObject *dict = PyDict_New();
    if (dict == NULL || !core_set(dict, "strategy", core_text(info->strategy))
        || !core_set(dict, "memory", PyLong_FromLongLong(info->memory))
        || !core_set(dict, "shape", core_tuple(info->ndim, info->shape))
        || !core_set(dict, "buffer", core_chunks_tuple(info->ndim, info->buffer))
        || !core_set(dict, "n_buffers", PyLong_FromLongLong(info->n_buffers))
        || !core_set(dict, "loop_order", core_tuple(info->ndim, loop))
        || !core_set(dict, "kept", core_tuple(info->ndim, kept))
        || !core_set(dict, "predicted", core_cost(&info->predicted))
        || !core_set(dict, "seconds", PyFloat_FromDouble(info->seconds))
        || !core_set(dict, "floor", core_cost(&info->floor))
        || !core_set(dict, "floor_seconds", PyFloat_FromDouble(info->floor_seconds))
        || !core_set(dict, "device", device_tuple(&info->device))) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* (plan, source, target, path) */
static PyObject *plan_save(PyObject *self, PyObject *args)
{
    resplit_plan *plan;
    resplit_array *source, *target;
    PyObject *path = NULL;
    resplit_error err;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&O&O&", core_take_plan, &plan, core_take_array, &source, core_take_array, &target,
                          core_take_path, &path)) {
        return NULL;
    }
    resplit_status rc = resplit_plan_save(plan, source, target, core_path(path), &err);
    Py_XDECREF(path);
    return rc == RESPLIT_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

/* (path) -> (source, target, plan) */
static PyObject *plan_load(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    resplit_array *source = NULL, *target = NULL;
    resplit_plan *plan = NULL;
    resplit_error err;
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&", core_take_path, &path)) {
        return NULL;
    }
    const char *place = core_path(path);
    Py_BEGIN_ALLOW_THREADS rc = resplit_plan_load(place, &source, &target, &plan, &err);
    Py_END_ALLOW_THREADS Py_XDECREF(path);
    return rc == RESPLIT_OK
               ? Py_BuildValue("(NNN)", core_array_capsule(source), core_array_capsule(target), core_plan_capsule(plan))
               : core_raise(&err);
}

/* (plan, path) */
static PyObject *plan_picture(PyObject *self, PyObject *args)
{
    resplit_plan *plan;
    PyObject *path = NULL;
    resplit_error err;
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&", core_take_plan, &plan, core_take_path, &path)) {
        return NULL;
    }
    const char *place = core_path(path);
    Py_BEGIN_ALLOW_THREADS rc = resplit_plan_picture(plan, place, &err);
    Py_END_ALLOW_THREADS Py_XDECREF(path);
    return rc == RESPLIT_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

PyMethodDef core_plan_methods[] = {
    {"device_find", device_find, METH_VARARGS, NULL},
    {"device_measure", device_measure, METH_VARARGS, NULL},
    {"plan_make", plan_make, METH_VARARGS, NULL},
    {"plan_resume", plan_resume, METH_VARARGS, NULL},
    {"plan_info", plan_info, METH_VARARGS, NULL},
    {"plan_save", plan_save, METH_VARARGS, NULL},
    {"plan_load", plan_load, METH_VARARGS, NULL},
    {"plan_picture", plan_picture, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
