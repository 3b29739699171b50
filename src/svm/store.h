/* store.h: a support vector machine in a model file, as LIBSVM keeps it: rows of vectors, double
 * coefficients, thresholds (docs/format.md). The caller chooses where, so that any method can keep
 * a machine among its own sections. */
#ifndef LIMN_SVM_STORE_H
#define LIMN_SVM_STORE_H

#include "container/container.h"
#include "svm/svm.h"

/* Saving and loading use the same one. */
typedef struct lm_svm_sections {
    const char *prefix; /* names are "<prefix>.about", "<prefix>.vectors", ...; 15 bytes at most */
    uint32_t version;   /* written, and the newest that is read */
    const char *flag;   /* a key of the caller's own, 0 or 1, last in about; NULL: none */
} lm_svm_sections;

/* flag: the value of that key, ignored if there is none. The arrays are borrowed until the writer
 * is freed. */
limn_status lm_svm_save(const lm_svm *svm, const lm_svm_sections *sections, bool flag,
                        lm_writer *writer);

/* Loading has two steps, because how many classes to expect may depend on the type of the machine,
 * and it is the caller who knows whether type and features suit its model. What either step gives
 * belongs to the file; nothing has to be freed, whether it succeeds or fails. */

/* Type, kernel, features and number of vectors; the rest of svm is set to 0. flag may be NULL if
 * there is none. */
limn_status lm_svm_load_about(limn_context *ctx, const lm_file *file,
                              const lm_svm_sections *sections, lm_svm *svm, bool *flag);
/* The arrays of a machine from lm_svm_load_about, checked: sizes agree, all numbers are finite.
 * classes: of an SVC, 1 or more; ignored for the other types. */
limn_status lm_svm_load_arrays(limn_context *ctx, const lm_file *file,
                               const lm_svm_sections *sections, size_t classes, lm_svm *svm);

#endif
