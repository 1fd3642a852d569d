# The demo notebooks have an environment of their own: PyTorch and Triton are large, and the
# book's build does without them. Included by the Makefile.
#
#   make test-demos   run every demo on the CPU and compare what its checks print
#   make store-demos  run them and store the outputs that the pages show
#   make record-gpu   time the kernels on this machine's GPU, into data/recorded/
#   make demos-env    only make the environment

DEMOS_VENV := .venv-demos
DEMOS_STAMP := $(DEMOS_VENV)/installed
DEMOS_PYTHON := $(DEMOS_VENV)/bin/python
# On the CPU also where there is a GPU: the stored outputs are those of the interpreter.
DEMOS_CPU := TRITON_INTERPRET=1 CUDA_VISIBLE_DEVICES=

.PHONY: demos-env test-demos store-demos record-gpu

demos-env: $(DEMOS_STAMP)

test-demos: $(DEMOS_STAMP)
	$(DEMOS_CPU) $(DEMOS_PYTHON) -m pytest -q --nbval --nbval-current-env chapters/demos

store-demos: $(DEMOS_STAMP)
	$(DEMOS_CPU) $(DEMOS_PYTHON) chapters/demos/store.py

record-gpu: $(DEMOS_STAMP)
	$(DEMOS_PYTHON) tools/record_gpu.py

$(DEMOS_STAMP): chapters/demos/requirements.txt chapters/demos/constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed" >&2; exit 1; }
	rm -rf $(DEMOS_VENV)
	$(PYTHON) -m venv $(DEMOS_VENV)
	@echo '*' > $(DEMOS_VENV)/.gitignore
	@echo "Installing the packages of the demos (some minutes: PyTorch is large)"
	@PIP_CONSTRAINT=/dev/null $(DEMOS_PYTHON) -m pip --disable-pip-version-check install -qq \
	  --requirement chapters/demos/requirements.txt
	touch $@
