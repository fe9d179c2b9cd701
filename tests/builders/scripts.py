"""Programs in Python that a test puts in the place of another one."""

import shlex
import sys

PYTHON = f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n' '''\n"
"""How a script begins that this Python runs: a line with #! cannot hold a path with a space in it."""
