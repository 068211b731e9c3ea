// Softmax attention that is learned from: whole heads at a time.
//
// Of every head, queries, keys and values are copied to rows that end where the processor stops multiplying, keys and
// values also on their side, so that all its products are of one kind. Scores are made for some queries at a time, and
// again on the way back, from the log-sum-exp of their row. B texts, H heads, G groups of keys, Q queries, S keys, E
// width of a head; a key more than there are weighs nothing.

// Queries whose scores are held at once.
static const whole STRIP = 64;

static inline whole whole_rows(whole count) { return (count + PANEL - 1) / PANEL * PANEL; }

// Sums that are added to at once: as many as keep the processor busy and have room.
#if defined(__AVX512F__)
static const int TALL = 8;
#else
static const int TALL = 6;
#endif
static const whole EACH = sizeof(row) / sizeof(float);

// out = a b, or out + a b, of M rows and P of the processor's rows beside one another.
template <int M, int P>
static inline void block_of(const float* a, whole am, whole ak, const float* b, whole bs, float* out, whole os, whole K,
                            bool added) {
    row found[M][P];
    for (int m = 0; m < M; m++)
        for (int p = 0; p < P; p++) found[m][p] = added ? row_at(out + m * os + p * EACH) : repeated(0.0f);
    for (whole k = 0; k < K; k++) {
        row side[P];
        for (int p = 0; p < P; p++) side[p] = row_at(b + k * bs + p * EACH);
        for (int m = 0; m < M; m++) {
            row one = repeated(a[m * am + k * ak]);
            for (int p = 0; p < P; p++) found[m][p] = fused(one, side[p], found[m][p]);
        }
    }
    for (int m = 0; m < M; m++)
        for (int p = 0; p < P; p++) set_row(out + m * os + p * EACH, found[m][p]);
}

template <int M>
static void rows_of(whole rows, const float* a, whole am, whole ak, const float* b, whole bs, float* out, whole os,
                    whole N, whole K, bool added) {
    if constexpr (M > 1)
        if (rows < M) return rows_of<M - 1>(rows, a, am, ak, b, bs, out, os, N, K, added);
    whole n = 0;
    for (; n + 2 * EACH <= N; n += 2 * EACH) block_of<M, 2>(a, am, ak, b + n, bs, out + n, os, K, added);
    for (; n < N; n += EACH) block_of<M, 1>(a, am, ak, b + n, bs, out + n, os, K, added);
}

// out = a b, or out + a b: N columns, a multiple of sixteen; the numbers of a lie am and ak apart.
static void multiplied(const float* a, whole am, whole ak, const float* b, whole bs, float* out, whole os, whole rows,
                       whole N, whole K, bool added) {
    // Blocks as equal as can be.
    whole blocks = (rows + TALL - 1) / TALL;
    for (whole i = 0; i < blocks; i++) {
        whole m = rows * i / blocks;
        rows_of<TALL>(rows * (i + 1) / blocks - m, a + m * am, am, ak, b, bs, out + m * os, os, N, K, added);
    }
}

// A vector is short: a call for each would cost more than what it does.
static inline void copied(const float* from, whole E, float* to) {
    whole e = 0;
    for (; e + L <= E; e += L) store(to + e, load(from + e));
    for (; e < E; e++) to[e] = from[e];
}

// Vectors of E numbers, each to a row of its own; what is behind them there stays.
static void gathered(const float* from, whole step, whole count, whole E, float* to, whole ts) {
    for (whole i = 0; i < count; i++) copied(from + i * step, E, to + i * ts);
}

// Eight numbers of eight vectors, on their side.
static inline void square_down(const float* from, whole step, float* to, whole ts) {
#if defined(__AVX2__) && defined(__FMA__)
    __m256 x[8], y[8];
    for (int i = 0; i < 8; i++) x[i] = _mm256_loadu_ps(from + i * step);
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            x[i + 2 * j] = _mm256_shuffle_ps(y[i + j], y[i + j + 2], 0x44);
            x[i + 2 * j + 1] = _mm256_shuffle_ps(y[i + j], y[i + j + 2], 0xEE);
        }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * ts, _mm256_permute2f128_ps(x[i], x[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * ts, _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
    }
#else
    for (int i = 0; i < 8; i++)
        for (int e = 0; e < 8; e++) to[e * ts + i] = from[i * step + e];
#endif
}

