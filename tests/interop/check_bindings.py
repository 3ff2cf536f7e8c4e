#!/usr/bin/env python3
"""The public headers in the tools that make bindings for other languages: bindgen (Rust), cgo (Go), cffi (Python).  Each sees every
function, and a program in each language records events with the bindings.  A tool that is not here is left out."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import interop
import viewers

viewers.in_environment("cffi")

import cffi

API = interop.ROOT / "api"
HEADERS = sorted((API / "epprof").glob("*.h"))
FUNCTIONS = {header.stem: set(re.findall(r"^(?:EPP_EXPORT|EPP_EP_API) [^;(]*?\b(epp_\w+)\(", header.read_text(encoding="utf-8"), re.MULTILINE))
             for header in HEADERS}
CONSTANTS = {header.stem: set(re.findall(r"^#define (EPP_[A-Z_]+) +[^ _]", header.read_text(encoding="utf-8"), re.MULTILINE)) |
             set(re.findall(r"^enum {.*\b(EPP_[A-Z_]+) =", header.read_text(encoding="utf-8"), re.MULTILINE)) for header in HEADERS}
ARGS = {"rows": -3, "kind": '"quoted"'}

RUST = """
#![allow(dead_code, non_camel_case_types, non_upper_case_globals, improper_ctypes)]
include!("epprof.rs");
fn main() {
    unsafe {
        assert_eq!(epp_recording_count, 1);
        let mut args: [epp_arg; 2] = std::mem::zeroed();
        args[0].key = epp_name_intern(b"rows\\0".as_ptr() as *const _);
        args[0].type_ = epp_arg_type_EPP_ARG_I64;
        args[0].value.i64_ = -3;
        args[1].key = epp_name_intern(b"kind\\0".as_ptr() as *const _);
        args[1].type_ = epp_arg_type_EPP_ARG_TEXT;
        args[1].value.text = b"\\"quoted\\"".as_ptr() as *const _;
        args[1].text_bytes = 8;
        let id = epp_event_begin(std::ptr::null_mut(), epp_category_EPP_NODE, epp_name_intern(b"op\\0".as_ptr() as *const _));
        epp_event_end(std::ptr::null_mut(), id, args.as_ptr(), 2);
    }
}
"""

GO = """package main

// #include <stdlib.h>
// #include "epprof/record.h"
// static void set_i64(epp_arg *arg, int64_t value) { arg->value.i64 = value; }
// static void set_text(epp_arg *arg, const char *text, size_t bytes) { arg->value.text = text; arg->text_bytes = bytes; }
import "C"

func main() {
	if C.epp_recording_count != 1 {
		panic("nothing records")
	}
	var args [2]C.epp_arg
	text := C.CString("\\"quoted\\"")
	args[0].key = C.epp_name_intern(C.CString("rows"))
	args[0]._type = C.EPP_ARG_I64
	C.set_i64(&args[0], -3)
	args[1].key = C.epp_name_intern(C.CString("kind"))
	args[1]._type = C.EPP_ARG_TEXT
	C.set_text(&args[1], text, 8)
	id := C.epp_event_begin(nil, C.EPP_NODE, C.epp_name_intern(C.CString("op")))
	C.epp_event_end(nil, id, (*C.epp_arg)(&args[0]), 2)
}
"""

PYTHON = """
import sys
import cffi
ffi = cffi.FFI()
ffi.cdef(open(sys.argv[2], encoding="utf-8").read())
epprof = ffi.dlopen(sys.argv[1])
assert epprof.epp_recording_count == 1
text = ffi.new("char[]", b'"quoted"')
args = ffi.new("epp_arg[2]")
args[0].key, args[0].type, args[0].value.i64 = epprof.epp_name_intern(b"rows"), epprof.EPP_ARG_I64, -3
args[1].key, args[1].type, args[1].value.text, args[1].text_bytes = epprof.epp_name_intern(b"kind"), epprof.EPP_ARG_TEXT, text, 8
id = epprof.epp_event_begin(ffi.NULL, epprof.EPP_NODE, epprof.epp_name_intern(b"op"))
epprof.epp_event_end(ffi.NULL, id, args, 2)
"""


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}:\n{done.stdout[-4000:]}")
    return done.stdout


def including(folder, stems):
    """A header that includes these."""
    path = folder / "all.h"
    path.write_text("".join(f'#include "epprof/{stem}.h"\n' for stem in stems), encoding="utf-8")
    return path


def declarations(header):
    """A header as cffi reads it: without what the preprocessor and gcc's attributes add."""
    text = run("gcc", "-E", "-P", f"-I{API}", "-D__attribute__(x)=", "-D__extension__=", header)
    return text[re.search(r"typedef (struct|enum) epp_", text).start():]  # behind the system's headers, whose types cffi has


