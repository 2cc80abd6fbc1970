"""`sparc-search train`: a model from SQuAD-format files."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import MissingExtra, UsageError

from .options import PATH, json_option, option
from .terminal import note, progress, result, result_json

if TYPE_CHECKING:
    from sparc_search.cross_encoder.training import CrossEncoderTraining
    from sparc_search.squad import SquadFile
    from sparc_search.training.loop import Progress, Training, TrainingSettings
    from sparc_search.training.squad_data import TrainingPassage

weight_option = click.option(
    "--weight",
    "weights",
    multiple=True,
    type=click.FloatRange(0),
    help="How often an epoch sees a file; once for each file, in their order.",
)


@click.command()
@click.argument("data", nargs=-1, required=True, type=PATH)
@click.option(
    "--base", help="Base weights: a name of `model bases`, a transformers folder, or a SPARC model to go on from."
)
@click.option("--out", required=True, type=PATH, help="Folder of the new model.")
@click.option(
    "--recipe", type=PATH, help="A file of TOML that says everything else; DATA is then the folder of its data files."
)
@weight_option
@click.option("--epochs", type=click.FloatRange(min=0, min_open=True), help="Passes over the data.  [default: 3]")
@click.option("--steps", type=click.IntRange(1), help="Optimiser steps, instead of --epochs.")
@click.option(
    "--resume", is_flag=True, help="Go on from the checkpoint in OUT; more --steps or --epochs prolong the run."
)
@click.option("--checkpoint", type=PATH, help="Folder of the checkpoint.  [default: OUT/checkpoint]")
@option("--rate", default=9e-5, help="Learning rate of the body.")
@option("--head-rate", default=5.0, help="The heads' rate, as a multiple of --rate.")
@option("--warm-up", default=100, help="Steps of rising rate.")
@option("--cool-down", default=400, help="Steps of falling rate at the end.")
@option("--average", default=0.998, help="How much of its past the averaged model keeps a step.")
@option("--passages", default=12, help="Passages in a batch.")
@option("--questions", default=6, help="Most questions of a passage in a batch.")
@option("--accumulate", default=1, help="Batches in an optimiser step.")
@option("--max-tokens", default=320, help="Word pieces of a passage in training.")
@option(
    "--title-tokens",
    default=24,
    help="Word pieces of a title that are read before its passage; 0: titles are not read.",
)
@option("--titles", default=0.75, help="Share of the passages shown with their title.")
@option(
    "--paths",
    default=0.0,
    type=click.FloatRange(0, 1),
    help="Share of the titles that are shown as made-up heading paths: title › section › term.",
)
@click.option(
    "--dropout",
    type=click.FloatRange(0, 0.9),
    help="Share of states dropped, in the body and before the heads.  [default: 0.1 for more than one epoch, else 0]",
)
@option("--freeze-layers", default=0, type=click.IntRange(0), help="Lowest layers that stay as they are.")
@click.option(
    "--teacher",
    type=PATH,
    help="A file that `evaluate teach` wrote: learn what a reader thinks, beside the right answers.",
)
@option("--teacher-weight", default=1.0, help="How much the teacher counts.")
@option("--trap-weight", default=0.25, help="How much questions without an answer count (`is_impossible` in SQuAD v2).")
@option("--dense-size", default=128, help="Width of start and end vectors.")
@option("--sparse-size", default=64, help="Width of the sparse heads.")
@option("--ngrams", default="1,2", help="N-gram sizes of the sparse part; empty trains a dense-only model.")
@option("--sparsity", default=0.0, help="Weight of the FLOPS term: fewer n-gram weights, smaller index.")
@option("--hold-out", default=8, help="Articles of the first file kept for measuring.")
@option("--evaluate-every", default=500, help="Steps between measurements on them.")
@option("--patience", default=0, help="Stop after this many measurements without a better one; 0 never stops.")
@option("--checkpoint-every", default=200, help="Steps between checkpoints.")
@option("--seed", default=45, help="Decides what chance decides.")
@click.option("--threads", default=0, help="Processor threads; 0 lets torch choose.")
@click.option("--device", help="cpu or cuda.  [default: a GPU if there is one]")
@click.option("--mixed-precision", is_flag=True, help="The body in bf16: on a GPU, or a processor that is quick at it.")
@click.option(
    "--quantise", is_flag=True, help="Train for int8, weights of 7 bits: a last stretch; --precision static8."
)
@option("--precision", default="mixed", help="See `sparc-search model export`.")
@json_option
@click.pass_context
def train(
    context: click.Context,
    /,
    data: tuple[Path, ...],
    base: str | None,
    out: Path,
    recipe: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a model.

    DATA are files in SQuAD's format (v1.1 or v2.0). The model in OUT gets its ONNX file, `training.json` and a loss
    curve beside it. Kill it at any moment; --resume goes on as if nothing had happened. Several GPUs:
    `torchrun --nproc-per-node 4 -m sparc_search.cli.main train …`.
    """
    require_training()
    if recipe:
        follow(context, recipe, data, out, base)
        return
    if not base:
        raise UsageError("there is nothing to begin with", "give --base, or a --recipe that names one")
    from sparc_search.training.arithmetic import chosen_arithmetic
    from sparc_search.training.world import World

    device = options["device"] or best_device()
    if options["mixed_precision"]:
        chosen_arithmetic("bf16", device)
    world = World.join(device)
    try:
        run(data, base, out, options, device, world, as_json)
    finally:
        world.leave()


