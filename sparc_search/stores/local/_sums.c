/* Sparse sums: for each row the weighted sum of its values in some postings. The sums of numpy, in the same order. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "postings are little-endian, and read as they are"
#endif

enum { ROWS, VALUES, BEGINS, ENDS, WEIGHTS, SUMS, BUFFERS };

/* See `short_floats`. */
static double real(uint16_t bits)
{
    uint32_t whole = (uint32_t)bits << 15;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

static Py_ssize_t length(const Py_buffer *buffer, size_t item) { return buffer->len / (Py_ssize_t)item; }

static const char *add(const Py_buffer *buffers)
{
    const uint32_t *rows = buffers[ROWS].buf;
    const uint16_t *values = buffers[VALUES].buf;
    const int64_t *begins = buffers[BEGINS].buf, *ends = buffers[ENDS].buf;
    const double *weights = buffers[WEIGHTS].buf;
    double *sums = buffers[SUMS].buf;
    const Py_ssize_t terms = length(&buffers[WEIGHTS], sizeof *weights), postings = length(&buffers[ROWS], sizeof *rows);
    const Py_ssize_t count = length(&buffers[SUMS], sizeof *sums);
    if (length(&buffers[BEGINS], sizeof *begins) != terms || length(&buffers[ENDS], sizeof *ends) != terms
        || length(&buffers[VALUES], sizeof *values) != postings)
        return "arrays of different lengths";
    for (Py_ssize_t term = 0; term < terms; term++) {
        if (begins[term] < 0 || ends[term] > postings) return "postings that are not there";
        for (int64_t i = begins[term]; i < ends[term]; i++) {
            if ((Py_ssize_t)rows[i] >= count) return "a row that is not there";
            sums[rows[i]] += weights[term] * real(values[i]);
        }
    }
    return NULL;
}

PyDoc_STRVAR(add_up_doc,
"add_up(rows, values, begins, ends, weights, sums)\n\n"
"For each term t and each i from begins[t] to ends[t]: sums[rows[i]] += weights[t] * values[i].");

static PyObject *add_up(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer buffers[BUFFERS];
    const char *wrong;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*", &buffers[ROWS], &buffers[VALUES], &buffers[BEGINS],
                          &buffers[ENDS], &buffers[WEIGHTS], &buffers[SUMS]))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    wrong = add(buffers);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < BUFFERS; i++) PyBuffer_Release(&buffers[i]);
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, wrong);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The k-th highest of the numbers above zero; zero if there are not so many. The heap has room for k. */
static double find_kth(const double *numbers, Py_ssize_t count, Py_ssize_t k, double *heap)
{
    Py_ssize_t held = 0;
    double lowest = 0; /* of the k highest so far; zero while they are fewer */
    for (Py_ssize_t i = 0; i < count; i++) {
        const double number = numbers[i];
        if (!(number > lowest)) continue;
        Py_ssize_t at;
        if (held < k) {
            for (at = held++; at && heap[(at - 1) / 2] > number; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
        } else {
            at = 0;
            for (Py_ssize_t child; (child = 2 * at + 1) < k; at = child) {
                if (child + 1 < k && heap[child + 1] < heap[child]) child++;
                if (heap[child] >= number) break;
                heap[at] = heap[child];
            }
        }
        heap[at] = number;
        if (held == k) lowest = heap[0];
    }
    return lowest;
}

PyDoc_STRVAR(kth_highest_doc,
"kth_highest(numbers, k)\n\n"
"The k-th highest of the numbers (float64) above zero; zero if there are not so many.");

static PyObject *kth_highest(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer numbers;
    Py_ssize_t k;
    double found = 0;
    if (!PyArg_ParseTuple(arguments, "y*n", &numbers, &k)) return NULL;
    const Py_ssize_t count = length(&numbers, sizeof(double));
    double *heap = k > 0 && k <= count ? malloc((size_t)k * sizeof *heap) : NULL;
    if (heap) {
        Py_BEGIN_ALLOW_THREADS
        found = find_kth(numbers.buf, count, k, heap);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&numbers);
    if (!heap && k > 0 && k <= count) return PyErr_NoMemory();
    free(heap);
    return PyFloat_FromDouble(found);
}

static PyMethodDef functions[] = {
    {"add_up", add_up, METH_VARARGS, add_up_doc},
    {"kth_highest", kth_highest, METH_VARARGS, kth_highest_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_sums",
    .m_doc = "Sparse sums over postings.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__sums(void) { return PyModuleDef_Init(&module); }
