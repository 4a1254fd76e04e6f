/* Products along an axis with few numbers beside it, y[b][c][a] = sum_i w[c][i] x[b][i][a], where a vector holds several
 * rows b, or several c with all their a: each of its numbers has a weight of its own, and a shuffle brings what that
 * multiplies. */

#include "products.h"

#define NOT_INLINE __attribute__((noinline)) /* or the compiler makes less of what calls it */
#define LAID 8192 /* numbers of laid weights, at most: they stay in the first cache */

/* Weights laid for vectors of y, those of vector v and number i at v * inner + i. */
typedef struct {
    num inner, columns, after;
    num rows, vectors;     /* rows in a vector, or 1 and the vectors of a row */
    num kinds;             /* of shuffles: vectors v and v + kinds have the same */
    num seen;              /* numbers in whose x one load brings */
    num two;               /* whether that is two vectors of x */
    ints where[LANES / 2]; /* of each kind */
    vec weight[];
} narrow;

/* Rows that a vector holds; all their x must lie within two vectors. */
static num packed(num inner, num columns, num after) {
    num rows = least(LANES / (columns * after), 2 * LANES / (inner * after));
    return rows < 1 ? 1 : rows;
}

static num vectors_of(num columns, num after) { return (columns * after + LANES - 1) / LANES; }

static num numbers_laid(num inner, num columns, num after) { return vectors_of(columns, after) * inner * LANES; }

/* Kinds of shuffles: as many as vectors until they begin with the same a again, and a vector is a power of two. */
static num kinds_of(num after) {
    while (after % 2 == 0) after /= 2;
    return after;
}

/* Whether this pays: not where every vector has a shuffle of its own. */
static int is_narrow(num inner, num columns, num after) {
    if (LANES < 8 || numbers_laid(inner, columns, after) > LAID || after > LANES / 2) return 0;
    if (after == 1) return packed(inner, columns, after) > 1;
    return kinds_of(after) == 1 || vectors_of(columns, after) > kinds_of(after);
}

/* What `lay` wants. */
static num narrow_room(num inner, num columns, num after) {
    return is_narrow(inner, columns, after) ? (num)sizeof(narrow) / 4 + numbers_laid(inner, columns, after) : 0;
}

/* With element (c, i) of the matrix at c * by_column + i * by_inner. Null where it does not pay. */
static narrow *lay(num inner, num columns, num after, const float *matrix, num by_column, num by_inner, float *room) {
    if (!is_narrow(inner, columns, after)) return NULL;
    narrow *n = (narrow *)room;
    num period = columns * after, rows = packed(inner, columns, after), kinds = kinds_of(after);
    *n = (narrow){inner, columns, after, rows, vectors_of(columns, after), rows > 1 ? 1 : kinds,
                   rows > 1 ? inner : LANES / after, rows * inner * after > LANES && rows > 1, {{0}}};
    for (num v = 0; v < n->vectors; v++)
        for (num lane = 0; lane < LANES; lane++) {
            num at = v * LANES + lane, b = at / period, c = at % period / after;
            if (v < n->kinds) n->where[v][lane] = b < rows ? (int)(b * inner * after + at % after) : 0;
            for (num i = 0; i < inner; i++)
                n->weight[v * inner + i][lane] = b < rows ? matrix[c * by_column + i * by_inner] : 0;
        }
    return n;
}

INLINE int clip(num room) { return room < 0 ? 0 : (int)least(LANES, room); }

/* What one load brings; `room` counts the numbers from here to the end. */
typedef struct { vec low, high; } pair;
INLINE pair see(const float *x, num room, int part, int two) {
    return (pair){get(x, part, clip(room)), two ? get(x + LANES, part, clip(room - LANES)) : (vec){0}};
}
INLINE vec pick(pair x, int two, ints where) {
    return two ? __builtin_shuffle(x.low, x.high, where) : __builtin_shuffle(x.low, where);
}

/* `high` vectors' worth of rows by `wide` vectors of a row, of one kind from v on. `several`: rows in a vector, where
 * what is written beyond them is overwritten by the next; the last vector of a row, in turn, ends with the row. */
INLINE void narrow_tile(const narrow *n, int several, int two, int high, int wide, int part, num v, const float *x,
                        num room, float *y, num y_room) {
    const ints where = n->where[several ? 0 : v % n->kinds];
    const vec *weight = n->weight + v * n->inner;
    num x_step = n->rows * n->inner * n->after, period = n->columns * n->after, y_step = n->rows * period;
    vec sum[8][4];
#pragma GCC unroll 8
    for (int h = 0; h < high; h++)
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++) sum[h][w] = (vec){0};
    for (num first = 0; first < n->inner; first += n->seen) {
        pair given[8];
#pragma GCC unroll 8
        for (int h = 0; h < high; h++) {
            num from = h * x_step + first * n->after;
            given[h] = see(x + from, room - from, part, two);
        }
        ints at = where;
        for (num i = first; i < least(first + n->seen, n->inner); i++, at += (int)n->after)
#pragma GCC unroll 8
            for (int h = 0; h < high; h++) {
                vec picked = pick(given[h], two, at);
#pragma GCC unroll 4
                for (int w = 0; w < wide; w++) sum[h][w] += picked * weight[w * n->kinds * n->inner + i];
            }
    }
#pragma GCC unroll 8
    for (int h = 0; h < high; h++)
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++) {
            num in_row = (v + w * n->kinds) * LANES, at = h * y_step + in_row;
            if (several) put(y + at, sum[h][w], part, clip(y_room - at));
            else if (in_row + LANES > period) put(y + at, sum[h][w], 1, clip(period - in_row));
            else put(y + at, sum[h][w], 0, 0);
        }
}