// Vectors of E numbers, all on their side.
static void laid_down(const float* from, whole step, whole count, whole E, float* to, whole ts) {
    whole squares = E / 8 * 8, i = 0;
    for (; i + 8 <= count; i += 8) {
        for (whole e = 0; e < squares; e += 8) square_down(from + i * step + e, step, to + e * ts + i, ts);
        for (whole e = squares; e < E; e++)
            for (whole j = i; j < i + 8; j++) to[e * ts + j] = from[j * step + e];
    }
    for (; i < count; i++)
        for (whole e = 0; e < E; e++) to[e * ts + i] = from[i * step + e];
}

// e^x of numbers that are at most zero, but for rounding.
static inline row exponential_row(row x) {
#if defined(__AVX512F__)
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps((__m512)x, _mm512_set1_ps(1.44269504088896341f)), 0);
    row r = fused((row)n, repeated(-0.693359375f), x);
    r = fused((row)n, repeated(2.12194440e-4f), r);
    row p = repeated(1.9875691500e-4f);
    for (float next : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
        p = fused(p, r, repeated(next));
    p = fused(p, r * r, r) + repeated(1.0f);
    // Written so that NaN stays; of minus infinity, what is left is none.
    __mmask16 under = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-87.3f), _CMP_LT_OQ);
    return (row)_mm512_mask_mov_ps(_mm512_scalef_ps((__m512)p, n), under, _mm512_setzero_ps());
#else
    return exponential<true>(x);
#endif
}

static inline row higher_row(row a, row b) {
#if defined(__AVX512F__)
    return (row)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return higher(a, b);
#endif
}

static inline float added_up(row x) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)x);
#else
    return sum(x);
#endif
}

// What is asked of one attention. Tensors of B x H x T x E lie by their steps, a bias by its own, zero where it repeats.
struct Learned {
    const float *query, *keys, *values, *bias, *out, *lse, *d_out;
    whole query_steps[3], key_steps[3], value_steps[3], bias_steps[3], out_steps[3], d_out_steps[3];
    float *made, *made_lse, *d_query, *d_keys, *d_values;
    whole made_steps[3], made_key_steps[3], made_value_steps[3];
    whole B, H, G, Q, S, E, causal, threads;
    double scale;
    // Where weights are dropped, a hash of each row and of each column, these as many as whole rows have: a weight stays
    // where the hash of both is no less than this, and grows so much.
    const int32_t *row_marks, *column_marks;
    whole least;
    double grown;
};

static inline whole at(const whole* steps, whole b, whole h, whole t = 0) {
    return b * steps[0] + h * steps[1] + t * steps[2];
}

#if defined(__AVX512F__)
typedef int32_t row_of_marks __attribute__((vector_size(64)));
typedef uint32_t row_of_bits __attribute__((vector_size(64)));
typedef int32_t loose_marks __attribute__((vector_size(64), aligned(4), may_alias));
#else
typedef int32_t row_of_marks __attribute__((vector_size(32)));
typedef uint32_t row_of_bits __attribute__((vector_size(32)));
typedef int32_t loose_marks __attribute__((vector_size(32), aligned(4), may_alias));
#endif

// What drops the weights of one row: `attention/dropout.py` computes the same.
struct Dropping {
    const int32_t *columns;
    row_of_marks mark, least;
    row grown;
    Dropping(const Learned& of, whole b, whole h, whole q) : columns(of.column_marks) {
        if (!columns) return;
        mark = row_of_marks{} + of.row_marks[(b * of.H + h) * of.Q + q];
        least = row_of_marks{} + (int32_t)of.least;
        grown = repeated((float)of.grown);
    }
    // What weights are multiplied with: 0, or what is left grows by.
    row factor(whole j) const {
        row_of_bits hash = (row_of_bits)(mark ^ *(const loose_marks*)(columns + j)) * 0x2C1B3C6Du;
        hash = (hash ^ (row_of_bits)((row_of_marks)hash >> 15)) * 0x297A2D39u;
        return (row)((row_of_marks)grown & ((row_of_marks)hash >= least));
    }
};

