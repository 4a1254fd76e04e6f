/* Products of small row-major matrices, and transposes, in vectors of whatever width the processor has.
 * Counts and strides are of numbers, never of bytes. */

#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
#define ROWS (LANES == 8 ? 6 : 8) /* of a tile, two vectors wide: its sums fill the registers */
#define INLINE static inline __attribute__((always_inline))

typedef long long num;
typedef void (*launcher)(void (*)(void *), void *, unsigned, unsigned); /* GOMP_parallel, or null */
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int ints __attribute__((vector_size(4 * LANES)));

static num least(num a, num b) { return a < b ? a : b; }

INLINE vec get(const float *p, int part, int count) {
    if (!part) return *(const vec *)p;
#if LANES == 16
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
#else
    vec v = {0};
    memcpy(&v, p, 4 * (size_t)count);
    return v;
#endif
}

INLINE void put(float *p, vec v, int part, int count) {
    if (!part) { *(vec *)p = v; return; }
#if LANES == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
#else
    memcpy(p, &v, 4 * (size_t)count);
#endif
}

/* rows, vecs and part are constants where this is used; the last vector holds `count` columns if it is a part.
 * A small tile keeps several sums of each element, so that additions need not wait for one another. */
INLINE void tile(int rows, int vecs, int part, int count, num depth, const float *a, num row, num column,
                 const float *b, num b_row, const float *start, num start_row, float *c, num c_row) {
    const int sums = rows * vecs > 4 ? 1 : rows * vecs > 2 ? 2 : 4;
    vec sum[4][8][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++) {
            sum[0][r][v] = start ? get(start + r * start_row + v * LANES, part && v == vecs - 1, count) : (vec){0};
            for (int e = 1; e < sums; e++) sum[e][r][v] = (vec){0};
        }
#define ADD(E, K) { \
        vec right[2]; \
        _Pragma("GCC unroll 2") \
        for (int v = 0; v < vecs; v++) right[v] = get(b + (K) * b_row + v * LANES, part && v == vecs - 1, count); \
        _Pragma("GCC unroll 8") \
        for (int r = 0; r < rows; r++) \
            _Pragma("GCC unroll 2") \
            for (int v = 0; v < vecs; v++) sum[E][r][v] += a[r * row + (K) * column] * right[v]; \
    }
    num k = 0;
    for (; sums > 1 && k + sums <= depth; k += sums) {
#pragma GCC unroll 4
        for (int e = 0; e < sums; e++) ADD(e, k + e)
    }
    for (; k < depth; k++) ADD(0, k)
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++) {
            for (int e = 1; e < sums; e++) sum[0][r][v] += sum[e][r][v];
            put(c + r * c_row + v * LANES, sum[0][r][v], part && v == vecs - 1, count);
        }
}

INLINE void panel(int vecs, int part, int count, num rows, num depth, const float *a, num row, num column,
                  const float *b, num b_row, const float *start, num start_row, float *c, num c_row) {
#define TILES(R) \
    for (; rows >= R; rows -= R, a += R * row, c += R * c_row, start += start ? R * start_row : 0) \
        tile(R, vecs, part, count, depth, a, row, column, b, b_row, start, start_row, c, c_row);
    TILES(ROWS) TILES(4) TILES(2) TILES(1)
}

static void product(num rows, num columns, num depth, const float *a, num row, num column, const float *b, num b_row,
                    const float *start, num start_row, float *c, num c_row) {
    for (; columns >= 2 * LANES; columns -= 2 * LANES, b += 2 * LANES, c += 2 * LANES, start += start ? 2 * LANES : 0)
        panel(2, 0, 0, rows, depth, a, row, column, b, b_row, start, start_row, c, c_row);
    if (columns > LANES)
        panel(2, 1, (int)columns - LANES, rows, depth, a, row, column, b, b_row, start, start_row, c, c_row);
    else if (columns == LANES)
        panel(1, 0, 0, rows, depth, a, row, column, b, b_row, start, start_row, c, c_row);
    else if (columns)
        panel(1, 1, (int)columns, rows, depth, a, row, column, b, b_row, start, start_row, c, c_row);
}

/* Swap blocks of `width` between rows `width` apart: one of the stages in which a square is transposed. */
INLINE void swap_blocks(vec *row, int width) {
    ints low, high;
    for (int i = 0; i < LANES; i++) {
        low[i] = i & width ? LANES + i - width : i;
        high[i] = i & width ? LANES + i : i + width;
    }
#pragma GCC unroll 16
    for (int r = 0; r < LANES; r++)
        if (!(r & width)) {
            vec first = row[r], second = row[r + width];
            row[r] = __builtin_shuffle(first, second, low);
            row[r + width] = __builtin_shuffle(first, second, high);
        }
}

static void transpose(num rows, num columns, const float *from, float *to, num to_row) {
    for (num r = 0; r < rows; r += LANES)
        for (num c = 0; c < columns; c += LANES) {
            int high = (int)least(LANES, rows - r), wide_ = (int)least(LANES, columns - c);
            const float *at = from + r * columns + c;
            vec row[LANES];
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                row[i] = i >= high ? (vec){0} : get(at + i * columns, wide_ < LANES, wide_);
#pragma GCC unroll 4
            for (int width = LANES / 2; width; width /= 2) swap_blocks(row, width);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                if (i < wide_) put(to + (c + i) * to_row + r, row[i], high < LANES, high);
        }
}
