"""Records of other programs in our form: {"id", "source", "hyps": [{"text", "feats", …}], "refs"}.

There is a function for each program; `SHAPES` lists the keys by which its records are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rampion.store.columns import PLAIN

Record = Mapping[str, Any]
OF_SEGMENT = {"source", "group", "weight"}  # fields that belong to the segment


class ShapeError(Exception):
    """What is wrong with a record of another program. The caller adds the place of the record."""


def segments(record: Record, number: int) -> list[Record] | None:
    """The segments of a record of any shape, named `number` if they have no name; None if it is a single candidate."""
    if "hyps" in record:
        return [record]
    if convert := of_program(record):
        return convert(record, number)
    name = _plural(record)
    return None if name is None else nested(record, name, number)


def of_program(record: Record) -> Callable[[Record, int], list[Record]] | None:
    """The function that turns a record of this program into segments, if the program is known."""
    if "hyps" in record:
        return None
    return next((convert for keys, convert in SHAPES if keys <= record.keys()), None)


def _plural(record: Record) -> str | None:
    """The list of candidates in a record."""
    return next((name for name in PLURAL if isinstance(record.get(name), list) and record[name]), None)


def rows(record: Record) -> list[Record] | None:
    """The rows of a table inside a record: a list of objects that name segments, in a record that names none."""
    if "hyps" in record or of_program(record):
        return None
    plural = _plural(record)
    name = plural or (next(iter(record)) if len(record) == 1 else None)
    found = record.get(name) if name else None
    if not isinstance(found, list) or not found or not all(isinstance(one, Mapping) for one in found):
        return None
    known = {*PLAIN["id"], *PLAIN["source"]}
    inside = set.intersection(*(known & one.keys() for one in found))
    return found if inside and not known & record.keys() and (plural is None or "index" not in found[0]) else None


def openai(record: Record, number: int) -> list[Record]:
    """A chat or text completion with n choices; features are the sum of log-probabilities and the number of tokens."""
    hyps = []
    for place, choice in enumerate(_objects(record, "choices")):
        message = choice.get("message")
        text = choice.get("text", message.get("content") if isinstance(message, Mapping) else None)
        if not isinstance(text, str):
            raise ShapeError(f"choices[{place}] has no text (is it a tool call or a refusal?); leave it out")
        hyps.append({"text": text} | _with_feats(choice, _token_feats(choice.get("logprobs"), f"choices[{place}]")))
    return [{"id": _name(record, number, "custom_id", "id"), "hyps": hyps} | _beside(record)]


def openai_batch(record: Record, number: int) -> list[Record]:
    """A line of a batch's output."""
    response = record["response"]
    body = response.get("body") if isinstance(response, Mapping) else None
    if not isinstance(body, Mapping) or "choices" not in body:
        raise ShapeError(
            f"request {record['custom_id']} has no choices (did it fail?); leave it out, or read leniently"
        )
    return openai({**record, **body, "custom_id": record["custom_id"]}, number)


def _token_feats(logprobs: Any, where: str) -> dict[str, float]:
    if not isinstance(logprobs, Mapping):
        return {}
    tokens = logprobs.get("content") or []
    values = [token.get("logprob") for token in tokens if isinstance(token, Mapping)] or logprobs.get("token_logprobs")
    if not values:
        return {}
    if not all(value is None or _is_number(value) for value in values):
        raise ShapeError(f"{where}.logprobs holds something else than numbers")
    return {"logprob": float(sum(value or 0.0 for value in values)), "tokens": len(values)}


def vllm(record: Record, number: int) -> list[Record]:
    """vLLM's RequestOutput: cumulative log-probability and number of tokens of every output."""
    hyps = []
    for output in _objects(record, "outputs"):
        sums = output.get("cumulative_logprob")
        feats = {} if sums is None else {"logprob": sums}
        if isinstance(output.get("token_ids"), list):
            feats["tokens"] = len(output["token_ids"])
        hyps.append({"text": output.get("text")} | _with_feats(output, feats))
    return [{"id": _name(record, number, "request_id", "id"), "hyps": hyps} | _beside(record)]


