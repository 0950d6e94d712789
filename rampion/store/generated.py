"""Lists of texts that a model has generated in this process: results of Hugging Face's `generate` and of vLLM.

Nothing of these libraries is imported. Attributes are read by name, and tensors by `tolist`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rampion.errors import InputError
from rampion.store.candidates import Candidates


def from_generated(
    results: Any,
    texts: Sequence[str] | None = None,
    *,
    ids: Sequence[object] | None = None,
    sources: Sequence[str] | None = None,
    transitions: Any = None,
    end: int | Collection[int] | None = None,
) -> Candidates:
    """Lists from what a model has generated: a result of Hugging Face's `generate`, or vLLM's `RequestOutput` objects.

    Parameters
    ----------
    results : object
        What `model.generate(..., num_return_sequences=k, return_dict_in_generate=True)` returns, or what vLLM's
        `llm.generate` returns: a list with an object for each prompt.
    texts : sequence of str, optional
        For Hugging Face: the decoded sequences, as `tokenizer.batch_decode` returns them, prompt by prompt.
    ids : sequence, optional
        The name of every prompt. By default prompts are numbered, or have the names that vLLM gave them.
    sources : sequence of str, optional
        The prompts. Results of Hugging Face need these or `ids`, for the number of prompts.
    transitions : tensor or sequence, optional
        For Hugging Face: what `model.compute_transition_scores(..., normalize_logits=True)` returns. The features
        `logprob` and `tokens` come from it.
    end : int or collection of int, optional
        For `transitions`: the tokens that end a text, as `tokenizer.eos_token_id`. All tokens after them are padding.

    Returns
    -------
    Candidates
        A list for each prompt. `score` is Hugging Face's own `sequences_scores`, which beam search has.

    Raises
    ------
    InputError
        If the results have another form, or if numbers of texts, prompts and scores do not fit.

    Examples
    --------
    >>> from types import SimpleNamespace as Result  # stands for what vLLM returns
    >>> outputs = [Result(text="5", token_ids=[7], cumulative_logprob=-0.5, finish_reason="stop"),
    ...            Result(text="6", token_ids=[8], cumulative_logprob=-1.5, finish_reason="stop")]
    >>> lists = rampion.from_generated([Result(request_id="0", prompt="2 + 3 =", outputs=outputs)])
    >>> lists, lists[0].texts
    (Candidates(1 segments, 2 candidates, 2 dense + 0 sparse features), ['5', '6'])
    """
    if getattr(results, "sequences", None) is not None:
        records = _of_sequences(results, texts, ids, sources, transitions, end)
    elif texts is not None or transitions is not None:
        raise InputError(
            f"a {type(results).__name__} has no sequences; give generate(..., return_dict_in_generate=True), or leave "
            "texts and transitions out for results of vLLM"
        )
    else:
        records = _of_requests(results, ids, sources)
    return Candidates.from_records(records)


def _of_requests(results: Any, ids: Sequence[object] | None, sources: Sequence[str] | None) -> list[dict[str, Any]]:
    """A record for each RequestOutput."""
    requests = list(results) if isinstance(results, Sequence) else [results]
    _fit(len(requests), ids=ids, sources=sources)
    records = []
    for place, request in enumerate(requests):
        outputs = getattr(request, "outputs", None)
        if not isinstance(outputs, Sequence) or not all(hasattr(one, "text") for one in outputs):
            raise InputError(
                f"result {place} is a {type(request).__name__} without outputs that have a text; give what vLLM's "
                "generate returns, or a result of Hugging Face's with its texts"
            )
        names = "text", "token_ids", "cumulative_logprob"
        found = [{name: getattr(one, name, None) for name in names} for one in outputs]
        for one in found:
            one["token_ids"] = list(one["token_ids"] or [])
        name = getattr(request, "request_id", place) if ids is None else ids[place]
        prompt = getattr(request, "prompt", None) if sources is None else sources[place]
        records.append({"request_id": str(name), "prompt": prompt, "outputs": found})
    return records


def _of_sequences(
    results: Any,
    texts: Sequence[str] | None,
    ids: Sequence[object] | None,
    sources: Sequence[str] | None,
    transitions: Any,
    end: int | Collection[int] | None,
) -> list[dict[str, Any]]:
    """A record for each prompt; all prompts have the same number of sequences."""
    prompts = ids if ids is not None else sources
    if texts is None or prompts is None:
        raise InputError("sequences of tokens need their texts (tokenizer.batch_decode), and ids or sources of prompts")
    sequences, size = _listed(results.sequences), len(texts)
    _fit(len(prompts), ids=ids, sources=sources)
    if len(sequences) != size or not len(prompts) or size % len(prompts):
        raise InputError(
            f"there are {len(sequences)} sequences, {size} texts and {len(prompts)} prompts; expected a text for each "
            "sequence, and as many sequences for each prompt"
        )
    columns: dict[str, list[Any]] = {}
    if getattr(results, "sequences_scores", None) is not None:
        columns["score"] = _listed(results.sequences_scores)
    if transitions is not None:
        columns |= _summed(sequences, _listed(transitions), end)
    for name, column in columns.items():
        if len(column) != size:
            raise InputError(f"there are {len(column)} values of {name} for {size} texts; expected one for each")
    hyps = [
        {"text": text, "feats": {name: column[place] for name, column in columns.items()}}
        for place, text in enumerate(texts)
    ]
    each = size // len(prompts)
    return [
        {
            "id": str(place if ids is None else ids[place]),
            **({} if sources is None else {"source": sources[place]}),
            "hyps": hyps[place * each : (place + 1) * each],
        }
        for place in range(len(prompts))
    ]


def _summed(sequences: list[Any], transitions: list[Any], end: int | Collection[int] | None) -> dict[str, list[Any]]:
    """The log-probability and the number of tokens of every text, up to the token that ends it."""
    if end is None:
        raise InputError("transitions go beyond the end of a text; name its last token: end=tokenizer.eos_token_id")
    ends = {end} if isinstance(end, int) else set(end)
    sums, counts = list[float](), list[int]()
    for tokens, steps in zip(sequences, transitions, strict=False):
        said = tokens[len(tokens) - len(steps) :]
        size = next((place for place, token in enumerate(said, 1) if token in ends), len(said))
        sums.append(float(sum(steps[:size])))
        counts.append(size)
    return {"logprob": sums, "tokens": counts}


def _fit(count: int, **named: Sequence[object] | None) -> None:
    """Raise InputError unless there is one for each prompt."""
    for name, column in named.items():
        if column is not None and len(column) != count:
            raise InputError(f"there are {len(column)} {name} for {count} prompts; expected one for each")


def _listed(tensor: Any) -> list[Any]:
    """A tensor of any library as a list."""
    return list(tensor.tolist() if hasattr(tensor, "tolist") else tensor)
