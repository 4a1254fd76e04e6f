/* A chain of small products on every sample of a batch, forward and backward, with all that lies between kept in
 * cache. A step sees a sample as (before, inner, after) and puts a matrix (columns, inner) to its middle axis.
 * The matrices are made here from the factors of a layer (weights per mode, or cores of a tensor train) and their
 * gradients are taken apart again. Numbers are float32 and contiguous; `count` of numbers, never of bytes. */

#include "narrow.h"

#define MOST 32                   /* factors of a step */
#define BLOCK 32768               /* numbers between two steps of a block of samples: 128 KiB */
#define OWN 131072                /* numbers of scratch that a thread keeps: 512 KiB */

/* One factor of the layer: element (left, out, in, right) of a term, at the sum of indices times strides. */
typedef struct { num left, out, in, right, by_term, by_left, by_out, by_in, by_right; } factor;

/* One step: factors first..last-1 joined, then the identity of size `rest`; where the join's elements lie in the
 * matrix; and what the step is applied to. */
typedef struct { num first, last, rest, by_term, by_left, by_out, by_in, by_right, before, inner, columns, after; } step;

enum { NO_BIAS, FULL_BIAS, ASCENDING, DESCENDING };
typedef struct { num factors, steps, terms, bias, in, out; } header; /* then the factors, then the steps */

/* One call, forward where `dy` is null and backward otherwise: the chain, the rows and how to work at them; rows in and
 * out, or gradients of both; then the parameters (factors, then biases), then, of a backward call, their gradients in
 * the same order. What is not asked for is null. */
typedef struct {
    const header *head;
    num rows, threads;
    launcher launch;
    const float *x;
    float *y;
    const float *dy;
    float *dx, *parameter[];
} pointers;

static num round_up(num n) { return (n + 15) / 16 * 16; }
static num most(num a, num b) { return a > b ? a : b; }

static float *take(float **free, num count) {
    float *at = *free;
    *free += round_up(count);
    return at;
}

static const factor *factors_of(const header *h) { return (const factor *)(h + 1); }
static const step *steps_of(const header *h) { return (const step *)(factors_of(h) + h->factors); }
static num parameters(const header *h) {
    return h->factors + (h->bias == FULL_BIAS ? 1 : h->bias ? h->factors : 0);
}
static float *gradient(const header *h, const pointers *p, num which) {
    return p->dy ? p->parameter[parameters(h) + which] : NULL;
}
static num wide(const step *s) { return round_up(s->columns) + 16; } /* row of a transposed matrix; no power of two */
static num size_in(const step *s) { return s->before * s->inner * s->after; }
static num size_out(const step *s) { return s->before * s->columns * s->after; }

/* ---- Steps, on a block of samples ---- */

static void step_forward(const step *s, const narrow *laid, num samples, const float *matrix, const float *turned,
                         const float *bias, const float *x, float *y) {
    num rows = samples * s->before, in = s->inner * s->after, out = s->columns * s->after;
    if (laid) {
        narrow_product(laid, rows, x, y);
        for (num n = 0; bias && n < samples; n++)
            for (num o = 0; o < s->before * out; o++) y[n * s->before * out + o] += bias[o];
    } else if (s->after > 1) {
        for (num i = 0; i < rows; i++)
            product(s->columns, s->after, s->inner, matrix, s->inner, 1, x + i * in, s->after,
                    bias ? bias + i % s->before * out : NULL, s->after, y + i * out, s->after);
    } else if (bias && s->before > 1) {
        for (num i = 0; i < rows; i += s->before)
            product(s->before, out, in, x + i * in, in, 1, turned, wide(s), bias, out, y + i * out, out);
    } else {
        product(rows, out, in, x, in, 1, turned, wide(s), bias, 0, y, out);
    }
}

static void step_gradient(const step *s, const narrow *laid, num samples, const float *matrix, const float *dy,
                          float *dx) {
    num rows = samples * s->before, in = s->inner * s->after, out = s->columns * s->after;
    if (laid) {
        narrow_product(laid, rows, dy, dx);
        return;
    }
    if (s->after == 1) {
        product(rows, in, out, dy, out, 1, matrix, in, NULL, 0, dx, in);
        return;
    }
    for (num i = 0; i < rows; i++)
        product(s->inner, s->after, s->columns, matrix, 1, s->inner, dy + i * out, s->after, NULL, 0, dx + i * in,
                s->after);
}

