#!/usr/bin/python3
"""Runs all tests, cheapest failures first; ends with 'N passed, N failed'.

  1 gcc release build                   2 unit and contract tests
  3 command, Python, repository and install tests (pytest), in parallel with the builds of
  4 gcc with ASan and UBSan             5 clang with TSan
  6 unit and contract tests under ASan and UBSan (the slowest sampled), and the fuzzing corpus
  7 threads under TSan                  8 a sixth of the command tests under ASan and UBSan
  9 the packed sets on NEON, where a cross compiler and qemu-user are installed

Both compilers must compile without warnings. --long runs the longer tests: the clang release build, in
full everything that is only sampled here, fuzzing, exhaustive ranges, and a hundred killed commands.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOTAL = {"passed": 0, "failed": 0, "skipped": 0}
ASAN = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16",
        "LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
# The longest tests (tests/contract, tests/cli/conftest.py) read LIMN_SAMPLE and run only some cases.
SAMPLED = dict(ASAN, LIMN_SAMPLE="1")
ASAN_BUILD = ["--buildtype=plain", "-Doptimization=1", "-Db_lundef=false", "-Dbench=false",
              "-Db_sanitize=address,undefined", "-Dc_args=-g1 -fno-sanitize-recover=all"]
TSAN_BUILD = ["--buildtype=plain", "-Doptimization=1", "-Db_lundef=false", "-Db_sanitize=thread",
              "-Dc_args=-g1"]
THREADED = ("test_concurrent", "test_parallel", "test_work", "test_select", "test_learn_forest",
            "test_bforest_life", "test_bforest_offline", "test_hull_hostile", "test_borders",
            "test_borders_forms", "test_accelerate", "test_field_many", "test_pool", "test_network", "test_student",
            "test_ptree_finish", "test_ptree_shrink", "test_scale_auto", "test_scale_curves", "test_scale_evidence",
            "test_scale_learned", "test_scale_map")


def say(text):
    print(text, flush=True)


def count(passed=0, failed=0, skipped=0):
    TOTAL["passed"] += passed
    TOTAL["failed"] += failed
    TOTAL["skipped"] += skipped


def run(command, env=None, quiet=True):
    """Runs a command; returns (exit code, output)."""
    full = dict(os.environ, **(env or {}))
    done = subprocess.run(command, cwd=ROOT, env=full, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not quiet or done.returncode:
        print(done.stdout[-8000:], flush=True)
    return done.returncode, done.stdout


def build(name, compiler, options, targets=()):
    """A Meson build in build-<name>, of some targets or all; warnings are errors if CI is set."""
    folder = os.path.join(ROOT, "build-" + name)
    start = time.time()
    strict = ["-Dwerror=true"] if os.environ.get("CI") else []
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        code, _ = run(["meson", "setup", folder, *strict, *options], {"CC": compiler})
        if code:
            shutil.rmtree(folder, ignore_errors=True)
    code, output = run(["ninja", "-C", folder, *targets])
    count(passed=code == 0, failed=code != 0)
    warnings = output.count("warning:")
    say(f"build {name}: {'ok' if code == 0 else 'FAILED'}"
        f"{f', {warnings} warnings' if warnings else ''} ({time.time() - start:.0f} s)")
    return folder if code == 0 else None


def without_output(command):
    """The compiler's command without its output options."""
    words = [w for w in shlex.split(command) if not w.endswith((".c.o", ".c.o.d"))]
    return [w for w in words if w not in ("-o", "-MD", "-MQ", "-MF", "-c")]


def warnings_of_clang(folder):
    """Clang's warnings about the tests and benchmarks, which a build of some targets leaves out."""
    start = time.time()
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    rest = [c for c in commands if c["file"].endswith(".c") and
            re.search(r"(tests|bench)/", os.path.relpath(c["file"], ROOT)
                      if os.path.isabs(c["file"]) else c["file"])]

    def look(entry):
        done = subprocess.run([*without_output(entry["command"]), "-fsyntax-only"],
                              cwd=entry["directory"], text=True, capture_output=True)
        return done.stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = "".join(pool.map(look, rest))
    if said:
        print(said[-8000:], flush=True)
    fine = bool(rest) and not (said if os.environ.get("CI") else "error:" in said)
    count(passed=fine, failed=not fine)
    say(f"clang on {len(rest)} files of tests and benchmarks: {'ok' if fine else 'FAILED'} "
        f"({time.time() - start:.0f} s)")


