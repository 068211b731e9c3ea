// A stack of Transformer blocks in one call, for a processor: what reading and writing wait for.
//
// Every number is computed by the same sums in the same order, whatever stands beside it: what a product sums over is
// added one after the other, and so are keys; where lanes are added up, as a tree. So a text gets the same bits
// alone, in a batch, beside padding, with any number of threads, in one step or many, and through `run` or through the
// single kernels that modules are given while somebody watches.
//
// Compiled without contraction: a * b + c is two roundings, as torch computes it, unless `fused` says otherwise.
// Letters: M rows, N columns of a product, K what it sums over; D width, H heads, E the width of one.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sched.h>
#include <type_traits>
#include <vector>
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif
#ifdef _OPENMP
extern "C" int omp_get_thread_num(void);
extern "C" int omp_get_num_threads(void);
#endif

typedef int64_t whole;
typedef float lanes __attribute__((vector_size(32)));
typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t marks __attribute__((vector_size(32)));
static const whole L = 8;

// As many numbers as the processor multiplies at once, where nothing is added up across them: any number gives the same
// bits.
#if defined(__AVX512F__)
typedef float row __attribute__((vector_size(64)));
typedef float loose_row __attribute__((vector_size(64), aligned(4), may_alias));
static inline row row_at(const float* from) { return *(const loose_row*)from; }
static inline void set_row(float* to, row x) { *(loose_row*)to = x; }
static inline row repeated(float x) { return (row)_mm512_set1_ps(x); }
static inline row fused(row a, row b, row c) { return (row)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
static inline row row_of(const int8_t* from) {
    return (row)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from)));
}
#else
typedef lanes row;
static inline row row_at(const float* from) { return *(const loose*)from; }
static inline void set_row(float* to, row x) { *(loose*)to = x; }
static inline row repeated(float x) { return lanes{x, x, x, x, x, x, x, x}; }
static inline row row_of(const int8_t* from) {
#if defined(__AVX2__) && defined(__FMA__)
    return (row)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from)));
#else
    row found;
    for (int i = 0; i < L; i++) found[i] = from[i];
    return found;
#endif
}
#endif

static inline lanes load(const float* from) { return *(const loose*)from; }
static inline void store(float* to, lanes x) { *(loose*)to = x; }
static inline lanes all(float x) { return lanes{x, x, x, x, x, x, x, x}; }
static inline lanes load(const float* from, whole count) {
    float padded[L] = {0};
    memcpy(padded, from, count * sizeof(float));
    return load(padded);
}
static inline void store(float* to, lanes x, whole count) { memcpy(to, &x, count * sizeof(float)); }

static inline lanes fused(lanes a, lanes b, lanes c) {
#if defined(__AVX2__) && defined(__FMA__)
    return (lanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

// ((0+1) + (2+3)) + ((4+5) + (6+7)).
static inline float sum(lanes x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }

// The same of four at once.
static inline void sum4(const lanes* x, float* to) {
#if defined(__AVX2__) && defined(__FMA__)
    __m256 low = _mm256_hadd_ps((__m256)x[0], (__m256)x[1]), high = _mm256_hadd_ps((__m256)x[2], (__m256)x[3]);
    __m256 both = _mm256_hadd_ps(low, high);
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1)));
#else
    for (int i = 0; i < 4; i++) to[i] = sum(x[i]);
#endif
}

static inline lanes pick(marks which, lanes yes, lanes no) {
    return (lanes)((which & (marks)yes) | (~which & (marks)no));
}

// The higher and the lower of two; where one is a NaN, the second.
static inline lanes higher(lanes a, lanes b) {
#if defined(__AVX2__) && defined(__FMA__)
    return (lanes)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return pick(a > b, a, b);
#endif
}
static inline lanes lower(lanes a, lanes b) {
#if defined(__AVX2__) && defined(__FMA__)
    return (lanes)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return pick(a < b, a, b);
#endif
}

// e^x, right to two units in the last place; zero below -87.3, NaN of NaN   (after Moshier's Cephes). The same bits of
// what is known to be `falling`, at most zero, with less to do.
template <bool falling = false>
static inline lanes exponential(lanes x) {
    const float low = -87.3f, high = 88.7f;
    marks under = x < all(low);
    if (!falling) x = lower(all(high), x);
    x = higher(all(low), x);
    lanes n = x * all(1.44269504088896341f);
    const lanes magic = all(12582912.0f);
    n = (n + magic) - magic;
    lanes r = fused(n, all(-0.693359375f), x);
    r = fused(n, all(2.12194440e-4f), r);
    lanes p = all(1.9875691500e-4f);
    p = fused(p, r, all(1.3981999507e-3f));
    p = fused(p, r, all(8.3334519073e-3f));
    p = fused(p, r, all(4.1665795894e-2f));
    p = fused(p, r, all(1.6666665459e-1f));
    p = fused(p, r, all(5.0000001201e-1f));
    p = fused(p, r * r, r) + all(1.0f);
    marks whole_n = __builtin_convertvector(n, marks), half = whole_n >> 1, rest = whole_n - half;
    // 2^n in two halves: n may be 128.
    if (falling) p = p * (lanes)((whole_n + 127) << 23);
    else p = p * (lanes)((half + 127) << 23) * (lanes)((rest + 127) << 23);
    return (lanes)(~under & (marks)p);
}

// --- products --------------------------------------------------------------------------------------------------------

// The weights of a product lie in panels: sixteen columns side by side, for one k after the other. Sums go along k, and
// begin anew after so many: rounding grows with the length of a sum.
static const whole PANEL = 16, EXACT = 64, GROUP = 32, STRETCH = 512;
// What the processor multiplies at once are a panel's sides. At most so many rows of x go together, through as many
// panels as there is room for their sums; several rows take so many panels before the next. Such rows are copied before,
// a stretch of each, so far apart that no two fall on the same places of the nearest cache.
static const int SIDES = PANEL * sizeof(float) / sizeof(row), FEW = 6;
#if defined(__AVX512F__)
static const int MANY = 2 * FEW, WIDE = 4;
static const whole BLOCK = 192;
constexpr int beside(int rows) { return rows > FEW ? 2 : 4; }
#else
static const int MANY = FEW, WIDE = 1;
static const whole BLOCK = 96;
constexpr int beside(int rows) { return rows > 3 ? 1 : rows > 1 ? 2 : 4; }
#endif
typedef std::integral_constant<whole, STRETCH + 16> Apart;

// Weights as they are.
struct Full {
    static const whole LENGTH = EXACT, BYTES = PANEL * sizeof(float);
    const float* panels;
    whole K;
    Full at(whole n, whole k) const { return {panels + n * K + k * PANEL, K}; }
    row side(int p, whole k) const {
        return row_at(panels + p / SIDES * K * PANEL + k * PANEL + p % SIDES * (PANEL / SIDES));
    }
    row scaled(int, row x) const { return x; }
    const char* place(whole n, whole k) const { return (const char*)(panels + n * K + k * PANEL); }
};

// Weights in eight bits, those of a group along k times a scale of their column.
struct Small {
    static const whole LENGTH = GROUP, BYTES = PANEL;
    const int8_t* panels;
    const float* scales;
    whole K;
    whole groups() const { return (K + GROUP - 1) / GROUP; }
    Small at(whole n, whole k) const {
        return {panels + n * K + k * PANEL, scales + n * groups() + k / GROUP * PANEL, K};
    }
    row side(int p, whole k) const {
        return row_of(panels + p / SIDES * K * PANEL + k * PANEL + p % SIDES * (PANEL / SIDES));
    }
    row scaled(int p, row x) const {
        return x * row_at(scales + p / SIDES * groups() * PANEL + p % SIDES * (PANEL / SIDES));
    }
    const char* place(whole n, whole k) const { return (const char*)(panels + n * K + k * PANEL); }
};

