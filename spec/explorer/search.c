/* Breadth-first search, the same for every model. Who computes the successors of a state stands in worker_pool.c.
 *
 * States lie packed in the order in which they were found, so that the frontier is a cursor and a state's number is its
 * place. A table of 32-bit slots finds them again: a slot holds a number, counted from 1, in its low bits, and in the bits
 * that the numbers do not need yet some of the state's hash, which spares most looks at the state itself. Per state there
 * are its words, the number of its parent (32 bits), the alternative that led to it (16) and about 1.5 slots.
 *
 * Memory is slow and everything else is fast. So successors come by the hundred, and the slots and the states that one
 * will be compared with are asked for long before its turn.
 */
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define NONE 0xFFFFFFFFu
#define MAX_STATES 0xFFFFFF00u
#define EXPORT __attribute__((visibility("default")))

enum { MORE, COMPLETE, STATES_REACHED, MEMORY_REACHED, VIOLATED };
enum { PACKED, PARENTS, ALTERNATIVE_NUMBERS };

typedef struct {
    uint64_t *packed;    /* WORDS for each state */
    uint32_t *parents;
    uint16_t *numbers;   /* the alternatives that led here */
    uint32_t *slots;
    uint64_t capacity, slot_count;
    int index_bits, stops_at_violation, variant;
    uint64_t count, cursor, layer_end, depth, edges, dead_ends, first_dead, unfolded;
    uint64_t max_states, max_bytes;
    uint64_t fired[ACTIONS];
    uint32_t first[PROPERTIES + 1]; /* the first state that decides: violates an invariant, meets a reachable property */
    uint64_t broken;             /* how many invariants are violated */
    uint64_t handed_out;         /* the first state that the pool was not given yet */
    Block *block;                /* the one that is being looked up */
    WorkerPool pool;
} Search;

static uint64_t slot_of(const Search *q, uint64_t hash) {
    return (uint64_t)((unsigned __int128)hash * q->slot_count >> 64);
}

static uint32_t tag_of(const Search *q, uint64_t hash) {
    return q->index_bits >= 32 ? 0 : (uint32_t)hash << q->index_bits;
}

static uint32_t index_mask(const Search *q) {
    return q->index_bits >= 32 ? 0xFFFFFFFFu : (1u << q->index_bits) - 1;
}

static uint64_t slots_for(uint64_t capacity) { return capacity + capacity / 2 + 64; }

static uint64_t bytes_for(uint64_t capacity) {
    return capacity * (WORDS * 8 + 4 + 2) + slots_for(capacity) * 4;
}

/* The table anew, from the states; 0 if there is no memory for it. */
static int fill_table(Search *q) {
    free(q->slots);
    q->slots = NULL;
    q->slot_count = slots_for(q->capacity);
    q->index_bits = 1;
    while (q->index_bits < 32 && (q->capacity + 1) >> q->index_bits) q->index_bits++;
    size_t bytes = q->slot_count * sizeof *q->slots;
    if (bytes < (4u << 20)) {
        q->slots = calloc(1, bytes);
    } else if (!posix_memalign((void **)&q->slots, 2u << 20, bytes)) {
#if defined(MADV_HUGEPAGE)
        madvise(q->slots, bytes, MADV_HUGEPAGE);
#endif
        memset(q->slots, 0, bytes);
    }
    if (!q->slots) return 0;
    enum { AHEAD = 16 };
    uint64_t hashes[AHEAD];
    for (uint64_t i = 0; i < q->count + AHEAD; i++) {
        if (i >= AHEAD && i - AHEAD < q->count) {
            uint64_t hash = hashes[i % AHEAD], at = slot_of(q, hash);
            while (q->slots[at]) at = at + 1 == q->slot_count ? 0 : at + 1;
            q->slots[at] = (uint32_t)(i - AHEAD + 1) | tag_of(q, hash);
        }
        if (i < q->count) {
            hashes[i % AHEAD] = mix(q->packed + i * WORDS);
            __builtin_prefetch(&q->slots[slot_of(q, hashes[i % AHEAD])], 1);
        }
    }
    return 1;
}

