"""Import before numpy: Debian's OpenBLAS may not know a new CPU and fall back to an old kernel, so it
is told the CPU's real family."""
import os

with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
    FLAGS = cpuinfo.read()
if "avx512f" in FLAGS or "avx2" in FLAGS:
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX" if "avx512f" in FLAGS else "Haswell")
KERNEL = os.environ.get("OPENBLAS_CORETYPE", "its own choice")