// Weights that will be wanted next, columns n to end, k of a stretch: fetched while others are multiplied.
template <class Weights>
struct Ahead {
    const Weights& weights;
    whole n, end, k, first, stop;
    // Where the next so many of k lie; those in use, which are near already, where none are left.
    const char* next(whole many, const Weights& in_use) {
        if (n >= end) return in_use.place(0, 0);
        const char* found = weights.place(n, k);
        if ((k += many) >= stop) k = first, n += PANEL;
        return found;
    }
};

// M rows with P panels; with `begun`, added to what is there.
template <int M, int P, class Weights, class Step>
static inline void tile(const float* x, Step xs, const Weights& w, whole K, bool begun, const float* b, float* out,
                        whole os, whole columns, Ahead<Weights>& ahead) {
    const char* next = ahead.next(K, w);
    const int sides = SIDES * P;
    const whole each = PANEL / SIDES;
    row found[M][sides];
    for (int m = 0; m < M; m++)
        for (int p = 0; p < sides; p++) found[m][p] = repeated(0.0f);
    for (whole k = 0; k < K; k++) {
        row side[sides];
        __builtin_prefetch(next + k * Weights::BYTES, 0, 2);
        for (int p = 0; p < sides; p++) side[p] = w.side(p, k);
        for (int m = 0; m < M; m++) {
            row one = repeated(x[m * xs + k]);
            for (int p = 0; p < sides; p++) found[m][p] = fused(one, side[p], found[m][p]);
        }
    }
    for (int m = 0; m < M; m++) {
        float part[PANEL * P], *to = out + m * os;
        for (int p = 0; p < sides; p++) found[m][p] = w.scaled(p, found[m][p]);
        if (columns < PANEL * P) {
            for (int p = 0; p < sides; p++) set_row(part + p * each, found[m][p]);
            for (whole n = 0; n < columns; n++) {
                float total = begun ? to[n] + part[n] : part[n];
                to[n] = b ? total + b[n] : total;
            }
            continue;
        }
        for (int p = 0; p < sides; p++) {
            row total = begun ? row_at(to + p * each) + found[m][p] : found[m][p];
            set_row(to + p * each, b ? total + row_at(b + p * each) : total);
        }
    }
}

// Columns first to end of M rows, which x has from `k` on, for k of a stretch.
template <int M, class Weights, class Step>
static void along(const float* x, Step xs, const Weights& w, whole k, whole stop, const float* b, float* out,
                  whole os, whole first, whole end, Ahead<Weights>& ahead) {
    const int P = beside(M);
    for (whole n = first; n < end;) {
        whole columns = end - n < PANEL ? end - n : PANEL;
        bool several = end - n >= PANEL * P;
        for (whole at = k; at < stop; at += Weights::LENGTH) {
            whole length = at + Weights::LENGTH < stop ? Weights::LENGTH : stop - at;
            Weights from = w.at(n, at);
            const float* add = b && at + length == w.K ? b + n : nullptr;
            if (several) tile<M, P>(x + at - k, xs, from, length, at > 0, add, out + n, os, PANEL * P, ahead);
            else tile<M, 1>(x + at - k, xs, from, length, at > 0, add, out + n, os, columns, ahead);
        }
        n += several ? PANEL * P : PANEL;
    }
}

// The same of so many rows, `least` to M.
template <int M, int least, class... Rest>
static void of_rows(whole rows, Rest&&... rest) {
    if (rows == M) along<M>(rest...);
    else if constexpr (M > least) of_rows<M - 1, least>(rows, rest...);
}

// out = x w^T + b, columns `first`, a multiple of sixteen, to `end`; rows of x and out lie xs and os apart.
template <class Weights>
static void product(const float* x, whole xs, whole M, const Weights& w, const float* b, float* out, whole os,
                    whole first, whole end) {
    alignas(64) static thread_local float copied[BLOCK * Apart::value];
    for (whole k = 0; k < w.K; k += STRETCH) {
        whole stop = k + STRETCH < w.K ? k + STRETCH : w.K;
        for (whole m0 = 0; m0 < M; m0 += BLOCK) {
            whole rows = m0 + BLOCK < M ? BLOCK : M - m0, tiles = (rows + MANY - 1) / MANY;
            const float* from = x + m0 * xs + k;
            float* to = out + m0 * os;
            bool several = rows >= FEW;
            for (whole m = 0; several && m < rows; m++)
                memcpy(copied + m * Apart::value, from + m * xs, (stop - k) * sizeof(float));
            // One row after another through all panels, or some panels for all rows, which stay near.
            for (whole n = first, wide = several ? PANEL * WIDE : end - first; n < end; n += wide) {
                whole next = n + wide < end ? n + wide : end;
                // The first rows wait for these panels themselves, unless they were fetched before; then there is time.
                Ahead<Weights> none{w, 0, 0, 0, 0, 0};
                Ahead<Weights> ahead{w, next, next + wide < end ? next + wide : end, k, k, stop};
                // Tiles as equal as can be: few rows do not pay for the weights they read.
                for (whole i = 0; i < tiles; i++) {
                    whole m = rows * i / tiles, many = rows * (i + 1) / tiles - m;
                    if (several)
                        of_rows<MANY, MANY / 2>(many, copied + m * Apart::value, Apart(), w, k, stop, b, to + m * os, os, n,
                                                next, i ? ahead : none);
                    else of_rows<FEW - 1, 1>(many, from, xs, w, k, stop, b, to, os, n, next, none);
                }
            }
        }
    }
}

// --- norms and activations -------------------------------------------------------------------------------------------

enum { NONE, LAYER, RMS };

struct Norm {
    whole kind;
    const float *gain, *bias;
    double epsilon;
};

static void normed(const Norm& norm, const float* x, whole D, float* out) {
    if (norm.kind == NONE) {
        if (out != x) memcpy(out, x, D * sizeof(float));
        return;
    }
    whole full = D / L * L;
    float mean = 0.0f;
    if (norm.kind == LAYER) {
        lanes total = all(0.0f);
        for (whole d = 0; d < full; d += L) total = total + load(x + d);
        if (full < D) total = total + load(x + full, D - full);
        mean = sum(total) / D;
    }
    lanes squares = all(0.0f), middle = all(mean);
    for (whole d = 0; d < full; d += L) {
        lanes off = load(x + d) - middle;
        squares = fused(off, off, squares);
    }
    if (full < D) {
        float off[L] = {0};
        for (whole d = full; d < D; d++) off[d - full] = x[d] - mean;
        squares = fused(load(off), load(off), squares);
    }
    float scale = 1.0f / std::sqrt(sum(squares) / D + (float)norm.epsilon);
    for (whole d = 0; d < D; d++) {
        float y = (x[d] - mean) * scale * norm.gain[d];
        out[d] = norm.bias ? y + norm.bias[d] : y;
    }
}

enum { RELU, GELU, GELU_TANH, SILU };

// The error function, right to 1.5e-7   (Abramowitz and Stegun 1964, 7.1.26).
static inline lanes error_function(lanes x) {
    marks below = x < all(0.0f);
    lanes size = pick(below, -x, x), t = all(1.0f) / fused(all(0.3275911f), size, all(1.0f));
    lanes p = all(1.061405429f);
    p = fused(p, t, all(-1.453152027f));
    p = fused(p, t, all(1.421413741f));
    p = fused(p, t, all(-0.284496736f));
    p = fused(p, t, all(0.254829592f)) * t;
    lanes found = all(1.0f) - p * exponential(-size * size);
    return pick(below, -found, found);
}