/* The long side of the gradient runs along its rows: it is transposed if there are more columns than inner. */
static void matrix_gradient(const step *s, const narrow *laid, num samples, const float *x, const float *dy, float *grad,
                            float *turned) {
    num rows = samples * s->before, in = s->inner * s->after, out = s->columns * s->after, after = s->after;
    int flip = s->columns > s->inner;
    if (laid) {
        narrow_gradient(laid, rows, x, dy, grad, flip ? 1 : s->inner, flip ? s->columns : 1);
        return;
    }
    num short_ = flip ? s->inner : s->columns, long_ = flip ? s->columns : s->inner;
    if (after == 1) {
        product(short_, long_, rows, flip ? x : dy, 1, short_, flip ? dy : x, long_, grad, long_, grad, long_);
        return;
    }
    for (num i = 0; i < rows; i++) {
        transpose(long_, after, flip ? dy + i * out : x + i * in, turned, long_);
        product(short_, long_, after, flip ? x + i * in : dy + i * out, after, 1, turned, long_, grad, long_, grad,
                long_);
    }
}

/* ---- Matrices from factors ---- */

/* (left, out, in, middle) times (middle, more_out, more_in, right): outs together, ins together. */
static void join(const num size[4], const float *p, const factor *f, const float *g, float *joined) {
    num run = f->in * f->right, row = size[2] * run;
    memset(joined, 0, 4 * (size_t)(size[0] * size[1] * f->out * row));
    for (num lead = 0; lead < size[0] * size[1]; lead++)
        for (num i = 0; i < size[2]; i++)
            for (num m = 0; m < size[3]; m++) {
                float by = p[(lead * size[2] + i) * size[3] + m];
                for (num o = 0; o < f->out; o++)
                    for (num j = 0; j < run; j++)
                        joined[(lead * f->out + o) * row + i * run + j] += by * g[(m * f->out + o) * run + j];
            }
}

static void join_gradient(const num size[4], const float *p, const factor *f, const float *g, const float *d, float *dp,
                          float *dg) {
    num run = f->in * f->right, row = size[2] * run;
    memset(dg, 0, 4 * (size_t)(f->left * f->out * run));
    for (num lead = 0; lead < size[0] * size[1]; lead++)
        for (num i = 0; i < size[2]; i++)
            for (num m = 0; m < size[3]; m++) {
                num at = (lead * size[2] + i) * size[3] + m;
                float by = p[at], sum = 0;
                for (num o = 0; o < f->out; o++)
                    for (num j = 0; j < run; j++) {
                        float each = d[(lead * f->out + o) * row + i * run + j];
                        sum += each * g[(m * f->out + o) * run + j];
                        dg[(m * f->out + o) * run + j] += each * by;
                    }
                dp[at] = sum;
            }
}

/* Every element of a factor, by strides of its own (`to` of a contiguous copy, in order). */
#define EACH(SIZE, BY_LEFT, BY_OUT, BY_IN, BY_RIGHT, DO) \
    for (num a = 0, n = 0; a < (SIZE)[0]; a++) \
        for (num o = 0; o < (SIZE)[1]; o++) \
            for (num i = 0; i < (SIZE)[2]; i++) \
                for (num b = 0; b < (SIZE)[3]; b++, n++) { \
                    num at = a * (BY_LEFT) + o * (BY_OUT) + i * (BY_IN) + b * (BY_RIGHT); \
                    DO; \
                }

typedef struct { float *copy[MOST], *joined[MOST], *free; num size[MOST][4]; } joins;

static num volume(const num size[4]) { return size[0] * size[1] * size[2] * size[3]; }

static void join_all(const header *h, const step *s, num term, const pointers *p, joins *all, float *free) {
    for (num k = 0; k < s->last - s->first; k++) {
        const factor *f = factors_of(h) + s->first + k;
        const float *data = p->parameter[s->first + k] + term * f->by_term;
        num *size = all->size[k], own[4] = {f->left, f->out, f->in, f->right};
        float *copy = all->copy[k] = all->joined[k] = take(&free, volume(own));
        EACH(own, f->by_left, f->by_out, f->by_in, f->by_right, copy[n] = data[at])
        memcpy(size, own, sizeof own);
        if (k) {
            num *was = all->size[k - 1];
            size[0] = was[0], size[1] *= was[1], size[2] *= was[2];
            all->joined[k] = take(&free, volume(size));
            join(was, all->joined[k - 1], f, copy, all->joined[k]);
        }
    }
    all->free = free;
}

/* Whether the matrix is a factor as it lies. */
static int is_factor(const header *h, const step *s) {
    const factor *f = factors_of(h) + s->first;
    return s->last - s->first == 1 && s->rest * h->terms * f->left * f->right == 1 && s->by_out == f->by_out &&
           s->by_in == f->by_in;
}