static int resized(void *array, uint64_t bytes) {
    void **place = array, *larger = realloc(*place, bytes);
    if (larger) *place = larger;
    return larger != NULL;
}

/* Room for so many states. The old table goes before the new one comes, so that there is never more than one. */
static int reserve(Search *q, uint64_t capacity) {
    if (!resized(&q->packed, capacity * WORDS * 8) || !resized(&q->parents, capacity * 4) ||
        !resized(&q->numbers, capacity * 2))
        return 0;
    q->capacity = capacity;
    return fill_table(q);
}

/* Room for all successors of one state. */
static int make_room(Search *q) {
    if (q->count + ALTERNATIVES <= q->capacity) return 1;
    uint64_t step = q->capacity < (1u << 22) ? q->capacity : q->capacity / 3;
    if (step < ALTERNATIVES) step = ALTERNATIVES;
    for (; step >= ALTERNATIVES; step /= 2) {
        uint64_t wanted = q->capacity + step;
        if (wanted > MAX_STATES) continue;
        if (bytes_for(wanted) <= q->max_bytes) return reserve(q, wanted);
        /* Steps that hardly help cost a new table each: then it is enough. */
        if (step < q->capacity / 64) break;
    }
    return 0;
}

static void judge(Search *q, const uint64_t *words, uint32_t index) {
    State s;
    unpack(words, (uint8_t *)&s);
    for (int p = 0; p < PROPERTIES; p++) {
        if (q->first[p] != NONE || KIND[p] == 'c') continue;
        if (holds(&s, p) == (KIND[p] == 'a')) {
            q->first[p] = index;
            q->broken += KIND[p] == 'v';
        }
    }
}

static uint32_t find_or_add(Search *q, const Key *key, uint32_t parent, uint16_t number) {
    uint64_t at = slot_of(q, key->hash);
    uint32_t tag = tag_of(q, key->hash), mask = index_mask(q), slot;
    while ((slot = q->slots[at])) {
        if ((slot & ~mask) == tag) {
            uint32_t index = (slot & mask) - 1;
            if (!memcmp(q->packed + (uint64_t)index * WORDS, key->words, sizeof key->words)) return index;
        }
        at = at + 1 == q->slot_count ? 0 : at + 1;
    }
    uint32_t index = (uint32_t)q->count++;
    q->slots[at] = (index + 1) | tag;
    memcpy(q->packed + (uint64_t)index * WORDS, key->words, sizeof key->words);
    q->parents[index] = parent;
    q->numbers[index] = number;
    q->unfolded += key->orbit;
    judge(q, key->words, index);
    return index;
}

/* The block with the successors of the next state; the pool is given as many of the states after it as it can take. */
static Block *next_block(Search *q) {
    enum { WORTH_A_POOL = 50000 };
    WorkerPool *pool = &q->pool;
    if (q->block && q->block->used == q->block->states) {
        give_up(pool);
        q->block = NULL;
    }
    if (q->block) return q->block;
    if (pool->hired < pool->wanted && q->count >= WORTH_A_POOL) hire(pool);
    if (pool->head == pool->tail) q->handed_out = q->cursor;
    for (Block *b; (b = free_block(pool));) {
        uint64_t left = q->count - q->handed_out;
        /* A small block is for when there is nothing else to do. */
        if (!left || (left < BLOCK && pool->head != pool->tail)) break;
        int states = left < BLOCK ? (int)left : BLOCK;
        memcpy(b->packed, q->packed + q->handed_out * WORDS, (size_t)states * WORDS * 8);
        hand_out(pool, states, ALTERNATIVES);
        q->handed_out += states;
    }
    return q->block = take_back(pool);
}

static void ask_for_slot(const Search *q, const Key *key) {
    __builtin_prefetch(&q->slots[slot_of(q, key->hash)], 1);
}

static void ask_for_state(const Search *q, const Key *key) {
    uint32_t slot = q->slots[slot_of(q, key->hash)], mask = index_mask(q);
    if (slot && (slot & ~mask) == tag_of(q, key->hash))
        __builtin_prefetch(q->packed + (uint64_t)((slot & mask) - 1) * WORDS);
}