// The hyperbolic tangent as 1 - 2 / (e^2x + 1).
static inline lanes tangent(lanes x) { return all(1.0f) - all(2.0f) / (exponential(x + x) + all(1.0f)); }

static inline lanes activated(whole kind, lanes x) {
    if (kind == SILU) return x / (all(1.0f) + exponential(-x));
    if (kind == GELU) return x * all(0.5f) * (all(1.0f) + error_function(x * all(0.70710678118654752f)));
    if (kind == GELU_TANH)
        return x * all(0.5f) * (all(1.0f) + tangent(all(0.79788456080286536f) * (x + all(0.044715f) * x * x * x)));
    // Written so that NaN stays.
    return pick(x < all(0.0f), all(0.0f), x);
}

static void activated(whole kind, float* x, whole count) {
    whole i = 0;
    for (; i + L <= count; i += L) store(x + i, activated(kind, load(x + i)));
    if (i < count) store(x + i, activated(kind, load(x + i, count - i)), count - i);
}

// --- attention -------------------------------------------------------------------------------------------------------

static inline float dot(const float* a, const float* b, whole E) {
    lanes found = all(0.0f);
    whole e = 0;
    for (; e + L <= E; e += L) found = fused(load(a + e), load(b + e), found);
    if (e < E) found = fused(load(a + e, E - e), load(b + e, E - e), found);
    return sum(found);
}

// Scores of one query with `count` keys, each where `keys` says; the rest of the last lanes is minus infinity.
static void compared(const float* query, const float* const* keys, whole offset, whole count, whole E, float scale,
                     const float* bias, float* to) {
    whole j = 0, full = E / L * L;
    for (; j + 4 <= count; j += 4) {
        const float *k0 = keys[j] + offset, *k1 = keys[j + 1] + offset, *k2 = keys[j + 2] + offset,
                    *k3 = keys[j + 3] + offset;
        lanes found[4] = {all(0.0f), all(0.0f), all(0.0f), all(0.0f)};
        for (whole e = 0; e < full; e += L) {
            lanes one = load(query + e);
            found[0] = fused(one, load(k0 + e), found[0]);
            found[1] = fused(one, load(k1 + e), found[1]);
            found[2] = fused(one, load(k2 + e), found[2]);
            found[3] = fused(one, load(k3 + e), found[3]);
        }
        if (full < E) {
            lanes one = load(query + full, E - full);
            found[0] = fused(one, load(k0 + full, E - full), found[0]);
            found[1] = fused(one, load(k1 + full, E - full), found[1]);
            found[2] = fused(one, load(k2 + full, E - full), found[2]);
            found[3] = fused(one, load(k3 + full, E - full), found[3]);
        }
        sum4(found, to + j);
    }
    for (; j < count; j++) to[j] = dot(query, keys[j] + offset, E);
    for (j = 0; j < count; j++) to[j] = bias ? to[j] * scale + bias[j] : to[j] * scale;
    for (; j % L; j++) to[j] = -INFINITY;
}

// Scores to e^(score - highest); gives their sum, and the highest.
static float exponentials(float* x, whole count, float* highest) {
    float most = -INFINITY;
    for (whole j = 0; j < count; j++) most = x[j] > most ? x[j] : most;
    *highest = most;
    if (most == -INFINITY) {
        bool plain = true;
        for (whole j = 0; j < count; j++) plain = plain && x[j] == -INFINITY;
        if (plain) return 0.0f;
    }
    lanes total = all(0.0f);
    for (whole j = 0; j < count; j += L) {
        lanes weight = exponential<true>(load(x + j) - all(most));
        store(x + j, weight);
        total = total + weight;
    }
    return sum(total);
}

// Values weighed and added up, W lanes of them; `lanes_of` reads lanes. As with products, sums begin anew now and then.
template <int W, class Read>
static inline void mixed(const float* weights, whole count, float factor, const Read& lanes_of, lanes* to) {
    for (int i = 0; i < W; i++) to[i] = all(0.0f);
    for (whole first = 0; first < count; first += EXACT) {
        whole end = first + EXACT < count ? first + EXACT : count;
        lanes found[W];
        for (int i = 0; i < W; i++) found[i] = all(0.0f);
        for (whole j = first; j < end; j++) {
            lanes weight = all(weights[j]);
            for (int i = 0; i < W; i++) found[i] = fused(weight, lanes_of(j, i), found[i]);
        }
        for (int i = 0; i < W; i++) to[i] = to[i] + found[i];
    }
    for (int i = 0; i < W; i++) to[i] = to[i] * all(factor);
}

// One query's attention; `scores` has room for the keys and eight more. Nothing to see gives zeros.
static void attended(const float* query, const float* const* keys, const float* const* values, whole offset,
                     whole count, whole E, float scale, const float* bias, float* scores, float* out, float* lse) {
    float highest;
    compared(query, keys, offset, count, E, scale, bias, scores);
    float total = exponentials(scores, count, &highest);
    if (lse) *lse = total == 0.0f ? -INFINITY : highest + std::log(total);
    if (total == 0.0f) {
        memset(out, 0, E * sizeof(float));
        return;
    }
    float factor = 1.0f / total;
    lanes found[4];
    whole e = 0;
    auto full = [&](whole j, int i) { return load(values[j] + offset + e + i * L); };
    for (; e + 4 * L <= E; e += 4 * L) {
        mixed<4>(scores, count, factor, full, found);
        for (int i = 0; i < 4; i++) store(out + e + i * L, found[i]);
    }
    for (; e + L <= E; e += L) {
        mixed<1>(scores, count, factor, full, found);
        store(out + e, found[0]);
    }
    if (e < E) {
        mixed<1>(scores, count, factor, [&](whole j, int) { return load(values[j] + offset + e, E - e); }, found);
        store(out + e, found[0], E - e);
    }
}

// --- a stack ---------------------------------------------------------------------------------------------------------

// Its weights are in eight bits where there are scales.
struct Linear {
    const void* panels;
    const float *scales, *bias;
    whole out, in;
};

struct Heads {
    Linear query, key, value, output;
    whole heads, groups;
    double scale;
    Norm query_norm, key_norm;
};

struct Around {
    Norm norm;
    whole before;
    double alpha;
};

struct Block {
    Heads own;
    Around around_own;
    whole crossed;
    Heads cross;
    Around around_cross;
    Linear inner, gate, outer;
    whole gated, activation;
    Around around_feedforward;
};

// Rows stand text by text, `pieces` new ones each. Keys and values of a layer are a table of places x rows; `origin`
// says in which row of a place a text's piece lies, since hypotheses share what they have in common.
struct Run {
    float* x;
    whole texts, pieces, at, width;
    float* kept;
    whole layer_step, value_step, place_step, row_step;
    const int32_t* origin;
    whole origin_step, look_ahead;
    const float* bias;
    const float* const* source_keys;
    const float* const* source_values;
    whole sources;
    // Where those are that are left of the sources, unless all are.
    const whole* sources_left;
    whole source_length, source_step, source_head_step, source_place_step;
    const float* source_bias;
    const float *along, *across;
    whole turned, pairs;
    Norm last;
    whole threads, layers;
};

// What stands before and after a stack that writes: vectors of pieces, a position, and what reads the next piece off.
struct Ends {
    const float* vectors;
    double factor;
    const float* position;
    const whole* pieces;
    Linear out;
    float* said;
    // Of each source what is added to every piece's logit, minus infinity for what may not follow; or nothing.
    const float* hidden;
};

