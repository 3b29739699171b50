/* store.c: the points: rows in slots, side arrays, their order by id, and the hash of equal rows.
 *
 * All arrays of slots grow together, by half. They are resized and not copied: where the system
 * can move large blocks without touching them, a row never waits for the others to be copied.
 *
 * The table is open addressing with linear probing, at most half full; an entry is removed by
 * moving later ones back. Of equal points it holds the newest, which is linked to the older ones,
 * so however many there are, each step takes the same time. */
#include "methods/bforest/bforest.h"

enum { FIRST_SLOTS = 16 };

/* ---- memory ---- */

/* The arrays with one item per slot; those that this store lacks have size 0. The first STORED are
 * in the file; those from DERIVED on are made when it is opened, the others when it is changed. */
typedef struct column {
    void **data;
    size_t size; /* of an item */
} column;

enum { STORED = 7, DERIVED = 10, COLUMNS = 15 };

static void list_columns(bf_store *s, column *columns) {
    const column all[COLUMNS] = {
        {(void **)&s->x, s->stride * sizeof *s->x},
        {(void **)&s->label, s->values ? 0 : sizeof *s->label},
        {(void **)&s->value, s->values ? sizeof *s->value : 0},
        {(void **)&s->id, sizeof *s->id},
        {(void **)&s->norm, s->norms ? sizeof *s->norm : 0},
        {(void **)&s->state, sizeof *s->state},
        {(void **)&s->free, sizeof *s->free},
        {(void **)&s->byte, s->bytes ? s->stride : 0},
        {(void **)&s->older, sizeof *s->older},
        {(void **)&s->newer, sizeof *s->newer},
        {(void **)&s->refs, sizeof *s->refs},
        {(void **)&s->held, sizeof *s->held},
        {(void **)&s->hash, s->hashed ? sizeof *s->hash : 0},
        {(void **)&s->same_older, s->hashed && s->all ? sizeof *s->same_older : 0},
        {(void **)&s->same_newer, s->hashed && s->all ? sizeof *s->same_newer : 0},
    };
    memcpy(columns, all, sizeof all);
}

void bf_store_free(const limn_allocator *mem, bf_store *s) {
    column columns[COLUMNS];
    list_columns(s, columns);
    for (size_t i = s->owned ? 0 : STORED; i < COLUMNS; i++)
        lm_free_aligned(mem, *columns[i].data);
    lm_free(mem, s->table);
}

static void link_newest(bf_store *s, uint32_t slot) {
    s->older[slot] = s->newest;
    s->newer[slot] = BF_NONE;
    *(s->newest == BF_NONE ? &s->oldest : &s->newer[s->newest]) = slot;
    s->newest = slot;
}

static void unlink_slot(bf_store *s, uint32_t slot) {
    uint32_t older = s->older[slot], newer = s->newer[slot];
    *(older == BF_NONE ? &s->oldest : &s->newer[older]) = newer;
    *(newer == BF_NONE ? &s->newest : &s->older[newer]) = older;
}

/* Sinks item i of a heap of slots, with the largest id on top. */
static void sink(const uint64_t *id, uint32_t *heap, size_t i, size_t count) {
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && id[heap[child + 1]] > id[heap[child]])
            child++;
        if (id[heap[i]] >= id[heap[child]])
            return;
        uint32_t swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
    }
}

/* Lists the live points; whether they are in the order of their ids. */
static bool list_live(const bf_store *s, uint32_t *slots) {
    size_t count = 0;
    bool sorted = true;
    for (size_t i = 0; i < s->slots; i++)
        if (s->state[i] == BF_LIVE) {
            sorted = sorted && (!count || s->id[slots[count - 1]] < s->id[i]);
            slots[count++] = (uint32_t)i;
        }
    return sorted;
}

void bf_store_order(const bf_store *s, uint32_t *slots) {
    size_t count = s->live;
    if (list_live(s, slots))
        return;
    for (size_t i = count / 2; i-- > 0;)
        sink(s->id, slots, i, count);
    for (size_t left = count; left > 1; left--) {
        uint32_t swap = slots[0];
        slots[0] = slots[left - 1];
        slots[left - 1] = swap;
        sink(s->id, slots, 0, left - 1);
    }
}

