/* params.h: the values of a parameter table (of a method or of a generator), parsed once and looked
 * up by key. */
#ifndef LIMN_BASE_PARAMS_H
#define LIMN_BASE_PARAMS_H

#include "base/base.h"

enum { LM_PARAMS_MAX = 32, LM_PARAM_TEXT = 256 };

typedef struct lm_param_value {
    bool is_auto;
    double real;              /* INT and REAL */
    int64_t integer;          /* INT: the value; CHOICE: the index in the list of choices */
    int word;                 /* INT and REAL: the index of a word in choices; -1: a number */
    char text[LM_PARAM_TEXT]; /* as shown and stored */
} lm_param_value;

typedef struct lm_params {
    const char *owner; /* what they belong to, for messages */
    const limn_param *table;
    size_t count; /* at most LM_PARAMS_MAX */
    lm_param_value values[LM_PARAMS_MAX];
} lm_params;

/* Sets all defaults. The table must outlive params. */
void lm_params_init(const char *owner, const limn_param *table, size_t count, lm_params *params);
/* Sets one "key=value"; LIMN_E_USAGE with a message that says what is allowed. */
limn_status lm_params_set(limn_context *ctx, lm_params *params, const char *assignment);

/* Asking for a key that is not in the table is a programming error: it gives 0. */
bool lm_param_is_auto(const lm_params *params, const char *key);
int64_t lm_param_int(const lm_params *params, const char *key);
double lm_param_real(const lm_params *params, const char *key);
/* For a number that may also be a word: the index of the word in its choices; -1: it is a
 * number. */
int lm_param_word(const lm_params *params, const char *key);
/* The index of the value in "a|b|c": 0, 1, 2. */
int lm_param_choice(const lm_params *params, const char *key);
const char *lm_param_text(const lm_params *params, const char *key); /* never NULL */
bool lm_param_exists(const lm_params *params, const char *key);

#endif