static const float *form(const header *h, const step *s, const pointers *p, float *matrix, float *free) {
    num last = s->last - s->first - 1;
    joins all;
    if (is_factor(h, s)) return p->parameter[s->first];
    memset(matrix, 0, 4 * (size_t)(s->columns * s->inner));
    for (num term = 0; term < h->terms; term++) {
        join_all(h, s, term, p, &all, free);
        for (num e = 0; e < s->rest; e++) {
            const float *from = all.joined[last];
            float *to = matrix + term * s->by_term + e * (s->inner + 1);
            EACH(all.size[last], s->by_left, s->by_out, s->by_in, s->by_right, to[at] += from[n])
        }
    }
    return matrix;
}

static void form_gradient(const header *h, const step *s, const pointers *p, const float *grad, float *free) {
    num last = s->last - s->first - 1;
    joins all;
    for (num term = 0; term < h->terms; term++) {
        join_all(h, s, term, p, &all, free);
        num room = 0; /* for any factor or join */
        for (num k = 0; k <= last; k++) room = most(room, most(volume(all.size[k]), all.joined[k] - all.copy[k]));
        float *d = take(&all.free, room), *next = take(&all.free, room), *own = take(&all.free, room);
        memset(d, 0, 4 * (size_t)volume(all.size[last]));
        for (num e = 0; e < s->rest; e++) {
            const float *from = grad + term * s->by_term + e * (s->inner + 1);
            EACH(all.size[last], s->by_left, s->by_out, s->by_in, s->by_right, d[n] += from[at])
        }
        for (num k = last; k >= 0; k--) {
            const factor *f = factors_of(h) + s->first + k;
            num size[4] = {f->left, f->out, f->in, f->right};
            float *to = gradient(h, p, s->first + k), *from = k ? own : d, *swap = d;
            if (k) join_gradient(all.size[k - 1], all.joined[k - 1], f, all.copy[k], d, next, own);
            if (to) EACH(size, f->by_left, f->by_out, f->by_in, f->by_right, to[term * f->by_term + at] = from[n])
            d = next, next = swap;
        }
    }
}

/* ---- Biases per mode, folded into one: T becomes T (x) (W 1) + b, mode after mode ---- */

typedef struct { float *sums[MOST], *folded[MOST], *free; num size[MOST], order[MOST]; } folds;

static void fold_term(const header *h, num term, const pointers *p, folds *all, float *free) {
    for (num k = 0; k < h->factors; k++) {
        num mode = all->order[k] = h->bias == DESCENDING ? h->factors - 1 - k : k, size = k ? all->size[k - 1] : 1;
        const factor *f = factors_of(h) + mode;
        const float *data = p->parameter[mode] + term * f->by_term;
        const float *bias = p->parameter[h->factors + mode] + term * f->out;
        float *sums = all->sums[k] = take(&free, f->out), *folded = all->folded[k] = take(&free, size * f->out);
        all->size[k] = size * f->out;
        for (num o = 0; o < f->out; o++) {
            sums[o] = 0;
            for (num i = 0; i < f->in; i++) sums[o] += data[o * f->by_out + i * f->by_in];
            for (num q = 0; q < size; q++)
                folded[h->bias == DESCENDING ? o * size + q : q * f->out + o] =
                    (k ? all->folded[k - 1][q] * sums[o] : 0) + bias[o];
        }
    }
    all->free = free;
}

static void fold(const header *h, const pointers *p, float *bias, float *free) {
    folds all;
    memset(bias, 0, 4 * (size_t)h->out);
    for (num term = 0; term < h->terms; term++) {
        fold_term(h, term, p, &all, free);
        for (num o = 0; o < h->out; o++) bias[o] += all.folded[h->factors - 1][o];
    }
}

/* Adds to the gradients of weights what they do to the bias, so those must be there already. */
static void fold_gradient(const header *h, const pointers *p, const float *grad, float *free) {
    folds all;
    for (num term = 0; term < h->terms; term++) {
        fold_term(h, term, p, &all, free);
        float *d = take(&all.free, h->out), *next = take(&all.free, h->out), *swap;
        memcpy(d, grad, 4 * (size_t)h->out);
        for (num k = h->factors - 1; k >= 0; k--, swap = d, d = next, next = swap) {
            num mode = all.order[k], size = k ? all.size[k - 1] : 1;
            const factor *f = factors_of(h) + mode;
            float *grad_weight = gradient(h, p, mode), *grad_bias = gradient(h, p, h->factors + mode);
            memset(next, 0, 4 * (size_t)size);
            for (num o = 0; o < f->out; o++) {
                float bias = 0, sum = 0;
                for (num q = 0; q < size; q++) {
                    float each = d[h->bias == DESCENDING ? o * size + q : q * f->out + o];
                    bias += each;
                    if (k) sum += each * all.folded[k - 1][q], next[q] += each * all.sums[k][o];
                }
                if (grad_bias) grad_bias[term * f->out + o] = bias;
                if (grad_weight)
                    for (num i = 0; i < f->in; i++)
                        grad_weight[term * f->by_term + o * f->by_out + i * f->by_in] += sum;
            }
        }
    }
}