def cmocka(program, env=None):
    """Runs a test program and counts its tests from its TAP output."""
    name = os.path.basename(program)
    start = time.time()
    code, output = run([program], dict(env or {}, CMOCKA_MESSAGE_OUTPUT="TAP",
                                            LIMN_SOURCE_DIR=ROOT))
    skipped = len(re.findall(r"^not ok .*# SKIP", output, re.M))
    passed = len(re.findall(r"^ok ", output, re.M))
    failed = len(re.findall(r"^not ok ", output, re.M)) - skipped
    if code and not failed:
        failed = 1
    if not passed and not failed:
        say(f"  {name}: ran no tests")
        failed = 1
    count(passed, failed, skipped)
    say(f"  {name}: {passed} passed{f', {failed} FAILED' if failed else ''}"
        f"{f', {skipped} skipped' if skipped else ''} ({time.time() - start:.1f} s)")


def all_cmocka(programs_, env=None):
    """Runs the test programs in parallel, one per core, the longest one first."""
    programs_ = sorted(programs_, key=lambda path: not path.endswith("test_contract"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda program: cmocka(program, env), programs_))


def programs(folder, pattern="test_*"):
    return sorted(p for p in glob.glob(os.path.join(folder, "tests", pattern))
                  if os.access(p, os.X_OK) and os.path.isfile(p))


def pytest(label, paths, env):
    """Runs pytest with one process more than there are cores, because some tests wait."""
    start = time.time()
    report = os.path.join(ROOT, "build-gcc", "pytest.xml")
    code, output = run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                        "-n", str((os.cpu_count() or 1) + 1), "-rfE", "--junitxml", report, *paths],
                       dict(env, PYTHONDONTWRITEBYTECODE="1"))
    try:
        suite = xml.parse(report).getroot().find("testsuite")
        tests, skipped = int(suite.get("tests")), int(suite.get("skipped"))
        failed = int(suite.get("failures")) + int(suite.get("errors"))
    except (OSError, AttributeError, xml.ParseError):
        tests, skipped, failed = 0, 0, 1
    count(tests - failed - skipped, failed or int(code != 0), skipped)
    say(f"{label}: {tests - failed - skipped} passed, {failed or int(code != 0)} failed, "
        f"{skipped} skipped ({time.time() - start:.0f} s)")


def replay(folder):
    """Runs every corpus file through its fuzz target, under the sanitizers."""
    for target in programs(folder, "replay_*"):
        name = os.path.basename(target)[len("replay_"):]
        files = sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "corpus", name, "*")))
        code, _ = run([target, *files], ASAN) if files else (1, "")
        count(passed=len(files) if code == 0 else 0, failed=code != 0)
        say(f"  corpus {name}: {len(files)} files{'' if code == 0 else ' FAILED'}")


def neon():
    """Runs the packed-set tests as an aarch64 program under qemu."""
    compiler, emulator = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
    if not compiler or not emulator:
        say("neon: skipped (needs aarch64-linux-gnu-gcc and qemu-aarch64)")
        count(skipped=1)
        return
    start = time.time()
    folder = os.path.join(ROOT, "build-neon")
    os.makedirs(folder, exist_ok=True)
    common = [compiler, "-std=c11", "-D_GNU_SOURCE", "-O3", "-ffp-contract=fast",
              "-fno-trapping-math", "-fno-math-errno", "-DLM_HAVE_NEON=1", "-DLM_ISA=neon",
              "-DCHECK_NUM_MAIN", "-Iinclude", "-Isrc", "-Itests/unit", "-static"]
    sources = ["src/num/simd/body.c", "src/num/simd/dense.c", "src/num/simd/kernel_sums.c",
               "src/num/simd/rows.c",
               "src/num/simd/pack_double.c",
               "src/num/simd/dispatch.c",
               "src/num/pack.c", "src/num/kernel.c", "src/num/kernel_sums.c",
               "tests/unit/check_num.c", "tests/unit/check_num_pack.c",
               "tests/unit/check_num_values.c", "tests/unit/check_num_kernel.c",
               *sorted(glob.glob(os.path.join(ROOT, "src/base/*.c")))]
    program = os.path.join(folder, "check_num")
    code, _ = run([*common, *sources, "-lm", "-lpthread", "-o", program])
    if code == 0:
        code, _ = run([emulator, program])
    count(passed=code == 0, failed=code != 0)
    say(f"neon: {'ok' if code == 0 else 'FAILED'} ({time.time() - start:.0f} s)")


