"""The cases: command lines on fixed data, and calls in Python. Names begin with the lens or command."""

# ruff: noqa: E501 - a command line reads best as one line
from __future__ import annotations

import re
from collections.abc import Iterable

from corpus import calls, data
from corpus.running import Case

_DATA = re.compile(rf"(?<![\w/])({'|'.join(data.NAMES)})/")
COMMANDS = (
    "demo", "describe", "simulate", "variation", "cohesion", "responsiveness", "scale", "score", "align", "judge", "estimate", "aggregate", "advise",
    "select", "curate", "soft-labels", "pack", "item", "items", "ask", "answers", "fit", "predict", "report", "serve", "data",
    "reproduce",
)  # fmt: skip
JSON, TEXT, CSV, MARKDOWN = "--json", "", "--csv", "--markdown"
_SUFFIX = {JSON: "json", TEXT: "text", CSV: "csv", MARKDOWN: "markdown"}
_DICES = (
    "dices/ratings.csv --raters dices/raters.csv --items dices/items.csv --scale No,Unsure,Yes --where removed=False"
)
_FACES = (
    "faces/faceratings.parquet --item face_id --scale 1:7 --rater-attributes rater_sex,rater_age,rater_sexpref "
    "--item-attributes face_sex,face_age,face_eth"
)
_TRAINED = "--reference {0}/trained.csv --reference-scale safe,unsafe"


def _case(name: str, line: str, analysis: str = "") -> Case:
    return Case(name, line, data=tuple(dict.fromkeys(_DATA.findall(line))), analysis=analysis)


def _forms(name: str, line: str, forms: Iterable[str]) -> list[Case]:
    """Return the same analysis in several forms: options such as --json, or names of tables to print as CSV."""
    cases = []
    for form in forms:
        option = form if form in _SUFFIX else f"--csv --table {form}"
        cases.append(_case(f"{name}-{_SUFFIX.get(form, form)}", f"{line} {option}".strip(), line))
    return cases


def _jsons(command: str, source: str, usual: str, variants: dict[str, str]) -> list[Case]:
    """Return a case with JSON for each name and its options."""
    return [
        _case(f"{command}/{name}", f"{command} {source} {usual} {options} --json") for name, options in variants.items()
    ]


def _help() -> list[Case]:
    return [
        _case("help/plurivox", "--help"),
        _case("help/version", "--version"),
        *(_case(f"help/{command}", f"{command} --help") for command in COMMANDS),
    ]


def _simulate() -> list[Case]:
    cases = [_case(f"simulate/{name}", f"simulate {{out}} {options}") for name, options in data.SIMULATED.items()]
    return [*cases, _case("simulate/study", "simulate {out} --study responsiveness --seed 1")]


def _published() -> list[Case]:
    return [_case("reproduce/grasp", "reproduce grasp --data dices/ratings.csv --csv")]


def _describe() -> list[Case]:
    shapes = {
        "wide": "wide.csv --wide", "totals": "totals.csv --totals", "tsv": "ratings.tsv", "jsonl": "ratings.jsonl",
        "parquet": "ratings.parquet", "twice-first": "twice.csv --duplicates first",
        "twice-last": "twice.csv --duplicates last", "twice-mode": "twice.csv --duplicates mode",
        "skipped": "skipped.csv --missing skip",
        "joined": "joined.csv --rater-attributes gender,age,ethnicity --item-attributes violation,text",
    }  # fmt: skip
    return [
        *_forms("describe/dense", "describe dense/ratings.csv", (JSON, TEXT)),
        *_forms("describe/sparse", "describe sparse/ratings.csv --by age --by gender,age", (JSON, TEXT)),
        *_forms("describe/fine", "describe fine/ratings.csv --min-group-size 1", (JSON, TEXT)),
        *_forms("describe/several", "describe questions/ratings.csv --score harm --raters questions/raters.csv --by "
                "heritage --several 'heritage=;'", (JSON, TEXT)),
        *_forms("describe/dices", f"describe {_DICES} --by race,gender --by age", (JSON, TEXT)),
        *_forms("describe/faces", f"describe {_FACES}", (JSON, TEXT)),
        *(_case(f"describe/{name}", f"describe shapes/{options} --scale 0:4 --json") for name, options in shapes.items()),
        _case("describe/inferred", "describe shapes/ratings.tsv"),
        *(
            _case(f"describe/broken-{name}", f"describe broken/{name}.csv {options}")
            for name, options in {
                "twice": "", "short": "", "blank": "", "unknown": "--scale 0:4", "columns": "", "empty": "",
                "alone": "", "binary": "", "nowhere": "",
            }.items()
        ),
    ]  # fmt: skip


