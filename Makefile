# Needs Python 3.11 or newer and make; everything else goes into .venv.
#
#   make serve        build both languages and serve them at http://127.0.0.1:8000/
#   make book         build both languages into _build/html/ and _build/html/zh/
#   make test         everything that CI runs
#   make browser      find the browser for the tests, or install it (Debian)
#   make lab          the chapters in JupyterLab
#   make calibrate    fit the constants of the engines again, and their errors
#   make bench        time the estimates, the build and the pages
#   make record-gpu   time the demo kernels on this machine's GPU (see demos.mk)
#   make catalogues   update locale/ after a change of the English text
#   make clean        remove what was built

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name) 2>/dev/null)))
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# A constraint in the machine's own pip configuration must not change what is installed
# (an empty variable would not override it); the address of its package index stays.
PIP := PIP_CONSTRAINT=/dev/null $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := serve
include demos.mk

.PHONY: serve book test lint browser lab calibrate bench catalogues clean
.DELETE_ON_ERROR:

serve: book
	@echo "http://127.0.0.1:$(PORT)/ (English), http://127.0.0.1:$(PORT)/zh/ (Chinese); Ctrl-C stops"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

book: $(STAMP)
	$(BIN)/python tools/build.py

test: $(STAMP) lint book
	$(BIN)/python tools/build.py --gettext
	CHROMIUM="$$(bash tools/find_browser.sh)" $(BIN)/python -m pytest -n 2 --dist worksteal tests
	$(BIN)/python -m pytest -n 2 --dist loadscope --nbval chapters/*.ipynb
	$(MAKE) test-demos

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

browser:
	@bash tools/find_browser.sh

lab: $(STAMP)
	$(BIN)/jupyter lab --notebook-dir=. chapters

calibrate: $(STAMP)
	$(BIN)/python tools/calibrate.py
	$(BIN)/python tools/checksums.py

bench: $(STAMP)
	CHROMIUM="$$(bash tools/find_browser.sh)" $(BIN)/python tools/bench.py

catalogues: $(STAMP)
	$(BIN)/python tools/build.py --gettext
	$(BIN)/sphinx-intl update --pot-dir _build/gettext --locale-dir locale --language zh_CN --line-width -1
	$(BIN)/python tools/tidy_catalogues.py

$(STAMP): requirements.txt constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; set PYTHON=..." >&2; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV) || { test "$$(id -u)" = 0 && apt-get update -qq && \
	  apt-get install -qq -y python3-venv && $(PYTHON) -m venv $(VENV); } || \
	  { echo "Python's venv module is missing: sudo apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing the packages of requirements.txt (about a minute)"
	@$(PIP) install -qq --requirement requirements.txt
	touch $@

clean:
	rm -rf _build
	find widgets tests tools locale -name __pycache__ -prune -exec rm -rf {} +
	find locale -name '*.mo' -delete
