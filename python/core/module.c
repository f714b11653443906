/* SPDX-License-Identifier: BSD-3-Clause */
/* module.c - the extension module resplit._core. */
#include "core.h"

static PyObject *memory_available(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyLong_FromLongLong(resplit_memory_available());
}

static PyMethodDef own_methods[] = {
    {"memory_available", memory_available, METH_NOARGS,
     "Memory that this process may still use, in bytes. A budget that nobody gives is half of it."},
    {NULL, NULL, 0, NULL},
};

/* The words of a table that the library tells by number. */
static PyObject *words(const char *(*name)(int))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && name(i) != NULL; i++) {
        PyObject *word = PyUnicode_FromString(name(i));
        if (word == NULL || PyList_Append(list, word) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(word);
    }
    PyObject *tuple = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static int add(PyObject *module, const char *name, PyObject *value)
{
    int rc = value != NULL ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return rc;
}

static int fill(PyObject *module)
{
    PyMethodDef *const tables[] = {core_array_methods, core_plan_methods, core_run_methods, core_group_methods,
                                   core_part_methods};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (PyModule_AddFunctions(module, tables[i]) != 0) {
            return -1;
        }
    }
    return add(module, "version", PyUnicode_FromString(resplit_version())) != 0
                   || add(module, "MAX_NDIM", PyLong_FromLong(RESPLIT_MAX_NDIM)) != 0
                   || add(module, "formats", words(resplit_format_name)) != 0
                   || add(module, "codecs", words(resplit_codec_name)) != 0
                   || add(module, "strategies", words(resplit_strategy_name)) != 0
                   || add(module, "devices", words(resplit_device_name)) != 0
               ? -1
               : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "The library libresplit, function by function; resplit is made of it.",
    .m_methods = own_methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
