"""`sparc-search evaluate train-reader`: the cross-encoder that retrieve-and-read is measured with."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import ModelNotFound, UsageError

from .options import json_option
from .terminal import note, progress, result, result_json
from .train import base_folder, require_training

if TYPE_CHECKING:
    from sparc_search.evaluation.reader_data import Example
    from sparc_search.evaluation.reader_training import ReaderBody
    from sparc_search.model.tokenizer import WordPieces
    from sparc_search.squad import SquadParagraph

_LONGEST_ANSWER = 20


@click.command("train-reader")
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--base",
    required=True,
    help="Base weights: a name of `model bases`, a transformers folder (BERT), or a SPARC model for its body.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of the reader.")
@click.option(
    "--questions", default=30_000, show_default=True, type=click.IntRange(1), help="Most questions to train on."
)
@click.option(
    "--negatives",
    default=0.3,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of them that also see a wrong passage.",
)
@click.option(
    "--epochs", default=1.0, show_default=True, type=click.FloatRange(0, min_open=True), help="Passes over them."
)
@click.option("--batch", default=12, show_default=True, type=click.IntRange(1), help="Questions in a step.")
@click.option("--rate", default=6e-5, show_default=True, help="Learning rate of the body.")
@click.option(
    "--max-tokens",
    default=320,
    show_default=True,
    type=click.IntRange(8),
    help="Word pieces of question and passage together.",
)
@click.option(
    "--tune",
    default=150,
    show_default=True,
    type=click.IntRange(0),
    help="Questions held out to choose how much BM25 counts.",
)
@click.option("--precision", default="fp32", show_default=True, help="How the ONNX file stores its weights.")
@click.option("--seed", default=45, show_default=True, help="Decides what chance decides.")
@click.option("--threads", default=0, help="Processor threads; 0 lets torch choose.")
@json_option
def train_reader(data: tuple[Path, ...], base: str, out: Path, as_json: bool, **options: Any) -> None:
    """Train the reader of the retrieve-and-read baseline.

    DATA are files in SQuAD's format. The reader is a cross-encoder on the same kind of body as the model it is
    compared with: it reads question and passage together, for every question anew.
    """
    require_training()
    from sparc_search.evaluation import reader_data, reader_training
    from sparc_search.model.tokenizer import WordPieces

    folder = base_folder(base)
    if not (folder / "config.json").is_file():
        raise ModelNotFound(f"no model in {folder}", "sparc-search model fetch-base NAME gets one")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config = config.get("body", config)  # a SPARC model's
    reader_training.set_threads(options["threads"])
    pieces = WordPieces.load(folder)
    shape = window_of(config, options["max_tokens"])
    kept, held = reader_data.apart(reader_data.read_training(data), options["tune"], options["seed"])
    examples = examples_of(kept, pieces, shape, options)
    if not examples:
        raise UsageError("no question with an answer was found in the training data")
    network = reader_training.load_base(folder, config)
    began = time.monotonic()
    loss = train_with_bar(network, examples, pieces, shape["question_window"], options)
    training: dict[str, Any] = {
        "base": folder.name,
        "data": [path.name for path in data],
        "questions": len(examples),
        "negatives": sum(example.negative is not None for example in examples),
        "seconds": round(time.monotonic() - began, 1),
        "last_loss": round(loss, 4),
        "settings": asdict(settings_of(options)),
    }
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "tokenizer.json", out / "tokenizer.json")
    reader_training.export(network, config, out / "reader.onnx", options["precision"])
    record = write_tuned(out, config, shape, training, [*kept, *held], held)
    result_json(record) if as_json else result(summary(record, out))


def window_of(config: dict[str, Any], most: int) -> dict[str, int]:
    """The room for question and passage."""
    window = min(most, int(config.get("max_position_embeddings", most)))
    return {"window": window, "question_window": min(64, window // 2), "longest_answer": _LONGEST_ANSWER}


def settings_of(options: dict[str, Any]) -> Any:
    """The settings of the loop."""
    from sparc_search.evaluation.reader_training import ReaderSettings

    return ReaderSettings(**{name: options[name] for name in ("epochs", "batch", "rate", "seed")})


def examples_of(
    paragraphs: list[SquadParagraph], pieces: WordPieces, shape: dict[str, int], options: dict[str, Any]
) -> list[Example]:
    """Questions with right windows and wrong passages."""
    from sparc_search.evaluation.bm25 import Bm25
    from sparc_search.evaluation.reader_data import as_passages, chosen, examples, negatives

    asked = chosen(paragraphs, options["questions"], options["seed"])
    wrong = negatives(asked, Bm25(as_passages(paragraphs)), options["negatives"], options["seed"]) if asked else {}
    note(f"{len(asked):,} questions on {len(paragraphs):,} paragraphs, {len(wrong):,} with a wrong passage")
    return examples(asked, wrong, paragraphs, pieces, shape["window"] - shape["question_window"] - 1)


def train_with_bar(
    network: ReaderBody, examples: list[Example], pieces: WordPieces, question_window: int, options: dict[str, Any]
) -> float:
    """Train; the mean loss of the last steps."""
    from sparc_search.evaluation.reader_training import train

    losses: list[float] = []
    with progress() as bar:
        task = bar.add_task("training", total=None)

        def tell(step: int, steps: int, loss: float) -> None:
            losses.append(loss)
            bar.update(task, completed=step, total=steps, description=f"loss {loss:.2f}")
            if step % 250 == 0:
                note(f"step {step} of {steps}: loss {sum(losses[-250:]) / 250:.3f}")

        train(network, examples, pieces, settings_of(options), question_window, tell)
    last = losses[-50:]
    return sum(last) / len(last)


def write_tuned(
    out: Path,
    config: dict[str, Any],
    shape: dict[str, int],
    training: dict[str, Any],
    paragraphs: list[SquadParagraph],
    held: list[SquadParagraph],
) -> dict[str, Any]:
    """Choose the mix on the held-out questions, over all paragraphs, and write the card."""
    from sparc_search.evaluation.bm25 import Bm25
    from sparc_search.evaluation.reader import open_reader
    from sparc_search.evaluation.reader_data import as_passages, chosen
    from sparc_search.evaluation.reader_files import write_card
    from sparc_search.evaluation.reader_tuning import best_mix, tuned_mix

    card = write_card(out, body=config, **shape, mix=0.0, training=training)
    asked = [one.question for one in chosen(held, 10**9, 0)]
    if asked:
        found = tuned_mix(open_reader(out), Bm25(as_passages(paragraphs)), asked)
        tuning = {"questions": len(asked), "exact_match_by_mix": {str(mix): value for mix, value in found.items()}}
        card = write_card(out, body=config, **shape, mix=best_mix(found), training={**training, "tuning": tuning})
    return asdict(card)


def summary(record: dict[str, Any], out: Path) -> str:
    """What a person wants to know at the end."""
    training = record["training"]
    return (
        f"{training['questions']:,} questions in {training['seconds']:,.0f} s, loss {training['last_loss']:.2f}, "
        f"BM25 counts {record['mix']}\n"
        f"The reader is in {out}: sparc-search evaluate baseline QUESTIONS --reader {out}"
    )
