# make run    does the main job on a real repository, visibly
# make test   everything that decides whether a change may land (under 15 minutes)
# make bench  measures, slowly, on clones: FLASK=path SYMPY=path, or REPOS="name=path ..."
# make bench-retrieve  measures what is found, make bench-context what context policies cost and give:
#                  REPOS="name=path ...", or ROWS="file.jsonl ..." CLONES=folder
# make bench-lifecycle  measures what views cost over their life: FLASK=path, or REPOS="name=path ..."
# make bench-relations  measures relations: REPOS="name=path ...", or CASES=file.jsonl CLONES=folder
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The CPU build of torch is 200 MB, the CUDA build several GB: ask for the former first.
TORCH ?= torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# Where the tests' language servers are, or are brought to.
NIBD_TEST_SERVERS ?= $(abspath $(VENV))/servers
export NIBD_TEST_SERVERS

.PHONY: setup run test lint types imports servers unit bench bench-relations bench-retrieve bench-context bench-lifecycle clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@echo "bringing torch and all else into $(VENV): about 1.5 GB, some minutes"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import torch' 2>/dev/null || \
	    $(BIN)/pip install --quiet --retries 0 --timeout 15 --index-url $(TORCH_INDEX) $(TORCH) 2>/dev/null || \
	    $(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[all]'
	touch $@

run: setup
	bench/tour.sh $(REPOSITORY)

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy bench daemon hooks ipc query repair stores systemd

imports: setup
	$(BIN)/lint-imports

# Language servers that pip has not: brought where they are missing, as far as this machine can.
servers: setup
	tests/servers.sh $(NIBD_TEST_SERVERS)

# Twice as many as processors, since most of a test is waiting for a process that it started.
WORKERS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# Collected once before, so that not every worker rewrites every module's assertions. The last lines name what
# was skipped, and why.
unit: servers
	$(BIN)/pytest --collect-only -q >/dev/null || true
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -q -rs

# Two at a time: mypy has one processor busy.
test: setup
	$(MAKE) --jobs=2 lint types imports unit

# BENCH passes options on, such as BENCH="--only hooks build --json figures.json".
REPOS ?= $(if $(FLASK),flask=$(FLASK)) $(if $(SYMPY),sympy=$(SYMPY))
BENCH ?=

bench: setup
	$(if $(strip $(REPOS)),,$(error give clones: make bench FLASK=path SYMPY=path, or REPOS="name=path ..."))
	$(BIN)/python -m nibd.bench maintain $(REPOS:%=--repository %) $(BENCH)

# TRANSITIONS=n, FAMILY=python, SERVERS="folder ..." (where language servers are) and BENCH narrow it.
CASES ?=
CLONES ?= .
SERVERS ?=
TRANSITIONS ?=
FAMILY ?=

bench-relations: setup
	$(if $(strip $(REPOS)$(CASES)),,$(error give clones: make bench-relations REPOS="name=path ..."))
	$(BIN)/python -m nibd.bench.relations $(REPOS:%=--repository %) $(SERVERS:%=--servers %) \
	    $(if $(CASES),--cases $(CASES) --clones $(CLONES)) $(if $(TRANSITIONS),--transitions $(TRANSITIONS)) \
	    $(if $(FAMILY),--family $(FAMILY)) $(BENCH)

# Views are kept in CACHE from run to run.
ROWS ?=
CACHE ?= $(HOME)/.cache/nibd-bench

bench-retrieve bench-context: setup
	$(if $(strip $(REPOS)$(ROWS)),,$(error give clones: make $@ REPOS="name=path ...", or ROWS="file ..."))
	$(BIN)/python -m nibd.bench.$(@:bench-%=%) $(REPOS:%=--repository %) \
	    $(if $(ROWS),$(ROWS:%=--rows %) --repositories $(CLONES)) --cache $(CACHE) $(BENCH)

bench-lifecycle: setup
	$(if $(strip $(REPOS)),,$(error give clones: make bench-lifecycle FLASK=path, or REPOS="name=path ..."))
	$(BIN)/python -m nibd.bench.lifecycle $(REPOS:%=--repository %) $(BENCH)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