struct Room {
    std::vector<float> normed, query, found, made, hidden, gate, turning;
    void fit(const Run& run, const Block* blocks, whole rows) {
        whole widest = 0, keys = run.width;
        for (whole layer = 0; layer < run.layers; layer++) {
            if (blocks[layer].inner.out > widest) widest = blocks[layer].inner.out;
            for (whole out : {blocks[layer].own.query.out, blocks[layer].own.key.out, blocks[layer].cross.query.out})
                if (out > keys) keys = out;
        }
        for (auto* each : {&normed, &query, &found, &made})
            if ((whole)each->size() < rows * keys) each->resize(rows * keys);
        for (auto* each : {&hidden, &gate})
            if ((whole)each->size() < rows * widest) each->resize(rows * widest);
    }
};

// Threads that take every product together, each some of its columns, and wait for one another in between.
struct Team {
    whole rank, size;
    std::atomic<whole>*arrived, *turn;
    void meet() const {
        if (size == 1) return;
        whole now = turn->load(std::memory_order_acquire);
        if (arrived->fetch_add(1, std::memory_order_acq_rel) == size - 1) {
            arrived->store(0, std::memory_order_relaxed);
            turn->fetch_add(1, std::memory_order_acq_rel);
            return;
        }
        // On a machine with other things to do, who is waited for may be waiting for this core.
        for (int waited = 0; turn->load(std::memory_order_acquire) == now; waited++) {
            if (waited > 4096) sched_yield();
#if defined(__x86_64__)
            else __builtin_ia32_pause();
#endif
        }
    }
    void share(whole count, whole& first, whole& end) const {
        whole each = ((count + size - 1) / size + PANEL - 1) / PANEL * PANEL;
        first = rank * each < count ? rank * each : count;
        end = first + each < count ? first + each : count;
    }
    void share_rows(whole count, whole& first, whole& end) const {
        first = count * rank / size;
        end = count * (rank + 1) / size;
    }
};

static void projected(const Linear& by, const float* x, whole rows, float* out, whole os, const Team& team) {
    whole first, end;
    team.share(by.out, first, end);
    if (by.scales)
        product(x, by.in, rows, Small{(const int8_t*)by.panels, by.scales, by.in}, by.bias, out, os, first, end);
    else product(x, by.in, rows, Full{(const float*)by.panels, by.in}, by.bias, out, os, first, end);
}

static void turned(float* x, whole heads, whole E, const float* along, const float* across, whole width, whole pairs) {
    float before[1024];
    for (whole h = 0; h < heads; h++, x += E) {
        memcpy(before, x, width * sizeof(float));
        for (whole e = 0; e < width; e++) {
            whole other = pairs ? e ^ 1 : e < width / 2 ? e + width / 2 : e - width / 2;
            x[e] = before[e] * along[e] + before[other] * across[e];
        }
    }
}

// Every head normed by itself, where it lies.
static void leveled(const Norm& norm, float* x, whole heads, whole E) {
    if (norm.kind == NONE) return;
    for (whole h = 0; h < heads; h++, x += E) normed(norm, x, E, x);
}

struct Going {
    const Run& run;
    const Team& team;
    Room& room;
    whole first, texts, rows;
    float* x;
    std::vector<float>& scores;
    std::vector<const float*>&keys, &values;

    void norms(const Norm& norm, const float* from, float* to) const {
        whole begin, end, D = run.width;
        team.share_rows(rows, begin, end);
        for (whole row = begin; row < end; row++) normed(norm, from + row * D, D, to + row * D);
        team.meet();
    }

    // The layer's input: x itself, or x normed.
    const float* before(const Around& around) const {
        if (!around.before) return x;
        norms(around.norm, x, room.normed.data());
        return room.normed.data();
    }

    // x and the layer's output, which lies in `made`.
    void after(const Around& around, const Linear& by, const float* from) const {
        whole begin, end, D = run.width;
        projected(by, from, rows, room.made.data(), D, team);
        team.share(D, begin, end);
        float alpha = (float)around.alpha;
        for (whole row = 0; row < rows; row++) {
            float* to = x + row * D;
            const float* made = room.made.data() + row * D;
            if (alpha == 1.0f)
                for (whole d = begin; d < end; d++) to[d] = to[d] + made[d];
            else
                for (whole d = begin; d < end; d++) to[d] = to[d] * alpha + made[d];
        }
        team.meet();
        if (!around.before) norms(around.norm, x, x);
    }

    void own(const Heads& by, const Around& around, whole layer) const {
        const float* input = before(around);
        whole D = run.width, Q = by.query.out, E = Q / by.heads, shared = by.heads / by.groups;
        float* table = run.kept + layer * run.layer_step;
        projected(by.query, input, rows, room.query.data(), Q, team);
        if (run.pieces == 1) {
            float* place = table + run.at * run.place_step + first * run.row_step;
            projected(by.key, input, rows, place, run.row_step, team);
            projected(by.value, input, rows, place + run.value_step, run.row_step, team);
        } else {
            for (whole text = 0; text < texts; text++) {
                float* place = table + run.at * run.place_step + (first + text) * run.row_step;
                const float* from = input + text * run.pieces * D;
                projected(by.key, from, run.pieces, place, run.place_step, team);
                projected(by.value, from, run.pieces, place + run.value_step, run.place_step, team);
            }
        }
        team.meet();
        if (run.along || by.query_norm.kind) {
            whole begin, end;
            team.share_rows(rows, begin, end);
            for (whole row = begin; row < end; row++) {
                whole piece = row % run.pieces, text = first + row / run.pieces;
                float *query = room.query.data() + row * Q,
                      *key = table + (run.at + piece) * run.place_step + text * run.row_step;
                leveled(by.query_norm, query, by.heads, E);
                leveled(by.key_norm, key, by.groups, E);
                if (!run.along) continue;
                const float *along = run.along + piece * run.turned, *across = run.across + piece * run.turned;
                turned(query, by.heads, E, along, across, run.turned, run.pairs);
                turned(key, by.groups, E, along, across, run.turned, run.pairs);
            }
            team.meet();
        }
        // Heads are shared out where there is but one row, else rows.
        whole length = run.at + run.pieces, begin = 0, end = rows, low = 0, high = by.heads;
        if (rows == 1) team.share_rows(by.heads, low, high);
        else team.share_rows(rows, begin, end);
        whole known = -1;
        for (whole row = begin; row < end; row++) {
            whole text = first + row / run.pieces, piece = row % run.pieces;
            if (text != known) {
                const int32_t* origin = run.origin + text * run.origin_step;
                for (whole j = 0; j < length; j++) {
                    keys[j] = table + j * run.place_step + origin[j] * run.row_step;
                    values[j] = keys[j] + run.value_step;
                }
                known = text;
            }
            whole seen = run.look_ahead ? length : run.at + piece + 1;
            const float* bias = run.bias ? run.bias + text * length : nullptr;
            for (whole h = low; h < high; h++)
                attended(room.query.data() + row * Q + h * E, keys.data(), values.data(), h / shared * E, seen, E,
                         (float)by.scale, bias, scores.data(), room.found.data() + row * Q + h * E, nullptr);
        }
        team.meet();
        after(around, by.output, room.found.data());
    }