/* Looks up the successors of the next state. */
static void expand(Search *q) {
    enum { FAR = 24, NEAR = 12 };
    Block *b = next_block(q);
    uint32_t from = (uint32_t)q->cursor, begin = b->used ? b->ends[b->used - 1] : 0, end = b->ends[b->used];
    uint32_t last = b->ends[b->states - 1];
    for (uint32_t e = begin; e < end; e++) {
        if (e + FAR < last) ask_for_slot(q, &b->keys[e + FAR]);
        if (e + NEAR < last) ask_for_state(q, &b->keys[e + NEAR]);
        find_or_add(q, &b->keys[e], from, b->via[e]);
        q->fired[ACTION_OF[b->via[e]]]++;
    }
    q->edges += end - begin;
    if (begin == end && !q->dead_ends++) q->first_dead = from;
    b->used++;
    q->cursor++;
}

/* Expands at most so many states, and says why it stopped. */
EXPORT int search_run(Search *q, uint64_t expansions) {
    variant = q->variant;
    for (; expansions; expansions--) {
        if (q->stops_at_violation && q->broken) return VIOLATED;
        if (q->cursor == q->count) return COMPLETE;
        if (q->count >= q->max_states) return STATES_REACHED;
        if (!make_room(q)) return MEMORY_REACHED;
        if (q->cursor == q->layer_end) {
            q->layer_end = q->count;
            q->depth++;
        }
        expand(q);
    }
    return q->cursor == q->count ? COMPLETE : MORE;
}

EXPORT void search_free(Search *q) {
    if (!q) return;
    dismiss(&q->pool);
    free(q->packed);
    free(q->parents);
    free(q->numbers);
    free(q->slots);
    free(q);
}

/* A search with nothing but the initial state; NULL if there is no memory for it. */
EXPORT Search *search_new(int of_variant, int stops_at_violation, int workers) {
    Search *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->variant = variant = of_variant;
    q->stops_at_violation = stops_at_violation;
    q->max_states = q->max_bytes = UINT64_MAX;
    q->first_dead = NONE;
    for (int p = 0; p < PROPERTIES; p++) q->first[p] = NONE;
    if (!assemble(&q->pool, workers, of_variant) || !reserve(q, 4096 + 4 * ALTERNATIVES)) {
        search_free(q);
        return NULL;
    }
    State s;
    Key key;
    memcpy(&s, INITIAL, sizeof s);
    key_of(&s, &key);
    find_or_add(q, &key, NONE, 0);
    q->layer_end = 1;
    return q;
}

EXPORT void search_limit(Search *q, uint64_t max_states, uint64_t max_bytes) {
    q->max_states = max_states < MAX_STATES ? max_states : MAX_STATES;
    q->max_bytes = max_bytes;
}

/* All counts, in the order of native.py: those of the whole, per action, per property. */
EXPORT void search_counts(const Search *q, uint64_t *out) {
    const uint64_t whole[] = {q->count, q->cursor, q->depth, q->edges, q->dead_ends, q->first_dead, q->unfolded};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) *out++ = whole[k];
    for (int k = 0; k < ACTIONS; k++) *out++ = q->fired[k];
    for (int p = 0; p < PROPERTIES; p++) *out++ = q->first[p];
}

EXPORT uint64_t search_bytes(const Search *q) { return bytes_for(q->capacity); }

EXPORT void *search_array(Search *q, int which) {
    switch (which) {
    case PACKED: return q->packed;
    case PARENTS: return q->parents;
    default: return q->numbers;
    }
}

/* Of a single state, of the base: its successors, and whether a condition holds. */
EXPORT int search_successors(const State *s, State *out, uint16_t *numbers) {
    variant = 0;
    return successors(s, out, numbers, ALTERNATIVES);
}

EXPORT int search_holds(const State *s, int condition) { return holds(s, condition); }

static int marked(const uint8_t *marks, uint64_t i) { return marks[i >> 3] >> (i & 7) & 1; }

static void mark(uint8_t *marks, uint64_t i) { marks[i >> 3] |= (uint8_t)(1 << (i & 7)); }

