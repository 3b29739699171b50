/* sized.h: public structs that begin with their own size, so that a program compiled with an older
 * header, whose structs are shorter, keeps working. */
#ifndef LIMN_BASE_SIZED_H
#define LIMN_BASE_SIZED_H

#include "base/base.h"

/* All zero except for the size. */
#define LM_SIZED_INIT(pointer) lm_sized_init(pointer, sizeof *(pointer))
void lm_sized_init(void *given, size_t size);

/* Copies the fields that the caller's struct has to own (of size bytes, holding the defaults);
 * false when the caller's struct was not initialised. */
bool lm_sized_take(const void *given, void *own, size_t size);
/* The same with an error message; given NULL: the defaults stay. name: of the type, without
 * limn_. */
limn_status lm_options_take(limn_context *ctx, const char *name, const void *given, void *own,
                            size_t size);
/* Whether a struct to be filled in was initialised: LIMN_OK or LIMN_E_USAGE; NULL is allowed. */
limn_status lm_result_check(limn_context *ctx, const char *name, const void *given);
/* Copies to the caller's struct what it has room for; nothing if it was not initialised. */
void lm_sized_give(const void *own, void *given, size_t size);

#endif
