/* The best spans of stored phrase blocks, straight from their bytes.

   The same numbers, to the last bit, as `search.scorer` and `search.choice` get with numpy from `phrase_block_batch`:
   those are the definition, this is for speed, and a test holds one against the other. Sums of (grid value x stored
   integer) are exact in any order (see `search.grid`); all other sums are taken in numpy's order.

   Nothing is read that was not checked to be inside a block (`_stored_block.h`). */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_stored_block.h"

/* Compiled for newer processors too, and chosen when it is loaded; integers come out the same, and so do the few sums of
   floats, which are not put into one operation with their products. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && __GNUC__ >= 12 && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

enum { PARTS = 8 }; /* the seven summands of a score, and the score */
enum { VECTOR_BITS = 28, LOW_BITS = 14, AT_ONCE = 512, FILTER = 1 << 16 };

/* --- what is given --------------------------------------------------------------------------------------------- */

/* A vector of whole numbers of VECTOR_BITS bits, in two parts of so few that 32 hold the sums of AT_ONCE products. */
typedef struct {
    Py_ssize_t width;
    int16_t *high, *low;
    double step;
} Vector;

typedef struct {
    int64_t *ids; /* ascending */
    Py_ssize_t count;
} Ids;

typedef struct {
    Vector vectors[SIDES], passage;
    Ids pieces, terms;
    const int64_t *sizes;  /* of each n-gram its n */
    int64_t *keys;         /* and the numbers of its pieces as digits; ascending by both */
    const double *weights; /* (n-grams, 2) */
    Py_ssize_t ngrams;
    const double *term_weights;
    long longest_answer;
    uint8_t filter[FILTER]; /* whether a piece or a term has an id of these lowest bits: most tokens stop here */
} Question;

enum { PIECE = 1, TERM = 2 };

/* --- inner products -------------------------------------------------------------------------------------------- */

static inline void unpack(int16_t *out, const uint8_t *row, Py_ssize_t width, int bits)
{
    if (bits == 8) {
        for (Py_ssize_t i = 0; i < width; i++) out[i] = (int8_t)row[i];
        return;
    }
    Py_ssize_t half = width / 2; /* the left half in the low halves of the bytes */
    for (Py_ssize_t i = 0; i < half; i++) {
        out[i] = (int16_t)((row[i] & 15) - 8);
        out[half + i] = (int16_t)((row[i] >> 4) - 8);
    }
}

static inline int32_t product(const int16_t *a, const int16_t *b, Py_ssize_t width)
{
    int32_t sum = 0;
    for (Py_ssize_t i = 0; i < width; i++) sum += (int32_t)a[i] * b[i];
    return sum;
}

/* The sum of the squares of a row. */
static inline int32_t square(const uint8_t *row, Py_ssize_t width, int bits)
{
    int32_t sum = 0;
    if (bits == 8)
        for (Py_ssize_t i = 0; i < width; i++) sum += (int8_t)row[i] * (int8_t)row[i];
    else
        for (Py_ssize_t i = 0; i < width / 2; i++) {
            const int low = (row[i] & 15) - 8, high = (row[i] >> 4) - 8;
            sum += low * low + high * high;
        }
    return sum;
}

static inline double exact_product(const Vector *vector, const int16_t *row, Py_ssize_t width)
{
    int64_t sum = 0;
    for (Py_ssize_t at = 0; at < width; at += AT_ONCE) {
        Py_ssize_t some = width - at < AT_ONCE ? width - at : AT_ONCE;
        sum += (int64_t)product(row + at, vector->high + at, some) * (1 << LOW_BITS);
        sum += product(row + at, vector->low + at, some);
    }
    return (double)sum * vector->step;
}

/* --- scores of one block --------------------------------------------------------------------------------------- */

/* What the kept positions of a block score. */
typedef struct {
    int32_t *positions[SIDES]; /* (kept) */
    uint8_t *may[SIDES];       /* (kept) whether an answer may begin or end there */
    double *dense[SIDES];      /* (kept) */
    double *sparse[SIDES];     /* (kept) */
    double passage, lex;
    double promise;            /* no span scores more, but for what its span vectors give */
} Scores;

/* Room for the largest block. */
typedef struct {
    Py_ssize_t *order;           /* (blocks) the most promising first */
    int16_t *row;                /* one vector */
    int32_t *piece;              /* (tokens) number of the question's word piece, or -1 */
    int32_t *places;             /* the tokens that have one */
    Py_ssize_t place_count;
    double *sums;                /* (kept) */
    int32_t *sizes[SIDES];       /* (kept + 1) bits of a sparse column with so many rows */
    double *impacts;             /* (terms of the question) of the terms that a block has */
    int32_t *words, *joints;     /* (tokens + 1) tokens before that are no punctuation; that follow a joint */
    int16_t *spans[SIDES];       /* (kept, span) the span vectors that were needed */
    uint8_t *unpacked[SIDES];    /* (kept) whether they were */
    double *span_scales[SIDES];  /* (kept) */
    double *lengths[SIDES];      /* (kept) of the span vectors */
    double *ends;                /* (kept ends) what they score */
    int32_t *queue;              /* (kept ends) numbers of ends, see `offer_spans` */
} Room;

