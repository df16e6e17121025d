"""The `redraft` program: its verbs, its exit codes and how errors are shown."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from redraft._core.errors import RedraftError

from .verbs import bench, build, cache, compile, demo, doctor, export, generate, inspect, prior, verify, vocab

_INTERRUPTED = 130


class ErrorShowingGroup(TyperGroup):
    """Turns what redraft raises on purpose into two lines on stderr and an exit code; `--debug` lets it
    through.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except RedraftError as error:
            if _debug(ctx):
                raise
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(_INTERRUPTED) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if _debug(ctx) or not _is_fault(error):
                raise
            print(f"error: unexpected {type(error).__name__}: {error}", file=sys.stderr)
            print("hint: run it again with --debug for the traceback, and report it", file=sys.stderr)
            raise typer.Exit(1) from None


def _debug(ctx: Any) -> bool:
    return bool(ctx.params.get("debug"))


def _is_fault(error: Exception) -> bool:
    """Whether it is neither a usage error, which typer shows itself, nor a reader that closed our pipe."""
    return not hasattr(error, "exit_code") and not isinstance(error, BrokenPipeError)


app = typer.Typer(
    cls=ErrorShowingGroup,
    name="redraft",
    help="Compile a language model and a pruned drafter, and decode losslessly with both.",
    epilog="Start with `redraft doctor`, then `redraft compile RECIPE` and `redraft generate BUNDLE PROMPT`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from redraft import __version__

        print(f"redraft {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and debug messages.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show warnings and errors only.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    level = logging.DEBUG if debug else logging.WARNING if quiet else logging.INFO
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s", force=True)
    logging.getLogger("redraft").setLevel(level)


for _verb in (compile, generate, demo, bench, verify, export, build, inspect, doctor):
    _verb.register(app)
for _group in (vocab, prior, cache):
    app.add_typer(_group.app)


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit: 0 ok, 1 a failed check or an error, 2 wrong usage, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(args=_global_options_first(given), prog_name="redraft")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _global_options_first(arguments: list[str]) -> list[str]:
    """`redraft VERB … --debug` means `redraft --debug VERB …`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    moved = [word for word in arguments[:end] if word in ("--debug", "--quiet", "-q")]
    kept = [word for word in arguments[:end] if word not in ("--debug", "--quiet", "-q")]
    return moved + kept + arguments[end:]
