/* Successors, computed ahead of the search, by a pool of threads if there are processors for them.
 *
 * To compute the successors of a state takes longer than to look them up, and needs nothing but the state. So states are
 * handed out in blocks, in the order in which they were found; the search takes the blocks back in the same order, and its
 * numbers do not depend on who computed what. Where there is no second processor the search computes its blocks itself,
 * and so it does with a block that nobody has begun when its turn comes.
 *
 * What is above this line was generated from a model.
 */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
static int quick;
__attribute__((constructor)) static void ask(void) {
    __builtin_cpu_init();
    quick = __builtin_cpu_supports("bmi2");
}
#define pack(c, w) (quick ? pack_quick(c, w) : pack_plain(c, w))
#define unpack(w, c) (quick ? unpack_quick(w, c) : unpack_plain(w, c))
#else
#define pack pack_plain
#define unpack unpack_plain
#endif

enum { BLOCK = 256, RING = 6, MAX_WORKERS = 7 };
enum { WAITING, BUSY, DONE };

typedef struct {
    uint64_t words[WORDS];
    uint64_t hash;
    uint32_t orbit;
} Key;

/* States, and what follows from them, of each at most so many: those of state k end at ends[k]. */
typedef struct {
    int stage, states, most, used;
    uint32_t ends[BLOCK];
    uint64_t packed[BLOCK * WORDS];
    uint64_t numbers[BLOCK]; /* the states', for who has to know */
    State *out;
    Key *keys;
    uint16_t *via; /* the alternatives that lead there */
} Block;

typedef struct {
    Block ring[RING];
    Block spare;         /* never handed out */
    uint64_t head, tail; /* the blocks that are handed out and not yet taken back, modulo RING */
    int wanted, hired, variant, leaving;
    pthread_t workers[MAX_WORKERS];
    pthread_mutex_t lock;
    pthread_cond_t work, done;
} WorkerPool;

static uint64_t mix(const uint64_t *w) {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int k = 0; k < WORDS; k++) {
        h = (h ^ w[k]) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    h *= 0xFF51AFD7ED558CCDu;
    return h ^ h >> 29;
}

#if RENAMINGS > 1
static int before(const uint64_t *a, const uint64_t *b) {
    for (int k = WORDS - 1; k >= 0; k--)
        if (a[k] != b[k]) return a[k] < b[k];
    return 0;
}
#endif

/* The state's words; with folding those of the one that is kept for all its renamings, and how many these are. */
static void key_of(const State *s, Key *key) {
    const uint8_t *c = (const uint8_t *)s;
#if RENAMINGS == 1
    pack(c, key->words);
    key->orbit = 1;
#else
    uint8_t fits[RENAMINGS];
    uint32_t same = 0;
    uint64_t other[WORDS];
    orderly(c, fits);
    for (int r = 0; r < RENAMINGS; r++) {
        if (!fits[r]) continue;
        renamed(c, r, other);
        if (!same || before(other, key->words)) {
            memcpy(key->words, other, sizeof other);
            same = 1;
        } else if (!memcmp(other, key->words, sizeof other)) {
            same++;
        }
    }
    key->orbit = RENAMINGS / same;
#endif
    key->hash = mix(key->words);
}

/* The successors of the block's states. */
static void compute(Block *b) {
    uint32_t at = 0;
    for (int k = 0; k < b->states; k++) {
        State s;
        unpack(b->packed + k * WORDS, (uint8_t *)&s);
        int n = successors(&s, b->out, b->via + at, b->most);
        for (int j = 0; j < n; j++) key_of(&b->out[j], &b->keys[at + j]);
        b->ends[k] = at += n;
    }
}

static void *work(void *argument) {
    WorkerPool *pool = argument;
    variant = pool->variant;
    pthread_mutex_lock(&pool->lock);
    while (!pool->leaving) {
        Block *b = NULL;
        for (uint64_t k = pool->head; k < pool->tail && !b; k++)
            if (pool->ring[k % RING].stage == WAITING) b = &pool->ring[k % RING];
        if (!b) {
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        b->stage = BUSY;
        pthread_mutex_unlock(&pool->lock);
        compute(b);
        pthread_mutex_lock(&pool->lock);
        b->stage = DONE;
        pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Fewer than wanted, if the system has no more: the search itself works too. */
static void hire(WorkerPool *pool) {
    while (pool->hired < pool->wanted && pool->hired < MAX_WORKERS) {
        if (pthread_create(&pool->workers[pool->hired], NULL, work, pool)) break;
        pool->hired++;
    }
    pool->wanted = pool->hired;
}

/* The block that is handed out next, to be filled; NULL if there is no room in the ring. */
static Block *free_block(WorkerPool *pool) {
    return pool->tail - pool->head < (pool->hired ? RING : 1) ? &pool->ring[pool->tail % RING] : NULL;
}

/* Hands out the block that was filled. */
static void hand_out(WorkerPool *pool, int states, int most) {
    Block *b = &pool->ring[pool->tail % RING];
    b->states = states;
    b->most = most;
    b->used = 0;
    b->stage = WAITING;
    pthread_mutex_lock(&pool->lock);
    pool->tail++;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

/* The oldest block, when it is computed. */
static Block *take_back(WorkerPool *pool) {
    Block *b = &pool->ring[pool->head % RING];
    pthread_mutex_lock(&pool->lock);
    if (b->stage == WAITING) {
        b->stage = BUSY;
        pthread_mutex_unlock(&pool->lock);
        compute(b);
        pthread_mutex_lock(&pool->lock);
        b->stage = DONE;
    }
    while (b->stage != DONE) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return b;
}

/* The block is used up. */
static void give_up(WorkerPool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->head++;
    pthread_mutex_unlock(&pool->lock);
}

static int assemble(WorkerPool *pool, int workers, int of_variant) {
    pool->wanted = workers;
    pool->variant = of_variant;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int k = 0; k <= RING; k++) {
        Block *b = k < RING ? &pool->ring[k] : &pool->spare;
        b->out = malloc(sizeof(State) * ALTERNATIVES);
        b->keys = malloc(sizeof(Key) * ALTERNATIVES * BLOCK);
        b->via = malloc(sizeof(uint16_t) * ALTERNATIVES * BLOCK);
        if (!b->out || !b->keys || !b->via) return 0;
    }
    return 1;
}

static void dismiss(WorkerPool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->leaving = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int k = 0; k < pool->hired; k++) pthread_join(pool->workers[k], NULL);
    for (int k = 0; k <= RING; k++) {
        Block *b = k < RING ? &pool->ring[k] : &pool->spare;
        free(b->out);
        free(b->keys);
        free(b->via);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
}
