# SPDX-License-Identifier: MIT
# Variants live in folders of their own: SAN=address,undefined | SAN=thread, BUILD=debug, CC=clang.
CC ?= cc
VARIANT := $(strip $(if $(SAN),$(subst $(comma),-,$(SAN))) $(if $(filter debug,$(BUILD)),debug) $(if $(findstring clang,$(CC)),clang))
comma := ,
empty :=
space := $(empty) $(empty)
B := build$(if $(VARIANT),-$(subst $(space),-,$(subst $(comma),-,$(VARIANT))))

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
CPPFLAGS += -I. -Iinclude -D_GNU_SOURCE
ALL_CFLAGS = -std=c17 $(WARN) -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
LDLIBS := -lhwloc -lnuma -linih -ljansson -lpthread -ldl -lm
ifneq ($(SAN)$(filter debug,$(BUILD)),)
ALL_CFLAGS += -DPTO_ASSERT_LEVEL=2
endif

LIB_SRC := $(filter-out %_test.c,$(wildcard runtime/*/*.c sim/*.c kernels/*.c orchestration/loader/*.c device/*.c graph/*.c))
CLI_SRC := $(filter-out %_test.c,$(wildcard cli/*.c))
TEST_SRC := $(wildcard runtime/*/*_test.c sim/*_test.c kernels/*_test.c orchestration/loader/*_test.c cli/*_test.c tests/*_test.c)
PROGRAM_SRC := $(wildcard orchestration/*.c orchestration/errors/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/obj/%.o)
TESTS := $(TEST_SRC:%.c=$(B)/tests/%)
PROGRAMS := $(PROGRAM_SRC:orchestration/%.c=$(B)/programs/%.so)

.PHONY: all test lint clean programs
all: $(B)/libpto.so programs $(if $(CLI_SRC),$(B)/ptosim)
programs: $(PROGRAMS)
$(B)/libpto.so: $(LIB_OBJ)
	$(CC) $(ALL_CFLAGS) -shared -o $@ $^ $(LDFLAGS) $(LDLIBS)
$(B)/libpto-internal.a: $(LIB_OBJ)
	rm -f $@; $(AR) rcs $@ $^
$(B)/ptosim: $(CLI_OBJ) $(LIB_OBJ)
	$(CC) $(ALL_CFLAGS) -rdynamic -o $@ $^ $(LDFLAGS) $(LDLIBS)
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/programs/%.so: orchestration/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -shared -o $@ $< -lm
$(B)/tests/%: %.c $(B)/libpto-internal.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(B)/libpto-internal.a $(LDFLAGS) $(LDLIBS) -lcmocka
test: all $(TESTS)
	@set -e; for t in $(TESTS); do echo "== $$t"; $$t; done
clean:
	rm -rf build build-*
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
