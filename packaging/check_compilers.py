"""Tries the C headers with the compilers that are here, as far as that goes without their systems: needs gcc and clang.

gcc compiles the branches for other compilers (RAMPION_PLAIN) pedantically, and they are compared with gcc's builtins.
clang compiles the headers as Microsoft's compiler reads them, for x86-64 and ARM64, with stubs for Windows' headers.
With --build, the whole package is built by clang with the branches for other compilers, and its kernels are tested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = ROOT / "rampion/_core"
STUBS = {
    "string.h": "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t); void *memset(void *, int, size_t);\n"
    "void *memmove(void *, const void *, size_t);\n",
    "stdlib.h": "#include <stddef.h>\nvoid *malloc(size_t); void free(void *);\n",
    "malloc.h": "#include <stddef.h>\n",
    "setjmp.h": "typedef int jmp_buf[64];\n",
}
USED = """
#include "slab_add.h"
#include "overlap.h"
int64_t use(const slab_t *s, const overlap_t *o, int64_t *c, refine_t *r, uint32_t *b, uint64_t *t, float *w) {
    overlap(o, 0, c);
    slab_score(0, s, s, w, 3, w, w, w), slab_part(0, s, 0, 1, 1.0f, w), slab_move(s, t, w, w);
    foresee(b, 3, b), open_segment(r, b, 3, b), split(r, 0, b, 1, b), rampion_prefetch(b);
    return rampion_lowest(*t) + rampion_ones(*t) + (int64_t)rampion_high(*t, *t) + close_segment(r, 3, 1, 1, b, 3);
}
"""
COMPARED = """
#include <stdio.h>
#include "machine.h"
int main(void) {
    uint64_t s = 88172645463325252u, bad = 0;
    for (int i = 0; i < 1000000; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        uint64_t a = s >> i % 64, b = (s ^ (s >> 31)) * 77;
        bad += rampion_high(a, b) != (uint64_t)((unsigned __int128)a * b >> 64);
        bad += rampion_ones(a) != __builtin_popcountll(a);
        bad += a && rampion_lowest(a) != __builtin_ctzll(a);
    }
    printf("%d differ\\n", (int)bad);
    return bad > 0;
}
"""
STRICT = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"]
TESTS = ["kernels", "sets/test_packed.py", "decoder/search/test_search.py"]


def run(*command: object, **options: object) -> str:
    """The output of a command; if it fails, what it said ends everything."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"check_compilers: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def built(folder: Path) -> str:
    """What the tests of the kernels say that clang has built."""
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("build", ".venv", ".git", "*.so", "__pycache__"))
    flags = {"CC": "clang", "LDSHARED": "clang -shared", "CFLAGS": "-DRAMPION_PLAIN -Wno-unused-command-line-argument"}
    install = ["-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--target", folder / "site", source]
    run(sys.executable, *install, env=os.environ | flags)
    quick = ["-m", "not slow", "--hypothesis-profile=quick", *(ROOT / "tests" / name for name in TESTS)]
    path = {"PYTHONPATH": str(folder / "site")}
    return run(sys.executable, "-P", "-m", "pytest", *quick, cwd=folder, env=os.environ | path).splitlines()[-1]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "used.c").write_text(USED)
        (folder / "compared.c").write_text(COMPARED)
        (folder / "stubs").mkdir()
        for stub, text in STUBS.items():
            (folder / "stubs" / stub).write_text(text)
        run("gcc", "-DRAMPION_PLAIN", *STRICT, "-Wpedantic", f"-I{HEADERS}", "-c", "used.c", cwd=folder)
        run("gcc", "-DRAMPION_PLAIN", *STRICT, f"-I{HEADERS}", "compared.c", "-o", "compared", cwd=folder)
        print(f"gcc, branches of other compilers: a million numbers, {run(folder / 'compared').strip()}")
        run("clang", *STRICT, f"-I{HEADERS}", "-c", "used.c", cwd=folder)
        print("clang: compiles the headers")
        for machine in ("x86_64", "aarch64"):
            microsoft = [f"--target={machine}-pc-windows-msvc", "-fms-compatibility-version=19.40", f"-I{folder}/stubs"]
            run("clang", *microsoft, *STRICT, f"-I{HEADERS}", "-c", "used.c", cwd=folder)
            print(f"as Microsoft's compiler on {machine}: compiles the headers")
        if "--build" in sys.argv:
            print(f"clang, branches of other compilers, all kernels: {built(folder)}")


if __name__ == "__main__":
    main()
