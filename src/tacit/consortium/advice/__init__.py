"""Advice on methods: which of them fit a federation, with what each opens, how good it is, and what it costs."""

from tacit.consortium.advice.advising import Advice, Advised, advise

__all__ = ["Advice", "Advised", "advise"]
