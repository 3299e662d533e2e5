"""lm-evaluation-harness on a frozen LLM that reads through a reader of vtc: `python -m eval.harness`."""