def command_tests(gcc):
    if gcc:
        env = {"LIMN_BIN": os.path.join(gcc, "limn"), "LIMN_BUILD": gcc}
        pytest("command, Python, repository and install tests",
               ["tests/cli", "tests/python", "tests/repo"], env)


def check():
    gcc = build("gcc", "gcc", ["--buildtype=release"])
    if gcc:
        say("unit and contract tests")
        all_cmocka(programs(gcc))
    # Some command tests wait, and builds leave one core idle near their end.
    commands = concurrent.futures.ThreadPoolExecutor(1).submit(command_tests, gcc)
    asan = build("asan", "gcc", ASAN_BUILD)
    tsan = build("tsan", "clang", TSAN_BUILD, ["limn", *("tests/" + name for name in THREADED)])
    commands.result()
    if asan:
        say("the same under AddressSanitizer and UBSan")
        all_cmocka(programs(asan), SAMPLED)
        replay(asan)
    if tsan:
        warnings_of_clang(tsan)
        say("threads under ThreadSanitizer")
        all_cmocka([os.path.join(tsan, "tests", name) for name in THREADED],
                   {"TSAN_OPTIONS": "halt_on_error=1", "LIMN_SAMPLE": "1"})
    if asan:
        env = dict(SAMPLED, LIMN_BIN=os.path.join(asan, "limn"), LIMN_SANITIZED="1")
        pytest("command tests under ASan and UBSan", ["tests/cli"], env)
    neon()


def fuzz_all(folder):
    for target in programs(folder, "fuzz_*"):
        name = os.path.basename(target)[len("fuzz_"):]
        seconds = os.environ.get("FUZZ_SECONDS", "600")
        found = os.path.join(ROOT, "build-fuzz", "corpus-" + name)
        os.makedirs(found, exist_ok=True)
        say(f"fuzzing {name} for {seconds} s")
        code, output = run([target, "-max_total_time=" + seconds, "-rss_limit_mb=4096",
                            "-artifact_prefix=" + found + "-", "-print_final_stats=1", found,
                            os.path.join(ROOT, "tests", "fuzz", "corpus", name)], ASAN)
        runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
        count(passed=code == 0, failed=code != 0)
        say(f"  {name}: {'nothing found' if code == 0 else 'FAILED'} in "
            f"{runs.group(1) if runs else '?'} runs")


def check_long():
    gcc = build("gcc", "gcc", ["--buildtype=release"])
    clang = build("clang", "clang", ["--buildtype=release"])
    asan = build("asan", "gcc", ASAN_BUILD)
    if gcc:
        cmocka(os.path.join(gcc, "tests", "test_num"), {"CHECK_LONG": "1"})
        pytest("long tests of the commands, and all rows of the real sets",
               ["tests/long", "tests/python"],
               {"LIMN_BIN": os.path.join(gcc, "limn"), "LIMN_BUILD": gcc, "CHECK_LONG": "1"})
    if clang:
        say("unit and contract tests, built by clang")
        all_cmocka(programs(clang))
    if asan:
        say("all of them under AddressSanitizer and UBSan")
        all_cmocka(programs(asan), ASAN)
        env = dict(ASAN, LIMN_BIN=os.path.join(asan, "limn"), LIMN_SANITIZED="1")
        pytest("command tests under ASan and UBSan", ["tests/cli"], env)
    fuzz = build("fuzz", "clang", ["--buildtype=debugoptimized", "-Dfuzz=true",
                                   "-Db_lundef=false", "-Db_sanitize=address,undefined",
                                   "-Dc_args=-fno-sanitize-recover=all"])
    if fuzz:
        fuzz_all(fuzz)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true")
    start = time.time()
    if parser.parse_args().long:
        check_long()
    else:
        check()
    say(f"{time.time() - start:.0f} s")
    skipped = f", {TOTAL['skipped']} skipped" if TOTAL["skipped"] else ""
    say(f"{TOTAL['passed']} passed, {TOTAL['failed']} failed{skipped}")
    sys.exit(TOTAL["failed"] != 0)


if __name__ == "__main__":
    main()
