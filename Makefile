# SPDX-License-Identifier: MIT
#
# One Makefile for the whole tree.  Sources are found by folder: a new file needs no line here.
#
# `make help` lists the targets, which say behind "##" what they do, and what follows here.
#
# Variants, each built into a folder build-NAME of its own:
#   SAN=address,undefined  SAN=thread  BUILD=debug  CC=clang
#   CC=aarch64-linux-gnu-gcc PLAIN=1        for another processor; ptosim runs under qemu-aarch64 (scripts/deps --cross)
#   PLAIN=1                without optional libraries
#   ANNOTATE=1             atomics tell helgrind and drd what they hand over (make valgrind builds it where it is needed)
# Others:
#   ARGS="..."             options of run, regress, perf, valgrind
#   TESTS=PATTERN          of test and test-long: these alone, and no others are built
#   BENCH="task_overhead lookup"  QUICK=1   of bench: these alone; less of all
#   LIST=FILE              of regress: another list than tests/regress/examples.list
#   PROGRAM=bgemm          of perf and valgrind
#   TOOL=callgrind         of valgrind: memcheck, cachegrind, helgrind, drd, massif too
#   MUTANTS=N SEED=N MUTANT=NAME SHARD=I/N  of mutants: how many (or all), which, one by name, a part (docs/scale-out.md)
#   FUZZ_SECONDS=60        of fuzz: for each target
#   PREFIX=/usr/local DESTDIR=              of install
#   WERROR=1  V=1          warnings are errors; commands are printed
#   MPI_CC=mpicc.mpich     in a build folder that is new: the plug-in is of that MPI, not of mpicc's

MAKEFLAGS += -rR
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

# ---- variant and folder ---------------------------------------------------------------------------------------------
ifneq ($(filter default undefined,$(origin CC)),)
CC := cc
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR := ar
endif
comma := ,
empty :=
space := $(empty) $(empty)
VARIANT := $(strip $(subst $(comma), ,$(SAN)) $(filter debug,$(BUILD)) $(if $(findstring clang,$(notdir $(CC))),clang) \
             $(if $(findstring aarch64,$(notdir $(CC))),aarch64) \
             $(if $(COVERAGE),coverage) $(if $(FUZZ),fuzz) $(if $(PLAIN),plain) $(if $(ANNOTATE),annotate))
B := build$(if $(VARIANT),-$(subst $(space),-,$(VARIANT)))
Q := $(if $(V),,@)
SAY := @$(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),:,echo)