    void cross(const Heads& by, const Around& around, whole layer) const {
        const float* input = before(around);
        whole Q = by.query.out, E = Q / by.heads, shared = by.heads / by.groups;
        projected(by.query, input, rows, room.query.data(), Q, team);
        team.meet();
        if (by.query_norm.kind) {
            whole begin, end;
            team.share_rows(rows, begin, end);
            for (whole row = begin; row < end; row++)
                leveled(by.query_norm, room.query.data() + row * Q, by.heads, E);
            team.meet();
        }
        whole begin = 0, end = rows, low = 0, high = by.heads, beams = run.texts / run.sources;
        if (rows == 1) team.share_rows(by.heads, low, high);
        else team.share_rows(rows, begin, end);
        for (whole row = begin; row < end; row++) {
            whole source = (first + row / run.pieces) / beams;
            if (run.sources_left) source = run.sources_left[source];
            const float* bias = run.source_bias ? run.source_bias + source * run.source_length : nullptr;
            const float *k = run.source_keys[layer] + source * run.source_step,
                        *v = run.source_values[layer] + source * run.source_step;
            for (whole j = 0; j < run.source_length; j++) {
                keys[j] = k + j * run.source_place_step;
                values[j] = v + j * run.source_place_step;
            }
            for (whole h = low; h < high; h++)
                attended(room.query.data() + row * Q + h * E, keys.data(), values.data(),
                         h / shared * run.source_head_step, run.source_length, E, (float)by.scale, bias, scores.data(),
                         room.found.data() + row * Q + h * E, nullptr);
        }
        team.meet();
        after(around, by.output, room.found.data());
    }

    void feedforward(const Block& block) const {
        const float* input = before(block.around_feedforward);
        whole F = block.inner.out, begin, end;
        float *hidden = room.hidden.data(), *gate = room.gate.data();
        projected(block.inner, input, rows, hidden, F, team);
        if (block.gated) projected(block.gate, input, rows, gate, F, team);
        team.share(F, begin, end);
        for (whole row = 0; row < rows; row++) {
            float* made = hidden + row * F;
            activated(block.activation, made + begin, end - begin);
            if (block.gated)
                for (whole f = begin; f < end; f++) made[f] = made[f] * gate[row * F + f];
        }
        team.meet();
        after(block.around_feedforward, block.outer, hidden);
    }
};

static void go(const Run& run, const Block* blocks, whole first, whole texts, const Team& team, Room& room) {
    thread_local std::vector<float> scores;
    thread_local std::vector<const float*> keys, values;
    whole longest = run.at + run.pieces > run.source_length ? run.at + run.pieces : run.source_length;
    if ((whole)keys.size() < longest) scores.resize(longest + L), keys.resize(longest), values.resize(longest);
    Going going{run, team, room, first, texts, texts * run.pieces, run.x + first * run.pieces * run.width,
                scores, keys, values};
    for (whole layer = 0; layer < run.layers; layer++) {
        const Block& block = blocks[layer];
        going.own(block.own, block.around_own, layer);
        if (block.crossed) going.cross(block.cross, block.around_cross, layer);
        going.feedforward(block);
    }
    going.norms(run.last, going.x, going.x);
}

static const whole ALONE = 1 << 16;

// --- what a search asks ----------------------------------------------------------------------------------------------

// Of each text only what its source lets follow; hypotheses stand source by source.
static void hide(const Run& run, const Ends& ends) {
    whole width = ends.out.out, each = run.texts / run.sources;
    for (whole row = 0; row < run.texts; row++) {
        whole source = run.sources_left ? run.sources_left[row / each] : row / each;
        const float* hidden = ends.hidden + source * width;
        float* said = ends.said + row * width;
        for (whole i = 0; i < width; i++) said[i] += hidden[i];
    }
}

static void log_normalized(float* x, whole width) {
    whole full = width / L * L;
    lanes most[4] = {all(-INFINITY), all(-INFINITY), all(-INFINITY), all(-INFINITY)}, total = all(0.0f);
    whole at = 0;
    for (; at + 4 * L <= full; at += 4 * L)
        for (int i = 0; i < 4; i++) most[i] = higher(load(x + at + i * L), most[i]);
    for (; at < full; at += L) most[0] = higher(load(x + at), most[0]);
    lanes peaks = higher(higher(most[0], most[1]), higher(most[2], most[3]));
    float highest = -INFINITY;
    for (int i = 0; i < L; i++) highest = peaks[i] > highest ? peaks[i] : highest;
    for (whole i = full; i < width; i++) highest = x[i] > highest ? x[i] : highest;
    for (whole i = 0; i < full; i += L) total = total + exponential<true>(load(x + i) - all(highest));
    if (full < width) {
        float rest[L];
        for (whole i = 0; i < L; i++) rest[i] = full + i < width ? x[full + i] - highest : -INFINITY;
        total = total + exponential<true>(load(rest));
    }
    float less = highest + std::log(sum(total));
    for (whole i = 0; i < width; i++) x[i] = x[i] - less;
}

// A bit for each lane that is marked.
static inline unsigned bits(marks which) {
#if defined(__AVX2__) && defined(__FMA__)
    return _mm256_movemask_ps((__m256)which);
#else
    unsigned found = 0;
    for (int i = 0; i < L; i++) found |= (which[i] & 1u) << i;
    return found;
#endif
}

// Among equals the first; false where there is a NaN.
static bool highest(const float* x, whole width, whole count, float* values, whole* places) {
    whole known = 0;
    bool broken = false;
    auto offer = [&](float value, whole place) {
        broken = broken || value != value;
        if (known == count && !(value > values[count - 1])) return;
        whole at = known < count ? known++ : count - 1;
        for (; at > 0 && value > values[at - 1]; at--) values[at] = values[at - 1], places[at] = places[at - 1];
        values[at] = value, places[at] = place;
    };
    whole i = 0;
    for (; i < width && known < count; i++) offer(x[i], i);
    // Written so that a NaN is offered too.
    auto low = [&](whole from) { return load(x + from) <= all(values[count - 1]); };
    for (; i + 4 * L <= width; i += 4 * L) {
        if (bits(low(i) & low(i + L) & low(i + 2 * L) & low(i + 3 * L)) == 255) continue;
        for (whole j = i; j < i + 4 * L; j += L)
            for (unsigned left = ~bits(low(j)) & 255; left; left &= left - 1) {
                whole at = j + __builtin_ctz(left);
                offer(x[at], at);
            }
    }
    for (; i < width; i++) offer(x[i], i);
    return !broken;
}

// What beams of one size choose among all that may follow the hypotheses of each source.
struct Choosing {
    const float* said;
    // The sum of each row; of each source how many of its rows are hypotheses, and how many have ended.
    const double* totals;
    const whole *live, *ended;
    whole sources, width, vocabulary;
    const whole* banned;
    whole bans, end, size, length;
    double margin, easy;
    // Found for each source: how many go on and how many end; of each the row it comes from, its piece, its
    // log-probability and its sum, first those that go on of all sources, then those that end.
    whole *going, *ending, *rows, *pieces;
    double *values, *sums;
    whole threads;
};

struct Candidate {
    double score;
    whole row, piece;
    double value;
};

static const whole OPEN = -1;

// Whether the first of these candidates, best first, are the best whatever rounding did to their sums.
static bool clear(const Choosing& by, const std::vector<Candidate>& found) {
    if ((whole)found.size() <= by.size) return !found.empty();
    double edge = found[by.size - 1].score;
    double wide = std::fmax(1.0, std::fmax(by.length / by.easy, std::fabs(edge) / by.easy));
    return found[by.size].score < edge - by.margin * wide;
}