// Where a thread works; zero behind every row's end.
struct Bench {
    whole W, N;
    std::vector<float> room;
    // Of some queries; `mixed` are values, or the gradient of what they were mixed to.
    float *queries, *mixed, *scores, *slopes;
    // Of all keys; `down` lie on their side.
    float *keys, *values, *keys_down, *values_down, *d_keys, *d_values;
    void fit(const Learned& of) {
        W = whole_rows(of.E), N = whole_rows(of.S);
        room.assign(2 * STRIP * (W + N) + 6 * N * W, 0.0f);
        float* next = room.data();
        for (float** each : {&queries, &mixed}) *each = next, next += STRIP * W;
        for (float** each : {&scores, &slopes}) *each = next, next += STRIP * N;
        for (float** each : {&keys, &values, &keys_down, &values_down, &d_keys, &d_values}) *each = next, next += N * W;
    }
};

// The scores of some queries, scaled and biased; minus infinity for what a query may not see and for keys there are not.
static void scored(const Learned& of, const Bench& bench, whole b, whole h, whole first, whole count, whole seen) {
    whole wide = whole_rows(seen);
    multiplied(bench.queries, bench.W, 1, bench.keys_down, bench.N, bench.scores, bench.N, count, wide, of.E, false);
    row scale = repeated((float)of.scale);
    for (whole i = 0; i < count; i++) {
        float* scores = bench.scores + i * bench.N;
        whole own = of.causal ? std::min(first + i + 1, of.S) : of.S, full = own / EACH * EACH, j = 0;
        const float* bias = of.bias ? of.bias + at(of.bias_steps, b, h, first + i) : nullptr;
        for (; j < full; j += EACH)
            set_row(scores + j, bias ? row_at(scores + j) * scale + row_at(bias + j) : row_at(scores + j) * scale);
        for (; j < own; j++) scores[j] = bias ? scores[j] * (float)of.scale + bias[j] : scores[j] * (float)of.scale;
        for (; j < wide; j++) scores[j] = -INFINITY;
    }
}

// Scores to weights; gives the log-sum-exp. Who sees nothing has zeros, as torch's kernel gives them.
static float weighed(float* scores, whole wide, const Dropping& dropping) {
    row most = repeated(-INFINITY), total = repeated(0.0f);
    for (whole j = 0; j < wide; j += EACH) most = higher_row(row_at(scores + j), most);
    float highest = most[0];
    for (int i = 1; i < EACH; i++) highest = most[i] > highest ? most[i] : highest;
    // Infinity less itself is no number; what is no number stays none.
    row top = repeated(highest == -INFINITY ? 0.0f : highest);
    for (whole j = 0; j < wide; j += EACH) {
        row weight = exponential_row(row_at(scores + j) - top);
        set_row(scores + j, weight);
        total = total + weight;
    }
    float whole_sum = added_up(total);
    if (whole_sum == 0.0f) return 0.0f;
    row share = repeated(1.0f / whole_sum);
    for (whole j = 0; j < wide; j += EACH) {
        row weight = row_at(scores + j) * share;
        set_row(scores + j, dropping.columns ? weight * dropping.factor(j) : weight);
    }
    return highest + std::log(whole_sum);
}

static inline whole seen_by(const Learned& of, whole last) { return of.causal ? std::min(last, of.S) : of.S; }

static void attended_to(const Learned& of, Bench& bench, whole b, whole g) {
    whole W = bench.W, N = bench.N, E = of.E, shared = of.H / of.G;
    laid_down(of.keys + at(of.key_steps, b, g), of.key_steps[2], of.S, E, bench.keys_down, N);
    gathered(of.values + at(of.value_steps, b, g), of.value_steps[2], of.S, E, bench.values, W);
    for (whole h = g * shared; h < (g + 1) * shared; h++)
        for (whole first = 0; first < of.Q; first += STRIP) {
            whole count = std::min(STRIP, of.Q - first), seen = seen_by(of, first + count), wide = whole_rows(seen);
            gathered(of.query + at(of.query_steps, b, h, first), of.query_steps[2], count, E, bench.queries, W);
            scored(of, bench, b, h, first, count, seen);
            float* lse = of.made_lse + (b * of.H + h) * of.Q + first;
            for (whole i = 0; i < count; i++) lse[i] = weighed(bench.scores + i * N, wide, Dropping(of, b, h, first + i));
            multiplied(bench.scores, N, 1, bench.values, W, bench.mixed, W, count, W, seen, false);
            for (whole i = 0; i < count; i++)
                copied(bench.mixed + i * W, E, of.made + at(of.made_steps, b, h, first + i));
        }
}

