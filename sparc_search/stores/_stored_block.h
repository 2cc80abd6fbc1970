/* A stored phrase block, opened: where its columns are. `block_layout.py` defines the bytes. */

#ifndef SPARC_SEARCH_STORED_BLOCK_H
#define SPARC_SEARCH_STORED_BLOCK_H

#include <Python.h>

#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "blocks are little-endian, and read as they are"
#endif

enum { CONTINUES = 1, PUNCTUATION = 2, AFTER_JOINT = 4, TITLE = 8 };
enum { MAGIC = 'S' | 'P' << 8 | 'B' << 16 | 3 << 24 };
enum { START, END, SIDES };

enum { FLAG_BITS = 4, SHORT = 15 };

typedef struct {
    double scale;
    uint32_t entries, row_bits;
    uint16_t filled, n;
} Matrix;

/* Floats as the numbers that their bits are, above the least of them. */
typedef struct {
    uint32_t base;
    int bits, shift;
} Scales;

typedef struct {
    const uint8_t *positions, *vectors, *spans, *scales, *span_scales;
    Py_ssize_t kept;
} Side;

typedef struct {
    const uint8_t *head, *matrices, *token_ids, *flags, *passage_vector, *term_places, *other_terms, *impacts,
        *term_impacts, *filled, *counts, *rows, *values;
    Side sides[SIDES];
    Scales scales, span_scales;
    Py_ssize_t size, tokens, dense, span, pooled, terms, other_terms_count, impacts_count;
    int id_bytes, vector_bits, span_bits, value_bits, count_bits, impact_bits;
    int split, matrix_count;
    double passage_scale;
} Block;

/* Where the fields of a head and of a matrix stand. `block_layout.py` says so; a test compares what the module tells. */
#define HEAD_FIELDS(AT) \
    AT(magic, 0) AT(checksum, 4) AT(tokens, 8) AT(starts, 10) AT(ends, 12) AT(dense, 14) AT(span, 16) AT(pooled, 18) \
    AT(terms, 20) AT(other_terms, 22) AT(impacts, 24) AT(id_bytes, 26) AT(offset_kind, 27) AT(vector_bits, 28) \
    AT(span_bits, 29) AT(value_bits, 30) AT(count_bits, 31) AT(impact_bits, 32) AT(scale_bits, 33) \
    AT(span_scale_bits, 34) AT(scale_shift, 35) AT(start_matrices, 36) AT(end_matrices, 37) AT(scale_base, 38) \
    AT(span_scale_base, 42) AT(passage_scale, 46) AT(levels, 54)
#define MATRIX_FIELDS(AT) AT(scale, 0) AT(entries, 8) AT(row_bits, 12) AT(filled, 16) AT(n, 18)
#define IN_HEAD(name, offset) HEAD_##name = offset,
#define IN_MATRIX(name, offset) MATRIX_##name = offset,
enum { HEAD_FIELDS(IN_HEAD) HEAD_BYTES = 70, MATRIX_FIELDS(IN_MATRIX) MATRIX_BYTES = 20 };

static uint16_t u16(const uint8_t *at) { uint16_t value; memcpy(&value, at, 2); return value; }
static uint32_t u32(const uint8_t *at) { uint32_t value; memcpy(&value, at, 4); return value; }
static double f64(const uint8_t *at) { double value; memcpy(&value, at, 8); return value; }