// The best that may follow a source's hypotheses, one more than can be chosen; false where there is a NaN.
static bool candidates(const Choosing& by, whole source, std::vector<Candidate>& found) {
    thread_local std::vector<float> values;
    thread_local std::vector<whole> places;
    whole most = by.size + by.live[source] + 1, count = by.size + 2 + by.bans;
    values.resize(count), places.resize(count), found.clear();
    for (whole row = source * by.width, end = row + by.live[source]; row < end; row++) {
        if (!highest(by.said + row * by.vocabulary, by.vocabulary, count, values.data(), places.data())) return false;
        for (whole i = 0; i < count; i++) {
            if (std::find(by.banned, by.banned + by.bans, places[i]) != by.banned + by.bans) continue;
            double score = by.totals[row] + (double)values[i];
            if (score == -INFINITY || ((whole)found.size() == most && !(score > found.back().score))) break;
            if ((whole)found.size() == most) found.pop_back();
            // Behind its equals, as a stable sort would have it.
            auto at = std::find_if(found.begin(), found.end(), [&](const Candidate& one) { return score > one.score; });
            found.insert(at, Candidate{score, row, places[i], (double)values[i]});
        }
    }
    return true;
}

static whole told(const Choosing& by, const std::vector<Candidate>& some, whole at) {
    for (const Candidate& one : some) {
        by.rows[at] = one.row, by.pieces[at] = one.piece, by.values[at] = one.value, by.sums[at] = one.score;
        at++;
    }
    return some.size();
}

// Sets down what goes on and what ends; what hangs on rounding is left open. False where there is a NaN.
static bool chosen(const Choosing& by, whole source) {
    thread_local std::vector<Candidate> found, going, ending;
    by.going[source] = OPEN, by.ending[source] = 0;
    if (!candidates(by, source, found)) return false;
    if (!clear(by, found)) return true;
    going.clear(), ending.clear();
    for (whole i = 0; i < (whole)found.size(); i++) {
        if (found[i].piece != by.end) going.push_back(found[i]);
        else if (i < by.size) ending.push_back(found[i]);
    }
    if (by.ended[source] + (whole)ending.size() >= by.size) going.clear();
    else if (!clear(by, going)) return true;
    if ((whole)going.size() > by.size) going.resize(by.size);
    by.going[source] = told(by, going, source * by.size);
    by.ending[source] = told(by, ending, (by.sources + source) * by.size);
    return true;
}

// What a walk keeps of its hypotheses, all of it moving along with them, and where it sets down what each step wrote.
struct Walk {
    whole most;
    int32_t *origin, *spare;
    whole places;
    whole *pieces, *live;
    double* totals;
    whole *written_rows, *written_pieces;
    double* written_values;
    // Of each source that is left how many have ended, which of those at the start it is, and which of all there were.
    whole *ended, *kept, *source;
    // Every hypothesis that ended: in which step, of which source at the start, from which row before that step, the
    // sum of that row and the log-probability of the end.
    whole *ends_step, *ends_source, *ends_row;
    double *ends_before, *ends_value;
    whole endings, sources, end;
};

enum { GOING, LEFT, BROKEN };

// Whether every source goes on with all of its beams, or is over.
static bool even(const Choosing& by) {
    for (whole source = 0; source < by.sources; source++)
        if (by.going[source] != by.size && (by.going[source] || !by.ending[source])) return false;
    return true;
}

// Sets down what ended in a step, and moves the sources that go on together; gives how many these are.
static whole closed(Walk& walk, const Choosing& by, whole step) {
    whole left = 0;
    for (whole source = 0; source < by.sources; source++) {
        for (whole i = 0; i < by.ending[source]; i++) {
            whole from = (by.sources + source) * by.size + i, at = walk.endings++;
            walk.ends_step[at] = step, walk.ends_source[at] = walk.kept[source], walk.ends_row[at] = by.rows[from];
            walk.ends_before[at] = by.totals[by.rows[from]], walk.ends_value[at] = by.values[from];
        }
        if (!by.going[source]) continue;
        walk.ended[left] = walk.ended[source] + by.ending[source], walk.kept[left] = walk.kept[source];
        if (walk.source) walk.source[left] = walk.source[source];
        if (left != source)
            for (whole i = 0; i < by.size; i++) {
                whole from = source * by.size + i, to = left * by.size + i;
                by.rows[to] = by.rows[from], by.pieces[to] = by.pieces[from];
                by.values[to] = by.values[from], by.sums[to] = by.sums[from];
            }
        left++;
    }
    return left;
}

// After the step at a place, every hypothesis where the one stood that it goes on from.
static void moved(const Walk& walk, const Choosing& by, whole rows, whole length) {
    size_t each = rows * sizeof(whole);
    memcpy(walk.pieces, by.pieces, each), memcpy(walk.totals, by.sums, each);
    for (whole source = 0; source < by.sources; source++) walk.live[source] = by.size;
    bool same = true;
    for (whole row = 0; row < rows; row++) same = same && by.rows[row] == row;
    if (same) return;
    auto copied = [&](int32_t* to, const int32_t* from) { memcpy(to, from, length * sizeof(int32_t)); };
    for (whole row = 0; row < rows; row++)
        copied(walk.spare + row * walk.places, walk.origin + by.rows[row] * walk.places);
    for (whole row = 0; row < rows; row++) copied(walk.origin + row * walk.places, walk.spare + row * walk.places);
}

// Rows in shares, one to a thread, where there is enough to do.
template <class Work>
static void shared(whole threads, whole rows, whole numbers, const Work& work) {
    if (threads < 2 || rows < 2 || numbers < ALONE) return work(0, rows);
#ifdef _OPENMP
#pragma omp parallel num_threads((int)threads)
    {
        whole rank = omp_get_thread_num(), size = omp_get_num_threads();
        work(rows * rank / size, rows * (rank + 1) / size);
    }
#else
    work(0, rows);
#endif
}

// --- recurrent steps that learn --------------------------------------------------------------------------------------

static inline lanes some(const float* from, whole count) { return count < L ? load(from, count) : load(from); }
static inline void put(float* to, lanes x, whole count) { count < L ? store(to, x, count) : store(to, x); }
static inline lanes sigmoid(lanes x) { return all(1.0f) / (all(1.0f) + exponential(-x)); }
// What is left of a gradient behind a sigmoid, or a hyperbolic tangent, that gave y.
static inline lanes slope(lanes y) { return y * (all(1.0f) - y); }
static inline lanes bend(lanes y) { return all(1.0f) - y * y; }

// All numbers of some rows, a vector at a time: by row, place and how many there are.
template <class Work>
static void each(whole threads, whole rows, whole width, const Work& work) {
    shared(threads, rows, 4 * rows * width, [&](whole first, whole end) {
        for (whole row = first; row < end; row++)
            for (whole i = 0; i < width; i += L) work(row, i, width - i < L ? width - i : L);
    });
}

// Additive attention of one query: v . tanh(q + k) for every key that is real, as weights, and the values they mix.
static void asked(const float* query, const float* keys, const float* values, const float* energy, const bool* real,
                  float* weights, float* answer, whole S, whole A, whole W) {
    float most = -INFINITY, total = 0.0f;
    memset(answer, 0, W * sizeof(float));
    for (whole s = 0; s < S; s++) {
        if (!real[s]) continue;
        lanes found = all(0.0f);
        for (whole a = 0; a < A; a += L) {
            whole n = A - a < L ? A - a : L;
            found = fused(some(energy + a, n), tangent(some(query + a, n) + some(keys + s * A + a, n)), found);
        }
        weights[s] = sum(found);
        // Written so that NaN stays.
        most = weights[s] <= most ? most : weights[s];
    }
    for (whole s = 0; s < S; s++) {
        weights[s] = real[s] ? std::exp(weights[s] - most) : 0.0f;
        total += weights[s];
    }
    for (whole s = 0; s < S; s++) {
        if (!real[s]) continue;
        weights[s] /= total;
        for (whole w = 0; w < W; w += L) {
            whole n = W - w < L ? W - w : L;
            put(answer + w, fused(all(weights[s]), some(values + s * W + w, n), some(answer + w, n)), n);
        }
    }
}