class Bindings(unittest.TestCase):
    def folder(self, name):
        path = interop.scratch() / name
        path.mkdir()
        return path

    def records(self, *program):
        """The program records one event with two args."""
        trace = interop.scratch() / f"{self.id()}.epp"
        run(*program, env={**os.environ, "EPPROF_OUTPUT": str(trace), "LD_LIBRARY_PATH": str(interop.BUILD)})
        lines = [json.loads(line) for line in run(viewers.EPPROF, "convert", "-t", "ndjson", "-o", "-", trace).splitlines()]
        (event,) = [line for line in lines if line["kind"] == "slice"]
        self.assertEqual([event["name"], event["category"], event["args"]], ["op", "Node", ARGS])

    def test_the_headers_declare_functions(self):
        self.assertGreater(len(FUNCTIONS["record"]), 15)
        self.assertGreater(len(FUNCTIONS["ep"]), 10)

    def test_cffi(self):
        folder, stems = self.folder("python"), ("record", "session", "track", "timeline", "summary", "export", "sql", "import", "merge")
        text = declarations(including(folder, stems))
        ffi = cffi.FFI()
        ffi.cdef(text)
        libraries = [ffi.dlopen(interop.library(name)) for name in ("libepprof", "libepprof-trace")]
        for name in set().union(*(FUNCTIONS[stem] for stem in stems)):
            self.assertTrue(any(hasattr(library, name) for library in libraries), name)
        file = folder / "epprof.h"
        file.write_text(text, encoding="utf-8")
        self.records(sys.executable, "-c", PYTHON, interop.library("libepprof"), file)

    def test_bindgen(self):
        folder = self.folder("rust")
        made = folder / "epprof.rs"
        run("bindgen", including(folder, FUNCTIONS), "-o", made, "--allowlist-file", f"{API}/epprof/.*", "--", f"-I{API}")
        text = made.read_text(encoding="utf-8")
        self.assertEqual(set().union(*FUNCTIONS.values()) - set(re.findall(r"pub fn (epp_\w+)", text)), set())
        self.assertEqual(set().union(*CONSTANTS.values()) - set(re.findall(r"pub const (?:_bindgen_ty_\d+_)?(EPP_\w+)", text)), set())
        (folder / "main.rs").write_text(RUST, encoding="utf-8")
        run("rustc", "main.rs", f"-L{interop.BUILD}", "-lepprof", cwd=folder)
        self.records(folder / "main")

    def test_cgo(self):
        folder = self.folder("go")
        (folder / "main.go").write_text(GO, encoding="utf-8")
        (folder / "go.mod").write_text("module main\n", encoding="utf-8")
        run("go", "build", "-o", "main", cwd=folder,
            env={**os.environ, "CGO_ENABLED": "1", "CGO_CFLAGS": f"-I{API}", "CGO_LDFLAGS": f"-L{interop.BUILD} -lepprof"})
        self.records(folder / "main")


for test, tools in (("test_bindgen", ("bindgen", "rustc")), ("test_cgo", ("go",))):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing and interop.INSIDE in os.environ:
        print(f"SKIP: {test}: no {' and no '.join(missing)} here", flush=True)
        delattr(Bindings, test)

if __name__ == "__main__":
    interop.main()