# ---- sources by folder ----------------------------------------------------------------------------------------------
MPI_HOME := world/exchange_mpi.c
code = $(filter-out %_test.c,$(wildcard $(1)))
# libpto is what runs a program.  libptotools is what judges one and tells of it, with the references and models that it needs.
# compat/object is part of each kernel that users build.
LIB_SRC := $(filter-out kernels/reference/% graph/reference/% graph/models/% compat/object/% compat/all/% $(MPI_HOME), \
             $(call code,runtime/*/*.c sim/*/*.c kernels/*/*.c orchestration/loader/*.c formats/*.c device/*.c world/*.c graph/*/*.c compat/*/*.c))
# Readers of language models and tokenizers: part of the program llm, and of graph/models.
MODEL_FILES_SRC := $(call code,formats/llm/*.c)
TOOLS_SRC := $(call code,check/*/*.c report/*/*.c kernels/reference/*.c graph/reference/*.c graph/models/*.c) $(MODEL_FILES_SRC)
CLI_SRC := $(call code,cli/*/*.c)
# A program is a file of its own.  One of several files names the others here, and what it needs of the library's own.
PARTS_llm := $(patsubst %,orchestration/llm/%.c,kernels oracle pass random_model sampler share step) $(MODEL_FILES_SRC) \
               runtime/base/error.c runtime/base/utf8.c formats/json_read.c formats/json_text.c formats/mapped_file.c formats/safetensors.c
PARTS_SRC := $(PARTS_llm)
PROGRAM_SRC := $(filter-out orchestration/loader/% $(PARTS_SRC),$(call code,orchestration/*/*.c))
# The oracle brings its own implementation of the public runtime API: none of the runtime above base and tensor, no sim.
ORACLE_SRC := $(call code,tests/oracle/*.c)
ORACLE_LIB_SRC := $(filter runtime/base/% runtime/tensor/% runtime/port/% kernels/% orchestration/loader/% formats/% graph/build/% graph/infer/% graph/file/%,$(LIB_SRC))
SUPPORT_SRC := $(call code,tests/support/*.c tests/conformance/*.c bench/support/*.c)
TEST_SRC := $(wildcard formats/*_test.c device/*_test.c world/*_test.c \
              $(patsubst %,%/*/*_test.c,runtime sim kernels orchestration formats graph compat check report cli tests bench))
LONG_TEST_SCRIPTS := $(wildcard tests/long/*_test.sh)
TEST_SCRIPTS := $(filter-out $(LONG_TEST_SCRIPTS),$(wildcard tests/*/*_test.sh))
FUZZ_SRC := $(wildcard tests/fuzz/*_fuzz.c)
# Programs with a known mistake each, which tests run.
PLANTED_SRC := $(wildcard tests/planted/*.c)
# Orchestrations in C++ against compat/include, where there is a compiler for it; -a5 and -hbg are of the other architecture and
# graph mode.
CXX := $(if $(filter default undefined,$(origin CXX)),c++,$(CXX))
HAVE_CXX := $(shell command -v $(firstword $(CXX)))
ADOPTED_SRC := $(wildcard tests/compat/orchestrations/*.cpp)
BENCH_SRC := $(wildcard bench/*.c)
BENCH_SUPPORT_SRC := $(call code,bench/support/*.c)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
TOOLS_OBJ := $(call obj,$(TOOLS_SRC))
CLI_OBJ := $(call obj,$(CLI_SRC))
ORACLE_OBJ := $(call obj,$(ORACLE_SRC) $(ORACLE_LIB_SRC))
SUPPORT_OBJ := $(call obj,$(SUPPORT_SRC))
# A program is named by its file; those of errors/ by their folder too.
program_name = $(if $(filter orchestration/errors/%,$(1)),errors/)$(basename $(notdir $(1)))
program_source = $(filter orchestration/%/$(1).c orchestration/$(1).c,$(PROGRAM_SRC))
program_parts = $(call obj,$(program_source) $(PARTS_$(1)))
PROGRAMS := $(foreach p,$(PROGRAM_SRC),$(B)/programs/$(call program_name,$(p)).so)
PLANTED := $(PLANTED_SRC:tests/planted/%.c=$(B)/planted/%.so)
ADOPTED := $(if $(and $(HAVE_CXX),$(ADOPTED_SRC)),$(patsubst tests/compat/orchestrations/%.cpp,$(B)/compat/%.so,$(ADOPTED_SRC)) \
             $(B)/compat/spmd-a5.so $(B)/compat/host_access-hbg.so)
TESTS_BUILT := $(TEST_SRC:%.c=$(B)/tests/%)
REPLAYS := $(FUZZ_SRC:%.c=$(B)/tests/%)
PEER_MAIN_SRC := bench/peers/peer_main.c
OUR_PEER_SRC := bench/peers/peer_pto.c
BENCHES := $(BENCH_SRC:%.c=$(B)/%)
ALL_SRC := $(LIB_SRC) $(call code,compat/all/*.c) $(TOOLS_SRC) $(CLI_SRC) $(PROGRAM_SRC) $(filter orchestration/%,$(PARTS_SRC)) $(ORACLE_SRC) $(SUPPORT_SRC) $(TEST_SRC) $(PLANTED_SRC) $(FUZZ_SRC) $(BENCH_SRC) \
             $(PEER_MAIN_SRC) $(OUR_PEER_SRC)

# ---- goals that need nothing probed: they come before the dependencies are there -------------------------------------
UNPROBED := adopt-sources run regress test test-long conformance bench deps clean fuzz coverage mutants lint lint-self-test format format-check help
.PHONY: all programs tests benches adopt-kernels calibrate $(UNPROBED) run-mutants mutant-commands perf valgrind install uninstall deb python FORCE
all:

# What optional libraries there are: probed once a variant, and again when packages have changed.
ifneq ($(filter-out $(UNPROBED),$(or $(MAKECMDGOALS),all)),)
include $(B)/config.mk
endif
$(B)/config.mk: scripts/probe $(wildcard /var/lib/dpkg/status)
	@mkdir -p $(@D)
	@CC="$(CC)" PLAIN="$(PLAIN)" MPI_CC="$(MPI_CC)" scripts/probe >$@

# ---- flags ----------------------------------------------------------------------------------------------------------
# Sanitizers take lines from debug information and nothing more.  The checks of addresses make -O2 twice as long to compile as -O1;
# a fuzzer's speed is worth it.  Not so ThreadSanitizer: gcc 12 at -O1 compiles a != of two truths wrong under it (reduce_check
# of kernels/rows/reduce.c refused f32 to f32).
CFLAGS ?= $(if $(filter debug,$(BUILD)),-O0 -g,$(if $(and $(SAN),$(if $(FUZZ),,yes)),$(if $(findstring thread,$(SAN)),-O2,-O1) -g1,-O2 -g))
# A payload at the head of a larger struct, and a hint that a loop may be vectorised where clang 14 does not, are meant.
WARN_CLANG := -Wno-gnu-variable-sized-type-not-at-end -Wno-pass-failed
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter \
        $(if $(findstring clang,$(notdir $(CC))),$(WARN_CLANG))
DEFINES := -I. -Iinclude -D_GNU_SOURCE $(if $(SAN)$(filter debug,$(BUILD)),-DPTO_ASSERT_LEVEL=2) \
           $(if $(ANNOTATE),-DPTO_ANNOTATE=1)
# What is not PTO_API is no symbol of a shared object; in the library it is "protected", for libptotools.so (scripts/library_map).
VISIBILITY := hidden
$(LIB_OBJ): private VISIBILITY := protected
# No contraction of a*b+c: results may not depend on whether the machine has a fused multiply-add.
CODE = -std=c17 -fPIC -fvisibility=$(VISIBILITY) -ffp-contract=off -fno-math-errno -pthread
# clang counts at the source, so copies of an inline function are one.  Programs have no counters: "check --observe" would take
# them for state of their kernels.  Threads add to the same counters.  Valgrind reads no DWARF 5 of clang's.
COVER := $(if $(COVERAGE),-fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic)
$(call obj,$(filter orchestration/%,$(PROGRAM_SRC) $(PARTS_SRC)) $(PLANTED_SRC)) $(PROGRAMS) $(PLANTED): private COVER :=
# Beside the check of addresses, undefined behaviour ends in SIGILL, for which that one tells the stack (scripts/run_tests): texts for
# each place are five sixths of a program's data, which its search for leaks reads in each run.
INSTRUMENT = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
              $(if $(and $(findstring address,$(SAN)),$(findstring undefined,$(SAN))),-fsanitize-undefined-trap-on-error) \
              $(COVER) $(if $(COVERAGE),-gdwarf-4) $(if $(FUZZ),-fsanitize=fuzzer-no-link)
ALL_CFLAGS = $(DEFINES) $(CPPFLAGS) $(CODE) $(WARN) $(INSTRUMENT) $(CFLAGS)
LINK = $(CC) $(CODE) $(INSTRUMENT) $(CFLAGS) -Wl,--as-needed $(LDFLAGS)
# An instrumented program names each of its variables: relocations, if it may lie anywhere, that each run pays for.  There are hundreds
# of such programs, which gold links in half the time.  AddressSanitizer of gcc looks for C++'s exceptions when a program begins;
# libubsan brings their library, for programs in C++ that are loaded later.
FIXED := $(if $(SAN),-no-pie) $(if $(SAN)$(COVERAGE),$(if $(shell command -v ld.gold),-fuse-ld=gold)) \
         $(if $(findstring address,$(SAN)),$(if $(findstring clang,$(notdir $(CC))),,-Wl$(comma)--no-as-needed -lubsan -Wl$(comma)--as-needed))
LIBS = -ljansson -linih $(OPTIONAL_LIBS) -ldl -lm

# Optional libraries have one home each, and only that file sees the macro.
HWLOC_HOME := sim/host/topology.c
NUMA_HOME := sim/host/topology.c
DW_HOME := report/findings/source_lines.c
VALGRIND_HOME := runtime/base/valgrind_requests.c
PAPI_HOME := cli/measure/papi_events.c
SDE_HOME := runtime/control/published_counters.c
ZLIB_HOME := report/page/columns.c report/file/gzip.c
$(call obj,$(HWLOC_HOME)): DEFINES += $(HAVE_HWLOC)
$(call obj,$(NUMA_HOME)): DEFINES += $(HAVE_NUMA)
$(call obj,$(DW_HOME)): DEFINES += $(HAVE_DW)
$(call obj,$(VALGRIND_HOME)): DEFINES += $(HAVE_VALGRIND)
$(call obj,$(PAPI_HOME)): DEFINES += $(HAVE_PAPI) '-DPTO_PAPI_LIBRARY="$(PAPI_LIBRARY)"'
$(call obj,$(SDE_HOME)): DEFINES += $(HAVE_SDE)
$(call obj,cli/main/about.c): DEFINES += '-DPTO_LIBRARIES="$(HAVE_ALL)"'
$(call obj,runtime/base/version.c): DEFINES += '-DPTO_COMPILER="$(CC)"'
$(call obj,$(ZLIB_HOME)): DEFINES += $(HAVE_ZLIB)
# That of MPI is a plug-in of its own.
MPI_PLUG_IN := $(if $(MPI_LIBS),$(if $(wildcard $(MPI_HOME)),$(B)/libpto_mpi.so))
# That of static probes is a header, runtime/base/probe.h.
DEFINES += $(HAVE_SDT)

# Objects are made again when the flags change, archives and programs also when the list of sources does.
FLAGS = $(shell $(CC) -dumpfullversion -dumpversion 2>&1) $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(HAVE_ALL) $(LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	$(file >$@.new,$(FLAGS))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(B)/sources: FORCE
	@mkdir -p $(@D)
	$(file >$@.new,$(ALL_SRC))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The chip files are part of this object; the compiler's list of headers does not see them.
$(call obj,sim/chips/chip_files.c): $(wildcard sim/chips/*.ini)
$(call obj,sim/kernel_times/table_files.c): $(wildcard sim/kernel_times/*.csv)
$(call obj,report/page/page_files.c): $(wildcard report/page/*.html report/page/*.css report/page/*.js) $(D3)
$(call obj,report/page/page_files.c): DEFINES += $(if $(D3),-DPTO_D3='"$(D3)"' -DPTO_D3_LICENCE='"$(D3_LICENCE)"')

VERSION := $(shell sed -n 's/.*PTO_VERSION "\(.*\)"/\1/p' include/pto/version.h)
MAJOR := $(firstword $(subst ., ,$(VERSION)))

# ---- building -------------------------------------------------------------------------------------------------------
all: $(B)/libpto.so $(B)/libptotools.so programs $(B)/ptosim $(MPI_PLUG_IN) ## ptosim, both libraries and the example programs, in build/
programs: $(PROGRAMS) ## the example programs
# As scripts/run_tests --only chooses.
SELECTED := $(TESTS_BUILT) $(REPLAYS)
ifneq ($(TESTS),)
SELECTED := $(shell printf '%s\n' $(SELECTED) | grep -E '$(TESTS)')
endif
tests: all $(SELECTED) $(PLANTED) $(ADOPTED) $(B)/oracle ## builds what test runs
benches: all $(BENCHES) $(B)/bench/peers/pto $(if $(strip $(INSTRUMENT)),,$(BENCH_PEERS:%=$(B)/bench/peers/%)) ## builds what bench runs

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(WERROR),-Werror) -MMD -MP -c -o $@ $<

# For users: only what include/pto marks as PTO_API can be seen.  libNAME.so is a link to libNAME.so.MAJOR, the soname, and this to
# the file.  Each library names all that it needs; an instrumented one finds the instrument in the program.
$(B)/libpto.map: scripts/library_map include/pto/version.h $(LIB_OBJ) $(TOOLS_OBJ) $(B)/sources
	$(Q)scripts/library_map $(VERSION) $(LIB_OBJ) -- $(TOOLS_OBJ) >$@
library = $(Q)$(LINK) -shared $(if $(INSTRUMENT),,-Wl$(comma)--no-undefined) -Wl,-soname,$(@F).$(MAJOR) -o $@.$(VERSION) $(1) && \
  ln -sf $(@F).$(VERSION) $@.$(MAJOR) && ln -sf $(@F).$(MAJOR) $@
$(B)/libpto.so: $(B)/libpto.map $(LIB_OBJ)
	$(SAY) "  LINK  $@"
	$(call library,-Wl$(comma)--version-script=$(B)/libpto.map $(LIB_OBJ) $(LIBS))
$(B)/libptotools.so: $(TOOLS_OBJ) $(B)/libpto.so
	$(SAY) "  LINK  $@"
	$(call library,$(TOOLS_OBJ) -L$(B) -lpto $(LIBS))

# Ranks of several processes: loaded by those alone (world/processes.c).
$(call obj,$(MPI_HOME)): DEFINES += $(MPI_CFLAGS)
$(B)/libpto_mpi.so: $(call obj,$(MPI_HOME))
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) -shared -o $@ $^ $(MPI_LIBS)

# For tests, which link internals.  Objects of several folders may have one name, so members are stored by path ("P").
$(B)/libpto.a: $(LIB_OBJ)
$(B)/libptotools.a: $(TOOLS_OBJ)
$(B)/libptosim.a: $(CLI_OBJ)
$(B)/libsupport.a: $(SUPPORT_OBJ)
$(B)/lib%.a: $(B)/sources
	@rm -f $@
	$(Q)$(AR) qcsP $@ $(filter %.o,$^)

# The library's objects are part of ptosim, so that it runs from anywhere; programs bind to its symbols.
$(B)/ptosim: $(CLI_OBJ) $(TOOLS_OBJ) $(LIB_OBJ) $(B)/public-symbols
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) $(FIXED) @$(B)/public-symbols -o $@ $(CLI_OBJ) $(TOOLS_OBJ) $(LIB_OBJ) $(LIBS)
$(B)/oracle: $(ORACLE_OBJ) $(B)/sources
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) $(FIXED) -rdynamic -o $@ $(ORACLE_OBJ) $(LIBS)
.SECONDEXPANSION:
$(B)/programs/%.so: $$(call program_parts,$$*)
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) -shared -Wl,--version-script=scripts/program.map -o $@ $^ $(if $(PARTS_$*),$(LIBS),-lm)

$(B)/planted/%.so: $(B)/obj/tests/planted/%.o
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) -shared -o $@ $< -lm

# As compat/entry.cpp says.
ADOPTED_HEADERS := $(wildcard compat/include/*.h compat/include/*/*.h)
$(ADOPTED): $(B)/compat/%.so: compat/entry.cpp $(ADOPTED_SRC) tests/compat/orchestrations/kernels.h $(ADOPTED_HEADERS)
	@mkdir -p $(@D)
	$(SAY) "  C++   $@"
	$(Q)$(CXX) -std=c++17 -O0 -shared -fPIC -fvisibility=hidden -Wall -Wextra $(if $(WERROR),-Werror) -Wl,-Bsymbolic -Icompat/include \
	  -DPTO_COMPAT_SOURCE='"$(CURDIR)/tests/compat/orchestrations/$(patsubst %-hbg,%,$(patsubst %-a5,%,$*)).cpp"' \
	  -DPTO_COMPAT_ENTRY=aicpu_orchestration_entry $(if $(filter %-a5,$*),-DPTO_COMPAT_ARCHITECTURE=2) \
	  $(if $(filter %-hbg graph%,$*),-DPTO_COMPAT_MODE=2) -o $@ $<

