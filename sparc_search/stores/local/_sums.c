/* Sparse sums: for each row the weighted sum of its values in some postings. The sums of numpy, in the same order. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "postings are little-endian, and read as they are"
#endif

enum { PACKED, FRAME, BEGINS, ENDS, WEIGHTS, SUMS, WANTED, BUFFERS };

enum { AT_ONCE = 64, LANES = 8 };

/* See `shorten` in `packing`. */
static double real(uint16_t bits)
{
    uint32_t whole = (uint32_t)bits << 15;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

static Py_ssize_t length(const Py_buffer *buffer, size_t item) { return buffer->len / (Py_ssize_t)item; }

/* Postings, each a number of `width` bits: the row in the lowest, above it how far the value is above the least. */
typedef struct {
    const uint8_t *data;
    int row_bits, width;
    uint64_t row_mask, mask;
    uint32_t least;
} Packed;

enum { ROW_BITS, VALUE_BITS, LEAST, FRAME_PARTS, SPARE = 8 };

static inline uint64_t posting_at(const Packed *packed, int64_t number)
{
    uint64_t bits;
    const uint64_t first = (uint64_t)number * (uint64_t)packed->width;
    memcpy(&bits, packed->data + first / 8, sizeof bits);
    return bits >> first % 8 & packed->mask;
}

static inline uint64_t row_of(const Packed *packed, uint64_t posting) { return posting & packed->row_mask; }

static inline double value_of(const Packed *packed, uint64_t posting)
{
    return real((uint16_t)(packed->least + (uint32_t)(posting >> packed->row_bits)));
}

/* Postings and terms, and what is wrong with them. */
static const char *check(const Py_buffer *buffers, Packed *packed)
{
    const int64_t *begins = buffers[BEGINS].buf, *ends = buffers[ENDS].buf, *frame = buffers[FRAME].buf;
    const Py_ssize_t terms = length(&buffers[WEIGHTS], sizeof(double));
    if (length(&buffers[BEGINS], sizeof *begins) != terms || length(&buffers[ENDS], sizeof *ends) != terms
        || length(&buffers[FRAME], sizeof *frame) != FRAME_PARTS || buffers[PACKED].len < SPARE)
        return "arrays of different lengths";
    if (frame[ROW_BITS] < 0 || frame[ROW_BITS] > 40 || frame[VALUE_BITS] < 0 || frame[VALUE_BITS] > 16)
        return "postings of a kind that is not known";
    packed->data = buffers[PACKED].buf;
    packed->row_bits = (int)frame[ROW_BITS];
    packed->width = (int)(frame[ROW_BITS] + frame[VALUE_BITS]);
    packed->row_mask = ((uint64_t)1 << packed->row_bits) - 1;
    packed->mask = ((uint64_t)1 << packed->width) - 1;
    packed->least = (uint32_t)frame[LEAST];
    const int64_t most = packed->width ? (buffers[PACKED].len - SPARE) * 8 / packed->width : INT64_MAX;
    for (Py_ssize_t term = 0; term < terms; term++)
        if (begins[term] < 0 || ends[term] > most) return "postings that are not there";
    return NULL;
}

static const char *add(const Packed *packed, const Py_buffer *buffers)
{
    const int64_t *begins = buffers[BEGINS].buf, *ends = buffers[ENDS].buf;
    const double *weights = buffers[WEIGHTS].buf;
    double *sums = buffers[SUMS].buf;
    const Py_ssize_t terms = length(&buffers[WEIGHTS], sizeof *weights);
    const uint64_t count = (uint64_t)length(&buffers[SUMS], sizeof *sums);
    for (Py_ssize_t term = 0; term < terms; term++)
        for (int64_t i = begins[term]; i < ends[term]; i++) {
            const uint64_t posting = posting_at(packed, i), row = row_of(packed, posting);
            if (row >= count) return "a row that is not there";
            sums[row] += weights[term] * value_of(packed, posting);
        }
    return NULL;
}

/* The first place whose row is not below the wanted one. It is probably near: steps double. */
static int64_t reach(const Packed *packed, int64_t from, int64_t to, uint64_t wanted)
{
    int64_t step = 1;
    while (from + step < to && row_of(packed, posting_at(packed, from + step)) < wanted) {
        from += step;
        step *= 2;
    }
    if (from + step < to) to = from + step;
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if (row_of(packed, posting_at(packed, middle)) < wanted) from = middle + 1;
        else to = middle;
    }
    return from;
}