/* Marks a state and those on the way by which it was found, up to one that is marked; gives how many. */
static uint64_t mark_way(const Search *q, uint8_t *marks, uint64_t i) {
    uint64_t found = 0;
    for (; !marked(marks, i); i = q->parents[i]) {
        mark(marks, i);
        found++;
        if (!i) break;
    }
    return found;
}

enum { FIRST_FEW = 2 };

/* Whether one of the block's successors from `begin` to `end` is marked. */
static int some_marked(Search *q, const uint8_t *marks, const Block *b, uint32_t begin, uint32_t end) {
    for (uint32_t e = begin; e < end; e++)
        if (marked(marks, find_or_add(q, &b->keys[e], NONE, 0))) return 1;
    return 0;
}

/* The same of all successors of one state. */
static int any_marked(Search *q, const uint8_t *marks, uint64_t i) {
    Block *b = &q->pool.spare;
    memcpy(b->packed, q->packed + i * WORDS, WORDS * 8);
    b->states = 1;
    b->most = ALTERNATIVES;
    compute(b);
    return some_marked(q, marks, b, 0, b->ends[0]);
}

/* The next states that are not marked, into a block; gives how many. */
static int gather(const Search *q, const uint8_t *marks, int down, uint64_t *next, Block *b) {
    int n = 0;
    for (; n < BLOCK && *next < q->count; ++*next) {
        uint64_t i = down ? q->count - 1 - *next : *next;
        if (marked(marks, i)) continue;
        memcpy(b->packed + n * WORDS, q->packed + i * WORDS, WORDS * 8);
        b->numbers[n++] = i;
    }
    return n;
}

/* Marks those of a block that lead to something marked; gives how many states were marked. */
static uint64_t decide(Search *q, uint8_t *marks, const Block *b) {
    uint64_t found = 0;
    uint32_t begin = 0, last = b->ends[b->states - 1];
    for (uint32_t e = 0; e < last; e++) ask_for_slot(q, &b->keys[e]);
    for (uint32_t e = 0; e < last; e++) ask_for_state(q, &b->keys[e]);
    for (int k = 0; k < b->states; begin = b->ends[k++]) {
        uint64_t i = b->numbers[k];
        if (!marked(marks, i) && (some_marked(q, marks, b, begin, b->ends[k]) || any_marked(q, marks, i)))
            found += mark_way(q, marks, i);
    }
    return found;
}

/* One sweep over all states; gives how many were marked. Edges are not kept, they would need more memory than all the rest:
 * successors are computed again, mostly no more than the first few, because soon nearly everything is marked. */
static uint64_t sweep(Search *q, uint8_t *marks, int down) {
    WorkerPool *pool = &q->pool;
    uint64_t found = 0, next = 0;
    for (;;) {
        Block *b;
        while (next < q->count && (b = free_block(pool))) {
            int states = gather(q, marks, down, &next, b);
            if (states) hand_out(pool, states, FIRST_FEW);
        }
        if (pool->head == pool->tail) return found;
        found += decide(q, marks, take_back(pool));
        give_up(pool);
    }
}

/* The first state from which no state that has the property can be reached; -1 if there is none, -2 without memory.
 * Everything must have been explored. Sweeps, up and down by turns, mark what leads to something marked, until one finds
 * nothing new. */
EXPORT int64_t search_unrecoverable(Search *q, int property) {
    variant = q->variant;
    uint8_t *marks = calloc(1, q->count / 8 + 1);
    if (!marks) return -2;
    if (q->block) give_up(&q->pool); /* the last one of the search */
    q->block = NULL;
    for (uint64_t i = 0; i < q->count; i++) {
        State s;
        unpack(q->packed + i * WORDS, (uint8_t *)&s);
        if (holds(&s, property)) mark_way(q, marks, i);
    }
    for (int down = 0; sweep(q, marks, down); down = !down) continue;
    int64_t lost = -1;
    for (uint64_t i = 0; i < q->count && lost < 0; i++)
        if (!marked(marks, i)) lost = (int64_t)i;
    free(marks);
    return lost;
}
