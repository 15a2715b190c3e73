"""What became of a session and of one compaction, as flat records for logs, events and dashboards."""

import msgspec

from turnfold.model.plan import SummaryRole
from turnfold.model.summary import NO_USAGE, SummaryRecord, Usage


class CompactionRecord(msgspec.Struct, frozen=True):
    """One compaction in numbers and names.

    `strategy` is the policy, `method` the summarizer whose text was used (None without a summary), and `fallback` says
    that it is not the one that was asked first. `old_messages` were in the transcript (`original_messages`) and are not
    in the result (`new_messages`); `recent_messages` stand behind the place where it was cut. `keep` is the number that
    the policy's tail says, of `keep_unit` (messages, turns, tokens, share, tool_groups); `desired_split` is where that
    alone would cut, `safe_split` where it was cut; all four are None without a summary. `role` is that of the summary,
    `desired_role` the policy's. `summary_length` counts characters. Identifiers are those of what went: see
    `IdentifierReport`.
    """

    strategy: str
    method: str | None
    fallback: bool
    tokens_before: int
    tokens_after: int
    original_messages: int
    new_messages: int
    old_messages: int
    recent_messages: int
    keep: float | None
    keep_unit: str | None
    desired_split: int | None
    safe_split: int | None
    role: str | None
    desired_role: SummaryRole | None
    summary: str | None
    summary_length: int
    covers: SummaryRecord | None
    kept_ids: tuple[str, ...]
    lost_ids: tuple[str, ...]
    new_ids: tuple[str, ...]
    referenced_later: tuple[str, ...] = ()
    usage: Usage = NO_USAGE


class SessionStats(msgspec.Struct, frozen=True):
    """What compactions did to one session.

    `turns` are all that there were, those that summaries stand for included. `summaries` were made, each version of a
    rolling one counted. `compression` (0..1) is the share of the tokens that the compactions took out of the requests
    they were given, `saved_tokens` how many those are. `cost` is None without a price.
    """

    turns: int
    summaries: int
    compactions: int
    saved_tokens: int
    compression: float
    usage: Usage
    cost: float | None