/* ---- the table ---- */

uint64_t bf_hash_row(const bf_store *s, const float *x) {
    uint64_t lanes[2] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
    for (size_t j = 0; j < s->stride; j += 4) {
        float part[4];
        uint64_t words[2];
        for (int i = 0; i < 4; i++)
            part[i] = x[j + (size_t)i] + 0.0f; /* -0 equals 0 */
        memcpy(words, part, sizeof words);
        for (int i = 0; i < 2; i++) {
            lanes[i] = (lanes[i] ^ words[i]) * 0xff51afd7ed558ccdu;
            lanes[i] ^= lanes[i] >> 29;
        }
    }
    return lm_hash(lanes[0], lanes[1], 0);
}

bool bf_equal_rows(size_t d, const float *a, const float *b) {
    for (size_t j = 0; j < d; j++)
        if (a[j] != b[j])
            return false;
    return true;
}

static const float *row_of(const bf_store *s, uint32_t slot) {
    return s->x + (size_t)slot * s->stride;
}

/* Where the row is in the table, or the empty place where it would be. */
static size_t place_of(const bf_store *s, const float *x, uint32_t hash) {
    size_t mask = s->table_size - 1, i = hash & mask;
    while (s->table[i] != BF_NONE &&
           (s->hash[s->table[i]] != hash || !bf_equal_rows(s->d, x, row_of(s, s->table[i]))))
        i = (i + 1) & mask;
    return i;
}

uint32_t bf_store_find(const bf_store *s, const float *x) {
    return s->table_size ? s->table[place_of(s, x, (uint32_t)bf_hash_row(s, x))] : BF_NONE;
}

/* Enters a point that is newer than those equal to it. */
static void table_add(bf_store *s, uint32_t slot) {
    s->hash[slot] = (uint32_t)bf_hash_row(s, row_of(s, slot));
    size_t at = place_of(s, row_of(s, slot), s->hash[slot]);
    if (s->all) {
        uint32_t older = s->table[at];
        s->same_older[slot] = older;
        s->same_newer[slot] = BF_NONE;
        if (older != BF_NONE)
            s->same_newer[older] = slot;
    }
    s->table[at] = slot;
}

static void table_remove_at(bf_store *s, size_t i) {
    size_t mask = s->table_size - 1;
    s->table[i] = BF_NONE;
    for (size_t j = (i + 1) & mask; s->table[j] != BF_NONE; j = (j + 1) & mask) {
        size_t home = s->hash[s->table[j]] & mask;
        if (((j - home) & mask) < ((j - i) & mask))
            continue; /* it would end up before its home position */
        s->table[i] = s->table[j];
        s->table[j] = BF_NONE;
        i = j;
    }
}

static void table_remove(bf_store *s, uint32_t slot) {
    uint32_t older = s->all ? s->same_older[slot] : BF_NONE;
    uint32_t newer = s->all ? s->same_newer[slot] : BF_NONE;
    if (older != BF_NONE)
        s->same_newer[older] = newer;
    if (newer != BF_NONE) {
        s->same_older[newer] = older;
        return;
    }
    size_t mask = s->table_size - 1, i = s->hash[slot] & mask;
    for (; s->table[i] != slot; i = (i + 1) & mask)
        if (s->table[i] == BF_NONE)
            return; /* a damaged file: another point has the same row */
    if (older != BF_NONE)
        s->table[i] = older;
    else
        table_remove_at(s, i);
}

bool bf_store_make_table(const limn_allocator *mem, bf_store *s, size_t points) {
    size_t size = 2 * FIRST_SLOTS;
    if (!s->hashed)
        return true;
    while (size / 2 < points)
        if (!lm_mul(size, 2, &size))
            return false;
    if (size <= s->table_size)
        return true;
    uint32_t *table = lm_alloc(mem, size, sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, size * sizeof *table);
    for (size_t i = 0; i < s->table_size; i++) {
        if (s->table[i] == BF_NONE)
            continue;
        size_t at = s->hash[s->table[i]] & (size - 1);
        while (table[at] != BF_NONE)
            at = (at + 1) & (size - 1);
        table[at] = s->table[i];
    }
    lm_free(mem, s->table);
    s->table = table;
    s->table_size = size;
    return true;
}