// dS = P (D dO V^T - dO . O), times the scale, D what drops; P D is left in the scores.
static void sloped(const Learned& of, const Bench& bench, whole b, whole h, whole first, whole count, whole wide) {
    for (whole i = 0; i < count; i++) {
        float *scores = bench.scores + i * bench.N, *slopes = bench.slopes + i * bench.N;
        const float* out = of.out + at(of.out_steps, b, h, first + i);
        Dropping dropping(of, b, h, first + i);
        row mean = repeated(dot(bench.mixed + i * bench.W, out, of.E));
        row lse = repeated(of.lse[(b * of.H + h) * of.Q + first + i]), scale = repeated((float)of.scale);
        for (whole j = 0; j < wide; j += EACH) {
            row weight = exponential_row(row_at(scores + j) - lse);
            row slope = row_at(slopes + j), factor = dropping.columns ? dropping.factor(j) : repeated(1.0f);
            set_row(scores + j, weight * factor);
            set_row(slopes + j, weight * (slope * factor - mean) * scale);
        }
    }
}

static void attended_back(const Learned& of, Bench& bench, whole b, whole g) {
    whole W = bench.W, N = bench.N, E = of.E, shared = of.H / of.G;
    const float *keys = of.keys + at(of.key_steps, b, g), *values = of.values + at(of.value_steps, b, g);
    gathered(keys, of.key_steps[2], of.S, E, bench.keys, W);
    laid_down(keys, of.key_steps[2], of.S, E, bench.keys_down, N);
    laid_down(values, of.value_steps[2], of.S, E, bench.values_down, N);
    memset(bench.d_keys, 0, N * W * sizeof(float));
    memset(bench.d_values, 0, N * W * sizeof(float));
    for (whole h = g * shared; h < (g + 1) * shared; h++)
        for (whole first = 0; first < of.Q; first += STRIP) {
            whole count = std::min(STRIP, of.Q - first), seen = seen_by(of, first + count), wide = whole_rows(seen);
            gathered(of.query + at(of.query_steps, b, h, first), of.query_steps[2], count, E, bench.queries, W);
            gathered(of.d_out + at(of.d_out_steps, b, h, first), of.d_out_steps[2], count, E, bench.mixed, W);
            scored(of, bench, b, h, first, count, seen);
            multiplied(bench.mixed, W, 1, bench.values_down, N, bench.slopes, N, count, wide, E, false);
            sloped(of, bench, b, h, first, count, wide);
            multiplied(bench.scores, 1, N, bench.mixed, W, bench.d_values, W, seen, W, count, true);
            multiplied(bench.slopes, 1, N, bench.queries, W, bench.d_keys, W, seen, W, count, true);
            multiplied(bench.slopes, N, 1, bench.keys, W, bench.queries, W, count, W, seen, false);
            for (whole i = 0; i < count; i++)
                copied(bench.queries + i * W, E, of.d_query + at(of.made_steps, b, h, first + i));
        }
    for (whole j = 0; j < of.S; j++) {
        copied(bench.d_keys + j * W, E, of.d_keys + at(of.made_key_steps, b, g, j));
        copied(bench.d_values + j * W, E, of.d_values + at(of.made_value_steps, b, g, j));
    }
}

// Every group of keys by somebody; what is made of a text hangs on no other.
template <class Work>
static void by_groups(const Learned& of, const Work& work) {
    shared(of.threads, of.B * of.G, of.B * of.H * of.Q * of.S * of.E, [&](whole first, whole end) {
        thread_local Bench bench;
        bench.fit(of);
        for (whole i = first; i < end; i++) work(bench, i / of.G, i % of.G);
    });
}

extern "C" {

void regard_learn_attending(const Learned* of) {
    by_groups(*of, [&](Bench& bench, whole b, whole g) { attended_to(*of, bench, b, g); });
}

void regard_learn_attending_back(const Learned* of) {
    by_groups(*of, [&](Bench& bench, whole b, whole g) { attended_back(*of, bench, b, g); });
}
}