/* ---- The batch ---- */

typedef struct {
    const header *head;
    const pointers *at;
    num batch, block, chunks, next, chunk_room;
    const float *matrix[MOST], *turned[MOST], *bias;
    const narrow *laid[MOST], *back[MOST]; /* of steps with few numbers, forward and for the gradient; or null */
    float *room; /* of all chunks: matrix gradients, bias gradient, then what lies between steps */
    int wants_matrices, wants_bias;
} job;

/* Places of the gradients of all matrices and of the bias, one after another. */
static num gradient_places(const header *h, num place[MOST + 1]) {
    num sum = 0;
    for (num k = 0; k < h->steps; k++) place[k] = sum, sum += round_up(steps_of(h)[k].columns * steps_of(h)[k].inner);
    place[h->steps] = sum;
    return sum + round_up(h->out);
}

static void forward_block(const job *j, num samples, const float *x, float *y, float *free) {
    const step *s = steps_of(j->head);
    for (num k = 0, last = j->head->steps - 1; k <= last; k++) {
        float *out = k == last ? y : take(&free, samples * size_out(s + k));
        step_forward(s + k, j->laid[k], samples, j->matrix[k], j->turned[k], k == last ? j->bias : NULL, x, out);
        x = out;
    }
}

static void backward_block(const job *j, num samples, const float *x, const float *dy, float *dx, float *grads,
                           float *free) {
    const step *s = steps_of(j->head);
    const float *between[MOST] = {x};
    num place[MOST + 1], last = j->head->steps - 1;
    gradient_places(j->head, place);
    if (j->wants_bias)
        for (num i = 0; i < samples; i++)
            for (num o = 0; o < j->head->out; o++) grads[place[last + 1] + o] += dy[i * j->head->out + o];
    for (num k = 0; k < last && j->wants_matrices; k++) {
        float *out = take(&free, samples * size_out(s + k));
        step_forward(s + k, j->laid[k], samples, j->matrix[k], j->turned[k], NULL, between[k], out);
        between[k + 1] = out;
    }
    for (num k = last; k >= 0; k--) {
        float *turned = free;
        if (j->wants_matrices) matrix_gradient(s + k, j->laid[k], samples, between[k], dy, grads + place[k], turned);
        float *d = k ? take(&free, samples * size_in(s + k)) : dx;
        if (d) step_gradient(s + k, j->back[k], samples, j->matrix[k], dy, d);
        dy = d;
    }
}

static void work(void *given) {
    job *j = given;
    const pointers *at = j->at;
    num place[MOST + 1], in = j->head->in, out = j->head->out, chunk;
    num count = at->dy ? gradient_places(j->head, place) : 0;
    while ((chunk = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED)) < j->chunks) {
        num first = chunk * j->batch / j->chunks, end = (chunk + 1) * j->batch / j->chunks, samples;
        float *grads = j->room + chunk * j->chunk_room;
        memset(grads, 0, 4 * (size_t)count);
        for (; first < end; first += samples) {
            samples = least(j->block, end - first);
            const float *x = at->x + first * in;
            if (at->dy)
                backward_block(j, samples, x, at->dy + first * out, at->dx ? at->dx + first * in : NULL, grads,
                               grads + count);
            else
                forward_block(j, samples, x, at->y + first * out, grads);
        }
    }
}