def _variation() -> list[Case]:
    usual = "--permutations 40 --max-permutations 40 --seed 3 --threads 2"
    return [
        *_forms("variation/dense", f"variation dense/ratings.csv --by age --by gender,ethnicity --adjust {usual}",
                (JSON, TEXT, "components", "needed", "adjusted", MARKDOWN)),
        *_jsons("variation", "sparse/ratings.csv", f"--by age --by gender {usual}", {
            "sparse": "", "pairs": "--pairs", "boot": "--bootstrap 30", "parts": "--items-by violation",
            "raters": "--by rater", "none": "--interval none", "contrast": "--contrast 18-29,30-44",
        }),
        *_forms("variation/dices", f"variation {_DICES} --by race --by age --adjust {usual}", (JSON,)),
    ]  # fmt: skip


def _aggregate() -> list[Case]:
    usual = "--permutations 40 --max-permutations 40 --seed 3 --threads 2"
    return [
        *_forms("aggregate/dense", f"aggregate dense/ratings.csv --by age --by gender,ethnicity {usual}",
                (JSON, TEXT, "labels", "raters", MARKDOWN)),
        *_jsons("aggregate", "sparse/ratings.csv", usual, {"sparse": "--by gender --interval none", "nobody": ""}),
        *_forms("aggregate/dices", f"aggregate {_DICES} --by race --by age {usual}", (JSON,)),
    ]  # fmt: skip