/* ---- rows of bytes ---- */

static bool to_bytes(const bf_store *s, const float *x, uint8_t *bytes) {
    int strange = 0;
    for (size_t j = 0; j < s->stride; j++) {
        float v = x[j] >= 0 && x[j] <= 255 ? x[j] : 0;
        bytes[j] = (uint8_t)v;
        strange |= (float)bytes[j] != x[j];
    }
    return !strange;
}

const uint8_t *bf_bytes(const bf_store *s, const float *x, uint8_t *room) {
    return s->bytes && to_bytes(s, x, room) ? room : NULL;
}

/* All rows as bytes; without memory for that, the float rows are used. */
static void make_bytes(const limn_allocator *mem, bf_store *s) {
    s->byte = s->bytes ? lm_alloc_aligned(mem, s->slots ? s->slots : 1, s->stride) : NULL;
    s->bytes = s->byte != NULL;
    for (size_t i = 0; i < s->slots && s->bytes; i++)
        s->bytes = to_bytes(s, s->x + i * s->stride, s->byte + i * s->stride);
    if (!s->bytes) {
        lm_free_aligned(mem, s->byte);
        s->byte = NULL;
    }
}

bool bf_store_derive(const limn_allocator *mem, bf_store *s) {
    size_t room = s->slots ? s->slots : 1;
    uint32_t *order = lm_alloc(mem, s->live + 1, sizeof *order);
    column columns[COLUMNS];
    list_columns(s, columns);
    bool fine = order != NULL;
    for (size_t i = DERIVED; i < COLUMNS && fine; i++)
        if (columns[i].size)
            fine = (*columns[i].data = lm_resize_aligned(mem, NULL, 0, room * columns[i].size)) !=
                   NULL;
    fine = fine && bf_store_make_table(mem, s, s->live);
    if (fine) {
        memset(s->refs, 0, room * sizeof *s->refs);
        memset(s->held, 0, room * sizeof *s->held);
        make_bytes(mem, s);
        if (s->all) /* of equal points the newest comes last */
            bf_store_order(s, order);
        else
            (void)list_live(s, order);
        for (size_t i = 0; i < s->live && s->hashed; i++)
            table_add(s, order[i]);
    }
    lm_free(mem, order);
    return fine;
}

/* ---- growing ---- */

static size_t items_of(const bf_store *s, const column *c) {
    return c->data == (void **)(uintptr_t)&s->free ? s->free_count : s->slots;
}

/* A column of a mapped file gets memory of its own; any other is resized. */
static bool grow_column(const limn_allocator *mem, const bf_store *s, const column *c, bool view,
                        size_t capacity) {
    size_t bytes, kept = items_of(s, c) * c->size;
    if (!c->size)
        return true;
    if (!lm_mul(capacity, c->size, &bytes))
        return false;
    void *grown = lm_resize_aligned(mem, view ? NULL : *c->data, view ? 0 : kept, bytes);
    if (!grown)
        return false;
    if (view && kept)
        memcpy(grown, *c->data, kept);
    *c->data = grown;
    return true;
}

/* Copies all columns of the file, or none. */
static bool own(const limn_allocator *mem, bf_store *s, size_t capacity) {
    column columns[COLUMNS];
    void *mapped[STORED];
    size_t done = 0;
    list_columns(s, columns);
    for (; done < STORED; done++) {
        mapped[done] = *columns[done].data;
        if (!grow_column(mem, s, &columns[done], true, capacity))
            break;
    }
    s->owned = done == STORED;
    for (size_t i = 0; i < done && !s->owned; i++) {
        if (columns[i].size)
            lm_free_aligned(mem, *columns[i].data);
        *columns[i].data = mapped[i];
    }
    return s->owned;
}