INLINE void narrow_rows(const narrow *n, int several, int two, int high, int part, const float *x, num room, float *y,
                        num y_room) {
#define WIDE(W) \
    for (; v + (W - 1) * n->kinds < n->vectors; v += W * n->kinds) \
        narrow_tile(n, several, two, high, W, part, v, x, room, y, y_room);
    for (num kind = 0; kind < n->kinds; kind++) {
        num v = kind;
        if (high < 8) { WIDE(4) WIDE(2) }
        WIDE(1)
    }
}

INLINE void narrow_all(const narrow *n, int several, int two, int high, num rows, const float *x, float *y) {
    num in = n->inner * n->after, out = n->columns * n->after, step = high * n->rows, done = 0;
    num beyond = (two ? 2 : 1) * LANES; /* a load's last numbers, which may be another row's */
    for (; (done + step) * in + beyond <= rows * in && (done + step) * out + LANES <= rows * out; done += step)
        narrow_rows(n, several, two, high, 0, x + done * in, 0, y + done * out, 0);
    for (; done < rows; done += n->rows)
        narrow_rows(n, several, two, 1, 1, x + done * in, (rows - done) * in, y + done * out, (rows - done) * out);
}

NOT_INLINE static void narrow_product(const narrow *n, num rows, const float *x, float *y) {
    if (n->rows == 1 && n->vectors > n->kinds) narrow_all(n, 0, 0, 4, rows, x, y);
    else if (n->rows == 1) narrow_all(n, 0, 0, 8, rows, x, y);
    else if (n->two) narrow_all(n, 1, 1, 8, rows, x, y);
    else narrow_all(n, 1, 0, 8, rows, x, y);
}

/* Sums over rows of y times x, for numbers in from i on; several sums where there are few, so that additions need not wait
 * for one another. */
INLINE void gradient_tile(const narrow *n, int deep, int wide, int two, num v, num i, num rows, const float *x,
                          const float *dy, float *grad, num by_column, num by_inner) {
    const int sums = deep * wide < 8 ? 8 / (deep * wide) : 1;
    const ints where = n->where[v % n->kinds];
    num in = n->inner * n->after, out = n->columns * n->after, step = n->rows, b = 0;
    num beyond = (two ? 2 : 1) * LANES;
    vec sum[8][8][4], total[8][4];
#define EACH_OF(E, DO) \
    _Pragma("GCC unroll 8") \
    for (int d = 0; d < deep; d++) \
        _Pragma("GCC unroll 4") \
        for (int w = 0; w < wide; w++) sum[E][d][w] DO;
#define ADD_ROWS(E, PART) { \
        vec given[4]; \
        pair seen = see(x + b * in + i * n->after, (rows - b) * in - i * n->after, PART, two); \
        _Pragma("GCC unroll 4") \
        for (int w = 0; w < wide; w++) { \
            num at = b * out + (v + w * n->kinds) * LANES; \
            given[w] = get(dy + at, PART, clip(rows * out - at)); \
        } \
        EACH_OF(E, += given[w] * pick(seen, two, where + (int)(d * n->after))) \
        b += step; \
    }
#pragma GCC unroll 8
    for (int e = 0; e < sums; e++) EACH_OF(e, = (vec){0})
    while ((b + sums * step) * in + beyond <= rows * in && (b + sums * step) * out + LANES <= rows * out)
#pragma GCC unroll 8
        for (int e = 0; e < sums; e++) ADD_ROWS(e, 0)
    while (b < rows) ADD_ROWS(0, 1)
#pragma GCC unroll 8
    for (int e = 1; e < sums; e++) EACH_OF(0, += sum[e][d][w])
    EACH_OF(0, = total[d][w] = sum[0][d][w])
    for (int w = 0; w < wide; w++) {
        num at = (v + w * n->kinds) * LANES, c = at / n->after, left = n->after - at % n->after;
        for (num lane = 0; lane < LANES && at + lane < step * out; lane++) {
            for (int d = 0; d < deep; d++) grad[c * by_column + (i + d) * by_inner] += total[d][w][lane];
            if (--left == 0) left = n->after, c = c + 1 < n->columns ? c + 1 : 0;
        }
    }
}

/* Adds the gradient of the matrix, from x and the gradient of y. */
INLINE void gradient_all(const narrow *n, int two, num rows, const float *x, const float *dy, float *grad, num by_column,
                         num by_inner) {
#define DEEP(D, W) \
    for (; D <= n->seen && i + D <= n->inner; i += D) \
        gradient_tile(n, D, W, two, v, i, rows, x, dy, grad, by_column, by_inner);
    for (num kind = 0; kind < n->kinds; kind++) {
        num v = kind;
        for (num i = 0; v + 3 * n->kinds < n->vectors; v += 4 * n->kinds, i = 0) { DEEP(4, 4) DEEP(2, 4) DEEP(1, 4) }
        for (num i = 0; v < n->vectors; v += n->kinds, i = 0) { DEEP(8, 1) DEEP(4, 1) DEEP(3, 1) DEEP(1, 1) }
    }
}

NOT_INLINE static void narrow_gradient(const narrow *n, num rows, const float *x, const float *dy, float *grad, num by_column,
                            num by_inner) {
    if (n->two) gradient_all(n, 1, rows, x, dy, grad, by_column, by_inner);
    else gradient_all(n, 0, rows, x, dy, grad, by_column, by_inner);
}