def _cohesion() -> list[Case]:
    usual = "--permutations 150 --seed 3"
    axes = "--by age --by gender,ethnicity"
    return [
        *_forms("cohesion/dense", f"cohesion dense/ratings.csv {axes} {usual}", (JSON, TEXT, CSV, MARKDOWN)),
        *_forms("cohesion/boot", f"cohesion dense/ratings.csv {axes} {usual} --bootstrap 60 --pairs", (JSON, TEXT)),
        *_forms("cohesion/sparse", f"cohesion sparse/ratings.csv --by age --by gender {usual}", (JSON, TEXT)),
        *_jsons("cohesion", "dense/ratings.csv", f"--by age {usual}", {
            "dense-ordinal": "--level ordinal --bootstrap 50",
            "dense-interval": "--level interval --bootstrap 50 --resample raters",
            "dense-nominal-both": "--bootstrap 50 --resample both",
            "dense-published": "--convention published",
            "dense-within": "--within gender",
            "dense-contrast": "--contrast 18-29,30-44 --bootstrap 50",
            "dense-lowest": "--ties lowest",
            "dense-random": "--ties random",
            "dense-holm": "--correction holm",
            "dense-by": "--correction by",
            "dense-bonferroni": "--correction bonferroni",
            "dense-none": "--correction none",
            "dense-small": "--min-group-size 12",
            "dense-unshuffled": "--permutations 0 --bootstrap 40",
        }),
        *_jsons("cohesion", "sparse/ratings.csv", f"--by gender,age {usual}", {
            "sparse-ordinal": "--level ordinal --bootstrap 40 --resample items",
            "sparse-interval": "--level interval --bootstrap 40 --resample both",
            "sparse-published": "--convention published --min-group-size 1",
            "sparse-pairs": "--pairs --within ethnicity",
        }),
        *_forms("cohesion/several", "cohesion questions/ratings.csv --score harm --raters questions/raters.csv --by "
                f"heritage --several 'heritage=;' {usual} --bootstrap 30", (JSON, TEXT)),
        *_forms("cohesion/questions", "cohesion questions/ratings.csv --score harm,insult,lie --combine highest --scale "
                f"0:4 --raters questions/raters.csv --by gender {usual}", (JSON, TEXT, CSV)),
        _case("cohesion/questions-listed", "cohesion questions/ratings.csv --score harm,insult --combine 4,2,3,1,0 "
              f"--scale 0:4 --raters questions/raters.csv --by gender {usual} --json"),
        _case("cohesion/fine", f"cohesion fine/ratings.csv --by gender {usual} --level interval --bootstrap 40 --json"),
        _case("cohesion/crowd", f"cohesion crowd/ratings.csv --by age --by gender {usual} --level ordinal --bootstrap 40 "
              "--json"),
        _case("cohesion/null", f"cohesion null/ratings.csv --by age --by ethnicity {usual} --bootstrap 30 --json"),
        _case("cohesion/labels", f"cohesion labels/ratings.csv --by region --by region,work {usual} --json"),
        *_forms("cohesion/dices", f"cohesion {_DICES} --by race --by race,gender {usual}", (JSON, TEXT)),
        _case("cohesion/dices-published", f"cohesion {_DICES} --by gender --by age --convention published "
              "--min-group-size 1 --permutations 60 --bootstrap 40 --json"),
        _case("cohesion/dices-ordinal", f"cohesion {_DICES} --by race --level ordinal --permutations 40 --bootstrap 40 "
              "--resample both --pairs --json"),
        *_forms("cohesion/faces", f"cohesion {_FACES} --by rater_sex --by rater_sexpref --permutations 20 --bootstrap 10 "
                "--level interval", (JSON, TEXT)),
    ]  # fmt: skip


