/* How answers lie above biases, for every row and kernel: steps above, their excess, their places, the longest run.
 * Kernels are the lanes: no sum and no run waits for another. */

#include "products.h"

/* All contiguous: answers (rows, steps, kernels), biases (biases, kernels), kept (rows, steps) of ones and zeros or
 * null, out (rows, 4, biases, kernels). */
typedef struct {
    const float *answers, *biases, *kept;
    float *out;
    num rows, steps, kernels, count, next;
} job;

INLINE void some_kernels(const job *j, num n, num bias, num first, int part, int lanes) {
    num kernels = j->kernels, apart = j->count * kernels;
    const float *answer = j->answers + n * j->steps * kernels + first, *kept = j->kept ? j->kept + n * j->steps : 0;
    const vec edge = get(j->biases + bias * kernels + first, part, lanes), one = (vec){0} + 1.0f;
    vec above = {0}, excess = {0}, places = {0}, run = {0}, longest = {0};
    for (num t = 0; t < j->steps; t++, answer += kernels) {
        vec over = get(answer, part, lanes) - edge;
        ints yes = over > 0;
        if (kept && !kept[t]) yes = (ints){0};
        vec each = (vec)(yes & (ints)one);
        above += each;
        excess += (vec)(yes & (ints)over);
        places += each * (float)t;
        run = (vec)(yes & (ints)(run + one));
        ints longer = run > longest;
        longest = (vec)((longer & (ints)run) | (~longer & (ints)longest));
    }
    float *out = j->out + (n * 4 * j->count + bias) * kernels + first;
    put(out, above, part, lanes);
    put(out + apart, excess, part, lanes);
    put(out + 2 * apart, places, part, lanes);
    put(out + 3 * apart, longest, part, lanes);
}

static void work(void *given) {
    job *j = given;
    for (num n; (n = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED)) < j->rows;)
        for (num bias = 0; bias < j->count; bias++) {
            num k = 0;
            for (; k + LANES <= j->kernels; k += LANES) some_kernels(j, n, bias, k, 0, 0);
            if (k < j->kernels) some_kernels(j, n, bias, k, 1, (int)(j->kernels - k));
        }
}

/* Sizes are rows, steps, kernels, biases. */
void positives(const float *answers, const float *biases, const float *kept, float *out, const num size[4],
               num threads, launcher launch) {
    job j = {answers, biases, kept, out, size[0], size[1], size[2], size[3], 0};
    if (threads > 1 && launch) launch(work, &j, (unsigned)threads, 0);
    else work(&j);
}
