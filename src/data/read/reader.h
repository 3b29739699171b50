/* reader.h: streaming rows out of a data file of any format, plain or gzip.
 *
 * The public limn_reader_next and limn_reader_free work on this reader; opening needs a schema here
 * where the public function takes a model. */
#ifndef LIMN_DATA_READ_READER_H
#define LIMN_DATA_READ_READER_H

#include "data/dataset.h"
#include "data/read/source.h"

/* options may be NULL. match may be NULL (training: the file decides) and must outlive the reader;
 * with it, its task is used and not that of options. LIBSVM needs match: without it the number of
 * features is known only at the end (LIMN_E_USAGE). */
limn_status lm_reader_open(limn_context *ctx, const char *path, const limn_read_options *options,
                           const lm_schema *match, limn_reader **out);
/* What the reader knows about the file so far; labels grow as rows are read. Feature names, the
 * label column and (CSV) the number of features are known once it is open. With match it is a copy
 * of match, plus any labels that match does not know. */
const lm_schema *lm_reader_schema(const limn_reader *reader);
/* The whole file as one set. Without match, labels end up sorted (lm_labels_sort). */
limn_status lm_data_read(limn_context *ctx, const char *path, const limn_read_options *options,
                         const lm_schema *match, limn_data **out);

/* Everything that a file says about itself, without keeping a row. */
typedef struct lm_survey {
    lm_schema schema; /* labels and categories sorted, columns settled */
    uint64_t rows;
    bool bytes;    /* every feature is a whole number from 0 to 255 */
    bool labelled; /* rows have labels */
    bool weighted; /* rows have weights */
    limn_format format;
    char delimiter; /* of CSV; else what the options said */
} lm_survey;

/* Without imputation: missing cells are an error. Always free out->schema (with lm_schema_free);
 * ctx must outlive it. */
limn_status lm_data_survey(limn_context *ctx, const char *path, const limn_read_options *options,
                           lm_survey *out);

/* The same from a source that is already open (they take ownership of it, even on failure). */
limn_status lm_reader_open_source(limn_context *ctx, lm_source *source,
                                  const limn_read_options *options, const lm_schema *match,
                                  limn_reader **out);
limn_status lm_data_read_source(limn_context *ctx, lm_source *source,
                                const limn_read_options *options, const lm_schema *match,
                                limn_data **out);

#endif
