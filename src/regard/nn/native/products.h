// Products of matrices that change with every update: out = a b, or out + a b, and a bias, whichever way they lie.
//
// Both are copied to strips as they are needed: of a, TALL rows with all of one k side by side; of b, two of the
// processor's rows. A stretch of k at a time is summed up and added to what the stretches before gave, so that a number is
// the same however many threads share the rows. M rows, N columns, K summed over.

static const whole BROAD = 2 * EACH;
// k of a stretch, so that a strip of b stays in the nearest cache; rows of a that stay in the next.
static const whole DEEP = 256, NEAR = 12 * TALL;

struct Product {
    const float* a;
    whole a_row, a_step;
    const float* b;
    whole b_step, b_column;
    float* out;
    whole out_row;
    const float* bias;
    whole M, N, K, added, threads;
};

// Vectors of `count` numbers, on their side, as wide as `to` lets them be; what there is none of is zero.
static void strip_of(const float* from, whole vector, whole number, whole vectors, whole count, float* to, whole wide) {
    if (vectors < wide) memset(to, 0, count * wide * sizeof(float));
    if (vector == 1) {
        for (whole k = 0; k < count; k++) copied(from + k * number, vectors, to + k * wide);
        return;
    }
    whole square = number == 1 ? count / 8 * 8 : 0, v = 0;
    for (; v + 8 <= vectors; v += 8)
        for (whole k = 0; k < square; k += 8) square_down(from + v * vector + k, vector, to + k * wide + v, wide);
    for (whole i = 0; i < vectors; i++)
        for (whole k = i < v ? square : 0; k < count; k++) to[k * wide + i] = from[i * vector + k * number];
}

// One strip of each: what they give, to rows and columns that there are. A stretch is summed up by itself before it is
// added: rounding grows with the length of a sum.
static void brick(const Product& of, const float* a, const float* b, whole K, whole m, whole n, bool first, bool last) {
    row found[TALL][2];
    for (int i = 0; i < TALL; i++) found[i][0] = found[i][1] = repeated(0.0f);
    for (whole k = 0; k < K; k++, a += TALL, b += BROAD) {
        row left = row_at(b), right = row_at(b + EACH);
        for (int i = 0; i < TALL; i++) {
            row one = repeated(a[i]);
            found[i][0] = fused(one, left, found[i][0]);
            found[i][1] = fused(one, right, found[i][1]);
        }
    }
    whole rows = std::min((whole)TALL, of.M - m), columns = std::min(BROAD, of.N - n);
    float* out = of.out + m * of.out_row + n;
    const float* bias = last && of.bias ? of.bias + n : nullptr;
    bool added = !first || of.added;
    if (columns == BROAD) {
        for (whole i = 0; i < rows; i++, out += of.out_row)
            for (int p = 0; p < 2; p++) {
                row total = added ? row_at(out + p * EACH) + found[i][p] : found[i][p];
                set_row(out + p * EACH, bias ? total + row_at(bias + p * EACH) : total);
            }
        return;
    }
    const float* numbers = (const float*)found;
    for (whole i = 0; i < rows; i++, out += of.out_row, numbers += BROAD)
        for (whole j = 0; j < columns; j++) {
            float total = added ? out[j] + numbers[j] : numbers[j];
            out[j] = bias ? total + bias[j] : total;
        }
}

// The strips of some rows of a. Where rows lie side by side, all of one k together, as memory is read.
static void strips_of(const float* from, whole row, whole step, whole rows, whole deep, float* to) {
    whole full = row == 1 ? rows / TALL * TALL : 0;
    for (whole k = 0; k < deep; k++)
        for (whole m = 0; m < full; m += TALL) copied(from + k * step + m, TALL, to + m * DEEP + k * TALL);
    for (whole m = full; m < rows; m += TALL)
        strip_of(from + m * row, row, step, std::min((whole)TALL, rows - m), deep, to + m * DEEP, TALL);
}

// Room where the processor's rows begin with its lines; not filled.
struct Shelf {
    float* at;
    explicit Shelf(whole count) : at((float*)aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64)) {
        if (!at) throw std::bad_alloc();
    }
    ~Shelf() { free(at); }
};

// The rows `begin` to `end`, for one stretch of k, whose strips of b are there, `apart` from one another.
static void bricks(const Product& of, const float* strips, whole apart, std::vector<float>& room, whole begin,
                   whole end, whole k, whole deep) {
    for (whole m0 = begin; m0 < end; m0 += NEAR) {
        whole stop = std::min(m0 + NEAR, end);
        strips_of(of.a + m0 * of.a_row + k * of.a_step, of.a_row, of.a_step, stop - m0, deep, room.data());
        for (whole n = 0; n < of.N; n += BROAD)
            for (whole m = m0; m < stop; m += TALL)
                brick(of, room.data() + (m - m0) * DEEP, strips + n / BROAD * apart, deep, m, n, k == 0, k + deep == of.K);
    }
}

extern "C" void regard_product(const Product* given) {
    const Product& of = *given;
    whole wide = (of.N + BROAD - 1) / BROAD, tall = (of.M + TALL - 1) / TALL;
    bool alone = of.threads < 2 || tall < 2 || of.M * of.N * of.K < 1 << 20;
    whole apart = BROAD * std::min(DEEP, of.K);
    Shelf strips(wide * apart);
#ifdef _OPENMP
#pragma omp parallel num_threads((int)(alone ? 1 : of.threads))
#endif
    {
        whole rank = 0, size = 1;
#ifdef _OPENMP
        rank = omp_get_thread_num(), size = omp_get_num_threads();
#endif
        thread_local std::vector<float> room(NEAR * DEEP);
        whole begin = std::min(tall * rank / size * TALL, of.M), end = std::min(tall * (rank + 1) / size * TALL, of.M);
        for (whole k = 0; k < of.K; k += DEEP) {
            whole deep = std::min(DEEP, of.K - k);
            for (whole i = wide * rank / size; i < wide * (rank + 1) / size; i++)
                strip_of(of.b + k * of.b_step + i * BROAD * of.b_column, of.b_column, of.b_step,
                         std::min(BROAD, of.N - i * BROAD), deep, strips.at + i * apart, BROAD);
#ifdef _OPENMP
#pragma omp barrier
#endif
            bricks(of, strips.at, apart, room, begin, end, k, deep);
#ifdef _OPENMP
#pragma omp barrier
#endif
        }
    }
}
