/* container.h: the model file (docs/format.md). It knows nothing about methods.
 *
 * A file is a header, a table of named sections and their payloads, each checked by XXH3. Writing
 * collects sections, then writes them at once under a temporary name, syncs and renames. Reading
 * maps the file, checks every byte, and hands out pointers into the mapping. */
#ifndef LIMN_CONTAINER_CONTAINER_H
#define LIMN_CONTAINER_CONTAINER_H

#include "base/base.h"

enum { LM_CONTAINER_VERSION = 1, LM_SECTION_NAME = 24, LM_ALIGN = 64 };

/* ---- writing ---- */

typedef struct lm_writer lm_writer;

limn_status lm_writer_new(limn_context *ctx, lm_writer **out);
/* A writer that only measures: it adds up sizes and keeps no data, so data need not be prepared for
 * it (see lm_writer_memory). It cannot be saved. */
limn_status lm_writer_new_measuring(limn_context *ctx, lm_writer **out);
bool lm_writer_measures(const lm_writer *writer);
void lm_writer_free(lm_writer *writer); /* NULL is allowed */
/* Borrows data until the writer is freed. Names are unique, 1..LM_SECTION_NAME-1 bytes of
 * [a-z0-9._-]; LIMN_E_USAGE otherwise. */
limn_status lm_writer_section(lm_writer *writer, const char *name, uint32_t version,
                              const void *data, size_t size);
/* A section whose data is not in one place: `produce` puts `size` bytes, the same ones whenever it
 * is called (once for the checksum, once for the file). It borrows user, and passes on what put
 * returns when that is not LIMN_OK. */
typedef limn_status lm_put(void *to, const void *bytes, size_t size);
typedef limn_status lm_produce(const void *user, lm_put *put, void *to);
limn_status lm_writer_stream(lm_writer *writer, const char *name, uint32_t version, size_t size,
                             lm_produce *produce, const void *user);
/* Memory for a section's data, freed by the writer; NULL when out of memory. Not needed when the
 * writer measures: give sections their size with data NULL. */
void *lm_writer_memory(lm_writer *writer, size_t count, size_t size);
/* The size of the file that lm_writer_save would write. */
size_t lm_writer_size(const lm_writer *writer);
limn_status lm_writer_save(lm_writer *writer, const char *path);
/* The file as bytes in memory (free with lm_free). */
limn_status lm_writer_bytes(lm_writer *writer, unsigned char **bytes, size_t *size);

/* Typed key-values, collected and stored as one section. */
typedef struct lm_kv_out lm_kv_out;

limn_status lm_kv_begin(lm_writer *writer, const char *section, uint32_t version, lm_kv_out **out);
/* Keys are unique in their section. A failure sticks and is returned by lm_kv_end. */
void lm_kv_put_int(lm_kv_out *kv, const char *key, int64_t value);
void lm_kv_put_real(lm_kv_out *kv, const char *key, double value);
void lm_kv_put_text(lm_kv_out *kv, const char *key, const char *value);
void lm_kv_put_texts(lm_kv_out *kv, const char *key, char *const *values, size_t count);
void lm_kv_put_reals(lm_kv_out *kv, const char *key, const double *values, size_t count);
/* Adds the section to the writer, which owns kv from lm_kv_begin on. */
limn_status lm_kv_end(lm_kv_out *kv);

/* ---- reading ---- */

typedef struct lm_file lm_file;

/* Whether bytes begin like a model file. */
bool lm_file_is_model(const void *bytes, size_t size);
limn_status lm_file_open(limn_context *ctx, const char *path, lm_file **out);
/* Copies bytes; name is used in messages. */
limn_status lm_file_from_memory(limn_context *ctx, const void *bytes, size_t size, const char *name,
                                lm_file **out);
void lm_file_close(lm_file *file); /* NULL is allowed; needs no context */
const char *lm_file_name(const lm_file *file);
size_t lm_file_size(const lm_file *file);

typedef struct lm_section {
    const char *name;
    uint32_t version;
    const unsigned char *data; /* aligned to LM_ALIGN */
    size_t size;
} lm_section;

size_t lm_file_section_count(const lm_file *file);
lm_section lm_file_section_at(const lm_file *file, size_t index);
bool lm_file_has(const lm_file *file, const char *name);
/* LIMN_E_MODEL when the section is missing or newer than max_version. */
limn_status lm_file_section(limn_context *ctx, const lm_file *file, const char *name,
                            uint32_t max_version, lm_section *out);
/* The same, and the size must be exactly count * size. */
limn_status lm_file_array(limn_context *ctx, const lm_file *file, const char *name,
                          uint32_t max_version, size_t count, size_t size, const void **out);
/* LIMN_E_MODEL with "FILE: <message>; the file is damaged or was not written by limn". */
limn_status lm_file_bad(limn_context *ctx, const lm_file *file, const char *format, ...)
    LM_PRINTF(3, 4);

/* Reading key-values; every getter returns LIMN_E_MODEL when the key is missing, has another type
 * or is out of range. Opening checks the whole section. */
typedef struct lm_kv {
    limn_context *ctx;
    const lm_file *file;
    lm_section section;
} lm_kv;

limn_status lm_kv_open(limn_context *ctx, const lm_file *file, const char *section,
                       uint32_t max_version, lm_kv *out);
bool lm_kv_has(const lm_kv *kv, const char *key);
limn_status lm_kv_int(const lm_kv *kv, const char *key, int64_t min, int64_t max, int64_t *value);
limn_status lm_kv_real(const lm_kv *kv, const char *key, double min, double max, double *value);
/* Points into the file, ends with a zero byte. */
limn_status lm_kv_text(const lm_kv *kv, const char *key, const char **value);
/* A list of texts, read in order. */
typedef struct lm_texts {
    const unsigned char *next;
    size_t left;
} lm_texts;
limn_status lm_kv_texts(const lm_kv *kv, const char *key, lm_texts *out);
const char *lm_texts_next(lm_texts *texts); /* NULL past the end; points into the file */
/* Copies exactly count reals, all finite. */
limn_status lm_kv_reals(const lm_kv *kv, const char *key, size_t count, double *values);

#endif