static Py_ssize_t find(const int64_t *sorted, Py_ssize_t count, int64_t wanted)
{
    Py_ssize_t low = 0, high = count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (sorted[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low < count && sorted[low] == wanted ? low : -1;
}

/* The bits of a column from the first on, as many as fit, up to a last one. */
static inline uint64_t up_to(const Block *block, const uint8_t *column, Py_ssize_t first, Py_ssize_t last)
{
    return bits_at(block, column, first, last - first < AT_A_TIME ? (int)(last - first) : AT_A_TIME);
}

static const char *read_positions(const Block *block, int which, Scores *scores)
{
    const Side *side = &block->sides[which];
    Py_ssize_t found = 0;
    const char *wrong = "keeps other positions than it says";
    for (Py_ssize_t first = 0; first < block->tokens; first += AT_A_TIME)
        for (uint64_t bits = up_to(block, side->positions, first, block->tokens); bits; bits &= bits - 1) {
            if (found == side->kept) return wrong;
            scores->positions[which][found++] = (int32_t)(first + lowest_of(bits));
        }
    if (found != side->kept) return wrong;
    for (Py_ssize_t i = 0; i < side->kept; i++) {
        Py_ssize_t at = scores->positions[which][i];
        int goes_on = which == START ? flags_of(block, at) & CONTINUES
                                     : at + 1 < block->tokens && flags_of(block, at + 1) & CONTINUES;
        scores->may[which][i] = !goes_on && !(flags_of(block, at) & TITLE);
    }
    return NULL;
}

static inline void score_rows(const Block *block, const Question *question, int which, Scores *scores, Room *room,
                              Py_ssize_t width, int bits)
{
    const Side *side = &block->sides[which];
    for (Py_ssize_t i = 0; i < side->kept; i++) {
        if (!scores->may[which][i]) continue;
        unpack(room->row, side->vectors + i * (width * bits / 8), width, bits);
        double scale = scale_at(block, side->scales, i, &block->scales);
        scores->dense[which][i] = exact_product(&question->vectors[which], room->row, width) * scale;
    }
}

static void score_dense(const Block *block, const Question *question, int which, Scores *scores, Room *room)
{
    if (block->dense == 128 && block->vector_bits == 4) /* the usual shape: a compiler that knows it makes more of it */
        score_rows(block, question, which, scores, room, 128, 4);
    else
        score_rows(block, question, which, scores, room, block->dense, block->vector_bits);
}

static void read_tokens(const Block *block, const Question *question, Room *room)
{
    room->place_count = 0;
    for (Py_ssize_t i = 0; i < block->tokens; i++) {
        int64_t id = token_id(block->token_ids, i, block->id_bytes);
        room->piece[i] = question->filter[id & (FILTER - 1)] & PIECE
                             ? (int32_t)find(question->pieces.ids, question->pieces.count, id) : -1;
        if (room->piece[i] >= 0) room->places[room->place_count++] = (int32_t)i;
    }
}

/* The number of the question's n-gram that begins at a token, or -1. */
static Py_ssize_t ngram_at(const Block *block, const Question *question, const Room *room, Py_ssize_t token, int n,
                           Py_ssize_t first, Py_ssize_t count)
{
    if (n < 1 || token + n > block->tokens) return -1;
    int64_t key = 0;
    for (int step = 0; step < n; step++) {
        if (room->piece[token + step] < 0) return -1;
        key = key * question->pieces.count + room->piece[token + step];
    }
    Py_ssize_t found = find(question->keys + first, count, key);
    return found < 0 ? -1 : first + found;
}

/* --- sparse columns: see `packed_rows.py` ------------------------------------------------------------------------ */

/* How the rows of a column are coded. */
typedef struct {
    int low;          /* bits of each number that stand as they are; none: a bit for each position */
    Py_ssize_t heads; /* bits of all heads together */
} Shape;

static inline Shape shape_with(int low, Py_ssize_t count, Py_ssize_t kept)
{
    const Py_ssize_t heads = count + ((kept - 1) >> low);
    return low && count * low + heads < kept ? (Shape){low, heads} : (Shape){0, kept};
}

static Shape shape_of(Py_ssize_t count, Py_ssize_t kept)
{
    int low = 0;
    while (count <= kept >> (low + 1)) low++;
    return shape_with(low, count, kept);
}

/* What each number of rows takes, up to the most that a side of the block can have. */
static void read_sizes(const Block *block, Room *room)
{
    for (int which = START; which < SIDES; which++) {
        const Py_ssize_t kept = block->sides[which].kept;
        for (int low = 0; kept >> low; low++)
            for (Py_ssize_t count = (kept >> (low + 1)) + 1; count <= kept >> low; count++) {
                const Shape shape = shape_with(low, count, kept);
                room->sizes[which][count] = (int32_t)(count * shape.low + shape.heads);
            }
    }
}

/* A place among the columns of a block, in their order, and what comes before it. */
typedef struct {
    Py_ssize_t column, filled, entries, bits;
} Place;

static Py_ssize_t count_at(const Block *block, Py_ssize_t filled)
{
    return 1 + (Py_ssize_t)number_at(block, block->counts, filled, block->count_bits);
}

/* Go on to another column of the same matrix; 0 if a column has more rows than there are. */
static int go_on(const Block *block, Place *place, Py_ssize_t column, const int32_t *sizes, Py_ssize_t kept)
{
    for (; place->column < column; place->column += AT_A_TIME)
        for (uint64_t bits = up_to(block, block->filled, place->column, column); bits; bits &= bits - 1) {
            const Py_ssize_t count = count_at(block, place->filled++);
            if (count > kept) return 0;
            place->entries += count;
            place->bits += sizes[count];
        }
    place->column = column;
    return 1;
}

/* Add a column's values times a weight to the sums of its rows; 0 if it has other rows than it says. */
static int add_column(const Block *block, const Place *place, Py_ssize_t count, Py_ssize_t kept, double weight,
                      double *sums)
{
    const uint8_t *levels = block->head + HEAD_levels;
    const Shape shape = shape_of(count, kept);
    const Py_ssize_t first = place->bits + count * shape.low, last = first + shape.heads;
    Py_ssize_t number = 0;
    for (Py_ssize_t bit = first; bit < last; bit += AT_A_TIME)
        for (uint64_t bits = up_to(block, block->rows, bit, last); bits; bits &= bits - 1, number++) {
            if (number == count) return 0;
            Py_ssize_t row = bit - first + lowest_of(bits);
            if (shape.low)
                row = (row - number) << shape.low
                      | (Py_ssize_t)bits_at(block, block->rows, place->bits + number * shape.low, shape.low);
            if (row >= kept) return 0;
            const int value = (int)number_at(block, block->values, place->entries + number, block->value_bits);
            sums[row] += (block->value_bits == 8 ? value : levels[value]) * weight;
        }
    return number == count;
}

static const char *score_sparse(const Block *block, const Question *question, Scores *scores, Room *room)
{
    const char *wrong = "has weights for more or fewer positions than it says";
    Place begin = {0, 0, 0, 0}; /* of the matrix */
    read_sizes(block, room);
    for (int which = START; which < SIDES; which++)
        memset(scores->sparse[which], 0, sizeof(double) * (size_t)block->sides[which].kept);
    for (int number = 0; number < block->matrix_count; number++) {
        const Matrix matrix = matrix_of(block, number);
        const int which = number < block->split ? START : END;
        const Py_ssize_t kept = block->sides[which].kept;
        Py_ssize_t first = 0, own = 0;
        Place place = begin;
        while (first < question->ngrams && question->sizes[first] < matrix.n) first++;
        while (first + own < question->ngrams && question->sizes[first + own] == matrix.n) own++;
        memset(room->sums, 0, sizeof(double) * (size_t)kept);
        for (Py_ssize_t i = 0; own && i < room->place_count; i++) {
            const Py_ssize_t token = room->places[i];
            if (!bits_at(block, block->filled, begin.column + token, 1)) continue;
            const Py_ssize_t ngram = ngram_at(block, question, room, token, matrix.n, first, own);
            const double weight = ngram < 0 ? 0 : question->weights[2 * ngram + which];
            if (weight == 0) continue;
            if (!go_on(block, &place, begin.column + token, room->sizes[which], kept)) return wrong;
            const Py_ssize_t count = count_at(block, place.filled);
            if (count > kept || !add_column(block, &place, count, kept, weight, room->sums)) return wrong;
        }
        begin.column += block->tokens;
        begin.filled += matrix.filled;
        begin.entries += matrix.entries;
        begin.bits += matrix.row_bits;
        for (Py_ssize_t i = 0; i < kept; i++) scores->sparse[which][i] += room->sums[i] * matrix.scale;
    }
    return NULL;
}

/* --- lexical terms --------------------------------------------------------------------------------------------- */

/* Note the impact of a term, if the question has it; 0 if it has none. */
static int note_term(const Block *block, const Question *question, int64_t id, Py_ssize_t number, Room *room)
{
    if (!(question->filter[id & (FILTER - 1)] & TERM)) return 1;
    const Py_ssize_t found = find(question->terms.ids, question->terms.count, id);
    const uint64_t impact = number_at(block, block->term_impacts, number, block->impact_bits);
    if (impact >= (uint64_t)block->impacts_count) return 0;
    if (found >= 0) room->impacts[found] = real(u32(block->impacts + 4 * impact));
    return 1;
}

static const char *score_terms(const Block *block, const Question *question, Scores *scores, Room *room)
{
    const char *wrong = "has other lexical terms than it says";
    const Py_ssize_t of_tokens = block->terms - block->other_terms_count;
    Py_ssize_t number = 0;
    memset(room->impacts, 0, sizeof *room->impacts * (size_t)question->terms.count);
    for (Py_ssize_t first = 0; first < block->tokens; first += AT_A_TIME)
        for (uint64_t bits = up_to(block, block->term_places, first, block->tokens); bits; bits &= bits - 1, number++) {
            const int64_t id = token_id(block->token_ids, first + lowest_of(bits), block->id_bytes);
            if (number >= of_tokens || !note_term(block, question, id, number, room)) return wrong;
        }
    if (number != of_tokens) return wrong;
    for (Py_ssize_t i = 0; i < block->other_terms_count; i++, number++)
        if (!note_term(block, question, token_id(block->other_terms, i, block->id_bytes), number, room)) return wrong;
    scores->lex = 0;
    for (Py_ssize_t i = 0; i < question->terms.count; i++) scores->lex += question->term_weights[i] * room->impacts[i];
    return NULL;
}

/* --- the best of them ------------------------------------------------------------------------------------------ */

typedef struct {
    double parts[PARTS]; /* the score comes last */
    int32_t block, start, end; /* of equals, those come first that are lower here */
} Found;

typedef struct {
    Found *heap; /* the worst is the first */
    Py_ssize_t count, most;
} Best;

static int worse(const Found *a, const Found *b)
{
    double x = a->parts[PARTS - 1], y = b->parts[PARTS - 1];
    if (x != y) return x < y;
    if (a->block != b->block) return a->block > b->block;
    return a->start != b->start ? a->start > b->start : a->end > b->end;
}

static int best_first(const void *a, const void *b) { return worse(a, b) ? 1 : -1; }

static void sift(Best *best, const Found *found, Py_ssize_t at)
{
    for (Py_ssize_t child; (child = 2 * at + 1) < best->count; at = child) {
        if (child + 1 < best->count && worse(&best->heap[child + 1], &best->heap[child])) child++;
        if (!worse(&best->heap[child], found)) break;
        best->heap[at] = best->heap[child];
    }
    best->heap[at] = *found;
}

static void offer(Best *best, const Found *found)
{
    if (best->count < best->most) {
        Py_ssize_t at = best->count++;
        while (at && worse(found, &best->heap[(at - 1) / 2])) {
            best->heap[at] = best->heap[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        best->heap[at] = *found;
    } else if (worse(best->heap, found))
        sift(best, found, 0);
}

/* Whether a span can still be among the best when at most `span` is added to a sum. Sums in another order differ by
   much less than a part in 10^9. */
static int may_be_among(const Best *best, double sum, double span)
{
    return best->count < best->most || sum + span + 1e-9 * (1 + fabs(sum) + span) > best->heap->parts[PARTS - 1];
}

/* What the spans of a block are made of besides the scores. */
static void read_spans(const Block *block, const Scores *scores, Room *room)
{
    int32_t words = 0, joints = 0;
    room->words[0] = 0;
    for (Py_ssize_t i = 0; i < block->tokens; i++) {
        room->words[i + 1] = words += !(flags_of(block, i) & PUNCTUATION);
        room->joints[i] = joints += (flags_of(block, i) & AFTER_JOINT) != 0;
    }
    for (int which = START; which < SIDES; which++) {
        const Side *side = &block->sides[which];
        const Py_ssize_t bytes = block->span * block->span_bits / 8;
        memset(room->unpacked[which], 0, (size_t)side->kept);
        for (Py_ssize_t i = 0; i < side->kept; i++) {
            room->span_scales[which][i] = scale_at(block, side->span_scales, i, &block->span_scales);
            room->lengths[which][i] = square(side->spans + i * bytes, block->span, block->span_bits);
        }
        for (Py_ssize_t i = 0; i < side->kept; i++)
            room->lengths[which][i] = sqrt(room->lengths[which][i]) * room->span_scales[which][i];
    }
    for (Py_ssize_t i = 0; i < block->sides[END].kept; i++)
        room->ends[i] = scores->may[END][i] ? scores->dense[END][i] + scores->sparse[END][i] : -INFINITY;
}

static const int16_t *span_vector(const Block *block, int which, Py_ssize_t i, Room *room)
{
    int16_t *vector = room->spans[which] + i * block->span;
    if (!room->unpacked[which][i]) {
        Py_ssize_t bytes = block->span * block->span_bits / 8;
        unpack(vector, block->sides[which].spans + i * bytes, block->span, block->span_bits);
        room->unpacked[which][i] = 1;
    }
    return vector;
}

FOR_EACH_PROCESSOR
static void offer_spans(const Block *block, const Question *question, const Scores *scores, Room *room, int32_t number,
                        Best *best)
{
    Py_ssize_t first = 0, reached = 0, head = 0, tail = 0, ends = block->sides[END].kept;
    const double passage_and_lex = scores->passage + scores->lex;
    double longest_end = 0; /* of any end */
    read_spans(block, scores, room);
    for (Py_ssize_t j = 0; j < ends; j++)
        if (scores->may[END][j]) longest_end = fmax(longest_end, room->lengths[END][j]);
    for (Py_ssize_t i = 0; i < block->sides[START].kept; i++) {
        const int32_t left = scores->positions[START][i];
        if (!scores->may[START][i]) continue;
        /* The ends in reach that are better than all after them wait in a queue, the best of them first. */
        for (; reached < ends && scores->positions[END][reached] - left < question->longest_answer; reached++) {
            if (!scores->may[END][reached]) continue;
            while (tail > head && room->ends[room->queue[tail - 1]] <= room->ends[reached]) tail--;
            room->queue[tail++] = (int32_t)reached;
        }
        while (head < tail && scores->positions[END][room->queue[head]] < left) head++;
        if (head == tail) continue;
        /* Most cannot be among the best, however well their span vectors go together. */
        const double sum = scores->dense[START][i] + scores->sparse[START][i], length = room->lengths[START][i];
        if (!may_be_among(best, sum + room->ends[room->queue[head]] + passage_and_lex, length * longest_end)) continue;
        const int16_t *vector = span_vector(block, START, i, room);
        while (first < ends && scores->positions[END][first] < left) first++;
        for (Py_ssize_t j = first; j < reached; j++) {
            const int32_t right = scores->positions[END][j];
            if (!scores->may[END][j] || room->joints[left] != room->joints[right]
                || room->words[right + 1] == room->words[left])
                continue;
            const double others = sum + room->ends[j];
            if (!may_be_among(best, others + passage_and_lex, length * room->lengths[END][j])) continue;
            double span = (double)product(vector, span_vector(block, END, j, room), block->span);
            span *= room->span_scales[START][i] * room->span_scales[END][j];
            double score = others + span;
            score += passage_and_lex;
            if (best->count == best->most && score < best->heap->parts[PARTS - 1]) continue;
            Found found = {
                {scores->dense[START][i], scores->dense[END][j], span, scores->passage, scores->sparse[START][i],
                 scores->sparse[END][j], scores->lex, score},
                number, left, right};
            offer(best, &found);
        }
    }
}

static double highest_of(const Block *block, int which, const Scores *scores)
{
    double highest = -INFINITY;
    for (Py_ssize_t i = 0; i < block->sides[which].kept; i++)
        if (scores->may[which][i]) highest = fmax(highest, scores->dense[which][i] + scores->sparse[which][i]);
    return highest;
}

FOR_EACH_PROCESSOR
static const char *score_block(const Block *block, const Question *question, Scores *scores, Room *room)
{
    const char *wrong;
    if (block->dense != question->vectors[START].width || block->dense != question->vectors[END].width
        || block->pooled != question->passage.width)
        return "is of another shape than the question";
    for (int which = START; which < SIDES; which++) {
        if ((wrong = read_positions(block, which, scores))) return wrong;
        score_dense(block, question, which, scores, room);
    }
    read_tokens(block, question, room);
    if ((wrong = score_sparse(block, question, scores, room))) return wrong;
    unpack(room->row, block->passage_vector, block->pooled, 8);
    scores->passage = exact_product(&question->passage, room->row, block->pooled) * block->passage_scale;
    if ((wrong = score_terms(block, question, scores, room))) return wrong;
    scores->promise = highest_of(block, START, scores) + highest_of(block, END, scores) + scores->passage + scores->lex;
    return NULL;
}

/* --- memory ---------------------------------------------------------------------------------------------------- */

/* Pieces of one allocation: called first without memory to count, then with it. */
typedef struct {
    char *memory;
    size_t used;
} Arena;

static void *piece_of(Arena *arena, Py_ssize_t count, size_t size)
{
    void *piece = arena->memory ? arena->memory + arena->used : NULL;
    arena->used += ((size_t)count * size + 63) / 64 * 64;
    return piece;
}

static Py_ssize_t larger(Py_ssize_t a, Py_ssize_t b) { return a > b ? a : b; }

static void make_room(Arena *arena, Room *room, Scores *scores, Question *question, const Block *blocks,
                      Py_ssize_t count)
{
    Py_ssize_t tokens = 0, kept = 0, span = 0, width = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        tokens = larger(tokens, blocks[i].tokens);
        kept = larger(kept, larger(blocks[i].sides[START].kept, blocks[i].sides[END].kept));
        span = larger(span, blocks[i].span);
        width = larger(width, larger(blocks[i].dense, blocks[i].pooled));
        for (int which = START; which < SIDES; which++) {
            Py_ssize_t own = blocks[i].sides[which].kept;
            scores[i].positions[which] = piece_of(arena, own, sizeof *scores->positions[which]);
            scores[i].may[which] = piece_of(arena, own, sizeof *scores->may[which]);
            scores[i].dense[which] = piece_of(arena, own, sizeof *scores->dense[which]);
            scores[i].sparse[which] = piece_of(arena, own, sizeof *scores->sparse[which]);
        }
    }
    room->order = piece_of(arena, count, sizeof *room->order);
    room->row = piece_of(arena, width, sizeof *room->row);
    room->piece = piece_of(arena, tokens, sizeof *room->piece);
    room->places = piece_of(arena, tokens, sizeof *room->places);
    room->sums = piece_of(arena, kept, sizeof *room->sums);
    room->impacts = piece_of(arena, question->terms.count, sizeof *room->impacts);
    room->words = piece_of(arena, tokens + 1, sizeof *room->words);
    room->joints = piece_of(arena, tokens + 1, sizeof *room->joints);
    for (int which = START; which < SIDES; which++) {
        room->spans[which] = piece_of(arena, kept * span, sizeof *room->spans[which]);
        room->span_scales[which] = piece_of(arena, kept, sizeof *room->span_scales[which]);
        room->unpacked[which] = piece_of(arena, kept, sizeof *room->unpacked[which]);
        room->sizes[which] = piece_of(arena, kept + 1, sizeof *room->sizes[which]);
        room->lengths[which] = piece_of(arena, kept, sizeof *room->lengths[which]);
    }
    room->ends = piece_of(arena, kept, sizeof *room->ends);
    room->queue = piece_of(arena, kept, sizeof *room->queue);
    question->pieces.ids = piece_of(arena, question->pieces.count, sizeof *question->pieces.ids);
    question->keys = piece_of(arena, question->ngrams, sizeof *question->keys);
    Vector *vectors[] = {&question->vectors[START], &question->vectors[END], &question->passage};
    for (int i = 0; i < 3; i++) {
        vectors[i]->high = piece_of(arena, vectors[i]->width, sizeof(int16_t));
        vectors[i]->low = piece_of(arena, vectors[i]->width, sizeof(int16_t));
    }
}

enum { START_VECTOR, END_VECTOR, PASSAGE_VECTOR, SIZES, IDS, WEIGHTS, TERMS, TERM_WEIGHTS, WHERE, PARTS_OUT, BUFFERS };

/* --- the question ---------------------------------------------------------------------------------------------- */

/* On its grid, see `search.grid`. */
static void read_vector(Vector *vector, const float *given)
{
    float largest = 0;
    int exponent;
    for (Py_ssize_t i = 0; i < vector->width; i++) largest = fmaxf(largest, fabsf(given[i]));
    frexp(largest, &exponent);
    vector->step = ldexp(1, exponent - VECTOR_BITS);
    for (Py_ssize_t i = 0; i < vector->width; i++) {
        const int32_t whole = (int32_t)rint(given[i] / vector->step);
        vector->low[i] = (int16_t)(whole & ((1 << LOW_BITS) - 1));
        vector->high[i] = (int16_t)((whole - vector->low[i]) / (1 << LOW_BITS));
    }
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The word pieces of the n-grams, each once, and the n-grams as numbers of them. */
static void read_ngrams(Question *question, const int64_t *ids)
{
    Ids *pieces = &question->pieces;
    const Py_ssize_t all = pieces->count;
    memcpy(pieces->ids, ids, (size_t)all * sizeof *ids);
    qsort(pieces->ids, (size_t)all, sizeof *pieces->ids, ascending);
    pieces->count = 0;
    for (Py_ssize_t i = 0; i < all; i++)
        if (!i || pieces->ids[i] != pieces->ids[pieces->count - 1]) pieces->ids[pieces->count++] = pieces->ids[i];
    for (Py_ssize_t i = 0; i < question->ngrams; i++) {
        question->keys[i] = 0;
        for (int64_t step = 0; step < question->sizes[i]; step++)
            question->keys[i] = question->keys[i] * pieces->count + find(pieces->ids, pieces->count, *ids++);
    }
}

static void read_question(Question *question, const Py_buffer *buffers)
{
    read_vector(&question->vectors[START], buffers[START_VECTOR].buf);
    read_vector(&question->vectors[END], buffers[END_VECTOR].buf);
    read_vector(&question->passage, buffers[PASSAGE_VECTOR].buf);
    read_ngrams(question, buffers[IDS].buf);
    for (Py_ssize_t i = 0; i < question->pieces.count; i++)
        question->filter[question->pieces.ids[i] & (FILTER - 1)] |= PIECE;
    for (Py_ssize_t i = 0; i < question->terms.count; i++)
        question->filter[question->terms.ids[i] & (FILTER - 1)] |= TERM;
}

/* --- Python ---------------------------------------------------------------------------------------------------- */

PyDoc_STRVAR(best_spans_doc,
"best_spans(blocks, vectors, sizes, ids, weights, terms, term_weights, longest_answer, where, parts)\n\n"
"Fill `where` (int32, n x 3: block, first and last token) and `parts` (float64, n x 8) with the n best spans of\n"
"`blocks` (a list of bytes), best first, without those that share a token with a better one, and return how many that\n"
"are: fewer than n only if there are not more.\n"
"ValueError says what is wrong with a block. See `stored_blocks` for the other arguments.");

/* Numbers of the blocks by what they promise, most first. */
static void order_blocks(Py_ssize_t *order, const Scores *scores, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t at = i;
        for (; at && scores[order[at - 1]].promise < scores[i].promise; at--) order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Of the best spans, which are in order, those that share no token with a better one; how many. */
static Py_ssize_t without_overlaps(Best *best, Py_ssize_t wanted)
{
    Py_ssize_t chosen = 0;
    for (Py_ssize_t i = 0; i < best->count && chosen < wanted; i++) {
        const Found *found = &best->heap[i];
        Py_ssize_t other = 0;
        while (other < chosen && (best->heap[other].block != found->block || best->heap[other].end < found->start
                                  || best->heap[other].start > found->end))
            other++;
        if (other == chosen) best->heap[chosen++] = *found;
    }
    return chosen;
}

static const char *score_blocks(const Block *blocks, Scores *scores, Py_ssize_t count, const Question *question,
                                Room *room)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *wrong = score_block(&blocks[i], question, &scores[i], room);
        if (wrong) return wrong;
    }
    order_blocks(room->order, scores, count);
    return NULL;
}

/* The best so many spans of which no two overlap, at the front of the heap; how many, or -1 if there is no memory. */
static Py_ssize_t best_apart(const Block *blocks, const Scores *scores, Py_ssize_t count, const Question *question,
                             Room *room, Best *best, Py_ssize_t wanted)
{
    /* Answers overlap with worse forms of themselves, so more must be looked at than are wanted. */
    for (best->most = 8 * wanted;; best->most *= 8) {
        Found *heap = realloc(best->heap, (size_t)best->most * sizeof *heap);
        if (!heap) return -1;
        best->heap = heap;
        best->count = 0;
        /* The most promising first: the better the best so far, the less must be looked at. */
        for (Py_ssize_t i = 0; i < count; i++) {
            const Py_ssize_t number = room->order[i];
            offer_spans(&blocks[number], question, &scores[number], room, (int32_t)number, best);
        }
        const int all = best->count < best->most;
        qsort(best->heap, (size_t)best->count, sizeof *best->heap, best_first);
        const Py_ssize_t chosen = without_overlaps(best, wanted);
        if (all || chosen == wanted) return chosen;
    }
}

static void hand_over(const Best *best, Py_ssize_t count, int32_t *where, double *parts)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const Found *found = &best->heap[i];
        where[3 * i] = found->block;
        where[3 * i + 1] = found->start;
        where[3 * i + 2] = found->end;
        memcpy(parts + PARTS * i, found->parts, sizeof found->parts);
    }
}

static Py_ssize_t length(const Py_buffer *buffer, size_t item) { return buffer->len / (Py_ssize_t)item; }

/* Whether so many numbers, none below zero, have this sum. */
static int sums_to(const int64_t *numbers, Py_ssize_t count, Py_ssize_t sum)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (numbers[i] < 0 || numbers[i] > sum) return 0;
        sum -= (Py_ssize_t)numbers[i];
    }
    return !sum;
}