def _with_feats(candidate: Record, feats: Record) -> dict[str, Any]:
    """What stands in a candidate beside what its program wrote, and its features."""
    rest = _score_as_feature({key: cell for key, cell in candidate.items() if key not in OF_CANDIDATE})
    given = rest.get("feats", {})
    return rest | {"feats": {**given, **feats} if isinstance(given, Mapping) else given}


def _score_as_feature(candidate: Record) -> dict[str, Any]:
    """The score beside a candidate is one of its features; only in our own lists it is the decoder's total."""
    feats = candidate.get("feats", {})
    if "score" not in candidate or not isinstance(feats, Mapping) or "score" in feats:
        return dict(candidate)
    return {key: cell for key, cell in candidate.items() if key != "score"} | {
        "feats": {**feats, "score": candidate["score"]}
    }


def lm_eval(record: Record, number: int) -> list[Record]:
    """A sample of the lm-evaluation-harness: its responses, or the choices of a task with log-likelihoods."""
    responses, target = record["resps"], record.get("target")
    if not isinstance(responses, list) or not responses or not isinstance(responses[0], list) or not responses[0]:
        raise ShapeError("resps is not a list of lists of responses")
    identity = {"id": _name(record, number, "doc_id"), **_filter(record)}
    if isinstance(responses[0][0], str):
        if len(responses) != 1:
            raise ShapeError(f"resps holds {len(responses)} requests; expected one with all its responses")
        hyps: list[dict[str, Any]] = [{"text": text} for text in responses[0]]
        names = record.get("metrics", [name for name in PLAIN["target"] if name in record])
        cells = {name: record[name] for name in names if name in record}
        cells = {name: [cell] if _is_number(cell) and len(hyps) == 1 else cell for name, cell in cells.items()}
        labels = {name: cell for name, cell in cells.items() if isinstance(cell, list) and len(cell) == len(hyps)}
        for place, hyp in enumerate(hyps):
            hyp["metrics"] = {name: cell[place] for name, cell in labels.items()}
        refs = {"refs": targets} if (targets := _strings(target)) else {}
        rest = {name: cell for name, cell in cells.items() if name not in labels}  # of the list as a whole: not used
        return [{**rest, **identity, **_asked(record), "hyps": hyps, **refs}]
    hyps = []
    for place, response in enumerate(responses):
        cell = response[0]
        value = cell[0] if isinstance(cell, list) and cell else cell
        hyps.append({"text": _argument(record, place, 1), "feats": {"loglikelihood": _as_number(value)}, "metrics": {}})
    texts = [hyp["text"] for hyp in hyps]
    said = target.strip() if isinstance(target, str) else None
    right = int(str(target)) if str(target).isdecimal() else texts.index(said) if said in texts else None
    for place, hyp in enumerate(hyps):
        hyp["metrics"] = {} if right is None else {"correct": float(place == right)}
    return [{**identity, **_asked(record), "hyps": hyps}]


def _strings(target: Any) -> list[str]:
    """The right answer, or each of several."""
    several = target if isinstance(target, list) else [target]
    return [one for one in several if isinstance(one, str) and one.strip()]


def _asked(record: Record) -> Record:
    """The prompt, if the first request holds it."""
    try:
        return {"source": _argument(record, 0, 0)}
    except ShapeError:
        return {}


def _filter(record: Record) -> Record:
    """The name of the filter of the answers. With several filters a document occurs once for each."""
    name = record.get("filter")
    return {"filter": name} if isinstance(name, str) and name != "none" else {}


def _argument(record: Record, place: int, which: int) -> str:
    """An argument of the request at this place: the context or the continuation."""
    arguments = record.get("arguments")
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    request = arguments[place] if isinstance(arguments, list) and place < len(arguments) else None
    cells = list(request.values()) if isinstance(request, Mapping) else request
    if isinstance(cells, list) and len(cells) > which and isinstance(cells[which], str):
        return str(cells[which].strip())
    raise ShapeError(f"arguments does not hold the text of choice {place}")