static float real(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* So many bits (56 at most) of a column, the first of them the lowest; zeros where the block has no more. */
static inline uint64_t bits_at(const Block *block, const uint8_t *column, Py_ssize_t first, int count)
{
    const Py_ssize_t at = column - block->head + first / 8;
    uint64_t bits = 0;
    if (at + 8 <= block->size) memcpy(&bits, block->head + at, 8);
    else if (at < block->size) memcpy(&bits, block->head + at, (size_t)(block->size - at));
    return bits >> first % 8 & (((uint64_t)1 << count) - 1);
}

/* A number of a column. */
static inline uint64_t number_at(const Block *block, const uint8_t *column, Py_ssize_t number, int bits)
{
    return bits_at(block, column, number * bits, bits);
}

static inline double scale_at(const Block *block, const uint8_t *column, Py_ssize_t number, const Scales *scales)
{
    return real((scales->base + (uint32_t)number_at(block, column, number, scales->bits)) << scales->shift);
}

static inline int flags_of(const Block *block, Py_ssize_t token)
{
    return block->flags[token / 2] >> (token % 2 ? FLAG_BITS : 0) & ((1 << FLAG_BITS) - 1);
}

static int64_t token_id(const uint8_t *ids, Py_ssize_t number, int bytes)
{
    return bytes == 2 ? (int64_t)u16(ids + 2 * number) : (int64_t)(int32_t)u32(ids + 4 * number);
}

static Matrix matrix_of(const Block *block, int number)
{
    const uint8_t *at = block->matrices + MATRIX_BYTES * number;
    Matrix matrix = {f64(at + MATRIX_scale), u32(at + MATRIX_entries), u32(at + MATRIX_row_bits), u16(at + MATRIX_filled),
                     u16(at + MATRIX_n)};
    return matrix;
}

enum { AT_A_TIME = 56 };

/* The number of the lowest bit that is set; there is one. */
static inline int lowest_of(uint64_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int number = 0;
    while (!(bits & 1)) bits >>= 1, number++;
    return number;
#endif
}

static Py_ssize_t row_bytes(Py_ssize_t bits) { return (bits + 7) / 8; }
static int one_of(int value, int a, int b) { return value == a || value == b; }

/* Where the columns of a block are; what is wrong with it, or NULL. */
static const char *open_block(Block *block, const uint8_t *data, Py_ssize_t size)
{
    static const int offset_bytes[] = {1, 2, 4, 8};
    const char *cut_short = "is cut short";
    if (size < HEAD_BYTES || u32(data + HEAD_magic) != (uint32_t)MAGIC) return "does not begin as one of this format does";
    block->head = data;
    block->size = size;
    block->tokens = u16(data + HEAD_tokens);
    block->sides[START].kept = u16(data + HEAD_starts);
    block->sides[END].kept = u16(data + HEAD_ends);
    block->dense = u16(data + HEAD_dense);
    block->span = u16(data + HEAD_span);
    block->pooled = u16(data + HEAD_pooled);
    block->terms = u16(data + HEAD_terms);
    block->other_terms_count = u16(data + HEAD_other_terms);
    block->impacts_count = u16(data + HEAD_impacts);
    block->id_bytes = data[HEAD_id_bytes];
    block->vector_bits = data[HEAD_vector_bits];
    block->span_bits = data[HEAD_span_bits];
    block->value_bits = data[HEAD_value_bits];
    block->count_bits = data[HEAD_count_bits];
    block->impact_bits = data[HEAD_impact_bits];
    const int shift = data[HEAD_scale_shift];
    block->scales = (Scales){u32(data + HEAD_scale_base), data[HEAD_scale_bits], shift};
    block->span_scales = (Scales){u32(data + HEAD_span_scale_base), data[HEAD_span_scale_bits], shift};
    block->split = data[HEAD_start_matrices];
    block->matrix_count = data[HEAD_start_matrices] + data[HEAD_end_matrices];
    block->passage_scale = f64(data + HEAD_passage_scale);
    if (!one_of(block->id_bytes, 2, 4) || !one_of(block->vector_bits, 4, 8) || !one_of(block->span_bits, 4, 8)
        || !one_of(block->value_bits, 4, 8) || !one_of(shift, 0, SHORT) || block->count_bits > 16
        || block->impact_bits > 16 || block->scales.bits > 32 || block->span_scales.bits > 32
        || (block->vector_bits == 4 && block->dense % 2) || (block->span_bits == 4 && block->span % 2))
        return "is of a kind that is not known";
    Py_ssize_t at = HEAD_BYTES + (Py_ssize_t)MATRIX_BYTES * block->matrix_count;
    if (size < at) return cut_short;
    block->matrices = data + HEAD_BYTES;
    Py_ssize_t filled = 0, rows = 0, entries = 0;
    for (int number = 0; number < block->matrix_count; number++) {
        Matrix matrix = matrix_of(block, number);
        filled += matrix.filled;
        rows += matrix.row_bits;
        entries += matrix.entries;
    }
    const Py_ssize_t tokens = block->tokens, starts = block->sides[START].kept, ends = block->sides[END].kept;
    const struct { const uint8_t **column; Py_ssize_t count; int bits; } columns[] = {
        {&block->token_ids, tokens, 8 * block->id_bytes},
        {&block->flags, tokens, FLAG_BITS},
        {&block->sides[START].positions, tokens, 1},
        {&block->sides[END].positions, tokens, 1},
        {&block->sides[START].vectors, starts * block->dense, block->vector_bits},
        {&block->sides[END].vectors, ends * block->dense, block->vector_bits},
        {&block->sides[START].spans, starts * block->span, block->span_bits},
        {&block->sides[END].spans, ends * block->span, block->span_bits},
        {&block->sides[START].scales, starts, block->scales.bits},
        {&block->sides[START].span_scales, starts, block->span_scales.bits},
        {&block->sides[END].scales, ends, block->scales.bits},
        {&block->sides[END].span_scales, ends, block->span_scales.bits},
        {&block->passage_vector, block->pooled, 8},
        {&block->term_places, tokens, 1},
        {&block->other_terms, block->other_terms_count, 8 * block->id_bytes},
        {&block->impacts, block->impacts_count, 32},
        {&block->term_impacts, block->terms, block->impact_bits},
        {&block->filled, tokens * block->matrix_count, 1},
        {&block->counts, filled, block->count_bits},
        {&block->rows, rows, 1},
        {&block->values, entries, block->value_bits},
    };
    for (size_t column = 0; column < sizeof columns / sizeof *columns; column++) {
        *columns[column].column = data + at;
        at += row_bytes(columns[column].count * columns[column].bits);
    }
    at += tokens * offset_bytes[data[HEAD_offset_kind] < 3 ? data[HEAD_offset_kind] : 3];
    return at == size ? NULL : cut_short;
}

#endif