static const char *look(const Packed *packed, const Py_buffer *buffers)
{
    const int64_t *begins = buffers[BEGINS].buf, *ends = buffers[ENDS].buf, *wanted = buffers[WANTED].buf;
    const double *weights = buffers[WEIGHTS].buf;
    double *sums = buffers[SUMS].buf;
    const Py_ssize_t terms = length(&buffers[WEIGHTS], sizeof *weights);
    const Py_ssize_t count = length(&buffers[SUMS], sizeof *sums);
    if (length(&buffers[WANTED], sizeof *wanted) != count) return "arrays of different lengths";
    for (Py_ssize_t term = 0; term < terms; term++) {
        int64_t at = begins[term];
        for (Py_ssize_t i = 0; i < count; i++) {
            at = reach(packed, at, ends[term], (uint64_t)wanted[i]);
            if (at >= ends[term]) break;
            const uint64_t posting = posting_at(packed, at);
            if (row_of(packed, posting) == (uint64_t)wanted[i]) sums[i] += weights[term] * value_of(packed, posting);
        }
    }
    return NULL;
}

PyDoc_STRVAR(add_up_doc,
"add_up(packed, frame, begins, ends, weights, sums)\n\n"
"For each term t and each posting from begins[t] to ends[t]: sums[its row] += weights[t] * its value.\n"
"See `packed_postings`.");

PyDoc_STRVAR(look_up_doc,
"look_up(packed, frame, begins, ends, weights, sums, wanted)\n\n"
"The same for some rows (`wanted`, int64, ascending) only: sums[i] is that of row wanted[i].");

typedef const char *Sum(const Packed *, const Py_buffer *);

static PyObject *sum_with(Sum *sum, Py_buffer *buffers, int count)
{
    const char *wrong;
    Packed packed;
    Py_BEGIN_ALLOW_THREADS
    wrong = check(buffers, &packed);
    if (!wrong) wrong = sum(&packed, buffers);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < count; i++) PyBuffer_Release(&buffers[i]);
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, wrong);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *add_up(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer buffers[BUFFERS];
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*", &buffers[PACKED], &buffers[FRAME], &buffers[BEGINS],
                          &buffers[ENDS], &buffers[WEIGHTS], &buffers[SUMS]))
        return NULL;
    return sum_with(add, buffers, WANTED);
}

static PyObject *look_up(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer buffers[BUFFERS];
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*y*", &buffers[PACKED], &buffers[FRAME], &buffers[BEGINS],
                          &buffers[ENDS], &buffers[WEIGHTS], &buffers[SUMS], &buffers[WANTED]))
        return NULL;
    return sum_with(look, buffers, BUFFERS);
}

/* The highest of AT_ONCE numbers and zero, by lanes that a compiler can put side by side. */
static double highest_of(const double *numbers)
{
    double lanes[LANES] = {0}, highest = 0;
    for (int i = 0; i < AT_ONCE; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] = numbers[i + lane] > lanes[lane] ? numbers[i + lane] : lanes[lane];
    for (int lane = 0; lane < LANES; lane++) highest = lanes[lane] > highest ? lanes[lane] : highest;
    return highest;
}

/* The k-th highest of the numbers above zero; zero if there are not so many. The heap has room for k. */
static double find_kth(const double *numbers, Py_ssize_t count, Py_ssize_t k, double *heap)
{
    Py_ssize_t held = 0;
    double lowest = 0; /* of the k highest so far; zero while they are fewer */
    for (Py_ssize_t i = 0; i < count; i++) {
        while (i % AT_ONCE == 0 && i + AT_ONCE < count && highest_of(numbers + i) <= lowest) i += AT_ONCE;
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
    {"look_up", look_up, METH_VARARGS, look_up_doc},
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
