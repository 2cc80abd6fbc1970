"""`sparc-search evaluate train-reader`: the cross-encoder that reads passages anew for each question."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import ModelNotFound, UsageError

from .options import PATH, json_option, option
from .terminal import note, progress, result, result_json
from .train import base_folder, begin, require_training, stop_on_signals, weighed_files, weight_option

if TYPE_CHECKING:
    from sparc_search.cross_encoder.data import Example, PlacedQuestion
    from sparc_search.cross_encoder.network import CrossEncoderNetwork
    from sparc_search.cross_encoder.training import CrossEncoderSettings, CrossEncoderTraining, Measures, ReaderProgress
    from sparc_search.model.tokenizer import WordPieces

_LONGEST_ANSWER = 20
_TITLE_WINDOW = 24
_READ = 10
"""Passages that are read for a question when the weight of BM25 is chosen."""


@click.command("train-reader")
@click.argument("data", nargs=-1, required=True, type=PATH)
@click.option(
    "--base",
    required=True,
    help="Base weights: a name of `model bases`, a transformers folder (BERT), a SPARC model for its body, or a reader "
    "that was trained before.",
)
@click.option("--out", required=True, type=PATH, help="Folder of the reader.")
@weight_option
@click.option("--questions", default=0, type=click.IntRange(0), help="Most questions to train on; 0 takes all.")
@option("--negatives", default=0.3, type=click.FloatRange(0, 1), help="Share of them that also see a wrong passage.")
@click.option("--epochs", type=click.FloatRange(0, min_open=True), help="Passes over them.  [default: 1]")
@click.option("--steps", type=click.IntRange(1), help="Optimiser steps, instead of --epochs.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint; more --steps or --epochs prolong the run.")
@click.option("--checkpoint", type=PATH, help="Folder of the checkpoint.  [default: OUT/checkpoint]")
@click.option(
    "--batch", default=0, type=click.IntRange(0), help="Most questions in a step; 0: what --batch-tokens holds."
)
@option("--batch-tokens", default=3072, type=click.IntRange(8), help="Word pieces in a step, padding included.")
@option("--rate", default=6e-5, help="Learning rate of the body.")
@option("--warm-up", default=100, help="Steps of rising rate.")
@option("--cool-down", default=400, help="Steps of falling rate at the end.")
@option("--average", default=0.995, help="How much of its past the averaged network keeps a step.")
@option("--dropout", default=0.1, type=click.FloatRange(0, 0.9), help="Share of states dropped.")
@option("--freeze-layers", default=0, type=click.IntRange(0), help="Layers from below that stay as they are.")
@option("--max-tokens", default=320, type=click.IntRange(8), help="Word pieces of question and passage together.")
@option("--hold-out", default=8, help="Articles of the first file kept for measuring.")
@option("--tune", default=150, type=click.IntRange(0), help="Questions on them that choose how much BM25 counts.")
@option("--evaluate-every", default=400, help="Steps between measurements on them.")
@option("--measure", default=400, help="Questions on them that are measured while it trains.")
@option("--checkpoint-every", default=200, help="Steps between checkpoints.")
@click.option("--log", type=PATH, help="File that gets a line of JSON every tenth step.")
@option(
    "--arithmetic", default="auto", help="Of training: fp32, bf16, or auto: bf16 where the processor is quick at it."
)
@option("--precision", default="fp32", help="How the ONNX file stores its weights.")
@option("--seed", default=45, help="Decides what chance decides.")
@click.option("--threads", default=0, help="Processor threads; 0 lets torch choose.")
@json_option
def train_reader(data: tuple[Path, ...], base: str, out: Path, as_json: bool, **options: Any) -> None:
    """Train a reader.

    DATA are files in SQuAD's format (v1.1 or v2.0; questions marked `is_impossible` teach it to find nothing). The
    reader is a cross-encoder on the same kind of body as the model it is compared with: it reads question and passage
    together, for every question anew. Kill it at any moment; --resume goes on as if nothing had happened.
    """
    require_training()
    from sparc_search.cross_encoder import training as loop
    from sparc_search.cross_encoder.data import apart, apart_by_chance, asked_in, sampled
    from sparc_search.cross_encoder.network import export, load_base, save_as_base
    from sparc_search.model.tokenizer import WordPieces
    from sparc_search.training.report import data_record, versions
    from sparc_search.training.squad_data import article_titles, held_out_titles

    folder = base_folder(base)
    if not (folder / "config.json").is_file():
        raise ModelNotFound(f"no model in {folder}", "sparc-search model fetch-base NAME gets one")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config = config.get("body", config)  # a SPARC model's
    loop.prepare(options["seed"], options["threads"])
    pieces = WordPieces.load(folder)
    shape = window_of(config, options["max_tokens"])
    files = weighed_files(data, options["weights"])
    held_titles = held_out_titles(article_titles(files[0]), options["hold_out"], options["seed"])
    kept, held = apart(asked := asked_in(files), held_titles)
    if not held and options["hold_out"]:
        kept, held = apart_by_chance(asked, options["tune"], options["seed"])
    kept = sampled(kept, options["questions"], options["seed"])
    examples = examples_of(kept, pieces, shape, options)
    if not examples:
        raise UsageError("no question with an answer was found in the training data")
    settings = settings_of(options, examples)
    training = loop.CrossEncoderTraining(
        load_base(folder, config, settings.arithmetic),
        examples,
        pieces,
        settings,
        shape["question_window"],
        checkpoint := options["checkpoint"] or out / "checkpoint",
        measure_of(held, pieces, config, shape, options),
    )
    begin(training, checkpoint, options["resume"])
    began = time.monotonic()
    if not train_with_bar(training, options["log"]):
        note(f"stopped at step {training.step}; the same command with --resume goes on")
        return
    record: dict[str, Any] = {
        "base": folder.name,
        "data": data_record(files),
        "questions": len(examples),
        "negatives": sum(example.negative is not None for example in examples),
        "without_answer": sum(example.start < 0 for example in examples),
        "steps": training.step,
        "seconds": round(time.monotonic() - began, 1),
        "last_loss": round(sum(losses := [row["loss"] for row in training.history[-50:]]) / len(losses), 4),
        "held_out": next((row["held_out"] for row in reversed(training.history) if "held_out" in row), None),
        "settings": asdict(training.settings),
        "versions": versions(),
    }
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "tokenizer.json", out / "tokenizer.json")
    save_as_base(training.network, config, out)
    export(training.network, config, out / "reader.onnx", options["precision"])
    tuning = sampled(answerable(held), options["tune"], options["seed"]) if options["tune"] else []
    card = write_tuned(out, config, shape, record, [*kept, *held], tuning)
    result_json(card) if as_json else result(summary(card, out))


def answerable(asked: list[PlacedQuestion]) -> list[PlacedQuestion]:
    """The questions that have an answer."""
    return [question for question in asked if question.start >= 0]


def window_of(config: dict[str, Any], most: int) -> dict[str, Any]:
    """The room for question and passage."""
    window = min(most, int(config.get("max_position_embeddings", most)))
    return {
        "window": window,
        "question_window": min(64, window // 2),
        "title_window": min(_TITLE_WINDOW, window // 4),
        "longest_answer": _LONGEST_ANSWER,
    }


def settings_of(options: dict[str, Any], examples: list[Example]) -> CrossEncoderSettings:
    """The settings of the loop."""
    from sparc_search.cross_encoder.data import plan_epoch
    from sparc_search.cross_encoder.training import CrossEncoderSettings
    from sparc_search.training.arithmetic import chosen_arithmetic

    if options["steps"] and options["epochs"]:
        raise UsageError("--steps and --epochs exclude each other")
    per_epoch = len(plan_epoch(examples, options["batch_tokens"], options["seed"], 0, options["batch"]))
    names = "batch rate warm_up cool_down average dropout freeze_layers evaluate_every checkpoint_every seed"
    return CrossEncoderSettings(
        steps=options["steps"] or max(1, round((options["epochs"] or 1) * per_epoch)),
        tokens=options["batch_tokens"],
        arithmetic=chosen_arithmetic(options["arithmetic"], "cpu"),
        **{name: options[name] for name in names.split()},
    )


def examples_of(
    asked: list[PlacedQuestion], pieces: WordPieces, shape: dict[str, int], options: dict[str, Any]
) -> list[Example]:
    """Questions with right windows and wrong passages."""
    from sparc_search.cross_encoder.data import as_passages, examples, negatives
    from sparc_search.evaluation.bm25 import Bm25

    wrong = {}
    if asked and options["negatives"]:
        wrong = negatives(asked, Bm25(as_passages(asked)), options["negatives"], options["seed"])
    without = len(asked) - len(answerable(asked))
    note(f"{len(asked):,} questions, {without:,} of them without an answer, {len(wrong):,} with a wrong passage")
    room = shape["window"] - shape["question_window"] - 1
    return examples(asked, wrong, pieces, room, shape["title_window"])


def measure_of(
    held: list[PlacedQuestion],
    pieces: WordPieces,
    config: dict[str, Any],
    shape: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    """What measures the network while it trains: EM and F1 on some held-out questions."""
    from sparc_search.cross_encoder.data import as_paragraphs, sampled
    from sparc_search.cross_encoder.files import CrossEncoderCard
    from sparc_search.cross_encoder.network import run_torch
    from sparc_search.cross_encoder.reading import CrossEncoder
    from sparc_search.evaluation.closed import read_closed
    from sparc_search.training.arithmetic import chosen_arithmetic

    paragraphs = as_paragraphs(sampled(answerable(held), options["measure"], options["seed"]))
    if not paragraphs or not options["measure"]:
        return None
    arithmetic = chosen_arithmetic(options["arithmetic"], "cpu")
    card = CrossEncoderCard(config, **shape, mix=0.0, training={}, sha256={})

    def measure(network: CrossEncoderNetwork) -> Measures:
        reader = CrossEncoder(card, pieces, run_torch(network, arithmetic))
        rows = [row for some in read_closed(reader, paragraphs) for row in some]
        return {
            "em": round(sum(row.exact_match for row in rows) / len(rows), 4),
            "f1": round(sum(row.f1 for row in rows) / len(rows), 4),
            "questions": len(rows),
        }

    return measure


def train_with_bar(training: CrossEncoderTraining, log: Path | None) -> bool:
    """Run to the end or to a signal; whether the end was reached."""
    stop = stop_on_signals()
    losses: list[float] = []
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
    with progress() as bar:
        task = bar.add_task("training", total=training.settings.steps, completed=training.step)

        def report(news: ReaderProgress) -> None:
            losses.append(news.loss)
            recent = sum(losses[-100:]) / len(losses[-100:])
            about = f"loss {recent:.2f} · {news.questions_per_second:.1f} questions/s"
            bar.update(task, completed=news.step, description=about)
            if log and (news.step % 10 == 0 or news.measures):
                row = {**asdict(news), "recent_loss": round(recent, 4), "time": time.strftime("%H:%M:%S")}
                with log.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(row) + "\n")
            if news.measures:
                measures = " · ".join(f"{name} {value:.4g}" for name, value in news.measures.items())
                note(f"step {news.step} (epoch {news.epoch + 1}): loss {recent:.3f} · {measures}")

        return training.run(report, stop)


def write_tuned(
    out: Path,
    config: dict[str, Any],
    shape: dict[str, Any],
    training: dict[str, Any],
    asked: list[PlacedQuestion],
    held: list[PlacedQuestion],
) -> dict[str, Any]:
    """Choose the mix on the held-out questions, over all paragraphs, and write the card."""
    from sparc_search.cross_encoder.data import as_passages
    from sparc_search.cross_encoder.files import write_card
    from sparc_search.cross_encoder.reading import open_cross_encoder
    from sparc_search.cross_encoder.tuning import best_mix, tuned_mix
    from sparc_search.evaluation.bm25 import Bm25

    card = write_card(out, body=config, **shape, mix=0.0, training=training)
    questions = [asked.question for asked in held]
    if questions:
        found = tuned_mix(open_cross_encoder(out), Bm25(as_passages(asked)), questions, _READ)
        tuning = {"questions": len(questions), "exact_match_by_mix": {str(mix): value for mix, value in found.items()}}
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