static PyObject *best_spans_of(PyObject *list, const Py_buffer *buffers, long longest_answer)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    Block *blocks = calloc((size_t)count + 1, sizeof *blocks);
    Scores *scores = calloc((size_t)count + 1, sizeof *scores);
    Question *question = calloc(1, sizeof *question);
    Arena arena = {NULL, 0};
    PyObject *answer = NULL;
    const char *wrong = NULL;
    Room room;
    Best best = {NULL, 0, 0};
    Py_ssize_t wanted = length(&buffers[PARTS_OUT], PARTS * sizeof(double)), found = 0;
    if (!blocks || !scores || !question) { PyErr_NoMemory(); goto done; }
    Vector *vectors[] = {&question->vectors[START], &question->vectors[END], &question->passage};
    for (int i = 0; i < 3; i++) vectors[i]->width = length(&buffers[START_VECTOR + i], sizeof(float));
    question->pieces = (Ids){NULL, length(&buffers[IDS], sizeof(int64_t))};
    question->terms = (Ids){buffers[TERMS].buf, length(&buffers[TERMS], sizeof(int64_t))};
    question->sizes = buffers[SIZES].buf;
    question->weights = buffers[WEIGHTS].buf;
    question->term_weights = buffers[TERM_WEIGHTS].buf;
    question->ngrams = length(&buffers[SIZES], sizeof(int64_t));
    question->longest_answer = longest_answer;
    if (!sums_to(question->sizes, question->ngrams, question->pieces.count)
        || length(&buffers[WEIGHTS], 2 * sizeof(double)) != question->ngrams
        || length(&buffers[TERM_WEIGHTS], sizeof(double)) != question->terms.count
        || length(&buffers[WHERE], 3 * sizeof(int32_t)) < wanted || wanted < 1) {
        PyErr_SetString(PyExc_TypeError, "arrays of different lengths");
        goto done;
    }
    for (Py_ssize_t i = 0; i < count && !wrong; i++) {
        PyObject *data = PyList_GET_ITEM(list, i);
        if (!PyBytes_Check(data)) { PyErr_SetString(PyExc_TypeError, "blocks must be bytes"); goto done; }
        wrong = open_block(&blocks[i], (const uint8_t *)PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data));
    }
    if (!wrong) {
        make_room(&arena, &room, scores, question, blocks, count);
        arena.memory = malloc(arena.used + 64);
        if (!arena.memory) { PyErr_NoMemory(); goto done; }
        arena.used = 0;
        make_room(&arena, &room, scores, question, blocks, count);
        Py_BEGIN_ALLOW_THREADS
        read_question(question, buffers);
        wrong = score_blocks(blocks, scores, count, question, &room);
        if (!wrong) found = best_apart(blocks, scores, count, question, &room, &best, wanted);
        if (found > 0) hand_over(&best, found, buffers[WHERE].buf, buffers[PARTS_OUT].buf);
        Py_END_ALLOW_THREADS
    }
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    else if (found < 0) PyErr_NoMemory();
    else answer = PyLong_FromSsize_t(found);