def follow(context: click.Context, recipe: Path, data: tuple[Path, ...], out: Path, base: str | None) -> None:
    """Run a recipe. Whatever it could say itself must not be said beside it."""
    from click.core import ParameterSource

    from .train_recipe import run_recipe

    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    beside = set(given) - {"recipe", "data", "out", "base", "resume", "threads", "device"}
    if beside:
        name = min(beside).replace("_", "-")
        raise UsageError(f"--{name} and --recipe exclude each other", f"write it into {recipe}")
    if len(data) != 1 or not data[0].is_dir():
        raise UsageError("with --recipe, DATA is the one folder that holds its data files")
    common = [f"--{name}={value}" for name in ("threads", "device") if (value := context.params[name])]
    run_recipe(recipe, data[0], out, base, common)


def require_training() -> None:
    """Say which extra is missing."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("train", "torch") from error
    del torch, transformers


def best_device() -> str:
    """A GPU if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def run(
    data: tuple[Path, ...], base: str, out: Path, options: dict[str, Any], device: str, world: Any, as_json: bool
) -> None:
    """Read, train, measure, write."""
    import torch

    from sparc_search.model.files import sha256_of
    from sparc_search.training.allocator import keep_freed_memory
    from sparc_search.training.heading_paths import HeadingPaths
    from sparc_search.training.loop import Training
    from sparc_search.training.start import start_model

    keep_freed_memory()
    torch.manual_seed(options["seed"])
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    folder = base_folder(base)
    model = start_model(folder, shape_of(options))
    files, kept, held_out = read_data(data, model, sha256_of(folder / "tokenizer.json"), options)
    settings = training_settings(options, kept)
    special = (model.pieces.cls, model.pieces.sep, model.pieces.pad)
    checkpoint = options["checkpoint"] or out / "checkpoint"
    paths = HeadingPaths(model.pieces) if settings.paths else None
    training = Training(model.network.to(device), kept, held_out, special, settings, checkpoint, world, paths)
    begin(training, checkpoint, options["resume"])
    finished = train_with_bar(training, world.leads)
    if not world.leads:
        return
    if not finished:
        note(f"stopped at step {training.step}; the same command with --resume goes on")
        return
    record = finish(training, model, files, out, options)
    result_json(record) if as_json else result(summary(record, out))


def begin(training: Training | CrossEncoderTraining, checkpoint: Path, resume: bool) -> None:
    """Go on from a checkpoint if asked to; one that nobody asked for is never overwritten."""
    if resume:
        training.resume()
    elif checkpoint.exists():
        raise UsageError(
            f"{checkpoint} holds the checkpoint of an earlier run", "add --resume, or choose another --out"
        )


def base_folder(base: str) -> Path:
    """The folder of base weights; a known name is fetched once, to the user's cache."""
    from sparc_search.model.base_weights import BASES, fetch_base

    if Path(base).exists() or base not in BASES:
        return Path(base)
    from platformdirs import user_cache_path

    folder = user_cache_path("sparc-search", appauthor=False) / "base" / base
    return folder if (folder / "config.json").is_file() else fetch_base(base, folder)