def _responsiveness() -> list[Case]:
    usual = "--permutations 120 --bootstrap 60 --seed 4"
    dense, sparse = (_TRAINED.format(name) for name in ("dense", "sparse"))
    tables = ("scores", "boundaries", "correlations", "pairs")
    return [
        *_forms("responsiveness/dense", f"responsiveness dense/ratings.csv --by age --by gender,ethnicity {dense} {usual} "
                "--pairs", (JSON, TEXT, CSV, MARKDOWN, *tables)),
        *_forms("responsiveness/crowd", f"responsiveness dense/ratings.csv --by age {usual}", (JSON, TEXT)),
        *_forms("responsiveness/rater", f"responsiveness dense/ratings.csv --by rater {usual}",
                (JSON, TEXT, CSV, *tables)),
        *_forms("responsiveness/rater-trained", f"responsiveness sparse/ratings.csv --by rater {sparse} {usual}",
                (JSON, TEXT, "boundaries")),
        *_forms("responsiveness/group", f"responsiveness dense/ratings.csv --by age --reference gender=Woman {usual}",
                (JSON, TEXT)),
        *_forms("responsiveness/items-by", f"responsiveness dense/ratings.csv --by age {dense} --items-by violation "
                f"{usual}", (JSON, TEXT, CSV, "boundaries")),
        *_forms("responsiveness/psychometrics", f"responsiveness dense/ratings.csv --by age --by rater {dense} "
                f"--psychometrics {usual}", (JSON, TEXT)),
        *_forms("responsiveness/family", f"responsiveness dense/ratings.csv --by gender,ethnicity {dense} --family "
                f"ethnicity=Black {usual} --min-group-size 2", (JSON, TEXT)),
        *_jsons("responsiveness", "dense/ratings.csv", f"--by age {dense} {usual}", {
            "dense-median": "--group-score median",
            "dense-mean": "--group-score mean",
            "dense-lowest": "--ties lowest",
            "dense-random": "--ties random",
            "dense-raters": "--resample raters",
            "dense-both": "--resample both --group-score median",
            "dense-within": "--within gender",
            "dense-published": "--convention published",
            "dense-holm": "--correction holm --contrast 18-29,30-44",
            "dense-none": "--correction none --min-support 20",
            "dense-unshuffled": "--permutations 0",
            "dense-undrawn": "--bootstrap 0",
        }),
        *_jsons("responsiveness", "sparse/ratings.csv", f"--by gender --by age {usual}", {
            "sparse-crowd": "--resample both",
            "sparse-crowd-median": "--group-score median --ties random",
            "sparse-crowd-threshold": "--threshold 3",
            "sparse-group": "--reference age=18-29 --threshold each",
            "sparse-trained": f"{sparse} --pairs --within ethnicity",
            "sparse-items-by": f"{sparse} --items-by violation --resample raters",
            "sparse-model": "--reference sparse/answers.csv --reference-scale same --reference-where rater=model-a "
                            "--threshold each",
            "sparse-published": "--convention published --group-score mean",
        }),
        _case("responsiveness/rater-reference", f"responsiveness dense/ratings.csv --by gender --reference rater=rater-001 "
              f"{usual} --json"),
        _case("responsiveness/several", "responsiveness questions/ratings.csv --score harm --raters questions/raters.csv "
              f"--by heritage --several 'heritage=;' {usual} --json"),
        _case("responsiveness/fine", f"responsiveness fine/ratings.csv --by gender {usual} --json"),
        _case("responsiveness/crowd-large", f"responsiveness crowd/ratings.csv --by age {_TRAINED.format('crowd')} {usual} "
              "--resample both --json"),
        _case("responsiveness/labels", "responsiveness labels/ratings.csv --by region --threshold High --permutations 50 "
              "--bootstrap 50 --json"),
        *_forms("responsiveness/dices", f"responsiveness {_DICES} --by race --by race,gender --permutations 60 "
                "--bootstrap 40", (JSON, TEXT)),
        _case("responsiveness/dices-items-by", f"responsiveness {_DICES} --by race --items-by degree_of_harm --threshold "
              "Yes --permutations 40 --bootstrap 30 --json"),
        _case("responsiveness/faces", f"responsiveness {_FACES} --by rater_sex --permutations 10 --bootstrap 10 --json"),
        _case("responsiveness/refused", "responsiveness dense/ratings.csv --by gender --reference dense/trained.csv"),
    ]  # fmt: skip


def _scale() -> list[Case]:
    tables = ("values", "severity", "thresholds", "curves", "pairs", "checks", "fits")
    return [
        *_forms("scale/dense", "scale dense/ratings.csv --by gender,age --min-group-size 2", (JSON, TEXT, MARKDOWN, *tables)),
        *_forms("scale/rater", "scale dense/ratings.csv --by rater", (JSON, TEXT)),
        *_jsons("scale", "dense/ratings.csv", "--by age --by ethnicity", {
            "dense-median": "--group-score median",
            "dense-mean": "--group-score mean --lower-bound 0.4",
            "dense-random": "--ties random --seed 5",
            "dense-items-by": "--items-by violation",
        }),
        _case("scale/sparse", "scale sparse/ratings.csv --by gender,age --json"),
        _case("scale/sparse-rater", "scale sparse/ratings.csv --by rater --json"),
        _case("scale/labels", "scale labels/ratings.csv --by region --top 3"),
        *_forms("scale/dices", f"scale {_DICES} --by race --by gender,race", (JSON, TEXT)),
        _case("scale/faces", f"scale {_FACES} --by rater_sex --by rater_sexpref --json"),
    ]  # fmt: skip