// The gradients of query, keys and v from that of the answer; those of keys and v are added to what is there.
static void asked_back(const float* query, const float* keys, const float* values, const float* energy,
                       const bool* real, const float* weights, const float* d_answer, float* d_query, float* d_keys,
                       float* d_energy, float* d_scores, whole S, whole A, whole W) {
    float mean = 0.0f;
    memset(d_query, 0, A * sizeof(float));
    for (whole s = 0; s < S; s++) {
        if (!real[s]) continue;
        d_scores[s] = dot(d_answer, values + s * W, W);
        mean += weights[s] * d_scores[s];
    }
    for (whole s = 0; s < S; s++) {
        if (!real[s]) continue;
        lanes d_score = all(weights[s] * (d_scores[s] - mean));
        for (whole a = 0; a < A; a += L) {
            whole n = A - a < L ? A - a : L;
            lanes y = tangent(some(query + a, n) + some(keys + s * A + a, n));
            lanes d_sum = d_score * some(energy + a, n) * bend(y);
            put(d_query + a, some(d_query + a, n) + d_sum, n);
            put(d_keys + s * A + a, some(d_keys + s * A + a, n) + d_sum, n);
            put(d_energy + a, fused(d_score, y, some(d_energy + a, n)), n);
        }
    }
}

// --- attention that learns -------------------------------------------------------------------------------------------

#include "learning.h"

// --- products that learn ----------------------------------------------------------------------------------------------

#include "products.h"

// --- what is called --------------------------------------------------------------------------------------------------