static void finish(const job *j, float *free) {
    const header *h = j->head;
    num place[MOST + 1], count = gradient_places(h, place);
    float *sum = j->room;
    for (num chunk = 1; chunk < j->chunks; chunk++)
        for (num n = 0; n < count; n++) sum[n] += sum[chunk * j->chunk_room + n];
    for (num k = 0; k < h->steps && j->wants_matrices; k++) {
        const step *s = steps_of(h) + k;
        float *grad = sum + place[k], *rest = free, *whole = is_factor(h, s) ? gradient(h, j->at, s->first) : NULL;
        if (s->columns > s->inner) {
            float *right_way = whole ? whole : take(&rest, s->columns * s->inner);
            transpose(s->inner, s->columns, grad, right_way, s->inner);
            grad = right_way;
        } else if (whole) {
            memcpy(whole, grad, 4 * (size_t)(s->columns * s->inner));
        }
        if (!is_factor(h, s)) form_gradient(h, s, j->at, grad, rest);
    }
    if (h->bias == FULL_BIAS && j->wants_bias)
        memcpy(gradient(h, j->at, h->factors), sum + place[h->steps], 4 * (size_t)h->out);
    if (h->bias > FULL_BIAS) fold_gradient(h, j->at, sum + place[h->steps], free);
}

/* Returns 0, or 1 where there is no memory or a pointer is missing. */
int chain(const pointers *at) {
    const header *h = at->head;
    num batch = at->rows;
    if (!at->x || !(at->y || at->dy)) return 1;
    for (num k = 0; k < parameters(h); k++)
        if (!at->parameter[k]) return 1;
    job j = {.head = h, .at = at, .batch = batch, .chunks = most(1, least(at->threads, batch))};
    num largest = most(h->in, h->out), matrices = 0, joined = 0, place[MOST + 1], sums = gradient_places(h, place);
    for (num k = 0; k < h->steps; k++) {
        const step *s = steps_of(h) + k;
        num together = 0, greatest = 0, size[4] = {factors_of(h)[s->first].left, 1, 1};
        largest = most(largest, size_out(s));
        matrices += round_up(s->columns * s->inner) + round_up(s->inner * wide(s));
        matrices += round_up(narrow_room(s->inner, s->columns, s->after));
        matrices += round_up(narrow_room(s->columns, s->inner, s->after));
        for (const factor *f = factors_of(h) + s->first; f < factors_of(h) + s->last; f++) {
            num single = round_up(f->left * f->out * f->in * f->right);
            size[1] *= f->out, size[2] *= f->in, size[3] = f->right;
            together += single + round_up(volume(size));
            greatest = most(greatest, most(single, round_up(volume(size))));
        }
        joined = most(joined, together + 3 * greatest + round_up(s->columns * s->inner));
    }
    for (num f = 0; f < h->factors; f++) {
        j.wants_matrices |= !!gradient(h, at, f);
        j.wants_bias |= h->bias > FULL_BIAS && (gradient(h, at, f) || gradient(h, at, h->factors + f));
        joined += round_up(factors_of(h)[f].out);
    }
    joined += (h->factors + 2) * round_up(h->out);
    j.wants_bias |= h->bias == FULL_BIAS && gradient(h, at, h->factors);
    j.block = most(1, least(BLOCK / largest, (batch + j.chunks - 1) / j.chunks));
    j.chunk_room = sums + 2 * (h->steps + 1) * round_up(j.block * largest);
    num needed = matrices + joined + round_up(h->out) + j.chunks * j.chunk_room;
    static _Thread_local float own[OWN] __attribute__((aligned(64)));
    float *all = needed <= OWN ? own : aligned_alloc(64, 4 * (size_t)needed), *free_ = all;
    if (!all) return 1;
    float *scratch = take(&free_, joined), *bias = take(&free_, h->out);
    for (num k = 0; k < h->steps; k++) {
        const step *s = steps_of(h) + k;
        float *matrix = take(&free_, s->columns * s->inner), *turned = take(&free_, s->inner * wide(s));
        j.matrix[k] = form(h, s, at, matrix, scratch), j.turned[k] = turned;
        float *forth = take(&free_, narrow_room(s->inner, s->columns, s->after));
        float *back = take(&free_, narrow_room(s->columns, s->inner, s->after));
        j.laid[k] = lay(s->inner, s->columns, s->after, j.matrix[k], s->inner, 1, forth);
        j.back[k] = at->dy ? lay(s->columns, s->inner, s->after, j.matrix[k], 1, s->inner, back) : NULL;
        if (s->after == 1 && !j.laid[k]) transpose(s->columns, s->inner, j.matrix[k], turned, wide(s));
    }
    if (!at->dy && h->bias > FULL_BIAS) fold(h, at, bias, scratch);
    j.bias = h->bias == FULL_BIAS ? at->parameter[h->factors] : h->bias ? bias : NULL;
    j.room = free_;
    if (j.chunks > 1 && at->launch) at->launch(work, &j, (unsigned)j.chunks, 0);
    else work(&j);
    if (at->dy) finish(&j, scratch);
    if (all != own) free(all);
    return 0;
}
