/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.c - runs, comparisons, fingerprints and reading. */
#include "core.h"

/* ---- Progress ------------------------------------------------------------------------------ */

/* Takes what was just raised. */
static void keep_raised(core_progress *progress)
{
    PyObject *type, *trace;
    PyErr_Fetch(&type, &progress->raised, &trace);
    PyErr_NormalizeException(&type, &progress->raised, &trace);
    if (trace != NULL && progress->raised != NULL) {
        (void)PyException_SetTraceback(progress->raised, trace);
    }
    Py_XDECREF(type);
    Py_XDECREF(trace);
}

/* Called by the thread that started the run. Whatever is raised, also by Ctrl-C, stops it. */
static int report(int64_t done, int64_t total, int64_t memory, void *payload)
{
    core_progress *progress = payload;
    PyEval_RestoreThread(progress->thread);
    if (PyErr_CheckSignals() == 0 && progress->callable != Py_None) {
        PyObject *answer =
            PyObject_CallFunction(progress->callable, "LLL", (long long)done, (long long)total, (long long)memory);
        Py_XDECREF(answer);
    }
    if (PyErr_Occurred() != NULL) {
        keep_raised(progress);
    }
    progress->thread = PyEval_SaveThread();
    return progress->raised != NULL;
}

int core_take_options(PyObject *tuple, void *options)
{
    core_options *out = options;
    int resume;
    *out = (core_options){.run = {.progress = report}};
    if (!PyArg_ParseTuple(tuple, "Ozzzip", &out->progress.callable, &out->run.io, &out->run.direct, &out->run.sync,
                          &out->run.threads, &resume)) {
        return 0;
    }
    out->run.resume = resume;
    out->run.payload = &out->progress;
    return 1;
}

PyObject *core_raise_of(core_options *options, const resplit_error *err)
{
    PyObject *raised = options->progress.raised;
    if (raised == NULL) {
        return core_raise(err);
    }
    PyObject *module = PyImport_ImportModule("resplit._errors");
    PyObject *answer =
        module != NULL ? PyObject_CallMethod(module, "mark", "OO", raised, err->resumable ? Py_True : Py_False) : NULL;
    if (answer != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    }
    Py_XDECREF(answer);
    Py_XDECREF(module);
    Py_CLEAR(options->progress.raised);
    return NULL;
}

/* A callback may raise when there is nothing left to stop. */
static PyObject *answer_of(core_options *options, PyObject *answer)
{
    if (options->progress.raised != NULL) {
        resplit_error nothing = {.code = RESPLIT_OK};
        Py_XDECREF(answer);
        return core_raise_of(options, &nothing);
    }
    return answer;
}

/* ---- Running ------------------------------------------------------------------------------- */

static PyObject *losses_dict(const resplit_losses *losses)
{
    return Py_BuildValue("{sLsLsLsL}", "n_values", (long long)losses->n_values, "n_out_of_range",
                         (long long)losses->n_out_of_range, "n_not_a_number", (long long)losses->n_not_a_number,
                         "n_rounded", (long long)losses->n_rounded);
}

PyObject *core_result(const resplit_result *result)
{
    return Py_BuildValue("{sNsdsLsLsKsNsisNsN}", "cost", core_cost(&result->cost), "seconds", result->seconds,
                         "stored_read", (long long)result->stored_read, "stored_written",
                         (long long)result->stored_written, "fingerprint", (unsigned long long)result->fingerprint,
                         "resumed", PyBool_FromLong(result->resumed), "threads", result->threads, "io",
                         core_text(result->io), "losses", losses_dict(&result->losses));
}

/* (plan, source, target, options) -> dict */
static PyObject *run(PyObject *self, PyObject *args)
{
    resplit_plan *plan;
    resplit_array *source, *target;
    core_options options;
    resplit_result result;
    resplit_error err = {.resumable = false};
    resplit_status rc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&O&O&", core_take_plan, &plan, core_take_array, &source, core_take_array, &target,
                          core_take_options, &options)) {
        return NULL;
    }
    CORE_WORK(&options, rc = resplit_run(plan, source, target, &options.run, &result, &err));
    return rc == RESPLIT_OK ? answer_of(&options, core_result(&result)) : core_raise_of(&options, &err);
}

/* ---- Handing over -------------------------------------------------------------------------- */

/* Who takes pieces, and what it raised. */
typedef struct taker {
    PyObject *callable;
    core_progress *progress;
    int ndim;
} taker;