def _score() -> list[Case]:
    usual = "--bootstrap 60 --seed 6"
    tables = ("values", "comparisons", "sensitivity", "calibration", "pit", "reliability", "prior_weight", "missing")
    return [
        *_forms("score/dense", f"score dense/ratings.csv dense/predictions.csv --by age {usual}",
                (JSON, TEXT, MARKDOWN, *tables)),
        *_forms("score/sparse", f"score sparse/ratings.csv sparse/predictions.csv --by gender {usual}", (JSON, TEXT)),
        *_jsons("score", "sparse/ratings.csv sparse/predictions.csv", usual, {
            "sparse-prior": "--prior 0.5",
            "sparse-weights": "--prior 1,1,2,1,1",
            "sparse-empirical": "--prior empirical-bayes",
            "sparse-bins": "--bins 2-3,4-5,6-10,11+",
            "sparse-floor": "--floor 1e-6 --unnormalized",
            "sparse-fast": "--fast --correction holm",
            "sparse-train": "--train dense/ratings.csv",
            "sparse-train-empirical": "--train dense/ratings.csv --prior empirical-bayes",
            "sparse-few": "--min-ratings 5 --bootstrap 0",
            "sparse-strict": "--strict",
        }),
        _case("score/labels", f"score labels/ratings.csv labels/predictions.csv --by region {usual}"),
        _case("score/totals", f"score shapes/totals.csv sparse/predictions.csv --totals --scale 0:4 {usual} --json"),
        _case("score/fine", f"score fine/ratings.csv fine/predictions.csv {usual} --json"),
        _case("score/refused", f"score labels/ratings.csv sparse/predictions.csv {usual}"),
    ]  # fmt: skip


def _judge() -> list[Case]:
    tables = ("card", "values", "biases", "places", "requirements", "verdicts")
    return [
        *_forms("judge/dense", "judge dense/ratings.csv dense/answers.csv --by age --subset violation --seed 7",
                (JSON, TEXT, MARKDOWN, *tables)),
        *_jsons("judge", "dense/ratings.csv dense/answers.csv", "--by age --seed 7", {
            "nominal": "--level nominal --resample items",
            "one": "--judge model-a --tolerance 0.2",
            "failed": "--require omega>=2 --require agreement.low>0 --judge model-b",
        }),
        *_forms("judge/prompted", "judge dense/ratings.csv prompted/answers.csv --by gender --seed 7", (JSON, TEXT)),
        _case("judge/totals", "judge shapes/totals.csv sparse/answers.csv --totals --scale 0:4 --json"),
        _case("judge/refused", "judge dense/ratings.csv dense/answers.csv --require omga>=0.5"),
    ]  # fmt: skip


def _estimate() -> list[Case]:
    tables = ("values", "accounts", "judges", "errors", "population")
    return [
        *_forms("estimate/sparse", "estimate sparse/ratings.csv sparse/answers.csv --by gender --by age --width 0.2",
                (JSON, TEXT, MARKDOWN, *tables)),
        *_jsons("estimate", "dense/ratings.csv dense/answers.csv", "--by age", {
            "dense-shares": "--what shares,at-least",
            "dense-threshold": "--threshold 3 --subset violation --resample items",
            "dense-out": "--unanswered out --min-group-size 14",
        }),
        _case("estimate/distributions", "estimate dense/ratings.csv prompted/distributions.csv --json"),
        _case("estimate/totals", "estimate shapes/totals.csv sparse/answers.csv --totals --scale 0:4 --json"),
        _case("estimate/refused", "estimate dense/ratings.csv dense/answers.csv --threshold 0"),
    ]  # fmt: skip