/* The order of the points, when the store has just become its own. */
static bool link_all(const limn_allocator *mem, bf_store *s) {
    uint32_t *order = lm_alloc(mem, s->live + 1, sizeof *order);
    if (!order)
        return false;
    bf_store_order(s, order);
    s->oldest = s->newest = BF_NONE;
    for (size_t i = 0; i < s->live; i++)
        link_newest(s, order[i]);
    lm_free(mem, order);
    return true;
}

bool bf_store_make(const limn_allocator *mem, bf_store *s, size_t capacity) {
    column columns[COLUMNS];
    bool linked = s->capacity;
    if (!s->owned && !own(mem, s, capacity))
        return false;
    if (!s->bytes) {
        lm_free_aligned(mem, s->byte);
        s->byte = NULL;
    }
    list_columns(s, columns);
    for (size_t i = 0; i < COLUMNS; i++)
        if (!grow_column(mem, s, &columns[i], false, capacity))
            return false;
    if (!linked && !link_all(mem, s))
        return false;
    s->capacity = capacity;
    return true;
}

bool bf_store_reserve(const limn_allocator *mem, bf_store *s) {
    size_t wanted = s->slots + !s->free_count;
    size_t capacity = s->capacity < FIRST_SLOTS ? FIRST_SLOTS : s->capacity;
    if (wanted >= BF_NONE)
        return false;
    while (capacity < wanted)
        capacity += capacity / 2;
    if ((!s->owned || capacity > s->capacity) && !bf_store_make(mem, s, capacity))
        return false;
    return bf_store_make_table(mem, s, s->live + 1);
}

/* ---- points ---- */

uint32_t bf_store_put(bf_store *s, const float *x, const uint8_t *bytes, double norm, int32_t label,
                      double value, uint64_t id) {
    uint32_t slot = s->free_count ? s->free[--s->free_count] : (uint32_t)s->slots++;
    memcpy(s->x + (size_t)slot * s->stride, x, s->stride * sizeof *x);
    if (s->values)
        s->value[slot] = value;
    else
        s->label[slot] = label;
    if (s->norms)
        s->norm[slot] = norm;
    if (s->bytes && bytes)
        memcpy(s->byte + (size_t)slot * s->stride, bytes, s->stride);
    else
        s->bytes = false; /* byte is freed when the columns are moved */
    s->id[slot] = id;
    s->state[slot] = BF_LIVE;
    s->refs[slot] = 0;
    s->held[slot] = 0;
    s->live++;
    link_newest(s, slot);
    if (s->hashed)
        table_add(s, slot);
    return slot;
}

void bf_store_renew(bf_store *s, uint32_t slot, uint64_t id) {
    unlink_slot(s, slot);
    s->id[slot] = id;
    link_newest(s, slot);
}

/* Erases the point from its slot. */
static void clear(bf_store *s, uint32_t slot) {
    memset(s->x + (size_t)slot * s->stride, 0, s->stride * sizeof *s->x);
    if (s->bytes)
        memset(s->byte + (size_t)slot * s->stride, 0, s->stride);
    s->id[slot] = 0;
    s->state[slot] = BF_FREE;
    if (s->norms)
        s->norm[slot] = 0;
    s->free[s->free_count++] = slot;
}

void bf_store_forget(bf_store *s, uint32_t slot) {
    if (s->hashed)
        table_remove(s, slot);
    unlink_slot(s, slot);
    s->live--;
    if (s->values)
        s->value[slot] = 0;
    else
        s->label[slot] = -1;
    if (s->refs[slot]) {
        s->state[slot] = BF_SIGNPOST;
        s->signposts++;
    } else {
        clear(s, slot);
    }
}

void bf_store_release(bf_store *s, uint32_t slot) {
    if (--s->refs[slot] || s->state[slot] != BF_SIGNPOST)
        return;
    s->signposts--;
    clear(s, slot);
}

void bf_store_sweep(bf_store *s) {
    for (size_t i = 0; i < s->slots && s->signposts; i++)
        if (s->state[i] == BF_SIGNPOST && !s->refs[i]) {
            s->signposts--;
            clear(s, (uint32_t)i);
        }
}