# Tests take from the archive what they need, and may stand in for the rest.  Those of loader, cli and tests/ hold all that is
# public besides, and show it to the programs that they load.
LOADING_TESTS := $(filter $(B)/tests/orchestration/% $(B)/tests/cli/% $(B)/tests/report/% $(B)/tests/tests/%,$(TESTS_BUILT))
$(LOADING_TESTS): $(B)/public-symbols
$(LOADING_TESTS): PUBLIC = @$(B)/public-symbols
$(B)/public-symbols: $(B)/libpto.so
	@nm -D --defined-only $< | awk '$$3 ~ /@@PTO_$(MAJOR)$$/ { sub(/@.*/, "", $$3); print "-Wl,-u," $$3 ",--export-dynamic-symbol=" $$3 }' >$@
$(REPLAYS): REPLAY := $(call obj,tests/support/fuzz_replay.c)
$(REPLAYS): $(call obj,tests/support/fuzz_replay.c)
TEST_ARCHIVES := $(B)/libsupport.a $(B)/libptosim.a $(B)/libptotools.a $(B)/libpto.a
$(TESTS_BUILT) $(REPLAYS): $(B)/tests/%: $(B)/obj/%.o $(TEST_ARCHIVES)
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) $(FIXED) $(PUBLIC) -o $@ $< $(REPLAY) -Wl,--start-group $(TEST_ARCHIVES) -Wl,--end-group $(LIBS) -lcmocka