def sockeye(record: Record, number: int) -> list[Record]:
    """Sockeye's JSON output of n-best lists."""
    texts, scores = record["translations"], record.get("scores")
    hyps = _parallel(texts, {"score": scores})
    return [{"id": _name(record, number, "sentence_id", "id"), "hyps": hyps} | _beside(record)]


def ctranslate2(record: Record, number: int) -> list[Record]:
    """CTranslate2's TranslationResult, whose hypotheses are lists of tokens."""
    hypotheses = record["hypotheses"]
    if not isinstance(hypotheses, list):
        raise ShapeError("hypotheses is not a list")
    texts = [" ".join(map(str, one)) if isinstance(one, list) else one for one in hypotheses]
    hyps = _parallel(texts, {"score": record.get("scores")})
    return [{"id": _name(record, number, *PLAIN["id"]), "hyps": hyps} | _beside(record)]


def espnet(record: Record, number: int) -> list[Record]:
    """ESPnet's data.json after decoding: every utterance with its outputs; the text is the reference."""
    found: list[Record] = []
    for identity, utterance in _mapping(record, "utts").items():
        outputs = _objects(utterance if isinstance(utterance, Mapping) else {}, "output")
        hyps, refs = [], []
        for output in outputs:
            text = output.get("rec_text")
            if not isinstance(text, str):
                raise ShapeError(f"an output of the utterance {identity} has no rec_text; decode first")
            spaced = text.replace("<eos>", "").replace("<space>", " ").replace("▁", " ")
            scored = {} if output.get("score") is None else {"score": _as_number(output["score"])}
            hyps.append({"text": " ".join(spaced.split()), "feats": scored})
            refs += [output["text"]] if isinstance(output.get("text"), str) and output["text"] not in refs else []
        found.append({"id": identity, "hyps": hyps, "refs": refs})
    return found


# What the programs above write of a candidate and of a record, and what says nothing that helps to choose.
OF_CANDIDATE = {
    "content_filter_results", "cumulative_logprob", "delta", "hidden_states", "index", "logprobs", "lora_request",
    "matched_stop", "message", "routed_experts", "seed", "stop_reason", "text", "token_ids",
}  # fmt: skip
OF_RECORD = {
    "attention", "choices", "created", "custom_id", "encoder_prompt", "encoder_prompt_token_ids", "error", "finished",
    "hypotheses", "id", "kv_transfer_params", "lora_request", "metrics", "model", "multi_modal_placeholders",
    "num_cached_tokens", "object", "outputs", "prompt_embeds", "prompt_filter_results", "prompt_logprobs",
    "prompt_token_ids", "provider", "request_id", "response", "score", "scores", "sentence_id", "service_tier",
    "system_fingerprint", "translation", "translations", "usage",
}  # fmt: skip


PLURAL = (
    "candidates", "samples", "outputs", "completions", "responses", "hypotheses", "nbest", "n_best", "generations",
    "generated_texts", "solutions", "predictions", "answers", "translations", "texts",
)  # fmt: skip


def nested(record: Record, name: str, number: int) -> list[Record]:
    """A segment with a list of candidates: objects, or strings beside lists of numbers of the same length."""
    candidates = record[name]
    rest = {key: cell for key, cell in record.items() if key != name}
    named = next((key for key in PLAIN["id"] if key in rest), None)
    segment: dict[str, Any] = {"id": _name(record, number, *([named] if named else []))}
    rest = {key: cell for key, cell in _roles(rest).items() if key != named}
    segment |= {key: rest.pop(key) for key in (*OF_SEGMENT, "refs") if key in rest}
    if all(isinstance(one, Mapping) for one in candidates):
        return [segment | rest | {"hyps": [_plain(one, f"{name}[{i}]") for i, one in enumerate(candidates)]}]
    columns = {key: cell for key, cell in rest.items() if isinstance(cell, list)}
    above = {key: cell for key, cell in rest.items() if key not in columns}
    return [segment | above | {"hyps": [_plain(one, name) for one in _parallel(candidates, columns, beside=True)]}]