extern "C" {

whole regard_version() { return 11; }

void regard_run(const Run* run, const Block* blocks) {
    whole threads = run->threads, rows = run->texts * run->pieces, weights = 0;
    for (whole layer = 0; layer < run->layers; layer++) {
        const Block& block = blocks[layer];
        weights += 4 * run->width * run->width + (2 + block.gated) * run->width * block.inner.out;
    }
    // Enough rows: each thread takes its own texts all the way. Few rows of large matrices: all threads share each.
    bool apart = threads > 1 && run->texts >= 2 * threads && rows * weights > (1 << 22);
    bool together = threads > 1 && !apart && rows * weights > (1 << 22);
    if (!apart && !together) {
        thread_local Room room;
        room.fit(*run, blocks, rows);
        go(*run, blocks, 0, run->texts, Team{0, 1, nullptr, nullptr}, room);
        return;
    }
    std::atomic<whole> arrived{0}, turn{0};
    Room room;
    if (together) room.fit(*run, blocks, rows);
#ifdef _OPENMP
#pragma omp parallel num_threads((int)threads)
#endif
    {
        whole rank = 0, size = 1;
#ifdef _OPENMP
        rank = omp_get_thread_num(), size = omp_get_num_threads();
#endif
        if (together) {
            go(*run, blocks, 0, run->texts, Team{rank, size, &arrived, &turn}, room);
        } else {
            thread_local Room mine;
            whole first = run->texts * rank / size, end = run->texts * (rank + 1) / size;
            mine.fit(*run, blocks, (end - first) * run->pieces);
            if (end > first) go(*run, blocks, first, end - first, Team{0, 1, nullptr, nullptr}, mine);
        }
    }
}

void regard_linear(const Linear* by, const float* x, float* out, whole rows, whole threads) {
    Team alone{0, 1, nullptr, nullptr};
    if (threads < 2 || rows * by->out * by->in < ALONE * 4) return projected(*by, x, rows, out, by->out, alone);
#ifdef _OPENMP
#pragma omp parallel num_threads((int)threads)
#endif
    {
        whole rank = 0, size = 1, first, end;
#ifdef _OPENMP
        rank = omp_get_thread_num(), size = omp_get_num_threads();
#endif
        Team team{rank, size, nullptr, nullptr};
        team.share_rows(rows, first, end);
        if (rows < 8 * size) projected(*by, x, rows, out, by->out, team);
        else projected(*by, x + first * by->in, end - first, out + first * by->out, by->out, alone);
    }
}

// A few of the numbers of each of many tensors, as one: changes when they do.
uint64_t regard_sample(const float* const* from, const whole* counts, whole tensors) {
    uint64_t found = 1469598103934665603ull;
    for (whole t = 0; t < tensors; t++)
        for (whole i = 0, step = counts[t] / 61 + 1; i < counts[t]; i += step) {
            uint32_t bits;
            memcpy(&bits, from[t] + i, sizeof bits);
            found = (found ^ bits) * 1099511628211ull;
        }
    return found;
}

void regard_pack(const float* weight, float* panels, whole outputs, whole inputs) {
    for (whole n = 0; n < outputs; n += PANEL)
        for (whole k = 0; k < inputs; k++)
            for (whole i = 0; i < PANEL; i++)
                panels[n * inputs + k * PANEL + i] = n + i < outputs ? weight[(n + i) * inputs + k] : 0.0f;
}

// x - log(sum of e^x), row by row, in place.
void regard_log_softmax(float* x, whole rows, whole width, whole threads) {
    shared(threads, rows, rows * width, [&](whole first, whole end) {
        for (whole row = first; row < end; row++) log_normalized(x + row * width, width);
    });
}

// The `count` highest of every row and where they stand, highest first; gives the first row with a NaN, or -1.
whole regard_top(const float* x, whole rows, whole width, whole count, float* values, whole* places) {
    whole broken = -1;
    for (whole row = 0; row < rows; row++)
        if (!highest(x + row * width, width, count, values + row * count, places + row * count) && broken < 0)
            broken = row;
    return broken;
}

// Gives whether there is a NaN.
whole regard_choose(const Choosing* by) {
    std::atomic<whole> broken{0};
    shared(by->threads, by->sources, by->sources * by->width * by->vocabulary, [&](whole first, whole end) {
        for (whole source = first; source < end; source++)
            if (!chosen(*by, source)) broken = 1;
    });
    return broken;
}

void regard_norm(const Norm* norm, const float* x, float* out, whole rows, whole width) {
    for (whole row = 0; row < rows; row++) normed(*norm, x + row * width, width, out + row * width);
}

void regard_activate(whole kind, float* x, whole rows, whole width) {
    for (whole row = 0; row < rows; row++) activated(kind, x + row * width, width);
}

// Queries of B x H x Q, keys and values of B x G x S, each by its steps; a bias by its own, zero where it repeats.
void regard_attend(const float* query, const whole* qs, const float* keys, const whole* ks, const float* values,
                   const whole* vs, const float* bias, const whole* bs, float* out, float* lse, const whole* sizes,
                   whole causal, double scale) {
    whole B = sizes[0], H = sizes[1], G = sizes[2], Q = sizes[3], S = sizes[4], E = sizes[5];
    std::vector<float> scores(S + L), row_bias(S + L);
    std::vector<const float*> k(S), v(S);
    for (whole b = 0; b < B; b++)
        for (whole h = 0; h < H; h++) {
            whole g = h / (H / G);
            for (whole j = 0; j < S; j++) {
                k[j] = keys + b * ks[0] + g * ks[1] + j * ks[2];
                v[j] = values + b * vs[0] + g * vs[1] + j * vs[2];
            }
            for (whole q = 0; q < Q; q++) {
                const float* own = bias ? bias + b * bs[0] + h * bs[1] + q * bs[2] : nullptr;
                whole at = (b * H + h) * Q + q;
                attended(query + b * qs[0] + h * qs[1] + q * qs[2], k.data(), v.data(), 0, causal ? q + 1 : S, E,
                         (float)scale, own, scores.data(), out + at * E, lse + at);
            }
        }
}

// A whole step: pieces to vectors, the stack, and the log-probability of every piece that may follow.
void regard_step(const Run* run, const Block* blocks, const Ends* ends) {
    whole D = run->width;
    float factor = (float)ends->factor;
    for (whole row = 0; row < run->texts; row++) {
        const float* vector = ends->vectors + ends->pieces[row] * D;
        for (whole d = 0; d < D; d++) run->x[row * D + d] = vector[d] * factor + ends->position[d];
    }
    regard_run(run, blocks);
    regard_linear(&ends->out, run->x, ends->said, run->texts, run->threads);
    if (ends->hidden) hide(*run, *ends);
    regard_log_softmax(ends->said, run->texts, ends->out.out, run->threads);
}

// One step after another while every source goes on with all of its beams or is over, and then without it; gives how
// many were taken so. Where rounding may decide, or there is a NaN, that step is `said` and chosen, and left to whoever
// asked.
whole regard_walk(const Run* given, const Block* blocks, const Ends* around, const Choosing* asked, Walk* walk) {
    Run run = *given;
    Ends ends = *around;
    Choosing by = *asked;
    whole rows = run.texts, most = rows;
    for (whole step = 0; step < walk->most; step++) {
        for (whole row = 0; row < rows; row++) walk->origin[row * walk->places + run.at] = (int32_t)row;
        regard_step(&run, blocks, &ends);
        walk->end = regard_choose(&by) ? BROKEN : even(by) ? GOING : LEFT;
        if (walk->end != GOING) return step;
        by.sources = walk->sources = closed(*walk, by, step);
        rows = run.texts = by.sources * by.size;
        if (run.sources) run.sources = by.sources;
        size_t each = rows * sizeof(whole);
        memcpy(walk->written_rows + step * most, by.rows, each);
        memcpy(walk->written_pieces + step * most, by.pieces, each);
        memcpy(walk->written_values + step * most, by.values, each);
        moved(*walk, by, rows, run.at + 1);
        run.at++, by.length++, ends.position += run.width;
        if (run.along) run.along += run.turned, run.across += run.turned;
        if (!rows) return step + 1;
    }
    return walk->most;
}

// Gates of an LSTM (in, forget, cell, out) as sums, and then as they act; the cells after, and what is put out.
void regard_lstm(float* gates, const float* before, float* after, float* out, whole rows, whole width, whole threads) {
    each(threads, rows, width, [&](whole row, whole i, whole n) {
        float* gate = gates + 4 * row * width + i;
        whole at = row * width + i;
        lanes in = sigmoid(some(gate, n)), forget = sigmoid(some(gate + width, n));
        lanes cell = tangent(some(gate + 2 * width, n)), leave = sigmoid(some(gate + 3 * width, n));
        lanes now = fused(in, cell, forget * some(before + at, n));
        put(gate, in, n), put(gate + width, forget, n), put(gate + 2 * width, cell, n), put(gate + 3 * width, leave, n);
        put(after + at, now, n), put(out + at, leave * tangent(now), n);
    });
}

// From the gradient of what was put out, and of the cells after (then: before), that of the gates' sums.
void regard_lstm_back(const float* gates, const float* before, const float* after, const float* d_out, float* d_kept,
                      float* d_gates, whole rows, whole width, whole threads) {
    each(threads, rows, width, [&](whole row, whole i, whole n) {
        const float* gate = gates + 4 * row * width + i;
        float* to = d_gates + 4 * row * width + i;
        whole at = row * width + i;
        lanes in = some(gate, n), forget = some(gate + width, n), cell = some(gate + 2 * width, n);
        lanes leave = some(gate + 3 * width, n), bent = tangent(some(after + at, n)), given = some(d_out + at, n);
        lanes d_cell = fused(given * leave, bend(bent), some(d_kept + at, n));
        put(to, d_cell * cell * slope(in), n);
        put(to + width, d_cell * some(before + at, n) * slope(forget), n);
        put(to + 2 * width, d_cell * in * bend(cell), n);
        put(to + 3 * width, given * bent * slope(leave), n);
        put(d_kept + at, d_cell * forget, n);
    });
}

// The same of a GRU, whose gates are the new state's share of what is read, reset, update, and the new state's share of
// the state before.
void regard_gru(float* gates, const float* before, float* after, float* out, whole rows, whole width, whole threads) {
    each(threads, rows, width, [&](whole row, whole i, whole n) {
        float* gate = gates + 4 * row * width + i;
        whole at = row * width + i;
        lanes reset = sigmoid(some(gate + width, n)), update = sigmoid(some(gate + 2 * width, n));
        lanes fresh = tangent(fused(reset, some(gate + 3 * width, n), some(gate, n)));
        lanes now = fused(update, some(before + at, n) - fresh, fresh);
        put(gate, fresh, n), put(gate + width, reset, n), put(gate + 2 * width, update, n);
        put(after + at, now, n), put(out + at, now, n);
    });
}

void regard_gru_back(const float* gates, const float* before, const float*, const float* d_out, float* d_kept,
                     float* d_gates, whole rows, whole width, whole threads) {
    each(threads, rows, width, [&](whole row, whole i, whole n) {
        const float* gate = gates + 4 * row * width + i;
        float* to = d_gates + 4 * row * width + i;
        whole at = row * width + i;
        lanes fresh = some(gate, n), reset = some(gate + width, n), update = some(gate + 2 * width, n);
        lanes given = some(d_out + at, n) + some(d_kept + at, n);
        lanes d_fresh = given * (all(1.0f) - update) * bend(fresh);
        put(to, d_fresh, n);
        put(to + width, d_fresh * some(gate + 3 * width, n) * slope(reset), n);
        put(to + 2 * width, given * (some(before + at, n) - fresh) * slope(update), n);
        put(to + 3 * width, d_fresh * reset, n);
        put(d_kept + at, given * update, n);
    });
}

// One query a text, of which sizes are B, S, A and W; the rows of answers lie `apart`.
void regard_ask(const float* query, const float* keys, const float* values, const float* energy, const bool* real,
                float* weights, float* answer, whole apart, const whole* sizes, whole threads) {
    whole B = sizes[0], S = sizes[1], A = sizes[2], W = sizes[3];
    shared(threads, B, B * S * (A + W), [&](whole first, whole end) {
        for (whole b = first; b < end; b++)
            asked(query + b * A, keys + b * S * A, values + b * S * W, energy, real + b * S, weights + b * S,
                  answer + b * apart, S, A, W);
    });
}

void regard_ask_back(const float* query, const float* keys, const float* values, const float* energy, const bool* real,
                     const float* weights, const float* d_answer, float* d_query, float* d_keys, float* d_energy,
                     const whole* sizes, whole threads) {
    whole B = sizes[0], S = sizes[1], A = sizes[2], W = sizes[3];
    shared(threads, B, B * S * (A + W), [&](whole first, whole end) {
        std::vector<float> d_scores(S);
        for (whole b = first; b < end; b++)
            asked_back(query + b * A, keys + b * S * A, values + b * S * W, energy, real + b * S, weights + b * S,
                       d_answer + b * W, d_query + b * A, d_keys + b * S * A, d_energy + b * A, d_scores.data(), S, A,
                       W);
    });
}
}
