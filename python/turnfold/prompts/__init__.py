"""Summary schemas as data, their text, and the judgement of a reply."""