def shape_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options that give the model its shape."""
    try:
        sizes = tuple(int(n) for n in options["ngrams"].split(",") if n.strip())
    except ValueError as error:
        raise UsageError(f"--ngrams takes sizes such as 1,2, not {options['ngrams']!r}") from error
    return {
        "dense_size": options["dense_size"],
        "sparse_size": options["sparse_size"],
        "title_window": options["title_tokens"],
        "ngrams": sizes,
    }


def weighed_files(data: Sequence[Path], weights: Sequence[float]) -> list[SquadFile]:
    """The data files with the weights that were given for them."""
    from sparc_search.squad import read_squad

    weights = weights or (1.0,) * len(data)
    if len(weights) != len(data):
        raise UsageError(f"{len(data)} files but {len(weights)} --weight", "give --weight once for each file, or never")
    return [read_squad(path, weight) for path, weight in zip(data, weights, strict=True)]


def read_data(
    data: tuple[Path, ...], model: Any, tokenizer: str, options: dict[str, Any]
) -> tuple[list[SquadFile], list[TrainingPassage], list[TrainingPassage]]:
    """Files, passages for training, passages held out."""
    from sparc_search.training.squad_data import article_titles, hold_out, passages_of
    from sparc_search.training.teacher import read_teacher

    files = weighed_files(data, options["weights"])
    config = model.config
    teacher = None
    if options["teacher"]:
        teacher = read_teacher(options["teacher"])
        teacher.check(tokenizer, [(file.path.name, file.sha256) for file in files])
    windows = options["max_tokens"], config.question_window, config.title_window
    passages = passages_of(files, model.pieces, *windows, teacher)
    kept, held_out = hold_out(passages, article_titles(files[0]), options["hold_out"], options["seed"])
    asked = sum(len(passage.questions) for passage in kept)
    traps = sum(len(passage.traps) for passage in kept)
    more = f", {traps:,} without an answer" if traps else ""
    note(f"{len(kept):,} passages with {asked:,} questions{more}; held out: {len(held_out):,} passages")
    if not kept:
        raise UsageError("every article is held out; nothing is left to train on", "lower --hold-out")
    return files, kept, held_out


def training_settings(options: dict[str, Any], passages: list[TrainingPassage]) -> TrainingSettings:
    """The settings of the loop, from the options."""
    from sparc_search.training.batches import BatchShape
    from sparc_search.training.loop import TrainingSettings
    from sparc_search.training.objective import LossWeights

    if options["steps"] and options["epochs"]:
        raise UsageError("--steps and --epochs exclude each other")
    per_epoch = sum(passage.weight for passage in passages) / options["passages"] / options["accumulate"]
    steps = options["steps"] or max(1, round((options["epochs"] or 3) * per_epoch))
    names = "rate head_rate warm_up cool_down accumulate average seed titles "
    names += "evaluate_every checkpoint_every patience threads paths freeze_layers quantise"
    dropout = options["dropout"] if options["dropout"] is not None else 0.1 * (steps > per_epoch)
    return TrainingSettings(
        steps=steps,
        batch=BatchShape(options["passages"], questions_per_passage=options["questions"]),
        losses=LossWeights(flops=options["sparsity"], teacher=options["teacher_weight"], traps=options["trap_weight"]),
        dropout=dropout,
        mixed_precision=options["mixed_precision"],
        **{name: options[name] for name in names.split()},
    )


def train_with_bar(training: Training, talks: bool) -> bool:
    """Run to the end or to a signal; whether the end was reached."""
    stop = stop_on_signals()
    with progress() as bar:
        task = bar.add_task("training", total=training.settings.steps, completed=training.step, visible=talks)

        def report(news: Progress) -> None:
            about = (
                f"loss {news.losses['total']:.2f} · {news.examples_per_second:.0f} questions/s · "
                f"{news.tokens_per_second:,.0f} tokens/s"
            )
            bar.update(task, completed=news.step, description=about)
            if talks and news.measures:
                measures = " · ".join(f"{name} {value:.3f}" for name, value in news.measures.items())
                note(f"step {news.step} (epoch {news.epoch + 1}): {measures}")

        training.run(report, stop)
    return training.finished


def stop_on_signals() -> Callable[[], bool]:
    """SIGINT and SIGTERM end the run after the step in flight, with a checkpoint."""
    caught: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: caught.append(number))
    return lambda: bool(caught)


def finish(
    training: Training, model: Any, files: list[SquadFile], out: Path, options: dict[str, Any]
) -> dict[str, Any]:
    """Choose the filter's thresholds, write the model, its ONNX file and the report."""
    from sparc_search.model.export import export
    from sparc_search.training.filter_threshold import choose_thresholds
    from sparc_search.training.quantising import release
    from sparc_search.training.report import data_record, versions, write_report

    network = model.network.to("cpu")
    body = training.network.config.body
    record: dict[str, Any] = {
        "base": f"{body['model_type']}, {body.get('num_hidden_layers')} layers of {body['hidden_size']}",
        "data": data_record(files),
        "settings": asdict(training.settings),
        "steps": training.step,
        "epochs": training.epoch + 1,
        "held_out": training.best,
        "versions": versions(),
    }
    ranges = release(network) if training.settings.quantise else None
    if training.held_out:
        choice = choose_thresholds(network, training.held_out, training.special)
        network.config = replace(network.config, filter_thresholds=choice.thresholds)
        record["filter"] = asdict(choice)
    card = {"training": {name: record[name] for name in ("base", "data", "steps", "held_out")}}
    model.save_pretrained(out, card, ranges)
    export(out, "static8" if ranges else options["precision"])
    write_report(out, record, training.history)
    return record


def summary(record: dict[str, Any], out: Path) -> str:
    """What a person wants to know at the end."""
    held_out = record["held_out"] or {}
    measures = ", ".join(f"{name} {value:.3f}" for name, value in held_out.items())
    return (
        f"{record['steps']} steps · {measures or 'nothing held out'}\n"
        f"The model is in {out}: sparc-search evaluate squad DEV.json --model {out}"
    )
