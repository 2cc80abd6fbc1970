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
enum { MAGIC = 'S' | 'P' << 8 | 'B' << 16 | 2 << 24 };
enum { START, END, SIDES };

typedef struct {
    double scale;
    uint32_t entries;
    uint16_t filled, n;
} Matrix;

typedef struct {
    const uint8_t *positions, *vectors, *spans, *scales, *span_scales;
    Py_ssize_t kept;
} Side;

typedef struct {
    const uint8_t *head, *matrices, *token_ids, *flags, *passage_vector, *lex_ids, *lex_impacts, *counts, *rows, *values;
    Side sides[SIDES];
    Py_ssize_t tokens, dense, span, pooled, terms;
    int id_bytes, vector_bits, span_bits, value_bits, scale_bytes, impact_bytes, count_bytes;
    int split, matrix_count;
    double passage_scale;
} Block;

/* Where the fields of a head and of a matrix stand. `block_layout.py` says so; a test compares what the module tells. */
#define HEAD_FIELDS(AT) \
    AT(magic, 0) AT(checksum, 4) AT(tokens, 8) AT(starts, 10) AT(ends, 12) AT(dense, 14) AT(span, 16) AT(pooled, 18) \
    AT(terms, 20) AT(id_bytes, 22) AT(offset_kind, 23) AT(vector_bits, 24) AT(span_bits, 25) AT(value_bits, 26) \
    AT(scale_bytes, 27) AT(impact_bytes, 28) AT(count_bytes, 29) AT(start_matrices, 30) AT(end_matrices, 31) \
    AT(passage_scale, 32) AT(levels, 40)
#define MATRIX_FIELDS(AT) AT(scale, 0) AT(entries, 8) AT(filled, 12) AT(n, 14)
#define IN_HEAD(name, offset) HEAD_##name = offset,
#define IN_MATRIX(name, offset) MATRIX_##name = offset,
enum { HEAD_FIELDS(IN_HEAD) HEAD_BYTES = 56, MATRIX_FIELDS(IN_MATRIX) MATRIX_BYTES = 16 };

static uint16_t u16(const uint8_t *at) { uint16_t value; memcpy(&value, at, 2); return value; }
static uint32_t u32(const uint8_t *at) { uint32_t value; memcpy(&value, at, 4); return value; }
static double f64(const uint8_t *at) { double value; memcpy(&value, at, 8); return value; }

/* Two bytes hold a float of nine significant bits without its sign, see `shorten` in `packing`. */
static double real(const uint8_t *at, int bytes)
{
    uint32_t bits = bytes == 2 ? (uint32_t)u16(at) << 15 : u32(at);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static int64_t token_id(const uint8_t *ids, Py_ssize_t number, int bytes)
{
    return bytes == 2 ? (int64_t)u16(ids + 2 * number) : (int64_t)(int32_t)u32(ids + 4 * number);
}

static Matrix matrix_of(const Block *block, int number)
{
    const uint8_t *at = block->matrices + MATRIX_BYTES * number;
    Matrix matrix = {f64(at + MATRIX_scale), u32(at + MATRIX_entries), u16(at + MATRIX_filled), u16(at + MATRIX_n)};
    return matrix;
}

static const uint64_t FIRST = (uint64_t)1 << 63;

/* Up to 64 bits, the first of them the highest. */
static uint64_t bits_at(const uint8_t *at, Py_ssize_t bytes)
{
    uint64_t bits = 0;
    for (Py_ssize_t i = 0; i < bytes && i < 8; i++) bits |= (uint64_t)at[i] << (56 - 8 * i);
    return bits;
}

/* The number of the first bit that is set; there is one. */
static int first_of(uint64_t bits)
{
#if defined(__GNUC__)
    return __builtin_clzll(bits);
#else
    int number = 0;
    while (!(bits >> 63)) bits <<= 1, number++;
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
    block->tokens = u16(data + HEAD_tokens);
    block->sides[START].kept = u16(data + HEAD_starts);
    block->sides[END].kept = u16(data + HEAD_ends);
    block->dense = u16(data + HEAD_dense);
    block->span = u16(data + HEAD_span);
    block->pooled = u16(data + HEAD_pooled);
    block->terms = u16(data + HEAD_terms);
    block->id_bytes = data[HEAD_id_bytes];
    block->vector_bits = data[HEAD_vector_bits];
    block->span_bits = data[HEAD_span_bits];
    block->value_bits = data[HEAD_value_bits];
    block->scale_bytes = data[HEAD_scale_bytes];
    block->impact_bytes = data[HEAD_impact_bytes];
    block->count_bytes = data[HEAD_count_bytes];
    block->split = data[HEAD_start_matrices];
    block->matrix_count = data[HEAD_start_matrices] + data[HEAD_end_matrices];
    block->passage_scale = f64(data + HEAD_passage_scale);
    if (!one_of(block->id_bytes, 2, 4) || !one_of(block->vector_bits, 4, 8) || !one_of(block->span_bits, 4, 8)
        || !one_of(block->value_bits, 4, 8) || !one_of(block->scale_bytes, 2, 4) || !one_of(block->impact_bytes, 2, 4)
        || !one_of(block->count_bytes, 1, 2) || (block->vector_bits == 4 && block->dense % 2)
        || (block->span_bits == 4 && block->span % 2))
        return "is of a kind that is not known";
    Py_ssize_t at = HEAD_BYTES + (Py_ssize_t)MATRIX_BYTES * block->matrix_count;
    if (size < at) return cut_short;
    block->matrices = data + HEAD_BYTES;
    Py_ssize_t entries = 0, bits = 0;
    for (int number = 0; number < block->matrix_count; number++) {
        Matrix matrix = matrix_of(block, number);
        entries += matrix.entries;
        bits += matrix.filled * row_bytes(block->sides[number < block->split ? START : END].kept);
    }
    Py_ssize_t vector = block->dense * block->vector_bits / 8, span = block->span * block->span_bits / 8;
    const uint8_t **columns[] = {
        &block->token_ids, &block->flags,
        &block->sides[START].positions, &block->sides[END].positions,
        &block->sides[START].vectors, &block->sides[END].vectors,
        &block->sides[START].spans, &block->sides[END].spans,
        &block->sides[START].scales, &block->sides[START].span_scales,
        &block->sides[END].scales, &block->sides[END].span_scales,
        &block->passage_vector, &block->lex_ids, &block->lex_impacts,
        &block->counts, &block->rows, &block->values,
    };
    const Py_ssize_t starts = block->sides[START].kept, ends = block->sides[END].kept;
    const Py_ssize_t sizes[] = {
        block->tokens * block->id_bytes, block->tokens,
        row_bytes(block->tokens), row_bytes(block->tokens),
        starts * vector, ends * vector,
        starts * span, ends * span,
        starts * block->scale_bytes, starts * block->scale_bytes,
        ends * block->scale_bytes, ends * block->scale_bytes,
        block->pooled, block->terms * block->id_bytes, block->terms * block->impact_bytes,
        block->tokens * block->matrix_count * block->count_bytes, bits, (entries * block->value_bits + 7) / 8,
    };
    for (size_t column = 0; column < sizeof sizes / sizeof *sizes; column++) {
        *columns[column] = data + at;
        at += sizes[column];
    }
    at += block->tokens * offset_bytes[data[HEAD_offset_kind] < 3 ? data[HEAD_offset_kind] : 3];
    return at == size ? NULL : cut_short;
}

#endif