def _roles(record: Record) -> dict[str, Any]:
    """A segment's record with its source, group, weight and references under their names, and the rest as it is."""
    found = dict(record)
    for role in (*sorted(OF_SEGMENT), "refs"):
        key = next((key for key in PLAIN[role] if key in found), None)
        cell = None if key is None else found.pop(key)
        if cell is None or (role == "refs" and not cell):
            continue
        found[role] = _prompt(cell) if role == "source" else cell
        if role == "refs" and not isinstance(cell, list):
            found[role] = [cell]
    return found


def _beside(record: Record) -> dict[str, Any]:
    """What stands in a record beside what its program wrote."""
    return _roles({key: cell for key, cell in record.items() if key not in OF_RECORD})


def _plain(hyp: Record, where: str) -> Record:
    """A candidate's object with its text called text and its score among the features."""
    found = dict(hyp)
    text = next((key for key in PLAIN["text"] if isinstance(found.get(key), str)), None)
    if text is None:
        raise ShapeError(f"{where} has no text; it has {', '.join(found)}")
    found["text"] = found.pop(text)
    return _score_as_feature(found)


def _parallel(texts: Any, columns: Mapping[str, Any], beside: bool = False) -> list[dict[str, Any]]:
    """Candidates from texts and lists of numbers of the same length; a number may be a list of one."""
    if not isinstance(texts, list) or not texts:
        raise ShapeError("has no candidates; a list of at least one is expected")
    hyps: list[dict[str, Any]] = [{"text": text} for text in texts]
    for name, column in columns.items():
        if column is None or (column == [] and not beside):
            continue
        if not isinstance(column, list) or len(column) != len(texts):
            size = len(column) if isinstance(column, list) else "no list of"
            raise ShapeError(f"{name} has {size} values for {len(texts)} candidates; expected one for each")
        for hyp, cell in zip(hyps, column, strict=True):
            value = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
            if beside:
                hyp[name.removesuffix("s") if name.removesuffix("s") in PLAIN["target"] else name] = value
            else:
                hyp.setdefault("feats", {})[name] = value
    return hyps


def _name(record: Record, number: int, *keys: str) -> str:
    """The first of the names that the record has, or its number."""
    for key in keys:
        if isinstance(record.get(key), int | str) and not isinstance(record[key], bool) and str(record[key]).strip():
            return str(record[key])
    return str(number)


def _prompt(prompt: Any) -> Any:
    """A prompt as text: the contents of chat messages, one after another."""
    if isinstance(prompt, list) and all(isinstance(one, Mapping) for one in prompt):
        return "\n".join(str(one.get("content", "")) for one in prompt)
    return prompt


def _objects(record: Record, key: str) -> list[Record]:
    found = record.get(key)
    if not isinstance(found, list) or not found or not all(isinstance(one, Mapping) for one in found):
        raise ShapeError(f"{key} is not a list of at least one object")
    return found


def _mapping(record: Record, key: str) -> Record:
    found = record.get(key)
    if not isinstance(found, Mapping) or not found:
        raise ShapeError(f"{key} is not an object of at least one entry")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _as_number(value: Any) -> Any:
    """A number that may be written as a string, as in recent sample files."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


SHAPES: tuple[tuple[set[str], Callable[[Record, int], list[Record]]], ...] = (
    ({"choices"}, openai),
    ({"custom_id", "response"}, openai_batch),
    ({"resps", "doc"}, lm_eval),
    ({"request_id", "outputs"}, vllm),
    ({"prompt", "outputs", "finished"}, vllm),
    ({"sentence_id", "translations"}, sockeye),
    ({"hypotheses", "scores"}, ctranslate2),
    ({"utts"}, espnet),
)