/* Called by workers, which Python does not know. The memory is theirs, so a view of it ends with the call. */
static int take(const resplit_piece *piece, void *payload)
{
    const taker *t = payload;
    PyGILState_STATE state = PyGILState_Ensure();
    if (t->progress->raised != NULL) { /* it was in line already */
        PyGILState_Release(state);
        return 1;
    }
    PyObject *view = PyMemoryView_FromMemory((char *)(uintptr_t)piece->bytes, (Py_ssize_t)piece->n_bytes, PyBUF_READ);
    PyObject *answer = view == NULL ? NULL
                                    : PyObject_CallFunction(t->callable, "NNOO", core_tuple(t->ndim, piece->start),
                                                            core_tuple(t->ndim, piece->shape), view,
                                                            piece->encoded ? Py_True : Py_False);
    PyObject *released = answer != NULL ? PyObject_CallMethod(view, "release", NULL) : NULL;
    int failed = released == NULL;
    if (failed) {
        keep_raised(t->progress);
    }
    Py_XDECREF(released);
    Py_XDECREF(answer);
    Py_XDECREF(view);
    PyGILState_Release(state);
    return failed;
}

/* (plan, source, target, take, options) -> dict */
static PyObject *deliver(PyObject *self, PyObject *args)
{
    resplit_plan *plan;
    resplit_array *source, *target;
    core_options options;
    resplit_result result;
    resplit_error err = {.resumable = false};
    resplit_status rc;
    taker t = {.progress = &options.progress};
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&O&OO&", core_take_plan, &plan, core_take_array, &source, core_take_array, &target,
                          &t.callable, core_take_options, &options)) {
        return NULL;
    }
    t.ndim = resplit_array_info(target)->ndim;
    CORE_WORK(&options, rc = resplit_deliver(plan, source, target, take, &t, &options.run, &result, &err));
    return rc == RESPLIT_OK ? answer_of(&options, core_result(&result)) : core_raise_of(&options, &err);
}

/* (a, b, memory, options) -> (equal, n_different, index) */
static PyObject *verify(PyObject *self, PyObject *args)
{
    resplit_array *a, *b;
    core_options options;
    resplit_difference found;
    resplit_error err = {.resumable = false};
    resplit_status rc;
    long long memory;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LO&", core_take_array, &a, core_take_array, &b, &memory, core_take_options,
                          &options)) {
        return NULL;
    }
    CORE_WORK(&options, rc = resplit_verify(a, b, memory, &options.run, &found, &err));
    if (rc != RESPLIT_OK) {
        return core_raise_of(&options, &err);
    }
    return answer_of(&options, Py_BuildValue("(NLN)", PyBool_FromLong(found.equal), (long long)found.n_different,
                                             core_tuple(resplit_array_info(a)->ndim, found.index)));
}

/* (array, memory, options) -> int */
static PyObject *fingerprint(PyObject *self, PyObject *args)
{
    resplit_array *array;
    core_options options;
    uint64_t found;
    resplit_error err = {.resumable = false};
    resplit_status rc;
    long long memory;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&LO&", core_take_array, &array, &memory, core_take_options, &options)) {
        return NULL;
    }
    CORE_WORK(&options, rc = resplit_fingerprint(array, memory, &options.run, &found, &err));
    return rc == RESPLIT_OK ? answer_of(&options, PyLong_FromUnsignedLongLong(found)) : core_raise_of(&options, &err);
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* A buffer that has just the elements of the box. */
static int check_room(const resplit_array *array, const core_list *start, const core_list *stop, const Py_buffer *view)
{
    const resplit_info *info = resplit_array_info(array);
    int fits = view->ndim == info->ndim && view->itemsize == info->itemsize && start->count == info->ndim
               && stop->count == info->ndim;
    for (int d = 0; fits && d < info->ndim; d++) {
        fits = view->shape[d] == stop->value[d] - start->value[d];
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the buffer has another shape or element size than what is to be read");
    }
    return fits;
}

/* (array, start, stop, buffer, memory, options) */
static PyObject *array_read(PyObject *self, PyObject *args)
{
    resplit_array *array;
    core_list start, stop;
    PyObject *object;
    core_options options;
    Py_buffer view;
    int64_t strides[RESPLIT_MAX_NDIM] = {0};
    resplit_error err = {.resumable = false};
    resplit_status rc;
    long long memory;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&O&OLO&", core_take_array, &array, core_take_list, &start, core_take_list, &stop,
                          &object, &memory, core_take_options, &options)
        || PyObject_GetBuffer(object, &view, PyBUF_STRIDES | PyBUF_WRITABLE) != 0) {
        return NULL;
    }
    if (!check_room(array, &start, &stop, &view)) {
        PyBuffer_Release(&view);
        return NULL;
    }
    for (int d = 0; d < view.ndim; d++) {
        strides[d] = view.strides[d];
    }
    CORE_WORK(&options,
              rc = resplit_array_read(array, start.value, stop.value, view.buf, strides, memory, &options.run, &err));
    PyBuffer_Release(&view);
    return rc == RESPLIT_OK ? answer_of(&options, Py_NewRef(Py_None)) : core_raise_of(&options, &err);
}

PyMethodDef core_run_methods[] = {
    {"run", run, METH_VARARGS, NULL},
    {"deliver", deliver, METH_VARARGS, NULL},
    {"verify", verify, METH_VARARGS, NULL},
    {"fingerprint", fingerprint, METH_VARARGS, NULL},
    {"array_read", array_read, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