# Benches may compare with OpenMP and with libraries of matrix products in the same run.
$(call obj,$(BENCH_SRC)): DEFINES += -fopenmp
$(call obj,bench/bench_matmul.c): DEFINES += $(HAVE_OPENBLAS) $(HAVE_DNNL)
$(call obj,bench/bench_graph.c): DEFINES += $(HAVE_DNNL)
$(call obj,bench/bench_math.c): DEFINES += $(HAVE_SLEEF)
$(BENCHES): $(B)/bench/%: $(B)/obj/bench/%.o $(call obj,$(BENCH_SUPPORT_SRC)) $(B)/libpto.a $(B)/libptotools.a
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) -fopenmp -rdynamic -o $@ $< $(call obj,$(BENCH_SUPPORT_SRC)) \
	  $(B)/libptotools.a -Wl,--whole-archive $(B)/libpto.a -Wl,--no-whole-archive $(LIBS) $(BENCH_LIBS)

# Other task runtimes, each with the compiler that it is for: a program a peer, those that the probe found.
PEER_COMMON := $(call obj,$(PEER_MAIN_SRC) bench/support/task_graph.c)
PEER_HEADERS := bench/peers/peer.h bench/support/task_graph.h
$(B)/bench/peers/pto: $(call obj,$(OUR_PEER_SRC) bench/support/graph_run.c) $(PEER_COMMON) $(B)/libpto.a
	@mkdir -p $(@D)
	$(SAY) "  PEER  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBS)
