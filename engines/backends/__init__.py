"""One module or folder per backend; `redraft.engines.registry` names them."""
