/* store.c: the points: rows in slots, side arrays, their order by id, and the hash of equal rows.
 *
 * All arrays of slots grow together, geometrically. The table is open addressing with linear
 * probing, at most half full; an entry is removed by moving later ones back. */
#include "methods/bforest/bforest.h"

enum { FIRST_SLOTS = 16 };

/* ---- memory ---- */

/* The arrays with one item per slot; those that this store lacks have size 0. */
typedef struct column {
    void **data;
    size_t size; /* of an item */
} column;

enum { COLUMNS = 11, STORED = 7 };

static void list_columns(bf_store *s, column *columns) {
    const column all[COLUMNS] = {
        {(void **)&s->x, s->stride * sizeof *s->x},
        {(void **)&s->label, s->values ? 0 : sizeof *s->label},
        {(void **)&s->value, s->values ? sizeof *s->value : 0},
        {(void **)&s->id, sizeof *s->id},
        {(void **)&s->norm, s->norms ? sizeof *s->norm : 0},
        {(void **)&s->state, sizeof *s->state},
        {(void **)&s->free, sizeof *s->free},
        {(void **)&s->refs, sizeof *s->refs},
        {(void **)&s->older, sizeof *s->older},
        {(void **)&s->newer, sizeof *s->newer},
        {(void **)&s->byte, s->bytes ? s->stride : 0},
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

/* Sorts the live points by id; heap: room for them. */
static void link_all(bf_store *s, uint32_t *heap) {
    size_t count = 0;
    s->oldest = s->newest = BF_NONE;
    for (size_t i = 0; i < s->slots; i++)
        if (s->state[i] == BF_LIVE)
            heap[count++] = (uint32_t)i;
    for (size_t i = count / 2; i-- > 0;)
        sink(s->id, heap, i, count);
    for (size_t left = count; left > 1; left--) {
        uint32_t swap = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = swap;
        sink(s->id, heap, 0, left - 1);
    }
    for (size_t i = 0; i < count; i++)
        link_newest(s, heap[i]);
}

/* ---- the table ---- */

static uint64_t hash_row(const bf_store *s, const float *x) {
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

static bool equal_rows(const bf_store *s, const float *a, const float *b) {
    for (size_t j = 0; j < s->d; j++)
        if (a[j] != b[j])
            return false;
    return true;
}

static const float *row_of(const bf_store *s, uint32_t slot) {
    return s->x + (size_t)slot * s->stride;
}

uint32_t bf_store_find(const bf_store *s, const float *x) {
    size_t mask = s->table_size - 1;
    if (!s->table_size)
        return BF_NONE;
    for (size_t i = (size_t)hash_row(s, x) & mask; s->table[i] != BF_NONE; i = (i + 1) & mask)
        if (equal_rows(s, x, row_of(s, s->table[i])))
            return s->table[i];
    return BF_NONE;
}

static void table_add(uint32_t *table, size_t size, uint64_t hash, uint32_t slot) {
    size_t mask = size - 1, i = (size_t)hash & mask;
    while (table[i] != BF_NONE)
        i = (i + 1) & mask;
    table[i] = slot;
}

static void table_remove(bf_store *s, uint32_t slot) {
    size_t mask = s->table_size - 1, i = (size_t)hash_row(s, row_of(s, slot)) & mask;
    while (s->table[i] != slot)
        i = (i + 1) & mask;
    s->table[i] = BF_NONE;
    for (size_t j = (i + 1) & mask; s->table[j] != BF_NONE; j = (j + 1) & mask) {
        size_t home = (size_t)hash_row(s, row_of(s, s->table[j])) & mask;
        if (((j - home) & mask) < ((j - i) & mask))
            continue; /* it would end up before its home position */
        s->table[i] = s->table[j];
        s->table[j] = BF_NONE;
        i = j;
    }
}

/* Makes a table for this many points. */
static bool table_make(const limn_allocator *mem, bf_store *s, size_t points) {
    size_t size = 2 * FIRST_SLOTS;
    if (!s->hashed)
        return true;
    while (size / 2 < points)
        if (!lm_mul(size, 2, &size))
            return false;
    if (size == s->table_size)
        return true;
    uint32_t *table = lm_alloc(mem, size, sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, size * sizeof *table);
    for (size_t i = 0; i < s->slots; i++)
        if (s->state[i] == BF_LIVE)
            table_add(table, size, hash_row(s, row_of(s, (uint32_t)i)), (uint32_t)i);
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
    lm_free(mem, s->table);
    s->table = NULL;
    s->table_size = 0;
    s->refs = lm_alloc_aligned(mem, s->slots ? s->slots : 1, sizeof *s->refs);
    if (!s->refs)
        return false;
    memset(s->refs, 0, s->slots * sizeof *s->refs);
    make_bytes(mem, s);
    return table_make(mem, s, s->live);
}

/* ---- growing ---- */

/* Copies of all columns with room for capacity slots, zeroed after the existing ones. */
static bool copy_columns(const limn_allocator *mem, const bf_store *s, const column *columns,
                         size_t capacity, void **copies) {
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t bytes, items = *columns[i].data ? s->slots : 0;
        if (columns[i].data == (void **)(uintptr_t)&s->free)
            items = s->free_count;
        if (!columns[i].size)
            continue; /* copies[i] is NULL */
        if (!lm_mul(capacity, columns[i].size, &bytes) ||
            !(copies[i] = lm_alloc_aligned(mem, bytes, 1)))
            return false;
        size_t kept = items * columns[i].size;
        if (kept)
            memcpy(copies[i], *columns[i].data, kept);
        memset((char *)copies[i] + kept, 0, bytes - kept);
    }
    return true;
}

static bool move_to(const limn_allocator *mem, bf_store *s, size_t capacity) {
    column columns[COLUMNS];
    void *copies[COLUMNS] = {NULL};
    bool view = !s->owned;
    list_columns(s, columns);
    uint32_t *heap = view ? lm_alloc(mem, s->live + 1, sizeof *heap) : NULL;
    bool fine = (heap || !view) && copy_columns(mem, s, columns, capacity, copies);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (fine && (s->owned || i >= STORED))
            lm_free_aligned(mem, *columns[i].data);
        if (fine)
            *columns[i].data = copies[i];
        else
            lm_free_aligned(mem, copies[i]);
    }
    if (fine) {
        s->capacity = capacity;
        s->owned = true;
        if (view)
            link_all(s, heap);
    }
    lm_free(mem, heap);
    return fine;
}

bool bf_store_reserve(const limn_allocator *mem, bf_store *s) {
    size_t wanted = s->slots + !s->free_count;
    size_t capacity = s->capacity < FIRST_SLOTS ? FIRST_SLOTS : s->capacity;
    if (wanted >= BF_NONE)
        return false;
    while (capacity < wanted)
        capacity *= 2;
    if ((!s->owned || capacity > s->capacity) && !move_to(mem, s, capacity))
        return false;
    size_t most = s->table_size / 2;
    return table_make(mem, s, s->live + 1 > most ? s->live + 1 : most);
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
    s->live++;
    link_newest(s, slot);
    if (s->hashed)
        table_add(s->table, s->table_size, hash_row(s, x), slot);
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

void bf_store_sweep(bf_store *s) {
    for (size_t i = 0; i < s->slots && s->signposts; i++)
        if (s->state[i] == BF_SIGNPOST && !s->refs[i]) {
            s->signposts--;
            clear(s, (uint32_t)i);
        }
}

/* ---- packing ---- */

bool bf_store_pack(const limn_allocator *mem, bf_store *s, uint32_t *moved) {
    bf_store packed = {.d = s->d,
                       .stride = s->stride,
                       .values = s->values,
                       .norms = s->norms,
                       .bytes = s->bytes,
                       .hashed = s->hashed,
                       .oldest = BF_NONE,
                       .newest = BF_NONE,
                       .owned = true};
    size_t capacity = s->live < FIRST_SLOTS ? FIRST_SLOTS : s->live;
    if (!move_to(mem, &packed, capacity) || !table_make(mem, &packed, capacity)) {
        bf_store_free(mem, &packed);
        return false;
    }
    for (uint32_t i = s->oldest; i != BF_NONE; i = s->newer[i]) {
        const uint8_t *bytes = s->bytes ? s->byte + (size_t)i * s->stride : NULL;
        moved[i] = bf_store_put(&packed, row_of(s, i), bytes, s->norms ? s->norm[i] : 0,
                                s->values ? 0 : s->label[i], s->values ? s->value[i] : 0, s->id[i]);
        packed.refs[moved[i]] = s->refs[i];
    }
    bf_store_free(mem, s);
    *s = packed;
    return true;
}