PEER_FLAGS := $(DEFINES) -O2 -g -pthread -Wall -Wextra $(if $(WERROR),-Werror)
$(B)/bench/peers/openmp-gcc: bench/peers/peer_openmp.c
$(B)/bench/peers/openmp-gcc: PEER_CC = gcc -std=gnu17 -fopenmp
$(B)/bench/peers/openmp-llvm: bench/peers/peer_openmp.c
$(B)/bench/peers/openmp-llvm: PEER_CC = clang -std=gnu17 -fopenmp -fopenmp-version=50
$(B)/bench/peers/starpu: bench/peers/peer_starpu.c
$(B)/bench/peers/starpu: PEER_CC = gcc -std=gnu17 $(STARPU_CFLAGS:-I%=-isystem %)
$(B)/bench/peers/starpu: PEER_LIBS = -lstarpu-1.3
$(B)/bench/peers/tbb: bench/peers/peer_tbb.cpp
$(B)/bench/peers/tbb: PEER_CC = g++ -std=gnu++17
$(B)/bench/peers/tbb: PEER_LIBS = -ltbb
$(B)/bench/peers/simgrid: bench/peers/peer_simgrid.cpp
$(B)/bench/peers/simgrid: PEER_CC = g++ -std=gnu++17
$(B)/bench/peers/simgrid: PEER_LIBS = -lsimgrid
# The links of sim/fabric in SimGrid, for bench_fabric: no runtime, so it shares nothing with the others.
$(B)/bench/peers/fabric: bench/peers/fabric_simgrid.cpp $(B)/flags
	@mkdir -p $(@D)
	$(SAY) "  PEER  $@"
	$(Q)g++ -std=gnu++17 $(PEER_FLAGS) -o $@ $< -lsimgrid
$(B)/bench/peers/%: $(PEER_COMMON) $(PEER_HEADERS) $(B)/flags
	@mkdir -p $(@D)
	$(SAY) "  PEER  $@"
	$(Q)$(PEER_CC) $(PEER_FLAGS) -o $@ $(filter bench/peers/%.c bench/peers/%.cpp,$^) $(PEER_COMMON) $(PEER_LIBS) -lm

-include $(patsubst %.o,%.d,$(call obj,$(ALL_SRC) $(MPI_HOME)))

