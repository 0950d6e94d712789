from typing import Any

def search(
    sentences: Any, options: Any, blocks: Any, model: Any, limits: Any, work: Any, graph: Any, done: int
) -> int: ...
