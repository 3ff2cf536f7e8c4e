# What compiles for Windows; see build.mk.
BUILD := build-windows
ifneq ($(filter default undefined,$(origin CC)),)
CC := clang --target=x86_64-w64-windows-gnu
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR := x86_64-w64-mingw32-ar
endif
NM ?= x86_64-w64-mingw32-nm
# Clang does not find the libraries of every MinGW.
WIN_LD ?= x86_64-w64-mingw32-gcc