# ---- running --------------------------------------------------------------------------------------------------------
# These look for the dependencies first and then start make again, which probes what is there by then.
AGAIN = +$(Q)$(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
deps: ## installs the packages that are missing
	@scripts/deps --always
run: ## every example on both engines, verified, as a table
	@scripts/deps
	$(AGAIN) all
	@$(B)/ptosim suite --chip a2a3 $(ARGS)
LIST ?= tests/regress/examples.list
regress: ## results, counts and virtual times of every example beside the baseline (ARGS="--update", "--filter moe")
	@scripts/deps
	$(AGAIN) all
	@$(B)/ptosim regress $(LIST) --jobs $(shell nproc) $(ARGS)
# Scripts first: a long one at the end would have all other processors wait for it.
# Tests of pages and of Python share the package; each would make it at the same time.
WITH_PYTHON = @if [ -f python/pto_declarations.py ] && scripts/python >/dev/null; then $(MAKE) -s --no-print-directory $(PYTHON_PACKAGE); fi
test: ## all tests but the long ones
	@scripts/deps
	$(AGAIN) tests
	$(WITH_PYTHON)
	@scripts/run_tests --build $(B) $(if $(TESTS),--only '$(TESTS)') $(TEST_SCRIPTS) $(TESTS_BUILT) $(REPLAYS)
test-long: ## all tests
	@scripts/deps
	$(AGAIN) tests
	$(WITH_PYTHON)
	@PTO_TEST_LONG=1 scripts/run_tests --build $(B) --timeout 7200 $(if $(TESTS),--only '$(TESTS)') \
	  $(TESTS_BUILT) $(REPLAYS) $(TEST_SCRIPTS) $(LONG_TEST_SCRIPTS)
# First the cases that come with the project; the last line is of the others.
CONFORMANCE := $(B)/tests/tests/conformance
conformance: ## the conformance cases of the folder WEBNN_DATA, a line an operation
	@scripts/deps
	$(AGAIN) $(CONFORMANCE)/own_cases_test $(CONFORMANCE)/conformance_test
	@$(CONFORMANCE)/own_cases_test | sed '$$s/^/| /'; [ $${PIPESTATUS[0]} = 0 ]
	@$(CONFORMANCE)/conformance_test || [ $$? = 77 ]
# BENCH: some of them, by what follows bench_ in the name of a program, or time_ in that of a script.
BENCH_SCRIPTS := $(wildcard scripts/time_*)
BENCH_PROGRAMS := $(if $(BENCH),$(foreach b,$(BENCH),$(firstword $(wildcard scripts/time_$(b)) $(B)/bench/bench_$(b))), \
                    $(BENCHES) $(if $(QUICK),,$(BENCH_SCRIPTS)))
bench: ## benches, as JSON lines (build/bench.jsonl) and tables
	@scripts/deps --bench
	$(AGAIN) benches
	@PTO_BENCH_QUICK=$(QUICK) scripts/run_benches $(B)/bench.jsonl $(BENCH_PROGRAMS)
coverage: ## what the tests reach
	$(AGAIN) CC=clang COVERAGE=1 tests
	@scripts/coverage build-clang-coverage $(patsubst $(B)/%,build-clang-coverage/%,$(TESTS_BUILT) $(REPLAYS)) $(TEST_SCRIPTS)

adopt-sources: ## compiles the orchestrations of SIMPLER=DIR, or the expected texts of PYPTO=DIR
	@[ -n "$(SIMPLER)$(PYPTO)" ] || { echo "adopt-sources: SIMPLER=DIR or PYPTO=DIR, a checkout"; exit 1; }
	$(if $(SIMPLER),@scripts/adopt_sources $(SIMPLER))
	$(if $(PYPTO),@scripts/adopt_sources --pypto $(PYPTO))

# The tests that mutants are tried with: two take as long as all others together, and scripts, but one, ask more of the machine.
REACHING := $(filter-out %/system_matrix_test %/elementwise_exhaustive_test,$(TESTS_BUILT) $(REPLAYS)) tests/cli/planted_ranks_test.sh
mutants: ## the runtime broken in one place at a time, and the tests that notice
	@scripts/deps
	$(AGAIN) CC=clang COVERAGE=1 tests
	@scripts/coverage --reach build-clang-coverage $(patsubst $(B)/%,build-clang-coverage/%,$(REACHING))
	$(AGAIN) SAN=address,undefined mutant-commands
	$(AGAIN) run-mutants CHECKED=build-address-undefined
REACH := build-clang-coverage/reach
# The macros of optional libraries for each source: but for its home none has them.
define MUTANT_COMMANDS
MUTANT_CC='$(CC)'
MUTANT_FLAGS='$(ALL_CFLAGS) $(HAVE_HWLOC) $(HAVE_NUMA) $(HAVE_DW) $(HAVE_VALGRIND) $(HAVE_SDE) $(HAVE_ZLIB) -g0'
MUTANT_LINK='$(LINK) -fuse-ld=lld -Wl,-S'
MUTANT_LIBS='$(LIBS) -lcmocka'
endef
mutant-commands: tests
	$(file >$(B)/mutant-commands,$(MUTANT_COMMANDS))
run-mutants: mutant-commands
	@AR='$(AR)' MUTANT_REACH='$(REACH)' scripts/mutants --build $(B) $(if $(CHECKED),--checked $(CHECKED)) $(if $(MUTANTS),--count $(MUTANTS)) $(if $(SEED),--seed $(SEED)) $(if $(MUTANT),--only '$(MUTANT)') $(if $(SHARD),--shard $(SHARD))

assurance: all ## what takes hours and says how much the tests can be relied on: docs/assurance.md (ONLY="soak pairs")
	$(AGAIN) tests
	@scripts/assurance --build $(B) $(if $(ONLY),--only '$(ONLY)')

PROGRAM ?= vector_example
TOOL ?= memcheck
perf: all ## where a program spends its time
	@scripts/profile perf $(B) $(PROGRAM) $(ARGS)
# helgrind and drd need a build of their own, which tells them of atomics.
ANNOTATED := $(filter helgrind drd,$(TOOL))
valgrind: $(if $(ANNOTATED),,all) ## a program under a tool of valgrind
	$(if $(ANNOTATED),+$(Q)$(MAKE) --no-print-directory ANNOTATE=1 all)
	@scripts/profile $(TOOL) $(B)$(if $(ANNOTATED),-annotate) $(PROGRAM) $(ARGS)

# libFuzzer is clang's; the whole library is built with its coverage.
FUZZ_SECONDS ?= 60
fuzz: ## libFuzzer on every target
	$(AGAIN) CC=clang SAN=address,undefined FUZZ=1 fuzzers
	@scripts/run_fuzzers build-address-undefined-clang-fuzz $(FUZZ_SECONDS) $(FUZZ_SRC)
.PHONY: fuzzers
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
fuzzers: $(FUZZERS)
$(FUZZERS): $(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(TEST_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS) -lcmocka

# Kernels of the existing runtime's checkout, compiled with headers of pto-isa's; FOLDER: part of their paths.
$(B)/adopt-kernels: $(call obj,compat/all/adopt_kernels.c) $(B)/libpto.a
	$(SAY) "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBS)
adopt-kernels: $(B)/adopt-kernels ## compiles kernels of a checkout: SIMPLER=DIR PTO_ISA=DIR [FOLDER="…"] [KERNEL_CXX=…]
	@$< --simpler $(SIMPLER) --pto-isa $(PTO_ISA) --cache $(B)/adopted/kernels --compat compat --compiler '$(KERNEL_CXX)' $(FOLDER)

# Nothing of the checkouts is stored but objects and cases below build/adopted.
adopt-test: $(B)/ptosim ## all one-chip scenes of a checkout of the existing runtime: SIMPLER=DIR PTO_ISA=DIR [PLATFORMS=a2a3sim] [DUMPS=DIR]; PYPTO=DIR: the texts of its tests
	@[ -n "$(PYPTO)" ] || { [ -n "$(SIMPLER)" ] && [ -n "$(PTO_ISA)" ]; } || \
	  { echo 'make adopt-test wants SIMPLER=DIR and PTO_ISA=DIR, or PYPTO=DIR'; exit 2; }
	$(if $(PYPTO),@scripts/adopt_sources --pypto $(PYPTO))
	$(if $(SIMPLER),@PTO_ISA='$(PTO_ISA)' DUMPS='$(DUMPS)' PYTHONPATH=python python3 -m pto.adopt_test $(B)/ptosim '$(SIMPLER)' $(PLATFORMS))

# The shipped chip files and their table of kernel times, from a folder of measurements; each begins with what it is.
CALIBRATED := a2a3 a2a3-2026-04
calibrate: $(B)/ptosim programs ## makes the shipped chip files anew: PTO_HW_DATA=DIR
	@[ -n "$(PTO_HW_DATA)" ] || { echo 'calibrate wants PTO_HW_DATA=DIR, a folder of measurements'; exit 2; }
	@for chip in $(CALIBRATED); do $(B)/ptosim calibrate --chip sim/chips/$$chip.ini --data '$(PTO_HW_DATA)' \
	  --kernels sim/kernel_times/a2a3.csv -o sim/chips/$$chip.ini || exit 1; done

# ---- checking -------------------------------------------------------------------------------------------------------
lint: ## what the compiler does not check: who includes whom, names, words, documents
	@scripts/lint
lint-self-test: ## that lint finds each violation
	@scripts/lint --self-test
FORMATTED = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
format: ## clang-format on all sources
	clang-format -i $(FORMATTED)
format-check: ## whether it would change any
	clang-format --dry-run --Werror $(FORMATTED)

# ---- installing -----------------------------------------------------------------------------------------------------
PREFIX ?= /usr/local
INSTALLED := $(DESTDIR)$(PREFIX)
# Lines of a pkg-config file.
define PKGCONFIG
prefix=$(abspath $(PREFIX))
libdir=$${prefix}/lib

Name: $(1)
Description: $(2)
Version: $(VERSION)
Requires: $(3)
Libs: -L$${libdir} -l$(1)
Cflags: -I$${prefix}/include
endef
# For find_package of CMake; it names no folder, so that an installation can be moved.
define CMAKE_CONFIG
get_filename_component(_pto_prefix "$${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(_pto_name pto tools)
  if(NOT TARGET pto::$${_pto_name})
    add_library(pto::$${_pto_name} SHARED IMPORTED)
    set_target_properties(pto::$${_pto_name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$${_pto_prefix}/include")
  endif()
endforeach()
set_target_properties(pto::pto PROPERTIES IMPORTED_LOCATION "$${_pto_prefix}/lib/libpto.so")
set_target_properties(pto::tools PROPERTIES IMPORTED_LOCATION "$${_pto_prefix}/lib/libptotools.so" INTERFACE_LINK_LIBRARIES pto::pto)
endef
define CMAKE_VERSION
set(PACKAGE_VERSION $(VERSION))
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION AND "$${PACKAGE_FIND_VERSION_MAJOR}" STREQUAL "$(MAJOR)")
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
endef
# What adopted programs are compiled with, and the plugin of pytest; what people read.
ADOPT_FILES := $(shell git ls-files compat/include compat/object compat/clang compat/entry.cpp python 2>/dev/null)
# The Python package, where a Python has cffi and numpy: what it knows of the headers is made of them.
PYTHON_PACKAGE := $(B)/python/_pto.py
$(PYTHON_PACKAGE): python/pto_declarations.py $(wildcard include/pto/*.h)
	@mkdir -p $(@D)
	$(SAY) "  PY    $@"
	$(Q)CC="$(CC)" "$$(scripts/python || echo python3)" $< $(@D) >/dev/null
python: $(PYTHON_PACKAGE) $(B)/libptotools.so ## the Python package of this tree, used with PYTHONPATH=python
PAGES := README.md CHANGELOG.md LICENSE $(shell git ls-files docs 2>/dev/null)
PAGES_FOLDER := $(abspath $(PREFIX))/share/doc/pto
install: all ## into PREFIX, below DESTDIR
	@install -d $(INSTALLED)/bin $(INSTALLED)/lib/pkgconfig $(INSTALLED)/lib/cmake/pto $(INSTALLED)/lib/pto/programs/errors $(INSTALLED)/include/pto
	@install -m 755 $(B)/ptosim $(INSTALLED)/bin
	@for l in libpto libptotools; do \
	  install -m 644 $(B)/$$l.so.$(VERSION) $(INSTALLED)/lib && cp -P $(B)/$$l.so.$(MAJOR) $(B)/$$l.so $(INSTALLED)/lib || exit 1; done
	@for f in $(MPI_PLUG_IN); do install -m 644 $$f $(INSTALLED)/lib/pto || exit 1; done
	@install -m 644 include/pto/*.h include/pto/*.hpp $(INSTALLED)/include/pto
	@for f in $(ADOPT_FILES); do install -D -m 644 $$f $(INSTALLED)/lib/pto/$$f || exit 1; done
	@if scripts/python >/dev/null; then $(MAKE) -s --no-print-directory python && install -m 644 $(PYTHON_PACKAGE) $(INSTALLED)/lib/pto/python; fi
	@for p in $(PROGRAMS:$(B)/programs/%=%); do install -m 644 $(B)/programs/$$p $(INSTALLED)/lib/pto/programs/$$p || exit 1; done
	$(file >$(B)/pto.pc,$(call PKGCONFIG,pto,PTO task runtime and chip simulator))
	$(file >$(B)/ptotools.pc,$(call PKGCONFIG,ptotools,what judges programs of the PTO task runtime,pto = $(VERSION)))
	@install -m 644 $(B)/pto.pc $(B)/ptotools.pc $(INSTALLED)/lib/pkgconfig
	$(file >$(B)/pto-config.cmake,$(CMAKE_CONFIG))
	$(file >$(B)/pto-config-version.cmake,$(CMAKE_VERSION))
	@install -m 644 $(B)/pto-config.cmake $(B)/pto-config-version.cmake $(INSTALLED)/lib/cmake/pto
	@for f in $(PAGES); do install -D -m 644 $$f $(DESTDIR)$(PAGES_FOLDER)/$$f || exit 1; done
	@install -d $(INSTALLED)/share/pto/chips $(INSTALLED)/share/pto/kernel_times $(INSTALLED)/share/man/man1
	@install -m 644 sim/chips/*.ini $(INSTALLED)/share/pto/chips
	@install -m 644 sim/kernel_times/*.csv $(INSTALLED)/share/pto/kernel_times
	@install -D -m 644 scripts/completion.bash $(INSTALLED)/share/bash-completion/completions/ptosim
	@scripts/man_pages $(B)/ptosim $(INSTALLED)/share/man/man1 $(PAGES_FOLDER)
	@echo "installed in $(INSTALLED)"
# Whatever install would put there.
uninstall: ## removes what install put into PREFIX
	@rm -rf $(B)/installed && $(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(B)/installed) >/dev/null
	@cd $(B)/installed && find . ! -type d -exec rm -f '$(DESTDIR)/{}' ';' && \
	  find . -depth -type d -path '*/pto*' -exec rmdir --ignore-fail-on-non-empty '$(DESTDIR)/{}' ';' 2>/dev/null; rm -rf $(abspath $(B)/installed)
	@echo "removed from $(INSTALLED)"
deb: all ## Debian packages libpto0, libpto-dev and ptosim, in build/deb
	@scripts/deps --deb
	@MAKE_VARIANT='CC="$(CC)" SAN=$(SAN) BUILD=$(BUILD) PLAIN=$(PLAIN)' scripts/deb $(B) $(VERSION)

# For clangd and other tools that read how a file is compiled.
compile_commands.json: $(B)/flags ## how each source is compiled
	@for f in $(ALL_SRC); do \
	  printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$$comma" '$(CURDIR)' $$f '$(CC) $(strip $(ALL_CFLAGS))' $$f; comma=,; \
	done | sed '1s/^$$/[/; $$s/$$/]/' >$@

clean: ## removes build and its variants
	rm -rf build build-*
help: ## this list
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "make %-16s%s\n", $$1, $$2 }' Makefile
	@sed -n '/^$$/q; /^# Variants/,$$s/^# \{0,1\}//p' Makefile