def _align() -> list[Case]:
    usual = "--bootstrap 50 --permutations 60 --subsamples 30 --seed 7"
    tables = (
        "values", "accounts", "closest", "standings", "contrasts", "alphas", "stand_ins", "prompts", "stability",
        "positions", "distances", "items",
    )  # fmt: skip
    fast = "--fast --bootstrap 30 --permutations 30 --subsamples 0"
    return [
        *_forms("align/dense", f"align dense/ratings.csv dense/answers.csv --by age --subset violation {usual}",
                (JSON, TEXT, MARKDOWN)),
        *_forms("align/dense", f"align dense/ratings.csv dense/answers.csv --by age {fast}", tables),
        *_forms("align/sparse", f"align sparse/ratings.csv sparse/answers.csv --by gender --by age {usual}", (JSON, TEXT)),
        *_jsons("align", "dense/ratings.csv dense/answers.csv", f"--by age {usual}", {
            "dense-nominal": "--level nominal",
            "dense-interval": "--level interval --correction holm",
            "dense-prior": "--prior 0.5",
            "refused-empirical": "--prior empirical-bayes",
            "dense-family": "--family ab=model-a,model-b --tolerance 0.2",
            "dense-trained": "--trained dense/trained.csv --trained-scale safe,unsafe",
            "dense-threshold": "--threshold 3",
            "dense-within": "--within gender",
            "dense-published": "--convention published",
            "dense-fast": "--fast",
            "dense-small": "--min-group-size 14",
        }),
        *_forms("align/prompted", f"align dense/ratings.csv prompted/answers.csv --by gender {usual}",
                (JSON, TEXT, "prompts", "stability", "positions")),
        _case("align/distributions", f"align dense/ratings.csv prompted/distributions.csv --by age {usual} --json"),
        *_forms("align/stored", f"align stored/ratings.csv stored/answers.db --scale never,sometimes,often {usual}",
                (JSON, TEXT)),
        _case("align/labels", f"align labels/ratings.csv labels/answers.csv --by region --by work {usual} --json"),
        _case("align/several", "align questions/ratings.csv dense/answers.csv --score harm --raters questions/raters.csv "
              f"--by heritage --several 'heritage=;' {usual} --json"),
        _case("align/totals", f"align shapes/totals.csv sparse/answers.csv --totals --scale 0:4 {usual} --json"),
    ]  # fmt: skip


def _acting() -> list[Case]:
    dense = _TRAINED.format("dense")
    return [
        *_forms("advise/rater", f"advise dense/ratings.csv --by rater {dense} --seed 8",
                (JSON, TEXT, MARKDOWN, "advice", "members", "precision", "pairs", "items")),
        *_forms("advise/sparse", "advise sparse/ratings.csv --by rater", (JSON, TEXT)),
        *_forms("advise/group", "advise dense/ratings.csv --by age --by gender --permutations 99 --reference gender=Woman "
                "--group-score median", (JSON, TEXT)),
        _case("advise/set", f"advise dense/ratings.csv --by age {dense} --permutations 99 --set part=0.8 --max-pairs 3 "
              "--ties lowest --json"),
        _case("advise/dices", f"advise {_DICES} --by race --permutations 99 --json"),
        *_forms("advise/plan", "advise dense/ratings.csv --by age --by ethnicity --plan --simulations 8 --seed 9",
                (JSON, TEXT)),
        *_forms("advise/plan", "advise dense/ratings.csv --by age --plan --simulations 2 --seed 9",
                (MARKDOWN, "lenses", "groups", "power")),
        _case("advise/plan-sparse", "advise sparse/ratings.csv --by gender,age --plan --simulations 8 --gai 1.2 "
              "--power 0.7 --json"),
        _case("advise/plan-none", "advise labels/ratings.csv --by region --plan --simulations 0 --json"),
        _case("advise/plan-dices", f"advise {_DICES} --by race --plan --simulations 2 --json"),
        *_forms("select/dense", f"select dense/ratings.csv --by age --by gender {dense} --bootstrap 60 --seed 10",
                (JSON, TEXT, MARKDOWN, "chosen", "groups", "candidates", "fairness", "look_at", "alarms")),
        *_jsons("select", "sparse/ratings.csv", "--by age --bootstrap 50 --min-ratings 5", {
            "sparse-mpa": "--metric mpa --order value --per-group 5",
            "sparse-wra": "--metric wra --per-group 2 --min-group-size 8",
            "sparse-threshold": "--threshold 2",
        }),
        _case("select/dices", f"select {_DICES} --by race --bootstrap 30 --per-group 2 --csv --table groups"),
        *_forms("curate/pairs", "curate responses/ratings.csv --raters responses/raters.csv --items responses/items.csv "
                "--by age --reference responses/trained.csv --reference-scale safe,unsafe --scale 0:4 --permutations 99", (JSON,)),
        _case("curate/pairs-file", "curate responses/ratings.csv --raters responses/raters.csv --items responses/items.csv "
              "--by ethnicity --reference responses/trained.csv --reference-scale safe,unsafe --scale 0:4 --permutations 99 "
              "--min-margin 0.25 -o {out}/pairs.jsonl"),
        _case("curate/points-file", f"curate dense/ratings.csv --by age {dense} --permutations 99 --per-group 3 --per-point 4 "
              "-o {out}/points.jsonl"),
        *_jsons("curate", "dense/ratings.csv", "--by gender --permutations 99", {
            "crowd": "--form points --range-weight 3",
            "group": "--reference age=18-29 --threshold 3 --higher-is-better",
            "few": "--min-votes 4 --min-ratings 30 --min-margin 1",
        }),
        _case("curate/refused", "curate dense/ratings.csv --by gender --by age --json"),
    ]  # fmt: skip


