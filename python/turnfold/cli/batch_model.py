"""The model that a batch asks, and what it may use: from the options of the command line."""

import argparse
import math
import os
from typing import TYPE_CHECKING, Final

from turnfold.cli.faults import UsageError
from turnfold.cli.split import whole_number
from turnfold.model.price import Price

if TYPE_CHECKING:
    from turnfold.batch.limits import BatchLimits
    from turnfold.summarizers.anthropic import Anthropic
    from turnfold.summarizers.openai_compatible import OpenAICompatible

_CONCURRENCY: Final = 16
_READ_AHEAD: Final = 16
_DEADLINE_SECONDS: Final = 120.0
_FOR_A_MODEL: Final = ("base_url", "requests_per_minute", "tokens_per_minute", "max_cost")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a model and its limits."""
    parser.add_argument("--summarizer", metavar="API:MODEL", help="openai:MODEL or anthropic:MODEL; default: by rule")
    parser.add_argument("--base-url", metavar="URL", help="of a server with the same API")
    parser.add_argument(
        "--deadline-seconds",
        metavar="S",
        type=amount,
        default=_DEADLINE_SECONDS,
        help="for a transcript; default: 120",
    )
    parser.add_argument("--requests-per-minute", metavar="N", type=_positive, help="to the model")
    parser.add_argument("--tokens-per-minute", metavar="N", type=_positive, help="prompts and replies together")
    parser.add_argument("--price", metavar="IN,OUT", type=_price, help="of a million tokens of prompts and of replies")
    parser.add_argument("--max-cost", metavar="M", type=amount, help="spend no more than M at that price")


def _positive(text: str) -> int:
    value = whole_number(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def amount(text: str) -> float:
    """Read a number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"a number of at least 0 is needed, not {text[:40]!r}")
    return value


def _price(text: str) -> Price:
    prompt, comma, reply = text.partition(",")
    if not comma:
        raise argparse.ArgumentTypeError("two numbers are needed, as in 0.15,0.60")
    return Price(amount(prompt), amount(reply))


def limits_of(options: argparse.Namespace) -> "BatchLimits":
    """Return the limits that the options describe."""
    from turnfold.batch.limits import BatchLimits

    concurrency = options.concurrency
    if concurrency is None:
        concurrency = os.cpu_count() or 1 if options.summarizer is None else _CONCURRENCY
    elif concurrency == 0:
        raise UsageError("--concurrency must be at least 1")
    if options.max_cost is not None and options.price is None:
        raise UsageError("--max-cost needs a --price")
    return BatchLimits(
        concurrency=concurrency,
        ahead=_READ_AHEAD,
        item_seconds=options.deadline_seconds,
        deadline_seconds=options.stop_after_seconds,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
        most_spent=options.max_cost,
        price=options.price,
    )


def hosted_of(options: argparse.Namespace) -> "OpenAICompatible | Anthropic | None":
    """Return the model that the options name. Used as a context manager, it keeps its connections."""
    if options.summarizer is None:
        for name in _FOR_A_MODEL:
            if getattr(options, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} is for a --summarizer")
        return None
    api, colon, model = options.summarizer.partition(":")
    if not colon or not model or api not in {"openai", "anthropic"}:
        raise UsageError(f"--summarizer {options.summarizer[:40]}: say openai:MODEL or anthropic:MODEL")
    if api == "openai":
        from turnfold.summarizers.openai_compatible import OpenAICompatible

        return OpenAICompatible(model, base_url=options.base_url)
    from turnfold.summarizers.anthropic import Anthropic

    return Anthropic(model, base_url=options.base_url)
