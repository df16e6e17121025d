"""`redraft prior`: RDK priors."""

from __future__ import annotations

import typer

app = typer.Typer(name="prior", help="Make or look at an RDK prior.", no_args_is_help=True)