def _looking() -> list[Case]:
    return [
        *_forms("item/dense", "item dense/ratings.csv item-007 --by age --by gender,ethnicity --permutations 150 --seed 2",
                (JSON, TEXT, MARKDOWN, "groups", "distribution", "use", "attributes")),
        _case("item/sparse", "item sparse/ratings.csv item-011 --by age --permutations 150 --json"),
        _case("item/chart", "item dense/ratings.csv item-003 --by age --permutations 50 --chart {out}/item.svg"),
        _case("item/refused", "item dense/ratings.csv nothing"),
        _case("item/dices", f"item {_DICES} 17 --by race --permutations 100 --json"),
        *_forms("items/dense", "items dense/ratings.csv --by age --by gender", (JSON, TEXT, MARKDOWN, "uncertain", "divided",
                "distributions")),
        *_forms("items/sparse", "items sparse/ratings.csv --by gender --prior empirical-bayes --precision 0.3 --top 8",
                (JSON, TEXT)),
        _case("items/uncertain", "items sparse/ratings.csv --uncertain --prior 0.5 --json"),
        _case("items/tasks", "items sparse/ratings.csv --uncertain -o {out}/tasks.json --as label-studio --at-most 5"),
        _case("items/latex", "items sparse/ratings.csv --uncertain --latex --html {out}/items.html"),
        _case("soft-labels/groups", "soft-labels dense/ratings.csv --by gender"),
        _case("soft-labels/json", "soft-labels sparse/ratings.csv -o {out}/labels.json"),
        _case("pack/dense", "pack dense/ratings.csv -o {out}/study.pvx"),
        _case("items/totals", "items shapes/totals.csv --totals --scale 0:4 --json"),
        _case("items/dices", f"items {_DICES} --by race --json"),
        _case("items/faces", f"items {_FACES} --by rater_sex --top 5"),
    ]  # fmt: skip


def _asking() -> list[Case]:
    usual = "ask stored/items.csv --scale stored/scale.toml --model m --dry-run"
    return [
        _case("ask/plain", usual),
        _case(
            "ask/table",
            f"{usual} --prompt table --shuffle --seed 3 --mode json --persona 'a nurse of 40' --max-tokens 9",
        ),
        _case(
            "ask/described",
            f"{usual} --prompt described --samples 3 --mode logprobs --temperature 0.5 --question 'Is it?'",
        ),
        _case("ask/refused", "ask stored/items.csv --scale 0:4 --model m --dry-run --text nothing"),
        *_forms("answers/stored", "answers stored/answers.db", (JSON, TEXT, CSV, MARKDOWN)),
        _case("answers/reread", "answers stored/answers.db --reread"),
        _case("answers/export-jsonl", "answers stored/answers.db --export {out}/a.jsonl --prompts"),
        _case("answers/export-parquet", "answers stored/answers.db --export {out}/a.parquet"),
        _case("answers/refused", "answers stored/items.csv"),
        _case("predict/refused", "predict stored stored/items.csv"),
        _case("fit/refused", "fit learning/items.csv learning/ratings.csv --scale 0:3 --text nothing -o {out}/model"),
    ]


