/* fuzz_npy.c: the arrays of numpy.save as hostile bytes. */
#include "fuzz_array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_array(data, size, LIMN_FORMAT_NPY);
}
