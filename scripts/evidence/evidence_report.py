"""Writes the record of compare_logits.py for people."""


def position(index):
    """A first difference, counted from 1; a dash where all greedy tokens are equal."""
    return "–" if index is None else str(index + 1)


def verdict_lines(record):
    for verdict in record["verdicts"]:
        word = "kept" if verdict["kept"] else "FAILED"
        figure, limit = verdict["figure"], verdict["limit"]
        yield f"{word}: {verdict['bound']}: {figure:.4g}, limit {limit:.4g}"
    for claim in record["false_claims"]:
        yield f"FAILED: record: {claim}"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def text_row(name, text):
    f32, portable, quantized = text["f32"], text["portable"], text["quantized"]
    return row([
        name, str(text["tokens"]),
        f"{f32['nmse']:.2e}", f"{portable['nmse']:.2e}", f"{quantized['nmse']:.2e}",
        " / ".join(str(run["flips"]) for run in (f32, portable, quantized)),
        f"{f32['flips_beyond_largest']} / {f32['flips_beyond_rms']}",
        f"{text['oracle_perplexity']:.4f}", f"{f32['perplexity']:.4f}",
        f"{portable['perplexity']:.4f}", f"{quantized['perplexity']:.4f}",
        " / ".join(position(run["first_greedy_difference"]) for run in (f32, portable, quantized)),
    ])  # fmt: skip


def total_row(record):
    f32, portable, quantized = (record["totals"][n] for n in ("f32", "portable", "quantized"))
    tokens = sum(text["tokens"] for text in record["texts"].values())
    return row([
        "**all**", str(tokens),
        f"{f32['nmse']:.2e}", f"{portable['nmse']:.2e}", f"{quantized['nmse']:.2e}",
        " / ".join(str(run["flips"]) for run in (f32, portable, quantized)),
        f"{f32['flips_beyond_largest']} / {f32['flips_beyond_rms']}", "", "", "", "", "",
    ])  # fmt: skip


def run_rows(record):
    """The runs beside the two of the first table, each with llama.cpp on the same file and K and V."""
    totals, names = record["totals"], ("f32", "portable", "quantized")
    for name in (name for name in totals if name not in names and not name.startswith("quantized")):
        beside = record["beside"][name]
        yield row([name, f"{totals[name]['nmse']:.2e}", str(totals[name]["flips"]),
                   f"{totals[beside]['nmse']:.2e}", str(totals[beside]["flips"])])  # fmt: skip


def markdown(record):
    model, oracle, machine = record["model"], record["oracle"], record["machine"]
    columns = ["text", "tokens", "NMSE f32", "NMSE portable", "NMSE llama.cpp quantized",
               "flips f32 / portable / llama.cpp quantized", "f32 flips beyond 2 × largest / RMS",
               "perplexity oracle", "perplexity f32", "perplexity portable",
               "perplexity llama.cpp quantized",
               "first differing greedy token f32 / portable / llama.cpp quantized"]  # fmt: skip
    lines = [
        f"# {model['title']}: how far from the oracle",
        "",
        f"Written by `{record['command']}`; do not edit. The figures in full are in "
        f"`tests/data/evidence/{model['name']}.json`.",
        "",
        f"- Model: `{model['file']}`, sha256 `{model['sha256']}`",
        f"- Oracle: {oracle['name']} ({oracle['version']}), settings "
        + ", ".join(f"{key} {value}" for key, value in oracle["settings"].items()),
        f"- Under test: {record['writ']['version']}",
        f"- Machine: {machine['processor']}, {machine['cores']} cores, {machine['architecture']}",
        "",
        "All texts are teacher-forced. NMSE = Σ(a - b)² / Σb² over all logits, b the oracle's. A flip is "
        "a row whose largest logit is another one than the oracle's. The bound counts flips where the "
        "oracle's top-2 gap exceeds twice the row's largest difference, which only a logit that is not "
        "finite or a fault of the comparison can bring about; the stricter count against twice the row's "
        "RMS difference stands beside it, unbounded. Greedy tokens continue the first 32 of each text "
        "for 40; a dash says that all are equal.",
        "",
        row(columns),
        row(["---"] + ["---:"] * (len(columns) - 1)),
        *(text_row(name, text) for name, text in record["texts"].items()),
        total_row(record),
        "",
        "## Other profiles, and other storages of K and V",
        "",
        "Over all texts, beside llama.cpp on the same file with K and V in the same storage. A copy in another "
        "type has an F32 copy of its own as its oracle.",
        "",
        row(["run", "NMSE", "flips", "NMSE llama.cpp", "flips llama.cpp"]),
        row(["---"] + ["---:"] * 4),
        *run_rows(record),
        "",
        "## Bounds",
        "",
        *(f"- {line}" for line in verdict_lines(record)),
        "",
    ]
    return "\n".join(lines)