def _weighted() -> list[Case]:
    usual = "--weights shares/age.csv --seed 5"
    few = "--permutations 60 --max-permutations 60"
    lines = {
        "describe": "describe dense/ratings.csv --weights shares/age.csv",
        "variation": f"variation dense/ratings.csv --by age --by gender,ethnicity --adjust --pairs {few} {usual}",
        "cohesion": f"cohesion dense/ratings.csv --by age --by gender,ethnicity --pairs {few} {usual}",
        "responsiveness": f"responsiveness dense/ratings.csv --by age --by gender {few} {usual}",
        "scale": "scale dense/ratings.csv --by age --weights shares/age.csv",
        "score": f"score dense/ratings.csv dense/predictions.csv --by age --bootstrap 40 {usual}",
        "align": f"align dense/ratings.csv dense/answers.csv --by age --permutations 40 --bootstrap 40 --subsamples 20 {usual}",
        "judge": f"judge dense/ratings.csv dense/answers.csv --by age {usual}",
        "estimate": "estimate dense/ratings.csv dense/answers.csv --by age --weights shares/age.csv",
        "aggregate": f"aggregate dense/ratings.csv --by age {few} {usual}",
        "item": f"item dense/ratings.csv item-007 --by age --permutations 60 {usual}",
        "items": f"items dense/ratings.csv --by age {few} {usual}",
    }  # fmt: skip
    cases = [one for name, line in lines.items() for one in _forms(f"weighted/{name}", line, (JSON, TEXT))]
    return [
        *cases,
        _case("weighted/boot", f"cohesion dense/ratings.csv --by age --bootstrap 40 {few} {usual} --json"),
        _case("weighted/trained", f"responsiveness dense/ratings.csv --by age {_TRAINED.format('dense')} {few} {usual} --json"),
        _case("weighted/small", f"cohesion dense/ratings.csv --by age --min-group-size 14 {few} {usual} --json"),
        _case("weighted/report", "report dense/ratings.csv --by age --permutations 40 --bootstrap 20 --answers dense/answers.csv "
              "--predictions dense/predictions.csv --weights shares/age.csv -o {out}/report.html"),
    ]  # fmt: skip


def _report() -> list[Case]:
    quick = "--permutations 60 --bootstrap 40"
    dense = _TRAINED.format("dense")
    return [
        _case("report/dense", f"report dense/ratings.csv --by age --by gender,ethnicity {dense} --items-by violation "
              f"--predictions dense/predictions.csv --answers dense/answers.csv --title 'A study' {quick} "
              "-o {out}/report.html"),
        _case("report/sparse", f"report sparse/ratings.csv --by gender {quick} --predictions sparse/predictions.csv --prior "
              "empirical-bayes -o {out}/report.html"),
        _case("report/labels", f"report labels/ratings.csv --by region {quick} --answers labels/answers.csv --threshold High"
              " -o {out}/report.html"),
        _case("report/totals", f"report shapes/totals.csv --totals --scale 0:4 {quick} -o {{out}}/report.html"),
        _case("report/dices", f"report {_DICES} --by race --by gender --permutations 40 --bootstrap 30 -o "
              "{out}/report.html"),
    ]  # fmt: skip


CASES: tuple[Case, ...] = (
    *_help(), *_simulate(), *_describe(), *_variation(), *_cohesion(), *_responsiveness(), *_scale(), *_score(), *_align(), *_judge(), *_estimate(), *_aggregate(),
    *_acting(), *_looking(), *_asking(), *calls.CASES, *_weighted(), *_report(),
    *_published(),
)  # fmt: skip