done:
    free(best.heap);
    free(arena.memory);
    free(question);
    free(scores);
    free(blocks);
    return answer;
}

static PyObject *best_spans(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *given, *blocks, *answer;
    Py_buffer buffers[BUFFERS];
    long longest_answer;
    if (!PyArg_ParseTuple(arguments, "O(y*y*y*)y*y*y*y*y*lw*w*", &given, &buffers[START_VECTOR],
                          &buffers[END_VECTOR], &buffers[PASSAGE_VECTOR], &buffers[SIZES], &buffers[IDS],
                          &buffers[WEIGHTS], &buffers[TERMS], &buffers[TERM_WEIGHTS], &longest_answer, &buffers[WHERE],
                          &buffers[PARTS_OUT]))
        return NULL;
    blocks = PySequence_List(given); /* a list of its own: nobody takes a block away while it is read */
    answer = blocks ? best_spans_of(blocks, buffers, longest_answer) : NULL;
    Py_XDECREF(blocks);
    for (int i = 0; i < BUFFERS; i++) PyBuffer_Release(&buffers[i]);
    return answer;
}

static PyMethodDef functions[] = {
    {"best_spans", best_spans, METH_VARARGS, best_spans_doc},
    {NULL, NULL, 0, NULL},
};

/* What Python says too, told so that a test can compare. */
#define TOLD(name) {#name, (long)name},
#define TOLD_HEAD(name, offset) TOLD(HEAD_##name)
#define TOLD_MATRIX(name, offset) TOLD(MATRIX_##name)
static const struct { const char *name; long value; } told[] = {
    HEAD_FIELDS(TOLD_HEAD) MATRIX_FIELDS(TOLD_MATRIX) TOLD(HEAD_BYTES) TOLD(MATRIX_BYTES) {"MAGIC", (uint32_t)MAGIC},
    TOLD(CONTINUES) TOLD(PUNCTUATION) TOLD(AFTER_JOINT) TOLD(TITLE) TOLD(PARTS) TOLD(VECTOR_BITS)
};

static int tell(PyObject *module)
{
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (PyModule_AddIntConstant(module, told[i].name, told[i].value)) return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, tell}, {0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_best_spans",
    .m_doc = "The best spans of stored phrase blocks, straight from their bytes.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__best_spans(void) { return PyModuleDef_Init(&module); }
