/* Additive scores, out[i][j] = sum_d w[d] tanh(q[i][d] + k[j][d]), and their gradients, for every head of every sample.
 * Nothing of the size queries x keys x features is ever stored: tanh is cheaper to compute twice than to read. */

#include "products.h"

/* All contiguous: q (batch, queries, features), k (batch, keys, features), w (heads, features), where batch counts
 * heads within samples. `grad` is that of the scores, or null in a forward call; dw has a row for each of the batch. */
typedef struct {
    const float *q, *k, *w;
    float *out;
    const float *grad;
    float *dq, *dk, *dw;
    num batch, heads, queries, keys, features, next;
} job;

INLINE vec choose(ints where, vec yes, vec no) { return (vec)((where & (ints)yes) | (~where & (ints)no)); }

/* tanh x = m / (m + 2) with m = e^2x - 1, which is exact to rounding near zero too: 2x = n ln 2 + r, |r| <= .35, so
 * m = 2^n (e^r - 1) + (2^n - 1), with the Taylor series of e^r - 1. Beyond 10 it is 1 to rounding; NaN stays. */
INLINE vec tanh_of(vec x) {
    const vec zero = {0}, most = zero + 10.0f, magic = zero + 12582912.0f; /* 1.5 * 2^23: what is added is rounded */
    x = choose(x > most, most, choose(x < -most, -most, x));
    vec y = 2 * x, n = y * 1.44269504f + magic - magic;
    vec r = y - n * 0.693359375f + n * 2.12194440e-4f;
    vec series = r * r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r / 5040))))) + r;
    vec scale = (vec)((__builtin_convertvector(n, ints) + 127) << 23), m = scale * series + (scale - 1);
    return m / (m + 2);
}

INLINE float sum_of(vec v) {
    float sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += v[lane];
    return sum;
}

INLINE vec weighed(const float *q, const float *k, const float *w, int part, int count) {
    return get(w, part, count) * tanh_of(get(q, part, count) + get(k, part, count));
}

static void forward(const job *j, num n) {
    num features = j->features, whole = features / LANES * LANES;
    const float *w = j->w + n % j->heads * features;
    for (num i = 0; i < j->queries; i++) {
        const float *q = j->q + (n * j->queries + i) * features, *k = j->k + n * j->keys * features;
        for (num c = 0; c < j->keys; c++, k += features) {
            vec sum = {0};
            for (num d = 0; d < whole; d += LANES) sum += weighed(q + d, k + d, w + d, 0, 0);
            if (whole < features)
                sum += weighed(q + whole, k + whole, w + whole, 1, (int)(features - whole));
            j->out[(n * j->queries + i) * j->keys + c] = sum_of(sum);
        }
    }
}

/* Gradients of a few features of all tokens; those of q and k still want the weight. */
INLINE void some_features(const job *j, num n, num d, int part, int count) {
    num features = j->features;
    const float *grad = j->grad + n * j->queries * j->keys;
    vec dw = {0}, weight = get(j->w + n % j->heads * features + d, part, count);
    float *first = j->dk + n * j->keys * features + d;
    for (num c = 0; c < j->keys; c++) put(first + c * features, (vec){0}, part, count);
    for (num i = 0; i < j->queries; i++, grad += j->keys) {
        num at = (n * j->queries + i) * features + d;
        const float *k = j->k + n * j->keys * features + d;
        float *dk = first;
        vec q = get(j->q + at, part, count), dq = {0};
        for (num c = 0; c < j->keys; c++, k += features, dk += features) {
            vec t = tanh_of(q + get(k, part, count)), each = (1 - t * t) * grad[c];
            dw += t * grad[c];
            dq += each;
            put(dk, get(dk, part, count) + each, part, count);
        }
        put(j->dq + at, dq * weight, part, count);
    }
    for (num c = 0; c < j->keys; c++)
        put(first + c * features, get(first + c * features, part, count) * weight, part, count);
    put(j->dw + n * features + d, dw, part, count);
}

static void backward(const job *j, num n) {
    num d = 0;
    for (; d + LANES <= j->features; d += LANES) some_features(j, n, d, 0, 0);
    if (d < j->features) some_features(j, n, d, 1, (int)(j->features - d));
}

static void work(void *given) {
    job *j = given;
    for (num n; (n = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED)) < j->batch;) (j->grad ? backward : forward)(j, n);
}

/* Sizes are batch, heads, queries, keys, features. */
void additive(const float *const given[3], float *const made[4], const float *grad, const num size[5], num threads,
              launcher launch) {
    job j = {given[0], given[1], given[2], made[0], grad, made[1], made[2], made[3],
             size[0], size[1], size[2], size[3], size[4], 0};
    if (threads > 1 && launch) launch(work, &j, (unsigned)threads, 0);
    else work(&j);
}
