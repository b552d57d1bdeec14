# pocketload: `make help` lists the targets.
#
# Everything is built into $(BUILD). Objects depend on the flags file and, through -MMD, on the headers that they include.

BUILD ?= build
CC ?= cc
PREFIX ?= /usr/local
DESTDIR ?=
WERROR ?=
OPTIMISE ?= -O2 -g
SANITIZE ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VERSION := 0.1.0

FOLDERS := base policies workloads sim results
PACKAGES := sqlite3 inih jansson libxxhash libzstd zlib

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes $(if $(WERROR),-Werror)
CPPFLAGS_ALL = -I. -D_GNU_SOURCE -DPOCKETLOAD_VERSION='"$(VERSION)"' \
	$(shell pkg-config --cflags $(PACKAGES) 2>/dev/null) $(CPPFLAGS)
CFLAGS_ALL = -std=c17 $(OPTIMISE) -ffp-contract=off -pthread $(WARNINGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)
LDFLAGS_ALL = -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
LDLIBS_ALL = $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -ldl -lm $(LDLIBS)

# V=1 shows the commands; otherwise one line a target.
SAY = $(if $(V),,@echo '  $(@)';)

# A folder's library; each test links those that its folder may use.
sources = $(filter-out sim/replay_kernel.c,$(sort $(wildcard $(1)/*.c)))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1))) $(if $(filter sim,$(1)),$(KERNELS))
# The replay's loop once for each eviction policy, with the policy inlined.
EVICTIONS := $(shell sed -n 's/^EVICTION(\([a-z0-9_]*\))$$/\1/p' policies/built_in.inc)
KERNELS = $(EVICTIONS:%=$(BUILD)/sim/kernel/%.o)
library = $(BUILD)/lib$(1).a
LIBRARIES := $(foreach f,$(FOLDERS),$(call library,$(f)))
# Right to left, as the linker wants them.
libraries_of = $(if $(filter base,$(1)),$(call library,base),\
	$(if $(filter policies,$(1)),$(foreach f,policies base,$(call library,$(f))),\
	$(if $(filter workloads,$(1)),$(foreach f,workloads policies base,$(call library,$(f))),\
	$(if $(filter sim,$(1)),$(foreach f,sim workloads policies base,$(call library,$(f))),\
	$(foreach f,results sim workloads policies base,$(call library,$(f)))))))

PROGRAM := $(BUILD)/pocketload
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/*.c))
WHOLE_SOURCES := $(sort $(wildcard tests/reference/test_*.c tests/truth/test_*.c))
TEST_HELPERS := bench/traces.c $(filter-out $(WHOLE_SOURCES),$(sort $(wildcard tests/reference/*.c tests/truth/*.c)))
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/%.t,$(UNIT_SOURCES) $(WHOLE_SOURCES))
SHELL_TESTS := $(sort $(wildcard tests/cli/*.t tests/style/*.t))
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(FUZZ_SOURCES))
BENCH_SOURCES := $(sort $(wildcard bench/bench_*.c))
ALL_C := $(sort $(wildcard $(addsuffix /*.[ch],$(FOLDERS) cli bench policies/example tests/unit/* tests/reference tests/truth tests/kernel tests/fuzz)))

.PHONY: all needs help deps demo validation test check kernel-check sanitize lint format format-check bench bench-programs fuzz fuzz-programs fuzz-objects install uninstall clean FORCE
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

all: $(PROGRAM) ## build build/pocketload

# Says what seems to be missing before a compiler says it of some header.
needs:
	@NO_INSTALL=1 sh .ci/deps build || true

help: ## list the targets
	@sed -n 's/^\([a-z_.-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

deps: ## install what is missing (NO_INSTALL=1: only say what)
	@sh .ci/deps build

$(BUILD)/flags: FORCE | needs
	@mkdir -p $(BUILD)
	@echo '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDLIBS_ALL)' | cmp -s - $@ || \
		echo '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDLIBS_ALL)' > $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(call library,sim): policies/built_in.inc
$(KERNELS): $(BUILD)/sim/kernel/%.o: sim/replay_kernel.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -DKERNEL_FILE='"policies/$*.c"' -Dpolicy_$*=kernel_policy_$* \
		-DKERNEL_POLICY=kernel_policy_$* -DKERNEL_NAME=replay_kernel_$* -MMD -MP -c $< -o $@

define library_rule
$(call library,$(1)): $(call objects,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(SAY)$$(AR) rcs $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call library_rule,$(f))))

# Where an installed program finds its profiles: a flag of one file, so that another PREFIX does not build all anew.
$(BUILD)/cli/profiles.o: CPPFLAGS_ALL += -DPOCKETLOAD_DATA_DIR='"$(PREFIX)/share/pocketload"'
$(BUILD)/cli/profiles.o: $(BUILD)/prefix
$(BUILD)/prefix: FORCE
	@mkdir -p $(BUILD)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@

# The schema is a file of its own, and a string in the program.
$(BUILD)/results/store.o: CPPFLAGS_ALL += -I$(BUILD)/generated
$(BUILD)/generated/schema.inc: results/schema.sql
	@mkdir -p $(@D)
	$(SAY)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(BUILD)/results/store.o: $(BUILD)/generated/schema.inc

# So are the policies to start from, one string a line: a compiler need not take long ones.
TEMPLATES := $(patsubst policies/example/%.c,$(BUILD)/generated/%.inc,$(wildcard policies/example/template_*.c))
$(BUILD)/generated/template_%.inc: policies/example/template_%.c
	@mkdir -p $(@D)
	$(SAY)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n",/' $< > $@
$(BUILD)/cli/policy_new.o: CPPFLAGS_ALL += -I$(BUILD)/generated -DPOCKETLOAD_PREFIX='"$(PREFIX)"'
$(BUILD)/cli/policy_new.o: $(TEMPLATES) $(BUILD)/prefix

$(PROGRAM): $(call objects,cli) $(call libraries_of,results)
	$(SAY)$(CC) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@

# ---- Tests ----
define unit_rule
$(BUILD)/tests/unit/$(1)/%.t: $(BUILD)/tests/unit/$(1)/%.o $(call libraries_of,$(1))
	$$(SAY)$$(CC) $$(LDFLAGS_ALL) $$^ $$(LDLIBS_ALL) $$(shell pkg-config --libs cmocka) -o $$@
endef
$(foreach f,$(FOLDERS),$(eval $(call unit_rule,$(f))))

# Reference and truth tests share helpers (the naive twins, readers of truth files).
TEST_HELPERS_LIBRARY := $(BUILD)/tests/libhelpers.a
$(TEST_HELPERS_LIBRARY): $(patsubst %.c,$(BUILD)/%.o,$(TEST_HELPERS))
	@mkdir -p $(@D)
	@rm -f $@
	$(SAY)$(AR) rcs $@ $^
define whole_rule
$(BUILD)/tests/$(1)/%.t: $(BUILD)/tests/$(1)/%.o $(TEST_HELPERS_LIBRARY) $(call libraries_of,results)
	$$(SAY)$$(CC) $$(LDFLAGS_ALL) $$^ $$(LDLIBS_ALL) $$(shell pkg-config --libs cmocka) -o $$@
endef
$(foreach f,reference truth,$(eval $(call whole_rule,$(f))))

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS) $(PROGRAM)

# cmocka and the shell tests print TAP; prove runs both, and tests/tap tells which tests were skipped. POCKETLOAD is the
# program under test. OTHER, if set, is another compiler's: tests/cli/compilers.t compares the two.
OTHER ?=
check: $(TEST_PROGRAMS) $(PROGRAM) ## run the tests of this build
	@rm -f $(BUILD)/skipped
	@CMOCKA_MESSAGE_OUTPUT=TAP POCKETLOAD=$(abspath $(PROGRAM)) POCKETLOAD_OTHER=$(abspath $(OTHER)) \
		POCKETLOAD_SKIPPED=$(BUILD)/skipped BUILD=$(BUILD) CC='$(CC)' \
		prove -j $(JOBS) --timer --exec 'sh tests/tap' $(TEST_PROGRAMS) $(SHELL_TESTS); status=$$?; \
		if [ -s $(BUILD)/skipped ]; then echo "$$(wc -l <$(BUILD)/skipped) skipped:"; LC_ALL=C sort $(BUILD)/skipped; fi; \
		exit $$status

# The walk runs inside a control group: nothing of ours is linked to it.
WALK := $(BUILD)/tests/kernel/walk
$(WALK): $(BUILD)/tests/kernel/walk.o
	$(SAY)$(CC) $(LDFLAGS_ALL) $^ -o $@
kernel-check: $(PROGRAM) $(WALK) ## a real kernel's page faults beside the simulation's (root)
	@POCKETLOAD=$(PROGRAM) WALK=$(WALK) sh tests/kernel/check

sanitize: ## run the tests under the address and undefined-behaviour sanitizers
	$(MAKE) --no-print-directory check BUILD=$(BUILD)/sanitize OPTIMISE='-O1 -g' SANITIZE=address,undefined

lint: ## build all with gcc and clang, warnings as errors, and check the format
	$(MAKE) --no-print-directory all test-programs bench-programs BUILD=$(BUILD)/gcc CC=gcc WERROR=1
	$(MAKE) --no-print-directory all test-programs bench-programs fuzz-objects BUILD=$(BUILD)/clang CC=clang WERROR=1
	$(MAKE) --no-print-directory format-check

format: ## format the code
	@clang-format -i $(ALL_C)

format-check: ## check the format
	@clang-format --dry-run -Werror $(ALL_C)

test: ## install what is missing, then lint, and test under sanitizers, with gcc and with clang
	@sh .ci/deps test
	$(MAKE) --no-print-directory -j $(JOBS) lint
	$(MAKE) --no-print-directory -j $(JOBS) sanitize
	$(MAKE) --no-print-directory -j $(JOBS) check BUILD=$(BUILD)/gcc CC=gcc WERROR=1
	$(MAKE) --no-print-directory -j $(JOBS) check BUILD=$(BUILD)/clang CC=clang WERROR=1 OTHER=$(BUILD)/gcc/pocketload

demo: ## install what is missing, build, and run four policies at four budgets
	@sh .ci/deps demo
	$(MAKE) --no-print-directory -j $(JOBS) all
	@mkdir -p results/demo
	@rm -f results/demo/demo.db
	$(PROGRAM) run configs/demo.ini --db results/demo/demo.db
	$(PROGRAM) plot results/demo/demo.db --out results/demo

validation: $(PROGRAM) ## write docs/validation.md anew: every model against the measurements of configs/truth
	$(PROGRAM) validate --format markdown >$(BUILD)/validation.md || [ $$? = 1 ]
	mv $(BUILD)/validation.md docs/validation.md

# ---- Benchmarks ----
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/bench/traces.o $(call libraries_of,results)
	$(SAY)$(CC) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@
BENCH_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(BENCH_SOURCES))
bench-programs: $(BENCH_PROGRAMS)
bench: bench-programs $(PROGRAM) ## measure the hot paths beside a bare LRU
	@for b in $(BENCH_PROGRAMS); do $$b || exit 1; done

# ---- Fuzzers: clang's libFuzzer, each parser on its own ----
FUZZ_SECONDS ?= 30
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(call libraries_of,results)
	$(SAY)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer $^ $(LDLIBS_ALL) -o $@
fuzz-programs: $(FUZZ_PROGRAMS)
fuzz-objects: $(FUZZ_PROGRAMS:=.o)
fuzz: ## fuzz every parser for FUZZ_SECONDS (30) each
	@sh .ci/deps test
	$(MAKE) --no-print-directory fuzz-programs BUILD=$(BUILD)/fuzz CC=clang OPTIMISE='-O1 -g' SANITIZE=address,undefined CFLAGS='-fsanitize=fuzzer-no-link'
	@for f in $(notdir $(FUZZ_PROGRAMS)); do mkdir -p $(BUILD)/fuzz/corpus/$$f; \
		$(BUILD)/fuzz/tests/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/corpus/$$f || exit 1; done

# ---- Install ----
install: all ## install under PREFIX (/usr/local), below DESTDIR
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/pocketload/policies \
		$(DESTDIR)$(PREFIX)/share/pocketload/devices $(DESTDIR)$(PREFIX)/share/pocketload/models \
		$(DESTDIR)$(PREFIX)/share/pocketload/truth \
		$(DESTDIR)$(PREFIX)/share/pocketload/examples $(DESTDIR)$(PREFIX)/share/doc/pocketload
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/pocketload
	install -m 644 policies/policy.h $(DESTDIR)$(PREFIX)/include/pocketload/policies/
	install -m 644 configs/devices/*.ini $(DESTDIR)$(PREFIX)/share/pocketload/devices/
	install -m 644 configs/models/*.ini $(DESTDIR)$(PREFIX)/share/pocketload/models/
	install -m 644 configs/truth/*.csv configs/truth/*.txt $(DESTDIR)$(PREFIX)/share/pocketload/truth/
	install -m 644 policies/example/mru.c configs/quickstart.ini configs/example-trace.csv $(DESTDIR)$(PREFIX)/share/pocketload/examples/
	install -m 644 README.md LICENSE docs/*.md docs/*.svg $(DESTDIR)$(PREFIX)/share/doc/pocketload/

uninstall: ## remove what install put there
	rm -rf $(DESTDIR)$(PREFIX)/bin/pocketload $(DESTDIR)$(PREFIX)/include/pocketload $(DESTDIR)$(PREFIX)/share/pocketload $(DESTDIR)$(PREFIX)/share/doc/pocketload

compile_commands.json: FORCE ## for editors and clang-tidy
	@{ echo '['; sep=''; for f in $(filter %.c,$(ALL_C)); do \
		printf '%s{"directory": "%s", "file": "%s", "arguments": ["cc", "-I.", "-D_GNU_SOURCE", "-std=c17", "-I$(BUILD)/generated", "-DPOCKETLOAD_VERSION=\\"$(VERSION)\\"", "-c", "%s"]}' "$$sep" "$(CURDIR)" $$f $$f; \
		sep=','; echo; done; echo ']'; } > $@

clean: ## remove what was built
	rm -rf $(BUILD) compile_commands.json

FORCE:

-include $(shell find $(BUILD) -name '*.d' -not -path '$(BUILD)/*/*/*/*/*' 2>/dev/null)
