"""All old groups of tool calls become one report, asked for once."""

from turnfold.model.policy import Policy, Summarize, ToolGroupsOlder
from turnfold.model.selection import KeepToolGroups, Scope


def tool_batch(
    min_age: int = 5,
    min_groups: int = 3,
    *,
    report_tokens: int = 1_500,
    goal_tokens: int = 300,
    exclude_tools: tuple[str, ...] = (),
) -> Policy:
    """Fire when `min_groups` groups of calls have `min_age` newer ones behind them, and report on all of them at once.

    The report stands in the first one's place, in the first person, with up to seven sections, below the user's goal
    where there is one: of that message `goal_tokens` are shown to who writes. Calls of `exclude_tools` stay, and all
    that is no tool call.
    """
    step = Summarize(
        keep=KeepToolGroups(min_age),
        role="assistant",
        max_tokens=report_tokens,
        schema="tool_operations",
        goal_tokens=goal_tokens,
        scope=Scope(only="tool_groups", exclude_tools=tuple(exclude_tools)),
    )
    return Policy(trigger=ToolGroupsOlder(min_age, min_groups), steps=(step,), name="tool_batch")
