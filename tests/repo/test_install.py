"""The installed package is complete: the examples compile and run against it, using only
pkg-config. make installs where it is told to, and says what a build lacks."""
import glob
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("LIMN_BUILD")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    if not BUILD:
        pytest.skip("LIMN_BUILD names no build")
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", str(prefix)],
                   check=True, capture_output=True)
    pc = glob.glob(f"{prefix}/**/pkgconfig/limn.pc", recursive=True)
    assert len(pc) == 1
    return {"prefix": prefix, "env": dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc[0]),
                                          PKG_CONFIG_SYSROOT_DIR=str(prefix),
                                          LD_LIBRARY_PATH=os.path.dirname(os.path.dirname(pc[0])))}


def pkg_config(installed, *options):
    return subprocess.run(["pkg-config", *options, "limn"], env=installed["env"], text=True,
                          check=True, capture_output=True).stdout.split()


@pytest.mark.parametrize("source", sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))),
                         ids=os.path.basename)
@pytest.mark.parametrize("linking", ["shared", "static"])
def test_example_compiles_and_runs_against_the_installed_package(installed, tmp_path, source,
                                                                 linking):
    program = str(tmp_path / "example")
    flags = pkg_config(installed, "--cflags", "--libs", *(["--static"] if linking == "static" else []))
    if linking == "static":
        flags = ["-Wl,-Bstatic" if f == "-llimn" else f for f in flags]
        flags = [x for f in flags for x in ([f, "-llimn", "-Wl,-Bdynamic"] if f == "-Wl,-Bstatic" else [f])]
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags],
                   env=installed["env"], check=True)
    done = subprocess.run([program], cwd=tmp_path, env=installed["env"], text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_header_compiles_as_cpp(installed, tmp_path):
    source = tmp_path / "use.cpp"
    source.write_text("#include <limn/limn.h>\nint main() { return limn_version() == nullptr; }\n")
    try:
        subprocess.run(["g++", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no g++")
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", str(source), "-o",
                    str(tmp_path / "use"), *pkg_config(installed, "--cflags", "--libs")],
                   env=installed["env"], check=True)


def test_only_limn_symbols_are_exported(installed):
    library = glob.glob(f"{installed['prefix']}/**/liblimn.so.0", recursive=True)
    assert len(library) == 1
    out = subprocess.run(["nm", "-D", "--defined-only", library[0]], text=True, check=True,
                         capture_output=True).stdout
    names = [line.split()[-1] for line in out.splitlines()]
    assert names and all(n.startswith("limn_") for n in names), names


def test_soname_is_the_major_version(installed):
    library = glob.glob(f"{installed['prefix']}/**/liblimn.so.0", recursive=True)[0]
    out = subprocess.run(["readelf", "-d", library], text=True, check=True,
                         capture_output=True).stdout
    assert "liblimn.so.0]" in out


def fake(folder, name, script):
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def make(tmp_path, *words):
    """make with the programs of tmp_path first."""
    return subprocess.run(["make", "-C", ROOT, *words], text=True, capture_output=True,
                          env=dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}"))


def test_make_build_without_its_packages_names_the_command_that_installs_them(tmp_path):
    fake(tmp_path, "meson", "exit 127\n")
    fake(tmp_path, "dpkg-query", "exit 1\n")
    done = make(tmp_path, "build", f"BUILD={tmp_path}/build")
    assert done.returncode != 0
    assert "\n  scripts/deps.sh build\n" in done.stderr
    assert "apt-get install gcc meson ninja-build" in done.stderr


def test_make_install_changes_the_prefix_of_an_earlier_build(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "build.ninja").touch()
    fake(tmp_path, "meson", f'echo meson "$@" >>{tmp_path}/calls\n')
    fake(tmp_path, "ninja", f'echo ninja "$@" >>{tmp_path}/calls\n')
    done = make(tmp_path, "install", f"BUILD={tmp_path}/build", f"PREFIX={tmp_path}/there")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"ninja -C {tmp_path}/build", f"meson configure {tmp_path}/build -Dprefix={tmp_path}/there",
        f"ninja -C {tmp_path}/build install"]
