/* methods.h: looks up methods and parameters, with a suggestion for a misspelt name. */
#ifndef LIMN_CLI_METHODS_H
#define LIMN_CLI_METHODS_H

#include "cli.h"

/* NULL after printing an error if there is no such method. */
const limn_method_info *cli_method_find(const char *name);
/* EXIT_DONE, or EXIT_USAGE after reporting a -p that names no parameter. */
int cli_check_keys(const limn_method_info *method, const cli_args *args);
/* What param accepts, such as "a whole number from 1 to 100 or auto". Fills text. */
const char *cli_param_values(const limn_param *param, char *text, size_t size);

#endif
